"""The bound and what it is made of: each fault of the print as a test, and the repair beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shiftproof as shp
from shiftproof import theory
from shiftproof.theory import Band, SizeCurve

EXACT = "known"


def known(thresholds, risk, bound):
    """A band of a risk that is known."""
    return Band(np.asarray(thresholds), risk, np.asarray(risk), bound, 0.0, EXACT)


# The faults of the print, in the order of the errata.


def test_gamma_has_to_be_that_of_inputs_whatever_their_label():
    """Y uniform, X = Y, f = Y + 1/2 mod 1: given its label each input has the score 1/2."""
    n, alpha, grid = 200, 0.3, np.linspace(0, 1, 20_001)
    losses = shp.LossCurves.hinges(np.full(n, 0.5), bound=1.0)
    radius = float(shp.RiskCurve(losses).threshold(alpha, 1.0, worst=1.0))
    truth = 2 * radius - radius**2
    assert truth == pytest.approx(0.366, abs=5e-4)
    risk = np.maximum(0.5 - grid, 0.0)
    given_labels = SizeCurve(grid, (grid >= 0.5).astype(float)[None])
    asked = {"alpha": alpha, "n_cal": n, "ratio_max": 1.0}
    printed = theory.printed_bound(risk, given_labels, n_train=10, bound=1.0, beta=0.0, **asked)
    assert printed.total == pytest.approx(5e-16, rel=0.2)  # far below the truth
    sizes = SizeCurve(grid, (2 * grid - grid**2)[None])
    repaired = theory.repaired_bound(
        known(grid, risk, 1.0), sizes, tail=theory.Hoeffding(), **asked
    )
    assert repaired.total == pytest.approx(0.434, abs=1e-3)
    assert repaired.total >= truth


def test_the_divergence_is_bounded_in_one_direction_only():
    p, q = 0.5, 0.99
    ratio_max = q / p
    forward = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    backward = q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p))
    assert forward == pytest.approx(1.614, abs=1e-3)
    assert math.log(ratio_max) == pytest.approx(0.683, abs=1e-3)
    assert backward <= math.log(ratio_max) < forward


@pytest.mark.parametrize(
    ("ratio_max", "rate", "figures"),
    [(1.5, 0.75, (0.637, 0.450, 0.333, 0.25)), (1.8, 0.9, (0.767, 0.542, 0.444, 0.40))],
)
def test_bias_terms_from_the_print_down_to_the_exact_one(ratio_max, rate, figures):
    found = (
        theory.printed_bias(ratio_max, 1.0),
        theory.pinsker_bias(ratio_max, 1.0),
        theory.ratio_bias(ratio_max, 1.0),
        theory.variation_bias([rate / 0.5, (1 - rate) / 0.5], [0.5, 0.5], 1.0),
    )
    assert found == pytest.approx(figures, abs=5e-4)
    assert list(found) == sorted(found, reverse=True)


@given(st.floats(1.0, 1e6), st.floats(0.0, 1e3))
def test_each_bias_is_at_most_the_one_before(ratio_max, bound):
    printed, pinsker, ratio = (
        bias(ratio_max, bound)
        for bias in (theory.printed_bias, theory.pinsker_bias, theory.ratio_bias)
    )
    assert 0 <= ratio <= pinsker * (1 + 1e-12) <= printed * (1 + 1e-9)


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1)), min_size=2, max_size=6))
def test_the_variation_of_any_groups_is_below_the_bound_from_the_largest_ratio(groups):
    source, target = np.array(groups).T
    target = target + 1e-3
    source, target = source / source.sum(), target / target.sum()
    w = target / source
    exact = theory.variation_bias(w, source, 1.0)
    assert exact == pytest.approx(np.abs(source - target).sum() / 2, abs=1e-9)
    assert exact <= theory.ratio_bias(w.max(), 1.0) + 1e-9


def test_the_bias_vanishes_where_training_losses_are_weighed():
    """Scores 0 or 1 by group: the weighted training risk is right on average, the plain one not."""
    rng = np.random.default_rng(0)
    off = rng.random(200_000) < 0.5
    losses = shp.LossCurves.steps(np.where(off, 1.0, 0.0))
    weighted = theory.training_risk(losses, [0.5], np.where(off, 1.8, 0.2))
    plain = theory.training_risk(losses, [0.5])
    assert weighted[0] == pytest.approx(0.9, abs=0.005)
    assert plain[0] == pytest.approx(
        0.9 - theory.variation_bias([1.8, 0.2], [0.5, 0.5], 1), abs=0.005
    )


@given(st.floats(0.01, 1.0), st.floats(1.0, 5.0))
def test_the_printed_bound_says_nothing_unless_the_shift_is_tiny(alpha, ratio_max):
    """Whatever the model and the data: it needs Wmax < exp((alpha / Lmax)^2)."""
    grid = np.linspace(0, 1, 11)
    bound = theory.printed_bound(
        np.zeros(11),
        SizeCurve(grid, grid[None]),
        alpha=alpha,
        n_cal=10**12,
        n_train=10**12,
        ratio_max=ratio_max,
        bound=1.0,
        beta=0.0,
    )
    if ratio_max > math.exp(alpha**2) + 1e-9:
        assert bound.is_vacuous
        assert bound.culprit == "bias"
    elif ratio_max < math.exp(alpha**2) - 1e-3:
        assert not bound.is_vacuous


def test_the_printed_beta_is_of_no_use_at_a_thousand_examples():
    beta = theory.printed_beta(1000, 0.1, bound=1.0, c=1.0)
    assert beta / math.sqrt(1000) == pytest.approx(35.8, abs=0.05)
    larger = theory.printed_beta(10**12, 0.1, bound=1.0, c=1.0)
    assert larger / beta > math.log(10**12) / math.log(1000) * 1.8  # faster than log n


def test_labels_that_enter_in_jumps_need_left_limits():
    """Labels enter at 0, 1, 2, 3, and the true one at r with chance p_r: all sums are exact."""
    n, alpha, p = 10, 0.2, np.array([0.7, 0.12, 0.1, 0.08])
    beyond = 1 - np.cumsum(p)  # P(R > r) for r = 0, 1, 2, 3
    most = math.floor(alpha * (n + 1) - 1 + 1e-12)  # so many of the scores may exceed the threshold
    reaches = np.append(1.0, 1 - stats.binom.cdf(most, n, beyond[:-1]))  # P(threshold >= r)
    truth = reaches.sum()
    right = (1 - stats.binom.cdf(most, n, beyond)).sum()  # with limits from the right
    simulated = np.zeros(2_000)
    rng = np.random.default_rng(0)
    for run in range(len(simulated)):
        scores = rng.choice(4, size=n, p=p).astype(float)
        curve = shp.RiskCurve(shp.LossCurves.steps(scores))
        simulated[run] = float(min(curve.threshold(alpha, 1.0, worst=1.0), 3.0)) + 1
    assert truth == pytest.approx(simulated.mean(), abs=4 * simulated.std() / 44)
    assert right < truth - 0.5
    grid = np.arange(4.0)
    sizes = SizeCurve(grid, ((grid + 1) / 4)[None])
    bound = theory.repaired_bound(
        known(grid, beyond, 1.0), sizes, alpha=alpha, n_cal=n, ratio_max=1.0
    )
    assert bound.total * 4 >= truth


def test_a_posterior_is_covered_by_its_divergence():
    """Two models, the better one chosen by looking: the band of the posterior holds, DKW does not.

    With K = log 2 the price of choosing is paid; the worst of many models shows that it is needed.
    """
    rng, grid, m, models = np.random.default_rng(0), np.array([0.5]), 50, 2000
    scores = rng.random((models, m))  # every model has the risk 1/2 at .5
    chosen = shp.LossCurves.steps(scores[(scores > 0.5).mean(axis=1).argmin()])
    naive = theory.dkw_band(chosen, grid, 0.05)
    paid = theory.pac_bayes_band(chosen, grid, 0.05, divergence=math.log(models))
    assert naive.values[0] < 0.5 <= paid.values[0]


# What the bound is made of.


def test_the_gap_of_two_samples_is_found_between_knots():
    rng = np.random.default_rng(0)
    one = shp.LossCurves.hinges(rng.exponential(size=7), bound=9.0, cap=0.5)
    other = shp.LossCurves.steps(rng.exponential(size=9))
    found = theory.generalization_gap(one, other)
    dense = np.linspace(0, 6, 600_001)
    by_hand = np.abs(theory.training_risk(one, dense) - theory.training_risk(other, dense)).max()
    assert found >= by_hand
    assert found == pytest.approx(by_hand, abs=1e-4)


def test_training_risk_is_the_mean_loss():
    losses = shp.LossCurves.hinges([1.0, 3.0], bound=9.0)
    np.testing.assert_allclose(theory.training_risk(losses, [0.0, 2.0]), [2.0, 0.5])
    np.testing.assert_allclose(theory.training_risk(losses, [0.0], [2.0, 0.0]), [1.0])


def test_information_of_learners():
    assert theory.private_information(0.01, 1000) == pytest.approx(0.05)
    assert theory.private_information(3.0, 10) == 30.0
    eta, n = 0.02, 500
    gibbs = theory.gibbs_information(eta, n, bound=2.0)
    assert gibbs == pytest.approx(eta * n * 2.0 * math.sqrt(gibbs / (2 * n)))  # its own equation
    one = theory.langevin_information([0.1], [0.5], gradient_bound=2.0, dimension=3)
    assert one == pytest.approx(1.5 * math.log(1 + 0.04 / (3 * 0.25)))
    assert theory.divergence_above(1.0, 0.05) == 20.0


@given(st.floats(0, 2), st.integers(1, 2000), st.floats(1e-3, 1), st.floats(0.1, 3))
def test_tails_bound_the_chance_of_coins_and_are_ordered(t, n, share, above):
    one = np.ones(1)
    asked = {"variance": share * above**2 * one, "above": above * one, "width": 2 * above * one}
    hoeffding, bernstein, bennett, best = (
        float(tail(t * one, n, **asked)[0])
        for tail in (theory.Hoeffding(), theory.Bernstein(), theory.Bennett(), theory.Best())
    )
    assert bennett <= bernstein * (1 + 1e-9)
    assert best == min(hoeffding, bennett)
    assert 0 <= best <= 1


@pytest.mark.parametrize("tail", [theory.Hoeffding(), theory.Bernstein(), theory.Bennett()])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_tails_hold_for_binomials(tail, p):
    """P( sum (Z - p) >= n t ) in exact arithmetic of the binomial law."""
    n, one = 60, np.ones(1)
    for extra in range(1, 30):
        t = extra / n
        truth = stats.binom.sf(math.ceil(n * (p + t) - 1e-9) - 1, n, p)
        asked = {"variance": p * (1 - p) * one, "above": (1 - p) * one, "width": one}
        assert truth <= tail(t * one, n, **asked)[0] * (1 + 1e-9)


# The four claims of the paper, as laws of the repaired bound.

GRID = np.linspace(0, 8, 161)
SIZES = SizeCurve(GRID, (GRID[None] / 8) ** 2)


def bound_at(*, ratio_max=1.5, n_cal=300, gap=0.01, alpha=0.1, tail=None):
    risk = np.minimum(np.exp(-GRID) + gap, 1.0)
    band = known(GRID, risk, 1.0)
    return theory.repaired_bound(
        band, SIZES, alpha=alpha, n_cal=n_cal, ratio_max=ratio_max, tail=tail
    ).total


LAWFUL = {
    "ratio_max": st.floats(1.0, 6.0),
    "n_cal": st.integers(20, 3000),
    "gap": st.floats(0.0, 0.05),
}


@given(**LAWFUL, more=st.floats(1.0, 3.0))
def test_a_larger_shift_gives_a_larger_bound(ratio_max, n_cal, gap, more):
    assert bound_at(ratio_max=ratio_max * more, n_cal=n_cal, gap=gap) >= (
        bound_at(ratio_max=ratio_max, n_cal=n_cal, gap=gap) - 1e-12
    )


@given(**LAWFUL, more=st.integers(0, 3000))
def test_more_calibration_gives_a_smaller_bound(ratio_max, n_cal, gap, more):
    assert bound_at(ratio_max=ratio_max, n_cal=n_cal + more, gap=gap) <= (
        bound_at(ratio_max=ratio_max, n_cal=n_cal, gap=gap) + 1e-12
    )


def test_training_saturates_and_the_shift_stays():
    """As n_tr grows the bound falls to a limit, which a larger shift holds up."""

    def bounds(ratio_max):
        gaps = [0.5 / math.sqrt(n) for n in (400, 1600, 6400, 10**12, 10**16)]
        return [bound_at(ratio_max=ratio_max, gap=gap, n_cal=150) for gap in gaps]

    mild, severe = bounds(1.0), bounds(4.0)
    for falls in (mild, severe):
        assert falls == sorted(falls, reverse=True)
        assert falls[-1] == pytest.approx(falls[-2], rel=1e-4)
    assert severe[-1] > 1.5 * mild[-1]
    asked = {"n_train": 10**12, "alpha": 0.1, "n_cal": 10**6, "bound": 1.0, "beta": 1.0}
    assert theory.printed_bound(np.exp(-GRID), SIZES, ratio_max=1.0, **asked).total < 0.2
    assert theory.printed_bound(np.exp(-GRID), SIZES, ratio_max=1.05, **asked).is_vacuous


def test_a_larger_shift_needs_more_calibration_for_the_same_bound():
    def needed(ratio_max):
        model = float(SIZES.mean[np.argmax(np.exp(-GRID) + 0.01 <= 0.1)])
        sizes = np.unique(np.geomspace(10, 1e6, 400).astype(int))
        bounds = [bound_at(ratio_max=ratio_max, n_cal=int(n)) for n in sizes]
        return sizes[np.argmax(np.array(bounds) <= 1.3 * model)]

    counts = [needed(ratio_max) for ratio_max in (1.0, 2.0, 4.0)]
    assert counts[1] > 1.7 * counts[0]
    assert counts[2] > 1.7 * counts[1]


def test_terms_add_up_and_name_the_culprit():
    risk = np.minimum(np.exp(-GRID) + 0.05, 1.0)
    band = Band(GRID, np.exp(-GRID), risk, 1.0, 0.05, "some inequality")
    found = theory.repaired_bound(
        band, SIZES, alpha=0.1, n_cal=300, ratio_max=1.5, delta_inputs=0.05
    )
    assert list(found.terms) == ["model", "band", "test_mass", "calibration", "inputs"]
    assert all(value >= 0 for value in found.terms.values())
    assert math.fsum(found.terms.values()) >= found.total
    assert found.terms["model"] == pytest.approx(float(SIZES.mean[np.argmax(np.exp(-GRID) <= 0.1)]))
    assert found.delta == pytest.approx(0.1)
    few = theory.repaired_bound(band, SIZES, alpha=0.1, n_cal=5, ratio_max=5.0)
    assert few.is_vacuous
    assert few.culprit == "test_mass"
    assert "says nothing (1): most of it is the test point's own weight" in str(few)
    assert "given some inequality: confidence 0.95" in str(found)


def test_the_weight_of_each_input_and_the_envelope_make_the_bound_smaller():
    risk = np.maximum(1 - GRID / 4, 0.0) ** 2 / 2
    many = np.tile(SIZES.shares, (3, 1))
    asked = {"alpha": 0.2, "n_cal": 400, "ratio_max": 2.0}
    band = known(GRID, risk, 8.0)
    plain = theory.repaired_bound(band, SizeCurve(GRID, many), **asked)
    own = theory.repaired_bound(band, SizeCurve(GRID, many, weights=[2.0, 1.0, 0.1]), **asked)
    worst = np.tile(np.maximum(8.0 - GRID, 0.0), (3, 1))
    envelope = theory.repaired_bound(band, SizeCurve(GRID, many), worst=worst, **asked)
    ceiling = theory.repaired_bound(
        band, SizeCurve(GRID, many), ceiling=np.maximum(8.0 - GRID, 0.0), **asked
    )
    assert own.total < plain.total
    assert envelope.total < plain.total
    assert ceiling.total < plain.total


# The border.


def test_what_cannot_be_bounded_is_refused():
    losses = shp.LossCurves.steps([0.1, 0.2, 0.3])
    endless = shp.LossCurves.hinges([1.0], bound=math.inf)
    mixed = shp.LossCurves.hinges([1.0, 2.0], slopes=[1.0, 2.0], bound=9.0)
    band = theory.dkw_band(losses, [0.1, 0.2], 0.05)
    cases = [
        (lambda: theory.dkw_band(endless, [0.0], 0.05), "finite bound"),
        (lambda: theory.dkw_band(mixed, [0.0], 0.05), "hinges of one slope"),
        (lambda: theory.dkw_band(losses, [0.0], 0.6), "at most 1/2"),
        (lambda: theory.dkw_band(losses, [0.2, 0.1], 0.05), "ascending"),
        (lambda: theory.dkw_band(losses, [], 0.05), "at least one value"),
        (lambda: theory.dkw_band(losses, [-1.0], 0.05), "at least the lower end"),
        (lambda: theory.kl_band(losses, [0.1], 0.05, weights=[1, 3, 1]), "at most ratio_max"),
        (lambda: theory.kl_band(losses, [0.1], 0.05, ratio_max=0.5), "at least 1"),
        (lambda: theory.group_band(losses, [0, 1], {0: 1.0}, [0.1], 0.05), "shape"),
        (lambda: theory.group_band(losses, [0, 1, 1], {0: 0.5}, [0.1], 0.05), "a sum of 1"),
        (lambda: theory.bernstein_band(shp.LossCurves.steps([0.1]), [0.1], 0.05), "at least 2"),
        (lambda: theory.pac_bayes_band(losses, [0.1], 0.05, divergence=-1.0), "at least 0"),
        (lambda: theory.variation_bias([1.0, 2.0], [0.5, 0.5], 1.0), "a sum of 1"),
        (lambda: theory.ratio_bias(0.9, 1.0), "at least 1"),
        (lambda: theory.ratio_bias(2.0, math.inf), "finite largest loss"),
        (lambda: SizeCurve([0.0, 1.0], [[0.0, 1.5]]), "shares from 0 to 1"),
        (lambda: SizeCurve([0.0, 1.0], [[0.5, 0.4]]), "sets that grow"),
        (lambda: SizeCurve([0.0, 1.0], [[0.5]]), "shape"),
        (lambda: SizeCurve([1.0, 0.0], [[0.5, 0.6]]), "ascending"),
        (
            lambda: theory.repaired_bound(band, SIZES, alpha=0.1, n_cal=9, ratio_max=1.0),
            "the thresholds of the band",
        ),
        (
            lambda: theory.repaired_bound(
                band, SizeCurve([0.1, 0.2], [[0.5, 0.6]]), alpha=0.0, n_cal=9, ratio_max=1.0
            ),
            "a level above 0",
        ),
        (
            lambda: theory.repaired_bound(
                band,
                SizeCurve([0.1, 0.2], [[0.5, 0.6]], weights=[3.0]),
                alpha=0.1,
                n_cal=9,
                ratio_max=1.0,
            ),
            "at most ratio_max",
        ),
    ]
    for call, sentence in cases:
        with pytest.raises(shp.InputError, match=sentence):
            call()
