"""Point-to-set distance (paper eq. 2): from the label to the nearest point of the set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray
from shiftproof.contracts import Traits
from shiftproof.errors import InputError
from shiftproof.risk import LossCurves


class MetricNest(Protocol):
    """Sets in a space with distances: intervals and balls."""

    def diameter(self) -> float:
        """The largest distance of two labels."""

    def distances(self, y: object, cap: float | None) -> LossCurves:
        """The distance from each label to its set, as the set grows."""

    def farthest(self, cap: float | None) -> LossCurves:
        """The distance from the farthest label of the space to the set, as it grows."""


class MetricSets(Protocol):
    """Finished sets in a space with distances."""

    def distance(self, y: object) -> FloatArray:
        """The distance from each label to its set."""


@dataclass(frozen=True)
class Distance:
    """How far the label lies from the set: alpha is in units of the labels, say kilometres.

    Parameters
    ----------
    cap : float, optional
        Larger distances count as `cap`. A promise of its own, with far less to allow for at the
        test point: Lmax is the cap instead of the diameter of the label space.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> place = rng.uniform(0, 10, (200, 2))
    >>> heard = place + rng.normal(0, 0.5, (200, 2))
    >>> balls = shp.Balls(shp.Box([0, 0], [10, 10]))
    >>> for loss in (shp.Distance(), shp.Distance(cap=2.0)):  # the paper's rule
    ...     controller = shp.RiskController(lambda x: x, balls, loss, worst_case=shp.Constant())
    ...     sets = controller.calibrate(heard, place).predict([[5.0, 5.0]], alpha=0.2)
    ...     print(sets.radii.round(3))
    [0.611]
    [0.495]
    """

    cap: float | None = None

    def __post_init__(self) -> None:
        if self.cap is None:
            return
        cap = _checks.scalar("cap", self.cap, "a distance")
        if not 0 < cap < np.inf:
            repair = "leave it out for no cap"
            raise InputError("cap", "a finite distance above 0", f"{self.cap!r}", repair)
        object.__setattr__(self, "cap", cap)

    @property
    def needs(self) -> tuple[str, ...]:
        """Distances."""
        return ("distances", "farthest", "diameter")

    def demand(self, traits: Traits) -> None:
        """A bound: an end of the label space, or a cap."""
        if self.cap is None and not traits.bounded:
            raise InputError(
                "loss",
                "a loss with a bound",
                "distances in a label space without end",
                "give Intervals(lower, upper) or Distance(cap)",
            )

    def bound(self, nest: MetricNest) -> float:
        """The cap, or the diameter of the label space."""
        return nest.diameter() if self.cap is None else self.cap

    def floor(self, nest: MetricNest) -> float:
        """0: no label lies outside the whole label space."""
        del nest
        return 0.0

    def curves(self, nest: MetricNest, y: object) -> LossCurves:
        """A hinge for each label."""
        return nest.distances(y, self.cap)

    def worst(self, nest: MetricNest) -> LossCurves:
        """The hinge of the farthest label: (D(x) - lam)_+."""
        return nest.farthest(self.cap)

    def of(self, sets: MetricSets, y: object) -> FloatArray:
        """The distance from each label to its set, at most the cap."""
        return np.minimum(sets.distance(y), np.inf if self.cap is None else self.cap)
