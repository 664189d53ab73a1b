"""A table nobody prepared, through every command: audit, report, review, fit, predict, export."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from first_hour.conftest import TAGS
from labelgap.data import read_frame
from labelgap.review import DecisionStore, ReviewServer

pytest.importorskip("jinja2")
N_ANSWERS = 12


def _semicolons_and_yes_no(songs, emojis) -> tuple[str, list[str]]:
    words = songs.rename(columns={"song": "Titel"})
    words[TAGS] = words[TAGS].replace({1: "ja", 0: "nein"})
    words.loc[::9, "sad"] = ""
    words.to_csv("lieder.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    return "lieder.csv", ["--labels", ",".join(TAGS), "--item", "Titel"]


def _tags_and_text(songs, emojis) -> tuple[str, list[str]]:
    emojis.to_csv("emojis.csv", index=False)
    return "emojis.csv", ["--labels", "tags", "--item", "id", "--text", "text"]


def _label_studio(songs, emojis) -> tuple[str, list[str]]:
    made = {"from_name": "kind", "to_name": "text", "type": "choices"}
    tasks = [
        {
            "id": 7000 + k,
            "data": {"text": row.text},
            "annotations": [
                {"id": k, "result": [{**made, "value": {"choices": row.tags.split(";")}}]}
            ]
            if row.tags
            else [],
        }
        for k, row in enumerate(emojis.itertuples())
    ]
    Path("tasks.json").write_text(json.dumps(tasks))
    return "tasks.json", ["--labels", "kind", "--text", "text"]


@pytest.mark.parametrize("make", [_semicolons_and_yes_no, _tags_and_text, _label_studio])
def test_from_the_table_to_a_file_for_other_programs(
    make, run, songs, emojis, tmp_path, monkeypatch
):
    onnxruntime = pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    table, options = make(songs, emojis)

    audited = run("audit", table, *options, "--suggestions", "100", "-o", "report")
    assert audited.code == 0, audited
    command = next(line for line in audited.out.splitlines() if "labelgap review" in line)
    assert "labelgap review report/audit.json --db decisions.sqlite" in command
    assert run("report", "report", "-o", "again.html").code == 0
    assert Path("again.html").stat().st_size > 10_000

    def answer(server: ReviewServer) -> None:
        for number, question in enumerate(server.review.next_batch("Ann", N_ANSWERS)):
            what = "accept" if number % 2 else "reject"
            server.review.decide(question.suggestion.item, question.suggestion.label, what, "Ann")
        raise KeyboardInterrupt

    monkeypatch.setattr(ReviewServer, "serve_forever", answer)
    reviewed = run("review", "report/audit.json", "--db", "decisions.sqlite")
    assert "6 accepted and 6 rejected" in reviewed.err
    decided = DecisionStore("decisions.sqlite").answers().last()

    linear = ("--model", "binary-relevance", "--decisions", "decisions.sqlite", "-o", "m")
    plain = run("fit", table, *options, *linear[:2], "-o", "plain", "--json").json
    fitted = run("fit", table, *options, *linear, "--json")
    assert fitted.code == 0, fitted
    assert fitted.json["n_decisions"] == N_ANSWERS
    assert fitted.json["n_positives"] == plain["n_positives"] + 6

    # the table it learned from, as it is
    predicted = run("predict", "m", table, "-o", "p.parquet")
    assert predicted.code == 0, predicted
    proba = pd.read_parquet("p.parquet")
    items, labels = proba.columns[0], list(proba.columns[1:])
    assert {str(one) for one in proba[items]} >= {item for item, _ in decided}

    if make is _semicolons_and_yes_no:
        X = {"features": read_frame(table)[0].drop(columns=[*TAGS, "Titel"]).to_numpy(float)}
    else:
        X = {"texts": emojis["text"].to_numpy(dtype=object)}
    assert run("export", "m", "-o", "m.onnx").code == 0
    given = onnxruntime.InferenceSession("m.onnx").run(["probabilities"], X)[0]
    np.testing.assert_allclose(given, proba[labels], atol=1e-5)


def test_suggestions_go_back_to_the_tasks_they_are_about(run, songs, emojis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, options = _label_studio(songs, emojis)
    assert run("audit", table, *options, "-o", "report").code == 0
    found = json.loads(Path("report/audit.json").read_text())
    text_of = {
        str(task["id"]): task["data"]["text"] for task in json.loads(Path(table).read_text())
    }
    assert {one["item"] for one in found["suggestions"]} <= set(text_of)
    made = json.loads(Path("report/preannotations.json").read_text())
    sure = {(one["item"], one["label"]) for one in found["suggestions"] if one["probability"] > 0.5}
    given = {
        (str(task["id"]), label)
        for task in made
        for label in task["predictions"][0]["result"][0]["value"]["choices"]
    }
    assert given == sure
    assert made
    assert all(task["data"]["text"] == text_of[str(task["id"])] for task in made)


def test_a_column_of_ids_that_is_read_as_a_feature_is_said(run, songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    songs.drop(columns="song")[:80].to_csv("songs.csv")
    said = run("fit", "songs.csv", "--labels", ",".join(TAGS), "-m", "prior", "-o", "m").err
    assert "'Unnamed: 0' is a feature" in " ".join(said.split())
    assert "give --item 'Unnamed: 0'" in " ".join(said.split())


def test_what_a_fit_left_out_is_no_feature_of_new_rows(run, table, songs):
    left = songs.assign(comment="a word", rank=range(len(songs)))
    left.to_csv("more.csv", index=False)
    read = ("--labels", ",".join(TAGS), "--item", "song", "--drop", "comment", "--drop", "rank")
    assert run("fit", "more.csv", *read, "-m", "prior", "-o", "m").code == 0
    assert run("predict", "m", "more.csv", "-o", "p.csv").code == 0
    assert run("predict", "m", table, "-o", "q.csv").code == 0
    assert Path("p.csv").read_bytes() == Path("q.csv").read_bytes()


def test_a_database_is_asked_for_its_tables(run, songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("songs.sqlite")) as database:
        songs[["song", "f0", "f1"]].to_sql("songs", database, index=False)
        long = songs.melt("song", TAGS, "mood").query("value == 1")[["song", "mood"]]
        long.to_sql("moods", database, index=False)
    fit = ("fit", "songs.sqlite", "--item", "song", "-m", "prior", "-o", "m", "--json")
    said = " ".join(run(*fit, "--labels", "happy").err.split())
    assert "--query" in said
    assert "'SELECT * FROM moods'" in said
    tables = ("--query", "SELECT * FROM songs", "--label-query", "SELECT * FROM moods")
    said = " ".join(run(*fit, *tables).err.split())
    assert (
        "--label-column label: songs.sqlite has no such column; its columns are song, mood" in said
    )
    fitted = run(*fit, *tables, "--label-column", "mood")
    assert fitted.json["n_positives"] == songs[TAGS].to_numpy().sum()
