"""Localization by fingerprints with base stations that are switched off: data and simulation.

Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

_HOME = {
    "AtRandom": "splits",
    "Binary": "representations",
    "ByPlace": "splits",
    "ByTime": "splits",
    "DownloadError": "download",
    "Exponential": "representations",
    "FingerprintTable": "table",
    "Fingerprints": "fingerprints",
    "Linear": "representations",
    "LocalPlane": "projection",
    "Network": "simulator",
    "PathLoss": "pathloss",
    "Powed": "representations",
    "Representation": "representations",
    "SIGFOX": "sigfox",
    "Simulator": "simulator",
    "Summary": "summary",
    "Switched": "switching",
    "Switching": "switching",
    "read_parquet": "parquet",
    "sigfox_rural": "sigfox",
    "write_parquet": "parquet",
}

if TYPE_CHECKING:
    from shiftproof.localization.download import DownloadError
    from shiftproof.localization.fingerprints import Fingerprints
    from shiftproof.localization.parquet import read_parquet, write_parquet
    from shiftproof.localization.pathloss import PathLoss
    from shiftproof.localization.projection import LocalPlane
    from shiftproof.localization.representations import (
        Binary,
        Exponential,
        Linear,
        Powed,
        Representation,
    )
    from shiftproof.localization.sigfox import SIGFOX, sigfox_rural
    from shiftproof.localization.simulator import Network, Simulator
    from shiftproof.localization.splits import AtRandom, ByPlace, ByTime
    from shiftproof.localization.summary import Summary
    from shiftproof.localization.switching import Switched, Switching
    from shiftproof.localization.table import FingerprintTable

__all__ = [
    "SIGFOX",
    "AtRandom",
    "Binary",
    "ByPlace",
    "ByTime",
    "DownloadError",
    "Exponential",
    "FingerprintTable",
    "Fingerprints",
    "Linear",
    "LocalPlane",
    "Network",
    "PathLoss",
    "Powed",
    "Representation",
    "Simulator",
    "Summary",
    "Switched",
    "Switching",
    "read_parquet",
    "sigfox_rural",
    "write_parquet",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
