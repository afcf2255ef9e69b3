"""The rural Sigfox data, as published, and what a nearest neighbour makes of it.

Aernouts, Berkvens, Van Vlaenderen and Weyn, Data 3(2), 13 (2018) report a mean error of 214.58 m
for nearest neighbours on a random split.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from shiftproof.errors import InputError
from shiftproof.localization import (
    AtRandom,
    ByPlace,
    ByTime,
    Linear,
    Summary,
    read_parquet,
    sigfox_rural,
    write_parquet,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def messages():
    try:
        return sigfox_rural()
    except InputError as error:
        if os.environ.get("SHIFTPROOF_DATA") and "folder without it" not in error.got:
            raise
        pytest.skip(f"set SHIFTPROOF_DATA to where sigfox_dataset_rural is: {error}")


def test_facts(messages):
    assert messages.rssi.shape == (25_637, 137)  # the published 25,638 counts the header
    assert messages.stations == tuple(f"BS {number}" for number in range(1, 138))
    signals = messages.rssi[messages.heard]
    assert (signals.min(), signals.max()) == (-148, -59)
    assert messages.heard.mean() == pytest.approx(0.04, abs=0.001)
    heard = messages.heard.sum(axis=1)
    assert (heard.min(), np.median(heard), heard.max()) == (1, 5, 46)
    times = messages.times.astype("M8[D]").astype(str)
    assert (times.min(), times.max()) == ("2017-11-16", "2018-02-05")
    assert (np.diff(messages.times.astype(int)) < 0).mean() > 0.4, "not sorted by time"
    south_west, north_east = messages.degrees.min(axis=0), messages.degrees.max(axis=0)
    np.testing.assert_allclose(south_west, [50.979, 3.685], atol=5e-4)
    np.testing.assert_allclose(north_east, [51.287, 4.333], atol=5e-4)


def test_degrees_come_back_as_they_stand_in_the_file(messages):
    first = [51.0958362, 4.1329538]
    np.testing.assert_allclose(messages.degrees[0], first, atol=1e-12)


def test_regions(messages):
    box, hull = messages.box(), messages.hull()
    np.testing.assert_allclose(box.high - box.low, [45.35, 34.38], atol=0.02)
    assert box.volume == pytest.approx(1559, abs=1)
    assert box.diameter(2) == pytest.approx(56.9, abs=0.05)
    assert hull.volume == pytest.approx(1038, abs=1)
    assert hull.diameter(2) == pytest.approx(53.4, abs=0.05)
    assert box.contains(messages.places).all()
    assert hull.contains(messages.places).all()


def test_three_square_kilometres_hold_most_messages(messages):
    assert Summary.of(messages).in_three_cells == pytest.approx(0.85, abs=0.01)


def test_the_figures_on_the_page_are_those_of_the_data(messages):
    page = json.loads((DOCS / "tables" / "sigfox_summary.json").read_text())
    found = json.loads(json.dumps(asdict(Summary.of(messages))))
    assert found == {name: pytest.approx(value, rel=1e-9) for name, value in page.items()}
    sys.path.insert(0, str(DOCS))
    try:
        import localization_tables
    finally:
        sys.path.remove(str(DOCS))
    page = (DOCS / "tables" / "stations.md").read_text()
    assert localization_tables.stations(messages) == page


def test_kept_and_read_again(messages, tmp_path):
    write_parquet(messages, tmp_path / "m.parquet")
    back = read_parquet(tmp_path / "m.parquet")
    np.testing.assert_array_equal(back.rssi, messages.rssi)
    np.testing.assert_array_equal(back.places, messages.places)
    np.testing.assert_array_equal(back.times, messages.times)


def error_of(messages, split, training, seed=0):
    rng = np.random.default_rng(seed)
    rows = split.split(messages, {"training": training, "test": 2000}, rng)
    inputs = Linear().fit(messages).values(messages)
    model = KNeighborsRegressor(1).fit(inputs[rows["training"]], messages.places[rows["training"]])
    apart = model.predict(inputs[rows["test"]]) - messages.places[rows["test"]]
    return float(np.hypot(*apart.T).mean())


def test_nearest_neighbours_of_twenty_thousand(messages):
    """The issue is .16 to .24 km, whatever the rows; published .215."""
    assert 0.16 < error_of(messages, AtRandom(), 20_000) < 0.24


def test_nearest_neighbours_of_a_thousand(messages):
    errors = [error_of(messages, AtRandom(), 1000, seed) for seed in range(6)]
    assert np.mean(errors) == pytest.approx(0.46, abs=0.06)


def test_blocks_of_time_and_of_place_are_harder(messages):
    """Near copies on both sides are what a random split owes its figures to."""
    random, time, place = (
        np.mean([error_of(messages, split, 1000, seed) for seed in range(4)])
        for split in (AtRandom(), ByTime(), ByPlace())
    )
    assert random < time
    assert place > 3 * random
