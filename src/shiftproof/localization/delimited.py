"""Separated text as columns, with the line of every fault.

Numbers are converted while lines are read, so that a table of many columns does not pass through
millions of strings. Quotes around names and cells, single or double, are not part of them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shiftproof._types import FloatArray
from shiftproof.errors import InputError


@dataclass(frozen=True, eq=False)
class Lines:
    r"""A header and the rows below it; `what` names the file in errors.

    Examples
    --------
    >>> from shiftproof.localization.delimited import Lines
    >>> lines = Lines.of(b"'a','time'\n1,'noon'\n", "data.csv", ",")
    >>> lines.names, lines.columns(["a"], ["time"])
    (('a', 'time'), (array([[1.]]), [['noon']]))
    """

    names: tuple[str, ...]
    text: str
    what: str
    separator: str

    @classmethod
    def of(cls, content: bytes, what: str, separator: str) -> Lines:
        """The header, read and checked."""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as cause:
            got = f"byte {cause.start} is none"
            repair = "is it compressed, or in another encoding?"
            raise InputError(what, "text in UTF-8", got, repair) from cause
        found = next(_cells(text, separator, what), None)
        if found is None or not any(found[1]):
            raise InputError(what, "a header with names of columns", "nothing", "is it whole?")
        return cls(tuple(unquoted(name) for name in found[1]), text, what, separator)

    def columns(
        self, numbers: Sequence[str], words: Sequence[str], missing: bool = False
    ) -> tuple[FloatArray, list[list[str]]]:
        """Columns of numbers, (n, k), and columns of words.

        Where missing values are allowed an empty cell, or one that says so, is NaN.
        """
        places = [self.names.index(name) for name in numbers]
        others = [self.names.index(name) for name in words]
        rows, said = [], []
        lines = _cells(self.text, self.separator, self.what)
        next(lines)
        for line, cells in lines:
            if not cells:  # an empty line, such as the last
                continue
            if len(cells) != len(self.names):
                got = f"{len(cells)} in line {line}"
                repair = "the file was cut off or damaged there: fetch it again"
                raise InputError(self.what, f"{len(self.names)} cells in each line", got, repair)
            try:
                rows.append(np.array([float(cells[place]) for place in places]))
            except ValueError:
                rows.append(self._carefully(cells, places, line, missing))
            said.append([unquoted(cells[place]) for place in others])
        table = np.array(rows) if rows else np.empty((0, len(places)))
        return table, [list(column) for column in zip(*said, strict=True)] or [[] for _ in others]

    def _carefully(
        self, cells: Sequence[str], places: Sequence[int], line: int, missing: bool
    ) -> FloatArray:
        """The numbers of a row that holds quotes, gaps, or a cell that is no number."""
        found = []
        for place in places:
            cell = unquoted(cells[place])
            try:
                found.append(np.nan if missing and cell.lower() in _MISSING else float(cell))
            except ValueError as cause:
                got = f"{cell!r} in line {line}, column {self.names[place]!r}"
                repair = "mend the cell" if cell else "not_heard=None takes empty cells"
                raise InputError(self.what, "numbers", got, repair) from cause
        return np.array(found)


def unquoted(text: str) -> str:
    """Without spaces around, and without one pair of quotes.

    Examples
    --------
    >>> from shiftproof.localization.delimited import unquoted
    >>> unquoted(" 'BS 1'")
    'BS 1'
    """
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in _QUOTES:
        return bare[1:-1].strip()
    return bare


_QUOTES: Collection[str] = ("'", '"')
_MISSING = ("", "na", "nan", "null", "none")


def _cells(text: str, separator: str, what: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line and its cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as cause:
            got = f"{cause} in line {reader.line_num}"
            raise InputError(what, "separated text", got, "is it a text file?") from cause
        yield reader.line_num, cells
