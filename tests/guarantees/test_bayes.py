"""E[loss] <= alpha under the shift with networks, drawn and averaged; without weights it fails.

Networks are trained once on the source. Each test averages the losses of fresh test points over
independent calibrations, with draws of their own; an assertion has a false alarm rate of
FALSE_ALARM, and there are about twenty. `make guarantees` runs ten times as long.
"""

from dataclasses import replace

import numpy as np
import pytest

import shiftproof as shp
from conftest import RUNS
from networks import RECIPES, of_numbers
from settings import RATIO, Road
from shiftproof._tables import Table
from shiftproof.keys import Draws
from worlds import margin

FALSE_ALARM = 1e-6
ALPHA, LABELS, POINTS = 0.2, 60, 10
ROAD = Road()
#: Predictions come first, as a column: thousands of calibrations ask the network once.
CONTROLLER = shp.RiskController(shp.Columns(2), shp.Intervals(), shp.Miscoverage(), RATIO)


def tables(predictor, runs, rng, *, target):
    """Inputs, predictions and labels of all runs; each row with a draw of its own."""
    rows = runs * (POINTS if target else LABELS)
    x, y = ROAD.draw(rng, rows, target=target)
    draws = Draws("prediction" if target else "calibration", rows, seed=1)
    predicted = predictor.values(Table.of("X", x), draws)
    return np.split(np.column_stack([x, predicted]), runs), np.split(y, runs)


def losses_of(predictor, controller, runs):
    rng = np.random.default_rng(11)
    calibrations = zip(*tables(predictor, runs, rng, target=False), strict=True)
    uses = zip(*tables(predictor, runs, rng, target=True), strict=True)
    return np.array(
        [
            controller.calibrate(*known).prepare(new).losses(truth, ALPHA).mean()
            for known, (new, truth) in zip(calibrations, uses, strict=True)
        ]
    )


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("wrap", [shp.Thompson, shp.PosteriorMean])
def test_the_promise_holds_and_without_weights_it_does_not(wrap, name):
    predictor, runs = wrap(of_numbers(name)), 700 * RUNS
    losses = losses_of(predictor, CONTROLLER, runs)
    assert losses.mean() <= ALPHA + margin(losses, 1.0, FALSE_ALARM)
    broken = losses_of(predictor, replace(CONTROLLER, ratio=shp.NoShift()), runs)
    assert broken.mean() > ALPHA + margin(broken, 1.0, FALSE_ALARM)


@pytest.mark.parametrize("name", RECIPES)
def test_controllers_ask_posteriors_themselves(name):
    """The same sets, whether the controller draws or finds the draws in a column."""
    rng = np.random.default_rng(3)
    x, y = ROAD.draw(rng, 200, target=False)
    new, _ = ROAD.draw(rng, 50, target=True)
    thompson = shp.Thompson(of_numbers(name))
    controller = replace(CONTROLLER, predictor=thompson)
    sets = controller.calibrate(x, y, seed=1).predict(new, ALPHA)
    columns = [
        np.column_stack([part, thompson.values(Table.of("X", part), Draws(role, len(part), 1))])
        for part, role in ((x, "calibration"), (new, "prediction"))
    ]
    by_column = CONTROLLER.calibrate(columns[0], y).predict(columns[1], ALPHA)
    np.testing.assert_array_equal(sets.lower, by_column.lower)
    assert sets.size().min() > 0


def test_calibration_and_use_draw_from_streams_of_their_own():
    one, other = (
        Draws(role, 200, seed=1).keys("predictor") for role in ("calibration", "prediction")
    )
    assert not np.isin(one, other).any()
