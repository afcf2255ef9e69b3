"""Heavier patients than those in the study: python examples/patients_shift.py

442 diabetes patients, a year's progression of the disease to be predicted (data that ships with
scikit-learn). Calibration patients are drawn as in the study. In use they are heavier: a patient of
body mass index z (standardised) comes w(z) = exp(z) times as often. Two promises: that the interval
misses at most one value in ten, and that values lie at most 10 points from it on average, where
more than 100 count as 100.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shiftproof as shp

Floats = NDArray[np.float64]

REPETITIONS, TRAIN, CALIBRATE = 200, 150, 150
INTERVALS = shp.Intervals(0.0, 400.0)  # the scale of the measure
BODY_MASS = 2  # the column of the body mass index, scaled by scikit-learn to a length of 1
SHIFT = shp.KnownRatio(lambda bmi: np.exp(bmi * 442**0.5), columns=[BODY_MASS])


@dataclass(frozen=True)
class Promise:
    """A loss and its level."""

    name: str
    loss: shp.Miscoverage | shp.Distance
    alpha: float

    def kept(self, risks: Floats) -> bool:
        """Whether the mean over splits is at most alpha, by more than three standard errors not."""
        return bool(risks.mean() <= self.alpha + 3 * risks.std(ddof=1) / np.sqrt(len(risks)))


PROMISES = (
    Promise("misses one in ten", shp.Miscoverage(), 0.1),
    Promise("10 points off", shp.Distance(cap=100.0), 10.0),
)
RATIOS = {"no weights": shp.NoShift(), "weights": SHIFT}


def main() -> None:
    x, y = load_diabetes(return_X_y=True)
    weights = SHIFT.weights(x)
    rng = np.random.default_rng(2026)
    heavier = x[rng.choice(len(x), len(x), p=weights / weights.sum())]
    print(f"\nWhat {len(x)} patients say about the shift:")
    print(shp.diagnose(SHIFT, x, heavier, n_cal=CALIBRATE))

    found: dict[tuple[Promise, str], list[tuple[float, float]]] = {}
    for _ in range(REPETITIONS):
        train, calibrate, rest = np.split(rng.permutation(len(y)), [TRAIN, TRAIN + CALIBRATE])
        model = make_pipeline(StandardScaler(), RidgeCV()).fit(x[train], y[train])
        use = rng.choice(rest, len(rest), p=weights[rest] / weights[rest].sum())
        for promise in PROMISES:
            for name, ratio in RATIOS.items():
                controller = shp.RiskController(model, INTERVALS, promise.loss, ratio)
                calibrated = controller.calibrate(x[calibrate], y[calibrate])
                result = calibrated.evaluate(x[use], y[use], promise.alpha)
                found.setdefault((promise, name), []).append((result.risk.value, result.size.value))
    print("\nWhy the intervals of the last split are as long as they are:")
    print(calibrated.prepare(x[use]).explain(PROMISES[-1].alpha))

    print(f"\nHeavier patients, on average over {REPETITIONS} splits:")
    print(f"{'promise':<24}{'calibrated with':<18}{'mean loss':>12}{'length':>10}")
    for (promise, name), figures in found.items():
        risks, lengths = np.array(figures).T
        print(f"{promise.name:<24}{name:<18}{risks.mean():>12.3f}{lengths.mean():>10.1f}")
        assert promise.kept(risks) == (name == "weights"), "weights keep it, no weights do not"


if __name__ == "__main__":
    main()
