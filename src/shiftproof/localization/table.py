"""Any table of fingerprints, from a small description of its columns."""

from __future__ import annotations

import fnmatch
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof._types import FloatArray
from shiftproof.errors import InputError
from shiftproof.localization.delimited import Lines, unquoted
from shiftproof.localization.fingerprints import Fingerprints, Times
from shiftproof.localization.projection import LocalPlane

#: One value in more than this part of all cells, where what is not heard is never marked.
_SUSPECT = 0.5

_FIRST_YEAR, _LAST_YEAR = 1980, 2200


@dataclass(frozen=True)
class FingerprintTable:
    """What the columns of a table mean.

    Parameters
    ----------
    stations : str or sequence of str
        The columns of signal strengths: a pattern such as ``"BS *"``, or their names.
    not_heard : float or None
        What marks a message as not heard: -200, 100; None for empty cells (NaN).
    latitude, longitude : str, optional
        Columns of degrees.
    x, y : str, optional
        Columns of metres east and north, instead of degrees.
    time : str, optional
        When a message was received: text of ISO 8601, seconds since 1970, or times. Without a zone
        UTC is meant.
    separator : str
        What parts the cells of a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftproof.localization import FingerprintTable
    >>> scans = pd.DataFrame(
    ...     {"WAP1": [-60, 100], "WAP2": [-71, -88], "X": [12.0, 30.0], "Y": [5.0, 9.0]}
    ... )
    >>> messages = FingerprintTable("WAP*", not_heard=100, x="X", y="Y").of(scans)
    >>> messages.rssi, messages.places.tolist()  # metres became kilometres
    (array([[-60., -71.],
           [ nan, -88.]]), [[0.012, 0.005], [0.03, 0.009]])
    """

    stations: str | tuple[str, ...]
    not_heard: float | None
    latitude: str | None = None
    longitude: str | None = None
    x: str | None = None
    y: str | None = None
    time: str | None = None
    separator: str = ","

    def __post_init__(self) -> None:
        if not isinstance(self.stations, str):
            object.__setattr__(self, "stations", tuple(self.stations))
        if self.not_heard is not None:
            marker = _checks.scalar("not_heard", self.not_heard, "pass None for empty cells")
            object.__setattr__(self, "not_heard", marker)
        pairs = {("latitude", "longitude"), ("x", "y")}
        given = {pair for pair in pairs if any(getattr(self, name) is not None for name in pair)}
        halves = [pair for pair in given if None in (getattr(self, name) for name in pair)]
        if len(given) != 1 or halves:
            got = "half a pair" if halves else "both" if given else "none"
            repair = 'for example latitude="Latitude", longitude="Longitude"'
            raise InputError("columns of places", "latitude and longitude, or x and y", got, repair)

    def read(self, path: str | Path, *, plane: LocalPlane | None = None) -> Fingerprints:
        """Fingerprints from a file of separated text, bare or in a zip file.

        Parameters
        ----------
        path : str or Path
        plane : LocalPlane, optional
            What kilometres are measured on; around the mean of the places where left out. New
            messages belong on the plane of those of calibration.
        """
        file = Path(path)
        return self.parse(content_of(file), file.name, plane=plane)

    def parse(self, content: bytes, what: str, *, plane: LocalPlane | None = None) -> Fingerprints:
        """Fingerprints from the bytes of a file of separated text."""
        lines = Lines.of(content, what, self.separator)
        stations = self._stations(lines.names, what)
        numeric = [*stations, *self._axes]
        words = [] if self.time is None else [self.time]
        numbers, said = lines.columns(numeric, words, missing=self.not_heard is None)
        times = None if self.time is None else _times(said[0], f"column {self.time!r} of {what}")
        return self._assembled(stations, numbers, times, what, plane)

    def of(self, table: object, *, plane: LocalPlane | None = None) -> Fingerprints:
        """Fingerprints from a pandas, polars or arrow table."""
        given = Table.of("table", table)
        if not given.is_named:
            repair = "Fingerprints(rssi, places, stations) takes arrays"
            raise InputError("table", "a table with named columns", "an array", repair)
        spelled = {unquoted(str(name)): str(name) for name in given.names}
        if len(spelled) < len(given.names):
            raise InputError("table", "one column of each name", "one twice, quoted", "rename")
        stations = self._stations(tuple(unquoted(str(name)) for name in given.names), "table")
        missing = self.not_heard is None
        columns = [given.numbers(spelled[name], missing=missing) for name in stations]
        columns += [given.numbers(spelled[name]) for name in self._axes]
        times = None
        if self.time is not None:
            times = _times(given.column(spelled[self.time]).tolist(), f"column {self.time!r}")
        return self._assembled(stations, np.column_stack(columns), times, "table", plane)

    @property
    def _axes(self) -> tuple[str, str]:
        """The columns of places, the one to the east first."""
        if self.x is not None and self.y is not None:
            return self.x, self.y
        return str(self.longitude), str(self.latitude)

    def _stations(self, names: Sequence[str], what: str) -> list[str]:
        """The columns of stations; an error where a column that is needed is absent or doubled."""
        doubled = sorted(name for name, times in Counter(names).items() if times > 1)
        if doubled:
            repair = "two stations under one name: rename them"
            raise InputError(what, "one column of each name", f"{doubled[:8]} twice", repair)
        others = [*self._axes, *([] if self.time is None else [self.time])]
        if isinstance(self.stations, str):
            found = [name for name in names if fnmatch.fnmatchcase(name, self.stations)]
            found = [name for name in found if name not in others]
            wanted = others if found else [self.stations, *others]
        else:
            found = list(self.stations)
            wanted = [*found, *others]
        absent = [name for name in wanted if name not in names]
        if absent:
            got = f"{list(names[:6])}" + (f" and {len(names) - 6} more" if len(names) > 6 else "")
            repair = "say how they are called here"
            if len(names) == 1:
                repair = "are cells parted by another character? separator=';'"
            raise InputError(what, f"the columns {absent[:8]}", got, repair)
        return found

    def _assembled(
        self,
        stations: Sequence[str],
        numbers: FloatArray,
        times: Times | None,
        what: str,
        plane: LocalPlane | None,
    ) -> Fingerprints:
        if not len(numbers):
            raise InputError(what, "at least one message", "a header alone", "is it whole?")
        rssi, places = numbers[:, :-2], numbers[:, -2:]
        if self.not_heard is not None:
            gaps = np.isnan(rssi)
            if gaps.any():
                row, place = np.argwhere(gaps)[0]
                got = f"none in row {row} for {stations[place]!r} ({int(gaps.sum())} such gaps)"
                repair = f"fill them with {self.not_heard:g}, or say not_heard=None"
                raise InputError(what, "a number in every cell", got, repair)
            rssi = np.where(rssi == self.not_heard, np.nan, rssi)
        self._demand_marker(rssi, what)
        if self.x is not None:
            if plane is not None:
                got = "metres"
                raise InputError("plane", "degrees to put on it", got, "leave plane out")
            return Fingerprints(rssi, places / 1000, stations, times)
        east, north = places.T
        ground = LocalPlane.around(north, east) if plane is None else plane
        return Fingerprints(rssi, ground.kilometres(north, east), stations, times, ground)

    def _demand_marker(self, rssi: FloatArray, what: str) -> None:
        """Raise where nothing is marked as not heard, and one value is most of all cells."""
        if np.isnan(rssi).any() or rssi.size < 2:
            return
        values, times = np.unique(rssi, return_counts=True)
        most = int(times.argmax())
        if times[most] > _SUSPECT * rssi.size:
            share = f"{values[most]:g} in {times[most] / rssi.size:.0%} of all cells"
            marker = "empty cells" if self.not_heard is None else f"{self.not_heard:g}"
            expected = f"{marker} where a station did not hear a message"
            raise InputError(what, expected, share, f"say not_heard={values[most]:g}")


def content_of(file: Path) -> bytes:
    """The bytes of a file, or of the one table in a zip file."""
    if not file.is_file():
        got = "a folder" if file.is_dir() else "nothing there"
        raise InputError("path", "a file", f"{got}: {file}", "pass the path of a csv or zip file")
    if not zipfile.is_zipfile(file):
        content = file.read_bytes()
        if content[:2] == b"PK":
            repair = "it was cut off: fetch it again"
            raise InputError(file.name, "a whole zip file", "one without its end", repair)
        return content
    try:
        with zipfile.ZipFile(file) as archive:
            inside = [
                name
                for name in archive.namelist()
                if name.lower().endswith(".csv") and not name.startswith("__MACOSX/")
            ]
            if len(inside) != 1:
                got = f"{inside}" if inside else "none"
                raise InputError(file.name, "one csv file inside", got, "unpack it")
            return archive.read(inside[0])
    except (zipfile.BadZipFile, zlib.error, EOFError) as cause:
        raise InputError(file.name, "a whole zip file", f"{cause}", "fetch it again") from cause
    except (RuntimeError, NotImplementedError) as cause:  # a password, an unusual compression
        raise InputError(file.name, "a plain zip file", f"{cause}", "unpack it by hand") from cause


def _times(values: Sequence[object], what: str) -> Times:
    """Times in UTC, from text, seconds or times of a library."""
    found = np.empty(len(values), dtype="datetime64[us]")
    for row, value in enumerate(values):
        try:
            found[row] = np.datetime64(_moment(value).replace(tzinfo=None), "us")
        except (ValueError, TypeError, OverflowError, OSError) as cause:
            repair = "text of ISO 8601 or seconds since 1970; leave time out where it is unknown"
            got = f"{value!r} in row {row}"
            raise InputError(what, "times", got, repair) from cause
    return found


def _moment(value: object) -> datetime:
    """One time in UTC."""
    if isinstance(value, str):
        text = unquoted(value)
        try:
            moment = datetime.fromtimestamp(float(text), UTC)
        except ValueError:
            moment = datetime.fromisoformat(text)
    elif isinstance(value, datetime):
        moment = value
    else:
        moment = datetime.fromtimestamp(float(value), UTC)  # type: ignore[arg-type]
    if not _FIRST_YEAR <= moment.year < _LAST_YEAR:
        raise ValueError(f"a time in the year {moment.year}")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
