"""What became of a test point, as a value that carries its own sentence."""

from __future__ import annotations

from enum import Enum

import numpy as np

from shiftproof._types import FloatArray, ObjectArray


class Outcome(Enum):
    """Why a set is what it is.

    The promise behind CONTROLLED is an average over calibration draws and test points, given right
    weights and an unmoved law of the label given the input; it is not a promise for one point.

    Examples
    --------
    >>> import shiftproof as shp
    >>> print(shp.Outcome.WHOLE)
    no smaller threshold meets alpha here; the whole label space is returned
    >>> shp.Outcome.WHOLE.is_whole
    True
    """

    CONTROLLED = "the set is the smallest of its family that meets alpha here"
    WHOLE = "no smaller threshold meets alpha here; the whole label space is returned"
    NO_TEST_MASS = (
        "the target distribution gives this input no weight; the set follows from calibration alone"
    )
    WORST_CASE_ALONE = (
        "no calibration weight counts here; the set meets alpha for every possible label"
    )
    OUTSIDE_SUPPORT = (
        "the calibration distribution never visits this input (infinite weight); "
        "the whole label space is returned"
    )
    NO_CALIBRATION_MASS = (
        "no calibration example has weight under this shift; the whole label space is returned"
    )
    NO_MASS_AT_ALL = (
        "neither calibration nor this input has weight (0/0); "
        "the whole label space is returned by convention"
    )

    def __str__(self) -> str:
        return self.value

    @property
    def is_whole(self) -> bool:
        """Whether the set is the whole label space."""
        return self in _WHOLE


_WHOLE = {
    Outcome.WHOLE,
    Outcome.OUTSIDE_SUPPORT,
    Outcome.NO_CALIBRATION_MASS,
    Outcome.NO_MASS_AT_ALL,
}


def outcomes(
    thresholds: FloatArray, test_weights: FloatArray, weightless: bool, whole: FloatArray
) -> ObjectArray:
    """The outcome of each point, from its threshold, its weight and D(x), where a set is whole."""
    is_whole, silent = thresholds >= whole, test_weights == 0
    outside = np.isinf(test_weights)
    cases: list[tuple[np.ndarray[tuple[int, ...], np.dtype[np.bool_]], Outcome]] = [
        (silent & weightless, Outcome.NO_MASS_AT_ALL),
        (outside & is_whole, Outcome.OUTSIDE_SUPPORT),
        (is_whole & weightless, Outcome.NO_CALIBRATION_MASS),
        (outside | np.full_like(outside, weightless), Outcome.WORST_CASE_ALONE),
        (is_whole, Outcome.WHOLE),
        (silent, Outcome.NO_TEST_MASS),
        (np.full_like(silent, True), Outcome.CONTROLLED),
    ]
    members = np.array([outcome for _, outcome in cases], dtype=object)
    chosen: ObjectArray = members[np.argmax([case for case, _ in cases], axis=0)]
    return chosen
