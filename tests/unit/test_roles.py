"""Which rows served for what: digests, overlaps, and the error where two roles are one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import shiftproof as shp
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


def table(rows, **more):
    """Two columns of numbers, as they are in some rows of one source."""
    return pd.DataFrame({"x": np.arange(20.0), "z": np.arange(20.0) ** 2}).iloc[rows].assign(**more)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: table(rows)[["z", "x"]],
        lambda rows: table(rows, score=0.5, z2=1)[["score", "z", "z2", "x"]],
        lambda rows: pl.from_pandas(table(rows)[["z", "x"]]),
        lambda rows: pl.from_pandas(table(rows)).with_columns(list=pl.lit([1.0, 2.0])),
    ],
    ids=["another order", "more columns", "another kind", "lists"],
)
def test_shared_rows_do_not_hide(change):
    """The columns of the first table are compared, by name."""
    for ledger in (Ledger(), Ledger(("z", "x"))):
        first = ledger.plus(training=table(range(10)))
        (overlap,) = first.plus(calibration=change(range(5, 15))).overlaps
        assert (overlap.rows, overlap.comparable) == (5, True)
        with pytest.raises(InputError, match="the same 10 rows"):
            first.plus(calibration=change(range(10)))


def test_lists_that_nobody_reads_do_no_harm():
    images = pl.DataFrame({"x": [1.0, 2.0], "image": [[1, 2], [3]], "at": [{"a": 1}, {"a": 2}]})
    ledger = Ledger().plus(training=images, calibration=images[:1])
    assert ledger.columns == ("x",)
    assert ledger.overlaps[0].rows == 1
    cells = pd.DataFrame({"x": [1.0, 2.0], "image": [np.ones(2), np.ones(3)]})
    assert ledger.plus(ratio_target=cells).overlaps[0].rows == 2


def test_roles_without_a_common_column_are_not_comparable():
    ledger = Ledger().plus(training=table(range(10)), calibration=table(range(10))[["x"]])
    assert not ledger.overlaps[0].comparable
    assert (
        str(ledger) == "calibration and training are not comparable: a compared column is missing"
    )
    more = ledger.plus(evaluation=table(range(9, 12)))
    assert [each.comparable for each in more.overlaps] == [False, True, False]
    assert len(str(more).splitlines()) == 3
    arrays = Ledger().plus(training=ROWS, calibration=table(range(3)))
    assert not arrays.overlaps[0].comparable
    nested = pl.DataFrame({"image": [[1, 2], [3]]})
    assert not Ledger().plus(training=nested, calibration=nested).overlaps[0].comparable


class TestChance:
    def test_rows_that_repeat_say_what_may_be_shared(self):
        ledger = Ledger().plus(training=[0, 0, 1, 2], calibration=[0, 3, 4, 4, 4])
        (overlap,) = ledger.overlaps
        assert (overlap.rows, overlap.by_chance) == (1, 3.0)  # 5 rows, of which 3 / 5 repeat
        assert not overlap.is_more_than_chance
        assert str(ledger).endswith("in training, no more than rows that repeat by themselves make")

    @pytest.mark.parametrize("values", [2, 24, 1000])
    def test_samples_of_discrete_inputs_share_no_more(self, values):
        told = 0
        for seed in range(200):
            values_of = np.random.default_rng(seed).integers(0, values, 190)
            one, other = values_of[:100], values_of[100:]
            told += Ledger().plus(training=one, calibration=other).overlaps[0].is_more_than_chance
        assert told <= 10

    def test_the_same_rows_by_chance_are_no_error(self):
        """Two values: a stratified split has the same number of each in both parts."""
        for pair in HARMFUL:
            even = [0, 1] * 50
            ledger = Ledger().plus(**dict.fromkeys(pair, even))
            assert ledger.overlaps[0].share == 1.0
            assert "no more than rows that repeat" in str(ledger)

    @pytest.mark.parametrize("repeated", [0, 2, 20, 50])
    def test_the_same_rows_of_which_few_repeat_are(self, repeated):
        x = np.random.default_rng(0).normal(size=100)
        x[:repeated] = 1.0
        with pytest.raises(InputError, match="the same 100 rows"):
            Ledger().plus(training=x, calibration=x[::-1])

    def test_one_shared_row_among_rows_that_are_all_different_is_more(self):
        (overlap,) = Ledger().plus(training=ROWS[:6], calibration=ROWS[5:]).overlaps
        assert (overlap.rows, overlap.by_chance) == (1, 0.0)
        assert overlap.is_more_than_chance


class TestWarnings:
    source, target = np.random.default_rng(0).normal([[[0.0]], [[0.5]]], 1, (2, 300, 1))
    fresh = np.random.default_rng(1).normal(0, 1, (100, 1))
    fitted = shp.GaussianRatio().fit(source, target)

    def curve(self, ratio, x):
        return ratio.curve(shp.LossCurves.steps(np.abs(x[:, 0])), x)

    @pytest.mark.parametrize("sample", ["source", "target"])
    def test_some_rows_of_the_ratio_among_those_that_calibrate(self, sample):
        own = np.concatenate([getattr(self, sample)[:25], self.fresh[:75]])
        with pytest.warns(
            shp.ShiftWarning, match=rf"25 rows \(25.0%\) .* in ratio {sample}: "
        ) as told:
            self.curve(self.fitted, own)
        assert str(told[0].message) == str(self.fitted.ledger.plus(calibration=own))
        assert told[0].filename == __file__

    def test_none(self):  # warnings are errors here
        self.curve(self.fitted, self.fresh)

    def test_bounds_and_groups_warn_too(self):
        bounded = shp.BootstrapRatio(shp.GaussianRatio(), draws=20).fit(self.source, self.target)
        own = np.concatenate([self.source[:25], self.fresh[:75]])
        with pytest.warns(shp.ShiftWarning, match="in ratio source"):
            self.curve(bounded, own)
        counted = shp.GroupRatio(
            lambda x: x[:, 0] > 0, source=self.source, target={True: 0.9, False: 0.1}
        )
        for ratio in (counted, counted.within(0.1)):
            with pytest.warns(shp.ShiftWarning, match="in ratio source"):
                self.curve(ratio, own)
        self.curve(counted.within(0.1, paid=True), own)

    def test_a_crossfitted_ratio_is_made_for_its_own_source(self):
        ratio = shp.CrossfitRatio(shp.GaussianRatio()).fit(self.source, self.target)
        self.curve(ratio, self.source[:100])
        assert ratio.ledger.plus(calibration=self.source[:100]).overlaps[1].rows == 100

    def test_discrete_inputs_share_their_values(self):
        rng = np.random.default_rng(2)
        hours = [rng.integers(0, 24, (300, 1)).astype(float) for _ in range(3)]
        self.curve(shp.ClassifierRatio(LogisticRegression()).fit(*hours[:2]), hours[2])


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
