"""One network for all learners: its shape, its prior, and the two ways to draw from it.

A network of L layers maps an input x = h_0 through pre-activations and a function a,

    z_l = h_(l-1) W_l + b_l,    h_l = a(z_l),    f(x, theta) = z_L,

theta = (W_1, b_1, ..., W_L, b_L), with the prior W_l ~ N(0, weight_variance / fan_in),
b_l ~ N(0, bias_variance), all independent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from shiftproof import _checks
from shiftproof.bayes.streams import Words, streams
from shiftproof.errors import InputError

#: The weights (fan_in, units) and biases (units,) of each layer, in turn.
Layers: TypeAlias = tuple[tuple[jax.Array, jax.Array], ...]

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
}


@dataclass(frozen=True)
class Network:
    """The shape and the prior of a network; inputs and outputs come from the data.

    Parameters
    ----------
    widths : sequence of int
        The units of each hidden layer; none for a linear model.
    activation : {"tanh", "relu", "gelu", "silu", "softplus"}
    weight_variance : float
        Weights have the prior N(0, weight_variance / fan_in).
    bias_variance : float
        Biases have the prior N(0, bias_variance).

    Examples
    --------
    >>> from shiftproof.bayes import Network
    >>> Network((64, 64)).sizes(137, 2)
    (137, 64, 64, 2)
    """

    widths: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    weight_variance: float = 2.0
    bias_variance: float = 1.0

    def __post_init__(self) -> None:
        try:
            widths = tuple(self.widths)
        except TypeError as cause:
            got = repr(self.widths)
            raise InputError("widths", "a sequence of widths", got, "say (64, 64)") from cause
        repair = "say (64, 64), or () for a linear model"
        found = tuple(_checks.whole("widths", width, 1, repair) for width in widths)
        object.__setattr__(self, "widths", found)
        if self.activation not in ACTIVATIONS:
            names = ", ".join(ACTIVATIONS)
            raise InputError("activation", f"one of {names}", f"{self.activation!r}", "say 'tanh'")
        for name in ("weight_variance", "bias_variance"):
            object.__setattr__(self, name, _checks.positive(name, getattr(self, name), "say 1.0"))

    def sizes(self, inputs: int, outputs: int) -> tuple[int, ...]:
        """Units of all layers, the inputs among them."""
        return (inputs, *self.widths, outputs)

    def scales(self, inputs: int, outputs: int) -> tuple[tuple[float, float], ...]:
        """Prior standard deviations of the weights and the biases of each layer."""
        fans = self.sizes(inputs, outputs)[:-1]
        bias = math.sqrt(self.bias_variance)
        return tuple((math.sqrt(self.weight_variance / fan_in), bias) for fan_in in fans)

    def count(self, inputs: int, outputs: int) -> int:
        """The number of weights and biases."""
        sizes = self.sizes(inputs, outputs)
        return sum((a + 1) * b for a, b in itertools.pairwise(sizes))

    def start(self, key: jax.Array, inputs: int, outputs: int) -> Layers:
        """Where training starts: weights N(0, 1 / fan_in), biases 0, whatever the prior is."""
        shapes = [((a, b), (b,)) for a, b in itertools.pairwise(self.sizes(inputs, outputs))]
        noise = jax.random.normal(key, (self.count(inputs, outputs),), jnp.float32)
        return tuple(
            (weights / math.sqrt(len(weights)), jnp.zeros_like(biases))
            for weights, biases in cut(noise, shapes)
        )

    def outputs(self, layers: Layers, x: jax.Array) -> jax.Array:
        """f(x, theta), one row for each row of x, all by the same theta."""
        return self.through(lambda h, layer: h @ layer[0] + layer[1], layers, x)

    def hidden(self, layers: Layers, x: jax.Array) -> jax.Array:
        """h_(L-1): what the last layer reads."""
        for weights, biases in layers[:-1]:
            x = ACTIVATIONS[self.activation](x @ weights + biases)
        return x

    def through(
        self, one: Callable[[jax.Array, Any], jax.Array], layers: tuple[Any, ...], x: jax.Array
    ) -> jax.Array:
        """All layers in turn, `one` giving the pre-activations of each."""
        for layer in layers[:-1]:
            x = ACTIVATIONS[self.activation](one(x, layer))
        return one(x, layers[-1])

    def log_prior(self, layers: Layers) -> jax.Array:
        """Log p(theta), up to a constant."""
        inputs, outputs = layers[0][0].shape[0], layers[-1][0].shape[1]
        total: jax.Array = jnp.zeros((), jnp.float32)
        for layer, scales in zip(layers, self.scales(inputs, outputs), strict=True):
            for values, scale in zip(layer, scales, strict=True):
                total = total - 0.5 * jnp.sum(jnp.square(values / scale))
        return total


def demand_shapes(
    network: Network, layers: Layers, inputs: int, outputs: int, stacked: tuple[int, ...] = ()
) -> None:
    """Raise unless these are finite weights and biases of such a network, stacked or alone."""
    wanted = [
        ((*stacked, a, b), (*stacked, b))
        for a, b in itertools.pairwise(network.sizes(inputs, outputs))
    ]
    found = [tuple(np.shape(values) for values in layer) for layer in layers]
    if found != wanted:
        repair = "pass what a fit gave"
        raise InputError("layers", f"shapes {wanted}", f"{found}", repair)
    if not all(np.isfinite(values).all() for layer in layers for values in layer):
        raise InputError("layers", "finite weights", "some that are not", "pass what a fit gave")


def cut(values: jax.Array, shapes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> Layers:
    """A long vector as weights and biases, one layer after another."""
    ends = itertools.accumulate(math.prod(shape) for pair in shapes for shape in pair)
    parts = iter(jnp.split(values, list(ends)[:-1]))
    return tuple((next(parts).reshape(w), next(parts).reshape(b)) for w, b in shapes)


def noise_like(layers: Layers, key: jax.Array) -> Layers:
    """Independent N(0, 1) in the shape of all weights and biases."""
    count = sum(weights.size + biases.size for weights, biases in layers)
    noise = jax.random.normal(key, (count,), jnp.float32)
    return cut(noise, [(weights.shape, biases.shape) for weights, biases in layers])


@partial(jax.jit, static_argnums=(0, 2, 3))
def starts(network: Network, words: Words, inputs: int, outputs: int) -> Layers:
    """One start for each pair of words, stacked."""
    found: Layers = jax.vmap(lambda key: network.start(key, inputs, outputs))(streams(words))
    return found


def start_scales(count: int, outputs: int) -> NDArray[np.float32]:
    """Log of the scale of the noise at the start: a third of a standard unit."""
    return np.full((count, outputs), math.log(0.3), np.float32)


def log_prior_of_scale(log_scale: jax.Array) -> jax.Array:
    """The prior N(0, 1) of the log of a learned scale of noise, in standard units."""
    return -0.5 * jnp.sum(jnp.square(log_scale))
