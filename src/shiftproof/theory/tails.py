"""Chances that a sum of independent variables exceeds its mean: one object for each inequality.

Each takes t >= 0, n variables Z with Z - E Z <= b and variance at most v, in an interval of length
`width`, and bounds P( sum (Z - E Z) >= n t ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftproof._types import FloatArray


class Tail(Protocol):
    """A bound on P( sum (Z - E Z) >= n t ), not increasing in t.

    Examples
    --------
    >>> from shiftproof.theory import Hoeffding, Tail
    >>> tail: Tail = Hoeffding()
    """

    def __call__(
        self, t: FloatArray, n: int, *, variance: FloatArray, above: FloatArray, width: FloatArray
    ) -> FloatArray:
        """The chance, at most 1; 1 where t < 0."""


@dataclass(frozen=True)
class Hoeffding:
    """exp( - 2 n t^2 / width^2 ): needs the range alone (Hoeffding 1963, theorem 2).

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.theory import Hoeffding
    >>> one = np.ones(1)
    >>> Hoeffding()(0.1 * one, 100, variance=0.01 * one, above=one, width=one).round(4)
    array([0.1353])
    """

    def __call__(
        self, t: FloatArray, n: int, *, variance: FloatArray, above: FloatArray, width: FloatArray
    ) -> FloatArray:
        """The chance."""
        del variance, above
        return np.exp(-2 * n * (np.maximum(t, 0.0) / width) ** 2)


@dataclass(frozen=True)
class Bernstein:
    """exp( - n t^2 / (2 (v + b t / 3)) ): gains where the variance is small.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.theory import Bernstein
    >>> one = np.ones(1)
    >>> Bernstein()(0.1 * one, 100, variance=0.01 * one, above=one, width=one).round(7)
    array([9.7e-06])
    """

    def __call__(
        self, t: FloatArray, n: int, *, variance: FloatArray, above: FloatArray, width: FloatArray
    ) -> FloatArray:
        """The chance."""
        del width
        room = np.maximum(t, 0.0)
        return np.exp(-n * room**2 / (2 * (variance + above * room / 3)))


@dataclass(frozen=True)
class Bennett:
    """exp( - n v / b^2 h(b t / v) ), h(u) = (1 + u) log(1 + u) - u: never above Bernstein.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.theory import Bennett
    >>> one = np.ones(1)
    >>> Bennett()(0.1 * one, 100, variance=0.01 * one, above=one, width=one) < 9.7e-6
    array([ True])
    """

    def __call__(
        self, t: FloatArray, n: int, *, variance: FloatArray, above: FloatArray, width: FloatArray
    ) -> FloatArray:
        """The chance."""
        del width
        u = above * np.maximum(t, 0.0) / variance
        return np.exp(-n * variance / above**2 * ((1 + u) * np.log1p(u) - u))


@dataclass(frozen=True)
class Best:
    """The smallest of several bounds, all of which hold: no chance is paid for choosing.

    Examples
    --------
    >>> from shiftproof.theory import Best
    >>> Best()
    Best(of=(Hoeffding(), Bennett()))
    """

    of: tuple[Tail, ...] = (Hoeffding(), Bennett())

    def __call__(
        self, t: FloatArray, n: int, *, variance: FloatArray, above: FloatArray, width: FloatArray
    ) -> FloatArray:
        """The chance."""
        found = [tail(t, n, variance=variance, above=above, width=width) for tail in self.of]
        smallest: FloatArray = np.min(found, axis=0)
        return smallest
