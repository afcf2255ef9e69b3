"""What the shell adds to a model and a look-up: python benchmarks/controllers.py

`calibrated.predict(X, alpha)` for ROWS rows, against the prediction of the model, the weights of
the ratio and the core's look-up by themselves, in one run. Each is the best of several turns, taken
in turn. A goal is a wish, not an assertion. The linear model is the hardest case: it predicts in
less time than the look-up takes.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression

import shiftproof as shp

ROWS, LABELS, COLUMNS, TURNS = 1_000_000, 2_000, 10, 5
RNG = np.random.default_rng(0)
RATIO = shp.KnownRatio(lambda x: np.exp(0.5 * x[:, 1]))
LOW, HIGH = -10.0, 10.0


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def by_hand(model: Any, calibrated: shp.Calibrated, x: Any, alpha: float) -> Callable[[], object]:
    """Prediction, weights and look-up, with nothing around them."""

    def call() -> object:
        predicted, weights = np.clip(model.predict(x), LOW, HIGH), RATIO.weights(x)
        farthest = np.maximum(predicted - LOW, HIGH - predicted)
        if isinstance(calibrated.controller.loss, shp.Distance):
            worst = shp.LossCurves.hinges(farthest, bound=HIGH - LOW)
        else:
            worst = shp.LossCurves.steps(farthest)
        return calibrated.rule.threshold(alpha, weights, worst=worst)

    return call


def main() -> None:
    versions = f"shiftproof {shp.__version__}, numpy {np.__version__}"
    print(f"{versions}, scikit-learn {sklearn.__version__}, python {platform.python_version()}")
    print(f"{ROWS:,} rows of {COLUMNS} columns, {LABELS:,} labels")
    print(f"{'model':<34}{'loss':<14}{'predict':>9}{'by hand':>9}{'model':>9}{'ratio':>8}  goal")
    x = RNG.normal(size=(ROWS, COLUMNS))
    known = RNG.normal(size=(LABELS, COLUMNS))
    y = np.clip(known[:, 0] + RNG.normal(size=LABELS), LOW, HIGH)
    for model in (
        LinearRegression(),
        HistGradientBoostingRegressor(max_iter=30),
        RandomForestRegressor(20, n_jobs=2),
    ):
        model.fit(known[: LABELS // 2], y[: LABELS // 2])
        for loss, alpha in ((shp.Miscoverage(), 0.1), (shp.Distance(), 0.3)):
            controller = shp.RiskController(model, shp.Intervals(LOW, HIGH), loss, RATIO)
            calibrated = controller.calibrate(known[LABELS // 2 :], y[LABELS // 2 :])
            calls = (
                lambda calibrated=calibrated, alpha=alpha: calibrated.predict(x, alpha),
                by_hand(model, calibrated, x, alpha),
                lambda model=model: model.predict(x),
            )
            times = np.min([[seconds(call) for call in calls] for _ in range(TURNS)], axis=0)
            figures = "".join(f"{took:>8.3f}s" for took in times)
            name = f"{type(model).__name__:<34}{type(loss).__name__:<14}"
            print(f"{name}{figures}{times[0] / times[1]:>8.3f}  1.1", flush=True)


if __name__ == "__main__":
    main()
