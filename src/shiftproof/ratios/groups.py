"""Finite groups: rates that are known, counted or supposed, and what counting leaves open."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column, Table, row_count
from shiftproof._types import FloatArray, IntArray, KeyArray, ObjectArray
from shiftproof.confidence import probability, rate_interval
from shiftproof.contracts import UP_TO_ITS_ERROR, Assumption, Certainty
from shiftproof.errors import InputError
from shiftproof.ratios.labels import Grouping, demand_grouping, labels_of
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger, note_calibration
from shiftproof.risk import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    LossCurves,
    Price,
    PricedCurve,
    ThresholdRule,
    WeightBox,
    rate_vertices,
)
from shiftproof.risk.sums import rational

#: Rates that were written down may miss a sum of 1 by so much.
_SUM = 1e-9

#: So many groups at most: exact vertices with known source rates, and with counted ones.
_VERTICES, _CORNERS = 12, 4


@dataclass(frozen=True)
class Counts:
    """How often each group was seen.

    Parameters
    ----------
    of : mapping from group to a whole number

    Examples
    --------
    >>> import shiftproof as shp
    >>> counts = shp.Counts({"off": 180, "on": 20})
    >>> counts.total, {group: str(rate) for group, rate in counts.rates.items()}
    (200, {'off': '9/10', 'on': '1/10'})
    """

    of: Mapping[Hashable, int]

    def __post_init__(self) -> None:
        if not isinstance(self.of, Mapping) or not self.of:
            repair = 'for example Counts({"off": 180, "on": 20})'
            raise InputError("counts", "a mapping from group to count", f"{self.of!r}", repair)
        for group, count in self.of.items():
            whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
            if not whole or count < 0:
                expected = "whole numbers of at least 0"
                raise InputError(
                    "counts", expected, f"{count!r} for {group!r}", "rates go in as they are"
                )
        object.__setattr__(self, "of", dict(self.of))
        if self.total == 0:
            raise InputError("counts", "at least one count above 0", "none", "count something")

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(sum(self.of.values()))

    @property
    def rates(self) -> dict[Hashable, Fraction]:
        """The share of each group."""
        return {group: Fraction(int(count), self.total) for group, count in self.of.items()}

    def interval(self, group: Hashable, delta: float) -> tuple[float, float]:
        """Clopper-Pearson: holds the rate of the group with probability 1 - delta at least."""
        return rate_interval(int(self.of.get(group, 0)), self.total, delta)


@dataclass(frozen=True, eq=False)
class GroupRatio(PlainRatio):
    """w = target rate / source rate of the group that a row is in.

    Inside a group inputs in use have to be as inputs in calibration. A group that occurs in the
    target alone lies outside the support: its ratio is inf, and its sets are those of the worst
    case. Labels of groups match as Python objects do, so 1, 1.0 and True are one label.

    Parameters
    ----------
    group : str, int or callable
        The column with the labels of groups; or a function from the inputs, as they came, to them.
    source, target : mapping, Counts or table
        Rates that are known or supposed, a mapping that sums to 1; or how often each group was
        counted; or a table of inputs, to be counted here. What was counted has to share a group
        with the other side.

    Examples
    --------
    Stations are off in half of the source, and will be in nine tenths of the target:

    >>> import pandas as pd, shiftproof as shp
    >>> ratio = shp.GroupRatio(
    ...     "stations", source={"off": 0.5, "on": 0.5}, target={"off": 0.9, "on": 0.1}
    ... )
    >>> messages = pd.DataFrame({"stations": ["off", "on", "off"]})
    >>> ratio.weights(messages)
    array([1.8, 0.2, 1.8])

    Counted from 200 messages without labels, with 90 per cent confidence:

    >>> sure = ratio.under(shp.Counts({"off": 180, "on": 20})).within(0.1)
    >>> sure.weights(messages).candidates.round(3)
    array([[1.716, 0.284, 1.716],
           [1.865, 0.135, 1.865]])
    """

    group: Grouping
    source: Mapping[Hashable, float] | Counts
    target: Mapping[Hashable, float] | Counts
    made_from: Ledger = field(default_factory=Ledger)

    def __init__(
        self,
        group: Grouping,
        *,
        source: Mapping[Hashable, float] | Counts | object,
        target: Mapping[Hashable, float] | Counts | object,
    ) -> None:
        demand_grouping(group)
        object.__setattr__(self, "group", group)
        ledger = Ledger()
        for name, given in (("source", source), ("target", target)):
            rates = dict(given) if isinstance(given, Mapping) else given
            if not isinstance(given, (Mapping, Counts)):
                table = _table_to_count(name, given)
                rates = self._counted(table)
                ledger = _noted(ledger, f"ratio_{name}", table, len(rates.of))
            object.__setattr__(self, name, rates)
        object.__setattr__(self, "made_from", ledger)
        self._demand_a_common_group()

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The column of groups; all where groups are a function of the inputs."""
        return None if callable(self.group) else (self.group,)

    @property
    def ledger(self) -> Ledger:
        """The tables that were counted, where their rows are more than a label."""
        return self.made_from

    @property
    def groups(self) -> list[Hashable]:
        """All groups, of source and target."""
        return list(dict.fromkeys([*self._rates_of("source"), *self._rates_of("target")]))

    @property
    def assumption(self) -> Assumption:
        """That the rates are right, and inputs inside a group alike."""
        given = {name: getattr(self, name) for name in _BOTH}
        counted = [name for name, rates in given.items() if isinstance(rates, Counts)]
        basis = [
            f"{name} rates "
            + (f"counted from {rates.total} rows" if name in counted else "as given")
            for name, rates in given.items()
        ]
        alone = f"{_listed(self.outside)}: in the target alone, so the ratio is infinite there"
        return Assumption(
            Certainty.ESTIMATED if counted else Certainty.GIVEN_WEIGHTS,
            "; ".join([*basis, "inputs of one group alike in source and target"]),
            UP_TO_ITS_ERROR if counted else Assumption.promise,
            cautions=(alone,) if self.outside else (),
        )

    @property
    def outside(self) -> list[Hashable]:
        """Groups of the target that the source does not have."""
        source, target = self._rates_of("source"), self._rates_of("target")
        return [group for group, rate in target.items() if rate and not source.get(group)]

    @property
    def known_source(self) -> dict[Hashable, float] | None:
        """The rates of groups in the source; None where they were counted."""
        if isinstance(self.source, Counts):
            return None
        return {group: float(rate) for group, rate in self._rates_of("source").items()}

    def target_rate(self, group: Hashable) -> float:
        """The rate of a group in the target."""
        return float(self._rates_of("target").get(group, Fraction(0)))

    def ratio_of(self, group: Hashable) -> float:
        """W of one group; inf outside the support of the source."""
        source, target = (self._rates_of(name).get(group, Fraction(0)) for name in _BOTH)
        if not source:
            return float("inf") if target else 0.0
        return float(target / source)

    def under(self, target: Mapping[Hashable, float] | Counts | object) -> GroupRatio:
        """The same source with other target rates: a what-if.

        Examples
        --------
        >>> import shiftproof as shp
        >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.5, 1: 0.5})
        >>> ratio.under({0: 0.9, 1: 0.1}).weights([0, 1])
        array([1.8, 0.2])
        """
        other = GroupRatio(self.group, source=self.source, target=target)
        ledger = self.made_from.only("ratio_source")
        if not ledger.digests:
            return other
        if not isinstance(target, (Mapping, Counts)):
            table = _table_to_count("target", target)
            ledger = _noted(ledger, "ratio_target", table, len(self._counted(table).of))
        object.__setattr__(other, "made_from", ledger)
        return other

    def within(self, delta: float, *, paid: bool = False) -> GroupIntervals:
        """The worst case over all rates that the counts allow, with confidence 1 - delta.

        Parameters
        ----------
        delta : float
            The probability with which the rates may lie outside.
        paid : bool
            Whether delta is paid from alpha (E[loss] <= alpha without a condition), or stated
            beside it (E[loss | counts] <= alpha with confidence 1 - delta).
        """
        return GroupIntervals(self, delta, paid)

    def labels_of(self, X: object) -> ObjectArray:
        """The group of each row.

        Examples
        --------
        >>> import shiftproof as shp
        >>> ratio = shp.GroupRatio(lambda x: x[:, 0] > 2, source=[[1], [3]], target=[[3], [4]])
        >>> ratio.labels_of([[5], [0]]).tolist()
        [True, False]
        """
        found: dict[Hashable, int] = {}
        codes = self._codes(Table.of("X", X), found)
        names = np.empty(len(found), dtype=object)
        names[:] = list(found)
        labels: ObjectArray = names[codes]
        return labels

    def known_codes(self, table: Table) -> IntArray:
        """The position in `groups` of each row's group; an error for groups without rates."""
        places = {group: place for place, group in enumerate(self.groups)}
        codes = self._codes(table, places)
        strange = list(places)[len(self.groups) :]
        if strange:
            raise InputError(
                f"groups in {table.what}",
                f"groups among {_listed(self.groups)}",
                _listed(strange),
                "give them a rate, 0 where they do not occur, or pool them with others",
            )
        return codes

    def _ratio(self, table: Table) -> FloatArray:
        each = np.array([self.ratio_of(group) for group in self.groups])
        return each[self.known_codes(table)]

    def calibration_weights(self, X: object, count: int) -> FloatArray:
        """W at calibration inputs; an error where a group has no source rate but is there."""
        self.demand_support(Table.of("calibration inputs", X))
        return super().calibration_weights(X, count)

    def demand_support(self, table: Table) -> None:
        """Raise where calibration rows are in a group that the source is said not to have."""
        source = self._rates_of("source")
        seen = [self.groups[code] for code in np.unique(self.known_codes(table))]
        absent = [group for group in seen if not source.get(group)]
        if absent:
            raise InputError(
                "calibration inputs",
                "groups with a source rate above 0",
                f"rows in {_listed(absent)}",
                "these rows show that the source has the group: mend its rate",
            )

    def _demand_a_common_group(self) -> None:
        """Raise where what was counted on one side is nothing that the other side knows."""
        source, target = (self._rates_of(name) for name in _BOTH)
        counted = [name for name in _BOTH if isinstance(getattr(self, name), Counts)]
        if counted and not set(source) & set(target):
            name = counted[-1]
            seen, known = (target, source) if name == "target" else (source, target)
            raise InputError(
                name,
                f"rows in some of the groups {_listed(list(known))}",
                f"the groups {_listed(list(seen))}",
                "rates go in as a mapping, for example {0: .9, 1: .1}; else spell groups alike",
            )

    def _counted(self, table: Table) -> Counts:
        found: dict[Hashable, int] = {}
        times = np.bincount(self._codes(table, found))
        return Counts(dict(zip(found, times.tolist(), strict=True)))

    def _codes(self, table: Table, places: dict[Hashable, int]) -> IntArray:
        """The place of each row's label; labels that are new are added to `places`."""
        values = labels_of(self.group, table)
        codes = [places.setdefault(value, len(places)) for value in values.tolist()]
        return np.array(codes, dtype=np.int64)

    def _rates_of(self, name: str) -> dict[Hashable, Fraction]:
        return self._rates[name]

    @cached_property
    def _rates(self) -> dict[str, dict[Hashable, Fraction]]:
        return {name: self._shares(name) for name in _BOTH}

    def _shares(self, name: str) -> dict[Hashable, Fraction]:
        """The rates of one side, with a sum of exactly 1."""
        given = getattr(self, name)
        if isinstance(given, Counts):
            return given.rates
        if not given:
            raise InputError(
                name, "at least one group", "none", 'for example {"off": .9, "on": .1}'
            )
        values = _checks.vector(f"{name} rates", list(given.values()))
        good = (values >= 0) & np.isfinite(values)
        _checks.demand(f"{name} rates", values, good, "rates of at least 0", "pass shares")
        rates = dict(zip(given, map(rational, values.tolist()), strict=True))
        whole = sum(rates.values(), Fraction(0))
        if abs(whole - 1) > _SUM:
            raise InputError(
                f"{name} rates",
                "a sum of 1",
                f"{float(whole):.10g}",
                "divide by the sum; numbers of rows go in as Counts",
            )
        return {group: rate / whole for group, rate in rates.items()}


@dataclass(frozen=True, eq=False)
class GroupIntervals:
    """Group rates within Clopper-Pearson bounds: the worst case over all that the counts allow.

    Two groups and one counted side: one interval, at delta. Otherwise Bonferroni: delta is shared
    among the sides that were counted and, beyond two groups, among groups.

    With known source rates the rule is affine in the target rates, so the worst case is at a vertex
    of { low <= p' <= high, sum p' = 1 }. With two groups and both sides counted it depends on one
    odds ratio, whose ends are candidates. With up to four groups, vertices of p' times corners of
    1 / p. Beyond (and beyond twelve groups in any case) each weight has its own bounds,
    [low' / high, high' / low]: valid, and wider.

    Made by :meth:`GroupRatio.within`.

    Examples
    --------
    >>> import shiftproof as shp
    >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target=shp.Counts({0: 180, 1: 20}))
    >>> print(ratio.within(0.05, paid=True).assumption.promise)
    E[loss] <= alpha, on average over calibration draws and test points and over the counts: \
0.05 Lmax is paid of alpha
    """

    ratio: GroupRatio
    delta: float
    paid: bool = False

    def __post_init__(self) -> None:
        probability("delta", self.delta)
        _checks.flag("paid", self.paid)
        if not self.counted:
            raise InputError(
                "source and target",
                "Counts, or a table to count, on one side at least",
                "rates that are given on both",
                "use the ratio itself: nothing is uncertain",
            )

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the ratio."""
        return self.ratio.columns

    @property
    def ledger(self) -> Ledger:
        """The ledger of the ratio."""
        return self.ratio.ledger

    @property
    def point(self) -> GroupRatio:
        """The ratio that the bounds are around."""
        return self.ratio

    @property
    def price(self) -> Price:
        """Delta where it is paid from alpha; nothing where it stands beside it."""
        return Price.nothing().plus(self.delta if self.paid else 0.0)

    @property
    def counted(self) -> list[str]:
        """The sides that were counted."""
        return [name for name in _BOTH if isinstance(getattr(self.ratio, name), Counts)]

    @property
    def is_coherent(self) -> bool:
        """Whether weights move together (the exact worst case), or each within its own bounds."""
        groups = len(self.ratio.groups)
        if "source" in self.counted:
            return groups <= _CORNERS
        return groups <= _VERTICES

    @property
    def assumption(self) -> Assumption:
        """That counted rows are independent draws, and inputs inside a group alike."""
        cautions = list(self.ratio.assumption.cautions)
        if not self.is_coherent:
            cautions.append("so many groups: bounds for each weight on its own, wider than need be")
        given = f"Clopper-Pearson bounds on the {' and '.join(self.counted)} rates"
        return Assumption(
            Certainty.CERTIFIED,
            f"{given}; {self.ratio.assumption.basis}",
            stated(self.delta, "counts", paid=self.paid),
            self.delta,
            tuple(cautions),
        )

    def bounds(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the rates of `source` or `target`, in the order of `groups`.

        Examples
        --------
        >>> import shiftproof as shp
        >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target=shp.Counts({0: 180, 1: 20}))
        >>> [ends.round(3).tolist() for ends in ratio.within(0.05).bounds("target")]
        [[0.85, 0.062], [0.938, 0.15]]
        """
        given, groups = getattr(self.ratio, name), self.ratio.groups
        if not isinstance(given, Counts):
            rates = self.ratio._rates_of(name)  # noqa: SLF001 - of one module
            known = np.array([float(rates.get(group, 0)) for group in groups])
            return known, known
        share = self.delta / len(self.counted)
        if len(groups) == 2:
            low, high = given.interval(groups[0], share)
            return np.array([low, 1 - high]), np.array([high, 1 - low])
        ends = [given.interval(group, share / len(groups)) for group in groups]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def weights(self, X: object, keys: KeyArray | None = None) -> CoherentBox | WeightBox:
        """Bounds on w at test points."""
        del keys
        table = Table.of("X", X)
        return self._box(self.ratio.known_codes(table))

    def curve(self, losses: LossCurves, X: object) -> ThresholdRule[Any]:
        """The worst case of the risk curve over all weights that the counts allow."""
        table = Table.of("calibration inputs", X)
        if len(table) != len(losses):
            raise InputError(
                table.what, f"{len(losses)} rows, one per loss", f"{len(table)}", "the same rows"
            )
        if not self.paid:  # what is paid from alpha holds whatever the counts have seen
            note_calibration(self.ledger, table)
        self.ratio.demand_support(table)
        box = self._box(self.ratio.known_codes(table))
        curve: ThresholdRule[Any] = (
            CoherentCurve(losses, box) if isinstance(box, CoherentBox) else BoxedCurve(losses, box)
        )
        return PricedCurve(curve, self.price) if self.paid else curve

    def _box(self, codes: IntArray) -> CoherentBox | WeightBox:
        (low, high), (bottom, top) = self.bounds("source"), self.bounds("target")
        if not self.is_coherent:
            return WeightBox(_quotient(bottom, high)[codes], _quotient(top, low)[codes])
        return CoherentBox(self._candidates(low, high, bottom, top)[:, codes])

    def _candidates(
        self, low: FloatArray, high: FloatArray, bottom: FloatArray, top: FloatArray
    ) -> FloatArray:
        """Weights of groups, one row for each candidate."""
        if len(low) == 2:
            ends = (bottom[0], top[1], high[0], low[1]), (top[0], bottom[1], low[0], high[1])
            return np.array(
                [_quotient(np.array([p0, p1]), np.array([q0, q1])) for p0, p1, q0, q1 in ends]
            )
        if "source" not in self.counted:
            return np.array([_quotient(rates, low) for rates in rate_vertices(bottom, top)])
        targets = rate_vertices(bottom, top)
        corners = product(*zip(low, high, strict=True))
        found = [_quotient(rates, np.array(q)) for q in corners for rates in targets]
        return np.unique(found, axis=0)


_BOTH = ("source", "target")


def _table_to_count(name: str, given: object) -> Table:
    """Rows to count; an error for a series of rates or counts, whose index are the groups."""
    index, kind = getattr(given, "index", None), getattr(getattr(given, "dtype", None), "kind", "")
    labelled = index is not None and getattr(given, "ndim", 0) == 1 and kind in ("i", "u", "f")
    if labelled and list(index) != list(range(len(index))):  # type: ignore[arg-type]
        raise InputError(
            name,
            "rates as a mapping, Counts, or inputs to count",
            "a series of numbers with an index of its own",
            "rates go in as dict(series), counts as Counts(dict(series)), labels as "
            "series.to_numpy()",
        )
    table = Table.of(name, given)
    row_count(table, "pass inputs to count, or rates")
    return table


def _noted(ledger: Ledger, role: str, table: Table, groups: int) -> Ledger:
    """With the rows that were counted, unless they are mere labels, which all samples share."""
    alone = Ledger().plus(**{role: table}).digests[role]
    rows = alone is not None and len(np.unique(alone)) > groups
    return ledger.plus(**{role: table}) if rows else ledger


def stated(delta: float, what: str, *, paid: bool) -> str:
    """The promise in words, with delta paid from alpha or stated beside it."""
    average = "on average over calibration draws and test points"
    if paid:
        return f"E[loss] <= alpha, {average} and over the {what}: {delta:.6g} Lmax is paid of alpha"
    return (
        f"E[loss | {what}] <= alpha with confidence {1 - delta:.6g}, {average}; "
        f"E[loss] <= alpha + {delta:.6g} Lmax over the {what} too; {what} independent of both"
    )


def _quotient(target: FloatArray, source: FloatArray) -> FloatArray:
    """Target / source: inf where only the source is 0, 0 where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(target > 0, target / source, 0.0)


def _listed(groups: Sequence[Hashable], most: int = 8) -> str:
    shown = ", ".join(repr(group) for group in groups[:most])
    return shown + (f" and {len(groups) - most} more" if len(groups) > most else "")
