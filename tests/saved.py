"""One calibrated controller for each kind of part that a file may hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import stats
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shiftproof as shp

N, FEW = 60, 9
RNG = np.random.default_rng(20)


def points(n: int, rate: float) -> np.ndarray:
    """A group, and two numbers."""
    return np.column_stack([RNG.random(n) < rate, RNG.normal(size=(n, 2))])


X, OTHER, TARGET, NEW = points(N, 0.5), points(80, 0.5), points(80, 0.8), points(FEW, 0.8)
Y = X[:, 1] + RNG.normal(size=N)
CLASS = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
TAGS = np.column_stack([np.ones(N, int), RNG.integers(0, 2, (N, 2))])


def table(x: np.ndarray) -> pd.DataFrame:
    """The same rows with names, and with a word, a day and one of five letters each."""
    count = len(x)
    return pd.DataFrame(x, columns=["group", "x", "z"]).assign(
        word=np.where(x[:, 1] > 0, "near", "far"),
        day=[date(2026, 1, 1 + i % 3) for i in range(count)],
        five=[f"g{i % 5}" for i in range(count)],
    )


GROUPS = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.2, 1: 0.8})
COUNTED = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target=shp.Counts({0: 40, 1: 160}))
DAYS = {date(2026, 1, day): share for day, share in ((1, 0.2), (2, 0.3), (3, 0.5))}
EVEN = dict.fromkeys(DAYS, 1 / 3)
FIVE = shp.Counts({f"g{i}": 50 + i for i in range(5)})
FEATURES = ["group", "x", "z", "word"]
SQUARE = shp.Box([-9, -9], [9, 9])


def predict(x):
    return np.asarray(x)[:, 1]


def predict_both(x):
    return np.asarray(x)[:, 1:]


def probabilities(x):
    score = np.exp(np.asarray(x)[:, 1:2] * np.array([1.0, 0.0, -1.0]))
    return score / score.sum(axis=1, keepdims=True)


def line(ratio=GROUPS, *, predictor=predict, sets=None, loss=None, worst_case=None):
    sets, loss = sets or shp.Intervals(-20, 20), loss or shp.Distance()
    worst_case = worst_case or shp.Pointwise()
    return shp.RiskController(predictor, sets, loss, ratio, worst_case).calibrate(X, Y, seed=3)


def plane(sets, worst_case=None):
    worst_case = worst_case or shp.Pointwise()
    controller = shp.RiskController(predict_both, sets, shp.Distance(), GROUPS, worst_case)
    return controller.calibrate(X, X[:, 1:] * 0.5)


def labels(sets, loss, y):
    return shp.RiskController(probabilities, sets, loss, GROUPS).calibrate(X, y, seed=3)


def named(ratio, predictor=None):
    predictor = predictor or shp.Columns("x")
    controller = shp.RiskController(predictor, shp.Intervals(-20, 20), shp.Distance(), ratio)
    return controller.calibrate(table(X), Y)


def bagged():
    return shp.Snapshots(
        BaggingRegressor(LinearRegression(), 4, random_state=0).fit(OTHER, OTHER[:, 1])
    )


def on_polars():
    """Kept whole, since the ratio is a function of a column and of what is asked for."""
    frame = pl.from_pandas(table(X)).with_columns(when=pl.datetime(2026, 1, 1, time_zone="UTC"))
    controller = shp.RiskController(
        shp.Columns("x"), shp.Intervals(-20, 20), shp.Distance(), shp.ColumnRatio("group")
    )
    return controller.calibrate(frame, Y, keep=["word", "day", "when"])


SUBJECTS: dict[str, Callable[[], Any]] = {
    "no shift": lambda: line(shp.NoShift()),
    "groups": line,
    "counted groups": lambda: line(COUNTED),
    "counted tables": lambda: line(shp.GroupRatio(0, source=OTHER, target=TARGET)),
    "groups within bounds": lambda: line(COUNTED.within(0.1)),
    "bounds that are paid": lambda: line(COUNTED.within(0.1, paid=True), loss=shp.Miscoverage()),
    "bounds on five groups": lambda: named(
        shp.GroupRatio("five", source=FIVE, target=FIVE).within(0.1)
    ),
    "within groups": lambda: line(shp.WithinGroups(0)),
    "groups of words": lambda: named(
        shp.GroupRatio("word", source={"near": 0.5, "far": 0.5}, target={"near": 0.9, "far": 0.1})
    ),
    "groups of days": lambda: named(shp.GroupRatio("day", source=EVEN, target=DAYS)),
    "column": lambda: named(shp.ColumnRatio("group")),
    "densities": lambda: line(
        shp.DensityRatio(stats.norm(0.3, 1.0), stats.norm(loc=0.0, scale=1.1), columns=[1])
    ),
    "gaussians": lambda: line(shp.GaussianRatio(columns=[1, 2]).fit(OTHER, TARGET)),
    "kernels": lambda: line(shp.ULSIF(columns=[1], kernels=10).fit(OTHER, TARGET)),
    "classifier": lambda: line(shp.ClassifierRatio().fit(OTHER, TARGET)),
    "classifier of a table": lambda: named(
        shp.ClassifierRatio(columns=FEATURES).fit(table(OTHER), table(TARGET))
    ),
    "pipeline": lambda: line(
        shp.ClassifierRatio(make_pipeline(StandardScaler(), LogisticRegression())).fit(
            OTHER, TARGET
        )
    ),
    "crossfit": lambda: line(shp.CrossfitRatio(shp.GaussianRatio(columns=[1])).fit(OTHER, TARGET)),
    "bootstrap": lambda: line(
        shp.BootstrapRatio(shp.GaussianRatio(columns=[1]), delta=0.5, draws=5).fit(OTHER, TARGET)
    ),
    "clipped": lambda: line(
        shp.ClippedRatio(GROUPS, ceiling=1.5).fit(TARGET), loss=shp.Miscoverage()
    ),
    "drawn": lambda: line(shp.ClippedRatio(GROUPS, ceiling=1.2).randomized(TARGET)),
    "polars": on_polars,
    "constant": lambda: line(worst_case=shp.Constant()),
    "directional": lambda: plane(shp.Balls(SQUARE), shp.Directional(8)),
    "polygon": lambda: plane(
        shp.Balls(shp.Polygon([[-9, -9], [30, -9], [-5, -5], [-9, 30]], hull=True), p=1)
    ),
    "scaled balls": lambda: plane(shp.Balls(SQUARE, scale=bagged_scale())),
    "scaled": lambda: line(
        sets=shp.Intervals(score=shp.ScaledResidual(bagged_scale())), loss=shp.Miscoverage()
    ),
    "quantiles": lambda: line(
        predictor=shp.OnColumns(shp.Columns(0, 1), [1, 2]),
        sets=shp.Intervals(-20, 20, score=shp.Quantiles(shrink=True)),
        loss=shp.Miscoverage(),
    ),
    "LAC": lambda: labels(shp.LabelSets(classes=["a", "b", "c"]), shp.Miscoverage(), CLASS),
    "APS": lambda: labels(
        shp.LabelSets(shp.APS(), classes=np.array(["a", "b", "c"])), shp.Miscoverage(), CLASS
    ),
    "RAPS": lambda: labels(
        shp.LabelSets(shp.RAPS(0.1, 2), classes=("a", "b", "c"), nonempty=True),
        shp.Miscoverage(),
        CLASS,
    ),
    "masks": lambda: labels(shp.Masks(), shp.FalseNegativeRate(), TAGS),
    "F1": lambda: labels(shp.Masks(), shp.Monotonized(shp.F1()), TAGS),
    "model": lambda: line(predictor=LinearRegression().fit(OTHER, OTHER[:, 1])),
    "some columns": lambda: named(
        shp.ColumnRatio("group"),
        shp.OnColumns(LinearRegression().fit(table(OTHER)[["x", "z"]], OTHER[:, 1]), ["x", "z"]),
    ),
    "Thompson": lambda: line(predictor=shp.Thompson(bagged())),
    "posterior mean": lambda: line(predictor=shp.PosteriorMean(bagged())),
}


def bagged_scale():
    return LinearRegression().fit(OTHER, 2.0 + 0.1 * OTHER[:, 0])


def new_inputs(calibrated):
    """Inputs in use, of the kind of the calibration."""
    return NEW if calibrated.kept.names is None else table(NEW)
