"""
Sets in the plane
=================

Places in a region, as heard from far away. The sets around the predicted places keep the mean
distance from the true place to the set below a level.
"""

import numpy as np

import shiftproof as shp

rng = np.random.default_rng(3)
region = shp.Polygon([[0, 0], [10, 0], [12, 6], [5, 11], [-1, 7]])


def messages(count):
    place = region.project(rng.uniform([-1, 0], [12, 11], (count, 2)))
    noise = np.where(place[:, :1] > 6, 2.0, 0.7) * rng.normal(size=place.shape)  # worse in the east
    return region.project(place + noise), place


heard, place = messages(300)
new, truth = messages(200)
ratio = shp.KnownRatio(lambda x: np.where(x[:, 0] > 6, 3.0, 0.2))  # more messages from the east


def sets(worst_case, alpha, balls=None, labels=300):
    controller = shp.RiskController(
        lambda x: x, balls or shp.Balls(region), shp.Distance(), ratio, worst_case
    )
    return controller.calibrate(heard[:labels], place[:labels]).predict(new, alpha)


# %%
# Balls, cut off where the region ends. Messages from the east have more weight and larger sets.
# The set of one message may miss its place by far, as the dotted lines show: the promise is about
# the mean.

shp.plots.regions(sets(shp.Pointwise(), alpha=0.7), truth=truth, unit="km")

# %%
# With as few as 40 labels the test point itself counts for much, and so does what it may lose. By
# the directional envelope sets reach differently far in each direction: less far where the
# region ends soon, since less can be lost there. They are stars.

shp.plots.regions(
    sets(shp.Directional(), alpha=0.3, labels=40), truth=truth, rows=range(5), unit="km"
)

# %%
# The same labels and level by the paper's rule: messages of large weight get the whole region, and
# it is said for which rows.

shp.plots.regions(sets(shp.Constant(), alpha=0.3, labels=40), truth=truth, rows=range(6), unit="km")

# %%
# Balls of the city-block norm, larger where errors are known to be.

diamonds = shp.Balls(region, p=1, scale=lambda x: np.where(x[:, 0] > 6, 2.0, 1.0))
shp.plots.regions(sets(shp.Pointwise(), alpha=0.7, balls=diamonds), truth=truth, unit="km")
