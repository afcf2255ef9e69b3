"""The localization package: names that are there, documented, light to import; pages that run."""

import doctest
import inspect
from pathlib import Path

import numpy as np
import pytest

from house.test_imports import HEAVY, loaded_by
from shiftproof import localization

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", localization.__all__)
def test_public_names_are_there_with_a_runnable_example(name):
    thing = getattr(localization, name)
    if name != "SIGFOX":  # a description, not a class
        assert ">>>" in inspect.getdoc(thing)
    assert name in dir(localization)


def test_the_lazy_table_the_checker_and_all_agree():
    assert sorted(localization.__all__) == sorted(localization._HOME)
    with pytest.raises(AttributeError, match="no attribute 'Sigfox'"):
        localization.Sigfox  # noqa: B018


def test_the_package_itself_loads_nothing():
    assert not loaded_by("import shiftproof.localization") & (HEAVY | {"numpy"})


def test_the_simulator_needs_the_base_install_alone():
    names = "Simulator, Switching, Linear, AtRandom, Summary"
    loaded = loaded_by(f"from shiftproof.localization import {names}")
    assert not loaded & {"pandas", "polars", "pyarrow", "matplotlib"}


def test_the_page_runs():
    with np.printoptions(legacy=False):
        result = doctest.testfile(str(ROOT / "docs" / "localization.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
