"""E[loss] <= alpha under the shift for whole controllers; without weights in the same world not.

Every pair of sets and loss, every worst case. Each test averages the losses of fresh test points
over independent calibrations; an assertion has a false alarm rate of FALSE_ALARM, by an inequality
that holds for every number of runs. There are about a hundred. `make guarantees` runs ten times as
long.
"""

import numpy as np
import pytest

import shiftproof as shp
from conftest import RUNS
from settings import RATIO, Classes, Plane, Road, Tags
from worlds import margin

FALSE_ALARM = 1e-6
LABELS, POINTS, CALIBRATIONS = 60, 10, 2000 * RUNS

ROAD, TAGS, CLASSES = Road(), Tags(), Classes()
BOX = shp.Box([0, 0], [8, 6])
HULL = shp.Polygon([[0, 0], [7, 1], [8, 5], [3, 7], [-1, 4]])
CONSTANT, POINTWISE, DIRECTIONAL = shp.Constant(), shp.Pointwise(), shp.Directional(24)


def missed_cost(sets, y):
    """A loss of one's own: labels that are missed cost what they weigh."""
    cost = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    return (np.asarray(y, dtype=bool) & ~sets.members) @ cost


def far_off(sets, y):
    """Another: a fifth of the distance, at most 1."""
    return np.minimum(sets.distance(y) / 5, 1.0)


def case(world, sets, loss, alpha, worst_case, predictor=None):
    model = world.predict if predictor is None else predictor
    return world, alpha, shp.RiskController(model, sets, loss, RATIO, worst_case)


def every(*worst_cases):
    return dict(zip(("constant", "pointwise", "directional"), worst_cases, strict=False))


TWO, THREE = every(CONSTANT, POINTWISE), every(CONSTANT, POINTWISE, DIRECTIONAL)
ENDS = shp.Intervals(0, 10)
SCALED = shp.Intervals(0, 10, score=shp.ScaledResidual(Road.scale))
PAIR = shp.Intervals(0, 10, score=shp.Quantiles())
WIDE_PAIR = shp.Intervals(0, 10, score=shp.Quantiles(shrink=False))
COST = shp.MonotoneLoss(missed_cost, loss_max=1.0)
FAR_OFF = shp.MonotoneLoss(far_off, np.arange(0, 10, 0.25), loss_max=1.0)
FOREST = shp.Snapshots([lambda x, by=by: x[:, 1] + by for by in (-0.3, 0.0, 0.3)])

CASES = {
    f"{name}, {rule}": case(*parts, worst_case, *model)
    for name, rules, parts, *model in [
        ("residual, miscoverage", TWO, (ROAD, shp.Intervals(), shp.Miscoverage(), 0.2)),
        ("residual, distance", THREE, (ROAD, ENDS, shp.Distance(), 0.6)),
        ("residual, capped", THREE, (ROAD, ENDS, shp.Distance(cap=2.0), 0.4)),
        ("residual, own loss", TWO, (ROAD, ENDS, FAR_OFF, 0.12)),
        ("scaled, miscoverage", TWO, (ROAD, SCALED, shp.Miscoverage(), 0.2)),
        ("scaled, distance", THREE, (ROAD, SCALED, shp.Distance(), 0.6)),
        ("quantiles, miscoverage", TWO, (ROAD, PAIR, shp.Miscoverage(), 0.2), ROAD.pair),
        ("quantiles, distance", TWO, (ROAD, PAIR, shp.Distance(), 0.6), ROAD.pair),
        ("quantiles, not narrower", THREE, (ROAD, WIDE_PAIR, shp.Distance(), 0.6), ROAD.pair),
        ("Thompson, distance", THREE, (ROAD, ENDS, shp.Distance(), 0.6), shp.Thompson(FOREST)),
        ("mean, distance", TWO, (ROAD, ENDS, shp.Distance(), 0.6), shp.PosteriorMean(FOREST)),
        ("discs, miscoverage", TWO, (Plane(BOX), shp.Balls(BOX), shp.Miscoverage(), 0.2)),
        ("discs, distance", THREE, (Plane(BOX), shp.Balls(BOX), shp.Distance(), 0.6)),
        ("discs in a hull", THREE, (Plane(HULL), shp.Balls(HULL), shp.Distance(), 0.6)),
        ("diamonds", THREE, (Plane(BOX), shp.Balls(BOX, p=1), shp.Distance(), 0.8)),
        ("LAC", TWO, (CLASSES, shp.LabelSets(shp.LAC()), shp.Miscoverage(), 0.2)),
        ("APS", TWO, (CLASSES, shp.LabelSets(shp.APS()), shp.Miscoverage(), 0.15)),
        ("APS, drawn", TWO, (CLASSES, shp.LabelSets(shp.APS(True)), shp.Miscoverage(), 0.2)),
        ("RAPS", TWO, (CLASSES, shp.LabelSets(shp.RAPS(0.05, 1)), shp.Miscoverage(), 0.15)),
        ("masks, recall", TWO, (TAGS, shp.Masks(), shp.FalseNegativeRate(), 0.15)),
        ("masks, miscoverage", TWO, (TAGS, shp.Masks(), shp.Miscoverage(), 0.3)),
        ("masks, own loss", TWO, (TAGS, shp.Masks(), COST, 0.12)),
    ]
    for rule, worst_case in rules.items()
}


def losses_of(world, controller, alpha):
    """The mean loss on fresh test points, one for each calibration."""
    rng = np.random.default_rng(7)
    means = np.empty(CALIBRATIONS)
    for run in range(CALIBRATIONS):
        calibrated = controller.calibrate(*world.draw(rng, LABELS, target=False), seed=run)
        inputs, labels = world.draw(rng, POINTS, target=True)
        means[run] = calibrated.prepare(inputs).losses(labels, alpha).mean()
    return means


def bound_of(controller, world):
    rng = np.random.default_rng(0)
    calibrated = controller.calibrate(*world.draw(rng, 5, target=False), seed=0)
    return calibrated.losses.bound


@pytest.mark.parametrize("name", CASES)
def test_the_promise_holds_and_without_weights_it_does_not(name):
    world, alpha, controller = CASES[name]
    bound = bound_of(controller, world)
    losses = losses_of(world, controller, alpha)
    assert losses.mean() <= alpha + margin(losses, bound, FALSE_ALARM)
    unweighted = shp.RiskController(
        controller.predictor,
        controller.sets,
        controller.loss,
        shp.NoShift(),
        controller.worst_case,
    )
    broken = losses_of(world, unweighted, alpha)
    assert broken.mean() > alpha + margin(broken, bound, FALSE_ALARM)


@pytest.mark.parametrize("worst_case", TWO.values(), ids=TWO)
def test_a_loss_that_rises_is_kept_by_its_envelope(worst_case):
    """1 - F1 itself stays below alpha with room, as its envelope is what is controlled."""
    world, alpha = TAGS, 0.55
    loss = shp.Monotonized(shp.F1(at_least=2))
    controller = shp.RiskController(world.predict, shp.Masks(), loss, RATIO, worst_case)
    losses = losses_of(world, controller, alpha)
    assert losses.mean() <= alpha + margin(losses, 1.0, FALSE_ALARM)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_within_groups_every_mixture_is_kept_at_once(rate, monkeypatch):
    controller = shp.RiskController(
        ROAD.predict, ENDS, shp.Distance(), shp.WithinGroups(lambda x: x[:, 0] > 0), DIRECTIONAL
    )
    monkeypatch.setattr("settings.RATE", rate)
    losses = losses_of(ROAD, controller, 0.6)
    assert losses.mean() <= 0.6 + margin(losses, 10.0, FALSE_ALARM)
