"""Worlds in which whole controllers are put to the test: a table, labels, and a law that shifts.

In each world a column `hard` says which of two groups a row is in; predictions are worse in the
hard group, which is half of the source and RATE of the target. The ratio is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import shiftproof as shp

SOURCE, RATE = 0.5, 0.95
RATIO = shp.GroupRatio(
    lambda x: x[:, 0] > 0,
    source={True: SOURCE, False: 1 - SOURCE},
    target={True: RATE, False: 1 - RATE},
)


def hard(rng: np.random.Generator, n: int, *, target: bool) -> np.ndarray:
    return (rng.random(n) < (RATE if target else SOURCE)).astype(float)


@dataclass(frozen=True)
class Road:
    """Places on a road of 10 km; the first input is the group, the second a noisy place."""

    def draw(self, rng, n, *, target) -> tuple[np.ndarray, Any]:
        group = hard(rng, n, target=target)
        place = rng.uniform(0, 10, n)
        heard = np.clip(place + np.where(group > 0, 3.0, 0.3) * rng.normal(size=n), 0, 10)
        return np.column_stack([group, heard]), place

    @staticmethod
    def predict(x):
        return x[:, 1]

    @staticmethod
    def scale(x):
        return 1.0 + 0.2 * (x[:, 0] > 0)  # a scale that knows too little of the groups

    @staticmethod
    def pair(x):
        return np.column_stack([x[:, 1] - 0.4, x[:, 1] + 0.4])


@dataclass(frozen=True)
class Plane:
    """Places in a region of the plane, or of space, heard with noise."""

    region: Any

    def draw(self, rng, n, *, target) -> tuple[np.ndarray, Any]:
        group = hard(rng, n, target=target)
        low, high = self.region.corners.min(axis=0), self.region.corners.max(axis=0)
        place = self.region.project(rng.uniform(low, high, (n, len(low))))
        heard = place + np.where(group > 0, 1.8, 0.2)[:, None] * rng.normal(size=place.shape)
        return np.column_stack([group, heard]), place

    scale = Road.scale

    @staticmethod
    def predict(x):
        return x[:, 1:]


@dataclass(frozen=True)
class Classes:
    """Four classes with logits of one strength; the model trusts the hard group too much."""

    strength: float = 3.0

    def draw(self, rng, n, *, target) -> tuple[np.ndarray, Any]:
        group = hard(rng, n, target=target)
        logits = rng.normal(size=(n, 4))
        truth = np.where(group > 0, 0.3, 1.0)[:, None] * self.strength * logits
        label = np.argmax(truth + rng.gumbel(size=(n, 4)), axis=1)
        return np.column_stack([group, logits]), label

    def predict(self, x):
        weights = np.exp(self.strength * x[:, 1:])
        return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Tags:
    """Six labels, any of which may be true, at least two; scores say little in the hard group.

    `lowered` is how much lower scores are there, so that a common threshold misses more.
    """

    lowered: float = 0.0

    def draw(self, rng, n, *, target) -> tuple[np.ndarray, Any]:
        group = hard(rng, n, target=target)
        true = rng.random((n, 6)) < 0.5
        true[np.arange(n), rng.integers(0, 3, n)] = True
        true[np.arange(n), rng.integers(3, 6, n)] = True
        noise = np.where(group > 0, 1.2, 0.15)[:, None] * rng.normal(size=(n, 6))
        return np.column_stack([group, true + noise - self.lowered * group[:, None]]), true

    @staticmethod
    def predict(x):
        return x[:, 1:]
