"""The group of each row: a column of labels, or a function of the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from shiftproof._tables import Array, Column, Table
from shiftproof._types import ArrayLike
from shiftproof.errors import InputError

Grouping: TypeAlias = Column | Callable[..., ArrayLike]


def demand_grouping(group: Grouping) -> None:
    """Raise unless it says where the group of a row stands."""
    named = isinstance(group, (str, int)) and not isinstance(group, bool)
    if not callable(group) and not named:
        raise InputError(
            "group",
            "a column or a function of the inputs",
            f"{group!r}",
            "say where the group of a row stands",
        )


def labels_of(group: Grouping, table: Table) -> Array:
    """The label of each row, none missing; as read from a column, or as the function says."""
    if callable(group):
        labels = np.asarray(group(table.native()))
        if labels.shape != (len(table),):
            expected, got = f"shape ({len(table)},)", f"shape {labels.shape}"
            raise InputError("group(X)", expected, got, "one label for each row")
        values = Table.of("group(X)", labels).column(0)
    else:
        values = table.column(group)
    missing = [value is None or value != value for value in values.tolist()]
    if any(missing):
        raise InputError(
            f"groups in {table.what}",
            "a label in every row",
            f"{sum(missing)} missing, the first in row {missing.index(True)}",
            "drop these rows, or make missing a group of its own",
        )
    return values
