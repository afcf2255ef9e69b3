"""Kernel ratios, for a few columns: w(x) = sum_l theta_l exp( - |x - c_l|^2 / (2 sigma^2) ).

The fitting is that of the package densratio (the extra ``kernels``); this module gives it
standardised columns and a seed, evaluates in blocks, and says when the answer is no answer: with
many columns the widest kernel wins, and the ratio collapses to a constant.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    import densratio
except ModuleNotFoundError as cause:  # pragma: no cover - the tests install it
    raise ModuleNotFoundError(
        "kernel ratios need the package densratio: pip install 'shiftproof[kernels]'"
    ) from cause

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray
from shiftproof.contracts import UP_TO_ITS_ERROR, Assumption, Certainty
from shiftproof.errors import InputError, ShiftWarning
from shiftproof.ratios.encoding import Columns, Encoder
from shiftproof.ratios.known import column_names
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger
from shiftproof.ratios.separation import Separation

#: The leave-one-out formula of uLSIF builds square matrices of so many rows.
_MOST_ROWS = 1000

#: Rows that are evaluated at once; a block of kernels takes 8 x 100 bytes for each.
_BLOCK = 65_536


@dataclass(frozen=True)
class KernelRatio(ABC):
    """A recipe: w(x) as a sum of Gaussian kernels around target inputs.

    Parameters
    ----------
    columns : sequence of names or positions, optional
        The inputs to compare; all where left out. Best fewer than ten.
    kernels : int
        The number of kernels, at inputs drawn from the target.
    rows : int
        So many rows of each sample serve at most, drawn at random.
    seed : int

    Examples
    --------
    >>> import shiftproof as shp
    >>> isinstance(shp.ULSIF(), shp.KernelRatio)
    True
    """

    columns: Sequence[Column] | None = None
    kernels: int = 100
    rows: int = _MOST_ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names(self.columns))
        for name in ("kernels", "rows"):
            _checks.whole(name, getattr(self, name), 2, "say 100")
        _checks.seed(self.seed)

    @abstractmethod
    def _estimate(self, target: FloatArray, source: FloatArray) -> Any:
        """What densratio makes of the samples."""

    def fit(self, source: object, target: object) -> FittedKernels:
        """Fit to inputs from both distributions, labels not needed.

        Parameters
        ----------
        source : table or array (n_s, d)
            Inputs from P, best others than those that calibrate.
        target : table or array (n_t, d)
            Inputs from P'.
        """
        tables = Table.of("source", source), Table.of("target", target)
        return self.fit_as(Columns.of(*tables, self.columns), *tables)

    def fit_as(self, columns: Columns, source: Table, target: Table) -> FittedKernels:
        """As :meth:`fit`, where it is known already what the columns hold."""
        tables = source, target
        for table in tables:
            if len(table) < _FEWEST:
                raise InputError(
                    table.what, f"at least {_FEWEST} rows", f"{len(table)}", "pass more inputs"
                )
        encoder = Encoder.of(columns, tables)
        matrices = [encoder(table) for table in tables]
        rng = np.random.default_rng(self.seed)
        few = [each[rng.permutation(len(each))[: self.rows]] for each in matrices]
        with _seeded(self.seed):
            found = self._estimate(few[1], few[0])
        ledger = Ledger(columns.names).plus(ratio_source=tables[0], ratio_target=tables[1])
        fitted = FittedKernels(
            np.asarray(found.kernel_info.centers),
            np.asarray(found.theta, dtype=np.float64).ravel(),
            float(found.kernel_info.sigma),
            type(self).__name__,
            encoder,
            ledger,
        )
        caution = _collapse(fitted, matrices, self.seed)
        if not caution:
            return fitted
        warnings.warn(caution, ShiftWarning, stacklevel=3)
        return fitted.with_caution(caution)


#: Fewer rows give no folds to speak of.
_FEWEST = 10

#: So many standard errors have to lie between what a classifier sees and nothing at all.
_SURE = 3.0


@dataclass(frozen=True)
class ULSIF(KernelRatio):
    """Least squares between w and the sum of kernels (Kanamori, Hido and Sugiyama 2009).

    Parameters as in :class:`KernelRatio`.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> ratio = shp.ULSIF().fit(rng.normal(0, 1, 1000), rng.normal(0.5, 0.7, 1000))
    >>> ratio.weights([-1.0, 0.5, 1.0]).round(1)  # in truth .2, 1.6 and 1.8
    array([0.2, 1.6, 1.9])
    """

    def _estimate(self, target: FloatArray, source: FloatArray) -> Any:
        return densratio.uLSIF(target, source, kernel_num=self.kernels, verbose=False)


@dataclass(frozen=True)
class KLIEP(KernelRatio):
    """Likelihood of the target under w times the source (Sugiyama and others 2008).

    Parameters as in :class:`KernelRatio`.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> recipe = shp.KLIEP(rows=300)
    >>> ratio = recipe.fit(rng.normal(0, 1, 1000), rng.normal(0.5, 0.7, 1000))
    >>> ratio.weights([-1.0, 0.5, 1.0]).round(1)  # in truth .2, 1.6 and 1.8
    array([0.1, 1.7, 2.5])
    """

    def _estimate(self, target: FloatArray, source: FloatArray) -> Any:
        return densratio.KLIEP(target, source, kernel_num=self.kernels, verbose=False)


@dataclass(frozen=True, eq=False)
class FittedKernels(PlainRatio):
    """A fitted sum of kernels, made by :class:`KernelRatio`."""

    centers: FloatArray
    heights: FloatArray
    width: float
    method: str
    encoder: Encoder
    made_from: Ledger
    caution: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The inputs that were compared."""
        return self.encoder.columns.names

    @property
    def ledger(self) -> Ledger:
        """The rows of both samples."""
        return self.made_from

    @property
    def assumption(self) -> Assumption:
        """That the sum of kernels is right."""
        return Assumption(
            Certainty.ESTIMATED,
            f"w(x) by {self.method}, {len(self.heights)} Gaussian kernels",
            UP_TO_ITS_ERROR,
            cautions=(self.caution,) if self.caution else (),
        )

    def with_caution(self, caution: str) -> FittedKernels:
        """The same ratio, with a sentence that its readers should see."""
        return FittedKernels(
            self.centers,
            self.heights,
            self.width,
            self.method,
            self.encoder,
            self.made_from,
            caution,
        )

    def at(self, points: FloatArray) -> FloatArray:
        """W at standardised points, block by block."""
        squares = (self.centers**2).sum(axis=1)
        found = np.empty(len(points))
        for start in range(0, len(points), _BLOCK):
            block = points[start : start + _BLOCK]
            far = (block**2).sum(axis=1)[:, None] - 2 * block @ self.centers.T + squares
            kernels = np.exp(-np.maximum(far, 0.0) / (2 * self.width**2))
            found[start : start + _BLOCK] = kernels @ self.heights
        return found

    def _ratio(self, table: Table) -> FloatArray:
        return self.at(self.encoder(table))


def _collapse(ratio: FittedKernels, matrices: Sequence[FloatArray], seed: int) -> str:
    """A sentence where the ratio moves far less mass than a classifier shows to be moved."""
    on_source = ratio.at(matrices[0])
    mean = on_source.mean()
    moved = float(np.abs(on_source / mean - 1).mean() / 2) if mean > 0 else 0.0
    found = Separation.of(*matrices, seed=seed)
    if moved >= found.mass / 2 or found.mass < _SURE * found.mass_error:
        return ""
    return (
        f"{ratio.method} has all but collapsed to w = 1: it moves {moved:.1%} of the mass, while a "
        f"classifier shows that at least {found.mass:.1%} (+- {found.mass_error:.1%}) has to move; "
        "use fewer columns, or ClassifierRatio"
    )


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Densratio draws from numpy's global state: set for a moment, and put back."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # log 0 in figures that are not used
            yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
