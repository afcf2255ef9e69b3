"""Laws of every ratio with one number for each row, whatever the numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression

from shiftproof.ratios.classifier import ClassifierRatio
from shiftproof.ratios.gaussians import GaussianRatio
from shiftproof.ratios.groups import Counts, GroupRatio
from shiftproof.ratios.known import ColumnRatio, DensityRatio, KnownRatio, NoShift
from shiftproof.risk import LossCurves
from subjects import SUBJECTS, WHOLE_WEIGHTS, levels

RNG = np.random.default_rng(0)
COLUMNS = ("x", "z", "word", "w")
WORDS = ["a", "b", "c"]
RATES = {"a": 0.2, "b": 0.3, "c": 0.5}
SEEN = {"a": 40, "b": 5, "c": 15}


def frame(rows):
    return pd.DataFrame(rows, columns=COLUMNS).astype({"x": float, "z": float, "w": float})


def drawn(n, shift):
    word = RNG.choice(WORDS, n, p=[0.5, 0.3, 0.2] if shift else [0.2, 0.3, 0.5])
    columns = {"x": RNG.normal(shift, 1, n), "z": RNG.normal(size=n), "word": word}
    return pd.DataFrame(columns | {"w": RNG.random(n)})


SAMPLES = drawn(80, 0.0), drawn(60, 0.6)
RATIOS = {
    "none": NoShift(),
    "function": KnownRatio(lambda x, z: np.exp(0.5 * x) + z**2, columns=["x", "z"]),
    "column": ColumnRatio("w"),
    "densities": DensityRatio(stats.norm(1, 1), stats.norm(0, 2), columns=["z"]),
    "groups": GroupRatio("word", source=RATES, target=Counts(SEEN)),
    "gaussians": GaussianRatio(columns=("x", "z")).fit(*SAMPLES),
    "classifier": ClassifierRatio(LogisticRegression()).fit(*SAMPLES),
}
ROWS = st.lists(
    st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.sampled_from(WORDS), WHOLE_WEIGHTS),
    min_size=1,
    max_size=8,
).map(frame)


def same(one, other):
    """Equal but for the last bits, which matrix products do not keep from batch to batch."""
    return one == pytest.approx(other, rel=1e-12, abs=0.0)


def permuted_rows_have_permuted_weights(ratio, rows, draw):
    order = list(draw(st.permutations(range(len(rows)))))
    assert same(ratio.weights(rows.iloc[order]), ratio.weights(rows)[order])


def parts_stacked_are_the_whole(ratio, rows, draw):
    cut = draw(st.integers(0, len(rows)))
    parts = [part for part in (rows[:cut], rows[cut:]) if len(part)]
    assert same(np.concatenate([ratio.weights(part) for part in parts]), ratio.weights(rows))


def the_kind_of_table_is_irrelevant(ratio, rows, draw):
    make = draw(st.sampled_from([pl.from_pandas, pa.Table.from_pandas]))
    assert same(ratio.weights(make(rows)), ratio.weights(rows))


def columns_that_are_not_read_are_irrelevant(ratio, rows, draw):
    other = rows.assign(**{name: 0.0 for name in COLUMNS if name not in ratio.columns})
    turned = other[list(draw(st.permutations(COLUMNS)))]
    assert ratio.weights(turned).tolist() == ratio.weights(rows).tolist()


def the_curve_has_the_weights_of_test_points(ratio, rows, draw):
    del draw
    weights = ratio.curve(LossCurves.steps(np.ones(len(rows))), rows).weights
    assert weights.tolist() == ratio.weights(rows).tolist()


LAWS = [
    permuted_rows_have_permuted_weights,
    parts_stacked_are_the_whole,
    the_kind_of_table_is_irrelevant,
    columns_that_are_not_read_are_irrelevant,
    the_curve_has_the_weights_of_test_points,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", RATIOS)
def test_law(name, law):
    @settings(max_examples=max(20, settings().max_examples // 5))
    @given(ROWS, st.data())
    def check(rows, data):
        law(RATIOS[name], rows, data.draw)

    check()


def thresholds(ratio, subject, x, test, alpha, worst):
    curve = ratio.curve(subject.curves, x)
    return curve.threshold(alpha, ratio.weights(test), worst=worst)


def close(name, one, other):
    if name in ("steps", "staircases"):
        return one.tolist() == other.tolist()
    return one == pytest.approx(other, rel=1e-12, abs=1e-12)


@st.composite
def cases(draw, name):
    subject = draw(SUBJECTS[name])
    x = np.array(draw(st.lists(WHOLE_WEIGHTS, min_size=len(subject), max_size=len(subject))))
    return subject, x, np.array(draw(st.lists(WHOLE_WEIGHTS, min_size=1, max_size=4)))


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_constant_factor_leaves_thresholds_as_they_are(name):
    @settings(max_examples=max(30, settings().max_examples // 3))
    @given(cases(name), st.sampled_from([0.5, 3.0, 1024.0, 10.0]), st.data())
    def check(case, factor, data):
        subject, x, test = case
        alpha, worst = data.draw(levels(subject)), subject.curves.bound
        plain, scaled = (
            thresholds(KnownRatio(lambda x, c=c: c * x[:, 0]), subject, x, test, alpha, worst)
            for c in (1.0, factor)
        )
        assert close(name, plain, scaled)

    check()


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_ratio_of_one_is_no_shift(name):
    @settings(max_examples=max(30, settings().max_examples // 3))
    @given(cases(name), st.data())
    def check(case, data):
        subject, x, test = case
        alpha, worst = data.draw(levels(subject)), subject.curves.bound
        halves = {0: 0.5, 1: 0.5}
        ones = [
            KnownRatio(lambda x: np.ones(len(x))),
            DensityRatio(stats.norm(), stats.norm()),
            GroupRatio(lambda x: x[:, 0] > 1, source=halves, target=halves),
        ]
        expected = thresholds(NoShift(), subject, x, test, alpha, worst).tolist()
        for ratio in ones:
            assert thresholds(ratio, subject, x, test, alpha, worst).tolist() == expected

    check()


SHARES = st.lists(st.integers(1, 9), min_size=3, max_size=3)


@given(SHARES, SHARES, st.lists(st.sampled_from(WORDS), min_size=1, max_size=10))
def test_groups_are_a_known_function_of_the_label(source, target, labels):
    source, target = (dict(zip(WORDS, map(int, each), strict=True)) for each in (source, target))
    groups = GroupRatio("word", source=Counts(source), target=Counts(target))
    sizes = sum(source.values()), sum(target.values())

    def ratio(word):
        return [target[one] * sizes[0] / (sizes[1] * source[one]) for one in word]

    known, rows = KnownRatio(ratio, columns=["word"]), pd.DataFrame({"word": labels})
    assert same(groups.weights(rows), known.weights(rows))
    by_rates = GroupRatio(
        "word",
        source={g: n / sizes[0] for g, n in source.items()},
        target={g: n / sizes[1] for g, n in target.items()},
    )
    assert same(by_rates.weights(rows), known.weights(rows))
