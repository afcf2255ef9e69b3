"""What a sample says about a mean or a rate, with a stated chance of being wrong.

Both hold for every sample size and need only that the rows are independent draws.
"""

from __future__ import annotations

import math

from scipy.special import betaincinv

from shiftproof import _checks
from shiftproof._types import ArrayLike
from shiftproof.errors import InputError

#: More halvings than a float has bits: the bound is found to the last one.
_HALVINGS = 70


def probability(name: str, value: float) -> float:
    """The value, if it lies strictly between 0 and 1.

    Examples
    --------
    >>> from shiftproof.confidence import probability
    >>> probability("delta", 0.05)
    0.05
    """
    share = _checks.scalar(name, value, "for example .05")
    if not 0 < share < 1:
        raise InputError(name, "a probability between 0 and 1", f"{value!r}", "for example .05")
    return share


def rate_interval(seen: int, total: int, delta: float) -> tuple[float, float]:
    """Clopper-Pearson: both ends hold the rate of what was seen, with probability 1 - delta.

    low = Beta(delta/2; k, n - k + 1),   high = Beta(1 - delta/2; k + 1, n - k),

    where the upper end is computed as 1 less the lower one of the other outcome.

    Examples
    --------
    >>> from shiftproof.confidence import rate_interval
    >>> [round(end, 4) for end in rate_interval(180, 200, 0.05)]
    [0.8498, 0.9378]
    """
    rest = total - seen
    low = float(betaincinv(seen, rest + 1, delta / 2)) if seen else 0.0
    high = 1.0 - float(betaincinv(rest, seen + 1, delta / 2)) if rest else 1.0
    return low, high


def mean_above(values: ArrayLike, delta: float) -> float:
    """An upper bound on the mean of a variable in [0, 1], wrong with probability delta at most.

    The largest p with n kl(mean, p) <= log(1/delta), where
    kl(m, p) = m log(m/p) + (1 - m) log((1 - m)/(1 - p)) (Hoeffding 1963, theorem 1, inverted).
    For values that are all 0 it is 1 - delta^(1/n).

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.confidence import mean_above
    >>> round(mean_above(np.zeros(100), 0.05), 4), round(1 - 0.05 ** (1 / 100), 4)
    (0.0295, 0.0295)
    """
    sample = _checks.non_empty("values", _checks.vector("values", values), "pass a sample")
    inside = (sample >= 0) & (sample <= 1)
    _checks.demand("values", sample, inside, "values from 0 to 1", "divide by their bound")
    room = -math.log(probability("delta", delta)) / len(sample)
    mean = min(math.fsum(sample.tolist()) / len(sample), 1.0)
    low, high = mean, 1.0  # kl rises from 0 at the mean; the answer is the upper end, never below
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(mean, middle) <= room else (low, middle)
    return high


def _divergence(m: float, p: float) -> float:
    """kl(m, p) of two coins, for m <= p."""
    tails = 0.0 if m == 1 else math.inf if p == 1 else (1 - m) * math.log((1 - m) / (1 - p))
    return tails + (m * math.log(m / p) if m > 0 else 0.0)
