"""Fingerprints kept as one Parquet file: a column for each station, gaps where it did not hear.

pyarrow comes with the extra `localization` and is loaded here alone.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from shiftproof.archive import in_place_of
from shiftproof.errors import InputError
from shiftproof.localization.fingerprints import Fingerprints, messages_of
from shiftproof.localization.projection import LocalPlane

_FORMAT = "shiftproof fingerprints 1"
_EAST, _NORTH, _TIME = "east (km)", "north (km)", "time (UTC)"


def is_available() -> bool:
    """Whether pyarrow is installed.

    Examples
    --------
    >>> from shiftproof.localization.parquet import is_available
    >>> is_available()
    True
    """
    return find_spec("pyarrow") is not None


def write_parquet(fingerprints: Fingerprints, path: str | Path) -> None:
    """Keep fingerprints in a file, which is written whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftproof.localization import Fingerprints, read_parquet, write_parquet
    >>> messages = Fingerprints([[-120.0, float("nan")]], [[3.0, 4.0]], ["tower", "mast"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(messages, Path(folder) / "messages.parquet")
    ...     read_parquet(Path(folder) / "messages.parquet").places
    array([[3., 4.]])
    """
    arrow = pyarrow()
    messages_of("fingerprints", fingerprints)
    doubled = {_EAST, _NORTH, _TIME} & set(fingerprints.stations)
    if doubled:
        raise InputError("stations", "other names", f"{sorted(doubled)}", "rename these stations")
    columns = {
        name: arrow.array(fingerprints.rssi[:, place], mask=~fingerprints.heard[:, place])
        for place, name in enumerate(fingerprints.stations)
    }
    columns[_EAST], columns[_NORTH] = (arrow.array(axis) for axis in fingerprints.places.T)
    if fingerprints.times is not None:
        columns[_TIME] = arrow.array(fingerprints.times)
    plane = fingerprints.plane
    origin = None if plane is None else [plane.latitude, plane.longitude]
    note = {"format": _FORMAT, "origin": origin}
    table = arrow.table(columns).replace_schema_metadata({"shiftproof": json.dumps(note)})
    with in_place_of(path) as unfinished:
        import_module("pyarrow.parquet").write_table(table, unfinished, compression="zstd")


def read_parquet(path: str | Path) -> Fingerprints:
    """Fingerprints from a file that :func:`write_parquet` made.

    Examples
    --------
    >>> from shiftproof.localization import read_parquet
    >>> read_parquet("nowhere.parquet")
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: path: expected a Parquet file, got nothing there: \
nowhere.parquet; write_parquet makes one
    """
    arrow, file = pyarrow(), Path(path)
    if not file.is_file():
        got = f"nothing there: {file}"
        raise InputError("path", "a Parquet file", got, "write_parquet makes one")
    try:
        table = import_module("pyarrow.parquet").read_table(file)
    except (arrow.ArrowException, OSError) as cause:
        got, repair = str(cause).splitlines()[0], "delete it and write it again"
        raise InputError(file.name, "a whole Parquet file", got, repair) from cause
    note = json.loads((table.schema.metadata or {}).get(b"shiftproof", b"{}"))
    if note.get("format") != _FORMAT:
        repair = "FingerprintTable(...).of(table) takes tables of other makes"
        raise InputError(file.name, f"{_FORMAT!r}", f"{note.get('format')!r}", repair)
    stations = [name for name in table.column_names if name not in (_EAST, _NORTH, _TIME)]
    places = np.column_stack([table[name].to_numpy() for name in (_EAST, _NORTH)])
    rssi = [table[name].cast(arrow.float64()).to_numpy() for name in stations]
    return Fingerprints(
        np.column_stack(rssi),
        places,
        stations,
        table[_TIME].to_numpy() if _TIME in table.column_names else None,
        None if note["origin"] is None else LocalPlane(*note["origin"]),
    )


def pyarrow() -> Any:
    """The library; an error that says how to get it where it is not installed.

    Examples
    --------
    >>> from shiftproof.localization.parquet import pyarrow
    >>> pyarrow().__name__
    'pyarrow'
    """
    try:
        return import_module("pyarrow")
    except ImportError as cause:
        raise InputError(
            "pyarrow",
            "an installed pyarrow",
            "none",
            "pip install 'shiftproof[localization]'; without it nothing is kept and text is "
            "read each time",
        ) from cause
