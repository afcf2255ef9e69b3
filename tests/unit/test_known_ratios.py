"""Ratios that are known, read, or those of two densities: against formulas, and at the border."""

import math
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from shiftproof.contracts import Certainty, Ratio
from shiftproof.errors import InputError
from shiftproof.ratios.gaussians import GaussianRatio
from shiftproof.ratios.known import (
    ColumnRatio,
    DensityRatio,
    KnownRatio,
    NoShift,
    column_names,
    ratio_of_logs,
)
from shiftproof.risk import LossCurves, RiskCurve

INF, NAN = math.inf, math.nan
LOSSES = LossCurves.steps([1.0, 2.0, 3.0])
NORMALS = {"target": stats.norm(1, 1), "source": stats.norm(0, 1)}

RATIOS = {
    "none": NoShift(),
    "function": KnownRatio(lambda x: np.exp(x[:, 0])),
    "column": ColumnRatio(0),
    "densities": DensityRatio(**NORMALS),
}


@pytest.mark.parametrize("name", RATIOS)
def test_the_curve_is_that_of_its_weights(name):
    ratio, x = RATIOS[name], np.array([[0.5], [1.0], [2.0]])
    curve = ratio.curve(LOSSES, x)
    assert isinstance(ratio, Ratio)
    assert ratio.assumption.certainty is Certainty.GIVEN_WEIGHTS
    assert str(ratio.ledger) == "no shared rows among 0 roles"
    assert curve.weights.tolist() == ratio.weights(x).tolist()
    expected = RiskCurve(LOSSES, ratio.weights(x)).threshold(0.5, ratio.weights(x), worst=1.0)
    assert curve.threshold(0.5, ratio.weights(x), worst=1.0).tolist() == expected.tolist()


def test_no_column_is_read_that_is_not_named():
    odd = pl.DataFrame({"a": [1.0, 2.0, 3.0], "list": [[1], [2], [3]], "b": [0.0, 1.0, 0.0]})
    for ratio in (NoShift(), KnownRatio(lambda a: a, columns=["a"]), ColumnRatio("a")):
        expected = [1.0, 1.0, 1.0] if ratio.columns == () else [1.0, 2.0, 3.0]
        assert ratio.weights(odd).tolist() == expected
        assert ratio.curve(LOSSES, odd).weights.tolist() == expected
    ratio = DensityRatio(**NORMALS, columns=["b"])
    assert ratio.weights(odd) == pytest.approx(np.exp(np.array([0.0, 1.0, 0.0]) - 0.5))


def test_a_function_gets_named_columns_in_the_order_of_names():
    frame = pd.DataFrame({"a": [1.0], "b": [10.0]})
    ratio = KnownRatio(lambda first, second: first + second / 100, columns=["b", "a"])
    assert ratio.weights(frame).tolist() == [10.01]
    assert ratio.columns == ("b", "a")


def test_a_function_without_names_gets_the_table_as_it_came():
    seen = []
    ratio = KnownRatio(lambda x: seen.append(type(x)) or np.ones(len(x)))
    for table in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), np.ones((1, 1))):
        ratio.weights(table)
        assert seen[-1] is type(table)


def returns(values, columns=None):
    return lambda: KnownRatio(lambda _: values, columns=columns).weights(np.ones((3, 1)))


BAD = {
    "weights for a function": (
        lambda: KnownRatio([1.0, 2.0]),
        "a function of the inputs, got list",
    ),
    "one name": (lambda: KnownRatio(abs, columns="power"), r"pass \['power'\]"),
    "one position": (lambda: KnownRatio(abs, columns=0), r"pass \[0\]"),
    "no names": (lambda: KnownRatio(abs, columns=[]), "names, each of them once, got none"),
    "one name twice": (lambda: KnownRatio(abs, columns=["a", "a"]), r"got \['a', 'a'\]"),
    "too few": (returns([1.0, 2.0]), r"weights of X: expected shape \(3,\), got shape \(2,\)"),
    "one for all": (returns(1.0), r"expected shape \(3,\), got shape \(\)"),
    "a matrix": (returns(np.ones((3, 1))), r"got shape \(3, 1\)"),
    "NaN": (returns([1.0, NAN, 2.0]), "no NaN, got nan at position 1"),
    "negative": (returns([1.0, 2.0, -0.5]), "weights of at least 0, got -0.5 at position 2"),
    "huge": (returns([1.0, 2.0, 1e201]), "weights up to 1e[+]200, or inf"),
    "words": (returns(["a", "b", "c"]), "expected numbers"),
    "infinite in calibration": (
        lambda: KnownRatio(lambda x: x[:, 0]).curve(LOSSES, [[1.0], [INF], [2.0]]),
        "weights of the calibration inputs: expected finite weights, got inf at position 1",
    ),
    "rows and losses": (lambda: NoShift().curve(LOSSES, [1.0]), "3 rows, one per loss, got 1"),
    "no such column": (
        lambda: ColumnRatio("w").weights(pd.DataFrame({"x": [1.0]})),
        "the columns 'w', got columns 'x'",
    ),
    "a gap": (lambda: ColumnRatio("w").weights(pl.DataFrame({"w": [1.0, None]})), "1 missing"),
    "weights in words": (
        lambda: ColumnRatio("w").weights(pd.DataFrame({"w": ["heavy"]})),
        "column 'w' of X: expected numbers, got 'heavy'",
    ),
    "no density": (
        lambda: DensityRatio(abs, stats.norm()),
        "target: expected an object with logpdf",
    ),
    "a discrete law": (
        lambda: DensityRatio(stats.norm(), stats.poisson(3)).weights([1.0]),
        "source: expected an object with logpdf, got rv_discrete",
    ),
    "too many columns": (
        lambda: DensityRatio(**NORMALS).weights(np.ones((3, 2))),
        r"logpdf of the target: expected shape \(3,\), got shape \(3, 2\)",
    ),
    "columns of another number": (
        lambda: DensityRatio(*[stats.multivariate_normal([0, 0])] * 2).weights(np.ones((4, 3))),
        "name the columns that it is a density of",
    ),
    "density of words": (
        lambda: DensityRatio(**NORMALS).weights(pd.DataFrame({"x": ["a"]})),
        "column 'x' of X: expected numbers",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()


def test_all_columns_are_meant_where_none_is_named():
    assert column_names(None) is None
    assert column_names(["a", 3]) == ("a", 3)


class TestDensities:
    def test_one_column(self):
        x = np.array([-1.0, 0.0, 0.5, 3.0])
        expected = np.exp(x - 0.5)
        assert DensityRatio(**NORMALS).weights(x) == pytest.approx(expected, rel=1e-12)
        assert DensityRatio(**NORMALS).weights(x[:, None]) == pytest.approx(expected, rel=1e-12)

    def test_more_columns_in_the_order_of_names(self):
        target = stats.multivariate_normal([1.0, -1.0], [[2.0, 0.3], [0.3, 1.0]])
        source = stats.multivariate_normal([0.0, 0.0])
        rng = np.random.default_rng(0)
        x = rng.normal(size=(20, 2))
        frame = pd.DataFrame({"b": x[:, 1], "c": "word", "a": x[:, 0]})
        expected = target.pdf(x) / source.pdf(x)
        assert DensityRatio(target, source).weights(x) == pytest.approx(expected, rel=1e-9)
        by_name = DensityRatio(target, source, columns=["a", "b"])
        assert by_name.weights(frame) == pytest.approx(expected, rel=1e-9)
        assert by_name.weights(frame[:1]) == pytest.approx(expected[:1], rel=1e-9)

    def test_outside_either_support(self):
        ratio = DensityRatio(target=stats.uniform(0, 2), source=stats.uniform(1, 2))
        assert ratio.weights([0.5, 1.5, 2.5, 3.5]).tolist() == [INF, 1.0, 0.0, 0.0]

    def test_no_rows(self):
        law = stats.multivariate_normal([0, 0])
        assert DensityRatio(law, law).weights(np.empty((0, 2))).tolist() == []

    def test_far_out_the_ratio_is_still_a_number(self):
        """Both densities underflow, their logs do not."""
        assert stats.norm(0, 1).pdf(50.0) == 0.0
        assert DensityRatio(**NORMALS).weights([50.0]) == pytest.approx([math.exp(49.5)])


def test_ratios_of_logs_at_the_ends():
    target = np.array([0.0, -INF, 0.0, -INF, 1000.0, -1000.0])
    source = np.array([0.0, 0.0, -INF, -INF, 0.0, 0.0])
    assert ratio_of_logs(target, source).tolist() == [1.0, 0.0, INF, 0.0, INF, 0.0]


def test_the_largest_finite_ratio_may_be_used():
    log = np.log(1e200)  # its exponential is beyond 1e200, by rounding
    logs = np.array([np.nextafter(log, 0.0), log, np.nextafter(log, INF)])
    weights = DensityRatio(_Density(logs), _Density(np.zeros(3))).weights(np.zeros(3))
    assert weights.tolist() == [pytest.approx(1e200), INF, INF]


class _Density:
    def __init__(self, logs):
        self.logs = logs

    def logpdf(self, x):
        del x
        return self.logs


class TestGaussians:
    rng = np.random.default_rng(7)
    source = rng.normal(0, 1, (400, 2))
    target = rng.normal(0, 1, (300, 2)) @ np.array([[1.0, 0.5], [0.0, 1.2]]) + [0.7, -0.2]
    points = rng.normal(0, 1.5, (50, 2))

    def test_a_common_covariance_gives_the_linear_formula(self):
        """log w = (x - (m + m')/2) S^-1 (m' - m), S pooled."""
        means = self.source.mean(axis=0), self.target.mean(axis=0)
        spread = (399 * np.cov(self.source.T) + 299 * np.cov(self.target.T)) / 698
        slope = np.linalg.solve(spread, means[1] - means[0])
        expected = (self.points - (means[0] + means[1]) / 2) @ slope
        ratio = GaussianRatio().fit(self.source, self.target)
        assert ratio.assumption.promise.startswith("E[loss] <= alpha + Lmax TV(P', the estimated")
        assert np.log(ratio.weights(self.points)) == pytest.approx(expected, abs=1e-9)

    def test_covariances_of_their_own_give_the_quadratic_formula(self):
        laws = [
            stats.multivariate_normal(sample.mean(axis=0), np.cov(sample.T))
            for sample in (self.source, self.target)
        ]
        expected = laws[1].logpdf(self.points) - laws[0].logpdf(self.points)
        ratio = GaussianRatio(common_covariance=False).fit(self.source, self.target)
        assert np.log(ratio.weights(self.points)) == pytest.approx(expected, abs=1e-9)
        density = np.exp(ratio.source.logpdf(self.points))
        assert density == pytest.approx(laws[0].pdf(self.points), rel=1e-9)

    @pytest.mark.parametrize("common", [True, False])
    def test_units_are_irrelevant(self, common):
        units, origin = np.array([1e9, 1e-4]), np.array([1e9, 3.0])
        recipe = GaussianRatio(common_covariance=common)
        plain = recipe.fit(self.source, self.target).weights(self.points)
        other = recipe.fit(self.source * units + origin, self.target * units + origin)
        assert other.weights(self.points * units + origin) == pytest.approx(plain, rel=1e-6)

    def test_one_column(self):
        ratio = GaussianRatio(common_covariance=False).fit(self.source[:, 0], self.target[:, 0])
        laws = [
            stats.norm(sample[:, 0].mean(), sample[:, 0].std(ddof=1))
            for sample in (self.source, self.target)
        ]
        x = self.points[:, 0]
        expected = laws[1].pdf(x) / laws[0].pdf(x)
        assert ratio.weights(x) == pytest.approx(expected, rel=1e-9)

    def test_named_columns_only_and_their_rows_in_the_ledger(self):
        frames = [
            pl.DataFrame({"word": ["a"] * len(s), "b": s[:, 1], "a": s[:, 0]})
            for s in (self.source, self.target)
        ]
        ratio = GaussianRatio(columns=["a", "b"]).fit(*frames)
        assert ratio.columns == ("a", "b")
        plain = GaussianRatio().fit(self.source, self.target)
        assert ratio.weights(frames[0]) == pytest.approx(plain.weights(self.source), rel=1e-12)
        assert ratio.assumption.certainty is Certainty.ESTIMATED
        assert set(ratio.ledger.digests) == {"ratio_source", "ratio_target"}
        with pytest.raises(InputError, match="other rows than those for ratio source"):
            ratio.curve(LossCurves.steps(np.ones(400)), frames[0].reverse())

    BAD: ClassVar = {
        "constant": (lambda s, t: (np.c_[s, np.ones(400)], np.c_[t, np.ones(300)]), "singular"),
        "repeated": (lambda s, t: (np.c_[s, s[:, 0]], np.c_[t, t[:, 0]]), "singular"),
        "few rows": (lambda s, t: (s, t[:3]), "target: expected more than 3 rows for 2 columns"),
        "no rows": (lambda s, t: (s[:0], t), "source: expected at least one value"),
        "NaN": (lambda s, t: (np.r_[s, [[NAN, 0.0]]], t), "1 missing, the first in row 400"),
        "infinite": (lambda s, t: (s, np.r_[t, [[INF, 0.0]]]), "target: expected finite numbers"),
        "other columns": (lambda s, t: (s, np.c_[t, t]), "the 2 columns of the source, got 4"),
    }

    @pytest.mark.parametrize("name", BAD)
    def test_bad_samples_are_refused_with_a_reason(self, name):
        change, message = self.BAD[name]
        with pytest.raises(InputError, match=message):
            GaussianRatio().fit(*change(self.source, self.target))

    def test_more_columns_than_it_was_fitted_on_are_refused(self):
        wider = np.c_[self.points, self.points]
        with pytest.raises(InputError, match="X: expected 2 columns, got an array of 4 columns"):
            GaussianRatio().fit(self.source, self.target).weights(wider)
        named = GaussianRatio(columns=[0, 1]).fit(self.source, self.target)
        assert named.weights(wider).tolist() == named.weights(self.points).tolist()
