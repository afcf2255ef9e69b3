"""Tables of calibration inputs in a file, and back in the kind that they were.

Columns of numbers, truth values, text, categories and times; others are refused, since a ratio
could read out of them what the file had lost. The index of a pandas table is not kept, nor are
categories that no row has.
"""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np

from shiftproof._tables import Array
from shiftproof._types import BoolArray
from shiftproof.archive import Json
from shiftproof.persist.nodes import Reader, UnsavableError, Writer

_KINDS = (nw.Implementation.PANDAS, nw.Implementation.POLARS, nw.Implementation.PYARROW)
_NUMBERS = (
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "Boolean"),
)
_TEXTS = ("String", "Categorical", "Enum")
_TIMES = ("Datetime", "Duration")


def frame_node(native: object, writer: Writer) -> Json:
    """A table as JSON, its columns set aside as arrays."""
    frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
    if frame.implementation not in _KINDS:
        raise UnsavableError(f"a table of {frame.implementation}")
    columns = [_column(frame[name], writer) for name in frame.columns]
    return {"table": frame.implementation.name, "columns": columns}


def frame_again(node: Json, reader: Reader) -> object:
    """The table, of the kind that it was."""
    kind = nw.Implementation[node["table"]]
    if kind not in _KINDS:
        raise ValueError(f"a table of {kind}")
    columns = [_series(column, kind, reader).to_frame() for column in node["columns"]]
    return nw.concat(columns, how="horizontal").to_native()


def _column(series: nw.Series[Any], writer: Writer) -> Json:
    """What a column is called, what it holds, and how its library calls that."""
    dtype, name = series.dtype, series.name
    kind = type(dtype).__name__
    missing = np.asarray(series.is_null().to_list(), dtype=bool)
    said = {"name": name, "type": kind, "native": str(getattr(series.to_native(), "dtype", ""))}
    if kind in _NUMBERS:
        filled = [0 if none else one for one, none in zip(series.to_list(), missing, strict=True)]
        numbers = np.array(filled, kind.lower().replace("boolean", "bool"))
        return {**said, "numbers": writer.put(numbers, name), "missing": writer.put(missing, name)}
    if kind in _TIMES:
        unit, zone = dtype.time_unit, getattr(dtype, "time_zone", None)  # type: ignore[attr-defined]
        utc = series if zone is None else series.dt.convert_time_zone("UTC")
        naive = utc if zone is None else utc.dt.replace_time_zone(None)
        code = f"{'M' if kind == 'Datetime' else 'm'}8[{unit}]"
        ticks = np.asarray(naive.to_numpy()).astype(code)
        return {**said, "cells": writer.node(ticks, name), "zone": zone}
    cells = [None if none else one for one, none in zip(series.to_list(), missing, strict=True)]
    if kind in _TEXTS and all(cell is None or isinstance(cell, str) for cell in cells):
        return {**said, "cells": writer.texts(cells, name)}
    if kind in ("Date", "Object"):
        return {**said, "cells": writer.node(cells, name)}
    raise UnsavableError(f"column {name!r} of {dtype}" + (" without text" * (kind in _TEXTS)))


def _series(node: Json, kind: Any, reader: Reader) -> nw.Series[Any]:
    """The column, as its library held it."""
    name, type_name, zone = str(node["name"]), node["type"], node.get("zone")
    if type_name not in (*_NUMBERS, *_TEXTS, *_TIMES, "Date", "Object"):
        raise ValueError(f"a column of {type_name!r}")
    values = _values(node, reader)
    if kind is nw.Implementation.PANDAS:
        native = None if zone is not None else node["native"]
        series: nw.Series[Any] = nw.from_native(
            import_module("pandas").Series(values, dtype=native, name=name), series_only=True
        )
    else:
        of = getattr(nw, "Categorical" if type_name == "Enum" else type_name)
        dtype = of(np.datetime_data(values.dtype)[0]) if type_name in _TIMES else of()  # type: ignore[union-attr]
        series = nw.new_series(name, values, dtype, backend=kind)
    if zone is None:
        return series
    return series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))


def _values(node: Json, reader: Reader) -> Array | list[Any]:
    """The cells: an array where none is missing, else a list with None."""
    if "numbers" in node:
        numbers, missing = reader.array(node["numbers"], "biuf"), reader.array(node["missing"], "b")
        return _with_gaps(numbers, missing)
    if node["type"] in _TEXTS:
        return list(reader.texts(node["cells"]))
    found: Array | list[Any] = reader.value(node["cells"])
    if node["type"] in _TIMES and not (isinstance(found, np.ndarray) and found.dtype.kind in "mM"):
        raise TypeError("times that are none")
    if node["type"] == "Date" and not all(one is None or type(one) is dt.date for one in found):
        raise TypeError("dates that are none")
    return found


def _with_gaps(numbers: Array, missing: BoolArray) -> Array | list[Any]:
    if numbers.shape != missing.shape or numbers.ndim != 1:
        raise ValueError("a column and its gaps of different lengths")
    if not missing.any():
        return numbers
    return [
        None if none else one for one, none in zip(numbers.tolist(), missing.tolist(), strict=True)
    ]
