"""A shift that breaks a promise, and four ways to answer it: python examples/shifted_road.py

Devices send messages from a road of 40 km. A model places each of them; when the nearby base
stations are off to save energy it errs much more. In the calibration data they are off in half of
the messages, in use in nine out of ten. The promise: on average, over calibrations and messages,
the true place is at most ALPHA kilometres away from the interval that is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import shiftproof as shp

Floats = NDArray[np.float64]

ROAD, ALPHA = 40.0, 1.0  # kilometres
OFF_IN_CALIBRATION, OFF_IN_USE = 0.5, 0.9
LABELS, MESSAGES, REPETITIONS = 100, 50, 2_000


@dataclass(frozen=True)
class Messages:
    """Where devices were, where the model placed them, and whether the stations were off."""

    place: Floats
    predicted: Floats
    off: NDArray[np.bool_]

    @classmethod
    def draw(cls, rng: np.random.Generator, count: int, rate_off: float) -> Messages:
        off = rng.random(count) < rate_off
        place = rng.uniform(0, ROAD, count)
        error = np.where(off, 4.0, 0.5) * rng.standard_normal(count)
        return cls(place, np.clip(place + error, 0, ROAD), off)

    @property
    def weight(self) -> Floats:
        """w(x) = dP'/dP: how much more often such an input comes in use than in calibration."""
        when_off = OFF_IN_USE / OFF_IN_CALIBRATION
        when_on = (1 - OFF_IN_USE) / (1 - OFF_IN_CALIBRATION)
        return np.where(self.off, when_off, when_on)

    @property
    def to_the_ends(self) -> Floats:
        """How far the road goes on to the left and to the right of each prediction."""
        return np.stack([self.predicted, ROAD - self.predicted], axis=1)


Rule = Callable[[Messages, Messages], Floats]  # reach to the left and to the right, (m, 2)


def curve(calibration: Messages, weight: Floats | None) -> shp.RiskCurve:
    distance = np.abs(calibration.place - calibration.predicted)
    return shp.RiskCurve(shp.LossCurves.hinges(distance, bound=ROAD), weight)


def both_sides(radius: Floats) -> Floats:
    return np.stack([radius, radius], axis=1)


def unweighted(calibration: Messages, use: Messages) -> Floats:
    ones = np.ones(len(use.place))
    return both_sides(curve(calibration, None).threshold(ALPHA, ones, worst=ROAD))


def papers_rule(calibration: Messages, use: Messages) -> Floats:
    ready = curve(calibration, calibration.weight)
    return both_sides(ready.threshold(ALPHA, use.weight, worst=ROAD))


def envelope(calibration: Messages, use: Messages) -> Floats:
    farthest = shp.LossCurves.hinges(use.to_the_ends.max(axis=1), bound=ROAD)
    ready = curve(calibration, calibration.weight)
    return both_sides(ready.threshold(ALPHA, use.weight, worst=farthest))


def directional(calibration: Messages, use: Messages) -> Floats:
    ready = curve(calibration, calibration.weight)
    return ready.directional(ALPHA, use.weight, use.to_the_ends)


RULES: dict[str, Rule] = {
    "unweighted": unweighted,
    "weighted, constant worst case (the paper)": papers_rule,
    "weighted, envelope": envelope,
    "weighted, directional": directional,
}


@dataclass(frozen=True)
class Result:
    """What one calibration gave on average over its messages."""

    loss: float
    length: float
    whole: float

    @classmethod
    def of(cls, reach: Floats, use: Messages) -> Result:
        reach = np.minimum(reach, use.to_the_ends)  # intervals end where the road ends
        left, right = (use.predicted[:, None] + reach * np.array([-1.0, 1.0])).T
        loss = np.maximum(left - use.place, 0) + np.maximum(use.place - right, 0)
        whole = (reach >= use.to_the_ends).all(axis=1)
        return cls(float(loss.mean()), float((right - left).mean()), float(whole.mean()))


def main() -> None:
    rng = np.random.default_rng(2025)
    results: dict[str, list[Result]] = {name: [] for name in RULES}
    for _ in range(REPETITIONS):
        calibration = Messages.draw(rng, LABELS, OFF_IN_CALIBRATION)
        use = Messages.draw(rng, MESSAGES, OFF_IN_USE)
        for name, rule in RULES.items():
            results[name].append(Result.of(rule(calibration, use), use))

    print(f"Promise: at most {ALPHA:g} km from the interval, on average over calibrations and use.")
    print(
        f"A road of {ROAD:g} km; {LABELS} labels with stations off in {OFF_IN_CALIBRATION:.0%}, "
        f"use with stations off in {OFF_IN_USE:.0%}; {REPETITIONS:,} repetitions.\n"
    )
    print(f"{'rule':<43}{'mean loss':>16}{'promise':>9}{'length':>10}{'whole road':>12}")
    for name, found in results.items():
        losses = np.array([one.loss for one in found])
        error = 2 * losses.std(ddof=1) / np.sqrt(len(losses))
        verdict = "broken" if losses.mean() - error > ALPHA else "kept"
        length = np.mean([one.length for one in found])
        whole = np.mean([one.whole for one in found])
        loss = f"{losses.mean():.3f} +- {error:.3f}"
        print(f"{name:<43}{loss:>16}{verdict:>9}{length:>7.2f} km{whole:>12.1%}")
    print("\nThe weights are exact here, and the error given the input is the same in both worlds.")


if __name__ == "__main__":
    main()
