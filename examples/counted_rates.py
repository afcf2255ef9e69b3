"""The shift is not known but counted: python examples/counted_rates.py

The road of shifted_road.py again. Nobody knows how often stations will be off; there are COUNTED
messages of the new kind, whose places are unknown but which show whether stations were off. A rate
that is counted is a rate with an error, and a promise that forgets it is sometimes broken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from shifted_road import (
    ALPHA,
    MESSAGES,
    OFF_IN_CALIBRATION,
    OFF_IN_USE,
    ROAD,
    Floats,
    Messages,
    Result,
)

import shiftproof as shp

LABELS, COUNTED, REPETITIONS, DELTA = 2_000, 60, 1_000, 0.1
SOURCE = {True: OFF_IN_CALIBRATION, False: 1 - OFF_IN_CALIBRATION}


def reach(ratio: shp.Ratio[Any], calibration: Messages, use: Messages) -> Floats:
    """How far sets reach to the left and to the right, by the directional rule."""
    distance = np.abs(calibration.place - calibration.predicted)
    curve = ratio.curve(shp.LossCurves.hinges(distance, bound=ROAD), calibration.off)
    return curve.directional(ALPHA, ratio.weights(use.off), use.to_the_ends)


def counted(rng: np.random.Generator) -> shp.GroupRatio:
    seen = Messages.draw(rng, COUNTED, OFF_IN_USE)
    return shp.GroupRatio(0, source=SOURCE, target=seen.off)


def main() -> None:
    rng = np.random.default_rng(2026)
    one = counted(rng)
    bounded = one.within(DELTA)
    low, high = bounded.bounds("target")
    off = one.groups.index(True)
    print(f"\nOne count of {COUNTED} messages without places: stations off in {one.target}")
    print(f"rate of 'off' between {low[off]:.3f} and {high[off]:.3f}; in truth {OFF_IN_USE}")
    print(bounded.assumption)
    source, target = (
        Messages.draw(rng, 500, rate).off for rate in (OFF_IN_CALIBRATION, OFF_IN_USE)
    )
    print(f"\n{shp.diagnose(one, source, target, bound=ROAD, n_cal=LABELS)}\n")

    names = ("the rate as it was counted", f"all rates that are likely at {1 - DELTA:.0%}")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    rates = []
    for _ in range(REPETITIONS):
        ratio = counted(rng)
        rates.append(ratio.ratio_of(True) * OFF_IN_CALIBRATION)
        calibration = Messages.draw(rng, LABELS, OFF_IN_CALIBRATION)
        use = Messages.draw(rng, MESSAGES, OFF_IN_USE)
        ratios: tuple[shp.Ratio[Any], ...] = (ratio, ratio.within(DELTA))
        for name, each in zip(names, ratios, strict=True):
            result = Result.of(reach(each, calibration, use), use)
            found[name].append((result.loss, result.length))
    low_counts = np.array(rates) <= np.quantile(rates, 0.25)
    lowest = "in the quarter of lowest counts"
    print(f"Promise: {ALPHA:g} km. {LABELS:,} labels, {COUNTED} messages; {REPETITIONS:,} times.")
    print(f"{'weights from':<34}{'mean loss':>11}{lowest:>34}{'length':>10}")
    for name in names:
        loss, length = np.array(found[name]).T
        after = f"{loss[low_counts].mean():.3f} km"
        print(f"{name:<34}{loss.mean():>8.3f} km{after:>34}{length.mean():>7.2f} km")


if __name__ == "__main__":
    main()
