"""The tables of the localization page: python docs/localization_tables.py

Reads the rural Sigfox data (SHIFTPROOF_DATA, or an earlier download) and writes what the page
shows, so that no number there is typed by hand. A test holds the page against the data.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from shiftproof.localization import (
    AtRandom,
    ByPlace,
    ByTime,
    Fingerprints,
    Linear,
    Simulator,
    Summary,
    Switching,
    sigfox_rural,
)

TABLES = Path(__file__).parent / "tables"

NETWORKS, MESSAGES = 10, 25_637
SEEDS, ALPHA = 100, 0.3  # kilometres
SIZES = {"training": 1_000, "calibration": 500, "test": 600}
SPLITS = {"at random": AtRandom(), "by time": ByTime(), "by place, 1 km2": ByPlace()}
RANKS = {"21 to 40": (20, 40), "6 to 20": (5, 20), "1 to 20": (0, 20)}
RATES = (0.5, 0.9)
MANY, TESTED, MANY_SEEDS = 20_000, 2_000, 24


def simulated() -> list[Summary]:
    """The figures of some networks, made by the defaults of the simulator."""
    found = []
    for seed in range(NETWORKS):
        rng = np.random.default_rng(seed)
        found.append(Summary.of(Simulator().build(rng).messages(MESSAGES, rng)))
    return found


def middle(summaries: list[Summary]) -> Summary:
    """Each figure's median over networks."""
    columns = {name: [asdict(one)[name] for one in summaries] for name in asdict(summaries[0])}
    medians = {name: np.median(np.array(values), axis=0) for name, values in columns.items()}
    return Summary(
        **{name: tuple(m.tolist()) if m.ndim else float(m) for name, m in medians.items()}
    )


def comparison(real: Summary, simulation: Summary) -> str:
    """Real and simulated figures side by side."""
    both = zip(real.rows().items(), simulation.rows().values(), strict=True)
    rows = [f"| {name} | {one} | {other} |" for (name, one), other in both]
    heads = [f"| | rural Sigfox | simulated, median of {NETWORKS} networks |", "|---|---|---|"]
    return "\n".join([*heads, *rows]) + "\n"


def errors(messages: Fingerprints, split: str, ranks: tuple[int, int]) -> dict[str, float]:
    """A nearest neighbour's mean error, and the risk of its sets in use, by rate of switching."""
    rng = np.random.default_rng(0)
    switching = Switching(messages.ranked[slice(*ranks)], training=RATES[0], use=RATES[-1])
    linear = Linear().fit(messages)
    region = shp.Balls(messages.box())
    found: dict[str, list[float]] = {}
    for _ in range(SEEDS):
        rows = SPLITS[split].split(messages, SIZES, rng)
        parts = {name: messages.take(part) for name, part in rows.items()}
        training, labelled = (
            switching.in_training(parts[name], rng) for name in ("training", "calibration")
        )
        model = KNeighborsRegressor(1, algorithm="kd_tree").fit(
            training.inputs(linear), training.places
        )
        ratios = switching.scenarios(RATES, labelled.column)
        controller = shp.RiskController(model, region, shp.Distance(), ratios[RATES[0]])
        calibrated = controller.calibrate(labelled.inputs(linear), labelled.places)
        for rate in RATES:
            use = switching.under(rate).in_use(parts["test"], rng)
            prepared = calibrated.under(ratios[rate]).prepare(use.inputs(linear))
            risk = prepared.losses(use.places, ALPHA).mean()
            apart = np.hypot(*(model.predict(use.inputs(linear)) - use.places).T)
            found.setdefault(f"error {rate}", []).append(float(apart.mean()))
            found.setdefault(f"risk {rate}", []).append(float(risk))
    return {name: float(np.mean(values)) for name, values in found.items()}


def stress(messages: Fingerprints) -> str:
    """Errors and risks by split and by what is switched off."""
    heads = [
        "| split | ranks | error, off in half | off in 9 of 10 | risk, in half | in 9 of 10 |",
        "|---|---|---|---|---|---|",
    ]
    rows = []
    for split in SPLITS:
        for name, ranks in RANKS.items():
            found = errors(messages, split, ranks)
            figures = [found[f"{what} {rate}"] for what in ("error", "risk") for rate in RATES]
            rows.append(f"| {split} | {name} | " + " | ".join(f"{x:.2f}" for x in figures) + " |")
    return "\n".join([*heads, *rows]) + "\n"


def stations(messages: Fingerprints) -> str:
    """The sets of stations that are switched off, by name."""
    rows = [
        f"| {name} | {', '.join(messages.ranked[slice(*ranks)])} |" for name, ranks in RANKS.items()
    ]
    return "\n".join(["| ranks | stations |", "|---|---|", *rows]) + "\n"


def nearest(messages: Fingerprints) -> str:
    """A nearest neighbour's mean error with many training messages, over splits at random."""
    inputs = Linear().fit(messages).values(messages)
    found = []
    for seed in range(MANY_SEEDS):
        rng = np.random.default_rng(seed)
        rows = AtRandom().split(messages, {"training": MANY, "test": TESTED}, rng)
        places = messages.places[rows["training"]]
        model = KNeighborsRegressor(1).fit(inputs[rows["training"]], places)
        apart = model.predict(inputs[rows["test"]]) - messages.places[rows["test"]]
        found.append(float(np.hypot(*apart.T).mean()))
    ends = f"{min(found):.3f} to {max(found):.3f}"
    heads = [
        "| training messages | splits | mean error, km | its sd from split to split | from, to |",
        "|---|---|---|---|---|",
    ]
    figures = f"{np.mean(found):.3f} | {np.std(found, ddof=1):.3f} | {ends}"
    return "\n".join([*heads, f"| {MANY:,} | {MANY_SEEDS} | {figures} |"]) + "\n"


def main() -> None:
    """Write all tables."""
    messages = sigfox_rural()
    real = Summary.of(messages)
    written = {
        "sigfox_summary.json": json.dumps(asdict(real), indent=1) + "\n",
        "simulated.md": comparison(real, middle(simulated())),
        "stations.md": stations(messages),
        "stress.md": stress(messages),
        "nearest.md": nearest(messages),
    }
    for name, text in written.items():
        (TABLES / name).write_text(text)


if __name__ == "__main__":
    main()
