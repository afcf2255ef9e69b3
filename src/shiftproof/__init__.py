"""Prediction sets that keep their promise when the inputs shift.

Names are loaded when they are first used, so that ``import shiftproof`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "Assumption": "shiftproof.contracts",
    "BoxedCurve": "shiftproof.risk",
    "Certainty": "shiftproof.contracts",
    "ClassifierRatio": "shiftproof.ratios.classifier",
    "CoherentBox": "shiftproof.risk",
    "CoherentCurve": "shiftproof.risk",
    "ColumnRatio": "shiftproof.ratios.known",
    "Compressed": "shiftproof.risk",
    "Counts": "shiftproof.ratios.groups",
    "DensityRatio": "shiftproof.ratios.known",
    "DrawnCurve": "shiftproof.risk",
    "GaussianRatio": "shiftproof.ratios.gaussians",
    "GroupIntervals": "shiftproof.ratios.groups",
    "GroupRatio": "shiftproof.ratios.groups",
    "InputError": "shiftproof.errors",
    "KnownRatio": "shiftproof.ratios.known",
    "Ledger": "shiftproof.ratios.roles",
    "LossCurves": "shiftproof.risk",
    "NoShift": "shiftproof.ratios.known",
    "Outcome": "shiftproof.risk",
    "Overlap": "shiftproof.ratios.roles",
    "PlainRatio": "shiftproof.ratios.plain",
    "Price": "shiftproof.risk",
    "PricedCurve": "shiftproof.risk",
    "RandomizedThreshold": "shiftproof.risk",
    "Ratio": "shiftproof.contracts",
    "RiskCurve": "shiftproof.risk",
    "ShiftproofError": "shiftproof.errors",
    "ThresholdRule": "shiftproof.risk",
    "WeightBox": "shiftproof.risk",
    "compressed": "shiftproof.risk",
    "rate_vertices": "shiftproof.risk",
    "row_digests": "shiftproof.ratios.roles",
}

if TYPE_CHECKING:
    from shiftproof.contracts import Assumption, Certainty, Ratio
    from shiftproof.errors import InputError, ShiftproofError
    from shiftproof.ratios.classifier import ClassifierRatio
    from shiftproof.ratios.gaussians import GaussianRatio
    from shiftproof.ratios.groups import Counts, GroupIntervals, GroupRatio
    from shiftproof.ratios.known import ColumnRatio, DensityRatio, KnownRatio, NoShift
    from shiftproof.ratios.plain import PlainRatio
    from shiftproof.ratios.roles import Ledger, Overlap, row_digests
    from shiftproof.risk import (
        BoxedCurve,
        CoherentBox,
        CoherentCurve,
        Compressed,
        DrawnCurve,
        LossCurves,
        Outcome,
        Price,
        PricedCurve,
        RandomizedThreshold,
        RiskCurve,
        ThresholdRule,
        WeightBox,
        compressed,
        rate_vertices,
    )

__all__ = [
    "Assumption",
    "BoxedCurve",
    "Certainty",
    "ClassifierRatio",
    "CoherentBox",
    "CoherentCurve",
    "ColumnRatio",
    "Compressed",
    "Counts",
    "DensityRatio",
    "DrawnCurve",
    "GaussianRatio",
    "GroupIntervals",
    "GroupRatio",
    "InputError",
    "KnownRatio",
    "Ledger",
    "LossCurves",
    "NoShift",
    "Outcome",
    "Overlap",
    "PlainRatio",
    "Price",
    "PricedCurve",
    "RandomizedThreshold",
    "Ratio",
    "RiskCurve",
    "ShiftproofError",
    "ThresholdRule",
    "WeightBox",
    "compressed",
    "rate_vertices",
    "row_digests",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
