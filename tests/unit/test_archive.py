"""Files of arrays: whole or not there, and every fault by its name."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import shiftproof as shp
from shiftproof import archive as module
from shiftproof.archive import Archive, ArchiveError, Fault, packed, read, unpacked, write

ARRAYS = {
    "scores": np.array([0.1, -np.inf, np.nan]),
    "rows": np.arange(6)[::-1].reshape(2, 3),
    "words": np.array(["a", "bcd", ""]),
    "none": np.empty((0, 4), np.uint8),
    "flag": np.array(True),
}
GOOD = Archive("example", {"level": 0.1, "names": ["a", None]}, ARRAYS)


def sealed(body: bytes) -> bytes:
    """A file with this inside and a digest that is right: what a stranger could send."""
    text = body + b"shiftproof length=%020d sha256=" % (len(body) + module._TAIL_LENGTH)
    return text + hashlib.sha256(text).hexdigest().encode()


def zipped(members, compression=zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in members:
            file.writestr(name, data)
        file.comment = b" " * module._TAIL_LENGTH
    return sealed(buffer.getvalue()[: -module._TAIL_LENGTH])


def manifest(**changes):
    said = {"format": "shiftproof", "version": 1, "kind": "k", "written_by": {}, "arrays": {}}
    return json.dumps({**said, "content": None, **changes})


def npy(array, **kwargs):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **kwargs)
    return buffer.getvalue()


def with_array(data: bytes) -> bytes:
    digests = {"a": hashlib.sha256(data).hexdigest()}
    return zipped([("manifest.json", manifest(arrays=digests)), ("a.npy", data)])


def fault_of(data: bytes) -> tuple[Fault, str]:
    with pytest.raises(ArchiveError) as found:
        unpacked("file.npz", data)
    return found.value.fault, str(found.value)


def test_what_was_packed_comes_back_with_its_types():
    again = unpacked("file.npz", packed(GOOD))
    assert (again.kind, again.content) == (GOOD.kind, GOOD.content)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].dtype == array.dtype
        assert again.arrays[name].flags.writeable


def test_big_ends_and_columns_first_are_written_little_and_rows_first():
    odd = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    again = unpacked("f", packed(Archive("k", None, {"a": odd}))).arrays["a"]
    np.testing.assert_array_equal(again, odd)
    assert again.dtype == np.dtype("i4")


def test_numpy_opens_the_file(tmp_path):
    write(tmp_path / "a.npz", GOOD)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["rows"], ARRAYS["rows"])


def test_the_same_content_gives_the_same_bytes():
    assert packed(GOOD) == packed(Archive(GOOD.kind, GOOD.content, dict(ARRAYS)))


def test_versions_travel_with_the_file():
    assert unpacked("f", packed(GOOD)).written_by["shiftproof"] == shp.__version__
    assert unpacked("f", packed(GOOD)).written_by["numpy"] == np.__version__


@pytest.mark.parametrize("array", [np.array([None]), np.array([1j]), np.array(["2026"], "M8[D]")])
def test_objects_are_not_written(array):
    with pytest.raises(ValueError, match="neither numbers nor text"):
        packed(Archive("k", None, {"a": array}))


def test_every_fault_is_called_by_its_name():
    data = packed(GOOD)
    other_zip = io.BytesIO()
    np.savez(other_zip, a=np.arange(3))
    edited = bytearray(data)
    edited[len(data) // 2] ^= 1
    newer = zipped([("manifest.json", manifest(version=2, written_by={"shiftproof": "9.9"}))])
    assert fault_of(b"")[0] is Fault.CUT
    assert fault_of(data[:20])[0] is Fault.CUT
    assert fault_of(data[:-1])[0] is Fault.CUT
    assert fault_of(data + b"\n")[0] is Fault.CUT
    assert fault_of(bytes(edited))[0] is Fault.EDITED
    assert fault_of(b"a,b\n1,2\n" * 20)[0] is Fault.FOREIGN
    assert fault_of(other_zip.getvalue())[0] is Fault.FOREIGN
    assert fault_of(pickle.dumps(ARRAYS))[0] is Fault.FOREIGN
    fault, sentence = fault_of(newer)
    assert fault is Fault.NEWER
    assert "written by shiftproof 9.9; upgrade" in sentence


def test_an_array_that_is_not_that_of_the_manifest_is_found():
    """Its digest is wrong though that of the file is right: an edit that took some care."""
    data = npy(np.arange(3.0))
    wrong = {"a": hashlib.sha256(b"another").hexdigest()}
    fault, sentence = fault_of(zipped([("manifest.json", manifest(arrays=wrong)), ("a.npy", data)]))
    assert fault is Fault.MALFORMED
    assert "does not match its digest" in sentence


def test_members_that_come_twice_are_found():
    data = npy(np.arange(3.0))
    digests = {"a": hashlib.sha256(data).hexdigest()}
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zipped(
            [("manifest.json", manifest(arrays=digests)), ("a.npy", data), ("a.npy", data)]
        )
    assert "each once" in fault_of(twice)[1]


def test_names_that_lead_elsewhere_are_not_names():
    data = npy(np.arange(3.0))
    digests = {"../a": hashlib.sha256(data).hexdigest()}
    found = fault_of(zipped([("manifest.json", manifest(arrays=digests)), ("../a.npy", data)]))
    assert "arrays of other names" in found[1]


def test_a_swap_of_two_files_in_one_is_found():
    """Bytes of one whole file followed by another: the length at the end tells."""
    data = packed(GOOD)
    assert fault_of(data + data)[0] is Fault.EDITED


HUGE = b"\x93NUMPY\x01\x00"


def header(text: str) -> bytes:
    line = text.encode().ljust(117) + b"\n"
    return HUGE + len(line).to_bytes(2, "little") + line


@pytest.mark.parametrize(
    "data",
    [
        sealed(b"PK\x03\x04" + b"\0" * 26 + b"manifest.json" + b"\0" * 50),
        zipped([("manifest.json", manifest())], zipfile.ZIP_DEFLATED),
        zipped([("manifest.json", "{")]),
        zipped([("manifest.json", "[" * 100_000)]),
        zipped([("manifest.json", "[]")]),
        zipped([("manifest.json", manifest(version="1"))]),
        zipped([("manifest.json", manifest(version=True))]),
        zipped([("manifest.json", manifest(arrays={"a": "0"}))]),
        zipped([("manifest.json", manifest(content=float("nan")))]),
        zipped([("manifest.json", manifest()), ("more.npy", b"")]),
        zipped([("manifest.json", '{"format": "shiftproof", "version": 1}')]),
        zipped([("manifest.json", "9" * 5000)]),
        with_array(b""),
        with_array(npy(np.array([None], object), allow_pickle=True)),
        with_array(npy(np.arange(3.0))[:-1]),
        with_array(npy(np.zeros(2, "f8,i4"))),
        with_array(header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**18,)}")),
        with_array(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}")),
        with_array(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}")),
        with_array(header("{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}")),
        with_array(header("{'descr': '<f8', 'fortran_order': True, 'shape': (0,)}")),
        with_array(header("{'descr': '|O', 'fortran_order': False, 'shape': (0,)}")),
        with_array(header("{'descr': '<U0', 'fortran_order': False, 'shape': (5,)}")),
        with_array(header("__import__('os').getcwd()")),
    ],
)
def test_what_a_stranger_could_seal_is_refused_with_a_sentence(data):
    fault, sentence = fault_of(data)
    assert fault is Fault.MALFORMED
    assert sentence.startswith("file.npz: expected a file as shiftproof writes it")


def test_a_member_that_claims_to_be_longer_than_the_file_is_not_read():
    """A bomb: sizes in the directory of a zip are believed by nobody."""
    data = bytearray(packed(Archive("k", None, {"a": np.arange(9.0)})))
    body = bytes(data[: -module._TAIL_LENGTH])
    place = body.rindex(b"PK\x01\x02")
    forged = body[: place + 20] + (2**31).to_bytes(4, "little") * 2 + body[place + 28 :]
    assert fault_of(sealed(forged))[0] is Fault.MALFORMED


def test_writing_leaves_the_old_file_where_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    write(path, GOOD)
    before = path.read_bytes()
    monkeypatch.setattr(module.os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(path, Archive("other", None, {}))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_what_cannot_be_packed_touches_no_file(tmp_path):
    with pytest.raises(ValueError, match="neither numbers"):
        write(tmp_path / "a.npz", Archive("k", None, {"a": np.array([None])}))
    assert not list(tmp_path.iterdir())


def test_permissions_are_those_of_a_new_file_or_of_the_old_one(tmp_path):
    path, plain = tmp_path / "a.npz", tmp_path / "plain"
    plain.write_text("")
    write(path, GOOD)
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    write(path, GOOD)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_no_file_and_has_to_exist(tmp_path):
    with pytest.raises(shp.InputError, match="a folder that exists"):
        write(tmp_path / "absent" / "a.npz", GOOD)
    with pytest.raises(shp.InputError, match="the name of a file"):
        write(tmp_path, GOOD)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent.npz")


def test_errors_survive_a_trip_between_processes():
    fault = ArchiveError("a", "b", "c", "d", Fault.CUT)
    again = pickle.loads(pickle.dumps(fault))  # noqa: S301 - our own
    assert (str(again), again.fault) == (str(fault), Fault.CUT)
