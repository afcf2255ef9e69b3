"""What a file holds, without making anything of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shiftproof.archive import Archive, Json, PathLike, malformed, read
from shiftproof.persist.calibrations import CALIBRATED, PARTS, is_absent


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds, made by :func:`contents`.

    Attributes
    ----------
    kind : str
    written_by : mapping
        Versions.
    promise : str
        What the sets promise, and under which assumption.
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
    promise: str
    recipes: Mapping[str, str]
    given: tuple[str, ...]
    inputs: tuple[str, ...]
    arrays: Mapping[str, tuple[tuple[int, ...], int]]

    def __str__(self) -> str:
        lines = [f"{self.kind}, by " + ", ".join(f"{k} {v}" for k, v in self.written_by.items())]
        lines += [self.promise] * bool(self.promise)
        lines += [f"{part}: {said}" for part, said in self.recipes.items()]
        lines.append(f"calibration inputs: {', '.join(self.inputs) or 'none'}")
        lines += [
            f"array {name}: {shape}, {size:,} bytes" for name, (shape, size) in self.arrays.items()
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
    archive = read(path)
    try:
        return _contents(archive)
    except (AttributeError, LookupError, TypeError, ValueError) as cause:
        got = f"one that makes no sense inside ({type(cause).__name__}: {cause})"
        raise malformed(str(path), got) from cause


def name_of(node: Json) -> str:
    """What a node stands for, in a word."""
    if is_absent(node):
        return f"to be given again: {node['absent']}"
    return str(node.get("recipe", node.get("of", "a value"))) if isinstance(node, dict) else "?"


def _contents(archive: Archive) -> Contents:
    parts, promise = {"object": archive.content}, ""
    columns: tuple[str, ...] = ()
    if archive.kind == CALIBRATED:
        content = archive.content
        parts = {part: content["parts"][part] for part in PARTS}
        columns, promise = _columns(content["kept"]), str(content["promise"])
    return Contents(
        archive.kind,
        archive.written_by,
        promise,
        {part: name_of(node) for part, node in parts.items()},
        tuple(part for part, node in parts.items() if is_absent(node)),
        columns,
        {name: (array.shape, array.nbytes) for name, array in archive.arrays.items()},
    )


def _columns(kept: Json) -> tuple[str, ...]:
    """What there is of the calibration inputs."""
    inputs = kept["inputs"]
    if inputs is None:
        return ()
    if "table" in inputs:
        return tuple(str(column["name"]) for column in inputs["columns"])
    return (f"an array {(kept['rows'], *kept['shape']['tuple'])}",)
