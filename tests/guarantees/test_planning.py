"""Plans are near what happens, and certificates hold as often as they say.

False alarms: at most 1e-6 for each assertion on a rate, by its binomial law; what is certified is
held against a mean that is known to a hundredth.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import shiftproof as shp
from conftest import RUNS

FALSE_ALARM = 1e-6
ROAD = 40.0


def rows(rng, n, rate, heavy):
    """A place on a road, heard with noise: bounded for light tails, of Student's law for heavy."""
    off, place = rng.random(n) < rate, rng.uniform(10, 30, n)
    noise = rng.standard_t(2.2, n) if heavy else rng.uniform(-1.7, 1.7, n)
    heard = np.clip(place + np.where(off, 2.0, 0.7) * noise, 0, ROAD)
    return np.column_stack([off, heard]), place


def groups(rate):
    return shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 1 - rate, 1: rate})


def controller(worst_case, rate=0.9, cap=None):
    return shp.RiskController(
        lambda x: x[:, 1], shp.Intervals(0, ROAD), shp.Distance(cap), groups(rate), worst_case
    )


RULES = {"paper": shp.Constant(), "envelope": shp.Pointwise(), "directional": shp.Directional()}


def realised(worst_case, n, alpha, *, heavy=False, rate=0.9, cap=None, times=150):
    """The mean relative size over calibrations, and the share of whole label spaces."""
    rng, found = np.random.default_rng(11), []
    for _ in range(times):
        calibrated = controller(worst_case, rate, cap).calibrate(*rows(rng, n, 0.5, heavy))
        sets = calibrated.predict(rows(rng, 100, rate, heavy)[0], alpha)
        found.append((sets.relative_size().mean(), sets.whole.mean()))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("rule", RULES)
def test_plans_from_small_pilots_are_within_a_fifth_of_what_happens(rule):
    """Off the cliff, light tails: at least 70 % of pilots of 200."""
    truth = realised(RULES[rule], 300, 0.5)[0]
    near = covered = 0
    runs = 60 * RUNS
    for run in range(runs):
        pilot = rows(np.random.default_rng([run, 1]), 200, 0.5, heavy=False)
        plan = shp.plan(controller(RULES[rule]), *pilot, alpha=0.5, n_cal=[300], rules=[rule])
        (outlook,) = plan.outlooks
        near += abs(outlook.expected / truth - 1) <= 0.2
        covered += outlook.low <= truth <= outlook.high
    assert near >= 0.7 * runs
    assert covered >= stats.binom.ppf(FALSE_ALARM, runs, 0.9)  # its intervals are at .9


@pytest.mark.parametrize("n", [100, 140, 160])
def test_the_share_of_whole_label_spaces_is_right_from_small_pilots(n):
    """It follows from the switching rate: groups are drawn at it, whatever the pilot has."""
    whole = realised(RULES["paper"], n, 0.5, times=400)[1]
    found = [
        shp.plan(
            controller(RULES["paper"]),
            *rows(np.random.default_rng([run, 2]), 60, 0.5, heavy=False),
            alpha=0.5,
            n_cal=[n],
            rules=["paper"],
            seed=run,
        )
        .outlooks[0]
        .whole
        for run in range(20)
    ]
    assert np.mean(found) == pytest.approx(whole, abs=0.05)


def test_heavy_tails_are_not_foreseen_by_small_pilots():
    """The control: a pilot that is too small for its law misses, and its interval is no promise."""
    truth = realised(RULES["envelope"], 300, 0.3, heavy=True)[0]
    near = 0
    for run in range(40):
        pilot = rows(np.random.default_rng([run, 3]), 30, 0.5, heavy=True)
        plan = shp.plan(
            controller(RULES["envelope"]), *pilot, alpha=0.3, n_cal=[300], rules=["envelope"]
        )
        near += abs(plan.outlooks[0].expected / truth - 1) <= 0.2
    assert near < 0.7 * 40


@pytest.mark.parametrize("heavy", [False, True], ids=["light", "heavy"])
@pytest.mark.parametrize("rule", ["paper", "envelope"])
def test_certificates_hold_and_say_something(rule, heavy):
    alpha, n, delta, cap = 1.0, 500, 0.1, 4.0
    worst_case = RULES[rule]
    truth = realised(worst_case, n, alpha, heavy=heavy, cap=cap)[0]
    runs, failed, said = 40 * RUNS, 0, []
    for run in range(runs):
        rng = np.random.default_rng([run, 4])
        sample, inputs = rows(rng, 800, 0.5, heavy), rows(rng, 400, 0.9, heavy)[0]
        paper = shp.certify(
            controller(worst_case, cap=cap), *sample, inputs, alpha=alpha, n_cal=n, delta=delta
        )
        failed += paper.size < 0.99 * truth
        said.append(paper.size)
    assert failed <= stats.binom.isf(FALSE_ALARM, runs, delta)
    assert np.median(said) < 1
    assert np.median(said) < 6 * truth
