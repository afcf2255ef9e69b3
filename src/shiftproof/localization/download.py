"""Files from the web: whole or not at all, taken up where they were left, checked by digest."""

from __future__ import annotations

import hashlib
import http.client
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from shiftproof import _checks
from shiftproof.errors import InputError, ShiftproofError

#: Called with the bytes that are there, and with how many there will be, if that is known.
Progress: TypeAlias = Callable[[int, int | None], None]

_CHUNK = 1 << 16
_HEADERS = {"User-Agent": "shiftproof", "Accept-Encoding": "identity"}


class DownloadError(ShiftproofError, OSError):
    """A file could not be fetched. What came so far is kept, and the next call goes on from there.

    Examples
    --------
    >>> import shiftproof as shp
    >>> from shiftproof.localization import DownloadError
    >>> issubclass(DownloadError, shp.ShiftproofError)
    True
    """


def fetch(
    url: str,
    target: Path,
    *,
    md5: str | None = None,
    progress: Progress | None = None,
    attempts: int = 5,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """The file at `url`, as `target`.

    What has come is kept beside the target, with ``.part`` at the end of its name. A connection
    that breaks is taken up again with a Range request, in this call or in a later one; a server
    that does not know these sends the file from its start. The target appears when the file is
    whole and its digest right.

    Parameters
    ----------
    url : str
    target : Path
    md5 : str, optional
        The digest that the file must have. It tells a damaged file, not a forged one.
    progress : callable, optional
        See :data:`Progress`; :func:`on_stderr` is one.
    attempts : int
        Connections, at most.
    pause : float
        Seconds before the second connection, doubled before each further one.
    timeout : float
        Seconds that a connection may be silent.

    Examples
    --------
    >>> from pathlib import Path
    >>> from shiftproof.localization.download import fetch
    >>> fetch("ftp://example.org/data.csv", Path("data.csv"))
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: url: expected http or https, got 'ftp://example.org/data.csv'; \
pass the address of a file on the web
    """
    if urlsplit(url).scheme not in ("http", "https"):
        repair = "pass the address of a file on the web"
        raise InputError("url", "http or https", f"{url!r}", repair)
    connections = _checks.whole("attempts", attempts, 1, "say 5")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    for attempt in range(connections):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _go_on(url, part, progress, timeout)
            break
        except urllib.error.HTTPError as cause:
            cause.close()
            if cause.code < 500 and cause.code != 429:  # asking again will not help
                raise DownloadError(f"{url}: {cause.code} {cause.reason}") from cause
            broken: Exception = cause
        except (OSError, http.client.HTTPException) as cause:
            broken = cause
    else:
        there = part.stat().st_size if part.exists() else 0
        raise DownloadError(
            f"{url}: {broken} after {connections} connections; {there:,} bytes are kept, and the "
            "next call goes on from there"
        ) from broken
    found = digest_of(part)
    if md5 is not None and found != md5:
        part.unlink()
        raise DownloadError(
            f"{url}: expected a file with md5 {md5}, got {found}; what came was thrown away: call "
            "again, and if it comes damaged again fetch it by hand"
        )
    part.replace(target)
    return target


def digest_of(file: Path) -> str:
    """The md5 of a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftproof.localization.download import digest_of
    >>> with tempfile.NamedTemporaryFile() as empty:
    ...     digest_of(Path(empty.name))
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def on_stderr(there: int, whole: int | None) -> None:
    """Progress as one line that is written over again, and left standing at the end.

    Examples
    --------
    >>> from shiftproof.localization.download import on_stderr
    >>> on_stderr(10_000_000, None)
    """
    share = f" of {whole / 1e6:.1f} MB ({there / whole:.0%})" if whole else " MB"
    sys.stderr.write(f"\rfetched {there / 1e6:.1f}{share}" + ("\n" if there == whole else ""))
    sys.stderr.flush()


def _go_on(url: str, part: Path, progress: Progress | None, timeout: float) -> None:
    """Everything that is missing from `part`, over one connection."""
    there = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers=_HEADERS)  # noqa: S310
    if there:
        request.add_header("Range", f"bytes={there}-")
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)  # noqa: S310 - http(s), checked
    except urllib.error.HTTPError as error:
        if there and error.code == 416:
            error.close()
            if error.headers.get("Content-Range") == f"bytes */{there}":
                return  # nothing is missing
            part.unlink()  # longer than the file: the remains of another one
            raise ConnectionError("what was kept is no part of this file") from error
        raise
    with answer:
        resumed = answer.status == 206
        if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {there}-"):
            part.unlink()
            raise ConnectionError("the server sent another part than was asked for")
        length = answer.headers.get("Content-Length")
        start = there if resumed else 0
        whole = None if length is None else start + int(length)
        with part.open("ab" if resumed else "wb") as kept:
            done = start
            while piece := answer.read(_CHUNK):
                kept.write(piece)
                done += len(piece)
                if progress is not None:
                    progress(done, whole)
    if whole is not None and done < whole:
        raise ConnectionError(f"the connection broke at {done:,} of {whole:,} bytes")
