"""Rows for training, calibration and test: at random, by blocks of time, by place.

Weighted conformal risk control takes calibration and test points as independent draws that differ
by the ratio alone. A random split gives that. Blocks of time or of place do not: they show what a
network that changes, or a device that turns up elsewhere, makes of the promise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray, IntArray
from shiftproof.errors import InputError
from shiftproof.localization.fingerprints import Fingerprints, messages_of


class Split(ABC):
    """A way to give rows to parts; no row is in two of them.

    First all rows are dealt out in blocks of sizes like those asked for, then each part draws its
    rows from its own block.
    """

    def split(
        self,
        fingerprints: Fingerprints,
        sizes: Mapping[str, float],
        rng: np.random.Generator,
    ) -> dict[str, IntArray]:
        """The rows of each part, in random order.

        Parameters
        ----------
        fingerprints : Fingerprints
        sizes : mapping from the name of a part to its size
            Whole numbers of rows, which are met exactly or refused; or shares of all rows, floats
            that sum to at most 1, met as nearly as the blocks of this draw allow. A part without
            any row is refused.
        rng : numpy.random.Generator
        """
        count = len(messages_of("fingerprints", fingerprints))
        _checks.instance("rng", rng, np.random.Generator, "pass numpy.random.default_rng(seed)")
        asked, exact = _sizes(sizes, count)
        parts = self._parts(fingerprints, asked, rng)
        found = {}
        for index, (name, size) in enumerate(zip(sizes, asked.tolist(), strict=True)):
            rows = rng.permutation(np.flatnonzero(parts == index))
            if len(rows) < (size if exact else 1):
                wanted = f"{size if exact else 'at least one'} in whole blocks"
                repair = "draw again, or ask for " + ("fewer, or for shares" if exact else "more")
                raise InputError(f"rows for {name}", wanted, f"{len(rows)}", repair)
            found[name] = rows[:size]
        return found

    @abstractmethod
    def _parts(
        self, fingerprints: Fingerprints, asked: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """The part that each row may serve, (n,), in proportion to the sizes that are asked."""


@dataclass(frozen=True)
class AtRandom(Split):
    """Each row anywhere: what the promise assumes.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import AtRandom, Simulator
    >>> rng = np.random.default_rng(0)
    >>> messages = Simulator().build(rng).messages(1000, rng)
    >>> rows = AtRandom().split(messages, {"training": 500, "calibration": 100}, rng)
    >>> [len(part) for part in rows.values()], len(np.intersect1d(*rows.values()))
    ([500, 100], 0)
    """

    def _parts(
        self, fingerprints: Fingerprints, asked: IntArray, rng: np.random.Generator
    ) -> IntArray:
        parts = np.full(len(fingerprints), -1, dtype=np.int64)
        parts[: asked.sum()] = np.repeat(np.arange(len(asked)), asked)
        return rng.permutation(parts)


@dataclass(frozen=True)
class ByTime(Split):
    """Blocks of time, in the order of the parts: every row of one is earlier than all of the next.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import ByTime, Simulator
    >>> rng = np.random.default_rng(0)
    >>> messages = Simulator().build(rng).messages(1000, rng)
    >>> rows = ByTime().split(messages, {"training": 0.5, "test": 0.5}, rng)
    >>> bool(messages.times[rows["training"]].max() < messages.times[rows["test"]].min())
    True
    """

    def _parts(
        self, fingerprints: Fingerprints, asked: IntArray, rng: np.random.Generator
    ) -> IntArray:
        del rng
        if fingerprints.times is None:
            repair = "say which column holds them, FingerprintTable(time=...), or split at random"
            raise InputError("times", "a time for each message", "none", repair)
        seconds = fingerprints.times.astype(np.int64)
        shares = np.cumsum(asked)[:-1] / asked.sum()
        ordered = np.sort(seconds)
        # A block starts at a moment, so that messages of one moment are never parted.
        starts = ordered[np.minimum((shares * len(ordered)).round().astype(int), len(ordered) - 1)]
        return np.asarray(np.searchsorted(starts, seconds, side="right"))


@dataclass(frozen=True)
class ByPlace(Split):
    """Square cells of the map: all messages of a cell serve one part.

    Cells come in random order, and each goes to the part that lacks the largest share of its rows;
    of up to twenty orders the one is taken that leaves parts with fewest rows too few. Where few
    cells hold most messages parts are of uneven make, and differ from draw to draw.

    Parameters
    ----------
    cell : float
        The side of a cell in kilometres.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import ByPlace, Simulator
    >>> rng = np.random.default_rng(0)
    >>> messages = Simulator().build(rng).messages(1000, rng)
    >>> rows = ByPlace().split(messages, {"training": 0.5, "test": 0.5}, rng)
    >>> cells = [set(map(tuple, np.floor(messages.places[part]))) for part in rows.values()]
    >>> cells[0] & cells[1]
    set()
    """

    cell: float = 1.0

    def __post_init__(self) -> None:
        side = _checks.scalar("cell", self.cell, "pass kilometres")
        if not 0 < side < math.inf:
            raise InputError("cell", "a side above 0", f"{self.cell!r}", "pass kilometres")

    def _parts(
        self, fingerprints: Fingerprints, asked: IntArray, rng: np.random.Generator
    ) -> IntArray:
        cells, rows = cells_of(fingerprints.places, self.cell)
        nearest, least = np.zeros(len(rows), dtype=np.int64), math.inf
        for _ in range(_ORDERS):
            served, missing = _dealt(rows, asked, rng.permutation(len(rows)))
            if missing < least:
                nearest, least = served, missing
            if not missing:
                break
        return nearest[cells]


#: So many random orders of cells are tried for one that gives every part its rows.
_ORDERS = 20


def _dealt(rows: IntArray, asked: IntArray, order: IntArray) -> tuple[IntArray, float]:
    """The part that each cell serves, dealt out in this order, and the rows that are lacking."""
    wanted = asked / asked.sum() * rows.sum()
    there = np.zeros(len(asked))
    served = np.zeros(len(rows), dtype=np.int64)
    for cell in order:
        lacking = np.maximum(asked - there, 0) / asked
        if not lacking.any():  # all have what was asked for: the rest in proportion
            lacking = (wanted - there) / wanted
        served[cell] = int(np.argmax(lacking))
        there[served[cell]] += rows[cell]
    return served, float(np.maximum(asked - there, 0).sum())


def cells_of(places: FloatArray, side: float) -> tuple[IntArray, IntArray]:
    """The square cell that each place lies in, (n,), and how many lie in each cell.

    Cells are counted from the origin of the kilometres.
    """
    corners = np.floor(places / side).astype(np.int64)
    _, cells, rows = np.unique(corners, axis=0, return_inverse=True, return_counts=True)
    return cells.reshape(-1), rows


def _sizes(sizes: Mapping[str, float], count: int) -> tuple[IntArray, bool]:
    """Rows for each part, and whether these numbers are meant exactly."""
    if not isinstance(sizes, Mapping) or not sizes:
        repair = 'for example {"training": 1000, "calibration": 500, "test": 600}'
        raise InputError("sizes", "a mapping from part to size", f"{sizes!r}", repair)
    kinds = {_kind(name, size) for name, size in sizes.items()}
    if len(kinds) > 1:
        expected = "numbers of rows, or shares of all rows"
        raise InputError("sizes", expected, "both", "1 is one row, 1.0 is all rows: choose one")
    values = np.array(list(sizes.values()), dtype=np.float64)
    exact = kinds == {"rows"}
    whole = values.sum()
    if whole > (count if exact else 1 + 1e-9):
        unit = "rows" if exact else "of all rows"
        repair = "ask for fewer; a row serves one part only"
        raise InputError("sizes", f"at most {count if exact else 1:,} {unit}", f"{whole:g}", repair)
    rows = values if exact else np.floor(values * count + 1e-9)
    if not rows.all():
        raise InputError("sizes", "at least one row for each part", "none", "ask for more")
    return rows.astype(np.int64), exact


def _kind(name: str, size: object) -> str:
    usable = isinstance(size, (int, float, np.integer, np.floating))
    if isinstance(size, (bool, np.bool_)) or not usable or not 0 < size < math.inf:  # type: ignore[operator]
        repair = "pass 500 rows, or a share such as .5"
        raise InputError(f"size of {name}", "a number above 0", f"{size!r}", repair)
    return "rows" if isinstance(size, (int, np.integer)) else "shares"
