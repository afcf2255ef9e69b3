"""Sums of non-negative numbers: running ones, right to the last bit or nearly so, and exact ones.

A plain running sum of a million weights is wrong in the tenth digit, enough to move a threshold
by one score. Here each number is cut into a high part, whose running sum is exact because all
parts are multiples of one unit and their sum needs at most 53 bits, and a small rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from shiftproof._types import FloatArray

#: Half the distance from 1 to the next float: the relative error of one rounding.
UNIT = 2.0**-53

#: More digits than any sum of products of two floats can have: nothing is rounded.
WIDE = Context(prec=4000)


def running_sum(values: FloatArray) -> FloatArray:
    """sum_{i <= k} values_i for every k; values are finite, at least 0, and overwritten.

    The error of each is at most 2 UNIT times itself, plus :func:`leftover` of the whole.
    """
    high, rest = _cut(values, rest=values)
    np.cumsum(high, out=high)
    high += np.cumsum(rest, out=rest)
    return high


def leftover(count: int, whole: float) -> float:
    """A bound on the rounding in the running sum of the rests: next to nothing below 1e8 values.

    Each rest is at most 2 UNIT of the whole, and so at most 2 count UNIT for their sum, of which
    every one of `count` additions rounds off at most UNIT.
    """
    return 4 * (count * UNIT) ** 2 * whole


def total(values: FloatArray) -> float:
    """The sum of finite values of at least 0, right to the last bit and so the same in any order.

    The high parts sum without error; of the rests even pairwise rounding is 2**-53 times smaller
    than the last bit, so it could matter only to a sum that lies next to the middle of two floats.
    """
    high, rest = _cut(values, rest=np.empty_like(values))
    return float(high.sum()) + float(rest.sum())


def _cut(values: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut values = high + rest without error; every partial sum of the high parts is exact.

    Adding and subtracting a power of two beyond twice the sum rounds to multiples of its last bit.
    """
    size = float(values.sum()) + float(values.max(initial=0.0))
    shift = math.ldexp(1.0, math.frexp(size)[1] + 1)
    high = values + shift
    high -= shift
    return high, np.subtract(values, high, out=rest)


def rational(value: float) -> Fraction:
    """The shortest decimal that reads as this float, as a fraction."""
    return Fraction(repr(float(value)))


def exact_sum(values: Iterable[float] | FloatArray) -> Fraction:
    """The sum of the shortest decimals; equal values are counted together."""
    total = Decimal(0)
    for value, count in Counter(np.asarray(values).tolist()).items():
        total = WIDE.add(total, WIDE.multiply(Decimal(repr(value)), Decimal(count)))
    return Fraction(total)
