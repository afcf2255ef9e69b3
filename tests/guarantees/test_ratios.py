"""What counted, clipped, wrong and learnt weights cost, against what is said that they cost.

As in test_promises.py each assertion has a false alarm rate of FALSE_ALARM, by an inequality that
holds for every number of runs; and the promise that is taken away fails in the same world.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import shiftproof as shp
import worlds
from conftest import RUNS
from shiftproof.keys import row_keys
from worlds import margin

FALSE_ALARM = 1e-6
POINTS, LABELS = 8, 100
MISCOVERAGE = 0.2


def losses_of(world, runs, rule, seed, labels=LABELS):
    """The mean loss on fresh test points, one for each of `runs` calibrations."""
    rng = np.random.default_rng(seed)
    means = np.empty(runs)
    for run in range(runs):
        calibration = world.draw(rng, labels, target=False)
        test = world.draw(rng, POINTS, target=True)
        means[run] = rule(calibration, test, run).mean()
    return means


def by(ratio_of, alpha=MISCOVERAGE):
    """Miscoverage at the thresholds of a ratio, which may be another one in every run."""

    def rule(calibration, test, run):
        ratio = ratio_of(run) if callable(ratio_of) else ratio_of
        curve = ratio.curve(shp.LossCurves.steps(calibration.distance), calibration.x)
        weights = ratio.weights(test.x, row_keys(run, "prediction", len(test)))
        lam = curve.threshold(alpha, weights, worst=1.0)
        return (test.distance > lam).astype(float)

    return rule


class TestRatesCountedFrom200Messages:
    """The flagship: target rates from a few messages without labels, and a certified set."""

    world = worlds.TwoGroups(error_off=2.5, error_on=0.1)
    messages, delta = 200, 0.1
    known = shp.GroupRatio(0, source={True: 0.5, False: 0.5}, target={True: 0.9, False: 0.1})

    def counted(self, off):
        return self.known.under(shp.Counts({True: int(off), False: self.messages - int(off)}))

    def draws(self, seed, runs):
        return np.random.default_rng(seed).binomial(self.messages, self.world.target_off, runs)

    def test_paid_from_alpha_the_promise_is_unconditional(self):
        runs = 3000 * RUNS
        off = self.draws(1, runs)
        rule = by(lambda run: self.counted(off[run]).within(self.delta, paid=True))
        losses = losses_of(self.world, runs, rule, seed=11)
        assert losses.mean() <= MISCOVERAGE + margin(losses, 1.0, FALSE_ALARM)

    def test_beside_alpha_it_holds_for_the_counts_that_were_made(self):
        """Given counts at the edge of what delta allows."""
        runs, off = 6000 * RUNS, 173  # the true rate .9 is just inside the interval of 173 / 200
        low, high = self.counted(off).within(self.delta).bounds("target")
        assert low[0] <= self.world.target_off <= high[0]
        certified = by(self.counted(off).within(self.delta))
        losses = losses_of(self.world, runs, certified, seed=12)
        assert losses.mean() <= MISCOVERAGE + margin(losses, 1.0, FALSE_ALARM)

    def test_the_point_estimate_breaks_it_with_few_messages(self):
        runs = 6000 * RUNS
        few = self.known.under(shp.Counts({True: 14, False: 6}))
        low, high = few.within(0.01).bounds("target")
        assert low[0] <= self.world.target_off <= high[0]
        point = losses_of(self.world, runs, by(few), seed=13)
        assert point.mean() > MISCOVERAGE + margin(point, 1.0, FALSE_ALARM)
        boxed = losses_of(self.world, runs, by(few.within(0.01)), seed=13)
        assert boxed.mean() <= MISCOVERAGE + margin(boxed, 1.0, FALSE_ALARM)

    def test_counted_source_rates_too(self):
        runs = 3000 * RUNS
        off = self.draws(2, runs)
        labels = np.random.default_rng(3).binomial(self.messages, 0.5, runs)

        def ratio(run):
            source = shp.Counts({True: int(labels[run]), False: self.messages - int(labels[run])})
            target = shp.Counts({True: int(off[run]), False: self.messages - int(off[run])})
            return shp.GroupRatio(0, source=source, target=target).within(self.delta, paid=True)

        losses = losses_of(self.world, runs, by(ratio), seed=14)
        assert losses.mean() <= MISCOVERAGE + margin(losses, 1.0, FALSE_ALARM)


class TestClipping:
    """One input in twenty has the ratio 5 and the large errors; the ceiling takes half of it."""

    world = worlds.TwoGroups(source_off=0.05, target_off=0.25, error_on=0.1, error_off=2.5)
    ratio = shp.KnownRatio(lambda x: np.where(x[:, 0], 0.25 / 0.05, 0.75 / 0.95))
    ceiling, alpha = 2.5, 0.25
    runs = 4000 * RUNS

    def recipe(self, **how):
        return shp.ClippedRatio(self.ratio, self.ceiling, **how)

    def target(self, inputs=4000):
        return self.world.draw(np.random.default_rng(5), inputs, target=True).x

    def losses(self, ratio, seed):
        return losses_of(self.world, self.runs, by(ratio, self.alpha), seed=seed, labels=500)

    def test_without_a_price_the_promise_is_broken(self):
        """The same ceiling, and the same weights, as in the tests below."""
        silent = shp.KnownRatio(lambda x: np.minimum(self.ratio.function(x), self.ceiling))
        losses = self.losses(silent, seed=21)
        assert losses.mean() > self.alpha + margin(losses, 1.0, FALSE_ALARM)
        x = self.target()
        assert silent.weights(x).tolist() == self.recipe().fit(x).weights(x).tolist()

    @pytest.mark.parametrize("paid", [False, True])
    def test_with_its_price_it_is_kept(self, paid):
        losses = self.losses(self.recipe(paid=paid).fit(self.target()), seed=22)
        assert losses.mean() <= self.alpha + margin(losses, 1.0, FALSE_ALARM)

    def test_where_nothing_is_left_it_is_refused(self):
        calibration = self.world.draw(np.random.default_rng(6), 50, target=False)
        ratio = self.recipe().fit(self.target(50))
        curve = ratio.curve(shp.LossCurves.steps(calibration.distance), calibration.x)
        with pytest.raises(shp.InputError, match="the price in risk of these weights"):
            curve.threshold(0.002, 1.0, worst=1.0)

    @pytest.mark.parametrize("counted", [False, True])
    def test_the_drawn_rule_has_no_price(self, counted):
        ratio = self.recipe().randomized(self.target() if counted else None)
        losses = self.losses(ratio, seed=23)
        assert losses.mean() <= self.alpha + margin(losses, 1.0, FALSE_ALARM)


class TestWrongWeights:
    """W-CRC with an estimated ratio stays within alpha plus what its error costs."""

    world = worlds.ManyInputs(columns=5, shift=1.0)
    runs = 4000 * RUNS

    def estimated(self, rows, columns):
        rng = np.random.default_rng(31)
        samples = [self.world.inputs(rng, rows, target=target) for target in (False, True)]
        return shp.ClassifierRatio(LogisticRegression(C=1.0), columns=columns).fit(*samples)

    @pytest.mark.parametrize(
        ("rows", "columns", "breaks"),
        [(40, [0, 1, 2, 3, 4], False), (2000, [1, 2], True)],
        ids=["few rows", "the column that shifts is left out"],
    )
    def test_within_the_stated_price(self, rows, columns, breaks):
        ratio = self.estimated(rows, columns)
        x = self.world.inputs(np.random.default_rng(32), 200_000, target=False)
        price = shp.Price.of_wrong_weights(self.world.ratio(x), ratio.weights(x))
        losses = losses_of(self.world, self.runs, by(ratio), seed=33)
        beyond = margin(losses, 1.0, FALSE_ALARM)
        assert losses.mean() <= float(price.risk(MISCOVERAGE, bound=1.0)) + beyond
        if breaks:  # the price is not idle: alpha itself is not kept
            assert losses.mean() > MISCOVERAGE + beyond

    def test_learnt_from_many_rows_it_is_all_but_right(self):
        ratio = self.estimated(20_000, None)
        x = self.world.inputs(np.random.default_rng(34), 200_000, target=False)
        price = shp.Price.of_wrong_weights(self.world.ratio(x), ratio.weights(x))
        assert float(price.risk(MISCOVERAGE, bound=1.0)) < 1.2 * MISCOVERAGE


def test_bounds_from_resampling_hold_as_often_as_they_say():
    """Approximate, but not idle: bounds of half the width hold far less often."""
    world, fits, delta = worlds.ManyInputs(columns=1, shift=0.7), 250 * RUNS, 0.1
    wide = narrow = 0
    for run in range(fits):
        rng = np.random.default_rng(run)
        samples = [world.inputs(rng, 100, target=target) for target in (False, True)]
        recipe = shp.BootstrapRatio(shp.GaussianRatio(), delta=delta, draws=20, seed=run)
        found, x = recipe.fit(*samples), np.concatenate(samples)
        box, truth = found.weights(x), world.ratio(x)
        logs = [np.log(end / truth) for end in (box.low, box.high)]
        wide += logs[0].max() <= logs[1].min()  # one constant puts all of w into the box
        middle, half = (logs[0] + logs[1]) / 2, (logs[1] - logs[0]) / 4
        narrow += (middle - half).max() <= (middle + half).min()
    fewest = stats.binom.ppf(FALSE_ALARM, fits, 1 - delta)
    assert wide >= fewest > 0.75 * fits
    assert narrow < fewest
