"""Upper bands on a risk curve: U(r) >= E_P' L(r) for all thresholds r at once, with confidence.

A band is for a predictor that has not seen the examples (a hold-out or a pilot sample), except
:func:`pac_bayes_band`, which is for training examples and a posterior. All are one-sided, and hold
on average over examples of the sample: none of them knows of the calibration that comes later.

Some hold at every threshold by themselves (Dvoretzky, Kiefer and Wolfowitz, in the sharp form of
Massart 1990). The others hold at the thresholds that were named, delta shared among them, and in
between since risks do not rise; these thresholds must not be chosen by looking at the sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, BoolArray, FloatArray
from shiftproof.confidence import mean_above, probability
from shiftproof.errors import InputError
from shiftproof.risk import LossCurves
from shiftproof.theory.generalization import table_of_losses, training_risk

#: int_0^inf min(1, exp(-2 m t^2)) dt = _CHAIN / sqrt(m): what the supremum over a chain of sets
#: exceeds its mean by, on average. (sqrt(log 2 / 2) + sqrt(pi / 8) erfc(sqrt(log 2)), as Massart's
#: bound is used only from where it is 1/2 on, and 1 before.)
_CHAIN = math.sqrt(math.log(2) / 2) + math.sqrt(math.pi / 8) * math.erfc(math.sqrt(math.log(2)))


#: So many halvings leave an error of 1e-12 Lmax, upwards.
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Band:
    """A bound on a risk at all thresholds, wrong with probability delta at most.

    Attributes
    ----------
    thresholds : array (k,)
        Ascending.
    estimate : array (k,)
        The risk in the sample.
    values : array (k,)
        The bound at each; it holds up to the next one.
    bound : float
        Lmax, which holds below the first threshold.
    delta : float
    basis : str
        Which inequality, on how many examples.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps(np.linspace(0, 1, 500))
    >>> band = shp.theory.dkw_band(losses, [0.5, 0.8, 1.0], delta=0.05)
    >>> band.values.round(3)
    array([0.555, 0.255, 0.055])
    >>> band.at([0.2, 0.9]).round(3)
    array([1.   , 0.255])
    """

    thresholds: FloatArray
    estimate: FloatArray
    values: FloatArray
    bound: float
    delta: float
    basis: str

    def at(self, thresholds: ArrayLike) -> FloatArray:
        """U(r): the bound at the largest threshold of the band that is not above r."""
        r = _checks.floats("thresholds", thresholds)
        index = np.searchsorted(self.thresholds, r, side="right")
        found: FloatArray = np.append(self.bound, self.values)[index]
        return found


def dkw_band(losses: LossCurves, thresholds: ArrayLike, delta: float) -> Band:
    """U(r) = L_hat(r) + width(r) sqrt( log(1/delta) / (2m) ), for steps or hinges of one slope.

    width(r) = 1 for miscoverage. For a distance L(r) = int_r^(r + cap) P(R > u) du, so that one
    band on the law of scores serves all thresholds: width(r) is the cap, or Rmax - r without one.
    Applies without weights: to a sample from P', or where there is no shift.

    Parameters
    ----------
    losses : LossCurves
        Steps of height 1; or hinges of one slope, with one cap, or with none and Lmax = Rmax.
    thresholds : array (k,)
        Where it is worked out; any, since it holds for all.
    delta : float
        At most 1/2.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.hinges([1.0] * 500 + [0.0] * 500, bound=10.0)
    >>> shp.theory.dkw_band(losses, [0.0, 0.5], delta=0.05).values.round(3)
    array([0.887, 0.618])
    """
    places = _grid(losses, thresholds)
    reach = _reach(losses, places)
    return _band(
        losses,
        places,
        training_risk(losses, places) + reach * _dkw(len(losses), delta),
        delta,
        f"DKW on {len(losses)} examples",
    )


def group_band(
    losses: LossCurves,
    groups: ArrayLike,
    rates: Mapping[object, float],
    thresholds: ArrayLike,
    delta: float,
) -> Band:
    """U(r) = sum_g p'_g ( L_hat_g(r) + width(r) sqrt( log(G/delta) / (2 m_g) ) ), rates p' known.

    Each group has a band of its own, delta shared among them. Where the ratio is one of groups this
    is much narrower than weighing: nothing is multiplied by Wmax.

    Parameters
    ----------
    losses : LossCurves
        As in :func:`dkw_band`.
    groups : array (m,)
        The group of each example.
    rates : mapping from group to rate
        p'_g, with a sum of 1. A group without examples is bounded by Lmax.
    thresholds : array (k,)
    delta : float

    Examples
    --------
    500 examples, half of them off; nine tenths will be:

    >>> import numpy as np
    >>> import shiftproof as shp
    >>> losses, off = shp.LossCurves.steps(np.linspace(0, 1, 500)), np.arange(500) % 2
    >>> band = shp.theory.group_band(losses, off, {0: 0.1, 1: 0.9}, [0.5], delta=0.1)
    >>> (band.values - band.estimate).round(3)
    array([0.077])
    """
    places, codes = _grid(losses, thresholds), np.asarray(groups)
    if codes.shape != (len(losses),):
        expected, got = f"shape ({len(losses)},)", f"shape {codes.shape}"
        raise InputError("groups", expected, got, "one label for each example")
    shares = _checks.vector("rates", list(rates.values()))
    _checks.demand("rates", shares, shares >= 0, "rates of at least 0", "pass shares")
    if not math.isclose(math.fsum(shares), 1.0, rel_tol=1e-9):
        raise InputError("rates", "a sum of 1", f"{math.fsum(shares):.10g}", "divide by it")
    probability("delta", delta)
    reach, share = _reach(losses, places), delta / len(rates)
    upper, estimate = np.zeros(len(places)), np.zeros(len(places))
    for group, rate in rates.items():
        rows = np.flatnonzero(codes == group)
        if not len(rows):
            upper, estimate = upper + rate * losses.bound, estimate + rate * losses.bound
            continue
        risk = training_risk(losses.select(rows), places)
        estimate = estimate + rate * risk
        upper = upper + rate * np.minimum(risk + reach * _dkw(len(rows), share), losses.bound)
    basis = f"DKW in each of {len(rates)} groups, on {len(losses)} examples, rates known"
    return _band(losses, places, upper, delta, basis, estimate)


def chain_band(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    *,
    weights: ArrayLike | None = None,
    ratio_max: float = 1.0,
) -> Band:
    """U(r) = L_hat(r) + Wmax Lmax ( .7385 / sqrt(m) + sqrt( log(1/delta) / (2m) ) ), any losses.

    For each level u the sets { i : w_i L_i(r) > u } form a chain as r grows, so the supremum over r
    exceeds its mean by int min(1, exp(-2 m t^2)) dt = .7385 / sqrt(m) at most, level by level; and
    it changes by Wmax Lmax / m at most where one example does (McDiarmid).

    Parameters
    ----------
    losses : LossCurves
        Of any form; the bound is Lmax.
    thresholds : array (k,)
        Any.
    delta : float
    weights : array (m,), optional
        w at the examples, scaled to E_P w = 1; 1 for a sample from P'.
    ratio_max : float
        Wmax, declared; no weight exceeds it.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([1.0] * 500 + [0.0] * 500)
    >>> w = [0.2, 1.8] * 500
    >>> band = shp.theory.chain_band(losses, [0.5, 1.0], 0.05, ratio_max=1.8, weights=w)
    >>> band.values.round(3)
    array([0.612, 0.112])
    """
    return _chain(losses, thresholds, delta, weights, ratio_max, 0.0, "a chain of level sets")


def pac_bayes_band(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    *,
    divergence: float,
    weights: ArrayLike | None = None,
    ratio_max: float = 1.0,
) -> Band:
    """As :func:`chain_band` with log(1/delta) + K in place of log(1/delta), on training examples.

    For a posterior Q with KL(Q, P) <= K against a prior P that does not depend on the examples (nor
    do standardisation, label space and hyper-parameters), and losses averaged over theta from Q.
    K is fixed in advance; for one that is read off the posterior take a grid of values K_j, share
    delta among them, and use the next one above.

    Proof: for a fixed theta sup_r (L - L_hat) exceeds its mean by a variable that is sub-Gaussian
    with Wmax Lmax / (2 sqrt(m)); Donsker and Varadhan carry that to Q at the price of KL(Q, P).

    Parameters
    ----------
    losses, thresholds, delta, weights, ratio_max
        As in :func:`chain_band`.
    divergence : float
        K.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps(np.linspace(0, 1, 2000))
    >>> band = shp.theory.pac_bayes_band(losses, [0.9], 0.05, divergence=20.0)
    >>> (band.values - band.estimate).round(3)
    array([0.092])
    """
    price = _checks.at_least_0("divergence", divergence, "KL(Q, P), at most")
    said = f"PAC-Bayes at KL <= {price:.6g}"
    return _chain(losses, thresholds, delta, weights, ratio_max, price, said)


def kl_band(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    *,
    weights: ArrayLike | None = None,
    ratio_max: float = 1.0,
) -> Band:
    """At each threshold the largest mean that Chernoff's bound allows, delta shared among them.

    m kl(mean / B, U / B) <= log(k / delta) with B = Wmax Lmax: narrow where risks are near 0 or B.

    Parameters
    ----------
    losses, delta, weights, ratio_max
        As in :func:`chain_band`.
    thresholds : array (k,)
        Chosen without looking at the sample.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([1.0] * 50 + [0.0] * 950)
    >>> shp.theory.kl_band(losses, [0.5, 1.0], 0.05).values.round(4)
    array([0.071 , 0.0037])
    """

    def above(values: FloatArray, share: float) -> FloatArray:
        return np.array([mean_above(column, share) for column in values.T])

    return _pointwise(losses, thresholds, delta, weights, ratio_max, above, "Chernoff's bound")


def bernstein_band(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    *,
    weights: ArrayLike | None = None,
    ratio_max: float = 1.0,
) -> Band:
    """At each threshold mean + sqrt(2 V log(2k/delta) / m) + 7 B log(2k/delta) / (3 (m - 1)).

    V is the variance in the sample, B = Wmax Lmax (Maurer and Pontil 2009, theorem 4).

    Parameters
    ----------
    losses, thresholds, delta, weights, ratio_max
        As in :func:`kl_band`.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([1.0] * 50 + [0.0] * 950)
    >>> shp.theory.bernstein_band(losses, [0.5, 1.0], 0.05).values.round(4)
    array([0.0806, 0.0102])
    """

    def above(values: FloatArray, share: float) -> FloatArray:
        m, room = len(values), math.log(2 / share)
        spread: FloatArray = np.sqrt(2 * values.var(axis=0, ddof=1) * room / m)
        upper: FloatArray = values.mean(axis=0) + spread + 7 * room / (3 * (m - 1))
        return upper

    if len(losses) < 2:
        raise InputError("losses", "at least 2 examples", f"{len(losses)}", "label more")
    return _pointwise(losses, thresholds, delta, weights, ratio_max, above, "empirical Bernstein")


def betting_band(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    *,
    weights: ArrayLike | None = None,
    ratio_max: float = 1.0,
) -> Band:
    """At each threshold the smallest mean against which a bet multiplies its stake by k / delta.

    With X = w L / (Wmax Lmax) in [0, 1], a mean of at least u is refuted when, at some time t,

        prod_(i <= t) ( 1 - nu_i (X_i - u) ) >= k / delta,   0 <= nu_i <= 1 from X_1 .. X_(i-1):

    were it right, the product would be a supermartingale of mean 1 at most, and Ville's inequality
    bounds the chance (Waudby-Smith and Ramdas 2024). Examples are read in the order in which they
    stand, which must not depend on their losses.

    Parameters
    ----------
    losses, thresholds, delta, weights, ratio_max
        As in :func:`kl_band`.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> scores = np.random.default_rng(0).exponential(size=2000)
    >>> losses = shp.LossCurves.steps(scores)
    >>> betting, other = (
    ...     make(losses, [4.0], 0.05).values - 0.018
    ...     for make in (shp.theory.betting_band, shp.theory.dkw_band)
    ... )
    >>> bool(betting < other / 2)
    True
    """
    return _pointwise(losses, thresholds, delta, weights, ratio_max, _bets, "betting")


def _bets(values: FloatArray, share: float) -> FloatArray:
    """The smallest mean of each column that the bet refutes, by bisection: wealth rises with u."""
    m, room = len(values), math.log(1 / share)
    count = np.arange(1, m + 1)[:, None]
    means = (0.5 + np.cumsum(values, axis=0)) / (count + 1)
    spreads = (0.25 + np.cumsum((values - means) ** 2, axis=0)) / (count + 1)
    before = np.vstack([np.full((1, values.shape[1]), 0.25), spreads[:-1]])
    stakes = np.minimum(1.0, np.sqrt(2 * room / (m * before)))

    def refuted(u: FloatArray) -> BoolArray:
        with np.errstate(divide="ignore"):  # a stake of 1 is lost to a loss of 1
            wealth = np.cumsum(np.log1p(-stakes * (values - u)), axis=0)
        return np.asarray(wealth.max(axis=0) >= room)

    low, high = np.zeros(values.shape[1]), np.ones(values.shape[1])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = refuted(middle)
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return high


def _chain(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    weights: ArrayLike | None,
    ratio_max: float,
    price: float,
    said: str,
) -> Band:
    places, m = _grid(losses, thresholds), len(losses)
    w, largest = _weights(losses, weights, ratio_max)
    room = math.log(1 / probability("delta", delta)) + price
    slack = largest * losses.bound * (_CHAIN / math.sqrt(m) + math.sqrt(room / (2 * m)))
    risk = training_risk(losses, places, w)
    return _band(losses, places, risk + slack, delta, f"{said}, on {m} examples", risk)


def _pointwise(
    losses: LossCurves,
    thresholds: ArrayLike,
    delta: float,
    weights: ArrayLike | None,
    ratio_max: float,
    above: Callable[[FloatArray, float], FloatArray],
    said: str,
) -> Band:
    """A bound at each threshold, delta shared among them; monotone, since risks are."""
    places = _grid(losses, thresholds)
    w, largest = _weights(losses, weights, ratio_max)
    scale = largest * losses.bound
    share = probability("delta", delta) / len(places)
    values = table_of_losses(losses, places, w) / scale
    # Losses may exceed their bound by rounding, so the quotient 1.
    upper = above(np.minimum(values, 1.0), share) * scale
    basis = f"{said} at {len(places)} thresholds, on {len(losses)} examples"
    return _band(losses, places, upper, delta, basis, values.mean(axis=0) * scale)


def _band(
    losses: LossCurves,
    places: FloatArray,
    upper: FloatArray,
    delta: float,
    basis: str,
    estimate: FloatArray | None = None,
) -> Band:
    """The running minimum of a bound, which holds for risks that do not rise."""
    risk = training_risk(losses, places) if estimate is None else estimate
    values = np.minimum.accumulate(np.minimum(upper, losses.bound))
    return Band(places, risk, values, losses.bound, delta, basis)


def _dkw(m: int, delta: float) -> float:
    """sqrt( log(1/delta) / (2m) ): P( sup (F - F_hat) > eps ) <= delta for delta <= 1/2."""
    if probability("delta", delta) > 0.5:
        raise InputError("delta", "at most 1/2", f"{delta!r}", "Massart's bound holds there alone")
    return math.sqrt(math.log(1 / delta) / (2 * m))


def _reach(losses: LossCurves, places: FloatArray) -> FloatArray:
    """By how much a loss may move where the law of scores moves by 1: width(r)."""
    one_each = np.array_equal(losses.owner, np.arange(len(losses))) and not losses.tail.any()
    steps = one_each and np.isinf(losses.slopes).all() and (losses.heights == 1).all()
    if steps:
        return np.ones(len(places))
    slopes, heights = np.unique(losses.slopes), np.unique(losses.heights)
    if not one_each or len(slopes) > 1 or len(heights) > 1 or np.isinf(slopes).any():
        raise InputError(
            "losses",
            "steps of height 1, or hinges of one slope and one cap",
            "others",
            "chain_band, kl_band and betting_band take any losses",
        )
    if np.isfinite(heights[0]):
        return np.full(len(places), heights[0])
    reach: FloatArray = np.maximum(losses.bound - slopes[0] * (places - losses.lower), 0.0)
    return reach


def _grid(losses: LossCurves, thresholds: ArrayLike) -> FloatArray:
    """Thresholds, ascending and each once."""
    if math.isinf(losses.bound):
        raise InputError("losses", "a finite bound", "inf", "cap the loss, or bound the labels")
    places = _checks.non_empty(
        "thresholds", _checks.vector("thresholds", thresholds), "for example numpy.linspace"
    )
    _checks.thresholds(places, losses.lower)
    if not (np.isfinite(places).all() and (np.diff(places) > 0).all()):
        repair = "numpy.unique sorts them"
        raise InputError("thresholds", "finite numbers, ascending", "others", repair)
    return places


def _weights(
    losses: LossCurves, weights: ArrayLike | None, ratio_max: float
) -> tuple[FloatArray | None, float]:
    largest = _checks.ratio_max(ratio_max)
    if weights is None:
        return None, largest
    w = _checks.calibration_weights("weights", weights, len(losses))
    expected = f"weights of at most ratio_max, {largest!r}"
    _checks.demand("weights", w, w <= largest, expected, "declare the true largest ratio")
    return w, largest
