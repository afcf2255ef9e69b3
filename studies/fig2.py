"""Figure 2: the bound on the expected relative size against the share of labels that train.

The paper gives no constants for its figure. On the left is its bound as printed, with inputs that
are stylised and stated here: a training risk exp(-r), sizes that grow with the square of r, an
alpha near Lmax and a beta that is a constant. (With the beta of its appendix, or with an alpha as
in its experiment, the printed bound is 1 everywhere.) On the right is the repaired bound in
simulated networks, certified from hold-out labels, with the size that is measured drawn beside it:
nearest neighbours localize, and the twenty busiest stations are switched off.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from shiftproof import theory
from shiftproof.localization import Linear, Simulator, Switching
from shiftproof.runs import Run, seed_of

CONFIG: dict[str, Any] = {
    "seed": 20,
    "n": 1500,
    "kappas": [k / 30 for k in (2, 3, 4, 6, 8, 10, 12, 15, 17, 18, 19, 20, 21, 22, 24, 26, 28)],
    "printed": {
        "alpha": 0.9,
        "bound": 1.0,
        "beta": 2.0,
        "largest_ratios": [1.0, 1.2, 1.4, 1.6],
        "largest_radius": 4.0,
    },
    "repaired": {
        "alpha": 2.0,
        "cap": 8.0,
        "rates": [0.5, 0.75, 0.9],
        "hold_out": 3000,
        "test": 200,
        "delta": 0.1,
        "repeats": 12,
    },
}
QUICK: dict[str, Any] = {
    "kappas": [k / 30 for k in (2, 6, 12, 18, 19, 20, 21, 28)],
    "repaired": {**CONFIG["repaired"], "hold_out": 1500, "test": 60, "repeats": 2},
}


def run(config: dict[str, Any], run: Run) -> Any:
    """All cells of the figure, as a result that `draw` reads."""
    printed = [
        {"panel": "printed", "ratio_max": w, "kappa": kappa}
        for w in config["printed"]["largest_ratios"]
        for kappa in config["kappas"]
    ]
    repaired = [
        {"panel": "repaired", "kappa": kappa, "repeat": repeat}
        for kappa in config["kappas"]
        for repeat in range(config["repaired"]["repeats"])
    ]
    return run.complete([*printed, *repaired], partial(cell, config))


def cell(config: dict[str, Any], asked: dict[str, Any]) -> Any:
    """One point of one panel."""
    n_train = max(round(asked["kappa"] * config["n"]), 1)
    n_cal = config["n"] - n_train
    if asked["panel"] == "printed":
        return printed(config["printed"], asked["ratio_max"], n_train, n_cal)
    rng = np.random.default_rng(seed_of(config["seed"], "network", asked["repeat"]))
    return repaired(config["repaired"], n_train, n_cal, rng)


def printed(config: dict[str, Any], ratio_max: float, n_train: int, n_cal: int) -> float:
    """The bound as printed, with a stylised training risk and stylised sizes."""
    grid = np.linspace(0, config["largest_radius"], 2001)
    bound = theory.printed_bound(
        np.exp(-grid),
        theory.SizeCurve(grid, (grid[None] / grid[-1]) ** 2),
        alpha=config["alpha"],
        n_cal=n_cal,
        n_train=n_train,
        ratio_max=ratio_max,
        bound=config["bound"],
        beta=config["beta"],
    )
    return bound.total


def repaired(
    config: dict[str, Any], n_train: int, n_cal: int, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """By rate in use: what the paper's rule and the envelope measure, and what is certified.

    With the same generator all splits have one network and the same messages in the same order, so
    that they differ in their split alone.
    """
    simulator, n = Simulator(), n_train + n_cal
    messages = simulator.build(rng).messages(n + config["hold_out"] + config["test"], rng)
    switching = Switching(messages.ranked[:20], training=0.5, use=0.5)
    ends = [n, n + config["hold_out"]]
    mine, held, tested = np.split(rng.permutation(len(messages)), ends)
    pool = switching.in_training(messages.take(mine), rng)
    held_out = switching.in_training(messages.take(held), rng)
    test, acts = messages.take(tested), rng.random(len(tested))
    trained, labelled = pool.take(np.arange(n_train)), pool.take(np.arange(n_train, n))
    linear = Linear().fit(trained.fingerprints, clip=True)
    neighbours = KNeighborsRegressor(min(3, n_train), weights="distance", algorithm="kd_tree")
    model = neighbours.fit(trained.inputs(linear), trained.places)
    found = {}
    for rate in config["rates"]:
        shifted = switching.under(rate)
        used = shifted.applied(test, acts < rate)
        answers: dict[str, float] = {}
        for name, rule in (("paper", shp.Constant()), ("envelope", shp.Pointwise())):
            controller = shp.RiskController(
                model,
                shp.Balls(simulator.region),
                shp.Distance(cap=config["cap"]),
                shifted.ratio(trained.column),
                rule,
            )
            ready = controller.calibrate(labelled.inputs(linear), labelled.places)
            sets = ready.predict(used.inputs(linear), config["alpha"])
            paper = shp.certify(
                controller,
                held_out.inputs(linear),
                held_out.places,
                used.inputs(linear),
                alpha=config["alpha"],
                n_cal=n_cal,
                delta=config["delta"],
            )
            answers |= {
                f"{name} measured": float(sets.relative_size().mean()),
                f"{name} bound": paper.size,
            }
        found[f"{rate:g}"] = answers
    return found


def draw(result: Any) -> Figure:
    """Both panels."""
    config, answers = result["config"], result["answers"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    dashes = ["-", "--", "-.", ":"]
    for w, dash in zip(config["printed"]["largest_ratios"], dashes, strict=False):
        points = [
            (one["cell"]["kappa"], one["answer"])
            for one in answers
            if one["cell"]["panel"] == "printed" and one["cell"]["ratio_max"] == w
        ]
        kappa, values = np.array(points).T
        (line,) = left.plot(kappa, values, dash, label=f"Wmax = {w:g}")
        best = int(np.argmin(values))
        left.plot(kappa[best], values[best], "*", color=line.get_color(), markersize=10)
    left.set_title("Theorem 1 as printed (not proved): stylised inputs", fontsize=10)
    left.set_ylabel("bound on the expected share of the label space")
    for rate, dash in zip(config["repaired"]["rates"], dashes, strict=False):
        kappa = np.array(config["kappas"])
        bounds, sizes = (
            mean_over_repeats(result, f"{rate:g}", f"paper {what}")
            for what in ("bound", "measured")
        )
        (line,) = right.plot(kappa, bounds, dash, label=f"bound, off in use {rate:.0%}")
        right.plot(kappa, sizes, "o", color=line.get_color(), markersize=4)
        best = int(np.argmin(bounds))
        right.plot(kappa[best], bounds[best], "*", color=line.get_color(), markersize=10)
    right.plot([], [], "o", color="grey", markersize=4, label="measured")
    right.set_title("Repaired, in a simulated network, paper's rule", fontsize=10)
    for axes in (left, right):
        axes.set_xlabel("share of the labels that train")
        axes.set_ylim(0, min(1.02, 1.25 * axes.get_ylim()[1]))
        axes.legend(fontsize="small", loc="upper center", ncols=2)
    return figure


def mean_over_repeats(result: Any, rate: str, name: str) -> np.ndarray:
    """The mean of one figure over repetitions, for each kappa."""
    return np.array(
        [
            np.mean(
                [
                    one["answer"][rate][name]
                    for one in result["answers"]
                    if one["cell"]["panel"] == "repaired" and one["cell"]["kappa"] == kappa
                ]
            )
            for kappa in result["config"]["kappas"]
        ]
    )
