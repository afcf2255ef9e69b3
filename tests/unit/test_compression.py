"""Compressed curves are nowhere below the true ones, and their price is what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftproof.risk import LossCurves, RiskCurve, compressed
from subjects import SUBJECTS, WHOLE_WEIGHTS, levels


def grid(curve, lower):
    """Every knot, places between, and places just before."""
    places, _, _ = curve.outline()
    places = places[np.isfinite(places)]
    middles = (places[1:] + places[:-1]) / 2
    every = np.concatenate([places, middles, np.nextafter(places, -np.inf), places[-1:] + 1])
    return every[every >= lower]


@pytest.mark.parametrize("name", SUBJECTS)
def test_one_sided_with_the_stated_price(name):
    @given(SUBJECTS[name], st.data(), st.integers(1, 5))
    def check(subject, data, knots):
        weights = data.draw(st.lists(WHOLE_WEIGHTS, min_size=len(subject), max_size=len(subject)))
        curve = RiskCurve(subject.curves, weights)
        if curve.total_weight == 0:
            return
        small = compressed(curve, knots)
        at = grid(curve, subject.curves.lower)
        excess = small.curve.risk(at) - curve.risk(at)
        assert excess.min() >= -1e-12
        assert excess.max() <= small.price + 1e-12
        assert small.curve.total_weight == curve.total_weight
        assert len(np.unique(small.curve.losses.knots)) <= knots

        alpha, weight = data.draw(levels(subject)), data.draw(WHOLE_WEIGHTS)
        bound = subject.curves.bound
        exact = curve.threshold(alpha, weight, worst=bound)
        found = small.curve.threshold(alpha, weight, worst=bound)
        assert exact <= found + 1e-9
        lower = alpha - (small.price + 1e-9) * curve.total_weight / (curve.total_weight + weight)
        if lower >= 0:
            assert found <= curve.threshold(lower, weight, worst=bound) + 1e-9

    check()


@pytest.mark.parametrize("knots", [1, 7, 64])
def test_price_of_steps_is_at_most_one_part_of_the_bound(knots):
    rng = np.random.default_rng(knots)
    curve = RiskCurve(LossCurves.steps(rng.random(5000)), rng.random(5000))
    assert compressed(curve, knots).price <= 1 / knots + 1e-9


def test_chosen_knots_beat_equal_masses_for_hinges():
    rng = np.random.default_rng(0)
    scores = rng.gamma(2, 1, 20_000)
    curve = RiskCurve(LossCurves.hinges(scores, bound=40.0))
    kept = np.append(np.quantile(scores, np.linspace(0, 1, 64)), 0.0)
    at = np.linspace(0, scores.max(), 5001)
    chords = np.interp(at, np.sort(kept), curve.risk(np.sort(kept)))
    assert compressed(curve, 64).price < (chords - curve.risk(at)).max() / 10


def test_enough_knots_cost_nothing():
    curve = RiskCurve(LossCurves.hinges([1.0, 2.0, 3.0], bound=5.0), [1.0, 2.0, 1.0])
    small = compressed(curve, 3)
    assert small.price == pytest.approx(0, abs=1e-13)
    at = np.linspace(0, 4, 41)
    np.testing.assert_allclose(small.curve.risk(at), curve.risk(at), atol=1e-14)


def test_ties_are_never_rounded_down():
    for n in (3, 7, 9, 30):
        curve = RiskCurve(LossCurves.steps(np.arange(1.0, n + 1)))
        small = compressed(curve, n).curve
        assert float(small.threshold(1.0, 1.0, worst=1.0)) == 0.0
        for k in range(n + 1):
            alpha = k / n
            exact = float(curve.threshold(alpha, 0.0, worst=1.0))
            assert float(small.threshold(alpha, 0.0, worst=1.0)) >= exact


def test_groups_are_reweighted_and_merged_after_compression():
    rng = np.random.default_rng(3)
    groups = [RiskCurve(LossCurves.hinges(rng.gamma(k, 1, 500), bound=60.0)) for k in (1, 4)]
    small = [compressed(group, 40) for group in groups]
    both = small[0].curve.merge(small[1].curve)
    rates = np.array([0.2, 1.8])
    shifted = both.reweighted(rates * [curve.total_weight for curve in groups])
    exact = groups[0].merge(groups[1]).reweighted(np.repeat(rates, 500))
    for alpha in (0.5, 2.0, 3.0):
        found = float(shifted.threshold(alpha, 1.8, worst=60.0))
        truth = float(exact.threshold(alpha, 1.8, worst=60.0))
        assert truth <= found <= truth + 0.1
