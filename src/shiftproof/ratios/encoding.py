"""Mixed tables as numbers: what a classifier needs to tell two samples of inputs apart."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftproof._tables import Column, Table, row_count
from shiftproof._types import BoolArray, FloatArray
from shiftproof.errors import InputError

#: A category seen less often is pooled with the other rare ones of its column.
_RARE = 5


@dataclass(frozen=True, eq=False)
class Columns:
    """What the columns of two samples are: numbers, with or without gaps, or categories.

    Fixed when a ratio is fitted; every later table is read in the same way. Fits to parts of the
    samples read them as the whole: a category or a gap that a part does not show is known all the
    same.
    """

    names: tuple[Column, ...]
    numeric: tuple[Column, ...]
    gaps: tuple[Column, ...]
    categories: dict[Column, frozenset[str | None]]
    kind: Any  # the narwhals implementation of the source; None for arrays
    width: int | None  # where all columns are read, so many there are

    @classmethod
    def of(cls, source: Table, target: Table, columns: Sequence[Column] | None) -> Columns:
        """The columns of both samples, checked against each other."""
        for table in (source, target):
            row_count(table, "a ratio is fitted on inputs from both distributions")
        names = tuple(source.names if columns is None else columns)
        if not names:
            raise InputError("source", "at least one column", "none", "name the inputs")
        for table in (source, target):
            table.require(names)
        if columns is None and len(target.names) != len(names):
            raise InputError(
                "target",
                f"the {len(names)} columns of the source",
                f"{len(target.names)} columns",
                "pass the same inputs, or name the columns to compare",
            )
        both = [{name: table.column(name) for name in names} for table in (source, target)]
        for name in names:
            for sample in both:
                _no_dates(name, sample[name])
        numeric = [name for name in names if all(s[name].dtype != object for s in both)]
        gaps = [
            name for name in numeric if any(np.isnan(s[name].astype(float)).any() for s in both)
        ]
        categories = {
            name: frozenset(_text(value) for sample in both for value in sample[name].tolist())
            for name in names
            if name not in numeric
        }
        if all(len({_text(v) for s in both for v in s[name].tolist()}) == 1 for name in names):
            raise InputError(
                "source and target", "a column that varies", "constant columns", "name other inputs"
            )
        kind = source.source.implementation if isinstance(source.source, nw.DataFrame) else None
        width = len(names) if columns is None else None
        return cls(names, tuple(numeric), tuple(gaps), categories, kind, width)

    def read(self, table: Table) -> dict[Column, Any]:
        """Every column in the kind that it had when fitted: float64, or text with None."""
        if (self.kind is not None) != table.is_named:
            kinds = ("a table with named columns", "an array")
            expected, got = kinds if self.kind is not None else kinds[::-1]
            raise InputError(
                table.what, expected, got, "pass the kind that the ratio was fitted on"
            )
        table.require(self.names)
        table.require_width(self.width)
        row_count(table, "pass inputs")
        found: dict[Column, Any] = {}
        for name in self.names:
            if name in self.categories:
                found[name] = [_text(value) for value in table.column(name).tolist()]
                self._known(name, found[name], table)
            else:
                found[name] = table.numbers(name, missing=name in self.gaps)
                _finite(name, found[name], table)
        return found

    def native(self, table: Table) -> object:
        """The table in the kind of the source."""
        found = self.read(table)
        if self.kind is None:
            if not self.categories:
                return np.column_stack([found[name] for name in self.names])
            mixed = np.empty((len(table), len(self.names)), dtype=object)
            for place, name in enumerate(self.names):
                mixed[:, place] = found[name]
            return mixed
        kinds = {name: nw.String if name in self.categories else nw.Float64 for name in self.names}
        series = (  # of a stated kind, which a column of missing values does not tell
            nw.new_series(str(name), values, kinds[name], backend=self.kind)
            for name, values in found.items()
        )
        return nw.concat([one.to_frame() for one in series], how="horizontal").to_native()

    def only_in(self, source: Table, target: Table) -> list[str]:
        """Categories of the target that the source never shows, as `column = category`."""
        alone = []
        for name in self.categories:
            seen = {_text(value) for value in source.column(name).tolist()}
            new = {_text(value) for value in target.column(name).tolist()} - seen
            alone += [f"{name} = {value}" for value in sorted(new, key=str)]
        return alone

    def _known(self, name: Column, values: list[str | None], table: Table) -> None:
        strange = sorted(set(values) - self.categories[name], key=str)
        if strange:
            raise InputError(
                f"column {name!r} of {table.what}",
                "categories that the ratio was fitted on",
                ", ".join(repr(value) for value in strange[:8]),
                "fit it on samples that hold them, or pool them with others",
            )


@dataclass(frozen=True, eq=False)
class Native:
    """The columns in the kind of the source, for classifiers that read them by name."""

    columns: Columns

    def __call__(self, table: Table) -> object:
        """The columns of a table, each as it was when fitted."""
        return self.columns.native(table)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Columns to a matrix: numbers standardised, gaps filled and marked, categories one-hot.

    Scikit-learn's own transformers, fitted on both samples together. Each gap column has its mark
    and each category is known, whether the samples show one or not.
    """

    columns: Columns
    filled: SimpleImputer
    scaled: StandardScaler
    one_hot: OneHotEncoder

    @classmethod
    def of(cls, columns: Columns, tables: Sequence[Table]) -> Encoder:
        """Fitted on the rows of all tables."""
        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        one_hot = OneHotEncoder(
            categories=[sorted(known, key=_missing_last) for known in columns.categories.values()],
            min_frequency=_RARE,
            sparse_output=False,
        )
        encoder = cls(columns, filled, StandardScaler(), one_hot)
        found = [columns.read(table) for table in tables]
        if columns.numeric:
            raw = np.vstack([_matrix(each, columns.numeric, float) for each in found])
            filled.fit(raw)
            encoder.scaled.fit(encoder._with_marks(raw))
        if columns.categories:
            names = tuple(columns.categories)
            one_hot.fit(np.vstack([_matrix(each, names, object) for each in found]))
        return encoder

    def __call__(self, table: Table) -> FloatArray:
        """The matrix of a table, one row for each of its rows."""
        found, parts = self.columns.read(table), []
        if self.columns.numeric:
            raw = _matrix(found, self.columns.numeric, float)
            parts.append(self.scaled.transform(self._with_marks(raw)))
        if self.columns.categories:
            names = tuple(self.columns.categories)
            parts.append(self.one_hot.transform(_matrix(found, names, object)))
        return np.hstack(parts)

    def _with_marks(self, raw: FloatArray) -> FloatArray:
        """Numbers, gaps filled, and a column of marks for each column that may have gaps."""
        places = [self.columns.numeric.index(name) for name in self.columns.gaps]
        return np.hstack([self.filled.transform(raw), np.isnan(raw[:, places])])

    @property
    def labels(self) -> list[str]:
        """What each column of the matrix is."""
        found = [str(name) for name in self.columns.numeric]
        found += [f"missing {name}" for name in self.columns.gaps]
        if self.columns.categories:
            names = [str(name) for name in self.columns.categories]
            found += list(self.one_hot.get_feature_names_out(names))
        return found


def _missing_last(category: str | None) -> tuple[bool, str]:
    return category is None, category or ""


def _matrix(found: dict[Column, Any], names: Sequence[Column], kind: type) -> Any:
    matrix: Any = np.empty((len(found[names[0]]), len(names)), dtype=kind)
    for place, name in enumerate(names):
        matrix[:, place] = found[name]
    return matrix


def _text(value: object) -> str | None:
    """A category as text, None where it is missing; 1, 1.0 and True are one, as in numbers."""
    if value is None or isinstance(value, str):
        return value
    if value != value:
        return None
    whole = isinstance(value, (int, float)) and math.isfinite(value) and value == int(value)
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload] # a number


def _finite(name: Column, values: FloatArray, table: Table) -> None:
    wild: BoolArray = np.isinf(values)
    if wild.any():
        got = f"{float(values[wild][0])!r} in row {int(np.argmax(wild))}"
        raise InputError(
            f"column {name!r} of {table.what}", "finite numbers", got, "mark it as missing"
        )


def _no_dates(name: Column, values: Any) -> None:
    times = (dt.date, dt.time, dt.timedelta)
    if any(isinstance(v, times) or type(v).__name__ == "Period" for v in values.tolist()):
        raise InputError(
            f"column {name!r}",
            "numbers or categories",
            "times",
            "a category for each moment tells samples apart and means nothing; make numbers of it, "
            "such as the hour, or leave it out",
        )
