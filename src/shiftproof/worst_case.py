"""What the rule allows the test point to lose: a constant, an envelope, an envelope by direction.

All three keep the same promise. The constant is the paper's rule; the envelope is never larger and
finite where the label space is; by direction it never reaches farther. (A star is drawn as a
polygon around what it reaches, which adds a little where arcs are drawn as chords.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shiftproof._types import FloatArray, ObjectArray
from shiftproof.contracts import Loss, Sets, Traits
from shiftproof.errors import InputError
from shiftproof.risk import LossCurves, ThresholdRule

#: The dimensions in which stars can be drawn.
_DRAWN = (1, 2)

#: With fewer directions a chord cuts off much of an arc.
_FEWEST = 8


class _OneThreshold(ABC):
    """A worst case that leads to one threshold for each point; it goes with everything."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Every nest has what it takes."""
        return ()

    def demand(self, loss: Loss, traits: Traits) -> None:
        """Nothing."""
        del loss, traits

    def sets(
        self, rule: ThresholdRule[Any], loss: Loss, nest: Any, weights: Any, alpha: FloatArray
    ) -> Sets:
        """The sets at the smallest threshold that meets alpha with this worst case."""
        thresholds = rule.threshold(alpha, weights, worst=self.worst(loss, nest))
        return _with_reason(nest.at(thresholds), partial(_outcome, rule, thresholds, weights, nest))

    @abstractmethod
    def worst(self, loss: Loss, nest: Any) -> float | LossCurves:
        """What the test point may lose."""


@dataclass(frozen=True)
class Constant(_OneThreshold):
    """The paper's rule: the test point may lose Lmax whatever its set.

    Points of large weight get the whole label space.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 10, 20)[:, None]
    >>> for worst_case in (shp.Constant(), shp.Pointwise(), shp.Directional()):
    ...     controller = shp.RiskController(
    ...         lambda x: x[:, 0], shp.Intervals(0, 10), shp.Distance(), worst_case=worst_case
    ...     )
    ...     sets = controller.calibrate(x, 0.9 * x[:, 0]).predict([[2.0]], alpha=0.4)
    ...     print(sets.lower.round(3), sets.upper.round(3))
    [0.] [10.]
    [1.313] [2.687]
    [1.807] [2.687]
    """

    def worst(self, loss: Loss, nest: Any) -> float:
        """Lmax, at every threshold."""
        return loss.bound(nest)


@dataclass(frozen=True)
class Pointwise(_OneThreshold):
    """The envelope: the test point may lose what its farthest label loses, at each threshold.

    Examples
    --------
    >>> import shiftproof as shp
    >>> controller = shp.RiskController(lambda x: x, shp.Intervals(), shp.Miscoverage())
    >>> controller.worst_case  # where nothing is said
    Pointwise()
    """

    def worst(self, loss: Loss, nest: Any) -> LossCurves:
        """What the farthest label of each point loses, at each threshold."""
        return loss.worst(nest)


@dataclass(frozen=True)
class Directional:
    """The envelope by direction: asymmetric intervals, star-shaped sets in the plane.

    In each direction the test point may lose what the farthest label in that direction loses. For
    losses by distance only, in one dimension or two.

    Parameters
    ----------
    directions : int
        How many equal angles are looked at in the plane, besides those of the region's corners; a
        multiple of eight fits balls of p = 1 and p = inf exactly.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> place = rng.uniform(0, 10, (100, 2))
    >>> heard = np.clip(place + rng.normal(0, 1, place.shape), 0, 10)
    >>> balls = shp.Balls(shp.Box([0, 0], [10, 10]))
    >>> for worst_case in (shp.Pointwise(), shp.Directional()):
    ...     controller = shp.RiskController(
    ...         lambda x: x, balls, shp.Distance(), worst_case=worst_case
    ...     )
    ...     sets = controller.calibrate(heard, place).predict([[2.0, 5.0]], alpha=0.5)
    ...     print(sets, sets.size().round(2))
    BallSets(1 sets, 0 whole) [2.73]
    StarSets(1 sets, 0 whole) [2.4]
    """

    directions: int = 72

    def __post_init__(self) -> None:
        count = self.directions
        if isinstance(count, bool) or not isinstance(count, int) or count < _FEWEST:
            expected = f"a whole number of at least {_FEWEST}"
            raise InputError("directions", expected, f"{count!r}", "for example 72")

    @property
    def needs(self) -> tuple[str, ...]:
        """Directions, and distances in them."""
        return ("rays", "star", "distances")

    def demand(self, loss: Loss, traits: Traits) -> None:
        """Distances, that start at 0, on the line or in the plane."""
        others, nowhere = "Pointwise() or Constant()", "Directional()"
        if "distances" not in loss.needs:
            repair = "star-shaped sets exist for losses by distance: Distance()"
            raise InputError("worst_case", f"{others} for {type(loss).__name__}", nowhere, repair)
        if traits.shrinks:
            repair = "or keep them as wide as the pair: Quantiles(shrink=False)"
            raise InputError(
                "worst_case", f"{others} for intervals that may shrink", nowhere, repair
            )
        if traits.dimension not in _DRAWN:
            repair = "star-shaped sets are drawn as intervals or polygons"
            expected = f"{others} in a label space of {traits.dimension} dimensions"
            raise InputError("worst_case", expected, nowhere, repair)

    def worst(self, loss: Loss, nest: Any) -> LossCurves:
        """As for the envelope: in the direction of the farthest label, where a set reaches most."""
        return loss.worst(nest)

    def sets(
        self, rule: ThresholdRule[Any], loss: Loss, nest: Any, weights: Any, alpha: FloatArray
    ) -> Sets:
        """The sets that reach as far as the envelope asks for in each direction."""
        del loss
        edges = nest.rays(self.directions)
        reach = rule.directional(alpha, weights, edges, slopes=nest.slopes)
        sets = nest.star(reach, self.directions)
        return _with_reason(sets, partial(_outcome_of_stars, rule, sets, weights))


def _outcome(
    rule: ThresholdRule[Any], thresholds: FloatArray, weights: Any, nest: Any
) -> ObjectArray:
    return rule.outcome(thresholds, weights, whole=nest.whole())


def _outcome_of_stars(rule: ThresholdRule[Any], sets: Sets, weights: Any) -> ObjectArray:
    return rule.outcome(np.where(sets.whole, np.inf, 0.0), weights, whole=np.inf)


def _with_reason(sets: Any, reason: Callable[[], ObjectArray]) -> Sets:
    explained: Sets = sets.because(reason)
    return explained
