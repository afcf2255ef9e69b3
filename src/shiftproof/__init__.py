"""Prediction sets that keep their promise when the inputs shift.

Names are loaded when they are first used, so that ``import shiftproof`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "Assumption": "shiftproof.contracts",
    "BootstrapRatio": "shiftproof.ratios.bootstrap",
    "BoxedCurve": "shiftproof.risk",
    "Certainty": "shiftproof.contracts",
    "ClassifierRatio": "shiftproof.ratios.classifier",
    "ClippedRatio": "shiftproof.ratios.clip",
    "CoherentBox": "shiftproof.risk",
    "CoherentCurve": "shiftproof.risk",
    "ColumnRatio": "shiftproof.ratios.known",
    "Compressed": "shiftproof.risk",
    "Counts": "shiftproof.ratios.groups",
    "CrossfitRatio": "shiftproof.ratios.crossfit",
    "DensityRatio": "shiftproof.ratios.known",
    "Diagnosis": "shiftproof.ratios.diagnose",
    "DrawnCurve": "shiftproof.risk",
    "Figure": "shiftproof.ratios.diagnose",
    "GaussianRatio": "shiftproof.ratios.gaussians",
    "GroupIntervals": "shiftproof.ratios.groups",
    "GroupRatio": "shiftproof.ratios.groups",
    "InputError": "shiftproof.errors",
    "KLIEP": "shiftproof.ratios.kernels",
    "KernelRatio": "shiftproof.ratios.kernels",
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
    "ShiftWarning": "shiftproof.errors",
    "ShiftproofError": "shiftproof.errors",
    "ThresholdRule": "shiftproof.risk",
    "ULSIF": "shiftproof.ratios.kernels",
    "WeightBox": "shiftproof.risk",
    "compressed": "shiftproof.risk",
    "diagnose": "shiftproof.ratios.diagnose",
    "rate_vertices": "shiftproof.risk",
    "row_digests": "shiftproof.ratios.roles",
}

if TYPE_CHECKING:
    from shiftproof.contracts import Assumption, Certainty, Ratio
    from shiftproof.errors import InputError, ShiftproofError, ShiftWarning
    from shiftproof.ratios.bootstrap import BootstrapRatio
    from shiftproof.ratios.classifier import ClassifierRatio
    from shiftproof.ratios.clip import ClippedRatio
    from shiftproof.ratios.crossfit import CrossfitRatio
    from shiftproof.ratios.diagnose import Diagnosis, Figure, diagnose
    from shiftproof.ratios.gaussians import GaussianRatio
    from shiftproof.ratios.groups import Counts, GroupIntervals, GroupRatio
    from shiftproof.ratios.kernels import KLIEP, ULSIF, KernelRatio
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
    "KLIEP",
    "ULSIF",
    "Assumption",
    "BootstrapRatio",
    "BoxedCurve",
    "Certainty",
    "ClassifierRatio",
    "ClippedRatio",
    "CoherentBox",
    "CoherentCurve",
    "ColumnRatio",
    "Compressed",
    "Counts",
    "CrossfitRatio",
    "DensityRatio",
    "Diagnosis",
    "DrawnCurve",
    "Figure",
    "GaussianRatio",
    "GroupIntervals",
    "GroupRatio",
    "InputError",
    "KernelRatio",
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
    "ShiftWarning",
    "ShiftproofError",
    "ThresholdRule",
    "WeightBox",
    "compressed",
    "diagnose",
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
