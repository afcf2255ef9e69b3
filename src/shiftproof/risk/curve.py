"""Weighted conformal risk control: one curve, sorted once, one look-up per test point.

The rule (paper eq. 9-12) asks for the smallest lam with

    ( sum_i W_i L_i(lam) + W Lmax ) / ( sum_i W_i + W )  <=  alpha.

Moving everything that does not depend on lam to one side,

    S(lam) := sum_i W_i L_i(lam)  <=  alpha (sum_i W_i + W) - W Lmax =: budget(alpha, W).

S is one curve. Any alpha and any test weight is one look-up in it, and a new shift re-weights the
curve without sorting it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, BoolArray, FloatArray
from shiftproof.errors import InputError
from shiftproof.risk import exact
from shiftproof.risk.augmented import Augmented, Points
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.descent import Descent, Layout
from shiftproof.risk.rule import Question, ThresholdRule, scaled_weights
from shiftproof.risk.sums import total

Curve = TypeVar("Curve")


class RiskCurve(ThresholdRule[ArrayLike]):
    """The weighted calibration losses S(lam) = sum_i W_i L_i(lam), ready for look-ups.

    Applies when the weights are dP'/dP at the calibration inputs, known up to one constant (which
    is then the constant of the test weights too), the examples are independent draws from P, and
    the law of the label given the input is the same under P'. Then E[loss] <= alpha under P', on
    average over calibration draws and test points (paper, Proposition 1). It says nothing about
    one calibration set or one test point, nothing when weights were fitted on these examples, and
    nothing when alpha was chosen after seeing results.

    Parameters
    ----------
    losses : LossCurves
        One curve per calibration example.
    weights : array (n,), optional
        W_i = w(X_i), at least 0 and finite; all 1 where left out (no shift).

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([0.1, 0.5, 0.2, 0.9])
    >>> curve = shp.RiskCurve(losses, weights=[1, 1, 2, 2])
    >>> float(curve.threshold(0.5, 1.0, worst=1.0))
    0.5
    """

    def __init__(self, losses: LossCurves, weights: ArrayLike | None = None) -> None:
        self.losses = calibration_losses(losses)
        self.weights: FloatArray = (
            np.ones(len(losses)) if weights is None else calibration_weights(weights, losses)
        )
        self._layout = Layout.of(losses)

    @cached_property
    def total_weight(self) -> float:
        """sum_i W_i."""
        return total(self.weights)

    @property
    def effective_size(self) -> float:
        """(sum W)^2 / sum W^2: so many unweighted examples would vary as much.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([1.0, 2.0, 3.0]), weights=[1, 1, 0])
        >>> curve.effective_size
        2.0
        """
        scaled = self.weights / self.weights.max() if self.total_weight > 0 else self.weights
        squares = float((scaled**2).sum())
        return float(scaled.sum()) ** 2 / squares if squares > 0 else 0.0

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"RiskCurve({len(self)} examples, total weight {self.total_weight:.6g})"

    def risk(self, thresholds: ArrayLike) -> FloatArray:
        """The weighted mean loss sum_i W_i L_i(lam) / sum_i W_i, an estimate and no promise.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([1.0, 2.0]), weights=[1, 3])
        >>> curve.risk([0.0, 1.0, 2.0])
        array([1.  , 0.75, 0.  ])
        """
        lam = _checks.thresholds(thresholds, self.losses.lower)
        self._demand_weight()
        values = self._descent.at(lam.ravel()).reshape(lam.shape)
        return values / self.total_weight

    def threshold(
        self, alpha: ArrayLike, test_weights: ArrayLike, *, worst: float | LossCurves
    ) -> FloatArray:
        """The smallest threshold that meets alpha at each test point; inf where none does.

        lam = inf{ lam >= lower : sum_i W_i L_i(lam) + W Lworst(lam) <= alpha (sum_i W_i + W) },
        and at most D(x), where Lworst reaches 0.

        Parameters
        ----------
        alpha : number or array
            The tolerated expected loss, from 0 to the bound of the loss, chosen before looking.
        test_weights : number or array
            W = w(X) at the test points, on the scale of the calibration weights. 0: no test mass.
            ``inf``: outside the support of the calibration distribution.
        worst : float or LossCurves
            What the test point may lose. A number, the bound of the loss, is the paper's rule. One
            curve per test point is the envelope, sup over labels of the loss at each threshold:
            never larger thresholds, the same guarantee, and finite where D(x) is.

        Returns
        -------
        array
            Of the shape to which the arguments broadcast. ``inf`` means that the whole label space
            has to be returned; :meth:`outcome` says why.

        Notes
        -----
        A threshold at a jump is that of exact arithmetic, the very score, ties included. On a
        sloped piece it is right to rounding, and at worst to 1e-10 of itself. A float counts as the
        shortest decimal that it prints as.

        Examples
        --------
        Distances of 4, 7 and 9 km in a region with a diameter of 40 km, alpha = 8 km:

        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0))
        >>> float(curve.threshold(8.0, 1.0, worst=40.0))  # the paper's rule: no radius will do
        inf
        >>> farthest = shp.LossCurves.hinges([25.0], bound=40.0)  # no label is beyond 25 km here
        >>> float(curve.threshold(8.0, 1.0, worst=farthest)[0])
        3.25
        """
        level = _checks.risk_level(alpha, self.losses.bound)
        weight = _checks.test_weights("test_weights", test_weights)
        question = Question.of(worst, self.losses, alpha=level, test_weights=weight)
        w = question.flat(weight)
        points = Points(question.flat(level), w, w, question.worst)
        return self._augmented.thresholds(points).reshape(question.shape)

    def budget(
        self,
        thresholds: ArrayLike,
        alpha: ArrayLike,
        test_weights: ArrayLike,
        *,
        worst: float | LossCurves,
    ) -> FloatArray:
        """The calibration risk that is allowed at each threshold, on the scale of :meth:`risk`.

            alpha - (W / sum_i W_i) (Lworst(lam) - alpha)

        The rule takes the smallest threshold at which the risk is no larger. What is allowed is the
        less, the more weight the test point has: below alpha while it may lose more than alpha,
        above alpha from where on it cannot. For looking at; :meth:`threshold` does not round.

        Parameters
        ----------
        thresholds, alpha, test_weights : numbers or arrays
            Of shapes that broadcast with each other, and with (m,) where `worst` are m curves.
        worst : float or LossCurves
            As in :meth:`threshold`.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0))
        >>> farthest = shp.LossCurves.hinges([25.0], bound=40.0)
        >>> lam = curve.threshold(8.0, 1.0, worst=farthest)
        >>> curve.risk(lam).round(6), curve.budget(lam, 8.0, 1.0, worst=farthest).round(6)
        (array([3.416667]), array([3.416667]))
        """
        lam = _checks.thresholds(thresholds, self.losses.lower)
        level = _checks.risk_level(alpha, self.losses.bound)
        weight = _checks.test_weights("test_weights", test_weights)
        self._demand_weight()
        asked = Question.of(worst, self.losses, alpha=level, test_weights=weight, thresholds=lam)
        a, w = asked.flat(level), asked.flat(weight)
        beyond = asked.worst.at(asked.flat(lam)) - a
        with np.errstate(invalid="ignore"):  # an infinite weight of a point that loses just alpha
            mass = np.where(beyond == 0, 0.0, w / self.total_weight * beyond)
        return (a - mass).reshape(asked.shape)

    def randomized(
        self, alpha: ArrayLike, test_weights: ArrayLike, uniforms: ArrayLike
    ) -> RandomizedThreshold:
        """Miscoverage that attains alpha, at the price of one random number per point.

        On average over calibration draws, test points and U, and under what :class:`RiskCurve`
        asks for, the probability of leaving out the label is alpha, neither more nor less.

        p(r) = ( sum_{R_i > r} W_i + U (sum_{R_i = r} W_i + W) ) / ( sum_i W_i + W ); a label with
        score r is in the set when p(r) > alpha. As p falls in r that is a threshold and whether it
        is included.

        Parameters
        ----------
        uniforms : array
            U, independent and uniform on (0, 1): ``keys.uniforms(keys.row_keys(...))`` gives every
            row its own.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([0.1, 0.2, 0.3]))
        >>> curve.randomized(0.5, 1.0, [0.1, 0.9]).contains([0.2, 0.2])
        array([False,  True])
        """
        if not _is_miscoverage(self.losses):
            raise InputError(
                "losses",
                "miscoverage, as built by LossCurves.steps",
                repr(self.losses),
                "other losses have no randomised rule here: use threshold",
            )
        level = _checks.risk_level(alpha, self.losses.bound)
        weight = _checks.test_weights("test_weights", test_weights)
        scores = self.losses.knots
        placed = scores >= self.losses.lower
        repair = "build the losses with lower=-math.inf"
        _checks.demand("losses", scores, placed, "scores not below the lower end", repair)
        chance = _checks.floats("uniforms", uniforms)
        good = (chance > 0) & (chance < 1)
        expected = "numbers strictly between 0 and 1"
        _checks.demand("uniforms", chance, good, expected, "draw them with keys.uniforms")
        shape = _checks.broadcast(alpha=level, test_weights=weight, uniforms=chance)
        a, w, u = (np.broadcast_to(each, shape).ravel() for each in (level, weight, chance))
        # p(r) > alpha  iff  sum_{R_i > r} W_i + U sum_{R_i = r} W_i > alpha (sum W_i + W) - U W.
        # Below the smallest r with sum_{R_i > r} W_i + U W <= alpha (sum W_i + W), the threshold
        # for a worst case of U, every score satisfies it; above it none does.
        worst = LossCurves.flat(1.0, self.losses.lower).spread(len(u))
        lam = self._augmented.thresholds(Points(a, w, w, replace(worst, tail=u)))
        above, from_here = self._descent.at(lam), self._descent.at(np.nextafter(lam, -np.inf))
        with np.errstate(invalid="ignore"):  # an infinite weight leaves no room at any score
            room = a * self.total_weight - w * (u - a)
        closed = (above + u * (from_here - above) > room) & np.isfinite(lam)
        return RandomizedThreshold(lam.reshape(shape), closed.reshape(shape))

    def reweighted(self, weights: ArrayLike) -> RiskCurve:
        """The same examples under another shift, without sorting again.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([1.0, 2.0]))
        >>> curve.reweighted([1, 3]).risk([1.0])
        array([0.75])
        """
        copy = RiskCurve.__new__(RiskCurve)
        copy.losses, copy._layout = self.losses, self._layout  # noqa: SLF001 - its own class
        copy.weights = calibration_weights(weights, self.losses)
        return copy

    def merge(self, others: RiskCurve | Iterable[RiskCurve]) -> RiskCurve:
        """The curve of all examples together, as if they had been calibrated at once.

        Examples
        --------
        >>> import shiftproof as shp
        >>> here, there = (shp.RiskCurve(shp.LossCurves.steps([score])) for score in (1.0, 2.0))
        >>> len(here.merge(there))
        2
        """
        curves = other_curves(self, others)
        return RiskCurve(
            LossCurves.concatenate([curve.losses for curve in curves]),
            np.concatenate([curve.weights for curve in curves]),
        )

    def outline(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The whole curve from left to right: places, S just before each, S at each.

        The first place is the lower end, or lies before every knot where that is -inf. Between
        places S is a straight line, and flat where all losses are steps.

        Examples
        --------
        >>> import shiftproof as shp
        >>> curve = shp.RiskCurve(shp.LossCurves.steps([1.0, 2.0]), weights=[1, 3])
        >>> for part in curve.outline():
        ...     print(part)
        [0. 1. 2.]
        [4. 4. 3.]
        [4. 3. 0.]
        """
        places, left, right = self._descent.outline()
        inside = places > self.losses.lower
        start = self.losses.lower
        if np.isinf(start):
            start = float(places[np.isfinite(places)].min(initial=1.0)) - 1.0
        at_start = self._descent.at(np.array([start]))
        return (
            np.concatenate([[start], places[inside]]),
            np.concatenate([at_start, left[inside]]),
            np.concatenate([at_start, right[inside]]),
        )

    def scaled(self, test_weights: ArrayLike, factor: float) -> ArrayLike:
        """Test weights times a factor; an infinite one stays infinite."""
        return scaled_weights(_checks.test_weights("test_weights", test_weights), factor)

    def _demand_weight(self) -> None:
        if self.total_weight == 0:
            raise InputError(
                "weights",
                "some weight above 0",
                "none",
                "under this shift no calibration example counts, and nothing can be estimated",
            )

    @property
    def _weightless(self) -> bool:
        return self.total_weight == 0

    def _heaviest(self, test_weights: ArrayLike) -> FloatArray:
        return _checks.test_weights("test_weights", test_weights)

    def _in_each_direction(
        self, test_weights: ArrayLike, points: int, directions: int
    ) -> ArrayLike:
        return np.repeat(_checks.each("test_weights", test_weights, points), directions)

    @cached_property
    def _descent(self) -> Descent:
        tail = self.losses.tail
        return self._layout.weighted(
            self.weights, total(self.weights * tail) if tail.any() else 0.0
        )

    @cached_property
    def _augmented(self) -> Augmented:
        return Augmented(
            self._descent,
            self.total_weight,
            self._weightless,
            self.losses.lower,
            self._in_rationals,
        )

    def _in_rationals(self) -> exact.WorstCaseSum:
        return self._rationals

    @cached_property
    def _rationals(self) -> exact.WorstCaseSum:
        return exact.WorstCaseSum(self.losses, self.weights, self.weights)


@dataclass(frozen=True, eq=False)
class RandomizedThreshold:
    """The labels with a score below the threshold, and those at it where it is `closed`.

    Attributes
    ----------
    threshold : array
        inf: every label, the whole label space.
    closed : array of bool
        Whether a score equal to the threshold is included.

    Examples
    --------
    >>> import shiftproof as shp
    >>> curve = shp.RiskCurve(shp.LossCurves.steps([0.1, 0.2, 0.3]))
    >>> from shiftproof import keys
    >>> drawn = keys.uniforms(keys.row_keys(7, "prediction", 2))
    >>> curve.randomized(0.5, 1.0, drawn).threshold
    array([0.2, 0.2])
    """

    threshold: FloatArray
    closed: BoolArray

    def contains(self, scores: ArrayLike) -> BoolArray:
        """Whether a label with this score is in the set of its point.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftproof.risk import RandomizedThreshold
        >>> RandomizedThreshold(np.array([1.0]), np.array([False])).contains([1.0])
        array([False])
        """
        score = _checks.floats("scores", scores)
        _checks.broadcast(scores=score, thresholds=self.threshold)
        inside: BoolArray = (
            (score < self.threshold)
            | (self.closed & (score == self.threshold))
            | np.isposinf(self.threshold)
        )
        return inside


def calibration_losses(losses: LossCurves) -> LossCurves:
    """Losses that can be summed: some, and finite wherever a threshold may lie."""
    _checks.instance("losses", losses, LossCurves, "build them with LossCurves")
    _checks.non_empty("losses", losses.tail, "calibrate on at least one labelled example")
    if np.isfinite(losses.bound):
        return losses
    largest = losses.at(losses.lower)
    _checks.demand(
        "losses",
        largest,
        np.isfinite(largest),
        "finite calibration losses",
        "a label at an infinite distance cannot be averaged: cap the loss",
    )
    return losses


def calibration_weights(weights: ArrayLike, losses: LossCurves) -> FloatArray:
    """Weights that can be summed, one for each curve, alone and times the losses."""
    weight = _checks.calibration_weights("weights", weights, len(losses))
    largest = losses.bound if np.isfinite(losses.bound) else float(losses.at(losses.lower).max())
    if len(weight) * float(weight.max()) > 1e300 / max(largest, 1.0):
        raise InputError(
            "weights",
            "weights and losses whose products can be summed",
            f"weights up to {weight.max():g} and losses up to {largest:g}",
            "divide all weights, those of the test points too, by one constant",
        )
    return weight


def other_curves(curve: Curve, others: Curve | Iterable[Curve]) -> list[Curve]:
    """A curve and those to merge with it, all of one kind."""
    kind = type(curve)
    found = [others] if isinstance(others, kind) else others
    if not isinstance(found, Iterable):
        found = [found]
    return [
        curve,
        *(_checks.instance("others", one, kind, "merge like with like") for one in found),
    ]


def _is_miscoverage(losses: LossCurves) -> bool:
    one_step = len(losses.owner) == len(losses) and losses.jumps_only
    return one_step and bool((losses.heights == 1).all() and (losses.tail == 0).all())
