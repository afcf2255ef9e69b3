"""The simulator: the law that it draws from, and how near its figures are to those of real data."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import shiftproof as shp
from shiftproof.errors import InputError
from shiftproof.localization import (
    Fingerprints,
    PathLoss,
    Simulator,
    Summary,
    pathloss,
    simulator,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
REAL = json.loads((DOCS / "tables" / "sigfox_summary.json").read_text())
CLEAR = {"gain_spread": 0.0, "device_spread": 0.0, "margin": 10.0}


def network(seed=0, **options):
    rng = np.random.default_rng(seed)
    return Simulator(**options).build(rng), rng


def pairs(built, rng, count=400):
    """Distances between messages and stations, and their signals, heard or not."""
    places = rng.uniform([-20, -15], [20, 15], (count, 2))
    apart = np.hypot(*(places[:, None] - built.towers).transpose(2, 0, 1))
    return apart, built.signals(places, rng)


class TestPathLoss:
    LAW = PathLoss(-98.0, 3.7, 6.0)

    def test_the_mean(self):
        np.testing.assert_allclose(
            self.LAW.mean([1.0, 10.0, 100.0]), [-98.0, -98.0 - 37.0, -98.0 - 74.0]
        )
        assert self.LAW.mean(0.0) == self.LAW.mean(0.02) < 0
        indoor = PathLoss(-40.0, 3.0, 3.0, nearest=0.001)
        assert indoor.mean(0.002) == pytest.approx(-40.0 - 30 * np.log10(0.002))
        assert indoor.mean(0.0) == indoor.mean(0.001) == pytest.approx(50.0)

    def test_rooms(self):
        """Metres: the law of 1 to 60 m is found where `nearest` is said, and refused where not."""
        rng = np.random.default_rng(0)
        law = PathLoss(-130.0, 3.0, 3.0, nearest=0.001)
        apart = rng.uniform(0.001, 0.06, 2000)
        rssi = law.mean(apart) + 3 * rng.normal(size=2000)
        found = PathLoss.fit(apart, rssi, -np.inf, nearest=0.001)
        assert found.exponent == pytest.approx(3.0, abs=0.1)
        assert found.at_one_km == pytest.approx(-130.0, abs=2.0)
        assert (found.spread, found.nearest) == (pytest.approx(3.0, abs=0.2), 0.001)
        with pytest.raises(InputError, match=r"at least 0.02, the nearest .*nearest=.001"):
            PathLoss.fit(apart, rssi, -np.inf)

    def test_a_search_that_does_not_end_is_told(self, monkeypatch):
        monkeypatch.setattr(pathloss, "_TIGHT", {"maxiter": 3})
        with pytest.raises(InputError, match=r"a law of most likelihood, got .*iterations"):
            PathLoss.fit([1, 2, 3, 4], [-90, -95, -99, np.nan], -100)

    @pytest.mark.parametrize("sensitivity", [-np.inf, -139.0])
    @pytest.mark.parametrize("softness", [0.0, 3.0])
    def test_its_parameters_are_recovered_from_a_network(self, sensitivity, softness):
        """54,800 pairs; shadows of one place are alike, so far fewer are independent."""
        built, rng = network(
            path_loss=self.LAW,
            sensitivity=sensitivity,
            softness=softness,
            shadow_length=0.05,
            fading=0.0,
            **CLEAR,
        )
        apart, signals = pairs(built, rng)
        rssi = built.received(signals, rng)
        found = PathLoss.fit(apart, rssi, sensitivity, softness)
        assert found.at_one_km == pytest.approx(-98.0, abs=1.5)
        assert found.exponent == pytest.approx(3.7, abs=0.12)
        assert found.spread == pytest.approx(6.0, abs=0.25)
        if np.isfinite(sensitivity):
            heard = ~np.isnan(rssi)
            slope = np.polyfit(-10 * np.log10(apart[heard]), rssi[heard], 1)[0]
            assert slope < 3.7 - 0.5, "what is heard alone does not tell: the negative control"

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: PathLoss(-98, -3, 6), "exponent: expected a finite number of at least 0, got"),
            (lambda: PathLoss(-98, 3, -6), "spread: expected a finite number of at least 0, got"),
            (lambda: PathLoss(-98, 3, 6, 0.0), "nearest: expected a finite number above 0"),
            (lambda: PathLoss(np.inf, 3, 6), "at_one_km: expected a finite number"),
            (lambda: PathLoss(-98, 3, 6).mean([-1.0]), "kilometres, at least 0"),
            (lambda: PathLoss.fit([1, 2], [-90.0], -140), "one per distance"),
            (lambda: PathLoss.fit([1, 2, 3], [-90.0, np.nan, -99.0], -140), "three distances"),
            (lambda: PathLoss.fit([1, 2, -3], [-90, -95, -99], -140), "got -3.0 at position 2"),
            (lambda: PathLoss.fit([1, 2, np.inf], [-90, -95, -99], -140), "got inf at position 2"),
            (lambda: PathLoss.fit([0.01, 2, 3], [-90, -95, -99], -140), "got 0.01 at position 0"),
            (lambda: PathLoss.fit([1, 2, 3], [-99, -95, -90], -140), "grow with it, exponent -1"),
            (lambda: PathLoss.fit([1, 2, 3], ["loud", "a", "b"], -140), "rssi: expected numbers"),
            (lambda: PathLoss.fit([1, 2, 3], [-90, -95, -np.inf], -140), "finite dBm, got -inf"),
            (
                lambda: PathLoss.fit([1, 2, 3], np.ma.masked_less([-90, -95, -99], -96), -140),
                "mask",
            ),
            (
                lambda: PathLoss.fit([1, 2, 3], [-90, -95, -99], -140, -3),
                "softness: expected a fini",
            ),
            (
                lambda: PathLoss.fit([1, 2, 3, 4], [-90, -95, -97, np.nan], -np.inf),
                "a level above -inf, got 1 not heard",
            ),
            (
                lambda: PathLoss.fit([1, 2, 3, 4], [-90, -95, -97, np.nan], -96),
                "below all that was heard, got -97 heard",
            ),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises(InputError, match=message):
            call()


class TestNetwork:
    def test_reception_has_a_threshold(self):
        built, rng = network(softness=0.0, sensitivity=-130.0)
        _, signals = pairs(built, rng)
        rssi = built.received(signals, rng)
        np.testing.assert_array_equal(np.isnan(rssi), signals <= -130.0)
        np.testing.assert_array_equal(rssi[signals > -130.0], signals[signals > -130.0])

    def test_shadows_belong_to_a_place(self):
        built, rng = network(fading=0.0, device_spread=0.0)
        places = rng.uniform(-10, 10, (50, 2))
        np.testing.assert_array_equal(built.signals(places, rng), built.signals(places, rng))

    def test_shadows_change_over_their_length(self):
        """Correlation exp(-(r/length)^2 / 2): .88 at half a length, .0003 at four."""
        built, rng = network(fading=0.0, shadow_length=2.0, stations=400, **CLEAR)
        places = rng.uniform(-10, 10, (200, 2))

        def shadow(where):
            apart = np.hypot(*(where[:, None] - built.towers).transpose(2, 0, 1))
            return built.signals(where, rng) - built.simulator.path_loss.mean(apart)

        here = shadow(places)
        assert here.std() == pytest.approx(built.simulator.path_loss.spread, rel=0.03)
        for step, expected in ((1.0, np.exp(-0.125)), (8.0, 0.0)):
            there = shadow(places + np.array([step, 0.0]))
            assert np.corrcoef(here.ravel(), there.ravel())[0, 1] == pytest.approx(
                expected, abs=0.06
            )

    def test_messages_that_leave_no_trace_are_not_in_the_data(self):
        built, rng = network(stations=5, sensitivity=-135.0)
        messages = built.messages(300, rng)
        assert len(messages) == 300
        assert messages.received.all()

    def test_parked_and_moving(self):
        built, rng = network(parked=(0.6, 0.3), roads=3)
        places = built.places(4000, rng)
        for home, share in zip(built.homes, (0.6, 0.3), strict=True):
            near = np.hypot(*(places - home).T) < 0.2
            assert near.mean() == pytest.approx(share, abs=0.05)
        assert built.simulator.region.contains(places).all()

    def test_all_parked(self):
        built, rng = network(parked=(1.0,))
        assert np.hypot(*(built.places(200, rng) - built.homes[0]).T).max() < 0.2

    def test_all_on_roads(self):
        built, rng = network(parked=(), roads=2)
        assert len(built.messages(50, rng)) == 50

    def test_more_messages_than_are_made_at_once(self, monkeypatch):
        monkeypatch.setattr(simulator, "_AT_ONCE", 100)
        built, rng = network(stations=20)
        messages = built.messages(1000, rng)
        assert len(messages) == len(np.unique(messages.places, axis=0)) == 1000

    def test_a_seed_is_a_network(self):
        one, other = (network(seed=4)[0] for _ in range(2))
        np.testing.assert_array_equal(one.towers, other.towers)
        messages = [each.messages(50, np.random.default_rng(1)) for each in (one, other)]
        np.testing.assert_array_equal(messages[0].rssi, messages[1].rssi)
        assert not np.array_equal(network(seed=5)[0].towers, one.towers)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: Simulator(region=[0, 0]), "expected Box"),
            (lambda: Simulator(region=shp.Box(0, 1)), "a box in the plane"),
            (lambda: Simulator(stations=0), "stations: expected a whole number of at least 1"),
            (lambda: Simulator(roads=0), "roads"),
            (lambda: Simulator(parked=(0.7, 0.6)), "shares that sum to at most 1"),
            (lambda: Simulator(parked=(-0.1,)), "shares that sum to at most 1"),
            (lambda: Simulator(shadow_length=0.0), "shadow_length: expected a finite number"),
            (lambda: Simulator(fading=-1.0), "fading: expected a finite number"),
            (lambda: Simulator(path_loss=3.5), "expected PathLoss"),
            (lambda: Simulator().build(7), "expected Generator"),
            (lambda: network()[0].messages(0, np.random.default_rng(0)), "a whole number"),
            (
                lambda: network(stations=1, sensitivity=0.0)[0].messages(
                    5, np.random.default_rng(0)
                ),
                "a network that hears its devices",
            ),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises(InputError, match=message):
            call()


class TestSummary:
    def test_by_hand(self):
        rssi = [[-100.0, np.nan], [-110.0, -120.0], [-130.0, np.nan], [-140.0, np.nan]]
        places = [[0.2, 0.2], [0.3, 0.9], [1.5, 0.1], [3.2, 2.5]]
        found = Summary.of(Fingerprints(rssi, places, ["a", "b"]))
        assert (found.messages, found.stations, found.cells) == (4, 2, 3)
        assert found.heard_share == 5 / 8
        assert found.stations_heard[2] == 1.0
        assert found.stations_heard_most == 2
        assert found.strength[2] == -120.0
        assert (found.weakest, found.strongest) == (-140.0, -100.0)
        assert (found.busiest, found.rarely) == (1.0, 0.0)
        assert (found.in_one_cell, found.in_three_cells) == (0.5, 1.0)
        assert (found.width, found.height) == pytest.approx((3.0, 2.4))
        assert "in 1, 3, 10 busiest km2" in str(found)

    def test_nothing_heard(self):
        with pytest.raises(InputError, match="no station heard"):
            Summary.of(Fingerprints([[np.nan]], [[0, 0]], ["a"]))


#: How far the median over networks may be from the real figure; all in the figure's own unit.
TOLERANCES = {
    "heard_share": 0.012,
    "weakest": 4.0,
    "rarely": 0.1,
    "in_one_cell": 0.05,
    "in_three_cells": 0.05,
    "in_ten_cells": 0.05,
}

#: Where the simulator is off, always to one side: by how much, at least and at most. A simulated
#: station hears more than one parked device more often than in the data, and its few roads seldom
#: reach the edges of the region, which is as large as the real box.
ASIDE = {"busiest": (0.10, 0.32), "width": (-10.0, -2.0), "height": (-10.0, -2.0)}
QUANTILES = {"stations_heard": [1, 1, 1, 1, 4], "strength": [3, 3, 3, 5, 6]}


@pytest.fixture(scope="module")
def summaries():
    found = []
    for seed in range(12):
        built, rng = network(seed)
        found.append(Summary.of(built.messages(1500, rng)))
    return found


class TestNearToRealData:
    @pytest.mark.parametrize("name", TOLERANCES)
    def test_a_figure(self, summaries, name):
        middle = np.median([getattr(one, name) for one in summaries])
        assert middle == pytest.approx(REAL[name], abs=TOLERANCES[name])

    @pytest.mark.parametrize("name", ASIDE)
    def test_a_figure_that_is_off_to_one_side(self, summaries, name):
        least, most = ASIDE[name]
        middle = np.median([getattr(one, name) for one in summaries])
        assert least <= middle - REAL[name] <= most

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("busiest", {"sensitivity": -150.0}),
            ("busiest", {"sensitivity": -125.0}),
            ("width", {"roads": 100, "parked": ()}),
            ("width", {"roads": 1, "parked": ()}),
            ("height", {"roads": 100, "parked": ()}),
            ("height", {"roads": 1, "parked": ()}),
        ],
    )
    def test_other_worlds_are_off_by_something_else(self, name, options):
        """The negative controls: each bound is passed by some world."""
        found = []
        for seed in range(6):
            built, rng = network(seed, **options)
            found.append(getattr(Summary.of(built.messages(500, rng)), name))
        least, most = ASIDE[name]
        assert not least <= np.median(found) - REAL[name] <= most

    @pytest.mark.parametrize("name", QUANTILES)
    def test_quantiles(self, summaries, name):
        middle = np.median([getattr(one, name) for one in summaries], axis=0)
        assert (np.abs(middle - REAL[name]) <= QUANTILES[name]).all(), (middle, REAL[name])

    def test_the_page_shows_these_defaults(self):
        tables = runpy.run_path(str(DOCS / "localization_tables.py"))
        found = tables["comparison"](Summary(**REAL), tables["middle"](tables["simulated"]()))
        assert found == (DOCS / "tables" / "simulated.md").read_text()

    def test_another_world_is_told_apart(self):
        """The negative control: a town of many stations is not the rural network."""
        built, rng = network(margin=0.0, sensitivity=-150.0)
        found = Summary.of(built.messages(500, rng))
        assert abs(found.heard_share - REAL["heard_share"]) > TOLERANCES["heard_share"]
        assert abs(found.stations_heard[2] - REAL["stations_heard"][2]) > 1
