"""What a unit is: inputs and labels are moved to a centre and divided by a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.errors import InputError


@dataclass(frozen=True, eq=False)
class Scaling:
    """(x - center) / scale, fixed from outside the training data.

    A prior in these units is free of the data, as certificates ask for, and nothing of the data
    leaks through them, as privacy asks for.

    Parameters
    ----------
    center, scale : float or array
        One number for all columns, or one for each.

    Examples
    --------
    >>> from shiftproof.bayes import Scaling
    >>> Scaling(center=10.0, scale=2.0).apply([[12.0, 9.0]])
    array([[ 1. , -0.5]])
    """

    center: FloatArray
    scale: FloatArray

    def __init__(self, center: ArrayLike, scale: ArrayLike) -> None:
        found = {
            "center": _checks.floats("center", center),
            "scale": _checks.floats("scale", scale),
        }
        for name, values in found.items():
            if values.ndim > 1:
                repair = "pass one number, or one for each column"
                raise InputError(name, "one dimension at most", f"shape {values.shape}", repair)
            _checks.demand(name, values, np.isfinite(values), "finite numbers", "say 0 and 1")
            object.__setattr__(self, name, values)
        repair = "leave out columns that never vary, or give them a scale of 1"
        _checks.demand("scale", self.scale, self.scale > 0, "numbers above 0", repair)

    def of(self, values: FloatArray, what: str) -> Scaling:
        """One centre and one scale for each column of `values`."""
        columns = values.shape[1]
        for name in ("center", "scale"):
            given = getattr(self, name)
            if given.shape not in ((), (1,), (columns,)):
                expected = f"one number or {columns}, one for each column of {what}"
                raise InputError(name, expected, f"shape {given.shape}", "pass one for each column")
        return Scaling(np.broadcast_to(self.center, columns), np.broadcast_to(self.scale, columns))

    def apply(self, values: ArrayLike) -> FloatArray:
        """Values in standard units."""
        return (np.asarray(values, dtype=np.float64) - self.center) / self.scale

    def undo(self, values: ArrayLike) -> FloatArray:
        """Standard units turned back."""
        return np.asarray(values, dtype=np.float64) * self.scale + self.center


@dataclass(frozen=True)
class ByColumn:
    """Each column by its own mean and standard deviation: for columns of different units.

    A column that never varies keeps its unit, so that it is 0 in training.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import ByColumn
    >>> ByColumn().of(np.array([[0.0, 5.0], [2.0, 5.0]]), "X").scale
    array([1., 1.])
    """

    def of(self, values: FloatArray, what: str) -> Scaling:
        """Means and standard deviations of the training rows."""
        del what
        return Scaling(values.mean(axis=0), _or_one(_deviation(values)))


@dataclass(frozen=True)
class Together:
    """Each column by its own mean, all by one scale: for columns of one unit, such as powers.

    Columns that hardly ever vary stay small, which division by their own deviation would undo.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import Together
    >>> Together().of(np.array([[0.0, 5.0], [2.0, 5.0]]), "X").scale.round(3)
    array([0.707, 0.707])
    """

    def of(self, values: FloatArray, what: str) -> Scaling:
        """Means, and the root mean square of all deviations."""
        del what
        scale = np.sqrt(np.mean(_deviation(values) ** 2))
        return Scaling(values.mean(axis=0), _or_one(np.full(values.shape[1], scale)))


Standard: TypeAlias = Scaling | ByColumn | Together


def checked(name: str, value: object) -> Standard:
    """A way to standard units, or an error that names those there are."""
    if not isinstance(value, (Scaling, ByColumn, Together)):
        got = getattr(value, "__name__", type(value).__name__)
        repair = "ByColumn() and Together() learn it, Scaling(center, scale) fixes it"
        raise InputError(name, "ByColumn, Together or Scaling", got, repair)
    return value


def _deviation(values: FloatArray) -> FloatArray:
    """Standard deviations, exactly 0 for columns of one value, which sums would not give."""
    deviation: FloatArray = np.where(np.ptp(values, axis=0) > 0, values.std(axis=0), 0.0)
    return deviation


def _or_one(scale: FloatArray) -> FloatArray:
    return np.where(scale > 0, scale, 1.0)
