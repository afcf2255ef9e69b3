"""Cross-fitting: every point is weighed by a model that never saw it.

Rows fall into folds by the values of the columns that are compared, and model k is fitted without
fold k. A calibration row, a target row and a new row are all treated alike: each goes to the model
of its own fold. So the ratio is still one function of x, and may be fitted on the very inputs that
it weighs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray
from shiftproof.contracts import UP_TO_ITS_ERROR, Assumption, Certainty
from shiftproof.errors import InputError
from shiftproof.ratios.encoding import Columns
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger, folds_of


class Recipe(Protocol):
    """What can be fitted to two samples of inputs: ClassifierRatio, GaussianRatio, ULSIF, ..."""

    def fit(self, source: object, target: object) -> PlainRatio:
        """The ratio."""


def demand_recipe(recipe: object) -> None:
    """Raise unless `recipe` has a fit that takes two samples."""
    fit = getattr(recipe, "fit", None)
    wanted = "something with fit(source, target)"
    if not callable(fit):
        raise InputError("recipe", wanted, type(recipe).__name__, "pass a recipe")
    try:
        inspect.signature(fit).bind(None, None)
    except TypeError as cause:
        got = f"a fit of {type(recipe).__name__} that takes other arguments"
        raise InputError("recipe", wanted, got, "for example ClassifierRatio()") from cause


def fits_to_parts(
    recipe: Any, source: Table, target: Table
) -> Callable[[Table, Table], PlainRatio]:
    """Fits to parts of these samples, which read their columns as the whole samples show them.

    A part may lack a category or a gap that the rows have which the fit will weigh. What a column
    holds is therefore read off the whole, by recipes that encode columns; all else off the part.
    """
    fit_as = getattr(recipe, "fit_as", None)
    if fit_as is None:

        def fit(*parts: Table) -> PlainRatio:
            return _plain(recipe.fit(*(part.native() for part in parts)))

        return fit
    columns = Columns.of(source, target, recipe.columns)
    return lambda *parts: _plain(fit_as(columns, *parts))


def _plain(fitted: object) -> PlainRatio:
    repair = "pass a recipe of a ratio with one number for each row"
    return _checks.instance("what the recipe fits", fitted, PlainRatio, repair)  # type: ignore[type-abstract]


@dataclass(frozen=True)
class CrossfitRatio:
    """A recipe: another recipe, fitted once for each fold on the rows outside it.

    Use it when there are too few inputs to set some aside for the ratio. Thresholds then depend on
    calibration inputs (not on labels) through the ratio, which no theorem here covers exactly.
    Which categories there are and which columns have gaps is read off all rows.

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
        demand_recipe(self.recipe)
        _checks.whole("folds", self.folds, 2, "say 5")
        _checks.seed(self.seed)

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
        named = getattr(self.recipe, "columns", None)
        keyed_by = tuple(sorted(tables[0].names if named is None else named, key=str))
        places = [folds_of(table, keyed_by, self.folds, self.seed) for table in tables]
        for table, place in zip(tables, places, strict=True):
            if len(np.unique(place)) < 2:
                raise InputError(
                    table.what,
                    "rows that differ enough to fall into several folds",
                    f"{len(table)} rows, all in one",
                    "pass more inputs",
                )
        fit = fits_to_parts(self.recipe, *tables)
        models = [
            fit(*(table.take(place != fold) for table, place in zip(tables, places, strict=True)))
            for fold in range(self.folds)
        ]
        read = models[0].columns
        ledger = Ledger(read).plus(crossfit_source=tables[0], crossfit_target=tables[1])
        return FittedCrossfit(tuple(models), keyed_by, self.seed, ledger)


@dataclass(frozen=True, eq=False)
class FittedCrossfit(PlainRatio):
    """One ratio for each fold, made by :class:`CrossfitRatio`."""

    models: tuple[PlainRatio, ...]
    keyed_by: tuple[Column, ...]
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
            f"{UP_TO_ITS_ERROR}, if the ratio were fitted on other rows",
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
