"""Masks of labels and pixels against plain loops."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from shiftproof import (
    Columns,
    Constant,
    Directional,
    Distance,
    FalseNegativeRate,
    InputError,
    Masks,
    Miscoverage,
    Pointwise,
    RiskController,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of

INF = math.inf

# Eighths, so that thresholds tie with scores.
RNG = np.random.default_rng(0)
SHAPES = {"labels": (12, 5), "one": (12, 1), "images": (12, 3, 4), "volumes": (12, 2, 3, 2)}
SCORES = {name: RNG.integers(0, 9, shape) / 8 for name, shape in SHAPES.items()}
TRUTH = {name: RNG.random(shape) < 0.3 for name, shape in SHAPES.items()}
for marked in TRUTH.values():
    marked[0], marked[1] = False, True
STEPS = [-INF, *np.arange(-1, 2, 1 / 16), INF]

SHAPE = pytest.mark.parametrize("name", SHAPES)


def nest_of(scores):
    table = Table.of("X", np.asarray(scores))
    return Masks().nest(predictor_of(lambda x: x), table, Draws("prediction", len(table)))


def rows_of(name):
    """Each row flattened to (score, true) pairs."""
    count = SHAPES[name][0]
    scores, truth = SCORES[name].reshape(count, -1), TRUTH[name].reshape(count, -1)
    return [list(zip(s, t, strict=True)) for s, t in zip(scores.tolist(), truth, strict=True)]


@SHAPE
def test_members_by_definition(name):
    nest = nest_of(SCORES[name])
    assert nest.lower == -INF
    assert nest.shape == SHAPES[name][1:]
    for step in STEPS:
        masks = nest.at(step)
        assert masks.members.shape == SHAPES[name]
        assert masks.members.tolist() == (SCORES[name] >= 1 - step).tolist()
        counts = [sum(score >= 1 - step for score, _ in row) for row in rows_of(name)]
        assert masks.size().tolist() == counts
        assert masks.relative_size().tolist() == [c / nest.labels for c in counts]
        assert masks.whole.tolist() == [c == nest.labels for c in counts]


@SHAPE
def test_contains_says_whether_no_true_label_is_missed(name):
    nest = nest_of(SCORES[name])
    for step in STEPS:
        expected = [all(score >= 1 - step for score, true in row if true) for row in rows_of(name)]
        assert nest.at(step).contains(TRUTH[name]).tolist() == expected
        assert (nest.entry(TRUTH[name]) <= step).tolist() == expected
    assert nest.entry(TRUTH[name])[0] == -INF  # a row without true labels misses none


@SHAPE
def test_entries_in_any_floats(name):
    scores = np.random.default_rng(1).normal(size=SHAPES[name])
    nest = nest_of(scores)
    found = nest.entry(TRUTH[name])
    assert nest.at(found).contains(TRUTH[name]).all()
    some = np.isfinite(found)
    assert not nest.at(np.nextafter(found, -INF)).contains(TRUTH[name])[some].any()
    whole = nest.whole()
    assert nest.at(whole).whole.all()
    assert nest.at(whole).members.all()
    assert not nest.at(np.nextafter(whole, -INF)).whole.any()
    jumps = nest.jumps()
    assert (np.diff(jumps, axis=1) >= 0).all()
    for k in range(nest.labels):
        assert (nest.at(jumps[:, k]).size() >= k + 1).all()
        assert (nest.at(np.nextafter(jumps[:, k], -INF)).size() <= k).all()


@SHAPE
@pytest.mark.parametrize("loss", [Miscoverage(), FalseNegativeRate()])
def test_curves_and_worst_cases(name, loss):
    nest = nest_of(SCORES[name])
    curves, worst = loss.curves(nest, TRUTH[name]), loss.worst(nest)
    single = np.eye(nest.labels, dtype=bool).reshape(-1, *SHAPES[name][1:])
    for step in STEPS:
        masks = nest.at(step)
        assert curves.at(step) == pytest.approx(loss.of(masks, TRUTH[name]), abs=1e-15)
        # The worst truth is one label: the one that enters last.
        losses = [loss.of(masks, np.broadcast_to(one, SHAPES[name])) for one in single]
        assert worst.at(step).tolist() == np.max(losses, axis=0).tolist()


def test_false_negatives_by_definition():
    loss, nest = FalseNegativeRate(), nest_of(SCORES["labels"])
    for step in STEPS:
        for found, row in zip(
            loss.of(nest.at(step), TRUTH["labels"]), rows_of("labels"), strict=True
        ):
            true = [score for score, is_true in row if is_true]
            missed = [score for score in true if score < 1 - step]
            assert found == (len(missed) / len(true) if true else 0.0)


class TestControl:
    @pytest.mark.parametrize("worst_case", [Constant(), Pointwise()])
    @pytest.mark.parametrize("shape", [(8,), (4, 4)])
    def test_risk_is_near_alpha(self, worst_case, shape):
        rng = np.random.default_rng(0)
        truth = rng.random((600, *shape)) < 0.3
        image = truth + rng.normal(0, 0.5, truth.shape)
        controller = RiskController(
            lambda x: x, Masks(), FalseNegativeRate(), worst_case=worst_case
        )
        calibrated = controller.calibrate(image[:300], truth[:300])
        found = calibrated.evaluate(image[300:], truth[300:], alpha=0.2)
        assert 0.15 < found.risk.value < 0.25
        assert 0 < found.relative_size.value < 0.9

    def test_miscoverage_is_that_of_all_true_labels(self):
        rng = np.random.default_rng(1)
        truth = rng.random((600, 6)) < 0.4
        scores = truth + rng.normal(0, 0.4, truth.shape)
        calibrated = RiskController(lambda x: x, Masks(), Miscoverage()).calibrate(
            scores[:300], truth[:300]
        )
        masks = calibrated.predict(scores[300:], alpha=0.1)
        missed = (truth[300:] & ~masks.members).any(axis=1)
        assert missed.tolist() == (~masks.contains(truth[300:])).tolist()
        assert 0.05 < missed.mean() < 0.15

    def test_all_the_risk_there_is_leaves_nothing(self):
        controller = RiskController(lambda x: x, Masks(), FalseNegativeRate())
        calibrated = controller.calibrate(SCORES["labels"], TRUTH["labels"])
        masks = calibrated.predict(SCORES["labels"], alpha=1.0)
        assert (masks.threshold == -INF).all()
        assert not masks.members.any()
        assert calibrated.predict(SCORES["labels"], alpha=0.0).members.all()

    def test_losses_and_worst_cases_that_do_not_fit(self):
        with pytest.raises(InputError, match="sets with distances"):
            RiskController(lambda x: x, Masks(), Distance())
        with pytest.raises(InputError, match="sets with rays"):
            RiskController(lambda x: x, Masks(), FalseNegativeRate(), worst_case=Directional())

    def test_no_rows(self):
        controller = RiskController(lambda x: x, Masks(), FalseNegativeRate())
        for name in ("labels", "images"):
            calibrated = controller.calibrate(SCORES[name], TRUTH[name])
            masks = calibrated.predict(SCORES[name][:0], alpha=0.2)
            assert masks.members.shape == (0, *SHAPES[name][1:])
            assert len(masks.to_frame()) == 0
            assert masks.contains(TRUTH[name][:0]).shape == (0,)


class TestModels:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300, 4))
        return x, (x[:, :3] + rng.normal(0, 0.5, (300, 3)) > 0).astype(int)

    @pytest.mark.parametrize(
        "model",
        [
            MultiOutputClassifier(LogisticRegression()),
            RandomForestClassifier(n_estimators=10, random_state=0),
        ],
    )
    def test_a_list_of_two_columns_for_each_label(self, data, model):
        x, y = data
        model.fit(x[:100], y[:100])
        parts = model.predict_proba(x[100:])
        assert isinstance(parts, list)
        family = Masks()
        rows = len(x) - 100
        nest = family.nest(predictor_of(model), Table.of("X", x[100:]), Draws("prediction", rows))
        expected = 1 - np.column_stack([part[:, 1] for part in parts])
        assert nest.entries.tolist() == expected.tolist()
        calibrated = RiskController(model, family, FalseNegativeRate()).calibrate(
            x[100:200], y[100:200]
        )
        assert 0.05 < calibrated.evaluate(x[200:], y[200:], alpha=0.1).risk.value < 0.15

    def test_scores_that_stand_in_the_table(self, data):
        x, y = data
        table = pl.DataFrame({f"s{k}": x[:, k] for k in range(3)})
        truth = pl.DataFrame({f"y{k}": y[:, k] for k in range(3)})
        controller = RiskController(Columns("s0", "s1", "s2"), Masks(), FalseNegativeRate())
        frame = controller.calibrate(table, truth).predict(table[:4], alpha=0.1).to_frame()
        assert frame.columns == ["has_0", "has_1", "has_2", "threshold", "whole", "outcome"]
        assert frame.dtypes[0] == pl.Boolean

    def test_any_numbers_will_do(self):
        rng = np.random.default_rng(2)
        truth = rng.random((200, 5)) < 0.4
        logits = 30 * (truth - 0.5) + rng.normal(0, 10, truth.shape)
        # A rising function of the scores leaves the masks as they are.
        small = 1 / (1 + np.exp(-logits / 10))
        masks = [
            RiskController(lambda x: x, Masks(), FalseNegativeRate())
            .calibrate(scores[:100], truth[:100])
            .predict(scores[100:], alpha=0.1)
            .members.tolist()
            for scores in (logits, small)
        ]
        assert masks[0] == masks[1]


class TestBorder:
    def test_not_a_number(self):
        with pytest.raises(InputError, match="predictions: expected finite numbers, got 1"):
            nest_of([[0.1, math.nan]])
        nest = nest_of(SCORES["labels"])
        truth = TRUTH["labels"].astype(float)
        truth[3, 2] = math.nan
        with pytest.raises(InputError, match="labels: expected no NaN"):
            nest.entry(truth)

    @pytest.mark.parametrize("value", [2, -1, 0.5])
    @SHAPE
    def test_labels_are_zero_or_one(self, name, value):
        truth = TRUTH[name].astype(float)
        truth[0, 0] = value
        with pytest.raises(InputError, match=f"labels: expected 0 or 1, got {float(value)}"):
            nest_of(SCORES[name]).entry(truth)

    @pytest.mark.parametrize(
        ("scores", "truth"), [((4, 3), (4, 2)), ((4, 3, 2), (4, 6)), ((4, 6), (4, 3, 2))]
    )
    def test_labels_have_the_shape_of_the_scores(self, scores, truth):
        with pytest.raises(InputError, match=r"labels: expected shape \(4,.*that of the predict"):
            nest_of(np.zeros(scores)).entry(np.zeros(truth))

    def test_labels_have_the_rows_of_the_inputs(self):
        with pytest.raises(InputError, match="labels: expected 4 rows, one for each input, got 3"):
            nest_of(np.zeros((4, 3))).entry(np.zeros((3, 3)))

    @pytest.mark.parametrize("shape", [(4,), (4, 0), (4, 0, 3)])
    def test_scores_of_several_labels(self, shape):
        with pytest.raises(InputError, match=r"several labels for each row.*use LabelSets"):
            Masks().nest(
                predictor_of(lambda _: np.zeros(shape)),
                Table.of("X", np.zeros((4, 1))),
                Draws("prediction", 4),
            )

    @pytest.mark.parametrize(
        "labels",
        [
            [[1, 0], [0, 1]],
            np.array([[True, False], [False, True]]),
            np.array([[1.0, 0.0], [0.0, 1.0]], dtype=object),
            pd.DataFrame({"a": [1, 0], "b": [0, 1]}, index=[9, 4]),
            pd.DataFrame([[1, 0], [0, 1]]),
            pl.DataFrame({"a": [True, False], "b": [False, True]}),
            pa.table({"a": [1, 0], "b": [0, 1]}),
        ],
    )
    def test_labels_come_in_many_forms(self, labels):
        nest = nest_of([[0.75, 0.5], [0.25, 0.125]])
        assert nest.entry(labels).tolist() == [0.25, 0.875]
        assert nest.truth(labels).tolist() == [[True, False], [False, True]]


class TestTables:
    def test_labels_have_a_column_each(self):
        frame = nest_of(SCORES["labels"]).at(0.5).to_frame()
        assert list(frame.columns) == [*(f"has_{k}" for k in range(5)), "threshold", "whole"]
        assert frame["has_2"].tolist() == (SCORES["labels"][:, 2] >= 0.5).tolist()
        assert frame.dtypes.astype(str).tolist() == ["bool"] * 5 + ["float64", "bool"]

    @pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
    def test_images_have_their_size(self, kind):
        masks = nest_of(SCORES["images"]).at(0.5)
        frame = masks.to_frame(kind)
        names = frame.column_names if kind == "pyarrow" else list(frame.columns)
        assert names == ["size", "threshold", "whole"]
        sizes = frame["size"].to_pylist() if kind == "pyarrow" else frame["size"].to_list()
        assert sizes == (SCORES["images"] >= 0.5).sum(axis=(1, 2)).tolist()

    def test_sets_chosen_by_hand(self):
        masks = nest_of(SCORES["images"]).at(INF)
        assert repr(masks) == "MaskSets(12 sets, 12 whole)"
        with pytest.raises(InputError, match="by hand"):
            _ = masks.outcome
