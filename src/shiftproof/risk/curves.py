"""Loss curves: how the loss of each example falls as its prediction set grows.

Every loss of the paper is, as a function of the threshold, a sum of *ramps*

    ramp(lam) = min( slope * (knot - lam)_+ , height ),

which leave zero at `knot` and rise to the left until they reach `height`:

- miscoverage is one ramp with infinite slope, a step;
- the distance from a label to a ball of radius lam is one ramp, a hinge, capped or not;
- a loss that falls in several steps (false negative rate) is several ramps stacked on each other.

All are right-continuous at their knots: the loss at a threshold is that of the closed set
{ y : score <= threshold }. Without that, Proposition 1 fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray, IntArray
from shiftproof.errors import InputError
from shiftproof.risk.sums import rational

#: A distance that is computed in floating point may exceed the diameter by its own rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class LossCurves:
    """n loss curves L_i(lam), non-increasing and right-continuous in the threshold lam.

        L_i(lam) = tail_i + sum over ramps k of example i of min(slope_k (knot_k - lam)_+, height_k)

    Build them with :meth:`steps`, :meth:`hinges`, :meth:`staircases` or :meth:`flat`, which check
    their arguments. The ramps of one example lie side by side, from right to left, and do not
    overlap: each begins where the one before has reached its height.

    Attributes
    ----------
    tail : array (n,)
        The loss that no threshold removes, L_i(inf).
    owner : array (k,)
        The example that each ramp belongs to, ascending.
    knots, slopes, heights : array (k,)
        The ramps.
    bound : float
        Lmax: no curve exceeds it for any threshold that may be chosen.
    lower : float
        The smallest threshold that may be chosen.

    Examples
    --------
    >>> import shiftproof as shp
    >>> shp.LossCurves.steps([1.0, 3.0]).at(2.0)
    array([0., 1.])
    >>> shp.LossCurves.hinges([1.0, 3.0], bound=10).at(2.0)
    array([0., 1.])
    >>> shp.LossCurves.hinges([1.0, 30.0], bound=5, cap=5).at([0.5, 2.0])
    array([0.5, 5. ])
    """

    tail: FloatArray
    owner: IntArray
    knots: FloatArray
    slopes: FloatArray
    heights: FloatArray
    bound: float
    lower: float

    @classmethod
    def steps(cls, scores: ArrayLike, lower: float = 0.0) -> LossCurves:
        """Miscoverage (paper eq. 1): L_i(lam) = 1{score_i > lam}.

        A score of +inf is a label that no set of the family holds; -inf one that every set holds.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.LossCurves.steps([0.2, 0.7]).at(0.7)  # the set is closed: a score of .7 is inside
        array([0., 0.])
        """
        knots = _checks.vector("scores", scores)
        n = len(knots)
        infinite, one = np.broadcast_to(np.inf, n), np.broadcast_to(1.0, n)
        return cls(_zeros(n), np.arange(n), knots, infinite, one, 1.0, _lower(lower))

    @classmethod
    def hinges(
        cls,
        scores: ArrayLike,
        slopes: ArrayLike | None = None,
        *,
        bound: float,
        cap: ArrayLike | None = None,
        lower: float = 0.0,
    ) -> LossCurves:
        """Distance to a ball (eq. 2): L_i(lam) = min(slope_i (score_i - lam)_+, cap).

        Parameters
        ----------
        scores : array (n,)
            Distance from prediction to label, divided by the scale s(x) where there is one.
        slopes : number or array (n,), optional
            The scale s(x_i) of a normalised score; 1 where left out.
        bound : float
            Lmax, for example the diameter of the label space (then no score may exceed it), or
            the cap. ``math.inf`` says that there is none: then only an envelope gives finite sets.
        cap : number or array (n,), optional
            Losses beyond `cap` count as `cap`. One each where a set has a core that it never
            loses: no loss is then larger than the distance to the core.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.LossCurves.hinges([3.0], slopes=[2.0], bound=10).at([0.0, 1.0, 4.0][1])
        array([4.])
        """
        knots = _checks.vector("scores", scores)
        n = len(knots)
        placed = knots > -np.inf
        _checks.demand("scores", knots, placed, "scores above -inf", "a distance is at least 0")
        bound, lower = _checks.bound_of(bound), _lower(lower)
        slope = _checks.each("slopes", 1.0 if slopes is None else slopes, n)
        good = (slope > 0) & np.isfinite(slope)
        _checks.demand("slopes", slope, good, "finite slopes above 0", "a scale s(x) is positive")
        height = _checks.each("cap", math.inf if cap is None else cap, n)
        placed = height > 0 if cap is None or np.ndim(cap) == 0 else height >= 0
        _checks.demand("cap", height, placed, "a cap above 0", "leave it out for no cap")
        if cap is not None and not (height <= bound * (1 + _ROUNDING)).all():
            largest = float(np.max(height))
            raise InputError(
                "bound", f"at least the cap, {largest!r}", f"{bound!r}", "bound=cap will do"
            )
        if math.isinf(lower) and np.isinf(height).any():
            raise InputError(
                "lower", "a finite number", f"{lower!r}", "uncapped hinges have no bound without it"
            )
        curves = cls(_zeros(n), np.arange(n), knots, slope, height, bound, lower)
        return curves._within_bound("scores")

    @classmethod
    def staircases(
        cls,
        tail: ArrayLike,
        knots: ArrayLike,
        drops: ArrayLike,
        owner: ArrayLike,
        *,
        bound: float,
        lower: float = 0.0,
    ) -> LossCurves:
        """Losses that fall in steps.

            L_i(lam) = tail_i + sum over k with owner_k = i of drop_k 1{lam < knot_k}

        Parameters
        ----------
        tail : array (n,)
            The loss of the largest set.
        knots, drops, owner : array (k,)
            Example ``owner[k]`` loses ``drops[k]`` when the threshold reaches ``knots[k]``.

        Examples
        --------
        The false negative rate of an example with two labels, found at .3 and at .6:

        >>> import shiftproof as shp
        >>> rate = shp.LossCurves.staircases([0], [0.3, 0.6], [0.5, 0.5], [0, 0], bound=1)
        >>> [float(rate.at(threshold)[0]) for threshold in (0.0, 0.3, 0.6)]
        [1.0, 0.5, 0.0]
        """
        tail = _checks.vector("tail", tail)
        _checks.demand("tail", tail, tail >= 0, "losses of at least 0", "losses start at 0")
        places = _checks.vector("knots", knots)
        drop = _checks.vector("drops", drops, length=len(places))
        index = _checks.indices("owner", owner, length=len(places), below=len(tail))
        falls = (drop >= 0) & np.isfinite(drop)
        _checks.demand(
            "drops",
            drop,
            falls,
            "finite drops of at least 0",
            "the loss may not rise as the set grows: control its monotone envelope instead",
        )
        order = np.lexsort((-places, index))
        curves = cls(
            tail,
            index[order],
            places[order],
            np.broadcast_to(np.inf, len(order)),
            drop[order],
            _checks.bound_of(bound),
            _lower(lower),
        )
        return curves._within_bound("drops")

    @classmethod
    def flat(cls, value: float, lower: float = 0.0) -> LossCurves:
        """One curve that never falls: the worst case of the paper's rule, L(lam) = Lmax.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.LossCurves.flat(1.0).at(1e9)
        array([1.])
        """
        level = _checks.bound_of(value)
        return cls(np.array([level]), np.empty(0, int), *(np.empty(0),) * 3, level, _lower(lower))

    @classmethod
    def of_ramps(
        cls,
        tail: ArrayLike,
        owner: ArrayLike,
        knots: ArrayLike,
        slopes: ArrayLike,
        heights: ArrayLike,
        bound: float,
        lower: float,
    ) -> LossCurves:
        """Curves from their attributes, as another process has written them down.

        Examples
        --------
        >>> import shiftproof as shp
        >>> one = shp.LossCurves.hinges([3.0, 4.0], bound=10)
        >>> parts = one.tail, one.owner, one.knots, one.slopes, one.heights
        >>> shp.LossCurves.of_ramps(*parts, bound=10, lower=0).at(2.0)
        array([1., 2.])
        """
        rest = _checks.vector("tail", tail)
        _checks.demand("tail", rest, rest >= 0, "losses of at least 0", "losses start at 0")
        places = _checks.vector("knots", knots)
        index = _checks.indices("owner", owner, length=len(places), below=len(rest))
        slope = _checks.vector("slopes", slopes, length=len(places))
        height = _checks.vector("heights", heights, length=len(places))
        for name, values, least in (("slopes", slope, slope > 0), ("heights", height, height >= 0)):
            _checks.demand(name, values, least, "numbers above 0", "take them from other curves")
        ends = places - np.divide(height, slope, out=np.zeros_like(height), where=height < np.inf)
        ends = np.where(height < np.inf, ends, -np.inf)
        step = np.diff(index)
        slack = _ROUNDING * np.abs(places[1:])
        apart = (step > 0) | (
            (step == 0) & (places[1:] <= np.where(step == 0, ends[:-1], 0) + slack)
        )
        repair = "ramps of one example lie side by side, from right to left"
        _checks.demand("knots", places[1:], apart, "ramps that do not overlap", repair)
        curves = cls(rest, index, places, slope, height, _checks.bound_of(bound), _lower(lower))
        return curves._within_bound("heights")

    @classmethod
    def concatenate(cls, parts: Iterable[LossCurves]) -> LossCurves:
        """The curves of all parts, which must share their bound and lower end.

        Examples
        --------
        >>> import shiftproof as shp
        >>> near, far = shp.LossCurves.steps([1.0]), shp.LossCurves.steps([2.0, 3.0])
        >>> len(shp.LossCurves.concatenate([near, far]))
        3
        """
        parts = [_checks.instance("parts", part, cls, "concatenate loss curves") for part in parts]
        if not parts:
            raise InputError("parts", "at least one part", "none", "there is nothing to join")
        first = parts[0]
        for part in parts:
            if (part.bound, part.lower) != (first.bound, first.lower):
                raise InputError(
                    "parts",
                    f"bound {first.bound!r} and lower end {first.lower!r} throughout",
                    f"bound {part.bound!r} and lower end {part.lower!r}",
                    "build all parts with the same loss",
                )
        starts = np.cumsum([0] + [len(part) for part in parts[:-1]])
        return cls(
            np.concatenate([part.tail for part in parts]),
            np.concatenate([part.owner + at for part, at in zip(parts, starts, strict=True)]),
            np.concatenate([part.knots for part in parts]),
            np.concatenate([part.slopes for part in parts]),
            np.concatenate([part.heights for part in parts]),
            first.bound,
            first.lower,
        )

    def __len__(self) -> int:
        return len(self.tail)

    def __repr__(self) -> str:
        return (
            f"LossCurves({len(self)} curves, {len(self.knots)} ramps, "
            f"bound={self.bound!r}, lower={self.lower!r})"
        )

    def at(self, thresholds: ArrayLike) -> FloatArray:
        """L_i(lam_i), with one threshold for all curves or one for each.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.LossCurves.steps([1.0, 2.0]).at([1.0, 1.0])
        array([0., 1.])
        """
        lam = _checks.thresholds(thresholds, self.lower)
        if lam.shape not in ((), (len(self),)):
            raise InputError(
                "thresholds",
                f"one number or shape ({len(self)},)",
                f"shape {lam.shape}",
                "one threshold per curve",
            )
        return self.values(np.broadcast_to(lam, len(self)))

    def values(self, lam: FloatArray) -> FloatArray:
        """As :meth:`at`, for an array (n,) that is known to be sound."""
        with np.errstate(invalid="ignore"):  # inf - inf: a threshold of inf is beyond every knot
            gap = self.knots - (lam if self._one_each else lam[self.owner])
        with np.errstate(invalid="ignore", over="ignore"):  # inf * 0 is not taken where gap <= 0
            ramps = np.where(gap > 0, np.minimum(self.slopes * gap, self.heights), 0.0)
        return self.tail + self._per_example(ramps)

    def select(self, index: IntArray) -> LossCurves:
        """The curves at these positions, in this order, repeated where a position is.

        Examples
        --------
        >>> import numpy as np
        >>> import shiftproof as shp
        >>> shp.LossCurves.steps([1.0, 2.0]).select(np.array([1, 1, 0])).knots
        array([2., 2., 1.])
        """
        counts = np.bincount(self.owner, minlength=len(self))
        starts = np.cumsum(counts) - counts
        chosen = counts[index]
        ends = np.cumsum(chosen)
        ramps = np.arange(ends[-1] if len(ends) else 0)
        ramps += np.repeat(starts[index] - (ends - chosen), chosen)
        return LossCurves(
            self.tail[index],
            np.repeat(np.arange(len(index)), chosen),
            self.knots[ramps],
            self.slopes[ramps],
            self.heights[ramps],
            self.bound,
            self.lower,
        )

    def between(self, start: int, stop: int) -> LossCurves:
        """The curves start, ..., stop - 1, without copying them."""
        first, last = np.searchsorted(self.owner, (start, stop))
        return replace(
            self,
            tail=self.tail[start:stop],
            owner=self.owner[first:last] - start,
            knots=self.knots[first:last],
            slopes=self.slopes[first:last],
            heights=self.heights[first:last],
        )

    def spread(self, n: int) -> LossCurves:
        """One curve as the worst case of n points; n curves as they are."""
        if len(self) == n:
            return self
        if len(self.owner) == 0:
            tail = np.broadcast_to(self.tail, n)
            none = self.owner, self.knots, self.slopes, self.heights
            return LossCurves(tail, *none, self.bound, self.lower)
        return self.select(np.zeros(n, dtype=np.int64))

    def first_below(self, level: FloatArray) -> FloatArray:
        """The smallest threshold with L_i(lam) <= level_i; inf where the tail is above it.

        The ramp that crosses the level is the rightmost one whose top lies above it.
        """
        tops = self.bases + self.heights
        wanted = level if self._one_each else level[self.owner]
        exceeds = tops > wanted
        # A top that is a sum of drops may tie with the level in decimals only.
        tied = (self.bases > 0) & (np.abs(tops - wanted) <= 1e-12 * wanted)
        for ramp in np.flatnonzero(tied).tolist():
            top = self.exact_base(ramp) + rational(float(self.heights[ramp]))
            exceeds[ramp] = top > rational(float(wanted[ramp]))
        excess = np.maximum(wanted - self.bases, 0.0)
        crossing = np.where(exceeds, self.knots - excess / self.slopes, -np.inf)
        result = np.full(len(self), -np.inf)
        if self._one_each:
            result = crossing
        else:
            np.maximum.at(result, self.owner, crossing)
        return np.where(self.tail > level, np.inf, np.maximum(result, self.lower))

    @cached_property
    def bends(self) -> FloatArray:
        """The finite thresholds between which all curves are straight, ascending.

        The lower end, every threshold at which a curve bends or jumps, and for jumps the one just
        before: what a picture of the curves has to join with lines. Before the first of them and
        after the last nothing changes.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.LossCurves.hinges([1.0, 30.0], bound=5, cap=5).bends
        array([ 0.,  1., 25., 30.])
        """
        jumps = self.knots[np.isinf(self.slopes)]
        ends = np.concatenate([self.knots, self.bottoms, np.nextafter(jumps, -np.inf)])
        places: FloatArray = np.unique(np.append(ends, self.lower))
        return places[np.isfinite(places) & (places >= self.lower)]

    @cached_property
    def reach(self) -> FloatArray:
        """The smallest threshold that removes the whole loss, D(x) for a worst case; else inf."""
        return self.first_below(np.zeros(len(self)))

    def split(self, level: float) -> tuple[LossCurves, LossCurves]:
        """The part of each curve below a level and the part above: L = min(L, a) + (L - a)_+."""
        room = np.maximum(level - self.bases, 0.0)
        below, above = np.minimum(self.heights, room), np.maximum(self.heights - room, 0.0)
        tail, rest = np.minimum(self.tail, level), np.maximum(self.tail - level, 0.0)
        return (
            replace(self, tail=tail, heights=below),
            replace(self, tail=rest, knots=self.knots - below / self.slopes, heights=above),
        )

    def layers(self) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Knots, slopes and heights (n,) of the first ramp of each curve, the second, and so on.

        A curve without a further ramp shows one of height zero that begins at -inf.
        """
        if self._one_each:
            yield self.knots, self.slopes, self.heights
            return
        for index in self._ranks():
            knots, slopes = np.full(len(self), -np.inf), np.full(len(self), np.inf)
            heights = np.zeros(len(self))
            there = self.owner[index]
            knots[there], slopes[there] = self.knots[index], self.slopes[index]
            heights[there] = self.heights[index]
            yield knots, slopes, heights

    @cached_property
    def bases(self) -> FloatArray:
        """The level from which each ramp rises: the tail and all ramps to its right."""
        if self._one_each:
            return self.tail
        bases = self.tail[self.owner]
        for index in itertools.islice(self._ranks(), 1, None):
            bases[index] = bases[index - 1] + self.heights[index - 1]
        return bases

    def exact_base(self, ramp: int) -> Fraction:
        """One of the bases in decimals."""
        first = int(np.searchsorted(self.owner, self.owner[ramp]))
        below = [float(self.tail[self.owner[ramp]]), *self.heights[first:ramp].tolist()]
        return sum(map(rational, below), Fraction(0))

    @property
    def common_cap(self) -> float | None:
        """The cap of all hinges; None where they have none, or not one and the same."""
        cap = float(self.heights[0]) if len(self.heights) else math.inf
        same = self._one_each and bool((self.heights == cap).all() and not self.tail.any())
        return cap if same and math.isfinite(cap) else None

    @cached_property
    def finite_heights(self) -> FloatArray:
        """How far each curve rises over all its ramps of finite height."""
        finite = np.where(np.isfinite(self.heights), self.heights, 0.0)
        return self._per_example(finite)

    @cached_property
    def bottoms(self) -> FloatArray:
        """Where each ramp has reached its height, going left: knot - height / slope."""
        with np.errstate(invalid="ignore"):  # an endless ramp from a knot at infinity
            ends = self.knots - self.heights / self.slopes
        return np.where(np.isinf(self.heights), -np.inf, ends)

    @property
    def jumps_only(self) -> bool:
        """Whether every curve is piecewise constant."""
        return bool(np.isinf(self.slopes).all())

    @cached_property
    def _one_each(self) -> bool:
        n = len(self)
        return len(self.owner) == n and (n == 0 or bool((self.owner == np.arange(n)).all()))

    def _ranks(self) -> Iterator[IntArray]:
        """Where the first ramps of all examples that have one stand, then the second, and so on."""
        counts = np.bincount(self.owner, minlength=len(self))
        starts = np.cumsum(counts) - counts
        for depth in range(int(counts.max(initial=0))):
            yield (starts + depth)[counts > depth]

    def _per_example(self, ramps: FloatArray) -> FloatArray:
        if self._one_each:
            return ramps
        sums = np.bincount(self.owner, weights=ramps, minlength=len(self))
        return sums.astype(np.float64, copy=False)

    def _within_bound(self, name: str) -> LossCurves:
        largest = self.values(np.full(len(self), self.lower))
        _checks.demand(
            name,
            largest,
            largest <= self.bound * (1 + _ROUNDING),
            f"losses of at most the bound, {self.bound!r}, at the lowest threshold",
            "raise the bound to the largest possible loss, or cap the loss",
        )
        return self


def _zeros(n: int) -> FloatArray:
    return np.broadcast_to(0.0, n)


def _lower(lower: float) -> float:
    lower = _checks.scalar("lower", lower, "the smallest threshold that may be chosen")
    if lower == math.inf:
        raise InputError(
            "lower", "a number or -inf", "inf", "the smallest threshold to choose from"
        )
    return lower
