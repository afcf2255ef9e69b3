"""Simulated worlds with a known ratio: where promises are put to the test.

Each world draws inputs under P or under P', labels from one law of the label given the input, and
predictions from a model fixed beforehand. Positions are kilometres along a road of length ROAD.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROAD = 10.0


@dataclass(frozen=True)
class Sample:
    """Predictions, labels, weights and, where a world shows them, inputs of n examples."""

    predicted: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    x: np.ndarray | None = None

    @property
    def distance(self) -> np.ndarray:
        return np.abs(self.predicted - self.label)

    @property
    def farthest(self) -> np.ndarray:
        """D(x): from the prediction to the farther end of the road."""
        return np.maximum(self.predicted, ROAD - self.predicted)

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True)
class TwoGroups:
    """Stations are off in one half of the source and in most of the target; errors differ."""

    source_off: float = 0.5
    target_off: float = 0.9
    error_on: float = 0.3
    error_off: float = 2.5

    def draw(self, rng: np.random.Generator, n: int, *, target: bool) -> Sample:
        rate = self.target_off if target else self.source_off
        off = rng.random(n) < rate
        label = rng.uniform(0, ROAD, n)
        error = np.where(off, self.error_off, self.error_on) * rng.standard_normal(n)
        predicted = np.clip(label + error, 0, ROAD)  # the model answers with places on the road
        ratio_off = self.target_off / self.source_off
        ratio_on = (1 - self.target_off) / (1 - self.source_off)
        weight = np.where(off, ratio_off, ratio_on)
        return Sample(predicted, label, weight, off[:, None])


@dataclass(frozen=True)
class GaussianShift:
    """x ~ N(0, 1) in the source, N(shift, 1) in the target: w = exp(shift x - shift^2 / 2)."""

    shift: float = 1.0

    def draw(self, rng: np.random.Generator, n: int, *, target: bool) -> Sample:
        x = rng.standard_normal(n) + (self.shift if target else 0.0)
        spread = 0.3 + 1.2 / (1 + np.exp(-2 * x))
        label = np.clip(ROAD / 2 + x + spread * rng.standard_normal(n), 0, ROAD)
        predicted = np.clip(ROAD / 2 + x, 0, ROAD)
        return Sample(predicted, label, np.exp(self.shift * x - self.shift**2 / 2))


@dataclass(frozen=True)
class ManyInputs:
    """x ~ N(0, I) in the source, N(shift e_1, I) in the target; errors grow along e_1."""

    columns: int = 5
    shift: float = 1.0

    def inputs(self, rng: np.random.Generator, n: int, *, target: bool) -> np.ndarray:
        x = rng.standard_normal((n, self.columns))
        x[:, 0] += self.shift if target else 0.0
        return x

    def ratio(self, x: np.ndarray) -> np.ndarray:
        return np.exp(self.shift * x[:, 0] - self.shift**2 / 2)

    def draw(self, rng: np.random.Generator, n: int, *, target: bool) -> Sample:
        x = self.inputs(rng, n, target=target)
        spread = 0.2 + 2 / (1 + np.exp(-3 * x[:, 0]))
        predicted = np.full(n, ROAD / 2)
        label = np.clip(predicted + spread * rng.standard_normal(n), 0, ROAD)
        return Sample(predicted, label, self.ratio(x), x)


WORLDS = {"two groups": TwoGroups(), "Gaussian shift": GaussianShift()}


def margin(losses: np.ndarray, largest: float, false_alarm: float) -> float:
    """How far a mean of independent values in [0, largest] may lie beyond its expectation.

    Empirical Bernstein inequality (Maurer and Pontil 2009), exceeded with probability at most
    `false_alarm` whatever the distribution; or Hoeffding's, each at half of it.
    """
    runs, log = len(losses), float(np.log(4 / false_alarm))
    bernstein = np.sqrt(2 * losses.var(ddof=1) * log / runs) + 7 * largest * log / (3 * (runs - 1))
    hoeffding = largest * np.sqrt(np.log(2 / false_alarm) / (2 * runs))
    return float(min(bernstein, hoeffding))
