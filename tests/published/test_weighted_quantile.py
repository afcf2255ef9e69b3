"""Numbers that others have published."""

import json
from fractions import Fraction
from pathlib import Path

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


PUNCC = json.loads(Path(__file__).with_name("puncc_quantiles.json").read_text(encoding="utf-8"))


def quantile(scores, weights, weight, alpha):
    curve = RiskCurve(LossCurves.steps(scores, lower=-np.inf), weights)
    return float(curve.threshold(alpha, weight, worst=1.0))


def test_every_weighted_quantile_of_puncc():
    """Another package's quantile of the same weights, the test point at infinity."""
    assert len(PUNCC["cases"]) == 1500
    for *case, answer in PUNCC["cases"]:
        assert quantile(*case) == float(answer), case
    infinite = sum(case[-1] == "inf" for case in PUNCC["cases"])
    assert infinite >= 100


def test_where_a_sum_of_floats_ties_the_exact_answer_is_ours():
    ties = PUNCC["ties_in_floats"]
    for *case, _, exact in ties:
        assert quantile(*case) == float(exact), case
    assert sum(float(answer) != float(exact) for *_, answer, exact in ties) == 5  # puncc 0.9.3
