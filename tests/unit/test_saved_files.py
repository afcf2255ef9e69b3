"""What is inside a saved file, what has to be given again, and what is said where it is not."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import pkgutil
import sys
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import shiftproof as shp
from saved import COUNTED, GROUPS, NEW, OTHER, TARGET, X, Y, line, named, predict, table
from shiftproof.archive import Archive, packed, read
from shiftproof.persist.frames import frame_again, frame_node
from shiftproof.persist.nodes import Reader, UnsavableError, Writer
from shiftproof.persist.recipes import RECIPES, fits


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.npz"


def test_a_predictor_that_is_not_inside_is_asked_for_by_name(path):
    shp.save(line(), path)
    with pytest.raises(shp.InputError, match="predictor: expected to be given again") as found:
        shp.load(path)
    assert "the function predict" in str(found.value)
    assert "load(path, predictor=...)" in str(found.value)


def test_models_of_scikit_learn_are_given_again_unless_asked_for(path):
    model = LinearRegression().fit(OTHER, OTHER[:, 1])
    shp.save(line(predictor=model), path)
    with pytest.raises(shp.InputError, match="a LinearRegression, a model of scikit-learn"):
        shp.load(path)
    assert shp.contents(path).given == ("predictor",)
    shp.save(line(predictor=model), path, models=True)
    assert shp.contents(path).given == ()
    again = shp.load(path).predict(NEW, 1.0)
    np.testing.assert_array_equal(again.lower, line(predictor=model).predict(NEW, 1.0).lower)


def test_what_is_given_goes_before_what_the_file_holds(path):
    model = LinearRegression().fit(OTHER, OTHER[:, 1])
    shp.save(line(predictor=model), path, models=True)
    again = shp.load(path, predictor=lambda x: 0 * x[:, 0])
    assert again.predict(NEW, 1.0).lower[0] == -again.predict(NEW, 1.0).upper[0]


def test_trees_are_read_only_by_those_who_trust_them(path):
    forest = RandomForestRegressor(3, random_state=0).fit(OTHER, OTHER[:, 1])
    thing = line(predictor=forest)
    shp.save(thing, path, models=True)
    with pytest.raises(shp.InputError, match=r"trusted=\['sklearn.tree._tree.Tree'\]"):
        shp.load(path)
    again = shp.load(path, trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(again.predict(NEW, 1.0).lower, thing.predict(NEW, 1.0).lower)
    assert len(shp.load(path, predictor=forest)) == len(X)


def test_without_skops_the_error_names_the_extra(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    model = LinearRegression().fit(OTHER, OTHER[:, 1])
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'shiftproof\[models\]'"):
        shp.save(line(predictor=model), path, models=True)
    assert not path.exists()


def ratio_of(strength):
    return shp.KnownRatio(lambda x: np.exp(strength * np.asarray(x)[:, 1]))


def test_a_ratio_that_is_given_again_has_to_be_that_of_the_calibration(path):
    shp.save(line(ratio_of(0.5)), path)
    again = shp.load(path, predictor=predict, ratio=ratio_of(0.5))
    np.testing.assert_array_equal(again.rule.weights, line(ratio_of(0.5)).rule.weights)
    with pytest.raises(shp.InputError, match="ratio: expected the ratio that the calibration"):
        shp.load(path, predictor=predict, ratio=ratio_of(0.6))
    with pytest.raises(shp.InputError, match="its weights differ"):
        shp.load(path, predictor=predict, ratio=shp.NoShift())
    with pytest.raises(shp.InputError, match="its weights differ"):
        shp.load(path, predictor=predict, ratio=COUNTED.within(0.1))


def test_what_ifs_work_after_loading(path):
    shp.save(line(), path)
    again = shp.load(path, predictor=predict)
    other = GROUPS.under({0: 0.9, 1: 0.1})
    first, second = (each.under(other).predict(NEW, 1.0) for each in (line(), again))
    np.testing.assert_array_equal(first.threshold, second.threshold)


def test_inputs_can_be_left_out_and_are_then_not_in_the_file(path):
    secret = X.copy()
    secret[:, 2] = 12345.678
    controller = shp.RiskController(predict, shp.Intervals(-20, 20), shp.Distance(), GROUPS)
    thing = controller.calibrate(secret, Y)
    shp.save(thing, path)
    assert secret[:, 2].tobytes()[:8] in path.read_bytes()
    assert shp.contents(path).inputs == ("an array (60, 3)",)
    shp.save(thing, path, inputs=False)
    assert secret[:, 2].tobytes()[:8] not in path.read_bytes()
    assert shp.contents(path).inputs == ()
    again = shp.load(path, predictor=predict)
    np.testing.assert_array_equal(again.predict(NEW, 1.0).lower, thing.predict(NEW, 1.0).lower)
    with pytest.raises(shp.InputError, match="calibration inputs"):
        again.under(GROUPS.under({0: 0.5, 1: 0.5}))


def test_leaving_inputs_out_leaves_digests_of_rows_out(path):
    ratio = shp.GaussianRatio(columns=[1, 2]).fit(OTHER, TARGET)
    word = ratio.ledger.digests["ratio_source"][0].tobytes()
    shp.save(line(ratio), path)
    assert word in path.read_bytes()
    shp.save(line(ratio), path, inputs=False)
    assert word not in path.read_bytes()
    assert shp.load(path, predictor=predict).controller.ratio.ledger.digests == {}


def test_only_the_columns_that_were_kept_are_in_the_file(path):
    shp.save(named(shp.ColumnRatio("group")), path)
    assert shp.contents(path).inputs == ("group",)


def test_contents_says_what_is_inside_without_making_anything(path):
    shp.save(line(ratio_of(0.5)), path)
    found = shp.contents(path)
    assert found.kind == "calibrated"
    assert found.given == ("predictor", "ratio")
    assert found.recipes["loss"] == "Distance"
    assert found.recipes["predictor"] == "to be given again: the function predict"
    assert sum(size for _, size in found.arrays.values()) < path.stat().st_size
    assert "calibration inputs: an array (60, 3)" in str(found)


def test_fitted_ratios_are_saved_alone(path):
    ratio = shp.ClassifierRatio().fit(OTHER, TARGET)
    shp.save(ratio, path, models=True)
    again = shp.load(path)
    np.testing.assert_array_equal(again.weights(NEW), ratio.weights(NEW))
    assert str(again.assumption) == str(ratio.assumption)
    with pytest.raises(shp.InputError, match="loss: expected nothing"):
        shp.load(path, loss=shp.Distance())
    with pytest.raises(shp.InputError, match="models=True"):
        shp.save(ratio, path)
    with pytest.raises(shp.InputError, match="the function"):
        shp.save(shp.GroupRatio(five, source={1: 1.0}, target={1: 1.0}), path)
    with pytest.raises(shp.InputError, match="got RiskController"):
        shp.save(line().controller, path)
    np.testing.assert_array_equal(shp.load(path).weights(NEW), ratio.weights(NEW))


def five(x):
    return np.ones(len(x))


def test_a_digest_that_a_saved_ratio_carries_still_warns(path):
    ratio = shp.GaussianRatio(columns=[1, 2]).fit(X[:40], TARGET)
    with pytest.warns(shp.ShiftWarning, match="are also in ratio source"):
        line(ratio)
    shp.save(ratio, path)
    with pytest.warns(shp.ShiftWarning, match="are also in ratio source"):
        line(shp.load(path))


def test_nothing_in_a_file_runs_when_it_is_read(path):
    """A part that would call something: no tag and no recipe reaches it."""
    shp.save(line(), path)
    archive = read(path)
    for bad in (
        {"recipe": "os:system", "fields": {"command": "true"}},
        {"recipe": "KnownRatio", "fields": {"function": "print", "reads": None}},
        {"law": "eval", "parameters": {"dict": []}},
        {"law": "norm", "parameters": {"dict": [["loc", 0], ["evil", 1]]}},
        {"model": "rows_0", "of": "x"},
        {"__reduce__": "os.system"},
    ):
        content = {**archive.content, "parts": {**archive.content["parts"], "ratio": bad}}
        path.write_bytes(packed(Archive("calibrated", content, archive.arrays)))
        with pytest.raises(shp.ShiftproofError):
            shp.load(path, predictor=predict)


@pytest.mark.parametrize("name", RECIPES)
def test_the_type_of_every_field_is_one_that_can_be_checked(name):
    """A type that no value fits, or that all fit, would make its check an idle one."""
    for words in RECIPES[name].fields.values():
        if words not in ("Any", "object"):
            assert not fits(words, object.__new__(Strange)), words


class Strange:
    """Fits nothing but `Any`, `object`, and what stands for a protocol."""

    def __len__(self):
        return 0


VALUES = [
    None,
    True,
    3,
    -(10**30),
    0.1,
    float("inf"),
    "ä\n",
    (1, (2.5, "x")),
    [None, [1]],
    {1: "a", "1": "b", (1, 2): None},
    frozenset({"a", None}),
    datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    date(2026, 1, 2),
    timedelta(days=-1, microseconds=3),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_come_back_as_they_were(value):
    writer = Writer()
    again = Reader(writer.arrays).value(writer.node(value))
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "", "ü"]),
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.array(["2026-01-01", "NaT"], "M8[D]"),
        np.array([1, 2], "m8[ns]"),
        np.array([], dtype=object),
        np.float32([1.5]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_come_back_as_they_were(array):
    writer = Writer()
    again = Reader(writer.arrays).value(writer.node(array))
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype


@pytest.mark.parametrize(
    "law",
    [
        stats.norm(1.0, 2.0),
        stats.norm(loc=1.0),
        stats.t(3, loc=1, scale=2),
        stats.gamma(a=2.0, scale=3.0),
        stats.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]),
    ],
)
def test_laws_of_scipy_come_back_as_they_were(law):
    writer = Writer()
    again = Reader(writer.arrays).value(writer.node(law))
    places = np.random.default_rng(0).normal(size=(5, 2)) if hasattr(law, "cov") else np.arange(5.0)
    np.testing.assert_array_equal(again.logpdf(places), law.logpdf(places))


@pytest.mark.parametrize("value", [len, object(), shp.InputError("a", "b", "c", "d"), {1, 2}])
def test_what_no_file_can_hold_is_refused(value):
    with pytest.raises(UnsavableError):
        Writer().node(value)


PANDAS = pd.DataFrame(
    {
        "ints": [1, 2, 3],
        "small": np.array([1, 2, 3], "i1"),
        "floats": [0.5, np.nan, -1.0],
        "gaps": pd.array([1, None, 2**62 + 1], dtype="Int64"),
        "flags": [True, False, True],
        "maybe": pd.array([True, None, False], dtype="boolean"),
        "texts": ["a", None, "ß"],
        "objects": pd.Series(["a", 1, None], dtype=object),
        "kinds": pd.Categorical(["x", "y", None]),
        "times": pd.to_datetime(["2026-01-01 01:02:03", None, "2026-01-02 00:00:00"]),
        "zoned": pd.to_datetime(["2026-01-01", None, "2026-06-02"]).tz_localize("Europe/Brussels"),
        "spans": pd.to_timedelta([1, None, 3], unit="s"),
        "arrows": pd.array([1, None, 3], dtype="int64[pyarrow]"),
    }
)
POLARS = pl.DataFrame(
    {
        "ints": pl.Series([1, None, 3], dtype=pl.Int32),
        "floats": [0.5, float("nan"), None],
        "flags": [True, None, False],
        "texts": ["a", None, ""],
        "kinds": pl.Series(["x", "y", None], dtype=pl.Categorical),
        "days": [date(2026, 1, 1), None, date(2026, 1, 2)],
        "times": pl.Series(np.array(["2026-01-01T02", "NaT", "2026-03-01"], "M8[us]")),
        "zoned": pl.Series([datetime(2026, 1, 1, tzinfo=UTC), None, None]),
        "spans": [timedelta(seconds=1), None, timedelta(days=2)],
    }
)


@pytest.mark.parametrize("frame", [PANDAS, POLARS, POLARS.to_arrow()], ids=lambda f: str(type(f)))
def test_tables_come_back_in_the_kind_that_they_were(frame):
    writer = Writer()
    again = frame_again(frame_node(frame, writer), Reader(writer.arrays))
    assert type(again) is type(frame)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(again, frame)
    elif isinstance(frame, pl.DataFrame):
        assert_frame_equal(again, frame)
    else:
        assert_frame_equal(pl.from_arrow(again), pl.from_arrow(frame))


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"lists": [[1], [2]]}),
        pl.DataFrame({"structs": [{"a": 1}]}),
        pl.DataFrame({"bytes": [b"a"]}),
        pd.DataFrame({"numbers": pd.Categorical([1, 2])}),
        pd.DataFrame({"objects": [{1, 2}]}),
    ],
    ids=lambda frame: frame.columns[0],
)
def test_columns_that_a_file_would_lose_are_refused(frame):
    with pytest.raises(UnsavableError):
        frame_node(frame, Writer())


def test_a_table_that_no_file_can_hold_says_which_column(path):
    lists = pl.from_pandas(table(X).drop(columns=["day"])).with_columns(pl.lit([1]).alias("lists"))
    ratio = shp.KnownRatio(lambda t: np.ones(len(t)))
    controller = shp.RiskController(shp.Columns("x"), shp.Intervals(-20, 20), shp.Distance(), ratio)
    thing = controller.calibrate(lists, Y)
    with pytest.raises(shp.InputError, match=r"column 'lists'.*inputs=False"):
        shp.save(thing, path)
    assert not path.exists()
    shp.save(thing, path, inputs=False)
    assert len(shp.load(path, ratio=ratio)) == len(Y)


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_a_calibration_on_other_tables_loads_and_answers_in_kind(kind, path):
    frame = kind(table(X).drop(columns=["day"]))
    even, uneven = {"near": 0.5, "far": 0.5}, {"near": 0.9, "far": 0.1}
    ratio = shp.GroupRatio("word", source=even, target=uneven)
    controller = shp.RiskController(shp.Columns("x"), shp.Intervals(-20, 20), shp.Distance(), ratio)
    thing = controller.calibrate(frame, Y)
    shp.save(thing, path)
    again = shp.load(path).under(ratio.under(even))
    assert type(again.predict(frame, 1.0).to_frame()) is type(frame)


def test_a_path_may_be_of_any_kind(path):
    for place in (str(path), path, os.fspath(path)):
        shp.save(shp.NoShift(), place)
        assert isinstance(shp.load(place), shp.NoShift)


#: Parts that are made of a function, and given again.
OF_FUNCTIONS = {"KnownRatio", "MonotoneLoss", "Function"}


def test_every_part_of_a_controller_is_in_the_table_or_made_of_a_function():
    """A new loss, ratio or family has to be written down, or named here with its reason."""
    parts = {
        kind.__name__
        for module in pkgutil.walk_packages(shp.__path__, "shiftproof.")
        if module.name.split(".")[1] in ("sets", "losses", "ratios", "predictors", "worst_case")
        for kind in vars(importlib.import_module(module.name)).values()
        if dataclasses.is_dataclass(kind)
        and kind.__module__ == module.name
        and not inspect.isabstract(kind)
        and any(hasattr(kind, name) for name in ("makes", "floor", "weights", "values", "draw"))
    }
    assert {"Distance", "Balls", "FittedKernels", "Thompson"} <= parts
    assert parts - OF_FUNCTIONS - {"_OfPosterior"} <= set(RECIPES)
