"""Whether the source rows of a ratio have the law of the calibration rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

import shiftproof as shp
from shiftproof._tables import Table
from shiftproof.ratios.same_law import warn_of_two_laws
from shiftproof.ratios.separation import Separation


def frame(seed, count=200, mean=0.0, rate=0.5):
    rng = np.random.default_rng(seed)
    word = np.where(rng.random(count) < rate, "off", "on")
    return pd.DataFrame({"x": rng.normal(mean, 1, count), "word": word, "one": 1.0})


def told(one, other, columns=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cautions = warn_of_two_laws(Table.of("source", one), Table.of("X", other), columns)
    assert len(caught) == len(cautions)
    return bool(cautions)


@pytest.mark.parametrize("shift", [{"mean": 1.0}, {"rate": 0.95}])
def test_another_law_is_told(shift):
    assert told(frame(0), frame(1, **shift))
    assert not told(frame(0), frame(1))


def test_only_what_the_ratio_reads_is_compared():
    assert not told(frame(0), frame(1, mean=1.0), ["word"])
    assert told(frame(0), frame(1, mean=1.0), ["x"])


def test_a_false_alarm_is_rare():
    """At four standard errors 1 in 30,000 of normal errors: 1 in 500 that one of 60 is told."""
    assert not any(told(frame(seed, 100), frame(seed + 1000, 100)) for seed in range(60))


def test_of_many_rows_some_are_looked_at(monkeypatch):
    sizes, separation = [], Separation.of

    def noted(*points, **more):
        sizes.append([len(part) for part in points])
        return separation(*points, **more)

    monkeypatch.setattr(Separation, "of", noted)
    assert told(frame(0, 9000), frame(1, 2500, mean=0.5))
    assert sizes == [[2000, 2000]]
    late = frame(0, 9000).sort_values("x")  # at random, not the first
    assert not told(late, frame(1, 9000))


def test_few_rows_say_nothing():
    assert told(frame(0, 50), frame(1, 50, mean=3.0))
    assert not told(frame(0, 49), frame(1, 50, mean=3.0))


def test_what_does_not_vary_and_moments_are_not_compared():
    moments = [
        pd.DataFrame({"at": pd.date_range(f"20{year}-01-01", periods=60)}) for year in (24, 25)
    ]
    assert not told(frame(0), frame(1), ["one"])
    assert not told(*moments)


def test_the_sentence_has_the_figures():
    tables = Table.of("source", frame(0)), Table.of("X", frame(1, mean=1.0))
    with pytest.warns(shp.ShiftWarning) as caught:
        (caution,) = warn_of_two_laws(*tables)
    assert str(caught[0].message) == caution
    area = float(caution.split("curve ")[1].split(",")[0])
    assert 0.6 < area < 0.9
