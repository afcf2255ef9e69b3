"""The theorem: weighted conformal risk control as look-ups in one sorted curve.

Read in this order: `curves` (the losses, paper eq. 1, 2 and 8), `curve` (the rule, eq. 9 to 12),
`augmented` (how one look-up is done), `descent` (the sorted curve), `exact` (ties), `boxes`
(uncertain weights), `priced` (a level below alpha, for weights that leave something out), `strata`
(calibration within groups), `rule` (what all curves answer, star-shaped sets), `compression`,
`outcome`.
"""

from shiftproof.risk.boxes import (
    BoxedCurve,
    CoherentBox,
    CoherentCurve,
    WeightBox,
    rate_vertices,
)
from shiftproof.risk.compression import Compressed, compressed
from shiftproof.risk.curve import RandomizedThreshold, RiskCurve
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.outcome import Outcome
from shiftproof.risk.priced import DrawnCurve, Price, PricedCurve
from shiftproof.risk.rule import ThresholdRule
from shiftproof.risk.strata import Strata, StratifiedCurve

__all__ = [
    "BoxedCurve",
    "CoherentBox",
    "CoherentCurve",
    "Compressed",
    "DrawnCurve",
    "LossCurves",
    "Outcome",
    "Price",
    "PricedCurve",
    "RandomizedThreshold",
    "RiskCurve",
    "Strata",
    "StratifiedCurve",
    "ThresholdRule",
    "WeightBox",
    "compressed",
    "rate_vertices",
]
