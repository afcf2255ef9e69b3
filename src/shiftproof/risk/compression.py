"""A curve in k knots that is nowhere below the true one, and what that costs.

When even the scores are too many to keep, the weighted mean loss of a group can be rounded up to a
curve with k knots: thresholds from it are valid, and larger than the exact ones by no more than a
tolerated risk that is lower by the price. The group keeps its exact total weight, so that groups
can still be re-weighted and merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray, IntArray
from shiftproof.errors import InputError
from shiftproof.risk.curve import RiskCurve
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.sums import UNIT, exact_sum, rational

#: More than all rounding in a mean loss: what is nowhere below stays so in the last bits too.
_UP = 1 + 64 * UNIT

#: Halvings of the price in the search for the best k knots.
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Compressed:
    """A curve that stands for many examples, from above.

    Attributes
    ----------
    curve : RiskCurve
        One curve, the mean loss of the group rounded up, with the total weight of the group.
    price : float
        The largest excess of the new mean loss over the old, in the units of the loss. Its
        thresholds lie between those of the full curve at alpha and at
        alpha - price * sum W_i / (sum W_i + W).

    Examples
    --------
    >>> import shiftproof as shp
    >>> curve = shp.RiskCurve(shp.LossCurves.steps([1.0, 2.0, 3.0, 4.0]))
    >>> small = shp.compressed(curve, 2)
    >>> small.curve.risk([0.0, 1.0, 2.0, 3.0, 4.0])  # 1, .75, .5, .25, 0 before
    array([1. , 1. , 0.5, 0.5, 0. ])
    >>> round(small.price, 6)
    0.25
    """

    curve: RiskCurve
    price: float


@np.errstate(over="ignore")  # a slope between two places that are next to each other
def compressed(curve: RiskCurve, knots: int) -> Compressed:
    """Round a curve up to at most `knots` knots, with the smallest largest excess that they allow.

    Between two kept knots the new curve is the lowest straight line from the true value at the left
    one that is nowhere below the true curve: flat for steps (each drop is delayed to the next kept
    knot; the price is at most bound / knots), the chord for uncapped hinges.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> curve = shp.RiskCurve(shp.LossCurves.steps(np.arange(1.0, 1001.0)))
    >>> small = shp.compressed(curve, 10)
    >>> len(small.curve.losses.knots), round(small.price, 3)
    (10, 0.099)
    >>> float(small.curve.threshold(0.25, 1.0, worst=1.0))  # exact: 751
    800.0
    """
    _checks.instance("curve", curve, RiskCurve, "compress a RiskCurve")
    if not isinstance(knots, (int, np.integer)) or knots < 1:
        raise InputError("knots", "an integer of at least 1", f"{knots!r}", "keep one or more")
    if curve.total_weight == 0:
        raise InputError(
            "curve", "some weight above 0", "none", "there is no mean loss to compress: drop it"
        )
    outline = _Outline.of(curve)
    everything = np.arange(len(outline.places))
    if len(everything) <= knots + 1:
        return outline.rounded_up(everything, curve)
    low, high = 0.0, float(outline.right[0])
    best = outline.cover(high, knots)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = outline.cover(middle, knots)
        if kept is None:
            low = middle
        else:
            best, high = kept, middle
    assert best is not None  # one straight piece is always within the largest value
    return outline.rounded_up(best, curve)


@dataclass(frozen=True, eq=False)
class _Outline:
    """The mean loss from left to right: its values at each place and just before it."""

    places: FloatArray
    left: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, curve: RiskCurve) -> _Outline:
        places, left, right = curve.outline()
        return cls(places, left / curve.total_weight, right / curve.total_weight)

    def cover(self, tolerance: float, most: int) -> IntArray | None:
        """Places to keep, from the left as far apart as the tolerance allows; None if too many."""
        kept = [0]
        while kept[-1] < len(self.places) - 1:
            if len(kept) > most:
                return None
            kept.append(self._farthest(kept[-1], tolerance))
        return np.array(kept)

    def _farthest(self, start: int, tolerance: float) -> int:
        """The last place to which one straight piece from `start` is above and close enough.

        Its slope has to be at least that to every value just before a place, and at most that to
        every value, raised by the tolerance, on the way.
        """
        size = 64
        while True:
            stop = min(start + 1 + size, len(self.places))
            there = slice(start + 1, stop)
            width = self.places[there] - self.places[start]
            to_left = (self.left[there] - self.right[start]) / width
            allowed = (self.right[there] + tolerance - self.right[start]) / width
            allowed_end = (self.left[there] + tolerance - self.right[start]) / width
            on_the_way = np.concatenate([[np.inf], np.minimum.accumulate(allowed)[:-1]])
            good = np.maximum.accumulate(to_left) <= np.minimum(on_the_way, allowed_end)
            good[0] = True
            if not good.all():
                return start + int(np.argmin(good))
            if stop == len(self.places):
                return stop - 1
            size *= 2

    def rounded_up(self, kept: IntArray, curve: RiskCurve) -> Compressed:
        """The new curve: from each kept place a straight line, then a drop at the next one."""
        knots, slopes, heights, price = list[float](), list[float](), list[float](), 0.0
        for start, stop in zip(kept[-2::-1], kept[:0:-1], strict=True):
            there = slice(start + 1, stop + 1)
            width = self.places[there] - self.places[start]
            slope = float(((self.left[there] - self.right[start]) / width).max())
            slope = slope if np.isfinite(slope) else 0.0  # flat is always above
            fall = slope * width if slope < 0 else np.zeros_like(width)  # 0 * inf at the last knot
            line = self.right[start] + fall
            end = max(float(line[-1]), float(self.left[stop]))
            inner = (line[:-1] - self.right[there][:-1]).max(initial=0.0)
            price = max(price, float(inner), end - float(self.left[stop]))
            for height, steepness in (
                (end - float(self.right[stop]), np.inf),
                (float(self.right[start]) - end, -slope),
            ):
                if height > 0 and steepness > 0:
                    knots.append(float(self.places[stop]))
                    slopes.append(float(steepness) * _UP)
                    heights.append(height * _UP)
        price += (_UP - 1) * float(self.right[0])
        if heights:  # no mean loss is above the bound, in decimals either
            below = exact_sum([float(self.right[-1]) * _UP, *heights[:-1]])
            room = float(rational(curve.losses.bound) - below)
            heights[-1] = min(heights[-1], float(np.nextafter(room, 0.0)))
        losses = LossCurves(
            self.right[-1:] * _UP,
            np.zeros(len(knots), dtype=np.int64),
            np.array(knots),
            np.array(slopes),
            np.array(heights),
            curve.losses.bound,
            curve.losses.lower,
        )
        return Compressed(RiskCurve(losses, [curve.total_weight]), price)
