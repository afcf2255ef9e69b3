"""Prediction sets that keep their promise when the inputs shift.

Names are loaded when they are first used, so that ``import shiftproof`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "BoxedCurve": "shiftproof.risk",
    "CoherentBox": "shiftproof.risk",
    "CoherentCurve": "shiftproof.risk",
    "Compressed": "shiftproof.risk",
    "InputError": "shiftproof.errors",
    "LossCurves": "shiftproof.risk",
    "Outcome": "shiftproof.risk",
    "RandomizedThreshold": "shiftproof.risk",
    "RiskCurve": "shiftproof.risk",
    "ShiftproofError": "shiftproof.errors",
    "ThresholdRule": "shiftproof.risk",
    "WeightBox": "shiftproof.risk",
    "compressed": "shiftproof.risk",
    "rate_vertices": "shiftproof.risk",
}

if TYPE_CHECKING:
    from shiftproof.errors import InputError, ShiftproofError
    from shiftproof.risk import (
        BoxedCurve,
        CoherentBox,
        CoherentCurve,
        Compressed,
        LossCurves,
        Outcome,
        RandomizedThreshold,
        RiskCurve,
        ThresholdRule,
        WeightBox,
        compressed,
        rate_vertices,
    )

__all__ = [
    "BoxedCurve",
    "CoherentBox",
    "CoherentCurve",
    "Compressed",
    "InputError",
    "LossCurves",
    "Outcome",
    "RandomizedThreshold",
    "RiskCurve",
    "ShiftproofError",
    "ThresholdRule",
    "WeightBox",
    "compressed",
    "rate_vertices",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
