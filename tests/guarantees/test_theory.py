"""Bands hold for all thresholds at once, and bounds for the size, as often as they say.

Each assertion fails by chance with a probability of at most 1e-6: the number of runs in which a
band fails is binomial with a rate of at most delta. Beside it a control: what is not a band fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import shiftproof as shp
from conftest import RUNS
from shiftproof import theory
from shiftproof.theory import Band, SizeCurve

FALSE_ALARM, DELTA = 1e-6, 0.1
BANDS = 120 * RUNS
GRID = np.unique(np.concatenate([np.linspace(0, 4, 30), np.linspace(4, 20, 30)]))
WHOLE, CAP = 20.0, 1.5


@dataclass(frozen=True)
class Groups:
    """Scores are exponential, of a scale that depends on the group; the rates of groups move."""

    rate: float = 0.9
    scales: tuple[float, float] = (0.3, 1.0)

    @property
    def ratio_max(self):
        return self.rate / 0.5

    def draw(self, rng, n, *, target):
        off = rng.random(n) < (self.rate if target else 0.5)
        scores = np.minimum(rng.exponential(np.where(off, *self.scales[::-1])), WHOLE)
        return scores, np.where(off, self.rate, 1 - self.rate) / 0.5, off

    def beyond(self, r):
        """P'(R > r)."""
        slow, quick = np.exp(-r / self.scales[1]), np.exp(-r / self.scales[0])
        return self.rate * slow + (1 - self.rate) * quick


@dataclass(frozen=True)
class Gaussians:
    """Inputs N(0, 1), in use N(0, .7^2); scores grow with the input."""

    spread: float = 0.7

    @property
    def ratio_max(self):
        return 1 / self.spread

    def draw(self, rng, n, *, target):
        x = rng.normal(0, self.spread if target else 1.0, n)
        w = stats.norm.pdf(x, 0, self.spread) / stats.norm.pdf(x)
        return np.minimum(rng.exponential(0.4 + 0.4 * np.abs(x)), WHOLE), w, x > 0

    def beyond(self, r):
        x = np.linspace(-6, 6, 4001)
        density = stats.norm.pdf(x, 0, self.spread)
        tails = np.exp(-np.atleast_1d(r)[:, None] / (0.4 + 0.4 * np.abs(x)))
        return np.trapezoid(tails * density, x, axis=1)


WORLDS = {"groups": Groups(), "Gaussians": Gaussians()}


def steps(scores):
    return shp.LossCurves.steps(scores)


def capped(scores):
    return shp.LossCurves.hinges(scores, bound=CAP, cap=CAP)


def distances(scores):
    return shp.LossCurves.hinges(scores, bound=WHOLE)


def truth(world, losses):
    """E_P' L(r) on the grid, from the law of scores."""
    if losses is steps:
        return np.where(GRID < WHOLE, world.beyond(GRID), 0.0)
    reach = CAP if losses is capped else WHOLE
    fine = np.linspace(0, WHOLE, 8001)
    area = np.concatenate([[0], np.cumsum((tails := world.beyond(fine))[1:] + tails[:-1])]) * (
        WHOLE / 16000
    )
    return np.interp(np.minimum(GRID + reach, WHOLE), fine, area) - np.interp(GRID, fine, area)


def weighted(make):
    return lambda world, losses, w, _: make(
        losses, GRID, DELTA, weights=w, ratio_max=world.ratio_max
    )


def by_group(world, losses, w, off):  # noqa: ARG001
    return theory.group_band(losses, off, {True: world.rate, False: 1 - world.rate}, GRID, DELTA)


def estimate(world, losses, w, off):  # noqa: ARG001
    """No band: the weighted risk itself."""
    risk = theory.training_risk(losses, GRID, w)
    return Band(GRID, risk, risk, losses.bound, DELTA, "none")


SOURCE = {
    "chain": weighted(theory.chain_band),
    "Chernoff": weighted(theory.kl_band),
    "Bernstein": weighted(theory.bernstein_band),
    "betting": weighted(theory.betting_band),
}
LOSSES = {"steps": steps, "capped": capped, "distances": distances}


def failures(world, losses, make, m, *, target=False):
    """In how many runs the band lies below the risk at some threshold."""
    true, count = truth(world, losses), 0
    for run in range(BANDS):
        rng = np.random.default_rng([run, 17])
        scores, w, off = world.draw(rng, m, target=target)
        band = make(world, losses(scores), None if target else w, off)
        count += bool((band.values < true * (1 - 1e-6) - 1e-9).any())
    return count


def assert_holds(count, runs=BANDS):
    assert count <= stats.binom.isf(FALSE_ALARM, runs, DELTA)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("make", SOURCE)
def test_bands_from_weighted_examples_hold(world, losses, make):
    assert_holds(failures(WORLDS[world], LOSSES[losses], SOURCE[make], 120))


@pytest.mark.parametrize("losses", LOSSES)
def test_bands_of_known_groups_hold(losses):
    assert_holds(failures(Groups(), LOSSES[losses], by_group, 120))


def unweighted(world, losses, w, off):  # noqa: ARG001 - of one form
    return theory.dkw_band(losses, GRID, DELTA)


@pytest.mark.parametrize("losses", LOSSES)
def test_the_band_of_dvoretzky_holds_in_the_target(losses):
    assert_holds(failures(Groups(), LOSSES[losses], unweighted, 120, target=True))


@pytest.mark.parametrize("losses", ["steps", "capped"])
def test_without_weights_the_band_is_one_of_another_risk(losses):
    assert failures(Groups(), LOSSES[losses], unweighted, 400) > BANDS / 2


@pytest.mark.parametrize("losses", LOSSES)
def test_an_estimate_is_no_band(losses):
    assert failures(Groups(), LOSSES[losses], estimate, 120) > BANDS / 2


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("losses", ["steps", "capped"])
def test_the_bound_holds_for_the_expected_size(world, losses):
    """From 800 hold-out examples and 200 target inputs, against the mean size of the true rule.

    Sets are intervals of radius lambda on a road of length WHOLE, around predictions at its middle.
    The envelope of these sets has its own bound, from the same band.
    """
    world, losses = WORLDS[world], LOSSES[losses]
    alpha, n, runs = (0.15, 300, 40 * RUNS)
    shares = np.minimum(2 * GRID / WHOLE, 1.0)
    sizes, envelopes = [], []
    for run in range(200):
        rng = np.random.default_rng([run, 3])
        scores, w, _ = world.draw(rng, n, target=False)
        curve, new = shp.RiskCurve(losses(scores), w), world.draw(rng, 40, target=True)[1]
        far = losses(np.full(40, WHOLE / 2))
        for found, worst in ((sizes, curve.losses.bound), (envelopes, far)):
            radius = curve.threshold(alpha, new, worst=worst)
            found.append(np.minimum(2 * np.minimum(radius, WHOLE / 2) / WHOLE, 1.0).mean())
    expected, expected_envelope = np.mean(sizes), np.mean(envelopes)
    failed = failed_envelope = 0
    totals = []
    for run in range(runs):
        rng = np.random.default_rng([run, 4])
        scores, w, _ = world.draw(rng, 800, target=False)
        band = theory.betting_band(
            losses(scores), GRID, DELTA / 2, weights=w, ratio_max=world.ratio_max
        )
        inputs = world.draw(rng, 200, target=True)[1]
        curve = SizeCurve(GRID, np.tile(shares, (200, 1)), weights=inputs)
        asked = {"alpha": alpha, "n_cal": n, "ratio_max": world.ratio_max}
        bound = theory.repaired_bound(band, curve, delta_inputs=DELTA / 2, **asked)
        far = np.tile(losses(np.full(len(GRID), WHOLE / 2)).at(GRID), (200, 1))
        envelope = theory.repaired_bound(band, curve, worst=far, delta_inputs=DELTA / 2, **asked)
        failed += bound.total < expected - 4 * np.std(sizes) / 14
        failed_envelope += envelope.total < expected_envelope - 4 * np.std(envelopes) / 14
        totals.append(bound.total)
    assert_holds(failed, runs)
    assert_holds(failed_envelope, runs)
    assert np.mean(totals) < 1  # it says something


def test_betting_certifies_what_the_others_cannot():
    """Miscoverage at .1 from 2,000 examples, and a capped distance from 500: within a factor 3."""
    world = Groups()
    for losses, alpha, m in ((steps, 0.1, 2000), (capped, 0.3, 500)):
        expected, bounds = [], []
        for run in range(20 * RUNS):
            rng = np.random.default_rng([run, 5])
            scores, w, _ = world.draw(rng, m, target=False)
            fine = np.linspace(0, 10, 81)
            shares = np.tile(np.minimum(2 * fine / WHOLE, 1.0), (1, 1))
            band = theory.betting_band(
                losses(scores), fine, 0.05, weights=w, ratio_max=world.ratio_max
            )
            bounds.append(
                theory.repaired_bound(
                    band,
                    SizeCurve(fine, shares),
                    alpha=alpha,
                    n_cal=500,
                    ratio_max=world.ratio_max,
                ).total
            )
            held, weights, _ = world.draw(rng, 500, target=False)
            new = world.draw(rng, 40, target=True)[1]
            curve = shp.RiskCurve(losses(held), weights)
            radius = curve.threshold(alpha, new, worst=curve.losses.bound)
            expected.append(np.minimum(2 * radius / WHOLE, 1.0).mean())
        assert np.median(bounds) < 3 * np.mean(expected)
        assert np.median(bounds) < 1
