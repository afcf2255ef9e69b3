"""Fingerprints and the inputs that are made of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftproof.errors import InputError
from shiftproof.localization import (
    AtRandom,
    Binary,
    Exponential,
    Fingerprints,
    Linear,
    LocalPlane,
    Powed,
    Summary,
    Switching,
    write_parquet,
)

NAN = math.nan
NAMES = ("north", "south", "mast")
RSSI = [[-120.0, NAN, -99.0], [-110.0, -131.0, NAN], [NAN, NAN, NAN]]
PLACES = [[0.0, 0.0], [3.0, 1.0], [1.0, 2.0]]
TIMES = np.array(["2018-01-03", "2018-01-01", "2018-01-02"], dtype="datetime64[s]")
MESSAGES = Fingerprints(RSSI, PLACES, NAMES, TIMES)
RECIPES = [Linear(), Powed(), Powed(0.5), Exponential(), Exponential(7.0), Binary()]


class TestFingerprints:
    def test_what_was_heard(self):
        assert MESSAGES.heard.tolist() == [
            [True, False, True],
            [True, True, False],
            [False, False, False],
        ]
        assert MESSAGES.received.tolist() == [True, True, False]
        assert MESSAGES.ranked == ("north", "south", "mast")
        assert len(MESSAGES) == 3

    @pytest.mark.parametrize("rows", [[2, 0], np.array([True, False, True])])
    def test_taken_rows_keep_all_that_belongs_to_them(self, rows):
        part = MESSAGES.take(np.asarray(rows))
        index = np.arange(3)[rows]
        np.testing.assert_array_equal(part.rssi, MESSAGES.rssi[index])
        np.testing.assert_array_equal(part.places, MESSAGES.places[index])
        np.testing.assert_array_equal(part.times, MESSAGES.times[index])
        assert part.stations == NAMES

    def test_nothing_taken(self):
        assert len(MESSAGES.take(np.array([], dtype=int))) == 0

    def test_it_does_not_change(self):
        source = np.array(RSSI)
        messages = Fingerprints(source, PLACES, NAMES)
        source[0, 0] = -1.0
        assert messages.rssi[0, 0] == -120.0
        with pytest.raises(ValueError, match="read-only"):
            messages.rssi[0, 0] = -1.0

    def test_ranks_of_many_stations_alike_are_as_in_the_table(self):
        """Two hundred of them, as a sort that is not stable leaves a few in order by chance."""
        names = tuple(f"s{i}" for i in range(200))
        rssi = np.where(np.arange(2)[:, None] < np.arange(200) % 3, -100.0, NAN)
        ranked = Fingerprints(rssi, np.zeros((2, 2)), names).ranked
        assert ranked == tuple(names[i] for start in (2, 1, 0) for i in range(start, 200, 3))

    @pytest.mark.parametrize("kind", [float, int])
    def test_masked_signals_are_not_read_as_heard(self, kind):
        rssi = np.ma.masked_equal(np.array([[-90, 100, -80]], dtype=kind), 100)
        with pytest.raises(InputError, match=r"no masked entries, got 1 masked; .*filled\(nan\)"):
            Fingerprints(rssi, [[0, 0]], NAMES)
        filled = Fingerprints(rssi.astype(float).filled(NAN), [[0, 0]], NAMES)
        assert filled.heard.tolist() == [[True, False, True]]
        bare = np.ma.array([[-90.0, -85.0, -80.0]])
        assert Fingerprints(bare, [[0, 0]], NAMES).heard.all(), "nothing is masked"

    def test_masked_times(self):
        times = np.ma.array(TIMES, mask=[False, True, False])
        with pytest.raises(InputError, match="a time for every message, got 1 masked"):
            Fingerprints(RSSI, PLACES, NAMES, times)

    def test_silenced_stations(self):
        silent = MESSAGES.silenced(["north"], np.array([True, False, False]))
        assert silent.heard[:, 0].tolist() == [False, True, False]
        np.testing.assert_array_equal(silent.rssi[:, 1:], MESSAGES.rssi[:, 1:])
        assert MESSAGES.heard[0, 0]

    def test_regions(self):
        box = MESSAGES.box(margin=0.5)
        assert box.low.tolist() == [-0.5, -0.5]
        assert box.high.tolist() == [3.5, 2.5]
        assert MESSAGES.hull().volume == pytest.approx(2.5)
        assert MESSAGES.box().contains(PLACES).all()
        assert MESSAGES.hull().contains(PLACES).all()

    def test_degrees(self):
        plane = LocalPlane(51.0, 4.0)
        messages = Fingerprints(RSSI, PLACES, NAMES, plane=plane)
        np.testing.assert_array_equal(messages.degrees, plane.degrees(PLACES))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((RSSI, PLACES, ("a", "a", "b")), r"each station once, got \['a'\]"),
            ((RSSI, PLACES, "abc"), "a sequence of names"),
            ((RSSI, PLACES, ("a", "b")), r"shape \(n, 2\), a column per station"),
            ((RSSI, PLACES, ("a", 3, "b")), "all of them text, got 3"),
            ((RSSI, PLACES[:2], NAMES), r"places: expected shape \(3, 2\)"),
            ((RSSI, [[0, 0], [0, math.inf], [0, 0]], NAMES), "finite places"),
            (([[-200.0, -90.0, -80.0]], [[0, 0]], NAMES), "marks what was not heard"),
            (([[100.0, -90.0, -80.0]], [[0, 0]], NAMES), "got 100.0 at position 0"),
            (([["loud", -90.0, -80.0]], [[0, 0]], NAMES), "rssi: expected numbers"),
            ((RSSI, PLACES, NAMES, TIMES[:2]), r"datetime64 of shape \(3,\)"),
            ((RSSI, PLACES, NAMES, [1, 2, 3]), "datetime64"),
            ((RSSI, PLACES, NAMES, np.array(["NaT"] * 3, dtype="M8[s]")), "3 missing"),
            ((RSSI, PLACES, NAMES, None, "Ghent"), "expected LocalPlane"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, message):
        with pytest.raises(InputError, match=message):
            Fingerprints(*arguments)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: MESSAGES.positions(["nrth"]), r"no \['nrth'\] among 3 stations"),
            (lambda: MESSAGES.take([3]), "positions from 0 to 2"),
            (lambda: MESSAGES.take([-1]), "positions from 0 to 2"),
            (lambda: MESSAGES.take([0.5]), "positions from 0 to 2"),
            (lambda: MESSAGES.take([True]), r"shape \(3,\)"),
            (lambda: MESSAGES.box(-1.0), "margin: expected at least 0"),
            (lambda: MESSAGES.take([]).box(), "a region needs messages"),
            (lambda: MESSAGES.degrees, "have no degrees"),
        ],
    )
    def test_what_cannot_be_answered_is_refused(self, call, message):
        with pytest.raises(InputError, match=message):
            call()


class TestRepresentations:
    def test_the_formulas(self):
        messages = Fingerprints([[-148.0, -103.0, -59.0, NAN]], [[0, 0]], list("abcd"))
        linear = [1 / 90, 46 / 90, 1.0, 0.0]
        expected = {
            Linear(): linear,
            Powed(): [value**math.e for value in linear],
            Powed(2.0): [value**2 for value in linear],
            Exponential(): [math.exp(-89 / 24), math.exp(-44 / 24), 1.0, 0.0],
            Binary(): [1.0, 1.0, 1.0, 0.0],
        }
        for recipe, values in expected.items():
            np.testing.assert_allclose(recipe.fit(messages).values(messages), [values], rtol=1e-12)

    @pytest.mark.parametrize("recipe", RECIPES, ids=str)
    @given(st.lists(st.one_of(st.just(NAN), st.floats(-150, -50)), min_size=2, max_size=8))
    def test_not_heard_is_zero_and_stronger_is_more(self, recipe, signals):
        if all(map(math.isnan, signals)):
            signals = [*signals[1:], -100.0]
        names = [f"s{i}" for i in range(len(signals))]
        messages = Fingerprints([signals], [[0, 0]], names)
        values = recipe.fit(messages).values(messages)[0]
        heard = messages.heard[0]
        assert (values[~heard] == 0).all()
        assert ((values[heard] > 0) & (values[heard] <= 1 + 1e-12)).all()
        order = np.argsort(np.array(signals)[heard], kind="stable")
        assert (np.diff(values[heard][order]) >= -1e-12).all()

    @pytest.mark.parametrize("recipe", RECIPES, ids=str)
    def test_given_constants_are_those_that_are_fitted(self, recipe):
        fitted = recipe.fit(MESSAGES)
        if not isinstance(recipe, Binary):
            assert fitted == recipe.between(-131.0, -99.0)
        assert not np.isnan(fitted.values(MESSAGES)).any()

    @pytest.mark.parametrize("recipe", RECIPES[:-1], ids=str)
    def test_signals_beyond_are_refused_or_clipped_when_asked(self, recipe):
        for beyond in (-140.0, -60.0):
            new = Fingerprints([[beyond, -110.0, NAN]], [[0, 0]], NAMES)
            with pytest.raises(InputError, match=r"signals from -131 to -99 dBm, got"):
                recipe.fit(MESSAGES).values(new)
            clipped = recipe.fit(MESSAGES, clip=True)
            assert clipped.beyond(new) == 0.5
            end = -131.0 if beyond < -131 else -99.0
            at_the_end = Fingerprints([[end, -110.0, NAN]], [[0, 0]], NAMES)
            np.testing.assert_array_equal(clipped.values(new), clipped.values(at_the_end))
        assert recipe.fit(MESSAGES).beyond(MESSAGES) == 0.0

    def test_binary_knows_no_beyond(self):
        new = Fingerprints([[-140.0, -20.0, NAN]], [[0, 0]], NAMES)
        assert Binary().fit(MESSAGES).values(new).tolist() == [[1.0, 1.0, 0.0]]

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: Linear().between(-59, -148), "strongest: expected at least -59"),
            (lambda: Linear().between(-math.inf, -59), "finite dBm"),
            (lambda: Linear().between("a", -59), "expected numbers"),
            (lambda: Linear().between(-148, -59, clip=1), "True or False"),
            (lambda: Powed(0.0), "a number above 0"),
            (lambda: Exponential(-1.0), "a number above 0"),
            (lambda: Linear().fit(MESSAGES.take([2])), "no station heard"),
            (lambda: Linear().fit(RSSI), "expected Fingerprints"),
            (lambda: Powed(200.0).between(-148, -59), r"Powed\(.*0 in floating point at -148 dBm"),
            (lambda: Exponential(0.1).between(-148, -59), "inputs above 0 for all that is heard"),
        ],
    )
    def test_what_does_not_scale_is_refused(self, call, message):
        with pytest.raises(InputError, match=message):
            call()

    @pytest.mark.parametrize(
        "call",
        [
            lambda: Linear().between(-148, -59).values(RSSI),
            lambda: Linear().between(-148, -59).beyond(RSSI),
            lambda: Summary.of(RSSI),
            lambda: Switching(["north"], 0.5, 0.9).applied(RSSI, [1, 0, 1]),
            lambda: Switching(["north"], 0.5, 0.9).in_use(RSSI, np.random.default_rng(0)),
            lambda: AtRandom().split(RSSI, {"a": 1}, np.random.default_rng(0)),
            lambda: write_parquet(RSSI, "nowhere.parquet"),
        ],
    )
    def test_arrays_are_no_fingerprints(self, call):
        with pytest.raises(InputError, match="expected Fingerprints, got list"):
            call()

    def test_nothing_heard_has_no_share_beyond(self):
        assert math.isnan(Linear().between(-148, -59).beyond(MESSAGES.take([2])))
