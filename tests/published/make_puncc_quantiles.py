"""Writes puncc_quantiles.json: weighted quantiles by puncc 0.9.3, which needs numpy < 2. By hand:

    python -m venv puncc && puncc/bin/pip install puncc==0.9.3 "numpy<2"
    puncc/bin/python tests/published/make_puncc_quantiles.py

A case is scores, weights, the weight of the test point, alpha, and the answer of puncc. Where the
mass up to some score is exactly 1 - alpha, a sum of floats may fall on either side of it. Those
that came up on the way to 1,500 cases stand in "ties_in_floats", with the exact answer added.
"""

import json
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np

ALPHAS, TEST_WEIGHTS = (0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75), (0.25, 0.5, 1.0, 2.0, 8.0)


def exact(scores: np.ndarray, weights: np.ndarray, weight: float, alpha: float):
    """The quantile in rational numbers, and whether the mass up to it is exactly 1 - alpha."""
    wanted = (1 - Fraction(str(alpha))) * (sum(map(Fraction, weights)) + Fraction(weight))
    for score in np.unique(scores):
        reached = sum(map(Fraction, weights[scores <= score]))
        if reached >= wanted:
            return short(score), reached == wanted
    return "inf", False


def short(number: float) -> int | float | str:
    return "inf" if np.isinf(number) else int(number) if number % 1 == 0 else float(number)


def main() -> None:
    from deel.puncc.api.calibration import BaseCalibrator  # noqa: PLC0415 - not installed in tests
    from deel.puncc.api.utils import quantile  # noqa: PLC0415

    rng = np.random.default_rng(0)
    cases, ties = [], []
    while len(cases) < 1500:
        n = rng.integers(1, 41)
        s, w = rng.integers(0, 25, n) / 8, rng.choice([0.0, 0.25, 0.5, 1.0, 2.0, 3.0], n)
        weight, alpha = float(rng.choice(TEST_WEIGHTS)), float(rng.choice(ALPHAS))
        masses = BaseCalibrator.barber_weights(w / weight)  # these give the test point a mass of 1
        answer = short(quantile(np.r_[s, np.inf], 1 - alpha, w=masses))
        case = [[short(x) for x in s], [short(x) for x in w], short(weight), alpha, answer]
        right, tied = exact(s, w, weight, alpha)
        (ties if tied else cases).append([*case, right] if tied else case)
    table = {"package": "puncc", "version": version("puncc"), "numpy": np.__version__}
    text = json.dumps(table | {"cases": cases, "ties_in_floats": ties}, separators=(",", ":"))
    lines = text.replace(",[[", ",\n[[") + "\n"
    Path(__file__).with_name("puncc_quantiles.json").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
