"""Weights that are known only within bounds: the smallest threshold that is right for all of them.

A threshold meets alpha for given weights when sum_i w_i (L_i - alpha) + w (Lworst - alpha) <= 0.
It does so for every weight in a box when the largest such sum does:

- each weight moves on its own (:class:`WeightBox`): a point whose loss exceeds alpha takes its
  upper weight, any other its lower one, the test point included;
- all weights move together (:class:`CoherentBox`), as when a group rate is uncertain: the sum is
  affine in the rates, so it is largest at a vertex.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.errors import InputError
from shiftproof.risk import exact
from shiftproof.risk.augmented import Augmented, Points
from shiftproof.risk.curve import (
    RiskCurve,
    calibration_losses,
    calibration_weights,
    other_curves,
)
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.descent import Layout
from shiftproof.risk.rule import Question, ThresholdRule, scaled_weights
from shiftproof.risk.sums import UNIT, rational, total

#: Beyond this many groups the vertices of their rates are too many to visit.
_MOST_GROUPS = 12


@dataclass(frozen=True, eq=False)
class WeightBox:
    """Each weight lies between its own bounds, whatever the others are.

    Parameters
    ----------
    low, high : arrays of one shape
        0 <= low <= high; only the upper bound of a test point may be infinite.

    Examples
    --------
    >>> import shiftproof as shp
    >>> shp.WeightBox([0.5, 1.0], [1.0, 2.0]).high
    array([1., 2.])
    """

    low: FloatArray
    high: FloatArray

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        bottom, top = _checks.test_weights("low", low), _checks.test_weights("high", high)
        shape = _checks.broadcast(low=bottom, high=top)
        bottom, top = np.broadcast_to(bottom, shape), np.broadcast_to(top, shape)
        _checks.demand("low", bottom, bottom <= top, "low <= high", "swap the bounds")
        object.__setattr__(self, "low", bottom)
        object.__setattr__(self, "high", top)

    @classmethod
    def of(cls, weights: WeightBox | ArrayLike) -> WeightBox:
        """A box as it is; known weights as a box without extent.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.WeightBox.of([1.0, 2.0]).low
        array([1., 2.])
        """
        return weights if isinstance(weights, WeightBox) else cls(weights, weights)


@dataclass(frozen=True, eq=False)
class CoherentBox:
    """All weights move together, within the convex hull of some candidates.

    Parameters
    ----------
    candidates : array (v, n)
        One row of weights per vertex. Calibration and test weights have the same vertices in the
        same order.

    Examples
    --------
    A rate of the second group between .8 and .9, at a source rate of .5:

    >>> import shiftproof as shp
    >>> box = shp.CoherentBox.from_rates([0, 1, 1], [0.5, 0.5], [0.1, 0.8], [0.2, 0.9])
    >>> box.candidates.round(3)
    array([[0.2, 1.8, 1.8],
           [0.4, 1.6, 1.6]])
    """

    candidates: FloatArray

    def __init__(self, candidates: ArrayLike) -> None:
        array = _checks.test_weights("candidates", candidates)
        if array.ndim != 2 or len(array) == 0:
            raise InputError(
                "candidates",
                "shape (v, n)",
                f"shape {array.shape}",
                "one row of weights per vertex",
            )
        object.__setattr__(self, "candidates", array)

    @classmethod
    def from_rates(
        cls, groups: ArrayLike, source: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> CoherentBox:
        """Weights target_g / source_g of examples in known groups, target rates within bounds.

        Parameters
        ----------
        groups : array (n,) of integers
            The group of each example.
        source : array (g,)
            The rate of each group where calibration data come from. A group with rate 0 has
            infinite weight, or weight 0 where its target rate is 0 too.
        low, high : arrays (g,)
            Bounds on the target rates, which sum to 1.
        """
        vertices = rate_vertices(low, high)
        rates = _checks.vector("source", source, length=vertices.shape[1])
        _checks.demand("source", rates, rates >= 0, "rates of at least 0", "pass group rates")
        group = _checks.indices("groups", groups, length=np.size(groups), below=len(rates))
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.where(vertices > 0, vertices / rates, 0.0)
        return cls(weights[:, group])


def rate_vertices(low: ArrayLike, high: ArrayLike) -> FloatArray:
    """The vertices of { p : low <= p <= high, sum p = 1 }: all rates but one at a bound.

    Examples
    --------
    >>> from shiftproof.risk import rate_vertices
    >>> rate_vertices([0.1, 0.8], [0.2, 0.9]).round(3)
    array([[0.1, 0.9],
           [0.2, 0.8]])
    """
    bottom = _checks.vector("low", low)
    top = _checks.vector("high", high, length=len(bottom))
    good = (bottom >= 0) & (bottom <= top) & (top <= 1)
    _checks.demand("low", bottom, good, "0 <= low <= high <= 1", "pass bounds on rates")
    if len(bottom) > _MOST_GROUPS:
        raise InputError(
            "low",
            f"at most {_MOST_GROUPS} groups",
            f"{len(bottom)}",
            "pool rare groups, or bound each weight on its own with WeightBox",
        )
    lows, highs = ([rational(end) for end in ends] for ends in (bottom.tolist(), top.tolist()))
    found: set[tuple[Fraction, ...]] = set()
    for free in range(len(lows)):
        others = [(lows[group], highs[group]) for group in range(len(lows)) if group != free]
        for corner in product(*others):
            rest = 1 - sum(corner, Fraction(0))
            # Bounds such as 1/3 are decimals that do not quite sum to 1.
            rate = min(max(rest, lows[free]), highs[free])
            if abs(rate - rest) <= Fraction(1, 10**12):
                found.add((*corner[:free], rate, *corner[free:]))
    if not found:
        raise InputError(
            "low",
            "bounds between which some rates sum to 1",
            f"sums from {bottom.sum():.6g} to {top.sum():.6g}",
            "widen the bounds",
        )
    return np.array(sorted(found), dtype=np.float64)


class BoxedCurve(ThresholdRule["WeightBox | ArrayLike"]):
    """The worst case of :class:`RiskCurve` over a box of weights, with the same face.

    For each alpha the largest sum over the box is again one non-increasing curve:

        max_w w (L - alpha) = high (L - alpha)_+ + low min(L, alpha) - low alpha.

    Applies when the true weights of calibration examples and test point, times one and the same
    constant, lie between their bounds; if they do so with probability 1 - delta, then
    E[loss] <= alpha + delta Lmax. What else it asks for is what :class:`RiskCurve` asks for.
    A curve is built for each distinct alpha: a few levels for many points, not one for each.

    Parameters
    ----------
    losses : LossCurves
    box : WeightBox
        Bounds on the weights of the calibration examples, shape (n,).

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.hinges([1.0, 2.0, 4.0], bound=10.0)
    >>> curve = shp.BoxedCurve(losses, shp.WeightBox([0.9, 0.9, 0.9], [1.1, 1.1, 1.1]))
    >>> farthest = shp.LossCurves.hinges([6.0], bound=10.0)
    >>> round(float(curve.threshold(1.0, shp.WeightBox(0.9, 1.1), worst=farthest)[0]), 4)
    3.2
    """

    def __init__(self, losses: LossCurves, box: WeightBox) -> None:
        self.losses = calibration_losses(losses)
        _checks.instance("box", box, WeightBox, "WeightBox(low, high)")
        low = calibration_weights(box.low, losses)
        self.box = WeightBox(low, calibration_weights(box.high, losses))

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"BoxedCurve({len(self)} examples)"

    @property
    def risk_is(self) -> str:
        """The worst case over the box."""
        return "largest weighted mean loss that the bounds on each weight allow"

    def risk(self, thresholds: ArrayLike) -> FloatArray:
        """The largest weighted mean loss over the box, max_w sum w L(lam) / sum w.

        It is reached where the examples with the largest losses have their upper weights.
        """
        lam = _checks.thresholds(thresholds, self.losses.lower)
        if self._weightless:
            raise InputError("box", "some upper weight above 0", "none", "no example counts")
        return np.array([self._risk_at(one) for one in lam.ravel()]).reshape(lam.shape)

    def threshold(
        self,
        alpha: ArrayLike,
        test_weights: WeightBox | ArrayLike,
        *,
        worst: float | LossCurves,
    ) -> FloatArray:
        """The smallest threshold that meets alpha for every weight in the box.

        As :meth:`RiskCurve.threshold`; the weight of a test point has bounds too. One curve is
        built for each distinct alpha.
        """
        box = WeightBox.of(test_weights)
        level = _checks.risk_level(alpha, self.losses.bound)
        question = Question.of(worst, self.losses, alpha=level, low=box.low, high=box.high)
        alphas, low, high = (question.flat(each) for each in (level, box.low, box.high))
        points = Points(alphas, low, high, question.worst)
        result = np.empty(len(points))
        for one in map(float, np.unique(alphas)):
            index = np.flatnonzero(alphas == one)
            some = points if len(index) == len(points) else points.select(index)
            result[index] = self._augmented(one).thresholds(replace(some, cut=one))
        return result.reshape(question.shape)

    def reweighted(self, box: WeightBox) -> BoxedCurve:
        """The same examples in another box."""
        return BoxedCurve(self.losses, box)

    def merge(self, others: BoxedCurve | Iterable[BoxedCurve]) -> BoxedCurve:
        """The worst case of all examples together."""
        curves = other_curves(self, others)
        box = WeightBox(
            np.concatenate([curve.box.low for curve in curves]),
            np.concatenate([curve.box.high for curve in curves]),
        )
        return BoxedCurve(LossCurves.concatenate([curve.losses for curve in curves]), box)

    def _risk_at(self, lam: float) -> float:
        losses = self.losses.at(lam)
        order = np.argsort(-losses)
        loss, low, high = losses[order], self.box.low[order], self.box.high[order]
        # With the k largest losses at their upper weights, for every k.
        gain = np.concatenate([[0.0], np.cumsum((high - low) * loss)])
        mass = np.concatenate([[0.0], np.cumsum(high - low)])
        means = (total(low * loss) + gain) / np.maximum(total(low) + mass, np.finfo(float).tiny)
        return float(means.max())

    def _augmented(self, alpha: float) -> Augmented:
        below, above = self.losses.split(alpha)
        low, high = self.box.low, self.box.high
        curve = Layout.of(LossCurves.concatenate([below, above])).weighted(
            np.concatenate([low, high]),
            base=total(low * below.tail) + total(high * above.tail),
            slack=16 * UNIT * alpha * total(high),  # each curve was cut at alpha, rounded
        )
        return Augmented(curve, total(low), self._weightless, self.losses.lower, self._in_rationals)

    def scaled(self, test_weights: WeightBox | ArrayLike, factor: float) -> WeightBox:
        """Bounds on test weights times a factor; an infinite one stays infinite."""
        box = WeightBox.of(test_weights)
        return WeightBox(scaled_weights(box.low, factor), scaled_weights(box.high, factor))

    @property
    def _weightless(self) -> bool:
        return not self.box.high.any()

    def _heaviest(self, test_weights: WeightBox | ArrayLike) -> FloatArray:
        return WeightBox.of(test_weights).high

    def _in_each_direction(
        self, test_weights: WeightBox | ArrayLike, points: int, directions: int
    ) -> WeightBox:
        box = WeightBox.of(test_weights)
        low, high = (_checks.each("test_weights", end, points) for end in (box.low, box.high))
        return WeightBox(np.repeat(low, directions), np.repeat(high, directions))

    def _in_rationals(self) -> exact.WorstCaseSum:
        return self._rationals

    @cached_property
    def _rationals(self) -> exact.WorstCaseSum:
        return exact.WorstCaseSum(self.losses, self.box.low, self.box.high)


class CoherentCurve(ThresholdRule[CoherentBox]):
    """The worst case of :class:`RiskCurve` over weights that move together, with the same face.

    The largest of the thresholds at the vertices. Much tighter than a box for each example when
    what is uncertain is a few group rates.

    Applies when the true weights of calibration examples and test points are one and the same
    mixture of the candidates: row k of both boxes belongs to the same vertex, as it does when both
    come from ``from_rates`` with the same bounds. If that holds with probability 1 - delta, then
    E[loss] <= alpha + delta Lmax. What else it asks for is what :class:`RiskCurve` asks for.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([1.0, 2.0, 3.0, 4.0])
    >>> rates = dict(source=[0.5, 0.5], low=[0.1, 0.8], high=[0.2, 0.9])
    >>> curve = shp.CoherentCurve(losses, shp.CoherentBox.from_rates([0, 0, 1, 1], **rates))
    >>> curve.threshold(0.5, shp.CoherentBox.from_rates([0, 1], **rates), worst=1.0)
    array([3., 4.])
    """

    def __init__(self, losses: LossCurves, box: CoherentBox) -> None:
        _checks.instance("box", box, CoherentBox, "CoherentBox(candidates), or from_rates")
        first, *others = box.candidates
        curve = RiskCurve(losses, first)
        self.losses, self.box = losses, box
        self._curves = [curve, *(curve.reweighted(weights) for weights in others)]

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"CoherentCurve({len(self)} examples, {len(self._curves)} candidates)"

    @property
    def risk_is(self) -> str:
        """The worst case over the candidates."""
        return "largest weighted mean loss that the candidates for the weights allow"

    def risk(self, thresholds: ArrayLike) -> FloatArray:
        """The largest weighted mean loss over the candidates."""
        worst: FloatArray = np.max([curve.risk(thresholds) for curve in self._curves], axis=0)
        return worst

    def threshold(
        self, alpha: ArrayLike, test_weights: CoherentBox, *, worst: float | LossCurves
    ) -> FloatArray:
        """The smallest threshold that meets alpha for all weights in the hull."""
        weights = self._matching(test_weights)
        pairs = zip(self._curves, weights, strict=True)
        each = [curve.threshold(alpha, w, worst=worst) for curve, w in pairs]
        largest: FloatArray = np.max(each, axis=0)
        return largest

    def reweighted(self, box: CoherentBox) -> CoherentCurve:
        """The same examples under other candidates."""
        return CoherentCurve(self.losses, box)

    def merge(self, others: CoherentCurve | Iterable[CoherentCurve]) -> CoherentCurve:
        """The worst case of all examples together; vertex k of one goes with vertex k of all."""
        curves = other_curves(self, others)
        for curve in curves:
            self._matching(curve.box)
        box = CoherentBox(np.concatenate([curve.box.candidates for curve in curves], axis=1))
        return CoherentCurve(LossCurves.concatenate([curve.losses for curve in curves]), box)

    def scaled(self, test_weights: CoherentBox, factor: float) -> CoherentBox:
        """Candidates for test weights times a factor; an infinite one stays infinite."""
        return CoherentBox(scaled_weights(self._matching(test_weights), factor))

    @property
    def _weightless(self) -> bool:
        return not self.box.candidates.any()

    def _heaviest(self, test_weights: CoherentBox) -> FloatArray:
        heaviest: FloatArray = self._matching(test_weights).max(axis=0)
        return heaviest

    def _in_each_direction(
        self, test_weights: CoherentBox, points: int, directions: int
    ) -> CoherentBox:
        rows = (_checks.each("test_weights", row, points) for row in self._matching(test_weights))
        return CoherentBox([np.repeat(row, directions) for row in rows])

    def _matching(self, box: CoherentBox) -> FloatArray:
        vertices, wanted = len(box.candidates), len(self._curves)
        if vertices != wanted:
            raise InputError(
                "test_weights",
                f"{wanted} candidates, as in calibration",
                f"{vertices}",
                "build both boxes from the same rates",
            )
        return box.candidates
