"""Intervals against plain loops over grids, in numbers that floats hold exactly."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shiftproof import (
    Columns,
    Constant,
    Directional,
    Distance,
    InputError,
    Intervals,
    Miscoverage,
    MonotoneLoss,
    Outcome,
    Pointwise,
    Quantiles,
    Residual,
    RiskController,
    ScaledResidual,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of

INF = math.inf

# Quarters and eighths: sums, halves and products of them are exact, so that ties are ties.
CENTERS = [[0.0], [1.25], [4.0], [7.75], [8.0], [-1.0], [9.5]]
PAIRS = [[1.0, 3.0], [3.0, 1.0], [2.5, 2.5], [-1.0, 9.0], [0.0, 8.0], [6.25, 12.0], [-3.0, -2.0]]
STRETCH = [0.5, 1.0, 2.0, 4.0, 0.25, 1.0, 2.0]
LABELS = np.arange(0, 8.125, 0.125)
STEPS = np.arange(-5, 33.125, 0.125)


def scaled():
    return ScaledResidual(lambda x: np.array(STRETCH)[: len(x)])


CASES = {
    "residual": (Intervals(0, 8), CENTERS, [1.0] * 7, 0.0),
    "scaled": (Intervals(0, 8, scaled()), CENTERS, STRETCH, 0.0),
    "quantiles": (Intervals(0, 8, Quantiles()), PAIRS, [1.0] * 7, -INF),
    "wide quantiles": (Intervals(0, 8, Quantiles(shrink=False)), PAIRS, [1.0] * 7, 0.0),
}

CASE = pytest.mark.parametrize("name", CASES)


def nest_of(family, predictions, seed=None):
    table = Table.of("X", np.asarray(predictions, dtype=float))
    return family.nest(predictor_of(lambda x: x), table, Draws("prediction", len(table), seed))


def made(name):
    family, predictions, stretch, lower = CASES[name]
    steps = STEPS[lower <= STEPS]
    cores = [tuple(sorted(min(max(v, 0.0), 8.0) for v in (row[0], row[-1]))) for row in predictions]
    return nest_of(family, predictions), cores, stretch, steps


def drawn(core, stretch, step, bottom=0.0, top=8.0):
    """The interval by its definition: never empty, never outside the range."""
    low, high = core[0] - stretch * step, core[1] + stretch * step
    if low > high:
        low = high = (core[0] + core[1]) / 2
    return max(low, bottom), min(high, top)


def gap(interval, label):
    """The distance to the nearest of all labels of the grid inside the interval and its ends."""
    inside = [float(other) for other in LABELS if interval[0] <= other <= interval[1]]
    return min(abs(label - other) for other in [*inside, *interval])


@CASE
def test_ends_and_size_by_definition(name):
    nest, cores, stretch, steps = made(name)
    for step in steps:
        sets = nest.at(step)
        expected = [drawn(core, s, step) for core, s in zip(cores, stretch, strict=True)]
        assert list(zip(sets.lower.tolist(), sets.upper.tolist(), strict=True)) == expected
        assert sets.size().tolist() == [high - low for low, high in expected]
        assert sets.relative_size().tolist() == [(high - low) / 8 for low, high in expected]
        assert sets.center.tolist() == [(low + high) / 2 for low, high in cores]


@CASE
def test_the_entry_is_the_smallest_threshold_whose_interval_holds_the_label(name):
    nest, cores, stretch, steps = made(name)
    for label in LABELS[::3]:
        scores = nest.entry(np.full(len(nest), label))
        for score, core, s in zip(scores.tolist(), cores, stretch, strict=True):
            holds = [low <= label <= high for low, high in (drawn(core, s, t) for t in steps)]
            first = steps[holds.index(True)]
            if score == -INF:  # in the middle of a core that may shrink: all intervals hold it
                assert all(holds)
            else:  # a score finer than the grid of thresholds lies in the cell before its first
                assert first - 0.125 < max(score, steps[0]) <= first
                low, high = drawn(core, s, score)
                assert low <= label <= high


@CASE
def test_contains_is_a_comparison_of_scores_and_agrees_with_the_ends(name):
    nest, cores, stretch, steps = made(name)
    for label in LABELS[::5]:
        y = np.full(len(nest), label)
        for step in steps[::3]:
            inside = nest.at(step).contains(y)
            assert (inside == (nest.entry(y) <= step)).all()
            ends = [drawn(core, s, step) for core, s in zip(cores, stretch, strict=True)]
            assert inside.tolist() == [low <= label <= high for low, high in ends]


@CASE
def test_a_threshold_equal_to_a_score_holds_its_label_in_any_floats(name):
    rng = np.random.default_rng(1)
    family, predictions, *_ = CASES[name]
    noise = np.random.default_rng(2).normal(0, 1e-3, np.shape(predictions))
    nest = nest_of(family, np.array(predictions) + noise)
    for _ in range(200):
        y = rng.uniform(0, 8, len(nest))
        scores = nest.entry(y)
        assert nest.at(scores).contains(y).all()
        assert not nest.at(np.nextafter(scores, -INF)).contains(y).any()


@CASE
def test_distance_to_the_nearest_label_of_the_interval(name):
    nest, cores, stretch, steps = made(name)
    for label in LABELS[::7]:
        y = np.full(len(nest), label)
        for step in steps[::5]:
            ends = [drawn(core, s, step) for core, s in zip(cores, stretch, strict=True)]
            assert nest.at(step).distance(y).tolist() == [gap(end, label) for end in ends]


LOSSES = {
    "miscoverage": Miscoverage(),
    "distance": Distance(),
    "capped": Distance(cap=1.5),
    "own": MonotoneLoss(
        lambda sets, y: np.minimum(1, sets.distance(y) / 5), STEPS[STEPS >= 0][::4], loss_max=1.0
    ),
}


@CASE
@pytest.mark.parametrize("loss", LOSSES)
def test_curves_are_the_losses_of_finished_intervals(name, loss):
    loss = LOSSES[loss]
    nest, _, _, steps = made(name)
    places = steps if getattr(loss, "thresholds", None) is None else loss.thresholds
    rng = np.random.default_rng(3)
    for _ in range(5):
        y = rng.choice(LABELS, len(nest))
        curves = loss.curves(nest, y)
        assert curves.bound == loss.bound(nest)
        for step in places:
            assert curves.at(step) == pytest.approx(loss.of(nest.at(step), y), abs=1e-15)


@CASE
@pytest.mark.parametrize("loss", ["miscoverage", "distance", "capped"])
def test_the_worst_case_is_the_largest_loss_of_any_label(name, loss):
    loss = LOSSES[loss]
    nest, _, _, steps = made(name)
    worst = loss.worst(nest)
    for step in steps[::3]:
        losses = [loss.of(nest.at(step), np.full(len(nest), label)) for label in LABELS]
        assert worst.at(step).tolist() == np.max(losses, axis=0).tolist()
    assert loss.bound(nest) >= worst.at(steps[0]).max()


@CASE
def test_whole_is_where_every_label_is_in(name):
    nest, *_ = made(name)
    whole = nest.whole()
    everything = [nest.at(whole).contains(np.full(len(nest), label)) for label in LABELS]
    assert np.all(everything)
    before = nest.at(np.nextafter(whole, -INF))
    some = [before.contains(np.full(len(nest), label)) for label in LABELS]
    assert not np.all(some, axis=0).any()
    assert nest.at(whole).whole.all()
    assert not before.whole.any()
    assert (nest.at(whole).size() == 8).all()


@CASE
def test_intervals_grow(name):
    nest, _, _, steps = made(name)
    for less, more in itertools.pairwise(steps):
        small, large = nest.at(less), nest.at(more)
        assert (large.lower <= small.lower).all()
        assert (large.upper >= small.upper).all()


class TestShrinking:
    """Negative thresholds: [1, 3] and a label at 2.5, whose distance to the middle is .5."""

    @pytest.fixture
    def nest(self):
        return nest_of(Intervals(0, 10, Quantiles()), [[1.0, 3.0]])

    def test_below_half_the_width_the_set_is_its_middle(self, nest):
        for step in (-1.0, -1.5, -100.0, -INF):
            sets = nest.at(step)
            assert (sets.lower[0], sets.upper[0], sets.size()[0]) == (2.0, 2.0, 0.0)
            assert sets.distance([2.5]).tolist() == [0.5]
            assert sets.distance([7.0]).tolist() == [5.0]

    def test_between(self, nest):
        sets = nest.at(-0.75)
        assert (sets.lower[0], sets.upper[0]) == (1.75, 2.25)
        assert nest.entry([2.5]).tolist() == [-0.5]
        assert sets.distance([2.5]).tolist() == [0.25]
        assert not sets.contains([2.5])[0]
        assert nest.at(-0.5).contains([2.5])[0]

    def test_the_middle_is_in_every_set(self, nest):
        assert nest.entry([2.0]).tolist() == [-INF]
        assert nest.at(-INF).contains([2.0])[0]
        assert nest.at(-7.0).distance([2.0]).tolist() == [0.0]
        assert Distance().curves(nest, [2.0]).at(-50.0).tolist() == [0.0]
        assert Miscoverage().curves(nest, [2.0]).at(-50.0).tolist() == [0.0]

    def test_losses_end_at_the_middle(self, nest):
        assert Distance().curves(nest, [2.5]).at(-1e9).tolist() == [0.5]
        assert Distance().curves(nest, [9.0]).at(-1e9).tolist() == [7.0]
        assert Distance(cap=3.0).curves(nest, [9.0]).at(-1e9).tolist() == [3.0]
        assert Distance(cap=3.0).curves(nest, [2.5]).at(-1e9).tolist() == [0.5]
        assert Miscoverage().curves(nest, [2.5]).at([-0.5]).tolist() == [0.0]
        assert Miscoverage().curves(nest, [2.5]).at([-0.51]).tolist() == [1.0]

    @pytest.mark.parametrize("loss", [Miscoverage(), Distance(), Distance(cap=0.5)])
    def test_a_pair_that_is_far_too_wide_is_narrowed_by_calibration(self, loss):
        x = np.linspace(2, 8, 200)[:, None]
        pair = lambda x: np.column_stack([x[:, 0] - 2, x[:, 0] + 2])  # noqa: E731
        y = x[:, 0] + np.tile([-0.1, 0.1], 100)
        for shrink, narrow in ((True, True), (False, False)):
            controller = RiskController(pair, Intervals(0, 10, Quantiles(shrink)), loss)
            sets = controller.calibrate(x, y).predict([[5.0]], alpha=0.05)
            assert (sets.threshold[0] < -1.5) == narrow
            assert (sets.size()[0] < 1) == narrow
            if not shrink:
                assert (sets.lower[0], sets.upper[0]) == (3.0, 7.0)

    def test_all_the_risk_there_is_leaves_the_middle(self):
        x = np.array([[1.0, 3.0], [2.0, 6.0]])
        for loss, alpha in ((Miscoverage(), 1.0), (Distance(), 10.0)):
            controller = RiskController(lambda x: x, Intervals(0, 10, Quantiles()), loss)
            sets = controller.calibrate(x, [2.5, 5.0]).predict(x, alpha=alpha)
            assert (sets.threshold == -INF).all()
            assert sets.lower.tolist() == sets.upper.tolist() == [2.0, 4.0]

    def test_without_shrinking_the_pair_is_the_smallest_set(self):
        nest = nest_of(Intervals(0, 10, Quantiles(shrink=False)), [[1.0, 3.0]])
        assert nest.lower == 0.0
        assert nest.entry([2.0]).tolist() == [-1.0]
        assert nest.at(0.0).distance([2.0]).tolist() == [0.0]


class TestRanges:
    def test_without_ends(self):
        nest = nest_of(Intervals(), [[0.0], [5.0]])
        assert nest.whole().tolist() == [INF, INF]
        sets = nest.at([2.0, INF])
        assert (sets.lower.tolist(), sets.upper.tolist()) == ([-2.0, -INF], [2.0, INF])
        assert sets.whole.tolist() == [False, True]
        assert sets.size().tolist() == [4.0, INF]
        assert not sets.bounded
        assert sets.distance([1e6, 1e6]).tolist() == [1e6 - 2, 0.0]
        with pytest.raises(InputError, match=r"label space: expected a bounded one.*Intervals\(lo"):
            sets.relative_size()

    @pytest.mark.parametrize("score", [Residual(), Quantiles(), Quantiles(shrink=False)])
    def test_one_end(self, score):
        nest = nest_of(Intervals(0, INF, score), [[1.0, 3.0]] if score != Residual() else [[2.0]])
        assert nest.whole().tolist() == [INF]
        sets = nest.at(5.0)
        assert sets.lower.tolist() == [0.0]
        assert sets.upper[0] in (7.0, 8.0)
        assert sets.distance([12.0]).tolist() == [12.0 - sets.upper[0]]
        loss = Distance(cap=2.0)
        assert loss.bound(nest) == 2.0
        assert loss.worst(nest).at([1e9]).tolist() == [2.0]  # always some label is far away
        for label in (0.0, 2.0, 9.5, 1e5):
            curve = loss.curves(nest, [label])
            for step in (0.0, 3.0, 8.0, 1e4):
                assert curve.at(step) == loss.of(nest.at(step), [label])

    def test_one_end_with_a_cap_is_controlled(self):
        x = np.linspace(0, 100, 401)[:, None]
        y = np.abs(x[:, 0] + np.tile([3.0, -3.0, 0.0, 0.5], 101)[:401])
        for worst_case in (Constant(), Pointwise(), Directional()):
            controller = RiskController(
                lambda x: x, Intervals(0, INF), Distance(cap=2.0), worst_case=worst_case
            )
            calibrated = controller.calibrate(x, y)
            sets = calibrated.predict([[50.0], [1.0]], alpha=0.25)
            assert np.isfinite(sets.size()).all()
            assert not sets.whole.any()
            assert sets.lower[1] == 0.0
            evaluation = calibrated.evaluate(x, y, alpha=0.25)
            assert evaluation.relative_size is None
            assert 0.2 < evaluation.risk.value <= 0.25
            whole = calibrated.predict([[50.0]], alpha=0.0)
            assert (whole.lower[0], whole.upper[0], whole.whole[0]) == (0.0, INF, True)

    @pytest.mark.parametrize("family", [Intervals(), Intervals(lower=0), Intervals(upper=3)])
    def test_distances_without_an_end_and_without_a_cap_are_refused(self, family):
        message = r"loss: expected a loss with a bound.*Distance\(cap\)"
        with pytest.raises(InputError, match=message):
            RiskController(lambda x: x, family, Distance())

    def test_predictions_outside_are_moved_in(self):
        nest = nest_of(Intervals(0, 8), [[-3.0], [11.0]])
        assert nest.at(0.0).lower.tolist() == [0.0, 8.0]
        assert nest.whole().tolist() == [8.0, 8.0]

    def test_pairs_are_put_in_order_and_moved_in(self):
        nest = nest_of(Intervals(0, 8, Quantiles(shrink=False)), [[5.0, 2.0], [9.0, -1.0]])
        assert nest.at(0.0).lower.tolist() == [2.0, 0.0]
        assert nest.at(0.0).upper.tolist() == [5.0, 8.0]
        assert nest.whole().tolist() == [3.0, 0.0]


class TestScaled:
    def test_slopes(self):
        nest = nest_of(Intervals(0, 8, ScaledResidual(lambda x: x[:, 0])), [[2.0], [0.5]])
        assert nest.entry([6.0, 4.5]).tolist() == [2.0, 8.0]
        assert nest.at(1.0).lower.tolist() == [0.0, 0.0]
        assert nest.at(0.5).upper.tolist() == [3.0, 0.75]
        assert Distance().curves(nest, [6.0, 4.5]).slopes.tolist() == [2.0, 0.5]
        assert Distance().curves(nest, [6.0, 4.5]).at(1.0).tolist() == [2.0, 3.5]
        assert Distance().worst(nest).at(1.0).tolist() == [4.0, 7.0]

    @pytest.mark.parametrize("worst_case", [Pointwise(), Directional()])
    def test_sets_are_wider_where_the_scale_is(self, worst_case):
        rng = np.random.default_rng(0)
        x = np.column_stack([rng.uniform(20, 80, 400), rng.uniform(1, 5, 400)])
        y = np.clip(x[:, 0] + x[:, 1] * rng.normal(size=400), 0, 100)
        controller = RiskController(
            Columns(0),
            Intervals(0, 100, ScaledResidual(Columns(1))),
            Distance(),
            worst_case=worst_case,
        )
        sets = controller.calibrate(x, y).predict([[50.0, 1.0], [50.0, 4.0]], alpha=0.3)
        # The worst case of the wider one falls faster: not four times as wide, but nearly.
        assert 3 < sets.size()[1] / sets.size()[0] < 4.2

    @pytest.mark.parametrize("scale", [0.0, -1.0])
    def test_a_scale_is_positive(self, scale):
        family = Intervals(0, 8, ScaledResidual(lambda x: np.full(len(x), scale)))
        with pytest.raises(
            InputError, match=r"scale: expected numbers above 0.*bound it from below"
        ):
            nest_of(family, [[1.0]])


class TestStars:
    """Intervals that reach differently far down and up."""

    @pytest.fixture
    def nest(self):
        return nest_of(Intervals(0, 8, scaled()), [[2.0], [6.0], [8.0]])

    def test_ends(self, nest):
        sets = nest.star(np.array([[1.0, 2.0], [0.0, 0.5], [8.0, 0.0]]))
        assert sets.lower.tolist() == [1.5, 6.0, 0.0]  # scales of .5, 1 and 2
        assert sets.upper.tolist() == [3.0, 6.5, 8.0]
        assert sets.threshold.tolist() == [2.0, 0.5, 8.0]
        assert sets.whole.tolist() == [False, False, True]

    def test_membership_and_distance_are_those_of_the_ends(self, nest):
        reach = np.array([[1.0, 2.0], [0.0, 0.5], [0.25, 0.0]])
        sets = nest.star(reach)
        for label in LABELS:
            y = np.full(3, label)
            outside = np.maximum(np.maximum(sets.lower - label, label - sets.upper), 0)
            assert sets.distance(y).tolist() == outside.tolist()
            assert sets.contains(y).tolist() == (outside == 0).tolist()
        assert sets.size().tolist() == [1.5, 0.5, 0.5]

    def test_equal_reach_is_the_plain_interval(self, nest):
        rng = np.random.default_rng(4)
        for step in (0.0, 0.5, 2.0, 8.0):
            plain, star = nest.at(step), nest.star(np.full((3, 2), step))
            assert plain.lower.tolist() == star.lower.tolist()
            assert plain.upper.tolist() == star.upper.tolist()
            y = rng.uniform(0, 8, 3)
            assert plain.contains(y).tolist() == star.contains(y).tolist()
            assert plain.distance(y) == pytest.approx(star.distance(y), abs=1e-15)

    def test_a_reach_equal_to_a_score_holds_its_label(self):
        rng = np.random.default_rng(5)
        stretch = rng.uniform(0.1, 3, 500)
        nest = nest_of(
            Intervals(0, 8, ScaledResidual(lambda _: stretch)), rng.uniform(0, 8, (500, 1))
        )
        y = rng.uniform(0, 8, 500)
        scores = nest.entry(y)
        below = y < nest.low
        reach = np.where(np.column_stack([below, ~below]), scores[:, None], 0.0)
        assert nest.star(reach).contains(y).all()
        less = np.where(np.column_stack([below, ~below]), np.nextafter(scores, 0)[:, None], 0.0)
        assert not nest.star(less).contains(y).any()

    def test_a_whole_one_holds_both_ends(self):
        rng = np.random.default_rng(6)
        stretch = rng.uniform(0.1, 3, 500)
        nest = nest_of(
            Intervals(0, 8, ScaledResidual(lambda _: stretch)), rng.uniform(0, 8, (500, 1))
        )
        sets = nest.star(nest.rays())
        assert sets.whole.all()
        for end in (0.0, 8.0):
            assert sets.contains(np.full(500, end)).all()
            assert (sets.distance(np.full(500, end)) == 0).all()
        assert (sets.size() == 8).all()

    def test_two_look_ups_with_the_ends_that_are_left(self):
        rng = np.random.default_rng(7)
        x = rng.uniform(0, 8, (60, 1))
        y = np.clip(x[:, 0] + rng.normal(size=60), 0, 8)
        controller = RiskController(
            lambda x: x, Intervals(0, 8), Distance(), worst_case=Directional()
        )
        calibrated = controller.calibrate(x, y)
        new = np.array([[2.0], [5.5]])
        sets = calibrated.predict(new, alpha=0.4)
        reach = calibrated.rule.directional(0.4, 1.0, np.array([[2.0, 6.0], [5.5, 2.5]]))
        assert sets.reach.tolist() == reach.tolist()
        assert (reach[:, 0] != reach[:, 1]).all()
        assert sets.lower == pytest.approx(new[:, 0] - reach[:, 0])
        assert sets.upper == pytest.approx(new[:, 0] + reach[:, 1])
        assert list(sets.outcome) == [Outcome.CONTROLLED] * 2

    def test_pairs_that_may_shrink_have_none(self):
        pairs = Intervals(0, 8, Quantiles())
        with pytest.raises(InputError, match=r"worst_case: expected Pointwise.*shrink=False"):
            RiskController(lambda x: x, pairs, Distance(), worst_case=Directional())

    def test_of_pairs_they_start_at_the_pair(self):
        controller = RiskController(
            lambda x: x,
            Intervals(0, 8, Quantiles(shrink=False)),
            Distance(),
            worst_case=Directional(),
        )
        x = np.tile([[1.0, 3.0], [4.0, 5.0]], (20, 1))
        sets = controller.calibrate(x, np.tile([2.0, 4.5], 20)).predict(x[:2], alpha=0.2)
        assert sets.lower.tolist() == [1.0, 4.0]
        assert sets.upper.tolist() == [3.0, 5.0]

    def test_miscoverage_has_none(self):
        with pytest.raises(InputError, match="for losses by distance"):
            RiskController(lambda x: x, Intervals(0, 8), Miscoverage(), worst_case=Directional())


class TestBorder:
    @pytest.mark.parametrize(("lower", "upper"), [(1, 1), (2, 1), (INF, INF), (0, -INF)])
    def test_ends_in_order(self, lower, upper):
        with pytest.raises(InputError, match="lower and upper: expected lower < upper"):
            Intervals(lower, upper)

    def test_ends_are_numbers(self):
        with pytest.raises(InputError, match="lower: expected no NaN"):
            Intervals(lower=math.nan)
        with pytest.raises(InputError, match="upper: expected numbers"):
            Intervals(0, "8")

    def test_a_score_is_one(self):
        with pytest.raises(InputError, match="score: expected Residual"):
            Intervals(0, 8, "quantiles")
        with pytest.raises(InputError, match="predictor"):
            ScaledResidual(3)

    def test_labels_outside_are_named(self):
        nest = nest_of(Intervals(0, 8), [[1.0], [2.0], [3.0]])
        with pytest.raises(InputError, match=r"labels from 0 to 8, got 8.5 at position 1"):
            nest.entry([1.0, 8.5, 2.0])
        with pytest.raises(InputError, match=r"-0.1 at position 0 \(2 such values\)"):
            nest.at(0.0).distance([-0.1, 8.0, 9.0])
        with pytest.raises(InputError, match="NaN"):
            nest.at(0.0).contains([math.nan, 8.0, 0.0])
        with pytest.raises(InputError, match="labels"):
            nest_of(Intervals(), [[1.0]]).entry([INF])

    @pytest.mark.parametrize(
        "labels", [[1.0, 2.0], [[1.0, 2.0]] * 3, [["a"], ["b"], ["c"]], None, 1.0]
    )
    def test_labels_are_one_number_for_each_row(self, labels):
        with pytest.raises(InputError, match="labels"):
            nest_of(Intervals(0, 8), [[1.0], [2.0], [3.0]]).entry(labels)

    @pytest.mark.parametrize(
        "labels",
        [
            [1, 2],
            np.array([1, 2], dtype=np.int8),
            np.array([1.0, 2.0], dtype=np.float32),
            np.array([[1.0], [2.0]]),
            np.array([[[1.0]], [[2.0]]]),
            np.array([1, 2], dtype=object),
            pd.Series([1, 2], index=[7, 3]),
            pd.DataFrame({"y": [1.0, 2.0]}),
            pl.Series("y", [1, 2]),
            pa.table({"y": [1.0, 2.0]}),
        ],
    )
    def test_labels_come_in_many_forms(self, labels):
        nest = nest_of(Intervals(0, 8), [[0.0], [5.0]])
        assert nest.entry(labels).tolist() == [1.0, 3.0]
        assert nest.at(1.0).contains(labels).tolist() == [True, False]

    def test_predictions_of_the_wrong_shape(self):
        with pytest.raises(InputError, match="predictions: expected one number for each row"):
            nest_of(Intervals(0, 8), [[1.0, 2.0]])
        for shape in ((2, 1), (2, 3)):
            with pytest.raises(InputError, match="predictions: expected two quantiles"):
                nest_of(Intervals(0, 8, Quantiles()), np.ones(shape))

    def test_no_rows(self):
        controller = RiskController(lambda x: x, Intervals(0, 8), Distance())
        sets = controller.calibrate([[1.0], [2.0]], [1.0, 2.0]).predict(np.empty((0, 1)), 0.5)
        assert (len(sets), sets.size().shape, len(sets.to_frame())) == (0, (0,), 0)


class TestTables:
    KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}  # noqa: RUF012
    COLUMNS = ["lower", "center", "upper", "threshold", "whole", "outcome"]  # noqa: RUF012

    @pytest.fixture
    def calibrated(self):
        controller = RiskController(Columns("x"), Intervals(0, 8), Distance())
        table = pl.DataFrame({"x": [1.0, 2.0, 3.0]})
        return controller.calibrate(table, [1.5, 2.0, 4.0])

    @pytest.mark.parametrize("kind", KINDS)
    def test_kinds(self, calibrated, kind):
        table = self.KINDS[kind]({"x": [1.0, 5.0]})
        sets = calibrated.predict(table, alpha=0.5)
        frame = sets.to_frame()
        assert type(frame) is type(table)
        for other in self.KINDS:
            assert type(sets.to_frame(other)) is type(self.KINDS[other]({"x": [1.0]}))
        names = frame.column_names if kind == "pyarrow" else list(frame.columns)
        assert names == self.COLUMNS
        rows = frame.to_pylist() if kind == "pyarrow" else pd.DataFrame(frame, columns=names)
        rows = rows if kind == "pyarrow" else rows.to_dict("records")
        assert [row["lower"] for row in rows] == sets.lower.tolist()
        assert [row["outcome"] for row in rows] == ["controlled", "controlled"]

    def test_types(self, calibrated):
        sets = calibrated.predict(pd.DataFrame({"x": [1.0, 5.0]}), alpha=0.5)
        schema = sets.to_frame("polars").schema
        assert [schema[name] for name in self.COLUMNS[:4]] == [pl.Float64] * 4
        assert (schema["whole"], schema["outcome"]) == (pl.Boolean, pl.String)

    def test_arrays_become_pandas(self):
        controller = RiskController(lambda x: x, Intervals(0, 8), Distance())
        sets = controller.calibrate([[1.0], [2.0]], [1.0, 2.0]).predict([[1.0]], 0.5)
        assert isinstance(sets.to_frame(), pd.DataFrame)

    def test_unknown_kinds(self, calibrated):
        sets = calibrated.predict(pl.DataFrame({"x": [1.0]}), alpha=0.5)
        with pytest.raises(InputError, match=r"kind: expected pandas, polars or pyarrow.*'csv'"):
            sets.to_frame("csv")

    def test_sets_chosen_by_hand_have_no_outcome(self):
        sets = nest_of(Intervals(0, 8), [[1.0], [2.0]]).at(1.0)
        assert "outcome" not in sets.to_frame().columns
        with pytest.raises(InputError, match=r"sets of a calibrated rule.*by hand"):
            _ = sets.outcome

    def test_repr_is_short(self):
        nest = nest_of(Intervals(0, 8), np.linspace(0, 8, 1000)[:, None])
        assert repr(nest.at(7.0)) == "IntervalSets(1000 sets, 750 whole)"
        assert repr(nest.star(nest.rays())) == "AsymmetricIntervals(1000 sets, 1000 whole)"
        assert len(repr(nest)) < 200
