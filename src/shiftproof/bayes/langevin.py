"""Stochastic gradient Langevin dynamics: a chain of noisy steps, and a bank of its snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.sgmcmc.gradients import grad_estimator
from numpy.typing import NDArray

from shiftproof import _checks
from shiftproof._types import FloatArray, IntArray
from shiftproof.bayes.bank import banks
from shiftproof.bayes.chains import ChainPosterior
from shiftproof.bayes.ensemble import to_modes
from shiftproof.bayes.laws import Likelihood
from shiftproof.bayes.learner import LikelihoodLearner
from shiftproof.bayes.network import Network, log_prior_of_scale
from shiftproof.bayes.progress import Progress
from shiftproof.bayes.streams import Words, of_seeds, streams
from shiftproof.bayes.training import (
    PER_REPLICATE,
    Data,
    Descent,
    Replicates,
    Shared,
    demand_finite,
    in_groups,
)
from shiftproof.errors import InputError


@dataclass(frozen=True, kw_only=True)
class LangevinNetwork(LikelihoodLearner["LangevinPosterior"]):
    """A recipe: snapshots of stochastic gradient Langevin dynamics (Welling and Teh 2011),

        theta <- theta + h grad log p(theta | batch) + sqrt(2 h) N(0, 1),    h = step_size s^2 / n,

    s the scale of the noise in standard units where the chain starts (1 for classes); the gradient
    of a batch stands for that of all n rows. Each chain starts at a mode, found by Adam. The law of
    the snapshots comes near the posterior as step_size falls and the chains grow long; at a fixed
    step the noise of batches makes it wider. The log of a learned scale of noise has the prior
    N(0, 1) in standard units.

    Parameters
    ----------
    network, likelihood, inputs, labels
        As in :class:`LikelihoodLearner`.
    step_size : float
    batch : int
    chains : int
    snapshots : int
        Of all chains together.
    thin : int
        Steps between two snapshots.
    burn_in : int
        Steps before the first.
    warmup : int
        Steps of Adam before those.
    learning_rate : float
        Of Adam.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.bayes import LangevinNetwork, Network
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> posterior = LangevinNetwork(Network((8,)), warmup=1000).fit(x, x[:, 0] ** 2, seed=0)
    >>> controller = shp.RiskController(
    ...     shp.Thompson(posterior), shp.Intervals(), shp.Miscoverage()
    ... )
    >>> sets = controller.calibrate(x, x[:, 0] ** 2, seed=1).predict([[0.5], [0.1]], alpha=0.1)
    >>> bool((sets.size() < 0.3).all())
    True
    """

    step_size: float = 0.05
    batch: int = 64
    chains: int = 4
    snapshots: int = 200
    thin: int = 20
    burn_in: int = 1000
    warmup: int = 2000
    learning_rate: float = 0.01

    task: ClassVar[str] = "Langevin dynamics"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("batch", "chains", "snapshots", "thin", "warmup"):
            _checks.whole(name, getattr(self, name), 1, "say 20")
        _checks.whole("burn_in", self.burn_in, 0, "say 1000")
        _checks.positive("step_size", self.step_size, "say 0.05")
        if self.snapshots % self.chains:
            expected = f"a multiple of {self.chains}, the number of chains"
            repair = "every chain gives as many"
            raise InputError("snapshots", expected, f"{self.snapshots}", repair)
        self._descent  # noqa: B018 - checks what it is made of

    @property
    def _descent(self) -> Descent:
        return Descent(self.warmup, self.batch, self.learning_rate, "cosine")

    def _posteriors(self, replicates: Replicates, progress: Progress) -> list[LangevinPosterior]:
        *modes, _ = to_modes(
            self.network, self.likelihood, replicates, self.chains, self._descent, progress
        )
        repeated = replicates.repeated(self.chains)
        words = of_seeds(replicates.seeds, "langevin", self.chains)
        shared = Shared.of(progress, len(repeated), self.burn_in + self._each * self.thin)

        def wander(group: IntArray) -> tuple[Any, FloatArray]:
            start = jax.tree.map(lambda values: np.asarray(values)[group], tuple(modes))
            return self._wander(start, words[group], repeated.take(group), shared)

        snapshots, _ = in_groups(wander, len(repeated))
        layers, scales = jax.tree.map(lambda v: v.reshape(-1, *v.shape[2:]), snapshots)
        return [
            LangevinPosterior(**fields, chains=self.chains, divergent=None)
            for fields in banks(self.law, replicates, self.network, layers, scales, self.snapshots)
        ]

    @property
    def _each(self) -> int:
        """Snapshots of one chain."""
        return self.snapshots // self.chains

    def _lengths(self, start: Any, replicates: Replicates) -> NDArray[np.float32]:
        """H n of each chain: the posterior is as narrow as s, so that steps go with its square."""
        if self.likelihood.classifies:
            return np.full(len(replicates), self.step_size, np.float32)
        _, learned = start
        scale = learned if self.likelihood.scale is None else replicates.data.log_noise
        found: NDArray[np.float32] = np.exp(2 * np.asarray(scale).mean(axis=1))
        return np.float32(self.step_size) * found

    def _wander(
        self, position: Any, words: Words, replicates: Replicates, shared: Shared
    ) -> tuple[Any, FloatArray]:
        """Chains side by side; their snapshots (chains, snapshots, ...)."""
        lengths = self._lengths(position, replicates)
        stops = self.burn_in + self.thin * np.arange(self._each + 1)
        kept, first = [], 0
        for last in stops.tolist():
            with shared.calling:
                position, losses = _steps(
                    Langevin(self.network, self.likelihood), self.batch, position,
                    replicates.data, words, lengths, first, last,
                )  # fmt: skip
            loss = np.asarray(losses, dtype=np.float64)
            demand_finite(
                position, [loss], replicates, last, int(stops[-1]), "step_size", self.task
            )
            shared.add(last - first, f"loss {loss.mean():.4g}")
            first = last
            kept.append(jax.tree.map(np.asarray, position))
        snapshots = jax.tree.map(lambda *each: np.stack(each, axis=1), *kept[1:])
        return snapshots, np.zeros(len(replicates))


@dataclass(frozen=True, eq=False)
class LangevinPosterior(ChainPosterior):
    """Snapshots as a posterior, made by :class:`LangevinNetwork`.

    Examples
    --------
    >>> from shiftproof.bayes import ChainPosterior, LangevinPosterior
    >>> issubclass(LangevinPosterior, ChainPosterior)
    True
    """


@dataclass(frozen=True)
class Langevin:
    """The posterior whose gradient the chain follows."""

    network: Network
    likelihood: Likelihood

    def log_prior(self, position: Any) -> jax.Array:
        """Log prior of weights, and of the log of a learned scale: N(0, 1)."""
        layers, log_scale = position
        return self.network.log_prior(layers) + log_prior_of_scale(log_scale)

    def log_density(self, position: Any, row: Any, log_noise: jax.Array) -> jax.Array:
        """Log p(y | x, theta) of one row."""
        (layers, log_scale), (x, y) = position, row
        log_scale = log_scale if self.likelihood.scale is None else log_noise
        return self.likelihood.log_density(self.network.outputs(layers, x), y, log_scale)


@partial(jax.jit, static_argnums=(0, 1))
def _steps(
    target: Langevin,
    batch: int,
    position: Any,
    data: Data,
    words: Words,
    lengths: jax.Array,
    first: int,
    last: int,
) -> tuple[Any, jax.Array]:
    """Chains after the steps from `first` to `last`, and their losses on a last batch."""
    kernel = blackjax.sgld.build_kernel()

    def drawn(key: jax.Array, data: Data) -> tuple[jax.Array, jax.Array]:
        return data.rows(jax.random.randint(key, (batch,), 0, data.size))

    def density(data: Data) -> Any:
        return partial(target.log_density, log_noise=data.log_noise)

    def one(position: Any, data: Data, key: jax.Array, length: jax.Array) -> Any:
        key_rows, key_noise = jax.random.split(key)
        gradient = grad_estimator(target.log_prior, density(data), data.n)
        rows = drawn(key_rows, data)
        return kernel(key_noise, position, gradient, rows, length / data.n)

    def loss(position: Any, data: Data, key: jax.Array) -> jax.Array:
        each = jax.vmap(density(data), in_axes=(None, 0))(position, drawn(key, data))
        return -jnp.mean(each)

    together = jax.vmap(one, in_axes=(0, PER_REPLICATE, 0, 0))
    fold, keys = jax.vmap(jax.random.fold_in, (0, None)), streams(words)
    position = jax.lax.fori_loop(
        first, last, lambda step, now: together(now, data, fold(keys, step), lengths), position
    )
    return position, jax.vmap(loss, in_axes=(0, PER_REPLICATE, 0))(position, data, fold(keys, last))
