"""Ratios from classifiers: the odds they stand for, mixed tables, and samples that will not do."""

import datetime as dt
import math
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from shiftproof._tables import Table
from shiftproof.contracts import Certainty, Ratio
from shiftproof.errors import InputError, ShiftWarning
from shiftproof.ratios.classifier import ClassifierRatio, auc, out_of_fold_log_odds
from shiftproof.ratios.groups import GroupRatio
from shiftproof.ratios.known import KnownRatio
from shiftproof.risk import LossCurves

NAN, INF = math.nan, math.inf
PLAIN = LogisticRegression()
KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


def sample(n, shift, seed, gaps=False):
    rng = np.random.default_rng(seed)
    shares = [0.5, 0.3, 0.2] if shift == 0 else [0.2, 0.3, 0.5]
    frame = pd.DataFrame(
        {
            "x": rng.normal(shift, 1, n),
            "word": rng.choice(["u", "v", "w"], n, p=shares),
            "z": rng.normal(0, 1, n),
            "yes": rng.random(n) < 0.5,
        }
    )
    if gaps:
        frame.loc[::9, "x"] = None
        frame.loc[1::9, "word"] = None
    return frame


SOURCE, TARGET = sample(90, 0, 1), sample(60, 0.5, 2)
GAPS = sample(90, 0, 1, gaps=True)
X = SOURCE["x"].to_numpy()
X_TARGET = TARGET["x"].to_numpy()


@cache
def fitted(**options):
    return ClassifierRatio(**options).fit(SOURCE, TARGET)


@cache
def fitted_to_gaps():
    return ClassifierRatio(PLAIN).fit(GAPS, TARGET)


class TestOdds:
    def test_of_a_model_that_is_given_its_coefficients(self):
        """One binary column: the fitted odds are the cell frequencies, and w their ratio."""
        source, target = np.repeat([0.0, 1.0], [60, 30]), np.repeat([0.0, 1.0], [10, 40])
        ratio = ClassifierRatio(LogisticRegression(C=1e8, tol=1e-10)).fit(source, target)
        expected = [(10 / 50) / (60 / 90), (40 / 50) / (30 / 90)]
        assert ratio.weights([0.0, 1.0]) == pytest.approx(expected, rel=1e-4)
        exact = GroupRatio(0, source=source, target=target)
        assert ratio.weights([0.0, 1.0]) == pytest.approx(exact.weights([0.0, 1.0]), rel=1e-4)

    @pytest.mark.parametrize("sizes", [(4000, 1000), (1000, 4000)])
    def test_times_the_sizes_of_the_samples(self, sizes):
        """E_P w = 1, whatever the sizes: the mean over fresh inputs has a deviation near .01."""
        rng = np.random.default_rng(3)
        ratio = ClassifierRatio(PLAIN).fit(rng.normal(0, 1, sizes[0]), rng.normal(0.5, 1, sizes[1]))
        fresh = rng.normal(0, 1, 20_000)
        assert ratio.weights(fresh).mean() == pytest.approx(1.0, abs=0.06)
        assert ratio.weights([0.0, 1.0]) == pytest.approx(np.exp([-0.125, 0.375]), rel=0.15)

    def test_in_logs_extreme_odds_are_ordered_and_never_nan(self):
        ratio = ClassifierRatio(PLAIN).fit(X, X_TARGET)
        points = np.array([-1e300, -1e6, -300.0, 0.0, 300.0, 1e6, 1e300])
        weights = ratio.weights(points)
        assert weights[[0, 1, 5, 6]].tolist() == [0.0, 0.0, INF, INF]
        assert (np.diff(weights[1:6]) > 0).all()
        logs = ratio.log_weights(Table.of("X", points))
        assert np.isfinite(logs).all()
        slope = (logs[4] - logs[2]) / 600
        assert slope > 0
        assert logs[4] == pytest.approx(logs[3] + 300 * slope, rel=1e-12)

    def test_by_probabilities_where_a_classifier_has_no_linear_score(self):
        source, target = np.repeat([0.0, 1.0], [60, 30]), np.repeat([0.0, 1.0], [10, 40])
        forest = RandomForestClassifier(5, bootstrap=False, random_state=0)
        ratio = ClassifierRatio(forest).fit(source, target)
        assert ratio.weights([0.0, 1.0]) == pytest.approx([0.3, 2.4], rel=1e-9)

    def test_probabilities_of_0_and_1_are_weights_of_0_and_inf(self):
        source, target = [0.0] * 20 + [1.0] * 20, [1.0] * 20 + [2.0] * 20
        forest = RandomForestClassifier(5, bootstrap=False, random_state=0)
        with pytest.warns(ShiftWarning, match="gives 40 of the 80 rows .* exactly 0 or 1") as told:
            ratio = ClassifierRatio(forest).fit(source, target)
        assert ratio.weights([0.0, 1.0, 2.0]) == pytest.approx([0.0, 1.0, INF])
        assert "CalibratedClassifierCV(..., method='sigmoid')" in str(ratio.assumption)
        assert told[0].filename == __file__

    @pytest.mark.parametrize(
        "model", [RandomForestClassifier(20), DecisionTreeClassifier(), KNeighborsClassifier(3)]
    )
    def test_that_claim_too_much_are_warned_of_when_they_are_fitted(self, model):
        with pytest.warns(ShiftWarning, match="wrap it in CalibratedClassifierCV"):
            ClassifierRatio(model).fit(X, X_TARGET)
        calm = ClassifierRatio(CalibratedClassifierCV(model, method="sigmoid")).fit(X, X_TARGET)
        fresh = np.random.default_rng(7).normal(0, 1, 200)
        assert np.isfinite(calm.weights(fresh)).all()
        assert calm.assumption.cautions == ()


class TestTheDefault:
    def test_is_logistic_below_a_hundred_columns(self):
        assert isinstance(fitted().model, LogisticRegressionCV)
        assert isinstance(fitted(), Ratio)

    def test_is_boosted_from_a_hundred_columns_on(self):
        rng = np.random.default_rng(0)
        source, target = rng.normal(size=(2, 60, 100))
        target[:, 7] += 1.5
        recipe = ClassifierRatio(folds=2)
        narrow, wide = (recipe._model(matrix) for matrix in (source[:, :99], source))
        assert isinstance(narrow, LogisticRegressionCV)
        assert isinstance(wide, CalibratedClassifierCV)
        assert wide.method == "sigmoid"
        with threadpool_limits(1):  # so few rows are slower on many
            ratio = recipe.fit(source, target)
        assert isinstance(ratio.model, CalibratedClassifierCV)
        fresh = rng.normal(size=(40, 100))
        shifted = fresh.copy()
        shifted[:, 7] += 3
        assert ratio.weights(shifted).mean() > 1.5 * ratio.weights(fresh).mean()

    def test_is_the_same_for_the_same_seed(self):
        again = ClassifierRatio().fit(SOURCE, TARGET)
        assert again.weights(SOURCE).tolist() == fitted().weights(SOURCE).tolist()

    def test_units_are_irrelevant(self):
        ratio, other = (
            ClassifierRatio(PLAIN).fit(unit * X + at, unit * X_TARGET + at).weights(unit * X + at)
            for unit, at in ((1.0, 0.0), (1e6, 1e6))
        )
        assert other == pytest.approx(ratio, rel=1e-6)


class TestKindsOfTables:
    @pytest.mark.parametrize("fit_on", KINDS)
    @pytest.mark.parametrize("use_on", KINDS)
    def test_weights_are_equal(self, fit_on, use_on):
        make = KINDS[fit_on]
        ratio = ClassifierRatio(PLAIN).fit(make(GAPS), make(TARGET))
        expected = fitted_to_gaps().weights(GAPS)
        assert ratio.weights(KINDS[use_on](GAPS)) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("use_on", ["pandas", "polars"])
    @pytest.mark.parametrize("fit_on", KINDS)
    def test_a_pipeline_gets_columns_by_name(self, fit_on, use_on):
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        words = OneHotEncoder(handle_unknown="ignore")
        columns = ColumnTransformer([("n", numbers, ["z", "x"]), ("w", words, ["word"])])
        recipe = ClassifierRatio(make_pipeline(columns, PLAIN))
        make, use = KINDS[fit_on], KINDS[use_on]
        ratio = recipe.fit(make(GAPS), make(TARGET))
        expected = recipe.fit(GAPS, TARGET).weights(GAPS)
        assert ratio.weights(use(GAPS)) == pytest.approx(expected, rel=1e-9)
        assert ratio.weights(use(GAPS[1:2])) == pytest.approx(expected[1:2], rel=1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_pipeline_gets_columns_of_one_kind_when_all_is_missing(self, kind):
        words = make_pipeline(ColumnTransformer([("w", OneHotEncoder(), ["word"])]), PLAIN)
        make = KINDS[kind]
        silent = TARGET.assign(word=None)
        ratio = ClassifierRatio(words, columns=["word"]).fit(make(GAPS), make(silent))
        found = ratio.weights(make(GAPS[:2]))  # a word, and a gap
        assert found[1] > 1 > found[0]
        assert ratio.weights(make(silent[:3])) == pytest.approx([found[1]] * 3)

    def test_arrays_of_numbers_and_words(self):
        def mixed(frame):
            return frame[["x", "word"]].to_numpy(dtype=object)

        ratio = ClassifierRatio(PLAIN).fit(mixed(SOURCE), mixed(TARGET))
        named = ClassifierRatio(PLAIN, columns=["x", "word"]).fit(SOURCE, TARGET)
        assert ratio.weights(mixed(SOURCE)) == pytest.approx(named.weights(SOURCE), rel=1e-12)
        words = make_pipeline(ColumnTransformer([("w", OneHotEncoder(), [1])]), PLAIN)
        piped = ClassifierRatio(words).fit(mixed(SOURCE), mixed(TARGET))
        assert len(set(piped.weights(mixed(SOURCE)).round(9).tolist())) == 3

    def test_categories_are_labels_in_any_dress(self):
        recipe = ClassifierRatio(PLAIN, columns=["a"])
        source, target = ({"a": pd.Categorical(v)} for v in ([1, 2, 2] * 10, [1, 1, 2] * 10))
        ratio = recipe.fit(pd.DataFrame(source), pd.DataFrame(target))
        expected = ratio.weights(pd.DataFrame({"a": pd.Categorical([1, 2])}))
        assert expected[0] > 1 > expected[1]
        for column in ([1, 2], [1.0, 2.0], ["1", "2"]):
            assert ratio.weights(pl.DataFrame({"a": column})).tolist() == expected.tolist()


class TestGaps:
    def test_are_a_reason_of_their_own(self):
        """Numbers that are missing more often in the target weigh more where they are missing."""
        rng = np.random.default_rng(0)
        source, target = rng.normal(size=(2, 400))
        source[::10], target[::2] = NAN, NAN
        ratio = ClassifierRatio(LogisticRegression(C=1e6)).fit(source, target)
        found = ratio.weights([NAN, 0.0])
        assert found == pytest.approx([5.0, 0.5 / 0.9], rel=0.02)

    def test_that_were_never_seen_are_refused(self):
        gap = SOURCE[:3].assign(x=[0.0, None, 1.0])
        with pytest.raises(InputError, match="column 'x' of X: expected no missing values, got 1"):
            fitted(classifier=PLAIN).weights(gap)
        silent = SOURCE[:3].assign(word=[None, "u", "v"])
        with pytest.raises(InputError, match=r"'word' of X: expected categories .* got None"):
            fitted(classifier=PLAIN).weights(silent)

    @pytest.mark.parametrize("nothing", [None, NAN, pd.NA])
    def test_in_words_are_one_category(self, nothing):
        rows = GAPS[1:2].assign(word=pd.Series([nothing], index=[1], dtype=object))
        expected = fitted_to_gaps().weights(GAPS[1:2])
        assert fitted_to_gaps().weights(rows).tolist() == expected.tolist()
        assert fitted_to_gaps().weights(pl.from_pandas(GAPS)[1:2].with_columns(word=None)) == (
            pytest.approx(expected, rel=1e-12)
        )

    def test_alone_make_a_column_without_a_say(self):
        empty = [frame.assign(none=None)[["x", "none"]] for frame in (SOURCE, TARGET)]
        ratio = ClassifierRatio(PLAIN).fit(*empty)
        plain = ClassifierRatio(PLAIN, columns=["x"]).fit(SOURCE, TARGET)
        assert ratio.weights(empty[0]) == pytest.approx(plain.weights(SOURCE), rel=1e-3)


class TestColumns:
    def test_only_those_that_are_named_are_read(self):
        recipe = ClassifierRatio(PLAIN, columns=["x"])
        odd = [
            pl.from_pandas(frame).select("x", list=pl.lit([1]), at=dt.date(2020, 1, 1))
            for frame in (SOURCE, TARGET)
        ]
        ratio = recipe.fit(*odd)
        alone = pl.DataFrame({"x": [0.0, 1.0]})
        assert ratio.columns == ("x",)
        assert ratio.weights(alone).tolist() == recipe.fit(SOURCE, TARGET).weights(alone).tolist()
        fresh = pl.from_pandas(sample(5, 0, 9)).select("x", list=pl.lit([1]))
        assert len(ratio.curve(LossCurves.steps(np.ones(5)), fresh)) == 5

    def test_that_never_vary_have_no_say(self):
        ratio = ClassifierRatio(PLAIN).fit(np.c_[X, np.ones(90)], np.c_[X_TARGET, np.ones(60)])
        plain = ClassifierRatio(PLAIN).fit(X, X_TARGET)
        assert ratio.weights(np.c_[X, np.ones(90)]) == pytest.approx(plain.weights(X), rel=1e-4)

    def test_order_is_by_name(self):
        turned = SOURCE[SOURCE.columns[::-1]]
        found = fitted(classifier=PLAIN).weights(turned)
        assert found.tolist() == fitted(classifier=PLAIN).weights(SOURCE).tolist()


class TestCategories:
    def test_of_the_target_alone_are_a_caution(self):
        other = TARGET.assign(word=np.where(TARGET.index < 10, "new", TARGET["word"]))
        ratio = ClassifierRatio(PLAIN).fit(SOURCE, other)
        assert ratio.assumption.cautions == (
            "only in the target, where the ratio is a guess: word = new",
        )
        assert fitted(classifier=PLAIN).assumption.cautions == ()

    def test_that_are_rare_are_pooled(self):
        source, target = (pd.DataFrame({"a": list(v)}) for v in ("aab" * 9 + "r", "ab" * 9 + "qs"))
        ratio = ClassifierRatio(PLAIN).fit(source, target)
        found = ratio.weights(pd.DataFrame({"a": list("rqsab")}))
        assert found[0] == found[1] == found[2]
        assert len(set(found.tolist())) == 3

    def test_that_nobody_saw_are_named(self):
        rows = SOURCE[:3].assign(word=["u", "other", "more"])
        with pytest.raises(InputError, match="fitted on, got 'more', 'other'; fit it on samples"):
            fitted(classifier=PLAIN).weights(rows)


class TestSamplesThatDoNotOverlap:
    @pytest.mark.parametrize("model", [PLAIN, RandomForestClassifier(5, random_state=0)])
    def test_are_refused(self, model):
        with pytest.raises(InputError, match="tells apart without a single error; no weighting"):
            ClassifierRatio(model).fit(X, X_TARGET + 20)

    def test_by_one_category_too(self):
        apart = [frame.assign(era=era) for frame, era in ((SOURCE, "old"), (TARGET, "new"))]
        with pytest.raises(InputError, match="without a single error"):
            ClassifierRatio(PLAIN).fit(*apart)

    @pytest.mark.filterwarnings("ignore:RandomForestClassifier gives")
    @pytest.mark.parametrize("model", [PLAIN, RandomForestClassifier(5, random_state=0)])
    def test_but_for_one_row_are_not(self, model):
        far = X_TARGET + 20
        far[0] = 0.0
        ratio = ClassifierRatio(model).fit(X, far)
        assert ratio.weights([20.0]) > 10 * ratio.weights([0.0])

    @pytest.mark.filterwarnings("ignore:RandomForestClassifier gives")
    def test_a_model_that_knows_its_rows_by_heart_is_no_proof(self):
        forest = RandomForestClassifier(20, bootstrap=False, random_state=0)
        is_target = np.repeat([0, 1], [90, 60])
        ratio = ClassifierRatio(forest).fit(X, X_TARGET)
        known = ratio.log_weights(Table.of("X", np.r_[X, X_TARGET]))
        assert auc(known, is_target) == 1.0
        held_out = out_of_fold_log_odds(forest, np.r_[X, X_TARGET][:, None], is_target, 5, 0)
        assert auc(held_out, is_target) < 0.9


def test_the_rows_it_saw_may_not_calibrate():
    ratio = fitted(classifier=PLAIN)
    assert {role: len(rows) for role, rows in ratio.ledger.digests.items()} == {
        "ratio_source": 90,
        "ratio_target": 60,
    }
    losses = LossCurves.steps(np.ones(90))
    with pytest.raises(InputError, match="other rows than those for ratio source"):
        ratio.curve(losses, pl.from_pandas(SOURCE).reverse())
    assert len(ratio.curve(losses, sample(90, 0, 5))) == 90


def test_what_is_assumed():
    assumption = fitted(classifier=PLAIN).assumption
    assert assumption.certainty is Certainty.ESTIMATED
    assert "by LogisticRegression from 90 source, 60 target rows" in assumption.basis
    assert assumption.promise.startswith("E[loss] <= alpha + Lmax TV(P', the estimated target)")


def test_a_classifier_stays_as_it_was_given():
    model = LogisticRegression()
    ClassifierRatio(model).fit(X, X_TARGET)
    assert not hasattr(model, "coef_")


def test_estimated_weights_are_near_those_of_the_world():
    rng = np.random.default_rng(5)
    ratio = ClassifierRatio().fit(rng.normal(0, 1, (3000, 2)), rng.normal([0.8, 0], 1, (3000, 2)))
    points = rng.normal(0, 1, (500, 2))
    true = KnownRatio(lambda x: np.exp(0.8 * x[:, 0] - 0.32)).weights(points)
    error = ratio.weights(points) / true - 1
    assert np.sqrt(np.mean(error**2)) < 0.15
    assert np.sqrt(np.mean((1 / true - 1) ** 2)) > 0.5  # no weights at all, in the same measure


DAYS = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=20)})


def fit(source, target, **options):
    return lambda: ClassifierRatio(PLAIN, **options).fit(source, target)


def use(table, source=SOURCE, target=TARGET):
    return lambda: ClassifierRatio(PLAIN).fit(source, target).weights(table)


BAD = {
    "no source": (fit(SOURCE[:0], TARGET), "source: expected at least one value, got none"),
    "no target": (fit(SOURCE, TARGET[:0]), "target: expected at least one value, got none"),
    "a small target": (fit(SOURCE, TARGET[:4]), "target: expected at least 5 rows, one for each"),
    "a small source": (fit(X[:6], X_TARGET, folds=7), "source: expected at least 7 rows"),
    "constants": (fit(np.ones((20, 2)), np.ones((20, 2))), "a column that varies"),
    "gaps alone": (fit([NAN] * 20, [NAN] * 20), "a column that varies"),
    "no columns": (fit(SOURCE[[]], TARGET[[]]), "source: expected at least one column"),
    "other columns": (fit(SOURCE, TARGET.assign(more=1)), "the 4 columns of the source, got 5"),
    "other names": (fit(SOURCE[["x"]], TARGET[["z"]]), "target: expected the columns 'x'"),
    "a table and an array": (fit(SOURCE[["x"]], X_TARGET), "names need a table"),
    "infinite in fitting": (fit(np.r_[X, INF], X_TARGET), "column 0 of source: expected finite"),
    "infinite in use": (use([0.0, -INF], X, X_TARGET), "finite numbers, got -inf in row 1"),
    "days": (fit(DAYS, DAYS), "column 't': expected numbers or categories, got times"),
    "days in polars": (fit(pl.from_pandas(DAYS), pl.from_pandas(DAYS)), "got times"),
    "days in numpy": (fit(DAYS.to_numpy(), DAYS.to_numpy()), "got times"),
    "spans": (fit(DAYS - DAYS.iloc[0], DAYS - DAYS.iloc[0]), "got times"),
    "periods": (fit(*[DAYS.apply(lambda c: c.dt.to_period("D"))] * 2), "got times"),
    "hours": (fit(*[pl.DataFrame({"t": [dt.time(h % 24) for h in range(30)]})] * 2), "got times"),
    "fitted on a table, used on an array": (
        use(SOURCE.to_numpy()),
        "an array of 4 columns; .* names need a table",
    ),
    "fitted on an array, used on a table": (
        use(SOURCE[["x"]], X, X_TARGET),
        "the columns 0, got columns 'x'; positions belong to arrays",
    ),
    "more columns in use": (
        use(np.c_[X, X], X, X_TARGET),
        "X: expected 1 columns, got an array of 2",
    ),
    "a column is gone": (use(SOURCE[["x", "z"]]), "the columns 'word', 'yes', got columns 'x'"),
    "no rows in use": (use(SOURCE[:0]), "X: expected at least one value, got none"),
    "words for numbers": (use(SOURCE.assign(x="a")), "column 'x' of X: expected numbers, got 'a'"),
    "a class for a classifier": (lambda: ClassifierRatio(LogisticRegression), "got type"),
    "a function": (lambda: ClassifierRatio(np.exp), "a scikit-learn classifier, got ufunc"),
    "no probabilities": (lambda: ClassifierRatio(LinearSVC()), "predict_proba, got LinearSVC"),
    "one name": (lambda: ClassifierRatio(columns="x"), r"a sequence of names, got 'x'"),
    "one fold": (lambda: ClassifierRatio(folds=1), "a whole number of at least 2, got 1"),
    "half a fold": (lambda: ClassifierRatio(folds=2.5), "a whole number of at least 2, got 2.5"),
    "a seed below 0": (lambda: ClassifierRatio(seed=-1), "a whole number of at least 0"),
    "a pipeline that is at odds": (
        lambda: ClassifierRatio(make_pipeline(StandardScaler(), PLAIN)).fit(SOURCE, TARGET),
        "classifier: expected one that can be fitted .* got ValueError from Pipeline",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()
