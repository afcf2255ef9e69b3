"""Separated text as columns, with the line of every fault.

Numbers are converted while lines are read, so that a table of many columns does not pass through
millions of strings. Quotes around names and cells, single or double, are not part of them.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shiftproof._types import FloatArray
from shiftproof.errors import InputError, ShiftWarning


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

        Where missing values are allowed an empty cell, or one that says so, is NaN. Warns where the
        last line has no end, since a number that was cut short is a number.
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
                raise self._uneven(len(cells), line)
            try:
                rows.append(np.array([float(cells[place]) for place in places]))
            except ValueError:
                rows.append(self._carefully(cells, places, line, missing))
            said.append([unquoted(cells[place]) for place in others])
        if rows and not self.text.endswith(("\n", "\r")):
            last = self.text.splitlines()[-1]
            caution = (
                f"{self.what}: the last line has no end, so that a number cut short there is read "
                f"as another one; is {last[-_SHOWN:]!r} whole?"
            )
            warnings.warn(caution, ShiftWarning, stacklevel=3)
        table = np.array(rows) if rows else np.empty((0, len(places)))
        return table, [list(column) for column in zip(*said, strict=True)] or [[] for _ in others]

    def _uneven(self, count: int, line: int) -> InputError:
        """The error for a line of more or fewer cells than the header."""
        repair = "the file was cut off or damaged there: fetch it again"
        if count > len(self.names):
            repair = f"does a cell hold {self.separator!r}, as in a decimal comma? put it in quotes"
        expected, got = f"{len(self.names)} cells in each line", f"{count} in line {line}"
        return InputError(self.what, expected, got, repair)

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
                raise InputError(self.what, "numbers", got, _mended(cell)) from cause
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

#: So much of a last line is shown where it may be cut.
_SHOWN = 20


def _mended(cell: str) -> str:
    """How a cell that is no number becomes one."""
    if not cell:
        return "not_heard=None takes empty cells"
    with_point = cell.replace(",", ".")
    try:
        float(with_point)
    except ValueError:
        return "mend the cell"
    return f"write decimals with a point: {with_point}"


def _cells(text: str, separator: str, what: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line and its cells; a row that goes on in the next line is an error.

    A quote that is opened and not closed would make one cell of all lines up to the next quote.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        got = f"a quote in line {line} that is not closed there"
        repair = "close it or take it out; no cell may hold a line break"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as cause:
            if reader.line_num == line and "end of data" not in str(cause):
                got, repair = f"{cause} in line {line}", "mend that line; is it a text file?"
            raise InputError(what, "separated text", got, repair) from cause
        if reader.line_num > line:
            raise InputError(what, "separated text", got, repair)
        yield line, cells
