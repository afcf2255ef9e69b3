"""
Plans and bounds
================

Before anything is labelled beyond a pilot: how large sets will be, with how many calibration
examples, and with which split.
"""

# %%
# Stations will be off for nine tenths of the messages, and were off for half of the pilot. The
# paper's rule has a cliff: with fewer than some 160 examples most messages get the whole road.
# The envelope has none.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from shiftproof import theory


def rows(rng, n, rate):
    off, place = rng.random(n) < rate, rng.uniform(0, 40, n)
    heard = place[:, None] + np.where(off, 2.0, 0.5)[:, None] * rng.normal(size=(n, 3))
    return np.column_stack([off, heard]), place


rng = np.random.default_rng(0)
ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.1, 1: 0.9})
controller = shp.RiskController(
    lambda x: x[:, 1:].mean(axis=1), shp.Intervals(0, 40), shp.Distance(), ratio
)
pilot = rows(rng, 300, 0.5)
plan = shp.plan(controller, *pilot, alpha=0.5, n_cal=[40, 80, 120, 140, 160, 180, 220, 300, 500])
ax = shp.plots.plan_curve(plan)

# %%
# The split of 400 labels: a model of neighbours learns from more of them, and calibration loses
# them. The star is the split that is recommended for each rule.

splits = shp.plan_splits(
    controller,
    *rows(rng, 600, 0.5),
    refit=lambda x, y: KNeighborsRegressor(5).fit(x, y),
    total=400,
    n_train=[20, 60, 120, 180, 240, 300, 350],
    alpha=0.8,
    repeats=5,
)
ax = shp.plots.plan_curve(splits)

# %%
# What can be certified, from 2,000 labels: the bound in its terms, by the number of calibration
# examples. The loss is capped at 2 km.

x, place = rows(rng, 2000, 0.5)
scores = np.abs(x[:, 1:].mean(axis=1) - place)
grid = np.linspace(0, 40, 161)
band = theory.betting_band(
    shp.LossCurves.hinges(scores, bound=2.0, cap=2.0),
    grid,
    delta=0.05,
    weights=ratio.weights(x),
    ratio_max=1.8,
)
sizes = theory.SizeCurve(grid, np.minimum(2 * grid / 40, 1.0)[None])
bounds = {
    n: theory.repaired_bound(band, sizes, alpha=0.4, n_cal=n, ratio_max=1.8)
    for n in (10, 50, 100, 300, 1000)
}
ax = shp.plots.bound_terms(bounds)
ax.set_xlabel("calibration examples")
plt.show()
