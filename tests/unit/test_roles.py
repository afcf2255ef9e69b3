"""Which rows served for what: digests, overlaps, and the error where two roles are one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftproof._tables import Table
from shiftproof.errors import InputError
from shiftproof.ratios.roles import Ledger, folds_of, row_digests

ROWS = np.arange(10.0)
HARMFUL = [
    ("training", "calibration"),
    ("training", "evaluation"),
    ("calibration", "evaluation"),
    ("ratio_source", "calibration"),
    ("ratio_source", "evaluation"),
    ("ratio_target", "calibration"),
    ("ratio_target", "evaluation"),
    ("price_target", "calibration"),
    ("ratio_target", "price_target"),
]


def test_digests_are_equal_across_kinds_and_differ_across_rows():
    columns = {"a": [1, 2, 1, 2], "b": ["x", "x", "y", None], "c": [0.1, 0.1, 0.1, 0.1]}
    kinds = [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]
    kinds.append(np.array(list(zip(*columns.values(), strict=True)), dtype=object))
    found = [row_digests(kind).tolist() for kind in kinds]
    assert found[1:] == found[:-1]
    assert len(set(found[0])) == 4


def test_a_digest_is_of_the_row_alone():
    """Whatever the other rows are: 1 and True are one value, also beside text."""
    mixed = np.array([[True], ["a"], [1], [1.0], ["1"]], dtype=object)
    forward, backward = row_digests(mixed), row_digests(mixed[::-1])[::-1]
    assert forward.tolist() == backward.tolist()
    assert forward[0] == forward[2] == forward[3]
    assert len(set(forward.tolist())) == 3
    assert [int(row_digests(mixed[[row]])[0]) for row in range(5)] == forward.tolist()


def test_missing_is_one_value_and_no_other():
    gaps = row_digests(pd.DataFrame({"a": [np.nan, 0.0]}))
    words = row_digests(pd.DataFrame({"a": [None, "None", "nan", ""]}))
    assert gaps[0] == words[0]
    assert len({*gaps.tolist(), *words.tolist()}) == 5


def test_both_zeros_are_one_value():
    assert len({int(row_digests([zero])[0]) for zero in (0.0, -0.0, 0, False)}) == 1
    assert row_digests(np.array([-0.0])).tolist() == row_digests(np.array([0])).tolist()


def test_columns_keep_their_places():
    one, other = row_digests([[1, 2], [2, 1], [1, 1], [2, 2]]), row_digests([[1], [2]])
    assert len({*one.tolist(), *other.tolist()}) == 6
    frame = pd.DataFrame({"a": [1], "b": [2]})
    assert row_digests(frame, ["b"]).tolist() == row_digests([[2]]).tolist()
    assert row_digests(frame, ["b", "a"]).tolist() == row_digests([[2, 1]]).tolist()


def test_no_two_of_many_rows_share_a_digest():
    rng = np.random.default_rng(0)
    assert len(np.unique(row_digests(rng.integers(0, 2**62, (200_000, 1))))) == 200_000
    pairs = np.stack(np.meshgrid(np.arange(400), np.arange(400)), axis=-1).reshape(-1, 2)
    assert len(np.unique(row_digests(pairs))) == 160_000


@pytest.mark.parametrize(("first", "second"), HARMFUL)
def test_two_roles_with_the_very_same_rows_are_an_error(first, second):
    for again in (ROWS, ROWS[::-1], np.random.default_rng(0).permutation(ROWS)):
        with pytest.raises(InputError, match="the same 10 rows") as caught:
            Ledger().plus(**{first: ROWS, second: again})
        assert first.replace("_", " ") in str(caught.value)
        assert second.replace("_", " ") in str(caught.value)
    with pytest.raises(InputError, match="the same 10 rows"):
        Ledger().plus(**{second: ROWS}).plus(**{first: ROWS})


@pytest.mark.parametrize(("first", "second"), HARMFUL)
def test_all_rows_but_one_are_a_figure_to_read(first, second):
    ledger = Ledger().plus(**{first: ROWS, second: ROWS[1:]})
    (overlap,) = ledger.overlaps
    assert (overlap.rows, overlap.share) == (9, 1.0)
    assert overlap.consequence
    assert overlap.consequence in str(ledger)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ratio_source", "ratio_target"),
        ("training", "ratio_source"),
        ("crossfit_source", "calibration"),
    ],
)
def test_other_pairs_may_share_everything(first, second):
    (overlap,) = Ledger().plus(**{first: ROWS, second: ROWS}).overlaps
    assert (overlap.rows, overlap.share) == (10, 1.0)


def test_a_crossfitted_source_may_calibrate_and_it_is_said():
    ledger = Ledger().plus(crossfit_source=ROWS, calibration=ROWS)
    assert "weighed by a model that never saw it" in str(ledger)


def test_shares_are_of_the_later_role():
    ledger = Ledger().plus(training=ROWS[:6], calibration=ROWS[4:8], evaluation=ROWS[7:])
    shared = {(each.first, each.second): (each.rows, each.share) for each in ledger.overlaps}
    assert shared == {
        ("training", "calibration"): (2, 0.5),
        ("training", "evaluation"): (0, 0.0),
        ("calibration", "evaluation"): (1, 1 / 3),
    }
    assert len(str(ledger).splitlines()) == 2
    assert str(ledger).startswith("2 rows (50.0%) of calibration are also in training: ")


def test_true_duplicates_are_tolerated():
    """Discrete inputs: every value is in both, and yet the samples are two."""
    ledger = Ledger().plus(training=[0, 0, 1, 1, 1], calibration=[0, 1, 1])
    assert ledger.overlaps[0].share == 1.0
    assert ledger.plus(evaluation=[0, 1, 0]).overlaps[2].rows == 3


def test_a_role_that_comes_again_takes_the_place_of_the_first():
    ledger = Ledger().plus(training=ROWS[:5], calibration=ROWS[4:])
    assert ledger.overlaps[0].rows == 1
    assert ledger.plus(calibration=ROWS[5:]).overlaps[0].rows == 0
    assert ledger.overlaps[0].rows == 1  # the first ledger is as it was


def test_only_stated_columns_are_compared():
    frames = [pd.DataFrame({"x": [1, 2, 3], "y": labels}) for labels in ([1, 2, 3], [7, 8, 9])]
    assert str(Ledger().plus(training=frames[0], calibration=frames[1])).startswith("no shared")
    with pytest.raises(InputError, match="the same 3 rows"):
        Ledger(("x",)).plus(training=frames[0], calibration=frames[1])


def test_no_rows_are_no_overlap():
    empty = np.empty((0, 1))
    ledger = Ledger().plus(training=empty, calibration=empty, evaluation=ROWS)
    assert {(each.rows, each.share) for each in ledger.overlaps} == {(0, 0.0)}


def test_unknown_roles_are_named():
    with pytest.raises(InputError, match=r"one of training, crossfit_source, .* got test"):
        Ledger().plus(test=ROWS)


VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.0, 1e9]), min_size=1, max_size=20)


@given(VALUES, st.integers(2, 10), st.integers(-3, 2**70), st.data())
def test_folds_go_by_the_values_of_a_row(values, folds, seed, data):
    order = np.array(data.draw(st.permutations(range(len(values)))))
    x = np.array(values)
    found = folds_of(Table.of("X", x), None, folds, seed)
    assert folds_of(Table.of("X", x[order]), None, folds, seed).tolist() == found[order].tolist()
    for value in set(values):
        assert len(set(found[x == value].tolist())) == 1
    assert found.min() >= 0
    assert found.max() < folds


def test_folds_are_about_even_and_change_with_the_seed():
    x = Table.of("X", np.random.default_rng(0).normal(size=10_000))
    one, other = (folds_of(x, None, 5, seed) for seed in (1, 2))
    assert np.bincount(one, minlength=5) == pytest.approx(2000, abs=200)  # five deviations
    assert np.mean(one == other) == pytest.approx(0.2, abs=0.03)


def test_folds_may_go_by_some_columns():
    frame = pd.DataFrame({"device": [1, 2] * 50, "x": np.arange(100.0)})
    fold = folds_of(Table.of("X", frame), ["device"], 7, 0)
    assert len(set(fold[::2].tolist())) == 1
    assert len(set(folds_of(Table.of("X", frame), None, 7, 0).tolist())) == 7
