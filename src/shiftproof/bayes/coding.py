"""Tables and labels as numbers in standard units, and back: the border of all learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Array, Column, Table
from shiftproof._types import FloatArray, IntArray
from shiftproof.bayes.laws import Law
from shiftproof.bayes.scaling import Scaling, Standard
from shiftproof.errors import InputError

#: What rows are answered with.
METHODS = ("predict", "predict_proba")

#: Standard units beyond this are no measurement; sums of squares would overflow 32-bit floats.
_LARGEST = 1e15


class Reader(Protocol):
    """What turns a table into features."""

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that it reads by name."""

    def features(self, X: object) -> FloatArray:
        """One row of numbers for each row of the table."""


@dataclass(frozen=True, eq=False)
class Coding:
    """How a fitted network reads a table, and how its outputs become answers.

    Attributes
    ----------
    inputs, labels : Scaling
        Standard units; `labels` are left as they are for classes.
    columns : tuple of names, or None
        The columns of the table that it was fitted to; None for an array, read by place.
    classes : array or None
        The labels that outputs stand for; None for numbers.
    flat : bool
        Whether labels were one number each, so that answers are too.
    through : Reader, optional
        A fitted network whose features are the inputs.
    """

    inputs: Scaling
    labels: Scaling
    columns: tuple[Column, ...] | None
    classes: Array | None
    flat: bool
    through: Reader | None = None

    @property
    def reads(self) -> tuple[Column, ...] | None:
        """The columns of the table that comes."""
        return self.columns if self.through is None else self.through.columns

    @property
    def width(self) -> int:
        """The number of inputs."""
        return len(self.inputs.center)

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.labels.center)

    def read(self, X: object) -> FloatArray:
        """Inputs in standard units."""
        if self.through is not None:
            X = self.through.features(X)
        return standard(self.inputs, matrix(X, self.columns, self.width), "X")

    def read_labels(self, y: object, rows: int) -> FloatArray:
        """Labels in standard units; a one in the column of the class."""
        if self.classes is None:
            values = label_numbers(y, rows)
            if values.shape[1] != self.outputs:
                expected, got = f"{self.outputs} numbers for each row", f"{values.shape[1]}"
                raise InputError("labels", expected, got, "pass what the network was fitted to")
            return standard(self.labels, values, "labels")
        return one_hot(label_column(y, rows), self.classes)

    def demand_method(self, method: str) -> None:
        """Raise for a method that this posterior has no answer to."""
        if method not in METHODS:
            expected = " or ".join(map(repr, METHODS))
            raise InputError("method", expected, repr(method), "say 'predict'")
        if method == "predict_proba" and self.classes is None:
            repair = "fit with likelihood=Softmax() for classes, or use sets of numbers"
            raise InputError("method", "'predict', of numbers", repr(method), repair)

    def answer(self, values: FloatArray, method: str) -> Array:
        """Outputs, or for classes probabilities, as what was asked for; rows may be stacked."""
        if self.classes is not None:
            return values if method == "predict_proba" else self.classes[values.argmax(axis=-1)]
        numbers = self.labels.undo(values)
        return numbers[..., 0] if self.flat else numbers


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled rows as numbers, checked, in the units in which they came."""

    x: FloatArray
    y: FloatArray
    columns: tuple[Column, ...] | None
    classes: Array | None
    flat: bool

    @classmethod
    def of(cls, X: object, y: object, law: Law) -> Examples:
        """Inputs and labels of training, or an error that says what is wrong with them."""
        table = Table.of("X", X)
        if len(table) < 2:
            repair = "a network learns from examples: pass more of them"
            raise InputError("X", "at least 2 rows", f"{len(table)}", repair)
        columns = table.names if table.is_named else None
        x = matrix(table, columns, len(table.names))
        if x.shape[1] == 0:
            raise InputError("X", "at least one column", "none", "pass the inputs")
        if not law.classifies:
            numbers = label_numbers(y, len(table))
            flat = np.ndim(y) != 2 and len(Table.of("labels", y).names) == 1  # type: ignore[arg-type]
            return cls(x, numbers, columns, None, flat)
        labels = label_column(y, len(table))
        classes = np.unique(labels)
        if len(classes) < 2:
            repair = "a classifier needs examples of at least two classes"
            raise InputError("labels", "at least two classes", f"{classes.tolist()}", repair)
        return cls(x, one_hot(labels, classes), columns, classes, flat=True)

    def __len__(self) -> int:
        return len(self.x)

    def coding(self, inputs: Standard, labels: Standard, rows: IntArray | None = None) -> Coding:
        """Standard units, learned from these rows."""
        x, y = (self.x, self.y) if rows is None else (self.x[rows], self.y[rows])
        if self.classes is not None:
            return Coding(
                inputs.of(x, "X"), _AS_THEY_ARE.of(y, "y"), self.columns, self.classes, True
            )
        constant = np.ptp(y, axis=0) == 0
        if constant.any():
            where = "" if self.flat else f" in column {int(np.argmax(constant))}"
            got = f"{float(y[0, np.argmax(constant)])!r} everywhere{where}"
            repair = "a constant needs no model: leave it out"
            raise InputError("labels", "numbers that vary", got, repair)
        return Coding(inputs.of(x, "X"), labels.of(y, "labels"), self.columns, None, self.flat)


_AS_THEY_ARE = Scaling(0.0, 1.0)


def matrix(X: object, columns: Sequence[Column] | None, width: int) -> FloatArray:
    """Inputs as finite numbers, one column for each that was fitted to, in that order."""
    table = Table.of("X", X)
    if columns is not None and table.is_named:
        table = table.select(columns)
    if len(table.names) != width:
        repair = "pass the columns that the network was fitted to"
        raise InputError("X", f"{width} columns", f"{len(table.names)}", repair)
    values = _numbers(table)
    repair = "a network has no answer to missing or infinite inputs: fill them or drop the rows"
    _checks.demand("X", values, np.isfinite(values), "finite numbers", repair)
    return values


def label_numbers(y: object, rows: int) -> FloatArray:
    """Labels as finite numbers (rows, outputs)."""
    table = Table.of("labels", y)
    _checks.same_rows("labels", len(table), rows)
    for name in table.names:
        if not table.is_numeric(name):
            repair = "for labels of classes pass likelihood=Softmax()"
            raise InputError("labels", "numbers", f"{table.column(name)[0]!r}", repair)
    values = _numbers(table)
    _checks.demand("labels", values, np.isfinite(values), "finite numbers", "drop these rows")
    return values


def label_column(y: object, rows: int) -> Array:
    """Labels as one class for each row."""
    table = Table.of("labels", y)
    _checks.same_rows("labels", len(table), rows)
    if len(table.names) != 1:
        got = f"{len(table.names)} columns"
        raise InputError("labels", "one label for each row", got, "pass one column of classes")
    labels = table.column(table.names[0])
    missing = np.array([label is None or label != label for label in labels.tolist()])
    if missing.any():
        got = f"{int(missing.sum())} missing, the first in row {int(np.argmax(missing))}"
        raise InputError("labels", "no missing labels", got, "drop these rows")
    kinds = {isinstance(label, str) for label in labels.tolist()}
    if len(kinds) > 1:
        repair = "turn all of them into text, or all into numbers"
        raise InputError("labels", "labels of one kind", "text and numbers", repair)
    return labels.astype(str) if labels.dtype == object and kinds == {True} else labels


def one_hot(labels: Array, classes: Array) -> FloatArray:
    """A one in the column of the class of each row."""
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = classes[place] != labels
    if strange.any():
        row = int(np.argmax(strange))
        shown = ", ".join(repr(label) for label in classes.tolist()[:8])
        got = f"{labels.tolist()[row]!r} in row {row}"
        repair = "the network knows the classes that it was fitted to"
        raise InputError("labels", f"labels among {shown}", got, repair)
    return np.asarray(place[:, None] == np.arange(len(classes)), dtype=np.float64)


def standard(scaling: Scaling, values: FloatArray, what: str) -> FloatArray:
    """Values in standard units, refused where they are no size that a network can compute with."""
    found = scaling.apply(values)
    repair = "these values are out of all proportion to those of training: mend the units"
    expected = f"values within {_LARGEST:g} standard units"
    _checks.demand(what, values, np.abs(found) <= _LARGEST, expected, repair)
    return found


def _numbers(table: Table) -> FloatArray:
    if not table.is_named:
        source: Any = table.source
        if source.dtype.kind in "fiub":
            flat: FloatArray = source.reshape(len(table), len(table.names)).astype(np.float64)
            return _checks.floats(table.what, flat)
    columns = [table.numbers(name) for name in table.names]
    return np.column_stack(columns) if columns else np.empty((len(table), 0))
