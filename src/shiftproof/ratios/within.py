"""Calibration within groups: no weights, and a promise for every group at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray, KeyArray
from shiftproof.contracts import Assumption, Certainty
from shiftproof.ratios.labels import Grouping, demand_grouping, labels_of
from shiftproof.ratios.roles import row_digests
from shiftproof.risk import LossCurves, Strata, StratifiedCurve

#: Digests are cut to what a float holds exactly.
_EXACT = np.uint64(12)


@dataclass(frozen=True, eq=False)
class WithinGroups:
    """In place of a ratio: each group is calibrated on its own examples alone.

    Needs no rates: the promise E[loss | group] <= alpha holds whatever the mixture of groups in
    use, if inputs and labels inside a group have one law in calibration and in use. Sets are larger
    than with weights, since each group has fewer examples. A group that calibration never saw gets
    the worst case alone.

    Parameters
    ----------
    group : str, int or callable
        The column with the labels of groups; or a function from the inputs, as they came, to them.
        The number 1 and the text "1" are two groups.
        The number 1 and the text "1" are two groups.

    Examples
    --------
    >>> import pandas as pd
    >>> import shiftproof as shp
    >>> ratio = shp.WithinGroups("stations")
    >>> messages = pd.DataFrame({"stations": ["on"] * 4 + ["off"] * 4})
    >>> losses = shp.LossCurves.steps([0.1, 0.2, 0.3, 0.4, 1.0, 2.0, 3.0, 4.0])
    >>> new = pd.DataFrame({"stations": ["off", "on", "standby"]})
    >>> ratio.curve(losses, messages).threshold(0.2, ratio.weights(new), worst=1.0)
    array([4. , 0.4, inf])
    """

    group: Grouping

    def __post_init__(self) -> None:
        demand_grouping(self.group)

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The column of groups; all where groups are a function of the inputs."""
        return None if callable(self.group) else (self.group,)

    @property
    def assumption(self) -> Assumption:
        """That groups are alike inside."""
        return Assumption(
            Certainty.GIVEN_WEIGHTS,
            "inputs and labels of one group have one law in calibration and in use",
            "E[loss | group] <= alpha for each group, whatever the mixture of groups in use, on "
            "average over calibration draws and test points",
        )

    def weights(self, X: object, keys: KeyArray | None = None) -> Strata:
        """The group of each test point."""
        del keys
        return Strata(self._codes(Table.of("X", X)))

    def curve(self, losses: LossCurves, X: object) -> StratifiedCurve:
        """A curve for each group of the calibration examples."""
        table = Table.of("calibration inputs", X)
        _checks.same_rows(table.what, len(table), len(losses))
        return StratifiedCurve(losses, self._codes(table))

    def _codes(self, table: Table) -> FloatArray:
        """A number for each label, a function of the label alone."""
        labels = labels_of(self.group, table)
        return (row_digests(labels) >> _EXACT).astype(np.float64)
