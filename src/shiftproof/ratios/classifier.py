"""Ratios from a classifier that tells source inputs from target inputs.

With n_s source and n_t target rows and p(x) the probability that a row is of the target,

    w(x) = p(x) / (1 - p(x)) n_s / n_t,        in logs:   log w = logit p + log(n_s / n_t).

It is a function of x, so that calibration and test points are weighed alike.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray, IntArray
from shiftproof.contracts import UP_TO_ITS_ERROR, Assumption, Certainty
from shiftproof.errors import InputError, ShiftproofError, ShiftWarning
from shiftproof.ratios.encoding import Columns, Encoder, Native
from shiftproof.ratios.known import column_names, ratio_of_logs
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger

#: From so many encoded columns on, boosted trees are nearer to the true ratio (benchmarks/ratios).
MANY_COLUMNS = 100

#: Below so many rows a fit stays on one core.
_SMALL = 20_000


@dataclass(frozen=True)
class ClassifierRatio:
    """A recipe: w(x) from the odds of a probabilistic classifier, source against target.

    Left out, the classifier is a logistic regression whose penalty is chosen by log loss, on
    standardised columns; and from a hundred columns on boosted trees with sigmoid calibration.
    A classifier of your own gets the same matrix (numbers standardised, gaps filled and marked,
    categories one-hot, rare ones pooled); a scikit-learn `Pipeline` gets the table itself. One
    that answers 0 or 1 on the rows it was fitted to, as trees and nearest neighbours do, is warned
    of: calibrate it, ``CalibratedClassifierCV(..., method="sigmoid")``.

    Parameters
    ----------
    classifier : scikit-learn classifier with predict_proba, optional
    columns : sequence of names or positions, optional
        The inputs to compare; all where left out.
    folds : int
        For the penalty, the calibration and the test for separable samples.
    seed : int

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(0, 1, (2000, 2)), rng.normal([0.5, 0], 1, (1000, 2))
    >>> ratio = shp.ClassifierRatio().fit(source, target)
    >>> ratio.weights([[0.0, 0.0], [1.0, 0.0]]).round(2)  # in truth .88 and 1.45
    array([0.87, 1.51])
    """

    classifier: Any = None
    columns: Sequence[Column] | None = None
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        given = self.classifier
        usable = hasattr(given, "fit") and hasattr(given, "get_params")
        if given is not None and (not usable or isinstance(given, type)):
            raise InputError(
                "classifier",
                "a scikit-learn classifier",
                type(given).__name__,
                "for example LogisticRegression()",
            )
        if given is not None and not hasattr(given, "predict_proba"):
            raise InputError(
                "classifier",
                "a classifier with predict_proba",
                type(given).__name__,
                "wrap it in CalibratedClassifierCV(..., method='sigmoid')",
            )
        object.__setattr__(self, "columns", column_names(self.columns))
        _checks.whole("folds", self.folds, 2, "say 5")
        _checks.seed(self.seed)

    def fit(self, source: object, target: object) -> FittedClassifierRatio:
        """Fit the classifier to inputs from both distributions, labels not needed.

        Parameters
        ----------
        source : table or array (n_s, d)
            Inputs from P, best others than those that calibrate.
        target : table or array (n_t, d)
            Inputs from P'.
        """
        tables = Table.of("source", source), Table.of("target", target)
        return self.fit_as(Columns.of(*tables, self.columns), *tables)

    def fit_as(self, columns: Columns, source: Table, target: Table) -> FittedClassifierRatio:
        """As :meth:`fit`, where it is known already what the columns hold."""
        tables = source, target
        for table in tables:
            if len(table) < self.folds:
                raise InputError(
                    table.what,
                    f"at least {self.folds} rows, one for each fold",
                    f"{len(table)}",
                    "pass more inputs, or fewer folds",
                )
        features = self._features(columns, tables)
        matrix = _stacked([features(table) for table in tables])
        is_target = np.repeat([0, 1], [len(table) for table in tables])
        # Trees on a small sample gain nothing from threads, and crawl where cores are shared.
        threads = 1 if len(is_target) < _SMALL else None
        with threadpool_limits(limits=threads, user_api="openmp"):
            model = self._fitted(self._model(matrix), matrix, is_target)
            odds = _log_odds(model, matrix)
            self._demand_overlap(model, odds, matrix, is_target)
        ledger = Ledger(columns.names).plus(ratio_source=tables[0], ratio_target=tables[1])
        sizes = len(tables[0]), len(tables[1])
        cautions = (*_cautions_of(columns, *tables), *_cautions_of_odds(model, odds))
        return FittedClassifierRatio(model, features, columns, sizes, ledger, cautions)

    def _features(self, columns: Columns, tables: Sequence[Table]) -> Any:
        return (
            Native(columns)
            if isinstance(self.classifier, Pipeline)
            else Encoder.of(columns, tables)
        )

    def _model(self, matrix: Any) -> Any:
        """A fresh classifier; by default the one that suits the number of columns."""
        if self.classifier is not None:
            return clone(self.classifier)
        folds = StratifiedKFold(self.folds, shuffle=True, random_state=self.seed)
        if matrix.shape[1] < MANY_COLUMNS:
            return LogisticRegressionCV(
                Cs=10,
                scoring="neg_log_loss",
                cv=folds,
                max_iter=1000,
                use_legacy_attributes=False,
                l1_ratios=(0.0,),
            )
        trees = HistGradientBoostingClassifier(random_state=self.seed)
        return CalibratedClassifierCV(trees, method="sigmoid", cv=folds)

    def _fitted(self, model: Any, matrix: Any, is_target: IntArray) -> Any:
        try:
            return model.fit(matrix, is_target)
        except ShiftproofError:
            raise
        except (ValueError, TypeError) as cause:
            raise _unfit(model, cause) from cause

    def _demand_overlap(
        self, model: Any, odds: FloatArray, matrix: Any, is_target: IntArray
    ) -> None:
        """Raise where even rows that were held out are told apart without error."""
        if auc(odds, is_target) < 1:
            return
        # Calibration changes no order, and so no such error: what is calibrated is tried alone.
        alone = model.estimator if isinstance(model, CalibratedClassifierCV) else model
        try:
            held_out = out_of_fold_log_odds(alone, matrix, is_target, self.folds, self.seed)
        except (ValueError, TypeError) as cause:
            raise _unfit(model, cause) from cause
        if auc(held_out, is_target) == 1:
            raise InputError(
                "source and target",
                "samples that overlap",
                "samples that the classifier tells apart without a single error",
                "no weighting leads from one to the other: leave out the column that separates "
                "them (a time, an id), or state the ratio there",
            )


@dataclass(frozen=True, eq=False)
class FittedClassifierRatio(PlainRatio):
    """w(x) by a fitted classifier, made by :class:`ClassifierRatio`."""

    model: BaseEstimator
    features: Encoder | Native
    reads: Columns
    sizes: tuple[int, int]
    made_from: Ledger
    cautions: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The inputs that were compared."""
        return self.reads.names

    @property
    def ledger(self) -> Ledger:
        """The rows of both samples."""
        return self.made_from

    @property
    def assumption(self) -> Assumption:
        """That the odds are right."""
        n_source, n_target = self.sizes
        return Assumption(
            Certainty.ESTIMATED,
            f"w(x) by {type(self.model).__name__} from {n_source} source, {n_target} target rows",
            UP_TO_ITS_ERROR,
            cautions=self.cautions,
        )

    def settled(self) -> ClassifierRatio:
        """A recipe that fits as this ratio was fitted, its penalty no longer chosen but kept."""
        chosen = self.model
        if isinstance(chosen, LogisticRegressionCV):
            chosen = LogisticRegression(C=float(np.ravel(chosen.C_)[0]), max_iter=1000)
        return ClassifierRatio(clone(chosen), self.columns)

    def log_weights(self, table: Table) -> FloatArray:
        """Log w = logit p + log(n_s / n_t) for each row."""
        return _log_odds(self.model, self.features(table)) + math.log(self.sizes[0] / self.sizes[1])

    def _ratio(self, table: Table) -> FloatArray:
        logs = self.log_weights(table)
        return ratio_of_logs(logs, np.zeros_like(logs))


def _cautions_of(columns: Columns, source: Table, target: Table) -> tuple[str, ...]:
    """A sentence on categories that only the target shows."""
    alone = ", ".join(columns.only_in(source, target)[:5])
    return (f"only in the target, where the ratio is a guess: {alone}",) if alone else ()


def _cautions_of_odds(model: Any, odds: FloatArray) -> tuple[str, ...]:
    """A sentence, and a warning, on rows that the classifier claims to be sure of."""
    sure = int(np.isinf(odds).sum())
    if not sure:
        return ()
    caution = (
        f"{type(model).__name__} gives {sure} of the {len(odds)} rows that it was fitted to a "
        "probability of exactly 0 or 1, so a ratio of 0 or infinity: wrap it in "
        "CalibratedClassifierCV(..., method='sigmoid')"
    )
    warnings.warn(caution, ShiftWarning, stacklevel=4)
    return (caution,)


def _unfit(model: Any, cause: Exception) -> InputError:
    return InputError(
        "classifier",
        "one that can be fitted to these inputs",
        f"{type(cause).__name__} from {type(model).__name__}: {cause}",
        "mend the inputs, or put the classifier into a Pipeline that prepares them",
    )


def out_of_fold_log_odds(
    model: Any, matrix: Any, is_target: IntArray, folds: int, seed: int
) -> FloatArray:
    """The log odds of each row by a classifier that never saw it."""
    odds = np.empty(len(is_target))
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for kept, left in parts.split(np.zeros(len(is_target)), is_target):
        fresh = clone(model).fit(_rows(matrix, kept), is_target[kept])
        odds[left] = _log_odds(fresh, _rows(matrix, left))
    return odds


def auc(scores: FloatArray, is_target: IntArray, weights: FloatArray | None = None) -> float:
    """The chance that a target row scores higher than a source row, ties half; rows weighed."""
    finite = np.clip(scores, -1e300, 1e300)
    return float(roc_auc_score(is_target, finite, sample_weight=weights))


def _log_odds(model: Any, matrix: Any) -> FloatArray:
    """Log p / (1 - p): the linear score of a logistic regression, else from probabilities."""
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, (LogisticRegression, LogisticRegressionCV)):
        odds: FloatArray = model.decision_function(matrix)
        return odds
    probability = np.asarray(model.predict_proba(matrix), dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probability[:, 1]) - np.log(probability[:, 0]))


def _stacked(parts: Sequence[Any]) -> Any:
    """The rows of all parts, in one object of their kind."""
    if isinstance(parts[0], np.ndarray):
        return np.vstack(parts)
    return nw.concat([nw.from_native(part) for part in parts]).to_native()


def _rows(matrix: Any, index: IntArray) -> Any:
    return Table.of("rows", matrix).take(index).native()
