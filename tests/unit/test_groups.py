"""Finite groups: rates and counts as weights, and the worst case over all that counts allow."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import RUNS
from shiftproof.confidence import rate_interval
from shiftproof.contracts import Certainty, Ratio
from shiftproof.errors import InputError
from shiftproof.ratios.groups import Counts, GroupRatio
from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    PricedCurve,
    RiskCurve,
    WeightBox,
)

INF = float("inf")
HALVES = {"off": 0.5, "on": 0.5}
SHIFTED = {"off": 0.9, "on": 0.1}


def test_a_weight_is_target_over_source():
    ratio = GroupRatio("s", source={"a": 0.2, "b": 0.5, "c": 0.3}, target={"a": 0.6, "b": 0.4})
    assert ratio.weights(pl.DataFrame({"s": ["c", "b", "a"]})) == pytest.approx([0.0, 0.8, 3.0])
    assert ratio.outside == []
    assert ratio.columns == ("s",)
    assert isinstance(ratio, Ratio)


@given(st.permutations(["a", "b", "c"]), st.permutations(["a", "b", "c"]))
def test_the_order_of_rates_is_irrelevant(one, other):
    source, target = {"a": 0.2, "b": 0.5, "c": 0.3}, {"a": 0.1, "b": 0.2, "c": 0.7}
    rows = pl.DataFrame({"s": ["a", "b", "c"]})
    mixed = GroupRatio(
        "s", source={g: source[g] for g in one}, target={g: target[g] for g in other}
    )
    straight = GroupRatio("s", source=source, target=target)
    assert mixed.weights(rows).tolist() == straight.weights(rows).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda s: pd.DataFrame({"s": s}),
        lambda s: pl.DataFrame({"s": s}),
        lambda s: pa.table({"s": s}),
        lambda s: pd.DataFrame({"s": pd.Categorical(s)}),
        lambda s: pd.Series(s, name="s"),
    ],
    ids=["pandas", "polars", "arrow", "categories", "series"],
)
def test_a_table_is_counted(make):
    labels = ["on"] * 3 + ["off"] * 5
    ratio = GroupRatio("s", source=make(labels), target=SHIFTED)
    assert ratio.source.of == {"on": 3, "off": 5}
    counts = GroupRatio("s", source=Counts({"off": 5, "on": 3}), target=SHIFTED)
    assert ratio.weights(make(labels)).tolist() == counts.weights(make(labels)).tolist()
    assert ratio.weights(make(["off"])) == pytest.approx([0.9 / (5 / 8)])


def test_labels_in_a_series_may_have_any_index():
    labels = pd.Series(["on", "off", "off"], index=[7, 3, 9], name="s")
    assert GroupRatio("s", source=labels, target=SHIFTED).source.of == {"on": 1, "off": 2}
    assert ratio(target=dict(pd.Series(SHIFTED))).ratio_of("off") == 1.8


def test_labels_that_are_equal_are_one_group():
    rates = {"source": {0: 0.5, 1: 0.5}, "target": {False: 0.9, True: 0.1}}
    ratio = GroupRatio(0, **rates)
    for labels in ([0, 1], [0.0, 1.0], [False, True]):
        assert ratio.weights(np.array(labels)).tolist() == [1.8, 0.2]
    table = GroupRatio("s", **rates)
    assert table.weights(pl.DataFrame({"s": [False, True]})).tolist() == [1.8, 0.2]


def test_a_group_of_the_target_alone_is_outside_the_support():
    ratio = GroupRatio("s", source={"a": 1.0, "c": 0.0}, target={"a": 0.5, "b": 0.5, "c": 0.0})
    assert ratio.weights(pl.DataFrame({"s": ["a", "b", "c"]})).tolist() == [0.5, INF, 0.0]
    assert ratio.outside == ["b"]
    assert "'b': in the target alone" in str(ratio.assumption)


def test_a_function_of_the_inputs_gives_groups():
    def half(frame):
        return np.where(frame["x"].to_numpy() > 2, "high", "low")

    frame = pd.DataFrame({"x": [1, 2, 3, 4]})
    ratio = GroupRatio(half, source=frame, target={"low": 0.25, "high": 0.75})
    assert ratio.columns is None
    assert ratio.weights(frame).tolist() == [0.5, 0.5, 1.5, 1.5]
    assert ratio.labels_of(frame).tolist() == ["low", "low", "high", "high"]


def test_a_what_if_keeps_the_source():
    counted = Counts({"off": 30, "on": 70})
    ratio = GroupRatio("s", source=counted, target=SHIFTED).under({"off": 0.6, "on": 0.4})
    assert ratio.ratio_of("off") == pytest.approx(2.0)
    assert ratio.source.of == counted.of


def test_rates_that_were_rounded_are_divided_by_their_sum():
    thirds = dict.fromkeys("abc", 0.3333333333)
    ratio = GroupRatio("s", source=Counts({"a": 1, "b": 1, "c": 1}), target=thirds)
    assert [ratio.ratio_of(group) for group in "abc"] == [1.0, 1.0, 1.0]
    box = ratio.within(0.1).weights(pl.DataFrame({"s": list("abc")}))
    assert np.isfinite(box.candidates).all()


def test_what_was_given_may_change_afterwards():
    rates, seen = dict(SHIFTED), {"off": 1, "on": 3}
    ratio = GroupRatio("s", source=Counts(seen), target=rates)
    other = GroupRatio("s", source=rates, target=HALVES)
    rates["off"], seen["off"] = 5.0, 0
    assert ratio.ratio_of("off") == pytest.approx(0.9 / 0.25)
    assert ratio.under(HALVES).ratio_of("off") == pytest.approx(0.5 / 0.25)
    assert other.under(HALVES).ratio_of("on") == pytest.approx(0.5 / 0.1)


def test_many_groups_are_no_matter():
    rates = dict.fromkeys(range(500), 1 / 500)
    ratio = GroupRatio(0, source=rates, target=rates)
    assert ratio.weights(np.arange(500)).tolist() == [1.0] * 500


LOSSES = LossCurves.steps([1.0, 2.0])


def frame(*labels):
    return pl.DataFrame({"s": labels}, strict=False)


def ratio(source=HALVES, target=SHIFTED):
    return GroupRatio("s", source=source, target=target)


BAD = {
    "no counts": (lambda: Counts({}), "a mapping from group to count"),
    "counts in a list": (lambda: Counts([1, 2]), "a mapping from group to count"),
    "half a count": (lambda: Counts({"a": 1.5}), "whole numbers of at least 0, got 1.5 for 'a'"),
    "a negative count": (lambda: Counts({"a": -1}), "whole numbers of at least 0"),
    "truth for a count": (lambda: Counts({"a": True}), "whole numbers of at least 0"),
    "nothing was seen": (lambda: Counts({"a": 0}), "at least one count above 0"),
    "no group": (lambda: GroupRatio(None, source=HALVES, target=SHIFTED), "a column or a function"),
    "truth": (lambda: GroupRatio(True, source=HALVES, target=SHIFTED), "a column or a function"),
    "no rates": (lambda: ratio(source={}), "source: expected at least one group"),
    "sum": (lambda: ratio(target={"off": 0.9, "on": 0.2}), "target rates: expected a sum of 1"),
    "counts for rates": (lambda: ratio(source={"off": 180, "on": 20}), "go in as Counts"),
    "negative": (lambda: ratio(target={"off": 1.5, "on": -0.5}), "rates of at least 0, got -0.5"),
    "infinite": (lambda: ratio(target={"off": INF, "on": 0.0}), "rates of at least 0, got inf"),
    "NaN": (lambda: ratio(target={"off": INF - INF}), "no NaN"),
    "nothing to count": (lambda: ratio(target=frame()), "pass inputs to count"),
    "unknown": (
        lambda: ratio().weights(frame("off", "standby", "idle")),
        "groups among 'off', 'on', got 'standby', 'idle'; give them a rate",
    ),
    "missing": (
        lambda: ratio().weights(frame("off", None)),
        "a label in every row, got 1 missing, the first in row 1",
    ),
    "NaN label": (lambda: GroupRatio(0, source={1: 1.0}, target=[[1.0], [np.nan]]), "1 missing"),
    "NA by a function": (
        lambda: GroupRatio(lambda f: f["s"], source=HALVES, target=SHIFTED).weights(
            pd.DataFrame({"s": pd.array(["off", None], dtype="string")})
        ),
        "1 missing, the first in row 1",
    ),
    "labels by a function": (
        lambda: GroupRatio(lambda x: x, source=HALVES, target=SHIFTED).weights([[1], [2]]),
        r"group\(X\): expected shape \(2,\), got shape \(2, 1\)",
    ),
    "lists for labels": (lambda: ratio().weights(frame(["off"])), "a list in row 0"),
    "no such column": (lambda: ratio().weights(pl.DataFrame({"t": ["off"]})), "the columns 's'"),
    "calibration rows without rate": (
        lambda: ratio({"off": 1.0}, SHIFTED).curve(LOSSES, frame("off", "on")),
        "rows in 'on'; these rows show that the source has the group",
    ),
    "calibration rows without count": (
        lambda: ratio(Counts({"off": 9, "on": 0})).within(0.1).curve(LOSSES, frame("off", "on")),
        "rows in 'on'",
    ),
    "rows and losses": (lambda: ratio().curve(LOSSES, frame("off")), "2 rows, one per loss"),
    "rows and losses, box": (
        lambda: ratio(Counts({"off": 9, "on": 4})).within(0.1).curve(LOSSES, frame("off")),
        "2 rows, one per loss",
    ),
    "rates in a list": (
        lambda: GroupRatio(0, source={0: 0.5, 1: 0.5}, target=[0.9, 0.1]),
        "target: expected rows in some of the groups 0, 1, got the groups 0.9, 0.1; rates go in as",
    ),
    "source rates in a list": (
        lambda: GroupRatio(0, source=[0.9, 0.1], target={0: 0.5, 1: 0.5}),
        "source: expected rows in some of the groups 0, 1",
    ),
    "rates in a series": (
        lambda: ratio(target=pd.Series(SHIFTED)),
        r"a series of numbers with an index of its own; rates go in as dict\(series\)",
    ),
    "counts in a series": (
        lambda: ratio(target=pd.Series(["off", "on", "off"]).value_counts()),
        r"counts as Counts\(dict\(series\)\)",
    ),
    "groups in another spelling": (
        lambda: ratio(target=Counts({"Off": 9, "On": 4})),
        "target: expected rows in some of the groups 'off', 'on', got the groups 'Off', 'On'",
    ),
    "paid in words": (
        lambda: ratio(Counts({"off": 9, "on": 4})).within(0.1, paid="yes"),
        "paid: expected True or False, got 'yes'",
    ),
    "nothing was counted": (lambda: ratio().within(0.1), "nothing is uncertain"),
    "certainty": (lambda: ratio(Counts({"off": 9})).within(0.0), "between 0 and 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()


class TestRowsThatWereCounted:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"s": ["off", "on"] * 10, "x": rng.normal(size=20)})
    losses = LossCurves.steps(rng.random(20))

    def test_may_not_calibrate_too(self):
        source = ratio(self.table)
        for again in (source, source.under({"off": 0.3, "on": 0.7}), source.within(0.1)):
            with pytest.raises(InputError, match="other rows than those for ratio source"):
                again.curve(self.losses, self.table.reverse())

    def test_may_do_so_where_delta_is_paid(self):
        curve = ratio(self.table).within(0.1, paid=True).curve(self.losses, self.table)
        assert isinstance(curve, PricedCurve)

    def test_a_what_if_is_compared_by_the_columns_of_the_source(self):
        other = pl.DataFrame({"x": self.rng.normal(size=5), "s": ["off"] * 5, "more": [1] * 5})
        ratio_ = ratio(self.table).under(other)
        assert set(ratio_.ledger.digests) == {"ratio_source", "ratio_target"}
        with pytest.raises(InputError, match="other rows than those for ratio target"):
            ratio_.curve(LossCurves.steps(np.ones(5)), other[["s", "x"]])

    def test_lists_beside_them_do_no_harm(self):
        rows = self.table.with_columns(image=pl.lit([1.0, 2.0]))
        assert ratio(rows).ratio_of("off") == pytest.approx(1.8)

    def test_mere_labels_are_no_rows(self):
        labels = self.table.select("s")
        assert ratio(labels).curve(self.losses, labels).weights.tolist() == [1.8, 0.2] * 10


def largest_threshold(losses, labels, test, alpha, worst, admissible):
    """By definition: the largest threshold over pairs (target, source) of rates."""
    found = []
    for target, source in admissible:
        w = np.array(target) / np.array(source)
        curve = RiskCurve(losses, w[labels])
        found.append(curve.threshold(alpha, w[test], worst=worst))
    return np.max(found, axis=0)


class Setting:
    """Calibration examples in groups, whose errors differ, and one test point in each group."""

    def __init__(self, groups, n=120, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
        self.losses = LossCurves.hinges((1 + self.labels) * rng.random(n), bound=2.0 * groups)
        self.test = np.arange(groups)
        self.alpha, self.worst = (
            0.35,
            LossCurves.hinges(groups + 0.5 * self.test, bound=2.0 * groups),
        )

    def threshold(self, intervals):
        curve = intervals.curve(self.losses, self.labels)
        return curve.threshold(self.alpha, intervals.weights(self.test), worst=self.worst)

    def largest(self, admissible):
        return largest_threshold(
            self.losses, self.labels, self.test, self.alpha, self.worst, admissible
        )


class TestTwoGroups:
    setting = Setting(2)

    @pytest.mark.parametrize("first", [0, 1])
    def test_the_larger_threshold_of_both_ends(self, first):
        counts = {0: 17, 1: 23} if first == 0 else {1: 23, 0: 17}
        intervals = GroupRatio(0, source={0: 0.7, 1: 0.3}, target=Counts(counts)).within(0.1)
        assert isinstance(intervals.weights(self.setting.test), CoherentBox)
        ends = rate_interval(17, 40, 0.1)  # one interval, at all of delta
        expected = self.setting.largest([((p, 1 - p), (0.7, 0.3)) for p in ends])
        assert self.setting.threshold(intervals) == pytest.approx(expected, rel=1e-9)

    def test_no_rate_in_between_is_worse(self):
        intervals = GroupRatio(0, source={0: 0.7, 1: 0.3}, target=Counts({0: 17, 1: 23})).within(
            0.1
        )
        low, high = rate_interval(17, 40, 0.1)
        grid = [((p, 1 - p), (0.7, 0.3)) for p in np.linspace(low, high, 101)]
        found, searched = self.setting.threshold(intervals), self.setting.largest(grid)
        assert (searched <= found + 1e-9).all()
        assert searched == pytest.approx(found, rel=1e-9)

    def test_a_counted_source(self):
        intervals = GroupRatio(0, source=Counts({0: 60, 1: 40}), target={0: 0.4, 1: 0.6}).within(
            0.1
        )
        ends = np.linspace(*rate_interval(60, 100, 0.1), 101)
        searched = self.setting.largest([((0.4, 0.6), (q, 1 - q)) for q in ends])
        assert self.setting.threshold(intervals) == pytest.approx(searched, rel=1e-9)

    def test_both_sides_counted_share_delta(self):
        both = GroupRatio(0, source=Counts({0: 60, 1: 40}), target=Counts({0: 17, 1: 23}))
        grids = [np.linspace(*rate_interval(*seen, 0.1 / 2), 15) for seen in ((60, 100), (17, 40))]
        searched = self.setting.largest(
            [((p, 1 - p), (q, 1 - q)) for q in grids[0] for p in grids[1]]
        )
        assert self.setting.threshold(both.within(0.1)) == pytest.approx(searched, rel=1e-9)

    def test_coherent_is_tighter_than_each_on_its_own(self):
        intervals = GroupRatio(0, source={0: 0.7, 1: 0.3}, target=Counts({0: 17, 1: 23})).within(
            0.1
        )
        box = intervals.weights(self.setting.labels).candidates
        alone = BoxedCurve(self.setting.losses, WeightBox(box.min(axis=0), box.max(axis=0)))
        test = intervals.weights(self.setting.test).candidates
        wider = alone.threshold(
            self.setting.alpha,
            WeightBox(test.min(axis=0), test.max(axis=0)),
            worst=self.setting.worst,
        )
        assert (wider > self.setting.threshold(intervals) + 1e-3).all()


def sampled_rates(rng, low, high, count):
    """Random rates within bounds that sum to 1, many of them at bounds."""
    found = []
    while len(found) < count:
        end = np.where(rng.random(len(low)) < 0.5, low, high)
        rates = np.where(rng.random(len(low)) < 0.7, end, rng.uniform(low, high))
        free = rng.integers(len(low))
        rates[free] = 1 - np.delete(rates, free).sum()
        if low[free] <= rates[free] <= high[free]:
            found.append(rates)
    return found


def bonferroni(counts, delta):
    ends = [rate_interval(seen, sum(counts), delta / len(counts)) for seen in counts]
    return np.array(ends).T


SEEN = {3: ((40, 35, 45), (10, 30, 20)), 4: ((60, 40, 55, 45), (10, 30, 20, 25))}


@pytest.mark.parametrize("groups", SEEN)
@pytest.mark.parametrize("sides", ["target", "source", "both"])
def test_more_groups_against_a_search(groups, sides):
    rng, delta, setting = np.random.default_rng(groups), 0.2, Setting(groups)
    counts = {side: SEEN[groups][side == "target"] for side in ("source", "target")}
    known = {side: np.array(seen) / sum(seen) for side, seen in counts.items()}
    counted = ["source", "target"] if sides == "both" else [sides]
    given = {
        side: (Counts if side in counted else dict)(
            dict(enumerate(counts[side] if side in counted else known[side].tolist()))
        )
        for side in counts
    }
    intervals = GroupRatio(0, **given).within(delta)
    assert intervals.is_coherent
    samples = {
        side: sampled_rates(rng, *bonferroni(counts[side], delta / len(counted)), 400)
        if side in counted
        else [known[side]] * 400
        for side in counts
    }
    searched = setting.largest(zip(samples["target"], samples["source"], strict=True))
    found = setting.threshold(intervals)
    assert (searched <= found + 1e-9).all()
    # Corners of the source rates need not sum to 1: there the answer is not quite tight.
    assert found == pytest.approx(searched, rel=1e-9 if sides == "target" else 0.12)
    point = setting.largest([(known["target"], known["source"])])
    assert (found > 1.02 * point).all()


@pytest.mark.parametrize(("groups", "sides"), [(13, "target"), (5, "source"), (5, "both")])
def test_too_many_groups_are_bounded_one_by_one(groups, sides):
    rng, delta, setting = np.random.default_rng(1), 0.2, Setting(groups, n=200)
    setting.alpha = 1.0
    seen = {"source": rng.integers(30, 60, groups), "target": rng.integers(30, 60, groups)}
    known = {side: each / each.sum() for side, each in seen.items()}
    counted = ["source", "target"] if sides == "both" else [sides]
    given = {
        side: Counts(dict(enumerate(each.tolist())))
        if side in counted
        else dict(enumerate(known[side].tolist()))
        for side, each in seen.items()
    }
    intervals = GroupRatio(0, **given).within(delta)
    assert not intervals.is_coherent
    assert "bounds for each weight on its own" in str(intervals.assumption)
    assert isinstance(intervals.weights(setting.test), WeightBox)
    assert isinstance(intervals.curve(setting.losses, setting.labels), BoxedCurve)
    samples = {
        side: sampled_rates(rng, *bonferroni(each.tolist(), delta / len(counted)), 60)
        if side in counted
        else [known[side]] * 60
        for side, each in seen.items()
    }
    searched = setting.largest(zip(samples["target"], samples["source"], strict=True))
    found = setting.threshold(intervals)
    assert (searched <= found).all()
    assert (found < setting.worst.reach).any()


def test_an_unvisited_group_among_many_gets_the_worst_case():
    known = {**dict.fromkeys(range(13), 1 / 13), 13: 0.0}
    counts = Counts(dict.fromkeys(range(14), 20))
    intervals = GroupRatio(0, source=known, target=counts).within(0.1)
    setting = Setting(13)
    curve = intervals.curve(LossCurves.steps(setting.losses.knots), setting.labels)
    found = curve.threshold(0.4, intervals.weights([0, 13]), worst=1.0)
    assert np.isfinite(found[0])
    assert found[1] == INF


def test_shares_of_delta():
    """Two groups and one side: all of it. Else Bonferroni over sides, and over groups."""
    two, three = Counts({0: 9, 1: 31}), Counts({0: 9, 1: 20, 2: 11})
    halves, thirds = {0: 0.5, 1: 0.5}, dict.fromkeys(range(3), Fraction(1, 3))

    def low(source, target, side="target"):
        return GroupRatio(0, source=source, target=target).within(0.12).bounds(side)[0][0]

    def at(share):
        return rate_interval(9, 40, share)[0]

    assert low(halves, two) == at(0.12)
    assert low(two, two) == low(two, two, "source") == at(0.06)
    assert low(thirds, three) == at(0.04)
    assert low(three, three) == low(three, three, "source") == at(0.02)
    assert low(halves, two, "source") == 0.5


def test_a_group_that_was_never_seen_has_an_interval_too():
    intervals = GroupRatio("s", source=HALVES, target=Counts({"off": 20})).within(0.1)
    low, high = intervals.bounds("target")
    assert (low[1], high[0]) == (0.0, 1.0)
    assert high[1] == pytest.approx(1 - 0.05 ** (1 / 20))
    weights = intervals.weights(frame("on")).candidates
    assert sorted(weights[:, 0].tolist()) == pytest.approx([0.0, 2 * high[1]])


class TestWhoPaysDelta:
    setting = Setting(2)
    counted = GroupRatio(0, source={0: 0.7, 1: 0.3}, target=Counts({0: 170, 1: 230}))

    def test_alpha_does(self):
        paid, beside = self.counted.within(0.05, paid=True), self.counted.within(0.05)
        bound = self.setting.losses.bound
        curves = [each.curve(self.setting.losses, self.setting.labels) for each in (paid, beside)]
        test = paid.weights(self.setting.test)
        assert curves[0].level(0.5) == pytest.approx(0.5 - 0.05 * bound)
        found = curves[0].threshold(0.5, test, worst=self.setting.worst)
        same = curves[1].threshold(0.5 - 0.05 * bound, test, worst=self.setting.worst)
        assert found == pytest.approx(same, rel=1e-9)
        assert (found > curves[1].threshold(0.5, test, worst=self.setting.worst)).all()

    def test_nothing_is_left(self):
        curve = self.counted.within(0.1, paid=True).curve(self.setting.losses, self.setting.labels)
        test = self.counted.within(0.1).weights(self.setting.test)
        with pytest.raises(InputError, match=r"at least 0\.4, the price in risk"):
            curve.threshold(0.39, test, worst=self.setting.worst)

    def test_the_words_say_so(self):
        paid = self.counted.within(0.05, paid=True).assumption
        beside = self.counted.within(0.05).assumption
        assert paid.promise.startswith("E[loss] <= alpha, on average")
        assert "0.05 Lmax is paid of alpha" in paid.promise
        assert beside.promise.startswith("E[loss | counts] <= alpha with confidence 0.95")
        assert "E[loss] <= alpha + 0.05 Lmax" in beside.promise
        assert str(beside).startswith(
            "certified at 0.95: Clopper-Pearson bounds on the target rates"
        )
        assert (paid.delta, paid.certainty) == (0.05, Certainty.CERTIFIED)


def test_what_is_assumed_of_rates():
    given = ratio().assumption
    assert given.certainty is Certainty.GIVEN_WEIGHTS
    assert "source rates as given; target rates as given" in given.basis
    assert given.promise.startswith("E[loss] <= alpha, on average")
    counted = ratio(target=Counts({"off": 9, "on": 4})).assumption
    assert counted.certainty is Certainty.ESTIMATED
    assert counted.promise.startswith("E[loss] <= alpha + Lmax TV(P', the estimated target)")
    assert "target rates counted from 13 rows" in counted.basis
    both = ratio(Counts({"off": 2}), Counts({"off": 9, "on": 4})).within(0.1).assumption
    assert "on the source and target rates" in both.basis
    assert both.cautions == ("'on': in the target alone, so the ratio is infinite there",)


@settings(max_examples=30 * RUNS)
@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from([0.01, 0.1, 0.5]))
def test_more_confidence_is_never_a_smaller_set(seen, other, delta):
    counts = Counts({0: seen + 1, 1: other + 1})
    counted = GroupRatio(0, source={0: 0.7, 1: 0.3}, target=counts)
    setting = TestTwoGroups.setting
    surer, sure = (setting.threshold(counted.within(d)) for d in (delta / 2, delta))
    plain = counted.curve(setting.losses, setting.labels).threshold(
        setting.alpha, counted.weights(setting.test), worst=setting.worst
    )
    assert (surer >= sure - 1e-9).all()
    assert (sure >= plain - 1e-9).all()
    assert isinstance(counted.within(delta).curve(setting.losses, setting.labels), CoherentCurve)
