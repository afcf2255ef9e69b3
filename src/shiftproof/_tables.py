"""Tables of any kind, read by column: numpy arrays, pandas, polars and arrow through narwhals.

A column is asked for by its name, or in an array by its position. Two tables of different kinds
that hold the same values give the same columns, so that nothing above depends on the kind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from shiftproof import _checks
from shiftproof._types import BoolArray, FloatArray, IntArray, ObjectArray
from shiftproof.errors import InputError

_NUMBERS = (int, float, np.integer, np.floating, np.bool_, Decimal)

Column: TypeAlias = str | int
Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and columns behind one face. `source` is a narwhals frame or an array.

    An array of more dimensions, such as images, has the columns of its flattened rows.
    """

    source: nw.DataFrame[Any] | Array
    what: str

    @classmethod
    def of(cls, what: str, X: object) -> Table:
        """A table from whatever came in; `what` names it in errors."""
        if isinstance(X, Table):
            return X
        kinds = "a pandas, polars or arrow table, or an array of rows"
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise InputError(what, "no masked entries", "a masked array", "fill them first")
        if X is None or isinstance(X, (str, bytes, dict, set)) or callable(X):
            raise InputError(what, kinds, type(X).__name__, "pass the inputs as a table")
        try:
            frame = nw.from_native(_whole(X), pass_through=True, allow_series=True)
        except DuplicateError as cause:
            names = getattr(X, "column_names", getattr(X, "columns", ()))
            raise _doubled(what, tuple(names)) from cause
        if isinstance(frame, nw.LazyFrame):
            raise InputError(what, "a table in memory", "a lazy frame", "collect() it first")
        if isinstance(frame, nw.Series):
            frame = frame.to_frame()
        if isinstance(frame, nw.DataFrame):
            return _unambiguous(cls(frame, what))
        try:
            array = np.asarray(X)
        except ValueError as cause:
            raise InputError(what, kinds, "rows of different lengths", "one row each") from cause
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)  # numbers beside text stay numbers
        if array.dtype.names or array.dtype.kind == "c" or array.ndim == 0:
            got = f"shape {array.shape}" if array.ndim else f"{type(X).__name__} of shape ()"
            if array.dtype.names or array.dtype.kind == "c":
                got = "a structured array" if array.dtype.names else "complex numbers"
            raise InputError(what, kinds, got, "one row per example, one column per input")
        return cls(array[:, None] if array.ndim == 1 else array, what)

    @property
    def names(self) -> tuple[Column, ...]:
        """The names of all columns; positions in an array."""
        if isinstance(self.source, nw.DataFrame):
            return tuple(self.source.columns)
        return tuple(range(int(np.prod(self.source.shape[1:]))))

    @property
    def flat_names(self) -> tuple[Column, ...]:
        """The names of columns that have one value in each row, and no lists of them."""
        return tuple(name for name in self.names if not self.is_nested(name))

    @property
    def is_named(self) -> bool:
        return isinstance(self.source, nw.DataFrame)

    def __len__(self) -> int:
        return len(self.source)

    def column(self, name: Column) -> Array:
        """One column: numbers where they are numbers, Python objects (None: missing) otherwise."""
        self.require([name])
        if isinstance(self.source, nw.DataFrame):
            series = self.source[str(name)]
            if series.dtype.is_numeric() or series.dtype == nw.Boolean:
                return self._numbers_of(series)
            objects = self._cells(name, series.to_list())
            mixed = series.dtype in (nw.Object, nw.Unknown)  # whatever a library holds as it came
        else:
            values = self._flat[:, int(name)]
            if values.dtype.kind in "fiub":
                return values
            if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] != "D":
                values = values.astype(f"{values.dtype.kind}8[us]")  # finer ones become integers
            objects, mixed = self._cells(name, values.tolist()), values.dtype == object
        numbers = numbers_in(objects) if mixed else None
        return objects if numbers is None else numbers

    def numbers(self, name: Column, *, missing: bool = False) -> FloatArray:
        """One column as float64; NaN only where missing values are allowed."""
        values = self.column(name)
        if values.dtype == object:
            found = numbers_in(values)
            if found is None:
                got = f"{next((v for v in values if not _is_number(v)), 'one beyond floats')!r}"
                raise InputError(
                    f"column {name!r} of {self.what}", "numbers", got, "convert it, or leave it out"
                )
            values = found
        numbers: FloatArray = values.astype(np.float64)
        if not missing:
            bad = np.isnan(numbers)
            if bad.any():
                got = f"{int(bad.sum())} missing, the first in row {int(np.argmax(bad))}"
                raise InputError(
                    f"column {name!r} of {self.what}", "no missing values", got, "drop or fill them"
                )
        return numbers

    def is_numeric(self, name: Column) -> bool:
        return self.column(name).dtype != object

    def require(self, names: Iterable[Column]) -> None:
        """Raise unless all these columns are there."""
        known = set(self.names)
        absent = [name for name in names if name not in known or isinstance(name, bool)]
        if not absent:
            return
        if self.is_named:
            got = f"columns {_listed(self.names)}"
            expected = f"the columns {_listed(absent)}"
            repair = "pass a table with the names that the ratio was built for"
            if all(isinstance(name, int) for name in absent):
                repair = "positions belong to arrays: pass one, or name the columns"
        else:
            got = f"an array of {len(known)} columns"
            expected = f"the columns {_listed(absent)}"
            repair = "columns of arrays are positions from 0; names need a table"
        raise InputError(self.what, expected, got, repair)

    def require_width(self, width: int | None) -> None:
        """Raise where an array has more columns than the one of `width` columns before it."""
        if width is not None and not self.is_named and len(self.names) > width:
            raise InputError(
                self.what,
                f"{width} columns",
                f"an array of {len(self.names)} columns",
                "positions may have moved: pass the columns that the ratio was fitted on",
            )

    def select(self, names: Sequence[Column]) -> Table:
        """These columns, in this order."""
        self.require(names)
        if isinstance(self.source, nw.DataFrame):
            return Table(self.source.select([str(name) for name in names]), self.what)
        return Table(self._flat[:, [int(name) for name in names]], self.what)

    def take(self, rows: IntArray | BoolArray) -> Table:
        """These rows."""
        index = np.flatnonzero(rows) if rows.dtype == bool else rows
        if isinstance(self.source, nw.DataFrame):
            return Table(self.source[index.tolist(), :], self.what)
        return Table(self.source[index], self.what)

    def copied(self) -> object:
        """The table in the kind in which it came, out of reach of later changes."""
        if isinstance(self.source, nw.DataFrame):
            return self.source.clone().to_native()
        return self.source.copy()

    def native(self) -> object:
        """The table in the kind in which it came."""
        return self.source.to_native() if isinstance(self.source, nw.DataFrame) else self.source

    def plain(self, numeric: Iterable[Column]) -> dict[str, Any]:
        """Columns by name in two kinds only: float64 for `numeric` ones, Python objects else."""
        wanted = set(numeric)
        return {
            str(name): self.numbers(name, missing=True)
            if name in wanted
            else _texts(self.column(name))
            for name in self.names
        }

    @property
    def _flat(self) -> Array:
        """The rows of an array, each flattened."""
        return np.asarray(self.source).reshape(len(self), len(self.names))

    def _numbers_of(self, series: nw.Series[Any]) -> Array:
        by_hand = series.dtype in (nw.Boolean, nw.Int128, nw.UInt128) or series.dtype.is_decimal()
        if by_hand or series.null_count():
            values = _objects(series.to_list())
            return np.array([np.nan if value is None else float(value) for value in values])
        return np.asarray(series.to_numpy())

    def is_nested(self, name: Column) -> bool:
        """Whether a column holds lists, or other things of many values."""
        if isinstance(self.source, nw.DataFrame):
            series = self.source[str(name)]
            plain = series.dtype.is_numeric() or series.dtype in (nw.Boolean, nw.String)
            return not plain and any(_nested(series.to_list()))
        return self.source.dtype == object and any(_nested(self._flat[:, int(name)].tolist()))

    def _cells(self, name: Column, values: Sequence[object]) -> ObjectArray:
        nested = _nested(values)
        if any(nested):
            where = nested.index(True)
            got = f"a {type(values[where]).__name__} in row {where}"
            raise InputError(
                f"column {name!r} of {self.what}", "one value in each row", got, "unpack it"
            )
        return _objects(values)


def _whole(X: object) -> object:
    """An arrow batch as a table; anything else as it is."""
    kind = type(X)
    if kind.__name__ != "RecordBatch" or not kind.__module__.startswith("pyarrow"):
        return X
    return import_module("pyarrow").Table.from_batches([X])


def _nested(values: Sequence[object]) -> list[bool]:
    return [isinstance(value, (list, dict, set, np.ndarray)) for value in values]


def _doubled(what: str, names: Sequence[Column]) -> InputError:
    return InputError(what, "one column of each name", _listed(names), "rename")


def _unambiguous(table: Table) -> Table:
    """The table, if its columns have names of their own; an array where they are numbered."""
    names = table.names
    if len(set(names)) < len(names):
        raise _doubled(table.what, names)
    if all(isinstance(name, str) for name in names):
        return table
    if list(names) == list(range(len(names))):  # pandas numbers columns that have no names
        return Table(np.asarray(table.native()), table.what)
    raise InputError(table.what, "names of columns as text", _listed(names), "rename them")


def _objects(values: Sequence[object]) -> ObjectArray:
    """Python objects, whatever marks a missing value turned into None."""
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
        array[row] = None if missing else value
    return array


def _texts(values: Array) -> list[str | None]:
    return [None if value is None else str(value) for value in values.tolist()]


def _is_number(value: object) -> bool:
    return value is None or isinstance(
        value, (int, float, np.integer, np.floating, np.bool_, Decimal)
    )


def numbers_in(values: ObjectArray) -> Array | None:
    """The numbers in an array of objects, or None where something else is among them.

    Integers stay integers, so that none is rounded.
    """
    if not all(_is_number(value) for value in values):
        return None
    if len(values) and all(type(value) is int for value in values):
        for kind in (np.int64, np.uint64):
            with contextlib.suppress(OverflowError):
                return np.array(values.tolist(), dtype=kind)
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except OverflowError:
        return None


def _listed(names: Sequence[Column], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "") or "none"


def row_count(table: Table, repair: str) -> int:
    """The number of rows; an error where there are none."""
    _checks.non_empty(table.what, np.empty(len(table)), repair)
    return len(table)
