"""Keys of the house as keys of jax: all 64 bits, none folded away.

A threefry key is two words of 32 bits, so that a 64-bit key is one as it stands.
`jax.random.fold_in` takes one word of 32 bits and would truncate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from shiftproof._types import KeyArray
from shiftproof.keys import row_keys

#: Pairs of 32-bit words.
Words: TypeAlias = NDArray[np.uint32]

_IMPLEMENTATION = "threefry2x32"  # whatever the default of the session is


def halves(keys: KeyArray) -> Words:
    """The high and the low 32 bits of each key, side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.bayes.streams import halves
    >>> halves(np.array([2**32 + 7], dtype=np.uint64))
    array([[1, 7]], dtype=uint32)
    """
    words = np.asarray(keys, dtype=np.uint64)
    return np.stack([words >> np.uint64(32), words & np.uint64(2**32 - 1)], -1).astype(np.uint32)


def streams(words: Words | jax.Array) -> jax.Array:
    """Keys of jax from pairs of 32-bit words; may be called inside compiled functions."""
    keys: jax.Array = jax.random.wrap_key_data(jnp.asarray(words), impl=_IMPLEMENTATION)
    return keys


def of_seeds(seeds: Sequence[int], purpose: str, each: int = 1) -> Words:
    """`each` streams for every seed and purpose, one seed after another; any integer is a seed."""
    return halves(np.concatenate([row_keys(seed, f"bayes/{purpose}", each) for seed in seeds]))
