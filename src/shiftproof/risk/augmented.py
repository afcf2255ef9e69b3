"""The rule itself: the calibration set, augmented by a test point with its worst possible loss.

A threshold lam meets alpha at a test point of weight W when (paper eq. 9-12)

    sum_i W_i L_i(lam) + W Lworst(lam)  <=  alpha (sum_i W_i + W),

and the rule takes the smallest one. Lworst is the paper's constant Lmax, a flat curve, or the
envelope: the worst loss that any label in the label space can still have at this threshold. Both
are loss curves, so both are one walk along the sorted curve S(lam) = sum_i W_i L_i(lam), from the
right, past the ramps of Lworst.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shiftproof._types import BoolArray, FloatArray, IntArray
from shiftproof.risk import exact
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.descent import TOLERANCE, Descent
from shiftproof.risk.sums import UNIT

#: Positive test weights below this lose digits in products.
_TINY = 1e-290

#: Points are answered in blocks that stay in the processor's cache.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Points:
    """What the rule knows of m test points: level, weight (or its two bounds), worst case."""

    alpha: FloatArray
    low: FloatArray
    high: FloatArray
    worst: LossCurves
    #: The level of all points, where worst cases are cut because weights are known within bounds
    #: only; None where low and high are the same known weight.
    cut: float | None = None

    def __len__(self) -> int:
        return len(self.alpha)

    def select(self, index: IntArray) -> Points:
        """Some of the points."""
        numbers = self.alpha[index], self.low[index], self.high[index]
        return Points(*numbers, self.worst.select(index), self.cut)

    def between(self, start: int, stop: int) -> Points:
        """The points start, ..., stop - 1."""
        numbers = self.alpha[start:stop], self.low[start:stop], self.high[start:stop]
        return Points(*numbers, self.worst.between(start, stop), self.cut)

    def with_finite_weights(self) -> Points:
        """An infinite weight replaced by the lower one, or by zero where that is infinite too."""
        low = np.where(np.isinf(self.low), 0.0, self.low)
        return replace(self, low=low, high=np.where(np.isinf(self.high), low, self.high))

    @cached_property
    def tiny(self) -> BoolArray:
        """Where the weight alone decides and is so small that products with it lose digits."""
        tiny: BoolArray = (self.alpha == 0) & (self.high > 0) & (self.high < _TINY)
        return tiny

    @cached_property
    def parts(self) -> list[tuple[FloatArray, LossCurves]]:
        """The worst case with its weight; with two weights, cut where the worse one changes.

        max(high (L - alpha), low (L - alpha)) + low alpha = low min(L, alpha) + high (L - alpha)_+
        """
        if self.cut is None:
            return [(self.low, self.worst)]
        below, above = self.worst.split(self.cut)
        return [(self.low, below), (self.high, above)]


@dataclass(frozen=True, eq=False)
class Augmented:
    """A calibration curve, ready to be augmented by any number of test points.

    Attributes
    ----------
    descent : Descent
        S(lam), the weighted loss of the calibration set.
    mass : float
        The weight that multiplies alpha on the right-hand side, sum_i W_i.
    weightless : bool
        No calibration example has any weight: the worst case alone decides.
    lower : float
        The lower end of thresholds.
    in_rationals : callable
        The same sum in rational numbers, built when it is first needed.
    """

    descent: Descent
    mass: float
    weightless: bool
    lower: float
    in_rationals: Callable[[], exact.WorstCaseSum]

    # Infinite weights, scores and worst cases are legal: comparisons deal with their differences.
    @np.errstate(invalid="ignore", over="ignore", divide="ignore")
    def thresholds(self, points: Points) -> FloatArray:
        """The smallest threshold that meets alpha at each point; inf where none does.

        Never beyond D(x), where the worst case has reached zero and the set holds every label.
        """
        result = np.empty(len(points))
        for start in range(0, len(points), _BLOCK):
            stop = min(start + _BLOCK, len(points))
            result[start:stop] = self._of_block(points.between(start, stop))
        return result

    def _of_block(self, points: Points) -> FloatArray:
        alone = np.isinf(points.low) | self.weightless
        endless = np.isinf(points.high)
        if not (alone | endless).any():
            return np.minimum(self._by_curve(points), points.worst.reach)
        by_itself = np.where(points.high > 0, points.worst.first_below(points.alpha), np.inf)
        by_curve = self._by_curve(points.with_finite_weights())
        # An interval of weights that merely ends at infinity has to do both: the worst case meets
        # alpha by itself, and with the lower end of the interval together with the curve.
        both = np.where(endless, np.maximum(by_itself, by_curve), by_curve)
        return np.minimum(np.where(alone, by_itself, both), points.worst.reach)

    def _by_curve(self, points: Points) -> FloatArray:
        """In floating point, its rounding bounded; in rational numbers where that decides."""
        band = self._rounding(points)
        lam, doubtful = self._walk(points, band, shift=np.zeros(1))
        if len(points.worst.owner):
            doubtful = self._doubtful(lam, points, band)
        doubtful |= points.tiny
        if doubtful.any():
            where = np.flatnonzero(doubtful)
            lam[where] = self._settle(lam[where], points.select(where), band[where])
        return lam

    def _rounding(self, points: Points) -> FloatArray:
        """A bound on the rounding of S and its budget together, near where the two meet.

        Each is a sum of products that is right to a few units in the last place of its terms, and
        a float differs from the decimal that it stands for by at most one.
        """
        level = points.worst.tail + points.worst.finite_heights
        terms = points.alpha * self.mass + _times(points.high, level + points.alpha)
        return 16 * UNIT * terms + self.descent.slack

    def _walk(
        self, points: Points, band: FloatArray, shift: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Go left along S and Lworst together while the budget, raised by `shift`, allows it.

        On a flat piece of Lworst the question is S(lam) <= room; on a ramp S(lam) plus a straight
        line. `lam` holds where the walk has come to; it goes on where a piece was used up.
        """
        m = len(points)
        lam, doubtful, walking = np.full(m, np.inf), np.zeros(m, bool), np.ones(m, bool)
        level, room = np.zeros(m), points.alpha * self.mass + shift
        for part, (weight, worst) in enumerate(points.parts):
            level = level + worst.tail
            room = room - _times(weight, worst.tail - (points.alpha if part == 0 else 0.0))

        def flat(here: BoolArray, left: FloatArray) -> None:
            # Where nothing is left to lose the set is the whole label space already.
            index = np.flatnonzero(here & (level > 0))
            reached = np.full(m, -np.inf)
            reached[index], doubtful[index] = self.descent.lowest(room[index], band[index])
            move(here, reached, left)

        def move(here: BoolArray, reached: FloatArray, left: FloatArray) -> None:
            lam[here] = np.maximum(left, np.minimum(reached, lam))[here]
            walking[here] = (reached <= left)[here]

        for weight, worst in points.parts:
            for knots, slopes, heights in worst.layers():
                rise, steep = _times(weight, heights), _times(weight, slopes)
                flat(walking & (heights > 0), knots)
                here = walking & (heights > 0) & np.isfinite(steep)
                index = np.flatnonzero(here & (np.isfinite(knots) | (steep == 0)))
                reached = np.full(m, np.inf)
                reached[index] = self.descent.lowest_on_line(
                    room[index], band[index], steep[index], knots[index]
                )
                move(here, reached, np.where(np.isinf(heights), -np.inf, knots - heights / slopes))
                room, level = room - rise, level + heights
        flat(walking, np.full(m, -np.inf))
        return np.maximum(lam, self.lower), doubtful

    def _doubtful(self, lam: FloatArray, points: Points, band: FloatArray) -> BoolArray:
        """Unless this threshold surely does and any that is smaller by the tolerance fails."""
        tolerance = self._tolerance(lam, points)
        before = np.minimum(lam - tolerance, np.nextafter(lam, -np.inf))
        does = (self._excess(lam + tolerance, points) <= -band) | np.isposinf(lam)
        fails = (self._excess(before, points) > band) | (lam <= self.lower)
        # Beyond its reach the worst case caps the answer, whatever the curve says there.
        return ~(fails & (does | (lam >= points.worst.reach)))

    def _excess(self, lam: FloatArray, points: Points) -> FloatArray:
        """Left-hand side minus right-hand side of the rule."""
        excess = self.descent.at(lam) - points.alpha * self.mass
        for part, (weight, worst) in enumerate(points.parts):
            alpha = points.alpha if part == 0 else 0.0
            excess = excess + _times(weight, worst.values(lam) - alpha)
        return excess

    def _tolerance(self, lam: FloatArray, points: Points) -> FloatArray:
        """Thresholds that may lie between knots are right to this; a jump stays where it is."""
        sloped = self.descent.linear or not points.worst.jumps_only
        return np.where(np.isfinite(lam) & sloped, TOLERANCE * np.abs(lam), 0.0)

    def _settle(self, lam: FloatArray, points: Points, band: FloatArray) -> FloatArray:
        """Keep `lam` where lower and higher budgets lead to the same place; decide elsewhere."""
        exactly = np.zeros(len(points))
        high, _ = self._walk(points, exactly, shift=-band)
        low, _ = self._walk(points, exactly, shift=band)
        # inf - inf is not above anything: both say that no threshold will do.
        open_ = high - low > self._tolerance(lam, points)
        low, open_ = np.where(points.tiny, self.lower, low), open_ | points.tiny
        where = np.flatnonzero(open_)
        answers = lam.copy()
        answers[where] = self._decide(points.select(where), low[where], high[where])
        return answers

    def _decide(self, points: Points, start: FloatArray, stop: FloatArray) -> FloatArray:
        """The exact threshold of each point, known to lie in [start, stop]; equal points once."""
        first, of_point = np.arange(len(points)), np.arange(len(points))
        layers = list(points.worst.layers())
        if len(layers) <= 1:
            numbers = [points.alpha, points.low, points.high, points.worst.tail, stop]
            numbers += [each for layer in layers for each in layer]
            _, first, of_point = np.unique(
                np.stack(numbers), axis=1, return_index=True, return_inverse=True
            )
        found = np.empty(len(first))
        for place, index in enumerate(first):
            one = points.select(np.array([index]))
            worst = exact.WorstCaseSum(one.worst, one.low, one.high)
            found[place] = exact.threshold(
                (self.in_rationals(), worst), float(one.alpha[0]), start[index], stop[index]
            )
        return found[of_point]


def _times(weight: FloatArray, loss: FloatArray) -> FloatArray:
    """The product, where a weight of zero removes even an infinite loss."""
    with np.errstate(invalid="ignore"):
        return np.where(weight == 0, 0.0, weight * loss)
