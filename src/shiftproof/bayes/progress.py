"""What a long fit says while it lasts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

#: Called with what is done, out of how many, and a note.
Progress: TypeAlias = Callable[[int, int, str], None]

#: A fit that lasts longer than so many seconds starts to speak.
_PATIENCE = 2.0


@dataclass
class Line:
    """One line on the terminal, from the third second on; nothing where there is no terminal."""

    task: str
    start: float = field(default_factory=time.monotonic)
    spoke: bool = False

    def __call__(self, done: int, total: int, note: str) -> None:
        """Rewrite the line."""
        seconds = time.monotonic() - self.start
        ended = done >= total
        if not sys.stderr.isatty() or (seconds < _PATIENCE and not self.spoke):
            return
        left = f", {seconds / done * (total - done):.0f} s to go" if done and not ended else ""
        line = f"{self.task}: {done:,} of {total:,}, {note}{left}"
        print(f"\r{line:<79}", end="\n" if ended else "", file=sys.stderr, flush=True)  # noqa: T201
        self.spoke = True
