"""Files of arrays and a manifest: written whole or not at all, and read with suspicion.

A file is a zip that ``numpy.load`` opens: ``manifest.json`` first, then one ``.npy`` for each
array, all stored and none compressed, so that nothing can unfold to more than the file is long.
It ends, as the comment of the zip, with its own length and the SHA-256 of every byte before that
digest: one flipped bit anywhere is found before anything is parsed. The manifest repeats a SHA-256
for each array. A digest finds accidents and clumsy edits; it is no signature, so what is read is
checked as if it came from a stranger, and never unpickled.

Written by hand since ``numpy.savez`` has no manifest, no digest and no whole-or-nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shiftproof.errors import InputError

Json: TypeAlias = Any
Array: TypeAlias = NDArray[Any]
PathLike: TypeAlias = "str | os.PathLike[str]"

#: The form of files. A change that an older reader would take for something else raises it.
VERSION = 1

_MANIFEST = "manifest.json"
_START = b"PK\x03\x04"
#: Where a zip names its first member.
_NAMED_AT = 30
_TAIL = re.compile(rb"shiftproof length=(\d{20}) sha256=([0-9a-f]{64})\Z")
_TAIL_LENGTH = len(b"shiftproof length= sha256=") + 20 + 64
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")

#: A fixed moment, so that the same content gives the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)

#: No honest array has more axes than numpy allows.
_MOST_AXES = 32


class Fault(Enum):
    """What is wrong with a file.

    Examples
    --------
    >>> from shiftproof.archive import Fault
    >>> print(Fault.CUT)
    cut short
    """

    CUT = "cut short"
    EDITED = "changed since it was written"
    FOREIGN = "not a file of shiftproof"
    NEWER = "written by a newer version"
    MALFORMED = "not in the form that was stated"

    def __str__(self) -> str:
        return self.value


class ArchiveError(InputError):
    """A file that cannot be read, and why.

    Attributes
    ----------
    fault : Fault
        Whether it was cut, edited, is foreign, newer or malformed.

    Examples
    --------
    >>> import shiftproof as shp
    >>> issubclass(shp.ArchiveError, shp.InputError)
    True
    """

    def __init__(self, name: str, expected: str, got: str, repair: str, fault: Fault) -> None:
        super().__init__(name, expected, got, repair)
        self.fault = fault

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.expected, self.got, self.repair, self.fault)


def versions() -> dict[str, str]:
    """What writes a file, or computes a result.

    Examples
    --------
    >>> from shiftproof.archive import versions
    >>> sorted(versions())
    ['numpy', 'python', 'scikit-learn', 'scipy', 'shiftproof']
    """
    named = {name: version(name) for name in ("shiftproof", "numpy", "scipy", "scikit-learn")}
    return {**named, "python": platform.python_version()}


@dataclass(frozen=True, eq=False)
class Archive:
    """What a file holds.

    Parameters
    ----------
    kind : str
        What it is, in one word.
    content : object
        Anything that JSON can say, without NaN and infinities.
    arrays : mapping of str to array
        Numbers, truth values or fixed-length text; no objects.
    written_by : mapping of str to str
        Versions of what wrote it.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.archive import Archive, packed, unpacked
    >>> data = packed(Archive("example", {"level": 0.1}, {"scores": np.array([1.0, 2.0])}))
    >>> again = unpacked("example.npz", data)
    >>> again.content, again.arrays["scores"]
    ({'level': 0.1}, array([1., 2.]))
    """

    kind: str
    content: Json
    arrays: Mapping[str, Array]
    written_by: Mapping[str, str] = field(default_factory=versions)


def write(path: PathLike, archive: Archive) -> None:
    """Write the file whole, or leave what was there before.

    The bytes go to a file of another name beside it, which then takes its place in one step.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftproof.archive import Archive, read, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "example.npz", Archive("example", [1, 2], {}))
    ...     read(Path(folder) / "example.npz").content
    [1, 2]
    """
    written_whole(path, packed(archive))


def written_whole(path: PathLike, data: bytes) -> None:
    """Put these bytes where `path` says, in one step; a fault leaves what was there before.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftproof.archive import written_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written_whole(Path(folder) / "a.txt", b"whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    with in_place_of(path) as half, half.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def in_place_of(path: PathLike) -> Iterator[Path]:
    """A name to write to, which takes the place of `path` when all went well and is gone else.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftproof.archive import in_place_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with in_place_of(Path(folder) / "a.txt") as half:
    ...         written = half.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    place = place_of(path)
    half = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        yield half  # made by whoever writes, with the permissions of a new file
        if place.exists():
            half.chmod(place.stat().st_mode & 0o777)
        half.replace(place)
    finally:
        half.unlink(missing_ok=True)


def place_of(path: PathLike) -> Path:
    """Where a file can be written: behind a link what the link points to.

    Examples
    --------
    >>> from shiftproof.archive import place_of
    >>> place_of("example.npz").name
    'example.npz'
    """
    place = Path(os.path.realpath(_path(path)))
    if not place.parent.is_dir():
        raise InputError("path", "a folder that exists", f"{str(place.parent)!r}", "make it first")
    if place.is_dir():
        raise InputError("path", "the name of a file", f"the folder {str(place)!r}", "add a name")
    return place


def _path(path: PathLike) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError("path", "the name of a file", type(path).__name__, "pass text or a Path")
    return Path(path)


def read(path: PathLike) -> Archive:
    """What the file holds; an :class:`ArchiveError` that says why where it holds nothing usable."""
    return unpacked(str(path), _path(path).read_bytes())


def packed(archive: Archive) -> bytes:
    """The bytes of a file: a function of the archive alone."""
    members = {name: _npy(name, array) for name, array in archive.arrays.items()}
    manifest = {
        "format": "shiftproof",
        "version": VERSION,
        "kind": archive.kind,
        "written_by": dict(archive.written_by),
        "arrays": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
        "content": archive.content,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        text = json.dumps(manifest, allow_nan=False, separators=(",", ":"))
        file.writestr(zipfile.ZipInfo(_MANIFEST, _EPOCH), text)
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), data)
        file.comment = b" " * _TAIL_LENGTH
    body = buffer.getvalue()[:-_TAIL_LENGTH]
    body += b"shiftproof length=%020d sha256=" % (len(body) + _TAIL_LENGTH)
    return body + hashlib.sha256(body).hexdigest().encode()


def unpacked(name: str, data: bytes) -> Archive:
    """What the bytes of a file hold; `name` names it in errors."""
    _demand_whole(name, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = _members(file, len(data))
        manifest = json.loads(members.pop(_MANIFEST), parse_constant=_no_constant)
        _demand_version(name, manifest)
        kind, content = str(manifest["kind"]), manifest["content"]
        digests, written_by = dict(manifest["arrays"]), dict(manifest["written_by"])
        if not all(map(_NAME.match, digests)):
            raise MalformedError("arrays of other names")
        if sorted(members) != sorted(f"{array}.npy" for array in digests):
            raise MalformedError("arrays that the manifest does not list")
        arrays = {array: _array(members[f"{array}.npy"], digests[array]) for array in digests}
    except ArchiveError:
        raise
    except PARSING as cause:
        got = "one whose digest is right and whose inside is not: " + _said(cause)
        raise malformed(name, got) from cause
    return Archive(kind, content, arrays, {str(k): str(v) for k, v in written_by.items()})


def malformed(name: str, got: str) -> ArchiveError:
    """The error for a file that is whole, and does not hold what its form says."""
    repair = "it was made by hand, or by a fault of ours: ask where it comes from"
    return ArchiveError(name, "a file as shiftproof writes it", got, repair, Fault.MALFORMED)


def _demand_whole(name: str, data: bytes) -> None:
    """Raise unless these are the very bytes that were written."""
    expected = "a whole file of shiftproof"
    start = (data[:4], data[_NAMED_AT : _NAMED_AT + len(_MANIFEST)])
    if data and not all(map(bytes.startswith, (_START, _MANIFEST.encode()), start)):
        repair = "pass a file that shiftproof.save has written"
        raise ArchiveError(name, expected, "another kind of file", repair, Fault.FOREIGN)
    tail = _TAIL.search(data[-_TAIL_LENGTH:])
    if tail is None:
        raise ArchiveError(name, expected, *_cut(len(data)), Fault.CUT)
    if int(tail[1]) > len(data):
        raise ArchiveError(name, expected, *_cut(len(data), int(tail[1])), Fault.CUT)
    if hashlib.sha256(data[:-64]).hexdigest().encode() != tail[2] or int(tail[1]) != len(data):
        got = "one that was changed since it was written: its SHA-256 is another"
        raise ArchiveError(name, expected, got, "take the original", Fault.EDITED)


def _cut(length: int, whole: int | None = None) -> tuple[str, str]:
    of = "" if whole is None else f" of {whole:,}"
    return f"one that was cut short, or its end changed ({length:,}{of} bytes)", "copy it again"


def _demand_version(name: str, manifest: Json) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != "shiftproof":
        raise MalformedError("a manifest of something else")
    form = manifest.get("version")
    if type(form) is not int or form < 1:
        raise MalformedError(f"form {form!r}")
    if form > VERSION:
        by = manifest.get("written_by")
        writer = by.get("shiftproof", "an unknown version") if isinstance(by, dict) else "?"
        raise ArchiveError(
            name,
            f"a file of form {VERSION} or older",
            f"form {form}, written by shiftproof {writer}",
            f"upgrade shiftproof, which is {version('shiftproof')} here",
            Fault.NEWER,
        )


class MalformedError(ValueError):
    """Something inside a file whose digest is right."""


#: What parsing bytes from a stranger may raise; anything else would be a mistake of ours.
PARSING = (
    zipfile.BadZipFile,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def _said(cause: BaseException) -> str:
    return str(cause) if isinstance(cause, MalformedError) else type(cause).__name__


def _members(file: zipfile.ZipFile, length: int) -> dict[str, bytes]:
    """The members of a zip, none of them longer than the file."""
    found = file.infolist()
    names = [member.filename for member in found]
    if not names or names[0] != _MANIFEST or len(set(names)) < len(names):
        raise MalformedError("members that are not a manifest and arrays, each once")
    demand_stored(found, length)
    return {member.filename: file.read(member) for member in found}


def demand_stored(members: Sequence[zipfile.ZipInfo], length: int) -> None:
    """Raise where members of a zip could unfold to more than the zip is long."""
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise MalformedError("compressed members, which could unfold to any length")
    if sum(member.file_size for member in members) > length:
        raise MalformedError("members that claim to be longer than the file")


def _npy(name: str, array: Array) -> bytes:
    """The bytes of one member: numbers in C order, little end first."""
    if not _NAME.match(name) or f"{name}.npy" == _MANIFEST:
        raise ValueError(f"{name!r} is no name of an array")
    if not _is_plain(array.dtype):
        raise ValueError(f"array {name!r} of {array.dtype} is neither numbers nor text")
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _array(data: bytes, digest: object) -> Array:
    """The array of one member, its shape checked against its bytes before any is taken."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise MalformedError("an array that does not match its digest")
    buffer = io.BytesIO(data)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise MalformedError("an array of another form")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(buffer)
    if by_column or not _is_plain(dtype) or dtype != dtype.newbyteorder("<"):
        raise MalformedError(f"an array of {str(dtype)[:60]} that is not written so")
    sizes = all(type(size) is int and size >= 0 for size in shape)
    rest = data[buffer.tell() :]
    if not sizes or len(shape) > _MOST_AXES or math.prod(shape) * dtype.itemsize != len(rest):
        raise MalformedError("an array of another shape than its bytes")
    array: Array = np.frombuffer(rest, dtype).reshape(shape).astype(dtype.newbyteorder("="))
    return array


def _is_plain(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufU" and dtype.subdtype is None and dtype.itemsize > 0


def _no_constant(name: str) -> NoReturn:
    raise MalformedError(f"the number {name} in a manifest")
