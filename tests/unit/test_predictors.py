"""Predictors of every kind, draws of a model for each row, and what cannot predict."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier

import shiftproof as shp
from shiftproof._tables import Table
from shiftproof.keys import Draws, row_keys
from shiftproof.predictors.models import answers, predictor_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.normal(size=80)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-1.0, 1.0])]
KINDS = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
}


def table(x=X):
    return Table.of("X", x)


def draws(rows, **settings):
    return Draws("prediction", rows, **settings)


def values(model, x=X, **settings):
    return predictor_of(model).values(table(x), draws(len(table(x)), **settings))


def probabilities(model, x=X, **settings):
    return predictor_of(model).probabilities(table(x), draws(len(table(x)), **settings))


class OnlyPredict:
    def predict(self, x):
        return [row.sum() for row in x]


class OnlyProbabilities:
    def predict_proba(self, x):
        share = 1 / (1 + np.exp(-x[:, 0]))
        return np.column_stack([1 - share, share])


class Tensor:
    """What torch and jax give: no array, but something that turns into one."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numbers, dtype=dtype)


class TestModels:
    def test_a_regressor_and_a_classifier(self):
        regressor = LinearRegression().fit(X, Y)
        np.testing.assert_array_equal(values(regressor), regressor.predict(X))
        classifier = LogisticRegression().fit(X, WORDS)
        np.testing.assert_array_equal(probabilities(classifier), classifier.predict_proba(X))
        assert list(predictor_of(classifier).classes) == ["high", "low", "middle"]
        assert predictor_of(regressor).classes is None

    def test_a_function_serves_for_both(self):
        np.testing.assert_array_equal(values(lambda x: x[:, 1]), X[:, 1])
        np.testing.assert_array_equal(probabilities(lambda x: x[:, :2]), X[:, :2])
        assert predictor_of(lambda x: x).classes is None

    def test_a_function_gets_the_table_as_it_came(self):
        np.testing.assert_array_equal(values(lambda f: f["b"], FRAME), X[:, 1])
        np.testing.assert_array_equal(values(lambda f: f["b"], pl.from_pandas(FRAME)), X[:, 1])

    def test_objects_without_scikit_learn(self):
        np.testing.assert_allclose(values(OnlyPredict()), X.sum(axis=1))
        np.testing.assert_array_equal(
            probabilities(OnlyProbabilities()), OnlyProbabilities().predict_proba(X)
        )
        network = lambda x: Tensor(2 * x[:, 0])  # noqa: E731 - a module that is called
        np.testing.assert_array_equal(values(network), 2 * X[:, 0])

    def test_whole_numbers_and_truth_values_are_numbers(self):
        assert values(lambda x: x[:, 0] > 0).dtype == np.float64
        assert values(lambda x: np.ones(len(x), dtype=np.int8)).tolist() == [1.0] * len(X)

    def test_several_labels_as_scikit_learn_lists_them(self):
        truth = np.column_stack([Y > 0, X[:, 1] > 0, X[:, 2] > 0.5]).astype(int)
        forest = RandomForestClassifier(5, random_state=0).fit(X, truth)
        listed = forest.predict_proba(X)
        assert isinstance(listed, list)
        expected = np.column_stack([part[:, 1] for part in listed])
        np.testing.assert_array_equal(probabilities(forest), expected)
        assert predictor_of(forest).classes is None

    def test_a_list_of_images_is_no_list_of_labels(self):
        images = [np.arange(6.0).reshape(3, 2) + row for row in range(4)]
        np.testing.assert_array_equal(answers(images, 4), np.array(images))

    def test_a_predictor_stays_what_it_is(self):
        columns = shp.Columns("a")
        assert predictor_of(columns) is columns


class TestColumns:
    @pytest.mark.parametrize("kind", KINDS)
    def test_one_is_a_vector_and_several_stand_side_by_side(self, kind):
        frame = KINDS[kind]()
        np.testing.assert_array_equal(values(shp.Columns("c"), frame), X[:, 2])
        np.testing.assert_array_equal(values(shp.Columns("c", "a"), frame), X[:, [2, 0]])
        np.testing.assert_array_equal(probabilities(shp.Columns("b"), frame), X[:, 1])

    def test_positions_of_an_array(self):
        np.testing.assert_array_equal(values(shp.Columns(2, 0)), X[:, [2, 0]])
        assert shp.Columns(1).classes is None

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_model_on_some_columns(self, kind):
        model = LinearRegression().fit(X[:, [2, 0]], Y)
        predictor = shp.OnColumns(lambda part: model.predict(np.asarray(part)), ["c", "a"])
        np.testing.assert_allclose(predictor.predict(KINDS[kind]()), model.predict(X[:, [2, 0]]))

    def test_a_model_on_some_positions(self):
        model = LogisticRegression().fit(X[:, [2, 0]], WORDS)
        predictor = shp.OnColumns(model, [2, 0])
        np.testing.assert_array_equal(probabilities(predictor), model.predict_proba(X[:, [2, 0]]))
        assert list(predictor.classes) == list(model.classes_)

    def test_a_named_model_gets_its_names(self):
        model = LinearRegression().fit(FRAME[["c", "a"]], Y)
        predictor = shp.OnColumns(model, ["c", "a"])
        np.testing.assert_array_equal(predictor.predict(FRAME), model.predict(FRAME[["c", "a"]]))

    def test_draws_reach_the_model_behind(self):
        posterior = shp.Snapshots([lambda x: x[:, 0], lambda x: 10 + x[:, 0]])
        predictor = shp.OnColumns(shp.Thompson(posterior), [1])
        direct = values(shp.Thompson(posterior), X[:, [1]], seed=3)
        np.testing.assert_array_equal(values(predictor, seed=3), direct)
        with pytest.raises(shp.InputError, match="since the predictor draws at random"):
            predictor.predict(X)


class Silent:
    """A posterior of the user's own."""

    def draw(self, X, keys, method):
        raise NotImplementedError

    def mean(self, X, method):
        raise NotImplementedError


GAPS = FRAME.assign(a=np.where(np.arange(len(X)) == 5, np.nan, X[:, 0]))
UNUSABLE = {
    "nothing that predicts": (lambda: predictor_of(3), "expected something with predict"),
    "a class of models": (lambda: predictor_of(LinearRegression), "the class LinearRegression"),
    "a class of predictors": (lambda: predictor_of(shp.Columns), "the class Columns"),
    "a class that is called": (lambda: predictor_of(Tensor), "the class Tensor"),
    "a bare posterior": (
        lambda: predictor_of(shp.Snapshots([len])),
        r"a posterior \(Snapshots\); say how it predicts: Thompson\(posterior\).*PosteriorMean",
    ),
    "a posterior of one's own": (lambda: predictor_of(Silent()), r"a posterior \(Silent\)"),
    "a bare posterior on columns": (
        lambda: shp.OnColumns(Silent(), ["a"]),
        r"PosteriorMean\(posterior\)",
    ),
    "a model for a posterior": (lambda: shp.Thompson(len), "something with draw"),
    "a model for a mean": (lambda: shp.PosteriorMean(LinearRegression()), "something with draw"),
    "no predict": (lambda: values(OnlyProbabilities()), "a model with predict, which"),
    "no probabilities": (lambda: probabilities(OnlyPredict()), "a model with predict_proba, which"),
    "no probabilities of a regressor": (
        lambda: probabilities(LinearRegression().fit(X, Y)),
        "a model with predict_proba",
    ),
    "NaN": (lambda: values(lambda x: x[:, 0] * np.nan), "finite numbers, got 80 that are not"),
    "infinite": (
        lambda: values(lambda x: np.where(x[:, 0] > x[:, 0].min(), 1.0, -np.inf)),
        "finite numbers, got 1 that are not",
    ),
    "masked": (lambda: values(lambda x: np.ma.masked_less(x[:, 0], 0)), "no masked entries"),
    "too few rows": (lambda: values(lambda x: x[1:, 0]), r"80 rows, one for each input, got shape"),
    "one number": (lambda: values(lambda _: 1.0), r"80 rows, one for each input, got shape \(\)"),
    "words": (lambda: values(LogisticRegression().fit(X, WORDS)), "for labels of classes pass"),
    "complex": (lambda: values(lambda x: x[:, 0] * 1j), "predictions: expected numbers"),
    "ragged": (
        lambda: values(lambda _: [[0.0]] * 79 + [[1.0, 2.0]]),
        "predictions: expected an array of 80 rows",
    ),
    "a label that never varies": (
        lambda: probabilities(
            RandomForestClassifier(3).fit(X, np.column_stack([Y > 0, np.ones(80)]).astype(int))
        ),
        "a label that never varies in training has one column",
    ),
    "no such column": (lambda: values(shp.Columns("z"), FRAME), "X: expected the columns 'z'"),
    "a name in an array": (lambda: values(shp.Columns("a")), "names need a table"),
    "a gap in a column": (
        lambda: values(shp.Columns("b", "a"), GAPS),
        "column 'a' of X: expected no missing values, got 1 missing, the first in row 5",
    ),
    "an infinite column": (
        lambda: values(shp.Columns(0), [[np.inf], [1.0]]),
        "predictions: expected finite numbers, got 1",
    ),
    "words in a column": (
        lambda: values(shp.Columns("a"), FRAME.assign(a="x")),
        "column 'a' of X: expected numbers",
    ),
    "no columns": (shp.Columns, "names of columns, each of them once"),
    "a column twice": (lambda: shp.Columns("a", "a"), "names of columns, each of them once"),
    "truth for a column": (lambda: shp.Columns(True), "names of columns"),
    "one name for a list": (lambda: shp.OnColumns(len, "ab"), r"pass \['ab'\]"),
    "columns of a model absent": (
        lambda: shp.OnColumns(len, ["z"]).predict(FRAME),
        "expected the columns 'z'",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_predict_is_refused_with_a_reason(name):
    call, message = UNUSABLE[name]
    with pytest.raises(shp.InputError, match=message):
        call()


def numbered(count):
    """Models that answer with their own number."""
    return shp.Snapshots([lambda x, k=k: np.full(len(x), float(k)) for k in range(count)])


def drawn(role, rows, **settings):
    sample = np.zeros((rows, 1))
    return shp.Thompson(numbered(10)).values(Table.of("X", sample), Draws(role, rows, **settings))


class TestThompson:
    rows = 20_000

    def test_each_row_draws_each_model_with_the_same_probability(self):
        # Chi-square statistics exceed their 1 - 1e-6 quantile with probability 1e-6 each: for one
        # index (10 cells), for neighbours (100 cells) and for the two roles (100 cells).
        one, other = (
            drawn(role, self.rows, seed=1).astype(int) for role in ("prediction", "calibration")
        )
        tables = {
            10: one,
            100: 10 * one[:-1:2] + one[1::2],
            -100: 10 * one + other,
        }
        for cells, index in tables.items():
            seen, expected = np.bincount(index, minlength=abs(cells)), len(index) / abs(cells)
            statistic = ((seen - expected) ** 2 / expected).sum()
            assert statistic < stats.chi2.isf(1e-6, abs(cells) - 1)

    def test_shared_draws_of_both_roles_would_be_noticed(self):
        one = drawn("prediction", self.rows, seed=1).astype(int)
        seen, expected = np.bincount(11 * one, minlength=100), self.rows / 100
        assert ((seen - expected) ** 2 / expected).sum() > stats.chi2.isf(1e-6, 99)

    def test_a_row_keeps_its_draw(self):
        ids = np.array([f"row {k}" for k in range(300)])
        at_once = drawn("prediction", 300, seed=5, ids=ids)
        order = np.random.default_rng(0).permutation(300)
        assert drawn("prediction", 300, seed=5, ids=ids[order]).tolist() == at_once[order].tolist()
        halves = [drawn("prediction", 150, seed=5, ids=part) for part in (ids[:150], ids[150:])]
        assert np.concatenate(halves).tolist() == at_once.tolist()
        assert drawn("prediction", 1, seed=5, ids=ids[7:8]).tolist() == [at_once[7]]
        for other in (drawn("prediction", 300, seed=6, ids=ids), drawn("prediction", 300, seed=5)):
            assert 10 <= (other == at_once).sum() <= 60  # one in ten agrees by chance

    def test_a_seed_and_ids_of_ones_own_are_needed(self):
        with pytest.raises(shp.InputError, match="an integer, since the predictor draws at random"):
            drawn("prediction", 3)
        with pytest.raises(shp.InputError, match="one identity for each row, got 1 repeated"):
            drawn("prediction", 3, seed=0, ids=[1, 2, 1])

    def test_rows_go_to_the_model_that_they_drew(self):
        posterior = shp.Snapshots([lambda x: x[:, 0], lambda x: 100 + x[:, 0]])
        found = values(shp.Thompson(posterior), seed=2)
        index = np.array(row_keys(2, "prediction/predictor", len(X)) % np.uint64(2), dtype=float)
        np.testing.assert_array_equal(found, X[:, 0] + 100 * index)

    def test_probabilities_are_drawn_too(self):
        models = [LogisticRegression(C=c).fit(X, WORDS) for c in (0.01, 100.0)]
        predictor = shp.Thompson(shp.Snapshots(models))
        each = np.array([model.predict_proba(X) for model in models])
        found = probabilities(predictor, seed=2)
        index = np.array(row_keys(2, "prediction/predictor", len(X)) % np.uint64(2), dtype=int)
        np.testing.assert_allclose(found, each[index, np.arange(len(X))])
        assert list(predictor.classes) == list(models[0].classes_)

    def test_no_rows(self):
        assert drawn("prediction", 0, seed=0).shape == (0,)

    def test_a_posterior_is_asked_for_one_answer_for_each_row(self):
        class Short(Silent):
            def draw(self, X, keys, method):  # noqa: ARG002 - as every posterior
                return np.zeros(len(keys) - 1)

        with pytest.raises(shp.InputError, match="80 rows, one for each input"):
            values(shp.Thompson(Short()), seed=0)


REGRESSORS = {
    "random forest": RandomForestRegressor(7, random_state=0),
    "extra trees": ExtraTreesRegressor(7, random_state=0),
    "bagging": BaggingRegressor(LinearRegression(), 7, random_state=0),
    "bagging some columns": BaggingRegressor(LinearRegression(), 7, max_features=2, random_state=0),
    "bagging columns twice": BaggingRegressor(
        LinearRegression(), 7, bootstrap_features=True, random_state=0
    ),
}
CLASSIFIERS = {
    "random forest": RandomForestClassifier(7, random_state=0),
    "extra trees": ExtraTreesClassifier(7, random_state=0),
    "bagging some columns": BaggingClassifier(
        LogisticRegression(), 7, max_features=0.7, random_state=0
    ),
}


class TestSnapshots:
    @pytest.mark.parametrize("name", REGRESSORS)
    @pytest.mark.parametrize("kind", ["numpy", *KINDS])
    def test_the_mean_is_what_the_ensemble_says(self, name, kind):
        inputs = X if kind == "numpy" else FRAME
        ensemble = REGRESSORS[name].fit(inputs, Y)
        expected = ensemble.predict(inputs)
        asked = X if kind == "numpy" else KINDS[kind]()
        mean = shp.PosteriorMean(shp.Snapshots(ensemble))
        np.testing.assert_allclose(values(mean, asked), expected)
        assert np.ptp(expected) > 1
        assert mean.classes is None

    @pytest.mark.parametrize("name", CLASSIFIERS)
    @pytest.mark.parametrize("kind", ["numpy", "pandas", "polars"])
    def test_so_are_mean_probabilities(self, name, kind):
        inputs = X if kind == "numpy" else FRAME
        ensemble = CLASSIFIERS[name].fit(inputs, WORDS)
        expected = ensemble.predict_proba(inputs)
        mean = shp.PosteriorMean(shp.Snapshots(ensemble))
        asked = X if kind == "numpy" else KINDS[kind]()
        np.testing.assert_allclose(probabilities(mean, asked), expected)
        assert list(mean.classes) == ["high", "low", "middle"]

    def test_a_member_on_its_own_columns(self):
        bag = BaggingRegressor(LinearRegression(), 3, max_features=2, random_state=0).fit(X, Y)
        posterior = shp.Snapshots(bag)
        keys = np.arange(len(X), dtype=np.uint64)
        found = posterior.draw(X, keys, "predict")
        for row in range(9):
            member, columns = bag.estimators_[row % 3], bag.estimators_features_[row % 3]
            assert len(columns) == 2
            assert found[row] == pytest.approx(member.predict(X[row : row + 1, columns])[0])

    def test_columns_are_found_by_name(self):
        forest = RandomForestRegressor(5, random_state=0).fit(FRAME, Y)
        mixed = FRAME[["c", "a", "b"]].assign(more=1.0)
        found = values(shp.PosteriorMean(shp.Snapshots(forest)), mixed)
        np.testing.assert_allclose(found, forest.predict(FRAME))
        with pytest.raises(shp.InputError, match="expected the columns 'b'"):
            values(shp.PosteriorMean(shp.Snapshots(forest)), FRAME[["a", "c"]])

    def test_members_that_missed_a_class(self):
        rare = np.where(np.arange(80) == 3, "above", WORDS)
        bag = BaggingClassifier(KNeighborsClassifier(2), 8, max_samples=12, random_state=0)
        bag.fit(X, rare)
        known = {len(member.classes_) for member in bag.estimators_}
        assert len(known) > 1
        posterior = shp.Snapshots(bag)
        np.testing.assert_allclose(posterior.mean(X, "predict_proba"), bag.predict_proba(X))
        drawn_ones = probabilities(shp.Thompson(posterior), seed=0)
        assert drawn_ones.shape == (80, 4)
        np.testing.assert_allclose(drawn_ones.sum(axis=1), 1.0)

    def test_members_answer_in_the_classes_of_the_forest(self):
        stars = np.digitize(Y, [-1.0, 1.0]) + 3  # 3, 4, 5: positions 0, 1, 2 inside
        forest = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, stars)
        found = values(shp.Thompson(shp.Snapshots(forest)), seed=0)
        np.testing.assert_array_equal(found, forest.predict(X))

    def test_label_sets_get_the_classes_of_the_forest(self):
        forest = RandomForestClassifier(20, random_state=0).fit(X[:40], WORDS[:40])
        assert forest.estimators_[0].classes_.tolist() == [0, 1, 2]
        for wrap in (shp.Thompson, shp.PosteriorMean):
            controller = shp.RiskController(
                wrap(shp.Snapshots(forest)), shp.LabelSets(), shp.Miscoverage()
            )
            sets = controller.calibrate(X[40:], WORDS[40:], seed=0).predict(X[40:], 0.2)
            assert sets.contains(WORDS[40:]).mean() > 0.7
            assert {label for each in sets.labels() for label in each} <= set(WORDS)

    def test_a_list_of_functions(self):
        posterior = shp.Snapshots([lambda x: x[:, 0], lambda x: 3 * x[:, 0]])
        assert len(posterior) == 2
        np.testing.assert_allclose(values(shp.PosteriorMean(posterior)), 2 * X[:, 0])
        assert posterior.classes is None

    def test_points_are_drawn_row_by_row(self):
        posterior = shp.Snapshots([lambda x: x[:, :2], lambda x: -x[:, :2]])
        found = values(shp.Thompson(posterior), seed=0)
        assert found.shape == (80, 2)
        signs = np.unique(found / X[:, :2], axis=0)
        assert signs.tolist() == [[-1.0, -1.0], [1.0, 1.0]]

    @pytest.mark.parametrize(
        ("models", "message"),
        [
            (lambda: GradientBoostingRegressor(n_estimators=3).fit(X, Y), "Gradient"),
            (lambda: GradientBoostingClassifier(n_estimators=3).fit(X, WORDS), "Gradient"),
            (lambda: AdaBoostRegressor(n_estimators=3).fit(X, Y), "AdaBoostRegressor"),
            (lambda: MultiOutputRegressor(LinearRegression()).fit(X, X), "MultiOutputRegressor"),
            (
                lambda: StackingRegressor([("a", LinearRegression())]).fit(X, Y),
                "that averages its members: a forest, or bagging, got StackingRegressor",
            ),
            (lambda: IsolationForest(n_estimators=3).fit(X), "IsolationForest"),
            (RandomForestRegressor, "a fitted ensemble with estimators_, got RandomFor"),
            (lambda: LinearRegression().fit(X, Y), "some models, .* got LinearRegression"),
            (list, "some models, .* got none"),
            (lambda: len, "some models"),
            (lambda: [len, 3], "fitted models or functions, got int"),
            (lambda: [LinearRegression], "fitted models or functions, got LinearRegression"),
            (
                lambda: [
                    LogisticRegression().fit(X, WORDS),
                    LogisticRegression().fit(X, np.where(WORDS == "high", "higher", WORDS)),
                ],
                "classifiers of the same classes",
            ),
        ],
    )
    def test_what_is_no_set_of_models(self, models, message):
        with pytest.raises(shp.InputError, match=message):
            shp.Snapshots(models())
