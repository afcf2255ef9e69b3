"""Calibrated controllers, fitted ratios and posteriors in files.

A file holds recipes, arrays and a manifest: never code. Functions and models are given again when
the file is read; models of scikit-learn can go in through skops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shiftproof._tables import Array
from shiftproof.archive import (
    PARSING,
    Archive,
    Json,
    PathLike,
    malformed,
    read,
    write,
)
from shiftproof.controller import Calibrated, RiskController
from shiftproof.errors import InputError
from shiftproof.kept import Kept
from shiftproof.persist.frames import frame_again, frame_node
from shiftproof.persist.nodes import Reader, UnsavableError, Writer
from shiftproof.persist.recipes import fits, recipe_name
from shiftproof.risk import LossCurves, ThresholdRule

_CALIBRATED = "calibrated"
_PARTS = tuple(part.name for part in fields(RiskController))

#: Weights that a ratio gives again may differ by so much from those of the file.
_ROUNDING = 1e-9


def save(
    thing: Calibrated | object, path: PathLike, *, inputs: bool = True, models: bool = False
) -> None:
    """Write a calibrated controller, a fitted ratio or a posterior; whole, or not at all.

    The file is an npz with a manifest: ``numpy.load`` opens it, and nothing in it is code. It holds

    - one loss curve for each calibration example (its score, in most cases), and its weight;
    - the sets, the loss, the ratio and the worst case by name and parameters; for ratios that were
      fitted also their coefficients or kernel centres, and 64-bit digests of the rows they saw;
    - of the calibration inputs the columns that were kept for what-ifs, as they came; all columns
      where the controller was calibrated on an array;
    - versions, the seed, and a SHA-256 for each array and for the file.

    It holds no labels as such; but a score and its input together can tell one. Kernel centres are
    rows of the target sample.

    Parameters
    ----------
    thing : Calibrated, or a ratio, or a posterior
    path : path
        What stands there is replaced once the new file is whole.
    inputs : bool
        False leaves out calibration inputs, and digests of rows. ``under(ratio)`` is then not
        possible after loading, and a ratio that is given again cannot be compared.
    models : bool
        Whether models of scikit-learn go into the file, through skops. Otherwise the predictor, or
        a ratio that holds a model, is given again: ``load(path, predictor=model)``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> model = lambda x: x[:, 0]
    >>> controller = shp.RiskController(model, shp.Intervals(), shp.Miscoverage())
    >>> calibrated = controller.calibrate(x, x[:, 0] + np.linspace(-0.5, 0.5, 100))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shp.save(calibrated, Path(folder) / "road.npz")
    ...     again = shp.load(Path(folder) / "road.npz", predictor=model)
    >>> again.predict([[0.5]], alpha=0.1).size() == calibrated.predict([[0.5]], alpha=0.1).size()
    array([ True])
    """
    writer = Writer(models=models, digests=inputs)
    if isinstance(thing, Calibrated):
        archive = Archive(_CALIBRATED, _content(thing, writer, inputs=inputs), writer.arrays)
    else:
        archive = Archive("recipe", _one(thing, writer), writer.arrays)
    write(path, archive)


def load(
    path: PathLike,
    *,
    predictor: object = None,
    sets: Any = None,
    loss: Any = None,
    ratio: Any = None,
    worst_case: Any = None,
    trusted: Sequence[str] = (),
) -> Any:
    """What :func:`save` wrote: the same sets, for the same predictions.

    An :class:`ArchiveError` says whether a file was cut, edited, is foreign or newer. Nothing in a
    file is run. Its digest finds accidents, and is no signature: a stranger can write a file that
    is sound and wrong.

    Parameters
    ----------
    path : path
    predictor, sets, loss, ratio, worst_case : object, optional
        Given again where the file does not hold them; what is given goes before what it holds. A
        ratio has to weigh the calibration inputs as before, where they are in the file; nothing
        can tell whether a predictor is the one that was calibrated.
    trusted : sequence of str
        Types in models of scikit-learn that skops does not know to be safe, and that you answer
        for; such as ``"sklearn.tree._tree.Tree"``.

    Returns
    -------
    Calibrated, or the ratio or posterior that was saved

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shiftproof as shp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shp.save(shp.ColumnRatio("w"), Path(folder) / "ratio.npz")
    ...     shp.load(Path(folder) / "ratio.npz")
    ColumnRatio(name='w')
    """
    archive, name = read(path), str(path)
    given = dict(zip(_PARTS, (predictor, sets, loss, ratio, worst_case), strict=True))
    reader = Reader(archive.arrays, trusted)
    if archive.kind == _CALIBRATED:
        return _calibrated(name, archive.content, reader, given)
    for part, value in given.items():
        if value is not None:
            raise InputError(part, "nothing", type(value).__name__, f"{name} holds one object")
    return _parsed(name, lambda: reader.value(archive.content))


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds, without making anything of it.

    Attributes
    ----------
    kind : str
    written_by : mapping
        Versions.
    recipes : mapping of str to str
        Each part, by name, or what has to be given again in its place.
    given : tuple of str
        The parts that have to be given again.
    inputs : tuple of str
        The columns of calibration inputs that are inside.
    arrays : mapping of str to (shape, bytes)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shiftproof as shp
    >>> ratio = shp.GroupRatio("on", source=shp.Counts({1: 5, 0: 5}), target={1: 0.9, 0: 0.1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shp.save(ratio, Path(folder) / "ratio.npz")
    ...     print(shp.contents(Path(folder) / "ratio.npz").recipes)
    {'object': 'GroupRatio'}
    """

    kind: str
    written_by: Mapping[str, str]
    recipes: Mapping[str, str]
    given: tuple[str, ...]
    inputs: tuple[str, ...]
    arrays: Mapping[str, tuple[tuple[int, ...], int]]

    def __str__(self) -> str:
        lines = [f"{self.kind}, by " + ", ".join(f"{k} {v}" for k, v in self.written_by.items())]
        lines += [f"{part}: {said}" for part, said in self.recipes.items()]
        lines.append(f"calibration inputs: {', '.join(self.inputs) or 'none'}")
        lines += [
            f"array {name}: {shape}, {size:,} bytes"
            for name, (shape, size) in (self.arrays.items())
        ]
        return "\n".join(lines)


def contents(path: PathLike) -> Contents:
    """What a file holds: to see before loading, or before handing it on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shiftproof as shp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shp.save(shp.NoShift(), Path(folder) / "none.npz")
    ...     shp.contents(Path(folder) / "none.npz").kind
    'recipe'
    """
    archive, name = read(path), str(path)
    found: Contents = _parsed(name, lambda: _contents(archive))
    return found


def _contents(archive: Archive) -> Contents:
    parts, columns = {"object": archive.content}, []
    if archive.kind == _CALIBRATED:
        parts = {part: archive.content["parts"][part] for part in _PARTS}
        kept = archive.content["kept"]["inputs"]
        table = isinstance(kept, dict) and "table" in kept
        columns = [str(one["name"]) for one in kept["columns"]] if table else []
        if kept is not None and not table:
            columns = [f"an array {archive.arrays[kept['array']].shape}"]
    absent = tuple(part for part, node in parts.items() if _is_absent(node))
    arrays = {name: (array.shape, array.nbytes) for name, array in archive.arrays.items()}
    said = {part: _named(node) for part, node in parts.items()}
    return Contents(archive.kind, archive.written_by, said, absent, tuple(columns), arrays)


def _named(node: Json) -> str:
    if _is_absent(node):
        return f"to be given again: {node['absent']}"
    return str(node.get("recipe", node.get("of", "a value"))) if isinstance(node, dict) else "?"


def _is_absent(node: Json) -> bool:
    return isinstance(node, dict) and "absent" in node


def _one(thing: object, writer: Writer) -> Json:
    """An object on its own, which has to go in whole."""
    if recipe_name(thing) is None:
        raise InputError(
            "thing",
            "a Calibrated, a fitted ratio or a posterior",
            type(thing).__name__,
            "save what calibrate(...) or fit(...) gave",
        )
    try:
        return writer.node(thing)
    except UnsavableError as cause:
        repair = "models of scikit-learn go in with models=True; functions do not go in at all"
        raise InputError("thing", "one that a file can hold", f"{cause} inside", repair) from cause


def _content(calibrated: Calibrated, writer: Writer, *, inputs: bool) -> Json:
    """A calibration as JSON; parts that no file can hold are named, to be given again."""
    parts = {}
    for part in _PARTS:
        try:
            parts[part] = writer.node(getattr(calibrated.controller, part), part)
        except UnsavableError as cause:
            parts[part] = {"absent": str(cause)}
    losses = writer.node(calibrated.losses, "losses")
    writer.call("losses", calibrated.losses)
    try:
        rule = writer.node(calibrated.rule, "rule")
        kept = _kept_node(calibrated.kept, writer) if inputs else None
    except UnsavableError as cause:
        repair = "leave calibration inputs out with inputs=False, or convert the column"
        raise InputError("calibrated", "what a file can hold", str(cause), repair) from cause
    layout = {name: getattr(calibrated.kept, name) for name in ("rows", "names", "shape")}
    return {
        "promise": str(calibrated.assumption),
        "parts": parts,
        "losses": losses,
        "rule": rule,
        "kept": {
            "inputs": kept,
            "complete": calibrated.kept.complete and inputs,
            **{name: writer.node(value, name) for name, value in layout.items()},
        },
        "seed": writer.node(calibrated.seed),
    }


def _kept_node(kept: Kept, writer: Writer) -> Json:
    if kept.inputs is None or isinstance(kept.inputs, np.ndarray):
        return writer.node(kept.inputs, "inputs")
    return frame_node(kept.inputs, writer)


def _calibrated(name: str, content: Json, reader: Reader, given: dict[str, Any]) -> Calibrated:
    missing = {
        part: node["absent"]
        for part, node in _parsed(name, lambda: dict(content["parts"])).items()
        if _is_absent(node) and given.get(part) is None
    }
    for part, what in missing.items():
        raise InputError(
            part,
            "to be given again, since no file holds it",
            "none",
            f"load(path, {part}=...), which was {what}",
        )
    parts, losses, rule, kept, seed = _parsed(name, lambda: _pieces(content, reader, given))
    calibrated = Calibrated(RiskController(**parts), losses, rule, kept, seed)
    if given["ratio"] is not None:
        _demand_same_weights(calibrated)
    return calibrated


def _pieces(
    content: Json, reader: Reader, given: Mapping[str, Any]
) -> tuple[dict[str, Any], LossCurves, ThresholdRule[Any], Kept, int | None]:
    """Everything that a calibration consists of."""
    parts = {
        part: reader.value(content["parts"][part]) if given[part] is None else given[part]
        for part in _PARTS
    }
    losses = reader.value(content["losses"])
    reader.call("losses", losses)
    rule, seed = reader.value(content["rule"]), reader.value(content["seed"])
    stored = content["kept"]
    node = stored["inputs"]
    table = isinstance(node, dict) and "table" in node
    kept = Kept(
        frame_again(node, reader) if table else reader.value(node),
        *(reader.value(stored[name]) for name in ("complete", "rows", "names", "shape")),
    )
    typed = {
        "LossCurves": losses,
        "ThresholdRule": rule,
        "int | None": seed,
        "bool": kept.complete,
        "int": kept.rows,
        "tuple[Column, ...] | None": kept.names,
        "tuple[int, ...] | None": kept.shape,
    }
    for words, value in typed.items():
        if not fits(words, value):
            raise TypeError(words)
    rows = len(losses) if kept.inputs is None else len(kept.inputs)  # type: ignore[arg-type]
    if not len(losses) == len(rule) == kept.rows == rows or rule.losses is not losses:
        raise ValueError("parts of different lengths")
    return parts, losses, rule, kept, seed


def _demand_same_weights(calibrated: Calibrated) -> None:
    """Raise where the ratio weighs the calibration inputs otherwise than in the file."""
    ratio, kept = calibrated.controller.ratio, calibrated.kept
    if kept.inputs is None and ratio.columns != ():
        return
    again = ratio.curve(calibrated.losses, kept.inputs_for(ratio))
    (node, arrays), (other, others) = (
        _told(rule, calibrated.losses) for rule in (calibrated.rule, again)
    )
    if node != other or not all(
        arrays[key].shape == others[key].shape
        and np.allclose(arrays[key], others[key], rtol=_ROUNDING, atol=0)
        for key in arrays
    ):
        raise InputError(
            "ratio",
            "the ratio that the calibration examples were weighed with",
            "another one: its weights differ from those in the file",
            "for another shift: load(path).under(ratio)",
        )


def _told(rule: ThresholdRule[Any], losses: LossCurves) -> tuple[Json, dict[str, Array]]:
    writer = Writer()
    writer.call("losses", losses)
    return writer.node(rule, "rule"), writer.arrays


def _parsed(name: str, parse: Any) -> Any:
    """What `parse` makes of a file; a sentence where it fails on what a stranger has written."""
    try:
        return parse()
    except PARSING as cause:
        if isinstance(cause, InputError) and cause.name == "model":
            raise
        got = f"one that makes no sense inside ({type(cause).__name__}: {str(cause)[:200]})"
        raise malformed(name, got) from cause
