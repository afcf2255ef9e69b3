"""E[loss] <= alpha under the shift for whole controllers; without weights in the same world not.

Every pair of sets and loss, every worst case. Each test averages the losses of fresh test points
over independent calibrations; an assertion has a false alarm rate of FALSE_ALARM, by an inequality
that holds for every number of runs. There are about a hundred. `make guarantees` runs ten times as
long.
"""

from dataclasses import replace

import numpy as np
import pytest

import shiftproof as shp
from conftest import RUNS
from settings import RATIO, Classes, Plane, Road, Tags
from worlds import margin

FALSE_ALARM = 1e-6
LABELS, POINTS = 60, 10

ROAD, TAGS, CLASSES = Road(), Tags(), Classes()
BOX = shp.Box([0, 0], [8, 6])
CUBE = shp.Box([0, 0, 0], [8, 6, 4])
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
SCALED_DISCS = shp.Balls(BOX, scale=Plane.scale)
NEVER_EMPTY = shp.LabelSets(shp.LAC(), nonempty=True)
DRAWN_RAPS = shp.LabelSets(shp.RAPS(0.05, 1, randomized=True))
F1 = shp.Monotonized(shp.F1(at_least=2))
COST = shp.MonotoneLoss(missed_cost, loss_max=1.0)
FAR_OFF = shp.MonotoneLoss(far_off, np.arange(0, 10, 0.5), loss_max=1.0)
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
        ("discs, capped", TWO, (Plane(BOX), shp.Balls(BOX), shp.Distance(cap=2.0), 0.5)),
        ("discs, scaled", THREE, (Plane(BOX), SCALED_DISCS, shp.Distance(), 0.6)),
        ("discs, own loss", TWO, (Plane(BOX), shp.Balls(BOX), FAR_OFF, 0.12)),
        ("diamonds", THREE, (Plane(BOX), shp.Balls(BOX, p=1), shp.Distance(), 0.8)),
        ("squares", TWO, (Plane(BOX), shp.Balls(BOX, p=np.inf), shp.Distance(), 0.5)),
        ("balls in space", TWO, (Plane(CUBE), shp.Balls(CUBE), shp.Distance(), 0.8)),
        ("LAC, never empty", TWO, (CLASSES, NEVER_EMPTY, shp.Miscoverage(), 0.2)),
        ("LAC, recall", TWO, (CLASSES, shp.LabelSets(), shp.FalseNegativeRate(), 0.2)),
        ("RAPS, drawn", TWO, (CLASSES, DRAWN_RAPS, shp.Miscoverage(), 0.2)),
        ("LAC", TWO, (CLASSES, shp.LabelSets(shp.LAC()), shp.Miscoverage(), 0.2)),
        ("APS", TWO, (CLASSES, shp.LabelSets(shp.APS()), shp.Miscoverage(), 0.15)),
        ("APS, drawn", TWO, (CLASSES, shp.LabelSets(shp.APS(True)), shp.Miscoverage(), 0.2)),
        ("RAPS", TWO, (CLASSES, shp.LabelSets(shp.RAPS(0.05, 1)), shp.Miscoverage(), 0.15)),
        ("masks, recall", TWO, (TAGS, shp.Masks(), shp.FalseNegativeRate(), 0.15)),
        ("masks, miscoverage", TWO, (TAGS, shp.Masks(), shp.Miscoverage(), 0.3)),
        ("masks, own loss", TWO, (TAGS, shp.Masks(), COST, 0.12)),
        ("masks, F1", TWO, (Tags(lowered=1.5), shp.Masks(), F1, 0.6)),
    ]
    for rule, worst_case in rules.items()
}


def losses_of(world, controller, alpha, runs, labels=LABELS):
    """The mean loss on fresh test points, one for each calibration."""
    rng = np.random.default_rng(7)
    means = np.empty(runs)
    for run in range(runs):
        calibrated = controller.calibrate(*world.draw(rng, labels, target=False), seed=run)
        inputs, truth = world.draw(rng, POINTS, target=True)
        means[run] = calibrated.prepare(inputs).losses(truth, alpha).mean()
    return means


def bound_of(controller, world):
    rng = np.random.default_rng(0)
    calibrated = controller.calibrate(*world.draw(rng, 5, target=False), seed=0)
    return calibrated.losses.bound


@pytest.mark.parametrize("name", CASES)
def test_the_promise_holds_and_without_weights_it_does_not(name):
    world, alpha, controller = CASES[name]
    bound = bound_of(controller, world)
    runs = (1200 if bound <= 2 else 2000) * RUNS
    losses = losses_of(world, controller, alpha, runs)
    assert losses.mean() <= alpha + margin(losses, bound, FALSE_ALARM)
    broken = losses_of(world, replace(controller, ratio=shp.NoShift()), alpha, runs)
    assert broken.mean() > alpha + margin(broken, bound, FALSE_ALARM)


class TestWithinGroups:
    """No rates are known, and few labels in each group: the test point's own place counts."""

    alpha, labels, runs = 0.25, 16, 2000 * RUNS
    within = shp.RiskController(
        ROAD.predict, ENDS, shp.Miscoverage(), shp.WithinGroups(lambda x: x[:, 0] > 0)
    )

    def risk(self, controller):
        return losses_of(ROAD, controller, self.alpha, self.runs, self.labels)

    @pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
    def test_every_mixture_is_kept_at_once(self, rate, monkeypatch):
        monkeypatch.setattr("settings.RATE", rate)
        losses = self.risk(self.within)
        assert losses.mean() <= self.alpha + margin(losses, 1.0, FALSE_ALARM)

    def test_all_groups_together_fail(self):
        losses = self.risk(replace(self.within, ratio=shp.NoShift()))
        assert losses.mean() > self.alpha + margin(losses, 1.0, FALSE_ALARM)

    def test_without_the_test_point_among_n_plus_one_they_fail(self, monkeypatch):
        whole = shp.WithinGroups.weights
        monkeypatch.setattr(
            shp.WithinGroups,
            "weights",
            lambda self, x, keys=None: shp.Strata(whole(self, x, keys).codes, np.zeros(len(x))),
        )
        losses = self.risk(self.within)
        assert losses.mean() > self.alpha + margin(losses, 1.0, FALSE_ALARM)
