"""Miscoverage (paper eq. 1): 1{y not in the set}."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof._types import FloatArray
from shiftproof.contracts import Nest, Sets, Traits
from shiftproof.risk import LossCurves


@dataclass(frozen=True)
class Miscoverage:
    """1 where the set does not hold the label, else 0: alpha is a share of labels.

    On sets of several labels: whether any true label is missed.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 1))
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
    >>> sets = controller.calibrate(x, x[:, 0] + rng.normal(size=100)).predict(x[:1], alpha=0.1)
    >>> sets.lower.round(2), sets.upper.round(2)
    (array([-1.36]), array([1.61]))
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """Every nest has what it takes."""
        return ()

    def demand(self, traits: Traits) -> None:
        """Nothing: it is at most 1 on any sets."""
        del traits

    def bound(self, nest: Nest) -> float:
        """1."""
        del nest
        return 1.0

    def floor(self, nest: Nest) -> float:
        """0: the whole label space holds every label."""
        del nest
        return 0.0

    def curves(self, nest: Nest, y: object) -> LossCurves:
        """A step at the score of each label."""
        return LossCurves.steps(nest.entry(y), lower=nest.lower)

    def worst(self, nest: Nest) -> LossCurves:
        """Some label is left out until the set is the whole label space."""
        return LossCurves.steps(nest.whole(), lower=nest.lower)

    def of(self, sets: Sets, y: object) -> FloatArray:
        """1 where a set does not hold its label."""
        return np.where(sets.contains(y), 0.0, 1.0)
