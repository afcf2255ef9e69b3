"""The Sigfox messages as inputs and places, for the scripts beside this one."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

FILE = "sigfox_dataset_rural.csv.zip"
NOT_HEARD = -200.0
OFF_RATE, RANKS = 0.5, slice(20, 40)
KM_PER_DEGREE = 111.195


def messages() -> tuple[Any, Any]:
    """Inputs (strengths from 0, not heard, to 1; whether stations are on) and places in km.

    In half of the messages the stations ranked 21 to 40 by how often they are heard are off.
    """
    folder = os.environ.get("SHIFTPROOF_DATA")
    if not folder or not (Path(folder) / FILE).exists():
        raise SystemExit(f"SHIFTPROOF_DATA has to name a folder with {FILE}")
    with zipfile.ZipFile(Path(folder) / FILE) as archive:
        table = pl.read_csv(archive.read(archive.namelist()[0]))
    table = table.rename(lambda name: name.strip("' "))
    power = table.select([name for name in table.columns if name.startswith("BS")]).to_numpy()
    heard = power > NOT_HEARD
    low, high = power[heard].min(), power[heard].max()
    strength = np.where(heard, (power - low + 1) / (high - low + 1), 0.0)
    on = np.random.default_rng(0).random(len(strength)) >= OFF_RATE
    ranked = np.argsort(-heard.sum(axis=0), kind="stable")[RANKS]
    strength[np.ix_(~on, ranked)] = 0.0
    north, east = table["Latitude"].to_numpy(), table["Longitude"].to_numpy()
    middle = np.radians(north.mean())
    places = np.column_stack([(east - east.mean()) * np.cos(middle), north - north.mean()])
    return np.column_stack([strength, on]), KM_PER_DEGREE * places
