"""Splits: no row twice, exact counts, nothing that leaks across time or place."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shiftproof.errors import InputError
from shiftproof.localization import AtRandom, ByPlace, ByTime, Fingerprints, Simulator

SPLITS = [AtRandom(), ByTime(), ByPlace(), ByPlace(5.0)]
WORLD = np.random.default_rng(3)
MESSAGES = Simulator(stations=20, parked=(0.3, 0.2)).build(WORLD).messages(1200, WORLD)


def rng(seed=0):
    return np.random.default_rng(seed)


def at(places, times=None):
    places = np.asarray(places, dtype=float)
    return Fingerprints(np.full((len(places), 1), -100.0), places, ["a"], times)


@pytest.mark.parametrize("split", SPLITS, ids=str)
class TestEverySplit:
    @given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.integers(0, 10**6))
    def test_counts_are_exact_and_no_row_serves_twice(self, split, counts, seed):
        sizes = {f"part {i}": count for i, count in enumerate(counts)}
        rows = split.split(MESSAGES, sizes, rng(seed))
        assert {name: len(part) for name, part in rows.items()} == sizes
        together = np.concatenate(list(rows.values()))
        assert len(np.unique(together)) == len(together)
        assert together.min() >= 0
        assert together.max() < len(MESSAGES)

    @given(st.integers(0, 10**6))
    def test_shares_are_near(self, split, seed):
        sizes = {"training": 0.5, "calibration": 0.3, "test": 0.2}
        rows = split.split(MESSAGES, sizes, rng(seed))
        most = 0.15 if isinstance(split, ByPlace) else 0.01  # a cell holds up to .35 of all
        for name, part in rows.items():
            assert len(part) / len(MESSAGES) <= sizes[name] + 1e-9
            assert len(part) / len(MESSAGES) > sizes[name] - most
        together = np.concatenate(list(rows.values()))
        assert len(np.unique(together)) == len(together)

    def test_a_seed_is_a_split(self, split):
        one, other = (split.split(MESSAGES, {"a": 100, "b": 50}, rng(5)) for _ in range(2))
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
        third = split.split(MESSAGES, {"a": 100, "b": 50}, rng(6))
        assert not np.array_equal(one["a"], third["a"])

    @pytest.mark.parametrize(
        ("sizes", "message"),
        [
            ({"a": 1000, "b": 500}, "at most 1,200 rows, got 1500"),
            ({"a": 0.8, "b": 0.3}, "at most 1 of all rows, got 1.1"),
            ({"a": 0.5, "b": 100}, "numbers of rows, or shares of all rows, got both"),
            ({"a": 0}, "size of a: expected a number above 0"),
            ({"a": True}, "size of a"),
            ({"a": "many"}, "size of a"),
            ({"a": 1e-9}, "at least one row for each part"),
            ({}, "a mapping from part to size"),
            ([100, 50], "a mapping from part to size"),
        ],
    )
    def test_sizes_that_cannot_be_had_are_refused(self, split, sizes, message):
        with pytest.raises(InputError, match=message):
            split.split(MESSAGES, sizes, rng())

    def test_a_seed_is_no_generator(self, split):
        with pytest.raises(InputError, match="expected Generator"):
            split.split(MESSAGES, {"a": 10}, 7)


class TestAtRandom:
    def test_each_row_is_as_likely_as_another(self):
        """Counts of 2,000 draws of 300 in 1,200; 5 deviations, below 1e-3 over all rows."""
        times = np.zeros(len(MESSAGES))
        source = rng(9)
        for _ in range(2000):
            times[AtRandom().split(MESSAGES, {"a": 300, "b": 100}, source)["a"]] += 1
        deviation = np.sqrt(2000 * 0.25 * 0.75)
        assert np.abs(times - 500).max() < 5 * deviation

    def test_all_rows(self):
        rows = AtRandom().split(MESSAGES, {"a": 1000, "b": 200}, rng())
        assert sorted(np.concatenate(list(rows.values()))) == list(range(1200))


class TestByTime:
    @given(st.lists(st.integers(0, 30), min_size=40, max_size=60), st.integers(0, 99))
    def test_every_part_is_before_the_next_also_with_messages_of_one_moment(self, seconds, seed):
        times = np.datetime64("2018-01-01", "s") + np.array(seconds)
        messages = at(np.zeros((len(seconds), 2)), times)
        try:
            rows = ByTime().split(messages, {"a": 0.4, "b": 0.3, "c": 0.3}, rng(seed))
        except InputError:  # a part without any row
            assume(False)
        spans = [messages.times[part] for part in rows.values()]
        for earlier, later in pairwise(spans):
            assert earlier.max() < later.min()

    def test_a_moment_that_is_too_long_to_part(self):
        times = np.array(["2018-01-01"] * 10, dtype="datetime64[s]")
        messages = at(np.zeros((10, 2)), times)
        with pytest.raises(InputError, match="rows for a: expected 5 in whole blocks, got 0"):
            ByTime().split(messages, {"a": 5, "b": 5}, rng())
        with pytest.raises(InputError, match="expected at least one in whole blocks, got 0; draw"):
            ByTime().split(messages, {"a": 0.5, "b": 0.5}, rng())

    def test_blocks_span_all_the_time(self):
        rows = ByTime().split(MESSAGES, {"a": 100, "b": 100}, rng())
        middle = np.sort(MESSAGES.times)[600]
        assert (MESSAGES.times[rows["a"]] < middle).all()
        assert (MESSAGES.times[rows["b"]] >= middle).all()

    def test_without_times(self):
        with pytest.raises(InputError, match="a time for each message, got none"):
            ByTime().split(at([[0, 0], [1, 1]]), {"a": 1}, rng())


class TestByPlace:
    @pytest.mark.parametrize("side", [0.5, 1.0, 7.0])
    @given(st.integers(0, 10**6))
    def test_a_cell_serves_one_part(self, side, seed):
        rows = ByPlace(side).split(MESSAGES, {"a": 0.5, "b": 0.25, "c": 0.25}, rng(seed))
        cells = [set(map(tuple, np.floor(MESSAGES.places[part] / side))) for part in rows.values()]
        assert not cells[0] & cells[1]
        assert not cells[0] & cells[2]
        assert not cells[1] & cells[2]

    def test_negative_kilometres_are_cells_of_their_own(self):
        messages = at([[-0.5, 0.5], [0.5, 0.5], [-0.4, 0.5], [0.4, 0.5]])
        rows = ByPlace().split(messages, {"a": 2, "b": 2}, rng())
        assert {tuple(sorted(part.tolist())) for part in rows.values()} == {(0, 2), (1, 3)}

    def test_one_cell_cannot_be_parted(self):
        with pytest.raises(InputError, match="in whole blocks, got 0"):
            ByPlace().split(at(np.full((10, 2), 0.5)), {"a": 5, "b": 5}, rng())
        with pytest.raises(InputError, match="expected at least one in whole blocks, got 0; draw"):
            ByPlace().split(at(np.full((10, 2), 0.5)), {"a": 0.5, "b": 0.5}, rng())

    @pytest.mark.parametrize("cell", [0.0, -1.0, np.inf, "wide"])
    def test_no_side(self, cell):
        with pytest.raises(InputError, match="cell"):
            ByPlace(cell)
