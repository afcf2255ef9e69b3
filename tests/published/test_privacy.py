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
from shiftproof.bayes import PrivateNetwork, Scaling, epsilon_of, noise_for
from shiftproof.bayes.laws import StudentT
from shiftproof.bayes.private import noisy_sum
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
