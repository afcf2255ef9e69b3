"""The edges of the rule, each with the answer that the theory page gives."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    Outcome,
    RiskCurve,
    WeightBox,
    rate_vertices,
)

INF = math.inf


def paper(curve, alpha, weight):
    return float(curve.threshold(alpha, weight, worst=curve.losses.bound))


@pytest.fixture
def distances():
    return RiskCurve(LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0), [1.0, 2.0, 1.0])


@pytest.fixture
def near():
    """The worst case of a point whose farthest label is 12 km away."""
    return LossCurves.hinges([12.0], bound=40.0)


class TestInfeasible:
    def test_the_largest_score_is_never_used_instead_of_the_whole_space(self, distances):
        # W Lmax = 40 > alpha (sum W + W) = 7 * 5: even the largest threshold does not meet alpha.
        assert paper(distances, 7.0, 1.0) == INF

    def test_at_the_exact_limit_the_largest_score_does(self, distances):
        assert paper(distances, 8.0, 1.0) == 9.0

    @pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3, 0.6, 0.7])
    def test_limit_in_decimals(self, alpha):
        # sum W = 9, W = 9 alpha / (1 - alpha): the budget is exactly zero, in decimals only.
        n = 30
        weight = Fraction(n) * Fraction(str(alpha)) / (1 - Fraction(str(alpha)))
        if weight.denominator not in (1, 2, 4, 5):
            return
        curve = RiskCurve(LossCurves.steps(np.arange(1.0, n + 1)))
        assert paper(curve, alpha, float(weight)) == n
        assert paper(curve, alpha, float(np.nextafter(float(weight), INF))) == INF


class TestWeights:
    def test_infinite_weight_is_the_whole_space(self, distances):
        assert paper(distances, 8.0, INF) == INF

    def test_infinite_weight_under_the_envelope(self, distances, near):
        assert distances.threshold(8.0, INF, worst=near) == [4.0]  # 12 - lam <= 8

    def test_no_calibration_weight(self, near):
        curve = RiskCurve(LossCurves.hinges([4.0], bound=40.0), [0.0])
        assert paper(curve, 8.0, 1.0) == INF
        assert curve.threshold(8.0, 1.0, worst=near) == [4.0]

    def test_zero_over_zero_is_the_whole_space(self, near):
        curve = RiskCurve(LossCurves.hinges([4.0], bound=40.0), [0.0])
        assert paper(curve, 8.0, 0.0) == INF
        assert curve.threshold(8.0, 0.0, worst=near) == [12.0]

    def test_no_test_mass_is_legal(self, distances):
        # (4 - lam)+ + 2 (7 - lam)+ + (9 - lam)+ <= 2 * 4 at lam = 5
        assert paper(distances, 2.0, 0.0) == 5.0

    def test_no_test_mass_with_an_endless_worst_case(self):
        curve = RiskCurve(LossCurves.hinges([4.0, 8.0], bound=INF))
        endless = LossCurves.hinges([INF], bound=INF)
        assert curve.threshold(2.0, 0.0, worst=endless) == [4.0]
        assert curve.threshold(1.0, 0.0, worst=endless) == [6.0]
        assert curve.threshold(2.0, 1e-9, worst=endless) == [INF]

    def test_effective_size(self):
        losses = LossCurves.steps([1.0, 2.0, 3.0])
        assert RiskCurve(losses, [0.0, 0.0, 0.0]).effective_size == 0.0
        assert RiskCurve(losses, [1e-200] * 3).effective_size == pytest.approx(3.0)

    @pytest.mark.parametrize("weight", [1e-20, 1e-8])
    def test_a_slope_that_floats_do_not_see_well(self, weight):
        # The budget, .5 (2 + weight) - 1 = weight / 2, is left to the second example at .5.
        curve = RiskCurve(LossCurves.hinges([0.25, 1.0], bound=1.0), [1.0, weight])
        assert paper(curve, 0.5, 1.0) == 0.5

    def test_huge_and_tiny_weights(self):
        scores = [1.0, 2.0, 3.0]
        for c in (1e-200, 1e200):
            curve = RiskCurve(LossCurves.steps(scores), np.array([1.0, 1.0, 1.0]) * c)
            assert paper(curve, 0.5, c) == 2.0
        curve = RiskCurve(LossCurves.steps(scores), [1e200, 1.0, 1e-200])
        assert paper(curve, 0.5, 1.0) == 1.0
        assert paper(curve, 0.4, 1e200) == INF

    def test_a_weight_that_floats_cannot_see_still_counts(self):
        # sum W = 1 + 1e-30 leaves room for exactly half of it.
        curve = RiskCurve(LossCurves.steps([1.0, 2.0]), [1.0, 1e-30])
        assert paper(curve, 0.5, 1.0) == 2.0
        curve = RiskCurve(LossCurves.steps([1.0, 2.0]), [1.0, 0.0])
        assert paper(curve, 0.5, 1.0) == 1.0


class TestLevels:
    def test_no_risk_at_all(self, distances, near):
        assert paper(distances, 0.0, 1.0) == INF
        # max(largest score, D) = 12, which is D
        assert distances.threshold(0.0, 1.0, worst=near) == [12.0]

    def test_no_risk_at_all_without_test_mass(self, distances):
        assert paper(distances, 0.0, 0.0) == 9.0

    def test_all_the_risk_there_is(self, distances):
        for weight in (0.0, 1.0, INF):
            assert paper(distances, 40.0, weight) == 0.0

    def test_lower_end(self):
        curve = RiskCurve(LossCurves.steps([-3.0, -1.0, 2.0], lower=-INF))
        assert paper(curve, 0.75, 1.0) == -3.0
        assert paper(curve, 1.0, 1.0) == -INF
        curve = RiskCurve(LossCurves.steps([-3.0, -1.0, 2.0]))
        assert paper(curve, 0.75, 1.0) == 0.0

    def test_randomized_with_a_score_at_the_lower_end(self):
        curve = RiskCurve(LossCurves.steps([0.0, 1.0]))
        assert curve.randomized(0.5, 1.0, [0.4, 0.6]).threshold.tolist() == [0.0, 1.0]

    def test_a_score_that_no_set_holds(self):
        curve = RiskCurve(LossCurves.steps([1.0, INF, 2.0]))
        assert paper(curve, 0.5, 1.0) == 2.0
        assert paper(curve, 0.25, 1.0) == INF


class TestRounding:
    def test_naive_sums_would_go_one_score_too_far(self):
        curve = RiskCurve(LossCurves.steps([1.0, 2.0, 3.0, 4.0]))
        assert paper(curve, 0.6, 1.0) == 2.0

    @pytest.mark.parametrize("n", [9, 19, 99, 199, 999, 99_999])
    @pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3, 0.7, 0.9])
    def test_split_conformal_takes_the_textbook_rank(self, n, alpha):
        rank = math.ceil((n + 1) * (1 - Fraction(str(alpha))))
        curve = RiskCurve(LossCurves.steps(np.arange(1.0, n + 1)))
        assert paper(curve, alpha, 1.0) == rank

    def test_ties_of_group_weights_are_decided_in_decimals(self):
        # Scores 1, 2, 3 weigh 1.8 each, scores 4, 5, 6 weigh .2: S(3) = .6, S(4) = .4.
        weights = np.array([1.8, 0.2] * 3)
        curve = RiskCurve(LossCurves.steps([1.0, 4.0, 2.0, 5.0, 3.0, 6.0]), weights)
        assert paper(curve, 0.1, 0.2) == 4.0  # .1 * 6.2 - .2 = .42
        assert paper(curve, 0.2, 0.75) == 3.0  # .2 * 6.75 - .75 = .6, a tie
        assert paper(curve, 0.2, float(np.nextafter(0.75, 1))) == 4.0


class TestTies:
    """Ties that are hidden from floats, each with the exact answer."""

    def test_a_cap_that_ties(self):
        losses = LossCurves.hinges([1.0, 0.3], [5.0, 5.0], bound=1.0, cap=1.0)
        worst = LossCurves.hinges([2.0], [0.3], bound=1.0, cap=1.0)
        for weight in (1e-12, 1e-8, 1e-3):
            # Left of 1/3 both losses are above zero; there the worst case is (2 - 1/3) .3 = .5.
            assert RiskCurve(losses).threshold(0.5, weight, worst=worst) >= 1 / 3 - 1e-12

    def test_a_test_point_that_floats_cannot_see(self):
        worst = LossCurves.hinges([5.0], [0.2], bound=1.0, cap=1.0)
        curve = RiskCurve(LossCurves.steps([1.0, 2.0]))
        assert curve.threshold(0.5, 1e-16, worst=worst) == 2.0  # .6 > .5 at 2 - 0, .8 at 1
        assert curve.threshold(0.5, 0.0, worst=worst) == 1.0

    def test_one_far_score_does_not_blur_the_others(self):
        losses = LossCurves.hinges([10.0, 2.0, 1e12, 1.0], bound=1.0, cap=1.0)
        assert paper(RiskCurve(losses), 0.5, 0.0) == 2.0

    def test_three_tenths(self):
        stairs = LossCurves.staircases([0], [1.0, 2.0, 3.0], [0.1] * 3, [0] * 3, bound=1.0)
        assert RiskCurve(stairs).threshold(0.3, INF, worst=stairs) == 0.0
        stairs = LossCurves.staircases([0], [1.0, 2.0], [0.7, 0.1], [0, 0], bound=1.0)
        assert RiskCurve(stairs).threshold(float(np.nextafter(0.8, 0)), INF, worst=stairs) == 1.0

    def test_no_weight_times_an_infinite_bound(self):
        curve = RiskCurve(LossCurves.hinges([4.0, 8.0], bound=INF))
        assert float(curve.threshold(0.0, 0.0, worst=INF)) == 8.0
        assert float(curve.threshold(0.0, 1.0, worst=INF)) == INF

    def test_the_smallest_float_is_a_weight(self):
        losses = LossCurves.hinges([-1.0], bound=2.0, cap=2.0, lower=-1.0)
        worst = LossCurves.hinges([0.6548], [0.5], bound=2.0, cap=2.0, lower=-1.0)
        assert RiskCurve(losses, [3.0]).threshold(0.0, 5e-324, worst=worst) == 0.6548

    def test_equal_worst_cases_are_decided_once(self):
        curve = RiskCurve(LossCurves.steps(np.arange(1.0, 100.0)))
        worst = LossCurves.steps(np.full(50_000, 95.0))
        assert (curve.threshold(0.1, 1.0, worst=worst) == 90.0).all()


class TestOutcome:
    def test_every_outcome_has_its_case(self, distances, near):
        nothing = RiskCurve(LossCurves.hinges([4.0], bound=40.0), [0.0])
        cases = {
            Outcome.CONTROLLED: (distances, 10.0, 1.0, 40.0),
            Outcome.WHOLE: (distances, 7.0, 1.0, 40.0),
            Outcome.NO_TEST_MASS: (distances, 7.0, 0.0, 40.0),
            Outcome.OUTSIDE_SUPPORT: (distances, 7.0, INF, 40.0),
            Outcome.WORST_CASE_ALONE: (distances, 7.0, INF, near),
            Outcome.NO_CALIBRATION_MASS: (nothing, 7.0, 1.0, 40.0),
            Outcome.NO_MASS_AT_ALL: (nothing, 7.0, 0.0, near),
        }
        assert set(cases) == set(Outcome)
        for outcome, (curve, alpha, weight, worst) in cases.items():
            lam = np.ravel(curve.threshold(alpha, weight, worst=worst))
            found = curve.outcome(lam, weight, whole=12.0 if worst is near else INF)
            assert found.tolist() == [outcome]
            assert outcome.is_whole == bool(lam[0] >= (12.0 if worst is near else INF))
            assert len(str(outcome)) > 30

    def test_no_test_mass_and_no_threshold(self):
        curve = RiskCurve(LossCurves.steps([INF, 1.0]))
        lam = curve.threshold(0.2, 0.0, worst=1.0)
        assert curve.outcome(lam, 0.0, whole=INF) is Outcome.WHOLE

    def test_shapes_follow_the_thresholds(self, distances):
        lam = distances.threshold([[8.0], [20.0]], [0.0, 1.0, 2.0], worst=40.0)
        assert lam.shape == (2, 3)
        assert distances.outcome(lam, [0.0, 1.0, 2.0], whole=INF).shape == (2, 3)

    def test_boxes_have_outcomes(self):
        losses = LossCurves.steps([1.0, 2.0])
        boxed = BoxedCurve(losses, WeightBox([0.0, 0.0], [1.0, 1.0]))
        assert boxed.outcome([1.0], WeightBox(0.0, INF), whole=INF).tolist() == [
            Outcome.WORST_CASE_ALONE
        ]
        together = CoherentCurve(losses, CoherentBox([[1.0, 1.0], [0.0, 2.0]]))
        box = CoherentBox([[0.0, 1.0], [0.0, 3.0]])
        lam = together.threshold(0.5, box, worst=1.0)
        assert together.outcome(lam, box, whole=INF).tolist() == [
            Outcome.NO_TEST_MASS,
            Outcome.WHOLE,
        ]


class TestShapes:
    def test_arguments_broadcast(self, distances):
        alphas, weights = np.array([[2.0], [8.0], [12.0]]), np.array([0.0, 0.5, 1.0, 3.0])
        together = distances.threshold(alphas, weights, worst=40.0)
        assert together.shape == (3, 4)
        for row, alpha in zip(together, alphas[:, 0], strict=True):
            for lam, weight in zip(row, weights, strict=True):
                assert lam == paper(distances, alpha, weight)

    def test_worst_cases_broadcast_like_an_array(self, distances):
        worst = LossCurves.hinges([10.0, 20.0], bound=40.0)
        both = distances.threshold([[2.0], [8.0]], 1.0, worst=worst)
        for row, alpha in zip(both, (2.0, 8.0), strict=True):
            for lam, index in zip(row, (0, 1), strict=True):
                one = worst.select(np.array([index]))
                assert lam == distances.threshold(alpha, 1.0, worst=one)[0]

    def test_scalars_give_a_number(self, distances):
        assert distances.threshold(8.0, 1.0, worst=40.0).shape == ()

    def test_no_points_at_all(self, distances):
        nobody = LossCurves.hinges([], bound=40.0)
        assert distances.threshold(8.0, [], worst=nobody).shape == (0,)
        assert distances.directional(8.0, 1.0, np.empty((0, 2))).shape == (0, 2)

    def test_a_curve_travels_between_processes_after_use(self, distances):
        paper(distances, 8.0, 1.0)
        again = pickle.loads(pickle.dumps(distances))  # noqa: S301 - our own bytes
        assert paper(again, 8.0, 1.0) == 9.0

    def test_no_points(self, distances):
        assert distances.threshold(8.0, [], worst=40.0).shape == (0,)

    def test_more_points_than_a_block(self, distances):
        weights = np.linspace(0, 3, 70_000)
        found = distances.threshold(9.0, weights, worst=40.0)
        for index in (0, 32_767, 32_768, 65_536, 69_999):
            assert found[index] == paper(distances, 9.0, weights[index])


class TestBoxEdges:
    def test_an_upper_weight_of_infinity_meets_alpha_twice(self):
        losses = LossCurves.hinges([4.0, 8.0], bound=40.0)
        curve = BoxedCurve(losses, WeightBox([1.0, 1.0], [1.0, 1.0]))
        far = LossCurves.hinges([9.0], bound=40.0)
        # Alone the worst case needs lam = 9 - 2 = 7; the curve with the lower weight less.
        assert curve.threshold(2.0, WeightBox(0.0, INF), worst=far) == [7.0]
        near = LossCurves.hinges([5.0], bound=40.0)
        alone, together = 3.0, float(RiskCurve(losses).threshold(2.0, 1.0, worst=near)[0])
        found = curve.threshold(2.0, WeightBox(1.0, INF), worst=near)
        assert found == pytest.approx([max(alone, together)], rel=1e-12)

    def test_taking_the_upper_test_weight_always_would_be_wrong(self):
        # Under the envelope a heavy test point can help: the lower weight is then the worse one.
        losses, near = (
            LossCurves.hinges([10.0, 10.0], bound=20.0),
            LossCurves.hinges([5.0], bound=20.0),
        )
        curve = BoxedCurve(losses, WeightBox.of([1.0, 1.0]))
        boxed = curve.threshold(1.0, WeightBox(0.0, 100.0), worst=near)
        assert boxed == [5.0]
        assert RiskCurve(losses).threshold(1.0, 100.0, worst=near) < boxed

    def test_many_levels_at_once(self):
        curve = BoxedCurve(LossCurves.hinges([4.0, 8.0], bound=40.0), WeightBox([1, 1], [2, 3]))
        box = WeightBox([0.5, 1.0, 0.5], [1.0, 1.0, 0.5])
        alphas = [9.0, 20.0, 9.0]
        together = curve.threshold(alphas, box, worst=40.0)
        for lam, alpha, low, high in zip(together, alphas, box.low, box.high, strict=True):
            assert lam == curve.threshold(alpha, WeightBox(low, high), worst=40.0)

    def test_cutting_at_alpha_leaves_no_dust(self):
        # The drops .25, .25 and .1 reach .6 = alpha exactly; in floats a cut at .6 leaves 3e-17,
        # and with all lower weights zero nothing else is in the sum.
        stairs = LossCurves.staircases(
            [0], [0.2, 0.2, 0.1], [0.25, 0.25, 0.1], [0, 0, 0], bound=2.0
        )
        curve = BoxedCurve(stairs, WeightBox([0.0], [0.1]))
        worst = LossCurves.staircases([0], [0.1], [0.1], [0], bound=2.0)
        assert curve.threshold(0.6, 0.0, worst=worst) == [0.0]

    def test_as_many_groups_as_are_allowed(self):
        rates = np.full(12, 1 / 12)
        assert np.allclose(rate_vertices(rates, rates), rates)

    def test_rare_groups_keep_their_rates(self):
        low, high = [0.0, 1 - 3.3333e-9], [1.0, 1 - 3.3333e-9]
        weight = CoherentBox.from_rates([0], [1e-6, 1.0], low, high).candidates[0, 0]
        assert weight == pytest.approx(0.0033333, rel=1e-6)

    def test_vertices_of_rates(self):
        vertices = rate_vertices([0.1, 0.2, 0.3], [0.5, 0.6, 0.4])
        assert np.allclose(vertices.sum(axis=1), 1)
        assert len(np.unique(vertices, axis=0)) == len(vertices) == 4
        assert rate_vertices([0.25, 0.75], [0.25, 0.75]).tolist() == [[0.25, 0.75]]
        assert rate_vertices([1.0], [1.0]).tolist() == [[1.0]]

    def test_a_group_outside_the_source(self):
        box = CoherentBox.from_rates([0, 1, 2], [0.5, 0.5, 0.0], [0.2, 0.5, 0.1], [0.4, 0.7, 0.1])
        assert np.isposinf(box.candidates[:, 2]).all()
        none = CoherentBox.from_rates([2], [0.5, 0.5, 0.0], [0.3, 0.3, 0.0], [0.7, 0.7, 0.0])
        assert (none.candidates == 0).all()
