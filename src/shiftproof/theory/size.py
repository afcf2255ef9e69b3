"""How large sets are at each threshold, from inputs without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.contracts import Nest
from shiftproof.errors import InputError


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """G(r) = E_P' of the share of the label space that the set of threshold r has.

    gamma(r) dr of the paper (eq. 20) has to be dG(r): X from P'_X, whatever the label. The text of
    the paper draws X from P'(X given Y = y), and the bound is then false.

    Parameters
    ----------
    thresholds : array (k,)
        Ascending; the first is the lowest that can be chosen.
    shares : array (m, k)
        The relative size of the set of each input at each threshold, from 0 to 1, ascending.
    weights : array (m,), optional
        W of each input: 1 where left out, for a ratio that is known only by its largest value.
    counts : array (m,), optional
        How much each input counts: 1 for inputs from P'; for inputs from P their w, of mean 1.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> curve = shp.theory.SizeCurve([0.0, 1.0, 2.0], [[0.0, 0.2, 0.4], [0.0, 0.4, 0.8]])
    >>> curve.mean.round(3), curve.gamma.round(3)
    (array([0. , 0.3, 0.6]), array([0. , 0.3, 0.3]))
    """

    thresholds: FloatArray
    shares: FloatArray
    weights: FloatArray | None
    counts: FloatArray

    def __init__(
        self,
        thresholds: ArrayLike,
        shares: ArrayLike,
        weights: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> None:
        places = _checks.vector("thresholds", thresholds)
        table = _checks.floats("shares", shares)
        if table.ndim != 2 or table.shape[1] != len(places) or not table.size:
            expected = f"shape (m, {len(places)}), a row for each input"
            raise InputError("shares", expected, f"shape {table.shape}", "one column a threshold")
        if not (np.diff(places) > 0).all():
            raise InputError("thresholds", "ascending numbers", "others", "sort them")
        inside = (table >= 0) & (table <= 1 + _ROUNDING)
        repair = "divide by the size of the label space"
        _checks.demand("shares", table, inside, "shares from 0 to 1", repair)
        table = np.minimum(table, 1.0)
        if (np.diff(table, axis=1) < -_ROUNDING).any():
            raise InputError("shares", "sets that grow", "shares that fall", "nested sets grow")
        each = (
            np.ones(len(table))
            if counts is None
            else _checks.calibration_weights("counts", counts, len(table))
        )
        w = None if weights is None else _checks.calibration_weights("weights", weights, len(table))
        for name, value in (
            ("thresholds", places),
            ("shares", np.maximum.accumulate(table, axis=1)),
            ("weights", w),
            ("counts", each),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        nest: Nest,
        thresholds: ArrayLike,
        weights: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> SizeCurve:
        """Of the sets of a nest, such as ``calibrated.prepare(X).nest``.

        Examples
        --------
        >>> import numpy as np
        >>> import shiftproof as shp
        >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(0, 10), shp.Distance())
        >>> nest = controller.calibrate([[5.0]], [5.0]).prepare([[5.0], [0.0]]).nest
        >>> shp.theory.SizeCurve.of(nest, [0.0, 1.0, 5.0]).shares
        array([[0. , 0.2, 1. ],
               [0. , 0.1, 0.5]])
        """
        places = _checks.thresholds(thresholds, nest.lower)
        sizes = [nest.at(np.full(len(nest), place)).relative_size() for place in places]
        return cls(places, np.stack(sizes, axis=1), weights, counts)

    @property
    def mean(self) -> FloatArray:
        """G at each threshold."""
        return np.asarray(self.counts @ self.shares / len(self.counts))

    @property
    def gamma(self) -> FloatArray:
        """How much of G each threshold adds: the first what is there from the start."""
        return np.diff(self.mean, prepend=0.0)


#: Relative sizes are quotients of computed areas.
_ROUNDING = 1e-9
