"""Cross-fitting: a function of x, blind to the row it weighs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import shiftproof as shp


def samples(n=600, seed=0, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n, d)), rng.normal(0.4, 1, (n, d))


FOREST = shp.ClassifierRatio(RandomForestClassifier(50, min_samples_leaf=3, random_state=0))


def test_own_rows_are_weighed_like_new_ones():
    source, target = samples()
    fresh, _ = samples(seed=1)
    crossed = shp.CrossfitRatio(FOREST).fit(source, target)
    plain = FOREST.fit(source, target)
    assert crossed.weights(source).mean() == pytest.approx(crossed.weights(fresh).mean(), rel=0.15)
    assert plain.weights(source).mean() < 0.5 * plain.weights(fresh).mean()  # it knows its rows


def test_each_row_by_a_model_that_never_saw_it():
    """Moving one source row far away changes the weight of others, never its own model."""
    source, target = samples(200)
    recipe = shp.CrossfitRatio(shp.GaussianRatio(), folds=4)
    ratio = recipe.fit(source, target)
    for row in range(5):
        without = recipe.fit(np.delete(source, row, axis=0), target)
        mine = source[row : row + 1]
        np.testing.assert_allclose(ratio.weights(mine), without.weights(mine), rtol=1e-12)


def test_it_is_a_function_of_the_row():
    source, target = samples()
    ratio = shp.CrossfitRatio(shp.ClassifierRatio()).fit(source, target)
    order = np.random.default_rng(2).permutation(len(source))
    np.testing.assert_allclose(ratio.weights(source)[order], ratio.weights(source[order]))
    np.testing.assert_allclose(ratio.weights(source[:7]), ratio.weights(source)[:7])


def test_tables_of_any_kind():
    source, target = samples()
    names = ["a", "b", "c"]
    frames = [pd.DataFrame(each, columns=names) for each in (source, target)]
    recipe = shp.CrossfitRatio(shp.ClassifierRatio(columns=["a", "c"]))
    ratio = recipe.fit(*frames)
    assert ratio.columns == ("a", "c")
    more = frames[0].assign(b="ignored", extra=1)  # folds depend on the compared columns alone
    np.testing.assert_allclose(ratio.weights(more), ratio.weights(frames[0]))


@pytest.mark.parametrize("columns", [None, ["c", "a", "b"]])
def test_folds_go_by_the_columns_that_are_compared(columns):
    """Columns in another order, or others beside them, leave each row with its own model."""
    frames = [pd.DataFrame(each, columns=["a", "b", "c"]) for each in samples()]
    recipe = shp.CrossfitRatio(shp.GaussianRatio(columns=columns))
    ratio = recipe.fit(*frames)
    expected = ratio.weights(frames[0])
    for other in (frames[0][["c", "b", "a"]], frames[0].assign(row=range(600))):
        np.testing.assert_allclose(ratio.weights(other), expected, rtol=1e-12)
    turned = recipe.fit(frames[0][["b", "c", "a"]], frames[1])
    np.testing.assert_allclose(turned.weights(frames[0]), expected, rtol=1e-9)
    wider = frames[0].assign(row=range(600)), frames[1].assign(row=0)
    by_name = shp.CrossfitRatio(shp.GaussianRatio(columns=["a", "b", "c"])).fit(*wider)
    np.testing.assert_allclose(by_name.weights(frames[0]), expected, rtol=1e-9)


def mixed(n, shift, seed):
    """Numbers with one gap, and words of which one is seen once."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(shift, 1, n), "word": rng.choice(["u", "v"], n)})
    frame.loc[3, "x"] = np.nan
    frame.loc[5, "word"] = "once"
    return frame


@pytest.mark.parametrize(
    "recipe",
    [
        shp.CrossfitRatio(shp.ClassifierRatio(LogisticRegression())),
        shp.CrossfitRatio(shp.ULSIF(rows=50, kernels=10), folds=2),
        shp.BootstrapRatio(shp.ClassifierRatio(LogisticRegression()), draws=20),
        shp.BootstrapRatio(shp.KLIEP(rows=20, kernels=5), draws=3, delta=0.99),
    ],
    ids=[
        "crossfit, classifier",
        "crossfit, kernels",
        "bootstrap, classifier",
        "bootstrap, kernels",
    ],
)
def test_a_part_may_lack_what_the_whole_shows(recipe):
    """One word and one gap are in no other fold, and in few resamples."""
    source, target = mixed(80, 0.0, 1), mixed(60, 0.5, 2).replace("once", "u")
    weights = recipe.fit(source, target).weights(source)
    low = getattr(weights, "low", weights)
    assert np.isfinite(low).all()
    assert len(low) == 80


def test_it_may_calibrate_on_its_own_rows_and_says_so():
    source, target = samples()
    ratio = shp.CrossfitRatio(shp.ClassifierRatio()).fit(source, target)
    curve = ratio.curve(shp.LossCurves.steps(np.abs(source[:, 0])), source)
    assert len(curve) == len(source)
    assert "cross-fitted weights are not covered exactly" in ratio.assumption.cautions
    (overlap,) = [o for o in ratio.ledger.plus(calibration=source).overlaps if o.rows]
    assert overlap.share == 1.0
    assert "a model that never saw it" in overlap.consequence
    with pytest.raises(shp.InputError, match="other rows than those for ratio source"):
        shp.ClassifierRatio().fit(source, target).curve(
            shp.LossCurves.steps(np.abs(source[:, 0])), source
        )


def test_clear_errors():
    source, target = samples(30)
    with pytest.raises(shp.InputError, match="recipe: expected something with fit"):
        shp.CrossfitRatio(shp.NoShift())
    with pytest.raises(shp.InputError, match="folds: expected a whole number"):
        shp.CrossfitRatio(shp.ClassifierRatio(), folds=1)
    with pytest.raises(shp.InputError, match="seed: expected a whole number of at least 0"):
        shp.CrossfitRatio(shp.ClassifierRatio(), seed=-1)
    clipped = shp.ClippedRatio(shp.NoShift(), 2.0)
    for crossed in (shp.CrossfitRatio, shp.BootstrapRatio):
        with pytest.raises(shp.InputError, match="a fit of ClippedRatio that takes other arg"):
            crossed(clipped)
        with pytest.raises(shp.InputError, match="takes other arguments"):
            crossed(shp.ClassifierRatio)
    bounded = shp.BootstrapRatio(shp.GaussianRatio(), draws=20)
    with pytest.raises(shp.InputError, match="what the recipe fits: expected PlainRatio"):
        shp.CrossfitRatio(bounded).fit(source, target)
    with pytest.raises(shp.InputError, match="rows that differ enough"):
        shp.CrossfitRatio(shp.ClassifierRatio()).fit(np.ones((30, 3)), target)
    assert len(source) == len(target)
