"""Cross-fitting: every point is weighed by a model that never saw it.

Rows fall into folds by their values, and model k is fitted without fold k. A calibration row, a
target row and a new row are all treated alike: each goes to the model of its own fold. So the ratio
is still one function of x, and may be fitted on the very inputs that it weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray
from shiftproof.contracts import Assumption, Certainty
from shiftproof.errors import InputError
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger, folds_of


class Recipe(Protocol):
    """What can be fitted to two samples of inputs: ClassifierRatio, GaussianRatio, ULSIF, ..."""

    def fit(self, source: object, target: object) -> PlainRatio:
        """The ratio."""


@dataclass(frozen=True)
class CrossfitRatio:
    """A recipe: another recipe, fitted once for each fold on the rows outside it.

    Use it when there are too few inputs to set some aside for the ratio. Thresholds then depend on
    calibration inputs (not on labels) through the ratio, which no theorem here covers exactly.

    Parameters
    ----------
    recipe : ClassifierRatio, GaussianRatio, ULSIF or KLIEP
    folds : int
    seed : int
        Which rows fall together.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(0, 1, (400, 2)), rng.normal([0.5, 0], 1, (400, 2))
    >>> ratio = shp.CrossfitRatio(shp.ClassifierRatio()).fit(source, target)
    >>> curve = ratio.curve(shp.LossCurves.steps(np.abs(source[:, 0])), source)
    >>> len(curve)
    400
    """

    recipe: Recipe
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not callable(getattr(self.recipe, "fit", None)):
            got = type(self.recipe).__name__
            raise InputError("recipe", "something with fit(source, target)", got, "pass a recipe")
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise InputError("folds", "a whole number of at least 2", f"{self.folds!r}", "say 5")

    def fit(self, source: object, target: object) -> FittedCrossfit:
        """Fit one model for each fold, on the rows of both samples that are not in it.

        Parameters
        ----------
        source : table or array (n_s, d)
            Inputs from P; those that calibrate are allowed.
        target : table or array (n_t, d)
            Inputs from P'; those that the sets are for are allowed.
        """
        tables = Table.of("source", source), Table.of("target", target)
        columns = getattr(self.recipe, "columns", None)
        columns = None if columns is None else tuple(columns)
        places = [folds_of(table, columns, self.folds, self.seed) for table in tables]
        models = []
        for fold in range(self.folds):
            kept = []
            for table, place in zip(tables, places, strict=True):
                if (place == fold).all():
                    raise InputError(
                        table.what,
                        "rows that differ enough to fall into several folds",
                        f"{len(table)} rows, all in one",
                        "pass more inputs",
                    )
                kept.append(table.take(place != fold).native())
            models.append(self.recipe.fit(*kept))
        read = models[0].columns
        ledger = Ledger(read).plus(crossfit_source=tables[0], crossfit_target=tables[1])
        return FittedCrossfit(tuple(models), columns, self.seed, ledger)


@dataclass(frozen=True, eq=False)
class FittedCrossfit(PlainRatio):
    """One ratio for each fold, made by :class:`CrossfitRatio`."""

    models: tuple[PlainRatio, ...]
    keyed_by: tuple[Column, ...] | None
    seed: int
    made_from: Ledger

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The inputs that were compared."""
        return self.models[0].columns

    @property
    def ledger(self) -> Ledger:
        """The rows of both samples."""
        return self.made_from

    @property
    def assumption(self) -> Assumption:
        """As that of the models, and that no theorem covers cross-fitting exactly."""
        one = self.models[0].assumption
        cautions = tuple(
            dict.fromkeys(text for model in self.models for text in model.assumption.cautions)
        )
        return Assumption(
            Certainty.ESTIMATED,
            f"{one.basis}, in {len(self.models)} folds: each row weighed by a model without it",
            "E[loss] <= alpha + Lmax TV(P', the estimated target), on average over calibration "
            "draws and test points, if the ratio were fitted on other rows",
            cautions=(*cautions, "cross-fitted weights are not covered exactly"),
        )

    def _ratio(self, table: Table) -> FloatArray:
        found = np.empty(len(table))
        place = folds_of(table, self.keyed_by, len(self.models), self.seed)
        for fold, model in enumerate(self.models):
            rows = place == fold
            if rows.any():
                found[rows] = model.weights(table.take(rows))
        return found
