"""Randomness that belongs to a row: a function of (seed, role, id), and of nothing else.

A row keeps its draw whatever the batch size, the order of rows or the number of workers.
`role` separates streams that must be independent: calibration rows and prediction rows must not
share their draws, or the guarantee of weighted conformal risk control is lost.

One 64-bit finalizer (SplitMix64) is written here because a generator object per row is some
hundred times slower and the vectorised generators of numpy are not addressable by row.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass

import numpy as np

from shiftproof._types import ArrayLike, FloatArray, IntArray, KeyArray, ObjectArray
from shiftproof.errors import InputError

#: The roles of rows.
CALIBRATION, PREDICTION = "calibration", "prediction"

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def split_mix(state: KeyArray) -> KeyArray:
    """One output of SplitMix64 for each 64-bit state: an invertible, well mixed function.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.keys import split_mix
    >>> int(split_mix(np.array([1234567], dtype=np.uint64))[0])
    6457827717110365317
    """
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is meant
        mixed = np.add(state, _GOLDEN, dtype=np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result: KeyArray = mixed ^ (mixed >> np.uint64(31))
    return result


def row_keys(seed: int, role: str, ids: ArrayLike | int) -> KeyArray:
    """One 64-bit key per row: key = mix(mix(id) xor stream), stream a digest of (seed, role).

    Parameters
    ----------
    seed : int
        Any integer.
    role : str
        What the draw is for, for example ``"calibration"`` or ``"prediction"``.
    ids : int or array of integers or strings
        The identity of each row; a count n stands for 0, ..., n - 1.

    Examples
    --------
    >>> from shiftproof.keys import row_keys
    >>> [hex(key) for key in row_keys(7, "prediction", [3, 5])]
    ['0xc2482cc8405109da', '0xbdde29bd7ff7b895']
    >>> hex(row_keys(7, "prediction", [5])[0])  # row 5 alone: the same key
    '0xbdde29bd7ff7b895'
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InputError("seed", "an integer", f"{seed!r}", "a random rule needs a stated seed")
    if not isinstance(role, str):
        raise InputError("role", "a word", f"{role!r}", "say what the draw is for")
    digest = hashlib.blake2b(f"{int(seed)}\x00{role}".encode(), digest_size=8).digest()
    stream = np.uint64(int.from_bytes(digest, "little"))
    return split_mix(split_mix(_as_words(ids)) ^ stream)


def checked(keys: ArrayLike, count: int) -> KeyArray:
    """`keys`, if they are one 64-bit word for each of `count` rows.

    Examples
    --------
    >>> from shiftproof.keys import checked
    >>> checked([1, 2], 2)
    array([1, 2], dtype=uint64)
    """
    words = np.asarray(keys)
    repair = "pass keys.row_keys(seed, role, ids)"
    whole = words.dtype.kind in "iu" or not words.size
    if not whole or (words < 0).any():
        got = "a negative one" if whole else f"dtype {words.dtype}"
        raise InputError("keys", "integers from 0 below 2**64", got, repair)
    if words.shape != (count,):
        raise InputError("keys", f"shape ({count},)", f"shape {words.shape}", repair)
    return words.astype(np.uint64)


def uniforms(keys: KeyArray) -> FloatArray:
    """A number strictly between 0 and 1 per key: the middles of 2**52 equal cells.

    Examples
    --------
    >>> from shiftproof.keys import row_keys, uniforms
    >>> uniforms(row_keys(7, "prediction", 2)).round(4)
    array([0.3371, 0.0414])
    """
    return ((keys >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


@dataclass(frozen=True, eq=False)
class Draws:
    """The randomness of some rows in one role; without a seed there is none, and asking fails.

    Parameters
    ----------
    role : str
        ``"calibration"`` or ``"prediction"``.
    count : int
        The number of rows.
    seed : int, optional
    ids : array of integers or strings, optional
        The identity of each row; 0, 1, ... where left out.

    Examples
    --------
    >>> from shiftproof.keys import Draws
    >>> draws = Draws("prediction", 2, seed=7)
    >>> bool((draws.keys("score") == draws.keys("model")).any())  # a stream for each purpose
    False
    """

    role: str
    count: int
    seed: int | None = None
    ids: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.seed is not None:
            row_keys(self.seed, self.role, 0)  # refuses what is no seed, drawn from or not
        if self.ids is None:
            return
        words = _as_words(self.ids)
        if words.shape != (self.count,):
            expected, got = f"shape ({self.count},)", f"shape {words.shape}"
            raise InputError("ids", expected, got, "pass one identity for each row")
        if len(np.unique(words)) < self.count:
            repeated = f"{self.count - len(np.unique(words))} repeated"
            repair = "rows that share an id would share their draws: number the rows"
            raise InputError("ids", "one identity for each row", repeated, repair)

    def keys(self, purpose: str) -> KeyArray:
        """One key for each row; every purpose has a stream of its own."""
        if self.seed is None:
            raise InputError(
                "seed",
                f"an integer, since the {purpose} draws at random",
                "none",
                "pass seed=, for example seed=0",
            )
        if self._is_alone:
            raise InputError(
                "ids",
                f"an id for a row that comes alone, since the {purpose} draws at random",
                "none",
                "rows that are served one by one would all be row 0, and share one draw",
            )
        ids = self.count if self.ids is None else self.ids
        return row_keys(self.seed, f"{self.role}/{purpose}", ids)

    def keys_if_any(self, purpose: str) -> KeyArray | None:
        """As :meth:`keys`, but None where they refuse: for parts that may not draw at all."""
        return None if self.seed is None or self._is_alone else self.keys(purpose)

    @property
    def _is_alone(self) -> bool:
        """A row in use that comes alone, and without an id of its own."""
        return self.ids is None and self.count == 1 and self.role == PREDICTION


def _as_words(ids: ArrayLike | int) -> KeyArray:
    array = np.asarray(ids)
    if array.ndim == 0 and array.dtype.kind in "iu":
        if array < 0:
            raise InputError("ids", "a count of at least 0", f"{array}", "pass the number of rows")
        return np.arange(int(array), dtype=np.uint64)
    if array.size == 0:
        return np.empty(array.shape, dtype=np.uint64)
    if array.dtype == object:
        array = _integers(array)
    if array.dtype.kind == "u":
        return array.astype(np.uint64)
    if array.dtype.kind == "i":
        return array.astype(np.int64).view(np.uint64)
    named = isinstance(ids, np.ndarray) and array.dtype.kind == "U"
    if named or all(isinstance(name, str) for name in np.asarray(ids, dtype=object).ravel()):
        names = (hashlib.blake2b(str(name).encode(), digest_size=8) for name in array.ravel())
        words = [int.from_bytes(name.digest(), "little") for name in names]
        return np.array(words, dtype=np.uint64).reshape(array.shape)
    raise InputError(
        "ids",
        "integers or strings",
        f"dtype {array.dtype}",
        "floats, bytes and mixtures do not identify a row",
    )


def _integers(array: ObjectArray) -> KeyArray | IntArray | ObjectArray:
    """An array of objects as integers, if they are all that, and of a size that has a type."""
    integers = (isinstance(one, (int, np.integer)) for one in array.flat)
    if all(integers) and not any(isinstance(one, (bool, np.bool_)) for one in array.flat):
        with contextlib.suppress(OverflowError):
            return np.array(array.tolist(), dtype=np.int64)
        with contextlib.suppress(OverflowError):
            return np.array(array.tolist(), dtype=np.uint64)
    return array
