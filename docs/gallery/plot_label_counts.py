"""
How many labels a set holds
===========================

Sets of classes are useful when most of them hold one label. Empty sets, and sets that hold every
label, are worth a look of their own.
"""

import numpy as np

import shiftproof as shp

rng = np.random.default_rng(0)


def pictures(count, hard):
    logits = rng.normal(size=(count, 5)) * np.where(rng.random(count) < hard, 1.5, 5.0)[:, None]
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return chances, (chances.cumsum(axis=1) < rng.random((count, 1))).sum(axis=1)


chances, label = pictures(400, hard=0.3)
new, truth = pictures(300, hard=0.3)


def sets(score, alpha, **more):
    controller = shp.RiskController(lambda x: x, shp.LabelSets(score, **more), shp.Miscoverage())
    return controller.calibrate(chances, label).predict(new, alpha)


# %%
# By the score 1 - p: the smallest sets on average, at the price of empty ones.

shp.plots.label_counts(sets(shp.LAC(), alpha=0.25))

# %%
# By cumulated probability hard rows hold more labels, sometimes all of them. A row can be empty
# here too, where its most probable class alone has more probability than the threshold;
# ``nonempty=True`` puts that class into every set.

shp.plots.label_counts(sets(shp.APS(), alpha=0.004, nonempty=True))
