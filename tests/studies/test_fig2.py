"""Figure 2: what its stored results have to show, and that a small run still gives them."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from studies import __main__ as command
from studies import fig2

STORED = Path(fig2.__file__).parent / "results" / "fig2.json"


@pytest.fixture(scope="module")
def stored():
    return json.loads(STORED.read_text())


def printed(result):
    """The printed bound, a row for each Wmax and a column for each kappa."""
    config = result["config"]
    found = {
        (one["cell"]["ratio_max"], one["cell"]["kappa"]): one["answer"]
        for one in result["answers"]
        if one["cell"]["panel"] == "printed"
    }
    ratios = config["printed"]["largest_ratios"]
    return np.array([[found[w, kappa] for kappa in config["kappas"]] for w in ratios])


def test_the_stored_result_is_of_the_present_configuration(stored):
    assert stored["config"] == json.loads(json.dumps(fig2.CONFIG))
    assert stored["versions"]["shiftproof"]


def test_the_best_share_of_training_falls_as_the_shift_grows(stored):
    """As the paper says of its figure, for the bound as printed."""
    bounds = printed(stored)
    best = np.array(stored["config"]["kappas"])[bounds.argmin(axis=1)]
    assert (np.diff(best) <= 0).all()
    assert best[-1] < best[0]
    assert (np.diff(bounds, axis=0) > 0).all()  # and a larger shift gives a larger bound
    assert (bounds[:, [0, -1]] > bounds.min(axis=1, keepdims=True)).all()  # a U


@pytest.mark.parametrize("rule", ["paper", "envelope"])
def test_the_repaired_bound_lies_above_what_is_measured(stored, rule):
    for rate in ("0.5", "0.75", "0.9"):
        bound = fig2.mean_over_repeats(stored, rate, f"{rule} bound")
        measured = fig2.mean_over_repeats(stored, rate, f"{rule} measured")
        assert (bound >= measured).all()


def test_the_repaired_bound_says_something_and_grows_with_the_shift(stored):
    found = [fig2.mean_over_repeats(stored, rate, "paper bound") for rate in ("0.5", "0.75", "0.9")]
    assert (np.diff(found, axis=0) > 0).mean() > 0.9
    assert min(each.min() for each in found) < 0.6


def test_a_small_run_is_drawn_and_taken_up(tmp_path, monkeypatch, capsys):
    tiny = {
        "kappas": [0.2, 0.8],
        "repaired": {**fig2.CONFIG["repaired"], "hold_out": 200, "test": 20, "repeats": 1},
    }
    monkeypatch.setattr(fig2, "QUICK", tiny)
    for _ in range(2):
        command.main(["fig2", "--quick", "--out", str(tmp_path), "--jobs", "1"])
    assert (tmp_path / "fig2_quick.png").stat().st_size > 10_000
    assert len(json.loads((tmp_path / "fig2_quick.json").read_text())["answers"]) == 10
    assert "10 of 10" in capsys.readouterr().err
    mpl.pyplot.close("all")
