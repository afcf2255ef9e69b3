"""Balls around a predicted point, cut off where the label space ends.

    Gamma(x, lam) = { y in the region : |y - f(x)|_p <= s(x) lam },    R(y) = |y - f(x)|_p / s(x).

The region is convex and holds f(x), so the distance from a label to the cut ball is that to the
ball: (|y - f|_p - s lam)_+, a hinge. In a region that is not convex it can be larger.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof._types import BoolArray, FloatArray
from shiftproof.contracts import Predictor, Traits
from shiftproof.errors import InputError
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of
from shiftproof.risk import LossCurves
from shiftproof.sets import given, stars
from shiftproof.sets.areas import norm, polygon_area
from shiftproof.sets.finished import FinishedSets, thresholds_of
from shiftproof.sets.intervals import reads_by_name, scales
from shiftproof.sets.region import Region
from shiftproof.sets.stars import Rays

#: In so many directions the outline of a ball is known.
_OUTLINE = 72


@dataclass(frozen=True, eq=False)
class Balls:
    """A family of sets: balls around a predicted point, in a convex label space.

    Predictions outside the region are moved to its nearest point. A label outside is an error.

    Parameters
    ----------
    region : Box or Polygon
        The label space, of any dimension for a box.
    p : float
        The norm, from 1 to inf.
    scale : object, optional
        Anything that predicts s(x) > 0, for balls that are larger where errors are.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> place = rng.uniform(0, 10, (300, 2))
    >>> heard = place + rng.normal(0, 0.5, (300, 2))
    >>> controller = shp.RiskController(
    ...     lambda x: x, shp.Balls(shp.Box([0, 0], [10, 10])), shp.Distance()
    ... )
    >>> sets = controller.calibrate(heard[:200], place[:200]).predict(heard[200:], alpha=0.2)
    >>> sets
    BallSets(100 sets, 0 whole)
    >>> bool(sets.distance(place[200:]).mean() < 0.25), float(sets.relative_size().mean().round(3))
    (True, 0.007)
    """

    region: Region
    p: float = 2.0
    scale: object = None

    def __post_init__(self) -> None:
        if isinstance(self.region, type) or not hasattr(self.region, "ball_volume"):
            got, repair = type(self.region).__name__, "for example Box([0, 0], [45, 34])"
            raise InputError("region", "a Box or a convex Polygon", got, repair)
        order = _checks.scalar("p", self.p, "for example 2")
        if not order >= 1:
            raise InputError("p", "a norm from 1 to inf", f"{self.p!r}", "for example 2")
        object.__setattr__(self, "p", order)
        if self.scale is not None:
            predictor_of(self.scale)

    @property
    def makes(self) -> type:
        """Nests of balls."""
        return BallNest

    @property
    def traits(self) -> Traits:
        """Points of a bounded region."""
        return Traits(self.region.dimension, by_name=reads_by_name(self.scale))

    def nest(self, predictor: Predictor, table: Table, draws: Draws) -> BallNest:
        """Balls around the predictions, which are moved into the region."""
        rows, dimension = len(table), self.region.dimension
        centers = np.asarray(predictor.values(table, draws))
        if centers.ndim == 1 and dimension == 1:
            centers = centers[:, None]
        if centers.shape != (rows, dimension):
            raise InputError(
                "predictions",
                f"shape ({rows}, {dimension}), a point of the region for each row",
                f"shape {centers.shape}",
                "pass a model with one output for each dimension of the region",
            )
        scale = (
            np.broadcast_to(1.0, rows) if self.scale is None else scales(self.scale, table, draws)
        )
        return BallNest(self.region.project(centers), scale, self.region, self.p)


@dataclass(frozen=True, eq=False, repr=False)
class BallNest:
    """Balls that grow around points of a region, made by :class:`Balls`."""

    centers: FloatArray
    scale: FloatArray
    region: Region
    p: float
    _fans: dict[int, Rays] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.centers)

    @property
    def lower(self) -> float:
        """Radii start at 0."""
        return 0.0

    @property
    def slopes(self) -> FloatArray:
        """The length of one unit of score."""
        return self.scale

    def entry(self, y: object) -> FloatArray:
        """R(y) = |y - f|_p / s; no more than D(x) for a label that is inside by rounding."""
        scores = norm(self.labels(y) - self.centers, self.p) / self.scale
        return np.minimum(scores, self.whole())

    def whole(self) -> FloatArray:
        """R of the farthest point of the region."""
        return self._whole

    def least(self) -> FloatArray:
        """A radius of 0."""
        return np.zeros(len(self))

    def at(self, thresholds: FloatArray) -> BallSets:
        """The balls at one threshold for each row."""
        return BallSets(self, thresholds_of(thresholds, self))

    def diameter(self) -> float:
        """The largest distance of two labels."""
        return self.region.diameter(self.p)

    def distances(self, y: object, cap: float | None) -> LossCurves:
        """The distance from each label to its ball."""
        return self._hinges(self.entry(y), cap)

    def farthest(self, cap: float | None) -> LossCurves:
        """The distance from the farthest point of the region to the ball."""
        return self._hinges(self.whole(), cap)

    def rays(self, directions: int) -> FloatArray:
        """The score of the farthest label in each direction, (n, u)."""
        return self.fan(directions).edges / self.scale[:, None]

    def star(self, reach: FloatArray, directions: int) -> StarSets:
        """Sets that reach differently far (n, u) in each of the directions of :meth:`rays`."""
        edges = self.rays(directions)
        largest = np.where((reach >= edges).all(axis=1), self.whole(), reach.max(axis=1))
        return StarSets(self, largest, reach=reach, directions=directions)

    def fan(self, directions: int) -> Rays:
        """Directions in which stars reach, and the distance to the edge of the region in each."""
        if directions not in self._fans:
            self._fans[directions] = (
                Rays.on_the_line(self.centers, self.region)
                if self.region.dimension == 1
                else Rays.in_the_plane(self.centers, self.region, self.p, directions)
            )
        return self._fans[directions]

    def labels(self, y: object) -> FloatArray:
        """Labels as points of the region."""
        points = given.points(y, len(self), self.region.dimension)
        inside = self.region.contains(points)
        if not inside.all():
            where = int(np.argmin(inside))
            count = f" ({int((~inside).sum())} such rows)" if (~inside).sum() > 1 else ""
            raise InputError(
                "labels",
                "labels inside the region",
                f"{points[where].tolist()} in row {where}{count}",
                "enlarge the region, or leave out these rows and say so",
            )
        return points

    def _hinges(self, scores: FloatArray, cap: float | None) -> LossCurves:
        bound = self.diameter() if cap is None else cap
        return LossCurves.hinges(scores, self.scale, bound=bound, cap=cap)

    @cached_property
    def _whole(self) -> FloatArray:
        return self.region.farthest(self.centers, self.p) / self.scale


@dataclass(frozen=True, eq=False, repr=False)
class RegionSets(FinishedSets[BallNest]):
    """Sets around points of a region."""

    @property
    def centers(self) -> FloatArray:
        """The predictions, (m, d)."""
        return self.nest.centers

    @property
    @abstractmethod
    def outlines(self) -> FloatArray:
        """The corners (m, v, 2) of a polygon around each set in the plane."""

    def relative_size(self) -> FloatArray:
        """Volumes as a share of the region's."""
        return self.size() / self.nest.region.volume

    def _centers(self) -> dict[str, Any]:
        names = range(self.nest.region.dimension)
        return {f"center_{axis}": self.centers[:, axis] for axis in names}


@dataclass(frozen=True, eq=False, repr=False)
class BallSets(RegionSets):
    """Finished balls, cut off where the region ends."""

    @property
    def radii(self) -> FloatArray:
        """The radius of each ball, in units of labels; inf for the whole region."""
        return np.where(self.whole, math.inf, self.threshold * self.nest.scale)

    def distance(self, y: object) -> FloatArray:
        """The distance from each label to its set."""
        return self.nest.distances(y, None).at(self.threshold)

    def size(self) -> FloatArray:
        """Length, area or volume of the part of each ball that lies in the region."""
        return self._volumes[0]

    @property
    def size_error(self) -> FloatArray:
        """The standard error of each size: 0 where it is exact, else from quasi Monte Carlo."""
        return self._volumes[1]

    def geometry(self) -> dict[str, Any]:
        """Columns center_0, center_1, ... and radius."""
        return self._centers() | {"radius": self.radii}

    @cached_property
    def outlines(self) -> FloatArray:
        """The corners (m, v, 2) of a polygon around each cut ball, anticlockwise, as for stars.

        For p = 1 and inf it is the cut ball, up to rounding; else it contains it, and for p = 2
        reaches at most 1 part in 1000 farther. For pictures: :meth:`size` measures the ball. On the
        line: both ends.
        """
        if self.nest.region.dimension not in (1, 2):
            raise InputError(
                "region",
                "a label space of one dimension or two",
                f"{self.nest.region.dimension} dimensions",
                "only these have outlines: look at centers and radii",
            )
        edges = self.nest.rays(_OUTLINE)
        return self.nest.star(np.minimum(self.threshold[:, None], edges), _OUTLINE).outlines

    @cached_property
    def _volumes(self) -> tuple[FloatArray, FloatArray]:
        return self.nest.region.ball_volume(self.centers, self.radii, self.nest.p)


@dataclass(frozen=True, eq=False, repr=False)
class StarSets(RegionSets):
    """Finished star-shaped sets, by the directional envelope: polygons, or intervals on the line.

    The polygon contains the exact set { f + t u : t <= min(D_u, lam'(D_u)) }: between two
    directions it reaches as far as the farther one, and beyond by what a chord cuts off an arc. All
    answers are those of the polygon.

    Attributes
    ----------
    reach : array (m, u)
        How far in each direction, in units of scores.
    directions : int
    """

    reach: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    directions: int = 0

    @cached_property
    def whole(self) -> BoolArray:
        """Which sets are the whole region."""
        return np.asarray((self.reach >= self.nest.rays(self.directions)).all(axis=1))

    def contains(self, y: object) -> BoolArray:
        """Whether each set holds its label."""
        inside: BoolArray = self.distance(y) == 0
        return inside

    def distance(self, y: object) -> FloatArray:
        """The distance from each label to its set, in the norm of the balls."""
        away, scale = self.nest.labels(y) - self.centers, self.nest.scale
        if self.nest.region.dimension == 1:
            scores = np.concatenate([-away, away], axis=1) / scale[:, None]
            distances = np.maximum((scores - self.reach).max(axis=1), 0.0) * scale
        else:
            distances = stars.distance(away, self._star, self.nest.p)
        return np.where(self.whole, 0.0, distances)

    def size(self) -> FloatArray:
        """Length or area."""
        if self.nest.region.dimension == 1:
            return np.asarray(self.outlines[:, 1, 0] - self.outlines[:, 0, 0])
        return np.where(self.whole, self.nest.region.volume, polygon_area(self.outlines))

    @cached_property
    def outlines(self) -> FloatArray:
        """The corners of each polygon (m, v, 2), anticlockwise; some may repeat.

        On the line: both ends (m, 2, 1).
        """
        if self.nest.region.dimension == 1:
            edge = np.sort(self.nest.region.corners[:, 0])
            ends = np.clip(self.centers + self._lengths * np.array([-1.0, 1.0]), *edge)
            return np.where(self.reach >= self.nest.rays(self.directions), edge, ends)[:, :, None]
        return np.asarray(self.centers[:, None, :] + self._star.corners)

    def geometry(self) -> dict[str, Any]:
        """Columns center_0, center_1 and outline: the corners of each polygon."""
        if self.nest.region.dimension == 1:
            ends = self.outlines[:, :, 0]
            return self._centers() | {"lower": ends[:, 0], "upper": ends[:, 1]}
        outlines = [_without_repeats(outline) for outline in self.outlines]
        return self._centers() | {"outline": outlines}

    @cached_property
    def _lengths(self) -> FloatArray:
        return self.reach * self.nest.scale[:, None]

    @cached_property
    def _star(self) -> stars.Star:
        return stars.Star.around(self.nest.fan(self.directions), self._lengths, self.nest.p)


def _without_repeats(outline: FloatArray) -> list[list[float]]:
    new = (outline != np.roll(outline, 1, axis=0)).any(axis=1)
    corners: list[list[float]] = outline[new].tolist()
    return corners or outline[:1].tolist()
