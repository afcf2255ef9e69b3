"""What all fitted posteriors answer: draws for rows, means, whole models, log likelihoods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from shiftproof import _checks
from shiftproof._tables import Array, Column
from shiftproof._types import FloatArray, KeyArray
from shiftproof.bayes.coding import Coding
from shiftproof.bayes.laws import BoundedLoss, ErrorProbability, Likelihood, Welsch
from shiftproof.bayes.network import Layers, Network
from shiftproof.errors import InputError
from shiftproof.keys import checked, row_keys

#: Rows are computed in blocks of at most so many, padded to a power of two of at least the other,
#: so that a few programs serve tables of every length.
_LARGEST_BLOCK, _LEAST_BLOCK = 4096, 64

Models: TypeAlias = tuple[Layers, Any]
"""Weights and log scales of the noise of some models, stacked."""


@dataclass(frozen=True, eq=False)
class NetworkPosterior(ABC):
    """A distribution Q(theta) over the weights of one network, given the training data.

    Made by the ``fit`` of a learner. ``Thompson(posterior)`` draws a model for each row,
    ``PosteriorMean(posterior)`` predicts by the mean of all.

    Attributes
    ----------
    network : Network
    law : Gaussian, StudentT, Softmax, or a bounded loss
        What labels were fitted by.
    coding : Coding
        How tables are read and outputs turned into answers.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.bayes import Ensemble, Network, NetworkPosterior
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> posterior = Ensemble(Network((8,)), members=3, steps=50).fit(x, x[:, 0], seed=0)
    >>> isinstance(posterior, NetworkPosterior) and isinstance(posterior, shp.Posterior)
    True
    """

    network: Network
    law: Likelihood | BoundedLoss
    coding: Coding

    @property
    def classes(self) -> Array | None:
        """The labels that columns of probabilities stand for; None for numbers."""
        return self.coding.classes

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the table that it was fitted to; None for an array."""
        return self.coding.reads

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return self.network.count(self.coding.width, self.coding.outputs)

    def draw(self, X: object, keys: KeyArray, method: str = "predict") -> Array:
        """A prediction for each row by a model of its own, theta_i ~ Q, drawn with the row's key.

        The noise of labels is not part of it: the model is drawn, the prediction is f(x, theta).
        A row keeps its model whatever rows come with it, and its draw up to 32-bit rounding.
        """
        return self._by_key(X, keys, method, self._drawn)

    def mean(self, X: object, method: str = "predict") -> Array:
        """The mean prediction over all models, for each row: one fixed function of the row."""
        self.coding.demand_method(method)
        x = self.coding.read(X)
        models = self._fixed_models()
        found = [
            np.asarray(_mean(self.network, self.law.classifies, models, block))[:count]
            for block, count in blocks(x)
        ]
        return self.coding.answer(_joined(found, (self.coding.outputs,)), method)

    def sample(
        self, X: object, count: int, *, seed: int | None = None, method: str = "predict"
    ) -> Array:
        """Whole models drawn from Q, each answering all rows: shape (count, rows, ...).

        For pictures of the posterior. Sets of rows that share a model are not what calibration is
        about: there each row has a model of its own, by :meth:`draw`.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftproof.bayes import Network, VariationalNetwork
        >>> x = np.linspace(-1, 1, 50)[:, None]
        >>> posterior = VariationalNetwork(Network((8,)), steps=50).fit(x, x[:, 0], seed=0)
        >>> posterior.sample(x, 3, seed=1).shape
        (3, 50)
        """
        _checks.whole("count", count, 1, "say 10")
        if seed is None:
            raise InputError("seed", "an integer, since models are drawn", "none", "say seed=0")
        self.coding.demand_method(method)
        x = self.coding.read(X)
        layers, _ = self._models(row_keys(seed, "bayes/sample", count))
        found = [
            np.asarray(evaluated(self.network, self.law.classifies, layers, block))[:, :rows]
            for block, rows in blocks(x)
        ]
        width = self.coding.outputs
        return self.coding.answer(
            np.concatenate(found, axis=1, dtype=np.float64)
            if found
            else np.empty((count, 0, width)),
            method,
        )

    def log_likelihood(self, X: object, y: object) -> FloatArray:
        """Log of the mean of p(y | x, theta) over the models behind :meth:`mean`, for each row.

        In the units of the labels, noise included: what a Bayesian compares predictors by.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftproof.bayes import Gaussian, Network, VariationalNetwork
        >>> x = np.linspace(-1, 1, 50)[:, None]
        >>> recipe = VariationalNetwork(Network(()), likelihood=Gaussian(0.1), steps=500)
        >>> bool(recipe.fit(x, x[:, 0], seed=0).log_likelihood(x, x[:, 0]).mean() > 1.2)
        True
        """
        law = self.law
        if isinstance(law, (Welsch, ErrorProbability)):
            repair = "compare losses of predictions, or fit a learner with a likelihood"
            raise InputError("posterior", "a law of labels", f"the loss {law}", repair)
        x = self.coding.read(X)
        labels = self.coding.read_labels(y, len(x))
        models = self._fixed_models()
        both = np.column_stack([x, labels])
        found = [
            np.asarray(_log_likelihood(self.network, law, models, block, x.shape[1]))[:count]
            for block, count in blocks(both)
        ]
        units = 0.0 if self.classes is not None else np.log(self.coding.labels.scale).sum()
        return _joined(found, ()) - units

    def features(self, X: object) -> FloatArray:
        """What the last layer reads, by the first of the models behind :meth:`mean`."""
        return self._features_by(self._fixed_models()[0], X)

    def _features_by(self, layers: Layers, X: object) -> FloatArray:
        first = jax.tree.map(lambda values: values[0], layers)
        found = [
            np.asarray(_hidden(self.network, first, block))[:count]
            for block, count in blocks(self.coding.read(X))
        ]
        return _joined(found, (layers[-1][0].shape[-2],))

    def _by_key(
        self, X: object, keys: KeyArray, method: str, drawn: Callable[..., FloatArray]
    ) -> Array:
        self.coding.demand_method(method)
        x = self.coding.read(X)
        return self.coding.answer(drawn(x, checked(keys, len(x))), method)

    @abstractmethod
    def _drawn(self, x: FloatArray, keys: KeyArray) -> FloatArray:
        """Outputs, or probabilities of classes, of one model for each row."""

    @abstractmethod
    def _models(self, keys: KeyArray) -> Models:
        """One whole model for each key."""

    @abstractmethod
    def _fixed_models(self) -> Models:
        """The models whose mean prediction is the posterior's."""


def blocks(*arrays: Array, largest: int = _LARGEST_BLOCK) -> Iterator[tuple[Any, ...]]:
    """Rows of arrays in padded blocks, each with the number of rows that are none of padding."""
    total = len(arrays[0])
    for first in range(0, total, largest):
        parts = [array[first : first + largest] for array in arrays]
        count = len(parts[0])
        size = min(largest, max(_LEAST_BLOCK, 1 << (count - 1).bit_length()))
        yield *(_padded(part, size) for part in parts), count


def answers(classifies: bool, outputs: jax.Array) -> jax.Array:
    """What is averaged: outputs of numbers, probabilities of classes."""
    return jax.nn.softmax(outputs) if classifies else outputs


def _padded(part: Array, size: int) -> Array:
    kind = np.float32 if part.dtype == np.float64 else part.dtype
    full = np.zeros((size, *part.shape[1:]), kind)
    full[: len(part)] = part
    return full


def _joined(found: list[Array], shape: tuple[int, ...]) -> FloatArray:
    return np.concatenate(found, dtype=np.float64) if found else np.empty((0, *shape))


@partial(jax.jit, static_argnums=(0, 1))
def _mean(network: Network, classifies: bool, models: Models, x: jax.Array) -> jax.Array:
    """1/K sum_k f(x, theta_k), one model after another."""

    def add(total: jax.Array, layers: Layers) -> tuple[jax.Array, None]:
        return total + answers(classifies, network.outputs(layers, x)), None

    layers, _ = models
    outputs = layers[-1][0].shape[-1]
    total, _ = jax.lax.scan(add, jnp.zeros((len(x), outputs), jnp.float32), layers)
    mean: jax.Array = total / layers[0][0].shape[0]
    return mean


@partial(jax.jit, static_argnums=(0, 1))
def evaluated(network: Network, classifies: bool, layers: Layers, x: jax.Array) -> jax.Array:
    """f(x, theta_k) for every k: (models, rows, outputs)."""
    found: jax.Array = jax.lax.map(lambda one: answers(classifies, network.outputs(one, x)), layers)
    return found


@partial(jax.jit, static_argnums=(0, 1, 4))
def _log_likelihood(
    network: Network, law: Likelihood, models: Models, both: jax.Array, inputs: int
) -> jax.Array:
    """Log 1/K sum_k p(y | x, theta_k)."""
    x, y = both[:, :inputs], both[:, inputs:]

    def one(model: Models) -> jax.Array:
        layers, log_scale = model
        return law.log_density(network.outputs(layers, x), y, log_scale)

    each = jax.lax.map(one, models)
    return jax.nn.logsumexp(each, axis=0) - jnp.log(jnp.float32(len(each)))


@partial(jax.jit, static_argnums=0)
def _hidden(network: Network, layers: Layers, x: jax.Array) -> jax.Array:
    return network.hidden(layers, x)
