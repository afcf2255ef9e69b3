"""How far an estimated ratio may be off, by fitting it again to resampled rows.

For the ratio w, and the ratios w_b of resampled samples, with c_b the level at which log w_b is
nearest to log w (ratios count up to one constant),

    s(x)^2 = mean_b ( log w_b(x) - c_b - log w(x) )^2,
    q = the 1 - delta quantile over b of  max_x | log w_b(x) - c_b - log w(x) | / s(x),
    box(x) = w(x) exp( -+ q s(x) ),

the maximum over the rows of both samples: one band for all x at once. It holds as resampling does,
approximately; it knows nothing of what the model of the ratio cannot express.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof import _checks, confidence
from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray, KeyArray
from shiftproof.contracts import Assumption, Certainty
from shiftproof.errors import ShiftWarning
from shiftproof.ratios.crossfit import Recipe, demand_recipe, fits_to_parts
from shiftproof.ratios.groups import stated
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger
from shiftproof.risk import BoxedCurve, LossCurves, Price, PricedCurve, ThresholdRule, WeightBox

#: Logarithms of weights are compared from here on: e^-600 of a weight is nothing.
_LEAST_LOG = -600.0


@dataclass(frozen=True)
class BootstrapRatio:
    """A recipe: another recipe, and bounds on its weights from resampled rows. Approximate.

    Parameters
    ----------
    recipe : ClassifierRatio, GaussianRatio, ...
    delta : float
        The probability with which some weight may lie outside its bounds.
    draws : int
        How many times it is fitted again.
    paid : bool
        Whether delta is paid from alpha, or stated beside it.
    seed : int

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(0, 1, (1000, 1)), rng.normal(0.5, 1, (1000, 1))
    >>> recipe = shp.BootstrapRatio(shp.GaussianRatio(), delta=0.1, draws=50)
    >>> box = recipe.fit(source, target).weights([[0.0], [1.0]])
    >>> print(box.low.round(2), box.high.round(2))  # in truth .88 and 1.45
    [0.87 1.44] [0.9  1.61]
    """

    recipe: Recipe
    delta: float = 0.1
    draws: int = 100
    paid: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        demand_recipe(self.recipe)
        confidence.probability("delta", self.delta)
        fewest = int(np.ceil(2 / self.delta))
        repair = f"a quantile at a delta of {self.delta:g} needs draws beyond it"
        _checks.whole("draws", self.draws, fewest, repair)
        _checks.flag("paid", self.paid)
        _checks.seed(self.seed)

    def fit(self, source: object, target: object) -> BootstrappedRatio:
        """Fit to both samples, then to rows drawn from each with replacement.

        Parameters
        ----------
        source : table or array (n_s, d)
            Inputs from P, others than those that calibrate.
        target : table or array (n_t, d)
            Inputs from P'.
        """
        tables = Table.of("source", source), Table.of("target", target)
        center = fits_to_parts(self.recipe, *tables)(*tables)
        settled = getattr(center, "settled", None)
        again = fits_to_parts(settled() if callable(settled) else self.recipe, *tables)
        rng = np.random.default_rng(self.seed)
        models = []
        with warnings.catch_warnings():  # the fit to all rows has said what there is to say
            warnings.simplefilter("ignore", ShiftWarning)
            for _ in range(self.draws):
                rows = [rng.integers(len(table), size=len(table)) for table in tables]
                parts = [table.take(index) for table, index in zip(tables, rows, strict=True)]
                models.append(again(*parts))
        unfinished = BootstrappedRatio(
            center, tuple(models), np.zeros(self.draws), 0.0, self.delta, self.paid
        )
        return unfinished.banded(tables)


@dataclass(frozen=True, eq=False)
class BootstrappedRatio:
    """Bounds on the weights of an estimated ratio, made by :class:`BootstrapRatio`."""

    point: PlainRatio
    models: tuple[PlainRatio, ...]
    levels: FloatArray
    band: float
    delta: float
    paid: bool

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The inputs that were compared."""
        return self.point.columns

    @property
    def ledger(self) -> Ledger:
        """The rows of both samples."""
        return self.point.ledger

    @property
    def assumption(self) -> Assumption:
        """That resampling tells how far the ratio is off."""
        one = self.point.assumption
        return Assumption(
            Certainty.ESTIMATED,
            f"{one.basis}; bounds from {len(self.models)} resampled fits, approximately right "
            f"with probability {1 - self.delta:.6g} if the model of the ratio is",
            stated(self.delta, "resampled rows", paid=self.paid),
            self.delta,
            one.cautions,
        )

    @property
    def price(self) -> Price:
        """Delta where it is paid from alpha; nothing where it stands beside it."""
        return Price.nothing().plus(self.delta if self.paid else 0.0)

    def weights(self, X: object, keys: KeyArray | None = None) -> WeightBox:
        """Bounds on w at test points."""
        del keys
        center, spread = self._center_and_spread(Table.of("X", X))
        return _box(center, self.band * spread)

    def curve(self, losses: LossCurves, X: object) -> ThresholdRule[Any]:
        """The worst case of the risk curve over all weights within their bounds."""
        table = Table.of("calibration inputs", X)
        self.point.calibration_weights(table, len(losses))  # all that is checked there
        center, spread = self._center_and_spread(table)
        curve: ThresholdRule[Any] = BoxedCurve(losses, _box(center, self.band * spread))
        return PricedCurve(curve, self.price) if self.paid else curve

    def banded(self, tables: tuple[Table, Table]) -> BootstrappedRatio:
        """The same fits, with levels and a band that are right for the rows of both samples."""
        logs = [np.concatenate([_logs(m.weights(table)) for table in tables]) for m in self.models]
        center = np.concatenate([_logs(self.point.weights(table)) for table in tables])
        apart = np.array(logs) - center
        levels = np.median(apart, axis=1)
        apart = apart - levels[:, None]
        spread = np.sqrt((apart**2).mean(axis=0))
        farthest = (np.abs(apart) / np.where(spread > 0, spread, 1.0)).max(axis=1)
        band = float(np.quantile(farthest, 1 - self.delta, method="higher"))
        return BootstrappedRatio(self.point, self.models, levels, band, self.delta, self.paid)

    def _center_and_spread(self, table: Table) -> tuple[FloatArray, FloatArray]:
        center = self.point.weights(table)
        logs, squares = _logs(center), np.zeros(len(table))
        for model, level in zip(self.models, self.levels, strict=True):
            squares += (_logs(model.weights(table)) - level - logs) ** 2
        return center, np.sqrt(squares / len(self.models))


def _logs(weights: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.clip(np.log(weights), _LEAST_LOG, -_LEAST_LOG)


def _box(center: FloatArray, reach: FloatArray) -> WeightBox:
    return WeightBox(center * np.exp(-reach), center * np.exp(np.minimum(reach, -_LEAST_LOG)))
