"""The tasks of docs/from_mapie.md in both libraries: python benchmarks/from_mapie.py

Needs MAPIE, which nothing else here does: pip install mapie==1.6.0. Every figure is a mean over
RUNS draws of training, calibration and test rows, with its standard error where it is not exact.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn
from mapie.classification import SplitConformalClassifier
from mapie.regression import SplitConformalRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import shiftproof as shp

RUNS, ROWS, ALPHA, SHIFT = 200, 500, 0.1, 1.0


def draw(rng: np.random.Generator, shift: float = 0.0, *, classes: bool = False) -> tuple[Any, Any]:
    """Errors grow with the first input, which is the one that moves."""
    x = rng.normal([shift, 0], 1, (ROWS, 2))
    y = x[:, 0] + np.exp(x[:, 0] / 2) * rng.normal(size=ROWS)
    return x, np.digitize(y, [-1, 1]) if classes else y


def regression(rng: np.random.Generator) -> list[float]:
    """The largest difference of two ends, and what each misses and how wide it is."""
    training, calibration, (x, y) = draw(rng), draw(rng), draw(rng)
    theirs = SplitConformalRegressor(LinearRegression(), confidence_level=1 - ALPHA, prefit=False)
    theirs.fit(*training).conformalize(*calibration)
    ours = shp.sklearn.Regressor(LinearRegression()).fit(*training).conformalize(*calibration)
    one, other = theirs.predict_interval(x)[1], ours.predict_interval(x, ALPHA)[1]
    return [float(np.abs(one - other).max()), *seen(one, y), *seen(other, y)]


def classification(rng: np.random.Generator) -> list[float]:
    """The share of classes on which two sets disagree, and what each misses and how large it is."""
    training, calibration, (x, y) = (draw(rng, classes=True) for _ in range(3))
    theirs = SplitConformalClassifier(
        LogisticRegression(), confidence_level=1 - ALPHA, prefit=False
    )
    theirs.fit(*training).conformalize(*calibration)
    ours = shp.sklearn.Classifier(LogisticRegression()).fit(*training).conformalize(*calibration)
    one, other = theirs.predict_set(x)[1][:, :, 0], ours.predict_set(x, ALPHA).members
    found = [float((one != other).mean())]
    for members in (one, other):
        found += [1 - float(members[np.arange(len(y)), y].mean()), float(members.sum(1).mean())]
    return found


def shifted(rng: np.random.Generator) -> list[float]:
    """What each misses in use, and how wide it is, where the inputs have moved."""
    training, calibration = draw(rng), draw(rng)
    (target, _), (x, y) = draw(rng, SHIFT), draw(rng, SHIFT)
    theirs = SplitConformalRegressor(LinearRegression(), confidence_level=1 - ALPHA, prefit=False)
    theirs.fit(*training).conformalize(*calibration)
    ours = shp.sklearn.Regressor(LinearRegression(), ratio=shp.ClassifierRatio())
    ours.fit(*training).conformalize(*calibration, target)
    return [*seen(theirs.predict_interval(x)[1], y), *seen(ours.predict_interval(x, ALPHA)[1], y)]


def seen(intervals: Any, y: Any) -> list[float]:
    """The share of labels outside, and the median width."""
    low, high = intervals[:, 0, 0], intervals[:, 1, 0]
    return [float(((y < low) | (y > high)).mean()), float(np.median(high - low))]


def line(name: str, values: Any) -> str:
    error = values.std(axis=0, ddof=1) / np.sqrt(RUNS)
    figures = zip(values.mean(axis=0), error, strict=True)
    return f"{name:<16}" + "".join(f"{mean:>9.4f} ({wide:.4f})" for mean, wide in figures)


def main() -> None:
    names = ("mapie", "shiftproof", "scikit-learn", "numpy")
    print(", ".join(f"{name} {version(name)}" for name in names[:2]), end=", ")
    print(f"scikit-learn {sklearn.__version__}, numpy {np.__version__}")
    print(f"{RUNS} runs, {ROWS} rows of each kind, confidence level {1 - ALPHA}, alpha {ALPHA}")
    print("means over runs (standard error): share of labels missed, median width or mean size")
    for task, call in (("regression", regression), ("classification", classification)):
        values = np.array([call(np.random.default_rng(run)) for run in range(RUNS)])
        what = "largest difference of ends" if task == "regression" else "classes that differ"
        print(f"{task}: {what}, the largest over all runs: {values[:, 0].max():.2g}")
        print(line("  MAPIE", values[:, 1:3]), line("  shiftproof", values[:, 3:5]), sep="\n")
    values = np.array([shifted(np.random.default_rng(run)) for run in range(RUNS)])
    print(f"regression, the first input moved by {SHIFT} standard deviation:")
    print(line("  MAPIE", values[:, :2]), line("  shiftproof", values[:, 2:]), sep="\n")


if __name__ == "__main__":
    main()
