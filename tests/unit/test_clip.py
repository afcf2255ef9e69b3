"""Clipped ratios: the price by hand, refusals, draws, and what is said about them."""

import math

import numpy as np
import pytest

import shiftproof as shp
from shiftproof.keys import row_keys

RATIO = shp.KnownRatio(lambda x: np.exp(2 * x[:, 0] - 2))  # from N(0, 1) to N(2, 1)


def target(n=3000, seed=0):
    return np.random.default_rng(seed).normal(2, 1, (n, 1))


def beyond(k, c):
    """E_P'(1 - k c / w)_+ by quadrature, for RATIO."""
    x = np.linspace(-8, 12, 400_001)
    density = np.exp(-((x - 2) ** 2) / 2) / math.sqrt(2 * math.pi)
    part = np.maximum(1 - k * c / np.exp(2 * x - 2), 0.0)
    return float(np.trapezoid(part * density, x))


@pytest.mark.parametrize("c", [5.0, 50.0, 400.0])
def test_the_price_is_an_upper_bound_and_near_the_truth(c):
    price = shp.ClippedRatio(RATIO, c).fit(target(20_000)).price
    m = 1 - beyond(1.0, c)
    for factor, mass in zip(price.factors, price.masses, strict=True):
        k = factor / price.factors[0]
        assert beyond(k, c) < mass < beyond(k, c) + 0.02
    assert m <= price.factors[0] <= m + 0.02


def test_the_price_fails_no_more_often_than_delta():
    """At delta = .3 all nine bounds hold together in 70 per cent of samples at least."""
    delta, runs, c = 0.3, 400, 20.0
    truth = {k: beyond(k, c) for k in (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0)}
    failed = 0
    for seed in range(runs):
        price = shp.ClippedRatio(RATIO, c, delta=delta).fit(target(100, seed)).price
        low = [mass < truth[k] for k, mass in zip(truth, price.masses, strict=True)]
        failed += any(low) or price.factors[0] < 1 - truth[1.0]
    assert failed / runs <= delta + math.sqrt(math.log(1e6) / (2 * runs))


def test_a_higher_ceiling_costs_less_and_more_inputs_cost_less():
    x = target()
    levels = [
        float(shp.ClippedRatio(RATIO, c).fit(x).price.level(0.2, bound=1.0))
        for c in (10, 100, 1000)
    ]
    assert levels == sorted(levels)
    fewer = shp.ClippedRatio(RATIO, 100.0).fit(x[:100]).price
    assert float(fewer.level(0.2, bound=1.0)) < levels[1]


def test_the_hockey_stick_beats_total_variation_where_alpha_is_small():
    price = shp.ClippedRatio(RATIO, 100.0).fit(target(20_000)).price
    alone = shp.Price(price.factors[:1], price.masses[:1])
    assert float(alone.level(0.05, bound=1.0)) < 0 < float(price.level(0.05, bound=1.0))


def test_weights_are_clipped_on_both_sides():
    ratio = shp.ClippedRatio(shp.ColumnRatio(0), 2.0).fit([[1.0], [3.0]])
    np.testing.assert_array_equal(ratio.weights([[1.0], [4.0], [math.inf]]), [1, 2, 2])
    curve = ratio.curve(shp.LossCurves.steps([1.0, 2.0]), [[0.5], [9.0]])
    np.testing.assert_array_equal(curve.curve.weights, [0.5, 2.0])


def test_delta_paid_from_alpha():
    x = target()
    beside = shp.ClippedRatio(RATIO, 200.0, delta=0.05).fit(x)
    paid = shp.ClippedRatio(RATIO, 200.0, delta=0.05, paid=True).fit(x)
    np.testing.assert_allclose(paid.price.masses, beside.price.masses + 0.05)
    assert "0.05 Lmax is paid" in paid.assumption.promise
    assert "with confidence 0.95" in beside.assumption.promise
    drawn = shp.ClippedRatio(RATIO, 200.0, delta=0.05, paid=True).randomized(x)
    curve = drawn.curve(shp.LossCurves.steps([1.0]), [[0.0]])
    assert float(curve.level(0.2)) == pytest.approx((0.2 - 0.05) / drawn.kept)


def test_what_is_certain_depends_on_the_ratio():
    assert RATIO.assumption.certainty is shp.Certainty.GIVEN_WEIGHTS
    known = shp.ClippedRatio(RATIO, 200.0).fit(target())
    assert known.assumption.certainty is shp.Certainty.CERTIFIED
    assert "clipped at 200" in known.assumption.basis
    rng = np.random.default_rng(0)
    fitted = shp.GaussianRatio().fit(rng.normal(0, 1, 500), rng.normal(1, 1, 500))
    learnt = shp.ClippedRatio(fitted, 5.0).fit(rng.normal(1, 1, 500))
    assert learnt.assumption.certainty is shp.Certainty.ESTIMATED


def fitted(recipe=None, seed=0):
    rng = np.random.default_rng(seed)
    recipe = shp.GaussianRatio() if recipe is None else recipe
    return recipe.fit(rng.normal(0, 1, (500, 1)), rng.normal(1, 1, (500, 1)))


def test_a_price_does_not_make_an_estimated_ratio_right():
    fresh = np.random.default_rng(1).normal(1, 1, (500, 1))
    recipe = shp.ClippedRatio(fitted(), 5.0)
    for learnt in (recipe.fit(fresh), recipe.randomized(fresh), recipe.randomized()):
        promise = learnt.assumption.promise
        assert promise.startswith("if the ratio is right, E[loss")
        assert "of the ratio itself: E[loss] <= alpha + Lmax TV(P', the estimated" in promise
        assert learnt.assumption.certainty is shp.Certainty.ESTIMATED
    known = shp.ClippedRatio(RATIO, 5.0)
    for right in (known.fit(fresh), known.randomized(fresh), known.randomized()):
        assert "if the ratio is right" not in right.assumption.promise


def test_a_ratio_with_a_price_is_not_clipped_again():
    """Its weights are not those of the target: a second price would hide the first."""
    priced = shp.ClippedRatio(RATIO, 20.0).fit(target())
    with pytest.raises(shp.InputError, match="ratio: expected PlainRatio, got PricedRatio"):
        shp.ClippedRatio(priced, 20.0)
    assert isinstance(priced, shp.Ratio)


def test_some_rows_of_the_price_among_those_that_calibrate_are_warned_of():
    x = target()
    own = np.concatenate([x[:30], np.random.default_rng(1).normal(0, 1, (270, 1))])
    losses = shp.LossCurves.steps(np.abs(own[:, 0]))
    recipe = shp.ClippedRatio(RATIO, 200.0)
    for ratio in (recipe.fit(x), recipe.randomized(x)):
        with pytest.warns(shp.ShiftWarning, match=r"30 rows \(10.0%\) of calibration") as told:
            ratio.curve(losses, own)
        assert len(told) == 1
        assert str(told[0].message) == str(ratio.ledger.plus(calibration=own))


def test_points_are_drawn_as_often_as_their_ratio_says():
    n = 20_000
    ratio = shp.ClippedRatio(shp.ColumnRatio(0), 2.0).randomized()
    weights = ratio.weights(np.full((n, 1), 5.0), row_keys(3, "prediction", n))
    assert set(np.unique(weights)) == {2.0, math.inf}
    assert np.isinf(weights).mean() == pytest.approx(1 - 2 / 5, abs=0.02)
    below = ratio.weights(np.full((n, 1), 1.5), row_keys(3, "prediction", n))
    assert (below == 1.5).all()


def test_a_row_keeps_its_draw():
    ratio = shp.ClippedRatio(shp.ColumnRatio(0), 2.0).randomized()
    x = np.full((10, 1), 4.0)
    all_rows = ratio.weights(x, row_keys(3, "prediction", 10))
    some = ratio.weights(x[:3], row_keys(3, "prediction", [7, 2, 9]))
    np.testing.assert_array_equal(some, all_rows[[7, 2, 9]])


def test_outside_the_support_a_point_is_always_drawn():
    ratio = shp.ClippedRatio(shp.ColumnRatio(0), 2.0).randomized()
    weights = ratio.weights(np.full((50, 1), math.inf), row_keys(3, "prediction", 50))
    assert np.isinf(weights).all()


def drawn_by(keys):
    return shp.ClippedRatio(RATIO, 2.0).randomized().weights([[1.0]], keys)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: shp.ClippedRatio(lambda x: x, 2.0), "ratio: expected PlainRatio"),
        (lambda: shp.ClippedRatio(RATIO, 0.0), "ceiling: expected a finite number above 0"),
        (lambda: shp.ClippedRatio(RATIO, math.inf), "ceiling: expected a finite number"),
        (lambda: shp.ClippedRatio(RATIO, math.nan), "ceiling: expected no NaN"),
        (lambda: shp.ClippedRatio(RATIO, 2.0, delta=0.0), "delta: expected a probability"),
        (lambda: shp.ClippedRatio(RATIO, 2.0).fit(np.empty((0, 1))), "target: expected at least"),
        (lambda: shp.ClippedRatio(shp.ColumnRatio(0), 2.0).fit([[0.0]]), "refutes the ratio"),
        (
            lambda: shp.ClippedRatio(RATIO, 2.0).randomized().weights([[1.0]]),
            "keys: expected one key for each row",
        ),
        (
            lambda: shp.ClippedRatio(RATIO, 2.0).randomized().weights([[1.0]], row_keys(1, "a", 2)),
            "keys: expected shape",
        ),
        (lambda: drawn_by([-1]), "keys: expected integers from 0 below .*, got a negative one"),
        (lambda: drawn_by(["a"]), "keys: expected integers from 0 below .*, got dtype <U1"),
        (lambda: drawn_by([0.5]), "keys: expected integers from 0 below .*, got dtype float64"),
        (lambda: drawn_by([True]), "keys: expected integers"),
        (lambda: shp.ClippedRatio(RATIO, 2.0, paid="no"), "paid: expected True or False"),
        (
            lambda: (
                shp.ClippedRatio(RATIO, 2.0)
                .randomized()
                .curve(shp.LossCurves.staircases([0.2], [], [], [], bound=1.0), [[1.0]])
            ),
            "losses that are 0 on the whole label space",
        ),
    ],
)
def test_clear_errors(wrong, message):
    with pytest.raises(shp.InputError, match=message):
        wrong()


def test_the_price_is_not_counted_on_rows_that_calibrate():
    x = target()
    ratio = shp.ClippedRatio(RATIO, 200.0).fit(x)
    with pytest.raises(shp.InputError, match="rows for calibration: expected other rows"):
        ratio.curve(shp.LossCurves.steps(np.abs(x[:, 0])), x)
