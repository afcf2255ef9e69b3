"""Guides to other libraries, run where those are installed; nothing else here needs them."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def test_torch_and_jax():
    for library in ("torch", "jax"):
        pytest.importorskip(library, reason=f"the guide is run where {library} is installed")
    with np.printoptions(legacy=False):
        result = doctest.testfile(str(DOCS / "torch_and_jax.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_both_halves_of_from_mapie():
    """Blocks without prompts are MAPIE's; all run in the order of the page, on the same rows."""
    pytest.importorskip("mapie", reason="the other half is run where mapie is installed")
    parser, names = doctest.DocTestParser(), {}
    for block in BLOCK.findall((DOCS / "from_mapie.md").read_text()):
        prompted = "".join(example.source for example in parser.get_examples(block))
        exec(prompted or block, names)  # noqa: S102 - a page of our own
    np.testing.assert_array_equal(names["intervals_mapie"], names["intervals"])
    model = names["shp"].sklearn.Classifier(names["LogisticRegression"]())
    model.fit(names["x_train"], names["c_train"]).conformalize(names["x_cal"], names["c_cal"])
    sets = model.predict_set(names["x_new"], 0.1)
    np.testing.assert_array_equal(names["members_mapie"][:, :, 0], sets.members)
    np.testing.assert_array_equal(names["labels_mapie"], model.predict(names["x_new"]))
