"""Kernel ratios: those of the package, seeded, in blocks, and with their collapse said."""

import warnings

import densratio
import numpy as np
import pytest

import shiftproof as shp
from shiftproof.ratios import kernels

RECIPES = [shp.ULSIF(rows=200, kernels=30), shp.KLIEP(rows=200, kernels=30)]


def samples(d=1, n=300, shift=0.7, seed=0):
    rng = np.random.default_rng(seed)
    far = rng.normal(0, 1, (n, d))
    far[:, 0] += shift
    return rng.normal(0, 1, (n, d)), far


@pytest.mark.parametrize("recipe", RECIPES, ids=["uLSIF", "KLIEP"])
class TestBoth:
    def test_near_the_truth_in_one_column(self, recipe):
        ratio = recipe.fit(*samples(n=2000))
        x = np.linspace(-1, 1.5, 30)[:, None]
        truth = np.exp(0.7 * x[:, 0] - 0.245)
        assert np.abs(np.log(ratio.weights(x) / truth)).mean() < 0.3
        assert np.abs(np.log(truth)).mean() > 0.4  # w = 1 would not do

    def test_seeded_and_without_a_trace_in_the_global_state(self, recipe):
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        one, other = (recipe.fit(*samples()).weights([[0.3], [1.0]]) for _ in range(2))
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002

    def test_blocks_change_nothing(self, recipe, monkeypatch):
        ratio = recipe.fit(*samples())
        x = np.random.default_rng(1).normal(0, 2, (100, 1))
        whole = ratio.weights(x)
        monkeypatch.setattr(kernels, "_BLOCK", 7)
        np.testing.assert_allclose(ratio.weights(x), whole, rtol=1e-12)

    def test_columns_by_name_and_too_few_rows(self, recipe):
        with pytest.raises(shp.InputError, match="target: expected at least 10 rows"):
            recipe.fit(samples()[0], [[1.0], [2.0]])


def test_as_the_package_itself():
    source, target = samples()
    ratio = shp.ULSIF(rows=300).fit(source, target)
    both = np.concatenate([source, target])
    scaled = [(each - both.mean()) / both.std() for each in (source, target)]
    rng = np.random.default_rng(0)
    few = [each[rng.permutation(300)] for each in scaled]
    np.random.seed(0)  # noqa: NPY002 - the package draws its kernels from there
    direct = densratio.uLSIF(few[1], few[0], verbose=False)
    np.testing.assert_allclose(
        ratio.weights(source), direct.compute_density_ratio(scaled[0]), rtol=1e-9
    )


def test_a_collapse_is_said_aloud():
    with pytest.warns(shp.ShiftWarning, match="has all but collapsed to w = 1"):
        ratio = shp.ULSIF(rows=300).fit(*samples(d=100, shift=1.5, n=400))
    assert "use fewer columns, or ClassifierRatio" in str(ratio.assumption)


def test_no_shift_is_no_collapse():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratio = shp.ULSIF(rows=300).fit(*samples(d=100, shift=0.0, n=400))
    assert not ratio.assumption.cautions


def test_clear_errors():
    with pytest.raises(shp.InputError, match="kernels: expected a whole number"):
        shp.ULSIF(kernels=1)
    with pytest.raises(shp.InputError, match="rows: expected a whole number"):
        shp.KLIEP(rows=True)
    with pytest.raises(shp.InputError, match="columns: expected a sequence"):
        shp.KLIEP(columns="power")
