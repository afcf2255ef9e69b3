"""Which rows served for what: digests of rows, compared between the roles that they play.

Training, ratio fitting, calibration and evaluation want different rows. Real data holds true
duplicates, so a shared row is a figure to read and not an error; two roles with the very same rows
are one, where the promise needs two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from shiftproof._tables import Array, Column, Table, numbers_in
from shiftproof._types import IntArray, KeyArray
from shiftproof.errors import InputError
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

    def __str__(self) -> str:
        roles = (_spelled(self.second), _spelled(self.first))
        sentence = f"{self.rows} rows ({self.share:.1%}) of {roles[0]} are also in {roles[1]}"
        return f"{sentence}: {self.consequence}" if self.consequence and self.rows else sentence


@dataclass(frozen=True, eq=False)
class Ledger:
    """Which rows played which role, and what they share.

    Roles that are known: training, crossfit_source, crossfit_target, ratio_source, ratio_target,
    price_target, calibration, evaluation. A row is the values of the columns that are compared;
    labels are best left in, where all roles have them.

    Parameters
    ----------
    columns : sequence, optional
        The columns to compare; all where left out.

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
    digests: Mapping[str, KeyArray] = field(default_factory=dict)

    def plus(self, **tables: object) -> Ledger:
        """With further roles; an error where two that have to differ are the same rows."""
        found = dict(self.digests)
        for role, X in tables.items():
            if role not in _ROLES:
                raise InputError("role", f"one of {', '.join(_ROLES)}", role, "rename it")
            found[role] = np.sort(row_digests(X, self.columns))
        ledger = Ledger(self.columns, found)
        for first, second in ledger._pairs():
            same = np.array_equal(found[first], found[second])
            if same and len(found[first]) and (first, second) in _HARM:
                raise InputError(
                    f"rows for {_spelled(second)}",
                    f"other rows than those for {_spelled(first)}",
                    f"the same {len(found[first])} rows",
                    f"{_HARM[first, second]}; split the data first",
                )
        return ledger

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """Every pair of roles, with the rows that it shares."""
        return tuple(self._overlap(first, second) for first, second in self._pairs())

    def __str__(self) -> str:
        shared = [str(overlap) for overlap in self.overlaps if overlap.rows]
        return "\n".join(shared) or f"no shared rows among {len(self.digests)} roles"

    def _overlap(self, first: str, second: str) -> Overlap:
        one, other = self.digests[first], self.digests[second]
        rows = int(np.isin(other, one).sum())
        consequence = (_HARM | _BY_DESIGN).get((first, second), "")
        return Overlap(first, second, rows, rows / len(other) if len(other) else 0.0, consequence)

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
