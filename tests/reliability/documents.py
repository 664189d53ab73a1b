"""Cases of documents that are JSON and say something odd: what bytes that are flipped rarely come to.

Something is left out, doubled, moved or replaced in a document that is otherwise as it should be, and
where a checksum would tell, the checksum is right: as somebody would write it by hand, or to do harm.
What is read is used: shown, written and read again.
"""

from __future__ import annotations

import atexit
import copy
import io
import json
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labelgap import data
from labelgap.auditing import (
    Audit,
    Decision,
    ReviewDecisions,
    apply_decisions,
    read_decisions,
    write_decisions,
)
from labelgap.cli._models import load_model
from labelgap.files import read_sealed, sealed
from labelgap.labels import Labels
from labelgap.report import audit_page
from labelgap.review import ReviewServer
from reliability import files
from reliability.outcomes import Outcome, outcome_of
from review.books import open_review

_DEEP = "deep"
ODD = (None, True, -1, 0, 7, 2**63, 10**400, 1e308, float("nan"), float("inf"), -0.5, "", "\ud800")
ODD += ("\0", "x" * 100_000, "nan", "=1+1", "<script>alert(1)</script>", "\u202eb", "../../etc/x")
ODD += ([], {}, [[]], {"a": {}}, [None], _DEEP)


class Kind(NamedTuple):
    """A document, what is done with another one in its place, and the package that this needs."""

    make: Callable[[], Any]
    use: Callable[[Any, Path], Any]
    package: str = "labelgap"


class Alteration(NamedTuple):
    """One case, which its seed draws."""

    seed: int
    kind: str
    n_changes: int

    def __str__(self) -> str:
        return f"{self.seed}: {self.kind}, {self.n_changes} changes"


def _text(document: Any) -> str:
    return json.dumps(document).replace(f'"{_DEEP}"', "[" * 5_000 + "]" * 5_000)


def _written(document: Any, path: Path) -> Path:
    path.write_text(_text(document), encoding="utf-8")
    return path


def _decisions() -> Any:
    entries = [("i0", "tag0", "accept"), ("i1", "tag1", "reject"), ("i0", "tag0", "reject")]
    time = "2026-01-05T08:30:00.000Z"
    answers = [Decision(item, label, said, time, "Ann") for item, label, said in entries]  # type: ignore[arg-type]
    return ReviewDecisions("a" * 16, tuple(answers)).to_dict()


def _use_decisions(document: Any, folder: Path) -> None:
    read = read_decisions(_written(document, folder / "decisions.json"))
    write_decisions(read, folder / "again.json")
    assert read_decisions(folder / "again.json").decisions == read.decisions
    labels = Labels.from_dense(np.zeros((2, 2)), zeros="unlabeled", names=["tag0", "tag1"])
    apply_decisions(labels, read, ["i0", "i1"])


def _use_audit(document: Any, folder: Path) -> None:
    path = _written(document, folder / "audit.json")
    read = Audit.from_json(path.read_bytes())
    path.write_text(read.to_json(), encoding="utf-8")
    assert Audit.from_json(path.read_bytes()) == read
    for table in ("suggestions", "labels", "items", "rare_pairs", "calibration", "claims"):
        read.to_frame(table)
    path.write_text(audit_page(read), encoding="utf-8")
    path.write_text(repr(read) + read._repr_html_(), encoding="utf-8")


@cache
def _server() -> Any:
    folder = tempfile.mkdtemp(prefix="labelgap-review-")
    server = ReviewServer(open_review(Path(folder)))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return server


def _use_request(document: Any, folder: Path) -> None:
    server = _server()
    body = _text(document).encode()
    request = {"REQUEST_METHOD": "POST", "PATH_INFO": "/api/decide", "QUERY_STRING": ""}
    request |= {"HTTP_HOST": f"127.0.0.1:{server.port}", "HTTP_X_LABELGAP_TOKEN": server.token}
    request |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
    statuses: list[str] = []
    server._respond({**request, "wsgi.input": io.BytesIO(body)}, lambda s, _: statuses.append(s))
    assert not statuses[0].startswith("5"), statuses
    server.review.store.last()


def _sealed_file(kind: str, name: str) -> tuple[Callable[[], Any], Callable[[Any, Path], Any]]:
    def make() -> Any:
        path, _ = files._whole(kind)
        return read_sealed((path / name).read_bytes())

    def use(document: Any, folder: Path) -> Any:
        path, _ = files._whole(kind)
        shutil.copytree(path, folder / "x")
        text = sealed(document) if isinstance(document, dict) else _text(document)
        (folder / "x" / name).write_text(text, encoding="utf-8")
        return files.KINDS[kind].read(folder / "x")

    return make, use


def _about() -> Any:
    path, _ = files._whole("linear.model")
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("about.json"))


def _use_about(document: Any, folder: Path) -> Any:
    path, _ = files._whole("linear.model")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(folder / "a.model", "w") as new:
        for member in old.namelist():
            is_about = member == "about.json"
            new.writestr(member, _text(document) if is_about else old.read(member))
    return load_model(folder / "a.model").estimator.predict_proba(files._features())


def _records() -> Any:
    return [{"id": f"i{k}", "x": k / 2, "tags": ["a", "b"][: k % 3]} for k in range(12)]


def _use_records(document: Any, folder: Path) -> None:
    read = data.read_table(_written(document, folder / "t.json"), item="id", label_columns=["tags"])
    read.Y.to_tag_sets()


def _tasks() -> Any:
    result = {"from_name": "topic", "to_name": "text", "value": {"choices": ["a"]}}
    annotations = [{"result": [result | {"type": "choices"}]}]
    return [
        {"id": k, "data": {"text": f"hi {k}", "x": k}, "annotations": annotations[: k % 2]}
        for k in range(8)
    ]


def _use_tasks(document: Any, folder: Path) -> None:
    path = _written(document, folder / "tasks.json")
    suggested = {"2": [("a", 0.9)], "4": [("b", 0.5), ("a", 0.4)]}
    data.write_preannotations(path, suggested, "topic", folder / "out.json")
    data.read_table(path, item="id", label_columns=["topic"])


def _saved_rows(folder: Path) -> None:
    import pyarrow as pa

    table = pa.table({"x": [0.0, 1.0, 2.0], "tags": [0, 1, 0]})
    with (
        pa.OSFile(str(folder / "data.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as out,
    ):
        out.write_table(table)


def _saved_state() -> Any:
    feature = {"names": ["no", "yes"], "_type": "ClassLabel"}
    state = {"_data_files": [{"filename": "data.arrow"}], "_indices_data_files": None}
    return {"state": state, "info": {"features": {"x": {"_type": "Value"}, "tags": feature}}}


def _use_saved(document: Any, folder: Path) -> None:
    saved = folder / "saved"
    saved.mkdir()
    _saved_rows(saved)
    parts = document if isinstance(document, dict) else {}
    _written(parts.get("state"), saved / "state.json")
    _written(parts.get("info"), saved / "dataset_info.json")
    data.read_table(saved, label_columns=["tags"])


KINDS: dict[str, Kind] = {
    "decisions": Kind(_decisions, _use_decisions),
    "audit": Kind(lambda: json.loads(files._audit().to_json()), _use_audit, "jinja2"),
    "request": Kind(
        lambda: {
            "item": "b3",
            "label": "jazz",
            "decision": "accept",
            "reviewer": "Ann",
            "request": "r1",
            "comment": "sure",
        },
        _use_request,
        "waitress",
    ),
    "blocks": Kind(*_sealed_file("blocks", "manifest.json")),
    "checkpoint": Kind(*_sealed_file("checkpoint", "current.json")),
    "model": Kind(_about, _use_about, "skops"),
    "records": Kind(_records, _use_records),
    "annotations": Kind(_tasks, _use_tasks),
    "saved data set": Kind(_saved_state, _use_saved, "pyarrow"),
}


def draw(seed: int) -> Alteration:
    """The case of a seed; every kind in turn."""
    rng = np.random.default_rng(seed)
    return Alteration(seed, list(KINDS)[seed % len(KINDS)], int(rng.integers(1, 4)))


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each container below, with a key or a position in it."""
    if isinstance(document, (dict, list)):
        keys = list(document) if isinstance(document, dict) else range(len(document))
        for key in keys:
            yield document, key
            yield from _places(document[key])


def altered(document: Any, rng: np.random.Generator) -> Any:
    """The document with one thing changed."""
    root = [copy.deepcopy(document)]
    places = list(_places(root))
    # by its name first, that long lists of the same do not have all the changes
    by_name: dict[Any, list[tuple[Any, Any]]] = {}
    for place in places:
        by_name.setdefault(place[1] if isinstance(place[1], str) else 0, []).append(place)
    same = by_name[list(by_name)[int(rng.integers(len(by_name)))]]
    holder, key = same[int(rng.integers(len(same)))]
    action = str(rng.choice(["odd", "odd", "remove", "double", "rename", "other"]))
    value = copy.deepcopy(holder[key])
    if action == "remove" and holder is not root:
        del holder[key]
    elif action == "double" and isinstance(holder, list) and holder is not root:
        holder.insert(key, value)
    elif action == "rename" and isinstance(holder, dict):
        holder[str(rng.choice(["", "x", "schema", f"{key} "]))] = holder.pop(key)
    elif action == "other":
        other, place = places[int(rng.integers(len(places)))]
        holder[key] = copy.deepcopy(other[place])
    else:
        holder[key] = ODD[int(rng.integers(len(ODD)))]
    return root[0]


def run(case: Alteration) -> Outcome:
    """Change a document and use it."""
    kind = KINDS[case.kind]
    if find_spec(kind.package) is None:
        return Outcome("not installed", kind.package)
    rng = np.random.default_rng([case.seed, 2])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        document = kind.make()
        for _ in range(case.n_changes):
            document = altered(document, rng)
        with tempfile.TemporaryDirectory() as folder:
            found = outcome_of(lambda: kind.use(document, Path(folder)))
    return found._replace(value=None)
