"""
Intervals along an input
========================

Intervals around the predictions of a model, one for each row, along one of its inputs.
"""

import numpy as np
import pandas as pd

import shiftproof as shp

rng = np.random.default_rng(0)


def loads(count, warm):
    degrees = np.clip(rng.normal(10 + 8 * warm, 7, count), -10, 40)
    load = 60 + 0.05 * (degrees - 16) ** 2 + (1 + 0.12 * np.abs(degrees)) * rng.normal(size=count)
    return pd.DataFrame({"degrees": degrees}), load


inputs, load = loads(400, warm=0)
new, truth = loads(80, warm=1)  # it will be warmer


def model(table):
    return 60 + 0.05 * (table["degrees"] - 16) ** 2


def spread(table):
    return 1 + 0.12 * table["degrees"].abs()


def intervals(ratio, alpha, **sets):
    controller = shp.RiskController(model, shp.Intervals(**sets), shp.Miscoverage(), ratio)
    return controller.calibrate(inputs, load).predict(new, alpha)


# %%
# The ratio of two normal laws is known here. Intervals are wider where the spread is larger.
# Labels that lie outside are crosses: at most one in five of all, on average over calibration draws
# and test points.

warmer = shp.KnownRatio(lambda d: np.exp(8 / 49 * (d - 14)), columns=["degrees"])
sets = intervals(warmer, alpha=0.2, score=shp.ScaledResidual(spread))
shp.plots.intervals(sets, new["degrees"], truth=truth, name="temperature (°C)", unit="MW")

# %%
# Loads have no upper end. With a promise of 5 in 100 the hottest hours have more weight than all
# calibration can answer for, and their intervals are the whole range of labels: drawn dashed, with
# an arrow where they go on without limit.

sets = intervals(warmer, alpha=0.05, lower=0.0)
shp.plots.intervals(sets, new["degrees"], truth=truth, name="temperature (°C)", unit="MW")
