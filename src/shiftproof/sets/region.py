"""Convex label spaces: boxes of any dimension, and convex polygons in the plane.

A label space bounds the loss (its diameter), says how far a prediction can be from any label, and
cuts prediction sets off where no label is: their volume is that of what they share with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, BoolArray, FloatArray
from shiftproof.errors import InputError
from shiftproof.sets import areas, outline
from shiftproof.sets.areas import norm, polygon_area

__all__ = ["Box", "Polygon", "Region", "norm", "polygon_area"]

#: Points this far outside, in units of the region's extent, count as inside: that is rounding.
_ROUNDING = 1e-9

#: Coordinates beyond this would overflow in areas.
_LARGEST = 1e150

#: A box of more dimensions has too many corners to list.
_LISTED = 16

_Volumes: TypeAlias = tuple[FloatArray, FloatArray]


class Region(Protocol):
    """A convex, closed and bounded set of labels, asked about n points (n, d) at a time.

    Attributes
    ----------
    dimension : int
    corners : array (k, d)
    volume : float

    Examples
    --------
    >>> from shiftproof.sets.region import Box, Polygon, Region
    >>> spaces: list[Region] = [Box(0, 1), Polygon([[0, 0], [1, 0], [0, 1]])]
    >>> [space.dimension for space in spaces]
    [1, 2]
    """

    @property
    def dimension(self) -> int:
        """Numbers in one label."""

    @property
    def corners(self) -> FloatArray:
        """All vertices, (k, d)."""

    @property
    def volume(self) -> float:
        """Length, area or volume."""

    def contains(self, points: ArrayLike) -> BoolArray:
        """Which points the closed region holds, (n,), up to rounding."""

    def project(self, points: ArrayLike) -> FloatArray:
        """The point of the region nearest to each, (n, d), in Euclidean distance."""

    def diameter(self, p: float) -> float:
        """Largest distance between two points of the region."""

    def farthest(self, points: ArrayLike, p: float) -> FloatArray:
        """Largest distance from each point to one of the region, (n,)."""

    def to_edge(self, points: ArrayLike, directions: ArrayLike) -> FloatArray:
        """The largest t with point + t direction in the region, (n, u)."""

    def ball_volume(self, centers: ArrayLike, radii: ArrayLike, p: float) -> _Volumes:
        """Volume of the region and each ball, and its standard error, both (n,)."""


@dataclass(frozen=True, eq=False, init=False)
class Box:
    """All y with low <= y <= high, in any dimension.

    Parameters
    ----------
    low, high : array (d,)
        Numbers, if the labels are numbers.

    Attributes
    ----------
    dimension : int
    corners : array (2^d, d)
        Up to 16 dimensions.
    volume : float

    Examples
    --------
    >>> from shiftproof.sets.region import Box
    >>> box = Box([0, 0], [3, 4])
    >>> box.diameter(2), box.volume
    (5.0, 12.0)
    >>> Box(0, 10).ball_volume([[1.0], [5.0]], 2.0, 2)[0]  # intervals, cut off at 0
    array([3., 4.])
    """

    low: FloatArray
    high: FloatArray

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        low, high = (_side(name, value) for name, value in (("low", low), ("high", high)))
        if low.shape != high.shape:
            raise InputError("high", f"shape {low.shape}", f"shape {high.shape}", "as `low`")
        repair = "leave out labels that cannot vary, and pass the lower end first"
        _checks.demand("high", high, high > low, "values above those of `low`", repair)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def dimension(self) -> int:
        """Numbers in one label."""
        return len(self.low)

    @cached_property
    def corners(self) -> FloatArray:
        """All vertices, (2^d, d)."""
        if self.dimension > _LISTED:
            raise InputError(
                "corners",
                f"a box of at most {_LISTED} dimensions",
                f"{self.dimension} dimensions",
                "`farthest` and `diameter` need no corners",
            )
        sides = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return _frozen(np.array(list(itertools.product(*sides))))

    @cached_property
    def volume(self) -> float:
        """The product of the sides."""
        return float(areas.product(self.high - self.low))

    def contains(self, points: ArrayLike) -> BoolArray:
        """Which points the closed box holds, (n,).

        Points outside by less than 1e-9 of a side, or by the rounding of its ends, count as inside.

        Examples
        --------
        >>> from shiftproof.sets.region import Box
        >>> Box([0, 0], [1, 1]).contains([[1.0, 0.5], [1.1, 0.5]])
        array([ True, False])
        """
        return self._holds(_points("points", points, self.dimension))

    def project(self, points: ArrayLike) -> FloatArray:
        """The nearest point of the box, (n, d): each coordinate clipped.

        Examples
        --------
        >>> from shiftproof.sets.region import Box
        >>> Box([0, 0], [1, 1]).project([[2.0, 0.5], [0.3, 0.4]])
        array([[1. , 0.5],
               [0.3, 0.4]])
        """
        return np.clip(_points("points", points, self.dimension), self.low, self.high)

    def diameter(self, p: float) -> float:
        """Largest p-norm distance of two points: that of two opposite corners.

        Examples
        --------
        >>> from shiftproof.sets.region import Box
        >>> Box([0, 0], [3, 4]).diameter(1)
        7.0
        """
        return float(norm(self.high - self.low, _order(p)))

    def farthest(self, points: ArrayLike, p: float) -> FloatArray:
        """Largest p-norm distance from each point to the box, (n,): to the opposite corner.

        Examples
        --------
        >>> from shiftproof.sets.region import Box
        >>> Box([0, 0], [3, 4]).farthest([[0.0, 0.0], [1.5, 2.0]], 2)
        array([5. , 2.5])
        """
        return self._farthest(_points("points", points, self.dimension), _order(p))

    def to_edge(self, points: ArrayLike, directions: ArrayLike) -> FloatArray:
        """The largest t >= 0 with point + t direction in the box, (n, u), for points inside.

        Parameters
        ----------
        points : array (n, d)
        directions : array (u, d) or (n, u, d)
            Of any length but 0; t counts such lengths.

        Examples
        --------
        >>> from shiftproof.sets.region import Box
        >>> Box([0, 0], [3, 4]).to_edge([[1.0, 1.0]], [[1, 0], [-2, 0], [1, 1]])
        array([[2. , 0.5, 2. ]])
        """
        places, ways, lengths = _rays(self, points, directions)
        sides = self.high - self.low
        speed = (np.abs(ways) / sides).max(axis=2)
        times = np.full((len(places), speed.shape[1]), np.inf)
        for axis in range(self.dimension):
            here, rate = places[:, None, axis], ways[:, :, axis]
            gap = np.where(rate > 0, self.high[axis] - here, here - self.low[axis]) / sides[axis]
            pace = np.abs(rate) / sides[axis] / speed
            np.minimum(times, _time(gap, pace), out=times)
        return _in_lengths(times / speed, lengths)

    def ball_volume(self, centers: ArrayLike, radii: ArrayLike, p: float) -> _Volumes:
        """Volume of each p-norm ball within the box, and its standard error, both (n,).

        Exact (error 0) up to rounding for d = 1, for p = inf, for d = 2 with p = 1 or 2, and where
        ball or box holds the other. Else from 8 scramblings of 1024 Sobol points with fixed seeds.

        Parameters
        ----------
        centers : array (n, d)
            Inside the box or not.
        radii : number or array (n,)
            From 0 to inf.
        p : float
            From 1 to inf.

        Examples
        --------
        >>> from shiftproof.sets.region import Box
        >>> Box([0, 0], [2, 2]).ball_volume([[1, 1], [0, 0], [0, 0]], [1, 1, 3], 2)[0].round(4)
        array([3.1416, 0.7854, 4.    ])
        """
        return _ball_volumes(self, centers, radii, p)

    def _holds(self, points: FloatArray) -> BoolArray:
        slack = _ROUNDING * (self.high - self.low) + outline.UNIT * np.maximum(
            np.abs(self.low), np.abs(self.high)
        )
        return np.asarray(
            ((points >= self.low - slack) & (points <= self.high + slack)).all(axis=1)
        )

    def _farthest(self, points: FloatArray, p: float) -> FloatArray:
        return norm(np.maximum(points - self.low, self.high - points), p)

    def _cut_balls(self, centers: FloatArray, radii: FloatArray, p: float) -> _Volumes:
        lower, upper = self.low - centers, self.high - centers
        if self.dimension == 1 or math.isinf(p):
            return _exact(self, areas.overlap_volumes(lower, upper, radii), radii, p)
        if self.dimension == 2 and p in (1, 2):
            (left, bottom), (right, top) = self.low, self.high
            corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
            return _exact(self, _plane_areas(corners, centers, radii, p), radii, p)
        inside = (np.minimum(-lower, upper) >= radii[:, None]).all(axis=1)
        apart = norm(np.clip(0.0, lower, upper), p) >= radii
        volumes = np.where(inside, areas.ball_volume(self.dimension, radii, p), 0.0)
        errors = np.zeros(len(radii))
        cut = ~(inside | apart)
        volumes[cut], errors[cut] = areas.sampled_volumes(lower[cut], upper[cut], radii[cut], p)
        return volumes, errors


@dataclass(frozen=True, eq=False, init=False)
class Polygon:
    """A convex polygon in the plane.

    Parameters
    ----------
    vertices : array (k, 2)
        In order around the polygon, either way; the first may be repeated at the end.
    hull : bool
        Take the convex hull of the vertices, which may then come in any order.

    Attributes
    ----------
    vertices : array (k, 2)
        Counter-clockwise, without those that are repeated or lie on a straight edge.
    replaced_by_hull : bool
        Whether the hull differs from the polygon that was passed.
    dimension : int
    corners : array (k, 2)
        As `vertices`.
    volume : float
        The area.

    Examples
    --------
    >>> from shiftproof.sets.region import Polygon
    >>> triangle = Polygon([[0, 0], [0, 3], [4, 0]])
    >>> triangle.vertices
    array([[0., 0.],
           [4., 0.],
           [0., 3.]])
    >>> triangle.volume, triangle.diameter(2)
    (6.0, 5.0)
    >>> Polygon([[0, 0], [2, 0], [0.5, 0.5], [0, 2]], hull=True).replaced_by_hull
    True
    """

    vertices: FloatArray
    replaced_by_hull: bool = field(init=False)

    def __init__(self, vertices: ArrayLike, *, hull: bool = False) -> None:
        places = _points("vertices", vertices, 2)
        corners = places[outline.hull(places)]
        if len(corners) < 3:
            got = f"{len(places)} vertices on one line" if len(places) else "none"
            raise InputError("vertices", "a polygon with an area above 0", got, "add vertices")
        fault = outline.fault(places)
        if fault is not None and not hull:
            index, problem = fault
            raise InputError(
                "vertices",
                "the corners of a convex polygon in order around it",
                f"vertex {index} at {tuple(places[index].tolist())}, where {problem}",
                "pass hull=True to take the convex hull",
            )
        object.__setattr__(self, "vertices", _frozen(corners))
        object.__setattr__(self, "replaced_by_hull", fault is not None)

    @property
    def dimension(self) -> int:
        """Numbers in one label."""
        return 2

    @property
    def corners(self) -> FloatArray:
        """All vertices, (k, 2), counter-clockwise."""
        return self.vertices

    @cached_property
    def volume(self) -> float:
        """The area."""
        return float(polygon_area(self.vertices[None])[0])

    def contains(self, points: ArrayLike) -> BoolArray:
        """Which points the closed polygon holds, (n,).

        Points beyond an edge by less than 1e-9 of the polygon's width across that edge, or by the
        rounding of its vertices, count as inside.

        Examples
        --------
        >>> from shiftproof.sets.region import Polygon
        >>> Polygon([[0, 0], [4, 0], [0, 3]]).contains([[2.0, 1.5], [2.1, 1.5]])
        array([ True, False])
        """
        return self._holds(_points("points", points, 2))

    def project(self, points: ArrayLike) -> FloatArray:
        """The nearest point of the polygon, (n, 2), in Euclidean distance.

        Points inside, up to the rounding of the vertices, come back as they are.

        Examples
        --------
        >>> from shiftproof.sets.region import Polygon
        >>> Polygon([[0, 0], [4, 0], [0, 4]]).project([[3.0, 3.0], [5.0, -1.0], [1.0, 1.0]])
        array([[2., 2.],
               [4., 0.],
               [1., 1.]])
        """
        result = _points("points", points, 2).copy()
        beyond = self._depth(result) < -self._slack
        result[beyond] = self._nearest(result[beyond])
        return result

    def diameter(self, p: float) -> float:
        """Largest p-norm distance of two points: that of two corners.

        Examples
        --------
        >>> from shiftproof.sets.region import Polygon
        >>> Polygon([[0, 0], [4, 0], [0, 3]]).diameter(1)
        7.0
        """
        return float(self._farthest(self.vertices, _order(p)).max())

    def farthest(self, points: ArrayLike, p: float) -> FloatArray:
        """Largest p-norm distance from each point to the polygon, (n,): to a corner.

        Examples
        --------
        >>> from shiftproof.sets.region import Polygon
        >>> Polygon([[0, 0], [4, 0], [0, 3]]).farthest([[0.0, 0.0], [4.0, 0.0]], 2)
        array([4., 5.])
        """
        return self._farthest(_points("points", points, 2), _order(p))

    def to_edge(self, points: ArrayLike, directions: ArrayLike) -> FloatArray:
        """The largest t >= 0 with point + t direction in the polygon, (n, u), for points inside.

        Parameters
        ----------
        points : array (n, 2)
        directions : array (u, 2) or (n, u, 2)
            Of any length but 0; t counts such lengths.

        Examples
        --------
        >>> from shiftproof.sets.region import Polygon
        >>> Polygon([[0, 0], [4, 0], [0, 4]]).to_edge([[1.0, 1.0]], [[1, 0], [-2, 0], [1, 1]])
        array([[2. , 0.5, 1. ]])
        """
        places, ways, lengths = _rays(self, points, directions)
        speed = norm(ways, 2)
        ways = ways / speed[:, :, None]
        # In a needle hardly wider than rounding every edge may pass for parallel.
        times = np.full((len(places), speed.shape[1]), self.diameter(2))
        for corner, outward in zip(self.vertices, self._outward, strict=True):
            gap = (corner - places) @ outward
            gap = np.where(gap <= self._slack, 0.0, gap)
            np.minimum(times, _time(gap[:, None], ways @ outward), out=times)
        return _in_lengths(times / speed, lengths)

    def ball_volume(self, centers: ArrayLike, radii: ArrayLike, p: float) -> _Volumes:
        """Area of each p-norm ball within the polygon, and its standard error, both (n,).

        Exact (error 0) up to rounding for p = 1, 2 and inf, and where ball or polygon holds the
        other. Else from 8 scramblings of 1024 Sobol points with fixed seeds.

        Parameters
        ----------
        centers : array (n, 2)
            Inside the polygon or not.
        radii : number or array (n,)
            From 0 to inf.
        p : float
            From 1 to inf.

        Examples
        --------
        >>> from shiftproof.sets.region import Polygon
        >>> triangle = Polygon([[0, 0], [4, 0], [0, 4]])
        >>> triangle.ball_volume([[1, 1], [0, 0], [9, 9]], [1, 2, 3], 2)[0].round(4)
        array([3.1416, 3.1416, 0.    ])
        """
        return _ball_volumes(self, centers, radii, p)

    @cached_property
    def _outward(self) -> FloatArray:
        """Unit normals of the edges, each of which starts at the vertex of the same index."""
        x, y = (np.roll(self.vertices, -1, axis=0) - self.vertices).T
        return np.asarray(np.column_stack([y, -x]) / np.hypot(x, y)[:, None])

    @cached_property
    def _slack(self) -> float:
        """What rounding may shift a point with coordinates like those of the vertices."""
        return outline.UNIT * float(np.abs(self.vertices).max())

    @cached_property
    def _widths(self) -> FloatArray:
        """The polygon's extent across each edge."""
        return np.array([gap.max() for gap in self._gaps(self.vertices)])

    def _gaps(self, points: FloatArray) -> Iterator[FloatArray]:
        """For each edge, how far inside of it the points lie, (n,)."""
        edges = zip(self.vertices, self._outward, strict=True)
        return ((corner - points) @ outward for corner, outward in edges)

    def _depth(self, points: FloatArray) -> FloatArray:
        """How far inside the points lie, (n,); negative outside."""
        depth = np.full(len(points), np.inf)
        for gap in self._gaps(points):
            np.minimum(depth, gap, out=depth)
        return depth

    def _holds(self, points: FloatArray) -> BoolArray:
        held = np.ones(len(points), dtype=bool)
        for gap, width in zip(self._gaps(points), self._widths.tolist(), strict=True):
            held &= gap >= -(_ROUNDING * width + self._slack)
        return held

    def _nearest(self, points: FloatArray) -> FloatArray:
        """The nearest point of the outline."""
        best, least = np.empty_like(points), np.full(len(points), np.inf)
        for start, end in zip(self.vertices, np.roll(self.vertices, -1, axis=0), strict=True):
            length = math.hypot(*(end - start))
            along = (end - start) / length
            place = start + np.clip((points - start) @ along, 0.0, length)[:, None] * along
            distance = norm(points - place, 2)
            closer = distance < least
            best[closer], least[closer] = place[closer], distance[closer]
        return best

    def _farthest(self, points: FloatArray, p: float) -> FloatArray:
        largest = np.zeros(len(points))
        for corner in self.vertices:
            np.maximum(largest, norm(points - corner, p), out=largest)
        return largest

    def _cut_balls(self, centers: FloatArray, radii: FloatArray, p: float) -> _Volumes:
        if p in (1, 2) or math.isinf(p):
            return _exact(self, _plane_areas(self.vertices, centers, radii, p), radii, p)
        # A ball reaches as far along a normal as the dual norm of that normal says.
        reach = norm(self._outward, p / (p - 1))
        gaps = zip(self._gaps(centers), reach.tolist(), strict=True)
        depth = np.min([gap / length for gap, length in gaps], axis=0)
        inside, apart = depth >= radii, depth <= -radii
        volumes = np.where(inside, areas.ball_volume(2, radii, p), 0.0)
        errors = np.zeros(len(radii))
        cut = np.flatnonzero(~(inside | apart))
        lower, upper = (end - centers[cut] for end in (self.vertices.min(0), self.vertices.max(0)))

        def holds(rows: slice, places: FloatArray) -> BoolArray:
            found = self._depth((centers[cut][rows, None] + places).reshape(-1, 2)) >= 0
            return found.reshape(places.shape[:2])

        volumes[cut], errors[cut] = areas.sampled_volumes(lower, upper, radii[cut], p, holds)
        return volumes, errors


def _ball_volumes(
    region: Box | Polygon, centers: ArrayLike, radii: ArrayLike, p: float
) -> _Volumes:
    """All or nothing where radii are large or 0; else the region's own formulas."""
    places, p = _points("centers", centers, region.dimension), _order(p)
    reach = _checks.each("radii", radii, len(places))
    _checks.demand("radii", reach, reach >= 0, "radii of at least 0", "a ball has a radius")
    whole = reach >= region._farthest(places, p)  # noqa: SLF001 - both classes are of this module
    volumes = np.where(whole, region.volume, 0.0)
    errors = np.zeros(len(places))
    cut = ~whole & (reach > 0)
    volumes[cut], errors[cut] = region._cut_balls(places[cut], reach[cut], p)  # noqa: SLF001
    return volumes, errors


def _plane_areas(
    corners: FloatArray, centers: FloatArray, radii: FloatArray, p: float
) -> FloatArray:
    if p == 2:
        return areas.disc_areas(corners, centers, radii)
    return areas.square_areas(corners, centers, radii, p)


def _exact(region: Region, volumes: FloatArray, radii: FloatArray, p: float) -> _Volumes:
    # Sums of triangles and sectors round; what they are a part of bounds them from both sides.
    most = np.minimum(areas.ball_volume(region.dimension, radii, p), region.volume)
    return np.clip(volumes, 0.0, most), np.zeros(len(volumes))


def _time(gap: FloatArray, pace: FloatArray) -> FloatArray:
    """When an edge at distance `gap` is reached; never, if the direction of unit length follows it.

    A pace that rounding alone could have made is none: a point on an edge may move along it.
    """
    ahead = pace > outline.UNIT
    return np.where(ahead, np.maximum(gap, 0.0) / np.where(ahead, pace, 1.0), np.inf)


def _in_lengths(times: FloatArray, lengths: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # so many lengths as no number counts
        return np.asarray(times / lengths)


def _side(name: str, value: ArrayLike) -> FloatArray:
    side = _checks.vector(name, np.atleast_1d(_checks.floats(name, value)))
    _checks.non_empty(name, side, "a label has at least one dimension")
    return _frozen(_bounded(name, side, "a label space is bounded: cut it off where labels end"))


def _points(name: str, values: ArrayLike, dimension: int) -> FloatArray:
    points = _checks.floats(name, values)
    if points.ndim != 2 or points.shape[1] != dimension:
        raise InputError(
            name, f"shape (n, {dimension})", f"shape {points.shape}", "pass one row per point"
        )
    return _bounded(name, points, "drop or clip the others")


def _bounded(name: str, values: FloatArray, repair: str) -> FloatArray:
    good = np.abs(values) <= _LARGEST
    _checks.demand(name, values, good, f"finite values, up to {_LARGEST:g}", repair)
    return values


def _rays(
    region: Box | Polygon, points: ArrayLike, directions: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points (n, d) inside the region, directions (n, u, d), or (1, u, d) for all, and lengths.

    Directions are divided by their lengths, their largest entries, lest their squares overflow.
    """
    places = _points("points", points, region.dimension)
    repair = "project them into the region first"
    held = region._holds(places)  # noqa: SLF001 - both classes are of this module
    if not held.all():
        index = int((~held).argmax())
        got = f"point {index} at {tuple(places[index].tolist())}"
        raise InputError("points", "points inside the region", got, repair)
    ways = _checks.floats("directions", directions)
    ways = ways[None] if ways.ndim == 2 else ways
    last = (ways.ndim, ways.shape[-1]) == (3, region.dimension) if ways.ndim else False
    if not last or ways.shape[0] not in (1, len(places)):
        expected = f"shape (u, {region.dimension}) or (n, u, {region.dimension})"
        shape = np.shape(directions)
        raise InputError("directions", expected, f"shape {shape}", "pass one row per direction")
    lengths = norm(ways, math.inf)
    good = (lengths > 0) & np.isfinite(lengths)
    _checks.demand(
        "directions", lengths, good, "finite lengths above 0", "drop directions that lead nowhere"
    )
    return places, ways / lengths[:, :, None], lengths


def _order(p: float) -> float:
    order = _checks.scalar("p", p, "pass the order of the norm, math.inf for the largest entry")
    if not order >= 1:
        raise InputError("p", "an order of at least 1", f"{p!r}", "below 1 it is no norm")
    return order


def _frozen(array: FloatArray) -> FloatArray:
    """A copy that cannot be written to, as what was derived from it is kept."""
    array = array.copy()
    array.flags.writeable = False
    return array
