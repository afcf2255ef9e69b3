"""Risk against the threshold, and sizes against the level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, BoolArray, FloatArray
from shiftproof.confidence import probability
from shiftproof.contracts import Sets
from shiftproof.controller import Calibrated, Prepared
from shiftproof.errors import InputError
from shiftproof.evaluation import Measured
from shiftproof.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    Axes,
    axes_for,
    axis_name,
    given_axes,
    rests_on,
    set_title,
    with_unit,
    wrapped_at,
)
from shiftproof.risk import PricedCurve, RiskCurve, ThresholdRule

#: A worst case over weights is computed anew at each threshold, at so many at most.
_PLACES = 512

#: Dashes of the two budgets.
_DOTS = (":", (0, (3, 1, 1, 1, 1, 1)))

_ONE = "one level, in the units of the loss"


def risk_curve(
    calibrated: Calibrated | Prepared, alpha: float, *, unit: str = "", ax: Axes | None = None
) -> Axes:
    """The calibration risk against the threshold, with alpha and the thresholds of test points.

    The risk is what ``calibrated.rule.risk`` answers: an estimate and no promise. Where weights are
    known within bounds it is the worst case that they allow; where groups stand for themselves,
    that of the group that fares worst. Thresholds do not lie where the risk meets alpha, as each
    test point has a weight of its own to allow for: they lie where the risk falls to what that
    leaves, the budget. For weights that are numbers it is drawn for the points with the smallest
    and the largest threshold. Points that get the whole label space are counted in words.

    Parameters
    ----------
    calibrated : Calibrated or Prepared
        The thresholds of test points are known where inputs are prepared.
    alpha : float
        One level.
    unit : str
        Of the loss, for example ``"km"``.
    ax : Axes, optional
        A new figure where left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 10, 50)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(0, 10), shp.Distance())
    >>> calibrated = controller.calibrate(x, 0.9 * x[:, 0])
    >>> ax = shp.plots.risk_curve(calibrated.prepare([[2.0], [9.0]]), alpha=0.2, unit="km")
    >>> ax.get_ylabel()
    'mean loss (km)'
    """
    axes = given_axes(ax)
    prepared = calibrated if isinstance(calibrated, Prepared) else None
    owner = calibrated.calibrated if isinstance(calibrated, Prepared) else calibrated
    _checks.instance("calibrated", owner, Calibrated, "pass what calibrate or prepare returned")
    level = float(_checks.risk_level(_checks.scalar("alpha", alpha, _ONE), owner.losses.bound))
    rule = owner.rule
    chosen = _Chosen(prepared, level, prepared.sets(level)) if prepared else None
    places, every = _places(rule, [] if chosen is None else chosen.inner)
    risk = rule.risk(places)
    worst = owner.losses.bound if prepared is None else prepared.worst
    run_at = rule.level(level, worst=worst) if isinstance(rule, PricedCurve) else None
    budgets = [] if chosen is None else chosen.budgets(places)

    axes = axes_for(axes)
    said = rule.risk_is if every else f"{rule.risk_is} (drawn at {_PLACES} thresholds, from above)"
    drawn = "default" if every else "steps-post"
    axes.plot(places, risk, color=BLUE, drawstyle=drawn, label=wrapped_at(said, 45))
    axes.axhline(level, color="black", linestyle="--", label=f"alpha = {with_unit(level, unit)}")
    if run_at is not None:
        named = f"level that the curve is run at: {with_unit(float(run_at), unit)}"
        axes.axhline(float(run_at), color=GREY, linestyle="-.", label=named)
    for (thresholds, budget, named), dots in zip(budgets, _DOTS, strict=False):
        axes.plot(thresholds, budget, color=ORANGE, linestyle=dots, label=named)
    if chosen is not None:
        chosen.draw(axes)
    top = max(level, float(risk.max()))
    axes.set_ylim(-0.02 * top, 1.05 * top if top > 0 else 1.0)
    axes.set_xlabel("threshold")
    axes.set_ylabel(axis_name("mean loss", unit))
    lead = f"Risk on {len(owner):,} calibration examples (estimated)"
    set_title(axes, lead, rests_on(owner.assumption))
    axes.legend(fontsize="small")
    return axes


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The thresholds of test points at one level."""

    prepared: Prepared
    alpha: float
    sets: Sets

    @property
    def shown(self) -> BoolArray:
        """Which thresholds have a place: those of sets that are not the whole label space."""
        return np.asarray(~self.sets.whole & np.isfinite(self.sets.threshold))

    @property
    def inner(self) -> FloatArray:
        """The thresholds that have a place."""
        return self.sets.threshold[self.shown]

    def budgets(self, places: FloatArray) -> list[tuple[FloatArray, FloatArray, str]]:
        """Places, budget and name, of the points with the smallest and the largest threshold."""
        if not len(self.inner) or not isinstance(_run(self.prepared.calibrated.rule), RiskCurve):
            return []
        thresholds = np.where(self.shown, self.sets.threshold, np.nan)
        ends = {int(np.nanargmin(thresholds)): "smallest", int(np.nanargmax(thresholds)): "largest"}
        found = []
        for row, end in ends.items():
            whole = float(self.prepared.nest.whole()[row])
            more = [np.nextafter(whole, -np.inf), whole]  # the budget may jump there
            at = np.union1d(places, [one for one in more if places[0] <= one <= places[-1]])
            budget = self.prepared.budget(at, self.alpha, row=row)
            named = f"budget at the {end} threshold, W = {float(self.prepared.weights[row]):.3g}"
            found.append((at, budget, named))
        return found

    def draw(self, axes: Axes) -> None:
        count = len(self.sets.threshold)
        whole, shown = int(self.sets.whole.sum()), int(self.shown.sum())
        if shown:
            low, high = float(self.inner.min()), float(self.inner.max())
            what = "largest reach" if hasattr(self.sets, "reach") else "threshold"
            reached = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
            named = f"{what} of {shown:,} test points: {reached}"
            axes.axvspan(low, high, color=GREEN, alpha=0.2, linewidth=1.5, label=named)
        for number, what in (
            (whole, "the whole label space"),
            (count - whole - shown, "the smallest set, below every threshold"),
        ):
            if number:
                named = f"{number:,} of {count:,} test points: {what}"
                axes.plot([], [], linestyle="none", marker="s", color="black", label=named)


def size_curve(
    prepared: Prepared,
    alphas: ArrayLike,
    *,
    relative: bool = False,
    unit: str = "",
    size_unit: str = "",
    delta: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """The mean size of sets against alpha, and the share of whole label spaces on a second axis.

    Bands are intervals at 1 - delta, at each level by itself, for what fresh test points would give
    after this calibration: by Student for sizes, by Clopper and Pearson for the share, as in
    ``evaluate``. Where a label space has no end, one set that is all of it makes the mean infinite:
    these levels are hatched and marked at the top, and have no line. A level that is chosen from
    the figure has a promise only on calibration examples and test points that are not in it.

    Parameters
    ----------
    prepared : Prepared
        Test points; no labels are needed.
    alphas : array
        Levels, drawn in ascending order.
    relative : bool
        Sizes as shares of the label space, which has to be bounded.
    unit, size_unit : str
        Of the loss and of sizes, for example ``"km"`` and ``"km²"``.
    delta : float
        For the bands.
    ax : Axes, optional
        A new figure where left out. The second axes, that of the share, are made over it and hold
        the legend.

    Returns
    -------
    Axes
        Of the sizes.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 10, 50)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(), shp.Miscoverage())
    >>> prepared = controller.calibrate(x, 0.9 * x[:, 0]).prepare(x)
    >>> ax = shp.plots.size_curve(prepared, [0.01, 0.1, 0.3])
    >>> ax.get_lines()[0].get_label()
    'mean size is infinite'
    """
    axes = given_axes(ax)
    _checks.instance("prepared", prepared, Prepared, "pass calibrated.prepare(X)")
    _checks.flag("relative", relative)
    probability("delta", delta)
    levels = np.sort(_checks.vector("alphas", np.atleast_1d(_checks.floats("alphas", alphas))))
    _checks.non_empty("alphas", levels, "pass the levels to look at")
    if not len(prepared):
        raise InputError("prepared", "at least one test point", "none", "prepare some inputs")
    answers = [prepared.sets(float(level)) for level in levels]
    what = "mean share of the label space" if relative else "mean size of a set"
    sizes = [
        Measured.of(sets.relative_size() if relative else sets.size(), delta, what)
        for sets in answers
    ]
    wholes = [
        Measured.of(np.asarray(sets.whole, dtype=np.float64), delta, "whole label spaces", most=1.0)
        for sets in answers
    ]
    mean = np.array([each.value for each in sizes])

    axes = axes_for(axes)
    other = axes.twinx()
    infinite = np.isinf(mean)
    if infinite.any():
        _mark_infinite(axes, levels, infinite)
    _with_band(axes, levels, sizes, ~infinite, color=BLUE, marker="o", linestyle="-", label=what)
    _with_band(
        other,
        levels,
        wholes,
        np.full(len(levels), True),
        color=ORANGE,
        marker="s",
        linestyle="--",
        label="share of whole label spaces (right axis)",
    )
    axes.set_xlabel(axis_name("alpha, the tolerated mean loss", unit))
    axes.set_ylabel(what if relative else axis_name(what, size_unit))
    axes.set_ylim(bottom=0.0)
    other.set_ylim(-0.02, 1.02)
    other.set_ylabel("share of sets that are the whole label space")
    bands = f"bands: intervals at {1 - delta:g} over test points"
    lead = f"Sets at {len(prepared):,} test points, one calibration (estimated; {bands})"
    set_title(axes, lead, rests_on(prepared.calibrated.assumption))
    handles, labels = (
        [*one, *two]
        for one, two in zip(
            axes.get_legend_handles_labels(), other.get_legend_handles_labels(), strict=True
        )
    )
    other.legend(handles, labels, fontsize="small")  # on top of both
    return axes


def _run(rule: ThresholdRule[Any]) -> ThresholdRule[Any]:
    """The curve that is run: without its price, if it has one."""
    return rule.curve if isinstance(rule, PricedCurve) else rule


def _places(rule: ThresholdRule[Any], more: ArrayLike) -> tuple[FloatArray, bool]:
    """Thresholds at which to look at a curve, and whether these are all at which it bends.

    A little is added at both ends, as far as there are thresholds, and as far as `more` reaches.
    """
    bends = np.union1d(rule.losses.bends, np.asarray(more, dtype=np.float64))
    every = isinstance(_run(rule), RiskCurve) or len(bends) <= _PLACES
    if not every:
        bends = bends[np.linspace(0, len(bends) - 1, _PLACES).round().astype(np.int64)]
    first, last = (float(bends[0]), float(bends[-1])) if len(bends) else (0.0, 1.0)
    room = 0.05 * (last - first) or 1.0
    ends = [max(first - room, rule.losses.lower), last + room]
    return np.union1d(bends, ends), every


def _with_band(
    axes: Axes, levels: FloatArray, measured: Sequence[Measured], shown: BoolArray, **look: Any
) -> None:
    """Values as a line with markers, and their intervals as a band; gaps where not shown."""
    value, low, high = (
        np.where(shown, [getattr(each, name) for each in measured], np.nan)
        for name in ("value", "low", "high")
    )
    axes.plot(levels, value, markersize=4, **look)
    axes.fill_between(levels, low, high, color=look["color"], alpha=0.15, linewidth=0)


def _mark_infinite(axes: Axes, levels: FloatArray, infinite: BoolArray) -> None:
    """Hatch the levels at which a mean is infinite, and mark them at the top."""
    middles = (levels[1:] + levels[:-1]) / 2
    lefts, rights = np.concatenate([levels[:1], middles]), np.concatenate([middles, levels[-1:]])
    across = axes.get_xaxis_transform()
    for left, right in zip(lefts[infinite], rights[infinite], strict=True):
        axes.axvspan(left, right, facecolor="none", edgecolor=GREY, hatch="//", linewidth=0)
    axes.plot(
        levels[infinite],
        np.ones(int(infinite.sum())),
        transform=across,
        linestyle="none",
        marker="^",
        color=BLUE,
        clip_on=False,
        label="mean size is infinite",
    )
