"""Why a set is this large, and what sets did on labelled points."""

import math

import numpy as np
import pytest
from scipy import stats

import shiftproof as shp

INF = math.inf
ROAD = 10.0


def drawn(n, seed, off_rate=0.5):
    rng = np.random.default_rng(seed)
    off, place = rng.random(n) < off_rate, rng.uniform(0, ROAD, n)
    heard = np.clip(place + np.where(off, 2.0, 0.3) * rng.normal(size=n), 0, ROAD)
    return np.column_stack([heard, off, np.ones(n)]), place


X, Y = drawn(80, 0)
NEW, TRUTH = drawn(12, 1, 0.9)
HARDER = shp.GroupRatio(1, source={1: 0.5, 0: 0.5}, target={1: 0.9, 0: 0.1})
EASIER = HARDER.under({1: 0.1, 0: 0.9})


class Box:
    """Bounds on each weight, as a ratio of the user's own."""

    columns = (1,)
    assumption = shp.NoShift().assumption

    def weights(self, X, keys=None):  # noqa: ARG002 - as every ratio
        w = HARDER.weights(X)
        return shp.WeightBox(0.8 * w, 1.25 * w)

    def curve(self, losses, X):
        return shp.BoxedCurve(losses, self.weights(X))


COUNTED = HARDER.under(shp.Counts({1: 90, 0: 10}))
RATIOS = {
    "harder": HARDER,
    "easier": EASIER,
    "box": Box(),
    "candidates": COUNTED.within(0.1),
    "paid": COUNTED.within(0.01, paid=True),
    "clipped": shp.ClippedRatio(HARDER, 1.5).fit(drawn(2000, 5, 0.9)[0]),
    "drawn": shp.ClippedRatio(HARDER, 1.5).randomized(),
    "within groups": shp.WithinGroups(1),
}
CASES = {"constant": shp.Constant(), "pointwise": shp.Pointwise(), "directional": shp.Directional()}


def prepared(ratio=HARDER, case="pointwise", loss=None, sets=None, x=X, y=Y, new=NEW):
    controller = shp.RiskController(
        lambda x: x[:, 0],
        shp.Intervals(0, ROAD) if sets is None else sets,
        shp.Distance() if loss is None else loss,
        ratio,
        CASES[case],
    )
    return controller.calibrate(x, y, seed=0).prepare(new)


class TestExplanation:
    alpha = 0.4

    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("name", RATIOS)
    def test_terms_add_up_to_the_capped_threshold(self, name, case):
        points = prepared(RATIOS[name], case)
        found = points.explain(self.alpha)
        capped = np.minimum(points.threshold(self.alpha), points.nest.whole())
        np.testing.assert_array_equal(found.total, capped)
        terms = found.model + found.shift + found.test_mass
        np.testing.assert_allclose(terms, capped, rtol=1e-12, atol=1e-12)
        assert sum(found.means.values()) == pytest.approx(capped.mean())
        assert np.ptp(found.total) > 0 or case == "constant"
        assert (found.model > 0).all()

    @pytest.mark.parametrize("ratio", [HARDER, EASIER], ids=["harder", "easier"])
    @pytest.mark.parametrize("case", ["constant", "pointwise"])
    def test_each_term_by_hand(self, ratio, case):
        losses = shp.LossCurves.hinges(np.abs(X[:, 0] - Y), bound=ROAD)
        far = np.maximum(NEW[:, 0], ROAD - NEW[:, 0])
        worst = ROAD if case == "constant" else shp.LossCurves.hinges(far, bound=ROAD)
        weighted, at = shp.RiskCurve(losses, ratio.weights(X)), ratio.weights(NEW)

        def threshold(curve, mass):
            return np.minimum(curve.threshold(self.alpha, mass, worst=worst), far)

        plain = shp.RiskCurve(losses)
        none, own = threshold(plain, np.zeros(12)), threshold(plain, np.ones(12))
        shifted, total = threshold(weighted, 0 * at), threshold(weighted, at)
        found = prepared(ratio, case).explain(self.alpha)
        np.testing.assert_array_equal(found.model, none)
        np.testing.assert_allclose(found.shift, (shifted - none + total - own) / 2)
        np.testing.assert_allclose(found.test_mass, (own - none + total - shifted) / 2)
        assert (np.abs(found.shift) > 0.01).all()
        assert not np.allclose(shifted - none, total - own)  # the order matters here

    def test_a_shift_can_help(self):
        easier = prepared(EASIER).explain(self.alpha)
        assert (easier.shift < -0.1).all()
        assert (prepared(HARDER).explain(self.alpha).shift > 0.1).all()
        assert easier.means["shift"] < 0

    def test_without_a_shift_none_is_seen(self):
        found = prepared(shp.NoShift()).explain(self.alpha)
        assert (found.shift == 0).all()
        assert (found.test_mass > 0).all()

    @pytest.mark.parametrize("name", ["harder", "box", "candidates", "paid", "clipped"])
    @pytest.mark.parametrize("case", ["constant", "pointwise"])
    def test_twice_the_labels_is_every_example_twice(self, name, case):
        steps = {"loss": shp.Miscoverage(), "case": case}
        ratio = RATIOS[name] if name != "paid" else COUNTED.within(0.05, paid=True)
        found = prepared(ratio, **steps).explain(0.3).twice_the_labels
        twice = prepared(ratio, x=np.tile(X, (2, 1)), y=np.tile(Y, 2), **steps)
        np.testing.assert_array_equal(found, np.minimum(twice.threshold(0.3), twice.nest.whole()))

    @pytest.mark.parametrize("name", RATIOS)
    def test_and_so_it_is_for_distances(self, name):
        found = prepared(RATIOS[name]).explain(self.alpha).twice_the_labels
        twice = prepared(RATIOS[name], x=np.tile(X, (2, 1)), y=np.tile(Y, 2))
        capped = np.minimum(twice.threshold(self.alpha), twice.nest.whole())
        np.testing.assert_allclose(found, capped, rtol=1e-9)
        now = prepared(RATIOS[name]).explain(self.alpha).total
        assert (found <= now + 1e-12).all()
        assert (found < now).any()

    def test_within_groups_the_pooled_model_comes_first(self):
        found = prepared(shp.WithinGroups(1)).explain(self.alpha)
        off = NEW[:, 1] == 1
        assert len(np.unique(found.model)) == 1
        assert (found.shift[off] > 0).all()
        assert (found.shift[~off] < 0).all()

    def test_a_label_space_without_end(self):
        # Ten examples at alpha = .1: one more is too many without the shift, and with a weight
        # above theirs too; with a weight below theirs it is not.
        x = np.column_stack([np.arange(10.0), [1.0, 0.0] * 5, np.ones(10)])
        y = x[:, 0] + np.linspace(-0.9, 1, 10)
        new = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
        for case in ("constant", "pointwise"):
            points = prepared(
                HARDER, case, shp.Miscoverage(), shp.Intervals(), x=x[:8], y=y[:8], new=new
            )
            found = points.explain(0.1)
            assert np.isfinite(points.threshold(0.1)).tolist() == [True, False]
            assert np.isfinite(found.model).all()
            assert found.model_with_mass.tolist() == [INF, INF]
            assert found.total.tolist() == points.threshold(0.1).tolist()
            assert found.shift[0] == -INF  # without the shift the set would be the whole space
            assert found.test_mass.tolist() == [INF, INF]
            assert not any(np.isnan(term).any() for term in (found.shift, found.test_mass))
            assert not any(math.isnan(mean) for mean in found.means.values())
            assert "nan" not in str(found)
            assert "threshold         inf  on average over 2 points" in str(found)

    def test_all_infinite(self):
        points = prepared(HARDER, "constant", shp.Miscoverage(), shp.Intervals(), x=X[:3], y=Y[:3])
        found = points.explain(0.01)
        assert np.isinf(found.total).all()
        assert (found.shift == 0).all()
        assert np.isinf(found.twice_the_labels).all()

    @pytest.mark.parametrize(
        ("four", "words"),
        [
            ((3.0, 3.5, 3.5, 4.0), "the model's error: a better model"),
            ((1.0, 1.5, 3.5, 4.0), "the shift: inputs nearer"),
            ((1.0, 3.5, 1.5, 4.0), "the test mass: more labels"),
            ((1.0, INF, 1.5, INF), "the test mass: more labels"),
        ],
    )
    def test_advice_names_the_largest_term(self, four, words):
        found = shp.Explanation(*(np.array([each]) for each in four), np.array([1.0]), np.zeros(1))
        assert f"The largest term is {words}" in found.advice
        assert found.advice in str(found)

    def test_infinities_that_cancel_are_no_number_too_few(self):
        four = (np.array([each, 1.0]) for each in (1.0, INF, INF, 1.0))
        found = shp.Explanation(*four, np.ones(2), np.zeros(2))
        assert "Caution" not in str(found)
        assert found.shift.tolist() == found.test_mass.tolist() == [0.0, 0.0]
        assert found.means == {"model error": 1.0, "shift": 0.0, "test mass": 0.0}

    def test_advice_counts_means(self):
        columns = np.array([[1.0, 1.0], [1.0, 1.0], [9.0, 1.0], [9.0, 1.5]])
        found = shp.Explanation(*columns, np.ones(2), np.zeros(2))
        assert "The largest term is the shift" in found.advice
        assert found.means == pytest.approx(
            {"model error": 1.0, "shift": 4.125, "test mass": 0.125}
        )

    def test_a_level_for_each_point(self):
        levels = np.linspace(0.5, 1.0, 12)
        together = prepared().explain(levels)
        for row in (0, 11):
            alone = prepared().explain(levels[row])
            assert together.total[row] == alone.total[row]
            assert together.shift[row] == alone.shift[row]
        assert "on average over 12 points" in str(together)
        assert "over 1 point\n" in str(prepared(new=NEW[:1]).explain(0.8))


class TestEvaluation:
    delta = 0.1

    def evaluate(self, loss=None, **parts):
        points = prepared(loss=loss, **parts)
        return points, points.evaluate(TRUTH, 0.4, delta=self.delta)

    def test_rates_have_exact_intervals(self):
        points, found = self.evaluate(shp.Miscoverage())
        missed = points.losses(TRUTH, 0.4)
        assert 0 < missed.sum() < 12
        exact = stats.binomtest(int(missed.sum()), 12).proportion_ci(1 - self.delta, "exact")
        assert found.risk.value == pytest.approx(missed.mean())
        assert (found.risk.low, found.risk.high) == pytest.approx((exact.low, exact.high))
        assert found.risk.certainty is shp.Certainty.CERTIFIED
        none = stats.binomtest(0, 12).proportion_ci(1 - self.delta, "exact")
        assert (found.whole.low, found.whole.high) == pytest.approx((0.0, none.high))

    def test_other_means_have_students(self):
        points, found = self.evaluate()
        sets = points.sets(0.4)
        for measured, values in (
            (found.risk, sets.distance(TRUTH)),
            (found.size, sets.size()),
            (found.relative_size, sets.size() / ROAD),
        ):
            mean, error = values.mean(), stats.sem(values)
            low, high = stats.t.interval(1 - self.delta, 11, mean, error)
            assert (measured.value, measured.low, measured.high) == pytest.approx((mean, low, high))
            assert measured.certainty is shp.Certainty.ESTIMATED
        assert found.points == 12
        assert found.alpha == 0.4

    def test_distances_that_happen_to_be_0_are_no_rate_of_0_and_1(self):
        # With 12 distances of 0 the mean may still be .22 ROAD, the interval of a rate times ROAD.
        _, found = self.evaluate(case="constant", x=X[:2], y=Y[:2])
        none = stats.binomtest(0, 12).proportion_ci(1 - self.delta, "exact")
        assert found.risk.value == 0.0
        assert found.risk.high == pytest.approx(ROAD * none.high)
        assert found.risk.certainty is shp.Certainty.CERTIFIED
        assert found.whole.value == 1.0

    def test_sizes_of_0_and_1_are_estimates(self):
        values = np.array([0.0, 1.0, 1.0, 0.0])
        size = shp.Measured.of(values, 0.1, "mean size")
        assert size.certainty is shp.Certainty.ESTIMATED
        assert size.high == pytest.approx(0.5 + stats.t.isf(0.05, 3) * values.std(ddof=1) / 2)
        rate = shp.Measured.of(values, 0.1, "share", most=1.0)
        exact = stats.binomtest(2, 4).proportion_ci(0.9, "exact")
        assert (rate.low, rate.high) == pytest.approx((exact.low, exact.high))
        capped = shp.Measured.of(3 * values, 0.1, "loss", most=3.0)
        assert (capped.low, capped.high) == pytest.approx((3 * exact.low, 3 * exact.high))
        below = shp.Measured.of(values, 0.1, "loss", most=3.0)
        assert below.certainty is shp.Certainty.ESTIMATED

    def test_students_interval_holds_its_mean_as_often_as_it_says(self):
        # 2,000 samples of 10 at delta = .1; beyond 4.9 standard errors with probability 1e-6.
        rng, runs = np.random.default_rng(0), 2000
        held = 0
        for values in rng.normal(3.0, 2.0, (runs, 10)):
            found = shp.Measured.of(values, 0.1, "value")
            held += found.low <= 3.0 <= found.high
        assert abs(held / runs - 0.9) < 4.9 * math.sqrt(0.9 * 0.1 / runs)

    def test_one_point(self):
        found = prepared(new=NEW[:1]).evaluate(TRUTH[:1], 0.4, delta=0.1)
        assert (found.size.low, found.size.high) == (0.0, INF)
        assert math.isfinite(found.size.value)
        assert found.whole.high == pytest.approx(0.95)  # 1 - delta / 2
        assert found.points == 1

    def test_a_label_space_without_end(self):
        points, found = self.evaluate(shp.Miscoverage(), sets=shp.Intervals(), x=X[:2], y=Y[:2])
        assert found.relative_size is None
        assert found.size.value == INF
        assert (found.size.low, found.size.high) == (0.0, INF)
        assert found.whole.value == points.sets(0.4).whole.mean() > 0
        assert "relative" not in str(found)

    def test_a_level_for_each_point(self):
        levels = np.linspace(0.5, 1.0, 12)
        found = prepared().evaluate(TRUTH, levels)
        assert found.alpha == pytest.approx(0.75)
        expected = prepared().sets(levels).distance(TRUTH).mean()
        assert found.risk.value == pytest.approx(expected)

    def test_lines(self):
        _, found = self.evaluate(shp.Miscoverage())
        lines = str(found).splitlines()
        assert [line.split()[0] for line in lines] == [
            "promised",
            "risk",
            "size",
            "relative",
            "whole",
        ]
        assert "on 12 test points" in lines[0]
        assert "mean loss (certified at 1 - delta)" in lines[1]

    @pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
    def test_delta_is_a_probability(self, delta):
        with pytest.raises(shp.InputError, match="delta: expected"):
            prepared().evaluate(TRUTH, 0.4, delta=delta)

    def test_no_points(self):
        with pytest.raises(shp.InputError, match="evaluate on at least one labelled point"):
            prepared(shp.NoShift(), new=NEW[:0]).evaluate([], 0.4)
