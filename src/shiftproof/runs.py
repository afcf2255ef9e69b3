"""Long work in cells: each with a seed of its own, any number at once, and taken up where it ended.

A cell is a set of parameters, which JSON can say, and gives an answer that JSON can say. Answers
go to a file of lines as they come; when all are there, one result is written, whole or not at all,
with the configuration, versions, and a digest of the data. An answer is found again by its
parameters, so that a run that was stopped, or was given more cells, computes only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import joblib
import numpy as np

from shiftproof import archive
from shiftproof.errors import InputError

Json: TypeAlias = Any
Cell: TypeAlias = Mapping[str, Json]


def seed_of(seed: int, *names: object) -> int:
    """A seed for one cell, from that of the run and what the cell is called.

    Examples
    --------
    >>> from shiftproof.runs import seed_of
    >>> seed_of(0, "fig3", 500) == seed_of(0, "fig3", 500) != seed_of(0, "fig3", 200)
    True
    """
    text = json.dumps([int(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def digest_of(*arrays: object) -> str:
    """A SHA-256 of data: of dtypes, shapes and values.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.runs import digest_of
    >>> digest_of(np.arange(3))[:12] != digest_of(np.arange(4))[:12]
    True
    """
    found = hashlib.sha256()
    for one in arrays:
        array = np.ascontiguousarray(one)
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Run:
    """Work to be done, and the file that its result goes to.

    Parameters
    ----------
    path : path
        Of the result, a JSON file; answers stand in ``<path>.part`` until all are there.
    config : mapping
        What the answers depend on besides their cells: another one starts afresh.
    data : str
        A digest of the data, or where they come from.
    jobs : int
        Processes, as joblib counts them.
    progress : bool
        Whether a line on standard error says how far it is, and how long it will take.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftproof.runs import Run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Run(Path(folder) / "squares.json", config={"power": 2}, progress=False)
    ...     result = run.complete([{"x": 2}, {"x": 3}], lambda cell: cell["x"] ** 2)
    >>> result["answers"]
    [{'cell': {'x': 2}, 'answer': 4}, {'cell': {'x': 3}, 'answer': 9}]
    """

    path: Path
    config: Mapping[str, Json] = field(default_factory=dict)
    data: str = "simulated"
    jobs: int = 1
    progress: bool = True

    def complete(self, cells: Sequence[Cell], compute: Callable[[Any], Json]) -> Json:
        """The result: answers that are there already, and those that are missing, computed.

        Parameters
        ----------
        cells : sequence of mappings
            Parameters of each; no two the same.
        compute : callable
            From a cell to its answer; for more than one process a function of a module.
        """
        keys = [_key(cell) for cell in cells]
        if len(set(keys)) < len(keys):
            raise InputError(
                "cells", "cells that differ", "some twice", "name a repetition in each"
            )
        if not self.path.parent.is_dir():
            got = f"{str(self.path.parent)!r}"
            raise InputError("path", "a folder that exists", got, "make it first")
        known = self._known()
        missing = [cell for cell, key in zip(cells, keys, strict=True) if key not in known]
        if missing:
            with self._part.open("a", encoding="utf-8") as part:
                if part.tell() == 0:
                    part.write(json.dumps(self._head) + "\n")
                for cell, answer in self._answers(missing, compute):
                    part.write(json.dumps({"cell": cell, "answer": answer}) + "\n")
                    part.flush()
                    known[_key(cell)] = answer
        answers = [
            {"cell": dict(cell), "answer": known[key]}
            for cell, key in zip(cells, keys, strict=True)
        ]
        result = {**self._head, "versions": versions(), "answers": answers}
        archive.written_whole(self.path, (json.dumps(result, indent=1) + "\n").encode())
        self._part.unlink(missing_ok=True)
        return result

    @property
    def _part(self) -> Path:
        return self.path.with_name(self.path.name + ".part")

    @property
    def _head(self) -> dict[str, Json]:
        """What answers depend on; as JSON gives it back, so that it can be compared."""
        head: dict[str, Json] = json.loads(json.dumps({"config": self.config, "data": self.data}))
        return head

    def _known(self) -> dict[str, Json]:
        """Answers of this very configuration and data, from a result or from a part of one."""
        found: dict[str, Json] = {}
        if self.path.exists():
            result = read_result(self.path)
            if {name: result.get(name) for name in self._head} == self._head:
                found |= {_key(one["cell"]): one["answer"] for one in result["answers"]}
        if self._part.exists():
            head, *lines = _lines(self._part) or [None]
            if head != self._head:
                self._part.unlink()
                return found
            found |= {_key(one["cell"]): one["answer"] for one in lines}
        return found

    def _answers(
        self, cells: Sequence[Cell], compute: Callable[[Any], Json]
    ) -> Iterator[tuple[Cell, Json]]:
        work = joblib.Parallel(n_jobs=self.jobs, return_as="generator")(
            joblib.delayed(compute)(cell) for cell in cells
        )
        told = _told(work, len(cells), sys.stderr) if self.progress else work
        yield from zip(cells, told, strict=True)


def read_result(path: Path) -> Json:
    """A result as it was written; an error that says so where it is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from shiftproof.runs import read_result
    >>> try:
    ...     read_result(Path("absent.json"))
    ... except FileNotFoundError:
    ...     print("not there")
    not there
    """
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if not all(set(one) == {"cell", "answer"} for one in result["answers"]):
            raise TypeError(path)
    except (ValueError, KeyError, TypeError) as cause:
        got = "something else, or a part of one"
        repair = "remove the file, and run again"
        raise InputError(str(path), "a result of a run, in JSON", got, repair) from cause
    return result


def versions() -> dict[str, str]:
    """What computed a result.

    Examples
    --------
    >>> from shiftproof.runs import versions
    >>> sorted(versions())
    ['machine', 'numpy', 'python', 'scikit-learn', 'scipy', 'shiftproof']
    """
    return {**archive.versions(), "machine": platform.machine()}


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)


def _lines(path: Path) -> list[Json]:
    """The lines of a part that are whole; a last one that was cut is taken away."""
    found, length = [], 0
    with path.open("rb") as file:
        for line in file:
            try:
                found.append(json.loads(line))
            except ValueError:
                break
            if not line.endswith(b"\n"):
                found.pop()
                break
            length += len(line)
    os.truncate(path, length)
    return found


def _told(work: Iterable[Json], count: int, stream: TextIO) -> Iterator[Json]:
    """The same answers, with a line that says how far they are."""
    start = time.monotonic()
    for done, answer in enumerate(work, start=1):
        yield answer
        left = (time.monotonic() - start) / done * (count - done)
        end = "\n" if done == count else "\r"
        stream.write(f"{done} of {count}, {_spelled(left)} left   {end}")
        stream.flush()


def _spelled(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
