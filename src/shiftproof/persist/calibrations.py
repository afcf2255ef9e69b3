"""A calibration as JSON and arrays: its parts, losses, rule and kept inputs; and back.

What is written is read back and written once more before a file is made: the two have to agree, so
that what cannot be read is refused while the data still exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from shiftproof.archive import Archive, Json
from shiftproof.controller import Calibrated, RiskController
from shiftproof.errors import InputError
from shiftproof.kept import Kept
from shiftproof.persist.frames import frame_again, frame_node
from shiftproof.persist.models import types_in
from shiftproof.persist.nodes import Reader, UnsavableError, Writer
from shiftproof.persist.recipes import fits, recipe_name
from shiftproof.risk import LossCurves, ThresholdRule

#: What files are of: a calibration, or one object by its recipe.
CALIBRATED, RECIPE = "calibrated", "recipe"

#: The parts of a controller.
PARTS = tuple(part.name for part in fields(RiskController))


@dataclass(frozen=True, eq=False)
class Pieces:
    """What a file holds of a calibration, besides the parts of its controller."""

    losses: LossCurves
    rule: ThresholdRule[Any]
    kept: Kept
    seed: int | None
    cautions: tuple[str, ...]

    def node(self, promise: str, parts: Json, writer: Writer) -> Json:
        """The content of a file."""
        losses = writer.node(self.losses, "losses")
        writer.call("losses", self.losses)
        rule = writer.node(self.rule, "rule")
        layout = {name: getattr(self.kept, name) for name in ("rows", "names", "shape")}
        kept = {
            "inputs": _inputs_node(self.kept.inputs, writer),
            "complete": self.kept.complete,
            **{name: writer.node(value, name) for name, value in layout.items()},
        }
        seed = writer.node(self.seed)
        return {
            "promise": promise,
            "parts": parts,
            "losses": losses,
            "rule": rule,
            "kept": kept,
            "seed": seed,
            "cautions": writer.node(self.cautions),
        }

    @classmethod
    def of(cls, content: Json, reader: Reader) -> Pieces:
        """From the content of a file; an error where they do not belong together."""
        losses = reader.value(content["losses"])
        reader.call("losses", losses)
        rule, stored = reader.value(content["rule"]), content["kept"]
        kept = Kept(
            _inputs_again(stored["inputs"], reader),
            *(reader.value(stored[name]) for name in ("complete", "rows", "names", "shape")),
        )
        seed, cautions = (reader.value(content[name]) for name in ("seed", "cautions"))
        pieces = cls(losses, rule, kept, seed, cautions)
        pieces._demand_types()
        rows = len(losses) if kept.inputs is None else len(kept.inputs)  # type: ignore[arg-type]
        if not len(losses) == len(rule) == kept.rows == rows:
            raise ValueError("losses, weights and inputs of different lengths")
        if rule.losses is not losses:
            raise ValueError("a rule of other losses")
        return pieces

    def _demand_types(self) -> None:
        typed = {
            "LossCurves": self.losses,
            "ThresholdRule": self.rule,
            "int | None": self.seed,
            "bool": self.kept.complete,
            "int": self.kept.rows,
            "tuple[Column, ...] | None": self.kept.names,
            "tuple[int, ...] | None": self.kept.shape,
            "tuple[str, ...]": self.cautions,
        }
        for words, value in typed.items():
            if not fits(words, value):
                raise TypeError(f"{type(value).__name__} in place of {words}")


def calibration_node(calibrated: Calibrated, writer: Writer, *, inputs: bool) -> Json:
    """A calibration as JSON; parts that no file can hold are named, to be given again."""
    parts = {}
    for part in PARTS:
        value, before = getattr(calibrated.controller, part), dict(writer.arrays)
        try:
            parts[part] = writer.node(value, part)
        except UnsavableError as cause:
            writer.arrays = before  # nothing stays of a part that is not inside
            parts[part] = {"absent": _told(value, str(cause))}
    kept = calibrated.kept if inputs else replace(calibrated.kept, inputs=None, complete=False)
    rest = kept, calibrated.seed, calibrated.cautions
    pieces = Pieces(calibrated.losses, calibrated.rule, *rest)
    try:
        return pieces.node(str(calibrated.assumption), parts, writer)
    except UnsavableError as cause:
        repair = "leave calibration inputs out with inputs=False, or convert the column"
        raise InputError("calibrated", "what a file can hold", str(cause), repair) from cause


def demand_readable(archive: Archive, *, models: bool) -> None:
    """Raise unless what is to be written says the same once it was read."""
    names = [name for name in archive.arrays if models and name.startswith("model_")]
    trusted = [kind for name in names for kind in types_in(archive.arrays[name])]
    reader, writer = Reader(archive.arrays, trusted), Writer(models=models)
    try:
        again = _said_again(archive, reader, writer)
    except Exception as cause:
        raise _unreadable(f"{type(cause).__name__}: {cause}") from cause
    if reader.arrays or again != archive.content:
        raise _unreadable("something else")
    for name in archive.arrays.keys() - set(names):  # skops writes no model twice alike
        one, other = archive.arrays[name], writer.arrays[name]
        if (one.dtype, one.shape, one.tobytes()) != (other.dtype, other.shape, other.tobytes()):
            raise _unreadable(f"other values of {name}")


def is_absent(node: Json) -> bool:
    """Whether a part has to be given again."""
    return isinstance(node, dict) and "absent" in node


def _said_again(archive: Archive, reader: Reader, writer: Writer) -> Json:
    """The content, read and written once more."""
    content = archive.content
    if archive.kind == RECIPE:
        return writer.node(reader.value(content))
    parts = {
        part: node if is_absent(node) else writer.node(reader.value(node), part)
        for part, node in content["parts"].items()
    }
    return Pieces.of(content, reader).node(content["promise"], parts, writer)


def _unreadable(got: str) -> InputError:
    repair = "leave calibration inputs out with inputs=False, or convert what is named here"
    return InputError("thing", "what reads the same when it is loaded", got, repair)


def _told(part: object, what: str) -> str:
    """What a part is that no file holds, and what in it no file can hold."""
    if recipe_name(part) is None:
        return what
    kind = type(part).__name__
    return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind} (with {what})"


def _inputs_node(inputs: object, writer: Writer) -> Json:
    if inputs is None or isinstance(inputs, np.ndarray):
        return writer.node(inputs, "inputs")
    return frame_node(inputs, writer)


def _inputs_again(node: Json, reader: Reader) -> object:
    table = isinstance(node, dict) and "table" in node
    return frame_again(node, reader) if table else reader.value(node)


def same_as_stored(part: object, node: Json, arrays: Mapping[str, Any]) -> bool:
    """Whether a part says what a node of a file says, in numbers too."""
    writer = Writer()
    try:
        told = writer.node(part)
    except UnsavableError:
        return False
    return bool(_spelled(told, writer.arrays) == _spelled(node, arrays))


def _spelled(node: Json, arrays: Mapping[str, Any]) -> Json:
    """JSON with its arrays in place of their names, which count from the first of a file."""
    if isinstance(node, list):
        return [_spelled(one, arrays) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: arrays[one].tolist()
        if key in _NAMES_OF_ARRAYS and isinstance(one, str) and one in arrays
        else _spelled(one, arrays)
        for key, one in node.items()
    }


_NAMES_OF_ARRAYS = {"array", "ticks", "texts", "ends", "missing", "numbers", "model"}
