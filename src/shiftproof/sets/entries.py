"""Sets of labels: each label enters at a threshold of its own.

Gamma(x, lam) = { k : entry_k(x) <= lam }
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftproof._types import BoolArray, FloatArray
from shiftproof.sets.finished import FinishedSets


@dataclass(frozen=True, eq=False, repr=False)
class EntryNest(ABC):
    """Rows (n, K) of thresholds at which labels enter."""

    entries: FloatArray
    lower: float

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def labels(self) -> int:
        """K, the number of labels."""
        return int(self.entries.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the labels of one row."""
        return (self.labels,)

    @abstractmethod
    def truth(self, y: object) -> BoolArray:
        """Which labels are true, (n, K)."""

    @abstractmethod
    def entry(self, y: object) -> FloatArray:
        """The threshold from which on all true labels are in the set."""

    @abstractmethod
    def at(self, thresholds: FloatArray) -> EntrySets:
        """The sets at one threshold for each row."""

    def whole(self) -> FloatArray:
        """The threshold from which on all labels are in the set."""
        return self._whole

    def least(self) -> FloatArray:
        """Just below the first label: the set is empty; the lower end where that is above."""
        first = self.entries.min(axis=1)
        return np.asarray(np.maximum(np.nextafter(first, -np.inf), self.lower))

    def jumps(self) -> FloatArray:
        """The thresholds (n, K) at which the set of each row changes, ascending."""
        return np.sort(self.entries, axis=1)

    @cached_property
    def _whole(self) -> FloatArray:
        whole: FloatArray = self.entries.max(axis=1)
        return whole


class EntrySets(FinishedSets[EntryNest]):
    """Finished sets of labels."""

    @property
    def members(self) -> BoolArray:
        """Which labels are in each set, in the shape of the predictions."""
        return self.flat.reshape(len(self), *self.nest.shape)

    @cached_property
    def flat(self) -> BoolArray:
        """Which labels are in each set, (m, K)."""
        members: BoolArray = self.nest.entries <= self.threshold[:, None]
        return members

    def size(self) -> FloatArray:
        """How many labels are in each set."""
        return np.asarray(self.flat.sum(axis=1), dtype=np.float64)

    def relative_size(self) -> FloatArray:
        """The share of all labels that is in each set."""
        return self.size() / self.nest.labels
