"""
Where a threshold comes from
============================

Devices on a road of 40 km send messages, and a model guesses from which kilometre. When stations
are off the guesses are worse. Stations were off in half of the messages with known places; in use
they will be off in nine of ten. The promise: at most 1 km from the interval to the place, on
average.
"""

import numpy as np
import pandas as pd

import shiftproof as shp

rng = np.random.default_rng(0)


def messages(count, rate_off):
    off, place = rng.random(count) < rate_off, rng.uniform(0, 40, count)
    heard = np.clip(place + np.where(off, 4.0, 0.5) * rng.normal(size=count), 0, 40)
    return pd.DataFrame({"heard": heard, "stations": np.where(off, "off", "on")}), place


labelled, place = messages(200, rate_off=0.5)
new, truth = messages(200, rate_off=0.9)
shift = shp.GroupRatio("stations", source={"off": 0.5, "on": 0.5}, target={"off": 0.9, "on": 0.1})


def prepared(ratio, worst_case, labels=200):
    controller = shp.RiskController(
        shp.Columns("heard"), shp.Intervals(0, 40), shp.Distance(), ratio, worst_case
    )
    return controller.calibrate(labelled[:labels], place[:labels]).prepare(new)


# %%
# The blue line is the weighted mean loss of the labelled messages, when every interval reaches as
# far to both sides as the threshold says. The thresholds lie to the right of where it meets alpha:
# the rule also allows for what the test point itself may lose. What is left is its budget, the line
# that the risk has to meet. A message from stations that are off has the weight 1.8, nine times
# that of the others, so it has the lower budget and the larger threshold.

shp.plots.risk_curve(prepared(shift, shp.Pointwise()), alpha=1.0, unit="km")

# %%
# The paper's rule allows every test point to lose 40 km whatever its interval. With as few as 60
# labels and a promise of half a kilometre no threshold meets the budget of the heavier messages.
# They get the whole road, and are counted in words: no place on the axis stands for them.

shp.plots.risk_curve(prepared(shift, shp.Constant(), labels=60), alpha=0.5, unit="km")

# %%
# If the rates in use were counted, on 100 messages without places, all rates that the counts allow
# have to be allowed for. The line is then the largest risk among them, and there is no longer one
# budget.

counted = shift.under(shp.Counts({"off": 90, "on": 10})).within(delta=0.1)
shp.plots.risk_curve(prepared(counted, shp.Directional()), alpha=1.0, unit="km")

# %%
# Weights that are clipped cost something: the curve is run at a level below alpha.

clipped = shp.ClippedRatio(shift, ceiling=1.75).fit(messages(2000, rate_off=0.9)[0])
shp.plots.risk_curve(prepared(clipped, shp.Pointwise()), alpha=1.5, unit="km")
