"""The parts behind the face of scikit-learn: fit, conformalize, predict, predict_set.

Nothing is calculated here. An adapter fits the estimator and, where the ratio is a recipe, the
ratio; a :class:`~shiftproof.RiskController` does the rest, and stands in ``calibrated_``.

Which rows serve for what:

====================  ==========================================================================
rows of ``fit``       train the estimator; their inputs are the source sample of a ratio recipe
rows of               calibrate. They must have the law of the rows of ``fit`` where a recipe
``conformalize``      learns from these, and be none of them
``X_target``          unlabelled inputs from where the sets are used: the target sample of a recipe
``X_source``          the source sample, where the rows of ``fit`` have another law
====================  ==========================================================================

A ratio that learns from the rows of ``fit`` does not depend on the calibration rows, as the promise
wants it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from shiftproof import _checks
from shiftproof._tables import Array, Column, Table
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.contracts import Assumption, Family, Loss, Ratio, WorstCase
from shiftproof.controller import Prepared, RiskController
from shiftproof.errors import InputError
from shiftproof.keys import PREDICTION, Draws
from shiftproof.losses.miscoverage import Miscoverage
from shiftproof.predictors.models import predictor_of
from shiftproof.ratios.crossfit import demand_recipe
from shiftproof.ratios.known import NoShift
from shiftproof.ratios.roles import Ledger, note_calibration, row_digests
from shiftproof.ratios.same_law import warn_of_two_laws
from shiftproof.sets.entries import EntryNest
from shiftproof.sets.intervals import Intervals, Quantiles
from shiftproof.sets.labels import LabelSets
from shiftproof.worst_case import Pointwise

__all__ = ["Classifier", "Regressor"]

_TAKEN_FOR_GRANTED = "taken to have the law of the calibration inputs"

_NOT_CONFORMALIZED = (
    "This %(name)s instance is fitted but not conformalized yet. Call 'conformalize' with labelled "
    "rows that 'fit' has not seen; every 'fit' asks for it again."
)


class _Adapter(MetaEstimatorMixin, BaseEstimator, ABC):  # type: ignore[misc] # carries no types
    """What both adapters share."""

    def __init__(
        self,
        estimator: Any,
        *,
        sets: Family | None = None,
        loss: Loss | None = None,
        ratio: Any = None,
        worst_case: WorstCase | None = None,
        seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.sets = sets
        self.loss = loss
        self.ratio = ratio
        self.worst_case = worst_case
        self.seed = seed

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a clone of the estimator; what was conformalized before is void.

        Parameters
        ----------
        X : table or array (n, d)
            pandas, polars, arrow or numpy; the estimator gets it as it came.
        y : array
            Labels.
        **fit_params
            For the ``fit`` of the estimator, such as ``sample_weight``; routed where scikit-learn's
            metadata routing is enabled, passed on as they are where not.
        """
        self._demand_estimator()
        self._controller(self.estimator, NoShift())  # parts that do not fit are refused first
        _demand_ratio(self._ratio)
        _demand_dense(X)
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        fitted = clone(self.estimator).fit(X, y, **fit_params)
        table = Table.of("X", X)
        trains = not isinstance(self.estimator, FrozenEstimator)
        ledger = Ledger().plus(training=_rows(table, y)) if trains else Ledger()
        source = None if _is_ready(self._ratio) else table.copied()

        validate_data(self, X, skip_check_array=True)
        self.estimator_, self.ledger_, self.source_ = fitted, ledger, source
        for name in ("calibrated_", "ratio_", "assumption_"):
            if hasattr(self, name):
                delattr(self, name)
        return self

    def conformalize(
        self,
        X: Any,
        y: Any,
        X_target: Any = None,
        *,
        X_source: Any = None,
        ids: ArrayLike | None = None,
        keep: Sequence[Column] = (),
    ) -> Self:
        """Calibrate on labelled rows that `fit` has not seen.

        Parameters
        ----------
        X : table or array (n, d)
            Inputs from P; the ratio reads them as they are, whatever the estimator makes of them.
        y : array
            Labels.
        X_target : table or array (m, d)
            Unlabelled inputs from P', for a ratio that is a recipe; others take none.
        X_source : table or array, optional
            Inputs from P for the recipe, other rows than those of `X`; the inputs of `fit` where
            left out.
        ids : array, optional
            The identity of each row, where scores are drawn at random; 0, 1, ... where left out.
        keep : sequence of names, optional
            Columns to keep for ``calibrated_.under``, besides those that the ratio reads.
        """
        check_is_fitted(self, "estimator_")
        table = self._table(X)
        _checks.same_rows("labels", len(Table.of("labels", y)), len(table))
        if self.ledger_.digests:
            note_calibration(self.ledger_, Table.of("calibration", _rows(table, y)))
        ratio, cautions = self._fitted_ratio(table, X_target, X_source)
        controller = self._controller(self.estimator_, ratio)
        calibrated = controller.calibrate(table, y, seed=self.seed, ids=ids, keep=keep)

        self.calibrated_, self.ratio_ = replace(calibrated, cautions=cautions), ratio
        self.assumption_: Assumption = self.calibrated_.assumption
        return self

    def predict(self, X: Any) -> Any:
        """What the estimator predicts; needs no calibration."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    def predict_set(self, X: Any, alpha: ArrayLike, *, ids: ArrayLike | None = None) -> Any:
        """Sets that keep alpha on average over calibration draws and points from P'.

        Parameters
        ----------
        X : table or array (m, d)
        alpha : float or sequence of floats
            The level, in units of the loss; of several levels each gives its own sets. (A level for
            each row is for ``calibrated_.predict``.)
        ids : array, optional
            The identity of each row, where scores are drawn at random.

        Returns
        -------
        sets, or a list of them where there are several levels
        """
        prepared, levels = self._prepared(X, alpha, ids)
        found = [prepared.sets(level) for level in levels.ravel()]
        return found if levels.ndim else found[0]

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of ``fit`` goes to the estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = replace(inner.input_tags, one_d_array=False, sparse=False)
        tags.target_tags = inner.target_tags
        tags.non_deterministic = inner.non_deterministic
        tags.no_validation = inner.no_validation
        return tags

    def _demand_estimator(self) -> None:
        """Raise unless there is something to clone, fit and ask."""
        for method in ("fit", "predict", "get_params"):
            if isinstance(self.estimator, type) or not hasattr(self.estimator, method):
                raise InputError(
                    "estimator",
                    f"an estimator of scikit-learn, with {method}",
                    getattr(self.estimator, "__name__", type(self.estimator).__name__),
                    "models of other libraries go into shiftproof.RiskController as they are",
                )

    @abstractmethod
    def _family(self) -> Family:
        """The sets that were asked for."""

    @abstractmethod
    def _demand_sets(self, family: Family) -> None:
        """Raise for sets of the other adapter."""

    @property
    def _ratio(self) -> Any:
        return NoShift() if self.ratio is None else self.ratio

    def _controller(self, predictor: Any, ratio: Ratio[Any]) -> RiskController:
        controller = RiskController(
            predictor,
            self._family(),
            Miscoverage() if self.loss is None else self.loss,
            ratio,
            Pointwise() if self.worst_case is None else self.worst_case,
        )
        self._demand_sets(controller.sets)
        return controller

    def _table(self, X: Any) -> Table:
        """Inputs with the columns of `fit`, in their order."""
        _demand_dense(X)
        table = Table.of("X", X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return table

    def _fitted_ratio(
        self, table: Table, X_target: Any, X_source: Any
    ) -> tuple[Ratio[Any], tuple[str, ...]]:
        """The ratio, fitted where it is a recipe; and what a reader has to know of its source."""
        recipe = self._ratio
        name = type(recipe).__name__
        _demand_ratio(recipe)
        if _is_ready(recipe):
            for role, given in (("X_target", X_target), ("X_source", X_source)):
                if given is not None:
                    raise InputError(
                        role,
                        f"none, as the ratio, {name}, is not fitted to inputs",
                        type(given).__name__,
                        "pass a recipe, for example ratio=ClassifierRatio(), to learn the shift "
                        "from inputs",
                    )
            return recipe, ()
        if X_target is None:
            raise InputError(
                "X_target",
                f"inputs from where the sets will be used, for {name}",
                "none",
                "conformalize(X, y, X_target), no labels needed",
            )
        if X_source is None and self.source_ is None:
            raise InputError(
                "X_source",
                f"inputs for {name} from the law of the calibration inputs",
                "none, and those of fit were not kept, as the ratio was no recipe then",
                "fit again, or pass X_source",
            )
        source = self.source_ if X_source is None else X_source
        ratio = recipe.fit(source, X_target)
        _demand_other_rows(ratio, Table.of("source", source), Table.of("target", X_target), table)
        told = warn_of_two_laws(Table.of("source", source), table, ratio.columns or None)
        where = "the inputs of fit" if X_source is None else "X_source"
        return ratio, (f"the source sample is {where}, {_TAKEN_FOR_GRANTED}", *told)

    def _prepared(
        self, X: Any, alpha: ArrayLike, ids: ArrayLike | None
    ) -> tuple[Prepared, FloatArray]:
        """Points with their predictions, and levels that can be kept."""
        check_is_fitted(self, "estimator_")
        check_is_fitted(self, "calibrated_", msg=_NOT_CONFORMALIZED)
        levels = _checks.risk_level(alpha, self.calibrated_.losses.bound)
        if levels.ndim > 1 or not levels.size:
            raise InputError(
                "alpha", "a level, or a list of levels", f"shape {levels.shape}", "pass 0.1, say"
            )
        return self.calibrated_.prepare(self._table(X), ids=ids), levels


class Regressor(RegressorMixin, _Adapter):  # type: ignore[misc] # carries no types
    """A regressor of scikit-learn whose sets keep their promise under a shift of inputs.

    ``fit`` trains the estimator, ``conformalize`` calibrates on other rows, ``predict_set`` and
    ``predict_interval`` give sets with E[loss] <= alpha in use, on average over calibration draws
    and test points, if the ratio is right and the law of the label given the input has not moved.
    ``predict`` is the estimator's own; where it predicts pairs of quantiles, the middle of each.

    Parameters
    ----------
    estimator : scikit-learn regressor
        A pipeline, a search, anything with fit and predict. A model that is trained already goes in
        as ``sklearn.frozen.FrozenEstimator(model)``; ``fit`` then only notes the inputs, and that
        no calibration row trained the model is for you to see to.
    sets : Intervals or Balls
        ``Intervals()``, around the prediction, where left out.
    loss : Miscoverage, Distance or MonotoneLoss
        ``Miscoverage()`` where left out: alpha is then 1 less the confidence level.
    ratio : Ratio, or a recipe with fit(source, target)
        No shift where left out. A recipe such as ``ClassifierRatio()`` is fitted by
        ``conformalize(X, y, X_target)``, with the inputs of ``fit`` as source sample.
    worst_case : Constant, Pointwise or Directional
        ``Pointwise()`` where left out.
    seed : int, optional
        For what draws at random when sets are made; the estimator has its own.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    ratio_ : Ratio
        The ratio in use, fitted where it was a recipe.
    calibrated_ : Calibrated
        For all else: ``evaluate``, ``explain``, ``prepare``, ``under``.
    assumption_ : Assumption
        What the promise rests on, the source sample of the ratio among it.
    ledger_ : Ledger
        Digests of the rows that trained, with their labels. Calibration rows that are the same are
        refused, and warned of where some are.
    source_ : table or array
        A copy of the inputs of ``fit``, where the ratio is a recipe; else None.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    The first input moves from N(0, 1) to N(1, 1), where errors are larger:

    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> def rows(count, shift):
    ...     x = rng.normal([shift, 0], 1, (count, 2))
    ...     return x, x[:, 0] + np.exp(x[:, 0] / 2) * rng.normal(size=count)
    >>> training, calibration, (x_new, y_new) = rows(500, 0), rows(2000, 0), rows(2000, 1)
    >>> model = shp.sklearn.Regressor(Ridge(), ratio=shp.ClassifierRatio())
    >>> model = model.fit(*training).conformalize(*calibration, X_target=rows(2000, 1)[0])
    >>> y_pred, intervals = model.predict_interval(x_new, alpha=[0.1, 0.2])
    >>> intervals.shape
    (2000, 2, 2)
    >>> print(model.calibrated_.evaluate(x_new, y_new, alpha=0.1).risk)
    0.079 [0.0676, 0.0917] mean loss (certified at 1 - delta)
    >>> print(model.calibrated_.under(shp.NoShift()).evaluate(x_new, y_new, alpha=0.1).risk)
    0.2575 [0.238, 0.277] mean loss (certified at 1 - delta)
    """

    def predict(self, X: Any) -> Any:
        """What the estimator predicts; the middle of pairs of quantiles. Needs no calibration."""
        check_is_fitted(self, "estimator_")
        family = self._family()
        if not isinstance(getattr(family, "score", None), Quantiles):
            return super().predict(X)
        table = self._table(X)
        draws = Draws(PREDICTION, len(table), self.seed)
        nest: Any = family.nest(predictor_of(self.estimator_), table, draws)
        return nest.middle

    def predict_interval(
        self, X: Any, alpha: ArrayLike, *, ids: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Points and the ends of their intervals, for sets that are intervals.

        Parameters
        ----------
        X : table or array (m, d)
        alpha : float or sequence of k floats
            As in ``predict_set``; for ``Miscoverage`` 1 less the confidence level.
        ids : array, optional
            The identity of each row, where something is drawn at random.

        Returns
        -------
        y : array (m,)
            The centres: predictions moved into the range of labels; the middle of quantile pairs.
        intervals : array (m, 2, k)
            Lower and upper ends, infinite where no threshold meets alpha and labels have no end.
        """
        check_is_fitted(self, "estimator_")
        check_is_fitted(self, "calibrated_", msg=_NOT_CONFORMALIZED)
        family = self.calibrated_.controller.sets
        if not hasattr(family.makes, "ends"):
            raise InputError(
                "sets",
                "Intervals, which alone have two ends",
                type(family).__name__,
                "predict_set gives sets of any family",
            )
        prepared, levels = self._prepared(X, alpha, ids)
        found = [prepared.sets(level) for level in levels.ravel()]
        ends = [np.column_stack([sets.lower, sets.upper]) for sets in found]
        return found[0].center, np.stack(ends, axis=2)

    def _demand_estimator(self) -> None:
        super()._demand_estimator()
        if is_classifier(self.estimator):
            name = type(self.estimator).__name__
            raise InputError("estimator", "a regressor", f"{name}, a classifier", "use Classifier")

    def _family(self) -> Family:
        return Intervals() if self.sets is None else self.sets

    def _demand_sets(self, family: Family) -> None:
        if issubclass(family.makes, EntryNest):
            name = type(family).__name__
            raise InputError("sets", "Intervals or Balls, around points", name, "use Classifier")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.regressor_tags = inner.regressor_tags or tags.regressor_tags
        return tags


class Classifier(ClassifierMixin, _Adapter):  # type: ignore[misc] # carries no types
    """A classifier of scikit-learn whose sets of classes keep their promise under a shift.

    As :class:`Regressor`, with sets of classes; ``predict`` and ``predict_proba`` are the
    estimator's own.

    Parameters
    ----------
    estimator : scikit-learn classifier with predict_proba
    sets : LabelSets or Masks
        ``LabelSets()``, with the score ``LAC()``, where left out.
    loss : Miscoverage, FalseNegativeRate, MonotoneLoss or Monotonized
        ``Miscoverage()`` where left out.
    ratio : Ratio, or a recipe with fit(source, target)
        No shift where left out. A recipe is fitted by ``conformalize(X, y, X_target)``, with the
        inputs of ``fit`` as source sample.
    worst_case : Constant or Pointwise
        ``Pointwise()`` where left out.
    seed : int, optional
        Needed for randomised scores.

    Attributes
    ----------
    classes_ : array
        The labels of the estimator.
    estimator_, ratio_, calibrated_, assumption_, ledger_, source_, n_features_in_
        As in :class:`Regressor`.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> x, y = load_iris(return_X_y=True)
    >>> order = np.random.default_rng(0).permutation(150)
    >>> x, y = x[order], np.array(["setosa", "versicolor", "virginica"])[y[order]]
    >>> model = shp.sklearn.Classifier(LogisticRegression(max_iter=1000))
    >>> model = model.fit(x[:50], y[:50]).conformalize(x[50:100], y[50:100])
    >>> model.predict_set(x[100:], alpha=0.1).labels()[:3]
    [['virginica'], ['setosa'], ['setosa']]
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """As in :class:`Regressor`."""
        super().fit(X, y, **fit_params)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """What the estimator says of each class."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    def _demand_estimator(self) -> None:
        super()._demand_estimator()
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                "estimator",
                "a classifier with predict_proba",
                type(self.estimator).__name__,
                "wrap it in CalibratedClassifierCV(..., method='sigmoid')",
            )

    def _family(self) -> Family:
        return LabelSets() if self.sets is None else self.sets

    def _demand_sets(self, family: Family) -> None:
        if not issubclass(family.makes, EntryNest):
            name = type(family).__name__
            raise InputError("sets", "LabelSets or Masks, of classes", name, "use Regressor")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        return tags


def _is_ready(ratio: Any) -> bool:
    """Whether a ratio weighs as it is; else it is a recipe, or nothing of use."""
    return hasattr(ratio, "curve")


def _is_recipe(ratio: Any) -> bool:
    """Whether it can be fitted to two samples of inputs, as no model can."""
    if isinstance(ratio, type) or hasattr(ratio, "predict"):
        return False
    try:
        demand_recipe(ratio)
    except InputError:
        return False
    return True


def _demand_ratio(ratio: Any) -> None:
    """Raise for what neither weighs nor is a recipe."""
    if _is_ready(ratio) or _is_recipe(ratio):
        return
    repair = "pass what it fits: a recipe here has fit(source, target)"
    if hasattr(ratio, "predict"):
        repair = "a classifier goes into a recipe: ClassifierRatio(classifier)"
    got = getattr(ratio, "__name__", type(ratio).__name__)
    raise InputError("ratio", "a ratio, or a recipe such as ClassifierRatio()", got, repair)


def _demand_dense(X: Any) -> None:
    """Raise for what fits some estimators and no table."""
    if issparse(X):
        repair = "sparse inputs are not supported: X.toarray()"
        raise InputError("X", "a table or an array", f"a sparse {type(X).__name__}", repair)
    shape = getattr(X, "shape", None)
    if len(np.asarray(X).shape if shape is None else shape) == 1:
        repair = "Reshape your data: X.reshape(-1, 1), or a table of one column"
        raise InputError("X", "rows and columns", "one dimension", repair)


def _rows(table: Table, y: Any) -> Array:
    """A digest of the inputs and one of the label, for each row."""
    labels = Table.of("labels", y)
    _checks.same_rows("labels", len(labels), len(table))
    return np.column_stack([row_digests(table, table.flat_names), row_digests(labels)])


def _demand_other_rows(ratio: Any, source: Table, target: Table, calibration: Table) -> None:
    """Raise for samples that are the calibration rows, which a ratio of few columns cannot see."""
    ledger: Ledger = getattr(ratio, "ledger", Ledger())
    if len(ledger.columns or ()) < len(source.flat_names):
        samples = {"source": source, "target": target}
        found = {role: samples[role.rpartition("_")[2]] for role in ledger.digests}
        Ledger(source.flat_names).plus(**found, calibration=calibration)
