"""The kind of a table changes nothing: every reader of tables times every kind of table.

The same values in a pandas, polars or arrow table, whatever the types of its columns, or in an
array lead to the same sets, bit for bit, and the sets come back as a table of the kind that went
in. One exception: a linear model of scikit-learn adds up in another order where columns lie side
by side in memory, so that its own predictions differ in their last bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

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
    return table[:, name] if isinstance(table, np.ndarray) else table[name]


def floats(table: Any, name: str | int) -> np.ndarray:
    return np.asarray(picked(table, name), dtype=np.float64)


@dataclass(frozen=True)
class Reader:
    """A controller that reads tables, its labels, and a level; built anew for each kind."""

    build: Callable[[str], dict[str, Any]]
    labels: Callable[[], Any] = lambda: columns(CALIBRATION, 0)["place"]
    alpha: float = 0.5
    arrays: bool = True
    rounding: float = 0.0  # of a model that adds up in another order where columns lie side by side

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
    "no shift": Reader(lambda _: {"ratio": shp.NoShift()}),
    "function": Reader(
        lambda k: {"ratio": shp.KnownRatio(lambda t: np.exp(floats(t, at("single", k))))}
    ),
    "function, as it comes": Reader(
        lambda k: {"ratio": shp.KnownRatio(lambda t: picked(t, at("weight", k)))}
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
    "uLSIF": Reader(fitted(partial(shp.ULSIF, kernels=10, rows=40), "heard", "single")),
    "KLIEP": Reader(fitted(partial(shp.KLIEP, kernels=10, rows=40), "heard", "single")),
    "bootstrap": Reader(
        lambda k: {
            "ratio": shp.BootstrapRatio(
                shp.GaussianRatio(columns=[at("heard", k), at("single", k)]), draws=20
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


@cache
def tree() -> DecisionTreeRegressor:
    frame = pandas(columns(80, 4))
    return DecisionTreeRegressor(random_state=0).fit(
        frame[["heard", "single", "count"]], frame["place"]
    )


@cache
def forest() -> RandomForestRegressor:
    frame = pandas(columns(80, 4))
    return RandomForestRegressor(5, random_state=0).fit(frame[["heard", "night"]], frame["place"])


@cache
def classifier() -> DecisionTreeClassifier:
    frame = pandas(columns(80, 4))
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        frame[["heard", "count"]], frame["word"]
    )


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
    "model": Reader(lambda _: {"predictor": regression()}, arrays=False, rounding=1e-12),
    "tree": Reader(lambda _: {"predictor": tree()}, arrays=False),
    "tree on columns": Reader(
        lambda _: {"predictor": shp.OnColumns(tree(), ["heard", "single", "count"])}, arrays=False
    ),
    "forest, a member each": Reader(
        lambda _: {"predictor": shp.Thompson(shp.Snapshots(forest()))}, arrays=False
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
    "intervals, directional": Reader(lambda _: {"worst_case": shp.Directional()}),
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
        lambda _: {
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


def assert_same(found: Any, wanted: Any, rounding: float = 0.0) -> None:
    np.testing.assert_allclose(found.threshold, wanted.threshold, rtol=rounding, atol=0)
    np.testing.assert_allclose(found.size(), wanted.size(), rtol=rounding, atol=0)
    assert found.whole.tolist() == wanted.whole.tolist()


def rows(frame: Any) -> list[dict[str, Any]]:
    """A table of any library as Python objects."""
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("records")
    return frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist()


PAIRS = [
    (name, kind)
    for name, reader in READERS.items()
    for kind in [*NAMED, *["array"] * reader.arrays]
]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_kind_of_a_table_changes_nothing(name, kind):
    reader = READERS[name]
    found, wanted = reader.sets(kind), expected(name)
    assert_same(found, wanted, reader.rounding)
    frame = found.to_frame()
    assert type(frame) is OUT.get(kind.split(",")[0], pd.DataFrame)
    if not reader.rounding:
        assert [plain(row) for row in rows(frame)] == [
            plain(row) for row in rows(wanted.to_frame())
        ]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in row.items()}


# labels

NUMBERS = columns(CALIBRATION, 0)["place"]
WORDS = columns(CALIBRATION, 0)["word"]
WHOLE = [int(word == "red") + 2 * int(word == "blue") for word in WORDS]
ONE_COLUMN = {
    "list": list,
    "tuple": tuple,
    "array": np.asarray,
    "array of objects": lambda v: np.array(v, dtype=object),
    "column of an array": lambda v: np.asarray(v)[:, None],
    "pandas series": pd.Series,
    "pandas series, other index": lambda v: pd.Series(v, index=range(len(v), 0, -1)),
    "pandas series, nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas series, arrow": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "pandas series, objects": lambda v: pd.Series(v, dtype=object),
    "pandas series, categories": lambda v: pd.Series(pd.Categorical(v)),
    "pandas array": lambda v: pd.Series(v).convert_dtypes().array,
    "pandas categorical": pd.Categorical,
    "pandas index": pd.Index,
    "polars series": pl.Series,
    "arrow array": pa.array,
    "arrow, in chunks": lambda v: pa.chunked_array([v[:3], v[3:]]),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "pandas table": lambda v: pd.DataFrame({"y": v}),
    "polars table": lambda v: pl.DataFrame({"y": v}),
    "arrow table": lambda v: pa.table({"y": v}),
    "arrow batch": lambda v: pa.table({"y": v}).to_batches()[0],
}
OF_TEXT = {
    "array of text": lambda v: np.asarray(v, dtype=str),
    "pandas strings": lambda v: pd.Series(v, dtype="str"),
    "pandas python strings": lambda v: pd.Series(v, dtype="string[python]"),
    "pandas arrow strings": lambda v: pd.Series(v, dtype="string[pyarrow]"),
    "polars categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars enum": lambda v: pl.Series(v, dtype=pl.Enum(["blue", "green", "red"])),
    "arrow large strings": lambda v: pa.array(v, type=pa.large_string()),
}
OF_NUMBERS = {
    "single bytes": lambda v: np.asarray(v, dtype=np.int8),
    "floats": lambda v: np.asarray(v, dtype=float),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "polars UInt8": lambda v: pl.Series(v, dtype=pl.UInt8),
    "arrow int16": lambda v: pa.array(v, type=pa.int16()),
    "arrow decimals": lambda v: pa.array(v, type=pa.decimal128(12, 2)),
}
TABLE, NEW = pandas(columns(CALIBRATION, 0)), pandas(columns(USE, 1))


def controller(**parts: Any) -> shp.RiskController:
    plain: dict[str, Any] = {
        "predictor": shp.Columns("heard"),
        "sets": shp.Intervals(-5, 15),
        "loss": shp.Distance(),
    }
    return shp.RiskController(**plain | parts)


def of_classes(classes: list[Any]) -> shp.RiskController:
    return controller(
        predictor=shp.Columns("p0", "p1", "p2"),
        sets=shp.LabelSets(classes=classes),
        loss=shp.Miscoverage(),
    )


@pytest.mark.parametrize("kind", ONE_COLUMN)
def test_labels_that_are_numbers_come_in_any_column(kind):
    y = ONE_COLUMN[kind](NUMBERS)
    calibrated = controller().calibrate(TABLE, y)
    assert_same(
        calibrated.predict(NEW, 0.5), controller().calibrate(TABLE, NUMBERS).predict(NEW, 0.5)
    )
    again = calibrated.evaluate(TABLE, y, 0.5)
    assert again == calibrated.evaluate(TABLE, NUMBERS, 0.5)


@pytest.mark.parametrize("kind", [*ONE_COLUMN, *OF_TEXT])
def test_labels_that_are_words_come_in_any_column(kind):
    classes = of_classes(["red", "green", "blue"])
    found = classes.calibrate(TABLE, (ONE_COLUMN | OF_TEXT)[kind](WORDS))
    assert_same(found.predict(NEW, 0.3), classes.calibrate(TABLE, WORDS).predict(NEW, 0.3))


@pytest.mark.parametrize("kind", [*ONE_COLUMN, *OF_NUMBERS])
def test_labels_that_are_whole_numbers_come_in_any_column(kind):
    y = (ONE_COLUMN | OF_NUMBERS)[kind](WHOLE)
    for made_of in (of_classes([0, 1, 2]), controller()):
        found, wanted = made_of.calibrate(TABLE, y), made_of.calibrate(TABLE, WHOLE)
        assert_same(found.predict(NEW, 0.4), wanted.predict(NEW, 0.4))


@pytest.mark.parametrize("kind", [kind for kind in ONE_COLUMN if kind != "arrow dictionary"])
def test_labels_that_are_truth_values_come_in_any_column(kind):
    y = columns(CALIBRATION, 0)["night"]
    two = controller(
        predictor=lambda t: np.column_stack([t["p0"], 1 - t["p0"]]),
        sets=shp.LabelSets(classes=[False, True]),
        loss=shp.Miscoverage(),
    )
    found, wanted = two.calibrate(TABLE, ONE_COLUMN[kind](y)), two.calibrate(TABLE, y)
    assert_same(found.predict(NEW, 0.4), wanted.predict(NEW, 0.4))


SEVERAL = [kind for kind in NAMED if "shuffled" not in kind]


@pytest.mark.parametrize("kind", SEVERAL)
def test_labels_that_are_points_or_marks_come_in_any_table(kind):
    balls = controller(
        predictor=shp.Columns("heard", "north"), sets=shp.Balls(SQUARE), loss=shp.Distance()
    )
    wanted = balls.calibrate(TABLE, points()).predict(NEW, 0.5)
    made_of = NAMED[kind]({"east": points()[:, 0].tolist(), "north": points()[:, 1].tolist()})
    assert_same(balls.calibrate(TABLE, made_of).predict(NEW, 0.5), wanted)
    masks = controller(
        predictor=shp.Columns("p0", "p1", "p2"), sets=shp.Masks(), loss=shp.FalseNegativeRate()
    )
    wanted = masks.calibrate(TABLE, truth()).predict(NEW, 0.3)
    for values in (truth().astype(bool), truth().astype(int), truth().astype(float)):
        made_of = NAMED[kind]({f"tag {k}": values[:, k].tolist() for k in range(3)})
        assert_same(masks.calibrate(TABLE, made_of).predict(NEW, 0.3), wanted)


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("list", None),
        ("list", float("nan")),
        *itertools.product(
            ["pandas series, nullable", "pandas series, objects"], [None, float("nan"), pd.NA]
        ),
    ],
)
def test_a_missing_label_is_refused(kind, missing):
    y = ONE_COLUMN[kind]([missing, *NUMBERS[1:]])
    with pytest.raises(shp.InputError, match="labels"):
        controller().calibrate(TABLE, y)
    with pytest.raises(shp.InputError, match=r"(None|nan) in row 0"):
        of_classes(["red", "green", "blue"]).calibrate(
            TABLE, ONE_COLUMN[kind]([missing, *WORDS[1:]])
        )


# ids


IDS = [f"device {7 * k}" for k in range(USE)]


OF_IDS = {
    name: make
    for name, make in (ONE_COLUMN | OF_TEXT | OF_NUMBERS).items()
    if "table" not in name and name not in ("column of an array", "arrow batch", "polars enum")
}


@pytest.mark.parametrize("kind", OF_IDS)
def test_ids_come_in_any_column(kind):
    random = READERS["predictor or sets: classes, random"].calibrated("pandas")
    for ids, only in ((IDS, OF_NUMBERS), ([7 * k for k in range(USE)], OF_TEXT)):
        if kind in only:
            continue
        if kind in ("floats", "arrow decimals"):
            with pytest.raises(shp.InputError, match="integers or strings"):
                random.predict(NEW, 0.3, ids=OF_IDS[kind](ids))
            continue
        wanted = random.predict(NEW, 0.3, ids=ids)
        assert_same(random.predict(NEW, 0.3, ids=OF_IDS[kind](ids)), wanted)
        back = random.predict(NEW.iloc[::-1], 0.3, ids=OF_IDS[kind](ids[::-1]))
        assert back.threshold.tolist() == wanted.threshold[::-1].tolist()


# what comes out


@EACH
def test_no_rows_and_one_row_are_tables_too(kind):
    for name in ("ratio: groups, known", "predictor or sets: stars", "predictor or sets: classes"):
        calibrated = READERS[name].calibrated("pandas" if "shuffled" in kind else kind)
        wanted = expected(name)
        for count in (0, 1):
            few = {each: values[:count] for each, values in columns(USE, 1).items()}
            sets = calibrated.predict(
                NAMED[kind](few), READERS[name].alpha, seed=7, ids=IDS[:count]
            )
            assert sets.threshold.tolist() == wanted.threshold[:count].tolist()
            frame = sets.to_frame()
            assert len(rows(frame)) == count
            assert list(map(str, _names(frame))) == list(wanted.to_frame().columns)


def _names(frame: Any) -> Any:
    return frame.column_names if isinstance(frame, pa.Table) else frame.columns


@EACH
def test_a_table_goes_back_to_the_rows_it_came_from(kind):
    table = made(kind, USE, 1)
    sets = READERS["ratio: column"].calibrated(kind).predict(table, 0.5)
    frame = sets.to_frame()
    if isinstance(table, pd.DataFrame):
        assert frame.index.equals(table.index)
    bare = sets.to_frame("pandas")
    assert bare["threshold"].tolist() == sets.threshold.tolist()
    for other, wanted in (("polars", pl.DataFrame), ("pyarrow", pa.Table)):
        assert type(sets.to_frame(other)) is wanted
        assert _names(sets.to_frame(other)) == list(bare.columns)


def test_sets_join_their_inputs_by_index():
    table = NEW.set_index(pd.Index(IDS, name="device"))
    sets = controller().calibrate(TABLE, NUMBERS).predict(table, 0.5)
    joined = table.join(sets.to_frame())
    assert joined["threshold"].tolist() == sets.threshold.tolist()
    assert joined.index.name == "device"
    part = table.iloc[[5, 2]]
    few = controller().calibrate(TABLE, NUMBERS).predict(part, 0.5).to_frame()
    assert few.index.tolist() == [IDS[5], IDS[2]]


# what is refused, in the same words for all kinds


def _missing(name: str, kind: str) -> Any:
    """A table in which one value of a column is missing."""
    table = columns(USE, 1)
    return NAMED[kind](table | {name: [table[name][0], None, *table[name][2:]]})


@EACH
def test_a_missing_value_is_refused_where_it_is_read_and_nowhere_else(kind):
    plain = controller(ratio=shp.ColumnRatio("weight")).calibrate(TABLE, NUMBERS)
    words = controller(ratio=shp.WithinGroups("stations")).calibrate(TABLE, NUMBERS)
    repair = "drop or fill them"
    for calibrated, name, message in (
        (
            plain,
            "heard",
            f"column 'heard' of X: expected no missing values, got 1 .*row 1; {repair}",
        ),
        (plain, "weight", f"column 'weight' of X: expected no missing values, got 1 .*; {repair}"),
        (words, "stations", "groups in X: expected a label in every row, got 1 .*row 1"),
    ):
        with pytest.raises(shp.InputError, match=message):
            calibrated.predict(_missing(name, kind), 1.0)
    wanted = plain.predict(NEW, 0.5)
    for name in ("count", "night", "word", "gaps"):
        assert_same(plain.predict(_missing(name, kind), 0.5), wanted)


@EACH
def test_words_for_numbers_are_refused_in_the_same_words(kind):
    table = made(kind, CALIBRATION, 0)
    message = "column 'stations' of X: expected numbers, got '(on|off)'; convert it"
    with pytest.raises(shp.InputError, match=message):
        controller(predictor=shp.Columns("stations")).calibrate(table, NUMBERS)
    with pytest.raises(shp.InputError, match="the columns 'nothing', got columns"):
        controller(ratio=shp.ColumnRatio("nothing")).calibrate(table, NUMBERS)


@pytest.mark.parametrize("kind", [*NAMED, "array"])
def test_what_was_fitted_to_the_other_kind_is_refused(kind):
    other = "array" if kind != "array" else "pandas"
    ratio = READERS["ratio: gaussians"].build(other)["ratio"]
    with pytest.raises(shp.InputError):
        ratio.weights(made(kind, USE, 1))
    calibrated = READERS["ratio: column"].calibrated(other)
    with pytest.raises(shp.InputError, match="as in calibration"):
        calibrated.predict(made(kind, USE, 1), 0.5)


@pytest.mark.parametrize("kind", NAMED)
def test_a_fit_on_one_kind_serves_tables_of_all(kind):
    ratio = READERS["ratio: classifier"].build("pandas")["ratio"]
    wanted = ratio.weights(NEW)
    assert ratio.weights(made(kind, USE, 1)).tolist() == wanted.tolist()
    mixed = controller(ratio=ratio).calibrate(made(kind, CALIBRATION, 0), NUMBERS)
    assert_same(mixed.predict(NEW, 0.5), expected("ratio: classifier"))


def test_a_model_of_names_and_an_array():
    names = ["heard", "single", "count"]
    model, inputs = tree(), TABLE[names].to_numpy()
    with pytest.warns(UserWarning, match="feature names"):  # scikit-learn's own
        calibrated = controller(predictor=model).calibrate(inputs, NUMBERS)
    with pytest.warns(UserWarning, match="feature names"):
        found = calibrated.predict(NEW[names].to_numpy(), 0.5)
    assert_same(found, controller(predictor=model).calibrate(TABLE, NUMBERS).predict(NEW, 0.5))
