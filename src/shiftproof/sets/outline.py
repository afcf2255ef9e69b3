"""The outline of a convex polygon: its corners, and what is wrong where it is none."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from shiftproof._types import FloatArray
from shiftproof.sets.areas import norm

#: What a few operations on numbers of size 1 may be wrong by.
UNIT = 8 * float(np.finfo(np.float64).eps)

#: Angles that add up to one round, up to rounding.
_ROUNDING = 1e-9


def hull(points: FloatArray) -> list[int]:
    """Indices of the corners of the convex hull, counter-clockwise, the first one passed first.

    None if the hull has no area.
    """
    if len(np.unique(points, axis=0)) < 3:
        return []
    try:
        corners: list[int] = ConvexHull(points).vertices.tolist()
    except QhullError:
        return []
    first = corners.index(min(corners))
    return corners[first:] + corners[:first]


def fault(points: FloatArray) -> tuple[int, str] | None:
    """The first vertex at which the outline is not that of a convex polygon, and what is wrong.

    Convex is what turns to one side only, and once around in all.
    """
    room = slack(points)
    kept = _distinct(points.tolist(), room)
    corners = points[kept]
    into, out = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
    cross = into[:, 0] * out[:, 1] - into[:, 1] * out[:, 0]
    ahead = (into * out).sum(axis=1)
    turns = np.arctan2(cross, ahead)
    longest = np.max([norm(into, 2), norm(out, 2), norm(into + out, 2)], axis=0)
    flat = np.abs(cross) <= room * longest
    rounds = round(float(turns.sum()) / math.tau)
    side = rounds if abs(rounds) == 1 else np.sign(turns[(~flat).argmax()])
    wrong = np.where(flat, ahead < 0, turns * side < 0)
    if wrong.any():
        return kept[int(wrong.argmax())], "the outline turns the other way"
    if abs(rounds) == 1:
        return None
    again = np.abs(turns.cumsum()) > math.tau * (1 + _ROUNDING)
    return kept[int(again.argmax())], "the outline starts a second round"


def _distinct(places: list[list[float]], room: float) -> list[int]:
    """Indices of the places that differ from the one before, the first from the last."""
    kept: list[int] = []
    for index, here in enumerate(places):
        if not kept or math.dist(places[kept[-1]], here) > room:
            kept.append(index)
    while math.dist(places[kept[-1]], places[kept[0]]) <= room:
        kept.pop()
    return kept


def slack(points: FloatArray) -> float:
    """Points this near to a line lie on it: the rounding of their coordinates."""
    return 2 * UNIT * float(np.abs(points).max(initial=0.0))
