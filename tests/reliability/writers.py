"""Everything we write: how a version is written into a folder, and which version one finds there."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from auditing.sample_audits import sample_audit
from fitting.topic_problem import BLOCK_ROWS, prepare, problem, start
from labelgap import BMLPL
from labelgap.auditing import Audit, ReviewDecisions, read_decisions, write_decisions
from labelgap.cli._design_matrix import Schema
from labelgap.cli._models import SavedModel, load_model
from labelgap.cli._table_files import save_table
from labelgap.cli.audit import write_audit
from labelgap.data import Dataset, write_preannotations
from labelgap.data._load import load_cached, save_dataset
from labelgap.files import replacing, replacing_folder
from labelgap.fitting import ArrayRows, BlockFolder, Checkpoint, open_rows, write_blocks
from labelgap.fitting._monitor import Trace
from labelgap.labels import as_labels
from labelgap.models.bmlpl._bmlpl_em import BMLPLLocal
from labelgap.report import write_audit_page
from labelgap.review import DecisionStore


class Writer(NamedTuple):
    """Writes a version into a folder, and reads which one is there (None: nothing)."""

    write: Callable[[Path, int], Any]
    read: Callable[[Path], int | None]


def _of_file(name: str, write: Callable, read: Callable[[Path], int]) -> Writer:
    def read_if_there(folder: Path) -> int | None:
        path = folder / name
        return read(path) if path.exists() else None

    return Writer(lambda folder, version: write(folder / name, version), read_if_there)


def _write_text(path: Path, version: int) -> None:
    with replacing(path) as (partial,):
        partial.write_text(str(version))


def _write_folder(path: Path, version: int) -> None:
    with replacing_folder(path, ["a", "b", "c"]) as partial:
        for one in partial:
            one.write_text(str(version))


def _read_folder(path: Path) -> int:
    (version,) = {int(one.read_text()) for one in path.iterdir()}
    return version


def _audit(version: int) -> Audit:
    plain = sample_audit(1).to_dict()
    return Audit.from_dict({**plain, "audit_id": str(version) * 16})


def _read_audit(path: Path) -> int:
    version = int(Audit.from_json((path / "audit.json").read_bytes()).audit_id[0])
    assert f"{version}{version}{version}" in (path / "report.html").read_text(encoding="utf-8")
    assert len(list(path.iterdir())) == 5
    return version


def _read_page(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    return 1 if "1" * 16 in text else 2


def _columns(version: int) -> dict[str, Any]:
    return {"id": [f"i{k}" for k in range(500)], "version": np.full(500, version)}


def _only(values: Any) -> int:
    assert len(values) == 500
    (version,) = set(map(int, values))
    return version


@cache
def _fitted() -> BMLPL:
    return BMLPL(2, max_iter=1, tol=0, random_state=0).fit(np.eye(6, 3), np.eye(6, 2))


def _write_model(path: Path, version: int) -> None:
    model = make_pipeline(_fitted().set_params(max_iter=version))
    schema = Schema(["x", "y", "z"], 3, None, True, ["a", "b"])
    SavedModel(model, None, None, schema, {"version": version}).save(path)


def _read_model(path: Path) -> int:
    model = load_model(path)
    assert model.estimator[-1].max_iter == model.about["version"]
    return model.about["version"]


def _write_cached(path: Path, version: int) -> None:
    labels = as_labels(np.eye(500, 4))
    save_dataset(Dataset("toy", np.full((500, 2), float(version)), labels), path)


def _read_cached(path: Path) -> int:
    found = load_cached(path)
    assert found is not None
    return _only(found.X[:, 0])


def _write_annotations(path: Path, version: int) -> None:
    source = path.with_name("source.json")
    if not source.exists():
        tasks = [{"id": k, "data": {"text": "hi"}, "annotations": []} for k in range(500)]
        source.write_text(json.dumps(tasks))
    suggested = {str(k): [("a", float(version))] for k in range(500)}
    write_preannotations(source, suggested, "topic", path)


def _read_annotations(path: Path) -> int:
    return _only([one["predictions"][0]["score"] for one in json.loads(path.read_text())])


def _write_blocks(folder: Path, version: int) -> None:
    with suppress(FileExistsError):
        write_blocks(folder / f"rows{version}", (np.eye(4), np.eye(4, 2)), block_rows=3)


def _read_blocks(folder: Path) -> int | None:
    for version in (2, 1):
        try:
            BlockFolder(folder / f"rows{version}").verify()
        except FileNotFoundError:
            continue
        return version
    return None


def _rows() -> Any:
    X, labels = problem(gaps=True)
    return open_rows(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(True))


def _checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint(folder / "c", local_type=BMLPLLocal, every=1)


def _write_checkpoint(folder: Path, version: int) -> None:
    trace = Trace()
    trace.objective[:], trace.seconds[:] = [1.0] * version, [0.0] * version
    _checkpoint(folder).write(start(), _rows(), trace)


def _read_checkpoint(folder: Path) -> int | None:
    trace = Trace()
    _checkpoint(folder).resume(start(), _rows(), trace)
    return trace.n_iter or None


def _write_decision(path: Path, version: int) -> None:
    store = DecisionStore(path, "a" * 16)
    try:
        while len(store.last()) < version:
            store.add(f"i{len(store.last())}", "sky", "accept", "Ann")
    finally:
        store.close()


def _read_store(path: Path) -> int | None:
    store = DecisionStore(path, "a" * 16)
    n_decisions = len(store.last())
    store.close()
    return n_decisions or None


WRITERS = {
    "file": _of_file("a.txt", _write_text, lambda path: int(path.read_text())),
    "folder": _of_file("out", _write_folder, _read_folder),
    "audit": _of_file(
        "audit", lambda path, version: write_audit(_audit(version), path, "item"), _read_audit
    ),
    "report page": _of_file(
        "page.html", lambda path, version: write_audit_page(_audit(version), path), _read_page
    ),
    "decisions": _of_file(
        "d.json",
        lambda path, version: write_decisions(ReviewDecisions(str(version) * 16, ()), path),
        lambda path: int(read_decisions(path).audit[0]),
    ),
    "csv": _of_file(
        "t.csv",
        lambda path, version: save_table(_columns(version), path),
        lambda path: _only(pd.read_csv(path)["version"]),
    ),
    "parquet": _of_file(
        "t.parquet",
        lambda path, version: save_table(_columns(version), path),
        lambda path: _only(pd.read_parquet(path)["version"]),
    ),
    "model": _of_file("m.labelgap", _write_model, _read_model),
    "data set": _of_file("d.npz", _write_cached, _read_cached),
    "pre-annotations": _of_file("p.json", _write_annotations, _read_annotations),
    "blocks": Writer(_write_blocks, _read_blocks),
    "checkpoint": Writer(_write_checkpoint, _read_checkpoint),
    "review": _of_file("r.sqlite", _write_decision, _read_store),
}
# of one file, which SQLite writes by itself: the interpreter does not see its operations
NOT_SEEN = {"review"}
# a page takes a second
LONG = {"audit", "report page"}
# of several files: who reads one after the other may read one of each
FOLDERS = {"folder", "audit", "blocks", "checkpoint"}
