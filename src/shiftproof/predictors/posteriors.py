"""A distribution over models as a predictor: a draw for each row, or the mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof._tables import Array, Column, Table
from shiftproof._types import ArrayLike, IntArray, KeyArray
from shiftproof.contracts import Posterior
from shiftproof.errors import InputError
from shiftproof.keys import Draws
from shiftproof.predictors.models import answers, method_of


@dataclass(frozen=True, eq=False)
class _OfPosterior(ABC):
    """A predictor that asks a posterior."""

    posterior: Posterior

    def __post_init__(self) -> None:
        if not (hasattr(self.posterior, "draw") and hasattr(self.posterior, "mean")):
            raise InputError(
                "posterior",
                "something with draw(X, keys, method) and mean(X, method)",
                type(self.posterior).__name__,
                "for example Snapshots(models)",
            )

    @property
    def classes(self) -> ArrayLike | None:
        """The labels of the models."""
        return getattr(self.posterior, "classes", None)

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that the models read by name, where the posterior says so."""
        return getattr(self.posterior, "columns", None)

    def values(self, table: Table, draws: Draws) -> Array:
        """Predictions, one row for each row of the table."""
        return answers(self._answer(table.native(), draws, "predict"), len(table))

    def probabilities(self, table: Table, draws: Draws) -> Array:
        """Probabilities, one row for each row of the table."""
        return answers(self._answer(table.native(), draws, "predict_proba"), len(table))

    @abstractmethod
    def _answer(self, inputs: object, draws: Draws, method: str) -> ArrayLike:
        """What the posterior says."""


@dataclass(frozen=True, eq=False)
class Thompson(_OfPosterior):
    """Thompson sampling: each row is predicted by a model of its own, theta_i ~ Q.

    Given the training data the draws are independent of each other and of the rows, so the pairs
    of row and draw are as exchangeable as the rows: the promise of W-CRC holds with them. Rows of
    calibration and of prediction draw from separate streams. A seed is needed; and rows that are
    served one by one need ids, or each would be row 0 and all would share one draw.

    Parameters
    ----------
    posterior : Posterior
        For example :class:`Snapshots`.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> posterior = shp.Snapshots([lambda x: x[:, 0], lambda x: 2 * x[:, 0]])
    >>> controller = shp.RiskController(shp.Thompson(posterior), shp.Intervals(), shp.Miscoverage())
    >>> x = np.arange(1.0, 9.0)[:, None]
    >>> calibrated = controller.calibrate(x, x[:, 0], seed=0)
    >>> calibrated.predict(x[:4], alpha=0.5).center.tolist()  # some rows drew the second model
    [2.0, 4.0, 3.0, 4.0]
    """

    def _answer(self, inputs: object, draws: Draws, method: str) -> ArrayLike:
        return self.posterior.draw(inputs, draws.keys("predictor"), method)


@dataclass(frozen=True, eq=False)
class PosteriorMean(_OfPosterior):
    """The mean prediction of a posterior: one fixed model, without draws.

    Parameters
    ----------
    posterior : Posterior

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> posterior = shp.Snapshots([lambda x: x[:, 0], lambda x: 2 * x[:, 0]])
    >>> controller = shp.RiskController(
    ...     shp.PosteriorMean(posterior), shp.Intervals(), shp.Miscoverage()
    ... )
    >>> x = np.arange(1.0, 9.0)[:, None]
    >>> controller.calibrate(x, x[:, 0]).predict(x[:2], alpha=0.5).center
    array([1.5, 3. ])
    """

    def _answer(self, inputs: object, draws: Draws, method: str) -> ArrayLike:
        del draws
        return self.posterior.mean(inputs, method)


@dataclass(frozen=True, eq=False)
class Snapshots:
    """Some models as a posterior: each is as likely as any other.

    Members of a forest or a bagging ensemble, snapshots of a Markov chain, networks from several
    starts. A row draws the index of its model; rows are grouped by index, so that each model
    answers once.

    Parameters
    ----------
    models : sequence of models, or a fitted forest or bagging ensemble of scikit-learn
        An ensemble gives its ``estimators_``, each with its own columns and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> forest = RandomForestRegressor(20, random_state=0).fit(x, x[:, 0])
    >>> trees = shp.Snapshots(forest)
    >>> len(trees), bool(np.allclose(trees.mean(x, "predict"), forest.predict(x)))
    (20, True)
    """

    models: tuple[object, ...]
    #: The columns that each model reads, by position; None for all.
    reads: tuple[IntArray | None, ...]
    #: The names that an ensemble was fitted with; None for positions.
    names: tuple[Column, ...] | None
    #: The classes of an ensemble, which its members know by position; None for models of their own.
    coded: Array | None
    labels: Array | None

    def __init__(self, models: Sequence[object] | object) -> None:
        members = getattr(models, "estimators_", None)
        found: Any = models if members is None else members
        if members is not None and not _averages(models):
            raise InputError(
                "models",
                "an ensemble that averages its members: a forest, or bagging",
                type(models).__name__,
                "members of others are steps or parts; models of their own go in as a list",
            )
        listed = isinstance(found, (list, tuple))
        if not listed or len(found) == 0:
            raise InputError(
                "models",
                "some models, or a fitted ensemble with estimators_",
                "none" if listed else type(found).__name__,
                "for example Snapshots(forest.fit(X, y))",
            )
        for model in found:
            if isinstance(model, type) or not (callable(model) or hasattr(model, "predict")):
                got = getattr(model, "__name__", type(model).__name__)
                raise InputError("models", "fitted models or functions", got, "fit them first")
        columns = getattr(models, "estimators_features_", None) or [None] * len(found)
        names = getattr(models, "feature_names_in_", None)
        coded = None if members is None else _classes_of(models)
        object.__setattr__(self, "models", tuple(found))
        object.__setattr__(self, "reads", tuple(columns))
        object.__setattr__(self, "names", None if names is None else tuple(map(str, names)))
        object.__setattr__(self, "coded", coded)
        object.__setattr__(self, "labels", _common_classes(found) if members is None else coded)

    def __len__(self) -> int:
        return len(self.models)

    @property
    def classes(self) -> ArrayLike | None:
        """The labels that columns of probabilities stand for."""
        return self.labels

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns that an ensemble was fitted to, if they had names."""
        return self.names

    def draw(self, X: object, keys: KeyArray, method: str) -> ArrayLike:
        """Each row by the model that its key points to.

        Examples
        --------
        >>> import numpy as np
        >>> import shiftproof as shp
        >>> from shiftproof.keys import row_keys
        >>> posterior = shp.Snapshots([lambda x: x[:, 0], lambda x: 2 * x[:, 0]])
        >>> posterior.draw(np.ones((6, 1)), row_keys(0, "prediction", 6), "predict").tolist()
        [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]
        """
        table = Table.of("X", X)
        index = np.asarray(keys, dtype=np.uint64) % np.uint64(len(self.models))
        answer: Array | None = None
        for member in np.unique(index).tolist():
            rows = np.flatnonzero(index == member)
            part = self._answer(member, table.take(rows), method)
            if answer is None:
                answer = np.empty((len(table), *part.shape[1:]))
            answer[rows] = part
        return np.empty(0) if answer is None else answer

    def mean(self, X: object, method: str) -> ArrayLike:
        """The mean over all models, for each row."""
        table = Table.of("X", X)
        total = sum(each for each in self._all(table, method))
        return np.asarray(total) / len(self.models)

    def _all(self, table: Table, method: str) -> Iterator[Array]:
        return (self._answer(member, table, method) for member in range(len(self.models)))

    def _answer(self, member: int, table: Table, method: str) -> Array:
        model, columns = self.models[member], self.reads[member]
        if table.is_named and self.names is not None:
            table = table.select(self.names)
        inputs = table.native()
        if hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_"):
            inputs = np.asarray(inputs)  # members of an ensemble were fitted to bare arrays
        if columns is not None and not np.array_equal(columns, range(len(table.names))):
            inputs = np.asarray(inputs)[:, columns]
        found = method_of(model, method)(inputs)
        if self.coded is not None:
            found = _decoded(np.asarray(found), method, model, self.coded)
        return answers(found, len(table))


def _averages(ensemble: object) -> bool:
    """Whether members predict what the ensemble predicts, as in forests and bagging."""
    kinds = {"ForestRegressor", "ForestClassifier", "BaggingRegressor", "BaggingClassifier"}
    return any(kind.__name__ in kinds for kind in type(ensemble).__mro__)


def _classes_of(model: object) -> Array | None:
    """The labels of a classifier of one output."""
    found = getattr(model, "classes_", None)
    return None if found is None or isinstance(found, list) else np.asarray(found)


def _common_classes(models: Sequence[object]) -> Array | None:
    """The labels of all models that say theirs; an error where columns would not match."""
    said = [found for found in map(_classes_of, models) if found is not None]
    if any(not np.array_equal(found, said[0]) for found in said):
        got = " and ".join(sorted({repr(found.tolist()) for found in said})[:2])
        repair = "fit each of them to examples of all classes"
        raise InputError("models", "classifiers of the same classes", got, repair)
    return said[0] if said else None


def _decoded(values: Array, method: str, member: Any, classes: Array) -> Array:
    """What a member says of positions, in classes: labels, or a column for each, 0 if unknown."""
    if method == "predict":
        labels: Array = classes[values.astype(np.int64)]
        return labels
    columns = np.zeros((len(values), len(classes)))
    columns[:, np.asarray(member.classes_).astype(np.int64)] = values
    return columns
