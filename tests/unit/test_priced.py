"""A price in risk: by search, by definition, and in a world where every case is enumerated."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conftest import RUNS
from shiftproof.errors import InputError
from shiftproof.risk import DrawnCurve, LossCurves, Outcome, Price, PricedCurve, RiskCurve

INF = math.inf
FACTORS = st.sampled_from([0.5, 1.0, 1.25, 2.0, 7.0])
MASSES = st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.9])
PRICES = st.lists(st.tuples(FACTORS, MASSES), min_size=1, max_size=5)
ALPHAS = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.7, 1.0])
WEIGHTS = st.lists(
    st.tuples(*[st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.0, 3.0, 20.0])] * 2), min_size=2, max_size=8
)


def dec(value):
    return Fraction(repr(float(value)))


@given(PRICES, ALPHAS, st.sampled_from([1.0, 10.0]))
def test_the_level_is_the_best_of_all_factors(pairs, share, bound):
    price, alpha = Price(*zip(*pairs, strict=True)), share * bound
    best = max((alpha - bound * mass) / factor for factor, mass in pairs)
    assert price.level(alpha, bound=bound) == pytest.approx(min(best, bound), rel=1e-12, abs=1e-13)


@given(PRICES, ALPHAS, st.sampled_from([1.0, 0.3, 10.0]))
def test_rounding_never_raises_the_level(pairs, share, bound):
    """In rationals, on the floats that stand in the price."""
    price, alpha = Price(*zip(*pairs, strict=True)), share * bound
    best = max(
        (Fraction(alpha) - Fraction(bound) * Fraction(mass)) / Fraction(factor)
        for factor, mass in pairs
    )
    assume(best >= 0)
    assert Fraction(float(price.level(alpha, bound=bound))) <= min(best, Fraction(bound))


@given(PRICES, ALPHAS)
def test_level_and_risk_are_inverse(pairs, alpha):
    price = Price(*zip(*pairs, strict=True))
    level = float(price.level(alpha, bound=1.0))
    assume(level >= 0)
    assert price.risk(level, bound=1.0) <= alpha + 1e-15
    if level < 1:
        assert price.risk(level, bound=1.0) == pytest.approx(alpha, rel=1e-12, abs=1e-15)
    if level < 1 and alpha < 1:
        assert price.risk(min(level + 1e-6, 1.0), bound=1.0) > alpha


@given(PRICES, st.sampled_from([0.3, 1.0, 7.0]))
def test_the_smallest_alpha_is_one_that_is_served(pairs, bound):
    price = Price(*zip(*pairs, strict=True))
    smallest = price.smallest_alpha(bound)
    assert 0 <= price.level(smallest, bound=bound) <= 1e-12
    if smallest:
        assert price.level(smallest * (1 - 1e-9), bound=bound) < 0


def test_a_price_of_nothing_changes_nothing():
    alphas = np.array([0.0, 0.1, 0.3, 1.0])
    assert Price.nothing().level(alphas, bound=1.0).tolist() == alphas.tolist()
    assert Price.nothing().risk(alphas, bound=1.0).tolist() == alphas.tolist()
    assert Price.nothing().smallest_alpha(INF) == 0.0


def test_a_part_that_is_left_out_adds_to_every_mass():
    price = Price([1.0, 2.0], [0.3, 0.1]).plus(0.05)
    assert price.masses == pytest.approx([0.35, 0.15])
    assert price.smallest_alpha(bound=10.0) == pytest.approx(1.5)


def direct(true, used, k):
    w, v = (np.array(each) / np.mean(each) for each in (true, used))
    return np.mean(np.maximum(w - k * v, 0.0))


def searched_risk(true, used, alpha, factors):
    w, v = (np.array(each) / np.mean(each) for each in (true, used))
    masses = np.maximum(w - factors[:, None] * v, 0.0).mean(axis=1)
    return (factors * alpha + masses).min()


@given(WEIGHTS)
def test_masses_of_wrong_weights_are_those_of_the_definition(pairs):
    true, used = map(list, zip(*pairs, strict=True))
    assume(any(true))
    assume(any(used))
    price = Price.of_wrong_weights(true, used)
    for k, mass in zip(price.factors, price.masses, strict=True):
        assert mass == pytest.approx(direct(true, used, k), abs=1e-15)
    share_of_true, share_of_used = (np.array(each) / np.sum(each) for each in (true, used))
    distance = np.abs(share_of_true - share_of_used).sum() / 2
    assert price.masses[price.factors == 1.0] == pytest.approx([distance], abs=1e-12)


@given(WEIGHTS, ALPHAS)
def test_no_other_factor_is_better(pairs, alpha):
    true, used = map(list, zip(*pairs, strict=True))
    assume(any(true))
    assume(any(used))
    price = Price.of_wrong_weights(true, used)
    searched = searched_risk(true, used, alpha, np.linspace(0.001, 50, 4000))
    assert price.risk(alpha, bound=1.0) <= min(searched, 1.0) + 1e-12


def test_many_bends_are_thinned_at_little_cost():
    rng = np.random.default_rng(0)
    true = np.exp(rng.normal(0, 1.5, 4000))
    used = true * np.exp(rng.normal(0, 0.5, 4000))
    price = Price.of_wrong_weights(true, used)
    assert len(price.factors) <= 257
    for alpha in (0.01, 0.05, 0.1, 0.3):
        best = searched_risk(true, used, alpha, np.linspace(0.1, 30, 1000))
        assert price.risk(alpha, bound=1.0) <= 1.01 * best


def test_right_weights_cost_nothing_and_their_scale_is_free():
    w = np.array([0.3, 1.7, 5.0])
    price = Price.of_wrong_weights(w, 10 * w)
    assert price.risk(0.2, bound=INF) == pytest.approx(0.2)


def test_at_the_last_bend_nothing_is_left_not_even_rounding():
    rng = np.random.default_rng(0)
    for _ in range(100):
        true, used = rng.random((2, 30))
        price = Price.of_wrong_weights(true, used)
        largest = (true / true.mean() / (used / used.mean())).max()
        assert price.factors[-1] == pytest.approx(largest)
        assert price.masses[-1] == 0.0
        assert price.level(1.0, bound=INF) == pytest.approx(1 / largest)


def test_an_unbounded_loss_is_paid_by_factors_alone():
    price = Price.of_wrong_weights([1.8, 0.2], [1.6, 0.4])
    assert price.risk(1.0, bound=INF) == pytest.approx(1.125)
    assert price.level(1.125, bound=INF) == pytest.approx(1.0)
    left_out = Price.of_wrong_weights([1.0, 1.0], [1.0, 0.0])
    with pytest.raises(InputError, match="a finite bound"):
        left_out.level(1.0, bound=INF)
    assert left_out.smallest_alpha(INF) == INF


CURVES = {
    "steps": (LossCurves.steps([0.1, 0.4, 0.2, 0.9, 0.3]), 1.0, 0.8),
    "hinges": (LossCurves.hinges([0.1, 0.4, 2.0, 0.9, 0.3], bound=4.0), 4.0, 0.5),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_priced_curve_is_the_curve_at_its_level(name):
    losses, bound, alpha = CURVES[name]
    curve = RiskCurve(losses, [1.0, 2.0, 0.5, 1.0, 1.0])
    priced = PricedCurve(curve, Price([1.0, 1.5], [0.1, 0.01]))
    weights = [0.0, 0.3, 2.0, INF]
    level = max(alpha - bound * 0.1, (alpha - bound * 0.01) / 1.5)
    assert priced.level(alpha) == pytest.approx(level)
    found = priced.threshold(alpha, weights, worst=bound)
    assert found.tolist() == curve.threshold(priced.level(alpha), weights, worst=bound).tolist()
    assert (found >= curve.threshold(alpha, weights, worst=bound)).all()
    assert (found != curve.threshold(alpha, weights, worst=bound)).any()
    assert priced.risk([0.3]).tolist() == curve.risk([0.3]).tolist()
    assert len(priced) == 5
    outcomes = priced.outcome(found, weights, whole=INF)
    assert outcomes.tolist() == curve.outcome(found, weights, whole=INF).tolist()


def test_one_level_for_each_alpha():
    curve = RiskCurve(LossCurves.steps(np.arange(1.0, 20.0)))
    priced = PricedCurve(curve, Price([1.0], [0.1]))
    alphas = np.array([0.2, 0.5, 1.0])
    assert priced.level(alphas) == pytest.approx(alphas - 0.1)
    apart = [float(priced.threshold(alpha, 1.0, worst=1.0)) for alpha in alphas]
    assert priced.threshold(alphas, 1.0, worst=1.0).tolist() == apart


def test_directions_are_priced_too():
    curve = RiskCurve(LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0))
    priced = PricedCurve(curve, Price([1.0], [0.05]))
    rays = [[30.0, 10.0], [20.0, 3.0]]
    assert priced.directional(10.0, [1.0, 2.0], rays) == pytest.approx(
        curve.directional(8.0, [1.0, 2.0], rays)
    )


def test_where_nothing_is_left_it_refuses_and_says_what_would_do():
    priced = PricedCurve(RiskCurve(LossCurves.hinges([1.0], bound=10.0)), Price([1.0], [0.03]))
    with pytest.raises(InputError, match=r"at least 0\.3, the price in risk .* got 0\.2 at pos"):
        priced.threshold([0.4, 0.2], 1.0, worst=10.0)
    assert priced.threshold(0.3 + 1e-9, 1.0, worst=10.0) == INF


@pytest.mark.parametrize("worst", [10.0, LossCurves.hinges([9.0], bound=10.0)])
def test_what_is_left_out_may_lose_as_much_as_the_test_point(worst):
    """A worst case beyond the bound of the losses has its price too."""
    curve = RiskCurve(LossCurves.hinges(SCORES, bound=4.0))
    priced = PricedCurve(curve, Price([1.0], [0.05]))
    assert priced.level(1.0) == pytest.approx(1.0 - 0.05 * 4)
    assert priced.level(1.0, worst=worst) == pytest.approx(1.0 - 0.05 * 10)
    expected = curve.threshold(0.5, [0.1], worst=worst)
    assert expected > curve.threshold(0.8, [0.1], worst=worst)
    assert priced.threshold(1.0, [0.1], worst=worst) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(InputError, match=r"at least 0\.5, the price in risk"):
        priced.threshold(0.3, [0.1], worst=worst)


def test_directions_beyond_the_bound_have_their_price_too():
    curve = RiskCurve(LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0))
    priced = PricedCurve(curve, Price([1.0], [0.05]))
    assert priced.directional(10.0, 1.0, [[80.0, 10.0]]) == pytest.approx(
        curve.directional(10.0 - 0.05 * 80, 1.0, [[80.0, 10.0]])
    )
    capped = RiskCurve(LossCurves.hinges([4.0, 7.0, 9.0], bound=40.0, cap=40.0))
    assert PricedCurve(capped, Price([1.0], [0.05])).directional(
        10.0, 1.0, [[80.0, 10.0]]
    ) == pytest.approx(capped.directional(10.0 - 0.05 * 40, 1.0, [[80.0, 10.0]]))
    scaled = priced.directional(10.0, 1.0, [[40.0, 5.0]], slopes=2.0)
    assert scaled == pytest.approx(curve.directional(6.0, 1.0, [[40.0, 5.0]], slopes=2.0))
    with pytest.raises(InputError, match="finite slopes above 0"):
        curve.directional(10.0, 1.0, [[30.0]], slopes=INF)


SCORES = np.array([0.5, 1.0, 1.5, 2.0, 3.0])


def test_points_that_are_drawn_get_everything_under_the_constant_rule():
    curve = RiskCurve(LossCurves.hinges(SCORES, bound=4.0))
    drawn = DrawnCurve(curve, kept=0.8)
    found = drawn.threshold(1.2, [1.0, INF, 0.5], worst=4.0)
    assert found[1] == INF
    assert found[[0, 2]] == pytest.approx(curve.threshold(1.5, [1.0, 0.5], worst=4.0), rel=1e-12)
    outcomes = drawn.outcome(found, [1.0, INF, 0.5], whole=INF)
    assert outcomes.tolist() == [Outcome.CONTROLLED, Outcome.OUTSIDE_SUPPORT, Outcome.CONTROLLED]


def test_points_that_are_drawn_lose_nothing_under_the_envelope():
    curve = RiskCurve(LossCurves.hinges(SCORES, bound=4.0))
    drawn = DrawnCurve(curve, kept=0.8)
    worst = LossCurves.hinges([3.5, 2.5, 3.0], bound=4.0)
    found = drawn.threshold(0.8, [INF, 1.0, INF], worst=worst)
    assert found[[0, 2]].tolist() == [3.5, 3.0]  # where no label is farther
    expected = curve.threshold(1.0, 1.0, worst=LossCurves.hinges([2.5], bound=4.0))
    assert found[1] == pytest.approx(expected[0], rel=1e-12)
    assert worst.at(found)[[0, 2]].tolist() == [0.0, 0.0]


def test_points_that_are_drawn_reach_the_edge_in_every_direction():
    curve = RiskCurve(LossCurves.hinges(SCORES, bound=4.0))
    reach = DrawnCurve(curve, kept=0.8).directional(0.8, [INF, 1.0], [[3.0, 1.0], [3.0, 1.0]])
    assert reach[0].tolist() == [3.0, 1.0]
    assert reach[1] == pytest.approx(curve.directional(1.0, 1.0, [[3.0, 1.0]])[0], rel=1e-12)
    assert reach[1, 0] < 3.0


def test_losses_that_the_whole_label_space_does_not_remove_are_refused():
    """What a drawn test point loses then depends on its label, and nothing here bounds it."""
    tails = LossCurves.staircases([0.0, 0.2], [0.3, 0.6], [1.0, 0.8], [0, 1], bound=1.0)
    with pytest.raises(InputError, match=r"losses: expected losses that are 0 on the whole label"):
        DrawnCurve(RiskCurve(tails), kept=0.8)
    stairs = LossCurves.staircases([0.0, 0.0], [0.3, 0.6], [1.0, 0.8], [0, 1], bound=1.0)
    drawn = DrawnCurve(RiskCurve(stairs), kept=0.8)
    assert drawn.threshold(0.5, [1.0, INF], worst=1.0)[1] == INF
    with pytest.raises(InputError, match="worst: expected losses that are 0 on the whole label"):
        drawn.threshold(0.5, [1.0, INF], worst=tails)


def test_what_is_kept_never_takes_the_level_beyond_the_bound():
    drawn = DrawnCurve(RiskCurve(LossCurves.steps([1.0, 2.0])), kept=0.1)
    assert drawn.level(0.5, worst=10.0) == 1.0
    assert drawn.level([0.05, 0.5, 1.0]) == pytest.approx([0.5, 1.0, 1.0])
    assert Fraction(float(drawn.level(0.05))) <= Fraction(0.05) / Fraction(0.1)


class World:
    """Three inputs, two scores at each; calibration sets of three: every case is enumerated."""

    source = np.array([0.5, 0.3, 0.2])
    high = np.array([0.1, 0.4, 0.9])  # the chance of the larger score at each input
    n = 3

    def __init__(self):
        self.atoms = list(product(range(3), (1.0, 2.0)))
        chance = [self.high[x] if s == 2.0 else 1 - self.high[x] for x, s in self.atoms]
        self.given_x = np.array(chance)
        self.x = np.array([x for x, _ in self.atoms])
        self.score = np.array([s for _, s in self.atoms])
        self.p = self.source[self.x] * self.given_x

    def risk(self, true, thresholds):
        """E[loss] of fresh points under w = `true`; `thresholds(x, scores)` one for each input."""
        target = self.p * np.array(true)[self.x]
        target /= target.sum()
        whole = 0.0
        for some in product(range(6), repeat=self.n):
            index = np.array(some)
            lam = thresholds(self.x[index], self.score[index])
            whole += self.p[index].prod() * (target * (self.score > lam[self.x])).sum()
        return whole


WORLD = World()
RATIOS = st.tuples(*[st.sampled_from([0.2, 0.5, 1.0, 1.5, 4.0])] * 3)


def per_example(weights):
    """Weights of inputs as weights of the ten equal parts that P is made of."""
    return np.repeat(weights, np.round(10 * World.source).astype(int))


@settings(max_examples=20 * RUNS)
@given(RATIOS, RATIOS, st.sampled_from([0.3, 0.45, 0.6, 0.8]))
def test_the_stated_risk_is_kept_with_wrong_weights(true, used, alpha):
    price = Price.of_wrong_weights(per_example(true), per_example(used))
    used = np.array(used)

    def plain(level):
        def thresholds(x, scores):
            curve = RiskCurve(LossCurves.steps(scores), used[x])
            return curve.threshold(level, used, worst=1.0)

        return thresholds

    def priced(x, scores):
        curve = PricedCurve(RiskCurve(LossCurves.steps(scores), used[x]), price)
        return curve.threshold(alpha, used, worst=1.0)

    assert WORLD.risk(true, plain(alpha)) <= price.risk(alpha, bound=1.0) + 1e-12
    if alpha >= price.smallest_alpha(1.0):
        assert WORLD.risk(true, priced) <= alpha + 1e-12


def test_without_the_price_wrong_weights_break_alpha():
    """The control, in the same world."""
    true, alpha = (0.2, 0.2, 4.0), 0.5

    def thresholds(_, scores):
        return RiskCurve(LossCurves.steps(scores)).threshold(alpha, np.ones(3), worst=1.0)

    assert WORLD.risk(true, thresholds) > alpha + 0.02


@pytest.mark.parametrize("ceiling", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("alpha", [0.2, 0.3, 0.5])
def test_drawing_points_keeps_alpha(ceiling, alpha):
    """Over the draws too: a point of weight w beyond the ceiling loses nothing with 1 - c/w."""
    true = np.array([0.2, 1.0, 3.0])
    clipped = np.minimum(true, ceiling)
    kept = (World.source * clipped).sum() / (World.source * true).sum()
    target = WORLD.p * true[WORLD.x]
    target /= target.sum()
    served = np.minimum(1.0, ceiling / true)[WORLD.x]

    whole = 0.0
    for some in product(range(6), repeat=3):
        index = np.array(some)
        losses = LossCurves.steps(WORLD.score[index])
        curve = DrawnCurve(RiskCurve(losses, clipped[WORLD.x[index]]), kept)
        lam = curve.threshold(alpha, clipped, worst=1.0)
        loss = WORLD.score > lam[WORLD.x]
        whole += WORLD.p[index].prod() * (target * served * loss).sum()
    assert whole <= alpha + 1e-12
    assert curve.threshold(alpha, [INF], worst=1.0).tolist() == [INF]


STEPS = RiskCurve(LossCurves.steps([1.0, 2.0]))
BAD = {
    "no factors": (lambda: Price([], []), "Price"),
    "a factor of 0": (lambda: Price([0.0], [0.1]), "finite factors above 0"),
    "an infinite factor": (lambda: Price([INF], [0.1]), "finite factors above 0"),
    "a negative mass": (lambda: Price([1.0], [-0.1]), "masses of at least 0"),
    "lengths": (lambda: Price([1.0], [0.1, 0.2]), r"shape \(1,\)"),
    "no true mass": (lambda: Price.of_wrong_weights([0, 0], [1, 1]), "some weight above 0"),
    "no mass used": (lambda: Price.of_wrong_weights([1, 1], [0, 0]), "some weight above 0"),
    "two samples": (lambda: Price.of_wrong_weights([1, 1], [1]), r"shape \(2,\)"),
    "infinite weight": (lambda: Price.of_wrong_weights([1, INF], [1, 1]), "finite weights"),
    "alpha beyond": (lambda: Price.nothing().level(2.0, bound=1.0), "between 0 and the bound"),
    "a price in numbers": (lambda: PricedCurve(STEPS, 0.1), "expected Price"),
    "losses for a curve": (
        lambda: PricedCurve(STEPS.losses, Price.nothing()),
        "expected ThresholdRule",
    ),
    "two prices": (
        lambda: PricedCurve(PricedCurve(STEPS, Price.nothing()), Price.nothing()),
        "join the prices",
    ),
    "nothing kept": (lambda: DrawnCurve(STEPS, kept=0.0), "a share above 0"),
    "more than all kept": (lambda: DrawnCurve(STEPS, kept=1.1), "a share above 0, at most 1"),
    "levels and weights": (
        lambda: DrawnCurve(STEPS).threshold([0.1, 0.2], [1.0, 1.0, 1.0], worst=1.0),
        "shapes that broadcast",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_a_reason(name):
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()


def test_a_level_of_zero_is_one():
    curve = RiskCurve(LossCurves.steps([0.1, 0.2, 0.3]))
    free = PricedCurve(curve, Price.nothing())
    assert free.level(0.0) == 0.0
    assert float(free.threshold(0.0, 0.0, worst=1.0)) == 0.3
