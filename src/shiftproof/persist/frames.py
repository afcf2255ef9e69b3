"""Tables of calibration inputs in a file, and back in the kind that they were.

Columns of numbers, truth values, text, categories of text and times; others are refused, since a
ratio could read out of them what the file had lost. The index of a pandas table is not kept.
"""

from __future__ import annotations

import datetime as dt
import re
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
    name, native = series.name, series.to_native()
    missing = np.asarray(series.is_null().to_list(), dtype=bool)
    kind, unit, zone = _kind_of(series)
    said = {"name": name, "type": kind, "native": str(getattr(native, "dtype", ""))}
    if kind in _NUMBERS:
        filled = [0 if none else one for one, none in zip(series.to_list(), missing, strict=True)]
        numbers = np.array(filled, kind.lower().replace("boolean", "bool"))
        return {**said, "numbers": writer.put(numbers, name), "missing": writer.put(missing, name)}
    if kind in _TIMES:
        ticks = np.asarray(_without_zone(series, zone).to_numpy())
        code = f"{'M' if kind == 'Datetime' else 'm'}8[{unit}]"
        return {**said, "cells": writer.node(ticks.astype(code), name), "zone": zone}
    cells = [None if none else one for one, none in zip(series.to_list(), missing, strict=True)]
    if kind in _TEXTS and all(cell is None or isinstance(cell, str) for cell in cells):
        return {**said, "cells": writer.texts(cells, name), **_order(series, kind, writer)}
    if kind in ("Date", "Object"):
        return {**said, "cells": writer.node(cells, name)}
    held = said["native"] or str(getattr(native, "type", series.dtype))
    raise UnsavableError(f"column {name!r} of {held}" + (" without text" * (kind in _TEXTS)))


def _kind_of(series: nw.Series[Any]) -> tuple[str, str, str | None]:
    """The type of a column in a word, and the unit and zone of times."""
    dtype: Any = series.dtype
    zoned = re.fullmatch(
        r"datetime64\[(\w+), (.+)\]", str(getattr(series.to_native(), "dtype", ""))
    )
    if zoned:  # which narwhals does not read in all zones
        return "Datetime", zoned[1], zoned[2]
    return type(dtype).__name__, getattr(dtype, "time_unit", ""), getattr(dtype, "time_zone", None)


def _without_zone(series: nw.Series[Any], zone: str | None) -> nw.Series[Any]:
    if zone is None:
        return series
    native: Any = series.to_native()
    if _is_pandas(series):
        return nw.from_native(native.dt.tz_convert("UTC").dt.tz_localize(None), series_only=True)
    return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def _order(series: nw.Series[Any], kind: str, writer: Writer) -> Json:
    """The categories of a column and their order, where its library has them as a list."""
    native: Any = series.to_native()
    if kind == "String" or (kind == "Categorical" and not _is_pandas(series)):
        return {}
    if not _is_pandas(series):
        dtype: Any = series.dtype
        return {"categories": writer.texts(dtype.categories, "categories")}
    if str(native.dtype) != "category":
        raise UnsavableError(f"column {series.name!r} of {native.dtype}")
    known = native.cat.categories.tolist()
    if not all(isinstance(one, str) for one in known):
        raise UnsavableError(f"column {series.name!r} of categories that are not text")
    return {"categories": writer.texts(known, "categories"), "ordered": bool(native.cat.ordered)}


def _is_pandas(series: nw.Series[Any]) -> bool:
    return series.implementation is nw.Implementation.PANDAS


def _series(node: Json, kind: Any, reader: Reader) -> nw.Series[Any]:
    """The column, as its library held it."""
    name, type_name, zone = str(node["name"]), node["type"], node.get("zone")
    if type_name not in (*_NUMBERS, *_TEXTS, *_TIMES, "Date", "Object"):
        raise ValueError(f"a column of {type_name!r}")
    values = _values(node, reader)
    known = list(map(str, reader.texts(node["categories"]))) if "categories" in node else None
    if kind is nw.Implementation.PANDAS:
        return _of_pandas(node, name, values, known, zone)
    dtype: Any = nw.Enum(known) if known is not None else getattr(nw, type_name)
    if type_name in _TIMES:
        dtype = dtype(np.datetime_data(values.dtype)[0])  # type: ignore[union-attr]
    series = nw.new_series(name, values, dtype, backend=kind)
    if zone is None:
        return series
    return series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))


def _of_pandas(
    node: Json, name: str, values: Any, known: list[str] | None, zone: str | None
) -> nw.Series[Any]:
    pandas = import_module("pandas")
    if known is not None:
        values = pandas.Categorical(values, categories=known, ordered=bool(node["ordered"]))
    native = None if zone is not None or known is not None else node["native"]
    series = pandas.Series(values, dtype=native, name=name)
    if zone is not None:
        series = series.dt.tz_localize("UTC").dt.tz_convert(str(zone))
    return nw.from_native(series, series_only=True)


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
