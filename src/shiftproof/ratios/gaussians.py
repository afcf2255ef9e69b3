"""Gaussians fitted to both samples: the ratio of two densities, for a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_normal

from shiftproof import _checks
from shiftproof._tables import Column, Table, row_count
from shiftproof._types import FloatArray
from shiftproof.contracts import UP_TO_ITS_ERROR, Assumption, Certainty
from shiftproof.errors import InputError
from shiftproof.ratios.known import Density, DensityRatio, column_names
from shiftproof.ratios.roles import Ledger


@dataclass(frozen=True)
class GaussianRatio:
    """A recipe: w(x) as the ratio of two Gaussians, fitted to two samples.

    With a common covariance S (pooled) log w is linear in x; else each sample has its own.

    Parameters
    ----------
    common_covariance : bool
    columns : sequence of names or positions, optional

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> ratio = shp.GaussianRatio().fit(rng.normal(0, 1, 2000), rng.normal(1, 1, 2000))
    >>> ratio.weights([0.0, 1.0]).round(2)  # in truth .61 and 1.65
    array([0.61, 1.7 ])
    """

    common_covariance: bool = True
    columns: tuple[Column, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names(self.columns))

    def fit(self, source: object, target: object) -> FittedGaussians:
        """Means and covariances of both samples."""
        tables = Table.of("source", source), Table.of("target", target)
        names = self.columns or tables[0].names
        if self.columns is None and len(tables[1].names) != len(names):
            raise InputError(
                "target",
                f"the {len(names)} columns of the source",
                f"{len(tables[1].names)} columns",
                "pass the same inputs, or name the columns to compare",
            )
        samples = [_points(table, names) for table in tables]
        # Densities may be of any units: in those of the data covariances could look singular.
        everything = np.vstack(samples)
        centre, scale = everything.mean(axis=0), everything.std(axis=0)
        scale[scale == 0] = 1.0
        points = [(sample - centre) / scale for sample in samples]
        means = [sample.mean(axis=0) for sample in points]
        spreads = [np.atleast_2d(np.cov(sample, rowvar=False)) for sample in points]
        if self.common_covariance:
            freedom = np.array([len(sample) - 1.0 for sample in points])
            pooled = (freedom[0] * spreads[0] + freedom[1] * spreads[1]) / freedom.sum()
            spreads = [pooled, pooled]
        try:
            source_law, target_law = (
                ScaledGaussian(multivariate_normal(mean, spread), centre, scale)
                for mean, spread in zip(means, spreads, strict=True)
            )
        except (ValueError, np.linalg.LinAlgError) as cause:
            raise InputError(
                "source and target",
                "columns that vary, none a linear combination of others",
                "a singular covariance",
                "leave out constant and repeated columns",
            ) from cause
        ledger = Ledger(tuple(names)).plus(ratio_source=tables[0], ratio_target=tables[1])
        width = len(names) if self.columns is None else None
        return FittedGaussians(target_law, source_law, ledger, width)


@dataclass(frozen=True, eq=False)
class ScaledGaussian:
    """The law of x where (x - centre) / scale is Gaussian."""

    law: Density
    centre: FloatArray
    scale: FloatArray

    def logpdf(self, x: FloatArray, /) -> FloatArray:
        """The log density at each row."""
        points = (x.reshape(len(x), -1) - self.centre) / self.scale
        return np.asarray(self.law.logpdf(points) - np.log(self.scale).sum())


@dataclass(frozen=True, eq=False)
class FittedGaussians(DensityRatio):
    """The ratio of two fitted Gaussians, made by :class:`GaussianRatio`."""

    fitted_to: Ledger
    width: int | None  # where all columns are read, so many there are

    def __init__(
        self, target: Density, source: Density, fitted_to: Ledger, width: int | None
    ) -> None:
        super().__init__(target, source, fitted_to.columns)
        object.__setattr__(self, "fitted_to", fitted_to)
        object.__setattr__(self, "width", width)

    @property
    def ledger(self) -> Ledger:
        """The rows of both samples."""
        return self.fitted_to

    @property
    def assumption(self) -> Assumption:
        """That both laws are Gaussian, with the fitted moments."""
        return Assumption(
            Certainty.ESTIMATED, "both input laws are Gaussian as fitted", UP_TO_ITS_ERROR
        )

    def _ratio(self, table: Table) -> FloatArray:
        table.require_width(self.width)
        return super()._ratio(table)


def _points(table: Table, names: Sequence[Column]) -> FloatArray:
    """The columns of one sample, checked."""
    row_count(table, "pass inputs from both distributions")
    if not names:
        raise InputError(table.what, "at least one column", "none", "pass the inputs")
    points = np.column_stack([table.numbers(name) for name in names])
    if len(points) <= len(names) + 1:
        raise InputError(
            table.what,
            f"more than {len(names) + 1} rows for {len(names)} columns",
            f"{len(points)}",
            "pass more inputs or fewer columns",
        )
    _checks.demand(
        table.what, points, np.isfinite(points), "finite numbers", "leave out these rows"
    )
    return points
