"""What weights alone say, before anything is labelled: where sets are finite.

The paper's rule gives the whole label space to a test point of weight W where

    W Lmax > alpha (sum_i W_i + W),

so a finite set needs sum_i W_i >= W (Lmax - alpha) / alpha, whatever the labels and the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Table, row_count
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.contracts import Assumption, Ratio
from shiftproof.errors import InputError
from shiftproof.planning.resampling import Pilot
from shiftproof.risk import LossCurves, RiskCurve

#: Calibration sets that are drawn for each size.
_DRAWS = 400


@dataclass(frozen=True, eq=False)
class Feasibility:
    """How often the paper's rule has to return the whole label space, by the number of examples.

    Attributes
    ----------
    n_cal : array (k,)
    whole : array (k,)
        The share of test points with the whole label space, on average over calibration sets.
    smallest_alpha : array (k,)
        At this level half of the calibration sets give finite sets to every test point.
    alpha, bound : float
    assumption : Assumption

    Examples
    --------
    >>> import shiftproof as shp
    >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.1, 1: 0.9})
    >>> found = shp.feasibility(
    ...     ratio, [0, 1] * 50, [0] + [1] * 9, alpha=1.0, bound=56.0, n_cal=[50, 100, 150]
    ... )
    >>> found.whole.round(2)
    array([0.9 , 0.35, 0.  ])
    >>> found.needed(0.01)
    150
    """

    n_cal: FloatArray
    whole: FloatArray
    smallest_alpha: FloatArray
    alpha: float
    bound: float
    assumption: Assumption

    def needed(self, share: float = 0.01) -> int | None:
        """The fewest examples, of those asked for, with at most this share of whole sets."""
        good = np.flatnonzero(self.whole <= share)
        return int(self.n_cal[good[0]]) if len(good) else None

    def columns(self) -> dict[str, FloatArray]:
        """As columns of a table."""
        return {
            "n_cal": self.n_cal,
            "whole": self.whole,
            "smallest_alpha": self.smallest_alpha,
        }

    def __str__(self) -> str:
        lines = [f"share of whole label spaces, paper's rule, alpha = {self.alpha:.6g}:"]
        lines += [
            f"  n_cal {int(n):6d}: {share:.3f} (finite for all from alpha = {least:.4g})"
            for n, share, least in zip(self.n_cal, self.whole, self.smallest_alpha, strict=True)
        ]
        return "\n".join([*lines, f"  {self.assumption}"])


def feasibility(
    ratio: Ratio[Any],
    X_source: object,
    X_target: object,
    *,
    alpha: float,
    bound: float,
    n_cal: Sequence[int] | ArrayLike,
    seed: int = 0,
) -> Feasibility:
    """At which number of calibration examples the paper's rule gives finite sets; needs no labels.

    Parameters
    ----------
    ratio : Ratio
        With one number for each row.
    X_source, X_target : table or array
        Inputs from P and from P'. Where the ratio knows the rates of groups in P, groups are drawn
        at these, and the inputs need only show each of them.
    alpha : float
    bound : float
        Lmax, for a distance the diameter of the label space.
    n_cal : sequence of int
    seed : int
        Of the calibration sets that are drawn.

    Returns
    -------
    Feasibility

    Examples
    --------
    >>> import shiftproof as shp
    >>> found = shp.feasibility(
    ...     shp.NoShift(), [[0.0]], [[0.0]], alpha=0.1, bound=1.0, n_cal=[5, 9, 10]
    ... )
    >>> found.whole
    array([1., 0., 0.])
    """
    table, target = Table.of("X_source", X_source), Table.of("X_target", X_target)
    for one in (table, target):
        row_count(one, "pass inputs")
    sizes = np.atleast_1d(_checks.floats("n_cal", n_cal))
    good = (sizes >= 1) & np.isfinite(sizes) & (np.floor(sizes) == sizes)
    _checks.demand("n_cal", sizes, good, "whole numbers of at least 1", "count examples")
    largest = _checks.bound_of(bound)
    if math.isinf(largest):
        raise InputError("bound", "a finite largest loss", "inf", "no set is finite without one")
    level = float(_checks.risk_level(_checks.scalar("alpha", alpha, "one level"), largest))
    none = LossCurves.steps(np.zeros(len(table)))
    pilot = Pilot(none, table, ratio)
    if not isinstance(pilot.rule, RiskCurve):
        expected = "a ratio with one number for each row"
        raise InputError("ratio", expected, type(ratio).__name__, "pass its `point`")
    weights, tests = pilot.rule.weights, ratio.weights(target.native())
    rng = np.random.default_rng(_checks.seed(seed))
    whole, smallest = [], []
    for n in sizes.astype(int).tolist():
        totals = rng.multinomial(n, pilot.chances, size=_DRAWS) @ weights
        whole.append(_share_whole(totals, tests, level, largest))
        smallest.append(float(np.median(_smallest(totals, float(tests.max()), largest))))
    return Feasibility(sizes, np.array(whole), np.array(smallest), level, largest, ratio.assumption)


def _share_whole(totals: FloatArray, tests: FloatArray, alpha: float, bound: float) -> float:
    """The share of pairs with W (Lmax - alpha) > alpha sum_i W_i."""
    needed = (
        np.sort(tests * (bound - alpha) / alpha) if alpha > 0 else np.where(tests > 0, np.inf, 0)
    )
    room = totals * (1 + _ROUNDING)
    finite = np.searchsorted(np.sort(needed), room, side="right")
    return 1 - float(finite.mean()) / len(tests)


def _smallest(totals: FloatArray, largest: float, bound: float) -> FloatArray:
    """W Lmax / (sum_i W_i + W) at the largest test weight."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(math.isinf(largest), bound, largest * bound / (totals + largest))
    return np.where(totals + largest == 0, bound, found)


#: n (1/n) may be less than 1 by rounding.
_ROUNDING = 1e-12
