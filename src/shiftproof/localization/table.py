"""Any table of fingerprints, from a small description of its columns."""

from __future__ import annotations

import fnmatch
import warnings
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
from shiftproof.errors import InputError, ShiftWarning
from shiftproof.localization.delimited import Lines, unquoted
from shiftproof.localization.fingerprints import Fingerprints, Times
from shiftproof.localization.projection import LocalPlane

#: One value in more than this part of what was heard is taken for a marker of what was not, and one
#: in more than that part of what a single station heard is worth a word; neither where few were
#: heard beside cells that are marked. In the rural Sigfox data they are .05 and .46.
_SUSPECT, _NEARLY_ALL, _FEW = 0.5, 0.9, 10

_FIRST_YEAR, _LAST_YEAR = 1980, 2200


@dataclass(frozen=True)
class FingerprintTable:
    """What the columns of a table mean.

    Parameters
    ----------
    stations : str or sequence of str
        The columns of signal strengths: a pattern such as ``"BS *"``, or their names.
    not_heard : float or None
        What marks a message as not heard: -200, 100; None for empty cells (NaN). A second marker
        beside it is refused where it is most of what seems heard; a :class:`ShiftWarning` names
        stations that heard hardly anything but one value.
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
        object.__setattr__(self, "stations", _station_names(self.stations))
        usable = isinstance(self.separator, str) and len(self.separator) == 1
        if not usable or self.separator in "\"'\r\n":
            repair = 'for example separator=";", or separator="\\t" for tabs'
            raise InputError("separator", "one character", f"{self.separator!r}", repair)
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
        listed = () if isinstance(self.stations, str) else self.stations
        used = Counter([*listed, *self._others])
        doubled = sorted(name for name, times in used.items() if times > 1)
        if doubled:
            repair = "a station, an axis and the time stand in columns of their own"
            raise InputError("columns", "each in one use", f"{doubled[:8]} in two", repair)

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
        """Fingerprints from the bytes of a file of separated text.

        Warns with a :class:`ShiftWarning` where the last line has no end: it may have been cut
        inside its last number.
        """
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

    @property
    def _others(self) -> list[str]:
        """The columns that are no stations."""
        return [*self._axes, *([] if self.time is None else [self.time])]

    def _stations(self, names: Sequence[str], what: str) -> list[str]:
        """The columns of stations; an error where a column that is needed is absent or doubled."""
        doubled = sorted(name for name, times in Counter(names).items() if times > 1)
        if doubled:
            repair = "two stations under one name: rename them"
            raise InputError(what, "one column of each name", f"{doubled[:8]} twice", repair)
        others = self._others
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
        _warn_of_one_value(rssi, stations, what)
        if self.x is not None:
            if plane is not None:
                got = "metres"
                raise InputError("plane", "degrees to put on it", got, "leave plane out")
            return Fingerprints(rssi, places / 1000, stations, times)
        east, north = places.T
        ground = LocalPlane.around(north, east) if plane is None else plane
        return Fingerprints(rssi, ground.kilometres(north, east), stations, times, ground)

    def _demand_marker(self, rssi: FloatArray, what: str) -> None:
        """Raise where one value is most of what was heard: it says what was not."""
        heard = rssi[~np.isnan(rssi)]
        if heard.size < 2:
            return
        values, times = np.unique(heard, return_counts=True)
        most = int(times.argmax())
        marked = heard.size < rssi.size
        if times[most] <= _SUSPECT * heard.size or (
            marked and (len(values) == 1 or heard.size < _FEW)
        ):
            return
        found, marker = f"{values[most]:g}", "empty cells"
        if self.not_heard is not None:
            marker = f"{self.not_heard:g}"
        among = "heard" if marked else "all"
        share = f"{found} in {times[most] / heard.size:.0%} of {among} cells"
        repair = f"say not_heard={found}"
        if marked:
            repair = f"write {marker} in its place, or Fingerprints(rssi, ...) if these are signals"
        expected = f"{marker} where a station did not hear a message"
        raise InputError(what, expected, share, repair)


def _warn_of_one_value(rssi: FloatArray, stations: Sequence[str], what: str) -> None:
    """Warn of stations that heard nearly one value alone, as a marker of their own looks."""
    found = []
    for name, column in zip(stations, rssi.T, strict=True):
        values, times = np.unique(column[~np.isnan(column)], return_counts=True)
        heard = int(times.sum())
        if heard >= _FEW and times.max() > _NEARLY_ALL * heard:
            found.append(f"{name!r} {values[times.argmax()]:g} in {times.max() / heard:.0%}")
    if found:
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        caution = (
            f"{what}: stations that heard one value nearly always: {', '.join(found[:4])}{more}; "
            "does it mark what they did not hear?"
        )
        warnings.warn(caution, ShiftWarning, stacklevel=4)


def _station_names(stations: object) -> str | tuple[str, ...]:
    """A pattern, or the names of columns."""
    repair = 'for example "BS *", or ["BS 1", "BS 2"]'
    if isinstance(stations, str):
        names: tuple[object, ...] = (stations,)
    else:
        try:
            names = tuple(stations)  # type: ignore[arg-type]
        except TypeError as cause:
            got = f"{stations!r}"
            raise InputError("stations", "a pattern, or names of columns", got, repair) from cause
    odd = [name for name in names if not isinstance(name, str) or not name]
    if odd or not names:
        got = f"{odd[0]!r}" if odd else "none"
        raise InputError("stations", "a pattern, or names of columns", got, repair)
    return stations if isinstance(stations, str) else names  # type: ignore[return-value]


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
