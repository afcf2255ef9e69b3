"""Who localizes best, and what a draw for each row costs: python benchmarks/localizers.py

Mean distance in km between place and prediction on Sigfox messages that no search has seen: the
nearest neighbour, a forest, and networks. Then sizes of sets: with a draw for each row (Thompson)
and with the mean of the same posterior, by the paper's rule with w known, n_cal labels and stations
off in nine tenths of the messages in use. Intervals are two standard errors over splits.
"""

from __future__ import annotations

import platform
from typing import Any

import jax
import numpy as np
import sklearn
from sigfox import OFF_RATE, messages
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from shiftproof.bayes import Ensemble, LangevinNetwork, Together, VariationalNetwork
from shiftproof.keys import row_keys

SEARCHED, SPLITS, TEST = 6_000, 10, 2_000
SIZES = (100, 1_000, 1_400)
OFF_IN_USE, LABELS, LEVELS = 0.9, 500, (0.4, 1.0)

NETWORKS: dict[str, Any] = {
    "variational (the default)": VariationalNetwork(),
    "variational, Together": VariationalNetwork(inputs=Together()),
    "variational, the ELBO": VariationalNetwork(kl_weight=1.0),
    "Langevin": LangevinNetwork(),
    "ensemble of 5": Ensemble(members=5),
}
OTHERS: dict[str, Any] = {
    "nearest neighbour": lambda: KNeighborsRegressor(1),
    "5 nearest neighbours": lambda: KNeighborsRegressor(5, weights="distance"),
    "forest of 200": lambda: RandomForestRegressor(200, random_state=0, n_jobs=2),
}


def kilometres(predicted: Any, places: Any) -> float:
    return float(np.linalg.norm(predicted - places, axis=1).mean())


def shown(values: Any) -> str:
    error = 2 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):>8.3f} +- {error:.3f}"


def splits(x: Any) -> list[Any]:
    """Orders of the messages that the search has not seen."""
    fresh = np.random.default_rng(0).permutation(len(x))[SEARCHED:]
    return [np.random.default_rng(10 + split).permutation(fresh) for split in range(SPLITS)]


def silent(done: int, total: int, note: str) -> None:
    del done, total, note


def fits(recipe: Any, x: Any, places: Any, size: int) -> list[Any]:
    rows = [order[:size] for order in splits(x)]
    found: list[Any] = recipe.fit_many(x, places, range(SPLITS), rows=rows, progress=silent)
    return found


def errors(x: Any, places: Any) -> None:
    print(f"\nmean error in km, {SPLITS} splits, {TEST:,} messages each")
    print(f"{'':<34}" + "".join(f"{f'n_tr = {size}':>17}" for size in SIZES))
    tests = [order[-TEST:] for order in splits(x)]
    for name, make in OTHERS.items():
        line = f"{name:<34}"
        for size in SIZES:
            found = []
            for order, test in zip(splits(x), tests, strict=True):
                model = make().fit(x[order[:size]], places[order[:size]])
                found.append(kilometres(model.predict(x[test]), places[test]))
            line += shown(found)
        print(line, flush=True)
    for name, recipe in NETWORKS.items():
        drawn, mean = f"{name + ', drawn':<34}", f"{name + ', mean':<34}"
        for size in SIZES:
            pairs = list(zip(fits(recipe, x, places, size), tests, strict=True))
            keys = row_keys(0, "localizers", TEST)
            drawn += shown([kilometres(q.draw(x[t], keys), places[t]) for q, t in pairs])
            mean += shown([kilometres(q.mean(x[t]), places[t]) for q, t in pairs])
        print(f"{drawn}\n{mean}", flush=True)


def sizes(x: Any, places: Any) -> None:
    region = shp.Box(places.min(axis=0), places.max(axis=0))
    ratio = shp.GroupRatio(
        x.shape[1] - 1,
        source={0.0: OFF_RATE, 1.0: 1 - OFF_RATE}, target={0.0: OFF_IN_USE, 1.0: 1 - OFF_IN_USE},
    )  # fmt: skip
    print(f"\nrelative size in thousandths, n_tr = 1000, n_cal = {LABELS}, paper's rule")
    print(f"{'':<34}" + "".join(f"{f'{how}, alpha = {a}':>24}" for a in LEVELS for how in HOW))
    for name, recipe in NETWORKS.items():
        line = f"{name:<34}"
        posteriors = fits(recipe, x, places, 1_000)
        for alpha in LEVELS:
            for wrap in HOW.values():
                found = [
                    relative_size(wrap(q), region, ratio, (x, places), order, alpha)
                    for q, order in zip(posteriors, splits(x), strict=True)
                ]
                line += f"{shown(1e3 * np.array(found)):>24}"
        print(line, flush=True)


HOW: dict[str, Any] = {"drawn": shp.Thompson, "mean": shp.PosteriorMean}


def relative_size(
    predictor: Any, region: Any, ratio: Any, data: tuple[Any, Any], order: Any, alpha: float
) -> float:
    """Of messages whose stations are off in nine of ten cases, weighed that way."""
    x, places = data
    controller = shp.RiskController(
        predictor, shp.Balls(region), shp.Distance(), ratio, shp.Constant()
    )
    known, new = order[1_000 : 1_000 + LABELS], order[-TEST:]
    calibrated = controller.calibrate(x[known], places[known], seed=0)
    weights = ratio.weights(x[new])
    return float(np.average(calibrated.predict(x[new], alpha).relative_size(), weights=weights))


def main() -> None:
    versions = f"shiftproof {shp.__version__}, jax {jax.__version__}"
    print(f"{versions}, scikit-learn {sklearn.__version__}, python {platform.python_version()}")
    x, places = messages()
    errors(x, places)
    sizes(x, places)


if __name__ == "__main__":
    main()
