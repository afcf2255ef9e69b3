"""How near estimated weights come to the true ones: python benchmarks/ratios.py

Root mean square error of weights, scaled to mean 1, on fresh source rows, averaged over SEEDS draws
of both samples. Three shifts in d columns: the mean of a Gaussian moves by one standard deviation
along a diagonal; groups (the sign of the first column, which is noisy) change their rates; a tilt
by a bump, which no line describes. "w = 1" is what no weighting at all would score.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import densratio
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import shiftproof as shp

Floats = NDArray[np.float64]
ROWS, FRESH, SEEDS = 1_000, 5_000, 5
DIMENSIONS = (1, 5, 137)


@dataclass(frozen=True)
class World:
    """Source inputs N(0, I), target inputs of density w times that."""

    ratio: Callable[[Floats], Floats]
    ceiling: float  # an upper bound of the ratio, for drawing; inf where `moved` draws
    moved: Callable[[Floats], Floats] | None = None

    def source(self, rng: np.random.Generator, n: int, d: int) -> Floats:
        return rng.standard_normal((n, d))

    def target(self, rng: np.random.Generator, n: int, d: int) -> Floats:
        if self.moved is not None:
            return self.moved(self.source(rng, n, d))
        x = self.source(rng, int(n * self.ceiling * 2), d)
        return x[rng.random(len(x)) < self.ratio(x) / self.ceiling][:n]


def mean_shift(x: Floats) -> Floats:
    along = x.sum(axis=1) / np.sqrt(x.shape[1])
    return np.asarray(np.exp(along - 0.5))


def two_groups(x: Floats) -> Floats:
    return np.where(x[:, 0] > 0, 1.8, 0.2)


def bump(x: Floats) -> Floats:
    return np.asarray(np.sqrt(5) * np.exp(-2 * x[:, 0] ** 2))  # E exp(-2 x^2) = 1 / sqrt 5


WORLDS = {
    "mean shift": World(mean_shift, np.inf, lambda x: x + 1 / np.sqrt(x.shape[1])),
    "groups": World(two_groups, 1.8),
    "bump": World(bump, np.sqrt(5)),
}

Estimator = Callable[[Floats, Floats], Callable[[Floats], Floats]]


def recipe(made: Any) -> Estimator:
    def estimator(source: Floats, target: Floats) -> Callable[[Floats], Floats]:
        weights: Callable[[Floats], Floats] = made.fit(source, target).weights
        return weights

    return estimator


def package(source: Floats, target: Floats) -> Callable[[Floats], Floats]:
    found = densratio.densratio(target, source, verbose=False)
    weights: Callable[[Floats], Floats] = found.compute_density_ratio
    return weights


PLAIN = shp.ClassifierRatio(LogisticRegression(max_iter=2000))
BOOSTED = shp.ClassifierRatio(HistGradientBoostingClassifier())
ESTIMATORS: dict[str, Estimator] = {
    "w = 1": recipe(type("One", (), {"fit": lambda *_: shp.NoShift()})()),
    "ClassifierRatio()": recipe(shp.ClassifierRatio()),
    "plain logistic": recipe(PLAIN),
    "boosted, uncalibrated": recipe(BOOSTED),
    "GaussianRatio": recipe(shp.GaussianRatio()),
    "ULSIF": recipe(shp.ULSIF()),
    "KLIEP": recipe(shp.KLIEP(rows=500)),
    "densratio (uLSIF)": package,
}


def score(world: World, d: int, estimator: Estimator) -> tuple[float, float]:
    """Mean error and seconds to fit."""
    errors, took = [], 0.0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        source, target = world.source(rng, ROWS, d), world.target(rng, ROWS, d)
        x = world.source(rng, FRESH, d)
        np.random.seed(seed)  # noqa: NPY002 - densratio draws from the global state
        start = time.perf_counter()
        weigh = estimator(source, target)
        took += time.perf_counter() - start
        found, truth = weigh(x), world.ratio(x)
        errors.append(float(np.sqrt(np.mean((found / found.mean() - truth / truth.mean()) ** 2))))
    return float(np.mean(errors)), took / SEEDS


def main() -> None:
    warnings.simplefilter("ignore")  # collapses are the point here
    print(f"\nRMSE of weights scaled to mean 1; {ROWS:,} rows of each sample, {SEEDS} seeds.")
    cells = [(name, d) for name in WORLDS for d in DIMENSIONS]
    print(f"{'':<24}" + "".join(f"{name + ', ' + str(d):>16}" for name, d in cells))
    for name, estimator in ESTIMATORS.items():
        row = [score(WORLDS[world], d, estimator) for world, d in cells]
        seconds = sum(took for _, took in row) / len(row)
        errors = "".join(f"{error:>16.3f}" for error, _ in row)
        print(f"{name:<24}{errors}   {seconds:6.2f} s a fit", flush=True)


if __name__ == "__main__":
    main()
