"""Models of any library behind one face: with predict, with predict_proba, or plain functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof._tables import Array, Column, Table, numbers_in
from shiftproof._types import ArrayLike
from shiftproof.contracts import Predictor
from shiftproof.errors import InputError
from shiftproof.keys import Draws

_METHODS = ("predict", "predict_proba")


def predictor_of(model: object) -> Predictor:
    """A predictor from whatever the user has.

    Parameters
    ----------
    model : object
        Something with ``predict`` or ``predict_proba`` (scikit-learn), a function from the inputs,
        as they came, to an array with one row each (torch, jax), or one of :class:`Columns`,
        :class:`OnColumns`, :class:`Thompson` and :class:`PosteriorMean`.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof._tables import Table
    >>> from shiftproof.keys import Draws
    >>> from shiftproof.predictors.models import predictor_of
    >>> double = predictor_of(lambda x: 2 * x[:, 0])
    >>> double.values(Table.of("X", np.array([[1.0], [3.0]])), Draws("prediction", 2))
    array([2., 6.])
    """
    if isinstance(model, type):
        repair = "pass an instance that has been fitted"
        raise InputError("predictor", "a fitted model", f"the class {model.__name__}", repair)
    if isinstance(model, Predictor):
        return model
    if hasattr(model, "draw") and hasattr(model, "mean"):
        raise InputError(
            "predictor",
            "a predictor",
            f"a posterior ({type(model).__name__})",
            "say how it predicts: Thompson(posterior) draws a model for each row, "
            "PosteriorMean(posterior) takes the mean of all",
        )
    if any(hasattr(model, method) for method in _METHODS):
        return Model(model)
    if callable(model):
        return Function(model)
    raise InputError(
        "predictor",
        "something with predict or predict_proba, a function of the inputs, or Columns",
        type(model).__name__,
        "fit a model first; Columns('prediction') reads predictions that stand in the table",
    )


@dataclass(frozen=True, eq=False)
class Model:
    """An object with ``predict`` or ``predict_proba``."""

    model: Any

    @property
    def classes(self) -> ArrayLike | None:
        """The labels of a classifier."""
        found = getattr(self.model, "classes_", None)
        return None if isinstance(found, list) else found

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that it was fitted to, if they had names."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def values(self, table: Table, draws: Draws) -> Array:
        """What ``predict`` says."""
        del draws
        return answers(self._method("predict")(self._inputs(table)), len(table))

    def probabilities(self, table: Table, draws: Draws) -> Array:
        """What ``predict_proba`` says."""
        del draws
        return answers(self._method("predict_proba")(self._inputs(table)), len(table))

    def _inputs(self, table: Table) -> object:
        """The columns by name, in the order of fitting: others are none of its business."""
        known = self.columns if table.is_named else None
        return table.native() if known is None else table.select(known).native()

    def _method(self, name: str) -> Callable[[object], ArrayLike]:
        return method_of(self.model, name)


@dataclass(frozen=True, eq=False)
class Function:
    """A function from inputs to predictions."""

    function: Callable[..., ArrayLike]

    @property
    def classes(self) -> None:
        """A function does not say."""

    @property
    def columns(self) -> None:
        """A function may read all."""

    def values(self, table: Table, draws: Draws) -> Array:
        """What it says."""
        del draws
        return answers(self.function(table.native()), len(table))

    probabilities = values


@dataclass(frozen=True, eq=False)
class Columns:
    """Predictions that stand in the table already, by a model in any language.

    Parameters
    ----------
    *names : str or int
        The columns: one for a number, several for points, quantiles or probabilities.

    Examples
    --------
    >>> import pandas as pd
    >>> import shiftproof as shp
    >>> table = pd.DataFrame({"east": [0.0, 3.0], "north": [1.0, 4.0], "stations": ["on", "off"]})
    >>> controller = shp.RiskController(
    ...     shp.Columns("east", "north"), shp.Balls(shp.Box([0, 0], [10, 10])), shp.Distance()
    ... )
    >>> calibrated = controller.calibrate(table, [[0.0, 2.0], [3.0, 8.0]])
    >>> calibrated.predict(table, alpha=4.0).radii.round(3)
    array([2.727, 0.74 ])
    """

    names: tuple[Column, ...]

    def __init__(self, *names: Column) -> None:
        object.__setattr__(self, "names", _names(names))

    @property
    def classes(self) -> None:
        """Columns do not say which labels they stand for."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns themselves."""
        return self.names

    def values(self, table: Table, draws: Draws) -> Array:
        """The columns, side by side; one column as a vector."""
        del draws
        table.require(self.names)
        found = [table.numbers(name) for name in self.names]
        return answers(found[0] if len(found) == 1 else np.column_stack(found), len(table))

    probabilities = values


@dataclass(frozen=True, eq=False)
class OnColumns:
    """A model that gets some columns of the table only.

    The table may then hold what the ratio reads and the model does not know.

    Parameters
    ----------
    model : object
        Anything that predicts.
    names : sequence of str or int

    Examples
    --------
    >>> import pandas as pd
    >>> import shiftproof as shp
    >>> table = pd.DataFrame({"x": [1.0, 2.0], "w": [0.5, 1.5]})
    >>> predictor = shp.OnColumns(lambda part: part["x"] * 10, ["x"])
    >>> predictor.predict(table)
    array([10., 20.])
    """

    model: Predictor
    names: tuple[Column, ...]

    def __init__(self, model: object, names: Sequence[Column]) -> None:
        if isinstance(names, str):
            raise InputError("names", "a sequence of names", repr(names), f"pass [{names!r}]")
        object.__setattr__(self, "model", predictor_of(model))
        object.__setattr__(self, "names", _names(tuple(names)))

    @property
    def classes(self) -> ArrayLike | None:
        """The labels of the model."""
        return self.model.classes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those that the model gets."""
        return self.names

    def predict(self, X: object) -> Array:
        """What the model says of these columns of a table."""
        table = Table.of("X", X)
        return self.values(table, Draws("prediction", len(table)))

    def values(self, table: Table, draws: Draws) -> Array:
        """Predictions from the columns."""
        return self.model.values(table.select(self.names), draws)

    def probabilities(self, table: Table, draws: Draws) -> Array:
        """Probabilities from the columns."""
        return self.model.probabilities(table.select(self.names), draws)


def method_of(model: object, name: str) -> Callable[[object], ArrayLike]:
    """A method of a model; a function of inputs serves for every method."""
    found = getattr(model, name, None)
    if found is None and callable(model) and not any(hasattr(model, each) for each in _METHODS):
        found = model
    if found is None:
        raise InputError(
            "predictor",
            f"a model with {name}, which these sets are built from",
            type(model).__name__,
            "pass another model, or a function from inputs to what is needed",
        )
    usable: Callable[[object], ArrayLike] = found
    return usable


def answers(values: ArrayLike, rows: int) -> Array:
    """Predictions as an array of finite numbers with one row for each input.

    A list of arrays, one for each label, as multi-output classifiers of scikit-learn give them,
    becomes one column for each label: the probability of the second of its two classes.
    """
    if np.ma.is_masked(values):
        repair = "a masked prediction is none: fill it"
        raise InputError("predictions", "no masked entries", "a masked array", repair)
    try:
        found = np.asarray(_by_label(values, rows))
    except ValueError as cause:
        raise InputError(
            "predictions",
            f"an array of {rows} rows, or two columns for each label",
            "arrays of different shapes",
            "a label that never varies in training has one column: leave it out",
        ) from cause
    if found.dtype == object:  # columns of a table may hold numbers as Python objects
        plain = numbers_in(found.ravel())
        found = found if plain is None else plain.reshape(found.shape)
    if found.dtype.kind not in "fiub":
        raise InputError(
            "predictions",
            "numbers",
            f"dtype {found.dtype}",
            "sets are built from numbers: for labels of classes pass probabilities",
        )
    if found.ndim == 0 or len(found) != rows:
        raise InputError(
            "predictions",
            f"{rows} rows, one for each input",
            f"shape {found.shape}",
            "the model has to answer for every row, in the same order",
        )
    numbers = found.astype(np.float64, copy=False)
    bad = int(numbers.size - np.count_nonzero(np.isfinite(numbers)))
    if bad:
        raise InputError(
            "predictions", "finite numbers", f"{bad} that are not", "mend the model or its inputs"
        )
    return numbers


def _by_label(values: Any, rows: int) -> Any:
    if not isinstance(values, list) or not values:
        return values
    if not all(hasattr(part, "shape") and part.shape == (rows, 2) for part in values):
        return values
    return np.column_stack([np.asarray(part)[:, 1] for part in values])


def _names(names: tuple[Column, ...]) -> tuple[Column, ...]:
    usable = all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names)
    if not names or not usable or len(set(names)) < len(names):
        expected = "names of columns, each of them once"
        raise InputError("names", expected, repr(list(names)), "for example Columns('prediction')")
    return names
