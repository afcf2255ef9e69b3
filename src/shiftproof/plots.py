"""Pictures of what a calibration does: risk, sizes, weights, sets. The extra ``plot``.

    import shiftproof as shp
    ax = shp.plots.risk_curve(prepared, alpha)

Each function draws into the axes that it is given, or into a new figure, and returns the axes. It
shows numbers that curves, sets and diagnoses already answer with, and calculates nothing but shares
of rows.
What an infinite number stands for is said in words, since no axis has a place for it. Lines differ
in dashes, points in markers and areas in hatching, never in colour alone.

A level or a shift that is chosen from a picture of the points it is then used for is exploration,
and no promise.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator
except ModuleNotFoundError as cause:  # pragma: no cover - the tests install it
    raise ModuleNotFoundError(
        "plots need the package matplotlib: pip install 'shiftproof[plot]'"
    ) from cause

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof._types import ArrayLike, BoolArray, FloatArray, IntArray
from shiftproof.confidence import probability
from shiftproof.contracts import Assumption, Sets
from shiftproof.controller import Calibrated, Prepared
from shiftproof.errors import InputError
from shiftproof.evaluation import Measured
from shiftproof.ratios.diagnose import Diagnosis
from shiftproof.risk import PricedCurve, RiskCurve, ThresholdRule
from shiftproof.sets import given
from shiftproof.sets.balls import RegionSets
from shiftproof.sets.entries import EntrySets
from shiftproof.sets.intervals import IntervalSets

__all__ = [
    "balance",
    "intervals",
    "label_counts",
    "regions",
    "risk_curve",
    "size_curve",
    "weights",
]

#: Colours that the colour-blind tell apart (Okabe and Ito), and in which grey prints differ.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#666666"

#: A worst case over weights is computed anew at each threshold, at so many at most.
_PLACES = 512

#: More sets in one plane hide each other.
_SETS = 12

#: The height of the letters of titles in points, and their width as a share of it.
_SMALL, _LETTER = 8.5, 0.46

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
    axes = _given(ax)
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

    axes = _axes(axes)
    said = rule.risk_is if every else f"{rule.risk_is} (drawn at {_PLACES} thresholds, from above)"
    drawn = "default" if every else "steps-post"
    axes.plot(places, risk, color=_BLUE, drawstyle=drawn, label=_wrapped(said, 45))
    axes.axhline(level, color="black", linestyle="--", label=f"alpha = {_number(level, unit)}")
    if run_at is not None:
        named = f"level that the curve is run at: {_number(float(run_at), unit)}"
        axes.axhline(float(run_at), color=_GREY, linestyle="-.", label=named)
    for (thresholds, budget, named), dots in zip(budgets, _DOTS, strict=False):
        axes.plot(thresholds, budget, color=_ORANGE, linestyle=dots, label=named)
    if chosen is not None:
        chosen.draw(axes)
    top = max(level, float(risk.max()))
    axes.set_ylim(-0.02 * top, 1.05 * top if top > 0 else 1.0)
    axes.set_xlabel("threshold")
    axes.set_ylabel(_named("mean loss", unit))
    lead = f"Risk on {len(owner):,} calibration examples (estimated)"
    _title(axes, lead, _rests_on(owner.assumption))
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
            axes.axvspan(low, high, color=_GREEN, alpha=0.2, linewidth=1.5, label=named)
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
    axes = _given(ax)
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

    axes = _axes(axes)
    other = axes.twinx()
    infinite = np.isinf(mean)
    if infinite.any():
        _mark_infinite(axes, levels, infinite)
    _with_band(axes, levels, sizes, ~infinite, color=_BLUE, marker="o", linestyle="-", label=what)
    _with_band(
        other,
        levels,
        wholes,
        np.full(len(levels), True),
        color=_ORANGE,
        marker="s",
        linestyle="--",
        label="share of whole label spaces (right axis)",
    )
    axes.set_xlabel(_named("alpha, the tolerated mean loss", unit))
    axes.set_ylabel(what if relative else _named(what, size_unit))
    axes.set_ylim(bottom=0.0)
    other.set_ylim(-0.02, 1.02)
    other.set_ylabel("share of sets that are the whole label space")
    bands = f"bands: intervals at {1 - delta:g} over test points"
    lead = f"Sets at {len(prepared):,} test points, one calibration (estimated; {bands})"
    _title(axes, lead, _rests_on(prepared.calibrated.assumption))
    handles, labels = (
        [*one, *two]
        for one, two in zip(
            axes.get_legend_handles_labels(), other.get_legend_handles_labels(), strict=True
        )
    )
    other.legend(handles, labels, fontsize="small")  # on top of both
    return axes


def weights(diagnosis: Diagnosis, *, ax: Axes | None = None) -> Axes:
    """How the weights are distributed on both samples, and how far they can be trusted.

    For each weight the share of rows that have it or less, without bins. Rows of weight 0 lie to
    the left of every axis of logarithms, rows with an infinite weight, outside the support of the
    source, to the right: the curves start and end at their shares, which are told in words.

    Parameters
    ----------
    diagnosis : Diagnosis
        Made by ``shp.diagnose(ratio, source, target)``; for the weights of one calibration, of its
        inputs and of those in use.
    ax : Axes, optional
        A new figure where left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(0, 1, (1000, 1)), rng.normal(1, 1, (500, 1))
    >>> ratio = shp.KnownRatio(lambda x: np.exp(x[:, 0] - 0.5))
    >>> ax = shp.plots.weights(shp.diagnose(ratio, source, target))
    >>> ax.get_xscale(), ax.get_ylabel()
    ('log', 'share of rows with this weight or less')
    """
    axes = _given(ax)
    found = _checks.instance("diagnosis", diagnosis, Diagnosis, "shp.diagnose(ratio, X, X_target)")

    axes = _axes(axes)
    axes.set_xscale("log")
    samples = {"source": found.on_source, "target": found.on_target}
    usable = np.concatenate([each[(each > 0) & np.isfinite(each)] for each in samples.values()])
    low, high = usable.min() / 1.5, usable.max() * 1.5
    told = []
    looks = ((_BLUE, "-"), (_ORANGE, "--"))
    for (name, values), (color, dashes) in zip(samples.items(), looks, strict=True):
        places, shares = _cumulated(values)
        inside = np.isfinite(places) & (places > 0)
        start, end = float((values == 0).mean()), float(np.isfinite(values).mean())
        axes.step(
            np.concatenate([[low], places[inside], [high]]),
            np.concatenate([[start], shares[inside], [end]]),
            where="post",
            color=color,
            linestyle=dashes,
            label=f"{len(values):,} {name} rows",
        )
        for count, what in (
            (int((values == 0).sum()), "weight 0"),
            (int(np.isinf(values).sum()), "an infinite weight: outside the support of the source"),
        ):
            if count:
                told.append(f"{count:,} of {len(values):,} {name} rows have {what}")
    axes.set_xlim(low, high)
    axes.set_ylim(-0.02, 1.02)
    figures = ("effective_size", "largest_ratio", "top_share", "tail_index")
    told += [_said(found, name) for name in figures]
    axes.set_xlabel("weight w(x), logarithmic")
    axes.set_ylabel("share of rows with this weight or less")
    _title(axes, f"Weights: {found.judged}", *told)
    axes.legend(fontsize="small", loc="best")
    return axes


def balance(diagnosis: Diagnosis, *, ax: Axes | None = None) -> Axes:
    """The difference between target and source in each column, without weights and with them.

    Standardised differences of means: 0 where weighted source rows have the mean of target rows.
    Agreement in means is needed for a right ratio and does not show that it is one; the figures in
    words, from a classifier, look at more than means.

    Parameters
    ----------
    diagnosis : Diagnosis
        Made by ``shp.diagnose(ratio, source, target)``.
    ax : Axes, optional
        A new figure where left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(0, 1, (1000, 2)), rng.normal([1, 0], 1, (500, 2))
    >>> ratio = shp.KnownRatio(lambda x: np.exp(x[:, 0] - 0.5))
    >>> ax = shp.plots.balance(shp.diagnose(ratio, source, target))
    >>> [line.get_label() for line in ax.get_lines()[:2]]
    ['without weights', 'with weights']
    """
    axes = _given(ax)
    found = _checks.instance("diagnosis", diagnosis, Diagnosis, "shp.diagnose(ratio, X, X_target)")
    names = list(found.differences)
    before, after = np.array([found.differences[name] for name in names]).T

    axes = _axes(axes)
    rows = np.arange(len(names))
    axes.plot(
        before,
        rows,
        linestyle="none",
        marker="o",
        fillstyle="none",
        color=_ORANGE,
        label="without weights",
    )
    axes.plot(after, rows, linestyle="none", marker="D", color=_BLUE, label="with weights")
    axes.hlines(rows, before, after, color=_GREY, linewidth=0.8, linestyle=":")
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("mean of target less mean of source, in standard deviations")
    axes.set_ylabel("column of the comparison")
    figures = ("moved_mass", "auc_before", "auc_after")
    _title(axes, f"Balance by {found.judged}", *(_said(found, name) for name in figures), share=0.9)
    axes.legend(fontsize="small", loc="best")
    return axes


def regions(
    sets: RegionSets,
    *,
    truth: object = None,
    rows: Sequence[int] | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Sets in the plane: the label space, and in it predictions, sets and labels where known.

    What is drawn is ``sets.outlines``: stars as they are, balls cut off where the region ends. A
    set that is the whole region is drawn as that, hatched, and told by its row. Numbers beside the
    predictions are those of rows.

    Parameters
    ----------
    sets : BallSets or StarSets
        In two dimensions.
    truth : array or table (m, 2), optional
        The labels of all sets. Each hangs on its prediction by a dotted line.
    rows : sequence of int, optional
        The sets to draw; the first 12 where left out.
    unit : str
        Of the labels, for example ``"km"``.
    ax : Axes, optional
        A new figure where left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> place = np.random.default_rng(0).uniform(0, 10, (100, 2))
    >>> controller = shp.RiskController(
    ...     lambda x: x, shp.Balls(shp.Box([0, 0], [10, 10])), shp.Distance()
    ... )
    >>> sets = controller.calibrate(place, place[:, ::-1]).predict(place[:3], alpha=1.0)
    >>> ax = shp.plots.regions(sets, truth=place[:3, ::-1], unit="km")
    >>> ax.get_xlabel()
    'first coordinate of the label (km)'
    """
    axes = _given(ax)
    if not isinstance(sets, RegionSets):
        repair = "intervals draws sets on the line, label_counts sets of classes"
        raise InputError("sets", "balls or stars in the plane", type(sets).__name__, repair)
    region = sets.nest.region
    if region.dimension != 2:
        got = f"{region.dimension} dimensions"
        raise InputError("sets", "sets in the plane", got, "to_frame gives them as a table")
    chosen = _rows(rows, len(sets), most=_SETS)
    labels = None if truth is None else sets.nest.labels(truth)
    outlines, whole, centers = sets.outlines, sets.whole, sets.centers

    axes = _axes(axes)
    corners = np.asarray(region.corners)
    around = corners[_anticlockwise(corners)]
    axes.fill(*around.T, facecolor="none", edgecolor="black", linewidth=1.2, label="label space")
    for place, row in enumerate(chosen.tolist()):
        color = (_BLUE, _ORANGE, _GREEN)[place % 3]
        dashes = ("-", "--", "-.", ":")[place % 4]
        if not whole[row]:
            axes.fill(*outlines[row].T, facecolor=color, alpha=0.15, linewidth=0)
            axes.fill(
                *outlines[row].T,
                facecolor="none",
                edgecolor=color,
                linestyle=dashes,
                label="sets" if place == 0 or whole[chosen[:place]].all() else None,
            )
        axes.annotate(
            f"{row}", centers[row], xytext=(3, 3), textcoords="offset points", fontsize="small"
        )
    spaces = chosen[whole[chosen]]
    if len(spaces):
        listed = ", ".join(f"{row}" for row in spaces.tolist())
        named = f"the whole label space: row{'s' if len(spaces) > 1 else ''} {listed}"
        axes.fill(*around.T, facecolor="none", edgecolor=_GREY, hatch="//", alpha=0.4, label=named)
    if labels is not None:
        both = np.stack([centers[chosen], labels[chosen]])
        axes.plot(*both.transpose(2, 0, 1), color=_GREY, linestyle=":", linewidth=0.8)
        axes.plot(
            *labels[chosen].T, linestyle="none", marker="x", color="black", label="label (truth)"
        )
    axes.plot(*centers[chosen].T, linestyle="none", marker=".", color="black", label="prediction")
    axes.set_aspect("equal")
    axes.set_xlabel(_named("first coordinate of the label", unit))
    axes.set_ylabel(_named("second coordinate of the label", unit))
    _title(axes, _part(chosen, len(sets)), _promise(sets), share=0.85)  # beside the legend
    beside: dict[str, Any] = (
        {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if ax is None else {}
    )
    axes.legend(fontsize="small", **beside)
    return axes


def intervals(
    sets: IntervalSets,
    along: object,
    *,
    truth: object = None,
    name: str = "input",
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Intervals along a chosen input, with predictions, and labels where they are known.

    A whole range of labels is drawn dashed, from end to end. An end that is infinite is drawn to
    the edge of the figure, with an arrow there.

    Parameters
    ----------
    sets : IntervalSets
    along : array or column (m,)
        The input of each row to draw along.
    truth : array or column (m,), optional
        Labels: filled where they lie in their interval, crossed where they do not.
    name : str
        Of the input, with its unit.
    unit : str
        Of the labels.
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
    >>> sets = controller.calibrate(x, 0.9 * x[:, 0]).predict(x[::5], alpha=0.2)
    >>> ax = shp.plots.intervals(sets, x[::5, 0], truth=0.9 * x[::5, 0], name="heard (km)")
    >>> ax.get_xlabel()
    'heard (km)'
    """
    axes = _given(ax)
    if not isinstance(sets, IntervalSets):
        repair = "regions draws sets in the plane, label_counts sets of classes"
        raise InputError("sets", "intervals on the line", type(sets).__name__, repair)
    if not len(sets):
        raise InputError("sets", "at least one interval", "none", "predict for some inputs")
    inputs = Table.of("along", along)
    _checks.same_rows("along", len(inputs), len(sets))
    if len(inputs.names) != 1:
        got = f"{len(inputs.names)} columns"
        raise InputError("along", "one input", got, "pass the column to draw along")
    places = inputs.numbers(inputs.names[0])
    _checks.demand("along", places, np.isfinite(places), "finite inputs", "leave out these rows")
    labels = None if truth is None else given.numbers(truth, len(sets))
    held = None if truth is None else sets.contains(truth)
    lower, upper, center, whole = sets.lower, sets.upper, sets.center, sets.whole

    axes = _axes(axes)
    shown = np.concatenate([lower, upper, center, [] if labels is None else labels])
    bottom, top = _limits(axes, shown[np.isfinite(shown)])
    ends = np.maximum(lower, bottom), np.minimum(upper, top)
    for part, dashes, label in (
        (~whole, "-", "intervals"),
        (whole, "--", f"the whole range of labels: {int(whole.sum()):,} of {len(sets):,} rows"),
    ):
        if part.any():
            color = _GREY if dashes == "--" else _BLUE
            low, high = (end[part] for end in ends)
            axes.vlines(places[part], low, high, color=color, linestyle=dashes, label=label)
            for end in (low, high):
                axes.plot(places[part], end, linestyle="none", marker="_", color=color)
    told = "no end: the interval goes on without limit"
    for endless, edge, marker in (
        (np.isneginf(lower), bottom, "v"),
        (np.isposinf(upper), top, "^"),
    ):
        if endless.any():
            where = places[endless]
            axes.plot(
                where,
                np.full(len(where), edge),
                linestyle="none",
                marker=marker,
                color=_GREY,
                clip_on=False,
                label=told,
            )
            told = "_"  # said once
    axes.plot(
        places, center, linestyle="none", marker=".", color=_BLUE, markersize=4, label="prediction"
    )
    if labels is not None and held is not None:
        for part, marker, what in ((held, "o", "inside"), (~held, "x", "outside")):
            axes.plot(
                places[part],
                labels[part],
                linestyle="none",
                marker=marker,
                color=_ORANGE,
                markersize=4,
                label=f"labels {what}: {int(part.sum()):,} of {len(sets):,}",
            )
    axes.set_ylim(bottom, top)
    axes.set_xlabel(name)
    axes.set_ylabel(_named("label", unit))
    _title(axes, f"{len(sets):,} intervals", _promise(sets))
    axes.legend(fontsize="small")
    return axes


def label_counts(sets: EntrySets, *, ax: Axes | None = None) -> Axes:
    """How many labels the sets hold, as shares of rows; empty and whole sets marked.

    Parameters
    ----------
    sets : sets of labels
        Of ``LabelSets`` or ``Masks``.
    ax : Axes, optional
        A new figure where left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> p, y = rng.dirichlet(np.ones(3), 100), rng.integers(0, 3, 100)
    >>> controller = shp.RiskController(lambda x: x, shp.LabelSets(), shp.Miscoverage())
    >>> ax = shp.plots.label_counts(controller.calibrate(p, y).predict(p, alpha=0.2))
    >>> ax.get_xlabel()
    'labels in a set, of 3'
    """
    axes = _given(ax)
    if not isinstance(sets, EntrySets):
        repair = "size_curve shows the sizes of other sets"
        raise InputError("sets", "sets of labels", type(sets).__name__, repair)
    if not len(sets):
        raise InputError("sets", "at least one set", "none", "predict for some inputs")
    sizes, labels = sets.size(), sets.nest.labels
    counts, times = np.unique(sizes, return_counts=True)
    shares = times / len(sets)

    axes = _axes(axes)
    for part, hatch, color, what in (
        ((counts > 0) & (counts < labels), "", _BLUE, "some of the labels"),
        (counts == 0, "xx", _ORANGE, "empty"),
        (counts == labels, "//", _GREEN, "all labels: the whole label space"),
    ):
        if part.any():
            axes.bar(
                counts[part],
                shares[part],
                color=color,
                alpha=0.7,
                hatch=hatch,
                edgecolor="black",
                label=f"{what}: {int(times[part].sum()):,} of {len(sets):,} rows",
            )
    axes.set_xlim(-0.6, labels + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"labels in a set, of {labels:,}")
    axes.set_ylabel("share of rows")
    _title(axes, f"{len(sets):,} sets of labels", _promise(sets))
    axes.legend(fontsize="small")
    return axes


def _given(ax: object) -> Axes | None:
    """The axes that were passed, if they are axes."""
    if ax is None:
        return None
    return _checks.instance("ax", ax, Axes, "figure, ax = plt.subplots()")


def _axes(given: Axes | None) -> Axes:
    """The axes to draw into. Called when nothing can be refused any more."""
    if given is not None:
        return given
    axes: Axes = plt.figure(layout="constrained").add_subplot()
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


def _cumulated(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct values, and the share of all that is no larger."""
    places, times = np.unique(values, return_counts=True)
    return places, times.cumsum() / len(values)


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
        axes.axvspan(left, right, facecolor="none", edgecolor=_GREY, hatch="//", linewidth=0)
    axes.plot(
        levels[infinite],
        np.ones(int(infinite.sum())),
        transform=across,
        linestyle="none",
        marker="^",
        color=_BLUE,
        clip_on=False,
        label="mean size is infinite",
    )


def _limits(axes: Axes, values: FloatArray) -> tuple[float, float]:
    """Ends of an axis that holds these values and what is drawn already."""
    if axes.has_data():
        values = np.concatenate([values, axes.get_ylim()])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _anticlockwise(corners: FloatArray) -> IntArray:
    """The order of the corners of a convex region around its middle."""
    away = corners - corners.mean(axis=0)
    return np.asarray(np.argsort(np.arctan2(away[:, 1], away[:, 0])), dtype=np.int64)


def _rows(rows: Sequence[int] | None, count: int, most: int) -> IntArray:
    """The rows to draw: those that were asked for, or the first."""
    if rows is None:
        rows = range(min(count, most))
    if np.asarray(rows).dtype.kind == "b":
        raise InputError("rows", "numbers of rows", "truth values", "np.flatnonzero(mask)")
    found = _checks.indices("rows", np.atleast_1d(rows), length=np.size(rows), below=count)
    if not len(found):
        raise InputError(
            "rows", "at least one set", "none", "pass rows, or predict for some inputs"
        )
    return found


def _part(chosen: IntArray, count: int) -> str:
    return f"{count:,} sets" if len(chosen) == count else f"{len(chosen)} of {count:,} sets"


def _promise(sets: Any) -> str:
    """What these sets promise: nothing where their thresholds were chosen by hand."""
    if sets.reason is None:
        return "Thresholds chosen by hand: no promise."
    return (
        "The promise is on average over calibration draws and test points, given right weights and "
        "a law of labels given inputs that has not moved; not for each set that is drawn."
    )


def _rests_on(assumption: Assumption) -> str:
    return f"The promise is {assumption}"


def _said(diagnosis: Diagnosis, name: str) -> str:
    return f"{name.replace('_', ' ')} {diagnosis.figures[name]}"


def _number(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".strip()


def _named(what: str, unit: str) -> str:
    return f"{what} ({unit})" if unit else what


def _wrapped(text: str, letters: int) -> str:
    return "\n".join(textwrap.wrap(text, letters))


def _title(axes: Axes, *lines: str, share: float = 1.0) -> None:
    """Lines above the axes, each broken to their width, or to a share of it."""
    width = share * axes.get_window_extent().width * 72 / axes.figure.dpi
    letters = max(int(width / (_LETTER * _SMALL)), 20)
    text = "\n".join(_wrapped(line, letters) for line in lines)
    axes.set_title(text, loc="left", fontsize=_SMALL)
