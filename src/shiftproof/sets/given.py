"""Labels as they come, brought into the form that sets want and checked against the label space."""

from __future__ import annotations

import math

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Array, Table
from shiftproof._types import ArrayLike, BoolArray, FloatArray, IntArray
from shiftproof.errors import InputError


def points(y: object, rows: int, dimension: int) -> FloatArray:
    """Labels as numbers (rows, dimension), from an array, a column or a table."""
    table = _rows_of(y, rows)
    if len(table.names) != dimension:
        raise InputError(
            "labels",
            f"{dimension} numbers for each row",
            f"{len(table.names)}",
            "pass one column for each dimension of the label space",
        )
    if not table.is_named and np.asarray(table.source).dtype.kind in "fiu":
        return _checks.floats("labels", np.asarray(table.source)).reshape(rows, dimension)
    return np.column_stack([table.numbers(name) for name in table.names])


def numbers(y: object, rows: int) -> FloatArray:
    """Labels as one number for each row."""
    return points(y, rows, 1)[:, 0]


def codes(y: object, rows: int, classes: Array) -> IntArray:
    """Labels as positions in `classes`; an error for a label that is not among them."""
    values = _rows_of(y, rows)
    if len(values.names) != 1:
        got = f"{len(values.names)} columns"
        raise InputError("labels", "one label for each row", got, "pass one column")
    column = values.column(0 if not values.is_named else values.names[0])
    places = {label: place for place, label in enumerate(classes.tolist())}
    found = np.array([places.get(label, -1) for label in column.tolist()], dtype=np.int64)
    strange = np.flatnonzero(found < 0)
    if len(strange):
        shown = ", ".join(repr(label) for label in classes.tolist()[:8])
        raise InputError(
            "labels",
            f"labels among {shown}" + (" and more" if len(classes) > 8 else ""),
            f"{column.tolist()[strange[0]]!r} in row {strange[0]}"
            + (f" ({len(strange)} such rows)" if len(strange) > 1 else ""),
            "name the columns of probabilities, LabelSets(classes=[...]), or fit on all labels",
        )
    return found


def marks(y: object, shape: tuple[int, ...]) -> BoolArray:
    """Which labels or pixels are true: 0 or 1, in the shape of the predictions; flattened rows."""
    table = _rows_of(y, shape[0])
    if table.is_named:
        given: Array = np.column_stack([table.numbers(name) for name in table.names])
    else:
        given = np.asarray(table.source)
    if given.shape != shape:
        raise InputError(
            "labels",
            f"shape {shape}, that of the predictions",
            f"shape {given.shape}",
            "pass 1 for labels that are true, 0 for others",
        )
    flat = _checks.floats("labels", given).reshape(shape[0], math.prod(shape[1:]))
    _checks.demand("labels", flat, (flat == 0) | (flat == 1), "0 or 1", "binarise the labels")
    marked: BoolArray = flat == 1
    return marked


def one_each(name: str, values: ArrayLike, rows: int) -> FloatArray:
    """Predictions as one number for each row."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (rows,):
        raise InputError(
            name, "one number for each row", f"shape {found.shape}", "pass a model of one output"
        )
    return found


def _rows_of(y: object, rows: int) -> Table:
    table = Table.of("labels", y)
    _checks.same_rows("labels", len(table), rows)
    return table
