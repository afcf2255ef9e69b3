"""Losses as curves against the losses of finished sets, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shiftproof import (
    F1,
    Balls,
    Box,
    Constant,
    Distance,
    FalseNegativeRate,
    InputError,
    Intervals,
    LabelSets,
    Masks,
    Miscoverage,
    MonotoneLoss,
    Monotonized,
    Pointwise,
    Quantiles,
    RiskController,
)
from shiftproof._tables import Table
from shiftproof.keys import Draws
from shiftproof.predictors.models import predictor_of

INF = math.inf


def nest_of(family, predictions):
    table = Table.of("X", np.asarray(predictions, dtype=float))
    return family.nest(predictor_of(lambda x: x), table, Draws("prediction", len(table)))


def far_away(sets, y):
    """A loss of one's own for intervals, written without the library's distance."""
    y = np.asarray(y, dtype=float)
    nearest = np.minimum(np.maximum(y, sets.lower), sets.upper)
    return np.minimum(1, np.abs(y - nearest) / 5)


def masks(seed=0, rows=40, labels=6, at_least=1):
    """Scores in eighths, which tie, and truths with some labels in each row."""
    rng = np.random.default_rng(seed)
    truth = rng.random((rows, labels)) < 0.4
    truth[:, :at_least] = True
    truth = rng.permuted(truth, axis=1)
    scores = np.clip(np.round(8 * (0.6 * truth + 0.5 * rng.random(truth.shape))), 0, 8) / 8
    return scores, truth


def places_of(nest):
    """All thresholds where something can change, those next to them, and some between."""
    jumps = np.unique(nest.entries)
    return np.unique([*jumps, *np.nextafter(jumps, -INF), *(jumps[1:] + jumps[:-1]) / 2, -9, 9])


class TestMiscoverage:
    def test_by_definition(self):
        nest = nest_of(Intervals(0, 8), [[2.0], [5.0]])
        curves = Miscoverage().curves(nest, [4.0, 4.0])
        for step in (0.0, 1.0, 1.5, 2.0, 3.0):
            expected = [float(not abs(4 - center) <= step) for center in (2, 5)]
            assert curves.at(step).tolist() == expected
            assert Miscoverage().of(nest.at(step), [4.0, 4.0]).tolist() == expected
        assert (Miscoverage().bound(nest), Miscoverage().floor(nest)) == (1.0, 0.0)


class TestDistance:
    def test_a_cap_cuts_curves_worst_cases_and_losses(self):
        nest = nest_of(Intervals(0, 10), [[2.0], [9.0]])
        for cap in (0.5, 2.0, 9.5, 40.0):
            loss = Distance(cap)
            assert loss.bound(nest) == cap
            for step in np.arange(0, 10, 0.25):
                plain = [max(abs(7 - center) - step, 0) for center in (2, 9)]
                expected = [min(value, cap) for value in plain]
                assert loss.curves(nest, [7.0, 7.0]).at(step).tolist() == expected
                assert loss.of(nest.at(step), [7.0, 7.0]).tolist() == expected
                worst = [min(max(far - step, 0), cap) for far in (8, 9)]
                assert loss.worst(nest).at(step).tolist() == worst
        assert Distance().bound(nest) == 10.0

    def test_a_cap_makes_the_papers_rule_finite_early(self):
        x = np.full((20, 1), 50.0)
        for cap, whole in ((None, True), (3.0, False)):
            controller = RiskController(
                lambda x: x, Intervals(0, 100), Distance(cap), worst_case=Constant()
            )
            sets = controller.calibrate(x, x[:, 0] + 1).predict(x[:1], alpha=0.5)
            assert sets.whole[0] == whole

    @pytest.mark.parametrize("cap", [0, -1.0, INF, math.nan, "5", [1.0]])
    def test_a_cap_is_a_distance(self, cap):
        with pytest.raises(InputError, match="cap: expected"):
            Distance(cap)

    def test_a_whole_number_will_do(self):
        assert Distance(cap=5) == Distance(cap=5.0)


class TestFalseNegativeRate:
    @pytest.mark.parametrize("seed", range(4))
    def test_the_staircase_by_a_loop(self, seed):
        scores, truth = masks(seed, at_least=0)
        truth[0] = False
        nest = nest_of(Masks(), scores)
        curves = FalseNegativeRate().curves(nest, truth)
        for step in places_of(nest):
            for found, row, true in zip(curves.at(step), scores, truth, strict=True):
                missed = [k for k in range(6) if true[k] and 1 - row[k] > step]
                exact = Fraction(len(missed), max(int(true.sum()), 1))
                assert found == pytest.approx(float(exact), abs=1e-15)

    def test_of_classes_it_is_miscoverage(self):
        nest = nest_of(LabelSets(), [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
        for step in np.arange(0, 1, 1 / 16):
            one, other = (
                loss.curves(nest, [1, 2]).at(step) for loss in (FalseNegativeRate(), Miscoverage())
            )
            assert one.tolist() == other.tolist()

    def test_steps_of_a_third_tie_with_a_level_of_two_thirds(self):
        truth = np.ones((1, 3))
        scores = np.array([[0.75, 0.5, 0.25]])
        controller = RiskController(lambda x: x, Masks(), FalseNegativeRate())
        calibrated = controller.calibrate(np.repeat(scores, 5, axis=0), np.repeat(truth, 5, axis=0))
        # (5 L(lam) + 1) / 6 <= 4/9 where one label in three is missed: L = 1/3.
        assert calibrated.predict(scores, alpha=4 / 9 + 1e-12).threshold.tolist() == [0.5]
        assert calibrated.predict(scores, alpha=4 / 9 - 1e-12).threshold.tolist() == [0.75]


class TestOwnLossesOnAGrid:
    GRID = np.array([0.0, 0.5, 1.0, 2.5, 4.0])

    @pytest.fixture
    def nest(self):
        rng = np.random.default_rng(0)
        return nest_of(Intervals(0, 10), rng.uniform(0, 10, (30, 1)))

    def test_curves_are_the_losses_at_the_grid_and_flat_between(self, nest):
        y = np.random.default_rng(1).uniform(0, 10, 30)
        curves = MonotoneLoss(far_away, self.GRID, loss_max=1.0).curves(nest, y)
        for left, right in itertools.pairwise([*self.GRID, 9.0]):
            expected = far_away(nest.at(left), y)
            for step in (left, (left + right) / 2, np.nextafter(right, 0)):
                assert curves.at(step) == pytest.approx(expected, abs=1e-15)
        assert (curves.bound, curves.lower) == (1.0, 0.0)

    def test_on_a_fine_grid_it_comes_to_a_distance(self):
        rng = np.random.default_rng(2)
        x = rng.uniform(0, 10, (200, 1))
        y = np.clip(x[:, 0] + rng.normal(size=200), 0, 10)
        grid = np.linspace(0, 10, 2001)
        for worst_case in (Constant(), Pointwise()):
            mine, plain = (
                RiskController(lambda x: x, Intervals(0, 10), loss, worst_case=worst_case)
                .calibrate(x, y)
                .predict(x[:9], alpha=alpha)
                for loss, alpha in (
                    (MonotoneLoss(far_away, grid, loss_max=1.0), 0.1),
                    (Distance(cap=5.0), 0.5),
                )
            )
            if isinstance(worst_case, Constant):
                assert (mine.threshold >= plain.threshold - 1e-9).all()
                assert (mine.threshold <= plain.threshold + 0.005).all()
            else:  # the worst case of a function is not known before the set is whole
                assert (mine.threshold >= plain.threshold - 1e-9).all()

    def test_thresholds_are_chosen_from_the_grid(self, nest):
        y = np.random.default_rng(1).uniform(0, 10, 30)
        loss = MonotoneLoss(far_away, self.GRID, loss_max=1.0)
        controller = RiskController(lambda x: x, Intervals(0, 10), loss, worst_case=Constant())
        calibrated = controller.calibrate(nest.low[:, None], y)
        risks = [float(far_away(nest.at(step), y).mean()) for step in self.GRID]
        for alpha in np.linspace(0.05, 1, 30):
            bounded = [(30 * risk + 1) / 31 for risk in risks]
            good = [step for step, risk in zip(self.GRID, bounded, strict=True) if risk <= alpha]
            found = calibrated.predict([[5.0]], alpha=alpha).threshold[0]
            assert found == (good[0] if good else INF)

    def test_the_grid_may_begin_above_the_smallest_threshold(self):
        loss = MonotoneLoss(far_away, [1.0, 2.0], loss_max=1.0)
        controller = RiskController(lambda x: x, Intervals(0, 10), loss)
        calibrated = controller.calibrate([[5.0], [6.0]], [5.0, 6.0])
        assert calibrated.predict([[5.0]], alpha=1.0).threshold.tolist() == [1.0]

    def test_the_worst_case_lasts_until_the_set_is_whole(self, nest):
        worst = MonotoneLoss(far_away, self.GRID, loss_max=1.0).worst(nest)
        whole = nest.whole()
        assert (worst.at(np.nextafter(whole, 0)) == 1).all()
        assert (worst.at(whole) == 0).all()

    def test_negative_thresholds_of_pairs_that_may_shrink(self):
        nest = nest_of(Intervals(0, 10, Quantiles()), [[2.0, 6.0], [1.0, 9.0]])
        loss = MonotoneLoss(far_away, [-3.0, -1.0, 0.0, 2.0], loss_max=1.0)
        curves = loss.curves(nest, [7.0, 2.0])
        assert curves.at(-3.0) == pytest.approx([3 / 5, 2 / 5])  # [4, 4] and [4, 6]
        assert curves.at(-1.0) == pytest.approx([2 / 5, 0])
        assert curves.lower == -3.0

    def test_balls(self):
        rng = np.random.default_rng(3)
        nest = nest_of(Balls(Box([0, 0], [4, 4])), rng.uniform(0, 4, (20, 2)))
        y = rng.uniform(0, 4, (20, 2))
        loss = MonotoneLoss(lambda sets, y: sets.distance(y) ** 2, self.GRID, loss_max=32.0)
        for step in self.GRID:
            away = np.hypot(*(y - nest.centers).T) - step
            assert loss.curves(nest, y).at(step) == pytest.approx(np.maximum(away, 0) ** 2)

    @pytest.mark.parametrize(
        ("grid", "match"),
        [
            ([0.0, 2.0, 1.0], "each above the one before, got 1.0 at position 2"),
            ([0.0, 0.0], "each above the one before, got 0.0 at position 1"),
            ([0.0, INF], "finite thresholds"),
            ([-INF, 0.0], "finite thresholds"),
            ([], "at least one value"),
            ([0.0, math.nan], "NaN"),
            ([[0.0, 1.0]], "one dimension"),
        ],
    )
    def test_grids_ascend(self, grid, match):
        with pytest.raises(InputError, match=f"thresholds: expected.*{match}|{match}"):
            MonotoneLoss(far_away, grid, loss_max=1.0)

    def test_thresholds_below_the_first_set_are_refused(self, nest):
        loss = MonotoneLoss(far_away, [-1.0, 0.0], loss_max=1.0)
        with pytest.raises(InputError, match=r"thresholds of at least 0.0, where the sets begin"):
            loss.curves(nest, np.full(30, 5.0))

    def test_sets_in_a_continuous_space_need_a_grid(self):
        with pytest.raises(InputError, match="sets with jumps, which MonotoneLoss asks for"):
            RiskController(lambda x: x, Intervals(0, 10), MonotoneLoss(far_away, loss_max=1.0))


def cost(sets, y):
    weights = 2.0 ** -np.arange(sets.flat.shape[1])
    return ((np.asarray(y) == 1).reshape(len(sets), -1) & ~sets.flat) @ weights


class TestOwnLossesAtJumps:
    @pytest.mark.parametrize("seed", range(3))
    def test_curves_are_the_losses_everywhere(self, seed):
        scores, truth = masks(seed, at_least=0)
        nest = nest_of(Masks(), scores)
        loss = MonotoneLoss(cost, loss_max=2.0)
        curves = loss.curves(nest, truth)
        for step in places_of(nest):
            expected = [
                sum(2.0**-k for k in range(6) if true[k] and 1 - row[k] > step)
                for row, true in zip(scores, truth, strict=True)
            ]
            assert curves.at(step) == pytest.approx(expected, abs=1e-14)
            assert loss.of(nest.at(step), truth).tolist() == expected
        assert curves.lower == -INF

    def test_huge_scores(self):
        # 1 less than a huge threshold is the threshold itself: the empty set has to be looked at.
        scores, truth = np.array([[-1e18, 3e18]]), np.array([[1, 1]])
        nest = nest_of(Masks(), scores)
        curves = MonotoneLoss(cost, loss_max=2.0).curves(nest, truth)
        assert [float(curves.at(step)[0]) for step in (-4e18, -3e18, 1e18)] == [1.5, 1.0, 0.0]

    def test_a_missed_label_as_a_loss_of_ones_own(self):
        scores, truth = masks(5)
        mine = MonotoneLoss(
            lambda sets, y: (y & ~sets.members).sum(axis=1) / y.sum(axis=1), loss_max=1.0
        )
        found = [
            RiskController(lambda x: x, Masks(), loss)
            .calibrate(scores, truth)
            .predict(scores, alpha=0.2)
            .threshold
            for loss in (mine, FalseNegativeRate())
        ]
        assert found[0] == pytest.approx(found[1])

    def test_classes(self):
        nest = nest_of(LabelSets(), [[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
        loss = MonotoneLoss(lambda sets, y: 1.0 - sets.contains(y), loss_max=1.0)
        curves = loss.curves(nest, [1, 2])
        assert [curves.at(step).tolist() for step in (0.0, 0.5, 0.75)] == [[1, 0], [1, 0], [0, 0]]
        assert curves.lower == 0.0

    def test_a_rising_loss_is_refused_and_its_row_named(self):
        def rises_in_row_one(sets, y):
            assert len(y) == len(sets)
            return np.where(np.arange(len(sets)) == 1, (sets.size() == 1) / 2, 1 - sets.size() / 2)

        nest = nest_of(Masks(), [[0.75, 0.25], [0.5, 0.25]])
        match = r"in row 1 a loss of 0 at the threshold -0.5, and 0.5 at the next.*Monotonized\("
        with pytest.raises(InputError, match=match):
            MonotoneLoss(rises_in_row_one, loss_max=1.0).curves(nest, np.ones((2, 2)))

    def test_a_loss_of_the_whole_space_above_the_last_one_is_a_rise(self):
        nest = nest_of(Intervals(0, 10), [[5.0]])
        loss = MonotoneLoss(
            lambda sets, _: 0.5 * sets.whole, [0.0, 1.0], loss_max=1.0, whole_loss=0.5
        )
        with pytest.raises(InputError, match=r"row 0 a loss of 0 at the threshold 1, and 0.5"):
            loss.curves(nest, [5.0])

    def test_rounding_is_no_rise(self):
        nest = nest_of(Masks(), [[0.75, 0.25]])
        loss = MonotoneLoss(lambda sets, _: 0.5 + 1e-12 * sets.size(), loss_max=1.0, whole_loss=0.6)
        assert loss.curves(nest, [[1, 1]]).at(0.5) == pytest.approx([0.5])


class TestBorder:
    @pytest.mark.parametrize("value", [1.5, -0.1])
    def test_losses_outside_their_range(self, value):
        loss = MonotoneLoss(lambda sets, _: np.full(len(sets), value), [0.0], loss_max=1.0)
        with pytest.raises(InputError, match=f"losses from 0 to 1, got {value} at position 0"):
            loss.curves(nest_of(Intervals(0, 10), [[5.0]]), [5.0])

    @pytest.mark.parametrize(
        "function",
        [lambda *_: 0.5, lambda *_: np.zeros(3), lambda *_: [[0.0]], lambda *_: [math.nan]],
    )
    def test_losses_are_one_number_for_each_row(self, function):
        with pytest.raises(InputError, match="losses"):
            MonotoneLoss(function, [0.0], loss_max=1.0).curves(
                nest_of(Intervals(0, 10), [[5.0]]), [5.0]
            )

    def test_a_whole_space_that_loses_more_than_was_stated(self):
        nest = nest_of(Masks(), [[0.75, 0.25]])
        function = lambda sets, _: np.full(len(sets), 0.3)  # noqa: E731
        with pytest.raises(InputError, match=r"whole label space.*at most 0, got 0.3.*whole_loss="):
            MonotoneLoss(function, loss_max=1.0).curves(nest, [[1, 1]])
        loss = MonotoneLoss(function, loss_max=1.0, whole_loss=0.3)
        assert loss.curves(nest, [[1, 1]]).at(0.0).tolist() == [0.3]
        assert loss.floor(nest) == 0.3
        assert loss.worst(nest).at([0.0]).tolist() == [1.0]
        assert loss.worst(nest).at(nest.whole()).tolist() == [0.3]

    def test_less_than_the_whole_space_loses_is_not_promised(self):
        loss = MonotoneLoss(lambda sets, _: np.full(len(sets), 0.3), loss_max=1.0, whole_loss=0.3)
        calibrated = RiskController(lambda x: x, Masks(), loss).calibrate([[0.75, 0.25]], [[1, 1]])
        assert calibrated.predict([[0.75, 0.25]], alpha=0.3).whole.tolist() == [True]
        with pytest.raises(
            InputError, match=r"alpha: expected at least 0.3, the loss of the whole"
        ):
            calibrated.predict([[0.75, 0.25]], alpha=0.2999)

    @pytest.mark.parametrize(
        ("largest", "whole"), [(0, 0), (-1, 0), (INF, 0), (1, 2), (1, -0.1), (math.nan, 0)]
    )
    def test_bounds(self, largest, whole):
        with pytest.raises(InputError, match="loss_max"):
            MonotoneLoss(far_away, loss_max=largest, whole_loss=whole)

    def test_a_function_is_one(self):
        with pytest.raises(InputError, match="function: expected a function of sets and labels"):
            MonotoneLoss(0.5, loss_max=1.0)

    def test_an_envelope_is_of_a_loss_of_sets(self):
        for loss in (Distance(), far_away, Miscoverage()):
            with pytest.raises(InputError, match="loss: expected a loss of finished sets"):
                Monotonized(loss)

    def test_a_score_of_one_minus_f1_is_no_loss_to_be_controlled(self):
        with pytest.raises(InputError, match="loss: expected an object with curves, got F1"):
            RiskController(lambda x: x, Masks(), F1())


def one_less_f1(inside, true):
    """1 - 2 |set and true| / (|set| + |true|), exactly."""
    both = sum(a and b for a, b in zip(inside, true, strict=True))
    total = sum(map(int, inside)) + sum(map(int, true))
    return 1 - Fraction(2 * both, total) if total else Fraction(0)


class TestF1:
    def test_the_paper_counts_it_as_monotone_and_it_is_not(self):
        # One true label of four, found first: {1}: 0, {1, 2}: 1/3, {1, 2, 3}: 1/2, all: 3/5.
        nest = nest_of(Masks(), [[0.875, 0.75, 0.5, 0.25]])
        truth = [[1, 0, 0, 0]]
        found = [F1().of(nest.at(step), truth)[0] for step in (0.0, 0.125, 0.25, 0.5, 0.75)]
        assert found == pytest.approx([1, 0, 1 / 3, 1 / 2, 3 / 5])
        with pytest.raises(InputError, match=r"losses that do not rise.*Monotonized"):
            MonotoneLoss(F1().of, loss_max=1.0, whole_loss=0.6).curves(nest, truth)

    @pytest.mark.parametrize("seed", range(3))
    def test_by_definition(self, seed):
        scores, truth = masks(seed)
        nest = nest_of(Masks(), scores)
        for step in places_of(nest)[::2]:
            sets = nest.at(step)
            for found, inside, true in zip(
                F1().of(sets, truth), 1 - scores <= step, truth, strict=True
            ):
                assert found == pytest.approx(float(one_less_f1(inside, true)), abs=1e-15)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_envelope_is_the_largest_loss_of_all_larger_sets(self, seed):
        scores, truth = masks(seed)
        nest = nest_of(Masks(), scores)
        loss = Monotonized(F1())
        curves = loss.curves(nest, truth)
        places = places_of(nest)
        for step in places:
            later = [t for t in [*np.unique(nest.entries), step] if t >= step]
            for row in range(len(scores)):
                exact = max(one_less_f1(1 - scores[row] <= t, truth[row]) for t in later)
                assert curves.at(step)[row] == pytest.approx(float(exact), abs=1e-15)
            assert (curves.at(step) >= loss.of(nest.at(step), truth) - 1e-15).all()

    @pytest.mark.parametrize(("labels", "m"), [(20, 1), (4, 1), (5, 2), (6, 6)])
    def test_the_floor_is_what_the_set_of_all_labels_loses(self, labels, m):
        nest = nest_of(Masks(), np.zeros((1, labels)))
        floor = Monotonized(F1(m)).floor(nest)
        assert floor == pytest.approx(float(1 - Fraction(2 * m, labels + m)))
        everything = nest.at(INF)
        for count in range(m, labels + 1):
            truth = (np.arange(labels) < count)[None]
            assert F1(m).of(everything, truth)[0] <= floor + 1e-15
        if (labels, m) == (20, 1):
            assert floor == pytest.approx(0.905, abs=5e-4)

    def test_less_than_the_floor_is_refused(self):
        scores, truth = masks(0, labels=20)
        controller = RiskController(lambda x: x, Masks(), Monotonized(F1()))
        calibrated = controller.calibrate(scores, truth)
        with pytest.raises(InputError, match=r"alpha: expected at least 0.904762, the loss of the"):
            calibrated.predict(scores, alpha=0.9)
        found = calibrated.evaluate(scores, truth, alpha=0.92)
        assert found.risk.value <= 0.92

    @pytest.mark.parametrize("worst_case", [Constant(), Pointwise()])
    def test_the_envelope_is_controlled(self, worst_case):
        rng = np.random.default_rng(0)
        truth = rng.random((600, 6)) < 0.8
        truth[:, :4] = True
        scores = truth + rng.normal(0, 0.3, truth.shape)
        loss = Monotonized(F1(at_least=4))
        controller = RiskController(lambda x: x, Masks(), loss, worst_case=worst_case)
        calibrated = controller.calibrate(scores[:300], truth[:300])
        sets = calibrated.predict(scores[300:], alpha=0.21)
        nest = nest_of(Masks(), scores[300:])
        envelope = loss.curves(nest, truth[300:]).at(np.where(sets.whole, 99.0, sets.threshold))
        assert 0.15 < envelope.mean() < 0.24
        assert (loss.of(sets, truth[300:]) <= envelope + 1e-12).all()
        assert not sets.whole.all()

    def test_too_few_true_labels(self):
        nest = nest_of(Masks(), np.zeros((3, 4)))
        truth = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
        with pytest.raises(
            InputError, match=r"at least 2 true labels.*got 1.0 at position 1.*at_l"
        ):
            Monotonized(F1(2)).curves(nest, truth)
        with pytest.raises(InputError, match="at least 1 true labels"):
            F1().of(nest.at(0.5), np.zeros((3, 4)))

    def test_rows_without_any_true_label(self):
        nest = nest_of(Masks(), [[0.75, 0.25]])
        loss = F1(at_least=0)
        assert loss.of(nest.at(0.0), [[0, 0]]).tolist() == [0.0]  # nothing to find, nothing found
        assert loss.of(nest.at(0.5), [[0, 0]]).tolist() == [1.0]
        assert loss.floor(nest) == 1.0
        assert Monotonized(loss).curves(nest, [[0, 0]]).at(0.0).tolist() == [1.0]

    @pytest.mark.parametrize("at_least", [-1, 1.0, True, "1", None])
    def test_at_least_is_a_count(self, at_least):
        with pytest.raises(InputError, match="at_least: expected a whole number"):
            F1(at_least)

    def test_of_one_class(self):
        nest = nest_of(LabelSets(), [[0.5, 0.375, 0.125]])
        curves = Monotonized(F1()).curves(nest, [1])
        # {}: 1, {0}: 1, {0, 1}: 1/3, all: 1/2
        assert curves.at(0.5).tolist() == [1.0]
        assert curves.at(0.625) == pytest.approx([0.5])
        assert Monotonized(F1()).floor(nest) == 0.5

    def test_intervals_have_none(self):
        with pytest.raises(InputError, match="sets with truth, jumps"):
            RiskController(lambda x: x, Intervals(0, 1), Monotonized(F1()))

    def test_in_words(self):
        assert str(F1()) == "1 - F1"
        assert "1 - F1" in Monotonized(F1()).controls
        assert "loss of the set" in Monotonized(MonotoneLoss(cost, loss_max=2.0)).controls


class TestEnvelopes:
    def test_of_a_loss_on_a_grid(self):
        rng = np.random.default_rng(0)
        nest = nest_of(Intervals(0, 10), rng.uniform(0, 10, (30, 1)))
        y = rng.uniform(0, 10, 30)
        grid = np.array([0.0, 1.0, 2.0, 5.0, 9.0])

        def wide_or_far(sets, y):
            return np.minimum(1, sets.distance(y) / 5 + sets.size() / 20)

        loss = Monotonized(MonotoneLoss(wide_or_far, grid, loss_max=1.0, whole_loss=0.5))
        curves = loss.curves(nest, y)
        values = [wide_or_far(nest.at(step), y) for step in [*grid, INF]]
        for place, step in enumerate(grid):
            assert curves.at(step) == pytest.approx(np.max(values[place:], axis=0), abs=1e-15)
        assert (np.diff([curves.at(step) for step in grid], axis=0) <= 1e-15).all()
        assert loss.floor(nest) == 0.5

    def test_of_a_loss_that_falls_it_is_the_loss(self):
        scores, truth = masks(1)
        nest = nest_of(Masks(), scores)
        loss = MonotoneLoss(cost, loss_max=2.0)
        for step in places_of(nest):
            one, other = loss.curves(nest, truth), Monotonized(loss).curves(nest, truth)
            assert one.at(step).tolist() == other.at(step).tolist()
        assert Monotonized(loss).needs == loss.needs
        assert Monotonized(loss).bound(nest) == 2.0
