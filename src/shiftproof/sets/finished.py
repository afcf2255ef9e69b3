"""What all finished sets answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import narwhals as nw

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof._types import ArrayLike, BoolArray, FloatArray, ObjectArray
from shiftproof.contracts import Nest
from shiftproof.errors import InputError

AnyNest = TypeVar("AnyNest", bound=Nest)


@dataclass(frozen=True, eq=False, repr=False)
class FinishedSets(ABC, Generic[AnyNest]):
    """Prediction sets, one for each row: a nest at its thresholds.

    Membership is decided by scores, in the very numbers that calibrated the threshold, so that no
    rounding of an end or a radius comes between a score and a threshold that is equal to it.

    Attributes
    ----------
    nest : Nest
    threshold : array (m,)
    """

    nest: AnyNest
    threshold: FloatArray
    #: What tells the outcomes; the kind of table that the inputs came in, and its index.
    reason: Callable[[], ObjectArray] | None = field(default=None, repr=False)
    kind: Any = field(default=None, repr=False)
    index: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.threshold)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} sets, {int(self.whole.sum())} whole)"

    @cached_property
    def whole(self) -> BoolArray:
        """Which sets are the whole label space."""
        whole: BoolArray = self.threshold >= self.nest.whole()
        return whole

    @cached_property
    def outcome(self) -> ObjectArray:
        """Why each set is what it is: an array of :class:`~shiftproof.Outcome`."""
        if self.reason is None:
            raise InputError(
                "sets",
                "sets of a calibrated rule",
                "sets at thresholds that were chosen by hand",
                "only a rule has reasons: RiskController(...).calibrate(...).predict(...)",
            )
        return self.reason()

    @property
    def bounded(self) -> bool:
        """Whether the label space has an end, so that sizes are shares of it."""
        return True

    def contains(self, y: object) -> BoolArray:
        """Whether each set holds its label."""
        inside: BoolArray = self.nest.entry(y) <= self.threshold
        return inside

    @abstractmethod
    def size(self) -> FloatArray:
        """How large each set is."""

    @abstractmethod
    def relative_size(self) -> FloatArray:
        """The size as a share of the label space."""

    @abstractmethod
    def geometry(self) -> dict[str, Any]:
        """The columns of a table that are the sets themselves."""

    def columns(self) -> dict[str, Any]:
        """The sets as columns: geometry, threshold, whether whole, and the outcome in a word."""
        found = self.geometry() | {"threshold": self.threshold, "whole": self.whole}
        if self.reason is not None:
            found["outcome"] = [outcome.name.lower() for outcome in self.outcome]
        return found

    def to_frame(self, kind: str | None = None) -> Any:
        """The sets as a table.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"}, optional
            That of the inputs where left out, with their index if they have one; pandas where they
            were an array.
        """
        backend: Any = kind or self.kind or "pandas"
        unusable = InputError(
            "kind", "pandas, polars or pyarrow, installed", f"{backend!r}", "name another kind"
        )
        if kind not in (None, "pandas", "polars", "pyarrow"):
            raise unusable
        try:
            frame = nw.from_dict(self.columns(), backend=backend)
        except (ValueError, ModuleNotFoundError) as cause:
            raise unusable from cause
        table: Any = frame.to_native()
        if self.index is not None and frame.implementation.is_pandas_like():
            table.index = self.index
        return table

    def because(self, reason: Callable[[], ObjectArray]) -> Self:
        """The same sets, with what tells their outcomes."""
        return replace(self, reason=reason)

    def like(self, table: Table) -> Self:
        """The same sets, which turn into a table of the kind of this one, row by row."""
        if not isinstance(table.source, nw.DataFrame):
            return self
        index = nw.maybe_get_index(table.source)
        return replace(self, kind=table.source.implementation, index=index)


def thresholds_of(thresholds: ArrayLike, nest: Nest) -> FloatArray:
    """One threshold for each row."""
    return _checks.each("thresholds", thresholds, len(nest))
