"""Numbers that others have published."""

from fractions import Fraction

import numpy as np

from shiftproof.risk import LossCurves, RiskCurve


def test_weighted_quantile():
    # The .5 quantile of 1, 2, 3, 4 with weights 1/2, 1/6, 1/6, 1/6 is 1.
    curve = RiskCurve(LossCurves.steps([1.0, 2.0, 3.0, 4.0]), [3.0, 1.0, 1.0, 1.0])
    assert float(curve.threshold(0.5, 0.0, worst=1.0)) == 1.0


def test_weighted_conformal_quantile_of_barber_and_others():
    """Level 1 - alpha of the scores and a point at infinity, with normalised weights."""
    rng = np.random.default_rng(0)
    infinite = 0
    for _ in range(500):
        n = int(rng.integers(1, 12))
        scores, weights = rng.integers(0, 8, n) / 4, rng.integers(0, 5, n)
        weight, alpha = int(rng.integers(1, 5)), float(rng.choice([0.1, 0.2, 0.25, 0.5, 0.75]))
        order = np.argsort(scores, kind="stable")
        mass, wanted = Fraction(int(weights.sum()) + weight), 1 - Fraction(str(alpha))
        quantile, reached = np.inf, Fraction(0)
        for score, w in zip(scores[order], weights[order], strict=True):
            reached += int(w)
            if reached / mass >= wanted:
                quantile = score
                break
        curve = RiskCurve(LossCurves.steps(scores, lower=-np.inf), weights)
        assert float(curve.threshold(alpha, weight, worst=1.0)) == quantile
        infinite += np.isinf(quantile)
    assert infinite > 50
