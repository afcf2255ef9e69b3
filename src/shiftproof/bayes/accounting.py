"""What noisy gradients spend of privacy: Renyi accounting of the subsampled Gaussian mechanism.

Each step draws every row with probability q by itself, clips the gradient of each to norm C and
adds N(0, sigma^2 C^2) to their sum. Its Renyi divergence of order a, for neighbours that differ in
one row, which counts in one and adds 0 in the other (n, and so q and sigma, are those of both), is
for whole a (Mironov, Talwar and Zhang 2019)

    rho(a) = 1/(a - 1) log sum_k binom(a, k) (1 - q)^(a - k) q^k exp( (k^2 - k) / (2 sigma^2) ),

divergences of steps add, and T steps are (epsilon, delta)-private for (Canonne, Kamath and Steinke
2020)

    epsilon = min_a  T rho(a) + log(1 - 1/a) - log(delta a) / (a - 1).

This is an upper bound: accounting by privacy loss distributions asks for a few percent less noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from shiftproof import _checks
from shiftproof.errors import InputError, ShiftWarning

#: Whole orders: small ones for much privacy spent, large ones for little.
_ORDERS = (*range(2, 65), 80, 96, 128, 192, 256, 384, 512, 768, 1024)

#: Noise is found to this relative precision, and rounded up.
_PRECISION = 1e-6


#: What the price of a fit rests on, where standard units are concerned.
LEARNED_UNITS = "standard units, learned from these rows and NOT paid for, tell nothing of them"
FIXED_UNITS = "standard units were fixed without these rows"


class PrivacyWarning(ShiftWarning):
    """Something learned from the data lies outside what is accounted for.

    Examples
    --------
    >>> import shiftproof as shp
    >>> from shiftproof.bayes import PrivacyWarning
    >>> issubclass(PrivacyWarning, shp.ShiftWarning)
    True
    """


@dataclass(frozen=True)
class Spent:
    """Privacy that a fit has spent, and what has to be true for it.

    Attributes
    ----------
    epsilon, delta : float
    neighbours : str
        Which data sets are told apart no better than (epsilon, delta) says.
    releases : str
        What may be shown for this price.
    holds_if : tuple of str
    noise_multiplier, rate : float or None
        sigma and q of noisy gradients.
    steps : int or None

    Examples
    --------
    >>> from shiftproof.bayes import GibbsNetwork, Scaling
    >>> print(GibbsNetwork.of_epsilon(1.0, inputs=Scaling(0.0, 1.0)).spent)
    epsilon 1, delta 0 for data sets that differ in one row that is replaced
      released: one draw; n draws spend n times as much
      holds if: the draw is exact; a Markov chain that is stopped only comes near
      holds if: standard units were fixed without these rows
      holds if: settings were not tuned on these rows
      holds if: the number of rows and the names of classes may be known
    """

    epsilon: float
    delta: float
    neighbours: str
    releases: str
    holds_if: tuple[str, ...]
    noise_multiplier: float | None = None
    rate: float | None = None
    steps: int | None = None

    def __str__(self) -> str:
        first = f"epsilon {self.epsilon:.6g}, delta {self.delta:.6g} for data sets that differ in"
        lines = [f"{first} {self.neighbours}", f"  released: {self.releases}"]
        if self.noise_multiplier is not None:
            noise = f"sigma {self.noise_multiplier:.4g}, each row in a step with probability"
            lines.append(f"  by noise: {noise} {self.rate:.4g}, {self.steps:,} steps")
        return "\n".join([*lines, *(f"  holds if: {each}" for each in self.holds_if)])


def epsilon_of(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """The epsilon that T steps of noisy gradients spend at this delta.

    Examples
    --------
    >>> from shiftproof.bayes import epsilon_of
    >>> round(epsilon_of(2.335, rate=0.1, steps=200, delta=1e-5), 2)
    3.0
    """
    _checked(rate, steps, delta)
    sigma = _checks.positive("noise_multiplier", noise_multiplier, "say 1.0")
    return _epsilon(sigma, rate, steps, delta)


def noise_for(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise multiplier sigma for which T steps spend at most (epsilon, delta).

    Examples
    --------
    >>> from shiftproof.bayes import noise_for
    >>> round(noise_for(1.0, 1e-5, rate=0.1, steps=200), 2)
    5.89
    """
    _checked(rate, steps, delta)
    goal = _checks.positive("epsilon", epsilon, "say 3.0")
    low, high = 0.0, 1.0
    while _epsilon(high, rate, steps, delta) > goal:
        low, high = high, 2 * high
        if high > 1e6:
            repair = "allow a larger epsilon or delta, fewer steps, or smaller batches"
            raise InputError("epsilon", "a goal that noise can reach", f"{epsilon!r}", repair)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        below = _epsilon(middle, rate, steps, delta) <= goal
        low, high = (low, middle) if below else (middle, high)
    return high


def _epsilon(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Min over orders a of T rho(a) + log(1 - 1/a) - log(delta a) / (a - 1)."""
    spent = (
        steps * _renyi(order, sigma, rate)
        + math.log1p(-1 / order)
        - math.log(delta * order) / (order - 1)
        for order in _ORDERS
    )
    least: float = min(spent)
    return max(0.0, least)


def _renyi(order: int, sigma: float, rate: float) -> float:
    """rho(a) of one step."""
    if sigma == 0:
        return math.inf
    if rate == 1:
        return order / (2 * sigma**2)
    k = np.arange(order + 1)
    choices = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    chances = (order - k) * math.log1p(-rate) + k * math.log(rate)
    total = float(logsumexp(choices + chances + k * (k - 1) / (2 * sigma**2)))
    return total / (order - 1)


def _checked(rate: float, steps: int, delta: float) -> None:
    _checks.whole("steps", steps, 1, "say 1000")
    for name, value, most in (("rate", rate, 1.0), ("delta", delta, 1.0)):
        number = _checks.positive(name, value, "say 0.05" if name == "rate" else "say 1e-5")
        if number > most or (name == "delta" and number == 1):
            raise InputError(name, "a probability", f"{value!r}", "a share of 1 is all there is")
