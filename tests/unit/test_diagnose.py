"""Each figure of a diagnosis, against a slow and obvious way to it or a world where it is known."""

import math

import numpy as np
import pandas as pd
import pytest

import shiftproof as shp
from shiftproof.ratios.diagnose import tail_index
from shiftproof.ratios.separation import Separation


def gaussian(n=3000, d=2, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    source, target = rng.normal(0, 1, (n, d)), rng.normal(0, 1, (n, d))
    target[:, 0] += shift
    return source, target


def right(shift=1.0):
    return shp.KnownRatio(lambda x: np.exp(shift * x[:, 0] - shift**2 / 2))


@pytest.fixture(scope="module")
def found():
    return shp.diagnose(right(), *gaussian(), bound=40.0, n_cal=200)


class TestFigures:
    def test_of_weights(self, found):
        source, target = gaussian()
        w, v = right().weights(source), right().weights(target)
        assert found.effective_size.value == pytest.approx(w.sum() ** 2 / (w**2).sum())
        assert found.largest_ratio.value == max(w.max(), v.max())
        assert found.top_share.value == pytest.approx(np.sort(w)[-30:].sum() / w.sum())
        assert found.mean_ratio.value == pytest.approx(w.mean())
        assert found.mean_ratio.value == pytest.approx(1.0, abs=0.1)

    def test_of_balance(self, found):
        source, target = gaussian()
        w = right().weights(source)
        spread = np.sqrt((source[:, 0].var() + target[:, 0].var()) / 2)
        before = (target[:, 0].mean() - source[:, 0].mean()) / spread
        after = (target[:, 0].mean() - (w * source[:, 0]).sum() / w.sum()) / spread
        # Columns are standardised together, which no standardised difference can see.
        assert next(iter(found.differences.values())) == pytest.approx((before, after), abs=1e-9)
        assert found.difference_before.value == pytest.approx(1.0, abs=0.1)
        assert found.difference_after.value < 0.15

    def test_a_classifier_sees_the_shift_before_and_not_after(self, found):
        assert found.auc_before.value == pytest.approx(0.76, abs=0.03)  # Phi(1 / sqrt 2)
        assert "are told from" in found.auc_before.sentence
        assert found.auc_after.value == pytest.approx(0.5, abs=0.06)

    def test_moved_mass_is_total_variation(self, found):
        truth = math.erf(1 / (2 * math.sqrt(2)))  # 2 Phi(1/2) - 1
        assert found.moved_mass.value == pytest.approx(truth, abs=0.03)

    def test_smallest_levels_are_those_of_the_rule(self, found):
        """200 labels of the mean weight: finite at the level that is given, not below it."""
        source, target = gaussian()
        w, v = right().weights(source), right().weights(target)
        curve = shp.RiskCurve(
            shp.LossCurves.hinges(np.ones(200), bound=40.0), np.full(200, w.mean())
        )
        for level, weight in (
            (found.smallest_alpha_everywhere.value, v.max()),
            (found.smallest_alpha.value, np.median(v)),
        ):
            assert np.isfinite(curve.threshold(level * (1 + 1e-3), weight, worst=40.0))
            assert np.isinf(curve.threshold(level * (1 - 1e-3), weight, worst=40.0))


def test_wrong_weights_are_found_out():
    """Without weights nothing improves; with those of another shift something else is off."""
    none = shp.diagnose(shp.NoShift(), *gaussian())
    assert none.auc_after.value == pytest.approx(none.auc_before.value, abs=0.01)
    assert none.moved_mass.value == 0
    assert none.effective_size.value == pytest.approx(3000)
    other = shp.diagnose(shp.KnownRatio(lambda x: np.exp(x[:, 1] - 0.5)), *gaussian())
    assert "are told from" in other.auc_after.sentence
    assert other.difference_after.value > 0.8


def test_bounded_ratios_are_looked_at_through_their_middle():
    rng = np.random.default_rng(0)
    source, target = rng.random((400, 1)) < 0.5, rng.random((400, 1)) < 0.9
    rates = {"source": {True: 0.5, False: 0.5}, "target": shp.Counts({True: 180, False: 20})}
    ratio = shp.GroupRatio(0, **rates)
    one, other = (shp.diagnose(each, source, target) for each in (ratio, ratio.within(0.1)))
    assert one.figures == other.figures
    assert one.tail_index.value == -math.inf
    assert "no tail" in one.tail_index.sentence


def test_what_a_ratio_pays_of_alpha_is_counted_in():
    """From the smallest alpha on the priced rule is finite, and not below it."""
    rng = np.random.default_rng(0)
    source, target = rng.random((400, 1)) < 0.5, rng.random((400, 1)) < 0.9
    rates = {"source": {True: 0.5, False: 0.5}, "target": shp.Counts({True: 180, False: 20})}
    ratio = shp.GroupRatio(0, **rates)
    paid = shp.diagnose(ratio.within(0.1, paid=True), source, target, bound=40.0)
    plain = shp.diagnose(ratio.within(0.1), source, target, bound=40.0)
    for name in ("smallest_alpha", "smallest_alpha_everywhere"):
        one, other = (getattr(each, name) for each in (plain, paid))
        assert other.value == pytest.approx(one.value + 0.1 * 40)
        assert "its price included" in other.sentence
        assert "its price included" not in one.sentence


def test_a_clipped_ratio_is_judged_by_its_clipped_weights():
    source, target = gaussian()
    clipped = shp.ClippedRatio(right(), 3.0).fit(gaussian(seed=1)[1])
    found = shp.diagnose(clipped, source, target, n_cal=200)
    w = np.minimum(right().weights(source), 3.0)
    assert found.effective_size.value == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.largest_ratio.value == 3.0
    assert "clipped at 3" in found.judged
    assert found.judged in str(found)
    curve = shp.PricedCurve(
        shp.RiskCurve(shp.LossCurves.steps(np.ones(200)), np.full(200, w.mean())), clipped.price
    )
    level = found.smallest_alpha_everywhere.value
    assert np.isfinite(curve.threshold(level * (1 + 1e-6), 3.0, worst=1.0))
    assert np.isinf(curve.threshold(level * (1 - 1e-6), 3.0, worst=1.0))


def test_outside_the_support_and_beyond_the_source():
    source = np.linspace(0, 1, 100)[:, None]
    target = np.linspace(0.5, 1.5, 101)[:, None]
    from_function = shp.KnownRatio(lambda x: np.where(x[:, 0] > 1, np.inf, x[:, 0] > 0.5))
    found = shp.diagnose(from_function, source, target)
    assert found.outside_support.value == pytest.approx(50 / 101)
    assert found.outside_range.value == pytest.approx(50 / 101)
    assert found.smallest_alpha_everywhere.value == 1.0


def test_prints_and_makes_a_table(found):
    text = str(found)
    assert len(text.splitlines()) == 1 + len(found.figures) == 15
    assert text.startswith("weights: w(x) is the function that was given")
    for name in found.figures:
        assert name.replace("_", " ") in text
    frame = pd.DataFrame(found.table())
    assert list(frame.columns) == ["figure", "value", "certainty", "sentence"]
    assert frame.value.notna().all()


def test_mixed_tables():
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame(
            {"x": rng.normal(m, 1, 300), "kind": rng.choice(["a", "b"], 300, p=[q, 1 - q])}
        )
        for m, q in ((0, 0.5), (0, 0.9))
    ]
    ratio = shp.GroupRatio("kind", source={"a": 0.5, "b": 0.5}, target={"a": 0.9, "b": 0.1})
    found = shp.diagnose(ratio, *frames, columns=["x", "kind"])
    assert set(found.differences) == {"x", "kind_a", "kind_b"}
    assert abs(found.differences["kind_a"][0]) > 0.5
    assert abs(found.differences["kind_a"][1]) < 0.2


class TestTailIndex:
    @pytest.mark.parametrize("k", [0.3, 0.7, 1.2])
    def test_of_a_pareto_law(self, k):
        draws = [np.random.default_rng(s).pareto(1 / k, 4000) + 1 for s in range(20)]
        assert np.mean([tail_index(each) for each in draws]) == pytest.approx(k, abs=0.06)

    def test_of_light_tails(self):
        rng = np.random.default_rng(0)
        assert tail_index(rng.exponential(size=20_000)) == pytest.approx(0.0, abs=0.12)
        assert tail_index(rng.random(20_000)) < -0.5

    def test_scale_is_free(self):
        w = np.random.default_rng(0).pareto(2, 1000)
        assert tail_index(w) == pytest.approx(tail_index(1e6 * w))

    def test_maximum_likelihood_says_the_same(self):
        stats = pytest.importorskip("scipy.stats")
        w = np.random.default_rng(3).pareto(2, 10_000)
        tail = np.sort(w)[-300:] - np.sort(w)[-301]
        fitted = stats.genpareto.fit(tail, floc=0)[0]
        assert tail_index(w) == pytest.approx((300 * fitted + 5) / 310, abs=0.03)


class TestSeparation:
    def test_nothing_to_see(self):
        source, target = gaussian(shift=0.0, n=1000)
        found = Separation.of(source, target)
        assert abs(found.auc - 0.5) < 3 * found.auc_error
        assert abs(found.mass) < 3.5 * found.mass_error

    def test_alike_samples_are_seldom_told_apart(self):
        """One in ten at most; by the error of fixed scores, on both sides, far more of them."""
        found = []
        for seed in range(15):
            rng = np.random.default_rng(seed)
            source, target = rng.normal(size=(2, 100, 2))
            found.append(Separation.of(source, target, seed=seed))
            shifted, weights = target + np.array([1.0, 0.0]), np.exp(source[:, 0] - 0.5)
            found.append(Separation.of(source, shifted, weights, seed=seed))
        assert np.mean([each.is_told for each in found]) <= 0.1
        fixed = [abs(each.auc - 0.5) > 2 * each.auc_error / math.sqrt(2) for each in found]
        assert np.mean(fixed) > 0.1
        spread = np.std([each.auc for each in found])
        assert np.mean([each.auc for each in found]) == pytest.approx(0.5, abs=0.03)
        assert np.mean([each.auc_error for each in found]) == pytest.approx(spread, rel=0.3)

    def test_a_shift_is_told(self):
        told = [Separation.of(*gaussian(n=100, seed=seed)).is_told for seed in range(5)]
        assert all(told)

    def test_folds_without_weight_have_no_area(self):
        source, target = gaussian(n=100)
        weights = np.zeros(100)
        weights[:3] = 1.0
        assert 0 <= Separation.of(source, target, weights).auc <= 1

    def test_the_error_is_that_of_repetitions(self):
        """Fixed scores in place of a classifier: the spread of the area over fresh samples."""
        from sklearn.metrics import roc_auc_score  # noqa: PLC0415

        from shiftproof.ratios.separation import _area_error  # noqa: PLC0415

        rng = np.random.default_rng(0)
        labels = np.repeat([0, 1], [150, 80])
        areas = [
            roc_auc_score(labels, np.concatenate([rng.normal(0, 1, 150), rng.normal(1, 1, 80)]))
            for _ in range(2000)
        ]
        assert _area_error(float(np.mean(areas)), 150, 80) == pytest.approx(np.std(areas), rel=0.1)

    def test_mass_is_below_total_variation(self):
        found = Separation.of(*gaussian())
        truth = math.erf(1 / (2 * math.sqrt(2)))
        assert truth - 0.08 < found.mass < truth + 3 * found.mass_error


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s, t: shp.diagnose(shp.ClassifierRatio(), s, t), "ratio: expected a fitted ratio"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s[:5], t), "source: expected at least 20 rows"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t, n_cal=0), "n_cal: expected a whole number"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t, n_cal=9.5), "n_cal: expected a whole"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t, seed=-1), "seed: expected a whole number"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t, columns="a"), r"columns: .* pass \['a'\]"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t, columns=[]), "columns: expected names"),
        (
            lambda s, t: shp.diagnose(shp.KnownRatio(lambda x: 0 * x[:, 0]), s, t),
            "weights of source: expected some weight above 0",
        ),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t[:, :1]), "target: expected the"),
        (lambda s, t: shp.diagnose(shp.NoShift(), s, t, bound=-1.0), "bound: expected the largest"),
    ],
)
def test_clear_errors(wrong, message):
    with pytest.raises(shp.InputError, match=message):
        wrong(*gaussian(n=100))
