"""A full plan from a pilot of 200 labels, against building a curve for every calibration set.

python benchmarks/planning.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import shiftproof as shp
from shiftproof.planning import resampling
from shiftproof.planning.resampling import Pilot
from shiftproof.risk import ThresholdRule

SIZES, RATES = list(range(50, 1050, 50)), (0.5, 0.75, 0.9)


def rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    off, place = rng.random(n) < 0.5, rng.uniform(0, 40, n)
    heard = np.clip(place + np.where(off, 2.0, 0.5) * rng.normal(size=n), 0, 40)
    return np.column_stack([off, heard]), place


def rebuilt(self: Pilot, counts: np.ndarray) -> ThresholdRule[Any]:
    """The slow way: the rows of each calibration set, a curve of their own."""
    again = np.repeat(np.arange(len(self.losses)), np.rint(counts).astype(np.int64))
    return self.ratio.curve(self.losses.select(again), self.table.take(again).native())


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    x, place = rows(np.random.default_rng(0), 200)
    ratios = {
        f"{p:.0%}": shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 1 - p, 1: p})
        for p in RATES
    }
    controller = shp.RiskController(lambda x: x[:, 1], shp.Intervals(0, 40), shp.Distance())

    def work(rule: str) -> shp.Plan:
        return shp.plan(controller, x, place, alpha=0.5, n_cal=SIZES, ratios=ratios, rules=[rule])

    quick = Pilot.drawn
    print(f"a plan from 200 pilot labels, {len(SIZES)} sizes, {len(RATES)} shifts")
    for rule in ("paper", "envelope", "directional"):
        work(rule)
        reweighed = min(timed(partial(work, rule)) for _ in range(3))
        resampling.Pilot.drawn = rebuilt  # type: ignore[method-assign]
        slow = timed(partial(work, rule))
        resampling.Pilot.drawn = quick  # type: ignore[method-assign]
        print(
            f"  {rule:<12} {reweighed:5.2f} s; rebuilding each curve {slow:5.2f} s: "
            f"{slow / reweighed:.1f} times as long"
        )


if __name__ == "__main__":
    main()
