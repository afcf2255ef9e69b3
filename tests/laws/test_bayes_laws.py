"""Posteriors against their closed forms, draws against their definition.

Every sampled figure is compared with its own standard error; the false alarm rate is stated beside
the test. Seeds are fixed, so that a test passes always or never.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from conftest import RUNS
from networks import CLASSIFIERS, RECIPES, Linear, of_classes, of_numbers, training
from shiftproof.bayes import (
    Ensemble,
    Gaussian,
    GibbsNetwork,
    LangevinNetwork,
    Network,
    PrivateNetwork,
    Scaling,
    VariationalNetwork,
    VariationalPosterior,
    Welsch,
)
from shiftproof.bayes.coding import Coding
from shiftproof.bayes.gibbs import Gibbs
from shiftproof.bayes.training import Replicates
from shiftproof.keys import row_keys

LINEAR = Linear()
OWN = {"inputs": Scaling(0.0, 1.0), "labels": Scaling(0.0, 1.0)}
#: So far, in standard errors, a mean of independent draws lies with probability below 1e-6.
FAR = stats.norm.isf(5e-7)


def agrees(sample, mean, covariance, effective, bias):
    """Means, and all second moments, within FAR standard errors of `effective` draws and a bias.

    False alarm rate below 1e-6 for each figure. `bias` is a share of the posterior deviation that
    a sampler may be off by construction.
    """
    deviation = np.sqrt(np.diag(covariance))
    error = FAR / np.sqrt(effective) + bias
    np.testing.assert_array_less(np.abs(sample.mean(axis=0) - mean) / deviation, error)
    found = np.cov(sample, rowvar=False) / np.outer(deviation, deviation)
    wanted = covariance / np.outer(deviation, deviation)
    # Var of a sample covariance: (1 + rho^2) / n, at most 2 / n.
    np.testing.assert_array_less(
        np.abs(found - wanted), FAR * np.sqrt(2 / effective) + 2 * bias + bias**2
    )


class TestClosedForms:
    x, y = LINEAR.data
    mean, precision = LINEAR.posterior()
    covariance = np.linalg.inv(precision)

    @pytest.mark.parametrize("temperature", [1.0, 0.1])
    def test_variational(self, temperature):
        """The optimum of mean field: the exact mean, and variances 1 / precision_jj."""
        mean, precision = LINEAR.posterior(temperature)
        recipe = VariationalNetwork(
            LINEAR.network, likelihood=LINEAR.likelihood, kl_weight=temperature,
            steps=4000, batch=256, learning_rate=0.02, **OWN,
        )  # fmt: skip
        posterior = recipe.fit(self.x, self.y, seed=0)
        optimum = 1 / np.sqrt(np.diag(precision))
        found = LINEAR.weights(posterior.means)
        np.testing.assert_allclose(found, mean, atol=0.15 * optimum.max())
        np.testing.assert_allclose(LINEAR.weights(posterior.deviations), optimum, rtol=0.1)

    def test_the_mean_of_a_linear_network_is_that_of_its_weights(self):
        recipe = VariationalNetwork(LINEAR.network, likelihood=LINEAR.likelihood, steps=50)
        posterior = recipe.fit(self.x, self.y, seed=0)
        (weights, biases) = posterior.means[0]
        exact = posterior.coding.read(self.x) @ weights + biases
        np.testing.assert_allclose(
            posterior.mean(self.x), posterior.coding.labels.undo(exact)[:, 0], atol=1e-4
        )

    def test_langevin(self):
        """Mean and covariance; steps of finite size make the law some percent wider."""
        recipe = LangevinNetwork(
            LINEAR.network, likelihood=LINEAR.likelihood, batch=256, step_size=0.04,
            chains=4, snapshots=2000, thin=40, burn_in=500, warmup=300, **OWN,
        )  # fmt: skip
        posterior = recipe.fit(self.x, self.y, seed=0)
        agrees(LINEAR.weights(posterior.layers), self.mean, self.covariance, 1500, 0.05)
        assert posterior.diagnose(self.x).rhat < 1.02

    def test_gibbs(self):
        """A loss 1 - exp(-r^2 / 2 c^2) with c far beyond all residuals is a Gaussian likelihood."""
        wide = 100 * LINEAR.noise
        recipe = GibbsNetwork(
            LINEAR.network, loss=Welsch(wide), inverse_temperature=(wide / LINEAR.noise) ** 2,
            chains=4, draws=500, warmup=300, **OWN,
        )  # fmt: skip
        posterior = recipe.fit(self.x, self.y, seed=0)
        agrees(LINEAR.weights(posterior.layers), self.mean, self.covariance, 1000, 0.02)

    def test_ensemble(self):
        """Every member at the mode, which is the mean."""
        recipe = Ensemble(
            LINEAR.network, likelihood=LINEAR.likelihood, members=3, steps=3000, batch=512, **OWN
        )
        found = LINEAR.weights(recipe.fit(self.x, self.y, seed=0).layers)
        deviation = np.sqrt(np.diag(self.covariance))
        assert (np.abs(found - self.mean) < 0.1 * deviation).all()

    def test_private_without_noise_to_speak_of(self):
        """With epsilon beyond use, and a clip that cuts nothing, the mode again."""
        recipe = PrivateNetwork(
            LINEAR.network, likelihood=LINEAR.likelihood, epsilon=1e6, delta=1e-5, clip=200.0,
            batch=40, steps=3000, snapshots=1, **OWN,
        )  # fmt: skip
        posterior = recipe.fit(self.x, self.y, seed=0)
        assert posterior.spent.rate == 1.0  # all rows in every step
        found = LINEAR.weights(posterior.layers)
        deviation = np.sqrt(np.diag(self.covariance))
        assert (np.abs(found - self.mean) < 0.1 * deviation).all()

    def test_a_wrong_prior_would_be_noticed(self):
        """A negative control: the posterior of a prior four times as wide is told apart."""
        recipe = LangevinNetwork(
            LINEAR.network, likelihood=LINEAR.likelihood, batch=256, step_size=0.04,
            chains=4, snapshots=2000, thin=40, burn_in=500, warmup=300, **OWN,
        )  # fmt: skip
        sample = LINEAR.weights(recipe.fit(self.x, self.y, seed=0).layers)
        noisier = replace(LINEAR, noise=1.3 * LINEAR.noise)
        mean, precision = noisier.posterior()
        with pytest.raises(AssertionError):
            agrees(sample, mean, np.linalg.inv(precision), 1500, 0.05)

    def test_likelihoods_are_in_the_units_of_the_labels(self):
        law = Gaussian(0.5)
        recipe = VariationalNetwork(LINEAR.network, likelihood=law, steps=20)
        posterior = recipe.fit(self.x, 10 + 7 * self.y, seed=0)
        still = replace(
            posterior, deviations=tuple((1e-6 * w, 1e-6 * b) for w, b in posterior.deviations)
        )
        exact = stats.norm(still.mean(self.x), 0.5).logpdf(10 + 7 * self.y)
        np.testing.assert_allclose(still.log_likelihood(self.x, 10 + 7 * self.y), exact, rtol=1e-3)

    def test_kl_is_that_of_gaussians(self):
        posterior = of_numbers("variational")
        width, outputs = posterior.coding.width, posterior.coding.outputs
        total = 0.0
        for m, s, p in zip(
            posterior.means, posterior.deviations, posterior.network.scales(width, outputs),
            strict=True,
        ):  # fmt: skip
            for mean, deviation, prior in zip(m, s, p, strict=True):
                q = stats.norm(np.asarray(mean, float), np.asarray(deviation, float))
                # E_Q log q in closed form, E_Q log p by two moments.
                second = np.asarray(mean, float) ** 2 + np.asarray(deviation, float) ** 2
                log_prior = -0.5 * np.log(2 * np.pi * prior**2) - second / (2 * prior**2)
                total += float((-q.entropy() - log_prior).sum())
        assert posterior.kl == pytest.approx(total, rel=1e-6)
        assert posterior.kl > 1


@pytest.fixture(scope="module")
def both():
    """NUTS and Langevin on one small network: models drawn, at nine points."""
    noise = 0.3
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, (60, 1))
    y = np.tanh(2 * x[:, 0]) + noise * rng.normal(size=60)
    network, wide = Network((4,)), 100 * noise
    oracle = GibbsNetwork(
        network, loss=Welsch(wide), inverse_temperature=(wide / noise) ** 2,
        draws=200 * RUNS, warmup=300, acceptance=0.95, **OWN,
    ).fit(x, y, seed=0)  # fmt: skip
    langevin = LangevinNetwork(
        network, likelihood=Gaussian(noise), batch=256, step_size=0.055,
        snapshots=400 * RUNS, thin=100, burn_in=3000, warmup=500, **OWN,
    ).fit(x, y, seed=0)  # fmt: skip
    points = np.linspace(-2, 2, 9)[:, None]
    return [one.sample(points, 1000, seed=0) for one in (oracle, langevin)]


class TestLangevinAgainstNuts:
    """On a small network, where nothing is known in closed form, NUTS is the oracle."""

    def test_predictions_have_one_law(self, both):
        """Within a quarter of the posterior deviation, and a quarter of its size.

        NUTS has at least 100 effective draws of each prediction (it refuses below), so that its
        mean is off by more than .49 deviations with probability below 1e-6.
        """
        oracle, langevin = both
        deviation = oracle.std(axis=0)
        assert (np.abs(langevin.mean(axis=0) - oracle.mean(axis=0)) < 0.5 * deviation).all()
        np.testing.assert_allclose(langevin.std(axis=0), deviation, rtol=0.35)

    def test_the_law_is_no_point(self, both):
        assert all((one.std(axis=0) > 0.02).all() for one in both)


def by_hand(seed=0) -> VariationalPosterior:
    """A posterior with wide weights, so that a wrong law shows."""
    rng = np.random.default_rng(seed)
    network, outputs = Network((16, 16)), 2
    sizes = network.sizes(3, outputs)
    pairs = list(itertools.pairwise(sizes))

    def layers(draw):
        return tuple(
            (draw((a, b)).astype(np.float32), draw((b,)).astype(np.float32)) for a, b in pairs
        )

    coding = Coding(Scaling([0.0] * 3, [1.0] * 3), Scaling([0.0] * 2, [1.0] * 2), None, None, False)
    means = layers(lambda shape: rng.normal(size=shape) / 2)
    deviations = layers(lambda shape: rng.uniform(0.1, 0.5, shape))
    scale = np.zeros(outputs, np.float32)
    return VariationalPosterior(
        network, Gaussian(), coding, means, deviations, scale, np.zeros(1), seed
    )


@pytest.fixture(scope="module")
def explicit():
    """Draws by the definition: all weights of a model for each row."""
    case = TestThompsonLayerByLayer
    return case.posterior.draw_weights(case.x, row_keys(1, "explicit", case.rows))


class TestThompsonLayerByLayer:
    """One row, many keys: the law of its prediction by weights and by layers is the same."""

    rows, alarm = 20_000, 1e-6
    posterior = by_hand()
    x = np.tile([0.5, -1.0, 2.0], (rows, 1))
    #: Projections of the pair of outputs: each, their sum, their difference, their product.
    views = (
        lambda f: f[:, 0], lambda f: f[:, 1], lambda f: f.sum(axis=1),
        lambda f: f[:, 0] - f[:, 1], lambda f: f.prod(axis=1),
    )  # fmt: skip

    def p_values(self, one, other):
        return [stats.ks_2samp(view(one), view(other)).pvalue for view in self.views]

    def test_in_law_they_agree(self, explicit):
        """Kolmogorov-Smirnov on five projections, false alarm rate 1e-6 each."""
        layerwise = self.posterior.draw(self.x, row_keys(2, "layerwise", self.rows))
        assert min(self.p_values(explicit, layerwise)) > self.alarm

    def test_means_and_covariances_agree(self, explicit):
        layerwise = self.posterior.draw(self.x, row_keys(2, "layerwise", self.rows))
        error = FAR * np.sqrt(2 / self.rows)
        deviation = explicit.std(axis=0)
        assert (np.abs((explicit - layerwise).mean(axis=0)) < error * deviation).all()
        # Fourth moments of these outputs are below four times those of a Gaussian.
        scale = np.outer(deviation, deviation)
        difference = np.cov(explicit.T) - np.cov(layerwise.T)
        assert (np.abs(difference) < 4 * error * scale).all()

    @pytest.mark.parametrize(
        "factors", [(1, 1, 0.01), (1.25, 1.25, 1.25)], ids=["last layer fixed", "all wider"]
    )
    def test_another_law_is_noticed(self, explicit, factors):
        deviations = tuple(
            (np.float32(factor) * w, np.float32(factor) * b)
            for factor, (w, b) in zip(factors, self.posterior.deviations, strict=True)
        )
        other = replace(self.posterior, deviations=deviations)
        layerwise = other.draw(self.x, row_keys(2, "layerwise", self.rows))
        assert min(self.p_values(explicit, layerwise)) < self.alarm

    def test_one_model_for_all_rows_is_another_thing(self):
        """Layer by layer each row has its own model: rows do not vary together as in `sample`."""
        x = np.array([[0.5, -1.0, 2.0], [0.4, -1.0, 2.0]])
        together = self.posterior.sample(x, 2000, seed=0)[..., 0]
        keys = row_keys(0, "alone", 4000)
        alone = self.posterior.draw(np.tile(x, (2000, 1)), keys)[:, 0].reshape(-1, 2)
        assert np.corrcoef(together.T)[0, 1] > 0.8
        assert abs(np.corrcoef(alone.T)[0, 1]) < FAR / np.sqrt(2000)

    def test_rows_are_independent(self):
        """Neighbours do not vary together; false alarm rate 1e-6."""
        found = self.posterior.draw(self.x, row_keys(3, "rows", self.rows))[:, 0]
        for lag in (1, 2, 64):
            assert abs(np.corrcoef(found[:-lag], found[lag:])[0, 1]) < FAR / np.sqrt(
                self.rows - lag
            )

    def test_all_64_bits_of_a_key_count(self):
        """Keys that share their low, or their high, half of the bits draw different models."""
        low = np.arange(50, dtype=np.uint64)
        for keys in (low, low << np.uint64(32), low + np.uint64(2**63)):
            for draw in (self.posterior.draw, self.posterior.draw_weights):
                assert len(np.unique(draw(self.x[:50], keys)[:, 0])) == 50
        both = [self.posterior.draw(self.x[:50], low + np.uint64(at)) for at in (0, 2**40)]
        assert (both[0] != both[1]).all()


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "numbers") for name in RECIPES), *((name, "classes") for name in CLASSIFIERS)],
)
class TestRows:
    """A row keeps its draw and its mean whatever comes with it."""

    def answers(self, name, kind):
        posterior = (of_numbers if kind == "numbers" else of_classes)(name)
        method = "predict" if kind == "numbers" else "predict_proba"
        x, _ = training()
        keys = row_keys(9, "rows", len(x))
        return posterior, method, x, keys

    def test_order_and_batches_change_nothing(self, name, kind):
        posterior, method, x, keys = self.answers(name, kind)
        order = np.random.default_rng(0).permutation(len(x))

        def mean(x, keys, method):
            del keys
            return posterior.mean(x, method)

        for ask in (posterior.draw, mean):
            at_once = ask(x, keys, method)
            np.testing.assert_allclose(
                ask(x[order], keys[order], method), at_once[order], atol=1e-4
            )
            parts = [ask(x[a : a + 77], keys[a : a + 77], method) for a in range(0, len(x), 77)]
            np.testing.assert_allclose(np.concatenate(parts), at_once, atol=1e-4)
            np.testing.assert_allclose(ask(x[:1], keys[:1], method), at_once[:1], atol=1e-4)

    def test_no_rows(self, name, kind):
        posterior, method, x, keys = self.answers(name, kind)
        shape = (0,) if kind == "numbers" else (0, 3)
        assert posterior.draw(x[:0], keys[:0], method).shape == shape
        assert posterior.mean(x[:0], method).shape == shape

    def test_draws_average_to_the_mean(self, name, kind):
        """Many draws of one row; false alarm rate 1e-6, and the error of the mean itself."""
        posterior, method, x, _ = self.answers(name, kind)
        count = 4000
        drawn = posterior.draw(np.tile(x[:1], (count, 1)), row_keys(1, "mean", count), method)
        mean = posterior.mean(x[:1], method)[0]
        error = FAR * drawn.std(axis=0) / np.sqrt(count) + 1e-5
        if name == "variational":  # its mean is that of 128 models, in pairs
            error = error + FAR * drawn.std(axis=0) / np.sqrt(64)
        assert (np.abs(drawn.mean(axis=0) - mean) <= error).all()


class TestPrivacyOfGibbs:
    """The density at any theta moves by a factor of at most exp(eta) when a row is replaced."""

    def test_sensitivity(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
        eta, loss, network = 0.7, Welsch(0.5), Network((3,))
        target = Gibbs(network, loss, 32)

        def log_density(layers, x, y):
            units = tuple(OWN.values())
            data = Replicates.of(x, y, [0], None, loss, units).alone(0)
            return float(target.log_density(layers, data, eta))

        moved = []
        for trial in range(30):
            layers = tuple(
                (rng.normal(size=(a, b)).astype(np.float32), np.zeros(b, np.float32))
                for a, b in ((2, 3), (3, 1))
            )
            other_x, other_y = x.copy(), y.copy()
            other_x[trial % 20], other_y[trial % 20] = 10 * rng.normal(size=2), 1e3
            moved.append(log_density(layers, x, y) - log_density(layers, other_x, other_y))
        assert np.abs(moved).max() <= eta * (1 + 1e-5)
        assert np.abs(moved).max() > 0.5 * eta  # and it is nearly reached
