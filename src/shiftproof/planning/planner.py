"""How large sets will be: against the number of calibration examples, the split, and the shift.

Expected and certified are two different numbers. What is expected comes from a pilot that stands in
for calibration sets: an estimate, with an interval. What is certified is a bound, and often says
nothing; then it is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from shiftproof import _checks
from shiftproof._tables import Array, Table
from shiftproof._types import FloatArray
from shiftproof.confidence import probability
from shiftproof.contracts import Assumption, Ratio, WorstCase
from shiftproof.controller import Prepared, RiskController
from shiftproof.errors import InputError
from shiftproof.planning.ground import Ground
from shiftproof.planning.resampling import Pilot
from shiftproof.runs import seed_of
from shiftproof.worst_case import Constant, Directional, Pointwise

#: Calibration sets that are drawn for each size, and pilots for each interval.
_DRAWS, _PILOTS = 24, 24

#: The three rules, by the words that a plan has for them.
_RULES: dict[str, WorstCase] = {
    "paper": Constant(),
    "envelope": Pointwise(),
    "directional": Directional(),
}


@dataclass(frozen=True)
class Outlook:
    """The expected relative size of one choice.

    Attributes
    ----------
    rule : str
        "paper", "envelope" or "directional".
    shift : str
        The name of the ratio.
    n_train : int or None
        Training examples, where the split is planned.
    n_cal : int
    expected, low, high : float
        The mean relative size over calibration sets and test points, and an interval for what a
        larger pilot would say.
    whole : float
        The share of whole label spaces.
    certified : float or None
        A bound on the expected relative size that holds with confidence 1 - delta, 1 where it says
        nothing; None where it was not asked for, or cannot be had.

    Examples
    --------
    >>> from shiftproof.planning.planner import Outlook
    >>> print(Outlook("paper", "none", None, 100, 0.2, 0.1, 0.3, 0.05))
    paper, none, n_cal 100: 0.2 [0.1, 0.3], 5.0% whole
    """

    rule: str
    shift: str
    n_train: int | None
    n_cal: int
    expected: float
    low: float
    high: float
    whole: float
    certified: float | None = None

    def __str__(self) -> str:
        split = "" if self.n_train is None else f"n_train {self.n_train}, "
        return (
            f"{self.rule}, {self.shift}, {split}n_cal {self.n_cal}: {self.expected:.4g} "
            f"[{self.low:.3g}, {self.high:.3g}], {self.whole:.1%} whole"
            + ("" if self.certified is None else f", certified {self.certified:.3g}")
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """What each number of examples, split, shift and rule leads to.

    Attributes
    ----------
    outlooks : tuple of Outlook
    alpha, delta : float
        The level of the sets, and one less the confidence of the intervals.
    pilot : int
        So many labelled examples stand for all others.
    assumptions : mapping of str to Assumption
        What each shift rests on.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> off = rng.random(200) < 0.5
    >>> place = rng.uniform(0, 40, 200)
    >>> heard = np.clip(place + np.where(off, 2.0, 0.5) * rng.normal(size=200), 0, 40)
    >>> x = np.column_stack([off, heard])
    >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.1, 1: 0.9})
    >>> controller = shp.RiskController(
    ...     lambda x: x[:, 1], shp.Intervals(0, 40), shp.Distance(), ratio
    ... )
    >>> plan = shp.plan(controller, x, place, alpha=0.5, n_cal=[50, 100, 200, 400], seed=0)
    >>> best = plan.at(rule="paper")
    >>> [round(one.expected, 2) for one in best], [round(one.whole, 2) for one in best]
    ([0.91, 0.91, 0.11, 0.08], [0.9, 0.9, 0.0, 0.0])
    """

    outlooks: tuple[Outlook, ...]
    alpha: float
    delta: float
    pilot: int
    assumptions: Mapping[str, Assumption]

    def at(self, **choice: object) -> list[Outlook]:
        """The outlooks of a choice: of a rule, a shift, an n_cal, an n_train.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.Plan((), 0.1, 0.1, 9, {}).at(rule="paper")
        []
        """
        return [
            one
            for one in self.outlooks
            if all(getattr(one, name) == value for name, value in choice.items())
        ]

    def columns(self) -> dict[str, list[Any]]:
        """The outlooks as columns of a table."""
        names = list(Outlook.__dataclass_fields__)
        return {name: [getattr(one, name) for one in self.outlooks] for name in names}

    def best(self, rule: str, shift: str) -> Outlook:
        """The choice with the smallest expected sets."""
        found = self.at(rule=rule, shift=shift)
        if not found:
            known = sorted({(one.rule, one.shift) for one in self.outlooks})
            expected = f"one of {known}"
            raise InputError("rule and shift", expected, f"{(rule, shift)!r}", "as in the plan")
        return min(found, key=lambda one: one.expected)

    def advice(self, rule: str, shift: str, n_cal: int) -> str:
        """What would shrink the sets of a choice most, among the choices of this plan.

        Examples
        --------
        >>> import numpy as np
        >>> import shiftproof as shp
        >>> x = np.linspace(0, 1, 100)[:, None]
        >>> controller = shp.RiskController(
        ...     lambda x: x[:, 0], shp.Intervals(0, 1), shp.Miscoverage()
        ... )
        >>> plan = shp.plan(controller, x, x[:, 0] ** 2, alpha=0.1, n_cal=[5, 50])
        >>> print(plan.advice("paper", "as given", 5))
        sets of 1 at n_cal 5, paper, as given; smaller would be
          0.43 with n_cal 50
        """
        chosen = self.at(rule=rule, shift=shift, n_cal=n_cal)
        if not chosen:
            known = sorted({(one.rule, one.shift, one.n_cal) for one in self.outlooks})
            got = f"{(rule, shift, n_cal)!r}"
            raise InputError("choice", f"one of {known}", got, "as in the plan")
        now = min(chosen, key=lambda one: one.expected)
        others = [
            (one.expected, what)
            for one in self.outlooks
            if (what := _change(now, one)) and one.expected < now.expected
        ]
        head = f"sets of {now.expected:.2g} at n_cal {n_cal}, {rule}, {shift}"
        if not others:
            return f"{head}; nothing in this plan makes them smaller"
        lines = [f"  {size:.2g} {what}" for size, what in sorted(others)]
        return "\n".join([f"{head}; smaller would be", *lines])

    def __str__(self) -> str:
        head = (
            f"expected relative size at alpha = {self.alpha:.6g}, from {self.pilot} pilot labels, "
            f"intervals at {1 - self.delta:.6g} (estimated):"
        )
        lines = [f"  {one}" for one in self.outlooks]
        return "\n".join([head, *lines, *(f"  {k}: {one}" for k, one in self.assumptions.items())])


def plan(
    controller: RiskController,
    X: object,
    y: object,
    X_target: object | None = None,
    *,
    alpha: float,
    n_cal: Sequence[int],
    ratios: Mapping[str, Ratio[Any]] | None = None,
    rules: Sequence[str] | None = None,
    delta: float = 0.1,
    seed: int = 0,
) -> Plan:
    """The expected relative size against the number of calibration examples, from a labelled pilot.

    Parameters
    ----------
    controller : RiskController
        Its predictor must not have seen the pilot.
    X : table or array (m, d)
        Inputs of the pilot, from P.
    y : array
        Its labels.
    X_target : table or array, optional
        Inputs from P', independent of the pilot. Where left out, or where several shifts are asked
        for, the inputs of the pilot serve, each counted w times, and nothing is certified.
    alpha : float
    n_cal : sequence of int
    ratios : mapping of str to Ratio, optional
        Several shifts, each by a name; that of the controller where left out.
    rules : sequence of str, optional
        Of "paper", "envelope" and "directional"; all that go with the sets and the loss where left
        out.
    delta : float
        Of the intervals, which are for what a larger pilot would say.
    seed : int

    Returns
    -------
    Plan

    Notes
    -----
    An estimate, whatever the pilot. Calibration sets are drawn from it with replacement, groups at
    their known rates. A pilot of m examples knows nothing of losses that are rarer than 1 / m.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(0, 1), shp.Miscoverage())
    >>> plan = shp.plan(controller, x, x[:, 0] ** 2, alpha=0.1, n_cal=[5, 50])
    >>> [(one.rule, one.n_cal, round(one.expected, 2)) for one in plan.outlooks]
    [('paper', 5, 1.0), ('paper', 50, 0.43), ('envelope', 5, 1.0), ('envelope', 50, 0.43)]
    """
    shifts = {"as given": controller.ratio} if ratios is None else dict(ratios)
    if not shifts:
        raise InputError(
            "ratios", "at least one shift", "none", "leave it out for that of the controller"
        )
    if X_target is not None and len(shifts) > 1:
        got = f"{len(shifts)} shifts and one sample"
        repair = "leave out X_target: inputs of the pilot then count w times under each shift"
        raise InputError(
            "X_target", "inputs from under the one shift that is asked for", got, repair
        )
    sizes = [_checks.whole("n_cal", n, 1, "numbers of calibration examples") for n in n_cal]
    probability("delta", delta)
    calibrated = controller.calibrate(X, y, seed=seed)
    level = float(
        _checks.risk_level(_checks.scalar("alpha", alpha, "one level"), calibrated.losses.bound)
    )
    table = Table.of("X", X)
    found: list[Outlook] = []
    prepared = calibrated.prepare(table if X_target is None else X_target)
    asked, mine = _rules_of(controller, rules), X_target is None
    points = {
        name: _points(prepared, Pilot(calibrated.losses, table, ratio), of_the_pilot=mine)
        for name, ratio in shifts.items()
    }
    grounds = {name: None if mine else one.ground(delta) for name, one in points.items()}
    for name in asked:
        for shift in shifts:
            for n in sizes:
                its_seed = seed_of(seed, name, shift, n)
                one = points[shift].outlook(level, n, delta, (name, shift), its_seed)
                ground = grounds[shift]
                sure = None if ground is None else ground.bound(level, n, _RULES[name]).total
                found.append(replace(one, certified=sure))
    assumptions = {name: ratio.assumption for name, ratio in shifts.items()}
    return Plan(tuple(found), level, delta, len(table), assumptions)


def _change(now: Outlook, other: Outlook) -> str:
    """The one thing that differs, in words; nothing where several do."""
    changed = [
        told
        for name, told in (
            ("rule", f"by the rule {other.rule}"),
            ("shift", f"under the shift {other.shift}"),
            ("n_cal", f"with n_cal {other.n_cal}"),
        )
        if getattr(now, name) != getattr(other, name)
    ]
    if now.n_train != other.n_train:
        return f"with n_train {other.n_train}, n_cal {other.n_cal}" if len(changed) == 1 else ""
    return changed[0] if len(changed) == 1 else ""


def _rules_of(controller: RiskController, asked: Sequence[str] | None) -> list[str]:
    """The rules that go with the sets and the loss."""
    for name in asked or ():
        if name not in _RULES:
            raise InputError("rules", f"some of {list(_RULES)}", f"{name!r}", "spell it so")
    if asked is not None:
        for name in asked:
            replace(controller, worst_case=_RULES[name])  # an error where it does not go
        return list(asked)
    return [name for name in _RULES if _goes(controller, _RULES[name])]


def _goes(controller: RiskController, worst_case: WorstCase) -> bool:
    try:
        replace(controller, worst_case=worst_case)
    except InputError:
        return False
    return True


def _points(prepared: Prepared, pilot: Pilot, *, of_the_pilot: bool) -> _Points:
    """Test points from P', or those of the pilot, each counted as often as P' has it."""
    ratio, inputs = pilot.ratio, prepared.table.native()
    weights = ratio.weights(inputs, prepared.draws.keys_if_any("ratio"))
    counts = np.ones(len(prepared))
    if of_the_pilot:
        counts = pilot.chances * np.asarray(getattr(ratio, "point", ratio).weights(inputs))
        counts = counts / counts.mean()
    controller = replace(prepared.calibrated.controller, ratio=ratio)
    return _Points(pilot, controller, prepared.nest, weights, counts)


@dataclass(frozen=True, eq=False)
class _Points:
    """Test points under one shift, ready for any calibration set from a pilot and any rule."""

    pilot: Pilot
    controller: RiskController
    nest: Any
    weights: Any
    counts: FloatArray

    def ground(self, delta: float) -> Ground | None:
        """What a bound on the sizes stands on; None where ratio or loss allow none."""
        losses, table = self.pilot.losses, self.pilot.table
        try:
            return Ground.of(self.controller, losses, table, self.nest, self.weights, delta)
        except InputError:
            return None

    def outlook(
        self, alpha: float, n: int, delta: float, name: tuple[str, str], seed: int
    ) -> Outlook:
        """The mean over calibration sets; and over pilots, for the interval.

        The spread is that of the size at thresholds for n examples with the shares of a resampled
        pilot, without the noise of drawing n from it.
        """
        rng, pilot, worst_case = np.random.default_rng(seed), self.pilot, _RULES[name[0]]
        drawn = [self._size(pilot.counts(rng, n), alpha, worst_case) for _ in range(_DRAWS)]
        expected, whole = np.mean(drawn, axis=0)
        m = len(pilot.losses)
        again = [
            self._size(pilot.counts(rng, m) * (n / m), alpha, worst_case)[0] for _ in range(_PILOTS)
        ]
        half = float(norm.isf(delta / 2) * np.std(again, ddof=1))
        low, high = max(expected - half, 0.0), min(expected + half, 1.0)
        return Outlook(*name, None, n, float(expected), low, high, float(whole))

    def _size(self, counts: Array, alpha: float, worst_case: WorstCase) -> tuple[float, float]:
        """The mean relative size, and the share of whole label spaces, after one calibration."""
        rule, level = self.pilot.drawn(counts), np.asarray(alpha)
        sets = worst_case.sets(rule, self.controller.loss, self.nest, self.weights, level)
        shares, total = self.counts, len(self.counts)
        return (
            float(shares @ sets.relative_size()) / total,
            float(shares @ sets.whole) / total,
        )
