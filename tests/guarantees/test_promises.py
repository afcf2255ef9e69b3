"""E[loss] <= alpha under the shift, by simulation, and what fails when it is taken away.

Each test averages the loss of one fresh test point over independent calibration sets, so its false
alarm rate is FALSE_ALARM per assertion, by an inequality that holds for every number of runs; there
are about fifty assertions. `make guarantees` runs ten times as long.
"""

import numpy as np
import pytest

import worlds
from conftest import RUNS
from shiftproof import keys
from shiftproof.risk import BoxedCurve, CoherentBox, CoherentCurve, LossCurves, RiskCurve, WeightBox
from worlds import ROAD, WORLDS, margin

FALSE_ALARM = 1e-6
POINTS = 8  # test points for each calibration set; their mean is one value in [0, bound]
SIZES = {5: 8000 * RUNS, 50: 6000 * RUNS, 500: 3000 * RUNS}
MISCOVERAGE, DISTANCE = 0.2, 0.6


def simulate(world, n, runs, rule, seed):
    """The mean loss of fresh test points by `rule(calibration, test)`, one for each calibration."""
    rng = np.random.default_rng(seed)
    means = np.empty(runs)
    for run in range(runs):
        calibration = world.draw(rng, n, target=False)
        test = world.draw(rng, POINTS, target=True)
        means[run] = rule(calibration, test).mean()
    return means


def covered(radius, test):
    return (test.distance > radius).astype(float)


def short_of(radius, test):
    return np.maximum(test.distance - radius, 0.0)


def unweighted(sample):
    return np.ones(len(sample))


def ratio(sample):
    return sample.weight


def miscoverage(weigh):
    def rule(calibration, test):
        curve = RiskCurve(LossCurves.steps(calibration.distance), weigh(calibration))
        return covered(curve.threshold(MISCOVERAGE, weigh(test), worst=1.0), test)

    return rule


def distance(weigh, worst):
    def rule(calibration, test):
        curve = RiskCurve(LossCurves.hinges(calibration.distance, bound=ROAD), weigh(calibration))
        return short_of(curve.threshold(DISTANCE, weigh(test), worst=worst(test)), test)

    return rule


def constant(test):
    del test
    return ROAD


def envelope(test):
    return LossCurves.hinges(test.farthest, bound=ROAD)


def directional(calibration, test):
    curve = RiskCurve(LossCurves.hinges(calibration.distance, bound=ROAD), calibration.weight)
    rays = np.stack([test.predicted, ROAD - test.predicted], axis=1)
    left, right = curve.directional(DISTANCE, test.weight, rays).T
    below = np.maximum(test.predicted - left - test.label, 0.0)
    above = np.maximum(test.label - test.predicted - right, 0.0)
    return below + above


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize(
    ("rule", "alpha", "bound"),
    [
        (miscoverage(ratio), MISCOVERAGE, 1.0),
        (distance(ratio, constant), DISTANCE, ROAD),
        (distance(ratio, envelope), DISTANCE, ROAD),
        (directional, DISTANCE, ROAD),
    ],
    ids=["miscoverage", "distance, paper", "distance, envelope", "distance, directional"],
)
def test_the_promise_holds(rule, alpha, bound, world, n):
    losses = simulate(world, n, SIZES[n], rule, seed=n)
    assert losses.mean() <= alpha + margin(losses, bound, FALSE_ALARM)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("rule", "alpha", "bound"),
    [
        (miscoverage(unweighted), MISCOVERAGE, 1.0),
        (distance(unweighted, constant), DISTANCE, ROAD),
        (distance(unweighted, envelope), DISTANCE, ROAD),
    ],
    ids=["miscoverage", "distance, paper", "distance, envelope"],
)
def test_without_weights_it_fails_in_the_same_world(rule, alpha, bound, n):
    if n == 5 and bound == ROAD:
        pytest.skip("five examples make the set whole or the road short, weighted or not")
    losses = simulate(WORLDS["two groups"], n, SIZES[n], rule, seed=n)
    assert losses.mean() > alpha + margin(losses, bound, FALSE_ALARM)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_randomized_rule_attains_alpha(world, n):
    def rule(calibration, test):
        curve = RiskCurve(LossCurves.steps(calibration.distance), calibration.weight)
        chance = keys.uniforms(keys.row_keys(rule.run, "prediction", POINTS))
        rule.run += 1
        inside = curve.randomized(MISCOVERAGE, test.weight, chance).contains(test.distance)
        return 1.0 - inside

    rule.run = 0
    losses = simulate(world, n, SIZES[n], rule, seed=n)
    assert abs(losses.mean() - MISCOVERAGE) <= margin(losses, 1.0, FALSE_ALARM)


def test_the_deterministic_rule_does_not():
    """A control for the test above: with five examples the distance to alpha is plain to see."""
    losses = simulate(WORLDS["two groups"], 5, SIZES[5], miscoverage(ratio), seed=5)
    assert losses.mean() < MISCOVERAGE - margin(losses, 1.0, FALSE_ALARM)


@pytest.mark.parametrize("n", SIZES)
def test_sizes_are_ordered_for_every_single_point(n):
    rng = np.random.default_rng(n)
    for world in WORLDS.values():
        for _ in range(40):
            calibration, test = world.draw(rng, n, target=False), world.draw(rng, 50, target=True)
            losses = LossCurves.hinges(calibration.distance, bound=ROAD)
            curve = RiskCurve(losses, calibration.weight)
            paper = curve.threshold(DISTANCE, test.weight, worst=ROAD)
            ball = curve.threshold(DISTANCE, test.weight, worst=envelope(test))
            rays = np.stack([test.predicted, ROAD - test.predicted], axis=1)
            star = curve.directional(DISTANCE, test.weight, rays)
            assert (ball <= paper + 1e-12).all()
            assert np.isfinite(ball).all()
            assert (star <= ball[:, None] + 1e-12).all()


class TestUncertainRates:
    """Target rates counted from a few unlabelled messages, with a Clopper-Pearson interval."""

    world = worlds.TwoGroups()
    counted, delta = 60, 0.1

    def interval(self, rng):
        stats = pytest.importorskip("scipy.stats")
        off = rng.binomial(self.counted, self.world.target_off)
        low, high = stats.binomtest(off, self.counted).proportion_ci(1 - self.delta)
        return np.array([low, high]), off / self.counted

    def weights(self, sample, rate):
        off = sample.weight > 1  # which group an example is in
        return np.where(off, rate / 0.5, (1 - rate) / 0.5)

    def rule(self, kind, rng):
        def coherent(calibration, test):
            (low, high), _ = self.interval(rng)
            box = [
                CoherentBox([self.weights(s, r) for r in (low, high)]) for s in (calibration, test)
            ]
            curve = CoherentCurve(LossCurves.steps(calibration.distance), box[0])
            return covered(curve.threshold(MISCOVERAGE, box[1], worst=1.0), test)

        def boxed(calibration, test):
            rates, _ = self.interval(rng)
            box = [
                WeightBox(*np.sort([self.weights(s, rate) for rate in rates], axis=0))
                for s in (calibration, test)
            ]
            curve = BoxedCurve(LossCurves.steps(calibration.distance), box[0])
            return covered(curve.threshold(MISCOVERAGE, box[1], worst=1.0), test)

        return {"coherent": coherent, "boxed": boxed}[kind]

    @pytest.mark.parametrize("kind", ["coherent", "boxed"])
    def test_alpha_plus_delta_is_kept(self, kind):
        runs = 3000 * RUNS
        rule = self.rule(kind, np.random.default_rng(1))
        losses = simulate(self.world, 50, runs, rule, seed=50)
        assert losses.mean() <= MISCOVERAGE + self.delta + margin(losses, 1.0, FALSE_ALARM)

    def test_coherent_is_tighter(self):
        rng = np.random.default_rng(2)
        calibration = self.world.draw(rng, 100, target=False)
        test = self.world.draw(rng, 100, target=True)
        loss = {
            k: self.rule(k, np.random.default_rng(3))(calibration, test).mean()
            for k in ("coherent", "boxed")
        }
        assert loss["boxed"] < loss["coherent"] <= MISCOVERAGE + self.delta
