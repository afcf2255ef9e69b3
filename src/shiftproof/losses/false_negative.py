"""The false negative rate: the share of true labels that the set misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftproof._types import BoolArray, FloatArray
from shiftproof.contracts import Traits
from shiftproof.risk import LossCurves


class LabelNest(Protocol):
    """Sets of labels, each of which enters at a threshold of its own."""

    @property
    def lower(self) -> float:
        """The smallest threshold."""

    @property
    def entries(self) -> FloatArray:
        """Where each label of each row enters, (n, K)."""

    def truth(self, y: object) -> BoolArray:
        """Which labels are true, (n, K)."""

    def whole(self) -> FloatArray:
        """Where the last label enters."""


class FlatSets(Protocol):
    """Finished sets of labels."""

    @property
    def nest(self) -> LabelNest:
        """Where they come from."""

    @property
    def flat(self) -> BoolArray:
        """Which labels are in each set, (m, K)."""


@dataclass(frozen=True)
class FalseNegativeRate:
    """The share of true labels outside the set, 1 less the recall; 0 where no label is true.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> scores = np.array([[0.9, 0.4, 0.2], [0.3, 0.8, 0.6], [0.7, 0.5, 0.1]])
    >>> truth = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]])
    >>> controller = shp.RiskController(lambda x: x, shp.Masks(), shp.FalseNegativeRate())
    >>> sets = controller.calibrate(scores, truth).predict(scores[:1], alpha=0.5)
    >>> sets.members.astype(int).tolist(), float(sets.threshold[0].round(6))
    ([[1, 0, 0]], 0.3)
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """Sets of labels."""
        return ("truth", "jumps")

    def demand(self, traits: Traits) -> None:
        """Nothing: it is at most 1 on any sets."""
        del traits

    def bound(self, nest: LabelNest) -> float:
        """1."""
        del nest
        return 1.0

    def floor(self, nest: LabelNest) -> float:
        """0: the set of all labels misses none."""
        del nest
        return 0.0

    def curves(self, nest: LabelNest, y: object) -> LossCurves:
        """A staircase for each row: it falls by 1 / |true labels| where one of them enters."""
        true = nest.truth(y)
        owner, label = np.nonzero(true)
        share = 1.0 / np.maximum(true.sum(axis=1), 1)
        return LossCurves.staircases(
            np.zeros(len(true)),
            nest.entries[owner, label],
            share[owner],
            owner,
            bound=1.0,
            lower=nest.lower,
        )

    def worst(self, nest: LabelNest) -> LossCurves:
        """1 until the last label is in: it could be the only true one."""
        return LossCurves.steps(nest.whole(), lower=nest.lower)

    def of(self, sets: FlatSets, y: object) -> FloatArray:
        """The share of true labels that each set misses."""
        true = sets.nest.truth(y)
        missed = (true & ~sets.flat).sum(axis=1)
        rate: FloatArray = missed / np.maximum(true.sum(axis=1), 1)
        return rate
