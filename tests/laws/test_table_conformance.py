"""The kind of a table changes nothing: every reader of tables times every kind of table.

The same values in a pandas, polars or arrow table, whatever the types of its columns, or in an array
lead to the same sets, bit for bit, and the sets come back as a table of the kind that went in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import shiftproof as shp

CALIBRATION, USE = 60, 9


@cache
def columns(rows: int, seed: int) -> dict[str, list[Any]]:
    """One column of each type of values, and those that controllers read."""
    rng = np.random.default_rng(seed)
    off = rng.random(rows) < 0.5
    place = rng.uniform(0, 10, rows)
    heard = np.clip(place + np.where(off, 2.0, 0.3) * rng.normal(size=rows), 0, 10)
    chances = rng.dirichlet(np.ones(3), rows)
    return {
        "heard": heard.tolist(),
        "north": rng.uniform(0, 5, rows).tolist(),
        "low": (heard - 0.5).tolist(),
        "high": (heard + 0.5).tolist(),
        "spread": (0.5 + off).tolist(),
        "single": np.float32(rng.normal(size=rows)).tolist(),
        "count": rng.integers(-3, 9, rows).tolist(),
        "night": (rng.random(rows) < 0.4).tolist(),
        "stations": np.where(off, "off", "on").tolist(),
        "gaps": [None if k % 7 == 3 else int(k % 5) for k in range(rows)],
        "weight": np.exp(rng.normal(size=rows)).tolist(),
        "p0": chances[:, 0].tolist(),
        "p1": chances[:, 1].tolist(),
        "p2": chances[:, 2].tolist(),
        "place": place.tolist(),
        "word": rng.choice(["red", "green", "blue"], rows).tolist(),
    }


Columns = dict[str, list[Any]]
TEXTS = ("stations", "word")


def texts(table: Columns) -> list[str]:
    return [name for name in TEXTS if name in table]


def pandas(table: Columns) -> pd.DataFrame:
    types = {"single": np.float32} if "single" in table else {}
    return pd.DataFrame(table).astype(types)


def pandas_indexed(table: Columns) -> pd.DataFrame:
    frame = pandas(table)
    frame.index = pd.Index([f"message {k // 2}" for k in range(len(frame))][::-1])
    return frame


def polars(table: Columns) -> pl.DataFrame:
    types = {"single": pl.Float32} if "single" in table else {}
    return pl.DataFrame(table).with_columns(pl.col(n).cast(t) for n, t in types.items())


def arrow(table: Columns) -> pa.Table:
    types = {"single": pa.float32()}
    return pa.table({n: pa.array(v, type=types.get(n)) for n, v in table.items()})


def in_chunks(table: Columns) -> pa.Table:
    whole = arrow(table)
    return pa.concat_tables([whole.slice(0, 4), whole.slice(4, 1), whole.slice(5)])


def dictionaries(table: Columns) -> pa.Table:
    found = arrow(table)
    for name in texts(table):
        place = found.schema.get_field_index(name)
        found = found.set_column(place, name, found[name].dictionary_encode())
    return found


def one_batch(table: Columns) -> pa.RecordBatch:
    found = arrow(table).combine_chunks()
    batches = found.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=found.schema)


def enums(table: Columns) -> pl.DataFrame:
    kinds = {"stations": pl.Enum(["on", "off"]), "word": pl.Enum(["blue", "green", "red"])}
    return polars(table).with_columns(pl.col(n).cast(kinds[n]) for n in texts(table))


NAMED: dict[str, Callable[[Columns], Any]] = {
    "pandas": pandas,
    "pandas, other index": pandas_indexed,
    "pandas, nullable": lambda t: pandas(t).convert_dtypes(),
    "pandas, arrow": lambda t: pandas(t).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, python strings": lambda t: pandas(t).astype(dict.fromkeys(texts(t), "string[python]")),
    "pandas, objects": lambda t: pandas(t).astype(object),
    "pandas, categories": lambda t: pandas(t).astype(dict.fromkeys(texts(t), "category")),
    "polars": polars,
    "polars, categorical": lambda t: polars(t).with_columns(
        pl.col(n).cast(pl.Categorical) for n in texts(t)
    ),
    "polars, enum": enums,
    "polars, in chunks": lambda t: pl.concat([polars(t)[:3], polars(t)[3:]], rechunk=False),
    "arrow": arrow,
    "arrow, in chunks": in_chunks,
    "arrow, dictionaries": dictionaries,
    "arrow, one batch": one_batch,
    "shuffled, and more": lambda t: pandas({"more": [[]] * len(t["heard"]), **_reversed(t)}),
    "polars, shuffled": lambda t: polars(_reversed(t)),
    "arrow, shuffled": lambda t: arrow(_reversed(t)),
}
OUT = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table, "shuffled": pd.DataFrame}
EACH = pytest.mark.parametrize("kind", NAMED)


def _reversed(table: Columns) -> Columns:
    return dict(reversed(table.items()))


def array_of_objects(table: Columns) -> np.ndarray:
    found = np.empty((len(table["heard"]), len(table)), dtype=object)
    for place, values in enumerate(table.values()):
        found[:, place] = values
    return found


NAMES = list(columns(1, 0))


def at(name: str, kind: str) -> str | int:
    """What a column is called in a table of this kind."""
    return NAMES.index(name) if kind == "array" else name


def made(kind: str, rows: int, seed: int) -> Any:
    make = array_of_objects if kind == "array" else NAMED[kind]
    return make(columns(rows, seed))


def picked(table: Any, name: str | int) -> Any:
    """A column of whatever came, as the library of the table gives it."""
    return table[:, name].astype(float) if isinstance(table, np.ndarray) else table[name]


@dataclass(frozen=True)
class Reader:
    """A controller that reads tables, its labels, and a level; built anew for each kind."""

    build: Callable[[str], dict[str, Any]]
    labels: Callable[[], Any] = lambda: columns(CALIBRATION, 0)["place"]
    alpha: float = 0.5
    arrays: bool = True

    def calibrated(self, kind: str) -> Any:
        parts: dict[str, Any] = {
            "predictor": shp.Columns(at("heard", kind)),
            "sets": shp.Intervals(-5, 15),
            "loss": shp.Distance(),
        }
        controller = shp.RiskController(**parts | self.build(kind))
        return controller.calibrate(made(kind, CALIBRATION, 0), self.labels(), seed=7)

    def sets(self, kind: str) -> Any:
        return self.calibrated(kind).predict(made(kind, USE, 1), self.alpha)


def samples(kind: str) -> tuple[Any, Any]:
    return made(kind, 150, 2), made(kind, 90, 3)


def fitted(recipe: Callable[..., Any], *names: str) -> Callable[[str], dict[str, Any]]:
    def build(kind: str) -> dict[str, Any]:
        read = [at(name, kind) for name in names]
        return {"ratio": recipe(columns=read).fit(*samples(kind))}

    return build


RATES = {"off": 0.5, "on": 0.5}
MIXED = ("heard", "single", "count", "night", "stations", "gaps")
RATIOS = {
    "no shift": Reader(lambda k: {"ratio": shp.NoShift()}),
    "function": Reader(
        lambda k: {"ratio": shp.KnownRatio(lambda t: np.exp(picked(t, at("single", k))))}
    ),
    "function of columns": Reader(
        lambda k: {
            "ratio": shp.KnownRatio(
                lambda heard, night: np.exp(heard / 5 - night), [at("heard", k), at("night", k)]
            )
        }
    ),
    "function of text": Reader(
        lambda k: {"ratio": shp.KnownRatio(lambda s: 1 + (s == "off"), [at("stations", k)])}
    ),
    "column": Reader(lambda k: {"ratio": shp.ColumnRatio(at("weight", k))}),
    "densities": Reader(
        lambda k: {"ratio": shp.DensityRatio(Wide(), Narrow(), [at("single", k), at("count", k)])}
    ),
    "groups, known": Reader(
        lambda k: {
            "ratio": shp.GroupRatio(at("stations", k), source=RATES, target={"off": 0.9, "on": 0.1})
        }
    ),
    "groups, truth values": Reader(
        lambda k: {
            "ratio": shp.GroupRatio(
                at("night", k), source={True: 0.5, False: 0.5}, target={True: 0.9, False: 0.1}
            )
        }
    ),
    "groups, counted": Reader(
        lambda k: {
            "ratio": shp.GroupRatio(at("stations", k), source=samples(k)[0], target=samples(k)[1])
        }
    ),
    "groups, whole numbers, bounded": Reader(
        lambda k: {
            "ratio": shp.GroupRatio(
                at("night", k), source={0: 0.5, 1: 0.5}, target=samples(k)[1]
            ).within(0.1)
        }
    ),
    "within groups": Reader(lambda k: {"ratio": shp.WithinGroups(at("stations", k))}, alpha=1.0),
    "within groups of numbers": Reader(
        lambda k: {"ratio": shp.WithinGroups(at("night", k))}, alpha=1.0
    ),
    "classifier": Reader(fitted(shp.ClassifierRatio, *MIXED)),
    "gaussians": Reader(fitted(shp.GaussianRatio, "heard", "single", "count")),
    "uLSIF": Reader(fitted(shp.ULSIF, "heard", "single")),
    "KLIEP": Reader(fitted(shp.KLIEP, "heard", "single")),
    "bootstrap": Reader(
        lambda k: {
            "ratio": shp.BootstrapRatio(
                shp.GaussianRatio(columns=[at("heard", k), at("single", k)])
            ).fit(*samples(k))
        }
    ),
    "crossfit": Reader(
        lambda k: {
            "ratio": shp.CrossfitRatio(
                shp.GaussianRatio(columns=[at("heard", k), at("single", k)])
            ).fit(*samples(k))
        }
    ),
    "clipped": Reader(
        lambda k: {
            "ratio": shp.ClippedRatio(shp.ColumnRatio(at("weight", k)), ceiling=6.0).fit(
                samples(k)[1]
            )
        },
        alpha=6.0,
    ),
}


class Narrow:
    def logpdf(self, x: np.ndarray) -> np.ndarray:
        return -(x**2).sum(axis=1) / 2


class Wide:
    def logpdf(self, x: np.ndarray) -> np.ndarray:
        return -(x**2).sum(axis=1) / 4


@cache
def regression() -> LinearRegression:
    frame = pandas(columns(80, 4))
    return LinearRegression().fit(frame[["heard", "single", "count"]], frame["place"])


def classifier() -> LogisticRegression:
    frame = pandas(columns(80, 4))
    return LogisticRegression().fit(frame[["heard", "count"]], frame["word"])


def words() -> list[str]:
    return columns(CALIBRATION, 0)["word"]


def points() -> np.ndarray:
    found = columns(CALIBRATION, 0)
    return np.column_stack([found["place"], np.clip(np.add(found["north"], 0.2), 0, 5)])


def truth() -> np.ndarray:
    found = columns(CALIBRATION, 0)
    return np.column_stack([found["night"], np.array(found["stations"]) == "on", [1] * CALIBRATION])


def chances(k: str) -> shp.Columns:
    return shp.Columns(at("p0", k), at("p1", k), at("p2", k))


SQUARE = shp.Box([-1, -1], [11, 6])
MODELS = {
    "model": Reader(
        lambda k: {
            "predictor": shp.OnColumns(regression(), _named(k)) if k == "array" else regression()
        },
        arrays=False,
    ),
    "model on columns": Reader(
        lambda k: {"predictor": shp.OnColumns(regression(), ["heard", "single", "count"])},
        arrays=False,
    ),
    "column": Reader(lambda k: {"predictor": shp.Columns(at("high", k))}),
    "column of single precision": Reader(lambda k: {"predictor": shp.Columns(at("single", k))}),
    "column of whole numbers": Reader(lambda k: {"predictor": shp.Columns(at("count", k))}),
    "function": Reader(lambda k: {"predictor": lambda t: picked(t, at("heard", k))}),
    "function of columns": Reader(
        lambda k: {
            "predictor": shp.OnColumns(
                lambda t: picked(t, 0 if k == "array" else "heard"), [at("heard", k)]
            )
        }
    ),
    "thompson": Reader(
        lambda k: {
            "predictor": shp.Thompson(
                shp.Snapshots(
                    [lambda t: picked(t, at("low", k)), lambda t: picked(t, at("high", k))]
                )
            )
        }
    ),
    "intervals, scaled": Reader(
        lambda k: {
            "sets": shp.Intervals(-5, 15, shp.ScaledResidual(shp.Columns(at("spread", k)))),
        }
    ),
    "intervals, quantiles": Reader(
        lambda k: {
            "predictor": shp.Columns(at("low", k), at("high", k)),
            "sets": shp.Intervals(-5, 15, shp.Quantiles()),
            "loss": shp.Miscoverage(),
        }
    ),
    "intervals, directional": Reader(lambda k: {"worst_case": shp.Directional()}),
    "balls": Reader(
        lambda k: {
            "predictor": shp.Columns(at("heard", k), at("north", k)),
            "sets": shp.Balls(SQUARE, scale=shp.Columns(at("spread", k))),
        },
        labels=points,
    ),
    "stars": Reader(
        lambda k: {
            "predictor": shp.Columns(at("heard", k), at("north", k)),
            "sets": shp.Balls(SQUARE),
            "worst_case": shp.Directional(16),
        },
        labels=points,
    ),
    "classes": Reader(
        lambda k: {
            "predictor": chances(k),
            "sets": shp.LabelSets(shp.APS(), classes=["red", "green", "blue"]),
            "loss": shp.Miscoverage(),
        },
        labels=words,
        alpha=0.3,
    ),
    "classes, random": Reader(
        lambda k: {
            "predictor": chances(k),
            "sets": shp.LabelSets(shp.RAPS(randomized=True), classes=["red", "green", "blue"]),
            "loss": shp.Miscoverage(),
        },
        labels=words,
        alpha=0.3,
    ),
    "classes of a model": Reader(
        lambda k: {
            "predictor": classifier(),
            "sets": shp.LabelSets(),
            "loss": shp.Miscoverage(),
        },
        labels=words,
        alpha=0.3,
        arrays=False,
    ),
    "masks": Reader(
        lambda k: {
            "predictor": chances(k),
            "sets": shp.Masks(),
            "loss": shp.FalseNegativeRate(),
        },
        labels=truth,
        alpha=0.3,
    ),
}
READERS = {f"ratio: {name}": each for name, each in RATIOS.items()}
READERS |= {f"predictor or sets: {name}": each for name, each in MODELS.items()}


@cache
def expected(name: str) -> Any:
    return READERS[name].sets("pandas")


def assert_same(found: Any, wanted: Any) -> None:
    assert found.threshold.tolist() == wanted.threshold.tolist()
    assert found.size().tolist() == wanted.size().tolist()
    assert found.whole.tolist() == wanted.whole.tolist()


@pytest.mark.parametrize("kind", [*NAMED, "array"])
@pytest.mark.parametrize("name", READERS)
def test_the_kind_of_a_table_changes_nothing(name, kind):
    reader = READERS[name]
    if kind == "array" and not reader.arrays:
        pytest.skip("a model that reads by name is refused an array: test_a_model_by_name")
    found = reader.sets(kind)
    assert_same(found, expected(name))
    frame = found.to_frame()
    assert type(frame) is OUT.get(kind.split(",")[0], pd.DataFrame)
    assert len(frame) == USE
    wanted = expected(name).to_frame()
    table = pl.from_dataframe(frame) if not isinstance(frame, pd.DataFrame) else frame
    assert list(table.columns) == list(wanted.columns)
