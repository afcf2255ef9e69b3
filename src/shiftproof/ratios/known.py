"""Ratios that are known: no shift, a function, a column of weights, a pair of densities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.contracts import Assumption, Certainty
from shiftproof.errors import InputError
from shiftproof.ratios.plain import PlainRatio

#: Just below the log of 1e200, so that its exponential is a weight that may be used.
_LARGEST_LOG = float(np.nextafter(np.log(1e200), 0.0))


@dataclass(frozen=True)
class NoShift(PlainRatio):
    """w = 1: inputs in use have the law of the calibration inputs.

    Examples
    --------
    >>> import shiftproof as shp
    >>> shp.NoShift().weights([[1.0], [2.0]])
    array([1., 1.])
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """None are read."""
        return ()

    @property
    def assumption(self) -> Assumption:
        """That there is no shift."""
        return Assumption(
            Certainty.GIVEN_WEIGHTS, "inputs in use have the law of the calibration inputs (w = 1)"
        )

    def _ratio(self, table: Table) -> FloatArray:
        return np.ones(len(table))


@dataclass(frozen=True, eq=False)
class KnownRatio(PlainRatio):
    """w(x) as a function, up to one constant.

    Parameters
    ----------
    function : callable
        Gets the inputs as they came; or, where columns are named, one array for each of them.
    columns : sequence of names or positions, optional

    Examples
    --------
    >>> import numpy as np, pandas as pd, shiftproof as shp
    >>> x = pd.DataFrame({"power": [0.0, 1.0], "hour": [3, 4]})
    >>> shp.KnownRatio(lambda power: np.exp(2 * power), columns=["power"]).weights(x).round(3)
    array([1.   , 7.389])
    """

    function: Callable[..., ArrayLike]
    reads: tuple[Column, ...] | None

    def __init__(
        self, function: Callable[..., ArrayLike], columns: Sequence[Column] | None = None
    ) -> None:
        if not callable(function):
            raise InputError(
                "function",
                "a function of the inputs",
                type(function).__name__,
                "the weights of one sample are not enough: test points need theirs too; "
                "ColumnRatio reads weights that stand in the table",
            )
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "reads", column_names(columns))

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that were named."""
        return self.reads

    @property
    def assumption(self) -> Assumption:
        """That the function is right."""
        return Assumption(Certainty.GIVEN_WEIGHTS, "w(x) is the function that was given")

    def _ratio(self, table: Table) -> ArrayLike:
        if self.reads is None:
            return self.function(table.native())
        return self.function(*(table.column(name) for name in self.reads))


@dataclass(frozen=True)
class ColumnRatio(PlainRatio):
    """Weights that stand in the table already, in calibration and in use.

    Parameters
    ----------
    name : str or int
        The column, up to one constant for all tables.

    Examples
    --------
    >>> import pandas as pd, shiftproof as shp
    >>> shp.ColumnRatio("w").weights(pd.DataFrame({"x": [1, 2], "w": [0.5, 1.5]}))
    array([0.5, 1.5])
    """

    name: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        """The one column."""
        return (self.name,)

    @property
    def assumption(self) -> Assumption:
        """That the column is right."""
        return Assumption(
            Certainty.GIVEN_WEIGHTS,
            f"column {self.name!r} holds w(x), on one scale in every table",
        )

    def _ratio(self, table: Table) -> FloatArray:
        return table.numbers(self.name)


class Density(Protocol):
    """Anything with a log density, such as a frozen distribution of scipy.stats."""

    def logpdf(self, x: FloatArray, /) -> ArrayLike:
        """The log density at each row; -inf outside the support."""


@dataclass(frozen=True, eq=False)
class DensityRatio(PlainRatio):
    """w(x) = target density / source density, from any pair with `logpdf`.

    Parameters
    ----------
    target, source : objects with logpdf
        Called with an array (n,) where there is one column, else (n, d).
    columns : sequence of names or positions, optional
        Columns that the densities are of; all where left out.

    Examples
    --------
    >>> import shiftproof as shp
    >>> from scipy import stats
    >>> ratio = shp.DensityRatio(target=stats.uniform(0, 2), source=stats.uniform(0, 1))
    >>> ratio.weights([0.5, 1.5])  # the second lies outside the support of the source
    array([0.5, inf])
    """

    target: Density
    source: Density
    reads: tuple[Column, ...] | None

    def __init__(
        self, target: Density, source: Density, columns: Sequence[Column] | None = None
    ) -> None:
        for name, density in (("target", target), ("source", source)):
            if not callable(getattr(density, "logpdf", None)):
                got = type(density).__name__
                repair = "pass for example a frozen distribution of scipy.stats"
                raise InputError(name, "an object with logpdf", got, repair)
            object.__setattr__(self, name, density)
        object.__setattr__(self, "reads", column_names(columns))

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that were named."""
        return self.reads

    @property
    def assumption(self) -> Assumption:
        """That both densities are right."""
        return Assumption(Certainty.GIVEN_WEIGHTS, "both densities are right")

    def _ratio(self, table: Table) -> FloatArray:
        names = table.names if self.reads is None else self.reads
        if not names:
            raise InputError(table.what, "at least one column", "none", "pass the inputs")
        points = np.column_stack([table.numbers(name) for name in names])
        if len(names) == 1:
            points = points[:, 0]
        logs = [
            _checks.vector(
                f"logpdf of the {name}", _log_density(name, density, points), length=len(table)
            )
            for name, density in (("target", self.target), ("source", self.source))
        ]
        return ratio_of_logs(*logs)


def _log_density(name: str, density: Density, points: FloatArray) -> ArrayLike:
    try:
        return np.atleast_1d(density.logpdf(points))
    except (ValueError, TypeError) as cause:
        raise InputError(
            f"logpdf of the {name}",
            f"a density of points of shape {points.shape}",
            f"{type(cause).__name__}: {cause}",
            "name the columns that it is a density of",
        ) from cause


def ratio_of_logs(target: FloatArray, source: FloatArray) -> FloatArray:
    """exp(target - source): inf where only the target has mass, 0 where neither has any.

    A finite ratio beyond 1e200 counts as infinite: calibration weights are then lost in rounding.
    """
    with np.errstate(invalid="ignore"):
        difference = np.where(np.isneginf(target), -np.inf, target - source)
    ratio = np.full(len(difference), np.inf)
    small = difference <= _LARGEST_LOG
    ratio[small] = np.exp(difference[small])
    return ratio


def column_names(columns: Sequence[Column] | None) -> tuple[Column, ...] | None:
    """The columns as a tuple; a single name is an error: its letters would count as names."""
    if columns is None:
        return None
    if isinstance(columns, (str, int)):
        raise InputError("columns", "a sequence of names", repr(columns), f"pass [{columns!r}]")
    names = tuple(columns)
    if not names or len(set(names)) < len(names):
        got = repr(list(names)) if names else "none"
        raise InputError("columns", "names, each of them once", got, "leave it out to read all")
    return names
