"""The documents: each word resolves, each example runs, each public name has an example."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import shiftproof
from shiftproof import theory

ROOT = Path(__file__).resolve().parents[2]
NOTATION = (ROOT / "docs" / "notation.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `([\w.]+)` \|$", NOTATION, flags=re.MULTILINE)


def resolve(path):
    """An object from its dotted path, `shiftproof.` left out; a parameter as `function.name`."""
    parts = path.split(".")
    thing = shiftproof
    for index, part in enumerate(parts):
        if inspect.isfunction(thing) or inspect.isclass(thing):
            fields = getattr(thing, "__dataclass_fields__", {})
            if not hasattr(thing, part):
                known = {*inspect.signature(thing).parameters, *fields}
                assert part in known, f"{path}: no {part} in {sorted(known)}"
                return part
            thing = inspect.getattr_static(thing, part)
            thing = getattr(thing, "__func__", thing)
            continue
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = import_module(".".join(["shiftproof", *parts[: index + 1]]))
    return thing


def test_notation_has_rows():
    assert len(ROWS) >= 15


@pytest.mark.parametrize("path", [path for _, _, path in ROWS])
def test_notation_resolves(path):
    assert resolve(path) is not None


def test_notation_rejects_what_is_not_there():
    for wrong in ("RiskCurve.lambda_", "risk.curve.nothing", "RiskCurve.threshold.gamma"):
        with pytest.raises((AssertionError, ModuleNotFoundError)):
            resolve(wrong)


PAGES = ["theory", "bound", "planning", "saving", "from_mapie", "bayes"]


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_examples_on_pages_run(page):
    with np.printoptions(legacy=False):
        result = doctest.testfile(
            str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS
        )
    assert result.attempted > 0
    assert result.failed == 0


PUBLIC = [(shiftproof, name) for name in shiftproof.__all__]
PUBLIC += [(theory, name) for name in theory.__all__]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[name for _, name in PUBLIC])
def test_public_names_have_a_runnable_example(module, name):
    assert ">>>" in inspect.getdoc(getattr(module, name))


def test_no_page_promises_more_than_an_average():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    pages += (ROOT / "docs" / "gallery").iterdir()
    forbidden = re.compile(r"assumption-free|guaranteed for (each|every)|distribution-free", re.I)
    for page in pages:
        assert not forbidden.search(page.read_text()), page
