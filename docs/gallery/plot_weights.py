"""
How far weights can be trusted
==============================

All rests on the weights. A look at them costs no labels: inputs from calibration and from use will
do.
"""

import numpy as np
import pandas as pd

import shiftproof as shp

rng = np.random.default_rng(0)


def patients(count, shift):
    age = np.clip(rng.normal(50 + 12 * shift, 12, count), 18, 95)
    pressure = rng.normal(120 + 6 * shift, 15, count)
    smokes = np.where(rng.random(count) < 0.3 + 0.1 * shift, "yes", "no")
    return pd.DataFrame({"age": age, "pressure": pressure, "smokes": smokes})


source, target = patients(600, shift=0), patients(300, shift=1)

# %%
# The ratio is learnt on half of the rows by a classifier, and looked at on the other half: on its
# own rows it looks better than it is. Each curve gives the share of rows that have a weight or
# less, so that nothing depends on bins. Target rows have larger weights, as they should.

ratio = shp.ClassifierRatio().fit(source[:300], target[:150])
found = shp.diagnose(ratio, source[300:], target[150:])
shp.plots.weights(found)

# %%
# Weighted source rows should have the means of target rows in every column, up to chance: weighted
# rows that count as 144 have a mean that is off by 1/12 of a standard deviation. Means that agree
# are no proof that the weights are right. What a classifier still sees after weighting is told
# above.

shp.plots.balance(found)

# %%
# A ratio that knows where calibration has never been. Patients above 80 were not admitted to the
# study: their weight is infinite, and they get the whole label space by the paper's rule. Patients
# below 40 will not be seen in use: their weight is 0. Neither has a place on an axis of
# logarithms, so the curves start above 0 and end below 1, and the words say how many there are.


def admitted(age):
    return np.select([age > 80, age < 40], [np.inf, 0.0], np.exp((age - 56) / 12))


study = source[source["age"] <= 80]
use = target[target["age"] >= 40]
shp.plots.weights(shp.diagnose(shp.KnownRatio(admitted, columns=["age"]), study, use))
