"""Plans: sizes to come against labels and splits, and what a bound is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftproof import _checks
from shiftproof.errors import InputError
from shiftproof.planning.planner import Outlook, Plan
from shiftproof.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    Axes,
    axes_for,
    given_axes,
    set_title,
)
from shiftproof.theory import SizeBound

#: How each rule is drawn, and each cause of a bound.
_LOOKS = {
    "paper": (ORANGE, "s", "--"),
    "envelope": (BLUE, "o", "-"),
    "directional": (GREEN, "^", "-."),
}
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")

#: A share of whole label spaces above this is over the cliff.
_CLIFF = 0.01


def plan_curve(plan: Plan, shift: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Expected relative size against the number of calibration examples, or of training examples.

    Where most of the size is whole label spaces, left of the cliff, the line is shaded. Of a plan
    of splits the horizontal axis is the share of labels that train, and the best split is marked.

    Parameters
    ----------
    plan : Plan
        Of :func:`shiftproof.plan` or :func:`shiftproof.plan_splits`.
    shift : str, optional
        The one to draw; the first where left out.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> controller = shp.RiskController(lambda x: x[:, 0], shp.Intervals(0, 1), shp.Miscoverage())
    >>> plan = shp.plan(controller, x, x[:, 0] ** 2, alpha=0.1, n_cal=[5, 50])
    >>> shp.plots.plan_curve(plan).get_xlabel()
    'calibration examples'
    """
    found = _checks.instance("plan", plan, Plan, "shp.plan(...)")
    names = list(dict.fromkeys(one.shift for one in found.outlooks))
    if not names:
        raise InputError("plan", "at least one outlook", "none", "plan for some n_cal")
    name = names[0] if shift is None else shift
    if name not in names:
        raise InputError("shift", f"one of {names}", f"{shift!r}", "as in the plan")
    axes = axes_for(given_axes(ax))
    splits = found.outlooks[0].n_train is not None
    for rule, (colour, marker, dashes) in _LOOKS.items():
        chosen = sorted(found.at(rule=rule, shift=name), key=_place)
        if not chosen:
            continue
        places = np.array([_place(one) for one in chosen])
        sizes = np.array([one.expected for one in chosen])
        look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes}
        axes.plot(places, sizes, label=f"{rule}: expected", markersize=4, **look)
        low, high = [one.low for one in chosen], [one.high for one in chosen]
        axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        over = [_place(one) for one in chosen if one.whole > _CLIFF]
        if rule == "paper" and over:
            told = f"paper: more than {_CLIFF:.0%} whole label spaces"
            ends = (min(over), max(over)) if not splits else (min(over), places[-1])
            axes.axvspan(*ends, facecolor="none", edgecolor=GREY, hatch="//", lw=0, label=told)
        if splits:
            best = found.best(rule, name)
            mark: dict[str, Any] = {"color": colour, "marker": "*", "s": 90, "zorder": 3}
            axes.scatter(_place(best), best.expected, label=f"{rule}: best split", **mark)
    axes.set_xlabel("share of labels that train" if splits else "calibration examples")
    axes.set_ylabel("expected share of the label space")
    axes.set_ylim(bottom=0)
    set_title(
        axes,
        f"Planned from {found.pilot} pilot labels at alpha = {found.alpha:.4g}, {name} (estimated; "
        f"bands: intervals at {1 - found.delta:.4g})",
    )
    axes.legend(fontsize="small")
    return axes


def _place(one: Outlook) -> float:
    return one.n_cal if one.n_train is None else one.n_train / (one.n_train + one.n_cal)


def bound_terms(bounds: Mapping[object, SizeBound], *, ax: Axes | None = None) -> Axes:
    """What bounds on the expected relative size are made of, as stacked bars up to 1.

    Parameters
    ----------
    bounds : mapping from a label to a SizeBound
        One bar for each, in this order.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import shiftproof as shp
    >>> terms = {"model": 0.1, "band": 0.2, "calibration": 0.3}
    >>> bound = shp.theory.SizeBound(terms, 0.05, ("an inequality",))
    >>> shp.plots.bound_terms({"n_cal 100": bound}).get_ylabel()
    'bound on the expected share of the label space'
    """
    if not isinstance(bounds, Mapping) or not bounds:
        got, repair = type(bounds).__name__, "for example {100: repaired_bound(...)}"
        raise InputError("bounds", "a mapping from labels to bounds", got, repair)
    for label, bound in bounds.items():
        _checks.instance(f"bounds[{label!r}]", bound, SizeBound, "repaired_bound(...)")
    axes = axes_for(given_axes(ax))
    names = list(dict.fromkeys(name for bound in bounds.values() for name in bound.terms))
    places, below = np.arange(len(bounds)), np.zeros(len(bounds))
    shades = np.linspace(0.15, 0.85, len(names))
    for name, hatch, shade in zip(names, _HATCHES, shades, strict=False):
        heights = np.array([bound.terms.get(name, 0.0) for bound in bounds.values()])
        heights = np.minimum(heights, np.maximum(1 - below, 0.0))  # a bound above 1 says nothing
        axes.bar(
            places,
            heights,
            bottom=below,
            color=BLUE,
            alpha=float(shade),
            hatch=hatch,
            edgecolor="black",
            linewidth=0.5,
            label=name.replace("_", " "),
        )
        below = below + heights
    for place, bound in zip(places, bounds.values(), strict=True):
        if bound.is_vacuous:
            axes.annotate("says nothing", (place, 1.0), ha="center", va="bottom", fontsize="small")
    axes.set_xticks(places, [str(label) for label in bounds])
    axes.set_xlabel("what each bound is for")
    axes.set_ylim(0, 1.08)
    axes.set_ylabel("bound on the expected share of the label space")
    set_title(axes, "What the bound is made of, from the model up; 1 is the whole label space")
    axes.legend(fontsize="small")
    return axes
