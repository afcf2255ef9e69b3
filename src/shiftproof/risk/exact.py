"""The threshold in rational numbers, for the few questions that rounding cannot decide.

A budget often equals a level of the curve exactly: with n = 99 unit weights and alpha = .1 the
budget is .1 * 100 - 1 = 9 examples, and in floating point either 9 or a little less. Such ties are
decided here from the definition, in :class:`~fractions.Fraction`. A float is read as its shortest
decimal, so that .1 means 1/10, as the person who wrote it does.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby, islice

import numpy as np

from shiftproof._types import FloatArray
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.sums import WIDE, exact_sum, rational

_Ramp = tuple[float, float, float]  # knot, slope, height
_Example = tuple[float, float, float, tuple[_Ramp, ...]]  # low, high, tail, ramps


class WorstCaseSum:
    """sum_i max over w in [low_i, high_i] of w (L_i(lam) - alpha); low = high: weights are known.

    A threshold meets alpha where this sum, taken over the calibration examples and the worst case
    of the test point, is at most zero (paper eq. 9-12, multiplied by the sum of the weights).
    """

    def __init__(self, losses: LossCurves, low: FloatArray, high: FloatArray) -> None:
        counted = np.flatnonzero(high > 0)  # no weight, no contribution, however large the loss
        losses, low, high = losses.select(counted), low[counted], high[counted]
        self._losses, self._low, self._high = losses, low, high
        self._low_total = exact_sum(low)
        self._known_steps = losses.jumps_only and bool((low == high).all())
        endless = np.isposinf(losses.knots) & np.isinf(losses.heights)
        #: Whether some loss is infinite at every threshold: then none will do.
        self.hopeless = bool(endless.any() or np.isinf(losses.tail).any())

    def at(self, lam: Fraction, alpha: Fraction) -> Fraction:
        """The sum at a threshold."""
        if self._known_steps:
            places, levels = self._levels
            level = levels[bisect_right(places, lam, key=_comparable)]
            return Fraction(level) - alpha * self._low_total
        # An example without loss contributes -alpha low_i; the others are added one by one.
        result = -alpha * self._low_total
        for (low, high, tail, ramps), count in self._with_loss(lam).items():
            loss = rational(tail) + sum((_ramp(ramp, lam) for ramp in ramps), Fraction(0))
            below, above = min(loss, alpha), max(loss - alpha, Fraction(0))
            result += count * (rational(low) * below + (rational(high) * above if above else 0))
        return result

    @cached_property
    def _levels(self) -> tuple[list[float], list[Decimal]]:
        """The knots from left to right, and sum w L before the first and from each of them on."""
        losses = self._losses
        order = np.argsort(-losses.knots)
        weights, heights = self._low[losses.owner[order]].tolist(), losses.heights[order].tolist()
        tails = (self._low.tolist(), losses.tail.tolist()) if losses.tail.any() else ([], [])
        read = {x: Decimal(repr(x)) for x in {*weights, *heights, *tails[0], *tails[1]}}

        def running(pairs: Iterable[tuple[float, float]], start: Decimal) -> Iterable[Decimal]:
            products = (WIDE.multiply(read[one], read[other]) for one, other in pairs)
            return accumulate(products, WIDE.add, initial=start)

        *_, base = running(zip(*tails, strict=True), Decimal(0))
        levels = list(running(zip(weights, heights, strict=True), base))
        return losses.knots[order][::-1].tolist(), levels[::-1]

    def breakpoints(self, start: float, stop: float, alpha: Fraction) -> set[Fraction]:
        """All places in [start, stop] where the sum bends or jumps."""
        losses = self._losses
        margin = 1e-9 * (abs(start) if np.isfinite(start) else 0.0)
        with np.errstate(invalid="ignore"):
            crossing = losses.knots - np.maximum(float(alpha) - losses.bases, 0.0) / losses.slopes
        near = np.zeros(len(losses.knots), bool)
        for places in (losses.knots, losses.bottoms, crossing):
            near |= (places >= start - margin) & (places <= stop + margin)
        found: set[Fraction] = set()
        for index in np.flatnonzero(near).tolist():
            knot, slope, height = self._ramp(index)
            if not np.isfinite(knot):
                continue
            found.add(rational(knot))
            if np.isfinite(slope):
                room = max(alpha - losses.exact_base(index), Fraction(0))
                found.add(rational(knot) - room / rational(slope))
                if np.isfinite(height):
                    found.add(rational(knot) - rational(height) / rational(slope))
        return found

    def _ramp(self, index: int) -> _Ramp:
        losses = self._losses
        return (
            float(losses.knots[index]),
            float(losses.slopes[index]),
            float(losses.heights[index]),
        )

    def _with_loss(self, lam: Fraction) -> Counter[_Example]:
        """The examples with a loss at `lam`, equal ones counted together.

        Of a ramp that has surely reached its height only the height matters, which is what makes
        examples equal; in doubt the ramp is kept as it is.
        """
        losses = self._losses
        down, up = np.nextafter(float(lam), [-np.inf, np.inf])
        margin = 1e-12 * np.where(np.isfinite(losses.bottoms), np.abs(losses.knots), 0.0)
        margin += 1e-12 * np.where(np.isfinite(losses.bottoms), np.abs(losses.bottoms), 0.0)
        full = losses.bottoms - margin > up
        alive = losses.knots > down
        owner = losses.owner[alive]
        knots = np.where(full, np.inf, losses.knots)[alive].tolist()
        slopes = np.where(full, np.inf, losses.slopes)[alive].tolist()
        ramps = zip(knots, slopes, losses.heights[alive].tolist(), strict=True)
        counts: Counter[_Example] = Counter()
        held = np.array(losses.tail > 0)
        held[owner] = False
        for index in np.flatnonzero(held).tolist():
            counts[self._example(index, ())] += 1
        for index, members in groupby(owner.tolist()):
            mine = len(list(members))
            counts[self._example(index, tuple(islice(ramps, mine)))] += 1
        return counts

    def _example(self, index: int, ramps: tuple[_Ramp, ...]) -> _Example:
        tail = float(self._losses.tail[index])
        return float(self._low[index]), float(self._high[index]), tail, ramps


def threshold(
    sums: tuple[WorstCaseSum, WorstCaseSum], alpha: float, start: float, stop: float
) -> float:
    """The smallest lam >= start at which the sums together are at most zero; inf if there is none.

    `stop` is where to look first; if it does not do, everything beyond it is looked at too. Between
    two breakpoints the sum is a straight line, so two of its values give the crossing.
    """
    if sums[0].hopeless or sums[1].hopeless:
        return math.inf
    level = rational(alpha)

    def excess(lam: Fraction) -> Fraction:
        return sums[0].at(lam, level) + sums[1].at(lam, level)

    grid = _grid(sums, level, start, stop)
    if excess(grid[-1]) > 0:
        grid = _grid(sums, level, start, math.inf)
    low, high = 0, len(grid)  # the first place that will do lies in low..high
    while low < high:
        middle = (low + high) // 2
        if excess(grid[middle]) <= 0:
            high = middle
        else:
            low = middle + 1
    if low == len(grid):
        return math.inf  # to the right of all breakpoints the sum is flat
    if low == 0:
        endless = math.isinf(start) and excess(grid[0] - 1) <= 0
        return start if endless else float_above(grid[0])
    left, right = grid[low - 1], grid[low]
    at_left = excess(left)
    fall = at_left - excess((left + right) / 2)
    if fall <= 0:
        return float_above(right)
    return float_above(min(left + at_left * (right - left) / (2 * fall), right))


def _grid(
    sums: tuple[WorstCaseSum, WorstCaseSum], level: Fraction, start: float, stop: float
) -> list[Fraction]:
    """The finite ends of [start, stop] and all breakpoints between them."""
    first = rational(start) if math.isfinite(start) else None
    last = rational(stop) if math.isfinite(stop) else None
    ends = {end for end in (first, last) if end is not None}
    inside = {
        place
        for one in sums
        for place in one.breakpoints(start, stop, level)
        if (first is None or place >= first) and (last is None or place <= last)
    }
    return sorted(inside | ends) or [Fraction(0)]


def _comparable(place: float) -> Fraction:
    """A knot as a fraction; an infinite one as a number beyond every float."""
    return (
        rational(place) if math.isfinite(place) else Fraction(10**400 if place > 0 else -(10**400))
    )


def float_above(value: Fraction) -> float:
    """The float that reads as `value`, or the next one above it."""
    near = float(value)
    return near if rational(near) >= value else float(np.nextafter(near, np.inf))


def _ramp(ramp: _Ramp, lam: Fraction) -> Fraction:
    """min(slope (knot - lam)_+, height) in rational numbers, infinite parts as limits."""
    knot, slope, height = ramp
    if np.isfinite(knot) and rational(knot) <= lam:
        return Fraction(0)
    if np.isinf(slope) or np.isinf(knot):
        return rational(height)
    rise = rational(slope) * (rational(knot) - lam)
    return min(rise, rational(height)) if np.isfinite(height) else rise
