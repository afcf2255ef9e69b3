"""Draws of Markov chains as a bank, and whether the chains agree about predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from blackjax.diagnostics import ess_bulk, ess_tail, rhat

from shiftproof._types import FloatArray
from shiftproof.bayes.bank import BankPosterior
from shiftproof.bayes.posterior import blocks, evaluated
from shiftproof.errors import InputError

#: Predictions for so many rows of training are looked at.
PROBES = 50


@dataclass(frozen=True)
class Diagnostics:
    """Whether chains agree, judged by their predictions: weights of hidden units may be permuted.

    Of classes, by the outputs before they become probabilities.

    Attributes
    ----------
    rhat : float
        The largest rank-normalised split R-hat of a prediction (Vehtari et al. 2021); near 1.
    effective : float
        The smallest effective number of draws, of the bulk and of the tails.
    divergent : int or None
        Steps at which the integrator of NUTS left the energy; None where there is none.
    chains, draws : int
        How many, and how long each is.

    Examples
    --------
    >>> from shiftproof.bayes import Diagnostics
    >>> print(Diagnostics(rhat=1.2, effective=12.0, divergent=0, chains=4, draws=100))
    R-hat 1.2, effective draws 12, divergent steps 0, from 4 chains of 100
    """

    rhat: float
    effective: float
    divergent: int | None
    chains: int
    draws: int

    def __str__(self) -> str:
        stray = "" if self.divergent is None else f", divergent steps {self.divergent}"
        figures = f"R-hat {self.rhat:.4g}, effective draws {self.effective:.4g}{stray}"
        return f"{figures}, from {self.chains} chains of {self.draws}"

    def faults(self, largest_rhat: float, least_effective: float) -> tuple[str, ...]:
        """What is not as it should be, in sentences; NaN never is."""
        found = []
        if not self.rhat <= largest_rhat:
            found.append(f"R-hat is {self.rhat:.4g}, above {largest_rhat:g}")
        if not self.effective >= least_effective:
            found.append(f"{self.effective:.4g} effective draws are fewer than {least_effective:g}")
        if self.divergent:
            found.append(f"{self.divergent} divergent steps")
        return tuple(found)


@dataclass(frozen=True, eq=False)
class ChainPosterior(BankPosterior):
    """A bank of draws from Markov chains, one chain after another.

    Attributes
    ----------
    chains : int

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import ChainPosterior, LangevinNetwork, Network
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> recipe = LangevinNetwork(Network((8,)), warmup=50, burn_in=50, thin=2, snapshots=40)
    >>> posterior = recipe.fit(x, x[:, 0], seed=0)
    >>> isinstance(posterior, ChainPosterior), posterior.diagnose(x).draws
    (True, 10)
    """

    chains: int
    divergent: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chains < 1 or len(self) % self.chains:
            expected = f"a number that divides {len(self)} draws"
            raise InputError("chains", expected, f"{self.chains}", "pass what a fit gave")

    def diagnose(self, X: object) -> Diagnostics:
        """R-hat and effective draws of the predictions for these rows.

        Of classes, outputs are compared less their mean over classes, since probabilities may be 1
        to the last digit. Chains that all give one and the same number agree about it; where they
        do so about everything, nothing has been drawn, and the figures are NaN.
        """
        draws = len(self) // self.chains
        if self.chains < 2 or draws < 4:
            got = f"{self.chains} of {draws}"
            repair = "sample with chains=4 and more draws"
            raise InputError("chains", "two chains of at least 4 draws", got, repair)
        x = self.coding.read(X)
        if len(x) == 0:
            raise InputError("X", "at least one row", "none", "pass inputs to compare chains at")
        outputs = np.concatenate(
            [
                np.asarray(evaluated(self.network, False, self.layers, part))[:, :count]
                for part, count in blocks(x)
            ],
            axis=1,
        )
        if self.law.classifies:
            outputs = outputs - outputs.mean(axis=-1, keepdims=True)
        worst, least = figures(outputs.reshape(self.chains, draws, -1))
        return Diagnostics(worst, least, self.divergent, self.chains, draws)


def figures(predictions: FloatArray) -> tuple[float, float]:
    """The largest R-hat and the smallest effective number of draws, of (chains, draws, many).

    NaN where a number is none, or where no prediction ever changes.
    """
    moving = (predictions != predictions[:1, :1]).any(axis=(0, 1))
    if not np.isfinite(predictions).all() or not moving.any():
        return math.nan, math.nan
    worst, least = _figures(predictions[..., moving])
    return float(worst), float(least)


@jax.jit
def _figures(predictions: Any) -> tuple[jax.Array, jax.Array]:
    """The largest R-hat and the smallest effective number of draws."""
    return rhat(predictions).max(), jax.numpy.minimum(
        ess_bulk(predictions).min(), ess_tail(predictions).min()
    )
