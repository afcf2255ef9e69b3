"""Training risk, its weighted version, and how far either is from the risk in use."""

from __future__ import annotations

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.risk import LossCurves, RiskCurve


def training_risk(
    losses: LossCurves, thresholds: ArrayLike, weights: ArrayLike | None = None
) -> FloatArray:
    """L_hat(r) = (1/n_tr) sum_i w_i E_theta L_i(r), at each threshold (paper eq. 14: all w_i = 1).

    Divided by the number of examples, not by the sum of weights: with w = dP'/dP of mean 1 it is
    then unbiased for the risk under P', and the bias term of the paper is not needed. Expectations
    over theta are averages over as many draws as `losses` holds, all examples drawn equally often.

    Parameters
    ----------
    losses : LossCurves
    thresholds : array (k,)
    weights : array (n,), optional
        w(X_i), scaled to E_P w = 1.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([1.0, 2.0, 3.0, 4.0])
    >>> shp.theory.training_risk(losses, [0.0, 2.0])
    array([1. , 0.5])
    >>> shp.theory.training_risk(losses, [0.0, 2.0], weights=[0, 0, 2, 2])
    array([1., 1.])
    """
    curve = RiskCurve(losses, weights)
    if curve.total_weight == 0:
        return np.zeros(np.shape(thresholds))
    return curve.risk(thresholds) * (curve.total_weight / len(losses))


def table_of_losses(
    losses: LossCurves, thresholds: FloatArray, weights: ArrayLike | None = None
) -> FloatArray:
    """w_i L_i(r_k), an array (n, k)."""
    found = np.stack([losses.at(float(place)) for place in thresholds], axis=1)
    if weights is None:
        return found
    return _checks.calibration_weights("weights", weights, len(losses))[:, None] * found


def generalization_gap(
    training: LossCurves,
    population: LossCurves,
    *,
    training_weights: ArrayLike | None = None,
    population_weights: ArrayLike | None = None,
) -> float:
    """Delta(Q, D) = sup over r of abs( L_hat(r) - L(r) ) (paper eq. 16), for two samples.

    The population is a large sample under P' (or a weighted one under P): a figure for simulations,
    where one can be drawn. The supremum is exact: between neighbouring knots both risks are
    straight lines, so it is found at a knot or just below one.

    Examples
    --------
    >>> import shiftproof as shp
    >>> seen, new = shp.LossCurves.steps([1.0, 2.0]), shp.LossCurves.steps([1.0, 2.0, 3.0, 4.0])
    >>> shp.theory.generalization_gap(seen, new)
    0.5
    """
    lower = max(training.lower, population.lower)
    knots = np.concatenate([_bends(training), _bends(population)])
    at = np.unique(np.append(knots[(knots > lower) & np.isfinite(knots)], lower))
    at = at[np.isfinite(at)]
    places = np.union1d(at, np.nextafter(at[at > lower], -np.inf))
    one = training_risk(training, places, training_weights)
    return float(np.abs(one - training_risk(population, places, population_weights)).max())


def _bends(losses: LossCurves) -> FloatArray:
    """Where curves bend: knots, and where a ramp has reached its height."""
    run = np.divide(
        losses.heights,
        losses.slopes,
        out=np.full(len(losses.knots), np.inf),
        where=np.isfinite(losses.heights) & (losses.slopes > 0),
    )
    return np.concatenate([losses.knots, losses.knots - run])
