"""What it costs a localizer to switch stations off: python examples/switched_stations.py

A simulated network of 137 stations hears devices in a region of 45 x 34 km, and a nearest-neighbour
model tells from the strengths of their signals where they are. To save energy the twenty busiest
stations are switched off together: for half of the messages while labels are collected, for nine in
ten later. The promise: on average, over calibrations and messages, the true place is at most ALPHA
kilometres away from the region that is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

import shiftproof as shp
from shiftproof.localization import AtRandom, Fingerprints, Linear, Simulator, Switching

ALPHA = 2.0  # kilometres
MESSAGES, REPETITIONS = 20_000, 100
SIZES = {"training": 1_000, "calibration": 100, "test": 150}
OFF_IN_TRAINING, OFF_IN_USE = 0.5, (0.5, 0.75, 0.9)
USUAL, MOST = OFF_IN_USE[0], OFF_IN_USE[-1]

PAPER, ENVELOPE, DIRECTIONAL = "the paper's rule", "envelope", "directional"
RULES: dict[str, shp.Constant | shp.Pointwise | shp.Directional] = {
    PAPER: shp.Constant(),
    ENVELOPE: shp.Pointwise(),
    DIRECTIONAL: shp.Directional(),
}
UNWEIGHTED = "the paper's rule, no weights"


@dataclass(frozen=True)
class Result:
    """What one calibration gave on average over its messages."""

    loss: float
    area: float
    whole: float


#: By rule and rate in use.
Results = dict[tuple[str, float], Result]


@dataclass(frozen=True)
class Study:
    """A network, what its stations heard, and which of them are switched off."""

    messages: Fingerprints
    switching: Switching
    region: shp.Box

    def once(self, rng: np.random.Generator) -> tuple[Results, list[float]]:
        """One split: its results, and the mean error of the model with stations on and off."""
        parts = {
            part: self.messages.take(rows)
            for part, rows in AtRandom().split(self.messages, SIZES, rng).items()
        }
        training = self.switching.in_training(parts["training"], rng)
        labelled = self.switching.in_training(parts["calibration"], rng)
        linear = Linear().fit(training.fingerprints, clip=True)
        model = KNeighborsRegressor(1, algorithm="kd_tree").fit(
            training.inputs(linear), training.places
        )
        x_act = training.column

        used = {rate: self.switching.under(rate).in_use(parts["test"], rng) for rate in OFF_IN_USE}
        ratios = self.switching.scenarios(OFF_IN_USE, x_act)
        results = {}
        for name, rule in RULES.items():
            controller = shp.RiskController(
                model, shp.Balls(self.region), shp.Distance(), ratios[USUAL], rule
            )
            calibrated = controller.calibrate(labelled.inputs(linear), labelled.places)
            asked = [(name, rate, calibrated.under(ratios[rate])) for rate in OFF_IN_USE]
            if name == PAPER:
                asked.append((UNWEIGHTED, MOST, calibrated))
            for label, rate, ready in asked:
                use = used[rate]
                found = ready.evaluate(use.inputs(linear), use.places, ALPHA)
                results[label, rate] = Result(found.risk.value, found.size.value, found.whole.value)
        use = used[USUAL]
        errors = np.hypot(*(model.predict(use.inputs(linear)) - use.places).T)
        return results, [float(errors[use.off == act].mean()) for act in (False, True)]


def radius(area: float) -> float:
    """The radius of a disc of this area."""
    return float(np.sqrt(area / np.pi))


def main() -> None:
    rng = np.random.default_rng(2025)
    simulator = Simulator()
    messages = simulator.build(rng).messages(MESSAGES, rng)
    switching = Switching(messages.ranked[:20], training=OFF_IN_TRAINING, use=MOST)
    study = Study(messages, switching, simulator.region)
    rounds = [study.once(rng) for _ in range(REPETITIONS)]

    on, off = np.mean([errors for _, errors in rounds], axis=0)
    print(f"\n{messages}; the 20 busiest stations are switched off together.")
    print(f"The model errs by {on:.2f} km while they are on, by {off:.2f} km while they are off.")
    print(f"Promise: at most {ALPHA:g} km from the region, from {SIZES['calibration']} labels.\n")
    print(f"{'rule':<30}{'off in use':>11}{'mean loss':>17}{'promise':>9}{'size':>17}{'whole':>8}")
    verdicts, sizes = {}, {}
    for label, rate in rounds[0][0]:
        found = [results[label, rate] for results, _ in rounds]
        losses = np.array([one.loss for one in found])
        error = 3 * losses.std(ddof=1) / np.sqrt(len(losses))
        verdicts[label, rate] = "broken" if losses.mean() - error > ALPHA else "kept"
        area = float(np.mean([one.area for one in found]))
        whole = np.mean([one.whole for one in found])
        sizes[label, rate] = radius(area)
        loss = f"{losses.mean():.2f} +- {error:.2f} km"
        size = f"{area:.0f} km2"
        print(
            f"{label:<30}{rate:>11.0%}{loss:>17}{verdicts[label, rate]:>9}{size:>17}{whole:>8.1%}"
        )
    print("\nWhat the switch-off costs, as the radius of a disc of the same area:")
    for label in RULES:
        told = ", ".join(f"{sizes[label, rate]:.1f} km at {rate:.0%}" for rate in OFF_IN_USE)
        print(f"  {label:<18}{told} off")

    weighted = {verdict for (label, _), verdict in verdicts.items() if label != UNWEIGHTED}
    assert weighted == {"kept"}, "with weights the promise is kept"
    assert verdicts[UNWEIGHTED, MOST] == "broken", "without weights it is not"
    assert sizes[DIRECTIONAL, MOST] <= sizes[ENVELOPE, MOST] <= sizes[PAPER, MOST]
    assert all(sizes[label, USUAL] < sizes[label, MOST] for label in RULES), "switching off costs"


if __name__ == "__main__":
    main()
