"""Calibrated controllers, fitted ratios and posteriors in files.

A file holds recipes, arrays and a manifest: never code. Functions and models are given again when
the file is read; models of scikit-learn can go in through skops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shiftproof.archive import Archive, Json, PathLike, malformed, place_of, read, write
from shiftproof.controller import Calibrated, RiskController
from shiftproof.errors import InputError
from shiftproof.persist.calibrations import (
    CALIBRATED,
    PARTS,
    RECIPE,
    Pieces,
    calibration_node,
    demand_readable,
    is_absent,
    same_as_stored,
)
from shiftproof.persist.contents import name_of
from shiftproof.persist.nodes import Reader, UnsavableError, Writer
from shiftproof.persist.recipes import recipe_name
from shiftproof.risk import LossCurves, ThresholdRule

Found = TypeVar("Found")

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
    rows of the target sample, encoders list every category, and models may hold training rows.
    ``shiftproof.contents`` says what is inside.

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
    place = place_of(path)
    writer = Writer(models=models, digests=inputs)
    if isinstance(thing, Calibrated):
        content, kind = calibration_node(thing, writer, inputs=inputs), CALIBRATED
    else:
        content, kind = _node_of(thing, writer), RECIPE
    archive = Archive(kind, content, writer.arrays)
    demand_readable(archive, models=models)
    write(place, archive)


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
    given = dict(zip(PARTS, (predictor, sets, loss, ratio, worst_case), strict=True))
    reader = Reader(archive.arrays, trusted)
    if archive.kind == CALIBRATED:
        return _calibrated(name, archive, reader, given)
    for part, value in given.items():
        if value is not None:
            raise InputError(part, "nothing", type(value).__name__, f"{name} holds one object")
    if archive.kind != RECIPE:
        raise malformed(name, f"one that calls itself {archive.kind[:40]!r}")
    return _parsed(name, lambda: _alone(archive.content, reader))


def _node_of(thing: object, writer: Writer) -> Json:
    """An object on its own, which has to go in whole."""
    if recipe_name(thing) is None:
        raise InputError(
            "thing",
            "a Calibrated, a fitted ratio, a posterior, or a part of a controller",
            type(thing).__name__,
            "save what calibrate(...) or fit(...) gave",
        )
    try:
        return writer.node(thing)
    except UnsavableError as cause:
        repair = "models of scikit-learn go in with models=True; functions do not go in at all"
        raise InputError("thing", "one that a file can hold", f"{cause} inside", repair) from cause


def _alone(content: Json, reader: Reader) -> Any:
    """The one object of a file."""
    found = reader.value(content)
    if recipe_name(found) is None:
        raise TypeError("an object of no class that a file may name")
    return found


def _calibrated(
    name: str, archive: Archive, reader: Reader, given: Mapping[str, Any]
) -> Calibrated:
    """A calibration, with the parts that were given in place of those in the file."""
    nodes = _parsed(name, lambda: {part: archive.content["parts"][part] for part in PARTS})
    for part, node in nodes.items():
        if is_absent(node) and given[part] is None:
            expected = "to be given again, since no file holds it"
            repair = f"load(path, {part}=...); it was {node['absent']}"
            raise InputError(part, expected, "none", repair)
    parts = {
        part: _parsed(name, lambda node=node: reader.value(node))  # type: ignore[misc]
        if given[part] is None
        else given[part]
        for part, node in nodes.items()
    }
    pieces = _parsed(name, lambda: Pieces.of(archive.content, reader))
    for part in ("sets", "loss"):
        _demand_same_part(part, given[part], nodes[part], archive.arrays)
    _demand_same_bound(given["loss"], pieces.losses)
    controller = RiskController(**parts)
    rest = pieces.kept, pieces.seed, pieces.cautions
    found = Calibrated(controller, pieces.losses, pieces.rule, *rest)
    if given["ratio"] is not None:
        _demand_same_weights(found)
    return found


def _demand_same_part(
    part: str, given: object, node: Json, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Raise where a part that is given is another one than that in the file."""
    if given is None or is_absent(node) or same_as_stored(given, node, arrays):
        return
    got = type(given).__name__
    got += " with other parameters" * (got == name_of(node))
    repair = "leave it out, since it is in the file: another one needs another calibration"
    raise InputError(part, f"the {name_of(node)} of the calibration", got, repair)


def _demand_same_bound(loss: object, losses: LossCurves) -> None:
    """Raise where a loss that is given has another bound than the calibration."""
    stated = getattr(loss, "loss_max", losses.bound)
    if stated != losses.bound:
        expected, repair = f"a largest loss of {losses.bound!r}", "pass that of the calibration"
        raise InputError("loss", expected, f"{stated!r}", repair)


def _demand_same_weights(calibrated: Calibrated) -> None:
    """Raise where the ratio weighs the calibration inputs otherwise than in the file."""
    ratio, kept = calibrated.controller.ratio, calibrated.kept
    if kept.inputs is None and ratio.columns != ():
        return
    again = ratio.curve(calibrated.losses, kept.inputs_for(ratio))
    (node, arrays), (other, others) = (
        _told(rule, calibrated.losses) for rule in (calibrated.rule, again)
    )
    same = node == other and all(
        arrays[key].shape == others[key].shape
        and np.allclose(arrays[key], others[key], rtol=_ROUNDING, atol=0)
        for key in arrays
    )
    if not same:
        raise InputError(
            "ratio",
            "the ratio that the calibration examples were weighed with",
            "another one: its weights differ from those in the file",
            "pass the same one; another shift is for under(ratio), once this is loaded",
        )


def _told(rule: ThresholdRule[Any], losses: LossCurves) -> tuple[Json, Mapping[str, NDArray[Any]]]:
    writer = Writer()
    writer.call("losses", losses)
    return writer.node(rule, "rule"), writer.arrays


def _parsed(name: str, parse: Callable[[], Found]) -> Found:
    """What `parse` makes of a file; a sentence where it fails on what a stranger has written."""
    try:
        return parse()
    except ModuleNotFoundError:
        raise
    except Exception as cause:  # libraries of tables raise errors of their own
        if isinstance(cause, InputError) and cause.name == "model":
            raise
        got = f"one that makes no sense inside ({type(cause).__name__}: {str(cause)[:200]})"
        raise malformed(name, got) from cause
