"""Which rows served for what: digests of rows, compared between the roles that they play.

Training, ratio fitting, calibration and evaluation want different rows. Real data holds true
duplicates, so a shared row is a figure to read and not an error; two roles with the very same rows
are one, where the promise needs two. What rows repeat inside a role says how many two roles may
share by chance: discrete inputs share all of them, and it means nothing. Two samples of a column
with two values can even be the same rows, as often as they have the same number of each.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from shiftproof._tables import Array, Column, Table, numbers_in
from shiftproof._types import IntArray, KeyArray
from shiftproof.errors import InputError, ShiftWarning
from shiftproof.keys import split_mix

#: What a shared row spoils, by the two roles that share it. Other pairs do no harm.
_HARM = {
    ("training", "calibration"): (
        "the predictor knows these labels, so their losses are too small: thresholds are too small"
    ),
    ("training", "evaluation"): "the predictor knows these labels: the figures are too good",
    ("calibration", "evaluation"): "the thresholds know these labels: the figures are too good",
    ("ratio_source", "calibration"): (
        "the ratio was fitted on calibration inputs: the promise is not covered exactly"
    ),
    ("ratio_source", "evaluation"): "the ratio knows these inputs: the figures are too good",
    ("ratio_target", "calibration"): (
        "target inputs among the calibration inputs: the samples are not what they are called"
    ),
    ("ratio_target", "evaluation"): "the ratio knows these inputs: the figures are too good",
    ("crossfit_target", "calibration"): (
        "target inputs among the calibration inputs: the samples are not what they are called"
    ),
    ("price_target", "calibration"): (
        "target inputs among the calibration inputs: the samples are not what they are called"
    ),
    ("ratio_target", "price_target"): (
        "the price is counted on inputs that the ratio was fitted to: its confidence is not exact"
    ),
}

#: Cross-fitted ratios may meet their own source again: each row is weighed by a model without it.
_BY_DESIGN = {
    ("crossfit_target", "evaluation"): "each row is weighed by a model that never saw it",
    ("crossfit_source", "calibration"): (
        "each row is weighed by a model that never saw it; the promise is not covered exactly"
    ),
}


def row_digests(X: object, columns: Sequence[Column] | None = None) -> KeyArray:
    """One 64-bit digest per row: the same values give the same digest in any kind of table.

    Examples
    --------
    >>> import numpy as np, pandas as pd, shiftproof as shp
    >>> frame = pd.DataFrame({"a": [1, 2, 1], "b": ["x", "y", "x"]})
    >>> digests = shp.row_digests(frame)
    >>> bool(digests[0] == digests[2] != digests[1])
    True
    >>> bool((shp.row_digests(np.array([[1.0], [2.0]])) == shp.row_digests(np.array([1, 2]))).all())
    True
    """
    table = Table.of("X", X)
    state = np.zeros(len(table), dtype=np.uint64)
    for name in table.names if columns is None else columns:
        state = split_mix(state) ^ _words(table.column(name))
    return split_mix(state)


@dataclass(frozen=True)
class Overlap:
    """Rows that two roles share.

    Attributes
    ----------
    first, second : str
        The roles.
    rows : int
        Rows of `second` that are also in `first`.
    share : float
        Their part of `second`.
    consequence : str
        What that spoils; empty where it does no harm.
    by_chance : float
        So many rows would be shared by true duplicates alone: rows of `second` times the share of
        rows that repeat inside one of the roles.
    comparable : bool
        False where one of the roles lacks a column that is compared; no rows are counted then.

    Examples
    --------
    >>> import shiftproof as shp
    >>> (shared,) = shp.Ledger().plus(ratio_source=[1, 2], ratio_target=[2, 3, 4]).overlaps
    >>> print(shared)
    1 rows (33.3%) of ratio target are also in ratio source
    """

    first: str
    second: str
    rows: int
    share: float
    consequence: str
    by_chance: float = 0.0
    comparable: bool = True

    @property
    def is_more_than_chance(self) -> bool:
        """Whether more rows are shared than true duplicates would make, by three deviations."""
        return self.rows > self.by_chance + 3 * math.sqrt(self.by_chance)

    def __str__(self) -> str:
        roles = (_spelled(self.second), _spelled(self.first))
        if not self.comparable:
            return f"{roles[0]} and {roles[1]} are not comparable: a compared column is missing"
        sentence = f"{self.rows} rows ({self.share:.1%}) of {roles[0]} are also in {roles[1]}"
        if not self.rows or not self.consequence:
            return sentence
        if not self.is_more_than_chance:
            return f"{sentence}, no more than rows that repeat by themselves make"
        return f"{sentence}: {self.consequence}"


@dataclass(frozen=True, eq=False)
class Ledger:
    """Which rows played which role, and what they share.

    Roles that are known: training, crossfit_source, crossfit_target, ratio_source, ratio_target,
    price_target, calibration, evaluation. A row is the values of the columns that are compared, by
    name and in any order; labels are best left in, where all roles have them.

    The ledger of a ratio holds the rows that it was made from. ``ratio.ledger.plus(calibration=X)``
    says what they share with the calibration inputs.

    Parameters
    ----------
    columns : sequence, optional
        The columns to compare; where left out those of the first table that comes, but for columns
        of lists.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> x = np.arange(10.0)
    >>> ledger = shp.Ledger().plus(training=x[:6], calibration=x[4:])
    >>> print(ledger)
    2 rows (33.3%) of calibration are also in training: the predictor knows these labels, so their \
losses are too small: thresholds are too small
    """

    columns: tuple[Column, ...] | None = None
    digests: Mapping[str, KeyArray | None] = field(default_factory=dict)

    def plus(self, **tables: object) -> Ledger:
        """With further roles; an error where two that have to differ are the same rows.

        Rows that repeat inside their role are the same by chance: they say nothing, and pass.
        """
        found, columns = dict(self.digests), self.columns
        for role, X in tables.items():
            if role not in _ROLES:
                raise InputError("role", f"one of {', '.join(_ROLES)}", role, "rename it")
            table = Table.of(role, X)
            columns = table.flat_names if columns is None else columns
            found[role] = _digests_if_any(table, columns)
        ledger = Ledger(columns, found)
        for first, second in ledger._pairs():
            one, other = found[first], found[second]
            if one is None or other is None or not len(one) or (first, second) not in _HARM:
                continue
            same = np.array_equal(one, other)
            if same and ledger._overlap(first, second).is_more_than_chance:
                raise InputError(
                    f"rows for {_spelled(second)}",
                    f"other rows than those for {_spelled(first)}",
                    f"the same {len(one)} rows",
                    f"{_HARM[first, second]}; split the data first",
                )
        return ledger

    @property
    def source(self) -> KeyArray | None:
        """Digests of the source sample of a ratio; None where none was noted."""
        return self.digests.get("ratio_source", self.digests.get("crossfit_source"))

    def only(self, *roles: str) -> Ledger:
        """With these roles alone, of those that are there."""
        kept = {role: rows for role, rows in self.digests.items() if role in roles}
        return Ledger(self.columns, kept)

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """Every pair of roles, with the rows that it shares."""
        return tuple(self._overlap(first, second) for first, second in self._pairs())

    def warn_of(self, role: str) -> None:
        """A ShiftWarning for each role that this one shares rows with, where that does harm."""
        for overlap in self.overlaps:
            harms = overlap.second == role and (overlap.first, role) in _HARM
            if harms and overlap.is_more_than_chance:
                warnings.warn(str(overlap), ShiftWarning, stacklevel=5)

    def __str__(self) -> str:
        told = [str(each) for each in self.overlaps if each.rows or not each.comparable]
        return "\n".join(told) or f"no shared rows among {len(self.digests)} roles"

    def _overlap(self, first: str, second: str) -> Overlap:
        consequence = (_HARM | _BY_DESIGN).get((first, second), "")
        one, other = self.digests[first], self.digests[second]
        if one is None or other is None:
            return Overlap(first, second, 0, 0.0, consequence, comparable=False)
        rows = int(np.isin(other, one).sum())
        share = rows / len(other) if len(other) else 0.0
        chance = len(other) * max(_repeated(one), _repeated(other))
        return Overlap(first, second, rows, share, consequence, chance)

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return combinations([role for role in _ROLES if role in self.digests], 2)


_ROLES = (
    "training",
    "crossfit_source",
    "crossfit_target",
    "ratio_source",
    "ratio_target",
    "price_target",
    "calibration",
    "evaluation",
)


def note_calibration(ledger: Ledger, table: Table) -> None:
    """Raise where calibration rows are those of a role that spoils them; warn where some are."""
    if ledger.digests:  # else no column needs to be read
        ledger.plus(calibration=table).warn_of("calibration")


def _digests_if_any(table: Table, columns: Sequence[Column]) -> KeyArray | None:
    """Sorted digests of these columns; None where the table does not have them."""
    there = bool(columns) and set(columns) <= set(table.names)
    if not there or any(table.is_nested(name) for name in columns):
        return None
    return np.sort(row_digests(table, columns))


def _repeated(rows: KeyArray) -> float:
    """The share of rows that occur again among the others of their role."""
    times = np.unique(rows, return_counts=True)[1]
    return float(times[times > 1].sum() / max(len(rows), 1))


def folds_of(table: Table, columns: Sequence[Column] | None, folds: int, seed: int) -> IntArray:
    """The fold of each row, a function of its values: duplicates are never parted."""
    word = np.array([seed & (2**64 - 1)], dtype=np.uint64)
    mixed = split_mix(row_digests(table, columns) ^ split_mix(word))
    fold: IntArray = (mixed % np.uint64(folds)).astype(np.int64)
    return fold


def _spelled(role: str) -> str:
    return role.replace("_", " ")


def _words(values: Array) -> KeyArray:
    """One 64-bit word per value; integers and floats of one value agree, and so do both zeros."""
    if values.dtype == object:
        texts = {value: _word(value) for value in set(values.tolist()) if isinstance(value, str)}
        words = [texts[v] if isinstance(v, str) else _word(v) for v in values.tolist()]
        return np.array(words, dtype=np.uint64)
    numbers = values.astype(np.float64)
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    if values.dtype.kind in "iu" and values.itemsize == 8:
        with np.errstate(invalid="ignore", over="ignore"):
            rest = values.astype(np.uint64) - numbers.astype(values.dtype).astype(np.uint64)
        bits = bits ^ split_mix(rest) ^ split_mix(np.zeros_like(rest))  # 0 where floats suffice
    return np.where(np.isnan(numbers), np.uint64(_word(None)), split_mix(bits))


def _word(value: object) -> int:
    """The word of one object: of its value for numbers, else of its text."""
    if value is not None and not isinstance(value, str):
        one = np.empty(1, dtype=object)
        one[0] = value
        numbers = numbers_in(one)
        if numbers is not None:
            return int(_words(numbers)[0])
    text = "\x00missing" if value is None else str(value)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
