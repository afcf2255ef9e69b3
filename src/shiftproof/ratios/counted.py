"""Rates of groups counted from two samples of inputs, as a recipe that waits for the samples."""

from __future__ import annotations

from dataclasses import dataclass

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof.confidence import probability
from shiftproof.errors import InputError
from shiftproof.ratios.groups import GroupIntervals, GroupRatio
from shiftproof.ratios.labels import Grouping, demand_grouping


@dataclass(frozen=True, eq=False)
class CountedRatio:
    """A recipe: the rates of groups, counted from inputs of both distributions.

    ``CountedRatio(group).fit(source, target)`` is ``GroupRatio(group, source=source,
    target=target)``; with a delta it is ``.within(delta)`` of that, the worst case over all rates
    that the counts allow.

    Parameters
    ----------
    group : str, int or callable
        The column with the labels of groups; or a function from the inputs, as they came, to them.
    delta : float, optional
        The probability with which the rates may lie outside their bounds; counted rates are used
        as they are where it is left out.
    paid : bool
        Whether delta is paid from alpha, or stated beside it.

    Examples
    --------
    >>> import shiftproof as shp
    >>> source, target = ["off"] * 100 + ["on"] * 100, ["off"] * 180 + ["on"] * 20
    >>> shp.CountedRatio(0).fit(source, target).weights(["off", "on"])
    array([1.8, 0.2])
    >>> sure = shp.CountedRatio(0, delta=0.1).fit(source, target)
    >>> sure.weights(["off", "on"]).candidates.round(2)
    array([[1.49, 0.35],
           [2.19, 0.11]])
    """

    group: Grouping
    delta: float | None = None
    paid: bool = False

    def __post_init__(self) -> None:
        demand_grouping(self.group)
        if self.delta is not None:
            probability("delta", self.delta)
        if _checks.flag("paid", self.paid) and self.delta is None:
            raise InputError("delta", "a probability that is paid", "none", "for example delta=0.1")

    def fit(self, source: object, target: object) -> GroupRatio | GroupIntervals:
        """Count the groups of both samples.

        Parameters
        ----------
        source : table or array (n_s, d)
            Inputs from P, others than those that calibrate.
        target : table or array (n_t, d)
            Inputs from P'.
        """
        samples = {"source": Table.of("source", source), "target": Table.of("target", target)}
        ratio = GroupRatio(self.group, **{name: rows.native() for name, rows in samples.items()})
        return ratio if self.delta is None else ratio.within(self.delta, paid=self.paid)
