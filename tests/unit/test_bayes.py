"""Learners at their border: what they read and refuse, what they give back, what they promise."""

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest

import shiftproof as shp
from networks import CLASSIFIERS, NET, RECIPES, fitted, of_classes, of_numbers, thirds, training
from shiftproof import bayes
from shiftproof.bayes import (
    ByColumn,
    ConvergenceError,
    DivergenceError,
    Ensemble,
    ErrorProbability,
    Gaussian,
    GibbsNetwork,
    LangevinNetwork,
    Network,
    PrivacyWarning,
    PrivateNetwork,
    Scaling,
    Softmax,
    StudentT,
    Together,
    VariationalNetwork,
    Welsch,
)
from shiftproof.bayes.chains import figures
from shiftproof.bayes.progress import Line
from shiftproof.bayes.training import _advance
from shiftproof.keys import row_keys

X, Y = training()
QUICK = replace(RECIPES["variational"], steps=40)
#: Rows and columns like those that other tests have compiled for.
NAMED = {
    "pandas": lambda x: pd.DataFrame({"hard": x[:, 0], "heard": x[:, 1]}),
    "polars": lambda x: pl.DataFrame({"hard": x[:, 0], "heard": x[:, 1]}),
}


class TestTables:
    @pytest.mark.parametrize("kind", NAMED)
    def test_columns_are_found_by_name(self, kind):
        table = NAMED[kind](X)
        posterior = QUICK.fit(table, Y, seed=0)
        assert posterior.columns == ("hard", "heard")
        at_once = posterior.mean(table)
        np.testing.assert_array_equal(at_once, QUICK.fit(X, Y, seed=0).mean(X))
        mixed = NAMED["pandas"](X)[["heard", "hard"]].assign(more=1.0)
        np.testing.assert_array_equal(posterior.mean(mixed), at_once)
        with pytest.raises(shp.InputError, match="expected the columns 'hard'"):
            posterior.mean(mixed[["heard"]])

    def test_labels_of_one_column_come_back_flat_and_of_two_as_pairs(self):
        assert QUICK.fit(X, Y, seed=0).mean(X[:3]).shape == (3,)
        pairs = QUICK.fit(X, np.column_stack([Y, -Y]), seed=0)
        assert pairs.mean(X[:3]).shape == (3, 2)
        assert pairs.sample(X[:3], 5, seed=0).shape == (5, 3, 2)
        assert QUICK.fit(X, Y[:, None], seed=0).mean(X[:3]).shape == (3, 1)

    def test_large_offsets_lose_no_digits(self):
        """Seconds since 1970 have ten digits, of which 32-bit floats would keep seven."""
        moved = X + np.array([0.0, 1.7e9])
        np.testing.assert_allclose(
            QUICK.fit(moved, Y, seed=0).mean(moved), QUICK.fit(X, Y, seed=0).mean(X), atol=1e-3
        )

    def test_units_of_labels_change_nothing(self):
        one, other = (QUICK.fit(X, labels, seed=0) for labels in (Y, 100 + 1e4 * Y))
        np.testing.assert_allclose(other.mean(X), 100 + 1e4 * one.mean(X), rtol=1e-3)

    def test_a_column_that_never_varies_is_harmless(self):
        still = np.column_stack([X[:, 0], np.full(len(X), 0.1)])
        assert np.isfinite(QUICK.fit(still, Y, seed=0).mean(still)).all()


class TestClasses:
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_labels_and_probabilities(self, name):
        posterior = of_classes(name)
        assert posterior.classes.tolist() == ["left", "middle", "right"]
        chances = posterior.mean(X, "predict_proba")
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-5)
        named = posterior.classes[chances.argmax(axis=1)]
        np.testing.assert_array_equal(posterior.mean(X), named)
        assert (named == thirds(Y)).mean() > 0.6
        drawn = posterior.draw(X, row_keys(0, "a", len(X)), "predict_proba")
        np.testing.assert_allclose(drawn.sum(axis=1), 1.0, atol=1e-5)

    def test_numbers_and_truth_values_are_labels_too(self):
        recipe = replace(CLASSIFIERS["variational"], steps=40)
        assert recipe.fit(X, np.digitize(Y, [3, 6]) + 4, seed=0).classes.tolist() == [4, 5, 6]
        assert recipe.fit(X, Y > 5, seed=0).classes.tolist() == [False, True]

    def test_label_sets_are_built_from_them(self):
        posterior = of_classes("variational")
        controller = shp.RiskController(shp.Thompson(posterior), shp.LabelSets(), shp.Miscoverage())
        sets = controller.calibrate(X, thirds(Y), seed=0).predict(X, 0.2)
        assert {label for each in sets.labels() for label in each} <= {"left", "middle", "right"}
        assert sets.contains(thirds(Y)).mean() > 0.7

    def test_log_likelihood_is_that_of_the_mean_probability(self):
        posterior = of_classes("ensemble")
        chances = posterior.mean(X, "predict_proba")
        place = np.searchsorted(posterior.classes, thirds(Y))
        np.testing.assert_allclose(
            posterior.log_likelihood(X, thirds(Y)),
            np.log(chances[np.arange(len(X)), place]), atol=1e-4,
        )  # fmt: skip


def with_gap(values, what):
    found = np.array(values, dtype=float)
    found[5] = what
    return found


def of(recipe, x=X, y=Y, **more):
    return lambda: recipe.fit(x, y, **({"seed": 0} | more))


REFUSED = {
    "one row": (of(QUICK, X[:1], Y[:1]), "X: expected at least 2 rows, got 1"),
    "no columns": (of(QUICK, X[:, :0]), "X: expected at least one column"),
    "NaN": (of(QUICK, with_gap(X, np.nan)), "X: expected no NaN"),
    "infinite inputs": (of(QUICK, with_gap(X, np.inf)), "X: expected finite numbers"),
    "words": (of(QUICK, NAMED["pandas"](X).assign(more="a")), "column 'more' of X: expected num"),
    "other rows": (of(QUICK, X, Y[1:]), "labels: expected 300 rows"),
    "NaN labels": (of(QUICK, X, with_gap(Y, np.nan)), "labels: expected no NaN"),
    "infinite labels": (of(QUICK, X, with_gap(Y, np.inf)), "labels: expected finite numbers"),
    "constant labels": (of(QUICK, X, 0 * Y + 3), "labels: expected numbers that vary, got 3.0"),
    "one of two constant": (of(QUICK, X, np.column_stack([Y, 0 * Y])), "everywhere in column 1"),
    "words for numbers": (of(QUICK, X, thirds(Y)), "for labels of classes pass likelihood=Softm"),
    "one class": (
        of(CLASSIFIERS["variational"], X, np.full(300, "a")),
        "labels: expected at least two classes, got",
    ),
    "a missing class": (
        of(CLASSIFIERS["variational"], X, np.array([None, *["a", "b"] * 150][:300], object)),
        "labels: expected no missing labels, got 1 missing, the first in row 0",
    ),
    "mixed classes": (
        of(CLASSIFIERS["variational"], X, np.array(["a", 1] * 150, object)),
        "labels: expected labels of one kind",
    ),
    "two columns of classes": (
        of(CLASSIFIERS["variational"], X, np.column_stack([Y > 5] * 2)),
        "labels: expected one label for each row",
    ),
    "no seed": (of(QUICK, seed=None), "seed: expected an integer, got None"),
    "half a seed": (of(QUICK, seed=0.5), "seed: expected an integer"),
    "truth for a seed": (of(QUICK, seed=True), "seed: expected an integer"),
    "a seed for seeds": (lambda: QUICK.fit_many(X, Y, 3), "seeds: expected a sequence"),
    "no seeds": (lambda: QUICK.fit_many(X, Y, []), "seeds: expected at least one"),
    "rows for other seeds": (
        lambda: QUICK.fit_many(X, Y, [0, 1], rows=[range(9)]),
        "rows: expected one array of rows for each of 2 seeds, got 1",
    ),
    "rows twice": (
        lambda: QUICK.fit_many(X, Y, [0], rows=[[1, 1, 2]]),
        "rows: expected at least two rows, each of them once, got 3 rows, 2 different",
    ),
    "rows beyond": (
        lambda: QUICK.fit_many(X, Y, [0], rows=[[1, 300]]),
        "rows: expected integers from 0 to 299",
    ),
    "a constant subset": (
        lambda: QUICK.fit_many(X[:4], [1.0, 1.0, 2.0, 3.0], [0], rows=[[0, 1]]),
        "numbers that vary",
    ),
    "centres of other width": (
        of(replace(QUICK, inputs=Scaling([0.0] * 3, 1.0))),
        r"center: expected one number or 2, one for each column of X, got shape \(3,\)",
    ),
    "out of all proportion": (
        of(replace(QUICK, inputs=Scaling(0.0, 1e-30))),
        r"X: expected values within 1e\+15 standard units",
    ),
    "another width": (lambda: of_numbers("variational").mean(X[:, :1]), "X: expected 2 columns, g"),
    "a gap in use": (lambda: of_numbers("variational").mean(with_gap(X, np.nan)), "X: expected no"),
    "keys of other rows": (
        lambda: of_numbers("variational").draw(X, row_keys(0, "a", 3)),
        r"keys: expected shape \(300,\)",
    ),
    "probabilities of numbers": (
        lambda: of_numbers("ensemble").mean(X, "predict_proba"),
        "method: expected 'predict', of numbers",
    ),
    "another method": (lambda: of_numbers("ensemble").mean(X, "transform"), "method: expected 'pr"),
    "samples without a seed": (lambda: of_numbers("ensemble").sample(X, 3), "since models are dr"),
    "labels of other classes": (
        lambda: of_classes("ensemble").log_likelihood(X, np.full(300, "up")),
        "labels: expected labels among 'left', 'middle', 'right', got 'up' in row 0",
    ),
    "a loss is no law": (
        lambda: of_numbers("Gibbs").log_likelihood(X, Y),
        "posterior: expected a law of labels",
    ),
    "no rows to diagnose": (lambda: of_numbers("Gibbs").diagnose(X[:0]), "X: expected at least on"),
    "a batch of more than all": (
        of(PrivateNetwork(NET, batch=301)),
        "batch: expected at most 300, all rows, got 301",
    ),
    "a large delta": (of(PrivateNetwork(NET, delta=0.01)), "delta: expected less than 1/300"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_learned_from_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(shp.InputError, match=message):
        call()


RECIPES_REFUSED = {
    "no widths": (lambda: Network(3), "widths: expected a sequence"),
    "a layer of none": (lambda: Network((0,)), "widths: expected a whole number of at least 1"),
    "an unknown activation": (
        lambda: Network(activation="sin"),
        "activation: expected one of",
    ),
    "no prior": (lambda: Network(weight_variance=0), "weight_variance: expected a finite number a"),
    "a class for a network": (lambda: Ensemble(Network), "network: expected Network"),
    "a class for a law": (lambda: Ensemble(likelihood=Softmax), "likelihood: expected Gaussian, S"),
    "a loss for a law": (lambda: Ensemble(likelihood=Welsch(1.0)), "likelihood: expected Gaussian"),
    "a law for a loss": (lambda: GibbsNetwork(loss=Gaussian()), "loss: expected Welsch or Error"),
    "no scale": (lambda: Gaussian(0.0), "scale: expected a finite number above 0"),
    "no freedom": (lambda: StudentT(-1.0), "freedom: expected a finite number above 0"),
    "no width of a loss": (lambda: Welsch(0.0), "scale: expected a finite number above 0"),
    "words for units": (lambda: Ensemble(inputs="columns"), "inputs: expected ByColumn, Together"),
    "a class for units": (lambda: Ensemble(labels=ByColumn), "labels: expected ByColumn, Together"),
    "a scale of 0": (lambda: Scaling(0.0, [1.0, 0.0]), "scale: expected numbers above 0"),
    "no KL weight": (lambda: VariationalNetwork(kl_weight=0), "kl_weight: expected a finite numb"),
    "half a step": (lambda: VariationalNetwork(steps=0.5), "steps: expected a whole number"),
    "no batch": (lambda: Ensemble(batch=0), "batch: expected a whole number of at least 1"),
    "no rate": (lambda: Ensemble(learning_rate=0), "learning_rate: expected a finite number abo"),
    "another schedule": (lambda: Ensemble(schedule="step"), "schedule: expected one of cosine, li"),
    "no members": (lambda: Ensemble(members=0), "members: expected a whole number"),
    "uneven chains": (lambda: LangevinNetwork(snapshots=10), "snapshots: expected a multiple of 4"),
    "no step size": (lambda: LangevinNetwork(step_size=0), "step_size: expected a finite number"),
    "one chain": (lambda: GibbsNetwork(chains=1), "chains: expected a whole number of at least 2"),
    "no temperature": (
        lambda: GibbsNetwork(inverse_temperature=0),
        "inverse_temperature: exp",
    ),
    "sure acceptance": (lambda: GibbsNetwork(acceptance=1.0), "acceptance: expected a share below"),
    "a recipe for features": (lambda: GibbsNetwork(features=QUICK), "features: expected a fitted"),
    "no epsilon": (lambda: GibbsNetwork.of_epsilon(0.0), "epsilon: expected a finite number above"),
    "no delta": (lambda: PrivateNetwork(delta=0), "delta: expected a finite number above 0"),
    "more snapshots than steps": (
        lambda: PrivateNetwork(steps=10, snapshots=6),
        "snapshots: expected at most 5, half of the steps",
    ),
    "noise that no number has": (
        lambda: bayes.noise_for(1e-9, 1e-5, 0.5, 10**6),
        "epsilon: expected a goal that noise can reach",
    ),
    "a rate beyond 1": (lambda: bayes.noise_for(1.0, 1e-5, 1.5, 10), "rate: expected a probabil"),
    "a delta of 1": (lambda: bayes.noise_for(1.0, 1.0, 0.5, 10), "delta: expected a probability"),
}


@pytest.mark.parametrize("name", RECIPES_REFUSED)
def test_what_is_no_recipe_is_refused(name):
    call, message = RECIPES_REFUSED[name]
    with pytest.raises(shp.InputError, match=message):
        call()


class TestSeeds:
    @pytest.mark.parametrize("name", ["variational", "ensemble", "private", "Langevin"])
    def test_the_same_seed_gives_the_same_posterior(self, name):
        again = fitted(RECIPES[name], X, Y)
        np.testing.assert_array_equal(again.mean(X), of_numbers(name).mean(X))
        other = fitted(RECIPES[name], X, Y, seed=1)
        assert (other.mean(X) != again.mean(X)).mean() > 0.9

    def test_any_integer_is_a_seed(self):
        means = [QUICK.fit(X, Y, seed=seed).mean(X[:5]) for seed in (1, 1 + 2**32, 1 + 2**64, -1)]
        assert len(np.unique(np.array(means)[:, 0])) == 4


class TestPrecision:
    @pytest.mark.parametrize("name", ["variational", "Langevin"])
    def test_a_session_in_64_bits_changes_nothing(self, name):
        """Settings of jax belong to the session: here all is computed in 32 bits."""
        with jax.enable_x64(True):
            again = fitted(RECIPES[name], X, Y)
            mean = again.mean(X)
        np.testing.assert_allclose(mean, of_numbers(name).mean(X), atol=1e-4)


class TestFitMany:
    def test_each_is_what_its_seed_gives_alone(self):
        together = replace(QUICK, steps=20).fit_many(X, Y, range(7))
        for seed in (0, 3, 6):
            alone = replace(QUICK, steps=20).fit(X, Y, seed=seed)
            np.testing.assert_allclose(together[seed].mean(X), alone.mean(X), atol=2e-3)
            assert together[seed].seed == seed

    def test_rows_of_each_are_its_training_set(self):
        rows = [np.arange(50), np.arange(100, 300), np.arange(0, 300, 2)]
        together = replace(QUICK, steps=20).fit_many(X, Y, [4, 4, 4], rows=rows)
        for posterior, own in zip(together, rows, strict=True):
            alone = replace(QUICK, steps=20).fit(X[own], Y[own], seed=4)
            np.testing.assert_allclose(posterior.coding.inputs.center, X[own].mean(axis=0))
            np.testing.assert_allclose(posterior.mean(X), alone.mean(X), atol=2e-3)

    def test_what_is_not_among_its_rows_changes_nothing(self):
        spoiled = np.where(np.arange(300) < 100, Y, 1e3)
        one, other = (
            replace(QUICK, steps=20).fit_many(X, y, [0], rows=[np.arange(100)])[0]
            for y in (Y, spoiled)
        )
        np.testing.assert_array_equal(one.mean(X), other.mean(X))

    def test_rows_of_far_other_units_are_no_replicate(self):
        """Near 1.7e9 floats of 32 bits are 128 apart: times within one second become one time."""
        rng = np.random.default_rng(0)
        x = rng.uniform(size=(300, 1))
        x[150:] += 1.7e9
        rows = [np.arange(150), np.arange(150, 300)]
        recipe = replace(QUICK, steps=20)
        with pytest.raises(shp.InputError, match=r"rows of X within .* column 0 of replicate 1"):
            recipe.fit_many(x, Y, [0, 1], rows=rows)
        recipe.fit_many(x, Y, [0], rows=rows[1:])  # in units of their own
        with pytest.raises(shp.InputError, match=r"rows of labels within .* of replicate 1"):
            recipe.fit_many(X, x[:, 0], [0, 1], rows=rows)
        x[150:] = 1.7e9 + 1e7 * rng.uniform(size=(150, 1))  # as far, and as wide: none is lost
        _, second = recipe.fit_many(x, Y, [0, 4], rows=rows)
        alone = recipe.fit(x[150:], Y[150:], seed=4)
        np.testing.assert_allclose(second.mean(x[150:]), alone.mean(x[150:]), atol=2e-3)

    def test_a_sweep_over_sizes_compiles_once(self):
        recipe = replace(QUICK, steps=20)
        recipe.fit(X, Y, seed=0)
        before = _advance._cache_size()
        for rows in (10, 50, 120, 299):
            recipe.fit(X[:rows], Y[:rows], seed=0)
        replace(recipe, steps=30, learning_rate=0.02, kl_weight=0.5).fit(X, Y, seed=0)
        assert _advance._cache_size() == before
        replace(recipe, batch=63).fit(X, Y, seed=0)
        assert _advance._cache_size() > before

    @pytest.mark.parametrize("name", ["Langevin", "private", "ensemble"])
    def test_all_learners_have_it(self, name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            found = RECIPES[name].fit_many(X, Y, [0, 1])
        assert len(found) == 2
        assert (found[0].mean(X) != found[1].mean(X)).any()


class TestWhatIsSaidOnTheWay:
    def test_progress_goes_from_little_to_all(self):
        said = []
        QUICK.fit(X, Y, seed=0, progress=lambda *what: said.append(what))
        done = [what[0] for what in said]
        assert done == sorted(done)
        assert done[-1] == said[-1][1] == QUICK.steps
        assert said[-1][2].startswith("loss ")

    def test_private_training_says_no_losses(self):
        said = []
        recipe = replace(RECIPES["private"], inputs=Scaling(0.0, 1.0), labels=Scaling(0.0, 1.0))
        recipe.fit(X, Y, seed=0, progress=lambda *what: said.append(what))
        assert {what[2] for what in said} == {"noisy steps"}

    def test_a_line_is_for_terminals_and_for_those_who_wait(self, capsys, monkeypatch):
        Line("fit", start=-1e9)(1, 2, "loss 3")
        assert capsys.readouterr().err == ""
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        line = Line("fit")
        line(1, 2, "loss 3")
        assert capsys.readouterr().err == ""  # not yet
        line.start -= 10
        line(1, 2, "loss 3")
        line(2, 2, "loss 2")
        assert "fit: 1 of 2, loss 3, 10 s to go" in capsys.readouterr().err

    def test_divergence_is_found_early_and_named(self):
        with pytest.raises(DivergenceError, match=r"step 2 of 40 with seed 7; lower learning_rate"):
            replace(QUICK, learning_rate=1e30).fit(X, Y, seed=7)
        wild = replace(RECIPES["Langevin"], step_size=1e3)
        with pytest.raises(DivergenceError, match=r"Langevin dynamics: .*lower step_size"):
            wild.fit(X, Y, seed=0)

    def test_one_replicate_of_many_is_named(self):
        far = Y.copy()
        far[:2] = -1e30, 1e30
        recipe = replace(QUICK, likelihood=Gaussian(1.0), labels=Scaling(0.0, 1.0))
        with pytest.raises(shp.InputError, match="standard units"):
            recipe.fit(X, far, seed=0)


@cache
def head():
    """The last layer of an ensemble's first member, sampled anew."""
    recipe = GibbsNetwork(
        Network(()), loss=Welsch(3.0), inverse_temperature=5.0,
        features=of_numbers("ensemble"), draws=50, warmup=100,
    )  # fmt: skip
    return fitted(recipe, X, Y)


class TestGibbs:
    def test_chains_that_disagree_are_no_posterior(self):
        recipe = replace(RECIPES["Gibbs"], least_effective=1e6)
        with pytest.raises(ConvergenceError, match="effective draws are fewer than") as caught:
            recipe.fit(X, Y, seed=0)
        error = caught.value
        assert len(error.posterior) == 200
        assert error.diagnostics is error.posterior.diagnostics
        assert np.isfinite(error.posterior.mean(X)).all()
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert str(again) == str(error)

    def test_a_chain_that_diverges_is_refused_for_that(self):
        """A law with cliffs, in steps that are too long for it; other figures are let pass."""
        x = np.linspace(-1, 1, 60)[:, None]
        recipe = GibbsNetwork(
            Network((8,)), loss=Welsch(0.02), inverse_temperature=100.0, chains=2, draws=50,
            warmup=30, largest_rhat=1e6, least_effective=1e-6,
        )  # fmt: skip
        with pytest.raises(ConvergenceError, match="divergent steps") as caught:
            recipe.fit(x, np.sin(5 * x[:, 0]), seed=0)
        error = caught.value
        assert error.diagnostics.divergent > 0
        assert error.faults == (f"{error.diagnostics.divergent} divergent steps",)
        smooth = replace(recipe, loss=Welsch(5.0), inverse_temperature=1.0, acceptance=0.9)
        assert smooth.fit(x, np.sin(5 * x[:, 0]), seed=0).diagnostics.divergent == 0

    def test_faults_are_named(self):
        found = bayes.Diagnostics(1.2, 3.0, 4, 2, 100).faults(1.05, 100)
        assert len(found) == 3
        assert bayes.Diagnostics(np.nan, np.nan, 0, 2, 100).faults(1.05, 100)
        assert not bayes.Diagnostics(1.01, 300.0, 0, 2, 100).faults(1.05, 100)

    def test_chains_that_never_met_are_told_apart(self):
        """Each chain at its own place: R-hat is large."""
        bank = of_numbers("Langevin")
        moved = [np.asarray(bank.layers[-1][1]).copy(), *bank.layers[-1][:1]]
        moved[0] += np.repeat(np.arange(4.0), len(bank) // 4)[:, None]
        apart = replace(bank, layers=(*bank.layers[:-1], (moved[1], moved[0])))
        assert apart.diagnose(X[:20]).rhat > 1.5

    def test_classes_that_are_certain_are_compared_all_the_same(self):
        """Probabilities are 1 in 32 bits; outputs still tell whether chains agree."""
        bank = of_classes("Gibbs")
        weights, biases = bank.layers[-1]
        sure = np.asarray(biases) + np.array([200.0, 0.0, -200.0], np.float32)
        certain = replace(bank, layers=((weights, sure),))
        assert (certain.sample(X[:20], 5, seed=0, method="predict_proba").max(axis=-1) == 1).all()
        found = certain.diagnose(X[:20])
        assert found.rhat == pytest.approx(bank.diagnose(X[:20]).rhat, rel=0.01)
        moved = sure + np.repeat([[9.0, 0, 0], [0, 9, 0], [0, 0, 9], [0, 0, 0]], 50, axis=0)
        apart = replace(bank, layers=((weights, moved.astype(np.float32)),))
        assert apart.diagnose(X[:20]).rhat > 1.5
        same = replace(bank, layers=((weights, sure + np.arange(200, dtype=np.float32)[:, None]),))
        assert same.diagnose(X[:20]).rhat == pytest.approx(found.rhat, rel=0.01)

    def test_what_never_changes_is_agreed_on_and_no_more(self):
        drawn = np.random.default_rng(0).normal(size=(4, 100, 3))
        with_constant = np.concatenate([drawn, np.full((4, 100, 2), 0.7)], axis=-1)
        assert figures(with_constant) == figures(drawn)
        assert figures(drawn)[0] < 1.05
        assert np.isnan(figures(with_constant[..., 3:])).all()
        stuck = with_constant.copy()
        stuck[1, :, 3] = 0.8  # one chain at a place of its own
        assert not figures(stuck)[0] <= 1.05
        for strange in (np.nan, np.inf):
            spoilt = with_constant.copy()
            spoilt[..., 4] = strange
            assert np.isnan(figures(spoilt)).all()

    def test_epsilon_and_temperature(self):
        recipe = GibbsNetwork.of_epsilon(3.0, Network(()), loss=Welsch(1.0))
        assert recipe.inverse_temperature == 1.5
        assert recipe.spent.epsilon == 3.0
        assert "the draw is exact" in str(recipe.spent)

    def test_the_last_layer_of_a_larger_network(self):
        body, posterior = of_numbers("ensemble"), head()
        assert posterior.parameters == 8 + 1
        assert np.abs(posterior.mean(X) - Y).mean() < 1.2 * np.abs(body.mean(X) - Y).mean()
        np.testing.assert_allclose(
            posterior.coding.read(X), posterior.coding.inputs.apply(body.features(X))
        )
        assert "the features were fitted to other data" in posterior.spent.holds_if

    def test_draws_in_an_error_read_through_the_features_too(self):
        body = of_numbers("ensemble")
        recipe = GibbsNetwork(
            Network(()), loss=Welsch(3.0), inverse_temperature=5.0, features=body, draws=50,
            warmup=100, least_effective=1e6,
        )  # fmt: skip
        with pytest.raises(ConvergenceError) as caught:
            recipe.fit(X, Y, seed=0)
        error = caught.value
        assert all(one.coding.through is body for one in (error.posterior, *error.posteriors))
        np.testing.assert_array_equal(error.posterior.mean(X), head().mean(X))

    def test_a_head_reads_the_names_of_its_body(self):
        body, posterior = of_numbers("ensemble"), head()
        named = replace(posterior, coding=replace(posterior.coding, through=_Named(body)))
        assert named.columns == ("hard", "heard")


class _Named:
    """A network that was fitted to a table with names."""

    columns = ("hard", "heard")

    def __init__(self, body):
        self.features = body.features


class TestPrivacy:
    def test_units_that_are_learned_are_named(self):
        with pytest.warns(PrivacyWarning, match="inputs and labels are learned from the rows"):
            RECIPES["private"].fit(X, Y, seed=0)
        half = replace(RECIPES["private"], inputs=Scaling(0.0, 1.0))
        with pytest.warns(PrivacyWarning, match="of labels are learned"):
            spent = half.fit(X, Y, seed=0).spent
        assert any("NOT paid for" in each for each in spent.holds_if)

    def test_units_from_outside_are_private(self):
        own = replace(RECIPES["private"], inputs=Scaling(0.0, 1.0), labels=Scaling(0.0, 1.0))
        spent = own.fit(X, Y, seed=0).spent
        assert not any("NOT paid for" in each for each in spent.holds_if)
        assert spent.epsilon <= 20.0
        assert spent.epsilon == bayes.epsilon_of(spent.noise_multiplier, 128 / 300, 200, 1e-5)

    def test_a_row_that_overflows_is_no_reason_to_stop(self):
        own = Scaling(0.0, 1.0)
        recipe = PrivateNetwork(
            NET, likelihood=Gaussian(1e-5), epsilon=20.0, steps=20, snapshots=2, inputs=own,
            labels=own,
        )  # fmt: skip
        x, y = X.copy(), Y.copy()
        x[0], y[0] = 1e15, 1e15
        assert np.isfinite(recipe.fit(x, y, seed=0).mean(X)).all()

    def test_an_error_keeps_the_seed_to_itself(self):
        own = Scaling(0.0, 1.0)
        recipe = replace(RECIPES["private"], inputs=own, labels=own, clip=3e38, epsilon=0.5)
        with pytest.raises(DivergenceError, match="expected finite weights") as caught:
            recipe.fit(X, Y, seed=987654321)
        assert "987654321" not in str(caught.value)

    def test_without_a_seed_no_fit_is_like_another(self):
        own = Scaling(0.0, 1.0)
        recipe = replace(RECIPES["private"], inputs=own, labels=own)
        one, other, given = recipe.fit(X, Y), recipe.fit(X, Y), recipe.fit(X, Y, seed=0)
        assert len({float(fit.mean(X[:1])[0]) for fit in (one, other, given)}) == 3

    def test_the_same_noise_is_not_used_twice(self):
        own = Scaling(0.0, 1.0)
        recipe = replace(RECIPES["private"], inputs=own, labels=own)
        with pytest.raises(shp.InputError, match="seeds: expected each seed once") as caught:
            recipe.fit_many(X, Y, [424242, 1, 424242])
        assert "424242" not in str(caught.value)

    def test_neighbours_have_the_same_number_of_rows(self):
        spent = of_numbers("private").spent
        assert spent.neighbours.startswith(
            "one row, which counts or does not; their number is public"
        )
        said = "; ".join(spent.holds_if)
        assert "one fit only" in said
        assert "the sum" in said
        assert "public, and the same for neighbours" in said
        assert "tell of them" in said

    def test_the_seed_is_not_kept(self):
        assert not hasattr(of_numbers("private"), "seed")


def test_the_package_loads_jax_when_it_is_used():
    code = "import sys, shiftproof, shiftproof.bayes; print('jax' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("name", bayes.__all__)
def test_public_names_are_there_with_an_example(name):
    thing = getattr(bayes, name)
    assert ">>>" in thing.__doc__
    assert name in dir(bayes)
    assert bayes._HOME[name] == thing.__module__


def test_without_jax_the_error_names_the_extra(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="jax")

    monkeypatch.setattr(bayes, "import_module", absent)
    monkeypatch.delitem(vars(bayes), "Ensemble", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'shiftproof\[bayes\]'"):
        bayes.Ensemble  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Magic'"):
        bayes.Magic  # noqa: B018


class TestUnits:
    def test_together_keeps_rare_columns_small(self):
        x = np.zeros((100, 2))
        x[:, 0], x[0, 1] = np.arange(100) / 100, 1.0
        rare = [np.abs(units.of(x, "X").apply(x)[:, 1]).max() for units in (Together(), ByColumn())]
        assert rare[0] < 6 < rare[1]

    def test_units_undo_themselves(self):
        units = ByColumn().of(X, "X")
        np.testing.assert_allclose(units.undo(units.apply(X)), X)
        np.testing.assert_allclose(units.apply(X).std(axis=0), 1.0)

    def test_the_prior_is_free_of_the_data_with_units_from_outside(self):
        """What a certificate asks for: kl is that of weights in units that nobody learned."""
        recipe = replace(QUICK, inputs=Scaling([0.5, 5.0], [0.5, 3.0]), labels=Scaling(5.0, 3.0))
        one, other = recipe.fit(X, Y, seed=0), recipe.fit(X[:100], Y[:100], seed=0)
        assert (one.coding.inputs.center == other.coding.inputs.center).all()
        assert one.kl > 0


class TestFiles:
    @pytest.mark.parametrize("name", RECIPES)
    def test_posteriors_come_back_as_they_were(self, name, tmp_path):
        posterior = of_numbers(name)
        shp.save(posterior, tmp_path / "posterior.npz")
        again = shp.load(tmp_path / "posterior.npz")
        assert type(again) is type(posterior)
        keys = row_keys(0, "file", len(X))
        np.testing.assert_array_equal(again.draw(X, keys), posterior.draw(X, keys))
        np.testing.assert_array_equal(again.mean(X), posterior.mean(X))
        for extra in ("spent", "diagnostics"):
            assert str(getattr(again, extra, "")) == str(getattr(posterior, extra, ""))

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_classes_come_back_too(self, name, tmp_path):
        posterior = of_classes(name)
        shp.save(posterior, tmp_path / "posterior.npz")
        again = shp.load(tmp_path / "posterior.npz")
        assert again.classes.tolist() == ["left", "middle", "right"]
        np.testing.assert_array_equal(again.mean(X), posterior.mean(X))

    def test_a_whole_controller_needs_nothing_else(self, tmp_path):
        controller = shp.RiskController(
            shp.Thompson(of_numbers("variational")), shp.Intervals(0, 10), shp.Distance()
        )
        calibrated = controller.calibrate(X, Y, seed=3)
        shp.save(calibrated, tmp_path / "road.npz")
        again = shp.load(tmp_path / "road.npz")
        np.testing.assert_array_equal(again.predict(X, 0.5).lower, calibrated.predict(X, 0.5).lower)

    def test_a_head_takes_its_body_along(self, tmp_path):
        shp.save(head(), tmp_path / "head.npz")
        again = shp.load(tmp_path / "head.npz")
        np.testing.assert_array_equal(again.mean(X), head().mean(X))

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda q: replace(q, layers=q.layers[:1]),
            lambda q: replace(q, log_scale=q.log_scale[:0]),
            lambda q: replace(q, layers=tuple((w * np.nan, b) for w, b in q.layers)),
            lambda q: replace(q, chains=3),
        ],
        ids=["a layer short", "no models", "no numbers", "uneven chains"],
    )
    def test_what_no_fit_gives_is_refused(self, spoil):
        with pytest.raises(shp.InputError, match="pass what a fit gave"):
            spoil(of_numbers("Langevin"))

    def test_deviations_are_positive(self):
        q = of_numbers("variational")
        with pytest.raises(shp.InputError, match="deviations: expected numbers above 0"):
            replace(q, deviations=tuple((-s, b) for s, b in q.deviations))


def test_errors_of_probability_are_bounded_losses():
    assert ErrorProbability().bound == Welsch(1.0).bound == 1.0
