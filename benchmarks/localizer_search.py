"""Which settings localize best: python benchmarks/localizer_search.py

Every setting is trained on TRAIN messages and judged on others, both out of a pool that no table or
figure uses; it is judged by the mean distance between place and a drawn prediction alone, never by
risk or by the size of sets. One setting is varied at a time, on the same splits. Values stand in
the order in which they are preferred (nearer to Bayes, of more use, faster first); of those that
are not worse than the best by two standard errors of the difference the first is taken. The
defaults of `VariationalNetwork` are what this printed.
"""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from sigfox import messages

import shiftproof as shp
from shiftproof.bayes import (
    ByColumn,
    Gaussian,
    Network,
    StudentT,
    Together,
    VariationalNetwork,
    VariationalPosterior,
)
from shiftproof.keys import row_keys

POOL, TRAIN, JUDGED, SEEDS = 6_000, 1_000, 2_000, 8

START = VariationalNetwork(
    Network((64, 64)), likelihood=Gaussian(), kl_weight=0.1, learning_rate=0.01, inputs=ByColumn()
)
GRID: dict[str, list[Any]] = {
    "likelihood": [Gaussian(), StudentT(3.0), StudentT(5.0), StudentT(2.0)],
    "kl_weight": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003],
    "learning_rate": [1e-2, 5e-3, 3e-3],
    "inputs": [ByColumn(), Together()],
    "batch": [64, 128],
    "schedule": ["cosine", "constant"],
    "steps": [1000, 2000, 4000],
    "activation": ["tanh", "relu"],
    "widths": [(64,), (64, 64), (128, 128)],
}


def changed(recipe: VariationalNetwork, name: str, value: Any) -> VariationalNetwork:
    if name in ("activation", "widths", "weight_variance"):
        return replace(recipe, network=replace(recipe.network, **{name: value}))
    return replace(recipe, **{name: value})


def errors(posterior: VariationalPosterior, x: Any, places: Any) -> tuple[float, float]:
    """Mean distance in km of a draw for each row, and of the mean."""
    found = posterior.draw(x, row_keys(0, "search", len(x))), posterior.mean(x)
    drawn, mean = (float(np.linalg.norm(one - places, axis=1).mean()) for one in found)
    return drawn, mean


def judge(recipe: VariationalNetwork, x: Any, places: Any) -> Any:
    """Both errors on each split."""
    rng = np.random.default_rng(1)
    orders = [rng.permutation(POOL) for _ in range(SEEDS)]
    fitted = recipe.fit_many(
        x, places, range(SEEDS), rows=[order[:TRAIN] for order in orders], progress=silent
    )
    judged = [order[TRAIN : TRAIN + JUDGED] for order in orders]
    return np.array([errors(q, x[j], places[j]) for q, j in zip(fitted, judged, strict=True)])


def is_better(one: Any, other: Any) -> bool:
    """Drawn predictions err less, by two standard errors of the difference."""
    gain = other[:, 0] - one[:, 0]
    return bool(gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))


def line(name: str, found: Any, mark: str = "") -> None:
    drawn, mean = found.mean(axis=0)
    print(f"{name:<46}{drawn:>8.3f} km drawn{mean:>8.3f} km mean{mark}", flush=True)


def silent(done: int, total: int, note: str) -> None:
    del done, total, note


def main() -> None:
    versions = f"shiftproof {shp.__version__}, jax {jax.__version__}"
    print(f"{versions}, python {platform.python_version()}; {SEEDS} splits of {TRAIN} messages")
    x, places = messages()
    pool = np.random.default_rng(0).permutation(len(x))[:POOL]
    x, places = x[pool], places[pool]
    recipe = START
    for name, values in GRID.items():
        recipes = [changed(recipe, name, value) for value in values]
        found = [judge(one, x, places) for one in recipes]
        best = min(found, key=lambda each: float(each[:, 0].mean()))
        taken = [is_better(best, each) for each in found].index(False)
        for place, (value, each) in enumerate(zip(values, found, strict=True)):
            line(f"{name} = {value!r}", each, "  taken" if place == taken else "")
        recipe = recipes[taken]
    print(f"best: {recipe}")


if __name__ == "__main__":
    main()
