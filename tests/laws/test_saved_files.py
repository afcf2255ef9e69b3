"""What is saved comes back: every recipe, identical sets; and no file does harm."""

from __future__ import annotations

import copy
import json
import re
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftproof as shp
from networks import CLASSIFIERS, of_classes, of_numbers
from networks import RECIPES as NETWORKS
from saved import SUBJECTS, new_inputs
from shiftproof.archive import Archive, Fault, packed, unpacked
from shiftproof.persist.recipes import RECIPES


@cache
def calibrated(name):
    return SUBJECTS[name]()


def given_again(thing):
    """The parts that hold a function."""
    return {"predictor": thing.controller.predictor}


def assert_same(one, other):
    """Both give the same sets, threshold for threshold, at levels that mean something."""
    inputs, tried = new_inputs(one), 0
    for share in (0.002, 0.01, 0.05, 0.2, 0.4, 0.6):
        alpha = share * one.losses.bound
        try:
            first = one.predict(inputs, alpha, seed=5)
        except shp.InputError as refused:  # a price or a floor above alpha: the other refuses too
            with pytest.raises(shp.InputError, match=re.escape(str(refused))):
                other.predict(inputs, alpha, seed=5)
            continue
        second = other.predict(inputs, alpha, seed=5)
        tried += int(((first.threshold > 0) & ~first.whole).any())
        np.testing.assert_array_equal(first.threshold, second.threshold)
        np.testing.assert_equal(first.columns(), second.columns())
    assert tried, "no level that tells rules apart"


@pytest.mark.parametrize("name", SUBJECTS)
def test_loading_gives_identical_sets(name, tmp_path):
    thing = calibrated(name)
    shp.save(thing, tmp_path / "a.npz", models=True)
    absent = shp.contents(tmp_path / "a.npz").given
    assert set(absent) <= {"predictor"}  # those that are functions
    again = shp.load(tmp_path / "a.npz", **{part: given_again(thing)[part] for part in absent})
    assert_same(thing, again)
    assert str(again.assumption) == str(thing.assumption)
    assert again.seed == thing.seed


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_what_if_after_loading_is_that_of_before(name, tmp_path):
    thing = calibrated(name)
    shp.save(thing, tmp_path / "a.npz", models=True)
    again = shp.load(tmp_path / "a.npz", **given_again(thing))
    if thing.controller.ratio.columns == ():
        return
    assert_same(thing.under(thing.controller.ratio), again.under(again.controller.ratio))


#: Those that hold a model of scikit-learn, which skops writes by the addresses of its objects.
WITH_MODELS = {
    "kernels",
    "classifier",
    "classifier of a table",
    "pipeline",
    "scaled balls",
    "scaled",
    "model",
    "some columns",
    "Thompson",
    "posterior mean",
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_same_calibration_gives_the_same_bytes(name, tmp_path):
    thing = calibrated(name)
    for file in ("a.npz", "b.npz"):
        shp.save(thing, tmp_path / file, models=True)
    first, second = ((tmp_path / file).read_bytes() for file in ("a.npz", "b.npz"))
    assert (first == second) == (name not in WITH_MODELS)


def test_every_recipe_is_among_the_subjects(tmp_path):
    """Those of fitted networks are saved and read in tests/unit/test_bayes.py."""
    seen = set()
    posteriors = [*map(of_numbers, NETWORKS), *map(of_classes, CLASSIFIERS)]
    for thing in [*map(calibrated, SUBJECTS), *posteriors]:
        shp.save(thing, tmp_path / "a.npz", models=True)
        seen |= set(recipes_in(manifest(tmp_path / "a.npz")))
    noise = {"Gaussian"}  # a law with parameters alone, as StudentT is
    assert seen | noise == set(RECIPES)


def manifest(path):
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("manifest.json"))


def recipes_in(node):
    if isinstance(node, dict):
        if "recipe" in node:
            yield node["recipe"]
        for one in node.values():
            yield from recipes_in(one)
    if isinstance(node, list):
        for one in node:
            yield from recipes_in(one)


@cache
def file_of(name):
    """The bytes of a file, and what they hold."""
    thing = calibrated(name)
    with tempfile.TemporaryDirectory() as folder:
        shp.save(thing, Path(folder) / "a.npz", models=True)
        data = (Path(folder) / "a.npz").read_bytes()
    return data, unpacked("a.npz", data)


def load_bytes(data, name, **given):
    """What loading says of these bytes: a calibration, or an error with a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        path.write_bytes(data)
        return shp.load(path, **given_again(calibrated(name)), **given)


FUZZED = [
    "groups within bounds",
    "classifier of a table",
    "drawn",
    "polygon",
    "groups of days",
    "polars",
]


@pytest.mark.parametrize("name", FUZZED)
def test_every_cut_is_found(name):
    data, _ = file_of(name)
    for length in {*range(200), *range(0, len(data), max(len(data) // 200, 1)), len(data) - 1}:
        with pytest.raises(shp.ArchiveError) as found:
            unpacked("a.npz", data[:length])
        assert found.value.fault is Fault.CUT


def test_every_flipped_bit_of_a_file_is_found():
    data, _ = file_of("no shift")
    rng = np.random.default_rng(0)
    for place in range(len(data)):
        bad = bytearray(data)
        bad[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(shp.ArchiveError):
            unpacked("a.npz", bytes(bad))


@given(st.data())
def test_bytes_that_are_not_a_file_get_a_sentence(data):
    name = data.draw(st.sampled_from(FUZZED))
    raw = bytearray(file_of(name)[0])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw) - 1))
        stop = data.draw(st.integers(start, min(start + 40, len(raw))))
        raw[start:stop] = data.draw(st.binary(max_size=40))
    if bytes(raw) == file_of(name)[0]:
        return
    with pytest.raises(shp.ArchiveError):
        load_bytes(bytes(raw), name)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(sorted(RECIPES)).map(lambda name: {"recipe": name, "fields": {}}),
    st.sampled_from(["array", "tuple", "known", "model", "law", "ticks", "objects", "tables"]).map(
        lambda tag: {tag: "knots_0"}
    ),
    st.sampled_from([{"float": "nan"}, {"tuple": [1, 2]}, {"dict": []}, [], {}, {"list": [None]}]),
)


@given(st.data())
@settings(max_examples=300)
def test_a_manifest_with_odd_values_never_crashes_without_a_sentence(data):
    """Type confusion behind a right digest: loaded, or refused with a reason; nothing else."""
    name = data.draw(st.sampled_from(FUZZED))
    archive = file_of(name)[1]
    content = copy.deepcopy(archive.content)
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(places_in(content))
        holder, key = data.draw(st.sampled_from(places))
        if data.draw(st.booleans()) and isinstance(holder, dict):
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = data.draw(ODD)
    harmless(Archive(archive.kind, content, archive.arrays), name)


@given(st.data())
@settings(max_examples=300)
def test_arrays_of_odd_shapes_and_values_never_crash_without_a_sentence(data):
    name = data.draw(st.sampled_from(FUZZED))
    archive = file_of(name)[1]
    key = data.draw(st.sampled_from(sorted(archive.arrays)))
    old = archive.arrays[key]
    new = data.draw(
        st.sampled_from(
            [
                old[:-1] if old.ndim else old,
                np.concatenate([old.ravel(), old.ravel()]),
                old.reshape(1, *old.shape),
                np.full(old.shape, np.nan),
                np.full(old.shape, -1),
                np.full(old.shape, np.inf),
                old.astype("U8"),
                old.astype(bool),
                np.empty((0, 10**9)),
                np.zeros(old.shape, np.uint64) + np.uint64(2**63),
            ]
        )
    )
    harmless(Archive(archive.kind, archive.content, {**archive.arrays, key: new}), name)


def places_in(node):
    """Every place in a manifest that holds a value."""
    held = node.items() if isinstance(node, dict) else enumerate(node)
    for key, one in held:
        yield node, key
        if isinstance(one, (dict, list)):
            yield from places_in(one)


def harmless(archive, name):
    try:
        found = load_bytes(packed(archive), name)
    except shp.ShiftproofError as refused:
        assert str(refused)  # noqa: PT017 - a sentence, whatever it says
        return
    assert isinstance(found, shp.Calibrated)
