"""The shell that people use: calibrate once, then choose alpha and the shift.

Nothing is calculated here. A controller names the parts; calibrating them gives a rule, preparing
inputs gives a nest and weights, and a level turns these into sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.confidence import probability
from shiftproof.contracts import Assumption, Family, Loss, Nest, Predictor, Ratio, WorstCase
from shiftproof.errors import InputError
from shiftproof.evaluation import Evaluation
from shiftproof.explanation import Explanation
from shiftproof.kept import Kept
from shiftproof.keys import CALIBRATION, PREDICTION, Draws
from shiftproof.predictors.models import predictor_of
from shiftproof.ratios.known import NoShift, column_names
from shiftproof.risk import LossCurves, RiskCurve, ThresholdRule
from shiftproof.worst_case import Pointwise


@dataclass(frozen=True, eq=False)
class RiskController:
    """A predictor, a family of sets, a loss, a likelihood ratio and a worst case, put together.

    Calibrated on labelled examples from P, its sets keep E[loss] <= alpha under P', on average over
    calibration draws and test points, if the ratio is dP'/dP and the law of the label given the
    input is the same in both. The predictor must not have seen the calibration labels.

    Parameters
    ----------
    predictor : object
        Something with ``predict`` or ``predict_proba``, a function of the inputs, ``Columns``, or a
        posterior in ``Thompson`` or ``PosteriorMean``.
    sets : Intervals, Balls, LabelSets or Masks
    loss : Miscoverage, Distance, FalseNegativeRate, MonotoneLoss or Monotonized
    ratio : Ratio or WithinGroups
        No shift where left out.
    worst_case : Constant, Pointwise or Directional
        What the test point may lose; the paper's rule is ``Constant()``.

    Examples
    --------
    Stations are off in half of the calibration messages and in nine tenths of those in use:

    >>> import numpy as np
    >>> import pandas as pd
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> def messages(count, rate_off):
    ...     off, place = rng.random(count) < rate_off, rng.uniform(0, 40, count)
    ...     heard = np.clip(place + np.where(off, 4.0, 0.5) * rng.normal(size=count), 0, 40)
    ...     return pd.DataFrame({"heard": heard, "stations": np.where(off, "off", "on")}), place
    >>> table, place = messages(500, 0.5)
    >>> controller = shp.RiskController(
    ...     predictor=shp.Columns("heard"),
    ...     sets=shp.Intervals(0, 40),
    ...     loss=shp.Distance(),
    ...     ratio=shp.GroupRatio(
    ...         "stations", source={"off": 0.5, "on": 0.5}, target={"off": 0.9, "on": 0.1}
    ...     ),
    ... )
    >>> calibrated = controller.calibrate(table, place)
    >>> new, truth = messages(1000, 0.9)
    >>> print(calibrated.evaluate(new, truth, alpha=1.0))
    promised  1 on average over calibration draws; this one, on 1,000 test points:
    risk      0.8217 [0.73, 0.913] mean loss (estimated)
    size      5.386 [5.34, 5.43] mean size (estimated)
    relative  0.1347 [0.133, 0.136] mean share of the space (estimated)
    whole     0 [0, 0.00368] share of whole label spaces (certified at 1 - delta)
    """

    predictor: object
    sets: Family
    loss: Loss
    ratio: Ratio[Any] = field(default_factory=NoShift)
    worst_case: WorstCase = field(default_factory=Pointwise)

    def __post_init__(self) -> None:
        for name, method, repair in _PARTS:
            part = getattr(self, name)
            if isinstance(part, type) or not hasattr(part, method):
                got = getattr(part, "__name__", type(part).__name__)
                raise InputError(name, f"an object with {method}", got, repair)
        for name in ("loss", "worst_case"):
            part = getattr(self, name)
            absent = [need for need in part.needs if not hasattr(self.sets.makes, need)]
            if absent:
                raise InputError(
                    "sets",
                    f"sets with {', '.join(absent)}, which {type(part).__name__} asks for",
                    type(self.sets).__name__,
                    "choose another loss or worst case, or other sets",
                )
        self.loss.demand(self.sets.traits)
        self.worst_case.demand(self.loss, self.sets.traits)
        self._predictor  # noqa: B018 - refuses what does not predict

    @cached_property
    def _predictor(self) -> Predictor:
        return predictor_of(self.predictor)

    def calibrate(
        self,
        X: object,
        y: object,
        *,
        seed: int | None = None,
        ids: ArrayLike | None = None,
        keep: Sequence[Column] = (),
    ) -> Calibrated:
        """Calibrate on labelled examples that the predictor has not seen.

        Parameters
        ----------
        X : table or array
            Inputs: pandas, polars, arrow, numpy; one row for each example.
        y : array, column or table
            Labels.
        seed : int, optional
            Needed where something draws at random: Thompson sampling, randomised scores.
        ids : array, optional
            The identity of each row, so that it keeps its draw whatever its place; 0, 1, ... where
            left out.
        keep : sequence of names, optional
            Columns to keep for what-ifs, besides those that the ratio reads. Of an array all
            columns are kept, or none.

        Returns
        -------
        Calibrated
        """
        table = Table.of("X", X)
        _demand_rows(y, table)
        draws = Draws(CALIBRATION, len(table), seed, ids)
        more = (column_names(keep) or ()) if len(keep) else ()
        table.require(more)
        nest = self._nest(table, draws)
        losses = self.loss.curves(nest, y)
        rule = self.ratio.curve(losses, table.native())
        kept = Kept.of(table, self.ratio.columns, more)
        return Calibrated(self, losses, rule, kept, seed)

    @property
    def _reads_by_name(self) -> bool:
        """Whether predictor, sets and ratio say which columns they read."""
        by_name = self._predictor.columns is not None and self.sets.traits.by_name
        return by_name and self.ratio.columns is not None

    def _nest(self, table: Table, draws: Draws) -> Nest:
        return self.sets.nest(self._predictor, table, draws)


@dataclass(frozen=True, eq=False, repr=False)
class Calibrated:
    """A calibrated controller: alpha and the shift are still open.

    Made by :meth:`RiskController.calibrate`.

    Attributes
    ----------
    controller : RiskController
    losses : LossCurves
        One for each calibration example.
    rule : ThresholdRule
        The losses, weighed.
    seed : int or None
    cautions : tuple of str
        What a reader has to know of the samples that the ratio was fitted to, besides what the
        ratio says itself.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
    >>> calibrated = controller.calibrate(x, x[:, 0] + np.linspace(-0.5, 0.5, 100))
    >>> calibrated.predict([[0.5]], alpha=0.1).size().round(3)
    array([0.919])
    """

    controller: RiskController
    losses: LossCurves
    rule: ThresholdRule[Any]
    kept: Kept
    seed: int | None
    cautions: tuple[str, ...] = ()

    @property
    def assumption(self) -> Assumption:
        """What the promise rests on, these cautions among it."""
        found = self.controller.ratio.assumption
        return replace(found, cautions=(*found.cautions, *self.cautions))

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"Calibrated({len(self)} examples)"

    def prepare(
        self, X: object, *, seed: int | None = None, ids: ArrayLike | None = None
    ) -> Prepared:
        """Predict once for test points; alpha and the shift can then be varied at no cost.

        Parameters
        ----------
        X : table or array
        seed : int, optional
            That of the calibration where left out; test points draw from a stream of their own.
        ids : array, optional
            The identity of each row; 0, 1, ... where left out. Where something draws at random, a
            row that is served in several calls, or alone, needs its own: with the same id it makes
            the same draw.
        """
        table = self._aligned(Table.of("X", X))
        draws = Draws(PREDICTION, len(table), self.seed if seed is None else seed, ids)
        nest = self.controller._nest(table, draws)  # noqa: SLF001 - one shell, three stages
        return Prepared(self, nest, self._weights(table, draws), table, draws)

    def predict(
        self,
        X: object,
        alpha: ArrayLike,
        *,
        seed: int | None = None,
        ids: ArrayLike | None = None,
    ) -> Any:
        """Sets that keep alpha: one number, or one for each row.

        ``predict(X, alpha)`` is ``prepare(X).sets(alpha)``.
        """
        self._demand_level(alpha, X)
        return self.prepare(X, seed=seed, ids=ids).sets(alpha)

    def explain(
        self,
        X: object,
        alpha: ArrayLike,
        *,
        seed: int | None = None,
        ids: ArrayLike | None = None,
    ) -> Explanation:
        """Why the sets of these points are this large; ``prepare(X).explain(alpha)``."""
        self._demand_level(alpha, X)
        return self.prepare(X, seed=seed, ids=ids).explain(alpha)

    def evaluate(
        self,
        X: object,
        y: object,
        alpha: ArrayLike,
        *,
        delta: float = 0.05,
        seed: int | None = None,
        ids: ArrayLike | None = None,
    ) -> Evaluation:
        """Loss and size on labelled points of the target, with intervals at 1 - delta."""
        self._demand_level(alpha, X)
        probability("delta", delta)
        _demand_rows(y, Table.of("X", X))
        return self.prepare(X, seed=seed, ids=ids).evaluate(y, alpha, delta=delta)

    def under(self, ratio: Ratio[Any]) -> Calibrated:
        """The same examples under another shift, re-weighed and not calibrated again.

        A shift chosen after looking at results is exploration, and no promise. Cautions stay where
        the other ratio has the same source sample, and go where it has another one, or none.

        Examples
        --------
        >>> import numpy as np
        >>> import shiftproof as shp
        >>> x = np.array([[1.0, 0], [2.0, 1], [3.0, 0], [4.0, 1]] * 30)
        >>> ratio = shp.GroupRatio(1, source={0: 0.5, 1: 0.5}, target={0: 0.5, 1: 0.5})
        >>> controller = shp.RiskController(
        ...     lambda x: x[:, 0], shp.Intervals(0, 9), shp.Distance(), ratio
        ... )
        >>> calibrated = controller.calibrate(x, x[:, 0] + x[:, 1])
        >>> [
        ...     float(calibrated.under(ratio.under({0: 1 - p, 1: p})).predict(x, 0.2).size()[1])
        ...     for p in (0.1, 0.9)
        ... ]
        [0.0, 1.7530054644808741]
        """
        controller = replace(self.controller, ratio=ratio)
        rule = ratio.curve(self.losses, self.kept.inputs_for(ratio))
        cautions = self.cautions if _of_one_source(self.controller.ratio, ratio) else ()
        return Calibrated(controller, self.losses, rule, self.kept, self.seed, cautions)

    def _demand_level(self, alpha: ArrayLike, X: object) -> None:
        """Raise for what is no level for these rows, before a model is asked."""
        levels = _checks.risk_level(alpha, self.losses.bound)
        _checks.each("alpha", levels, len(Table.of("X", X)))

    def _aligned(self, table: Table) -> Table:
        """Inputs in use, laid out as in calibration where anything reads them by place."""
        return self.kept.aligned(table, by_name=self.controller._reads_by_name)  # noqa: SLF001

    def _weights(self, table: Table, draws: Draws) -> Any:
        return self.controller.ratio.weights(table.native(), draws.keys_if_any("ratio"))


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """Test points with their predictions and weights: alpha and the shift are still open.

    Made by :meth:`Calibrated.prepare`.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
    >>> calibrated = controller.calibrate(x, x[:, 0] + np.linspace(-0.5, 0.5, 100))
    >>> prepared = calibrated.prepare([[0.2], [0.7]])
    >>> [float(prepared.threshold(alpha)[0].round(3)) for alpha in (0.05, 0.1, 0.2)]
    [0.48, 0.46, 0.409]
    """

    calibrated: Calibrated
    nest: Nest
    #: W of each point, in the form in which the ratio gives weights.
    weights: Any
    table: Table
    draws: Draws

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Prepared({len(self)} points)"

    def sets(self, alpha: ArrayLike) -> Any:
        """Sets that keep alpha: one number, or one for each point."""
        found: Any = self._sets(self.calibrated.rule, self.weights, self._levels(alpha))
        return found.like(self.table)

    def threshold(self, alpha: ArrayLike) -> FloatArray:
        """The threshold of each point: inf, or at least D(x), for the whole label space."""
        thresholds: FloatArray = self.sets(alpha).threshold
        return thresholds

    def losses(self, y: object, alpha: ArrayLike) -> FloatArray:
        """The loss of each set on its label."""
        return self.calibrated.controller.loss.of(self.sets(alpha), y)

    @property
    def worst(self) -> float | LossCurves:
        """What the rule allows these points to lose: a number, or a curve for each."""
        controller = self.calibrated.controller
        return controller.worst_case.worst(controller.loss, self.nest)

    def budget(self, thresholds: ArrayLike, alpha: ArrayLike, *, row: int) -> FloatArray:
        """The calibration risk that one of these points leaves room for, at each threshold.

        Its threshold is where the calibration risk first falls to it: see
        :meth:`RiskCurve.budget`. A star reaches so far in the direction of its farthest label.
        """
        index = _checks.indices("row", [row], length=1, below=len(self))
        rule, worst = self.calibrated.rule, self.worst
        one = worst.select(index) if isinstance(worst, LossCurves) else worst
        level = np.broadcast_to(self._levels(alpha), len(self))[index]
        weights = self.weights[index] if isinstance(self.weights, np.ndarray) else self.weights
        return rule.budget(thresholds, level, weights, worst=one)

    def evaluate(self, y: object, alpha: ArrayLike, *, delta: float = 0.05) -> Evaluation:
        """Loss and size on the labels of these points, with intervals at 1 - delta."""
        sets, loss = self.sets(alpha), self.calibrated.controller.loss
        return Evaluation.of(
            self._levels(alpha),
            loss.of(sets, y),
            sets.size(),
            sets.whole,
            sets.relative_size() if sets.bounded else None,
            loss.bound(self.nest),
            delta,
        )

    def explain(self, alpha: ArrayLike) -> Explanation:
        """Why each set is this large: model error, shift, test mass, and twice the labels."""
        rule, levels = self.calibrated.rule, self._levels(alpha)
        plain, none, ones = (
            RiskCurve(self.calibrated.losses),
            np.zeros(len(self)),
            np.ones(len(self)),
        )
        asked = (
            (plain, none),
            (plain, ones),
            (rule, rule.scaled(self.weights, 0.0)),
            (rule, self.weights),
            (rule, rule.scaled(self.weights, 0.5)),
        )
        ends = self.nest.least(), self.nest.whole()
        model, model_with_mass, shifted, total, doubled = (
            np.clip(self._sets(curve, weights, levels).threshold, *ends) for curve, weights in asked
        )
        cautions = self.calibrated.assumption.cautions
        return Explanation(model, model_with_mass, shifted, total, doubled, ends[0], cautions)

    def under(self, ratio: Ratio[Any]) -> Prepared:
        """The same points under another shift, without predicting again."""
        calibrated = self.calibrated.under(ratio)
        table = calibrated._aligned(self.table)  # noqa: SLF001 - the ratio may read by place
        weights = calibrated._weights(table, self.draws)  # noqa: SLF001
        return Prepared(calibrated, self.nest, weights, self.table, self.draws)

    def _sets(self, rule: ThresholdRule[Any], weights: Any, levels: FloatArray) -> Any:
        controller = self.calibrated.controller
        return controller.worst_case.sets(rule, controller.loss, self.nest, weights, levels)

    def _levels(self, alpha: ArrayLike) -> FloatArray:
        """One level, or one for each point, none below what the whole label space can lose."""
        levels = _checks.risk_level(alpha, self.calibrated.losses.bound)
        _checks.each("alpha", levels, len(self))
        floor = self.calibrated.controller.loss.floor(self.nest)
        _checks.demand(
            "alpha",
            levels,
            levels >= floor * (1 - _ROUNDING),
            f"at least {floor:.6g}, the loss of the whole label space",
            "promise less, or choose a loss that larger sets can bring down",
        )
        return levels


#: A floor such as 2/3 may be missed by the last digit of an alpha.
_ROUNDING = 1e-12


def _demand_rows(y: object, table: Table) -> None:
    """Raise unless there is a label for each row, before a model is asked."""
    _checks.same_rows("labels", len(Table.of("labels", y)), len(table))


_PARTS = (
    ("sets", "nest", "Intervals, Balls, LabelSets or Masks"),
    ("loss", "curves", "for example Miscoverage() or Distance()"),
    ("ratio", "curve", "a ratio that is known, or fitted: recipe.fit(source, target)"),
    ("worst_case", "sets", "Constant(), Pointwise() or Directional()"),
)


def _of_one_source(one: Ratio[Any], other: Ratio[Any]) -> bool:
    """Whether what is known of the source sample of one ratio is so of the other's."""
    if one is other:
        return True
    ledgers = (getattr(ratio, "ledger", None) for ratio in (one, other))
    first, second = (None if ledger is None else ledger.source for ledger in ledgers)
    return first is not None and second is not None and np.array_equal(first, second)
