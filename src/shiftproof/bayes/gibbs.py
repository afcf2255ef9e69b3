"""The Gibbs posterior of a bounded loss, sampled by the No-U-Turn sampler."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray, IntArray
from shiftproof.bayes.accounting import FIXED_UNITS, LEARNED_UNITS, Spent
from shiftproof.bayes.bank import banks
from shiftproof.bayes.chains import PROBES, ChainPosterior, Diagnostics
from shiftproof.bayes.laws import BoundedLoss, ErrorProbability, bounded_loss_of
from shiftproof.bayes.learner import Learner
from shiftproof.bayes.network import Network, starts
from shiftproof.bayes.posterior import NetworkPosterior
from shiftproof.bayes.progress import Progress
from shiftproof.bayes.streams import Words, of_seeds, streams
from shiftproof.bayes.training import Data, Replicates, Shared, in_groups
from shiftproof.errors import InputError, ShiftproofError

#: So many draws are made between two reports.
_LOOK = 50


class ConvergenceError(ShiftproofError):
    """Chains disagree, or are too short, or diverged; ``posterior`` holds what they drew.

    Attributes
    ----------
    posterior : GibbsPosterior
        For those who look at the diagnostics and use it all the same.
    diagnostics : Diagnostics
        Its own.
    posteriors : tuple of GibbsPosterior
        Of all replicates, those that agree among them.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import GibbsNetwork, Network, ConvergenceError, Welsch
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> recipe = GibbsNetwork(
    ...     Network(()), loss=Welsch(0.1), warmup=100, draws=8, least_effective=1e6
    ... )
    >>> try:
    ...     recipe.fit(x, x[:, 0], seed=0)
    ... except ConvergenceError as error:
    ...     print(len(error.posterior))
    32
    """

    def __init__(
        self,
        posterior: GibbsPosterior,
        faults: tuple[str, ...],
        posteriors: tuple[GibbsPosterior, ...],
    ) -> None:
        self.posterior, self.diagnostics = posterior, posterior.diagnostics
        self.faults, self.posteriors = faults, posteriors
        super().__init__(
            f"Gibbs posterior: expected chains that agree, got {'; '.join(faults)}; "
            "warm up and draw for longer, raise acceptance, make the network smaller or sample its "
            "last layer only; the draws are in error.posterior"
        )

    def behind(self, features: NetworkPosterior) -> ConvergenceError:
        """The same error about heads that read through the hidden layers of a fitted network."""
        each = tuple(one.behind(features) for one in self.posteriors)
        return ConvergenceError(self.posterior.behind(features), self.faults, each)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.posterior, self.faults, self.posteriors)


@dataclass(frozen=True, kw_only=True)
class GibbsNetwork(Learner["GibbsPosterior"]):
    """A recipe: the Gibbs posterior of a bounded loss l in [0, 1],

        Q(theta) ~ prior(theta) exp( - inverse_temperature sum_i l(f(x_i, theta), y_i) ),

    sampled by NUTS (Hoffman and Gelman 2014) in several chains, for small networks or for the last
    layer of a larger one. Chains have to agree about predictions, or ``fit`` raises
    :class:`ConvergenceError`.

    It is the exponential mechanism: an exact draw is epsilon-differentially private with
    epsilon = 2 inverse_temperature when one row is replaced (:attr:`spent`). What a chain draws
    after finitely many steps is only near that.

    Parameters
    ----------
    network, inputs, labels
        As in :class:`Learner`.
    loss : Welsch or ErrorProbability
        For numbers or for classes.
    inverse_temperature : float
        eta, for each row.
    chains, draws : int
        Chains, and the draws of each.
    warmup : int
        Steps that adapt the sampler.
    acceptance : float
        What the steps of NUTS are adapted to; nearer to 1 they are smaller, and diverge less.
    features : NetworkPosterior, optional
        A fitted network whose last hidden layer gives the inputs: with ``Network(())`` its last
        layer is sampled anew.
    largest_rhat, least_effective : float
        What the chains have to keep; no step may diverge.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import GibbsNetwork, Network, Welsch
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> recipe = GibbsNetwork(Network(()), loss=Welsch(0.2), inverse_temperature=5.0)
    >>> posterior = recipe.fit(x, 3 * x[:, 0], seed=0)
    >>> posterior.diagnostics.rhat < 1.05, bool(abs(posterior.mean([[0.5]])[0] - 1.5) < 0.1)
    (True, True)
    """

    network: Network = field(default_factory=lambda: Network((8,)), kw_only=False)
    loss: BoundedLoss = field(default_factory=ErrorProbability)
    inverse_temperature: float = 1.0
    chains: int = 4
    draws: int = 250
    warmup: int = 500
    acceptance: float = 0.8
    features: NetworkPosterior | None = None
    largest_rhat: float = 1.05
    least_effective: float = 100.0

    task: ClassVar[str] = "Gibbs posterior"

    def __post_init__(self) -> None:
        super().__post_init__()
        bounded_loss_of(self.loss)
        eta = _checks.positive("inverse_temperature", self.inverse_temperature, "say 1.0")
        object.__setattr__(self, "inverse_temperature", eta)
        for name, least in (("chains", 2), ("draws", 4), ("warmup", 1)):
            _checks.whole(name, getattr(self, name), least, "say 500")
        for name in ("largest_rhat", "least_effective"):
            _checks.positive(name, getattr(self, name), "say 1.05 and 100")
        share = _checks.positive("acceptance", self.acceptance, "say 0.9")
        if share >= 1:
            raise InputError("acceptance", "a share below 1", f"{share!r}", "say 0.9")
        if self.features is not None and not isinstance(self.features, NetworkPosterior):
            got = type(self.features).__name__
            raise InputError("features", "a fitted network", got, "fit another learner first")

    @classmethod
    def of_epsilon(
        cls, epsilon: float, network: Network | None = None, **settings: Any
    ) -> GibbsNetwork:
        """The recipe whose exact draw spends this epsilon: eta = epsilon / 2.

        Examples
        --------
        >>> from shiftproof.bayes import GibbsNetwork
        >>> GibbsNetwork.of_epsilon(3.0).inverse_temperature
        1.5
        """
        eta = _checks.positive("epsilon", epsilon, "say 1.0") / 2
        network = Network((8,)) if network is None else network
        return cls(network, inverse_temperature=eta, **settings)

    @property
    def spent(self) -> Spent:
        """Privacy of one exact draw: epsilon = 2 inverse_temperature.

        Replacing a row moves the sum of losses by at most 1, their bound, so that the density moves
        by a factor of at most exp(eta), and so does its constant.
        """
        conditions = [
            "the draw is exact; a Markov chain that is stopped only comes near",
            LEARNED_UNITS if self.learned_units else FIXED_UNITS,
            "settings were not tuned on these rows",
            "the number of rows and the names of classes may be known",
        ]
        if self.features is not None:
            conditions.append("the features were fitted to other data")
        return Spent(
            2 * self.inverse_temperature * self.loss.bound, 0.0, "one row that is replaced",
            "one draw; n draws spend n times as much", tuple(conditions),
        )  # fmt: skip

    def fit_many(
        self,
        X: object,
        y: object,
        seeds: Any,
        *,
        rows: Any = None,
        progress: Progress | None = None,
    ) -> list[GibbsPosterior]:
        """Several posteriors in one call, as for all learners; chains run on all cores."""
        if self.features is None:
            return super().fit_many(X, y, seeds, rows=rows, progress=progress)
        read = self.features.features(X)
        try:
            found = super().fit_many(read, y, seeds, rows=rows, progress=progress)
        except ConvergenceError as error:
            raise error.behind(self.features) from None
        return [one.behind(self.features) for one in found]

    @property
    def law(self) -> BoundedLoss:
        """The loss."""
        return self.loss

    def _posteriors(self, replicates: Replicates, progress: Progress) -> list[GibbsPosterior]:
        coding, repeated = replicates.codings[0], replicates.repeated(self.chains)
        words = of_seeds(replicates.seeds, "gibbs", self.chains)
        start = starts(
            self.network, of_seeds(replicates.seeds, "start", self.chains),
            coding.width, coding.outputs,
        )  # fmt: skip
        size = max(32, 2 ** math.ceil(math.log2(max(replicates.counts))))
        target = Gibbs(self.network, self.loss, size)
        eta = jnp.float32(self.inverse_temperature)
        shared = Shared(progress, len(repeated) * (self.warmup + self.draws))

        def sample(group: IntArray) -> tuple[Any, FloatArray]:
            chain = int(group[0])
            data, word = repeated.alone(chain), words[chain]
            position = jax.tree.map(lambda values: np.asarray(values)[chain], start)
            with shared.calling:
                state, settings = _adapt(
                    target, self.warmup, position, data, word, eta, self.acceptance
                )
            jax.tree.map(np.asarray, state)  # waits until it is there
            shared.add(self.warmup, "adapting")
            kept, divergent = [], 0
            for first in range(0, self.draws, _LOOK):
                with shared.calling:
                    state, drawn, strayed = _draw(target, state, settings, data, word, eta, first)
                kept.append(jax.tree.map(np.asarray, drawn))
                last = min(self.draws, first + _LOOK)
                divergent += int(np.asarray(strayed)[: last - first].sum())
                shared.add(last - first, f"{divergent} divergent steps")
            whole = jax.tree.map(lambda *each: np.concatenate(each)[None, : self.draws], *kept)
            return whole, np.array([float(divergent)])

        layers, divergent = in_groups(sample, len(repeated), together=1)
        stacked = jax.tree.map(lambda values: values.reshape(-1, *values.shape[2:]), layers)
        each = self.chains * self.draws
        scales = np.zeros((len(replicates) * each, coding.outputs), np.float32)
        strays = divergent.reshape(len(replicates), self.chains).sum(axis=1).astype(int).tolist()
        found = []
        for r, fields in enumerate(
            banks(self.loss, replicates, self.network, stacked, scales, each)
        ):
            fields |= {"chains": self.chains, "divergent": strays[r]}
            diagnostics = ChainPosterior(**fields).diagnose(_probes(replicates, r))
            found.append(GibbsPosterior(**fields, diagnostics=diagnostics, spent=self.spent))
        failed = [one for one in found if self._faults(one)]
        if failed:
            raise ConvergenceError(failed[0], self._faults(failed[0]), tuple(found))
        return found

    def _faults(self, posterior: GibbsPosterior) -> tuple[str, ...]:
        return posterior.diagnostics.faults(self.largest_rhat, self.least_effective)


@dataclass(frozen=True, eq=False)
class GibbsPosterior(ChainPosterior):
    """Draws from a Gibbs posterior, made by :class:`GibbsNetwork`.

    Attributes
    ----------
    diagnostics : Diagnostics
        Of the predictions for some rows of training.
    spent : Spent
        Privacy of one exact draw.

    Examples
    --------
    >>> from shiftproof.bayes import ChainPosterior, GibbsPosterior
    >>> issubclass(GibbsPosterior, ChainPosterior)
    True
    """

    diagnostics: Diagnostics
    spent: Spent

    def behind(self, features: NetworkPosterior) -> GibbsPosterior:
        """The same head, reading inputs through the hidden layers of a fitted network."""
        return replace(self, coding=replace(self.coding, through=features))


@dataclass(frozen=True)
class Gibbs:
    """The law that is sampled, of a training set that is padded to `size` rows."""

    network: Network
    law: BoundedLoss
    size: int

    def log_density(self, layers: Any, data: Data, eta: jax.Array) -> jax.Array:
        """Log prior(theta) - eta sum_i l_i."""
        places = jnp.arange(self.size)
        x, y = data.rows(places)
        losses = self.law.loss(self.network.outputs(layers, x), y, data.log_noise)
        total = jnp.sum(jnp.where(places < data.size, losses, 0.0))
        return self.network.log_prior(layers) - eta * total


@partial(jax.jit, static_argnums=(0, 1))
def _adapt(
    target: Gibbs,
    steps: int,
    position: Any,
    data: Data,
    words: Words,
    eta: jax.Array,
    acceptance: float,
) -> Any:
    """The state and the settings of NUTS after its warm-up."""
    density = partial(target.log_density, data=data, eta=eta)
    key = jax.random.fold_in(streams(words), 0)
    adaptation = blackjax.window_adaptation(
        blackjax.nuts, density, target_acceptance_rate=acceptance
    )
    (state, settings), _ = adaptation.run(key, position, num_steps=steps)
    return state, settings


@partial(jax.jit, static_argnums=0)
def _draw(
    target: Gibbs,
    state: Any,
    settings: Any,
    data: Data,
    words: Words,
    eta: jax.Array,
    first: int,
) -> tuple[Any, Any, jax.Array]:
    """Draws from `first` on: the state after them, their weights, and which diverged."""
    density = partial(target.log_density, data=data, eta=eta)
    kernel = blackjax.nuts(density, **settings).step

    def step(state: Any, key: jax.Array) -> tuple[Any, tuple[Any, jax.Array]]:
        state, info = kernel(key, state)
        return state, (state.position, info.is_divergent)

    stream = jax.random.fold_in(streams(words), 1)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(stream, first + jnp.arange(_LOOK))
    state, (drawn, divergent) = jax.lax.scan(step, state, keys)
    return state, drawn, divergent


def _probes(replicates: Replicates, replicate: int) -> FloatArray:
    """Some training rows, in the units in which they came."""
    pooled, count = replicates.codings[0].inputs, replicates.counts[replicate]
    places = np.linspace(0, count - 1, min(count, PROBES)).astype(int)
    rows = np.asarray(replicates.data.which[replicate])[places]
    return pooled.undo(np.asarray(replicates.data.x)[rows])
