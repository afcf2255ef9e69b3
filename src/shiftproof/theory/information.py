"""How much a trained model knows of its training data, and what the paper makes of it.

The paper bounds KL(Q, P), P the law of theta over training sets, through the mutual information
I(theta; D). All numbers are in nats.
"""

from __future__ import annotations

import math

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike
from shiftproof.confidence import probability


def printed_beta(n_train: int, delta: float, *, bound: float, c: float) -> float:
    """The generalization function of the paper's appendix, as printed.

        beta = sqrt(8 log(e n_tr)) ( log(2/delta) + Lmax + 2 c log(n_tr) / delta )

    for a learner with I(theta; D) <= c log n_tr. It grows as the 1.5th power of log n_tr, not as
    log n_tr, and its proof has a step that goes the wrong way (an expectation over a ghost sample
    is moved into an exponential); :func:`~shiftproof.theory.pac_bayes_band` is the repair.

    Examples
    --------
    >>> from shiftproof.theory import printed_beta
    >>> round(printed_beta(1000, 0.1, bound=1.0, c=1.0) / 1000**0.5, 1)
    35.8
    """
    n = _checks.whole("n_train", n_train, 2, "the number of training examples")
    share, rate = probability("delta", delta), _checks.at_least_0("c", c, "pass a number")
    bracket = math.log(2 / share) + _checks.bound_of(bound) + 2 * rate * math.log(n) / share
    return math.sqrt(8 * math.log(math.e * n)) * bracket


def divergence_above(information: float, delta: float) -> float:
    """KL(Q, P) <= I(theta; D) / delta with probability 1 - delta (the paper's lemma 1).

    P is the law of theta over all training sets, so that E KL(Q, P) = I(theta; D): Markov's
    inequality.

    Examples
    --------
    >>> from shiftproof.theory import divergence_above
    >>> divergence_above(2.0, 0.1)
    20.0
    """
    return _checks.at_least_0("information", information, "pass a number") / probability(
        "delta", delta
    )


def gibbs_information(inverse_temperature: float, n_train: int, *, bound: float) -> float:
    """I(theta; D) of a Gibbs posterior proportional to prior exp(-eta n L_hat), loss in [0, Lmax].

        I <= (eta Lmax)^2 n / 2

    The symmetrised information of a Gibbs posterior is eta n times its expected generalization gap
    (Aminian and others 2021), and the gap is at most Lmax sqrt(I / (2 n)) (Xu and Raginsky 2017):
    I <= eta n Lmax sqrt(I / (2 n)), solved for I.

    Examples
    --------
    >>> from shiftproof.theory import gibbs_information
    >>> round(gibbs_information(0.1, 1000, bound=1.0), 9)
    5.0
    """
    eta = _checks.at_least_0("inverse_temperature", inverse_temperature, "pass a number")
    n = _checks.whole("n_train", n_train, 1, "the number of training examples")
    return (eta * _checks.bound_of(bound)) ** 2 * n / 2


def private_information(epsilon: float, n_train: int) -> float:
    """I(theta; D) of a learner with pure epsilon-differential privacy, rows independent.

        I <= n min(epsilon, epsilon^2 / 2)

    n epsilon is the bound that the paper uses (McGregor and others 2010); epsilon^2 / 2 for each
    row is that of concentrated privacy, which pure privacy implies (Bun and Steinke 2016).
    Approximate privacy, with a delta above 0, is not covered.

    Examples
    --------
    >>> from shiftproof.theory import private_information
    >>> private_information(0.1, 100), private_information(4.0, 100)
    (0.5000000000000001, 400.0)
    """
    level = _checks.at_least_0("epsilon", epsilon, "pass a number")
    n = _checks.whole("n_train", n_train, 1, "the number of training examples")
    return n * min(level, level**2 / 2)


def langevin_information(
    steps: ArrayLike, noises: ArrayLike, *, gradient_bound: float, dimension: int
) -> float:
    """I(theta; D) of theta' = theta - step g + noise N(0, 1), gradients of norm at most G.

        I <= sum over t of d/2 log( 1 + (step_t G)^2 / (d noise_t^2) )

    for a start that does not depend on the data, and any way of drawing batches that does not look
    at theta (Pensia, Jog and Loh 2018). A warm-up on the same rows, as of
    :class:`~shiftproof.bayes.LangevinNetwork`, is no such start. For SGLD noise_t = sqrt(2 step_t /
    inverse temperature).

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.theory import langevin_information
    >>> steps = 1e-3 / np.arange(1, 1001)
    >>> round(langevin_information(
    ...     steps, np.sqrt(2 * steps / 100), gradient_bound=1.0, dimension=10
    ... ), 3)
    0.187
    """
    step = _checks.vector("steps", steps)
    noise = _checks.vector("noises", noises, length=len(step))
    _checks.demand("steps", step, step >= 0, "steps of at least 0", "pass step sizes")
    _checks.demand("noises", noise, noise > 0, "noise above 0", "without noise nothing is hidden")
    largest, d = (
        _checks.at_least_0("gradient_bound", gradient_bound, "pass a number"),
        _checks.whole("dimension", dimension, 1, "the number of parameters"),
    )
    return float((d / 2 * np.log1p((step * largest / noise) ** 2 / d)).sum())
