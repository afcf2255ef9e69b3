"""The weighted loss of a calibration set as one non-increasing curve, sorted once.

    S(lam) = sum_i W_i L_i(lam)

The curve is kept as its vertices from right to left. Every question of the form "how far down may
the threshold go before the loss exceeds a budget?" is then one binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftproof._types import BoolArray, FloatArray, IntArray
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.sums import UNIT, leftover, running_sum

#: On a slope a threshold moves with the last bits of its budget: by this part of itself at most.
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Layout:
    """The order of all ramps from right to left: the part of the curve that weights do not touch.

    For each vertex: the example that acts there, how the slope of S changes to its left and how far
    S jumps, both per unit of the weight of that example.
    """

    thresholds: FloatArray
    example: IntArray
    bends: FloatArray | None
    jumps: FloatArray | None

    @classmethod
    def of(cls, losses: LossCurves) -> Layout:
        """Sort the ramps: the only step that costs more than linear time."""
        endless = np.isfinite(losses.slopes).all() and np.isinf(losses.heights).all()
        if not (losses.jumps_only or endless):
            return cls._of_polyline(losses)
        # Steps or uncapped hinges: each ramp acts at its knot alone.
        order = np.argsort(losses.knots)[::-1]
        thresholds = np.empty(len(order) + 1)
        np.take(losses.knots, order, out=thresholds[:-1], mode="clip")
        thresholds[-1] = -np.inf
        example = losses.owner[order]
        if losses.jumps_only:
            return cls(thresholds, example, None, _reordered(losses.heights, order))
        np.maximum(thresholds, losses.lower, out=thresholds)
        return cls(thresholds, example, _reordered(losses.slopes, order), None)

    @classmethod
    def _of_polyline(cls, losses: LossCurves) -> Layout:
        """A sloped ramp bends the curve at both ends; a jump is a vertical edge, two vertices."""
        upright = np.isinf(losses.slopes) | np.isposinf(losses.knots)
        sloped, jump = np.flatnonzero(~upright), np.flatnonzero(upright)
        capped = sloped[np.isfinite(losses.bottoms[sloped])]
        none, slopes = np.zeros_like, losses.slopes
        ramp = np.concatenate([sloped, capped, jump, jump])
        bends = np.concatenate([slopes[sloped], -slopes[capped], none(jump), none(jump)])
        jumps = np.concatenate(
            [none(sloped), none(capped), losses.heights[jump], none(jump)], dtype=np.float64
        )
        places = np.concatenate(
            [losses.knots[sloped], losses.bottoms[capped], losses.knots[jump], losses.knots[jump]]
        )
        places = np.maximum(places, losses.lower)
        # Stable where S jumps: of two vertices at one place the foot comes before the top.
        order = np.argsort(-places, kind="stable") if len(jump) else np.argsort(places)[::-1]
        thresholds = np.append(places[order], losses.lower)
        return cls(thresholds, losses.owner[ramp[order]], bends[order], jumps[order])

    def weighted(self, weights: FloatArray, base: float, slack: float = 0.0) -> Descent:
        """The curve base + sum of weights * ramps, in time linear in the number of ramps.

        `slack` bounds the error of S that comes from rounding in the ramps themselves.
        """
        weight = weights[self.example]
        levels = np.empty(len(self.thresholds))
        levels[0], rises = base, levels[1:]
        if self.bends is not None:
            slope, uncertainty = _slopes_after(self.bends * weight)
            span = _widths(self.thresholds)
            span[np.isinf(span)] = 0.0  # an edge without end is flat
            slack += uncertainty * (float(span.sum()) + _largest(self.thresholds))
            np.multiply(slope, span, out=rises)
            if self.jumps is not None:
                rises += self.jumps * weight
        elif self.jumps is not None:
            np.multiply(self.jumps, weight, out=rises)
        levels = running_sum(levels)
        slack += leftover(len(levels), float(levels[-1]))
        return Descent(self.thresholds, levels, self.bends is not None, slack)


@dataclass(frozen=True, eq=False)
class Descent:
    """A non-increasing, right-continuous S(lam), as vertices from right to left.

    Attributes
    ----------
    thresholds : array (k + 1,)
        Descending; the last is the lower end (or -inf).
    levels : array (k + 1,)
        Ascending; S at the thresholds. Of several vertices at one threshold the first counts, the
        others are the foot and the top of a jump.
    linear : bool
        Straight lines between vertices; otherwise each vertex is a jump, and S stays flat after it.
    slack : float
        A bound on the rounding in `levels` that is not relative to the levels themselves.
    """

    thresholds: FloatArray
    levels: FloatArray
    linear: bool
    slack: float

    def at(self, lam: FloatArray) -> FloatArray:
        """S(lam)."""
        index = np.searchsorted(self._mirrored, -lam)
        last = len(self.levels) - 1
        index = np.minimum(index, last)
        level, place = self.levels[index], self.thresholds[index]
        if not self.linear:
            return level
        slope = self._slopes[np.maximum(index - 1, 0)]
        ahead = (lam > place) & (index > 0)
        with np.errstate(invalid="ignore"):
            sloped = level - slope * (lam - place)
        return np.where(ahead & (slope > 0), sloped, level)

    def outline(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """From left to right: the finite or infinite knots, S just before each, and S at each."""
        new = self.thresholds[1:] != self.thresholds[:-1]
        first = np.flatnonzero(np.concatenate([[True], new]))
        last = np.append(first[1:], len(self.thresholds)) - 1
        before = last if self.linear else np.minimum(last + 1, len(self.levels) - 1)
        return self.thresholds[first][::-1], self.levels[before][::-1], self.levels[first][::-1]

    def lowest(self, budget: FloatArray, band: FloatArray) -> tuple[FloatArray, BoolArray]:
        """inf{ lam : S(lam) <= budget }, and where a budget within +- band may say otherwise.

        `band` bounds the rounding of budget and levels together. The edge is chosen with it taken
        off, so that a tie does not lead down a jump. Where the answer is not marked, a jump is
        right and a place on a slope is right to TOLERANCE.
        """
        last = len(self.levels) - 1
        safe, risky = budget - band, budget + band
        index = self.levels.searchsorted(safe, side="right") - 1
        doubtful = (self.levels[np.minimum(index + 1, last)] <= risky) & (index < last)
        result = self.thresholds[np.maximum(index, 0)]
        if self.linear:
            none = np.zeros(1)
            result = self._on_edge(index, budget, none, none)
            width = (risky - safe) / self._slopes[np.clip(index, 0, last - 1)]
            doubtful |= (width > TOLERANCE * np.abs(result)) & (index >= 0) & (index < last)
        result[index < 0] = np.inf
        return result, doubtful

    def lowest_on_line(
        self, budget: FloatArray, band: FloatArray, slope: FloatArray, knot: FloatArray
    ) -> FloatArray:
        """inf{ lam : S(lam) + slope (knot - lam) <= budget }, if it is at most `knot`.

        Slopes are finite; one of zero is no line at all. To the right of `knot` the line counts as
        zero. The edge is chosen with `band` taken off the budget.
        """
        safe = budget - band
        # The first vertices that satisfy the budget are 0..low-1; the search halves low..high.
        low = np.zeros(len(budget), dtype=np.int64)
        high = np.full(len(budget), len(self.levels), dtype=np.int64)
        while (low < high).any():
            middle = np.minimum((low + high) >> 1, len(self.levels) - 1)
            gap = np.maximum(knot - self.thresholds[middle], 0.0)
            line = np.where(slope > 0, slope * gap, 0.0)
            good = (self.levels[middle] + line <= safe) & (low < high)
            high = np.where(good | (low >= high), high, middle)
            low = np.where(good, middle + 1, low)
        index = low - 1
        # To the right of the first vertex S is flat: only the line falls there.
        room = budget - self.levels[0]
        before_first = np.where((safe >= self.levels[0]) & (slope > 0), knot - room / slope, np.inf)
        return np.where(index < 0, before_first, self._on_edge(index, budget, slope, knot))

    def _on_edge(
        self, index: IntArray, budget: FloatArray, slope: FloatArray, knot: FloatArray
    ) -> FloatArray:
        """Where S(lam) + slope (knot - lam) meets the budget between vertex `index` and the next.

        On that edge S(lam) = level + s (left - lam), s its own slope, so
        lam = left + (level + slope (knot - left) - budget) / (s + slope), but not beyond the right
        end, from where S may jump, nor beyond the left one. An edge without a left end is flat:
        lam = knot - (budget - level) / slope.
        """
        last = len(self.levels) - 1
        index = np.maximum(index, 0)
        after = np.minimum(index + 1, last)
        right, left, level = self.thresholds[index], self.thresholds[after], self.levels[after]
        own = self._slopes[np.minimum(index, last - 1)] if self.linear else 0.0
        rise = np.where(slope > 0, slope * (knot - left), 0.0)
        lam = left + (level + rise - budget) / (own + slope)
        endless = np.where(slope > 0, knot - (budget - level) / slope, right)
        lam = np.maximum(left, np.where(np.isneginf(left), endless, lam))
        # At the last vertex the budget holds everywhere.
        return np.where(index == last, right, np.where(lam < right, lam, right))

    @cached_property
    def _slopes(self) -> FloatArray:
        """Of each edge from a vertex to the next: infinite where S jumps."""
        rises, widths = np.diff(self.levels), _widths(self.thresholds)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = rises / widths
        return np.where(rises > 0, slopes, 0.0)

    @cached_property
    def _mirrored(self) -> FloatArray:
        return -self.thresholds


def _slopes_after(change: FloatArray) -> tuple[FloatArray, float]:
    """The slope of S to the left of each vertex, and a bound on its error beyond the relative.

    Where caps make ramps end, slopes are differences, right only to the last bits of the sums.
    """
    if change.min(initial=0.0) >= 0:
        return running_sum(change), 0.0
    up, down = np.maximum(change, 0.0), np.maximum(-change, 0.0)
    uncertainty = 16 * UNIT * float(up.sum())
    return np.maximum(running_sum(up) - running_sum(down), 0.0), uncertainty


def _reordered(values: FloatArray, order: IntArray) -> FloatArray:
    """The values in this order; a constant has none and is left as it is."""
    return values if values.strides == (0,) else values[order]


def _widths(thresholds: FloatArray) -> FloatArray:
    """From each vertex to the next on its left; 0 between two at the same infinity."""
    right, left = thresholds[:-1], thresholds[1:]
    with np.errstate(invalid="ignore"):
        return np.where(right == left, 0.0, right - left)


def _largest(thresholds: FloatArray) -> float:
    finite = thresholds[np.isfinite(thresholds)]
    return float(np.abs(finite).max(initial=0.0))
