"""A distribution over models as a predictor: a draw for each row, or the mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shiftproof._tables import Array, Table
from shiftproof._types import ArrayLike, IntArray, KeyArray
from shiftproof.contracts import Posterior
from shiftproof.errors import InputError
from shiftproof.keys import Draws
from shiftproof.predictors.models import answers, method_of


@dataclass(frozen=True, eq=False)
class Thompson:
    """Thompson sampling: each row is predicted by a model of its own, theta_i ~ Q.

    Given the training data the draws are independent of each other and of the rows, so the pairs
    of row and draw are as exchangeable as the rows: the promise of W-CRC holds with them. Rows of
    calibration and of prediction draw from separate streams. A seed is needed.

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

    posterior: Posterior

    def __post_init__(self) -> None:
        _posterior(self.posterior)

    @property
    def classes(self) -> ArrayLike | None:
        """The labels of the models."""
        return getattr(self.posterior, "classes", None)

    def values(self, table: Table, draws: Draws) -> Array:
        """Predictions, each by a model of its own."""
        return self._drawn(table, draws, "predict")

    def probabilities(self, table: Table, draws: Draws) -> Array:
        """Probabilities, each by a model of its own."""
        return self._drawn(table, draws, "predict_proba")

    def _drawn(self, table: Table, draws: Draws, method: str) -> Array:
        keys = draws.keys("predictor")
        return answers(self.posterior.draw(table.native(), keys, method), len(table))


@dataclass(frozen=True, eq=False)
class PosteriorMean:
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

    posterior: Posterior

    def __post_init__(self) -> None:
        _posterior(self.posterior)

    @property
    def classes(self) -> ArrayLike | None:
        """The labels of the models."""
        return getattr(self.posterior, "classes", None)

    def values(self, table: Table, draws: Draws) -> Array:
        """Mean predictions."""
        del draws
        return answers(self.posterior.mean(table.native(), "predict"), len(table))

    def probabilities(self, table: Table, draws: Draws) -> Array:
        """Mean probabilities."""
        del draws
        return answers(self.posterior.mean(table.native(), "predict_proba"), len(table))


@dataclass(frozen=True, eq=False)
class Snapshots:
    """Some models as a posterior: each is as likely as any other.

    Members of a forest or a bagging ensemble, snapshots of a Markov chain, networks from several
    starts. A row draws the index of its model; rows are grouped by index, so that each model
    answers once.

    Parameters
    ----------
    models : sequence of models, or a fitted ensemble of scikit-learn
        An ensemble gives its ``estimators_`` (each on its own columns, where it has any).

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
    labels: ArrayLike | None

    def __init__(self, models: Sequence[object] | object) -> None:
        ensemble = models
        found = getattr(ensemble, "estimators_", models)
        if isinstance(found, np.ndarray):
            found = found.ravel().tolist()
        if not isinstance(found, (list, tuple)) or not found:
            raise InputError(
                "models",
                "some models, or a fitted ensemble with estimators_",
                type(models).__name__ if found is not models or not found else f"{found!r:.40}",
                "for example Snapshots(forest.fit(X, y))",
            )
        if found is not models and not _averages(ensemble, found):
            raise InputError(
                "models",
                "an ensemble that averages its members",
                type(ensemble).__name__,
                "members of a boosted ensemble are steps and not models of their own",
            )
        for model in found:
            if not callable(model) and not hasattr(model, "predict"):
                got = type(model).__name__
                raise InputError("models", "fitted models or functions", got, "fit them first")
        columns = getattr(ensemble, "estimators_features_", None) or [None] * len(found)
        object.__setattr__(self, "models", tuple(found))
        object.__setattr__(self, "reads", tuple(columns))
        labels = getattr(ensemble if found is not models else found[0], "classes_", None)
        object.__setattr__(self, "labels", labels)

    def __len__(self) -> int:
        return len(self.models)

    @property
    def classes(self) -> ArrayLike | None:
        """The labels that columns of probabilities stand for."""
        return self.labels

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
        inputs = table.native()
        if hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_"):
            inputs = np.asarray(inputs)  # members of an ensemble were fitted to bare arrays
        if columns is not None and not np.array_equal(columns, range(len(table.names))):
            inputs = np.asarray(inputs)[:, columns]
        return answers(method_of(model, method)(inputs), len(table))


def _averages(ensemble: object, members: Sequence[object]) -> bool:
    """Whether members predict what the ensemble predicts, as in forests and bagging."""
    if type(ensemble).__name__.startswith(("GradientBoosting", "AdaBoost")):
        return False
    return all(hasattr(member, "predict") for member in members)


def _posterior(given: object) -> None:
    if not (hasattr(given, "draw") and hasattr(given, "mean")):
        raise InputError(
            "posterior",
            "something with draw(X, keys, method) and mean(X, method)",
            type(given).__name__,
            "for example Snapshots(models)",
        )
