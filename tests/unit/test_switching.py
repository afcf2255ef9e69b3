"""Stations that are off: what is silent, x_act by name and by place, the ratio, scenarios."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftproof as shp
from shiftproof.localization import Fingerprints, Linear, Simulator, Switching

RNG = np.random.default_rng(0)
NETWORK = Simulator(stations=30).build(RNG)
MESSAGES = NETWORK.messages(2000, RNG)
B = MESSAGES.ranked[:8]
SWITCHING = Switching(B, training=0.5, use=0.9)
LINEAR = Linear().fit(MESSAGES)


def rng():
    return np.random.default_rng(1)


class TestActs:
    def test_all_of_b_is_silent_when_off_and_nothing_else_changes(self):
        switched = SWITCHING.in_use(MESSAGES, rng())
        columns = MESSAGES.positions(B)
        others = np.setdiff1d(np.arange(30), columns)
        heard = switched.fingerprints.heard
        assert not heard[switched.off][:, columns].any()
        np.testing.assert_array_equal(heard[~switched.off], MESSAGES.heard[~switched.off])
        np.testing.assert_array_equal(
            switched.fingerprints.rssi[:, others], MESSAGES.rssi[:, others]
        )
        assert MESSAGES.heard[switched.off][:, columns].any()

    def test_off_is_zero_as_an_input_and_never_zero_dbm(self):
        switched = SWITCHING.in_use(MESSAGES, rng())
        inputs = switched.inputs(LINEAR)
        assert (inputs[switched.off][:, MESSAGES.positions(B)] == 0).all()
        assert np.nanmax(switched.fingerprints.rssi) < 0

    def test_rates(self):
        """Counts of 2,000 fair draws; 5 standard deviations, a false alarm in 1.7 million."""
        for rate, switched in (
            (0.5, SWITCHING.in_training(MESSAGES, rng())),
            (0.9, SWITCHING.in_use(MESSAGES, rng())),
            (0.2, SWITCHING.under(0.2).in_use(MESSAGES, rng())),
        ):
            margin = 5 * math.sqrt(rate * (1 - rate) / len(MESSAGES))
            assert abs(switched.off.mean() - rate) < margin

    def test_never_and_always(self):
        assert not SWITCHING.under(0.0).in_use(MESSAGES, rng()).off.any()
        assert SWITCHING.under(1.0).in_use(MESSAGES, rng()).off.all()

    def test_one_seed_one_draw(self):
        one, other = (SWITCHING.in_use(MESSAGES, rng()) for _ in range(2))
        np.testing.assert_array_equal(one.off, other.off)

    @pytest.mark.parametrize("off", [[1, 0, 1], [True, False, True], np.array([1.0, 0.0, 1.0])])
    def test_acts_that_are_given(self, off):
        switched = SWITCHING.applied(MESSAGES.take([0, 1, 2]), off)
        assert switched.off.tolist() == [True, False, True]

    def test_a_network_that_did_switch(self):
        switched = SWITCHING.in_use(MESSAGES, rng())
        seen = SWITCHING.observed(switched.fingerprints, switched.off)
        np.testing.assert_array_equal(seen.inputs(LINEAR), switched.inputs(LINEAR))
        with pytest.raises(shp.InputError, match="is 1 meant for on"):
            SWITCHING.observed(switched.fingerprints, ~switched.off)

    def test_messages_that_none_hears_stay_until_they_are_left_out(self):
        lonely = Fingerprints([[-120.0, np.nan], [-120.0, -90.0]], [[0, 0], [1, 1]], ["a", "b"])
        switched = Switching(["a"], 0.5, 0.9).applied(lonely, [1, 1])
        assert switched.received.tolist() == [False, True]
        assert len(switched) == 2
        heard = switched.take(switched.received)
        assert heard.places.tolist() == [[1.0, 1.0]]
        assert heard.off.tolist() == [True]


class TestInputs:
    def test_x_act_stands_last_in_arrays(self):
        switched = SWITCHING.in_use(MESSAGES, rng())
        inputs = switched.inputs(LINEAR)
        assert inputs.shape == (2000, 31)
        assert switched.column == 30
        np.testing.assert_array_equal(inputs[:, switched.column], switched.off)
        np.testing.assert_array_equal(inputs[:, :-1], LINEAR.values(switched.fingerprints))

    @pytest.mark.parametrize(
        ("backend", "kind"),
        [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
    )
    def test_x_act_has_a_name_in_tables(self, backend, kind):
        switched = SWITCHING.in_use(MESSAGES, rng())
        table = switched.table(LINEAR, backend)
        assert isinstance(table, kind)
        array = switched.inputs(LINEAR)
        for place, name in enumerate([*MESSAGES.stations, "x_act"]):
            np.testing.assert_array_equal(np.asarray(table[name]), array[:, place])
        np.testing.assert_array_equal(
            SWITCHING.ratio().weights(table), SWITCHING.ratio(switched.column).weights(array)
        )

    def test_refused(self):
        switched = SWITCHING.in_use(MESSAGES, rng())
        with pytest.raises(shp.InputError, match="one of pandas, polars, pyarrow"):
            switched.table(LINEAR, "excel")
        odd = Switching(B, 0.5, 0.9, name="BS 1").in_use(MESSAGES, rng())
        with pytest.raises(shp.InputError, match="a name that no station has"):
            odd.table(LINEAR, "pandas")


RATES = st.integers(1, 99).map(lambda cent: cent / 100)


class TestRatio:
    def test_of_the_paper(self):
        for use, largest in ((0.5, 1.0), (0.75, 1.5), (0.9, 1.8)):
            switching = SWITCHING.under(use)
            assert switching.largest_ratio == largest
            ratio = switching.ratio()
            assert ratio.ratio_of(1) == use / 0.5
            assert ratio.ratio_of(0) == float((1 - Fraction(str(use))) / Fraction(1, 2))

    @given(RATES, RATES)
    def test_weights_are_the_quotient_of_rates_and_have_mean_one(self, training, use):
        p, q = Fraction(str(training)), Fraction(str(use))
        ratio = Switching(["a"], training, use).ratio(0)
        found = ratio.weights([[1.0], [0.0]])
        assert found.tolist() == [float(q / p), float((1 - q) / (1 - p))]
        assert p * Fraction(found[0]) + (1 - p) * Fraction(found[1]) == pytest.approx(1)
        assert Switching(["a"], training, use).largest_ratio == max(found)

    def test_a_state_that_only_use_knows(self):
        switching = Switching(B, training=0.0, use=0.5)
        assert switching.largest_ratio == math.inf
        assert switching.ratio().outside == [1]

    def test_counted_rates(self):
        counted = SWITCHING.ratio().under(shp.Counts({1: 180, 0: 20}))
        assert counted.ratio_of(1) == 1.8
        assert counted.within(0.1).assumption.certainty is shp.Certainty.CERTIFIED

    def test_scenarios(self):
        by_rate = SWITCHING.scenarios([0.5, 0.75, 0.9], 30)
        assert {rate: ratio.ratio_of(1) for rate, ratio in by_rate.items()} == {
            0.5: 1.0,
            0.75: 1.5,
            0.9: 1.8,
        }
        by_name = SWITCHING.scenarios({"day": 0.1})
        assert by_name["day"].columns == ("x_act",)

    def test_a_what_if_is_the_calibration_under_that_ratio(self):
        labelled = SWITCHING.in_training(MESSAGES.take(np.arange(300)), rng())
        use = SWITCHING.in_use(MESSAGES.take(np.arange(300, 400)), rng())
        model = lambda x: 20 * x[:, :2]  # noqa: E731

        def controller(ratio):
            return shp.RiskController(model, shp.Balls(MESSAGES.box(1.0)), shp.Distance(), ratio)

        scenarios = SWITCHING.scenarios([0.5, 0.9], labelled.column)
        first = controller(scenarios[0.5]).calibrate(labelled.inputs(LINEAR), labelled.places)
        again = controller(scenarios[0.9]).calibrate(labelled.inputs(LINEAR), labelled.places)
        np.testing.assert_array_equal(
            first.under(scenarios[0.9]).predict(use.inputs(LINEAR), 5.0).radii,
            again.predict(use.inputs(LINEAR), 5.0).radii,
        )

    @given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.integers(0, 2**32 - 1))
    def test_leaving_out_what_none_hears_changes_the_ratio_by_a_constant(self, p, q, seed):
        """P(x | received) on both sides: the ratio of densities is w(x) times one constant."""
        state = np.random.default_rng(seed).random(4)  # P(kind of message), all that is there
        kinds = state / state.sum()
        heard_off = np.array([True, False, True, False])  # kinds that other stations hear
        ratio = Switching(["a"], p, q).ratio(0)

        def density(rate):
            joint = np.stack([(1 - rate) * kinds, rate * kinds * heard_off])
            return joint / joint.sum()

        kept = density(p) > 0
        found = density(q)[kept] / density(p)[kept]
        acts = np.repeat([[0.0], [1.0]], 4, axis=1)[kept]
        weights = ratio.weights(acts[:, None])
        np.testing.assert_allclose(found / weights, found[0] / weights[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Switching([], 0.5, 0.9), "names of stations, got none"),
        (lambda: Switching("BS 1", 0.5, 0.9), "names of stations, got 'BS 1'"),
        (lambda: Switching(["a", "a"], 0.5, 0.9), "each station once"),
        (lambda: Switching(["a"], 50, 0.9), "training: expected a probability, got 50"),
        (lambda: Switching(["a"], 0.5, -0.1), "use: expected a probability"),
        (lambda: Switching(["a"], 0.5, 0.9, name=""), "name: expected a name"),
        (lambda: Switching(["a"], 0.5, 0.9).in_use(MESSAGES, rng()), r"no \['a'\] among 30"),
        (lambda: SWITCHING.in_use(MESSAGES, 7), "expected Generator, got int"),
        (lambda: SWITCHING.applied(MESSAGES, [1, 0]), r"shape \(2000,\)"),
        (lambda: SWITCHING.applied(MESSAGES.take([0]), [2]), "0 or 1, got 2.0"),
        (lambda: SWITCHING.scenarios([]), "at least one rate"),
        (lambda: SWITCHING.scenarios(0.5), "a sequence or a mapping of rates, got 0.5"),
        (lambda: SWITCHING.scenarios(None), "a sequence or a mapping of rates, got None"),
        (lambda: SWITCHING.scenarios([1.5]), "a probability"),
    ],
)
def test_what_is_no_switching_is_refused(call, message):
    with pytest.raises(shp.InputError, match=message):
        call()
