"""Stochastic gradient descent for many replicates at once, compiled once for each shape.

A replicate has rows of its own out of one pool, a random stream of its own, and standard units of
its own. Rows are drawn by index and the pool is padded, so that training sets of different sizes
run through one program.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray, IntArray
from shiftproof.bayes import coding, scaling
from shiftproof.bayes.laws import Law
from shiftproof.bayes.progress import Progress
from shiftproof.bayes.streams import Words, streams
from shiftproof.errors import InputError, ShiftproofError

#: Pools are padded to this many rows, or to the next power of two.
_LEAST_ROWS = 2048

#: So often training stops to look whether it has gone astray, and to report.
_LOOKS = 20

#: So many replicates make one vectorised program.
_TOGETHER = 5

#: Half the distance of 32-bit floats around 1; rows may be moved by so much of their own deviation.
_ROUNDING, _MOVED = 2.0**-24, 1e-3

#: How a step size changes from the first step (0) to the last (1).
SCHEDULES: dict[str, Callable[[jax.Array], jax.Array]] = {
    "cosine": lambda share: 0.5 * (1 + jnp.cos(math.pi * share)),
    "linear": lambda share: 1 - share,
    "constant": jnp.ones_like,
}


class DivergenceError(ShiftproofError):
    """Training left the numbers: steps were too large for these data.

    Examples
    --------
    >>> from shiftproof.bayes import DivergenceError, Gaussian, Network, VariationalNetwork
    >>> recipe = VariationalNetwork(Network((8,)), likelihood=Gaussian(1e-30), steps=100)
    >>> try:
    ...     recipe.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], seed=0)
    ... except DivergenceError as error:
    ...     print(str(error).split(";")[0])
    training: expected a finite loss, got nan at step 5 of 100 with seed 0
    """


class Data(NamedTuple):
    """What compiled programs read: a shared pool, the rest with an entry for each replicate."""

    x: jax.Array  # (pool, inputs), moved and scaled for all replicates together
    y: jax.Array  # (pool, outputs)
    which: jax.Array  # (replicates, pool): the rows of a replicate, then padding
    size: jax.Array  # (replicates,): how many they are
    x_units: tuple[jax.Array, jax.Array]  # (replicates, inputs): its own units, within those
    y_units: tuple[jax.Array, jax.Array]
    log_noise: jax.Array  # (replicates, outputs): log of a known scale in standard units

    def rows(self, places: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Inputs and labels of one replicate in its standard units."""
        where = self.which[places]
        (x_center, x_scale), (y_center, y_scale) = self.x_units, self.y_units
        return (self.x[where] - x_center) / x_scale, (self.y[where] - y_center) / y_scale

    @property
    def n(self) -> jax.Array:
        """The number of rows as a float."""
        return self.size.astype(jnp.float32)


#: Which parts of the data are mapped over replicates.
PER_REPLICATE = Data(None, None, 0, 0, 0, 0, 0)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Replicates:
    """Training sets of several replicates, on the device, and how each is coded."""

    data: Data
    codings: tuple[coding.Coding, ...]
    counts: tuple[int, ...]
    seeds: tuple[int, ...]

    @classmethod
    def of(
        cls,
        X: object,
        y: object,
        seeds: Sequence[int],
        rows: Sequence[ArrayLike] | None,
        law: Law,
        units: tuple[scaling.Standard, scaling.Standard],
    ) -> Replicates:
        """Checked, coded, padded."""
        found = _seeds(seeds)
        examples = coding.Examples.of(X, y, law)
        chosen = _rows(rows, len(found), len(examples))
        if chosen is None:
            codings = [examples.coding(*units)] * len(found)
            places = [np.arange(len(examples))] * len(found)
        else:
            codings = [examples.coding(*units, one) for one in chosen]
            places = chosen
        pooled = codings[0]
        _demand_near("X", [one.inputs for one in codings])
        _demand_near("labels", [one.labels for one in codings])
        x = coding.standard(pooled.inputs, examples.x, "X")
        y_values = coding.standard(pooled.labels, examples.y, "labels")
        size = max(_LEAST_ROWS, 2 ** math.ceil(math.log2(len(examples))))
        index: Any = np.zeros((len(found), size), np.int32)
        for row, one in zip(index, places, strict=True):
            row[: len(one)] = one
        counts: Any = np.array([len(one) for one in places], np.int32)
        data = Data(
            _padded(x, size),
            _padded(y_values, size),
            index,
            counts,
            _within(pooled.inputs, [one.inputs for one in codings]),
            _within(pooled.labels, [one.labels for one in codings]),
            _single(np.log([(law.scale or 1.0) / one.labels.scale for one in codings])),
        )
        return cls(data, tuple(codings), tuple(map(len, places)), found)

    def __len__(self) -> int:
        return len(self.seeds)

    def take(self, which: IntArray) -> Replicates:
        """Some of the replicates."""
        data = Data(*self.data[:2], *jax.tree.map(lambda v: v[which], tuple(self.data[2:])))
        each = which.tolist()
        parts = (
            tuple(part[one] for one in each) for part in (self.codings, self.counts, self.seeds)
        )
        return Replicates(data, *parts)

    def alone(self, which: int) -> Data:
        """The data of one replicate, with nothing to map over."""
        return Data(*self.data[:2], *jax.tree.map(lambda v: v[which], tuple(self.data[2:])))

    def repeated(self, times: int) -> Replicates:
        """Each replicate several times: chains, or members of an ensemble."""
        return self.take(np.repeat(np.arange(len(self)), times))


class Objective(Protocol):
    """A loss for each example and step; frozen, since a program is compiled for each."""

    def loss(
        self, values: Any, x: jax.Array, y: jax.Array, data: Data, key: jax.Array, settings: Any
    ) -> jax.Array:
        """The loss on a batch, divided by the number of training rows."""


@dataclass(frozen=True)
class Descent:
    """How a loss is brought down: Adam on batches drawn with replacement.

    Parameters
    ----------
    steps, batch : int
    learning_rate : float
    schedule : {"cosine", "linear", "constant"}
        The course of the step size.
    """

    steps: int
    batch: int
    learning_rate: float
    schedule: str

    def __post_init__(self) -> None:
        _checks.whole("steps", self.steps, 1, "say 2000")
        _checks.whole("batch", self.batch, 1, "say 64")
        _checks.positive("learning_rate", self.learning_rate, "say 0.01")
        if self.schedule not in SCHEDULES:
            names = ", ".join(SCHEDULES)
            raise InputError("schedule", f"one of {names}", f"{self.schedule!r}", "say 'cosine'")

    def run(
        self,
        objective: Objective,
        start: Any,
        replicates: Replicates,
        words: Words,
        settings: Any,
        progress: Progress,
    ) -> tuple[Any, FloatArray]:
        """Values after the last step, and the mean loss between looks (replicates, looks).

        `start` and `words` have one entry for each replicate.
        """
        shared = Shared.of(progress, len(replicates), self.steps)

        def train(group: IntArray) -> tuple[Any, FloatArray]:
            part = jax.tree.map(lambda values: np.asarray(values)[group], (start, words))
            return self._train(objective, part, replicates.take(group), settings, shared)

        return in_groups(train, len(replicates))

    def _train(
        self,
        objective: Objective,
        begin: tuple[Any, jax.Array],
        replicates: Replicates,
        settings: Any,
        shared: Shared,
    ) -> tuple[Any, FloatArray]:
        """One group of replicates, all steps; values, and the loss (replicates, looks)."""
        start, words = begin
        state = (start, begin_moments(start))
        look = max(1, math.ceil(self.steps / _LOOKS))
        history: list[FloatArray] = []
        for first in range(0, self.steps, look):
            last = min(first + look, self.steps)
            with shared.calling:
                state, losses = _advance(
                    objective, self.batch, self.schedule, state, replicates.data, words,
                    settings, jnp.float32(self.learning_rate), first, last, self.steps,
                )  # fmt: skip
            history.append(np.asarray(losses, dtype=np.float64))
            demand_finite(state[0], history, replicates, last, self.steps)
            shared.add(last - first, f"loss {history[-1].mean():.4g}")
        return state[0], np.stack(history, axis=1)


class Shared:
    """What groups that run side by side have in common."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total = progress, total
        self.done, self.lock = 0, threading.Lock()
        #: Held while a program is called: what it computes goes on after the call has come back,
        #: so that groups compute side by side, but compile what they share only once.
        self.calling = threading.Lock()

    @classmethod
    def of(cls, progress: Progress, replicates: int, steps: int) -> Shared:
        """For replicates in groups, of so many steps each."""
        return cls(progress, steps * math.ceil(replicates / _TOGETHER))

    def add(self, steps: int, note: str) -> None:
        """Say that steps are done."""
        with self.lock:
            self.done += steps
            self.progress(self.done, self.total, note)


def in_groups(
    train: Callable[[IntArray], tuple[Any, FloatArray]],
    replicates: int,
    together: int = _TOGETHER,
) -> tuple[Any, FloatArray]:
    """What `train` makes of groups of replicates, a group on each core, put together again.

    A group is one vectorised program. More of them at once would leave the caches of a processor;
    groups have one size, so that they share the program: the last is filled up with a repetition.
    All is computed in 32 bits, whatever a session has set for its own work.
    """

    def single(group: IntArray) -> tuple[Any, FloatArray]:
        with jax.enable_x64(False):
            return train(group)

    count = math.ceil(replicates / together)
    size = math.ceil(replicates / count)
    every = np.minimum(np.arange(count * size), replicates - 1).reshape(count, size)
    if count == 1:
        return single(every[0])
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        futures = [cores.submit(single, group) for group in every]
        try:
            parts = [future.result() for future in futures]
        except BaseException:
            cores.shutdown(cancel_futures=True)
            raise
    whole = jax.tree.map(lambda *each: np.concatenate(each)[:replicates], *parts)
    return cast("tuple[Any, FloatArray]", whole)


ADAM = optax.scale_by_adam()


@jax.jit
def begin_moments(start: Any) -> Any:
    """What Adam remembers before the first step, of each replicate."""
    return jax.vmap(ADAM.init)(start)


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=(3,))
def _advance(
    objective: Objective,
    batch: int,
    schedule: str,
    state: Any,
    data: Data,
    words: jax.Array,
    settings: Any,
    learning_rate: jax.Array,
    first: int,
    last: int,
    total: int,
) -> tuple[Any, jax.Array]:
    """Steps from `first` to `last`; the mean loss of each replicate on the way."""

    def one(state: Any, data: Data, key: jax.Array, rate: jax.Array) -> tuple[Any, jax.Array]:
        values, moments = state
        key_rows, key_loss = jax.random.split(key)
        places = jax.random.randint(key_rows, (batch,), 0, data.size)
        x, y = data.rows(places)
        loss, slope = jax.value_and_grad(objective.loss)(values, x, y, data, key_loss, settings)
        step, moments = ADAM.update(slope, moments)
        return (jax.tree.map(lambda v, s: v - rate * s, values, step), moments), loss

    together = jax.vmap(one, in_axes=(0, PER_REPLICATE, 0, None))
    keys = streams(words)

    def body(step: jax.Array, carry: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
        state, mean = carry
        rate = learning_rate * SCHEDULES[schedule](step / jnp.float32(total))
        state, losses = together(
            state, data, jax.vmap(jax.random.fold_in, (0, None))(keys, step), rate
        )
        return state, mean + losses / (last - first)

    begin = (state, jnp.zeros(len(words), jnp.float32))
    end: tuple[Any, jax.Array] = jax.lax.fori_loop(first, last, body, begin)
    return end


def demand_finite(
    values: Any,
    history: Sequence[FloatArray],
    replicates: Replicates,
    step: int,
    steps: int,
    setting: str = "learning_rate",
    task: str = "training",
) -> None:
    """Raise as soon as a replicate has lost its numbers, or its loss has exploded."""
    finite = np.isfinite(history[-1])
    for part in jax.tree.leaves(values):
        finite &= np.isfinite(np.asarray(part)).reshape(len(finite), -1).all(axis=1)
    exploded = np.abs(history[-1]) > 1e6 * (1 + np.abs(history[0]))
    astray = ~finite | exploded
    if not astray.any():
        return
    which = int(np.argmax(astray))
    seed, loss = replicates.seeds[which], history[-1][which]
    raise DivergenceError(
        f"{task}: expected a finite loss, got {loss:.4g} at step {step:,} of {steps:,} with seed "
        f"{seed}; lower {setting}, or look for labels or inputs that lie far from all others"
    )


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    repair = "pass one integer for each replicate, for example seeds=range(10)"
    try:
        found = tuple(seeds)
    except TypeError as cause:
        raise InputError("seeds", "a sequence of integers", f"{seeds!r}", repair) from cause
    for seed in found:
        if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
            raise InputError("seed", "an integer", f"{seed!r}", "a fit draws at random: say seed=0")
    if not found:
        raise InputError("seeds", "at least one seed", "none", repair)
    return tuple(int(seed) for seed in found)


def _rows(rows: Sequence[ArrayLike] | None, replicates: int, size: int) -> list[IntArray] | None:
    """The rows of each replicate, at least two, none of them twice."""
    if rows is None:
        return None
    if len(rows) != replicates:
        expected, got = f"one array of rows for each of {replicates} seeds", f"{len(rows)}"
        raise InputError("rows", expected, got, "pass the rows that each replicate trains on")
    found = []
    for given in rows:
        one = _checks.indices("rows", given, length=np.size(given), below=size)
        if len(one) < 2 or len(np.unique(one)) < len(one):
            got = f"{len(one)} rows, {len(np.unique(one))} different"
            repair = "a replicate trains on a subset of the examples"
            raise InputError("rows", "at least two rows, each of them once", got, repair)
        found.append(one)
    return found


def _within(
    pooled: scaling.Scaling, each: Sequence[scaling.Scaling]
) -> tuple[jax.Array, jax.Array]:
    """Units of replicates inside the units of the pool.

    The pool is moved in 64 bits, so that large offsets lose no digits in the 32 that follow.
    """
    centers = np.array([(one.center - pooled.center) / pooled.scale for one in each])
    return _single(centers), _single(np.array([one.scale / pooled.scale for one in each]))


def _demand_near(what: str, each: Sequence[scaling.Scaling]) -> None:
    """Raise where rows of a replicate would lose their digits in the units of the first.

    Rounding to 32 bits moves a row by at most 2^-24 of its distance to the centre of the pool.
    """
    for replicate, one in enumerate(each):
        moved = np.abs(one.center - each[0].center) / one.scale * _ROUNDING
        if moved.max() > _MOVED:
            column = int(np.argmax(moved))
            raise InputError(
                "rows",
                f"rows of {what} within {_MOVED / _ROUNDING:,.0f} of their deviations of the rows "
                "of the first replicate",
                f"{moved[column] / _ROUNDING:.3g} of them in column {column} of replicate "
                f"{replicate}",
                "pass these rows to a fit of their own, or subtract their mean from the column",
            )


def _padded(values: FloatArray, size: int) -> Any:
    full = np.zeros((size, values.shape[1]), np.float32)
    full[: len(values)] = values
    return full


def _single(values: ArrayLike) -> Any:
    return np.asarray(values, dtype=np.float32)
