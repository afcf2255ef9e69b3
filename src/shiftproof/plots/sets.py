"""Finished sets: regions in the plane, intervals along an input, numbers of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Table
from shiftproof._types import FloatArray, IntArray
from shiftproof.errors import InputError
from shiftproof.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    Axes,
    MaxNLocator,
    axes_for,
    axis_name,
    given_axes,
    promise_of,
    set_title,
)
from shiftproof.sets import given
from shiftproof.sets.balls import RegionSets
from shiftproof.sets.entries import EntrySets
from shiftproof.sets.intervals import IntervalSets

#: More sets in one plane hide each other.
_SETS = 12


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
    axes = given_axes(ax)
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

    axes = axes_for(axes)
    corners = np.asarray(region.corners)
    around = corners[_anticlockwise(corners)]
    axes.fill(*around.T, facecolor="none", edgecolor="black", linewidth=1.2, label="label space")
    for place, row in enumerate(chosen.tolist()):
        color = (BLUE, ORANGE, GREEN)[place % 3]
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
        axes.fill(*around.T, facecolor="none", edgecolor=GREY, hatch="//", alpha=0.4, label=named)
    if labels is not None:
        both = np.stack([centers[chosen], labels[chosen]])
        axes.plot(*both.transpose(2, 0, 1), color=GREY, linestyle=":", linewidth=0.8)
        axes.plot(
            *labels[chosen].T, linestyle="none", marker="x", color="black", label="label (truth)"
        )
    axes.plot(*centers[chosen].T, linestyle="none", marker=".", color="black", label="prediction")
    axes.set_aspect("equal")
    axes.set_xlabel(axis_name("first coordinate of the label", unit))
    axes.set_ylabel(axis_name("second coordinate of the label", unit))
    set_title(axes, _part(chosen, len(sets)), promise_of(sets), share=0.85)  # beside the legend
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
    axes = given_axes(ax)
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

    axes = axes_for(axes)
    shown = np.concatenate([lower, upper, center, [] if labels is None else labels])
    bottom, top = _limits(axes, shown[np.isfinite(shown)])
    ends = np.maximum(lower, bottom), np.minimum(upper, top)
    for part, dashes, label in (
        (~whole, "-", "intervals"),
        (whole, "--", f"the whole range of labels: {int(whole.sum()):,} of {len(sets):,} rows"),
    ):
        if part.any():
            color = GREY if dashes == "--" else BLUE
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
                color=GREY,
                clip_on=False,
                label=told,
            )
            told = "_"  # said once
    axes.plot(
        places, center, linestyle="none", marker=".", color=BLUE, markersize=4, label="prediction"
    )
    if labels is not None and held is not None:
        for part, marker, what in ((held, "o", "inside"), (~held, "x", "outside")):
            axes.plot(
                places[part],
                labels[part],
                linestyle="none",
                marker=marker,
                color=ORANGE,
                markersize=4,
                label=f"labels {what}: {int(part.sum()):,} of {len(sets):,}",
            )
    axes.set_ylim(bottom, top)
    axes.set_xlabel(name)
    axes.set_ylabel(axis_name("label", unit))
    set_title(axes, f"{len(sets):,} intervals", promise_of(sets))
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
    axes = given_axes(ax)
    if not isinstance(sets, EntrySets):
        repair = "size_curve shows the sizes of other sets"
        raise InputError("sets", "sets of labels", type(sets).__name__, repair)
    if not len(sets):
        raise InputError("sets", "at least one set", "none", "predict for some inputs")
    sizes, labels = sets.size(), sets.nest.labels
    counts, times = np.unique(sizes, return_counts=True)
    shares = times / len(sets)

    axes = axes_for(axes)
    for part, hatch, color, what in (
        ((counts > 0) & (counts < labels), "", BLUE, "some of the labels"),
        (counts == 0, "xx", ORANGE, "empty"),
        (counts == labels, "//", GREEN, "all labels: the whole label space"),
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
    set_title(axes, f"{len(sets):,} sets of labels", promise_of(sets))
    axes.legend(fontsize="small")
    return axes


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
