"""Degrees to local kilometres and back: the plane that touches the earth at one place.

Losses and regions are measured in kilometres on a plane. A map that stretches east and west by one
factor, that of a mean latitude, is wrong by .4 % at the edge of a region of 35 km in Belgium. The
plane that touches the ellipsoid is wrong by the square of the distance from its origin, 1e-5 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.errors import InputError
from shiftproof.sets.region import Polygon

#: Half axes of the WGS 84 ellipsoid in kilometres, those of satellite navigation.
_EQUATOR = 6378.137
_POLE = _EQUATOR * (1 - 1 / 298.257223563)
_FLATNESS = (_POLE / _EQUATOR) ** 2

#: Kilometres from the origin up to which lengths are right to .1 %: 1 - cos(250 / 6371) = .08 %.
REACH = 250.0


@dataclass(frozen=True)
class LocalPlane:
    """Kilometres east and north of one place, on the plane that touches the earth there.

    With v the place on the WGS 84 ellipsoid in kilometres from the centre of the earth, v0 the
    origin, and e, n the unit vectors to the east and to the north of the origin,

        east = e . (v - v0),    north = n . (v - v0).

    Lengths are right to .1 % within 250 km; places farther away are refused.

    Parameters
    ----------
    latitude, longitude : float
        The origin, in degrees. Data of calibration and of use have to be on one plane.

    Examples
    --------
    >>> from shiftproof.localization import LocalPlane
    >>> plane = LocalPlane(51.1, 4.0)
    >>> plane.kilometres([51.0, 51.2], [4.1, 4.1]).round(2)
    array([[  7.02, -11.12],
           [  6.99,  11.13]])
    >>> plane.degrees([[7.02, -11.12]]).round(3)
    array([[51. ,  4.1]])
    """

    latitude: float
    longitude: float

    def __post_init__(self) -> None:
        for name, furthest in (("latitude", 90.0), ("longitude", 180.0)):
            value = _checks.scalar(name, getattr(self, name), "pass degrees")
            _demand_degrees(name, np.array(value), furthest)
            object.__setattr__(self, name, value)

    @classmethod
    def around(cls, latitude: ArrayLike, longitude: ArrayLike) -> LocalPlane:
        """The plane at the mean of these places; the mean of longitudes goes around the circle.

        Examples
        --------
        >>> from shiftproof.localization import LocalPlane
        >>> print(LocalPlane.around([51.0, 51.2], [179.9, -179.9]))
        LocalPlane(latitude=51.1, longitude=180.0)
        """
        north, east = _degrees(latitude, longitude)
        _checks.non_empty("latitude", north, "a mean needs at least one place")
        around = np.deg2rad(east)
        mean = float(np.rad2deg(np.arctan2(np.sin(around).mean(), np.cos(around).mean())))
        return cls(float(north.mean()), abs(mean) if abs(mean) == 180 else mean)

    def kilometres(self, latitude: ArrayLike, longitude: ArrayLike) -> FloatArray:
        """East and north of the origin, (n, 2)."""
        offset = _earth(*_degrees(latitude, longitude)) - self._origin
        far = np.sqrt((offset**2).sum(axis=1))
        _checks.demand(
            "kilometres from the origin",
            far,
            far <= REACH,
            f"at most {REACH:g} from {self}, where lengths are right to .1 %",
            "choose an origin amid the places; are some of them at latitude 0 and longitude 0?",
        )
        return np.asarray(offset @ self._axes[:2].T)

    def degrees(self, points: ArrayLike) -> FloatArray:
        """Latitude and longitude of points in kilometres, (n, 2).

        The point of the ellipsoid under v0 + east e + north n: a root of a quadratic equation in
        how far it lies below the plane.
        """
        places = _plane_points(points)
        far = np.hypot(*places.T)
        repair = "these are kilometres east and north of the origin"
        _checks.demand("points", far, far <= REACH, f"points within {REACH:g} km", repair)
        flat = self._origin + places @ self._axes[:2]
        up = self._axes[2]
        shape = np.array([_EQUATOR**-2.0, _EQUATOR**-2.0, _POLE**-2.0])
        square, linear = (up**2 * shape).sum(), (flat * shape) @ up
        constant = (flat**2 * shape).sum(axis=1) - 1
        height = -constant / (linear + np.sqrt(linear**2 - square * constant))
        x, y, z = (flat + height[:, None] * up).T
        latitude = np.arctan2(z, _FLATNESS * np.hypot(x, y))
        return np.asarray(np.rad2deg(np.column_stack([latitude, np.arctan2(y, x)])))

    def polygon(self, corners: ArrayLike, *, hull: bool = False) -> Polygon:
        """A region drawn on a map: a convex polygon in kilometres.

        Parameters
        ----------
        corners : array (k, 2)
            Latitude and longitude, in order around the polygon.
        hull : bool
            Take the convex hull of the corners.

        Examples
        --------
        >>> from shiftproof.localization import LocalPlane
        >>> drawn = LocalPlane(51.1, 4.0).polygon([[51.0, 3.9], [51.0, 4.1], [51.2, 4.0]])
        >>> round(drawn.volume, 1)
        156.2
        """
        points = _checks.floats("corners", corners)
        if points.ndim != 2 or points.shape[1] != 2:
            raise InputError(
                "corners", "shape (k, 2)", f"shape {points.shape}", "one latitude, longitude a row"
            )
        return Polygon(self.kilometres(points[:, 0], points[:, 1]), hull=hull)

    @cached_property
    def _origin(self) -> FloatArray:
        return np.asarray(_earth(np.array([self.latitude]), np.array([self.longitude]))[0])

    @cached_property
    def _axes(self) -> FloatArray:
        """Unit vectors to the east, to the north and up, one in each row."""
        north, east = np.deg2rad(self.latitude), np.deg2rad(self.longitude)
        (sn, cn), (se, ce) = ((np.sin(angle), np.cos(angle)) for angle in (north, east))
        return np.array([[-se, ce, 0.0], [-sn * ce, -sn * se, cn], [cn * ce, cn * se, sn]])


def _earth(latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    """Places on the ellipsoid in kilometres from the centre of the earth, (n, 3)."""
    north, east = np.deg2rad(latitude), np.deg2rad(longitude)
    normal = _EQUATOR / np.sqrt(1 - (1 - _FLATNESS) * np.sin(north) ** 2)
    around = normal * np.cos(north)
    up = _FLATNESS * normal * np.sin(north)
    return np.column_stack([around * np.cos(east), around * np.sin(east), up])


def _degrees(latitude: ArrayLike, longitude: ArrayLike) -> tuple[FloatArray, FloatArray]:
    north = _checks.vector("latitude", latitude)
    east = _checks.vector("longitude", longitude, length=len(north))
    _demand_degrees("latitude", north, 90.0)
    _demand_degrees("longitude", east, 180.0)
    return north, east


def _demand_degrees(name: str, values: FloatArray, furthest: float) -> None:
    _checks.demand(
        name,
        values,
        np.abs(values) <= furthest,
        f"degrees from {-furthest:g} to {furthest:g}",
        "are latitude and longitude swapped, or are these metres (columns x and y)?",
    )


def _plane_points(points: ArrayLike) -> FloatArray:
    places = _checks.floats("points", points)
    if places.ndim != 2 or places.shape[1] != 2:
        raise InputError(
            "points", "shape (n, 2)", f"shape {places.shape}", "pass kilometres east and north"
        )
    return places
