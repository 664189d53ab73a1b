"""The same items in every format and spelling give the audit of the clean matrix."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelgap import Labels, audit
from labelgap.data import DataFormatError, read_frame, read_table, write_preannotations

pandas = pytest.importorskip("pandas")
arrow = pytest.importorskip("pyarrow")

N = 90
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 3)).round(3)
NAMES = ["alpha", "beta", "gamma"]
Y = ((X + 0.4 * rng.normal(size=X.shape)) > 0.3).astype(int) * (rng.random(X.shape) < 0.8)
IDS = [f"n{k}" for k in range(N)]
ITEMS = pandas.DataFrame({"id": IDS, **{f"x{j}": X[:, j] for j in range(3)}})
TAGS = [[NAMES[j] for j in np.flatnonzero(row)] for row in Y]
CLEAN = audit(X, Labels.from_dense(Y, names=NAMES), item_ids=IDS, n_suggestions=20)


def _wide(yes, no):
    return ITEMS.join(pandas.DataFrame(np.where(Y == 1, yes, no).tolist(), columns=NAMES))


def _listed(separator):
    return ITEMS.assign(tags=[separator.join(tags) for tags in TAGS])


def _comma(folder: Path) -> dict:
    _wide("1", "0").to_csv(folder / "t.csv", index=False)
    return {"source": folder / "t.csv", "label_columns": NAMES}


def _semicolon(folder: Path) -> dict:
    _wide("yes", "no").to_csv(folder / "t.csv", index=False, sep=";", decimal=",")
    return {"source": folder / "t.csv", "label_columns": ["alpha", "*ta", "gamma"]}


def _windows(folder: Path) -> dict:
    frame = _wide("true", "false").assign(name="café au lait")
    frame.to_csv(folder / "t.csv.gz", index=False, sep="|", encoding="cp1252")
    return {"source": folder / "t.csv.gz", "label_columns": NAMES, "drop": ["name"]}


def _utf16(folder: Path) -> dict:
    _listed(";").to_csv(folder / "t.tsv", index=False, sep="\t", encoding="utf-16")
    return {"source": folder / "t.tsv", "label_columns": ["tags"]}


def _excel(folder: Path) -> dict:
    pytest.importorskip("openpyxl")
    _wide("x", "").to_excel(folder / "t.xlsx", index=False)
    return {"source": folder / "t.xlsx", "label_columns": NAMES}


def _json_lines(folder: Path) -> dict:
    lines = [
        {**row, "tags": tags} for row, tags in zip(ITEMS.to_dict("records"), TAGS, strict=True)
    ]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return {"source": folder / "t.jsonl", "label_columns": ["tags"]}


def _json_cells(folder: Path) -> dict:
    ITEMS.assign(tags=[json.dumps(tags) for tags in TAGS]).to_csv(folder / "t.csv", index=False)
    return {"source": folder / "t.csv", "label_columns": ["tags"]}


def _parquet_lists(folder: Path) -> dict:
    ITEMS.assign(tags=TAGS).to_parquet(folder / "t.parquet")
    return {"source": folder / "t.parquet", "label_columns": ["tags"]}


def _feather(folder: Path) -> dict:
    _wide(True, False).to_feather(folder / "t.feather")
    return {"source": folder / "t.feather", "label_columns": NAMES}


def _sqlite(folder: Path) -> dict:
    with sqlite3.connect(folder / "t.sqlite") as database:
        _listed(", ").to_sql("items", database, index=False)
    database.close()
    return {"source": folder / "t.sqlite", "label_columns": ["tags"]}


def _duckdb(folder: Path) -> dict:
    duckdb = pytest.importorskip("duckdb")
    frame = ITEMS.assign(tags=TAGS)
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.register("frame", frame)
        database.execute("CREATE TABLE items AS SELECT * FROM frame")
    return {"source": folder / "t.duckdb", "label_columns": ["tags"]}


def _long(folder: Path) -> dict:
    ITEMS.to_csv(folder / "t.csv", index=False)
    lines = [(i, tag, "yes") for i, tags in zip(IDS, TAGS, strict=True) for tag in tags]
    long = pandas.DataFrame(lines, columns=["id", "label", "value"]).sample(frac=1, random_state=0)
    long.to_csv(folder / "tags.csv", index=False)
    return {"source": folder / "t.csv", "label_table": folder / "tags.csv", "value": "value"}


def _saved_dataset(folder: Path) -> dict:
    """As ``datasets.Dataset.save_to_disk`` writes it."""
    numbers = [[NAMES.index(tag) for tag in tags] for tags in TAGS]
    table = arrow.Table.from_pandas(ITEMS.assign(tags=numbers), preserve_index=False)
    sink = str(folder / "data-0.arrow")
    with arrow.OSFile(sink, "wb") as file, arrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    state = {"_data_files": [{"filename": "data-0.arrow"}], "_indices_data_files": None}
    (folder / "state.json").write_text(json.dumps(state))
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}
    (folder / "dataset_info.json").write_text(json.dumps({"features": {"tags": feature}}))
    return {"source": folder, "label_columns": ["tags"]}


def _label_studio(folder: Path) -> dict:
    tasks = [
        {
            "id": row.pop("id"),
            "data": row,
            "annotations": [
                {
                    "result": [
                        {
                            "from_name": "topic",
                            "to_name": "text",
                            "type": "choices",
                            "value": {"choices": tags},
                        }
                    ]
                    if tags
                    else []
                }
            ],
        }
        for row, tags in zip(ITEMS.to_dict("records"), TAGS, strict=True)
    ]
    (folder / "t.json").write_text(json.dumps(tasks))
    return {"source": folder / "t.json", "label_columns": ["topic"]}


def _argilla(folder: Path) -> dict:
    records = [
        {
            "id": row.pop("id"),
            "fields": row,
            "suggestions": {},
            "responses": {"topic": [{"value": tags, "status": "submitted"}]},
        }
        for row, tags in zip(ITEMS.to_dict("records"), TAGS, strict=True)
    ]
    (folder / "t.json").write_text(json.dumps(records))
    return {"source": folder / "t.json", "label_columns": ["topic"]}


TABLES: list[Callable[[Path], dict]] = [
    _comma,
    _semicolon,
    _windows,
    _utf16,
    _excel,
    _json_lines,
    _json_cells,
    _parquet_lists,
    _feather,
    _sqlite,
    _duckdb,
    _long,
    _saved_dataset,
    _label_studio,
    _argilla,
]


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__[1:])
def test_a_messy_table_gives_the_audit_of_the_clean_matrix(make, tmp_path):
    found = read_table(**make(tmp_path), item="id")
    audited = audit(found, n_suggestions=20)
    assert audited.provenance.data_sha256 == CLEAN.provenance.data_sha256
    assert [(s.item, s.label) for s in audited.suggestions] == [
        (s.item, s.label) for s in CLEAN.suggestions
    ]


def test_how_a_file_was_read_is_said(tmp_path):
    found = read_table(**_semicolon(tmp_path), item="id")
    assert found.table.notes == [
        "read t.csv as text separated by ';'",
        "read numbers with a decimal comma in x0, x1, x2",
    ]
    assert found.labels_read == "read 3 label columns, written as 'yes', 'no'"
    assert (
        "read as Windows-1252 text: line 2"
        in read_table(**_windows(tmp_path), item="id").table.notes[0]
    )
    assert read_frame(_argilla(tmp_path)["source"])[1].notes == ["read as an export of Argilla"]


def test_lines_of_other_separators_are_counted(tmp_path):
    frame = _wide("yes", "no").astype({"alpha": object})
    frame.loc[4, "alpha"] = "perhaps"
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    with pytest.raises(DataFormatError, match=r"line 6: column 'alpha' holds 'perhaps'"):
        read_table(tmp_path / "t.csv", label_columns=NAMES, item="id")


def test_separators_inside_cells_do_not_confuse(tmp_path):
    (tmp_path / "t.csv").write_text('id,tags\n1,"a;b;c"\n2,a;c\n3,"x|y;z"\n')
    assert list(read_frame(tmp_path / "t.csv")[0]) == ["id", "tags"]
    (tmp_path / "u.csv").write_text('id;"name, first";tags\n1;"Doe, Jane";a,b\n2;"Roe";b\n')
    assert list(read_frame(tmp_path / "u.csv")[0]) == ["id", "name, first", "tags"]


def test_tasks_that_nobody_annotated_are_unknown(tmp_path):
    source = _label_studio(tmp_path)["source"]
    tasks = json.loads(source.read_text())
    tasks[0]["annotations"], tasks[1]["annotations"][0]["result"] = [], []
    source.write_text(json.dumps(tasks))
    labels = read_table(source, label_columns=["topic"], item="id").Y
    assert labels.n_observed(axis=1)[:3].tolist() == [0, 3, 3]
    assert labels[1:2].n_positives() == 0


@pytest.mark.parametrize("make", [_label_studio, _argilla])
def test_suggestions_go_back_as_preannotations(make, tmp_path):
    source, out = make(tmp_path)["source"], tmp_path / "new.json"
    write_preannotations(source, {"n3": [("beta", 0.9), ("gamma", 0.6)]}, "topic", out)
    (record,) = json.loads(out.read_text())
    assert record["id"] == "n3"
    if make is _argilla:
        assert record["suggestions"]["topic"]["value"] == ["beta", "gamma"]
        assert record["suggestions"]["topic"]["score"] == [0.9, 0.6]
    else:
        (prediction,) = record["predictions"]
        assert prediction["result"][0]["value"] == {"choices": ["beta", "gamma"]}
        assert prediction["result"][0]["to_name"] == "text"
    assert read_frame(out)[0]["topic"].tolist() == [None]


def test_a_file_of_no_tool_takes_no_preannotations(tmp_path):
    (tmp_path / "t.json").write_text('[{"id": 1}]')
    with pytest.raises(DataFormatError, match="no export of Label Studio or Argilla"):
        write_preannotations(tmp_path / "t.json", {}, "topic", tmp_path / "out.json")


@pytest.mark.parametrize("suffix", ["xlsx", "feather", "parquet", "json", "jsonl"])
def test_files_that_are_not_what_their_name_says(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataFormatError, match=rf"t\.{suffix}"):
        read_frame(path)
