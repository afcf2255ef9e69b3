"""Intervals on the line: [low - s lam, high + s lam], kept inside the range of labels.

Residual scores have low = high = f and s = 1; normalised ones s = s(x); quantile pairs s = 1. The
score of a label is the threshold at which the interval reaches it,

    R(y) = max(low - y, y - high) / s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof._types import BoolArray, FloatArray
from shiftproof.contracts import Predictor, Traits
from shiftproof.errors import InputError
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of
from shiftproof.risk import LossCurves
from shiftproof.sets import given
from shiftproof.sets.finished import FinishedSets, thresholds_of


class IntervalScore(Protocol):
    """How predictions turn into the core of an interval and its scale."""

    @property
    def lower(self) -> float:
        """The smallest threshold."""

    def core(
        self, predictor: Predictor, table: Table, draws: Draws
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Low, high and s for each row."""


@dataclass(frozen=True)
class Residual:
    """R(y) = abs(y - f(x)): intervals of one width for all inputs of one weight.

    Examples
    --------
    >>> import shiftproof as shp
    >>> shp.Intervals(score=shp.Residual()).score
    Residual()
    """

    @property
    def lower(self) -> float:
        """Widths start at 0."""
        return 0.0

    def core(
        self, predictor: Predictor, table: Table, draws: Draws
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The prediction, twice, and 1."""
        center = given.one_each("predictions", predictor.values(table, draws), len(table))
        return center, center, np.broadcast_to(1.0, len(table))


@dataclass(frozen=True, eq=False)
class ScaledResidual:
    """R(y) = abs(y - f(x)) / s(x): intervals that are wider where larger errors are expected.

    Parameters
    ----------
    scale : object
        Anything that predicts s(x) > 0: a model of absolute errors, a function, ``Columns``.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.arange(1.0, 20.0)[:, None]
    >>> controller = shp.RiskController(
    ...     lambda x: 0 * x[:, 0],
    ...     shp.Intervals(score=shp.ScaledResidual(lambda x: x[:, 0])),
    ...     shp.Miscoverage(),
    ... )
    >>> calibrated = controller.calibrate(x, x[:, 0] * np.linspace(0.1, 1, 19))
    >>> calibrated.predict([[1.0], [10.0]], alpha=0.1).size().round(2)  # ten times as wide
    array([ 1.9, 19. ])
    """

    scale: object

    def __post_init__(self) -> None:
        predictor_of(self.scale)

    @property
    def lower(self) -> float:
        """Widths start at 0."""
        return 0.0

    def core(
        self, predictor: Predictor, table: Table, draws: Draws
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The prediction, twice, and the scale."""
        center = given.one_each("predictions", predictor.values(table, draws), len(table))
        return center, center, scales(self.scale, table, draws)


@dataclass(frozen=True)
class Quantiles:
    """R(y) = max(low(x) - y, y - high(x)) around a predicted pair of quantiles.

    The predictor gives two numbers for each row; they are clipped to the range of labels and put in
    order. Below lam = -(high - low) / 2 the interval is its middle, never empty.

    Parameters
    ----------
    shrink : bool
        Whether the interval may be narrower than the pair (negative thresholds). Directional sets
        need False.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 99)[:, None]
    >>> pair = lambda x: np.column_stack([x[:, 0] - 1, x[:, 0] + 1])  # far too wide
    >>> controller = shp.RiskController(
    ...     pair, shp.Intervals(score=shp.Quantiles()), shp.Miscoverage()
    ... )
    >>> y = x[:, 0] + np.linspace(-0.1, 0.1, 99)
    >>> sets = controller.calibrate(x, y).predict([[0.5]], alpha=0.2)
    >>> float(sets.lower[0].round(3)), float(sets.upper[0].round(3))
    (0.418, 0.582)
    """

    shrink: bool = True

    def __post_init__(self) -> None:
        _checks.flag("shrink", self.shrink)

    @property
    def lower(self) -> float:
        """Thresholds may be negative where intervals may shrink."""
        return -math.inf if self.shrink else 0.0

    def core(
        self, predictor: Predictor, table: Table, draws: Draws
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The pair in order, and 1."""
        pair = np.asarray(predictor.values(table, draws))
        if pair.ndim != 2 or pair.shape[1] != 2:
            raise InputError(
                "predictions",
                "two quantiles for each row",
                f"shape {pair.shape}",
                "Columns('low', 'high') reads them; a function may stack two models",
            )
        return pair.min(axis=1), pair.max(axis=1), np.broadcast_to(1.0, len(table))


@dataclass(frozen=True, eq=False)
class Intervals:
    """A family of sets: intervals around a prediction.

    Parameters
    ----------
    lower, upper : float
        The range of labels, infinite where there is no end. A label outside is an error. A loss by
        distance needs both ends, or a cap.
    score : Residual, ScaledResidual or Quantiles

    Examples
    --------
    Kilometres along a road of 40 km:

    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> place = rng.uniform(0, 40, 200)
    >>> heard = np.clip(place + rng.normal(0, 2, 200), 0, 40)[:, None]
    >>> controller = shp.RiskController(
    ...     lambda x: x[:, 0], shp.Intervals(0, 40), shp.Distance(), worst_case=shp.Directional()
    ... )
    >>> sets = controller.calibrate(heard[:150], place[:150]).predict(heard[150:], alpha=0.5)
    >>> bool(sets.distance(place[150:]).mean() < 0.6), float(sets.size().mean().round(1))
    (True, 3.7)
    """

    lower: float = -math.inf
    upper: float = math.inf
    score: IntervalScore = field(default_factory=Residual)

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            value = _checks.scalar(name, getattr(self, name), "an end of the range of labels")
            object.__setattr__(self, name, value)
        if not self.lower < self.upper:
            got = f"{self.lower!r} and {self.upper!r}"
            raise InputError("lower and upper", "lower < upper", got, "swap the ends")
        if isinstance(self.score, type) or not hasattr(self.score, "core"):
            got = getattr(self.score, "__name__", type(self.score).__name__)
            repair = "an object, for example Residual()"
            raise InputError("score", "Residual, ScaledResidual or Quantiles", got, repair)

    @property
    def makes(self) -> type:
        """Nests of intervals."""
        return IntervalNest

    @property
    def traits(self) -> Traits:
        """Points of the line."""
        bounded = math.isfinite(self.lower) and math.isfinite(self.upper)
        scale = getattr(self.score, "scale", None)
        return Traits(1, bounded, self.score.lower < 0, reads_by_name(scale))

    def nest(self, predictor: Predictor, table: Table, draws: Draws) -> IntervalNest:
        """Intervals around the predictions, which are moved into the range of labels."""
        low, high, scale = self.score.core(predictor, table, draws)
        return IntervalNest(
            np.clip(low, self.lower, self.upper),
            np.clip(high, self.lower, self.upper),
            scale,
            self.lower,
            self.upper,
            self.score.lower,
        )


@dataclass(frozen=True, eq=False, repr=False)
class IntervalNest:
    """Intervals that grow around cores [low, high], made by :class:`Intervals`."""

    low: FloatArray
    high: FloatArray
    scale: FloatArray
    bottom: float
    top: float
    lower: float

    def __len__(self) -> int:
        return len(self.low)

    @property
    def space(self) -> float:
        """The length of the label space, which is its diameter."""
        return self.top - self.bottom

    @property
    def middle(self) -> FloatArray:
        """The middle of the core."""
        middle: FloatArray = self.low / 2 + self.high / 2
        return middle

    def entry(self, y: object) -> FloatArray:
        """R(y); -inf at the middle of a core that may shrink to it, where every set holds it."""
        labels = self._labels(y)
        scores = self._scores(labels)
        return np.where(labels == self.middle, self.lower, scores) if self.lower < 0 else scores

    def whole(self) -> FloatArray:
        """R of the farther end of the range."""
        return self._whole

    def least(self) -> FloatArray:
        """From here down an interval is its core, or the middle of a core that may shrink."""
        if self.lower >= 0:
            return np.zeros(len(self))
        least: FloatArray = (self.low - self.high) / (2 * self.scale)
        return least

    def at(self, thresholds: FloatArray) -> IntervalSets:
        """The intervals at one threshold for each row."""
        return IntervalSets(self, thresholds_of(thresholds, self))

    def diameter(self) -> float:
        """The largest distance of two labels."""
        return self.space

    def distances(self, y: object, cap: float | None) -> LossCurves:
        """The distance from each label to its interval: a hinge that ends at the middle's."""
        labels = self._labels(y)
        return self._hinges(self._scores(labels), np.abs(labels - self.middle), cap)

    def farthest(self, cap: float | None) -> LossCurves:
        """The distance from the farther end of the range to the interval."""
        ends = np.maximum(self.middle - self.bottom, self.top - self.middle)
        return self._hinges(self.whole(), ends, cap)

    def rays(self, directions: int = 2) -> FloatArray:
        """The scores (n, 2) of the two ends of the range, downwards and upwards."""
        del directions
        return (
            np.stack([self.low - self.bottom, self.top - self.high], axis=1) / self.scale[:, None]
        )

    @property
    def slopes(self) -> FloatArray:
        """The length of one unit of score."""
        return self.scale

    def star(self, reach: FloatArray, directions: int = 2) -> AsymmetricIntervals:
        """Intervals that reach differently far downwards and upwards (n, 2)."""
        del directions
        return AsymmetricIntervals(self, reach.max(axis=1), reach=reach)

    def ends(self, down: FloatArray, up: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The ends of intervals that reach so far from the core; the middle where they cross."""
        with np.errstate(invalid="ignore"):  # inf times a scale, less an infinite core: replaced
            below = self.low - self.scale * down
            above = self.high + self.scale * up
        crossed = below > above
        below, above = np.where(crossed, self.middle, below), np.where(crossed, self.middle, above)
        edges = self.rays()
        return (
            np.where(down >= edges[:, 0], self.bottom, np.maximum(below, self.bottom)),
            np.where(up >= edges[:, 1], self.top, np.minimum(above, self.top)),
        )

    @cached_property
    def _whole(self) -> FloatArray:
        whole: FloatArray = np.maximum(self.low - self.bottom, self.top - self.high) / self.scale
        return whole

    def _hinges(self, scores: FloatArray, core: FloatArray, cap: float | None) -> LossCurves:
        bound = self.space if cap is None else cap
        caps = np.minimum(core, bound) if self.lower < 0 else cap
        return LossCurves.hinges(scores, self.scale, bound=bound, cap=caps, lower=self.lower)

    def _scores(self, labels: FloatArray) -> FloatArray:
        scores: FloatArray = np.maximum(self.low - labels, labels - self.high) / self.scale
        return scores

    def _labels(self, y: object) -> FloatArray:
        labels = given.numbers(y, len(self))
        inside = (labels >= self.bottom) & (labels <= self.top) & np.isfinite(labels)
        expected = f"labels from {self.bottom:g} to {self.top:g}"
        repair = "widen the range of labels, or leave out these rows and say so"
        _checks.demand("labels", labels, inside, expected, repair)
        return labels


@dataclass(frozen=True, eq=False, repr=False)
class IntervalSets(FinishedSets[IntervalNest]):
    """Finished intervals."""

    @property
    def lower(self) -> FloatArray:
        """The lower ends."""
        return self._ends[0]

    @property
    def upper(self) -> FloatArray:
        """The upper ends."""
        return self._ends[1]

    @property
    def center(self) -> FloatArray:
        """The prediction, or the middle of two quantiles."""
        return self.nest.middle

    def distance(self, y: object) -> FloatArray:
        """The distance from each label to its interval."""
        curves = self.nest.distances(y, None)
        return curves.at(np.maximum(self.threshold, self.nest.lower))

    @property
    def bounded(self) -> bool:
        """Whether the range of labels has two ends."""
        return math.isfinite(self.nest.space)

    def size(self) -> FloatArray:
        """Lengths."""
        return self.upper - self.lower

    def relative_size(self) -> FloatArray:
        """Lengths as a share of the range of labels."""
        if not self.bounded:
            raise InputError(
                "label space", "a bounded one", "one without end", "give Intervals(lower, upper)"
            )
        return self.size() / self.nest.space

    def geometry(self) -> dict[str, Any]:
        """Columns lower, center and upper."""
        return {"lower": self.lower, "center": self.center, "upper": self.upper}

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        return self.nest.ends(self.threshold, self.threshold)


@dataclass(frozen=True, eq=False, repr=False)
class AsymmetricIntervals(IntervalSets):
    """Intervals by the directional envelope: they reach differently far to both sides.

    Attributes
    ----------
    reach : array (m, 2)
        How far below and above the core, in units of scores.
    """

    reach: FloatArray = field(default_factory=lambda: np.empty((0, 2)))

    @cached_property
    def whole(self) -> BoolArray:
        """Which intervals are the whole range."""
        return np.asarray((self.reach >= self.nest.rays()).all(axis=1))

    def contains(self, y: object) -> BoolArray:
        """Whether each interval holds its label."""
        inside: BoolArray = self._beyond(y) <= 0
        return inside

    def distance(self, y: object) -> FloatArray:
        """The distance from each label to its interval."""
        return np.maximum(self._beyond(y), 0.0) * self.nest.scale

    def _beyond(self, y: object) -> FloatArray:
        nest, labels = self.nest, self.nest._labels(y)  # noqa: SLF001 - of one module
        sides = np.stack([nest.low - labels, labels - nest.high], axis=1) / nest.scale[:, None]
        with np.errstate(invalid="ignore"):
            beyond: FloatArray = (sides - self.reach).max(axis=1)
        return beyond

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        return self.nest.ends(self.reach[:, 0], self.reach[:, 1])


def reads_by_name(scale: object) -> bool:
    """Whether a scale, if there is one, says which columns it reads."""
    return scale is None or predictor_of(scale).columns is not None


def scales(scale: object, table: Table, draws: Draws) -> FloatArray:
    """S(x) > 0 for each row."""
    found = given.one_each("scale", predictor_of(scale).values(table, draws), len(table))
    repair = "a scale of errors is positive: bound it from below"
    _checks.demand("scale", found, found > 0, "numbers above 0", repair)
    return found
