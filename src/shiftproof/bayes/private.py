"""Differentially private training: clipped gradients of randomly drawn rows, plus noise."""

from __future__ import annotations

import math
import secrets
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from shiftproof import _checks
from shiftproof._types import FloatArray, IntArray
from shiftproof.bayes.accounting import (
    FIXED_UNITS,
    LEARNED_UNITS,
    PrivacyWarning,
    Spent,
    epsilon_of,
    noise_for,
)
from shiftproof.bayes.bank import BankPosterior, banks
from shiftproof.bayes.laws import Likelihood
from shiftproof.bayes.learner import LikelihoodLearner
from shiftproof.bayes.network import Network, log_prior_of_scale, start_scales, starts
from shiftproof.bayes.progress import Progress
from shiftproof.bayes.streams import of_seeds, streams
from shiftproof.bayes.training import (
    ADAM,
    PER_REPLICATE,
    SCHEDULES,
    Data,
    DivergenceError,
    Replicates,
    Shared,
    begin_moments,
    in_groups,
)
from shiftproof.errors import InputError
from shiftproof.keys import row_keys

#: Batches are padded to a multiple of this, so that programs are shared.
_MULTIPLE = 32

#: Data sets that are told apart no better than (epsilon, delta) says: n is the same for both.
NEIGHBOURS = "one row, which counts or does not; their number is public and the same"

#: Of a seed that nobody has chosen.
_SEED_BITS = 63


@dataclass(frozen=True, kw_only=True)
class PrivateNetwork(LikelihoodLearner["PrivatePosterior"]):
    """A recipe: DP-SGD (Abadi et al. 2016). Each step draws every row by itself with probability
    q = batch / n, and descends along

        1/batch ( sum_i min(1, clip / norm(g_i)) g_i + sigma clip N(0, 1) )  -  1/n grad log prior,

    g_i = - grad log p(y_i | x_i, theta). The noise sigma is the least that spends at most
    (epsilon, delta) over all steps, for data sets of the same, public, number of rows n in one of
    which a row does not count: its gradient is 0. (q and sigma depend on n, so that a row more or
    less would be other noise.) All steps are accounted for together, so that Q, uniform over the
    snapshots, costs no more than the last one alone.

    What is outside the account is named in ``posterior.spent``; where standard units are learned
    from the data a :class:`PrivacyWarning` says so.

    Parameters
    ----------
    network, likelihood, inputs, labels
        As in :class:`LikelihoodLearner`.
    epsilon, delta : float
        What may be spent.
    clip : float
        The largest norm of the gradient of one row.
    batch : int
        The expected number of rows in a step.
    steps : int
    learning_rate : float
        Of Adam, falling by a cosine.
    snapshots : int
        Of the second half of the steps, the last one among them.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import Network, PrivateNetwork, Scaling
    >>> x = np.random.default_rng(0).uniform(-1, 1, (500, 1))
    >>> own = Scaling(0.0, 1.0)  # known beforehand: nothing of the data in it
    >>> recipe = PrivateNetwork(Network((8,)), epsilon=3.0, steps=200, inputs=own, labels=own)
    >>> posterior = recipe.fit(x, x[:, 0] ** 2)  # a random seed, that nobody knows
    >>> posterior.spent.epsilon <= 3.0
    True
    """

    epsilon: float = 3.0
    delta: float = 1e-5
    clip: float = 1.0
    batch: int = 128
    steps: int = 1000
    learning_rate: float = 0.01
    snapshots: int = 50

    task: ClassVar[str] = "private network"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, repair in (("epsilon", "say 3.0"), ("delta", "say 1e-5"), ("clip", "say 1.0")):
            _checks.positive(name, getattr(self, name), repair)
        _checks.positive("learning_rate", self.learning_rate, "say 0.01")
        for name in ("batch", "steps", "snapshots"):
            _checks.whole(name, getattr(self, name), 1, "say 50")
        if self.snapshots > (self.steps + 1) // 2:
            expected = f"at most {(self.steps + 1) // 2}, half of the steps"
            repair = "take fewer snapshots, or more steps"
            raise InputError("snapshots", expected, f"{self.snapshots}", repair)

    def fit(
        self,
        X: object,
        y: object,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> PrivatePosterior:
        """A posterior from labelled rows, as for all learners.

        Without a seed it is drawn from the randomness of the operating system and forgotten, as
        privacy asks for. A seed that is given makes the fit repeatable, for tests; the noise is
        only as secret as the seed, and only if no other fit has it.
        """
        own = secrets.randbits(_SEED_BITS) if seed is None else seed
        return self.fit_many(X, y, [own], progress=progress)[0]

    def _posteriors(self, replicates: Replicates, progress: Progress) -> list[PrivatePosterior]:
        if len(set(replicates.seeds)) < len(replicates):
            repair = "two fits with the same noise give it away: take a new seed for each"
            raise InputError("seeds", "each seed once", "a seed twice", repair)
        spent = self._spent(replicates)
        self._warn()
        coding = replicates.codings[0]
        start = (
            starts(self.network, of_seeds(replicates.seeds, "start"), coding.width, coding.outputs),
            start_scales(len(replicates), coding.outputs),
        )
        words = of_seeds(replicates.seeds, "noise")
        places = self._batches(replicates)
        sigma = np.array([_rounded_up(one.noise_multiplier) for one in spent])
        shared = Shared.of(progress, len(replicates), self.steps)

        def train(group: IntArray) -> tuple[Any, FloatArray]:
            part = jax.tree.map(lambda values: np.asarray(values)[group], (start, words, sigma))
            return self._train(part, places[:, group], replicates.take(group), shared)

        snapshots, _ = in_groups(train, len(replicates))
        layers, scales = jax.tree.map(lambda v: v.reshape(-1, *v.shape[2:]), snapshots)
        return [
            PrivatePosterior(**fields, spent=price)
            for fields, price in zip(
                banks(self.law, replicates, self.network, layers, scales, self.snapshots),
                spent,
                strict=True,
            )
        ]

    def _train(
        self,
        begin: tuple[Any, jax.Array, jax.Array],
        places: NDArray[np.int32],
        replicates: Replicates,
        shared: Shared,
    ) -> tuple[Any, FloatArray]:
        """Replicates side by side; their snapshots (replicates, snapshots, ...)."""
        start, words, sigma = begin
        state = (start, begin_moments(start))
        stops = np.linspace(self.steps // 2, self.steps, self.snapshots + 1).astype(int)
        kept, first = [], 0
        for last in stops.tolist():
            with shared.calling:
                state = _private_steps(
                    self.network, self.likelihood, state, replicates.data, words, sigma,
                    jnp.float32(self.clip), jnp.float32(self.batch),
                    jnp.float32(self.learning_rate), places[first:last], first, self.steps,
                )  # fmt: skip
            self._demand_finite(state[0], last)
            shared.add(last - first, "noisy steps")
            first = last
            kept.append(jax.tree.map(np.asarray, state[0]))
        nothing = np.zeros(len(replicates))  # losses would tell of the data
        return jax.tree.map(lambda *each: np.stack(each, axis=1), *kept[1:]), nothing

    def _demand_finite(self, values: Any, step: int) -> None:
        """Raise where weights are no numbers. Neither seed nor loss is shown: both are secret."""
        if not all(np.isfinite(np.asarray(part)).all() for part in jax.tree.leaves(values)):
            raise DivergenceError(
                f"{self.task}: expected finite weights, got others by step {step:,} of "
                f"{self.steps:,}; lower learning_rate or clip"
            )

    def _spent(self, replicates: Replicates) -> list[Spent]:
        """The price of each replicate, and its noise."""
        found = {}
        for n in set(replicates.counts):
            if self.batch > n:
                repair = "expect fewer rows in a step"
                raise InputError("batch", f"at most {n}, all rows", f"{self.batch}", repair)
            if self.delta >= 1 / n:
                expected = f"less than 1/{n}, one over the number of rows"
                repair = "a larger delta would allow to publish whole rows"
                raise InputError("delta", expected, f"{self.delta!r}", repair)
            rate = self.batch / n
            sigma = noise_for(self.epsilon, self.delta, rate, self.steps)
            epsilon = epsilon_of(sigma, rate, self.steps, self.delta)
            found[n] = Spent(
                epsilon, self.delta, NEIGHBOURS,
                "all snapshots, and whatever is computed from them alone",
                self._conditions, sigma, rate, self.steps,
            )  # fmt: skip
        return [found[n] for n in replicates.counts]

    @property
    def _conditions(self) -> tuple[str, ...]:
        return (
            LEARNED_UNITS if self.learned_units else FIXED_UNITS,
            "settings were not tuned on these rows: every fit that was looked at spends as much",
            "the seed is random, secret and used for one fit only",
            "no row is in another fit too: fits of shared rows spend the sum",
            "the number of rows and the names of classes are public, and the same for neighbours",
            "no fit is refused: errors about these rows, found before training, tell of them",
            "rounding of Gaussian noise to 32 bits tells nothing",
        )

    def _warn(self) -> None:
        if self.learned_units:
            which = " and ".join(self.learned_units)
            warnings.warn(
                f"standard units of {which} are learned from the rows, outside of epsilon: "
                f"pass {which.split(' ')[0]}=Scaling(center, scale) with numbers known beforehand",
                PrivacyWarning,
                stacklevel=5,
            )

    def _batches(self, replicates: Replicates) -> NDArray[np.int32]:
        """Places of the rows of each step, (steps, replicates, most); -1 where there is none.

        Every row comes with probability q by itself: a number of rows from the binomial law, then
        so many of them. The longest batch that was drawn gives the length, so that none is cut.
        """
        drawn = []
        for seed, n in zip(replicates.seeds, replicates.counts, strict=True):
            word = int(row_keys(seed, "bayes/poisson", 1)[0])
            rng = np.random.default_rng(word)
            sizes = rng.binomial(n, self.batch / n, self.steps)
            drawn.append([rng.choice(n, size, replace=False) for size in sizes])
        most = max(len(rows) for each in drawn for rows in each)
        length = _MULTIPLE * max(1, math.ceil(most / _MULTIPLE))
        places = np.full((self.steps, len(drawn), length), -1, np.int32)
        for replicate, each in enumerate(drawn):
            for step, rows in enumerate(each):
                places[step, replicate, : len(rows)] = rows
        return places


@dataclass(frozen=True, eq=False)
class PrivatePosterior(BankPosterior):
    """Snapshots of private training, made by :class:`PrivateNetwork`.

    The seed is not kept: who knows it knows the noise. Calibration is not part of what is private:
    thresholds and sets tell of the calibration rows.

    Attributes
    ----------
    spent : Spent

    Examples
    --------
    >>> from shiftproof.bayes import BankPosterior, PrivatePosterior
    >>> issubclass(PrivatePosterior, BankPosterior)
    True
    """

    spent: Spent


@partial(jax.jit, static_argnums=(0, 1))
def _private_steps(
    network: Network,
    law: Likelihood,
    state: Any,
    data: Data,
    words: jax.Array,
    sigma: jax.Array,
    clip: jax.Array,
    batch: jax.Array,
    learning_rate: jax.Array,
    places: jax.Array,
    first: int,
    total: int,
) -> Any:
    """One step for each entry of `places`."""

    def loss(values: Any, x: jax.Array, y: jax.Array, log_noise: jax.Array) -> jax.Array:
        layers, log_scale = values
        log_scale = log_scale if law.scale is None else log_noise
        return -law.log_density(network.outputs(layers, x), y, log_scale)

    def one(
        state: Any, data: Data, key: jax.Array, sigma: jax.Array, rows: jax.Array, rate: jax.Array
    ) -> Any:
        values, moments = state
        x, y = data.rows(rows)
        each = jax.vmap(jax.grad(loss), (None, 0, 0, None))(values, x, y, data.log_noise)
        noisy = noisy_sum(each, rows >= 0, clip, sigma, key)
        pulls = jax.grad(lambda v: -network.log_prior(v[0]) - log_prior_of_scale(v[1]))(values)
        slope = jax.tree.map(lambda g, p: g / batch + p / data.n, noisy, pulls)
        step, moments = ADAM.update(slope, moments)
        return jax.tree.map(lambda v, s: v - rate * s, values, step), moments

    together = jax.vmap(one, in_axes=(0, PER_REPLICATE, 0, 0, 0, None))
    keys = streams(words)

    def body(state: Any, now: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        rows, step = now
        rate = learning_rate * SCHEDULES["cosine"](step / jnp.float32(total))
        folded = jax.vmap(jax.random.fold_in, (0, None))(keys, step)
        return together(state, data, folded, sigma, rows, rate), None

    return jax.lax.scan(body, state, (places, first + jnp.arange(len(places))))[0]


def noisy_sum(
    gradients: Any, present: jax.Array, clip: jax.Array, sigma: jax.Array, key: jax.Array
) -> Any:
    """sum_i min(1, clip / norm(g_i)) g_i + sigma clip N(0, 1), over the rows that are present.

    A gradient whose norm is no finite number in 32 bits counts as 0, which is a clipping too: what
    a row adds is a function of that row, no longer than clip.
    """
    parts, tree = jax.tree.flatten(gradients)
    squares = sum(jnp.sum(jnp.square(part.reshape(len(part), -1)), axis=1) for part in parts)
    norms = jnp.sqrt(squares)
    counts = present & jnp.isfinite(norms)
    factors = jnp.where(counts, jnp.minimum(1.0, clip / jnp.maximum(norms, 1e-30)), 0.0)
    keys = jax.random.split(key, len(parts))
    noisy = [
        jnp.tensordot(factors, _where(counts, part), 1)
        + sigma * clip * jax.random.normal(each, part.shape[1:], jnp.float32)
        for part, each in zip(parts, keys, strict=True)
    ]
    return jax.tree.unflatten(tree, noisy)


def _rounded_up(value: float | None) -> np.float32:
    """The next 32-bit number that is not below: never less noise than is accounted for."""
    exact = np.float64(np.nan if value is None else value)
    single = np.float32(exact)
    return single if single >= exact else np.nextafter(single, np.float32(np.inf))


def _where(counts: jax.Array, part: jax.Array) -> jax.Array:
    """Rows that count, 0 for the others: 0 times infinity would be no number."""
    return jnp.where(counts.reshape(-1, *(1,) * (part.ndim - 1)), part, 0.0)
