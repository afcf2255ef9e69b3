"""What an import costs, and that the public names are what they say."""

import json
import subprocess
import sys

import pytest

import shiftproof

HEAVY = {
    "scipy",
    "sklearn",
    "pandas",
    "polars",
    "pyarrow",
    "jax",
    "torch",
    "matplotlib",
    "narwhals",
}


def loaded_by(statement):
    difference = "print(json.dumps(sorted(set(sys.modules) - before)))"
    code = f"import sys, json; before = set(sys.modules); {statement}; {difference}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return {name.split(".")[0] for name in json.loads(run.stdout)}


def test_the_package_itself_loads_nothing():
    assert "numpy" not in loaded_by("import shiftproof")


def test_the_theorem_loads_numpy_and_nothing_heavier():
    loaded = loaded_by("import shiftproof.risk")
    foreign = {name for name in loaded if name not in sys.stdlib_module_names and name[0] != "_"}
    assert foreign <= {"numpy", "shiftproof", "pyexpat"}
    assert not loaded & HEAVY


@pytest.mark.parametrize("name", shiftproof.__all__)
def test_public_names_are_there_and_documented(name):
    thing = getattr(shiftproof, name)
    assert thing.__doc__
    assert name in dir(shiftproof)


def test_the_lazy_table_the_checker_and_all_agree():
    assert sorted(shiftproof.__all__) == sorted(shiftproof._HOME)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'lambda_'"):
        shiftproof.lambda_  # noqa: B018
