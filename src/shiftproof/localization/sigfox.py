"""The rural Sigfox data: 25,637 messages between Antwerp and Ghent, heard by 137 stations.

Aernouts, Berkvens, Van Vlaenderen and Weyn, "Sigfox and LoRaWAN Datasets for Fingerprint
Localization in Large Urban and Rural Areas", Data 3(2), 13 (2018); Zenodo records 1193563 and
3342253, licence CC BY 4.0. The data is not part of this project.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shiftproof.errors import InputError
from shiftproof.localization.download import (
    DownloadError,
    Progress,
    fetch,
    on_stderr,
)
from shiftproof.localization.fingerprints import Fingerprints
from shiftproof.localization.parquet import is_available, pyarrow, read_parquet, write_parquet
from shiftproof.localization.table import FingerprintTable, content_of

#: Its columns; names and times stand in single quotes.
SIGFOX = FingerprintTable(
    stations="BS *",
    not_heard=-200,
    latitude="Latitude",
    longitude="Longitude",
    time="RX Time",
)

#: The text, unpacked.
_MD5, _BYTES = "41182626b5200d86772f010f3537d019", 18_813_395
_NAME = "sigfox_dataset_rural"

_HOST = "https://zenodo.org"
_RECORDS = (3342253, 1193563)


def sigfox_rural(
    path: str | Path | None = None,
    *,
    download: bool = False,
    verify: bool = True,
    cache: str | Path | None = None,
    progress: Progress | None = on_stderr,
) -> Fingerprints:
    """The rural Sigfox data, as published.

    Without a path it is looked for where the environment variable SHIFTPROOF_DATA says, a file or a
    folder, and then, if it is not there, among earlier downloads.

    Parameters
    ----------
    path : str or Path, optional
        The csv file, the zip file, or a folder with one of them.
    download : bool
        Whether to fetch it from Zenodo where it is nowhere else, into the folder of `cache`. A
        download that was broken off goes on where it stopped.
    verify : bool
        Whether the file has to be the published one, by its md5.
    cache : str or Path, optional
        A folder to keep the table in as Parquet, so that it loads faster the next time; needs
        pyarrow, the extra `localization`. Where left out only what was downloaded is kept, in
        ``$XDG_CACHE_HOME/shiftproof`` or ``~/.cache/shiftproof``, without pyarrow as text.
    progress : callable, optional
        Told how far a download is: bytes there, bytes in all.

    Returns
    -------
    Fingerprints

    Examples
    --------
    >>> from shiftproof.localization import sigfox_rural
    >>> sigfox_rural("nowhere")
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: path: expected sigfox_dataset_rural.csv, bare, in a zip file or \
in a folder, got nothing there: nowhere; pass its path, set SHIFTPROOF_DATA, or say download=True
    """
    given = None if cache is None else Path(cache)
    if path is not None:
        return _loaded(_found(Path(path)), verify, given)
    nowhere = "no path"
    if named := os.environ.get("SHIFTPROOF_DATA"):
        try:
            file = _found(Path(named))
        except InputError as absent:
            nowhere = absent.got
        else:
            return _loaded(file, verify, given)
    folder = _own_folder() if given is None else given
    earlier = _earlier(folder)
    if earlier is None and not download:
        raise _missing(f"{nowhere}, and nothing in {folder}")
    kept = folder if is_available() else None
    if earlier is not None:
        return _loaded(earlier, verify, kept)
    fresh = _downloaded(folder, progress)
    try:
        return _loaded(fresh, verify, kept)
    except InputError:
        fresh.unlink()  # so that the next call does not take it for an earlier download
        raise


def _loaded(file: Path, verify: bool, cache: Path | None) -> Fingerprints:
    """The table of a file, or what was kept of it."""
    if cache is not None:
        pyarrow()  # refuses before anything is read or written
    content = content_of(file)
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if verify and digest != _MD5:
        short = f", {_BYTES - len(content):,} bytes short" if len(content) < _BYTES else ""
        raise InputError(
            file.name,
            f"the published text of {_BYTES:,} bytes with md5 {_MD5}",
            f"{len(content):,} bytes{short} with md5 {digest}",
            "fetch it again, or verify=False to read another version",
        )
    if cache is None:
        return SIGFOX.parse(content, file.name)
    kept = cache / f"{_NAME}-{digest}.parquet"
    if kept.exists():
        return read_parquet(kept)
    fingerprints = SIGFOX.parse(content, file.name)
    cache.mkdir(parents=True, exist_ok=True)
    write_parquet(fingerprints, kept)
    return fingerprints


def _found(place: Path) -> Path:
    """The file, or the one in a folder; the text where there are both."""
    if place.is_dir():
        found = [file for end in ("csv", "zip") for file in place.glob(f"{_NAME}*.{end}")]
        inside = sorted(found, key=lambda file: (file.suffix, len(file.name), file.name))
        if not inside:
            raise _missing(f"a folder without it: {place}")
        return inside[0]
    if not place.exists():
        raise _missing(f"nothing there: {place}")
    return place


def _missing(got: str) -> InputError:
    expected = f"{_NAME}.csv, bare, in a zip file or in a folder"
    return InputError(
        "path", expected, got, "pass its path, set SHIFTPROOF_DATA, or say download=True"
    )


def _own_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "shiftproof"


def _earlier(folder: Path) -> Path | None:
    """What an earlier call downloaded."""
    files = (folder / f"{_NAME}.csv", folder / f"{_NAME}.zip")
    return next((file for file in files if file.exists()), None)


def _downloaded(
    folder: Path, progress: Progress | None, host: str = _HOST, pause: float = 1.0
) -> Path:
    """The file from the first of the records that gives it."""
    failed = []
    for record in _RECORDS:
        try:
            entry = _entry(host, record, folder, pause)
            name = str(entry["key"])
            url = f"{host}/records/{record}/files/{quote(name)}?download=1"
            target = folder / f"{_NAME}{Path(name).suffix.lower()}"
            md5 = str(entry.get("checksum", "")).removeprefix("md5:") or None
            return fetch(url, target, md5=md5, progress=progress, pause=pause)
        except DownloadError as error:
            failed.append(str(error))
    raise DownloadError("; ".join(failed))


def _entry(host: str, record: int, folder: Path, pause: float) -> Mapping[str, Any]:
    """What a record says of the file: its name there (``key``) and its digest (``checksum``)."""
    listing = folder / f"zenodo-{record}.json"
    listing.with_name(listing.name + ".part").unlink(missing_ok=True)  # lists change
    fetch(f"{host}/api/records/{record}", listing, pause=pause)
    try:
        files = json.loads(listing.read_bytes())["files"]
        found = [each for each in files if str(each["key"]).startswith(_NAME)]
    except (ValueError, KeyError, TypeError) as cause:
        raise DownloadError(f"record {record}: its list of files is not to be read") from cause
    finally:
        listing.unlink()
    if not found:
        raise DownloadError(f"record {record}: no file called {_NAME}")
    return dict(found[0])
