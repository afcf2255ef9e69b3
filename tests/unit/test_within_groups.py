"""Calibration within groups: a curve for each group, and labels of groups of any kind."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shiftproof as shp
from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    Outcome,
    Price,
    PricedCurve,
    RiskCurve,
    Strata,
    StratifiedCurve,
    WeightBox,
)

INF = math.inf
ROAD = 10.0


class World:
    """Groups on, off and new, of different errors; the last one is in use only."""

    def __init__(self, n=90, m=40, seed=0):
        rng = np.random.default_rng(seed)
        self.codes = rng.integers(0, 2, n)
        self.scores = (1.0 + 2.0 * self.codes) * rng.random(n)
        self.test = rng.integers(0, 3, m)
        self.alpha = np.round(rng.uniform(0.05, 0.6, m), 2)
        self.far = rng.uniform(4, ROAD, m)

    def part(self, losses, code):
        return losses.select(np.flatnonzero(self.codes == code))


WORLD = World()
LOSSES = {
    "miscoverage": LossCurves.steps(WORLD.scores),
    "distance": LossCurves.hinges(WORLD.scores, bound=ROAD),
    "capped": LossCurves.hinges(WORLD.scores, bound=2.0, cap=2.0),
}
WORST = {
    "miscoverage": LossCurves.steps(WORLD.far),
    "distance": LossCurves.hinges(WORLD.far, bound=ROAD),
    "capped": LossCurves.hinges(WORLD.far, bound=2.0, cap=2.0),
}


class TestCurves:
    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("constant", [True, False])
    @pytest.mark.parametrize("levels", ["one", "each"])
    def test_each_group_is_a_curve_of_its_own(self, name, constant, levels):
        losses = LOSSES[name]
        worst = losses.bound if constant else WORST[name]
        alpha = WORLD.alpha if levels == "each" else 0.2
        found = StratifiedCurve(losses, WORLD.codes).threshold(
            alpha, Strata(WORLD.test), worst=worst
        )
        assert found.shape == WORLD.test.shape
        for code in (0, 1):
            here = np.flatnonzero(WORLD.test == code)
            alone = RiskCurve(WORLD.part(losses, code)).threshold(
                np.broadcast_to(alpha, WORLD.test.shape)[here],
                1.0,
                worst=worst if constant else worst.select(here),
            )
            np.testing.assert_array_equal(found[here], alone)
        assert len(np.unique(found[WORLD.test < 2])) > 1

    def test_one_more_than_the_examples_of_the_group(self):
        # Four examples: at alpha = 1/5 the largest score, below it none; the others do not count.
        losses = LossCurves.steps([0.1, 0.2, 0.3, 0.4] + [9.0] * 100)
        curve = StratifiedCurve(losses, [7] * 4 + [2] * 100)
        points = Strata([7, 7, 2])
        assert curve.threshold([0.2, 0.19, 0.19], points, worst=1.0).tolist() == [0.4, INF, 9.0]

    def test_a_group_that_was_never_seen(self):
        new = Strata(np.full(len(WORLD.far), 5))
        curve = StratifiedCurve(LOSSES["distance"], WORLD.codes)
        paper = curve.threshold(1.0, new, worst=ROAD)
        assert np.isinf(paper).all()
        assert set(curve.outcome(paper, new, whole=INF)) == {Outcome.NO_CALIBRATION_MASS}
        # Alone the farthest label may lose alpha: D - 1.
        envelope = curve.threshold(1.0, new, worst=WORST["distance"])
        np.testing.assert_allclose(envelope, WORLD.far - 1.0)
        found = set(curve.outcome(envelope, new, whole=WORLD.far))
        assert found == {Outcome.WORST_CASE_ALONE}
        steps = StratifiedCurve(LOSSES["miscoverage"], WORLD.codes)
        whole = steps.threshold(0.3, new, worst=WORST["miscoverage"])
        np.testing.assert_array_equal(whole, WORLD.far)
        found = set(steps.outcome(whole, new, whole=WORLD.far))
        assert found == {Outcome.NO_CALIBRATION_MASS}

    def test_outcomes_of_each_group(self):
        curve = StratifiedCurve(LossCurves.steps([0.1, 0.2, 0.3, 0.4, 5.0]), [0, 0, 0, 0, 1])
        points = Strata([0, 1, 2, 0], [1.0, 1.0, 1.0, 0.0])
        lam = curve.threshold(0.25, points, worst=1.0)
        assert lam.tolist() == [0.4, INF, INF, 0.3]
        assert curve.outcome(lam, points, whole=INF).tolist() == [
            Outcome.CONTROLLED,
            Outcome.WHOLE,
            Outcome.NO_CALIBRATION_MASS,
            Outcome.NO_TEST_MASS,
        ]

    def test_risk_is_that_of_the_worst_group(self):
        curve = StratifiedCurve(LossCurves.steps([1.0, 2.0, 1.0, 5.0, 6.0]), [0, 0, 1, 1, 1])
        np.testing.assert_allclose(curve.risk([0.0, 1.0, 2.0, 5.5]), [1.0, 2 / 3, 2 / 3, 1 / 3])
        assert len(curve) == 5
        assert repr(curve) == "StratifiedCurve(5 examples, 2 groups)"

    def test_by_direction(self):
        edges = np.column_stack([WORLD.far, ROAD - WORLD.far])
        losses = LOSSES["distance"]
        found = StratifiedCurve(losses, WORLD.codes).directional(0.4, Strata(WORLD.test), edges)
        for code in (0, 1):
            here = WORLD.test == code
            alone = RiskCurve(WORLD.part(losses, code)).directional(0.4, 1.0, edges[here])
            np.testing.assert_array_equal(found[here], alone)
        new = WORLD.test == 2
        np.testing.assert_allclose(found[new], np.maximum(edges[new] - 0.4, 0.0))

    def test_the_order_of_examples_and_the_numbers_of_groups_are_irrelevant(self):
        order = np.random.default_rng(1).permutation(len(WORLD.codes))
        renamed = np.array([40, 3, 11])
        straight = StratifiedCurve(LOSSES["distance"], WORLD.codes)
        mixed = StratifiedCurve(
            LossCurves.hinges(WORLD.scores[order], bound=ROAD), renamed[WORLD.codes[order]]
        )
        one = straight.threshold(0.3, Strata(WORLD.test), worst=ROAD)
        other = mixed.threshold(0.3, Strata(renamed[WORLD.test]), worst=ROAD)
        np.testing.assert_allclose(one, other, rtol=1e-12)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: StratifiedCurve(LOSSES["distance"], [0, 1]), r"codes: expected shape \(90,\)"),
            (lambda: Strata([0.5]), "codes: expected integers"),
            (lambda: Strata([-1]), "codes: expected integers"),
            (lambda: Strata([0, 1], [1.0]), "weight: expected shape"),
            (lambda: Strata([0], [-1.0]), "weight: expected weights of at least 0"),
            (lambda: StratifiedCurve(LossCurves.steps([]), []), "calibrate on at least one"),
            (
                lambda: StratifiedCurve(LOSSES["miscoverage"], WORLD.codes).threshold(
                    [0.1, 0.2, 0.3], Strata([0, 1]), worst=1.0
                ),
                "broadcast",
            ),
        ],
    )
    def test_clear_errors(self, wrong, message):
        with pytest.raises(shp.InputError, match=message):
            wrong()


def same(one, other):
    return one.tolist() == other.tolist()


class TestScaled:
    """The same test points with another part of their mass; infinite weights stay infinite."""

    losses = LossCurves.steps([0.1, 0.2, 0.3, 0.4])

    def test_numbers(self):
        curve = RiskCurve(self.losses)
        for rule in (curve, PricedCurve(curve, Price([1.0], [0.1])), shp.DrawnCurve(curve, 0.8)):
            assert same(rule.scaled([1.0, 4.0, 0.0, INF], 0.5), np.array([0.5, 2.0, 0.0, INF]))
            assert same(rule.scaled([1.0, 4.0, 0.0, INF], 0.0), np.array([0.0, 0.0, 0.0, INF]))

    def test_boxes(self):
        boxed = BoxedCurve(self.losses, WeightBox([1] * 4, [2] * 4))
        box = boxed.scaled(WeightBox([1.0, 0.0, INF], [2.0, INF, INF]), 0.5)
        assert same(box.low, np.array([0.5, 0.0, INF]))
        assert same(box.high, np.array([1.0, INF, INF]))
        assert same(boxed.scaled([2.0, INF], 0.0).high, np.array([0.0, INF]))

    def test_candidates(self):
        coherent = CoherentCurve(self.losses, CoherentBox([[1.0] * 4, [2.0] * 4]))
        scaled = coherent.scaled(CoherentBox([[1.0, INF], [4.0, 0.0]]), 0.5)
        assert same(scaled.candidates, np.array([[0.5, INF], [2.0, 0.0]]))
        with pytest.raises(shp.InputError, match="2 candidates, as in calibration"):
            coherent.scaled(CoherentBox([[1.0]]), 0.5)

    def test_strata(self):
        curve = StratifiedCurve(self.losses, [0, 0, 1, 1])
        scaled = curve.scaled(Strata([1, 0], [1.0, 3.0]), 0.5)
        assert same(scaled.codes, np.array([1, 0]))
        assert same(scaled.weight, np.array([0.5, 1.5]))

    @pytest.mark.parametrize("alpha", [0.15, 0.3, 0.6])
    def test_half_the_mass_is_twice_the_examples(self, alpha):
        scores = np.random.default_rng(0).random(20)
        weights, point = np.linspace(0.2, 2, 20), np.array([0.0, 0.3, 1.0, 2.5, INF])
        losses, twice = LossCurves.steps(scores), LossCurves.steps(np.tile(scores, 2))
        box, wide = WeightBox(weights, 2 * weights), WeightBox(point, 2 * point)
        codes, new = np.arange(20) % 3, np.array([0, 1, 2, 3, 1])
        double = np.tile(weights, 2)
        rules = [
            (RiskCurve(losses, weights), RiskCurve(twice, double), point),
            (BoxedCurve(losses, box), BoxedCurve(twice, WeightBox(double, 2 * double)), wide),
            (
                CoherentCurve(losses, CoherentBox([weights, weights[::-1]])),
                CoherentCurve(twice, CoherentBox([double, np.tile(weights[::-1], 2)])),
                CoherentBox([point, point[::-1]]),
            ),
            (
                StratifiedCurve(losses, codes),
                StratifiedCurve(twice, np.tile(codes, 2)),
                Strata(new),
            ),
        ]
        price = Price([1.0, 1.5], [0.1, 0.02])
        rules += [(PricedCurve(a, price), PricedCurve(b, price), at) for a, b, at in rules]
        for rule, doubled, at in rules:
            for worst in (1.0, LossCurves.steps([0.9, 0.5, 0.99, 0.7, 0.8])):
                half = rule.threshold(alpha, rule.scaled(at, 0.5), worst=worst)
                np.testing.assert_array_equal(half, doubled.threshold(alpha, at, worst=worst))


KINDS = {
    "pandas": lambda labels: pd.DataFrame({"s": labels}),
    "polars": lambda labels: pl.DataFrame({"s": labels}),
    "arrow": lambda labels: pa.table({"s": labels}),
}


class TestLabels:
    ratio = shp.WithinGroups("s")

    @pytest.mark.parametrize(
        "labels",
        [["on", "off", "on"], [3, 1, 3], [0.5, 2.0, 0.5], [True, False, True]],
        ids=["words", "integers", "floats", "truth"],
    )
    def test_a_label_has_one_number_in_any_table(self, labels):
        found = [self.ratio.weights(make(labels)).codes for make in KINDS.values()]
        found.append(shp.WithinGroups(0).weights(np.array(labels)).codes)
        found.append(shp.WithinGroups(0).weights(np.array(labels, dtype=object)).codes)
        found.append(self.ratio.weights(pd.DataFrame({"s": pd.Categorical(labels)})).codes)
        for codes in found:
            assert codes.tolist() == found[0].tolist()
        assert found[0][0] == found[0][2] != found[0][1]
        turned = self.ratio.weights(KINDS["pandas"](labels[:0:-1])).codes
        assert turned.tolist() == found[0][:0:-1].tolist()  # whatever else is in the table

    def test_many_labels_have_as_many_numbers(self):
        codes = shp.WithinGroups(0).weights(np.arange(20_000)).codes
        assert len(np.unique(codes)) == 20_000
        assert (codes.astype(np.float64).astype(np.int64) == codes).all()

    def test_equal_labels_are_one_group_and_others_are_not(self):
        one, two, three, text = (
            shp.WithinGroups(0).weights(np.array(labels, dtype=object)).codes
            for labels in ([1, 0], [1.0, 0.0], [True, False], ["1", "0"])
        )
        assert one.tolist() == two.tolist() == three.tolist()
        assert not np.intersect1d(one, text).size

    def test_a_function_of_the_inputs(self):
        x = np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]])
        ratio = shp.WithinGroups(lambda x: np.where(x[:, 0] > 2, "high", "low"))
        assert ratio.columns is None
        expected = self.ratio.weights(pl.DataFrame({"s": ["low", "high", "high"]})).codes
        assert ratio.weights(x).codes.tolist() == expected.tolist()
        curve = ratio.curve(LossCurves.steps([0.1, 0.2, 0.3]), x)
        assert curve.threshold(0.5, ratio.weights(x), worst=1.0).tolist() == [0.1, 0.3, 0.3]

    def test_what_it_says_of_itself(self):
        assert isinstance(self.ratio, shp.Ratio)
        assert self.ratio.columns == ("s",)
        assert "whatever the mixture of groups" in str(self.ratio.assumption)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: shp.WithinGroups(True), "a column or a function"),
            (lambda: shp.WithinGroups(None), "a column or a function"),
            (
                lambda: shp.WithinGroups("s").weights(pl.DataFrame({"s": ["a", None]})),
                "groups in X: expected a label in every row, got 1 missing, the first in row 1",
            ),
            (
                lambda: shp.WithinGroups("s").curve(
                    LossCurves.steps([1.0, 2.0]), pd.DataFrame({"s": [np.nan, 1.0]})
                ),
                "groups in calibration inputs: .* 1 missing, the first in row 0",
            ),
            (
                lambda: shp.WithinGroups(lambda f: f["s"]).weights(
                    pd.DataFrame({"s": pd.array(["a", None], dtype="string")})
                ),
                "1 missing, the first in row 1",
            ),
            (
                lambda: shp.WithinGroups(lambda x: x).weights([[1.0, 2.0], [3.0, 4.0]]),
                r"group\(X\): expected shape \(2,\), got shape \(2, 2\)",
            ),
            (
                lambda: shp.WithinGroups(lambda x: x[:1, 0]).weights([[1.0], [3.0]]),
                r"group\(X\): expected shape \(2,\), got shape \(1,\)",
            ),
            (
                lambda: shp.WithinGroups("t").weights(pl.DataFrame({"s": ["a"]})),
                "expected the columns 't'",
            ),
            (
                lambda: shp.WithinGroups("s").curve(
                    LossCurves.steps([1.0, 2.0]), pl.DataFrame({"s": ["a"]})
                ),
                "2 rows, one for each input, got 1",
            ),
        ],
    )
    def test_clear_errors(self, wrong, message):
        with pytest.raises(shp.InputError, match=message):
            wrong()


class TestThroughAController:
    rng = np.random.default_rng(4)
    group = np.array(["on", "off"])[rng.integers(0, 2, 120)]
    place = rng.uniform(0, ROAD, 120)
    heard = np.clip(place + np.where(group == "off", 1.5, 0.2) * rng.normal(size=120), 0, ROAD)
    table = pd.DataFrame({"heard": heard, "s": group})
    new = pd.DataFrame({"heard": [2.0, 2.0, 2.0, 9.0], "s": ["on", "off", "standby", "on"]})

    @pytest.mark.parametrize("worst_case", [shp.Constant(), shp.Pointwise(), shp.Directional()])
    def test_equals_a_controller_for_each_group(self, worst_case):
        parts = (shp.Columns("heard"), shp.Intervals(0, ROAD), shp.Distance())
        within = shp.RiskController(*parts, shp.WithinGroups("s"), worst_case)
        sets = within.calibrate(self.table, self.place).predict(self.new, [0.4, 0.5, 0.6, 0.7])
        for name in ("on", "off"):
            here = (self.group == name, (self.new["s"] == name).to_numpy())
            alone = shp.RiskController(*parts, worst_case=worst_case).calibrate(
                self.table[here[0]], self.place[here[0]]
            )
            levels = np.array([0.4, 0.5, 0.6, 0.7])[here[1]]
            expected = alone.predict(self.new[here[1]], levels)
            np.testing.assert_array_equal(sets.lower[here[1]], expected.lower)
            np.testing.assert_array_equal(sets.upper[here[1]], expected.upper)
        assert sets.size()[1] > 2 * sets.size()[0]

    def test_a_new_group_gets_the_worst_case_alone(self):
        parts = (shp.Columns("heard"), shp.Intervals(0, ROAD), shp.Distance())
        expected = {
            shp.Constant(): (ROAD, Outcome.NO_CALIBRATION_MASS),
            shp.Pointwise(): (2.0 + (8.0 - 0.5), Outcome.WORST_CASE_ALONE),
            shp.Directional(): (1.5 + 7.5, Outcome.WORST_CASE_ALONE),
        }
        for worst_case, (size, outcome) in expected.items():
            controller = shp.RiskController(*parts, shp.WithinGroups("s"), worst_case)
            sets = controller.calibrate(self.table, self.place).predict(self.new, 0.5)
            assert sets.size()[2] == pytest.approx(size)
            assert sets.outcome[2] is outcome
            assert sets.outcome[0] is Outcome.CONTROLLED

    def test_a_what_if_from_weights_to_groups_and_back(self):
        rates = {name: float((self.group == name).mean()) for name in ("on", "off")}
        weighted = shp.GroupRatio("s", source=rates, target={"on": 0.2, "off": 0.8})
        parts = (shp.Columns("heard"), shp.Intervals(0, ROAD), shp.Distance())
        one = shp.RiskController(*parts, weighted).calibrate(self.table, self.place)
        other = shp.RiskController(*parts, shp.WithinGroups("s")).calibrate(self.table, self.place)
        for alpha in (0.3, 0.8):
            seen = self.new[self.new["s"] != "standby"]
            there = one.under(shp.WithinGroups("s")).predict(seen, alpha)
            assert same(there.threshold, other.predict(seen, alpha).threshold)
            back = other.under(weighted).predict(seen, alpha)
            assert same(back.threshold, one.predict(seen, alpha).threshold)
