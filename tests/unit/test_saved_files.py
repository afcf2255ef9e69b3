"""What is inside a saved file, what has to be given again, and what is said where it is not."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import shiftproof as shp
from saved import (
    COUNTED,
    GROUPS,
    NEW,
    OTHER,
    SUBJECTS,
    TARGET,
    X,
    Y,
    line,
    named,
    plane,
    predict,
    table,
)
from shiftproof.archive import Archive, Fault, packed, read
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


def read_again(value):
    writer = Writer()
    node = writer.node(value)
    return Reader(writer.arrays).value(node)


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


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_plain_values_come_back_as_they_were(value):
    again = read_again(value)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "", "ü"]),
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.array(["2026-01-01", "NaT"], "M8[D]"),
        np.array([1, 2], "m8[ns]"),
        np.array(["2026-01-01"], ">M8[D]").astype("M8[D]"),
        np.array([], dtype=object),
        np.float32([1.5]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_come_back_as_they_were(array):
    again = read_again(array)
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
    again = read_again(law)
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
        "ordered": pd.Categorical(["s", "l", "s"], categories=["s", "m", "l"], ordered=True),
        "york": pd.to_datetime(["2026-01-01", None, "2026-06-02"]).tz_localize("America/New_York"),
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
        "enums": pl.Series(["s", "l", None], dtype=pl.Enum(["s", "m", "l"])),
        "days": [date(2026, 1, 1), None, date(2026, 1, 2)],
        "times": pl.Series(np.array(["2026-01-01T02", "NaT", "2026-03-01"], "M8[us]")),
        "zoned": pl.Series([datetime(2026, 1, 1, tzinfo=UTC), None, None]),
        "spans": [timedelta(seconds=1), None, timedelta(days=2)],
    }
)


@pytest.mark.parametrize(
    "frame", [PANDAS, POLARS, POLARS.drop("enums").to_arrow()], ids=lambda f: str(type(f))
)
def test_tables_come_back_in_the_kind_that_they_were(frame):
    writer = Writer()
    node = frame_node(frame, writer)
    again = frame_again(node, Reader(writer.arrays))
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
        pl.DataFrame({"decimals": pl.Series([1], dtype=pl.Decimal(10, 2))}),
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


class Tilted:
    """Looks like a frozen law of scipy, and answers otherwise."""

    def __init__(self):
        self.dist, self.args, self.kwds = stats.norm, (0.0, 1.0), {}

    def logpdf(self, x):
        return stats.norm.logpdf(x) + 0.5 * np.asarray(x)


class Bent(type(stats.norm())):
    pass


@pytest.mark.parametrize(
    "law",
    [
        Tilted(),
        Bent(stats.norm),
        stats.multivariate_normal([0.0], stats.Covariance.from_cholesky([[1.0]])),
    ],
    ids=["alike", "derived", "factor"],
)
def test_laws_that_answer_otherwise_than_scipy_are_given_again(law):
    with pytest.raises(UnsavableError):
        Writer().node(law)


def test_a_singular_law_stays_singular():
    law = stats.multivariate_normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], allow_singular=True)
    places = np.array([[1.0, 1.0], [0.5, 0.5]])
    np.testing.assert_array_equal(read_again(law).logpdf(places), law.logpdf(places))


def test_nothing_stays_in_the_file_of_a_part_that_is_given_again(path):
    ratio = shp.ULSIF(columns=[1], kernels=10).fit(OTHER, TARGET)
    shp.save(line(ratio), path, inputs=False)
    assert shp.contents(path).given == ("predictor", "ratio")
    assert shp.contents(path).recipes["ratio"].startswith("to be given again: a FittedKernels")
    assert ratio.centers.tobytes() not in path.read_bytes()
    archive = read(path)
    assert set(archive.arrays) == set(named_in(archive.content))


def named_in(node):
    """The arrays that a manifest refers to."""
    if isinstance(node, dict):
        for key, one in node.items():
            arrays = ("array", "ticks", "texts", "ends", "missing", "numbers", "model")
            if key in arrays and isinstance(one, str):
                yield one
            else:
                yield from named_in(one)
    elif isinstance(node, list):
        for one in node:
            yield from named_in(one)


@pytest.mark.parametrize("models", [False, True])
@pytest.mark.parametrize("name", SUBJECTS)
def test_each_array_of_a_file_is_named_once_and_contents_can_be_told(name, models, path):
    shp.save(SUBJECTS[name](), path, models=models)
    archive = read(path)
    named = list(named_in(archive.content))
    assert sorted(named) == sorted(archive.arrays)
    found = shp.contents(path)
    assert str(found.promise) in str(found)
    assert set(found.given) <= {"predictor", "ratio", "sets"}


@pytest.mark.parametrize(
    "inputs",
    [
        np.array([["a", "b"], ["c", "d"]] * 30),
        np.array([["a", 1], ["c", None]] * 30, dtype=object),
        np.array([["2026-01-01"], ["2026-01-02"]] * 30, "M8[s]"),
    ],
    ids=["text", "objects", "times"],
)
def test_inputs_of_any_array_are_told_and_kept(inputs, path):
    ratio = shp.KnownRatio(lambda x: np.ones(len(x)))
    controller = shp.RiskController(
        lambda x: np.zeros(len(x)), shp.Intervals(-20, 20), shp.Distance(), ratio
    )
    shp.save(controller.calibrate(inputs, Y), path)
    assert shp.contents(path).inputs == (f"an array {inputs.shape}",)
    again = shp.load(path, predictor=controller.predictor, ratio=ratio)
    np.testing.assert_array_equal(again.kept.inputs, inputs)


def test_a_save_that_could_not_be_loaded_is_refused_while_the_data_are_there(path):
    odd = table(X)[["x"]].copy()
    odd["kind"] = pd.array(
        ["a", "b"] * 30, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    )
    ratio = shp.KnownRatio(lambda t: np.ones(len(t)))
    controller = shp.RiskController(shp.Columns("x"), shp.Intervals(-20, 20), shp.Distance(), ratio)
    thing = controller.calibrate(odd, Y)
    with pytest.raises(shp.InputError, match="inputs=False"):
        shp.save(thing, path)
    assert not path.exists()


def test_sets_and_loss_that_are_given_have_to_be_those_of_the_file(path):
    shp.save(line(), path)
    given = {"predictor": predict}
    shp.load(path, sets=shp.Intervals(-20, 20), loss=shp.Distance(), **given)
    with pytest.raises(shp.InputError, match="loss: expected the Distance of the calibration"):
        shp.load(path, loss=shp.Miscoverage(), **given)
    with pytest.raises(shp.InputError, match="got Intervals with other parameters"):
        shp.load(path, sets=shp.Intervals(-20, 21), **given)
    own = shp.MonotoneLoss(lambda sets, _: np.zeros(len(sets.lower)), [1.0, 2.0], loss_max=1.0)
    thing = line(sets=shp.Intervals(-20, 20), loss=own)
    shp.save(thing, path)
    with pytest.raises(shp.InputError, match=r"loss: expected a largest loss of 1.0"):
        shp.load(path, loss=replace(own, loss_max=2.0), **given)
    assert len(shp.load(path, loss=own, **given)) == len(X)


def test_sets_with_arrays_are_compared_by_their_numbers(path):
    box, other = shp.Box([-9, -9], [9, 9]), shp.Box([-9, -9], [9, 8])
    shp.save(plane(shp.Balls(box)), path)
    shp.load(path, predictor=predict, sets=shp.Balls(shp.Box([-9, -9], [9, 9])))
    with pytest.raises(shp.InputError, match="got Balls with other parameters"):
        shp.load(path, predictor=predict, sets=shp.Balls(other))


@pytest.mark.parametrize("place", [None, b"a.npz", 3])
def test_what_is_no_path_is_said_so(place):
    for call in (lambda: shp.save(shp.NoShift(), place), lambda: shp.load(place)):
        with pytest.raises(shp.InputError, match="path: expected the name of a file"):
            call()


def test_long_numbers_and_half_characters_come_back():
    for value in (10**5000, -(2**63), "\ud800", 2**63):
        assert read_again(value) == value


def sealed_with(path, change, **arrays):
    """The file of a calibration, one thing in it changed, its digest right."""
    shp.save(line(), path)
    archive = read(path)
    content = json.loads(json.dumps(archive.content))
    change(content)
    path.write_bytes(packed(Archive("calibrated", content, {**archive.arrays, **arrays})))


def change_at(*keys, to):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return change


WIDE = np.frombuffer(b"a" * 10, np.uint8)
FORGED = {
    "a field of another type": (("parts", "loss", "fields", "cap"), "three", "cap is no"),
    "a missing field": (("parts", "loss", "fields"), {}, "fields"),
    "an unknown recipe": (("parts", "loss", "recipe"), "os:system", "KeyError"),
    "an unknown tag": (("parts", "loss"), {"__reduce__": 1}, "__reduce__"),
    "a bare list": (("parts", "loss"), [1], "a bare list"),
    "an array of another kind": (("rule", "fields", "weights"), {"array": "text_9"}, "text_9"),
    "an array that is read twice": (("rule", "fields", "weights"), {"array": "knots_2"}, "knots_2"),
    "a seed that is none": (("seed",), "three", "str in place of int"),
    "rows that are none": (("kept", "rows"), "sixty", "in place of int"),
    "rows of another number": (("kept", "rows"), 61, "different lengths"),
    "a rule of other losses": (
        ("rule", "fields", "losses"),
        {
            "recipe": "LossCurves",
            "fields": {
                **{
                    name: {"array": f"{name}_x"}
                    for name in ("tail", "owner", "knots", "slopes", "heights")
                },
                "bound": 40.0,
                "lower": 0.0,
            },
        },
        "a rule of other losses",
    ),
    "words of another length": (
        ("kept", "inputs"),
        {"words": {"texts": "wide_0", "ends": "ends_0", "missing": "none_0"}, "shape": [1]},
        "does not fill its bytes",
    ),
    "ticks of another kind": (("kept", "inputs"), {"ticks": "ends_0", "of": "M8[D],O"}, "ticks of"),
    "a law of another size": (
        ("parts", "ratio"),
        {
            "law": "multivariate_normal",
            "parameters": {"dict": [["mean", {"array": "tail_x"}], ["cov", {"array": "knots_x"}]]},
        },
        "different sizes",
    ),
    "a table of another library": (
        ("kept", "inputs"),
        {"table": "DUCKDB", "columns": []},
        "a table of",
    ),
    "a column of another type": (
        ("kept", "inputs"),
        {"table": "POLARS", "columns": [{"name": "a", "type": "List", "native": ""}]},
        "a column of 'List'",
    ),
    "a zone that is none": (
        ("kept", "inputs"),
        {
            "table": "POLARS",
            "columns": [
                {
                    "name": "a",
                    "type": "Datetime",
                    "native": "",
                    "zone": "M8[ns]",
                    "cells": {"ticks": "ends_0", "of": "M8[us]"},
                }
            ],
        },
        "M8",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_each_check_of_a_sealed_file_finds_what_it_is_for(name, path):
    keys, value, reason = FORGED[name]
    zeros = np.zeros(len(X))
    arrays = {
        "text_9": np.array(["a"]),
        "wide_0": WIDE,
        "ends_0": np.array([3]),
        "none_0": np.array([False]),
        "tail_x": zeros,
        "owner_x": np.arange(len(X)),
        "knots_x": zeros + 1,
        "slopes_x": zeros + 1,
        "heights_x": zeros + np.inf,
    }
    sealed_with(path, change_at(*keys, to=value), **arrays)
    with pytest.raises(shp.ArchiveError, match=re.escape(reason)) as found:
        shp.load(path, predictor=predict)
    assert found.value.fault is Fault.MALFORMED


def test_ramps_from_a_file_are_checked_as_curves_are():
    good = shp.LossCurves.staircases([0], [0.3, 0.6], [0.5, 0.5], [0, 0], bound=1)
    fields = {name: getattr(good, name) for name in ("tail", "owner", "knots", "slopes", "heights")}
    same = shp.LossCurves.of_ramps(**fields, bound=1.0, lower=0.0)
    np.testing.assert_array_equal(same.at(0.4), good.at(0.4))
    cases = [
        ({"tail": [-1.0]}, "losses of at least 0"),
        ({"knots": [0.3, 0.6]}, "do not overlap"),
        ({"owner": [1, 0]}, "owner"),
        ({"owner": [0, 5]}, "integers from 0"),
        ({"slopes": [0.0, np.inf]}, "slopes"),
        ({"heights": [-0.5, 0.5]}, "heights"),
        ({"heights": [0.5, 0.7]}, "at most the bound"),
        ({"slopes": [1.0, 1.0]}, "do not overlap"),
        ({"knots": [0.6]}, "shape"),
    ]
    for change, sentence in cases:
        with pytest.raises(shp.InputError, match=sentence):
            shp.LossCurves.of_ramps(**{**fields, **change}, bound=1.0, lower=0.0)


def test_a_model_that_would_unfold_is_not_read(path):
    model = LinearRegression().fit(OTHER, OTHER[:, 1])
    shp.save(line(predictor=model), path, models=True)
    archive = read(path)
    (name,) = [key for key in archive.arrays if key.startswith("model")]
    packed_small = np.frombuffer(skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED), np.uint8)
    arrays = {**archive.arrays, name: packed_small}
    path.write_bytes(packed(Archive("calibrated", archive.content, arrays)))
    with pytest.raises(shp.ArchiveError, match="compressed members"):
        shp.load(path)


def test_other_kinds_of_content_are_refused(path):
    for kind, content in (("hello", None), ("recipe", "just text"), ("recipe", {"tuple": []})):
        path.write_bytes(packed(Archive(kind, content, {})))
        with pytest.raises(shp.ArchiveError):
            shp.load(path)


def test_links_are_followed_and_long_names_fit(tmp_path):
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    shp.save(shp.NoShift(), real)
    link.symlink_to(real)
    shp.save(shp.ColumnRatio("w"), link)
    assert link.is_symlink()
    assert shp.load(real) == shp.ColumnRatio("w")
    shp.save(shp.NoShift(), tmp_path / ("a" * 250))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a" * 250, "link.npz", "real.npz"]
