"""Pictures of what a calibration does: risk, sizes, weights, sets. The extra ``plot``.

    import shiftproof as shp
    ax = shp.plots.risk_curve(prepared, alpha)

Each function draws into the axes that it is given, or into a new figure, and returns the axes. It
shows numbers that curves, sets and diagnoses already answer with, and calculates nothing but shares
of rows.
What an infinite number stands for is said in words, since no axis has a place for it. Lines differ
in dashes, points in markers and areas in hatching, never in colour alone.

A level or a shift that is chosen from a picture of the points it is then used for is exploration,
and no promise.
"""

from shiftproof.plots.curves import risk_curve, size_curve
from shiftproof.plots.plans import bound_terms, plan_curve
from shiftproof.plots.sets import intervals, label_counts, regions
from shiftproof.plots.shift import balance, weights

__all__ = [
    "balance",
    "bound_terms",
    "intervals",
    "label_counts",
    "plan_curve",
    "regions",
    "risk_curve",
    "size_curve",
    "weights",
]
