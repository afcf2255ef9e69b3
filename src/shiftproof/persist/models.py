"""Scikit-learn models as bytes, through skops: no pickle, and no type that was not agreed to."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from shiftproof._types import KeyArray
from shiftproof.archive import demand_stored
from shiftproof.errors import InputError

#: Types without code or pointers of their own, which skops does not list.
_PLAIN = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
)


def model_bytes(model: object) -> KeyArray:
    """The model as an array of bytes."""
    data: bytes = _skops().dumps(model)
    return np.frombuffer(data, np.uint8)


def model_again(data: KeyArray, name: str, trusted: Sequence[str]) -> Any:
    """The model; an error that names the types which are neither known nor trusted."""
    skops, raw = _skops(), data.tobytes()
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        demand_stored(file.infolist(), len(raw))
    strange = [
        kind for kind in skops.get_untrusted_types(data=raw) if kind not in (*_PLAIN, *trusted)
    ]
    if strange:
        raise InputError(
            name,
            "types that skops knows to be safe, or that you trust",
            ", ".join(strange),
            f"if you trust who wrote the file: load(path, trusted={strange!r}), or pass the model",
        )
    return skops.loads(raw, trusted=[*_PLAIN, *trusted])


def types_in(data: KeyArray) -> list[str]:
    """The types of a model that its reader would have to trust."""
    return list(_skops().get_untrusted_types(data=data.tobytes()))


def _skops() -> Any:
    try:
        return import_module("skops.io")
    except ModuleNotFoundError as cause:
        raise ModuleNotFoundError(
            "models in files need the package skops: pip install 'shiftproof[models]'"
        ) from cause
