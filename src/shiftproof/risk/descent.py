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

#: Queries are answered in blocks that stay in the processor's cache.
_BLOCK = 1 << 15


@dataclass(frozen=True, eq=False)
class Layout:
    """The order of all ramps from right to left: the part of the curve that weights do not touch.

    For each vertex: the example that acts there, how the slope of S changes to its left and how far
    S jumps, both per unit of the weight of that example.
    """

    thresholds: FloatArray
    example: IntArray
    bends: FloatArray | None
    jumps: FloatArray

    @classmethod
    def of(cls, losses: LossCurves) -> Layout:
        """Sort the ramps: the only step that costs more than linear time."""
        if losses.jumps_only:
            order = np.argsort(losses.knots)[::-1]
            thresholds = np.append(losses.knots[order], -np.inf)
            return cls(thresholds, losses.owner[order], None, losses.heights[order])
        return cls._of_polyline(losses)

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
        # Stable: of two vertices at one place the foot of a jump comes before its top.
        order = np.argsort(-places, kind="stable")
        thresholds = np.append(places[order], losses.lower)
        return cls(thresholds, losses.owner[ramp[order]], bends[order], jumps[order])

    def weighted(self, weights: FloatArray, base: float, slack: float = 0.0) -> Descent:
        """The curve base + sum of weights * ramps, in time linear in the number of ramps.

        `slack` bounds the error of S that comes from rounding in the ramps themselves.
        """
        weight = weights[self.example]
        rises = self.jumps * weight
        if self.bends is not None:
            bends = self.bends * weight
            up, down = np.maximum(bends, 0.0), np.maximum(-bends, 0.0)
            slope = running_sum(up)
            span = _widths(self.thresholds)
            if down.any():
                slope = np.maximum(slope - running_sum(down), 0.0)
                reach = float(span[np.isfinite(span)].sum())
                slack += 16 * UNIT * float(up.sum()) * (reach + _largest(self.thresholds))
            finite = np.isfinite(span)
            rises[finite] += slope[finite] * span[finite]
        levels = running_sum(np.concatenate([[base], rises]))
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
        off, so that a tie never leads too far down; where the answer is not marked it is right.
        """
        result, doubtful = np.empty_like(budget), np.empty(budget.shape, bool)
        last = len(self.levels) - 1
        for start in range(0, len(budget), _BLOCK):
            block = slice(start, start + _BLOCK)
            safe = budget[block] - band[block]
            index = self.levels.searchsorted(safe, side="right") - 1
            after = np.minimum(index + 1, last)
            next_level = self.levels[after]
            risky = budget[block] + band[block]
            doubtful[block] = (next_level <= risky) & (index < last)
            if self.linear:
                sigma = np.zeros(1)
                result[block] = self._on_edge(index, budget[block], sigma, sigma)
                width = (risky - safe) / self._slopes[np.clip(index, 0, last - 1)]
                doubtful[block] |= (width > self.tolerance) & (index >= 0) & (index < last)
            else:
                result[block] = self.thresholds[np.maximum(index, 0)]
            result[block][index < 0] = np.inf
        return result, doubtful

    def lowest_on_line(
        self, budget: FloatArray, band: FloatArray, slope: FloatArray, knot: FloatArray
    ) -> FloatArray:
        """inf{ lam : S(lam) + slope (knot - lam) <= budget }, if it is at most `knot`.

        Slopes are finite; one of zero is no line at all. To the right of `knot` the line counts as
        zero. The edge is chosen with `band` taken off the budget.
        """
        result = np.empty_like(budget)
        for start in range(0, len(budget), _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = self._on_line(budget[block], band[block], slope[block], knot[block])
        return result

    @cached_property
    def tolerance(self) -> float:
        """How far a threshold on a sloped edge may be from the exact one; jumps allow nothing."""
        return 1e-10 * _largest(self.thresholds) if self.linear else 0.0

    def _on_line(
        self, budget: FloatArray, band: FloatArray, slope: FloatArray, knot: FloatArray
    ) -> FloatArray:
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


def _widths(thresholds: FloatArray) -> FloatArray:
    """From each vertex to the next on its left; 0 between two at the same infinity."""
    right, left = thresholds[:-1], thresholds[1:]
    with np.errstate(invalid="ignore"):
        return np.where(right == left, 0.0, right - left)


def _largest(thresholds: FloatArray) -> float:
    finite = thresholds[np.isfinite(thresholds)]
    return float(np.abs(finite).max(initial=0.0))
