"""A posterior as a bank of models: each row draws the index of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftproof._types import FloatArray, KeyArray
from shiftproof.bayes.laws import Law, log_noise
from shiftproof.bayes.network import Layers, Network, demand_shapes
from shiftproof.bayes.posterior import Models, NetworkPosterior, answers
from shiftproof.bayes.training import Replicates
from shiftproof.errors import InputError


@dataclass(frozen=True, eq=False)
class BankPosterior(NetworkPosterior):
    """K models, each as likely as any other: Q = 1/K sum_k delta(theta_k).

    Given the training data the indices of rows are independent, and so are their models: all that
    the promise of Thompson sampling needs, whatever the models have to do with each other.

    Attributes
    ----------
    layers : tuple of (weights, biases)
        Of each layer, the models stacked.
    log_scale : array (models, outputs)
        log of the scale of the noise in standard units.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes import Ensemble, Network
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> len(Ensemble(Network((8,)), members=3, steps=50).fit(x, x[:, 0], seed=0))
    3
    """

    layers: Layers
    log_scale: jax.Array

    def __post_init__(self) -> None:
        inputs, outputs = self.coding.width, self.coding.outputs
        if len(self) == 0 or self.log_scale.shape != (len(self), outputs):
            expected, got = f"shape (models, {outputs})", f"shape {self.log_scale.shape}"
            raise InputError("log_scale", expected, got, "pass what a fit gave")
        demand_shapes(self.network, self.layers, inputs, outputs, (len(self),))

    def __len__(self) -> int:
        return int(self.log_scale.shape[0])

    def _index(self, keys: KeyArray) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return (keys % np.uint64(len(self))).astype(np.int64)

    def _drawn(self, x: FloatArray, keys: KeyArray) -> FloatArray:
        """Rows are grouped by model; groups are padded to one length, for one program."""
        index = self._index(keys)
        found = np.empty((len(x), self.coding.outputs))
        order = np.argsort(index, kind="stable")
        members, counts = np.unique(index, return_counts=True)
        begins = np.cumsum(counts) - counts
        # Groups are cut to a common length, so that a long one does not make all the others long.
        length = 1 << int(np.ceil(np.log2(max(8.0, len(x) / max(1, len(members))))))
        pieces = [
            (member, order[begin + at : min(begin + at + length, begin + count)])
            for member, begin, count in zip(members, begins, counts, strict=True)
            for at in range(0, count, length)
        ]
        together = max(1, _ROWS_AT_ONCE // length)
        for first in range(0, len(pieces), together):
            part = pieces[first : first + together]
            size = min(together, 1 << (len(part) - 1).bit_length())
            grouped = np.zeros((size, length, x.shape[1]), np.float32)
            which = np.zeros(size, np.int32)
            for place, (member, rows) in enumerate(part):
                grouped[place, : len(rows)] = x[rows]
                which[place] = member
            outputs = _each(self.network, self.law.classifies, self.layers, which, grouped)
            for rows, values in zip((rows for _, rows in part), np.asarray(outputs), strict=False):
                found[rows] = values[: len(rows)]
        return found

    def _models(self, keys: KeyArray) -> Models:
        index = self._index(keys)
        models: Models = jax.tree.map(lambda v: v[index], (self.layers, self.log_scale))
        return models

    def _fixed_models(self) -> Models:
        return self.layers, self.log_scale


def banks(
    law: Law, replicates: Replicates, network: Network, layers: Any, scales: Any, each: int
) -> Iterator[dict[str, Any]]:
    """The fields of one bank for each replicate, from models stacked one after another."""
    for r, coding in enumerate(replicates.codings):
        part = slice(r * each, (r + 1) * each)
        learned = np.asarray(scales)[part]
        known = np.broadcast_to(log_noise(law, learned, coding.labels), learned.shape)
        yield {
            "network": network,
            "law": law,
            "coding": coding,
            "layers": jax.tree.map(lambda values, part=part: np.asarray(values)[part], layers),
            "log_scale": known,
        }


#: Rows, padding included, that are computed at once.
_ROWS_AT_ONCE = 16_384


@partial(jax.jit, static_argnums=(0, 1))
def _each(
    network: Network,
    classifies: bool,
    layers: Layers,
    which: jax.Array,
    grouped: jax.Array,
) -> jax.Array:
    """Each group of rows by its model."""

    def one(pair: tuple[jax.Array, jax.Array]) -> jax.Array:
        member, x = pair
        chosen = jax.tree.map(lambda values: values[member], layers)
        return answers(classifies, network.outputs(chosen, x))

    return jnp.asarray(jax.lax.map(one, (which, grouped)))
