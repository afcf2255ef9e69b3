"""The face of scikit-learn: its own checks, the thresholds of the parts, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import shiftproof as shp

Regressor, Classifier = shp.sklearn.Regressor, shp.sklearn.Classifier
KNOWN = shp.KnownRatio(lambda x: np.exp(np.asarray(x)[:, 0] / 2))
FACES = (Regressor(Ridge()), Classifier(LogisticRegression()))


def numbers(seed, count=120, shift=0.0, columns=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (count, columns))
    x[:, 0] += shift
    return x, x[:, 0] - x[:, 1] + np.exp(x[:, 0] / 2) * rng.normal(size=count)


def classes(seed, count=120, shift=0.0):
    x, y = numbers(seed, count, shift)
    return x, np.array(["low", "mid", "high"])[np.digitize(y, [-1, 1])]


def messages(seed, count=120, rate_off=0.5):
    rng = np.random.default_rng(seed)
    off, place = rng.random(count) < rate_off, rng.uniform(0, 40, count)
    heard = place + np.where(off, 4.0, 0.5) * rng.normal(size=count)
    table = pd.DataFrame({"stations": np.where(off, "off", "on"), "heard": heard})
    return table, place


TRAINING, CALIBRATION, (NEW, TRUTH) = numbers(0), numbers(1), numbers(2, 30, shift=1.0)
TARGET = numbers(3, 100, shift=1.0)[0]
NAMED, NAMED_CALIBRATION = classes(0), classes(1)


def ready(model=None, **parts):
    model = Regressor(Ridge(), **parts) if model is None else model
    return model.fit(*TRAINING).conformalize(*CALIBRATION)


@parametrize_with_checks(
    [
        *FACES,
        Regressor(Ridge(), ratio=shp.ClassifierRatio(), seed=0),
        Regressor(DummyRegressor()),
        Regressor(make_pipeline(StandardScaler(), Ridge()), loss=shp.Distance(cap=1.0)),
        Classifier(make_pipeline(StandardScaler(), LogisticRegression()), ratio=shp.ColumnRatio(0)),
    ]
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


class TestTheSameAsTheParts:
    """Nothing is calculated here: thresholds are those of a controller, to the last bit."""

    @pytest.mark.parametrize(
        "parts",
        [
            {},
            {"ratio": KNOWN},
            {"ratio": KNOWN, "worst_case": shp.Constant()},
            {"sets": shp.Intervals(-30, 30), "loss": shp.Distance(), "ratio": KNOWN},
            {
                "sets": shp.Intervals(-30, 30),
                "loss": shp.Distance(),
                "worst_case": shp.Directional(),
            },
        ],
    )
    def test_a_regressor(self, parts):
        model = ready(**parts)
        parts = {"sets": shp.Intervals(), "loss": shp.Miscoverage()} | parts
        controller = shp.RiskController(Ridge().fit(*TRAINING), **parts)
        found = model.predict_set(NEW, 0.3)
        by_hand = controller.calibrate(*CALIBRATION).predict(NEW, 0.3)
        np.testing.assert_array_equal(found.lower, by_hand.lower)
        np.testing.assert_array_equal(found.upper, by_hand.upper)
        np.testing.assert_array_equal(found.threshold, by_hand.threshold)

    @pytest.mark.parametrize(
        "recipe",
        [
            shp.ClassifierRatio(),
            shp.GaussianRatio(),
            shp.BootstrapRatio(shp.GaussianRatio(), draws=25),
            shp.CrossfitRatio(shp.ClassifierRatio()),
        ],
    )
    def test_a_recipe_learns_from_the_inputs_of_fit(self, recipe):
        model = Regressor(Ridge(), ratio=recipe)
        model.fit(*TRAINING).conformalize(*CALIBRATION, TARGET)
        controller = shp.RiskController(
            Ridge().fit(*TRAINING),
            shp.Intervals(),
            shp.Miscoverage(),
            recipe.fit(TRAINING[0], TARGET),
        )
        np.testing.assert_array_equal(
            model.predict_set(NEW, 0.3).threshold,
            controller.calibrate(*CALIBRATION).predict(NEW, 0.3).threshold,
        )
        assert not model.predict_set(NEW, 0.3).whole.all()
        assert "the source sample is the inputs of fit, taken to have" in str(model.assumption_)

    def test_a_source_of_its_own_serves_instead(self):
        source = numbers(9)[0]
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio()).fit(*TRAINING)
        model.conformalize(*CALIBRATION, TARGET, X_source=source)
        expected = shp.ClassifierRatio().fit(source, TARGET).weights(NEW)
        np.testing.assert_array_equal(model.ratio_.weights(NEW), expected)
        assert "the source sample is X_source, taken to have" in str(model.assumption_)

    def test_a_classifier_and_its_draws(self):
        sets = shp.LabelSets(shp.APS(randomized=True))
        model = Classifier(LogisticRegression(), sets=sets, ratio=KNOWN, seed=5)
        model.fit(*NAMED).conformalize(*NAMED_CALIBRATION, ids=np.arange(120) + 7)
        fitted = LogisticRegression().fit(*NAMED)
        controller = shp.RiskController(fitted, sets, shp.Miscoverage(), KNOWN)
        calibrated = controller.calibrate(*NAMED_CALIBRATION, seed=5, ids=np.arange(120) + 7)
        ids = np.arange(30) * 3
        found = model.predict_set(NEW, 0.2, ids=ids)
        assert found.labels() == calibrated.predict(NEW, 0.2, ids=ids).labels()
        assert found.labels() != model.predict_set(NEW, 0.2).labels()

    def test_the_calibrated_controller_gives_the_rest(self):
        model = Regressor(Ridge(), ratio=KNOWN).fit(*TRAINING)
        model.conformalize(*CALIBRATION, keep=[0])
        risk = model.calibrated_.evaluate(NEW, TRUTH, alpha=0.3).risk
        missed = 1 - model.predict_set(NEW, 0.3).contains(TRUTH).mean()
        assert risk.value == pytest.approx(missed)
        unweighted = model.calibrated_.under(shp.NoShift()).predict(NEW, 0.3)
        assert len(np.unique(unweighted.threshold)) == 1
        assert model.assumption_ == KNOWN.assumption

    def test_what_if_columns_can_be_kept(self):
        model = Regressor(Ridge()).fit(*TRAINING).conformalize(*CALIBRATION, keep=[0])
        under = model.calibrated_.under(KNOWN).predict(NEW, 0.3).threshold
        np.testing.assert_array_equal(under, ready(ratio=KNOWN).predict_set(NEW, 0.3).threshold)


class TestPredictions:
    def test_points_are_those_of_the_estimator(self):
        model = Regressor(Ridge(alpha=3.0)).fit(*TRAINING)
        expected = Ridge(alpha=3.0).fit(*TRAINING).predict(NEW)
        np.testing.assert_array_equal(model.predict(NEW), expected)
        assert model.score(NEW, TRUTH) == Ridge(alpha=3.0).fit(*TRAINING).score(NEW, TRUTH)

    def test_classes_and_probabilities_are_those_of_the_estimator(self):
        model, alone = Classifier(LogisticRegression()), LogisticRegression()
        model.fit(*NAMED)
        alone.fit(*NAMED)
        assert model.classes_.tolist() == ["high", "low", "mid"]
        np.testing.assert_array_equal(model.predict(NEW), alone.predict(NEW))
        np.testing.assert_array_equal(model.predict_proba(NEW), alone.predict_proba(NEW))

    def test_intervals_have_one_layer_for_each_level(self):
        model = ready(ratio=KNOWN)
        y, intervals = model.predict_interval(NEW, [0.1, 0.3, 0.5])
        assert intervals.shape == (30, 2, 3)
        np.testing.assert_array_equal(y, model.predict(NEW))
        for layer, alpha in enumerate([0.1, 0.3, 0.5]):
            sets = model.predict_set(NEW, alpha)
            np.testing.assert_array_equal(intervals[:, 0, layer], sets.lower)
            np.testing.assert_array_equal(intervals[:, 1, layer], sets.upper)
        assert model.predict_interval(NEW, 0.1)[1].shape == (30, 2, 1)
        assert (intervals[:, 1, 0] > intervals[:, 1, 2]).all()

    def test_several_levels_give_several_sets(self):
        model = ready()
        several = model.predict_set(NEW, [0.1, 0.4])
        assert len(several) == 2
        for sets, alpha in zip(several, [0.1, 0.4], strict=True):
            np.testing.assert_array_equal(sets.threshold, model.predict_set(NEW, alpha).threshold)

    def test_infinite_ends_stay_infinite(self):
        _, intervals = ready().predict_interval(NEW, 0.001)
        assert np.isneginf(intervals[:, 0]).all()
        assert np.isposinf(intervals[:, 1]).all()

    def test_centres_are_moved_into_the_range_of_labels_and_points_are_not(self):
        y, training = np.clip(TRAINING[1], -1, 1), TRAINING[0]
        model = Regressor(Ridge(), sets=shp.Intervals(-1, 1)).fit(training, y)
        model.conformalize(CALIBRATION[0], np.clip(CALIBRATION[1], -1, 1))
        far = 100 * NEW
        centers, intervals = model.predict_interval(far, 0.2)
        np.testing.assert_array_equal(centers, np.clip(model.predict(far), -1, 1))
        assert (np.abs(model.predict(far)) > 1).any()
        assert (intervals[:, 0, 0] <= centers).all()
        assert (centers <= intervals[:, 1, 0]).all()

    def test_labels_of_several_numbers(self):
        x, y = TRAINING
        model = Regressor(LinearRegression(), sets=shp.Balls(shp.Box([-30, -30], [30, 30])))
        model.fit(x, np.column_stack([y, -y]))
        model.conformalize(CALIBRATION[0], np.column_stack([CALIBRATION[1], -CALIBRATION[1]]))
        assert model.predict(NEW).shape == model.predict_set(NEW, 0.2).centers.shape == (30, 2)
        with pytest.raises(
            shp.InputError, match=r"sets: expected Intervals.*got Balls.*predict_set"
        ):
            model.predict_interval(NEW, 0.2)

    def test_many_labels(self):
        marks = np.column_stack([TRAINING[1] > 0, TRAINING[0][:, 1] > 0.5]).astype(int)
        others = np.column_stack([CALIBRATION[1] > 0, CALIBRATION[0][:, 1] > 0.5]).astype(int)
        model = Classifier(
            MultiOutputClassifier(LogisticRegression()),
            sets=shp.Masks(),
            loss=shp.FalseNegativeRate(),
        )
        model.fit(TRAINING[0], marks).conformalize(CALIBRATION[0], others)
        assert model.predict_set(NEW, 0.1).members.shape == (30, 2)


class QuantilePair(RegressorMixin, BaseEstimator):
    """Two quantile regressions, side by side."""

    def __init__(self, low=0.2, high=0.8):
        self.low = low
        self.high = high

    def fit(self, X, y):
        quantiles = (self.low, self.high)
        self.pair_ = [QuantileRegressor(quantile=q, alpha=0).fit(X, y) for q in quantiles]
        return self

    def predict(self, X):
        return np.column_stack([one.predict(X) for one in self.pair_])


class TestQuantilePairs:
    model = Regressor(QuantilePair(), sets=shp.Intervals(score=shp.Quantiles()))

    def test_points_are_the_middles(self):
        model = clone(self.model).fit(*TRAINING)
        pair = model.estimator_.predict(NEW)
        np.testing.assert_allclose(model.predict(NEW), pair.mean(axis=1), rtol=1e-12)
        assert model.score(NEW, TRUTH) > 0

    def test_intervals_grow_or_shrink_around_the_pair(self):
        model = ready(clone(self.model))
        y, intervals = model.predict_interval(NEW, [0.05, 0.9])
        np.testing.assert_array_equal(y, model.predict(NEW))
        pair = model.estimator_.predict(NEW)
        assert (intervals[:, 0, 0] < pair[:, 0]).all()
        assert (intervals[:, 0, 1] > pair[:, 0]).all()

    def test_a_search_over_the_quantiles(self):
        search = GridSearchCV(clone(self.model), {"estimator__low": [0.1, 0.3]}, cv=2)
        assert search.fit(*TRAINING).best_params_["estimator__low"] in (0.1, 0.3)


class TestManners:
    @pytest.mark.parametrize("face", FACES)
    def test_nested_parameters(self, face):
        model = clone(face).set_params(estimator__tol=0.5, seed=3)
        assert model.get_params()["estimator__tol"] == model.estimator.tol == 0.5
        assert model.get_params()["seed"] == 3
        assert clone(model).estimator.tol == 0.5

    def test_a_clone_of_what_is_fitted_is_not_fitted(self):
        ratio = shp.ClassifierRatio(folds=4)
        model = Regressor(Ridge(), sets=shp.Intervals(-99, 99), ratio=ratio)
        model.fit(*TRAINING).conformalize(*CALIBRATION, TARGET)
        fresh = clone(model)
        assert fresh.ratio == ratio
        assert not [name for name in vars(fresh) if name.endswith("_")]
        fresh.fit(*TRAINING).conformalize(*CALIBRATION, TARGET)
        np.testing.assert_array_equal(
            fresh.predict_set(NEW, 0.2).threshold, model.predict_set(NEW, 0.2).threshold
        )

    def test_the_estimator_that_was_given_is_left_alone(self):
        model = ready(Regressor(Ridge()))
        assert not hasattr(model.estimator, "coef_")

    def test_a_pickle_gives_the_same_sets(self):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio())
        model.fit(*TRAINING).conformalize(*CALIBRATION, TARGET)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
        np.testing.assert_array_equal(
            again.predict_set(NEW, 0.2).threshold, model.predict_set(NEW, 0.2).threshold
        )

    def test_search_and_scores(self):
        grid = {"estimator__alpha": [0.1, 1e4]}
        search = GridSearchCV(Regressor(Ridge(), ratio=KNOWN), grid, cv=3).fit(*TRAINING)
        assert search.best_params_ == {"estimator__alpha": 0.1}
        model = search.best_estimator_.conformalize(*CALIBRATION)
        assert len(model.predict_set(NEW, 0.2)) == 30
        wrapped, alone = (
            cross_val_score(each, *TRAINING, cv=3) for each in (Regressor(Ridge()), Ridge())
        )
        np.testing.assert_array_equal(wrapped, alone)
        assert cross_val_score(Classifier(LogisticRegression()), *NAMED, cv=3).mean() > 0.4

    def test_a_search_inside(self):
        inner = GridSearchCV(Ridge(), {"alpha": [0.1, 1e4]}, cv=3)
        assert ready(Regressor(inner)).estimator_.best_params_ == {"alpha": 0.1}

    def test_shown_on_a_page(self):
        model = Regressor(Ridge(), sets=shp.Intervals(0, 9), ratio=shp.ClassifierRatio())
        assert "Intervals(lower=0.0, upper=9.0" in repr(model)
        assert "Intervals" in model._repr_html_()

    def test_tags(self):
        assert is_regressor(Regressor(Ridge()))
        assert is_classifier(Classifier(LogisticRegression()))
        trees = Classifier(HistGradientBoostingClassifier()).__sklearn_tags__()
        assert trees.input_tags.allow_nan
        assert not Regressor(Ridge()).__sklearn_tags__().input_tags.allow_nan
        assert not Regressor(Ridge()).__sklearn_tags__().input_tags.sparse
        assert Regressor(FrozenEstimator(Ridge())).__sklearn_tags__()._skip_test is False

    @pytest.mark.parametrize("is_so", [False, True])
    def test_tags_are_those_of_the_estimator(self, is_so):
        class Told:
            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.non_deterministic = tags.no_validation = is_so
                for kind in filter(None, (tags.regressor_tags, tags.classifier_tags)):
                    kind.poor_score = is_so
                return tags

        regressor = type("Line", (Told, Ridge), {})()
        classifier = type("Logit", (Told, LogisticRegression), {})()
        one, other = Regressor(regressor).__sklearn_tags__(), Classifier(classifier)
        other = other.__sklearn_tags__()
        for tags in (one, other):
            assert tags.non_deterministic == tags.no_validation == is_so
        assert one.regressor_tags.poor_score == other.classifier_tags.poor_score == is_so

    def test_reached_by_name_and_not_in_the_way_of_scikit_learn(self):
        assert shp.sklearn.__name__ == "shiftproof.sklearn"
        assert sklearn.__name__ == "sklearn"
        assert "sklearn" in dir(shp)
        assert "sklearn" not in shp.__all__  # a star would put it before scikit-learn


class TestStages:
    @pytest.mark.parametrize("face", FACES)
    def test_before_fit(self, face):
        model = clone(face)
        calls = [
            lambda: model.predict(NEW),
            lambda: model.predict_set(NEW, 0.1),
            lambda: model.conformalize(*CALIBRATION),
        ]
        for call in calls:
            with pytest.raises(
                NotFittedError, match=rf"This {type(model).__name__} instance is not"
            ):
                call()

    def test_before_conformalize(self):
        model = Regressor(Ridge()).fit(*TRAINING)
        for call in (model.predict_set, model.predict_interval):
            with pytest.raises(NotFittedError, match="fitted but not conformalized yet"):
                call(NEW, 0.1)

    def test_another_fit_voids_the_calibration(self):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio())
        model.fit(*TRAINING).conformalize(*CALIBRATION, TARGET).fit(*numbers(8))
        for name in ("calibrated_", "ratio_", "assumption_"):
            assert not hasattr(model, name)
        with pytest.raises(NotFittedError, match="every 'fit' asks for it again"):
            model.predict_set(NEW, 0.1)

    def test_what_fails_changes_nothing(self):
        model = ready()
        before = dict(vars(model))
        x, y = CALIBRATION
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full_like(x, np.nan), y)
        with pytest.raises(shp.InputError, match="labels: expected 120 rows"):
            model.conformalize(x, y[1:])
        with pytest.raises(shp.InputError, match="labels"):
            model.conformalize(x, np.where(np.arange(120) == 3, np.nan, y))
        assert vars(model) == before
        assert len(model.predict_set(NEW, 0.1)) == 30

    def test_calibrated_again_on_other_rows(self):
        model = ready()
        first = model.predict_set(NEW, 0.2).threshold
        assert (model.conformalize(*numbers(7)).predict_set(NEW, 0.2).threshold != first).all()

    def test_calibrated_again_for_another_target(self):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio()).fit(*TRAINING)
        first = model.conformalize(*CALIBRATION, TARGET).ratio_
        other = numbers(13, 100, shift=-1.0)[0]
        model.conformalize(*CALIBRATION, other)
        expected = shp.ClassifierRatio().fit(TRAINING[0], other).weights(NEW)
        np.testing.assert_array_equal(model.ratio_.weights(NEW), expected)
        assert model.calibrated_.controller.ratio is model.ratio_ is not first

    def test_a_frozen_estimator_is_not_trained_again(self):
        trained = Ridge().fit(*TRAINING)
        model = Regressor(FrozenEstimator(trained)).fit(*numbers(6))
        assert model.estimator_.estimator is trained
        np.testing.assert_array_equal(
            model.conformalize(*CALIBRATION).predict_set(NEW, 0.2).threshold,
            ready().predict_set(NEW, 0.2).threshold,
        )


class TestWhichRowsServeForWhat:
    def test_rows_that_trained_do_not_calibrate(self):
        model = Regressor(Ridge()).fit(*TRAINING)
        with pytest.raises(shp.InputError, match="other rows than those for training"):
            model.conformalize(*TRAINING)

    def test_in_any_order_and_kind(self):
        model = Regressor(Ridge()).fit(*TRAINING)
        with pytest.raises(shp.InputError, match="other rows than those for training"):
            model.conformalize(TRAINING[0][::-1].tolist(), TRAINING[1][::-1].tolist())

    def test_some_of_them_are_warned_of(self):
        model = Regressor(Ridge()).fit(*TRAINING)
        mixed = [
            np.concatenate([a[:20], b[20:]]) for a, b in zip(TRAINING, CALIBRATION, strict=True)
        ]
        with pytest.warns(shp.ShiftWarning, match="20 rows .* of calibration are also in training"):
            model.conformalize(*mixed)

    def test_equal_inputs_with_other_labels_are_other_rows(self):
        x = np.tile([[0.0], [1.0]], (60, 1))
        rng = np.random.default_rng(0)
        model = Regressor(Ridge()).fit(x, rng.normal(size=120))
        assert len(model.conformalize(x, rng.normal(size=120)).calibrated_) == 120

    def test_a_frozen_estimator_has_not_trained_on_the_rows_of_fit(self):
        model = Regressor(FrozenEstimator(Ridge().fit(*TRAINING))).fit(*CALIBRATION)
        assert len(model.conformalize(*CALIBRATION).calibrated_) == 120

    def test_but_a_recipe_has(self):
        trained = FrozenEstimator(Ridge().fit(*TRAINING))
        model = Regressor(trained, ratio=shp.ClassifierRatio()).fit(*CALIBRATION)
        with pytest.raises(shp.InputError, match="other rows than those for ratio source"):
            model.conformalize(*CALIBRATION, TARGET)

    def test_calibration_inputs_are_no_source_unless_cross_fitted(self):
        x = CALIBRATION[0]
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio()).fit(*TRAINING)
        with pytest.raises(shp.InputError, match="other rows than those for ratio source"):
            model.conformalize(*CALIBRATION, TARGET, X_source=x)
        model = Regressor(Ridge(), ratio=shp.CrossfitRatio(shp.ClassifierRatio())).fit(*TRAINING)
        model.conformalize(*CALIBRATION, TARGET, X_source=x)
        assert "cross-fitted weights are not covered exactly" in model.assumption_.cautions

    def test_target_inputs_are_not_those_that_calibrate(self):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio()).fit(*TRAINING)
        with pytest.raises(shp.InputError, match="other rows than those for ratio target"):
            model.conformalize(*CALIBRATION, CALIBRATION[0])

    def split_evenly(self, count=1000):
        """Half of the stations off, in both parts exactly."""
        off, rng = np.arange(count) % 2, np.random.default_rng(0)
        x = pd.DataFrame({"off": off, "heard": rng.normal(size=count)})
        parts = train_test_split(x, rng.normal(size=count), test_size=0.5, stratify=off)
        target = pd.DataFrame({"off": rng.random(400) < 0.9, "heard": rng.normal(size=400)})
        return *parts, target.astype({"off": int})

    @pytest.mark.parametrize("crossfit", [False, True])
    def test_a_ratio_of_few_values_may_meet_them_all_again(self, crossfit):
        """An honest split, of which the ratio reads one column of two values."""
        training, x, y_training, y, target = self.split_evenly()
        recipe = shp.ClassifierRatio(LogisticRegression(), columns=["off"])
        model = Regressor(Ridge(), ratio=shp.CrossfitRatio(recipe) if crossfit else recipe)
        model.fit(training, y_training).conformalize(x, y, target)
        assert len(model.calibrated_) == 500

    def test_nor_are_few_labels_of_one_input_the_same_rows(self):
        x, y = np.ones((50, 1)), np.arange(50) % 2
        model = Classifier(LogisticRegression()).fit(x, y)
        assert len(model.conformalize(x, y[::-1]).calibrated_) == 50

    @pytest.mark.parametrize("sample", ["source", "target"])
    def test_whole_rows_tell_what_few_columns_do_not(self, sample):
        training, x, y_training, y, target = self.split_evenly()
        recipe = shp.ClassifierRatio(LogisticRegression(), columns=["off"])
        model = Regressor(Ridge(), ratio=recipe).fit(training, y_training)
        samples = {"X_source": training, "X_target": target, f"X_{sample}": x[::-1]}
        with pytest.raises(shp.InputError, match=f"other rows than those for ratio {sample}"):
            model.conformalize(x, y, **samples)
        if sample == "source":
            model.set_params(ratio=shp.CrossfitRatio(recipe)).conformalize(x, y, **samples)

    def test_a_law_is_asked_only_of_what_the_ratio_reads(self):
        x, y = numbers(4, 300)
        x[:, 2] -= 3.0
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio(columns=[0])).fit(x, y)
        model.conformalize(*numbers(5, 300), TARGET)  # warnings are errors here
        with pytest.warns(shp.ShiftWarning, match="are told apart"):
            model.set_params(ratio=shp.ClassifierRatio()).conformalize(*numbers(5, 300), TARGET)

    def test_training_rows_of_another_law_are_told(self):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio())
        model.fit(*numbers(4, 300, shift=-1.5))
        with pytest.warns(shp.ShiftWarning, match="source and calibration inputs are told apart"):
            model.conformalize(*numbers(5, 300), TARGET)
        assert "are told apart" in str(model.assumption_)
        model.conformalize(*numbers(5, 300), TARGET, X_source=numbers(6, 300)[0])
        assert "are told apart" not in str(model.assumption_)
        with pytest.warns(shp.ShiftWarning, match="source and calibration inputs are told apart"):
            model.conformalize(*numbers(5, 300), TARGET, X_source=numbers(6, 300, shift=-1.5)[0])

    def test_the_source_is_out_of_reach_of_later_changes(self):
        for kind in (np.array, pd.DataFrame, pl.DataFrame):
            frame = kind(TRAINING[0].copy()) if kind is not pl.DataFrame else pl.from_numpy(NEW)
            y = TRAINING[1] if kind is not pl.DataFrame else TRUTH
            if kind is pd.DataFrame:
                frame.columns = list("abc")
            model = Regressor(Ridge(), ratio=shp.ClassifierRatio()).fit(frame, y)
            before = np.asarray(model.source_).copy()
            if kind is np.array:
                frame[:] = 0
            elif kind is pd.DataFrame:
                frame.loc[:, :] = 0.0
            np.testing.assert_array_equal(np.asarray(model.source_), before)
        assert ready().source_ is None


class TestCautions:
    """What is known of the source sample goes wherever the calibration goes."""

    def calibrated(self, recipe):
        model = Regressor(Ridge(), ratio=recipe).fit(*TRAINING)
        return model.conformalize(*CALIBRATION, TARGET).calibrated_

    def test_in_the_calibration_and_in_words(self, tmp_path):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio(LogisticRegression()))
        model.fit(*numbers(4, 300, shift=-1.5))
        with pytest.warns(shp.ShiftWarning, match="are told apart"):
            model.conformalize(*numbers(5, 300), TARGET)
        calibrated = model.calibrated_
        assert calibrated.assumption == model.assumption_
        assert calibrated.assumption.cautions[-2:] == calibrated.cautions
        told = str(calibrated.explain(NEW, 0.2))
        for sentence in ("the source sample is the inputs of fit", "are told apart"):
            assert sentence in told
            assert sentence in str(calibrated.assumption)
        shp.save(calibrated, tmp_path / "a.npz", models=True)
        assert "are told apart" in shp.contents(tmp_path / "a.npz").promise
        again = shp.load(tmp_path / "a.npz", predictor=model.estimator_)
        assert again.cautions == calibrated.cautions
        assert str(again.assumption) == str(model.assumption_)

    def test_under_ratios_of_the_same_source(self):
        calibrated = self.calibrated(shp.ClassifierRatio(LogisticRegression()))
        point = calibrated.controller.ratio
        other = shp.GaussianRatio().fit(TRAINING[0], numbers(14, 100, shift=0.5)[0])
        for ratio in (point, shp.ClippedRatio(point, 5.0).fit(numbers(15, 500)[0]), other):
            assert calibrated.under(ratio).assumption.cautions[-1:] == calibrated.cautions
        prepared = calibrated.prepare(NEW).under(other)
        assert prepared.calibrated.cautions == calibrated.cautions

    def test_not_under_others(self):
        calibrated = self.calibrated(shp.ClassifierRatio(LogisticRegression()))
        elsewhere = shp.GaussianRatio().fit(numbers(16)[0], TARGET)
        for ratio in (shp.NoShift(), KNOWN, elsewhere):
            assert calibrated.under(ratio).assumption == ratio.assumption

    def test_a_ratio_of_ones_own_has_none(self):
        assert ready(ratio=KNOWN).calibrated_.cautions == ()


class TestRatios:
    @pytest.mark.parametrize("role", ["X_target", "X_source"])
    @pytest.mark.parametrize(
        "ratio",
        [None, KNOWN, shp.WithinGroups(0), shp.ClassifierRatio().fit(numbers(9)[0], TARGET)],
    )
    def test_one_that_is_ready_takes_no_samples(self, ratio, role):
        model = Regressor(Ridge(), ratio=ratio).fit(*TRAINING)
        name = type(ratio or shp.NoShift()).__name__
        with pytest.raises(shp.InputError, match=rf"{role}: expected none, as the ratio, {name},"):
            model.conformalize(*CALIBRATION, **{role: TARGET})

    def test_a_recipe_needs_target_inputs(self):
        model = Regressor(Ridge(), ratio=shp.ClassifierRatio()).fit(*TRAINING)
        with pytest.raises(
            shp.InputError, match=r"X_target: expected inputs .* for ClassifierRatio"
        ):
            model.conformalize(*CALIBRATION)

    def test_a_recipe_that_came_after_fit(self):
        model = Regressor(Ridge()).fit(*TRAINING).set_params(ratio=shp.ClassifierRatio())
        with pytest.raises(shp.InputError, match="those of fit were not kept"):
            model.conformalize(*CALIBRATION, TARGET)
        model.conformalize(*CALIBRATION, TARGET, X_source=TRAINING[0])
        assert len(model.calibrated_) == 120

    @pytest.mark.parametrize(
        ("ratio", "message"),
        [
            (shp.ClippedRatio(KNOWN, 5.0), "got ClippedRatio; pass what it fits"),
            (shp.ClassifierRatio, "got ClassifierRatio; pass what it fits|an instance"),
            (LogisticRegression(), r"got LogisticRegression; .*ClassifierRatio\(classifier\)"),
            (3.0, "got float"),
        ],
    )
    def test_what_is_neither_ready_nor_a_recipe(self, ratio, message):
        with pytest.raises(
            shp.InputError, match=f"ratio: expected a ratio, or a recipe.*{message}"
        ):
            Regressor(Ridge(), ratio=ratio).fit(*TRAINING)
        model = Regressor(Ridge()).fit(*TRAINING).set_params(ratio=ratio)
        with pytest.raises(
            shp.InputError, match=f"ratio: expected a ratio, or a recipe.*{message}"
        ):
            model.conformalize(*CALIBRATION, TARGET)

    def test_a_clipped_ratio_goes_in_when_its_price_is_known(self):
        clipped = shp.ClippedRatio(KNOWN, 5.0).fit(numbers(9, 500, shift=0.5)[0])
        assert ready(ratio=clipped).ratio_ is clipped

    def test_groups_counted_by_hand_and_by_the_adapter(self):
        (x, y), (x_cal, y_cal), target = messages(0), messages(1), messages(2, rate_off=0.9)[0]
        inner = make_pipeline(make_column_transformer(("passthrough", ["heard"])), Ridge())
        new = messages(4, 20, rate_off=0.9)[0]
        ratio = shp.GroupRatio("stations", source=x, target=target)
        for delta, expected in ((None, ratio), (0.1, ratio.within(0.1))):
            model = Regressor(inner, ratio=shp.CountedRatio("stations", delta))
            model.fit(x, y).conformalize(x_cal, y_cal, target)
            by_hand = Regressor(inner, ratio=expected).fit(x, y).conformalize(x_cal, y_cal)
            np.testing.assert_array_equal(
                model.predict_set(new, 0.2).threshold, by_hand.predict_set(new, 0.2).threshold
            )
            assert type(model.ratio_) is type(expected)

    def test_groups_are_not_counted_on_what_calibrates(self):
        x, y = messages(1)
        inner = make_pipeline(make_column_transformer(("passthrough", ["heard"])), Ridge())
        model = Regressor(inner, ratio=shp.CountedRatio("stations")).fit(*messages(0))
        with pytest.raises(shp.InputError, match="other rows than those for ratio source"):
            model.conformalize(x, y, messages(2)[0], X_source=x)

    def test_counted_ratios_refuse_what_means_nothing(self):
        with pytest.raises(shp.InputError, match="delta: expected a probability that is paid"):
            shp.CountedRatio("stations", paid=True)
        with pytest.raises(shp.InputError, match="group"):
            shp.CountedRatio(None)
        with pytest.raises(shp.InputError, match="delta"):
            shp.CountedRatio("stations", 1.5)


class TestTables:
    """The estimator drops a column and scales another; the ratio reads the first as it is."""

    inner = make_pipeline(
        make_column_transformer((StandardScaler(), ["heard"])), DecisionTreeRegressor(max_depth=3)
    )
    ratio = shp.GroupRatio(
        "stations", source={"off": 0.5, "on": 0.5}, target={"off": 0.9, "on": 0.1}
    )

    @pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas])
    def test_the_ratio_reads_the_raw_columns(self, kind):
        (x, y), (x_cal, y_cal), (new, _) = messages(0), messages(1), messages(2, 40)
        model = Regressor(self.inner, ratio=self.ratio).fit(kind(x), y)
        model.conformalize(kind(x_cal), y_cal)
        sets = model.predict_set(kind(new), 0.2)
        assert model.feature_names_in_.tolist() == ["stations", "heard"]
        assert model.n_features_in_ == 2
        assert isinstance(sets.to_frame(), type(kind(new)))
        controller = shp.RiskController(
            clone(self.inner).fit(x, y), shp.Intervals(), shp.Miscoverage(), self.ratio
        )
        by_hand = controller.calibrate(x_cal, y_cal).predict(new, 0.2)
        np.testing.assert_array_equal(sets.threshold, by_hand.threshold)
        unweighted = model.calibrated_.under(shp.NoShift()).predict(kind(new), 0.2)
        assert (sets.threshold > unweighted.threshold).all()

    def test_arrow(self):
        table, (x_cal, y_cal) = pa.table({"a": TRAINING[0][:, 0]}), CALIBRATION
        model = Regressor(Ridge(), ratio=shp.KnownRatio(np.exp, columns=["a"]))
        model.fit(table, TRAINING[1]).conformalize(pa.table({"a": x_cal[:, 0]}), y_cal)
        assert isinstance(model.predict_set(pa.table({"a": NEW[:, 0]}), 0.2).to_frame(), pa.Table)

    @pytest.mark.parametrize("stage", ["conformalize", "predict_set"])
    @pytest.mark.parametrize("columns", [["heard", "stations"], ["stations"]])
    def test_other_columns_than_those_of_fit(self, stage, columns):
        (x, y), (x_cal, y_cal) = messages(0), messages(1)
        model = Regressor(self.inner, ratio=self.ratio).fit(x, y).conformalize(x_cal, y_cal)
        args = {"conformalize": (y_cal,), "predict_set": (0.1,)}[stage]
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(model, stage)(x_cal[columns], *args)

    def test_columns_of_an_array(self):
        with pytest.raises(ValueError, match="X has 2 features, but Regressor is expecting 3"):
            ready().predict_set(NEW[:, :2], 0.1)

    def test_a_sparse_matrix_is_refused(self):
        with pytest.raises(shp.InputError, match="a sparse csr_array; sparse inputs are not"):
            Regressor(Ridge()).fit(csr_array(TRAINING[0]), TRAINING[1])

    def test_one_dimension_is_refused(self):
        with pytest.raises(shp.InputError, match="rows and columns, got one dimension"):
            Regressor(Ridge()).fit(["a text", "another"], [0.0, 1.0])


class TestSampleWeights:
    weights = np.random.default_rng(0).uniform(0.1, 3, 120)
    expected = Ridge().fit(*TRAINING, sample_weight=weights).coef_

    def test_without_routing_they_are_passed_on(self):
        model = Regressor(Ridge()).fit(*TRAINING, sample_weight=self.weights)
        np.testing.assert_array_equal(model.estimator_.coef_, self.expected)
        piped = Regressor(make_pipeline(StandardScaler(), Ridge()))
        piped.fit(*TRAINING, ridge__sample_weight=self.weights)
        assert (piped.predict(NEW) != clone(piped).fit(*TRAINING).predict(NEW)).all()

    def test_with_routing_they_go_where_they_are_asked_for(self):
        with config_context(enable_metadata_routing=True):
            asks = Ridge().set_fit_request(sample_weight=True)
            model = Regressor(asks).fit(*TRAINING, sample_weight=self.weights)
            np.testing.assert_array_equal(model.estimator_.coef_, self.expected)
            declines = Ridge().set_fit_request(sample_weight=False)
            with pytest.raises(TypeError, match="sample_weight"):
                Regressor(declines).fit(*TRAINING, sample_weight=self.weights)
            with pytest.raises(ValueError, match="sample_weight"):
                Regressor(Ridge()).fit(*TRAINING, sample_weight=self.weights)

    def test_through_a_search(self):
        with config_context(enable_metadata_routing=True):
            asks = Ridge().set_fit_request(sample_weight=True)
            model = Regressor(asks).set_score_request(sample_weight=True)
            search = GridSearchCV(model, {"estimator__alpha": [1.0]}, cv=2)
            search.fit(*TRAINING, sample_weight=self.weights)
            found = search.best_estimator_.estimator_.coef_
            np.testing.assert_array_equal(found, self.expected)
            alone = clone(asks).set_score_request(sample_weight=True)
            alone = GridSearchCV(alone, {"alpha": [1.0]}, cv=2)
            alone.fit(*TRAINING, sample_weight=self.weights)
            assert search.best_score_ == alone.best_score_  # the score is weighed as well

    def test_through_a_pipeline_inside(self):
        with config_context(enable_metadata_routing=True):
            inner = make_pipeline(StandardScaler(), Ridge().set_fit_request(sample_weight=True))
            inner[0].set_fit_request(sample_weight=False)
            model = Regressor(inner).fit(*TRAINING, sample_weight=self.weights)
            by_hand = clone(inner).fit(*TRAINING, sample_weight=self.weights)
            np.testing.assert_array_equal(model.predict(NEW), by_hand.predict(NEW))


class TestBorder:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (Regressor(LogisticRegression()), "estimator: expected a regressor, got Logistic"),
            (Classifier(LinearSVC()), "a classifier with predict_proba, got LinearSVC"),
            (Classifier(Ridge()), "a classifier with predict_proba, got Ridge"),
            (Regressor(Ridge), "an estimator of scikit-learn, with fit, got Ridge"),
            (Regressor(lambda x: x), "models of other libraries go into shiftproof.RiskController"),
            (Regressor(None), "an estimator of scikit-learn, with fit, got NoneType"),
            (Regressor(Ridge(), sets=shp.Intervals), "sets: expected an object with nest"),
            (Regressor(Ridge(), loss=shp.Distance()), "bound"),
            (Regressor(Ridge(), loss=shp.FalseNegativeRate()), "sets: expected sets with"),
            (Regressor(Ridge(), worst_case=shp.Directional()), "worst_case: expected"),
            (Classifier(LogisticRegression(), loss=shp.Distance()), "sets: expected sets with"),
            (Regressor(Ridge(), sets=shp.LabelSets()), "Intervals or Balls.*LabelSets; use Class"),
            (Regressor(Ridge(), sets=shp.Masks()), "Intervals or Balls.*Masks; use Classifier"),
            (
                Classifier(LogisticRegression(), sets=shp.Intervals()),
                "sets: expected LabelSets or Masks.*got Intervals; use Regressor",
            ),
            (
                Classifier(LogisticRegression(), sets=shp.Balls(shp.Box([0, 0], [1, 1]))),
                "sets: expected LabelSets or Masks.*got Balls; use Regressor",
            ),
        ],
    )
    def test_parts_are_refused_before_anything_is_trained(self, model, message):
        with pytest.raises(shp.InputError, match=message):
            model.fit(TRAINING[0], NAMED[1] if isinstance(model, Classifier) else TRAINING[1])
        assert not [name for name in vars(model) if name.endswith("_")]

    @pytest.mark.parametrize("alpha", [-0.1, 1.5, np.nan, [], [[0.1]], "a", None, True, [0.1, 2]])
    def test_levels(self, alpha):
        model = ready()
        for call in (model.predict_set, model.predict_interval):
            with pytest.raises(shp.InputError, match="alpha"):
                call(NEW, alpha)

    def test_a_random_score_without_a_seed(self):
        sets = shp.LabelSets(shp.APS(randomized=True))
        model = Classifier(LogisticRegression(), sets=sets).fit(*NAMED)
        with pytest.raises(shp.InputError, match="seed"):
            model.conformalize(*NAMED_CALIBRATION)

    def test_a_class_that_training_never_saw(self):
        model = Classifier(LogisticRegression()).fit(*NAMED)
        x, y = NAMED_CALIBRATION
        with pytest.raises(shp.InputError, match="labels among"):
            model.conformalize(x, np.where(np.arange(120) == 4, "other", y))
