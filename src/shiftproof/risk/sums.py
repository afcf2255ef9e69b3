"""Running sums of non-negative numbers, correct to the last bit or nearly so.

A plain running sum of a million weights is wrong in the tenth digit, enough to move a threshold
by one score. Here each number is cut into a high part, whose running sum is exact because all
parts are multiples of one unit and their sum needs at most 53 bits, and a small rest.
"""

from __future__ import annotations

import math

import numpy as np

from shiftproof._types import FloatArray

#: Half the distance from 1 to the next float: the relative error of one rounding.
UNIT = 2.0**-53


def running_sum(values: FloatArray) -> FloatArray:
    """sum_{i <= k} values_i for every k; values are finite and at least 0.

    The error of each is at most 2 UNIT times itself, plus :func:`leftover` of the whole.
    """
    high, rest = _cut(values)
    result: FloatArray = np.cumsum(high) + np.cumsum(rest)
    return result


def leftover(count: int, whole: float) -> float:
    """A bound on the rounding in the running sum of the rests: next to nothing below 1e8 values.

    Each rest is at most 2 UNIT of the whole, and so at most 2 count UNIT for their sum, of which
    every one of `count` additions rounds off at most UNIT.
    """
    return 4 * (count * UNIT) ** 2 * whole


def total(values: FloatArray) -> float:
    """The sum of finite values of at least 0, the same in any order."""
    high, rest = _cut(values)
    middle, last = _cut(np.abs(rest))
    sign = np.sign(rest)
    # The first two sums are exact, so only the order of the third could matter, 2**-100 below.
    return math.fsum((float(high.sum()), float((sign * middle).sum()), float((sign * last).sum())))


def _cut(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut values = high + rest without error; every partial sum of the high parts is exact.

    Adding and subtracting a power of two beyond twice the sum rounds to multiples of its last bit.
    """
    size = float(values.sum()) + float(values.max(initial=0.0))
    shift = math.ldexp(1.0, math.frexp(size)[1] + 1)
    high = (values + shift) - shift
    return high, values - high
