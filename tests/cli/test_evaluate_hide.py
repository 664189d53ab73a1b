"""``labelgap evaluate`` and ``labelgap hide``."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from cli.sample_tables import table_rows, write_rows
from labelgap import Labels, metrics
from labelgap.protocols import LABEL_PROTOCOLS

pandas = pytest.importorskip("pandas")

TAGS = ["tag_a", "tag_b"]


def _truth(path: Path) -> Labels:
    return Labels.from_frame(pandas.read_csv(path)[TAGS])


def test_model_and_predictions_give_what_the_library_gives(run, items, model):
    run("predict", model, items, "--drop", "note", "-o", "p.parquet")
    probabilities = pandas.read_parquet("p.parquet")[TAGS].to_numpy()
    decided = (probabilities > 0.5).astype(int)
    library = metrics.evaluate(_truth(items), y_proba=probabilities, y_pred=decided)
    by_model = run("evaluate", items, "-m", model, "--drop", "note", "--json").json
    by_file = run("evaluate", items, "-p", "p.parquet", "--item", "id", "--json").json
    for name, value in library.items():
        assert by_model["metrics"][name] == pytest.approx(value)
    assert by_file["metrics"] == by_model["metrics"]
    assert by_model["n_known"] == _truth(items).n_observed()


def test_every_metric_that_needs_nothing_more_is_there(run, items, model):
    values = run("evaluate", items, "-m", model, "--drop", "note", "--json").json["metrics"]
    assert set(metrics.DEFAULT_METRICS) <= set(values)
    shown = run("evaluate", items, "-m", model, "--drop", "note").out
    for name in values:
        assert name in shown


def test_rows_are_matched_by_id_and_not_by_order(run, items, model):
    run("predict", model, items, "--drop", "note", "-o", "p.csv")
    pandas.read_csv("p.csv").iloc[::-1].to_csv("turned.csv", index=False)
    ordered, turned = (
        run("evaluate", items, "-p", one, "--item", "id", "--json").json["metrics"]
        for one in ("p.csv", "turned.csv")
    )
    assert ordered == turned


def test_labels_only_give_decision_metrics(run, items, model):
    run("predict", model, items, "--drop", "note", "--give", "labels", "-o", "p.csv")
    ran = run("evaluate", items, "-p", "p.csv", "--item", "id", "--json").json
    assert ran["kind"] == "labels"
    assert "f1_micro" in ran["metrics"]
    assert "log_loss" not in ran["metrics"]


def test_long_predictions(run, items, model):
    run("predict", model, items, "--drop", "note", "-o", "p.csv")
    run("predict", model, items, "--drop", "note", "--top", "2", "-o", "t.csv")
    wide, long = (
        run("evaluate", items, "-p", one, "--item", "id", "--json").json["metrics"]
        for one in ("p.csv", "t.csv")
    )
    assert wide == long


def test_undefined_is_null_for_machines_and_said_to_people(run, items, model):
    rows = [{**row, "tag_a": 0, "tag_b": ""} for row in table_rows(4)]
    write_rows(Path("zeros.csv"), rows)
    asked = ("evaluate", "zeros.csv", "-m", model, "--drop", "note", "--metric", "auc_micro")
    assert run(*asked, "--json").json["metrics"] == {"auc_micro": None}
    assert "undefined" in run(*asked).out


def test_what_evaluate_refuses(fails, run, items, model):
    assert "either --model or --predictions" in fails("evaluate", items)
    assert "--metric nosuch: there is no such metric" in fails(
        "evaluate", items, "-m", model, "--metric", "nosuch"
    )
    run("predict", model, items, "--drop", "note", "-o", "p.csv")
    few = pandas.read_csv("p.csv").iloc[1:]
    few.to_csv("few.csv", index=False)
    assert "few.csv: has no predictions for id 'i0'" in fails(
        "evaluate", items, "-p", "few.csv", "--item", "id"
    )
    few.rename(columns={"tag_a": "x", "tag_b": "y"}).to_csv("other.csv", index=False)
    assert "items.csv: nothing says which columns are labels (looked for x, y)" in fails(
        "evaluate", items, "-p", "other.csv", "--item", "id"
    )


# -- hide -------------------------------------------------------------------------------------


def _complete(path: Path, n_samples: int = 60) -> Path:
    rng = np.random.default_rng(1)
    rows = [
        {"id": n, "x": n, **{f"l{j}": int(rng.random() < 0.4) for j in range(5)}}
        for n in range(n_samples)
    ]
    return write_rows(path, rows)


def _read_back(folder: str, name: str, suffix: str = "csv") -> Labels:
    about = json.loads((Path(folder) / "about.json").read_text())
    read = pandas.read_csv if suffix == "csv" else pandas.read_parquet
    table = read(Path(folder) / f"{name}.{suffix}")
    return Labels.from_long(
        table["id"],
        table["label"],
        table["value"],
        item_order=range(60),
        names=[f"l{j}" for j in range(5)],
        implicit=about["zeros"][name],
    )


@pytest.mark.parametrize("protocol", sorted(set(LABEL_PROTOCOLS) - {"labels"}))
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_hold_what_the_protocol_gives(run, protocol, suffix):
    full = _complete(Path("full.csv"))
    ran = run(
        "hide",
        full,
        "-l",
        "l*",
        "--item",
        "id",
        "--protocol",
        protocol,
        "--fraction",
        "0.5",
        "--random-state",
        "3",
        "-o",
        "h",
        "--table-format",
        suffix,
        "--json",
    )
    assert ran.code == 0, ran
    labels = Labels.from_frame(pandas.read_csv(full)[[f"l{j}" for j in range(5)]])
    library = LABEL_PROTOCOLS[protocol](labels, 0.5, random_state=3)
    assert _read_back("h", "labels", suffix).equals(library.labels)
    assert _read_back("h", "truth", suffix).equals(library.truth)
    assert ran.json["n_hidden"] == library.n_hidden


@pytest.mark.parametrize("protocol", ["improbable", "annotators"])
def test_positives_lost_by_people_come_with_their_propensities(run, protocol):
    full = _complete(Path("full.csv"))
    ran = run("hide", full, "-l", "l*", "--item", "id", "--protocol", protocol, "-o", "h", "--json")
    assert ran.code == 0, ran
    complete = pandas.read_csv(full)[[f"l{j}" for j in range(5)]].to_numpy()
    assert ran.json["zeros"] == {"labels": "unlabeled", "truth": "negative"}
    kept = pandas.read_csv("h/propensity.csv")
    assert len(kept) == complete.sum()
    assert kept.propensity.between(0, 1).all()
    recorded = _read_back("h", "labels").n_positives()
    assert recorded + ran.json["n_hidden"] == complete.sum()


def test_whole_labels_come_with_their_counts(run):
    full = _complete(Path("full.csv"))
    ran = run("hide", full, "-l", "l*", "--item", "id", "--protocol", "labels", "-o", "h", "--json")
    frame = pandas.read_csv(full)
    assert len(ran.json["unseen"]) == 2
    counts = pandas.read_csv("h/cooccurrence.csv")
    for line in counts.itertuples():
        assert line.count != counts.count
        both = (frame[line.seen] * frame[line.label]).sum()
        assert counts.loc[line.Index, "count"] == both


def test_the_printed_command_continues_from_the_files(run, data_dir, monkeypatch):
    monkeypatch.setenv("LABELGAP_DATA", str(data_dir))
    hidden = run("hide", "emotions", "--rows", "train", "-o", "h")
    command = hidden.out.split("next: labelgap ")[1].split()
    assert run(*command, "-m", "prior").code == 0
    scored = run(
        "evaluate",
        "emotions",
        "-m",
        "gaps.model",
        "--rows",
        "train",
        "--label-table",
        "h/truth.csv",
        "--zeros",
        "unknown",
        "--json",
    )
    assert scored.json["n_known"] == json.loads(Path("h/about.json").read_text())["n_hidden"]
    assert math.isfinite(scored.json["metrics"]["auc_micro"])


@pytest.mark.parametrize("protocol", ["entries", "labels"])
def test_the_printed_command_reads_the_rows_in_the_same_way(run, protocol, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    tags = ("tag_a", "tag_b", "tag_c", "tag_d")
    rows = [
        {"key": row, "note": ("red", "blue")[row % 2], "x": row % 7}
        | {tag: int(row % (2 + place) == 0) for place, tag in enumerate(tags)}
        for row in range(40)
    ]
    table = write_rows(Path("notes.csv"), rows)
    how = ("-l", "tag_*", "--item", "key", "--text", "note")
    hidden = run("hide", table, *how, "--protocol", protocol, "-o", "h")
    assert hidden.out.splitlines()[-1].startswith("next: labelgap ")  # one line, to copy
    ran = run(*shlex.split(hidden.out.split("next: labelgap ")[1]))
    assert ran.code == 0, ran
    if protocol == "labels":
        unseen = json.loads(Path("h/about.json").read_text())["unseen"]
        assert sorted(pandas.read_csv("new.csv").columns[1:]) == sorted(unseen)


def test_seeds_repeat_and_differ(run):
    full = _complete(Path("full.csv"))
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        run("hide", full, "-l", "l*", "--item", "id", "--random-state", seed, "-o", out)
    same, again, other = (Path(f"{one}/labels.csv").read_text() for one in "abc")
    assert same == again != other


def test_items_of_the_label_table_must_exist(fails):
    full = _complete(Path("full.csv"), 5)
    write_rows(Path("tags.csv"), [{"row": 0, "label": "a"}, {"row": 77, "label": "b"}])
    said = fails("hide", full, "-l", "l*", "--label-table", "tags.csv", "-o", "h")
    assert re.search(r"tags\.csv, line 3: item '77' is not a row of full\.csv", said)


def test_hide_leaves_nothing_behind_when_it_fails(fails, run, monkeypatch):
    full = _complete(Path("full.csv"))

    def broken(*_, **__):
        raise ValueError("disk on fire")

    monkeypatch.setattr("labelgap.cli.hide.write_table", broken)
    assert "disk on fire" in fails("hide", full, "-l", "l*", "--item", "id", "-o", "h")
    assert "is a file" in fails("hide", full, "-l", "l*", "-o", full)
