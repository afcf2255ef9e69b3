"""What all plots share: axes to draw into, colours, titles, and the promise in words."""

from __future__ import annotations

import textwrap
from typing import Any

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator
except ModuleNotFoundError as cause:  # pragma: no cover - the tests install it
    raise ModuleNotFoundError(
        "plots need the package matplotlib: pip install 'shiftproof[plot]'"
    ) from cause

from shiftproof import _checks
from shiftproof.contracts import Assumption

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "Axes",
    "MaxNLocator",
    "axes_for",
    "axis_name",
    "given_axes",
    "promise_of",
    "rests_on",
    "set_title",
    "with_unit",
    "wrapped_at",
]

#: Colours that the colour-blind tell apart (Okabe and Ito), and in which grey prints differ.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"

#: The height of the letters of titles in points, and their width as a share of it.
_SMALL, _LETTER = 8.5, 0.46


def given_axes(ax: object) -> Axes | None:
    """The axes that were passed, if they are axes."""
    if ax is None:
        return None
    return _checks.instance("ax", ax, Axes, "figure, ax = plt.subplots()")


def axes_for(given: Axes | None) -> Axes:
    """The axes to draw into. Called when nothing can be refused any more."""
    if given is not None:
        return given
    axes: Axes = plt.figure(layout="constrained").add_subplot()
    return axes


def set_title(axes: Axes, *lines: str, share: float = 1.0) -> None:
    """Lines above the axes, each broken to their width, or to a share of it."""
    width = share * axes.get_window_extent().width * 72 / axes.figure.dpi
    letters = max(int(width / (_LETTER * _SMALL)), 20)
    text = "\n".join(wrapped_at(line, letters) for line in lines)
    axes.set_title(text, loc="left", fontsize=_SMALL)


def axis_name(what: str, unit: str) -> str:
    """What an axis shows, and in which unit."""
    return f"{what} ({unit})" if unit else what


def with_unit(value: float, unit: str) -> str:
    """A number with its unit."""
    return f"{value:.4g} {unit}".strip()


def wrapped_at(text: str, letters: int) -> str:
    """Text in lines of so many letters."""
    return "\n".join(textwrap.wrap(text, letters))


def promise_of(sets: Any) -> str:
    """What these sets promise: nothing where their thresholds were chosen by hand."""
    if sets.reason is None:
        return "Thresholds chosen by hand: no promise."
    return (
        "The promise is on average over calibration draws and test points, given right weights and "
        "a law of labels given inputs that has not moved; not for each set that is drawn."
    )


def rests_on(assumption: Assumption) -> str:
    """What a picture rests on."""
    return f"The promise is {assumption}"
