"""Prediction sets that keep their promise when the inputs shift.

Names are loaded when they are first used, so that ``import shiftproof`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "APS": "shiftproof.sets.labels",
    "ArchiveError": "shiftproof.archive",
    "Assumption": "shiftproof.contracts",
    "Balls": "shiftproof.sets.balls",
    "BootstrapRatio": "shiftproof.ratios.bootstrap",
    "Box": "shiftproof.sets.region",
    "BoxedCurve": "shiftproof.risk",
    "Calibrated": "shiftproof.controller",
    "Certainty": "shiftproof.contracts",
    "Certificate": "shiftproof.planning.certificate",
    "ClassifierRatio": "shiftproof.ratios.classifier",
    "ClippedRatio": "shiftproof.ratios.clip",
    "CoherentBox": "shiftproof.risk",
    "CoherentCurve": "shiftproof.risk",
    "ColumnRatio": "shiftproof.ratios.known",
    "Columns": "shiftproof.predictors.models",
    "Compressed": "shiftproof.risk",
    "Constant": "shiftproof.worst_case",
    "Contents": "shiftproof.persist.contents",
    "CountedRatio": "shiftproof.ratios.counted",
    "Counts": "shiftproof.ratios.groups",
    "CrossfitRatio": "shiftproof.ratios.crossfit",
    "DensityRatio": "shiftproof.ratios.known",
    "Diagnosis": "shiftproof.ratios.diagnose",
    "Directional": "shiftproof.worst_case",
    "Distance": "shiftproof.losses.distance",
    "DrawnCurve": "shiftproof.risk",
    "Evaluation": "shiftproof.evaluation",
    "Explanation": "shiftproof.explanation",
    "F1": "shiftproof.losses.monotone",
    "FalseNegativeRate": "shiftproof.losses.false_negative",
    "Feasibility": "shiftproof.planning.feasibility",
    "Figure": "shiftproof.ratios.diagnose",
    "GaussianRatio": "shiftproof.ratios.gaussians",
    "GroupIntervals": "shiftproof.ratios.groups",
    "GroupRatio": "shiftproof.ratios.groups",
    "InputError": "shiftproof.errors",
    "Intervals": "shiftproof.sets.intervals",
    "KLIEP": "shiftproof.ratios.kernels",
    "KernelRatio": "shiftproof.ratios.kernels",
    "KnownRatio": "shiftproof.ratios.known",
    "LAC": "shiftproof.sets.labels",
    "LabelSets": "shiftproof.sets.labels",
    "Ledger": "shiftproof.ratios.roles",
    "LossCurves": "shiftproof.risk",
    "Masks": "shiftproof.sets.masks",
    "Measured": "shiftproof.evaluation",
    "Miscoverage": "shiftproof.losses.miscoverage",
    "MonotoneLoss": "shiftproof.losses.monotone",
    "Monotonized": "shiftproof.losses.monotone",
    "NoShift": "shiftproof.ratios.known",
    "OnColumns": "shiftproof.predictors.models",
    "Outcome": "shiftproof.risk",
    "Overlap": "shiftproof.ratios.roles",
    "PlainRatio": "shiftproof.ratios.plain",
    "Plan": "shiftproof.planning.planner",
    "Pointwise": "shiftproof.worst_case",
    "Polygon": "shiftproof.sets.region",
    "Posterior": "shiftproof.contracts",
    "PosteriorMean": "shiftproof.predictors.posteriors",
    "Prepared": "shiftproof.controller",
    "Price": "shiftproof.risk",
    "PricedCurve": "shiftproof.risk",
    "Quantiles": "shiftproof.sets.intervals",
    "RAPS": "shiftproof.sets.labels",
    "RandomizedThreshold": "shiftproof.risk",
    "Ratio": "shiftproof.contracts",
    "Region": "shiftproof.sets.region",
    "Residual": "shiftproof.sets.intervals",
    "RiskController": "shiftproof.controller",
    "RiskCurve": "shiftproof.risk",
    "ScaledResidual": "shiftproof.sets.intervals",
    "ShiftWarning": "shiftproof.errors",
    "ShiftproofError": "shiftproof.errors",
    "Snapshots": "shiftproof.predictors.posteriors",
    "Strata": "shiftproof.risk",
    "StratifiedCurve": "shiftproof.risk",
    "Thompson": "shiftproof.predictors.posteriors",
    "ThresholdRule": "shiftproof.risk",
    "ULSIF": "shiftproof.ratios.kernels",
    "WeightBox": "shiftproof.risk",
    "WithinGroups": "shiftproof.ratios.within",
    "certify": "shiftproof.planning.certificate",
    "compressed": "shiftproof.risk",
    "contents": "shiftproof.persist.contents",
    "diagnose": "shiftproof.ratios.diagnose",
    "feasibility": "shiftproof.planning.feasibility",
    "load": "shiftproof.persist.files",
    "plan": "shiftproof.planning.planner",
    "plan_splits": "shiftproof.planning.splits",
    "rate_vertices": "shiftproof.risk",
    "row_digests": "shiftproof.ratios.roles",
    "save": "shiftproof.persist.files",
}

#: Modules that are reached as attributes, loaded when they are first used.
_MODULES = frozenset({"plots", "sklearn", "theory"})

if TYPE_CHECKING:
    from shiftproof import plots as plots
    from shiftproof import sklearn as sklearn
    from shiftproof import theory as theory
    from shiftproof.archive import ArchiveError
    from shiftproof.contracts import Assumption, Certainty, Posterior, Ratio
    from shiftproof.controller import Calibrated, Prepared, RiskController
    from shiftproof.errors import InputError, ShiftproofError, ShiftWarning
    from shiftproof.evaluation import Evaluation, Measured
    from shiftproof.explanation import Explanation
    from shiftproof.losses.distance import Distance
    from shiftproof.losses.false_negative import FalseNegativeRate
    from shiftproof.losses.miscoverage import Miscoverage
    from shiftproof.losses.monotone import F1, MonotoneLoss, Monotonized
    from shiftproof.persist.contents import Contents, contents
    from shiftproof.persist.files import load, save
    from shiftproof.planning.certificate import Certificate, certify
    from shiftproof.planning.feasibility import Feasibility, feasibility
    from shiftproof.planning.planner import Plan, plan
    from shiftproof.planning.splits import plan_splits
    from shiftproof.predictors.models import Columns, OnColumns
    from shiftproof.predictors.posteriors import PosteriorMean, Snapshots, Thompson
    from shiftproof.ratios.bootstrap import BootstrapRatio
    from shiftproof.ratios.classifier import ClassifierRatio
    from shiftproof.ratios.clip import ClippedRatio
    from shiftproof.ratios.counted import CountedRatio
    from shiftproof.ratios.crossfit import CrossfitRatio
    from shiftproof.ratios.diagnose import Diagnosis, Figure, diagnose
    from shiftproof.ratios.gaussians import GaussianRatio
    from shiftproof.ratios.groups import Counts, GroupIntervals, GroupRatio
    from shiftproof.ratios.kernels import KLIEP, ULSIF, KernelRatio
    from shiftproof.ratios.known import ColumnRatio, DensityRatio, KnownRatio, NoShift
    from shiftproof.ratios.plain import PlainRatio
    from shiftproof.ratios.roles import Ledger, Overlap, row_digests
    from shiftproof.ratios.within import WithinGroups
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
        Strata,
        StratifiedCurve,
        ThresholdRule,
        WeightBox,
        compressed,
        rate_vertices,
    )
    from shiftproof.sets.balls import Balls
    from shiftproof.sets.intervals import Intervals, Quantiles, Residual, ScaledResidual
    from shiftproof.sets.labels import APS, LAC, RAPS, LabelSets
    from shiftproof.sets.masks import Masks
    from shiftproof.sets.region import Box, Polygon, Region
    from shiftproof.worst_case import Constant, Directional, Pointwise

__all__ = [
    "APS",
    "F1",
    "KLIEP",
    "LAC",
    "RAPS",
    "ULSIF",
    "ArchiveError",
    "Assumption",
    "Balls",
    "BootstrapRatio",
    "Box",
    "BoxedCurve",
    "Calibrated",
    "Certainty",
    "Certificate",
    "ClassifierRatio",
    "ClippedRatio",
    "CoherentBox",
    "CoherentCurve",
    "ColumnRatio",
    "Columns",
    "Compressed",
    "Constant",
    "Contents",
    "CountedRatio",
    "Counts",
    "CrossfitRatio",
    "DensityRatio",
    "Diagnosis",
    "Directional",
    "Distance",
    "DrawnCurve",
    "Evaluation",
    "Explanation",
    "FalseNegativeRate",
    "Feasibility",
    "Figure",
    "GaussianRatio",
    "GroupIntervals",
    "GroupRatio",
    "InputError",
    "Intervals",
    "KernelRatio",
    "KnownRatio",
    "LabelSets",
    "Ledger",
    "LossCurves",
    "Masks",
    "Measured",
    "Miscoverage",
    "MonotoneLoss",
    "Monotonized",
    "NoShift",
    "OnColumns",
    "Outcome",
    "Overlap",
    "PlainRatio",
    "Plan",
    "Pointwise",
    "Polygon",
    "Posterior",
    "PosteriorMean",
    "Prepared",
    "Price",
    "PricedCurve",
    "Quantiles",
    "RandomizedThreshold",
    "Ratio",
    "Region",
    "Residual",
    "RiskController",
    "RiskCurve",
    "ScaledResidual",
    "ShiftWarning",
    "ShiftproofError",
    "Snapshots",
    "Strata",
    "StratifiedCurve",
    "Thompson",
    "ThresholdRule",
    "WeightBox",
    "WithinGroups",
    "certify",
    "compressed",
    "contents",
    "diagnose",
    "feasibility",
    "load",
    "plan",
    "plan_splits",
    "rate_vertices",
    "row_digests",
    "save",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"shiftproof.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
