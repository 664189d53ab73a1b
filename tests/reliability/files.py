"""Cases of damaged files: every reader, models, blocks, checkpoints and databases."""

from __future__ import annotations

import atexit
import bz2
import gzip
import lzma
import pickle
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.io import savemat

from labelgap import BMLPL, audit, data
from labelgap.auditing import ReviewDecisions, read_decisions, write_decisions
from labelgap.auditing._audit_result import Audit
from labelgap.cli._models import load_model
from labelgap.fitting import write_blocks
from labelgap.generators import make_positive_only
from labelgap.review import DecisionStore
from reliability.outcomes import Outcome, outcome_of

DAMAGES = ("flip", "flips", "cut", "zeros", "swap", "random", "tail", "empty")


class Kind(NamedTuple):
    """How files of a kind are made and read; whether they carry checksums of their contents."""

    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    is_checked: bool = False
    package: str = "labelgap"


class Damage(NamedTuple):
    """One case, which its seed draws."""

    seed: int
    kind: str
    damage: str

    def __str__(self) -> str:
        return f"{self.seed}: {self.kind}, {self.damage}"


def _features() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (30, 4)) / 2.0
    X[0] = 1
    return X


def _labels() -> np.ndarray:
    return (np.random.default_rng(1).random((30, 3)) > 0.5).astype(int)


def _frame() -> pd.DataFrame:
    columns = {"id": [f"i{k}" for k in range(30)]}
    columns |= {f"f{j}": _features()[:, j] for j in range(4)}
    return pd.DataFrame(columns | {f"tag{j}": _labels()[:, j] for j in range(3)})


def _plain(found: Any) -> Any:
    X = found.X.toarray() if sparse.issparse(found.X) else np.asarray(found.X)
    return X, found.Y.states()


def _read_table(path: Path) -> Any:
    return _plain(data.read_table(path, item="id", label_columns=["tag0", "tag1", "tag2"]))


def _compressed(compress: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(compress(_frame().to_csv(index=False).encode()))


def _write_arff(path: Path) -> None:
    names = [f"@attribute f{j} numeric" for j in range(4)]
    names += [f"@attribute t{j} {{0,1}}" for j in range(3)]
    rows = np.hstack([_features(), _labels()]).tolist()
    lines = ["@relation toy", *names, "@data", *(",".join(f"{v:g}" for v in row) for row in rows)]
    path.write_text("\n".join(lines))


def _write_lines(path: Path, header: str = "") -> None:
    lines = [
        ",".join(map(str, np.flatnonzero(y)))
        + " "
        + " ".join(f"{j}:{x[j]:g}" for j in np.flatnonzero(x))
        for x, y in zip(_features(), _labels(), strict=True)
    ]
    path.write_text(header + "\n".join(lines) + "\n")


def _write_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    _frame().to_sql("items", connection, index=False)
    connection.close()


def _write_duckdb(path: Path) -> None:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        frame = _frame()  # noqa: F841
        connection.execute("CREATE TABLE items AS SELECT * FROM frame")


@cache
def _audit() -> Audit:
    made = make_positive_only(120, 10, 4, density=0.3, random_state=0)
    return audit(made.X, made.labels, n_suggestions=5, random_state=0)


def _write_store(path: Path) -> None:
    store = DecisionStore(path, "a" * 16)
    for k in range(20):
        store.add(f"i{k}", "sky", "accept", "me", request=f"r{k}")


def _read_store(path: Path) -> Any:
    return [tuple(one[1:4]) for one in DecisionStore(path, "a" * 16).last()]


def _write_model(name: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from typer.testing import CliRunner

        from labelgap.cli._app import app

        table = path.with_suffix(".csv")
        _frame().to_csv(table, index=False)
        command = ["fit", str(table), "-l", "tag*", "--item", "id", "-m", name, "-o", str(path)]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        table.unlink()

    return write


def _read_model(path: Path) -> Any:
    return load_model(path).estimator.predict_proba(_features())


def _bmlpl(**settings: Any) -> Any:
    return BMLPL(2, max_iter=2, tol=0, random_state=0, **settings)


def _write_rows(path: Path) -> None:
    write_blocks(path, (_features(), _labels()), block_rows=12)


def _write_checkpoint(path: Path) -> None:
    _bmlpl(checkpoint=str(path), checkpoint_every=1).fit(_features(), _labels())


def _read_checkpoint(path: Path) -> Any:
    model = _bmlpl(checkpoint=str(path), checkpoint_every=1).set_params(max_iter=4)
    return model.fit(_features(), _labels()).predict_proba(_features())


KINDS: dict[str, Kind] = {
    "t.csv": Kind(lambda path: _frame().to_csv(path, index=False), _read_table),
    "t.csv.gz": Kind(_compressed(gzip.compress), _read_table, True),
    "t.csv.bz2": Kind(_compressed(bz2.compress), _read_table, True),
    "t.csv.xz": Kind(_compressed(lzma.compress), _read_table, True),
    "t.parquet": Kind(lambda path: _frame().to_parquet(path), _read_table, package="pyarrow"),
    "t.feather": Kind(lambda path: _frame().to_feather(path), _read_table, package="pyarrow"),
    "t.xlsx": Kind(
        lambda path: _frame().to_excel(path, index=False), _read_table, package="openpyxl"
    ),
    "t.json": Kind(lambda path: _frame().to_json(path, orient="records"), _read_table),
    "t.jsonl": Kind(lambda path: _frame().to_json(path, orient="records", lines=True), _read_table),
    "t.sqlite": Kind(_write_sqlite, _read_table),
    "t.duckdb": Kind(_write_duckdb, _read_table, package="duckdb"),
    "t.npz": Kind(
        lambda path: np.savez_compressed(path, X=_features(), Y=_labels().astype(float)),
        lambda path: _plain(data.read_npz(path)),
        True,
    ),
    "t.pickle": Kind(
        lambda path: path.write_bytes(pickle.dumps({"X": _features(), "y": _labels()})),
        lambda path: _plain(data.read_array_pickle(path)),
    ),
    "t.arff": Kind(_write_arff, lambda path: _plain(data.read_arff(path, -3))),
    "t.xc": Kind(
        lambda path: _write_lines(path, "30 4 3\n"), lambda path: _plain(data.read_xc(path))
    ),
    "t.svm": Kind(_write_lines, lambda path: _plain(data.read_svmlight(path, zero_based=True))),
    "t.mat": Kind(
        lambda path: savemat(
            path, {"data": sparse.csr_array(_features()), "target": _labels() * 1.0}
        ),
        lambda path: _plain(data.read_mat(path)),
    ),
    "t.z.mat": Kind(
        lambda path: savemat(
            path, {"data": _features(), "target": _labels() * 1.0}, do_compression=True
        ),
        lambda path: _plain(data.read_mat(path)),
    ),
    "decisions.json": Kind(
        lambda path: write_decisions(ReviewDecisions("a" * 16, ()), path),
        lambda path: str(read_decisions(path)),
    ),
    "audit.json": Kind(
        lambda path: path.write_text(_audit().to_json()),
        lambda path: Audit.from_json(path.read_bytes()).audit_id,
    ),
    "review.sqlite": Kind(_write_store, _read_store),
    "neighbors.model": Kind(_write_model("neighbors"), _read_model, True, "skops"),
    "linear.model": Kind(_write_model("binary-relevance"), _read_model, True, "skops"),
    "blocks": Kind(_write_rows, lambda path: _bmlpl().fit(path).predict_proba(_features()), True),
    "checkpoint": Kind(_write_checkpoint, _read_checkpoint, True),
}


@cache
def _home() -> Path:
    folder = tempfile.mkdtemp(prefix="labelgap-damage-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _whole(kind: str) -> tuple[Path, Any]:
    """A file (or folder) that is as it should be, and what is read from a copy of it."""
    path = _home() / "whole" / kind
    path.parent.mkdir(exist_ok=True)
    KINDS[kind].make(path)
    return path, KINDS[kind].read(_copy(path))


def _copy(path: Path) -> Path:
    copy = _home() / "damaged" / path.name
    shutil.rmtree(copy.parent, ignore_errors=True)
    copy.parent.mkdir()
    (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
    return copy


def draw(seed: int) -> Damage:
    """The case of a seed; every kind in turn."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    return Damage(seed, kind, str(rng.choice(DAMAGES)))


def damaged(whole: bytes, damage: str, rng: np.random.Generator) -> bytes:
    """The bytes of a file with something wrong."""
    changed = bytearray(whole)
    n = len(changed)
    if not n or damage == "empty":
        return b""
    if damage in ("flip", "flips"):
        for place in rng.integers(0, n, 1 if damage == "flip" else 8):
            changed[place] ^= 1 << int(rng.integers(8))
    elif damage == "cut":
        del changed[int(rng.integers(n)) :]
    elif damage in ("zeros", "random"):
        start = int(rng.integers(n))
        stop = min(n, start + int(rng.integers(1, 64)))
        changed[start:stop] = bytes(stop - start) if damage == "zeros" else rng.bytes(stop - start)
    elif damage == "swap":
        middle = int(rng.integers(n))
        changed = changed[middle:] + changed[:middle]
    else:
        changed += rng.bytes(int(rng.integers(1, 64)))
    return bytes(changed)


def run(case: Damage) -> Outcome:
    """Damage a copy, read it, and compare what was read where the file has checksums."""
    rng = np.random.default_rng([case.seed, 1])
    kind = KINDS[case.kind]
    if find_spec(kind.package) is None:
        return Outcome("not installed", kind.package)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path, expected = _whole(case.kind)
        copy = _copy(path)
        files = sorted(one for one in copy.rglob("*") if one.is_file()) if copy.is_dir() else [copy]
        file = files[int(rng.integers(len(files)))]
        file.write_bytes(damaged(file.read_bytes(), case.damage, rng))
        found = outcome_of(lambda: kind.read(copy))
    if found.kind == "right" and kind.is_checked and not _same(found.value, expected):
        return Outcome("wrong answer", f"another answer from a damaged {file.name}")
    return found._replace(value=None)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, tuple):
        return all(map(_same, first, second))
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    return bool(first == second)
