"""What base stations heard of messages, and where these came from: one type for all sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shiftproof import _checks
from shiftproof._types import ArrayLike, BoolArray, FloatArray, IntArray
from shiftproof.errors import InputError
from shiftproof.localization.projection import LocalPlane
from shiftproof.sets.region import Box, Polygon

Times: TypeAlias = NDArray[np.datetime64]

#: No receiver reports less, and nothing that is sent is stronger; what lies outside is a marker.
_WEAKEST, _STRONGEST = -200.0, 30.0


@dataclass(frozen=True, eq=False, repr=False)
class Fingerprints:
    """Signal strengths of messages at base stations, with the places they were sent from.

    Parameters
    ----------
    rssi : array (n, d)
        Signal strength in dBm of each message at each station; NaN where it was not heard.
    places : array (n, 2)
        Kilometres east and north.
    stations : sequence of str
        A name for each column.
    times : array of datetime64, optional
        When each message was received, in UTC.
    plane : LocalPlane, optional
        What the kilometres are measured on, where places came in degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Fingerprints
    >>> messages = Fingerprints(
    ...     [[-120.0, np.nan], [-110.0, -98.5]], [[0.0, 0.0], [3.0, 4.0]], ["tower", "mast"]
    ... )
    >>> messages
    Fingerprints(2 messages at 2 stations)
    >>> messages.heard
    array([[ True, False],
           [ True,  True]])
    >>> messages.box(margin=1).high
    array([4., 5.])
    """

    rssi: FloatArray
    places: FloatArray
    stations: tuple[str, ...]
    times: Times | None = None
    plane: LocalPlane | None = None

    def __init__(
        self,
        rssi: ArrayLike,
        places: ArrayLike,
        stations: Sequence[str],
        times: ArrayLike | None = None,
        plane: LocalPlane | None = None,
    ) -> None:
        names = _names(stations)
        strengths = _strengths(rssi, len(names))
        where = _checks.floats("places", places)
        if where.shape != (len(strengths), 2):
            expected, got = f"shape ({len(strengths)}, 2)", f"shape {where.shape}"
            raise InputError("places", expected, got, "one place, east and north, per message")
        _checks.demand("places", where, np.isfinite(where), "finite places", "drop the others")
        object.__setattr__(self, "rssi", _frozen(strengths))
        object.__setattr__(self, "places", _frozen(where))
        object.__setattr__(self, "stations", names)
        object.__setattr__(self, "times", None if times is None else _times(times, len(where)))
        if plane is not None:
            _checks.instance("plane", plane, LocalPlane, "leave it out where places are metres")
        object.__setattr__(self, "plane", plane)

    def __len__(self) -> int:
        return len(self.rssi)

    def __repr__(self) -> str:
        return f"Fingerprints({len(self):,} messages at {len(self.stations)} stations)"

    @cached_property
    def heard(self) -> BoolArray:
        """Which message was heard by which station, (n, d)."""
        return _frozen(~np.isnan(self.rssi))

    @property
    def received(self) -> BoolArray:
        """Which messages were heard by any station, (n,)."""
        return np.asarray(self.heard.any(axis=1))

    @property
    def ranked(self) -> tuple[str, ...]:
        """Stations by how many messages they heard, most first; as in the table where equal.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftproof.localization import Fingerprints
        >>> rssi = [[-120.0, np.nan, -99.0], [-110.0, np.nan, np.nan]]
        >>> Fingerprints(rssi, np.zeros((2, 2)), ["a", "b", "c"]).ranked
        ('a', 'c', 'b')
        """
        order = np.argsort(-self.heard.sum(axis=0), kind="stable")
        return tuple(self.stations[index] for index in order)

    @property
    def degrees(self) -> FloatArray:
        """Latitude and longitude of the places, (n, 2)."""
        if self.plane is None:
            raise InputError(
                "plane", "a LocalPlane", "none", "places that came in metres have no degrees"
            )
        return self.plane.degrees(self.places)

    def take(self, rows: IntArray | BoolArray) -> Fingerprints:
        """These messages, by position or by a mask."""
        chosen = _rows(rows, len(self))
        times = None if self.times is None else self.times[chosen]
        return Fingerprints(
            self.rssi[chosen], self.places[chosen], self.stations, times, self.plane
        )

    def positions(self, stations: Sequence[str]) -> IntArray:
        """The columns of these stations.

        Examples
        --------
        >>> from shiftproof.localization import Fingerprints
        >>> Fingerprints([[-90.0, -95.0]], [[0.0, 0.0]], ["a", "b"]).positions(["b"])
        array([1])
        """
        places = {name: place for place, name in enumerate(self.stations)}
        wanted = _names(stations)
        absent = [name for name in wanted if name not in places]
        if absent:
            got = f"no {absent[:8]} among {len(places)} stations such as {self.stations[0]!r}"
            raise InputError("stations", "stations of the data", got, "spell them as in the data")
        return np.array([places[name] for name in wanted], dtype=np.int64)

    def silenced(self, stations: Sequence[str], off: BoolArray) -> Fingerprints:
        """The same messages, not heard by these stations in the rows that are `off`."""
        rssi = self.rssi.copy()
        rssi[np.ix_(off, self.positions(stations))] = np.nan
        return Fingerprints(rssi, self.places, self.stations, self.times, self.plane)

    def box(self, margin: float = 0.0) -> Box:
        """The smallest box around all places, in kilometres, with a margin on each side.

        A label outside the label space is an error, so a region that is to serve new messages
        wants a margin, or is drawn: ``plane.polygon(corners)``.
        """
        wide = _checks.scalar("margin", margin, "pass kilometres")
        if not 0 <= wide < np.inf:
            raise InputError("margin", "at least 0", f"{margin!r}", "pass kilometres")
        _checks.non_empty("places", self.places, "a region needs messages")
        return Box(self.places.min(axis=0) - wide, self.places.max(axis=0) + wide)

    def hull(self) -> Polygon:
        """The convex hull of all places, in kilometres."""
        return Polygon(self.places, hull=True)


def messages_of(name: str, value: object) -> Fingerprints:
    """`value`, if it is fingerprints.

    Examples
    --------
    >>> from shiftproof.localization.fingerprints import messages_of
    >>> messages_of("fingerprints", [[-100.0]])
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: fingerprints: expected Fingerprints, got list; load them, \
simulate them, or make them: Fingerprints(rssi, places, stations)
    """
    repair = "load them, simulate them, or make them: Fingerprints(rssi, places, stations)"
    return _checks.instance(name, value, Fingerprints, repair)


def _names(stations: Sequence[str]) -> tuple[str, ...]:
    if isinstance(stations, str):
        raise InputError("stations", "a sequence of names", repr(stations), f"pass [{stations!r}]")
    names = tuple(stations)
    odd = [name for name in names if not isinstance(name, str) or not name]
    if odd or not names:
        got = f"{odd[0]!r}" if odd else "none"
        raise InputError("stations", "at least one name, all of them text", got, "name each column")
    doubled = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubled:
        raise InputError(
            "stations",
            "each station once",
            f"{doubled[:8]} more than once",
            "drop or rename the repeated columns",
        )
    return names


def signals_of(rssi: ArrayLike) -> FloatArray:
    """Signal strengths as float64, NaN where not heard; never masked.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization.fingerprints import signals_of
    >>> signals_of(np.ma.masked_equal([-90, 100], 100))
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: rssi: expected no masked entries, got 1 masked; where masked \
means not heard: rssi.astype(float).filled(nan)
    """
    if isinstance(rssi, np.ma.MaskedArray) and np.ma.is_masked(rssi):
        got = f"{int(np.ma.getmaskarray(rssi).sum())} masked"
        repair = "where masked means not heard: rssi.astype(float).filled(nan)"
        raise InputError("rssi", "no masked entries", got, repair)
    try:
        return np.asarray(rssi, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError("rssi", "numbers", type(rssi).__name__, "pass dBm and NaN") from cause


def _strengths(rssi: ArrayLike, stations: int) -> FloatArray:
    array = signals_of(rssi)
    if array.ndim != 2 or array.shape[1] != stations:
        expected, got = f"shape (n, {stations}), a column per station", f"shape {array.shape}"
        raise InputError("rssi", expected, got, "one row per message")
    usable = np.isnan(array) | ((array > _WEAKEST) & (array <= _STRONGEST))
    _checks.demand(
        "rssi",
        array,
        usable,
        f"dBm above {_WEAKEST:g} and up to {_STRONGEST:g}, NaN where not heard",
        "a value outside marks what was not heard: say so, FingerprintTable(not_heard=...)",
    )
    return array


def _times(times: ArrayLike, count: int) -> Times:
    if isinstance(times, np.ma.MaskedArray) and np.ma.is_masked(times):
        got = f"{int(np.ma.getmaskarray(times).sum())} masked"
        raise InputError("times", "a time for every message", got, "drop these rows, or all times")
    array = np.asarray(times)
    if array.dtype.kind != "M" or array.shape != (count,):
        got = f"{array.dtype} of shape {array.shape}"
        raise InputError("times", f"datetime64 of shape ({count},)", got, "one time per message")
    if np.isnat(array).any():
        got = f"{int(np.isnat(array).sum())} missing"
        raise InputError("times", "a time for every message", got, "drop these rows, or all times")
    return _frozen(array.astype("datetime64[us]"))


def _rows(rows: IntArray | BoolArray, count: int) -> IntArray:
    array = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (count,):
            expected, got = f"shape ({count},)", f"shape {array.shape}"
            raise InputError("rows", expected, got, "a mask has one value per message")
        return np.flatnonzero(array)
    if not array.size:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0 or array.max() >= count:
        raise InputError(
            "rows",
            f"positions from 0 to {count - 1}, or a mask",
            f"{array.dtype} of shape {array.shape}",
            "pass what a split returned",
        )
    return array.astype(np.int64)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written to."""
    copied = array.copy()
    copied.flags.writeable = False
    return copied
