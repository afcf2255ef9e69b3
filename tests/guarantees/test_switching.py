"""E[loss] <= alpha in a simulated network whose stations are switched off; without weights not.

The world is a fixed network: messages are drawn from a large set of it with replacement, so that
they are independent. Assertions have a false alarm rate of FALSE_ALARM, as in test_controllers.
"""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from conftest import RUNS
from shiftproof.localization import Linear, Simulator, Switching
from worlds import margin

FALSE_ALARM = 1e-6
ALPHA, CAP = 0.5, 2.0  # kilometres
LABELS, POINTS = 60, 20
X_ACT = 2  # after the predicted place


class World:
    """Each message twice: where the model places it with the stations of B on, and off."""

    def __init__(self):
        rng = np.random.default_rng(2)
        self.simulator = Simulator()
        messages = self.simulator.build(rng).messages(3000, rng)
        self.switching = Switching(messages.ranked[:20], training=0.5, use=0.9)
        linear = Linear().fit(messages)
        training = self.switching.in_training(messages.take(np.arange(1000)), rng)
        model = KNeighborsRegressor(1).fit(training.inputs(linear), training.places)
        pool = messages.take(np.arange(1000, 3000))
        states = [self.switching.applied(pool, np.full(len(pool), act)) for act in (False, True)]
        self.predicted = np.stack([model.predict(each.inputs(linear)) for each in states])
        self.places = pool.places

    def draw(self, rng, count, rate):
        off = (rng.random(count) < rate).astype(int)
        rows = rng.integers(0, len(self.places), count)
        return np.column_stack([self.predicted[off, rows], off]), self.places[rows]

    def losses(self, rule, runs, *, weighted):
        """The mean loss on fresh messages in use, one for each calibration."""
        ratio = self.switching.ratio(X_ACT) if weighted else shp.NoShift()
        sets, loss = shp.Balls(self.simulator.region), shp.Distance(cap=CAP)
        controller = shp.RiskController(lambda x: x[:, :2], sets, loss, ratio, rule)
        rng, means = np.random.default_rng(7), np.empty(runs)
        for run in range(runs):
            labelled = self.draw(rng, LABELS, self.switching.training)
            inputs, truth = self.draw(rng, POINTS, self.switching.use)
            prepared = controller.calibrate(*labelled).prepare(inputs)
            means[run] = prepared.losses(truth, ALPHA).mean()
        return means


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.mark.parametrize("rule", [shp.Constant(), shp.Pointwise()], ids=["paper", "envelope"])
def test_the_promise_is_kept_with_the_ratio_and_broken_without(world, rule):
    losses = world.losses(rule, RUNS * 800, weighted=True)
    assert losses.mean() <= ALPHA + margin(losses, CAP, FALSE_ALARM)
    broken = world.losses(rule, RUNS * 800, weighted=False)
    assert broken.mean() > ALPHA + margin(broken, CAP, FALSE_ALARM)
