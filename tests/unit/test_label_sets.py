"""Sets of classes against plain loops, ties and all."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from shiftproof import (
    APS,
    LAC,
    RAPS,
    Columns,
    Constant,
    Directional,
    Distance,
    FalseNegativeRate,
    InputError,
    LabelSets,
    Miscoverage,
    MonotoneLoss,
    RiskController,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws, row_keys, uniforms
from shiftproof.predictors.models import predictor_of

INF = math.inf

# Eighths and sixteenths add up exactly; equal ones tie.
PROBABILITIES = np.array(
    [
        [0.5, 0.25, 0.125, 0.125],
        [0.25, 0.25, 0.25, 0.25],
        [0.0, 1.0, 0.0, 0.0],
        [0.125, 0.375, 0.375, 0.125],
        [0.0625, 0.0625, 0.125, 0.75],
    ]
)
SCORES = {
    "lac": LAC(),
    "aps": APS(),
    "raps": RAPS(penalty=0.25, free=1),
    "free raps": RAPS(penalty=0.5, free=2),
    "random aps": APS(randomized=True),
    "random raps": RAPS(penalty=0.25, free=1, randomized=True),
}
SCORE = pytest.mark.parametrize("name", SCORES)
STEPS = np.arange(0, 3, 1 / 32)


def nest_of(family, probabilities, seed=None, ids=None, role="prediction"):
    table = Table.of("X", np.asarray(probabilities, dtype=float))
    return family.nest(predictor_of(lambda x: x), table, Draws(role, len(table), seed, ids))


def by_loops(score, row, u):
    """Scores of one row by their definitions."""
    order = sorted(range(len(row)), key=lambda k: (-row[k], k))
    found = []
    for k, p in enumerate(row):
        if isinstance(score, LAC):
            found.append(1 - p)
            continue
        rank = order.index(k) + 1
        before = sum(row[j] for j in order[: rank - 1])
        penalty = score.penalty * max(rank - score.free, 0) if isinstance(score, RAPS) else 0
        found.append(before + (u if score.randomized else 1) * p + penalty)
    return found


@SCORE
def test_scores_by_definition(name):
    nest = nest_of(LabelSets(SCORES[name]), PROBABILITIES, seed=3)
    chances = uniforms(row_keys(3, "prediction/score", 5))
    for found, row, u in zip(nest.entries.tolist(), PROBABILITIES.tolist(), chances, strict=True):
        assert found == pytest.approx(by_loops(SCORES[name], row, float(u)), abs=1e-15)
    if "random" not in name:
        exact = [by_loops(SCORES[name], row, 1.0) for row in PROBABILITIES.tolist()]
        assert nest.entries.tolist() == exact
    assert nest.lower == 0.0


@SCORE
def test_random_rows(name):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(6), 50)
    nest = nest_of(LabelSets(SCORES[name]), rows, seed=1)
    chances = uniforms(row_keys(1, "prediction/score", 50))
    for found, row, u in zip(nest.entries.tolist(), rows.tolist(), chances, strict=True):
        assert found == pytest.approx(by_loops(SCORES[name], row, float(u)), abs=1e-12)


def test_classes_of_equal_probability_are_ranked_in_their_order():
    nest = nest_of(LabelSets(APS()), PROBABILITIES)
    assert nest.entries[1].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert nest.entries[3].tolist() == [0.875, 0.375, 0.75, 1.0]
    assert nest.at(0.5).labels()[1] == [0, 1]


@SCORE
@pytest.mark.parametrize("nonempty", [False, True])
def test_sets_by_definition(name, nonempty):
    nest = nest_of(LabelSets(SCORES[name], nonempty=nonempty), PROBABILITIES, seed=3)
    chances = uniforms(row_keys(3, "prediction/score", 5))
    for step in STEPS:
        sets = nest.at(step)
        for row, u, labels, members, size in zip(
            PROBABILITIES.tolist(), chances, sets.labels(), sets.members, sets.size(), strict=True
        ):
            scores = by_loops(SCORES[name], row, float(u))
            if nonempty:
                scores[row.index(max(row))] = 0.0
            expected = [k for k, score in enumerate(scores) if score <= step]
            assert labels == expected
            assert np.flatnonzero(members).tolist() == expected
            assert size == len(expected)
        assert sets.relative_size().tolist() == [size / 4 for size in sets.size()]
        for label in range(4):
            y = np.full(5, label)
            assert sets.contains(y).tolist() == [label in labels for labels in sets.labels()]
            assert sets.contains(y).tolist() == (nest.entry(y) <= step).tolist()
        assert sets.whole.tolist() == [len(labels) == 4 for labels in sets.labels()]
        assert not nonempty or (sets.size() >= 1).all()


@SCORE
def test_the_entry_is_the_smallest_threshold_with_the_label(name):
    nest = nest_of(LabelSets(SCORES[name]), PROBABILITIES, seed=3)
    for label in range(4):
        y = np.full(5, label)
        scores = nest.entry(y)
        assert nest.at(scores).contains(y).all()
        assert not nest.at(np.nextafter(scores, -1)).contains(y).any()
    whole = nest.whole()
    assert (nest.at(whole).size() == 4).all()
    assert (nest.at(np.nextafter(whole, -1)).size() < 4).all()
    assert (np.diff([nest.at(step).size() for step in STEPS], axis=0) >= 0).all()


LOSSES = {
    "miscoverage": Miscoverage(),
    "missed": FalseNegativeRate(),
    "own": MonotoneLoss(lambda sets, y: 1.0 - sets.contains(y), loss_max=1.0),
}


@SCORE
@pytest.mark.parametrize("loss", LOSSES)
def test_curves_and_worst_cases(name, loss):
    loss = LOSSES[loss]
    nest = nest_of(LabelSets(SCORES[name]), PROBABILITIES, seed=3)
    places = np.unique(np.concatenate([STEPS, nest.entries.ravel()]))
    curves = [loss.curves(nest, np.full(5, label)) for label in range(4)]
    for step in places:
        losses = [loss.of(nest.at(step), np.full(5, label)) for label in range(4)]
        for curve, found in zip(curves, losses, strict=True):
            assert curve.at(step).tolist() == found.tolist()
        assert loss.worst(nest).at(step).tolist() == np.max(losses, axis=0).tolist()
    assert loss.bound(nest) == 1.0


def test_nonempty_leaves_what_a_score_was_given_alone():
    class AsGiven:
        def entries(self, probabilities, draws):
            del draws
            return probabilities

    rows = PROBABILITIES.copy()
    nest = nest_of(LabelSets(AsGiven(), nonempty=True), rows)
    assert nest.entries[0].tolist() == [0.0, 0.25, 0.125, 0.125]
    assert rows.tolist() == PROBABILITIES.tolist()


class TestRandomized:
    def test_without_a_seed_an_error_says_so(self):
        controller = RiskController(lambda x: x, LabelSets(APS(randomized=True)), Miscoverage())
        with pytest.raises(InputError, match=r"seed: expected an integer.*pass seed="):
            controller.calibrate(PROBABILITIES, [0, 1, 1, 2, 3])

    def test_deterministic_scores_need_none(self):
        controller = RiskController(lambda x: x, LabelSets(RAPS()), Miscoverage())
        assert len(controller.calibrate(PROBABILITIES, [0, 1, 1, 2, 3])) == 5

    @pytest.fixture
    def calibrated(self):
        rng = np.random.default_rng(0)
        rows = rng.dirichlet(np.ones(5), 300)
        y = [rng.choice(5, p=row) for row in rows]
        controller = RiskController(lambda x: x, LabelSets(APS(randomized=True)), Miscoverage())
        return controller.calibrate(rows, y, seed=5), rows

    def test_the_same_seed_gives_the_same_sets(self, calibrated):
        calibrated, rows = calibrated
        one, again, other = (
            calibrated.predict(rows, 0.3, **options).labels()
            for options in ({}, {"seed": 5}, {"seed": 6})
        )
        assert one == again
        assert one != other

    def test_calibration_and_prediction_draw_from_different_streams(self):
        family = LabelSets(APS(randomized=True))
        one = nest_of(family, PROBABILITIES, 5, role="calibration").entries
        assert (one != nest_of(family, PROBABILITIES, 5).entries).any(axis=1)[[0, 1, 3, 4]].all()

    def test_rows_keep_their_draws(self, calibrated):
        calibrated, rows = calibrated
        ids = np.arange(300) + 1000
        whole = calibrated.predict(rows, 0.3, ids=ids).labels()
        order = np.random.default_rng(1).permutation(300)
        shuffled = calibrated.predict(rows[order], 0.3, ids=ids[order]).labels()
        assert shuffled == [whole[place] for place in order]
        parts = [
            calibrated.predict(rows[a : a + 70], 0.3, ids=ids[a : a + 70]).labels()
            for a in range(0, 300, 70)
        ]
        assert [labels for part in parts for labels in part] == whole

    def test_a_row_counts_as_its_place_where_ids_are_left_out(self, calibrated):
        calibrated, rows = calibrated
        one = calibrated.predict(rows, 0.3).labels()
        assert calibrated.predict(rows, 0.3, ids=range(300)).labels() == one
        assert calibrated.predict(rows[::-1], 0.3).labels() != one[::-1]

    def test_ids_may_be_words(self, calibrated):
        calibrated, rows = calibrated
        ids = np.array([f"row {k}" for k in range(300)])
        one = calibrated.predict(rows, 0.3, ids=ids).labels()
        assert calibrated.predict(rows[:5], 0.3, ids=ids[:5]).labels() == one[:5]

    def test_ids_are_one_for_each_row(self, calibrated):
        calibrated, rows = calibrated
        with pytest.raises(InputError, match="ids"):
            calibrated.predict(rows, 0.3, ids=np.zeros(300, int))
        with pytest.raises(InputError, match="ids"):
            calibrated.predict(rows, 0.3, ids=range(299))

    def test_scores_of_the_truth_are_uniform(self):
        # With the right probabilities a randomised score is uniform, whatever the row.
        rng = np.random.default_rng(2)
        rows = rng.dirichlet(np.ones(4), 4000)
        y = (rows.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
        scores = np.sort(nest_of(LabelSets(APS(randomized=True)), rows, 0).entry(y))
        assert np.abs(scores - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / math.sqrt(4000)
        plain = nest_of(LabelSets(APS()), rows).entry(y)
        assert (np.sort(plain) >= scores - 1e-12).all()


class TestClasses:
    @pytest.mark.parametrize(
        ("classes", "labels"),
        [
            (["cat", "dog", "eel"], ["eel", "cat"]),
            (np.array(["cat", "dog", "eel"]), np.array(["eel", "cat"])),
            (np.array(["cat", "dog", "eel"], dtype=object), pd.Series(["eel", "cat"])),
            (("cat", "dog", "eel"), pl.Series(["eel", "cat"])),
            (["cat", "dog", "eel"], pa.table({"y": ["eel", "cat"]})),
            (["cat", "dog", "eel"], pd.Series(["eel", "cat"], dtype="category")),
            (["cat", "dog", "eel"], [["eel"], ["cat"]]),
            ([3, 5, 7], [7, 3]),
            ([3, 5, 7], np.array([7.0, 3.0])),
            ([3, 5, 7], pl.Series([7, 3], dtype=pl.UInt8)),
            ([0.5, 1.5, 2.5], [2.5, 0.5]),
            (None, [2, 0]),
        ],
    )
    def test_kinds(self, classes, labels):
        nest = nest_of(LabelSets(classes=classes), [[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]])
        assert nest.entry(labels).tolist() == [0.75, 0.875]
        names = [0, 1, 2] if classes is None else list(classes)
        assert nest.at([0.5, 0.75]).labels() == [[names[0]], [names[1], names[2]]]
        assert nest.at(0.8).contains(labels).tolist() == [True, False]
        assert nest.truth(labels).tolist() == [[False, False, True], [True, False, False]]

    @pytest.mark.parametrize(
        "labels",
        [[True, False], np.array([True, False]), pl.Series([True, False]), pd.Series([1, 0])],
    )
    def test_truth_values(self, labels):
        nest = nest_of(LabelSets(classes=[False, True]), [[0.25, 0.75], [0.25, 0.75]])
        assert nest.entry(labels).tolist() == [0.25, 0.75]
        assert nest.at(0.25).labels() == [[True], [True]]

    def test_those_of_the_model(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300, 2))
        y = np.array(["low", "mid", "top"])[np.digitize(x[:, 0] + rng.normal(size=300), [-1, 1])]
        model = LogisticRegression().fit(x[:100], y[:100])
        controller = RiskController(model, LabelSets(), Miscoverage())
        calibrated = controller.calibrate(x[100:200], y[100:200])
        sets = calibrated.predict(x[200:], alpha=0.2)
        assert {label for labels in sets.labels() for label in labels} == {"low", "mid", "top"}
        assert 0.7 < sets.contains(y[200:]).mean() < 0.9
        for labels, row in zip(sets.labels(), model.predict_proba(x[200:]), strict=True):
            scores = (1 - row) <= sets.threshold[0]
            assert labels == model.classes_[scores].tolist()

    def test_named_ones_come_before_those_of_the_model(self):
        x = np.random.default_rng(0).normal(size=(20, 1))
        model = LogisticRegression().fit(x, x[:, 0] > 0)
        family = LabelSets(classes=["below", "above"])
        nest = family.nest(predictor_of(model), Table.of("X", x), Draws("prediction", 20))
        assert nest.classes.tolist() == ["below", "above"]

    def test_predictions_that_stand_in_the_table(self):
        table = pl.DataFrame({"p_no": [0.25, 0.75], "p_yes": [0.75, 0.25]})
        family = LabelSets(classes=["no", "yes"])
        controller = RiskController(Columns("p_no", "p_yes"), family, Miscoverage())
        calibrated = controller.calibrate(table, ["yes", "no"])
        assert calibrated.predict(table, alpha=0.5).labels() == [["yes"], ["no"]]

    def test_an_unknown_label_is_named(self):
        nest = nest_of(LabelSets(classes=["cat", "dog"]), [[0.5, 0.5]] * 3)
        with pytest.raises(InputError, match=r"'cat', 'dog', got 'cow' in row 1 \(2 such rows\)"):
            nest.entry(["cat", "cow", "eel"])
        with pytest.raises(InputError, match="got 2 in row 2; name the columns of probabilities"):
            nest_of(LabelSets(), [[0.5, 0.5]] * 3).entry([0, 1, 2])
        with pytest.raises(InputError, match=r"got 0.5 in row 0"):
            nest_of(LabelSets(), [[0.5, 0.5]] * 3).entry([0.5, 1, 1])
        with pytest.raises(InputError, match=r"labels among.*nan"):
            nest_of(LabelSets(), [[0.5, 0.5]] * 3).entry([0, 1, math.nan])
        with pytest.raises(InputError, match="got None in row 1"):
            nest.entry(pl.Series(["cat", None, "dog"]))

    def test_many_classes_are_not_all_listed(self):
        nest = nest_of(LabelSets(), np.full((1, 100), 0.01))
        with pytest.raises(InputError, match="among 0, 1, 2, 3, 4, 5, 6, 7 and more, got 100"):
            nest.entry([100])

    @pytest.mark.parametrize("classes", [["a"], ["a", "b", "c"]])
    def test_one_for_each_column(self, classes):
        with pytest.raises(InputError, match="classes: expected 2 labels, one for each column"):
            nest_of(LabelSets(classes=classes), [[0.5, 0.5]])

    @pytest.mark.parametrize("classes", [["a", "b", "a"], [[1, 2], [3, 4]], [1, 1]])
    def test_each_once(self, classes):
        with pytest.raises(InputError, match="classes: expected labels, each of them once"):
            LabelSets(classes=classes)

    def test_labels_are_one_for_each_row(self):
        nest = nest_of(LabelSets(), [[0.5, 0.5]] * 3)
        with pytest.raises(InputError, match="3 rows, one for each input, got 2"):
            nest.entry([0, 1])
        with pytest.raises(InputError, match="one label for each row, got 2 columns"):
            nest.entry([[0, 1]] * 3)


class TestProbabilities:
    @pytest.mark.parametrize(
        ("rows", "match"),
        [
            ([[2.0, -1.0]], "values from 0 to 1, got 2.0.*softmax"),
            ([[0.5, 0.5], [-0.1, 1.1]], "values from 0 to 1, got -0.1 at position 2.*softmax"),
            ([[0.5, 0.4]], "sums of probabilities: expected 1, got 0.9.*use Masks"),
            ([[0.5, 0.5], [0.9, 0.9]], "sums of probabilities: expected 1, got 1.8 at position 1"),
            ([[1.0]], r"one column for each class, got shape \(1, 1\).*both probabilities"),
            ([[[0.5, 0.5]]], "one column for each class"),
            ([[math.nan, 1.0]], "finite numbers"),
        ],
    )
    def test_what_is_none_is_refused(self, rows, match):
        with pytest.raises(InputError, match=match):
            nest_of(LabelSets(), rows)

    def test_single_precision_will_do(self):
        rows = np.random.default_rng(0).dirichlet(np.ones(500), 20).astype(np.float32)
        nest = nest_of(LabelSets(APS()), rows)
        assert (nest.at(nest.whole()).size() == 500).all()

    def test_a_probability_that_rounding_lifts_above_one(self):
        nest = nest_of(LabelSets(LAC()), [[1 + 1e-7, 0.0]])
        assert nest.entry([0]).tolist() == [0.0]


class TestBorder:
    @pytest.mark.parametrize("score", [None, "aps", 0.1])
    def test_a_score_is_one(self, score):
        with pytest.raises(InputError, match="score: expected LAC, APS or RAPS"):
            LabelSets(score)

    @pytest.mark.parametrize("name", ["penalty", "free"])
    @pytest.mark.parametrize("value", [-0.1, INF, math.nan, "1"])
    def test_penalties(self, name, value):
        with pytest.raises(InputError, match=name):
            RAPS(**{name: value})

    def test_a_model_without_probabilities(self):
        class Regression:
            def predict(self, x):
                return x

        controller = RiskController(Regression(), LabelSets(), Miscoverage())
        with pytest.raises(InputError, match="a model with predict_proba"):
            controller.calibrate(PROBABILITIES, [0] * 5)

    def test_losses_and_worst_cases_that_do_not_fit(self):
        with pytest.raises(InputError, match=r"sets with distances.*Distance asks for"):
            RiskController(lambda x: x, LabelSets(), Distance())
        with pytest.raises(InputError, match=r"sets with rays.*Directional asks for"):
            RiskController(lambda x: x, LabelSets(), Miscoverage(), worst_case=Directional())

    def test_no_rows(self):
        controller = RiskController(lambda x: x, LabelSets(), Miscoverage(), worst_case=Constant())
        sets = controller.calibrate(PROBABILITIES, [0, 1, 1, 2, 3]).predict(np.empty((0, 4)), 0.5)
        assert (len(sets), sets.labels(), len(sets.to_frame())) == (0, [], 0)


class TestTables:
    def test_columns(self):
        controller = RiskController(Columns("a", "b"), LabelSets(classes=["a", "b"]), Miscoverage())
        table = pl.DataFrame({"a": [0.25, 0.75], "b": [0.75, 0.25]})
        sets = controller.calibrate(table, ["b", "a"]).predict(table, alpha=[0.5, 0.1])
        frame = sets.to_frame()
        assert frame.columns == ["has_a", "has_b", "threshold", "whole", "outcome"]
        kinds = [pl.Boolean, pl.Boolean, pl.Float64, pl.Boolean, pl.String]
        assert frame.dtypes == kinds
        assert frame["has_a"].to_list() == [False, True]
        assert frame["has_b"].to_list() == [True, True]
        assert frame["whole"].to_list() == [False, True]
        assert frame["outcome"].to_list() == ["controlled", "whole"]
        assert isinstance(sets.to_frame("pyarrow"), pa.Table)
        assert sets.to_frame("pandas")["has_a"].dtype == bool

    def test_sets_chosen_by_hand(self):
        sets = nest_of(LabelSets(), PROBABILITIES).at(0.8)
        assert repr(sets) == "ClassSets(5 sets, 1 whole)"
        with pytest.raises(InputError, match="by hand"):
            _ = sets.outcome


def test_labels_of_mixed_kinds_stay_what_they_are():
    family = LabelSets(classes=["a", 1, 2.5])
    x = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    calibrated = RiskController(lambda x: x, family, Miscoverage()).calibrate(x, ["a", 1, 2.5])
    sets = calibrated.predict(x, alpha=0.25)
    assert sets.contains(["a", 1, 2.5]).tolist() == [True, True, True]
    assert [sorted(map(str, labels)) for labels in sets.labels()] == [["a"], ["1"], ["2.5"]]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (lambda p: p[:, :1], r"scores: expected shape \(2, 2\), got shape \(2, 1\)"),
        (lambda p: -p, "scores of at least 0"),
        (lambda p: p * np.nan, "no NaN"),
    ],
)
def test_a_score_of_ones_own_is_checked(entries, message):
    class Own:
        def entries(self, probabilities, draws):
            del draws
            return entries(probabilities)

    controller = RiskController(lambda x: x, LabelSets(Own()), Miscoverage())
    with pytest.raises(InputError, match=message):
        controller.calibrate([[0.4, 0.6], [0.5, 0.5]], [0, 1])
