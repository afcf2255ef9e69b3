"""Theorem 1: how large sets will be, before they are calibrated; as printed, and repaired.

The threshold exceeds r only if sum_i W_i (L_i(r) - alpha) + W (Lworst(r) - alpha) > 0. The mean of
a summand is L(r) - alpha, with L the risk under P', so for t = alpha - L(r) - W (Lworst - alpha)/n
that is a deviation of n t from the mean, and a tail bound T(t) applies. Sizes follow:

    E |Gamma| / |Y|  <=  G(lam^) + int_(lam^, Rmax] T(t(r-)) dG(r),   lam^ = inf { r : t(r) >= 0 }.

The integral is summed over cells (r_k, r_k+1] of a grid, each with the tail at its lower end: the
sum is never below the integral, whether sizes grow steadily or in jumps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.confidence import mean_above, probability
from shiftproof.errors import InputError
from shiftproof.theory.bands import Band
from shiftproof.theory.bias import printed_bias
from shiftproof.theory.size import SizeCurve
from shiftproof.theory.tails import Best, Tail


@dataclass(frozen=True)
class SizeBound:
    """A bound on the expected relative size, in terms that add up.

    Attributes
    ----------
    terms : mapping of str to float
        What each cause adds, in this order: the model itself, what is not known of its risk, the
        test point's own weight, the noise of calibration, what is not known of the inputs.
    delta : float or None
        The probability with which it may not hold; None where it is not proved.
    basis : tuple of str
        What it rests on.

    Examples
    --------
    >>> import shiftproof as shp
    >>> bound = shp.theory.SizeBound({"model": 0.1, "band": 0.2, "calibration": 0.9}, 0.05, ("x",))
    >>> bound.total, bound.is_vacuous, bound.culprit
    (1.0, True, 'calibration')
    """

    terms: Mapping[str, float]
    delta: float | None
    basis: tuple[str, ...]

    @property
    def total(self) -> float:
        """The bound: the sum of the terms, and at most 1."""
        return min(1.0, math.fsum(self.terms.values()))

    @property
    def is_vacuous(self) -> bool:
        """Whether it says nothing, since no set is larger than the label space."""
        return self.total >= 1

    @property
    def culprit(self) -> str:
        """The largest term."""
        return max(self.terms, key=lambda name: self.terms[name])

    def __str__(self) -> str:
        share = "not proved" if self.delta is None else f"with confidence {1 - self.delta:.6g}"
        lines = [f"expected relative size at most {self.total:.4g}, {share}"]
        if self.is_vacuous:
            lines[0] = f"says nothing (1): most of it is {_WORDS.get(self.culprit, self.culprit)}"
        lines += [f"  {value:.4g}  {_WORDS.get(name, name)}" for name, value in self.terms.items()]
        return "\n".join([*lines, *(f"  given {one}" for one in self.basis)])


_WORDS = {
    "model": "the model: sets at the threshold where its risk meets alpha",
    "band": "what is not known of its risk",
    "bias": "the bias of a training risk that is not weighted",
    "test_mass": "the test point's own weight",
    "calibration": "the noise of calibration",
    "inputs": "what is not known of the inputs",
}


def repaired_bound(
    band: Band,
    sizes: SizeCurve,
    *,
    alpha: float,
    n_cal: int,
    ratio_max: float,
    tail: Tail | None = None,
    ceiling: ArrayLike | None = None,
    worst: ArrayLike | None = None,
    delta_inputs: float | None = None,
) -> SizeBound:
    """The bound that holds, for the paper's rule or the envelope.

        t(r) = alpha - U(r) - W(x) (Lmax - alpha) / n
        v(r) = Wmax ( U (c - 2 alpha)_+ + alpha^2 ) - (alpha - U)_+^2
        b(r) = Wmax (c - alpha)_+ + alpha

    with c(r) the largest loss at threshold r. It averages over calibration sets: it is the expected
    size, and says nothing of one calibration.

    Parameters
    ----------
    band : Band
        U, for losses under P'. Its thresholds are the grid.
    sizes : SizeCurve
        Relative sizes at the same thresholds, for inputs that the band does not depend on; with
        their `weights`, W(x) takes the place of Wmax in t.
    alpha : float
    n_cal : int
    ratio_max : float
        Wmax, with E_P w = 1.
    tail : Hoeffding, Bernstein, Bennett or Best, optional
        ``Best()`` where left out.
    ceiling : array (k,), optional
        c(r), not rising; Lmax where left out. For a distance Rmax - r, or the cap.
    worst : array (m, k), optional
        Lworst at each threshold, for each input: the bound of the envelope. For balls D(x) - r, at
        least 0. Left out: the paper's rule.
    delta_inputs : float, optional
        The chance that the sample of inputs misleads, added to that of the band. Left out, the mean
        over these inputs stands for that over P', and no confidence is stated for it.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng, grid = np.random.default_rng(0), np.linspace(0, 4, 81)
    >>> scores = np.abs(rng.normal(size=2000))
    >>> band = shp.theory.betting_band(shp.LossCurves.steps(scores), grid, delta=0.05)
    >>> sizes = shp.theory.SizeCurve(grid, np.tile(grid / 4, (200, 1)))
    >>> bound = shp.theory.repaired_bound(band, sizes, alpha=0.1, n_cal=500, ratio_max=1.0)
    >>> round(bound.total, 2), bound.is_vacuous
    (0.47, False)
    """
    level, n = _level(alpha, band.bound), _checks.whole("n_cal", n_cal, 1, "calibration examples")
    largest = _checks.ratio_max(ratio_max)
    if not np.array_equal(band.thresholds, sizes.thresholds):
        raise InputError(
            "sizes", "the thresholds of the band", "others", "SizeCurve.of(nest, band.thresholds)"
        )
    top = (
        np.full(len(band.values), band.bound)
        if ceiling is None
        else np.broadcast_to(_checks.floats("ceiling", ceiling), len(band.values))
    )
    mass = _mass(sizes, largest, worst, band.bound, level)
    upper = np.minimum(band.values, top)
    t = level - upper - mass / n
    above = largest * np.maximum(top - level, 0.0) + level
    below = np.maximum(level - upper, 0.0)
    variance = largest * (upper * np.maximum(top - 2 * level, 0.0) + level**2) - below**2
    width = largest * np.maximum(top, level)
    chance = (Best() if tail is None else tail)(
        t, n, variance=np.maximum(variance, _TINY), above=above, width=width
    )
    chance = np.where(t < 0, 1.0, np.minimum(chance, 1.0))
    starts = {
        "model": _first(band.estimate <= level),
        "band": _first(upper <= level),
        "test_mass": _first(t >= 0),
    }
    return _assembled(sizes, chance, starts, band, delta_inputs)


def printed_bound(
    training_risk: ArrayLike,
    sizes: SizeCurve,
    *,
    alpha: float,
    n_cal: int,
    n_train: int,
    ratio_max: float,
    bound: float,
    beta: float,
) -> SizeBound:
    """Theorem 1 as the paper prints it, for comparison: it is false as it stands (see the errata).

        t(r) = alpha - L_train(r) - beta / sqrt(n_tr) - Lmax sqrt(log Wmax) - Wmax (Lmax - alpha)/n
        int_0^lam^ gamma + int_lam^^Rmax exp( - 2 n t^2 / (Lmax Wmax)^2 ) gamma

    Parameters
    ----------
    training_risk : array (k,)
        L_train at the thresholds of `sizes`.
    sizes : SizeCurve
        Whose gamma is used.
    alpha, n_cal, n_train, ratio_max, bound
    beta : float
        Any; :func:`printed_beta` is that of the appendix.

    Examples
    --------
    In the experiment of the paper (alpha = 1 km in a region of 56 km, Wmax = 1.8) it is 1, whatever
    the model, the data and beta:

    >>> import numpy as np
    >>> import shiftproof as shp
    >>> grid = np.linspace(0, 56, 57)
    >>> sizes = shp.theory.SizeCurve(grid, (grid[None] / 56) ** 2)
    >>> bound = shp.theory.printed_bound(
    ...     np.zeros(57), sizes, alpha=1.0, n_cal=10**9, n_train=10**9, ratio_max=1.8, bound=56.0,
    ...     beta=0.0,
    ... )
    >>> bound.is_vacuous, bound.culprit
    (True, 'bias')
    """
    level = _level(alpha, _checks.bound_of(bound))
    n, largest = (
        _checks.whole("n_cal", n_cal, 1, "calibration examples"),
        _checks.ratio_max(ratio_max),
    )
    trained = _checks.whole("n_train", n_train, 1, "training examples")
    risk = _checks.vector("training_risk", training_risk, length=len(sizes.thresholds))
    gap = _checks.scalar("beta", beta, "printed_beta, or any other") / math.sqrt(trained)
    bias = printed_bias(largest, bound)
    t = level - risk - gap - bias - largest * (bound - level) / n
    chance = np.where(t < 0, 1.0, np.exp(-2 * n * (t / (bound * largest)) ** 2))
    starts = {
        "model": _first(risk <= level),
        "band": _first(risk + gap <= level),
        "bias": _first(risk + gap + bias <= level),
        "test_mass": _first(t >= 0),
    }
    said = f"the theorem as printed, beta = {beta:.6g}, which is not proved"
    return _terms(sizes, chance[None], starts, (said,), None, None)


def _assembled(
    sizes: SizeCurve,
    chance: FloatArray,
    starts: dict[str, Any],
    band: Band,
    delta_inputs: float | None,
) -> SizeBound:
    of_band, delta = f"{band.basis}: confidence {1 - band.delta:.6g}", band.delta
    of_inputs = f"the mean over {len(sizes.shares)} inputs, taken to be that of the target"
    if delta_inputs is not None:
        delta += probability("delta_inputs", delta_inputs)
        of_inputs = f"{len(sizes.shares)} inputs: confidence {1 - delta_inputs:.6g}"
    return _terms(sizes, chance, starts, (of_band, of_inputs), delta, delta_inputs)


def _terms(
    sizes: SizeCurve,
    chance: FloatArray,
    starts: dict[str, Any],
    basis: tuple[str, ...],
    delta: float | None,
    delta_inputs: float | None,
) -> SizeBound:
    """Sizes up to the threshold that each cause forces, then the tail, then the sample."""
    shares, counts = sizes.shares, sizes.counts
    cells = np.diff(shares, axis=1)
    tails = np.broadcast_to(chance, shares.shape)
    whole = shares[:, 0] + (tails[:, :-1] * cells).sum(axis=1) + tails[:, -1] * (1 - shares[:, -1])
    terms, so_far = {}, 0.0
    for name, start in starts.items():
        here = max(so_far, _mean(counts, _share_at(shares, start)))
        terms[name] = here - so_far
        so_far = here
    total = _mean(counts, whole)
    terms["calibration"] = max(total - so_far, 0.0)
    if delta_inputs is not None:
        scale = float(counts.max()) if (counts != 1).any() else 1.0
        upper = scale * mean_above(np.minimum(counts * whole / scale, 1.0), delta_inputs)
        terms["inputs"] = upper - total
    return SizeBound(terms, delta, basis)


def _share_at(shares: FloatArray, start: Any) -> FloatArray:
    """The relative size of each input at its first threshold; 1 where there is none."""
    extended = np.column_stack([shares, np.ones(len(shares))])
    index = np.broadcast_to(start, len(shares))
    return np.take_along_axis(extended, index[:, None], axis=1)[:, 0]


def _first(good: Any) -> Any:
    """The first column that is good, in each row; the number of columns where none is."""
    found = np.argmax(good, axis=-1)
    return np.where(good.any(axis=-1), found, good.shape[-1])


def _mass(
    sizes: SizeCurve, ratio_max: float, worst: ArrayLike | None, bound: float, alpha: float
) -> FloatArray:
    """W(x) (Lworst(r, x) - alpha)_+, an array (1 or m, 1 or k)."""
    w = np.array([[ratio_max]]) if sizes.weights is None else sizes.weights[:, None]
    if sizes.weights is not None:
        good = sizes.weights <= ratio_max
        _checks.demand("weights", sizes.weights, good, "at most ratio_max", "declare the largest")
    loss: FloatArray = np.array([[bound]])
    if worst is not None:
        loss = _checks.floats("worst", worst)
        if loss.shape != sizes.shares.shape:
            expected = f"shape {sizes.shares.shape}"
            raise InputError("worst", expected, f"shape {loss.shape}", "one for each set")
    return w * np.maximum(loss - alpha, 0.0)


def _mean(counts: FloatArray, values: FloatArray) -> float:
    return float(counts @ values) / len(counts)


def _level(alpha: float, bound: float) -> float:
    level = float(_checks.risk_level(_checks.scalar("alpha", alpha, "one level"), bound))
    if level == 0:
        raise InputError("alpha", "a level above 0", "0", "no sample bounds sets that lose nothing")
    return level


#: A variance of 0 would divide by itself; so small a one changes no bound.
_TINY = 1e-300
