"""Ratios of the core against numpy, measured side by side in one run: python benchmarks/core.py

Absolute times depend on the machine and on its neighbours; a ratio is that of the best of several
turns each, taken in turn. A goal in the last column is a wish, not an assertion.
"""

from __future__ import annotations

import platform
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from shiftproof import __version__
from shiftproof.risk import BoxedCurve, LossCurves, RiskCurve, WeightBox

N, M, ALPHA = 1_000_000, 10_000_000, 0.1
RNG = np.random.default_rng(0)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(
    call: Callable[[], object], against: Callable[[], object], turns: int
) -> tuple[float, float]:
    """Best time of a call, and its ratio to the best of another that is timed in turn with it."""
    pairs = [(seconds(call), seconds(against)) for _ in range(turns)]
    best, other = (min(times) for times in zip(*pairs, strict=True))
    return best, best / other


def row(what: str, took: float, times: float, against: str, goal: str) -> None:
    print(f"{what:<58}{took:>8.3f} s {times:>7.2f} x {against:<34}{goal}", flush=True)


def main() -> None:
    print(f"shiftproof {__version__}, numpy {np.__version__}, python {platform.python_version()}")
    scores, weights = RNG.gamma(2.0, 1.0, N), RNG.gamma(2.0, 1.0, N)
    steps, hinges = LossCurves.steps(scores), LossCurves.hinges(scores, bound=60.0)

    def sort() -> object:
        return np.sort(scores)

    def ready(curve: RiskCurve) -> RiskCurve:
        curve.threshold(ALPHA, 1.0, worst=curve.losses.bound)  # builds what is built once
        return curve

    build_steps = lambda: ready(RiskCurve(LossCurves.steps(scores), weights))  # noqa: E731
    build_hinges = lambda: ready(RiskCurve(LossCurves.hinges(scores, bound=60.0), weights))  # noqa: E731
    row("build, steps, n = 1e6", *ratio(build_steps, sort, 11), "numpy.sort", "goal 4")
    row("build, hinges, n = 1e6", *ratio(build_hinges, sort, 11), "numpy.sort", "goal 4")

    for name, losses, build in (("steps", steps, build_steps), ("hinges", hinges, build_hinges)):
        curve = RiskCurve(losses)
        again = lambda curve=curve: ready(curve.reweighted(weights))  # noqa: E731
        row(f"reweight, {name}, n = 1e6", *ratio(again, build, 9), "building", "goal .5")

    levels = np.cumsum(np.sort(weights))
    spread = RNG.uniform(0, levels[-1], M)
    alpha, heavy = RNG.uniform(0, 1, M), RNG.gamma(2.0, 1.0, M)

    def search() -> object:
        return np.searchsorted(levels, spread)

    curve = ready(RiskCurve(steps, weights))
    look_up = lambda: curve.threshold(alpha, heavy, worst=1.0)  # noqa: E731
    row(
        "1e7 look-ups, paper's rule, steps",
        *ratio(look_up, search, 3),
        "numpy.searchsorted",
        "goal 1.5",
    )
    sloped = ready(RiskCurve(hinges, weights))
    km = alpha * 2.0  # the mean loss at threshold 0 is 2: budgets spread over the whole curve
    look_up = lambda: sloped.threshold(km, heavy, worst=60.0)  # noqa: E731
    row("1e7 look-ups, paper's rule, hinges", *ratio(look_up, search, 3), "numpy.searchsorted", "")

    few = slice(0, M // 10)
    far = LossCurves.hinges(RNG.uniform(20, 60, M // 10), bound=60.0)
    search_few = lambda: np.searchsorted(levels, spread[few])  # noqa: E731
    look_up = lambda: sloped.threshold(km[few], heavy[few], worst=far)  # noqa: E731
    row(
        "1e6 look-ups, envelope, hinges",
        *ratio(look_up, search_few, 3),
        "numpy.searchsorted",
        "goal 5",
    )
    boxed = BoxedCurve(hinges, WeightBox(0.9 * weights, 1.1 * weights))
    test_box = WeightBox(0.9 * heavy[few], 1.1 * heavy[few])
    look_up = lambda: boxed.threshold(1.0, test_box, worst=far)  # noqa: E731
    row(
        "build and 1e6 look-ups, box, envelope",
        *ratio(look_up, search_few, 3),
        "numpy.searchsorted",
        "",
    )

    memory()
    textbook()


def memory() -> None:
    """Peak memory against the size of what goes in and comes out, as n and m grow together."""
    for size in (100_000, 1_000_000):
        scores, weights = RNG.random(size), RNG.random(size)
        heavy = RNG.random(size)
        tracemalloc.start()
        RiskCurve(LossCurves.steps(scores), weights).threshold(ALPHA, heavy, worst=1.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"peak memory, n = m = {size:>9,}: {peak / 2**20:7.1f} MiB, "
            f"{peak / (2 * size):.0f} bytes for each example or point "
            f"(n x m floats would be {8 * size**2 / 2**30:,.0f} GiB)"
        )


def textbook() -> None:
    """1e5 x 1e5 against normalising and summing the weights anew for every test point."""
    n, timed = 100_000, 1_000
    scores, weights, heavy = RNG.random(n), RNG.random(n), RNG.random(n)
    order = np.argsort(scores)
    ordered, mass = scores[order], weights[order]

    def loop() -> list[float]:
        found = []
        for weight in heavy[:timed]:
            probability = mass / (mass.sum() + weight)
            place = np.searchsorted(np.cumsum(probability), 1 - ALPHA)
            found.append(float(ordered[place]) if place < n else np.inf)
        return found

    def ours() -> object:
        return RiskCurve(LossCurves.steps(scores), weights).threshold(ALPHA, heavy, worst=1.0)

    took, whole = seconds(ours), seconds(loop) * n / timed
    print(
        f"1e5 x 1e5, paper's rule, curve built: {took:.3f} s; textbook loop {whole:.1f} s "
        f"(timed on {timed:,} points, scaled by {n // timed}): {whole / took:,.0f} times faster"
    )


if __name__ == "__main__":
    main()
