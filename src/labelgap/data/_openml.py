"""Data sets from OpenML, whose descriptions name the file, its checksum and the labels."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labelgap.data._arff import read_arff
from labelgap.data._dataset import Dataset
from labelgap.data._errors import ChecksumError, DatasetUnavailableError
from labelgap.data._pip import Progress

_DESCRIPTION = "https://www.openml.org/api/v1/json/data/{}"
_BLOCK = 1 << 18
_TIMEOUT_S = 30.0


def fetch_openml(
    data_id: int,
    folder: Path,
    progress: Progress | None = None,
    open_url: Callable[..., Any] = urllib.request.urlopen,
) -> Dataset:
    """Download (or continue to download) an OpenML data set and read it.

    OpenML knows no official split of rows, so the result has none.
    """
    try:
        with open_url(_DESCRIPTION.format(data_id), timeout=_TIMEOUT_S) as response:
            about = json.load(response)["data_set_description"]
        path = _download(about, folder / f"openml-{data_id}.arff", progress, open_url)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise DatasetUnavailableError(
            f"OpenML cannot be reached for data set {data_id} ({error})"
        ) from error
    except (ValueError, KeyError) as error:
        if isinstance(error, ChecksumError):
            raise
        raise DatasetUnavailableError(
            f"OpenML's description of data set {data_id} cannot be understood ({error!r})"
        ) from error
    labels = [name.strip() for name in about["default_target_attribute"].split(",")]
    return read_arff(path, labels)


def _download(
    about: dict[str, Any],
    target: Path,
    progress: Progress | None,
    open_url: Callable[..., Any],
) -> Path:
    if target.is_file() and _md5(target) == about["md5_checksum"]:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".part")
    done = partial.stat().st_size if partial.is_file() else 0
    if not about["url"].startswith("https://"):
        raise ValueError(f"the file is at {about['url']!r}, not at an https address")
    request = urllib.request.Request(about["url"])
    if done:
        request.add_header("Range", f"bytes={done}-")
    with open_url(request, timeout=_TIMEOUT_S) as response:
        continued = done and response.status == 206
        done = done if continued else 0
        length = response.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        with open(partial, "ab" if continued else "wb") as out:
            while block := response.read(_BLOCK):
                out.write(block)
                done += len(block)
                if progress is not None:
                    progress(f"downloading {target.name}", done, total)
    found = _md5(partial)
    if found != about["md5_checksum"]:
        partial.unlink()
        raise ChecksumError(
            f"the checksum is {found}, not {about['md5_checksum']}",
            file=about["url"],
            remedy="The download was damaged and is removed: try again",
        )
    os.replace(partial, target)
    return target


def _md5(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
