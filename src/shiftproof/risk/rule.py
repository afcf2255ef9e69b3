"""What every curve answers, whether its weights are known, boxed or coherent."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray, ObjectArray
from shiftproof.errors import InputError
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.outcome import outcomes

Weights = TypeVar("Weights")


class ThresholdRule(ABC, Generic[Weights]):
    """A calibrated rule: from a level and a test weight to a threshold.

    `Weights` is the form in which weights come: numbers, a box, or candidates that move together.

    Examples
    --------
    >>> import shiftproof as shp
    >>> isinstance(shp.RiskCurve(shp.LossCurves.steps([1.0])), shp.ThresholdRule)
    True
    """

    losses: LossCurves

    @property
    def risk_is(self) -> str:
        """What :meth:`risk` is, in a few words."""
        return "weighted mean loss of the calibration examples"

    @abstractmethod
    def risk(self, thresholds: ArrayLike) -> FloatArray:
        """The weighted mean loss at each threshold (the largest that the weights allow)."""

    @abstractmethod
    def threshold(
        self, alpha: ArrayLike, test_weights: Weights, *, worst: float | LossCurves
    ) -> FloatArray:
        """The smallest threshold that meets alpha at each test point; inf where none does."""

    def budget(
        self,
        thresholds: ArrayLike,
        alpha: ArrayLike,
        test_weights: Weights,
        *,
        worst: float | LossCurves,
    ) -> FloatArray:
        """The calibration risk that is allowed at each threshold; of :class:`RiskCurve` only.

        Where weights are known within bounds, or groups stand for themselves, calibration and test
        point do not part into a risk and what is allowed for it.
        """
        del thresholds, alpha, test_weights, worst
        raise InputError(
            "rule",
            "a RiskCurve, priced or not",
            type(self).__name__,
            "only numbers for weights leave a budget: threshold answers for all rules",
        )

    def directional(
        self,
        alpha: ArrayLike,
        test_weights: Weights,
        worst_scores: ArrayLike,
        *,
        slopes: ArrayLike = 1.0,
    ) -> FloatArray:
        """How far a star-shaped set reaches in each direction: min(D_u, lam'(D_u)).

        The envelope allows for D(x), the distance to the farthest label, in all directions. Where
        the label space ends earlier less can be lost. With lam'(d) the envelope threshold for a
        farthest label at distance d, and D_u the distance from the prediction f to the edge of the
        label space in direction u, the set

            { f + t u : 0 <= t <= min(D_u, lam'(D_u)) }

        keeps the promise: the true label f + r u has r <= D_u, and lam' does not fall with d, so
        its distance to the set is at most (r - lam'(r))_+, the loss in the (n+1)-point sum with
        the true score. That holds in any norm. It needs losses that are distances (hinges), and a
        convex label space that contains f.

        Parameters
        ----------
        alpha : number or array (m,)
        test_weights : as in :meth:`threshold`, one for all points or one for each of m
        worst_scores : array (m, u)
            D_u, the score of the farthest label in each direction.
        slopes : number or array (m,)
            The scale s(x) of a normalised score. A cap is taken from the losses.

        Returns
        -------
        array (m, u)
            In units of scores: kilometres for plain distances, kilometres divided by s(x) for
            normalised ones. t above is in the same units, and u of the length s(x).

        Examples
        --------
        On a road of 40 km a device that is predicted at kilometre 30 can be 30 km to one side and
        10 km to the other:

        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0))
        >>> curve.directional(8.0, 1.0, [[30.0, 10.0]])
        array([[4.66666667, 0.        ]])
        """
        scores = _checks.floats("worst_scores", worst_scores)
        if scores.ndim != 2:
            expected = "shape (points, directions)"
            raise InputError("worst_scores", expected, f"shape {scores.shape}", "one row per point")
        _checks.demand(
            "worst_scores", scores, scores >= 0, "distances of at least 0", "measure from inside"
        )
        if self.losses.jumps_only or self.losses.lower != 0:
            raise InputError(
                "losses",
                "distances (hinges) with thresholds from 0 up",
                repr(self.losses),
                "star-shaped sets exist for the distance from a label to a set",
            )
        points, directions = scores.shape
        distances = LossCurves.hinges(
            scores.ravel(),
            np.repeat(_checks.each("slopes", slopes, points), directions),
            bound=math.inf,
            cap=self.losses.common_cap,
            lower=self.losses.lower,
        )
        farthest = float(distances.at(distances.lower).max(initial=0.0))
        worst = replace(distances, bound=max(self.losses.bound, farthest))
        level = np.repeat(_checks.each("alpha", alpha, points), directions)
        weights = self._in_each_direction(test_weights, points, directions)
        return self.threshold(level, weights, worst=worst).reshape(scores.shape)

    def outcome(
        self, thresholds: ArrayLike, test_weights: Weights, *, whole: ArrayLike
    ) -> ObjectArray:
        """Why each threshold is what it is: an array of :class:`Outcome`.

        Parameters
        ----------
        whole : number or array
            D(x), from where on the set is the whole label space: ``worst.reach`` of an envelope;
            inf where the label space is unbounded, or where only the paper's rule is used.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([0.1, 0.5, 0.2]))
        >>> thresholds = curve.threshold(0.5, [1.0, 9.0], worst=1.0)
        >>> for outcome in curve.outcome(thresholds, [1.0, 9.0], whole=float("inf")):
        ...     print(outcome)
        the set is the smallest of its family that meets alpha here
        no smaller threshold meets alpha here; the whole label space is returned
        """
        lam = _checks.thresholds(thresholds, self.losses.lower)
        place, weight = _checks.floats("whole", whole), self._heaviest(test_weights)
        _checks.broadcast(thresholds=lam, test_weights=weight, whole=place)
        lam, weight, place = np.broadcast_arrays(lam, weight, place)
        return outcomes(lam, weight, self._weightless, place)

    @abstractmethod
    def scaled(self, test_weights: Weights, factor: float) -> Weights:
        """The same test points, their weights times `factor`: 0 takes the test mass away.

        Half the test weight is what twice the calibration examples come to. A point outside the
        support stays there: its weight is inf whatever the factor.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([0.1, 0.5]))
        >>> curve.scaled([1.0, 4.0, float("inf")], 0.5)
        array([0.5, 2. , inf])
        """

    @property
    @abstractmethod
    def _weightless(self) -> bool:
        """Whether no calibration example can have weight."""

    @abstractmethod
    def _heaviest(self, test_weights: Weights) -> FloatArray:
        """The largest weight that each test point can have."""

    @abstractmethod
    def _in_each_direction(self, test_weights: Weights, points: int, directions: int) -> Weights:
        """The weights of the points, each repeated for its directions."""


def scaled_weights(weights: FloatArray, factor: float) -> FloatArray:
    """Weights times a factor; an infinite one stays infinite."""
    infinite = np.isinf(weights)
    return np.where(infinite, weights, np.where(infinite, 0.0, weights) * factor)


@dataclass(frozen=True, eq=False)
class Question:
    """The shape to which the arguments of a look-up broadcast, and a worst case for each entry."""

    shape: tuple[int, ...]
    worst: LossCurves

    @classmethod
    def of(cls, worst: float | LossCurves, losses: LossCurves, **arrays: FloatArray) -> Question:
        """Worst-case curves count as an array of shape (m,); a number as the same for all."""
        if not isinstance(worst, LossCurves):
            constant = _checks.scalar("worst", worst, "pass the bound of the loss, or loss curves")
            if constant < losses.bound:
                raise InputError(
                    "worst",
                    f"at least the bound of the losses, {losses.bound!r}",
                    f"{constant!r}",
                    "the rule has to allow for the largest loss; an envelope is passed as curves",
                )
            shape = _checks.broadcast(**arrays)
            return cls(shape, LossCurves.flat(constant, losses.lower).spread(math.prod(shape)))
        if worst.bound < losses.bound:
            raise InputError(
                "worst",
                f"curves of a loss bounded by {losses.bound!r} or more",
                f"a bound of {worst.bound!r}",
                "build the worst case with the loss and the bound of the calibration losses",
            )
        if worst.lower != losses.lower:
            raise InputError(
                "worst",
                f"curves with the lower end of the losses, {losses.lower!r}",
                f"{worst.lower!r}",
                "build both with the same lower",
            )
        each = np.arange(len(worst))
        shape = _checks.broadcast(**arrays, worst=each.astype(np.float64))
        if shape == (len(worst),):
            return cls(shape, worst)
        return cls(shape, worst.select(np.broadcast_to(each, shape).ravel()))

    def flat(self, values: FloatArray) -> FloatArray:
        """An argument, one value for each entry."""
        return np.broadcast_to(values, self.shape).reshape(-1)
