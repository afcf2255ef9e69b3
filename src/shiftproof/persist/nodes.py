"""Values as JSON and arrays, and back: what a file can say, and nothing else.

Numbers, text and truth values stand for themselves. All else is an object of JSON with one tag:
``{"tuple": [...]}``, ``{"array": "knots_1"}``, ``{"recipe": "Distance", "fields": {...}}``.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator

from shiftproof._tables import Array
from shiftproof.archive import Json
from shiftproof.persist.models import model_again, model_bytes
from shiftproof.persist.recipes import RECIPES, recipe_name
from shiftproof.ratios.roles import Ledger


class UnsavableError(Exception):
    """A value that no file can hold: a function, or a class that is not in the table."""


class Writer:
    """From values to JSON, with the arrays on the side.

    Parameters
    ----------
    models : bool
        Whether scikit-learn models go in, through skops.
    digests : bool
        Whether digests of rows go in.

    Examples
    --------
    >>> from shiftproof.persist.nodes import Reader, Writer
    >>> writer = Writer()
    >>> node = writer.node(("a", 0.5, float("inf")))
    >>> node
    {'tuple': ['a', 0.5, {'float': 'inf'}]}
    >>> Reader(writer.arrays).value(node)
    ('a', 0.5, inf)
    """

    def __init__(self, *, models: bool = False, digests: bool = True) -> None:
        self.arrays: dict[str, Array] = {}
        self.models, self.digests = models, digests
        self._known: dict[int, str] = {}

    def call(self, name: str, value: object) -> None:
        """Write this very object as a name from now on."""
        self._known[id(value)] = name

    def node(self, value: Any, name: str = "value") -> Json:
        """JSON for a value; `name` is that of the field which holds it."""
        if id(value) in self._known:
            return {"known": self._known[id(value)]}
        if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
            value = value.item()
        if value is None or isinstance(value, (bool, str)):
            return value
        if type(value) is int:
            return value if abs(value) < _LONG else {"int": hex(value)}
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if type(value) in (tuple, list):
            return {type(value).__name__: [self.node(one, name) for one in value]}
        if type(value) is frozenset:  # in an order of its own: the same content, the same bytes
            return {"frozenset": sorted((self.node(one, name) for one in value), key=repr)}
        if isinstance(value, Mapping):
            return {"dict": [[self.node(k, name), self.node(v, name)] for k, v in value.items()]}
        for kind, tag, said in _SCALARS:
            if type(value) is kind:
                return {tag: said(value)}
        return self._made(value, name)

    def _made(self, value: Any, name: str) -> Json:
        """An object of a class that the table, scikit-learn or scipy knows."""
        recipe = recipe_name(value)
        if recipe is not None:
            if isinstance(value, Ledger) and not self.digests:
                value = Ledger(value.columns)
            parts = RECIPES[recipe].apart(value)
            return {
                "recipe": recipe,
                "fields": {field: self.node(part, field) for field, part in parts.items()},
            }
        if isinstance(value, BaseEstimator):
            if not self.models:
                raise UnsavableError(f"{_article(type(value).__name__)}, a model of scikit-learn")
            return {"model": self.put(model_bytes(value), "model"), "of": type(value).__name__}
        law = _law(value)
        if law is not None:
            return {"law": law[0], "parameters": self.node(law[1], name)}
        if callable(value) and not hasattr(value, "predict"):
            raise UnsavableError(f"the function {getattr(value, '__qualname__', '')}".strip())
        raise UnsavableError(_article(type(value).__name__))

    def put(self, array: Array, name: str) -> str:
        """Set an array aside, under the name that is returned."""
        stem = re.sub(r"[^a-z_]", "", name.lower()).strip("_")
        key = f"{stem[:40] or 'array'}_{len(self.arrays)}"
        self.arrays[key] = array
        return key

    def texts(self, values: Iterable[str | None], name: str) -> Json:
        """Text as one array of bytes: where each ends, -1 for none."""
        parts = [None if value is None else value.encode("utf-8", _SURROGATES) for value in values]
        ends = np.cumsum([0 if part is None else len(part) for part in parts], dtype=np.int64)
        missing = np.array([part is None for part in parts], dtype=bool)
        joined = np.frombuffer(b"".join(part or b"" for part in parts), np.uint8)
        return {
            "texts": self.put(joined, name),
            "ends": self.put(ends, name),
            "missing": self.put(missing, name),
        }

    def _array(self, array: Array, name: str) -> Json:
        if array.dtype.kind in "biuf":
            return {"array": self.put(array, name)}
        if array.dtype.kind in "mM":
            native = array.astype(array.dtype.newbyteorder("="))
            return {"ticks": self.put(native.view(np.int64), name), "of": native.dtype.str[1:]}
        if array.dtype.kind == "U":
            texts, shape = self.texts(array.ravel().tolist(), name), list(array.shape)
            return {"words": texts, "shape": shape}
        if array.dtype != object:
            raise UnsavableError(f"an array of {array.dtype}")
        cells = array.ravel().tolist()
        if all(cell is None or type(cell) is str for cell in cells):
            return {"objects": self.texts(cells, name), "shape": list(array.shape)}
        return {"objects": [self.node(cell, name) for cell in cells], "shape": list(array.shape)}


class Reader:
    """From JSON and arrays to values; a ValueError, TypeError or LookupError for all else.

    Parameters
    ----------
    arrays : mapping of str to array
    trusted : sequence of str
        Types in models of scikit-learn that the caller answers for.
    """

    def __init__(self, arrays: Mapping[str, Array], trusted: Sequence[str] = ()) -> None:
        self.arrays, self.trusted = dict(arrays), trusted
        self._known: dict[str, object] = {}

    def call(self, name: str, value: object) -> None:
        """What a file means by this name."""
        self._known[name] = value

    def value(self, node: Json) -> Any:
        """The value that a node stands for."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if not isinstance(node, dict):
            raise TypeError("a bare list in a manifest")
        tag = next(iter(node), "")
        return self._read[tag](self, node)

    def array(self, name: Json, kinds: str) -> Array:
        """An array of the file, if it is of one of these kinds; each is read once.

        A short file cannot grow by naming an array again and again.
        """
        found = self.arrays.pop(name)
        if found.dtype.kind not in kinds:
            raise TypeError(f"array {name!r} of {found.dtype}")
        return found

    def texts(self, node: Json) -> list[str | None]:
        """Text, None where it is missing."""
        joined = self.array(node["texts"], "u").astype(np.uint8).tobytes()
        ends, missing = self.array(node["ends"], "i"), self.array(node["missing"], "b")
        starts = np.concatenate([[0], ends])[: len(ends)]
        sound = ends.ndim == missing.ndim == 1 and len(ends) == len(missing)
        if not sound or (ends < starts).any() or (len(ends) and ends[-1] != len(joined)):
            raise ValueError("text that does not fill its bytes")
        return [
            None if none else joined[start:end].decode("utf-8", _SURROGATES)
            for start, end, none in zip(starts.tolist(), ends.tolist(), missing, strict=True)
        ]

    def _recipe(self, node: Json) -> Any:
        values = {str(field): self.value(one) for field, one in node["fields"].items()}
        return RECIPES[node["recipe"]].again(values)

    def _model(self, node: Json) -> Any:
        return model_again(self.array(node["model"], "u"), "model", self.trusted)

    def _dict(self, node: Json) -> dict[Any, Any]:
        return {self.value(key): self.value(held) for key, held in node["dict"]}

    def _ticks(self, node: Json) -> Array:
        ticks = self.array(node["ticks"], "i")
        if not re.fullmatch(r"[Mm]8(\[\w+\])?", str(node["of"])) or ticks.dtype != np.int64:
            raise TypeError(f"ticks of {node['of']!r}")
        return ticks.view(node["of"])

    def _words(self, node: Json) -> Array:
        words = self.texts(node["words"])
        if None in words:
            raise TypeError("words that are missing")
        return _shaped(words, node["shape"]).astype(str)

    def _objects(self, node: Json) -> Array:
        cells = node["objects"]
        found = self.texts(cells) if isinstance(cells, dict) else [self.value(c) for c in cells]
        return _shaped(found, node["shape"])

    def _law_of(self, node: Json) -> Any:
        law, parameters = _LAWS[node["law"]], self.value(node["parameters"])
        if law is stats.multivariate_normal:
            cov = parameters["cov"]
            if cov.ndim != 2 or cov.shape != 2 * parameters["mean"].shape:
                raise TypeError("a mean and a covariance of different sizes")
        return law(**parameters)

    _read: Mapping[str, Callable[[Reader, Json], Any]] = {
        "known": lambda self, node: self._known[node["known"]],
        "int": lambda _, node: int(node["int"], 16),
        "float": lambda _, node: _WITHOUT_END[node["float"]],
        "array": lambda self, node: self.array(node["array"], "biuf"),
        "ticks": _ticks,
        "words": _words,
        "objects": _objects,
        "dict": _dict,
        "recipe": _recipe,
        "model": _model,
        "law": _law_of,
        "tuple": lambda self, node: tuple(map(self.value, node["tuple"])),
        "list": lambda self, node: list(map(self.value, node["list"])),
        "frozenset": lambda self, node: frozenset(map(self.value, node["frozenset"])),
        "fraction": lambda _, node: Fraction(*map(int, node["fraction"])),
        "decimal": lambda _, node: Decimal(node["decimal"]),
        "datetime": lambda _, node: dt.datetime.fromisoformat(node["datetime"]),
        "date": lambda _, node: dt.date.fromisoformat(node["date"]),
        "time": lambda _, node: dt.time.fromisoformat(node["time"]),
        "timedelta": lambda _, node: dt.timedelta(*map(int, node["timedelta"])),
        "tables": lambda _, node: nw.Implementation[node["tables"]],
    }


#: Halves of characters that a table may hold come back as they were.
_SURROGATES = "surrogatepass"

#: JSON of other languages ends here, and Python reads no more than some thousand digits.
_LONG = 2**63

_WITHOUT_END: dict[Json, float] = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

_SCALARS: tuple[tuple[type, str, Callable[[Any], Json]], ...] = (
    (Fraction, "fraction", lambda value: [str(value.numerator), str(value.denominator)]),
    (Decimal, "decimal", str),
    (dt.datetime, "datetime", dt.datetime.isoformat),
    (dt.date, "date", dt.date.isoformat),
    (dt.time, "time", dt.time.isoformat),
    (dt.timedelta, "timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    (nw.Implementation, "tables", lambda value: value.name),
)

_STANDARD: Any = stats.multivariate_normal([0.0], [[1.0]])
#: The very classes of frozen laws: one that is derived from them may answer otherwise.
_GAUSSIAN, _FROZEN = type(_STANDARD), type(stats.norm())

#: Laws of scipy.stats that a pair of densities is made from.
_LAWS: dict[str, Any] = {
    "multivariate_normal": stats.multivariate_normal,
} | {
    name: getattr(stats, name)
    for name in ("norm", "uniform", "t", "gamma", "beta", "expon", "lognorm", "laplace", "logistic")
}


def _law(value: Any) -> tuple[str, dict[str, Any]] | None:
    """The name and the parameters of a frozen law of scipy, None for anything else."""
    if type(value) is _GAUSSIAN and type(value.cov_object) is type(_STANDARD.cov_object):
        parameters = {"mean": value.mean, "cov": value.cov}
        return "multivariate_normal", {**parameters, "allow_singular": bool(value.allow_singular)}
    law: Any = getattr(value, "dist", None)
    name = str(getattr(law, "name", ""))
    if type(value) is not _FROZEN or name not in _LAWS or type(law) is not type(_LAWS[name]):
        return None
    shapes = [] if law.shapes is None else law.shapes.split(", ")
    places = zip([*shapes, "loc", "scale"], value.args, strict=False)
    return name, {**dict(places), **value.kwds}


def _shaped(cells: Sequence[object], shape: Json) -> Array:
    flat = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        flat[place] = cell
    return flat.reshape([int(size) for size in shape])


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"
