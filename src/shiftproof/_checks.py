"""Checks at the border: everything behind them may trust its arguments.

Each check returns the argument in the form that the mathematics wants, or raises
:class:`~shiftproof.errors.InputError` with what was expected, what came and how to mend it.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from shiftproof._types import ArrayLike, BoolArray, FloatArray, IntArray
from shiftproof.errors import InputError

_Kind = TypeVar("_Kind")

#: Weights beyond this, or all below its inverse, would overflow or underflow in products.
_LARGEST = 1e200


def floats(name: str, values: ArrayLike, *, repair: str = "pass real numbers") -> FloatArray:
    """`values` as float64, without NaN, without masked entries."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        missing = int(np.ma.getmaskarray(values).sum())
        raise InputError(name, "no masked entries", f"{missing} masked", "drop or fill them first")
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "fiubO":
            raise TypeError(raw.dtype)
        array = raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        got = getattr(values, "dtype", type(values).__name__)
        raise InputError(name, "numbers", f"{got}", repair) from cause
    unknown = np.isnan(array)
    if unknown.any():
        raise InputError(name, "no NaN", _first(array, unknown), "drop or fill the missing values")
    return array


def instance(name: str, value: object, kind: type[_Kind], repair: str) -> _Kind:
    """`value`, if it is of the kind that is meant."""
    if not isinstance(value, kind):
        raise InputError(name, kind.__name__, type(value).__name__, repair)
    return value


def vector(name: str, values: ArrayLike, *, length: int | None = None) -> FloatArray:
    """`values` as a one-dimensional array, of the given length where one is known."""
    array = floats(name, values)
    if array.ndim != 1 or (length is not None and len(array) != length):
        expected = "one dimension" if length is None else f"shape ({length},)"
        raise InputError(name, expected, f"shape {array.shape}", "pass one value per example")
    return array


def non_empty(name: str, values: FloatArray, repair: str) -> FloatArray:
    if values.size == 0:
        raise InputError(name, "at least one value", "none", repair)
    return values


def demand(name: str, values: FloatArray, good: BoolArray, expected: str, repair: str) -> None:
    """Raise with the first offending value unless all of `good` holds."""
    if not good.all():
        raise InputError(name, expected, _first(values, ~good), repair)


def indices(name: str, values: ArrayLike, *, length: int, below: int) -> IntArray:
    """`values` as `length` integers in 0..below-1."""
    array = floats(name, values, repair="pass integers")
    if array.shape != (length,):
        raise InputError(name, f"shape ({length},)", f"shape {array.shape}", "one index each")
    good = (array >= 0) & (array < below) & (np.floor(array) == array)
    demand(name, array, good, f"integers from 0 to {below - 1}", "number the examples from 0")
    return array.astype(np.int64)


def scalar(name: str, value: float, repair: str) -> float:
    _no_flag(name, value, repair)
    array = floats(name, value, repair=repair)
    if array.ndim != 0:
        raise InputError(name, "one number", f"shape {array.shape}", repair)
    return float(array)


def whole(name: str, value: object, least: int, repair: str) -> int:
    """`value`, if it is a whole number of at least `least`; truth values are none."""
    usable = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not usable or value < least:  # type: ignore[operator] # a number where it is usable
        raise InputError(name, f"a whole number of at least {least}", f"{value!r}", repair)
    return int(value)  # type: ignore[call-overload,no-any-return]


def positive(name: str, value: float, repair: str) -> float:
    """`value`, if it is one finite number above 0."""
    number = scalar(name, value, repair)
    if not 0 < number < math.inf:
        raise InputError(name, "a finite number above 0", f"{value!r}", repair)
    return number


def at_least_0(name: str, value: float, repair: str) -> float:
    """`value`, if it is one finite number of at least 0."""
    number = scalar(name, value, repair)
    if not 0 <= number < math.inf:
        raise InputError(name, "a finite number of at least 0", f"{value!r}", repair)
    return number


def seed(value: object) -> int:
    """A seed that every generator of random numbers takes."""
    number = whole("seed", value, 0, "say 0")
    if number >= 2**32:
        raise InputError("seed", "a whole number below 2**32", f"{value!r}", "say 0")
    return number


def flag(name: str, value: object) -> bool:
    """`value`, if it is True or False and nothing that merely counts as one of them."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(name, "True or False", f"{value!r}", "say which of the two")
    return bool(value)


def calibration_weights(name: str, values: ArrayLike, length: int) -> FloatArray:
    """Finite, non-negative, one per example, and of a size that sums without overflow."""
    array = vector(name, values, length=length)
    demand(name, array, array >= 0, "weights of at least 0", "a density ratio is never negative")
    demand(
        name,
        array,
        np.isfinite(array),
        "finite weights",
        "a calibration input lies where its own distribution has no mass: mend the ratio there",
    )
    largest = float(array.max(initial=0.0))
    if largest > 0 and not 1 / _LARGEST <= largest <= _LARGEST:
        raise InputError(
            name,
            f"a largest weight between {1 / _LARGEST:g} and {_LARGEST:g}",
            f"{largest!r}",
            "only ratios of weights matter: divide all weights, those of the test points too, "
            "by one constant",
        )
    return array


def test_weights(name: str, values: ArrayLike) -> FloatArray:
    """Non-negative; infinite where the calibration distribution has no mass."""
    array = floats(name, values)
    demand(name, array, array >= 0, "weights of at least 0", "a density ratio is never negative")
    small = (array <= _LARGEST) | np.isinf(array)
    demand(
        name,
        array,
        small,
        f"weights up to {_LARGEST:g}, or inf outside the support",
        "divide all weights, those of the calibration examples too, by one constant",
    )
    return array


def _no_flag(name: str, value: ArrayLike, repair: str) -> None:
    if np.asarray(value).dtype.kind == "b":
        raise InputError(name, "a number", f"{value!r}", repair)


def ratio_max(value: float) -> float:
    """Wmax, the largest value of a ratio of mean 1: finite, and at least 1."""
    largest = scalar("ratio_max", value, "the largest value of the ratio, E_P w = 1")
    if not 1 <= largest < math.inf:
        repair = "a ratio of mean 1 exceeds 1 somewhere, or is 1; one without an end has no bound"
        raise InputError("ratio_max", "a finite number of at least 1", f"{value!r}", repair)
    return largest


def risk_level(alpha: ArrayLike, bound: float) -> FloatArray:
    _no_flag("alpha", alpha, "state the tolerated risk in the units of the loss")
    array = floats("alpha", alpha, repair="state the tolerated risk in the units of the loss")
    expected = f"a risk between 0 and the bound of the loss, {bound!r}"
    good = (array >= 0) & (array <= bound) & np.isfinite(array)
    demand("alpha", array, good, expected, "state the tolerated risk in the units of the loss")
    return array


def thresholds(values: ArrayLike, lower: float) -> FloatArray:
    array = floats("thresholds", values)
    expected = f"thresholds of at least the lower end, {lower!r}"
    demand("thresholds", array, array >= lower, expected, "build the losses with a lower end")
    return array


def each(name: str, values: ArrayLike, length: int) -> FloatArray:
    """One number for all, or one for each of `length` examples."""
    array = floats(name, values)
    if array.shape not in ((), (length,)):
        raise InputError(
            name, f"one number or shape ({length},)", f"shape {array.shape}", "pass one value each"
        )
    return np.broadcast_to(array, length)


def same_rows(name: str, rows: int, wanted: int) -> None:
    """Raise unless there is one row for each example."""
    if rows != wanted:
        expected = f"{wanted} rows, one for each input"
        raise InputError(name, expected, f"{rows}", "pass the same rows")


def broadcast(**arrays: FloatArray) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as cause:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(
            " and ".join(arrays), "shapes that broadcast", shapes, "one value each, or one for all"
        ) from cause


def bound_of(bound: float) -> float:
    """The bound of a loss: a number, or infinity said aloud; never left out."""
    usable = isinstance(bound, (int, float, np.integer, np.floating))
    if not usable or math.isnan(float(bound)) or float(bound) < 0:
        raise InputError(
            "bound",
            "the largest value that the loss can take (Lmax)",
            f"{bound!r}",
            "for a distance pass the diameter of the label space, or cap the loss",
        )
    return float(bound)


def _first(values: FloatArray, bad: BoolArray) -> str:
    """The first bad value, where it stands, and how many there are."""
    where = np.flatnonzero(bad)
    value = f"{float(values.ravel()[where[0]])!r}"
    if values.ndim == 0:
        return value
    place = f" at position {where[0]}"
    return value + place + (f" ({len(where)} such values)" if len(where) > 1 else "")
