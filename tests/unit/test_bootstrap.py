"""Bounds on estimated weights from resampled rows."""

import numpy as np
import pytest

import shiftproof as shp


def samples(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n, 2)), rng.normal([0.5, 0], 1, (n, 2))


@pytest.fixture(scope="module")
def fitted():
    return shp.BootstrapRatio(shp.GaussianRatio(), delta=0.1, draws=40).fit(*samples())


def test_the_estimate_lies_within_its_bounds(fitted):
    x = np.random.default_rng(3).normal(0, 2, (100, 2))
    box, center = fitted.weights(x), fitted.point.weights(x)
    assert (box.low < center).all()
    assert (center < box.high).all()
    np.testing.assert_allclose(box.low * box.high, center**2)  # as far down as up, in logs


def test_bounds_narrow_with_rows_and_widen_with_confidence(fitted):
    x = np.random.default_rng(3).normal(0, 1, (50, 2))

    def width(box):
        return float(np.log(box.high / box.low).mean())

    more = shp.BootstrapRatio(shp.GaussianRatio(), delta=0.1, draws=40).fit(*samples(6400))
    # A quarter of the width at sixteen times the rows, give or take.
    assert 0.15 < width(more.weights(x)) / width(fitted.weights(x)) < 0.4
    surer = shp.BootstrapRatio(shp.GaussianRatio(), delta=0.05, draws=40).fit(*samples())
    assert width(surer.weights(x)) > width(fitted.weights(x))


def test_the_rule_is_the_worst_case_over_the_box(fitted):
    rng = np.random.default_rng(4)
    x, scores = rng.normal(0, 1, (60, 2)), rng.exponential(size=60)
    points = rng.normal(0, 1, (20, 2))
    losses = shp.LossCurves.steps(scores)
    box, at = fitted.weights(x), fitted.weights(points)
    found = fitted.curve(losses, x).threshold(0.3, at, worst=1.0)
    direct = shp.BoxedCurve(losses, box).threshold(0.3, at, worst=1.0)
    np.testing.assert_array_equal(found, direct)
    for _ in range(50):  # never below the rule for weights inside
        w, v = (rng.uniform(each.low, each.high) for each in (box, at))
        assert (shp.RiskCurve(losses, w).threshold(0.3, v, worst=1.0) <= found).all()


def test_a_classifier_is_settled_before_it_is_fitted_again():
    ratio = shp.BootstrapRatio(shp.ClassifierRatio(), delta=0.2, draws=10).fit(*samples())
    chosen = ratio.point.model.C_
    assert {model.model.C for model in ratio.models} == {chosen}


def test_delta_paid_or_beside():
    recipe = shp.BootstrapRatio(shp.GaussianRatio(), delta=0.1, draws=40, paid=True)
    paid = recipe.fit(*samples())
    x = np.random.default_rng(5).normal(0, 1, (50, 2))
    curve = paid.curve(shp.LossCurves.steps(np.abs(x[:, 0])), x)
    assert float(curve.level(0.3)) == pytest.approx(0.2)
    assert "approximately right" in paid.assumption.basis
    assert paid.assumption.certainty is shp.Certainty.ESTIMATED
    assert "0.1 Lmax is paid" in paid.assumption.promise


def test_clear_errors():
    with pytest.raises(shp.InputError, match="draws: expected a whole number of at least 20"):
        shp.BootstrapRatio(shp.GaussianRatio(), delta=0.1, draws=19)
    with pytest.raises(shp.InputError, match="delta: expected a probability"):
        shp.BootstrapRatio(shp.GaussianRatio(), delta=1.0)
    with pytest.raises(shp.InputError, match="recipe: expected something with fit"):
        shp.BootstrapRatio(shp.NoShift())
    with pytest.raises(shp.InputError, match="paid: expected True or False, got 1"):
        shp.BootstrapRatio(shp.GaussianRatio(), paid=1)
    with pytest.raises(shp.InputError, match="seed: expected a whole number"):
        shp.BootstrapRatio(shp.GaussianRatio(), seed=0.5)
    ratio = shp.BootstrapRatio(shp.GaussianRatio(), draws=20).fit(*samples(50))
    with pytest.raises(shp.InputError, match="calibration inputs"):
        ratio.curve(shp.LossCurves.steps([1.0, 2.0]), np.zeros((3, 2)))
