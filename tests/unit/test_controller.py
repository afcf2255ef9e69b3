"""The shell: it gives what its parts give, whatever the tables, and refuses what does not fit."""

import gc
import math
import pickle
import weakref
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import shiftproof as shp
from shiftproof._tables import Table
from shiftproof.keys import Draws, row_keys
from shiftproof.predictors.models import predictor_of

INF = math.inf
ROAD = 10.0
CASES = {"constant": shp.Constant(), "pointwise": shp.Pointwise(), "directional": shp.Directional()}
KINDS = {
    "numpy": lambda frame: frame,
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def messages(n, seed, off_rate=0.5):
    """Places on a road, as heard; stations are off or on, and errors differ."""
    rng = np.random.default_rng(seed)
    off, place = rng.random(n) < off_rate, rng.uniform(0, ROAD, n)
    heard = np.clip(place + np.where(off, 2.0, 0.3) * rng.normal(size=n), 0, ROAD)
    frame = pd.DataFrame(
        {"heard": heard, "stations": np.where(off, "off", "on"), "secret": "who sent it"}
    )
    return frame, place


TABLE, PLACE = messages(150, 0)
NEW, TRUTH = messages(60, 1, 0.9)
RATIO = shp.GroupRatio("stations", source={"off": 0.5, "on": 0.5}, target={"off": 0.9, "on": 0.1})
OTHER = RATIO.under({"off": 0.2, "on": 0.8})


def controller(ratio=RATIO, worst_case=CASES["pointwise"], **parts):
    found = {"predictor": shp.Columns("heard"), "sets": shp.Intervals(0, ROAD)}
    found |= {"loss": shp.Distance(), "ratio": ratio, "worst_case": worst_case} | parts
    return shp.RiskController(**found)


CALIBRATED = controller().calibrate(TABLE, PLACE)


def array(frame):
    """The same messages as numbers: heard, stations, secret."""
    return np.column_stack([frame["heard"], frame["stations"] == "off", np.zeros(len(frame))])


NUMBERED = shp.GroupRatio(1, source={1: 0.5, 0: 0.5}, target={1: 0.9, 0: 0.1})


def same_sets(one, other):
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.lower, other.lower)
    np.testing.assert_array_equal(one.upper, other.upper)
    assert one.outcome.tolist() == other.outcome.tolist()


class TestComposition:
    """A facade cannot calculate: the same numbers as from the parts, called one by one."""

    alpha = 0.6

    def parts(self, sets, loss, ratio=RATIO, model=None):
        predictor = predictor_of(shp.Columns("heard") if model is None else model)
        tables = [Table.of("X", frame) for frame in (TABLE, NEW)]
        nests = [
            sets.nest(predictor, table, Draws(role, len(table)))
            for table, role in zip(tables, ("calibration", "prediction"), strict=True)
        ]
        rule = ratio.curve(loss.curves(nests[0], PLACE), TABLE)
        return nests[1], rule, ratio.weights(NEW)

    @pytest.mark.parametrize(
        ("sets", "loss"),
        [
            (shp.Intervals(0, ROAD), shp.Distance()),
            (shp.Intervals(0, ROAD), shp.Distance(cap=2.0)),
            (shp.Intervals(0, ROAD), shp.Miscoverage()),
            (shp.Intervals(), shp.Miscoverage()),
            (shp.Balls(shp.Box([0.0], [ROAD])), shp.Distance()),
        ],
        ids=["distance", "capped", "miscoverage", "no end", "balls"],
    )
    @pytest.mark.parametrize("case", ["constant", "pointwise"])
    def test_thresholds(self, sets, loss, case):
        nest, rule, weights = self.parts(sets, loss)
        worst = loss.bound(nest) if case == "constant" else loss.worst(nest)
        expected = rule.threshold(self.alpha, weights, worst=worst)
        calibrated = controller(sets=sets, loss=loss, worst_case=CASES[case]).calibrate(
            TABLE, PLACE
        )
        found = calibrated.predict(NEW, self.alpha)
        np.testing.assert_array_equal(found.threshold, expected)
        outcomes = rule.outcome(expected, weights, whole=nest.whole())
        assert found.outcome.tolist() == outcomes.tolist()
        np.testing.assert_array_equal(found.contains(TRUTH), nest.entry(TRUTH) <= expected)
        np.testing.assert_array_equal(calibrated.rule.weights, rule.weights)
        assert len(calibrated) == len(TABLE)

    @pytest.mark.parametrize("sets", [shp.Intervals(0, ROAD), shp.Balls(shp.Box([0.0], [ROAD]))])
    def test_directions(self, sets):
        nest, rule, weights = self.parts(sets, shp.Distance())
        reach = rule.directional(self.alpha, weights, nest.rays(72))
        found = (
            controller(sets=sets, worst_case=shp.Directional())
            .calibrate(TABLE, PLACE)
            .predict(NEW, self.alpha)
        )
        np.testing.assert_array_equal(found.reach, reach)
        assert (reach[:, 0] != reach[:, 1]).any()
        lengths = np.minimum(reach, nest.rays(72)).sum(axis=1)
        np.testing.assert_allclose(found.size(), lengths)

    def test_directions_of_a_scale(self):
        scale = shp.ScaledResidual(lambda frame: np.where(frame["stations"] == "off", 2.0, 0.5))
        sets = shp.Intervals(0, ROAD, scale)
        nest, rule, weights = self.parts(sets, shp.Distance())
        reach = rule.directional(0.3, weights, nest.rays(), slopes=nest.slopes)
        made = controller(sets=sets, worst_case=shp.Directional()).calibrate(TABLE, PLACE)
        np.testing.assert_array_equal(made.predict(NEW, 0.3).reach, reach)
        assert not np.array_equal(reach, rule.directional(0.3, weights, nest.rays()))

    def test_the_three_worst_cases_differ_in_their_order(self):
        sizes = [
            controller(worst_case=case).calibrate(TABLE, PLACE).predict(NEW, 0.3).size()
            for case in CASES.values()
        ]
        assert (sizes[1] <= sizes[0] + 1e-12).all()
        assert (sizes[2] <= sizes[1] + 1e-12).all()
        assert sizes[2].mean() < sizes[1].mean() - 0.01 < sizes[0].mean() - 0.02

    @pytest.mark.parametrize("case", CASES)
    def test_predicting_is_preparing_and_a_level(self, case):
        calibrated = controller(worst_case=CASES[case]).calibrate(TABLE, PLACE)
        prepared = calibrated.prepare(NEW)
        sets = calibrated.predict(NEW, self.alpha)
        same_sets(sets, prepared.sets(self.alpha))
        np.testing.assert_array_equal(prepared.threshold(self.alpha), sets.threshold)
        np.testing.assert_array_equal(prepared.losses(TRUTH, self.alpha), sets.distance(TRUTH))
        assert str(prepared.evaluate(TRUTH, 0.6)) == str(calibrated.evaluate(NEW, TRUTH, 0.6))
        assert len(prepared) == len(NEW)

    def test_no_shift_and_the_envelope_where_nothing_is_said(self):
        plain = shp.RiskController(shp.Columns("heard"), shp.Intervals(0, ROAD), shp.Distance())
        spelled = controller(shp.NoShift(), shp.Pointwise())
        one, other = (each.calibrate(TABLE, PLACE).predict(NEW, 0.4) for each in (plain, spelled))
        same_sets(one, other)
        assert plain.calibrate(TABLE, PLACE).assumption == shp.NoShift().assumption
        assert str(CALIBRATED.assumption) == str(RATIO.assumption)

    @pytest.mark.parametrize("case", CASES)
    def test_a_level_for_each_row(self, case):
        prepared = controller(worst_case=CASES[case]).calibrate(TABLE, PLACE).prepare(NEW)
        levels = np.linspace(0.2, 2.0, len(NEW))
        together = prepared.sets(levels)
        for row in (0, 17, 59):
            alone = prepared.sets(levels[row])
            assert together.lower[row] == alone.lower[row]
            assert together.upper[row] == alone.upper[row]
        assert together.size()[0] > together.size()[-1]


class TestTables:
    expected = CALIBRATED.predict(NEW, 0.5)

    @pytest.mark.parametrize("inputs", KINDS)
    @pytest.mark.parametrize("labels", ["numpy", "pandas", "polars", "arrow", "list", "column"])
    def test_any_kind_gives_identical_sets(self, inputs, labels):
        named = inputs != "numpy"
        x, new = (KINDS[inputs](frame if named else array(frame)) for frame in (TABLE, NEW))
        y = {
            "numpy": lambda: PLACE,
            "pandas": lambda: pd.DataFrame({"place": PLACE}),
            "polars": lambda: pl.Series("place", PLACE),
            "arrow": lambda: pa.table({"place": PLACE}),
            "list": PLACE.tolist,
            "column": lambda: PLACE[:, None],
        }[labels]()
        made = (
            controller(predictor=shp.Columns("heard"))
            if named
            else controller(NUMBERED, predictor=shp.Columns(0))
        )
        found = made.calibrate(x, y).predict(new, 0.5)
        same_sets(found, self.expected)

    @pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
    def test_sets_come_back_in_the_kind_of_the_inputs(self, kind):
        frame = CALIBRATED.predict(KINDS[kind](NEW), 0.5).to_frame()
        assert type(frame) is type(KINDS[kind](NEW))
        column = np.asarray(frame["lower"])
        np.testing.assert_array_equal(column, self.expected.lower)

    def test_a_table_of_labels_for_balls(self):
        rng = np.random.default_rng(0)
        places = rng.uniform(0, ROAD, (50, 2))
        heard = np.clip(places + rng.normal(size=(50, 2)), 0, ROAD)
        made = shp.RiskController(
            lambda x: x, shp.Balls(shp.Box([0, 0], [ROAD, ROAD])), shp.Distance()
        )
        frame = pd.DataFrame(places, columns=["east", "north"])
        expected = made.calibrate(heard, places).predict(heard, 0.5).radii
        for y in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
            found = made.calibrate(heard, y).predict(heard, 0.5)
            np.testing.assert_array_equal(found.radii, expected)
            np.testing.assert_array_equal(found.contains(y), found.contains(places))

    def test_images(self):
        rng = np.random.default_rng(0)
        truth = rng.random((40, 5, 6)) < 0.4
        images = np.stack([truth + rng.normal(0, 0.4, truth.shape), np.ones(truth.shape)], axis=-1)
        made = shp.RiskController(lambda x: x[..., 0], shp.Masks(), shp.FalseNegativeRate())
        sets = made.calibrate(images[:30], truth[:30]).predict(images[30:], 0.2)
        assert sets.members.shape == (10, 5, 6)
        flat = shp.RiskController(lambda x: x, shp.Masks(), shp.FalseNegativeRate())
        rows = images[..., 0].reshape(40, 30)
        expected = flat.calibrate(rows[:30], truth[:30].reshape(30, 30)).predict(rows[30:], 0.2)
        np.testing.assert_array_equal(sets.members.reshape(10, 30), expected.members)

    def test_columns_are_found_by_name_and_missed_by_name(self):
        shuffled = NEW[["secret", "stations", "heard"]]
        same_sets(CALIBRATED.predict(shuffled, 0.5), self.expected)
        for gone in ("stations", "heard"):
            with pytest.raises(shp.InputError, match=f"expected the columns '{gone}'"):
                CALIBRATED.predict(NEW.drop(columns=gone), 0.5)
            with pytest.raises(shp.InputError, match=f"expected the columns '{gone}'"):
                controller().calibrate(TABLE.drop(columns=gone), PLACE)


class Meeting:
    """A ratio of the user's own, which knows more of a table than is kept."""

    columns = ("heard", "stations")
    assumption = shp.NoShift().assumption

    def weights(self, X, keys=None):  # noqa: ARG002 - as every ratio
        table = Table.of("X", X)
        return 1.0 + table.numbers("heard") * (table.column("stations") == "off")

    def curve(self, losses, X):
        return shp.RiskCurve(losses, self.weights(X))


RATIOS = {
    "none": shp.NoShift(),
    "rates": OTHER,
    "bounds on rates": OTHER.under(shp.Counts({"off": 30, "on": 70})).within(0.1),
    "bounds that are paid": OTHER.under(shp.Counts({"off": 30, "on": 70})).within(0.01, paid=True),
    "within groups": shp.WithinGroups("stations"),
    "of one's own": Meeting(),
    "known": shp.KnownRatio(lambda heard: 1 + heard, ["heard"]),
    "clipped": shp.ClippedRatio(OTHER, 0.5).fit(messages(400, 7)[0][["stations", "heard"]]),
}


class TestUnder:
    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("name", RATIOS)
    def test_equals_calibrating_with_that_ratio(self, name, case):
        alpha = 0.35
        start = controller(worst_case=CASES[case]).calibrate(TABLE, PLACE, keep=["heard"])
        there = start.under(RATIOS[name])
        fresh = controller(RATIOS[name], CASES[case]).calibrate(TABLE, PLACE)
        expected = fresh.predict(NEW, alpha)
        assert 0.1 < expected.size().mean() < 0.9 * ROAD
        same_sets(there.predict(NEW, alpha), expected)
        same_sets(start.prepare(NEW).under(RATIOS[name]).sets(alpha), expected)
        assert str(there.assumption) == str(fresh.assumption)
        same_sets(there.under(RATIO).predict(NEW, alpha), start.predict(NEW, alpha))

    @pytest.mark.parametrize("read", [NUMBERED, shp.KnownRatio(lambda x: 1 + x[:, 0])])
    def test_of_an_array_everything_is_kept(self, read):
        parts = {"predictor": shp.Columns(0)}
        x, new = array(TABLE), array(NEW)
        start = controller(read, **parts).calibrate(x, PLACE)
        for ratio in (shp.ColumnRatio(0), shp.KnownRatio(lambda x: 2 + x[:, 1]), shp.NoShift()):
            expected = controller(ratio, **parts).calibrate(x, PLACE).predict(new, 0.8)
            same_sets(start.under(ratio).predict(new, 0.8), expected)

    def test_what_changes_later_changes_nothing(self):
        for x, ratio in ((array(TABLE), NUMBERED), (TABLE.copy(), RATIO)):
            first = 0 if isinstance(x, np.ndarray) else "heard"
            start = controller(ratio, predictor=shp.Columns(first)).calibrate(x, PLACE)
            new = array(NEW) if first == 0 else NEW
            other = ratio.under(dict(zip(ratio.groups, (0.2, 0.8), strict=True)))
            expected = start.under(other).predict(new, 0.3)
            if first == 0:
                x[:, 1] = 1 - x[:, 1]
            else:
                x["stations"] = x["stations"].map({"on": "off", "off": "on"})
            same_sets(start.under(other).predict(new, 0.3), expected)

    def test_a_whole_named_table_that_changes_later(self):
        frame = TABLE.copy()
        weigh = shp.KnownRatio(lambda frame: np.where(frame["stations"] == "off", 1.8, 0.2))
        start = controller(weigh).calibrate(frame, PLACE)
        frame.loc[:, "stations"] = "on"
        same_sets(start.under(RATIO).predict(NEW, 0.8), CALIBRATED.predict(NEW, 0.8))

    @pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
    def test_of_a_named_table_only_what_is_read_or_asked_for(self, kind):
        frame = KINDS[kind](TABLE)
        for keep, expected in (((), ["stations"]), (["heard"], ["stations", "heard"])):
            calibrated = controller().calibrate(frame, PLACE, keep=keep)
            assert list(Table.of("X", calibrated.kept.inputs).names) == expected
            assert b"who sent it" not in pickle.dumps(calibrated)
        assert controller(shp.NoShift()).calibrate(frame, PLACE).kept.inputs is None
        kept = controller().calibrate(frame, PLACE, keep=["secret"])
        assert b"who sent it" in pickle.dumps(kept)

    def test_the_table_itself_can_be_forgotten(self):
        frame, place = messages(20, 0)
        there = weakref.ref(frame)
        calibrated = controller().calibrate(frame, place)
        del frame
        gc.collect()
        assert there() is None
        assert len(calibrated) == 20

    def test_columns_that_were_not_kept(self):
        weights = shp.KnownRatio(lambda heard: 1 + heard, ["heard"])
        with pytest.raises(shp.InputError, match="expected the columns 'heard', got columns 'stat"):
            CALIBRATED.under(weights)
        plain = controller(shp.NoShift()).calibrate(TABLE, PLACE)
        with pytest.raises(shp.InputError, match=r"columns \['stations'\], got none .* keep="):
            plain.under(RATIO)
        kept = controller(shp.NoShift()).calibrate(TABLE, PLACE, keep=["stations"]).under(RATIO)
        same_sets(kept.predict(NEW, 0.5), CALIBRATED.predict(NEW, 0.5))
        by_place = controller(shp.NoShift(), predictor=shp.Columns(0))
        with pytest.raises(shp.InputError, match="got none that were kept"):
            by_place.calibrate(array(TABLE), PLACE).under(NUMBERED)
        found = by_place.calibrate(array(TABLE), PLACE, keep=[1]).under(NUMBERED)
        same_sets(found.predict(array(NEW), 0.5), CALIBRATED.predict(NEW, 0.5))

    def test_a_ratio_of_all_columns_needs_all(self):
        everything = shp.KnownRatio(lambda frame: 1.0 + frame.shape[1] * np.ones(len(frame)))
        for start in (CALIBRATED, CALIBRATED.under(OTHER)):
            with pytest.raises(shp.InputError, match=r"all columns, got \['stations'\] that were"):
                start.under(everything)
        plain = controller(shp.NoShift()).calibrate(TABLE, PLACE)
        with pytest.raises(shp.InputError, match="expected all columns, got none"):
            plain.under(everything)
        all_kept = controller().calibrate(TABLE, PLACE, keep=list(TABLE.columns))
        assert all_kept.under(everything).rule.weights[0] == 4.0
        start = controller(everything).calibrate(TABLE, PLACE)
        assert start.under(RATIO).under(everything).rule.weights[0] == 4.0

    def test_columns_to_keep_are_checked(self):
        for keep in (["nowhere"], [0]):
            with pytest.raises(shp.InputError, match="expected the columns"):
                controller().calibrate(TABLE, PLACE, keep=keep)

    def test_a_recipe_is_no_ratio(self):
        with pytest.raises(
            shp.InputError, match=r"ratio: .* with curve, got ClippedRatio; a ratio"
        ):
            CALIBRATED.under(shp.ClippedRatio(RATIO, 1.0))

    def test_nothing_is_predicted_again(self):
        calls = []

        def counted(frame):
            calls.append(len(frame))
            return frame["heard"]

        prepared = controller(predictor=counted).calibrate(TABLE, PLACE).prepare(NEW)
        prepared.under(OTHER).sets(0.5)
        prepared.sets([0.4] * len(NEW))
        prepared.explain(0.5)
        assert calls == [len(TABLE), len(NEW)]


class Box:
    """Bounds on each weight, as a ratio of the user's own."""

    columns = ("stations",)
    assumption = shp.NoShift().assumption

    def weights(self, X, keys=None):  # noqa: ARG002 - as every ratio
        w = RATIO.weights(X)
        return shp.WeightBox(0.8 * w, 1.25 * w)

    def curve(self, losses, X):
        return shp.BoxedCurve(losses, self.weights(X))


SAMPLES = [messages(300, seed)[0][["heard"]].to_numpy() for seed in (11, 12)]
UNCERTAIN = {
    "box": Box(),
    "candidates": RATIO.under(shp.Counts({"off": 90, "on": 10})).within(0.1),
    "many groups": shp.GroupRatio(
        "stations", source={"off": 0.5, "on": 0.5}, target=shp.Counts({"off": 9, "on": 1})
    ).within(0.01, paid=True),
    "clipped": shp.ClippedRatio(RATIO, 1.5).fit(messages(2000, 5, 0.9)[0][["stations", "heard"]]),
    "resampled": shp.BootstrapRatio(shp.GaussianRatio(), delta=0.2, draws=10).fit(
        *(pd.DataFrame({"heard": sample[:, 0]}) for sample in SAMPLES)
    ),
}


class TestWeightsOfEveryForm:
    @pytest.mark.parametrize("case", ["constant", "pointwise"])
    @pytest.mark.parametrize("name", UNCERTAIN)
    def test_equal_the_rule_that_the_ratio_makes(self, name, case):
        ratio, loss, sets = UNCERTAIN[name], shp.Distance(), shp.Intervals(0, ROAD)
        alpha = 0.6 if name == "resampled" else 1.2  # the others are of harder inputs
        tables = (TABLE, NEW) if name != "resampled" else (TABLE[["heard"]], NEW[["heard"]])
        nests = [
            sets.nest(predictor_of(shp.Columns("heard")), Table.of("X", frame), Draws("x", 1))
            for frame in tables
        ]
        rule = ratio.curve(loss.curves(nests[0], PLACE), tables[0])
        worst = ROAD if case == "constant" else loss.worst(nests[1])
        expected = rule.threshold(alpha, ratio.weights(tables[1]), worst=worst)
        found = controller(ratio, CASES[case]).calibrate(tables[0], PLACE).predict(tables[1], alpha)
        np.testing.assert_array_equal(found.threshold, expected)
        assert 0.05 < np.median(expected) < ROAD

    @pytest.mark.parametrize("name", ["box", "candidates", "many groups", "clipped"])
    def test_uncertainty_never_makes_sets_smaller(self, name):
        unsure = controller(UNCERTAIN[name], shp.Constant()).calibrate(TABLE, PLACE)
        alone = controller(RATIO, shp.Constant()).calibrate(TABLE, PLACE)
        wider, sets = (each.predict(NEW, 1.2).size() for each in (unsure, alone))
        if name != "clipped":  # which runs at a lower level, with smaller weights
            assert (wider >= sets).all()
        assert wider.mean() > sets.mean()

    def test_an_alpha_that_the_price_eats_up(self):
        made = controller(UNCERTAIN["many groups"]).calibrate(TABLE, PLACE)
        with pytest.raises(shp.InputError, match="the price in risk of these weights"):
            made.predict(NEW, 0.09)

    def test_points_that_are_drawn_need_a_seed(self):
        drawn = shp.ClippedRatio(RATIO, 1.0).randomized()
        made = controller(drawn).calibrate(TABLE, PLACE)
        with pytest.raises(shp.InputError, match="keys: expected one key for each row, got none"):
            made.predict(NEW, 0.9)
        sets = made.predict(NEW, 0.9, seed=4)
        keys = row_keys(4, "prediction/ratio", len(NEW))
        chosen = np.isinf(drawn.weights(NEW, keys))
        assert 5 < chosen.sum() < 50
        # A point that was drawn is run at level 0: whole, whatever its label.
        np.testing.assert_array_equal(sets.whole, chosen)
        expected = {shp.Outcome.OUTSIDE_SUPPORT}
        assert set(sets.outcome[chosen]) == expected
        seeded = controller(drawn).calibrate(TABLE, PLACE, seed=4).predict(NEW, 0.9)
        np.testing.assert_array_equal(seeded.threshold, sets.threshold)


class TestOutcomes:
    ratio = shp.ColumnRatio(1)
    x = np.column_stack([PLACE, np.ones(len(PLACE))])

    def outcomes(self, weight, alpha, worst_case, calibration_weight=1.0):
        made = controller(self.ratio, worst_case, predictor=shp.Columns(0))
        x = np.column_stack([np.clip(PLACE + 1.0, 0, ROAD), np.full(150, calibration_weight)])
        sets = made.calibrate(x, PLACE).predict([[4.0, weight]], alpha)
        assert bool(sets.whole[0]) == (sets.size()[0] == ROAD)
        return sets.outcome[0], bool(sets.whole[0])

    @pytest.mark.parametrize("worst_case", CASES.values(), ids=CASES)
    def test_of_each_kind(self, worst_case):
        constant = isinstance(worst_case, shp.Constant)
        told = shp.Outcome
        assert self.outcomes(1.0, 0.5, worst_case) == (told.CONTROLLED, False)
        assert self.outcomes(0.0, 0.5, worst_case) == (told.NO_TEST_MASS, False)
        whole = (told.OUTSIDE_SUPPORT, True)
        alone = (told.WORST_CASE_ALONE, False)
        assert self.outcomes(INF, 0.5, worst_case) == (whole if constant else alone)
        assert self.outcomes(INF, 0.0, worst_case) == whole
        none = (told.NO_CALIBRATION_MASS, True)
        assert self.outcomes(1.0, 0.5, worst_case, 0.0) == (none if constant else alone)
        assert self.outcomes(0.0, 0.5, worst_case, 0.0) == (told.NO_MASS_AT_ALL, True)

    def test_whole_where_nothing_smaller_will_do(self):
        assert self.outcomes(1e6, 0.5, shp.Constant()) == (shp.Outcome.WHOLE, True)
        assert self.outcomes(1e6, 0.5, shp.Pointwise()) == (shp.Outcome.CONTROLLED, False)
        assert self.outcomes(1e6, 0.0, shp.Pointwise()) == (shp.Outcome.WHOLE, True)
        assert self.outcomes(1e6, 0.0, shp.Directional()) == (shp.Outcome.WHOLE, True)

    def test_they_stand_in_the_table(self):
        frame = CALIBRATED.predict(NEW, 0.5).to_frame()
        assert set(frame["outcome"]) == {"controlled"}


def labelled(**parts):
    found = {"predictor": lambda x: x, "sets": shp.LabelSets(), "loss": shp.Miscoverage()}
    return shp.RiskController(**(found | parts))


PROBABILITIES = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 60)
CLASSES = PROBABILITIES.argmax(axis=1)

MISFITS = {
    "distance of labels": (
        lambda: labelled(loss=shp.Distance()),
        "sets with distances, farthest, diameter, which Distance asks for, got LabelSets",
    ),
    "directions of masks": (
        lambda: labelled(sets=shp.Masks(), worst_case=shp.Directional()),
        "sets with rays, star, distances, which Directional asks for, got Masks",
    ),
    "directions of labels": (lambda: labelled(worst_case=shp.Directional()), "which Directional"),
    "missed labels of intervals": (
        lambda: controller(loss=shp.FalseNegativeRate()),
        "sets with truth, jumps, which FalseNegativeRate asks for, got Intervals",
    ),
    "F1 of intervals": (lambda: controller(loss=shp.Monotonized(shp.F1())), "Monotonized asks for"),
    "F1 alone": (lambda: labelled(loss=shp.F1()), "loss: expected an object with curves, got F1"),
    "a loss that jumps, with directions": (
        lambda: (
            controller(loss=shp.Miscoverage(), worst_case=shp.Directional())
            .calibrate(TABLE, PLACE)
            .predict(NEW, 0.1)
        ),
        "for losses by distance",
    ),
    "a recipe": (
        lambda: controller(ratio=shp.ClippedRatio(RATIO, 2.0)),
        r"ratio: expected an object with curve, got ClippedRatio; .* recipe.fit\(source, target\)",
    ),
    "another recipe": (lambda: controller(ratio=shp.ClassifierRatio()), "got ClassifierRatio"),
    "no ratio": (lambda: controller(ratio=None), "an object with curve, got NoneType"),
    "no sets": (lambda: controller(sets=None), "sets: expected an object with nest, got NoneType"),
    "sets for a loss": (lambda: controller(loss=shp.Intervals()), "loss: .* curves, got Intervals"),
    "a loss for sets": (lambda: controller(sets=shp.Distance()), "sets: .* nest, got Distance"),
    "no worst case": (lambda: controller(worst_case=1.0), r"got float; Constant\(\), Pointwise"),
    "no predictor": (lambda: controller(predictor=None), "predictor: .* got NoneType"),
    "a class of sets": (lambda: controller(sets=shp.Intervals), "got Intervals; Intervals, Balls"),
    "a class of losses": (lambda: controller(loss=shp.Distance), "curves, got Distance; for"),
    "a class of ratios": (lambda: controller(ratio=shp.NoShift), "curve, got NoShift; a ratio"),
    "a class of worst cases": (lambda: controller(worst_case=shp.Constant), "got Constant"),
    "a class of models": (
        lambda: controller(predictor=LinearRegression),
        "a fitted model, got the class LinearRegression",
    ),
    "a bare posterior": (
        lambda: controller(predictor=shp.Snapshots([len])),
        "say how it predicts: Thompson",
    ),
    "few directions": (lambda: shp.Directional(7), "a whole number of at least 8, got 7"),
    "half a direction": (lambda: shp.Directional(72.5), "a whole number of at least 8"),
}

WRONG = {
    "no examples": (
        lambda: controller(shp.NoShift()).calibrate(TABLE[:0], []),
        "at least one labelled example",
    ),
    "too few labels": (
        lambda: controller().calibrate(TABLE, PLACE[1:]),
        "labels: expected 150 rows, one for each input, got 149",
    ),
    "no labels": (lambda: controller().calibrate(TABLE, None), "labels: expected .* got NoneType"),
    "two columns of labels": (
        lambda: controller().calibrate(TABLE, np.column_stack([PLACE, PLACE])),
        "1 numbers for each row, got 2",
    ),
    "NaN for a label": (
        lambda: controller().calibrate(TABLE, np.where(PLACE.min() < PLACE, PLACE, np.nan)),
        "labels: expected no NaN",
    ),
    "a gap among labels": (
        lambda: controller().calibrate(TABLE, pl.Series([None, *PLACE[1:].tolist()])),
        "labels: expected no missing values, got 1 missing, the first in row 0",
    ),
    "a label outside": (
        lambda: controller().calibrate(TABLE, PLACE + 5.0),
        "labels: expected labels from 0 to 10",
    ),
    "a class outside": (
        lambda: labelled().calibrate(PROBABILITIES, CLASSES + 1),
        "labels: expected labels among 0, 1, 2, got 3 in row",
    ),
    "a table for no table": (lambda: controller().calibrate(None, PLACE), "X: expected a pandas"),
    "no endless distance": (
        lambda: controller(sets=shp.Intervals()).calibrate(TABLE, PLACE),
        "a loss with a bound",
    ),
    "alpha below 0": (lambda: CALIBRATED.predict(NEW, -0.1), "alpha: expected a risk between 0"),
    "alpha above the bound": (lambda: CALIBRATED.predict(NEW, 11.0), "alpha: expected a risk"),
    "alpha of NaN": (lambda: CALIBRATED.predict(NEW, np.nan), "alpha: expected no NaN"),
    "alpha for others": (
        lambda: CALIBRATED.predict(NEW, [0.1, 0.2]),
        r"alpha: expected one number or shape \(60,\), got shape \(2,\)",
    ),
    "labels to evaluate": (lambda: CALIBRATED.evaluate(NEW, TRUTH[1:], 0.5), "labels: expected 60"),
    "an unknown group": (
        lambda: CALIBRATED.predict(NEW.assign(stations="standby"), 0.5),
        "groups among 'off', 'on', got 'standby'",
    ),
    "a negative ratio": (
        lambda: controller(shp.KnownRatio(lambda heard: -heard, ["heard"])).calibrate(TABLE, PLACE),
        "weights of at least 0",
    ),
    "ids of others": (
        lambda: controller().calibrate(TABLE, PLACE, ids=[1, 2]),
        r"ids: expected shape \(150,\)",
    ),
    "ids that repeat": (
        lambda: CALIBRATED.prepare(NEW, ids=[1] * 60),
        "one identity for each row, got 59 repeated",
    ),
}


@pytest.mark.parametrize("name", [*MISFITS, *WRONG])
def test_what_does_not_fit_is_refused_with_a_reason(name):
    call, message = (MISFITS | WRONG)[name]
    with pytest.raises(shp.InputError, match=message):
        call()


class TestDraws:
    """What draws at random is a function of seed, role and id."""

    rng = np.random.default_rng(3)
    x = rng.dirichlet([2.0, 1.0, 1.0, 1.0], 200)
    y = (x.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1).clip(max=3)
    sets = shp.LabelSets(shp.RAPS(randomized=True))

    def made(self):
        return labelled(sets=self.sets)

    def test_a_seed_is_needed_in_both_roles(self):
        message = "seed: expected an integer, since the score draws at random"
        with pytest.raises(shp.InputError, match=message):
            self.made().calibrate(self.x, self.y)
        calibrated = self.made().calibrate(self.x, self.y, seed=0)
        assert calibrated.seed == 0
        one, other = (calibrated.predict(self.x, 0.2, **seed) for seed in ({}, {"seed": 0}))
        np.testing.assert_array_equal(one.members, other.members)

    def test_seeds_and_roles_have_streams_of_their_own(self):
        calibrated = self.made().calibrate(self.x, self.y, seed=0)
        again = self.made().calibrate(self.x, self.y, seed=0)
        np.testing.assert_array_equal(calibrated.losses.knots, again.losses.knots)
        other = self.made().calibrate(self.x, self.y, seed=1)
        assert (calibrated.losses.knots != other.losses.knots).mean() > 0.9
        in_use = calibrated.prepare(self.x).nest.entry(self.y)
        assert (calibrated.losses.knots != in_use).mean() > 0.9
        elsewhere = calibrated.prepare(self.x, seed=1).nest.entry(self.y)
        assert (elsewhere != in_use).mean() > 0.9

    @pytest.mark.parametrize("kind", ["scores", "models", "points"])
    def test_two_batches_are_one(self, kind):
        if kind == "scores":
            made = self.made()
        elif kind == "models":
            posterior = shp.Snapshots([lambda x: x, lambda x: x[:, [1, 0, 2, 3]]])
            made = labelled(predictor=shp.Thompson(posterior))
        else:
            heavy = shp.KnownRatio(lambda x: 1 / (0.05 + x[:, 3]))
            made = labelled(ratio=shp.ClippedRatio(heavy, 3.0).randomized())
        ids = [f"row {k}" for k in range(200)]
        calibrated = made.calibrate(self.x, self.y, seed=9, ids=ids)
        at_once = calibrated.predict(self.x, 0.25, ids=ids)
        order = np.random.default_rng(0).permutation(200)
        for rows in (np.arange(80), np.arange(80, 200), order, np.array([17])):
            part = calibrated.predict(self.x[rows], 0.25, ids=[ids[row] for row in rows])
            np.testing.assert_array_equal(part.members, at_once.members[rows])
            np.testing.assert_array_equal(part.threshold, at_once.threshold[rows])
        counted = calibrated.predict(self.x, 0.25)
        assert (counted.members != at_once.members).any()  # other ids, other draws

    def test_the_order_of_calibration_is_irrelevant(self):
        order = np.random.default_rng(0).permutation(200)
        ids = np.arange(200)
        one = self.made().calibrate(self.x, self.y, seed=9, ids=ids)
        other = self.made().calibrate(self.x[order], self.y[order], seed=9, ids=ids[order])
        for alpha in (0.1, 0.25):
            found = [each.predict(self.x, alpha).threshold for each in (one, other)]
            np.testing.assert_array_equal(*found)

    def test_nothing_at_random_needs_no_seed(self):
        seeded = controller().calibrate(TABLE, PLACE, seed=3)
        same_sets(seeded.predict(NEW, 0.5), CALIBRATED.predict(NEW, 0.5))


def first_column(x):
    return x[:, 0]


def one_more(x):
    return 1.0 + x[:, 0]


class TestObjects:
    def test_nothing_can_be_set(self):
        prepared = CALIBRATED.prepare(NEW)
        objects = {
            "loss": CALIBRATED.controller,
            "rule": CALIBRATED,
            "nest": prepared,
            "threshold": prepared.sets(0.5),
            "total": prepared.explain(0.5),
            "risk": prepared.evaluate(TRUTH, 0.5),
            "inputs": CALIBRATED.kept,
        }
        for name, thing in objects.items():
            with pytest.raises(FrozenInstanceError):
                setattr(thing, name, None)

    def test_a_what_if_leaves_everything_as_it_is(self):
        before = CALIBRATED.predict(NEW, 0.5)
        prepared = CALIBRATED.prepare(NEW)
        prepared.under(OTHER).sets(0.5)
        CALIBRATED.under(OTHER).predict(NEW, 0.5)
        same_sets(prepared.sets(0.5), before)
        same_sets(CALIBRATED.predict(NEW, 0.5), before)

    @pytest.mark.parametrize("case", CASES)
    def test_travel_between_processes(self, case):
        made = shp.RiskController(
            first_column,
            shp.Intervals(0, ROAD),
            shp.Distance(),
            shp.KnownRatio(one_more),
            CASES[case],
        )
        calibrated = made.calibrate(array(TABLE), PLACE, seed=3)
        sets = calibrated.predict(array(NEW), 0.5)
        again = pickle.loads(pickle.dumps(calibrated))  # noqa: S301 - our own bytes
        same_sets(again.predict(array(NEW), 0.5), sets)
        there = again.under(shp.ColumnRatio(0)).predict(array(NEW), 0.5)
        same_sets(there, calibrated.under(shp.ColumnRatio(0)).predict(array(NEW), 0.5))
        assert again.seed == 3
        same_sets(pickle.loads(pickle.dumps(sets)), sets)  # noqa: S301
        prepared = pickle.loads(pickle.dumps(calibrated.prepare(array(NEW))))  # noqa: S301
        same_sets(prepared.sets(0.5), sets)

    def test_say_what_they_are(self):
        assert repr(CALIBRATED) == "Calibrated(150 examples)"
        assert repr(CALIBRATED.prepare(NEW)) == "Prepared(60 points)"


class TestShapesInUse:
    controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())

    def test_rows_of_an_array_have_the_shape_of_calibration(self):
        x = np.arange(12.0).reshape(6, 2)
        calibrated = self.controller.calibrate(x, x[:, 0])
        with pytest.raises(
            shp.InputError, match=r"rows of shape \(2,\), as in calibration, got rows"
        ):
            calibrated.predict(x[:, :1], 0.5)

    def test_weights_are_those_of_the_moment_of_preparing(self):
        x = np.arange(12.0).reshape(6, 2) + 1
        ratio = shp.KnownRatio(lambda t: t[:, 1])
        controller = shp.RiskController(
            lambda t: t[:, 0], shp.Intervals(), shp.Miscoverage(), ratio
        )
        new = x[:2].copy()
        prepared = controller.calibrate(x, x[:, 0] + np.arange(6)).prepare(new)
        before = prepared.threshold(0.4)
        new[:] = 1e6
        assert np.array_equal(prepared.threshold(0.4), before)

    def test_no_rows_are_no_sets(self):
        x = np.array([[1.0, 0], [2.0, 1], [3.0, 1]])
        ratio = shp.GroupRatio(1, source={0: 0.5, 1: 0.5}, target={0: 0.1, 1: 0.9})
        controller = shp.RiskController(
            lambda t: t[:, 0], shp.Intervals(), shp.Miscoverage(), ratio
        )
        calibrated = controller.calibrate(x, x[:, 0])
        assert len(calibrated.predict(x[:0], 0.5)) == 0
        with pytest.raises(shp.InputError, match="at least one"):
            controller.calibrate(x[:0], x[:0, 0])


class TestColumnsInUse:
    """A model that reads by place gets the columns of calibration, in their order, or nothing."""

    frame = pd.DataFrame({"a": np.arange(1.0, 13.0), "b": np.linspace(5, 6, 12)})
    y = np.arange(1.0, 13.0) + np.linspace(-0.5, 0.5, 12)

    @staticmethod
    def by_place(x):
        return np.asarray(x)[:, 0]

    def calibrated(self, predictor=None, frame=None):
        controller = shp.RiskController(
            self.by_place if predictor is None else predictor, shp.Intervals(), shp.Miscoverage()
        )
        return controller.calibrate(self.frame if frame is None else frame, self.y)

    def test_another_order_and_further_columns_change_nothing(self):
        calibrated = self.calibrated()
        expected = calibrated.predict(self.frame, 0.2).lower
        other = self.frame[["b", "a"]].assign(note="x")
        assert np.array_equal(calibrated.predict(other, 0.2).lower, expected)

    def test_a_model_fitted_to_an_array_is_not_misled(self):
        model = LinearRegression().fit(self.frame.to_numpy(), self.y)
        named = self.calibrated(lambda x: model.predict(np.asarray(x)))
        assert named.evaluate(self.frame[["b", "a"]], self.y, 0.2).risk.value < 0.3

    def test_a_model_with_names_reads_them_in_any_table(self):
        model = LinearRegression().fit(self.frame, self.y)
        labelled = self.frame.assign(truth=self.y)  # more than the model was fitted to
        calibrated = self.calibrated(model, labelled)
        sets = calibrated.predict(self.frame[["b", "a"]], 0.2)  # and less than calibration had
        assert np.allclose(sets.center, model.predict(self.frame))

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (frame[["a"]], r"the columns of calibration, \['a', 'b'\], got no \['b'\]"),
            (frame.rename(columns={"a": "c"}), r"got no \['a'\]; .*OnColumns"),
            (frame.to_numpy(), "a table with named columns, as in calibration, got an array"),
        ],
    )
    def test_what_is_missing_is_named(self, table, message):
        with pytest.raises(shp.InputError, match=message):
            self.calibrated().predict(table, 0.2)

    def test_an_array_first_then_a_table(self):
        controller = shp.RiskController(self.by_place, shp.Intervals(), shp.Miscoverage())
        calibrated = controller.calibrate(self.frame.to_numpy(), self.y)
        with pytest.raises(shp.InputError, match="an array, as in calibration, got a table"):
            calibrated.predict(self.frame, 0.2)

    def test_a_scale_that_reads_by_place_counts_too(self):
        sets = shp.Intervals(score=shp.ScaledResidual(lambda x: np.asarray(x)[:, 1]))
        controller = shp.RiskController(shp.Columns("a"), sets, shp.Miscoverage())
        calibrated = controller.calibrate(self.frame, self.y)
        expected = calibrated.predict(self.frame, 0.2).lower
        assert np.array_equal(calibrated.predict(self.frame[["b", "a"]], 0.2).lower, expected)
        with pytest.raises(shp.InputError, match=r"got no \['b'\]"):
            calibrated.predict(self.frame[["a"]], 0.2)

    def test_a_what_if_that_reads_by_place_gets_them_in_order(self):
        calibrated = shp.RiskController(
            shp.Columns("a"), shp.Intervals(0, 20), shp.Distance()
        ).calibrate(self.frame, self.y, keep=["a", "b"])
        by_place = shp.KnownRatio(lambda x: np.asarray(x)[:, 1])
        turned = calibrated.prepare(self.frame[["b", "a"]])  # all that reads does so by name
        expected = calibrated.under(by_place).prepare(self.frame).weights
        assert np.array_equal(turned.under(by_place).weights, expected)
        with pytest.raises(shp.InputError, match=r"got no \['b'\]"):
            calibrated.prepare(self.frame[["a"]]).under(by_place)

    def test_columns_by_name_may_be_all_that_is_there(self):
        calibrated = self.calibrated(shp.Columns("a"))
        assert len(calibrated.predict(self.frame[["a"]], 0.2)) == 12


class TestBeforeAModelIsAsked:
    """What cannot be answered is refused without a prediction."""

    x = np.arange(12.0)[:, None]

    def counting(self, **parts):
        calls = []

        def model(x):
            calls.append(len(x))
            return x[:, 0]

        given = {"sets": shp.Intervals(0, 20), "loss": shp.Distance()} | parts
        return shp.RiskController(model, **given), calls

    @pytest.mark.parametrize(
        "call",
        [
            lambda made, x: made.calibrate(x, x[:5, 0]),
            lambda made, x: made.calibrate(x, x[:, 0], seed="a"),
            lambda made, x: made.calibrate(x, x[:, 0], seed=1.5),
            lambda made, x: made.calibrate(x, x[:, 0], ids=[1] * 12),
            lambda made, x: made.calibrate(x, x[:, 0], keep="ab"),
            lambda made, x: made.calibrate(x, x[:, 0], keep=[7]),
        ],
    )
    def test_in_calibration(self, call):
        made, calls = self.counting()
        with pytest.raises(shp.InputError):
            call(made, self.x)
        assert calls == []

    @pytest.mark.parametrize("alpha", [np.nan, -1, "a", None, 21.0, True, [0.1, 0.2]])
    @pytest.mark.parametrize("verb", ["predict", "evaluate", "explain"])
    def test_a_level_that_is_none(self, verb, alpha):
        made, calls = self.counting()
        calibrated = made.calibrate(self.x, self.x[:, 0])
        arguments = (self.x, self.x[:, 0]) if verb == "evaluate" else (self.x,)
        with pytest.raises(shp.InputError, match="alpha"):
            getattr(calibrated, verb)(*arguments, alpha=alpha)
        assert calls == [12]

    @pytest.mark.parametrize(("delta", "rows"), [(2, 12), (0.1, 11)])
    def test_in_evaluation(self, delta, rows):
        made, calls = self.counting()
        calibrated = made.calibrate(self.x, self.x[:, 0])
        with pytest.raises(shp.InputError):
            calibrated.evaluate(self.x, self.x[:rows, 0], 0.1, delta=delta)
        assert calls == [12]

    @pytest.mark.parametrize(
        "build",
        [
            lambda: shp.LabelSets(shp.LAC),
            lambda: shp.LabelSets(nonempty="no"),
            lambda: shp.Intervals(score=shp.Residual),
            lambda: shp.Balls(shp.Box),
            lambda: shp.Monotonized(shp.F1),
            lambda: shp.Quantiles("no"),
            lambda: shp.APS("no"),
            lambda: shp.RAPS(randomized="no"),
            lambda: shp.Distance(True),
            lambda: shp.RiskController(
                lambda x: x,
                shp.Balls(shp.Box([0] * 3, [1] * 3)),
                shp.Distance(),
                worst_case=shp.Directional(),
            ),
            lambda: shp.RiskController(lambda x: x, shp.Intervals(), shp.Distance()),
        ],
    )
    def test_when_parts_are_built(self, build):
        with pytest.raises(shp.InputError):
            build()

    def test_explain_is_that_of_prepare(self):
        made, _ = self.counting()
        calibrated = made.calibrate(self.x, self.x[:, 0] + 1)
        found, expected = calibrated.explain(self.x, 0.3), calibrated.prepare(self.x).explain(0.3)
        assert np.array_equal(found.total, expected.total)


class TestRowsThatComeAlone:
    """Served one by one with default ids every row would be row 0, with one draw for ever."""

    x = np.linspace(0, 1, 40)[:, None]
    models = shp.Snapshots([lambda x, by=by: x[:, 0] + by for by in (-3.0, 0.0, 3.0)])

    def calibrated(self):
        controller = shp.RiskController(
            shp.Thompson(self.models), shp.Intervals(), shp.Miscoverage()
        )
        return controller.calibrate(self.x, self.x[:, 0], seed=0)

    def test_without_an_id_they_are_refused(self):
        with pytest.raises(shp.InputError, match="ids: expected an id for a row that comes alone"):
            self.calibrated().predict(self.x[:1], 0.2)

    def test_with_ids_they_draw_as_in_a_batch(self):
        calibrated = self.calibrated()
        together = calibrated.predict(self.x, 0.2, ids=np.arange(40)).center
        alone = [calibrated.predict(self.x[[row]], 0.2, ids=[row]).center[0] for row in range(40)]
        assert np.array_equal(together, alone)
        assert len(np.unique(np.round(together - self.x[:, 0]))) == 3

    def test_nothing_is_asked_where_nothing_draws(self):
        controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
        calibrated = controller.calibrate(self.x, self.x[:, 0], seed=0)
        assert len(calibrated.predict(self.x[:1], 0.2)) == 1


class TestExplanationsAtTheLowerEnd:
    def test_pairs_that_shrink_to_their_middle(self):
        x = np.linspace(3, 7, 60)[:, None]
        controller = shp.RiskController(
            lambda x: np.column_stack([x[:, 0] - 1, x[:, 0] + 1]),
            shp.Intervals(0, 10, shp.Quantiles()),
            shp.Distance(),
        )
        calibrated = controller.calibrate(x, x[:, 0] + np.linspace(-0.2, 0.2, 60))
        for alpha in (0.12, 0.24, 0.3):
            found = calibrated.explain(x, alpha)
            terms = np.stack([found.model, found.shift, found.test_mass, found.total])
            assert np.isfinite(terms).all()
            assert (found.total >= -1 - 1e-12).all()
            assert np.allclose(terms[:3].sum(axis=0), found.total)
        assert found.advice == "No set can be smaller."

    def test_masks_that_may_stay_empty(self):
        rng = np.random.default_rng(0)
        truth = (rng.random((80, 6)) < 0.4) & (rng.random(80) < 0.1)[:, None]
        scores = np.clip(truth + rng.normal(0, 0.3, truth.shape), 0, 1)
        controller = shp.RiskController(lambda x: x, shp.Masks(), shp.FalseNegativeRate())
        calibrated = controller.calibrate(scores, truth)
        assert np.isneginf(calibrated.prepare(scores).threshold(0.3)).all()
        found = calibrated.explain(scores, 0.3)
        assert np.isfinite(found.total).all()
        assert found.advice == "No set can be smaller."

    def test_no_points_have_no_explanation(self):
        x = np.arange(5.0)[:, None]
        controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
        with pytest.raises(shp.InputError, match="at least one point"):
            controller.calibrate(x, x[:, 0]).explain(x[:0], 0.2)
