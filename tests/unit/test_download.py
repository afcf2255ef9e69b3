"""Downloads from a server on this machine that cuts, damages, refuses and forgets."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from shiftproof.errors import InputError
from shiftproof.localization import DownloadError, sigfox
from shiftproof.localization.download import digest_of, fetch, on_stderr

CONTENT = np.random.default_rng(0).bytes(300_000)
MD5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves files by path; `plan` holds what happens to the next requests, in order."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.plan, self.asked = {"/data.bin": CONTENT}, [], []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append((self.path, wanted))
        act = server.plan.pop(0) if server.plan else "serve"
        body = server.files.get(self.path.split("?")[0])
        if act in (404, 429, 500, 503) or body is None:
            self.send_error(404 if body is None else act)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if act == "no range":
            start, wanted = 0, None
        if wanted and start >= len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        part = body[start:]
        self.send_response(206 if wanted else 200)
        if wanted:
            shown = 0 if act == "wrong part" else start
            self.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
        if act != "no length":
            self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if act == "damage":
            part = bytes([part[0] ^ 1]) + part[1:]
        if isinstance(act, tuple):  # ("cut", bytes)
            part = part[: act[1]]
        self.wfile.write(part)
        self.close_connection = True


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def get(server, target, **options):
    return fetch(f"{server.url}/data.bin", target, md5=MD5, pause=0.0, timeout=10.0, **options)


def kept(target):
    return target.with_name(target.name + ".part")


def test_whole_at_once(server, tmp_path):
    seen = []
    target = get(server, tmp_path / "deep" / "data.bin", progress=lambda *at: seen.append(at))
    assert target.read_bytes() == CONTENT
    assert [each.name for each in target.parent.iterdir()] == ["data.bin"]
    there = [done for done, _ in seen]
    assert there == sorted(there)
    assert seen[-1] == (300_000, 300_000)


def test_a_connection_that_breaks_is_taken_up_where_it_broke(server, tmp_path):
    server.plan = [("cut", 100_000), ("cut", 50_000)]
    target = get(server, tmp_path / "data.bin")
    assert target.read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_call_goes_on(server, tmp_path):
    target = tmp_path / "data.bin"
    server.plan = [("cut", 100_000)]
    with pytest.raises(DownloadError, match="100,000 bytes are kept, and the next call goes on"):
        get(server, target, attempts=1)
    assert not target.exists()
    assert kept(target).read_bytes() == CONTENT[:100_000]
    assert get(server, target, attempts=1).read_bytes() == CONTENT
    assert server.asked[-1][1] == "bytes=100000-"
    assert not kept(target).exists()


def test_a_server_that_does_not_know_ranges_starts_over(server, tmp_path):
    target = tmp_path / "data.bin"
    kept(target).write_bytes(CONTENT[:1000])
    server.plan = ["no range"]
    assert get(server, target).read_bytes() == CONTENT


def test_a_server_that_sends_another_part_is_asked_again(server, tmp_path):
    target = tmp_path / "data.bin"
    kept(target).write_bytes(CONTENT[:1000])
    server.plan = ["wrong part"]
    assert get(server, target).read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == ["bytes=1000-", None]


def test_all_was_there_already(server, tmp_path):
    target = tmp_path / "data.bin"
    kept(target).write_bytes(CONTENT)
    assert get(server, target).read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_more_was_there_than_there_is(server, tmp_path):
    target = tmp_path / "data.bin"
    kept(target).write_bytes(CONTENT + b"more")
    assert get(server, target).read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == ["bytes=300004-", None]


def test_a_damaged_file_never_appears(server, tmp_path):
    target = tmp_path / "data.bin"
    server.plan = ["damage"]
    with pytest.raises(DownloadError, match=f"with md5 {MD5}, got .*; what came was thrown away"):
        get(server, target)
    assert not list(tmp_path.iterdir())
    assert get(server, target).read_bytes() == CONTENT


def test_the_remains_of_another_file_are_found_out(server, tmp_path):
    target = tmp_path / "data.bin"
    kept(target).write_bytes(b"x" * 1000)
    with pytest.raises(DownloadError, match="thrown away"):
        get(server, target)
    assert get(server, target).read_bytes() == CONTENT


def test_a_failed_download_leaves_the_earlier_file(server, tmp_path):
    target = tmp_path / "data.bin"
    target.write_bytes(b"earlier")
    server.plan = ["damage"]
    with pytest.raises(DownloadError):
        get(server, target)
    assert target.read_bytes() == b"earlier"


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(server, tmp_path):
    server.plan = [503, 429]
    assert get(server, tmp_path / "data.bin").read_bytes() == CONTENT
    assert len(server.asked) == 3
    with pytest.raises(DownloadError, match="404"):
        fetch(f"{server.url}/nothing", tmp_path / "nothing", pause=0.0)
    assert len(server.asked) == 4


def test_patience_ends(server, tmp_path):
    server.plan = [500] * 9
    with pytest.raises(DownloadError, match="after 3 connections; 0 bytes are kept"):
        get(server, tmp_path / "data.bin", attempts=3)
    assert len(server.asked) == 3


def test_nobody_is_there(tmp_path):
    with Server() as gone:
        url = gone.url
    with pytest.raises(DownloadError, match="after 2 connections"):
        fetch(f"{url}/data.bin", tmp_path / "data.bin", attempts=2, pause=0.0)


def test_a_length_that_is_not_said(server, tmp_path):
    server.plan = ["no length"]
    seen = []
    get(server, tmp_path / "data.bin", progress=lambda *at: seen.append(at))
    assert seen[-1] == (300_000, None)


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://example.org/x", "data.csv"])
def test_only_the_web(url, tmp_path):
    with pytest.raises(InputError, match="http or https"):
        fetch(url, tmp_path / "x")


@pytest.mark.parametrize("attempts", [0, -1, 2.5])
def test_no_connection_at_all(attempts, tmp_path):
    with pytest.raises(InputError, match="attempts: expected a whole number of at least 1"):
        fetch("https://example.org/x", tmp_path / "deep" / "x", attempts=attempts)
    assert not list(tmp_path.iterdir())


def test_progress_is_one_line(capsys):
    on_stderr(5_000_000, 10_000_000)
    on_stderr(10_000_000, 10_000_000)
    assert capsys.readouterr().err == (
        "\rfetched 5.0 of 10.0 MB (50%)\rfetched 10.0 of 10.0 MB (100%)\n"
    )


class TestFromRecords:
    """The way from a record's list of files to the file, as the service answers."""

    def record(self, server, number, name, content, checksum=True):
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        entry = {"key": name, "size": len(content)} | (
            {"checksum": f"md5:{md5}"} if checksum else {}
        )
        files = [{"key": "lorawan_dataset_antwerp.csv"}, entry]
        server.files[f"/api/records/{number}"] = json.dumps({"files": files}).encode()
        quoted = name.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
        server.files[f"/records/{number}/files/{quoted}"] = content

    def get(self, server, folder):
        return sigfox._downloaded(folder, None, server.url, pause=0.0)

    @pytest.mark.parametrize("name", ["sigfox_dataset_rural.csv", "sigfox_dataset_rural (1).csv"])
    @pytest.mark.parametrize("checksum", [True, False])
    def test_the_newest_record(self, server, tmp_path, name, checksum):
        self.record(server, 3342253, name, CONTENT, checksum)
        file = self.get(server, tmp_path)
        assert file.read_bytes() == CONTENT
        assert [each.name for each in tmp_path.iterdir()] == ["sigfox_dataset_rural.csv"]
        assert sigfox._earlier(tmp_path) == file

    def test_the_older_record_where_the_newer_fails(self, server, tmp_path):
        self.record(server, 1193563, "sigfox_dataset_rural.csv.zip", CONTENT)
        assert self.get(server, tmp_path).name == "sigfox_dataset_rural.zip"

    def test_a_digest_that_does_not_fit(self, server, tmp_path):
        self.record(server, 3342253, "sigfox_dataset_rural.csv", CONTENT)
        server.files["/records/3342253/files/sigfox_dataset_rural.csv"] = CONTENT[:-1]
        with pytest.raises(DownloadError, match=r"thrown away.*; .*404"):
            self.get(server, tmp_path)
        assert not list(tmp_path.iterdir())

    def test_what_is_left_of_an_older_list_is_not_gone_on_with(self, server, tmp_path):
        self.record(server, 3342253, "sigfox_dataset_rural.csv", CONTENT)
        (tmp_path / "zenodo-3342253.json.part").write_bytes(b"half of another list")
        assert self.get(server, tmp_path).read_bytes() == CONTENT

    def test_lists_that_are_none(self, server, tmp_path):
        server.files["/api/records/3342253"] = b"<html>"
        server.files["/api/records/1193563"] = b'{"files": [{"key": "other.csv"}]}'
        with pytest.raises(DownloadError, match=r"not to be read; .*no file called"):
            self.get(server, tmp_path)
        assert not list(tmp_path.iterdir())

    def test_it_comes_where_the_folder_that_is_named_lacks_it(self, server, tmp_path, monkeypatch):
        line = b"'BS 1','RX Time','Latitude','Longitude'\n-90,'2018-01-01',51.1,4.1\n"
        self.record(server, 3342253, "sigfox_dataset_rural.csv", line)
        monkeypatch.setattr(sigfox._downloaded, "__defaults__", (server.url, 0.0))
        (tmp_path / "empty").mkdir()
        monkeypatch.setenv("SHIFTPROOF_DATA", str(tmp_path / "empty"))
        cache = tmp_path / "cache"
        found = sigfox.sigfox_rural(download=True, verify=False, cache=cache, progress=None)
        assert len(found) == 1
        assert (cache / "sigfox_dataset_rural.csv").exists()

    def test_the_published_digest_has_the_last_word(self, server, tmp_path, monkeypatch):
        self.record(server, 3342253, "sigfox_dataset_rural.csv", CONTENT)
        monkeypatch.setattr(sigfox, "_HOST", server.url)
        monkeypatch.setattr(sigfox._downloaded, "__defaults__", (server.url, 0.0))
        monkeypatch.delenv("SHIFTPROOF_DATA", raising=False)
        with pytest.raises(InputError, match="the published text of 18,813,395 bytes"):
            sigfox.sigfox_rural(download=True, cache=tmp_path, progress=None)
        assert not list(tmp_path.iterdir()), "the next call fetches it again"


def test_digest(tmp_path):
    (tmp_path / "x").write_bytes(CONTENT)
    assert digest_of(tmp_path / "x") == MD5
