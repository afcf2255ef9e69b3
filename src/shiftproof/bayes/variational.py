"""A mean-field Gaussian posterior, by the reparametrised gradient of the ELBO."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from shiftproof import _checks
from shiftproof._tables import Array
from shiftproof._types import FloatArray, KeyArray
from shiftproof.bayes.laws import Likelihood, log_noise
from shiftproof.bayes.learner import LikelihoodLearner
from shiftproof.bayes.network import (
    Layers,
    Network,
    demand_shapes,
    noise_like,
    start_scales,
    starts,
)
from shiftproof.bayes.posterior import Models, NetworkPosterior, answers, blocks
from shiftproof.bayes.progress import Progress
from shiftproof.bayes.streams import Words, halves, of_seeds, streams
from shiftproof.bayes.training import Data, Descent, Replicates
from shiftproof.errors import InputError
from shiftproof.keys import row_keys

#: Pairs m + s eps, m - s eps behind a mean: 128 models.
_PAIRS = 64

#: Explicit weights of so many rows are held at once.
_EXPLICIT_ROWS = 256


@dataclass(frozen=True, kw_only=True)
class VariationalNetwork(LikelihoodLearner["VariationalPosterior"]):
    """A recipe: Q(theta) = N(m, diag s^2), which minimises

        E_Q sum_i - log p(y_i | x_i, theta)  +  kl_weight KL(Q || prior).

    With kl_weight = 1 this is the negative ELBO; less tempers the prior. Gradients are those of
    m + s eps, drawn layer by layer (:meth:`VariationalPosterior.draw`), by Adam on batches.
    The scale of the noise is learned as a point. Q is the best within its family, and no more:
    its variances are too small where weights depend on each other.

    Parameters
    ----------
    network, likelihood, inputs, labels
        As in :class:`LikelihoodLearner`.
    kl_weight : float
    steps, batch : int
    learning_rate : float
    schedule : {"cosine", "linear", "constant"}

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.bayes import Network, VariationalNetwork
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, (300, 1))
    >>> y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=300)
    >>> posterior = VariationalNetwork(Network((8,)), steps=1000).fit(x[:200], y[:200], seed=0)
    >>> controller = shp.RiskController(
    ...     shp.Thompson(posterior), shp.Intervals(), shp.Miscoverage()
    ... )
    >>> sets = controller.calibrate(x[200:], y[200:], seed=1).predict([[0.0], [1.0]], alpha=0.1)
    >>> bool((sets.size() < 1.5).all())
    True
    """

    kl_weight: float = 0.1
    steps: int = 2000
    batch: int = 64
    learning_rate: float = 0.01
    schedule: str = "cosine"

    task: ClassVar[str] = "variational network"

    def __post_init__(self) -> None:
        super().__post_init__()
        weight = _checks.positive("kl_weight", self.kl_weight, "1 is the ELBO")
        object.__setattr__(self, "kl_weight", weight)
        self._descent  # noqa: B018 - checks what it is made of

    @property
    def _descent(self) -> Descent:
        return Descent(self.steps, self.batch, self.learning_rate, self.schedule)

    def _posteriors(self, replicates: Replicates, progress: Progress) -> list[VariationalPosterior]:
        values, history = self._descent.run(
            Elbo(self.network, self.likelihood),
            _start(self.network, replicates),
            replicates,
            of_seeds(replicates.seeds, "descent"),
            jnp.float32(self.kl_weight),
            progress,
        )
        means, log_sds, log_scales = jax.tree.map(np.asarray, values)
        return [
            VariationalPosterior(
                self.network,
                self.likelihood,
                coding,
                means=jax.tree.map(lambda v, r=r: v[r], means),
                deviations=jax.tree.map(lambda v, r=r: np.exp(v[r]), log_sds),
                log_scale=log_noise(self.likelihood, log_scales[r], coding.labels),
                history=history[r],
                seed=seed,
            )
            for r, (coding, seed) in enumerate(
                zip(replicates.codings, replicates.seeds, strict=True)
            )
        ]


@dataclass(frozen=True, eq=False)
class VariationalPosterior(NetworkPosterior):
    """Q(theta) = N(m, diag s^2), made by :class:`VariationalNetwork`.

    Attributes
    ----------
    means, deviations : tuple of (weights, biases)
        m and s of each layer.
    log_scale : array
        log of the scale of the noise in standard units.
    history : array
        The loss for each row of training, averaged between looks.
    seed : int
        Of the fit; it fixes the models behind :meth:`mean`.

    Examples
    --------
    >>> from shiftproof.bayes import NetworkPosterior, VariationalPosterior
    >>> issubclass(VariationalPosterior, NetworkPosterior)
    True
    """

    means: Layers
    deviations: Layers
    log_scale: NDArray[np.float32]
    history: FloatArray
    seed: int

    def __post_init__(self) -> None:
        inputs, outputs = self.coding.width, self.coding.outputs
        for layers in self._moments:
            demand_shapes(self.network, layers, inputs, outputs)
        if not all((np.asarray(s) > 0).all() for layer in self.deviations for s in layer):
            repair = "pass what a fit gave"
            raise InputError("deviations", "numbers above 0", "some that are not", repair)

    @property
    def kl(self) -> float:
        """KL(Q || prior) in nats.

        Sum over weights of (s^2 + m^2) / (2 p^2) - 1/2 - log(s / p), p the deviation of the prior.
        It bounds what a certificate asks for only where the prior, and so the standard units of
        inputs and labels, are free of the data.
        """
        total = 0.0
        scales = self.network.scales(self.coding.width, self.coding.outputs)
        for mean, deviation, scale in zip(self.means, self.deviations, scales, strict=True):
            for m, s, p in zip(mean, deviation, scale, strict=True):
                center, share = np.asarray(m, np.float64) / p, np.asarray(s, np.float64) / p
                terms = (share**2 + center**2) / 2 - 0.5 - np.log(share)
                total += math.fsum(terms.ravel().tolist())
        return total

    def draw(self, X: object, keys: KeyArray, method: str = "predict") -> Array:
        """A prediction for each row by a model of its own, drawn layer by layer.

        Given what a layer reads, h, its pre-activations are independent and Gaussian,

            z_j ~ N( sum_i h_i m_ij + m_bj ,  sum_i h_i^2 s_ij^2 + s_bj^2 ),

        since each weight enters one of them. Drawing z in place of the weights is exact in law,
        because every row has a model of its own: each weight is used once. It would be wrong for
        one model at several rows, or if weights depended on each other.
        """
        return super().draw(X, keys, method)

    def draw_weights(self, X: object, keys: KeyArray, method: str = "predict") -> Array:
        """The definition behind :meth:`draw`: all weights of a model for each row, m + s eps.

        It has the same law and not the same numbers, and is slower by the number of weights.
        """
        return self._by_key(X, keys, method, self._drawn_by_weights)

    def _drawn(self, x: FloatArray, keys: KeyArray) -> FloatArray:
        found = [
            np.asarray(_layerwise(self.network, self.law.classifies, *self._moments, block, words))[
                :count
            ]
            for block, words, count in blocks(x, halves(keys))
        ]
        return np.concatenate(found, dtype=np.float64) if found else self._none

    def _drawn_by_weights(self, x: FloatArray, keys: KeyArray) -> FloatArray:
        found = [
            np.asarray(_explicit(self.network, self.law.classifies, *self._moments, block, words))[
                :count
            ]
            for block, words, count in blocks(x, halves(keys), largest=_EXPLICIT_ROWS)
        ]
        return np.concatenate(found, dtype=np.float64) if found else self._none

    def _models(self, keys: KeyArray) -> Models:
        scales = np.broadcast_to(self.log_scale, (len(keys), *self.log_scale.shape))
        return whole_models(*self._moments, halves(keys)), scales

    def _fixed_models(self) -> Models:
        """Pairs m + s eps and m - s eps, so that a linear network has its exact mean."""
        models, log_scale = self._models(row_keys(self.seed, "bayes/mean", _PAIRS))
        pairs = jax.tree.map(
            lambda v, m: np.concatenate([v, 2 * m - np.asarray(v)]), models, self.means
        )
        return pairs, np.concatenate([log_scale, log_scale])

    def features(self, X: object) -> FloatArray:
        """What the last layer reads where all weights are at their means m."""
        at_means = jax.tree.map(lambda m: m[None], self.means)
        return self._features_by(at_means, X)

    @property
    def _moments(self) -> tuple[Layers, Layers]:
        return self.means, self.deviations

    @property
    def _none(self) -> FloatArray:
        return np.empty((0, self.coding.outputs))


@dataclass(frozen=True)
class Elbo:
    """The negative ELBO of a batch, divided by the number of training rows."""

    network: Network
    likelihood: Likelihood

    def loss(
        self, values: Any, x: jax.Array, y: jax.Array, data: Data, key: jax.Array, settings: Any
    ) -> jax.Array:
        """- mean log p(y | f) + kl_weight KL(Q || prior) / n, f drawn anew for each row."""
        means, log_sds, log_scale = values
        deviations = jax.tree.map(jnp.exp, log_sds)
        noise = jax.random.normal(key, (len(x), units(means)), jnp.float32)
        outputs = by_layers(self.network, means, deviations, x, noise)
        log_scale = log_scale if self.likelihood.scale is None else data.log_noise
        fit = -jnp.mean(self.likelihood.log_density(outputs, y, log_scale))
        loss: jax.Array = fit + settings * self.divergence(means, log_sds) / data.n
        return loss

    def divergence(self, means: Layers, log_sds: Layers) -> jax.Array:
        """KL(Q || prior) of Gaussians, weight by weight."""
        scales = self.network.scales(means[0][0].shape[0], means[-1][0].shape[1])
        total = jnp.zeros((), jnp.float32)
        for mean, log_sd, scale in zip(means, log_sds, scales, strict=True):
            for m, r, p in zip(mean, log_sd, scale, strict=True):
                log_share = r - math.log(p)
                squares = jnp.square(m / p) + jnp.exp(2 * log_share)
                total = total + jnp.sum(0.5 * squares - 0.5 - log_share)
        return total


def units(layers: Layers) -> int:
    """All units that noise enters."""
    return sum(int(biases.shape[-1]) for _, biases in layers)


def by_layers(
    network: Network, means: Layers, deviations: Layers, x: jax.Array, noise: jax.Array
) -> jax.Array:
    """Outputs with pre-activations h m + m_b + sqrt(h^2 s^2 + s_b^2) eps, eps = `noise`."""
    begins = iter(np.cumsum([0, *(biases.shape[-1] for _, biases in means)]).tolist())

    def pre_activations(h: jax.Array, layer: Any) -> jax.Array:
        (m, m_b), (s, s_b) = layer
        begin = next(begins)
        eps = noise[..., begin : begin + m_b.shape[-1]]
        variance = jnp.square(h) @ jnp.square(s) + jnp.square(s_b)
        found: jax.Array = h @ m + m_b + jnp.sqrt(variance) * eps
        return found

    return network.through(pre_activations, tuple(zip(means, deviations, strict=True)), x)


def whole_model(means: Layers, deviations: Layers, key: jax.Array) -> Layers:
    """Theta = m + s eps."""
    theta: Layers = jax.tree.map(
        lambda m, s, e: m + s * e, means, deviations, noise_like(means, key)
    )
    return theta


@jax.jit
def whole_models(means: Layers, deviations: Layers, words: Words) -> Layers:
    """One theta for each pair of words, stacked."""
    found: Layers = jax.vmap(whole_model, in_axes=(None, None, 0))(
        means, deviations, streams(words)
    )
    return found


def _start(network: Network, replicates: Replicates) -> tuple[Layers, Layers, Any]:
    """Means as a network starts, deviations a tenth of theirs."""
    inputs, outputs = replicates.codings[0].width, replicates.codings[0].outputs
    means = starts(network, of_seeds(replicates.seeds, "start"), inputs, outputs)
    fans = network.sizes(inputs, outputs)[:-1]
    log_sds: Any = tuple(
        tuple(np.full(v.shape, math.log(0.1 / math.sqrt(fan_in)), np.float32) for v in layer)
        for layer, fan_in in zip(means, fans, strict=True)
    )
    return means, log_sds, start_scales(len(replicates), outputs)


@partial(jax.jit, static_argnums=(0, 1))
def _layerwise(
    network: Network,
    classifies: bool,
    means: Layers,
    deviations: Layers,
    x: Any,
    words: Any,
) -> jax.Array:
    """One draw for each row, its noise from its own key."""
    count = units(means)
    noise = jax.vmap(lambda key: jax.random.normal(key, (count,), jnp.float32))(streams(words))
    return answers(classifies, by_layers(network, means, deviations, x, noise))


@partial(jax.jit, static_argnums=(0, 1))
def _explicit(
    network: Network,
    classifies: bool,
    means: Layers,
    deviations: Layers,
    x: Any,
    words: Any,
) -> jax.Array:
    """One whole model for each row, all its weights drawn from the key of the row."""

    def one(row: jax.Array, key: jax.Array) -> jax.Array:
        return network.outputs(whole_model(means, deviations, key), row[None])[0]

    return answers(classifies, jax.vmap(one)(x, streams(words)))
