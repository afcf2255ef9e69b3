"""
What a promise costs
====================

Before a level is promised one wants to know how large the sets will be. That needs inputs from
where the sets will be used, and no labels there. Choose the level from a picture like these, then
calibrate on examples that the picture has not seen: a level that was chosen on the examples that
it is then used with comes without a promise.
"""

import numpy as np

import shiftproof as shp

rng = np.random.default_rng(0)
inputs = rng.normal(size=(300, 1))
labels = np.clip(3 * inputs[:, 0] + rng.normal(size=300), -10, 10)
new = rng.normal(1.0, 1.0, size=(150, 1))  # in use the inputs are larger
ratio = shp.KnownRatio(lambda x: np.exp(x[:, 0] - 0.5))


def prepared(sets, loss, worst_case):
    controller = shp.RiskController(lambda x: 3 * x[:, 0], sets, loss, ratio, worst_case)
    return controller.calibrate(inputs, labels).prepare(new)


# %%
# Distances in a range of labels from -10 to 10, by the paper's rule. Below some level points of
# large weight get the whole range: the right axis has their share. The mean size on the left counts
# them with all the range. It falls to 0 where the predictions alone keep the promise.

shp.plots.size_curve(
    prepared(shp.Intervals(-10, 10), shp.Distance(), shp.Constant()),
    np.linspace(0.05, 1.0, 20),
    unit="kg",
    size_unit="kg",
)

# %%
# The same with sizes as shares of the range, by the envelope, which allows a point to lose only
# what its farthest label would.

shp.plots.size_curve(
    prepared(shp.Intervals(-10, 10), shp.Distance(), shp.Pointwise()),
    np.linspace(0.05, 1.0, 20),
    relative=True,
    unit="kg",
)

# %%
# Miscoverage where labels have no end. One set without end is enough for a mean that is infinite:
# those levels are hatched, and the line starts where all sets are finite.

shp.plots.size_curve(
    prepared(shp.Intervals(), shp.Miscoverage(), shp.Pointwise()),
    np.linspace(0.01, 0.4, 20),
    size_unit="kg",
)
