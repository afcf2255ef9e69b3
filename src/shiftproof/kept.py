"""What a calibration keeps of its inputs, and what inputs in use must have in common with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof._tables import Column, Table
from shiftproof.contracts import Ratio
from shiftproof.errors import InputError


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of the calibration inputs for what-ifs: columns that ratios read, or all."""

    inputs: object
    complete: bool
    rows: int
    #: The names of all columns of a table, or the shape of one row of an array.
    names: tuple[Column, ...] | None
    shape: tuple[int, ...] | None

    @classmethod
    def of(cls, table: Table, columns: tuple[Column, ...] | None, more: tuple[Column, ...]) -> Kept:
        """A copy of these columns; of all where `columns` is None, and of all of an array."""
        asked = tuple(dict.fromkeys([*(columns or ()), *more]))
        table.require(asked)
        names = table.names if table.is_named else None
        layout = names, None if table.is_named else np.shape(table.source)[1:]
        if columns is not None and not asked:
            return cls(None, False, len(table), *layout)
        if isinstance(table.source, np.ndarray):
            return cls(table.copied(), True, len(table), *layout)
        part = table if columns is None else table.select(asked)
        complete = len(part.names) == len(table.names)
        return cls(part.copied(), complete, len(table), *layout)

    def aligned(self, table: Table, *, by_name: bool) -> Table:
        """The table, laid out as in calibration.

        Where all that reads it reads by name nothing is asked for here. Else columns are put into
        the order of calibration, and none may be missing: a model that reads by place would take
        one for another.
        """
        if table.is_named != (self.names is not None):
            kinds = ("a table with named columns", "an array")
            expected, got = kinds if self.names is not None else kinds[::-1]
            raise InputError(table.what, f"{expected}, as in calibration", got, "pass that kind")
        if self.names is None:
            found = np.shape(table.source)[1:]
            if found != self.shape:
                expected = f"rows of shape {self.shape}, as in calibration"
                got = f"rows of shape {found}"
                raise InputError(table.what, expected, got, "pass the same inputs")
            return table
        if by_name or table.names == self.names:
            return table
        absent = [name for name in self.names if name not in table.names]
        if absent:
            raise InputError(
                table.what,
                f"the columns of calibration, {list(self.names)}",
                f"no {absent}",
                "pass them, or say which columns the model reads: OnColumns(model, names)",
            )
        return table.select(self.names)

    def inputs_for(self, ratio: Ratio[Any]) -> object:
        """What is kept, if it is all that the ratio may read."""
        if ratio.columns == ():
            return np.empty((self.rows, 0))
        if self.inputs is None or (ratio.columns is None and not self.complete):
            wanted = "all columns" if ratio.columns is None else f"columns {list(ratio.columns)}"
            kept = "none" if self.inputs is None else f"{list(Table.of('X', self.inputs).names)}"
            raise InputError(
                "calibration inputs",
                wanted,
                f"{kept} that were kept",
                "name them when calibrating: calibrate(X, y, keep=[...])",
            )
        return self.inputs
