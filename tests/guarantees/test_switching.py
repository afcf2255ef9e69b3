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
ALPHA, CAP = 1.0, 5.0  # kilometres
LABELS, POINTS = 60, 20

WORLD = np.random.default_rng(2)
SIMULATOR = Simulator()
MESSAGES = SIMULATOR.build(WORLD).messages(6000, WORLD)
SWITCHING = Switching(MESSAGES.ranked[:20], training=0.5, use=0.9)
LINEAR = Linear().fit(MESSAGES)


def fitted():
    training = SWITCHING.in_training(MESSAGES.take(np.arange(1000)), WORLD)
    return KNeighborsRegressor(1).fit(training.inputs(LINEAR), training.places)


MODEL = fitted()
POOL = MESSAGES.take(np.arange(1000, 6000))
COLUMN = len(POOL.stations)


def losses_of(controller, runs, *, received=False):
    """The mean loss on fresh messages in use, one for each calibration."""
    rng = np.random.default_rng(7)
    means = np.empty(runs)
    for run in range(runs):
        rows = rng.integers(0, len(POOL), LABELS + POINTS)
        labelled = SWITCHING.in_training(POOL.take(rows[:LABELS]), rng)
        use = SWITCHING.in_use(POOL.take(rows[LABELS:]), rng)
        if received:  # what no station heard is in nobody's data
            labelled, use = (each.take(each.received) for each in (labelled, use))
        calibrated = controller.calibrate(labelled.inputs(LINEAR), labelled.places)
        means[run] = calibrated.prepare(use.inputs(LINEAR)).losses(use.places, ALPHA).mean()
    return means


def controller(ratio, worst_case):
    sets, loss = shp.Balls(SIMULATOR.region), shp.Distance(cap=CAP)
    return shp.RiskController(MODEL, sets, loss, ratio, worst_case)


@pytest.mark.parametrize("rule", [shp.Constant(), shp.Pointwise()], ids=["paper", "envelope"])
@pytest.mark.parametrize("received", [False, True], ids=["all", "received"])
def test_the_promise_is_kept_with_the_ratio_and_broken_without(rule, received):
    runs = 500 * RUNS
    weighted = controller(SWITCHING.ratio(COLUMN), rule)
    losses = losses_of(weighted, runs, received=received)
    assert losses.mean() <= ALPHA + margin(losses, CAP, FALSE_ALARM)
    broken = losses_of(controller(shp.NoShift(), rule), runs, received=received)
    assert broken.mean() > ALPHA + margin(broken, CAP, FALSE_ALARM)
