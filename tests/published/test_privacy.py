"""Noise of private training against published figures, and the mechanism against its definition.

The table was made with the accountant of Google's dp-accounting 0.6: the least sigma for q = .1,
200 steps and delta = 1e-5, by Renyi divergences and by privacy loss distributions. The latter are
tight: less noise than theirs would not be private.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from networks import NET
from shiftproof.bayes import (
    Gaussian,
    Network,
    PrivateNetwork,
    Scaling,
    StudentT,
    epsilon_of,
    noise_for,
)
from shiftproof.bayes.network import start_scales, starts
from shiftproof.bayes.private import _rounded_up, noisy_sum
from shiftproof.bayes.streams import of_seeds, streams
from shiftproof.bayes.training import Replicates

PUBLISHED = {1.0: (5.889, 5.508), 3.0: (2.335, 2.188), 8.0: (1.216, 1.131)}


@pytest.mark.parametrize("epsilon", PUBLISHED)
def test_noise_is_that_of_renyi_accounting_and_never_less_than_is_needed(epsilon):
    renyi, needed = PUBLISHED[epsilon]
    found = noise_for(epsilon, 1e-5, rate=0.1, steps=200)
    assert found == pytest.approx(renyi, abs=1e-3)
    assert found > needed


def test_without_sampling_it_is_the_gaussian_mechanism():
    """Balle and Wang (2018): the exact delta of one release with noise sigma and sensitivity 1."""
    for sigma, delta in ((1.0, 1e-5), (4.0, 1e-5), (20.0, 1e-8)):
        epsilon = epsilon_of(sigma, rate=1.0, steps=1, delta=delta)
        exact = stats.norm.cdf(0.5 / sigma - epsilon * sigma) - np.exp(epsilon) * stats.norm.cdf(
            -0.5 / sigma - epsilon * sigma
        )
        assert exact <= delta  # what is claimed holds
        assert exact > delta / 100  # and is not far from tight


@pytest.mark.parametrize("steps", [1, 10, 1000])
def test_more_of_anything_spends_more(steps):
    base = epsilon_of(2.0, 0.1, steps, 1e-5)
    assert epsilon_of(2.0, 0.1, steps + 1, 1e-5) > base
    assert epsilon_of(2.0, 0.11, steps, 1e-5) > base
    assert epsilon_of(1.9, 0.1, steps, 1e-5) > base
    assert epsilon_of(2.0, 0.1, steps, 1e-6) > base


def gradients(rng, rows):
    return (
        (jnp.asarray(rng.normal(size=(rows, 3, 2)) * 5, jnp.float32),),
        jnp.asarray(rng.normal(size=(rows, 2)), jnp.float32),
    )


def flat(tree):
    return np.concatenate([np.ravel(part) for part in jax.tree.leaves(tree)])


class TestMechanism:
    def test_one_row_moves_the_sum_by_the_clip_at_most(self):
        rng = np.random.default_rng(0)
        each = gradients(rng, 50)
        clip, key = jnp.float32(0.7), jax.random.key(0)
        moved = []
        for row in range(50):
            sums = [
                flat(noisy_sum(each, jnp.asarray(present), clip, jnp.float32(0), key))
                for present in (np.ones(50, bool), np.arange(50) != row)
            ]
            moved.append(np.linalg.norm(sums[0] - sums[1]))
        assert max(moved) <= 0.7 * (1 + 1e-4)
        assert max(moved) > 0.69

    def test_small_gradients_are_not_clipped(self):
        each = jax.tree.map(lambda part: part * 1e-3, gradients(np.random.default_rng(0), 5))
        found = noisy_sum(
            each, jnp.ones(5, bool), jnp.float32(1), jnp.float32(0), jax.random.key(0)
        )
        np.testing.assert_allclose(flat(found), flat(jax.tree.map(lambda p: p.sum(0), each)), 1e-5)

    @pytest.mark.parametrize("strange", [np.inf, -np.inf, np.nan, 1e30])
    @pytest.mark.parametrize("present", [True, False])
    def test_a_gradient_without_a_norm_adds_nothing(self, strange, present):
        """Whether it is drawn or stands in a place of padding; 1e30 squared is infinite here."""
        each = gradients(np.random.default_rng(0), 5)
        spoilt = ((each[0][0].at[3, 0, 0].set(strange),), each[1])
        key, rest = jax.random.key(0), np.arange(5) != 3
        sums = [
            flat(noisy_sum(values, jnp.asarray(rows), jnp.float32(1), jnp.float32(2), key))
            for values, rows in ((spoilt, rest | present), (each, rest))
        ]
        np.testing.assert_array_equal(*sums)

    def test_noise_has_the_deviation_that_is_paid_for(self):
        """sigma clip, on every coordinate; false alarm rate 1e-6 by the chi-square law."""
        none = jax.tree.map(jnp.zeros_like, gradients(np.random.default_rng(0), 2))
        clip, sigma = jnp.float32(0.5), jnp.float32(3.0)
        draw = jax.jit(lambda key: noisy_sum(none, jnp.ones(2, bool), clip, sigma, key))
        found = np.array([flat(draw(jax.random.key(seed))) for seed in range(2000)]) / 1.5
        total, count = (found**2).sum(), found.size
        assert stats.chi2.ppf(5e-7, count) < total < stats.chi2.isf(5e-7, count)
        assert np.abs(np.corrcoef(found.T) - np.eye(found.shape[1])).max() < 0.15


def descent(recipe, x, y, sigma, *, noise=1.0, clip=1.0, batches=lambda step: step):
    """Private training of a linear model with Gaussian noise of unknown scale, by its definition.

    Weights, bias and log of the scale after every step. Only random numbers are the library's:
    batches, the start, and N(0, 1) by the key of each step. `noise`, `clip` and `batches` make it
    another algorithm.
    """
    own = (recipe.inputs, recipe.labels)
    places = recipe._batches(Replicates.of(x, y, [SEED], None, recipe.likelihood, own))[:, 0]
    ((weights, bias),) = starts(recipe.network, of_seeds([SEED], "start"), x.shape[1], 1)
    values = [np.array(v[0], float) for v in (weights, bias, start_scales(1, 1))]
    variances = [recipe.network.weight_variance / x.shape[1], recipe.network.bias_variance, 1.0]
    first, second = ([np.zeros_like(v) for v in values] for _ in range(2))
    clip, sigma = recipe.clip * clip, sigma * noise
    after = []
    for step in range(recipe.steps):
        sums = [np.zeros_like(v) for v in values]
        for row in places[batches(step)]:
            if row >= 0:
                w, b, log_scale = values
                z = (y[row] - x[row] @ w - b) / np.exp(log_scale)
                pull = -z / np.exp(log_scale)
                gradient = [x[row][:, None] * pull, pull, 1 - z**2]
                norm = np.sqrt(sum((part**2).sum() for part in gradient))
                factor = min(1.0, clip / norm)
                sums = [s + factor * part for s, part in zip(sums, gradient, strict=True)]
        key = jax.random.fold_in(streams(of_seeds([SEED], "noise"))[0], step)
        for place, each in enumerate(jax.random.split(key, 3)):
            normal = np.asarray(jax.random.normal(each, values[place].shape, jnp.float32))
            slope = (sums[place] + sigma * clip * normal) / recipe.batch
            slope += values[place] / variances[place] / len(x)
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.999 * second[place] + 0.001 * slope**2
            mean = first[place] / (1 - 0.9 ** (step + 1))
            spread = np.sqrt(second[place] / (1 - 0.999 ** (step + 1)))
            rate = recipe.learning_rate * (1 + np.cos(np.pi * step / recipe.steps)) / 2
            values[place] = values[place] - rate * mean / (spread + 1e-8)
        after.append(np.concatenate([np.ravel(v) for v in values]))
    return np.array(after)


SEED = 11
#: What would not be private, or not training.
OTHERS = {
    "no noise": {"noise": 0.0},
    "noise of the same size on sums that are not clipped": {"noise": 1e-3, "clip": 1e3},
    "the first batches again in every block": {"batches": [0, 1, 0, 0, 0].__getitem__},
}


@pytest.fixture(scope="module")
def fit():
    """A private fit of a linear model, and its snapshots as rows."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    y = x @ [1.0, -2.0] + 0.5 + 0.1 * rng.standard_t(3, size=60)
    recipe = PrivateNetwork(
        Network((), weight_variance=0.5, bias_variance=0.3), likelihood=Gaussian(),
        epsilon=3.0, clip=0.8, batch=12, steps=5, snapshots=3, learning_rate=0.1,
        inputs=Scaling(0.0, 1.0), labels=Scaling(0.0, 1.0),
    )  # fmt: skip
    posterior = recipe.fit(x, y, seed=SEED)
    ((weights, bias),) = posterior.layers
    snapshots = np.column_stack([weights[..., 0], bias, posterior.log_scale])
    return recipe, x, y, posterior.spent.noise_multiplier, snapshots


class TestTraining:
    """Whole fits against the definition, written down with a loop over rows."""

    def test_snapshots_are_those_of_the_definition(self, fit):
        recipe, x, y, sigma, snapshots = fit
        expected = descent(recipe, x, y, sigma)[-3:]  # after 3, 4 and 5 steps
        np.testing.assert_allclose(snapshots, expected, atol=1e-5)

    @pytest.mark.parametrize("other", OTHERS)
    def test_another_algorithm_would_be_noticed(self, fit, other):
        recipe, x, y, sigma, snapshots = fit
        strange = descent(recipe, x, y, sigma, **OTHERS[other])[-3:]
        assert np.abs(snapshots - strange).max(axis=1).min() > 1e-3

    def test_noise_in_32_bits_is_not_less(self):
        values = np.random.default_rng(0).uniform(0.3, 50, 1000)
        rounded = np.array([_rounded_up(value) for value in values], float)
        assert (rounded >= values).all()
        assert (rounded <= values * (1 + 2.0**-23)).all()
        assert _rounded_up(1.5) == 1.5


@pytest.fixture(scope="module")
def places():
    """The rows of each step of one private fit."""
    case = TestPoissonSampling
    x = np.random.default_rng(0).normal(size=(case.rows, 2))
    own = (Scaling(0.0, 1.0), Scaling(0.0, 1.0))
    replicates = Replicates.of(x, x[:, 0], [0], None, StudentT(), own)
    return PrivateNetwork(NET, batch=case.batch, steps=case.steps)._batches(replicates)[:, 0]


class TestPoissonSampling:
    rows, batch, steps = 300, 30, 4000

    def test_sizes_are_binomial_and_no_batch_is_cut(self, places):
        """Chi-square over cells of at least 20; false alarm rate 1e-6."""
        sizes = (places >= 0).sum(axis=1)
        assert sizes.max() <= places.shape[1]
        law = stats.binom(self.rows, self.batch / self.rows)
        edges = np.arange(19, 43)
        expected = np.diff([0, *law.cdf(edges), 1]) * self.steps
        seen = np.bincount(np.searchsorted(edges, sizes), minlength=len(edges) + 1)
        assert expected.min() > 20
        statistic = ((seen - expected) ** 2 / expected).sum()
        assert statistic < stats.chi2.isf(1e-6, len(edges))

    def test_every_row_comes_by_itself(self, places):
        """Each with probability q, and pairs with q^2; false alarm rate 1e-6."""
        present = np.zeros((self.steps, self.rows + 1), bool)
        np.put_along_axis(present, places, True, axis=1)
        present = present[:, :-1]  # the last is that of -1
        assert ((places >= 0).sum(axis=1) == present.sum(axis=1)).all()  # none twice
        q = self.batch / self.rows
        z = (present.mean(axis=0) - q) / np.sqrt(q * (1 - q) / self.steps)
        assert np.abs(z).max() < stats.norm.isf(5e-7 / self.rows)
        together = (present[:, :-1] & present[:, 1:]).mean()
        error = np.sqrt(q**2 * (1 - q**2) / (self.steps * (self.rows - 1)))
        assert abs(together - q**2) < 3 * stats.norm.isf(5e-7) * error
