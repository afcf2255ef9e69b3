"""How far the risk under the target may lie from that under the source, from the ratio alone.

All of these bound sup over thresholds of the difference between E_P L and E_P' L, for a loss from 0
to Lmax. They are what a training risk costs that is not weighted; a weighted one costs nothing.
"""

from __future__ import annotations

import math

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike
from shiftproof.errors import InputError


def printed_bias(ratio_max: float, bound: float) -> float:
    """Lmax sqrt(log Wmax), as the paper prints it (eq. 17).

    Valid, and larger than :func:`pinsker_bias` by a factor of the root of 2: the paper bounds
    KL(P, P') by log Wmax, which is not true (it may be infinite); KL(P', P) is at most that.

    Examples
    --------
    >>> from shiftproof.theory import printed_bias
    >>> round(printed_bias(1.8, 1.0), 3)
    0.767
    """
    return _bound(bound) * math.sqrt(math.log(_checks.ratio_max(ratio_max)))


def pinsker_bias(ratio_max: float, bound: float) -> float:
    """Lmax sqrt(KL(P', P) / 2) <= Lmax sqrt(log(Wmax) / 2), by Pinsker's inequality.

    Examples
    --------
    >>> from shiftproof.theory import pinsker_bias
    >>> round(pinsker_bias(1.8, 1.0), 3)
    0.542
    """
    return _bound(bound) * math.sqrt(math.log(_checks.ratio_max(ratio_max)) / 2)


def ratio_bias(ratio_max: float, bound: float) -> float:
    """Lmax TV(P', P) <= Lmax (1 - 1 / Wmax).

    TV = E_P' (1 - 1/w)_+, and 1/w is at least 1 / Wmax: never above what Pinsker gives.

    Examples
    --------
    >>> from shiftproof.theory import ratio_bias
    >>> round(ratio_bias(1.8, 1.0), 3)
    0.444
    """
    return _bound(bound) * (1 - 1 / _checks.ratio_max(ratio_max))


def variation_bias(weights: ArrayLike, shares: ArrayLike, bound: float) -> float:
    """Lmax TV(P', P) itself, for a ratio of finitely many values: Lmax / 2 sum_g p_g abs(w_g - 1).

    Parameters
    ----------
    weights : array (k,)
        The values of the ratio.
    shares : array (k,)
        How often each occurs in the source.
    bound : float
        Lmax.

    Examples
    --------
    Stations off in half of the source, and in nine tenths of the target:

    >>> from shiftproof.theory import variation_bias
    >>> round(variation_bias([1.8, 0.2], [0.5, 0.5], 1.0), 3)
    0.4
    """
    w = _checks.vector("weights", weights)
    p = _checks.vector("shares", shares, length=len(w))
    _checks.demand(
        "weights", w, (w >= 0) & np.isfinite(w), "finite ratios of at least 0", "mend it"
    )
    _checks.demand("shares", p, p >= 0, "shares of at least 0", "pass shares of the source")
    for name, total in (("shares", p.sum()), ("shares times weights", p @ w)):
        if not math.isclose(float(total), 1.0, rel_tol=1e-9):
            raise InputError(name, "a sum of 1", f"{float(total):.10g}", "scale them so")
    return _bound(bound) * float(p @ np.abs(w - 1)) / 2


def _bound(bound: float) -> float:
    largest = _checks.bound_of(bound)
    if math.isinf(largest):
        repair = "cap the loss, or bound the label space"
        raise InputError("bound", "a finite largest loss", "inf", repair)
    return largest
