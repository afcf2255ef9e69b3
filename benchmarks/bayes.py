"""Mean-field networks against numpyro, layers against weights, many seeds at once.

python benchmarks/bayes.py (needs the extra `bench`: pip install -e '.[test,bench]')

A network 138-64-64-2 on Sigfox messages where SHIFTPROOF_DATA names them, else on a simulation of
the same shape; n = 1000, 2000 steps of 128 rows, one model for both: Gaussian noise of learned
scale, priors N(0, 2 / fan_in), the untempered ELBO, Adam with a falling step. numpyro's AutoNormal
starts at a sample of the prior (init_to_sample), and runs twice: by `svi.run`, and with its steps
in one loop that is compiled once. One model for a whole batch makes gradients noisy, which is why
ours, with a model for each row, come farther in as many steps. Times are those of later runs. A
goal is a wish, not an assertion.
"""

from __future__ import annotations

import itertools
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
from numpyro.infer import SVI, Trace_ELBO, init_to_sample
from numpyro.infer.autoguide import AutoNormal
from sigfox import messages

import shiftproof as shp
from shiftproof.bayes import Gaussian, Network, Scaling, Together, VariationalNetwork
from shiftproof.keys import row_keys

TRAIN, HELD_OUT, STEPS, BATCH, RATE, SPLITS, MODELS = 1_000, 2_000, 2_000, 128, 0.01, 5, 128
SHORTER = 8
ROWS, SEEDS = 10_000, 100
NETWORK = Network((64, 64))


def data() -> tuple[Any, Any, str]:
    """Inputs and places in standard units, for both sides alike."""
    if os.environ.get("SHIFTPROOF_DATA"):
        x, places = messages()
        source = "Sigfox"
    else:
        rng = np.random.default_rng(0)
        x = rng.random((20_000, 138)) * (rng.random((20_000, 138)) < 0.04)
        places = np.tanh(x @ rng.normal(size=(138, 2)))
        places += 0.05 * rng.normal(size=places.shape)
        source = "simulated"
    x = Together().of(x, "X").apply(x)
    return x, (places - places.mean(axis=0)) / places.std(axis=0), source


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ours() -> VariationalNetwork:
    own = Scaling(0.0, 1.0)
    return VariationalNetwork(
        NETWORK, likelihood=Gaussian(), kl_weight=1.0, steps=STEPS, batch=BATCH,
        learning_rate=RATE, inputs=own, labels=own,
    )  # fmt: skip


class Theirs:
    """The same model and guide in numpyro."""

    def __init__(self, width: int) -> None:
        self.sizes = NETWORK.sizes(width, 2)
        self.guide = AutoNormal(self.model, init_loc_fn=init_to_sample)
        rate = optax.cosine_decay_schedule(RATE, STEPS)
        self.svi = SVI(self.model, self.guide, optax.adam(rate), Trace_ELBO())
        self.compiled = jax.jit(self._whole)
        self.log_likelihood = jax.jit(self._log_likelihood)

    def model(self, x: Any, y: Any, batch: int | None = None) -> None:
        """All rows, of which the plate takes a batch where one is named; or a batch already."""
        with numpyro.plate(
            "rows", TRAIN, subsample_size=len(x) if batch is None else batch
        ) as rows:
            h, labels = (x, y) if batch is None else (x[rows], y[rows])
        for layer, (a, b) in enumerate(itertools.pairwise(self.sizes)):
            prior = dist.Normal(0, math.sqrt(2 / a)).expand([a, b]).to_event(2)
            weights = numpyro.sample(f"w{layer}", prior)
            biases = numpyro.sample(f"b{layer}", dist.Normal(0, 1).expand([b]).to_event(1))
            z = h @ weights + biases
            h = jnp.tanh(z) if layer < len(self.sizes) - 2 else z
        scale = jnp.exp(numpyro.param("log_scale", jnp.full(2, math.log(0.3))))
        with numpyro.handlers.scale(scale=TRAIN / len(h)):
            numpyro.sample("y", dist.Normal(h, scale).to_event(2), obs=labels)

    def usual(self, key: Any, x: Any, y: Any) -> Any:
        """As its documents show: `svi.run`, which compiles anew in every call."""
        return self.svi.run(key, STEPS, x, y, BATCH, progress_bar=False).params

    def _whole(self, key: Any, x: Any, y: Any) -> Any:
        """The steps of `svi` in a loop of one's own, to be compiled once."""
        first, rest = jax.random.split(key)
        state = self.svi.init(first, x[:BATCH], y[:BATCH])

        def step(state: Any, key: Any) -> tuple[Any, Any]:
            rows = jax.random.randint(key, (BATCH,), 0, TRAIN)
            found: tuple[Any, Any] = self.svi.update(state, x[rows], y[rows])
            return found

        state, _ = jax.lax.scan(step, state, jax.random.split(rest, STEPS))
        return self.svi.get_params(state)

    def _log_likelihood(self, params: Any, x: Any, y: Any) -> Any:
        """On average over rows, by as many models as ours."""
        drawn = self.guide.sample_posterior(jax.random.key(9), params, sample_shape=(MODELS,))

        def one(weights: Any) -> Any:
            h = x
            for layer in range(len(self.sizes) - 1):
                z = h @ weights[f"w{layer}"] + weights[f"b{layer}"]
                h = jnp.tanh(z) if layer < len(self.sizes) - 2 else z
            return dist.Normal(h, jnp.exp(params["log_scale"])).log_prob(y).sum(axis=-1)

        each = jax.lax.map(one, drawn)
        return jnp.mean(jax.nn.logsumexp(each, axis=0) - math.log(MODELS))


def against_numpyro(x: Any, y: Any) -> None:
    recipe, peer = ours(), Theirs(x.shape[1])
    short = replace(recipe, steps=STEPS // SHORTER)
    names = ("ours", f"ours, {STEPS // SHORTER} steps", "numpyro, svi.run", "numpyro, one program")
    took, likelihoods = np.empty((SPLITS + 1, 4)), np.empty((SPLITS + 1, 4))
    for split in range(SPLITS + 1):  # the first one compiles
        order = np.random.default_rng(split).permutation(len(x))
        train, test = order[:TRAIN], order[TRAIN : TRAIN + HELD_OUT]
        known, held_out = (x[train], y[train]), (x[test], y[test])
        single = [jnp.asarray(part, jnp.float32) for part in (*known, *held_out)]
        key = jax.random.key(split)

        def fit_ours(which: VariationalNetwork, known: Any = known, split: int = split) -> Any:
            return which.fit(*known, seed=split)

        def fit_theirs(run: Any, key: Any = key, known: Any = tuple(single[:2])) -> Any:
            return jax.tree.map(np.asarray, run(key, *known))

        calls = (
            lambda fit=fit_ours: fit(recipe),
            lambda fit=fit_ours: fit(short),
            lambda fit=fit_theirs: fit(peer.usual),
            lambda fit=fit_theirs: fit(peer.compiled),
        )
        for place, call in enumerate(calls):
            took[split, place], found = timed(call)
            likelihoods[split, place] = (
                found.log_likelihood(*held_out).mean()
                if place < 2
                else peer.log_likelihood(found, *single[2:])
            )
    print(f"\nmedians of {SPLITS} splits, warm; held-out log likelihood of a row, mean and worst")
    for place, name in enumerate(names):
        said = likelihoods[1:, place]
        print(
            f"{name:<24}{np.median(took[1:, place]):>8.2f} s{said.mean():>9.3f}{said.min():>9.3f}"
        )
    for place in (2, 3):
        faster = np.median(took[1:, place] / took[1:, 0])
        shorter = np.median(took[1:, place] / took[1:, 1])
        gain = likelihoods[1:, 0] - likelihoods[1:, place]
        print(
            f"against {names[place]}: {faster:.1f} times faster, {shorter:.1f} with "
            f"{names[1][6:]}; gain {gain.mean():+.3f}, at least {gain.min():+.3f}",
            flush=True,
        )
    print("goals: 4 times faster, gain of at least 0")


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def layers_against_weights(x: Any, y: Any) -> None:
    posterior = ours().fit(x[:TRAIN], y[:TRAIN], seed=0)
    rows = np.resize(np.arange(len(x)), ROWS)
    keys = row_keys(0, "benchmark", ROWS)
    calls: tuple[Callable[[], object], ...] = (
        lambda: posterior.draw(x[rows], keys),
        lambda: posterior.draw_weights(x[rows], keys),
    )
    for call in calls:
        call()
    layers, weights = np.min([[seconds(call) for call in calls] for _ in range(5)], axis=0)
    print(f"\n{ROWS:,} Thompson rows: by layers {layers:.3f} s, by weights {weights:.3f} s,")
    print(f"{weights / layers:.1f} times faster, goal 40")


def many_seeds(x: Any, y: Any) -> None:
    recipe, known = ours(), (x[:TRAIN], y[:TRAIN])
    recipe.fit(*known, seed=0)
    recipe.fit_many(*known, range(10))
    one_by_one = seconds(lambda: [recipe.fit(*known, seed=seed) for seed in range(SEEDS)])
    at_once = seconds(lambda: recipe.fit_many(*known, range(SEEDS)))
    print(f"\n{SEEDS} seeds: one by one {one_by_one:.1f} s, in one call {at_once:.1f} s on")
    print(f"{os.cpu_count()} cores, {one_by_one / at_once:.2f} times faster, goal 1.3")


def main() -> None:
    versions = f"shiftproof {shp.__version__}, jax {jax.__version__}, numpyro {numpyro.__version__}"
    x, y, source = data()
    print(f"{versions}, python {platform.python_version()}; {source}, {TRAIN} rows, {STEPS} steps")
    against_numpyro(x, y)
    layers_against_weights(x, y)
    many_seeds(x, y)


if __name__ == "__main__":
    main()
