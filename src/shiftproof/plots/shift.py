"""Weights of both samples, and what they even out."""

from __future__ import annotations

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray
from shiftproof.plots.canvas import (
    BLUE,
    GREY,
    ORANGE,
    Axes,
    axes_for,
    given_axes,
    set_title,
)
from shiftproof.ratios.diagnose import Diagnosis


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
    axes = given_axes(ax)
    found = _checks.instance("diagnosis", diagnosis, Diagnosis, "shp.diagnose(ratio, X, X_target)")

    axes = axes_for(axes)
    axes.set_xscale("log")
    samples = {"source": found.on_source, "target": found.on_target}
    usable = np.concatenate([each[(each > 0) & np.isfinite(each)] for each in samples.values()])
    low, high = usable.min() / 1.5, usable.max() * 1.5
    told = []
    looks = ((BLUE, "-"), (ORANGE, "--"))
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
    set_title(axes, f"Weights: {found.judged}", *told)
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
    axes = given_axes(ax)
    found = _checks.instance("diagnosis", diagnosis, Diagnosis, "shp.diagnose(ratio, X, X_target)")
    names = list(found.differences)
    before, after = np.array([found.differences[name] for name in names]).T

    axes = axes_for(axes)
    rows = np.arange(len(names))
    axes.plot(
        before,
        rows,
        linestyle="none",
        marker="o",
        fillstyle="none",
        color=ORANGE,
        label="without weights",
    )
    axes.plot(after, rows, linestyle="none", marker="D", color=BLUE, label="with weights")
    axes.hlines(rows, before, after, color=GREY, linewidth=0.8, linestyle=":")
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("mean of target less mean of source, in standard deviations")
    axes.set_ylabel("column of the comparison")
    figures = ("moved_mass", "auc_before", "auc_after")
    set_title(
        axes, f"Balance by {found.judged}", *(_said(found, name) for name in figures), share=0.9
    )
    axes.legend(fontsize="small", loc="best")
    return axes


def _cumulated(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct values, and the share of all that is no larger."""
    places, times = np.unique(values, return_counts=True)
    return places, times.cumsum() / len(values)


def _said(diagnosis: Diagnosis, name: str) -> str:
    return f"{name.replace('_', ' ')} {diagnosis.figures[name]}"
