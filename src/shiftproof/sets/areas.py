"""Lengths, areas and volumes: of polygons, of balls, and of what both have in common.

    | {y in the region : |y - center|_p <= radius} |

Arrays in, arrays out, nothing is checked. Corners are those of a convex polygon, counter-clockwise.
Everything is computed relative to the centre of the ball, and areas relative to a point that the
ball and the region are both near to: differences of large areas would lose their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from scipy.stats import qmc

from shiftproof._types import BoolArray, FloatArray

#: Scramblings, base-2 logarithm of the points in each, and the seed of all of them.
_SCRAMBLINGS, _POINTS, _SEED = 8, 10, 20240229

#: Numbers in one temporary array of a block.
_CELLS = 1 << 16


def norm(points: FloatArray, p: float) -> FloatArray:
    """|x|_p = (sum_i |x_i|^p)^(1/p) along the last axis; max_i |x_i| for p = inf.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.sets.region import norm
    >>> [float(norm(np.array([3.0, 4.0]), p)) for p in (1, 2, np.inf)]
    [7.0, 5.0, 4.0]
    """
    size = np.abs(points)
    if p == 1:
        return np.asarray(size.sum(axis=-1))
    largest = size.max(axis=-1)
    if math.isinf(p):
        return np.asarray(largest)
    # Without the division powers would overflow, or vanish.
    shares = size / np.where(largest > 0, largest, 1.0)[..., None]
    return np.asarray(largest * (shares**p).sum(axis=-1) ** (1 / p))


def polygon_area(vertices: FloatArray) -> FloatArray:
    """Areas of polygons (n, k, 2): half the sum over edges of x_i y_(i+1) - x_(i+1) y_i.

    Positive if the vertices run counter-clockwise, negative if they run clockwise.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.sets.region import polygon_area
    >>> polygon_area(np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]]))
    array([2.])
    """
    near = vertices - vertices[..., :1, :]
    x, y = near[..., 0], near[..., 1]
    return np.asarray(_cross(x, y, _next(x), _next(y)).sum(axis=-1) / 2)


def ball_volume(dimension: int, radii: FloatArray, p: float) -> FloatArray:
    """Volume of a p-ball: (2 Gamma(1 + 1/p) r)^d / Gamma(1 + d/p)."""
    inverse = 0.0 if math.isinf(p) else 1 / p
    unit = dimension * math.lgamma(1 + inverse) - math.lgamma(1 + dimension * inverse)
    with np.errstate(over="ignore"):  # in many dimensions volumes leave the range of numbers
        return np.asarray((2 * math.exp(unit / dimension) * radii) ** dimension)


def overlap_volumes(lower: FloatArray, upper: FloatArray, radii: FloatArray) -> FloatArray:
    """Volume of a box and the cube [-r, r]^d: the product of the overlaps of their sides.

    The box is that of (lower, upper), each (n, d), as seen from the centre of the cube.
    """
    overlap = np.minimum(upper, radii[:, None]) - np.maximum(lower, -radii[:, None])
    return product(np.maximum(overlap, 0.0))


def disc_areas(corners: FloatArray, centers: FloatArray, radii: FloatArray) -> FloatArray:
    """Area of a convex polygon and each disc."""
    edges = _next(corners.T).T - corners
    units = edges / np.hypot(*edges.T)[:, None]
    areas = np.empty(len(centers))
    for rows in blocks(len(centers), len(corners)):
        areas[rows] = _disc_areas(corners, units, centers[rows], radii[rows, None])
    return areas


def square_areas(
    corners: FloatArray, centers: FloatArray, radii: FloatArray, p: float
) -> FloatArray:
    """Area of a convex polygon and each ball of p = 1 or p = inf, a square in both cases."""
    areas = np.empty(len(centers))
    for rows in blocks(len(centers), len(corners)):
        x, y = (corners[:, axis] - centers[rows, axis, None] for axis in (0, 1))
        if p == 1:  # |x| + |y| <= r where |x - y| <= r and |x + y| <= r; that map doubles areas
            areas[rows] = _square_areas(x - y, x + y, radii[rows, None]) / 2
        else:
            areas[rows] = _square_areas(x, y, radii[rows, None])
    return areas


def sampled_volumes(
    lower: FloatArray,
    upper: FloatArray,
    radii: FloatArray,
    p: float,
    inside: Callable[[slice, FloatArray], BoolArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Volume of a region and each p-ball by quasi Monte Carlo, and its standard error.

    Sobol points fill the cell that the bounding boxes of region and ball have in common. The
    region's box is that of (lower, upper), each (n, d), as seen from the centre of the ball;
    `inside` tells which points (rows, m, d) of these rows the region holds, if it is no box.
    The mean of several independent scramblings is the estimate, their spread its error. Seeds are
    fixed: equal arguments give equal numbers.
    """
    if len(radii) == 0:
        return radii.copy(), radii.copy()
    low, high = np.maximum(lower, -radii[:, None]), np.minimum(upper, radii[:, None])
    sides = np.maximum(high - low, 0.0)
    points = _sobol(low.shape[1])
    shares, errors = np.empty(len(radii)), np.empty(len(radii))
    for rows in blocks(len(radii), points.size // 16):  # 16 times as large: few rows in many steps
        places = low[rows, None, :] + sides[rows, None, :] * points
        hit = norm(places / radii[rows, None, None], p) <= 1
        if inside is not None:
            hit &= inside(rows, places)
        each = hit.reshape(len(hit), _SCRAMBLINGS, -1).mean(axis=2)
        shares[rows] = each.mean(axis=1)
        errors[rows] = each.std(axis=1, ddof=1) / math.sqrt(_SCRAMBLINGS)
    # Scramblings that agree by chance prove nothing: an error is at least that of one point.
    errors = np.maximum(errors, 1 / len(points))
    cells = product(sides)
    return shares * cells, errors * cells


def product(sides: FloatArray) -> FloatArray:
    """Volume of boxes (n, d) with these sides; 0 or inf beyond the range of numbers."""
    with np.errstate(over="ignore"):
        return np.asarray(sides.prod(axis=-1))


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Slices of so many rows that a block of `width` numbers each stays small."""
    step = max(1, _CELLS // width)
    return (slice(start, start + step) for start in range(0, rows, step))


def _disc_areas(
    corners: FloatArray, units: FloatArray, centers: FloatArray, radii: FloatArray
) -> FloatArray:
    """The outline of the polygon, pulled radially into the disc, encloses what they share.

    Each edge leaves one chord, from where it enters the disc to where it leaves it (one point, if
    it stays outside: the one nearest to the disc, pulled in). Around a corner outside the disc an
    arc of signed angle t joins two chords:

        area = area of the polygon of all chord ends + sum over arcs of r^2 (t - sin t) / 2.
    """
    first_x, first_y = corners[:, 0] - centers[:, :1], corners[:, 1] - centers[:, 1:]
    last_x, last_y = _next(first_x), _next(first_y)
    ux, uy = units.T
    start, end = first_x * ux + first_y * uy, last_x * ux + last_y * uy
    # The line's distance from the centre, taken from the nearer corner: 0 if the centre is there.
    nearer = np.abs(end) < np.abs(start)
    offset = _cross(np.where(nearer, last_x, first_x), np.where(nearer, last_y, first_y), ux, uy)
    half = np.sqrt(np.maximum((radii - offset) * (radii + offset), 0.0))
    enter = np.minimum(np.maximum(-half, start), end)
    leave = np.maximum(np.minimum(half, end), start)
    distance = np.hypot(offset, np.minimum(np.maximum(start, 0.0), end))
    pull = np.divide(radii, distance, out=np.ones_like(distance), where=distance > radii)
    ax, ay = pull * (offset * uy + enter * ux), pull * (enter * uy - offset * ux)
    bx, by = pull * (offset * uy + leave * ux), pull * (leave * uy - offset * ux)
    arcs = _arc_areas(bx, by, _next(ax), _next(ay), np.hypot(last_x, last_y) > radii, radii)
    near = ax[:, :1], ay[:, :1]  # in the disc, and no further from the polygon than its diameter
    ax, ay, bx, by = ax - near[0], ay - near[1], bx - near[0], by - near[1]
    chords = _cross(ax, ay, bx, by) + _cross(bx, by, _next(ax), _next(ay))
    areas = chords.sum(axis=1) / 2 + arcs.sum(axis=1)
    meets = (distance < radii).any(axis=1) | (offset >= 0).all(axis=1)
    return np.where(meets, areas, 0.0)


def _arc_areas(
    ax: FloatArray,
    ay: FloatArray,
    bx: FloatArray,
    by: FloatArray,
    outside: BoolArray,
    radii: FloatArray,
) -> FloatArray:
    """r^2 (t - sin t) / 2 for the angle t from a to b, where a corner is `outside`."""
    turns = np.zeros_like(ax)
    np.arctan2(_cross(ax, ay, bx, by), ax * bx + ay * by, out=turns, where=outside)
    sines = np.sin(turns, out=np.zeros_like(ax), where=outside)
    return np.asarray(radii * radii / 2 * (turns - sines))


def _square_areas(x: FloatArray, y: FloatArray, radii: FloatArray) -> FloatArray:
    """Green's theorem: the integral of X dY along the outline, clipped to the square.

    An edge contributes while its y lies in the square; X, its x clipped, is then linear in three
    parts: before, while and after x lies in the square.
    """
    left, right = _clipped_range(x, radii)
    bottom, top = _clipped_range(y, radii)
    # Run each edge from its end nearer to the centre: small times have small rounding errors.
    flip = _next(x) ** 2 + _next(y) ** 2 < x**2 + y**2
    start_x, start_y = np.where(flip, _next(x), x), np.where(flip, _next(y), y)
    run, rise = np.where(flip, x, _next(x)) - start_x, np.where(flip, y, _next(y)) - start_y
    begin, finish = _crossing_times(start_y, rise, bottom, top)
    enter, leave = _crossing_times(start_x, run, left, right)
    times = [begin, np.clip(enter, begin, finish), np.clip(leave, begin, finish), finish]
    widths = [_within(start_x + run * time, left, right) - left for time in times]
    # Far edges cancel out to the last bit, as where they come in and go is not computed, but known.
    first, last = _within(start_y, bottom, top), _within(start_y + rise, bottom, top)
    between = [
        np.where(time <= begin, first, np.where(time >= finish, last, start_y + rise * time))
        for time in times[1:3]
    ]
    heights = [first, *between, last]
    twice = sum(
        (widths[part] + widths[part + 1]) * (heights[part + 1] - heights[part]) for part in range(3)
    )
    areas = np.where(flip, -0.5, 0.5) * twice
    meets = ((right > left) & (top > bottom))[:, 0]
    return np.where(meets, areas.sum(axis=1), 0.0)


def _within(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    return np.minimum(np.maximum(values, low), high)


def _clipped_range(values: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return np.maximum(low, -radii), np.minimum(high, radii)


def _crossing_times(
    start: FloatArray, rate: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """When start + t rate, for t in [0, 1], comes into [low, high] and goes; 0, 0 if it rests."""
    moves = rate != 0
    with np.errstate(over="ignore"):  # later than any number is later than 1
        times = [
            np.divide(level - start, rate, out=np.zeros_like(rate), where=moves)
            for level in (low, high)
        ]
    return np.clip(np.minimum(*times), 0.0, 1.0), np.clip(np.maximum(*times), 0.0, 1.0)


@lru_cache(maxsize=4)
def _sobol(dimension: int) -> FloatArray:
    """The points of all scramblings, one after the other."""
    seeds = np.random.SeedSequence(_SEED).spawn(_SCRAMBLINGS)
    points = np.concatenate(
        [
            qmc.Sobol(dimension, scramble=True, seed=np.random.default_rng(seed)).random_base2(
                _POINTS
            )
            for seed in seeds
        ]
    )
    points.flags.writeable = False  # the next caller gets the same array
    return points


def _cross(ax: FloatArray, ay: FloatArray, bx: FloatArray, by: FloatArray) -> FloatArray:
    return np.asarray(ax * by - ay * bx)


def _next(values: FloatArray) -> FloatArray:
    """For each corner, along the last axis, the value of the one after it."""
    return np.roll(values, -1, axis=-1)
