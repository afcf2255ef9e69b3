"""Star-shaped sets in the plane, drawn as polygons that contain them.

Around a point f the exact set is { f + t u : t <= rho(D_u) }, with D_u the distance to the edge of
a convex region in direction u and rho non-decreasing. It is known in some directions u_k, among
them those of the corners of the region. Between two neighbours the edge of the region is straight,
so D_u and with it rho is largest at one of them; with m_k the larger one, and c_k the smallest
norm on the chord from u_k to u_(k+1), the triangle of f, (m_k / c_k) u_k and (m_k / c_k) u_(k+1)
contains the exact set of that sector. Where the triangle crosses the edge of the region it is cut
off there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftproof._types import BoolArray, FloatArray, IntArray
from shiftproof.sets.areas import norm
from shiftproof.sets.region import Region

#: Steps of a golden section: the interval shrinks to 1e-10 of itself.
_STEPS = 48
_GOLDEN = (5**0.5 - 1) / 2

#: So far outside a polygon, in units of the distance from its middle, is inside: rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Rays:
    """Directions around each of m points, and how far the region goes in each.

    Attributes
    ----------
    units : array (m, u, d)
        Vectors of norm 1, in the plane anticlockwise.
    angles : array (m, u)
        Ascending, from -pi; in the plane only.
    edges : array (m, u)
        D_u.
    """

    units: FloatArray
    angles: FloatArray
    edges: FloatArray

    @classmethod
    def on_the_line(cls, centers: FloatArray, region: Region) -> Rays:
        """Down and up."""
        ends = np.sort(region.corners[:, 0])
        edges = np.maximum(np.stack([centers[:, 0] - ends[0], ends[1] - centers[:, 0]], axis=1), 0)
        units = np.broadcast_to(np.array([[-1.0], [1.0]]), (len(centers), 2, 1))
        return cls(units, np.empty((len(centers), 0)), edges)

    @classmethod
    def in_the_plane(cls, centers: FloatArray, region: Region, p: float, directions: int) -> Rays:
        """Some directions at equal angles, and those of all corners of the region."""
        # A multiple of eight has the corners of balls of p = 1 and p = inf.
        equal = -np.pi + 2 * np.pi * np.arange(1, directions + 1) / directions
        plain = np.stack([np.cos(equal), np.sin(equal)], axis=1)
        plain /= norm(plain, p)[:, None]
        plain_edges = region.to_edge(centers, plain)
        to_corners = region.corners - centers[:, None, :]
        far = norm(to_corners, p)
        # A corner where the prediction itself lies has no direction: the first one serves again.
        away, length = far > 0, np.where(far > 0, far, 1.0)[..., None]
        to_corner = np.where(away[..., None], to_corners / length, plain[0])
        corner_angles = np.arctan2(to_corners[..., 1], to_corners[..., 0])
        angles = [
            np.broadcast_to(equal, plain_edges.shape),
            np.where(away, corner_angles, equal[0]),
        ]
        units = [np.broadcast_to(plain, (*plain_edges.shape, 2)), to_corner]
        # Where a prediction misses its corner by rounding only, the region may go on behind it.
        edges = [plain_edges, np.maximum(far, region.to_edge(centers, to_corner))]
        around = np.concatenate(angles, axis=1)
        order = np.argsort(around, axis=1, kind="stable")
        return cls(
            np.take_along_axis(np.concatenate(units, axis=1), order[..., None], axis=1),
            np.take_along_axis(around, order, axis=1),
            np.take_along_axis(np.concatenate(edges, axis=1), order, axis=1),
        )


@dataclass(frozen=True, eq=False)
class Star:
    """Polygons around the origin, one for each of m points.

    Attributes
    ----------
    rays : Rays
    tips : array (m, u)
        How far the polygon goes in each direction before it is cut off at the edge.
    """

    rays: Rays
    tips: FloatArray

    @classmethod
    def around(cls, rays: Rays, reach: FloatArray, p: float) -> Star:
        """The polygon around the set that reaches so far, `reach` (m, u), in each direction."""
        following = np.maximum(reach, _next(reach)) / _least_norms(rays.units, _next(rays.units), p)
        return cls(rays, np.maximum(following, np.roll(following, 1, axis=1)))

    @cached_property
    def corners(self) -> FloatArray:
        """The corners (m, 2u, 2): in each direction, and where two edges cross before the next."""
        rays, tips = self.rays, self.tips
        inside = np.minimum(tips, rays.edges)[..., None] * rays.units
        here, there = tips[..., None] * rays.units, _next(tips)[..., None] * _next(rays.units)
        wall, wall_next = (
            rays.edges[..., None] * rays.units,
            _next(rays.edges)[..., None] * _next(rays.units),
        )
        crosses = (tips < rays.edges) != (_next(tips) < _next(rays.edges))
        along, along_wall = there - here, wall_next - wall
        turn = _cross(along, along_wall)
        crosses &= turn != 0
        place = _cross(wall - here, along_wall) / np.where(crosses, turn, 1.0)
        crossing = here + np.clip(place, 0.0, 1.0)[..., None] * along
        between = np.where(crosses[..., None], crossing, inside)
        found = np.stack([inside, between], axis=2)
        return found.reshape(len(tips), 2 * tips.shape[1], 2)

    def contains(self, points: FloatArray) -> BoolArray:
        """Whether each polygon, not cut off, holds its point (m, 2); boundary included."""
        angles = np.arctan2(points[:, 1], points[:, 0])
        rows = np.arange(len(points))
        before = (self.rays.angles <= angles[:, None]).sum(axis=1) - 1
        after = (before + 1) % self.tips.shape[1]
        one, other = self.rays.units[rows, before], self.rays.units[rows, after]
        turn = _cross(one, other)
        # points = a one + b other, inside where a / tip + b / tip' <= 1
        shares = np.stack([_cross(points, other), _cross(one, points)]) / np.where(turn, turn, 1.0)
        tips = np.stack([self.tips[rows, before], self.tips[rows, after]])
        beyond = np.where(shares > 0, np.inf, 0.0)  # of a tip of length 0
        used = np.where(tips > 0, shares / np.where(tips > 0, tips, 1.0), beyond)
        return np.asarray((used.sum(axis=0) <= 1 + _ROUNDING) | (points == 0).all(axis=1))


def distance(points: FloatArray, star: Star, p: float) -> FloatArray:
    """The p-norm distance from each point (m, 2) of the region to its polygon; 0 inside.

    Outside it is the smallest distance to an edge, on which the norm is a convex function.
    """
    found = np.zeros(len(points))
    outside: IntArray = np.flatnonzero(~star.contains(points))
    corners = star.corners[outside]
    ends = _next(corners)
    found[outside] = _to_segments(points[outside, None, :], corners, ends, p).min(axis=1)
    return found


def _to_segments(points: FloatArray, start: FloatArray, end: FloatArray, p: float) -> FloatArray:
    along, away = end - start, points - start
    if p == 2:
        squares = (along**2).sum(axis=-1)
        place = (away * along).sum(axis=-1) / np.where(squares > 0, squares, 1.0)
        return norm(away - np.clip(place, 0.0, 1.0)[..., None] * along, p)
    return _least_on_segment(away, along, p)


def _least_norms(one: FloatArray, other: FloatArray, p: float) -> FloatArray:
    """The smallest norm on each chord between two unit vectors, and never above the true one."""
    if p == 2:
        return norm((one + other) / 2, p) * (1 - _ROUNDING)
    return _least_on_segment(one, one - other, p) * (1 - 1e-9)


def _least_on_segment(away: FloatArray, along: FloatArray, p: float) -> FloatArray:
    """The smallest |away - t along|_p for t in [0, 1], by golden section: it is convex in t."""
    away, along = np.broadcast_arrays(away, along)

    def at(place: FloatArray) -> FloatArray:
        return norm(away - place[..., None] * along, p)

    low, high = np.zeros(away.shape[:-1]), np.ones(away.shape[:-1])
    for _ in range(_STEPS):
        width = _GOLDEN * (high - low)
        left, right = high - width, low + width
        lower_left = at(left) <= at(right)
        low, high = np.where(lower_left, low, left), np.where(lower_left, right, high)
    ends = np.minimum(at(np.zeros_like(low)), at(np.ones_like(low)))
    return np.minimum(at((low + high) / 2), ends)


def _next(values: FloatArray) -> FloatArray:
    return np.roll(values, -1, axis=1)


def _cross(one: FloatArray, other: FloatArray) -> FloatArray:
    crossed: FloatArray = one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]
    return crossed
