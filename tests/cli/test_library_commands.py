"""Commands that are thin over the library: complete, compare, topics, select, extend, report."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from auditing.sample_audits import sample_audit
from cli.sample_tables import write_rows
from cli.test_audit import WIDE, item_rows
from labelgap.auditing import Decision, ReviewDecisions, impute, write_decisions
from labelgap.cli.compare import auc_of_recorded
from labelgap.labels import Labels

pytest.importorskip("jinja2")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def table():
    return write_rows(Path("items.csv"), item_rows())


def test_impute_adds_what_is_probably_missing(run, table):
    ran = run("impute", table, *WIDE, "-o", "all.csv", "--json")
    assert ran.code == 0, ran
    made = pandas.read_csv("all.csv")
    given = pandas.read_csv(table).set_index("id")
    recorded = made[made["source"] == "recorded"]
    assert len(recorded) == given[["tag_a", "tag_b", "tag_c"]].to_numpy().sum()
    added = made[made["source"] == "imputed"]
    assert len(added) == ran.json["n_added"] > 20
    assert (added["probability"] > 0.5).all()
    assert all(given.loc[row.id, row.label] == 0 for row in added.itertuples())
    truth = given.assign(tag_a=given["age"] > 0, tag_b=given["size"] > 0)
    right = [truth.loc[one.id, one.label] for one in added.itertuples() if one.label != "tag_c"]
    assert np.mean(right) > 0.7


def test_what_was_completed_can_be_read_again(run, table):
    run("impute", table, *WIDE, "-o", "all.parquet", "--threshold", 0.9)
    ran = run("fit", table, *WIDE, "--label-table", "all.parquet", "-o", "m.model")
    assert ran.code == 0, ran


def test_impute_refuses_thresholds():
    with pytest.raises(ValueError, match=r"threshold=1\.5"):
        impute(np.ones((3, 1)), np.ones((3, 1)), threshold=1.5)


def test_compare_ranks_models(run, table):
    ran = run("compare", table, *WIDE, "-m", "binary-relevance", "-m", "prior", "--json")
    assert ran.code == 0, ran
    first, last = ran.json["models"]
    assert first["model"] == "binary-relevance"
    assert first["low"] <= first[ran.json["criterion"]] <= first["high"]
    assert last["behind_low"] > 0
    shown = run("compare", table, *WIDE, "-m", "binary-relevance", "-m", "neighbors", "-o", "c.csv")
    assert "Models for items.csv" in shown.out
    assert len(pandas.read_csv("c.csv")) == 2


def test_compare_says_by_what_it_ranks_where_zeros_may_be_missing(run, table):
    models = ("-m", "binary-relevance", "-m", "prior")
    complete = run("compare", table, *WIDE, *models, "--zeros", "negative", "--json").json
    assert complete["criterion"] == "label_ranking_average_precision"
    ran = run("compare", table, *WIDE, *models, "--zeros", "unlabeled", "--json").json
    assert ran["criterion"] == "auc_of_recorded"
    first, last = ran["models"]
    assert first["model"] == "binary-relevance"
    assert first["auc_of_recorded"] > 0.6
    # the same for all rows of a label
    assert last["auc_of_recorded"] == pytest.approx(0.5, abs=0.1)
    assert "log_loss" not in first
    shown = run("compare", table, *WIDE, *models, "--zeros", "unlabeled").out
    assert "recorded against unrecorded" in " ".join(shown.split())


def test_auc_of_recorded_is_linear_in_the_true_auc():
    rng = np.random.default_rng(0)
    truth = (rng.random((4000, 2)) < 0.3).astype(int)
    recorded = truth * (rng.random(truth.shape) < [0.8, 0.4])
    labels = Labels.from_dense(recorded).with_zeros("unlabeled")
    for signal in (0.5, 2.0):
        scores = np.round(signal * truth + rng.normal(size=truth.shape), 1)
        found = auc_of_recorded(labels, scores)
        alike = [roc_auc_score(*pair) for pair in zip(recorded.T, scores.T, strict=True)]
        counts = recorded.sum(axis=0)
        rows = recorded.sum(axis=1)
        some = rows > 0
        assert np.isnan(found[~some]).all()
        # each row counts as often as it has recorded labels: the mean over them by label
        assert (found[some] * rows[some]).sum() == pytest.approx(counts @ alike)
        missing = (truth & (recorded == 0)).sum(axis=0) / (recorded == 0).sum(axis=0)
        true = np.array([roc_auc_score(*pair) for pair in zip(truth.T, scores.T, strict=True)])
        np.testing.assert_allclose(alike, (1 - missing) * true + missing / 2, atol=0.02)


def test_compare_refuses_unknown_models(fails, table):
    said = fails("compare", table, *WIDE, "-m", "magic")
    assert "--model magic: there is none; use mend, bmlpl" in said
    assert "--folds 500" in fails("compare", table, *WIDE, "--folds", 500)


def test_topics(run, table):
    ran = run("topics", table, *WIDE, "-k", 2, "--json", "-o", "t.csv")
    assert ran.code == 0, ran
    assert len(ran.json["topics"]) == 2
    assert sum(one["fraction"] for one in ran.json["topics"]) == pytest.approx(1)
    written = pandas.read_csv("t.csv")
    assert set(written["topic"]) == {1, 2}
    again = run(*shlex.split(ran.json["command"])[1:], "--json")
    assert again.json["topics"] == ran.json["topics"]
    assert "Topics of items.csv" in run("topics", table, *WIDE, "-k", 2).out


def test_select(run):
    rng = np.random.default_rng(0)
    noise = [{**row, **{f"n{k}": round(rng.normal(), 3) for k in range(4)}} for row in item_rows()]
    path = write_rows(Path("items.csv"), noise)
    arguments = ("select", path, *WIDE, "-k", 2, "--repeats", 3)
    ran = run(*arguments, "--json", "-o", "f.csv")
    assert ran.code == 0, ran
    assert {one["name"] for one in ran.json["features"]} == {"age", "size"}
    assert pandas.read_csv("f.csv")["stability"].min() > 0.5
    assert "--model" not in ran.json["command"]


def counts(rows, new):
    """How often the tags meet a new label, which is the first tag where the text says so."""
    tags = ("tag_a", "tag_b", "tag_c")
    lines = []
    for seen in tags:
        for other in tags:
            both = sum(row[seen] and row[other] for row in rows)
            lines.append({"seen": seen, "label": other, "count": both})
        both = sum(row[seen] and row["age"] > 0.5 for row in rows)
        lines.append({"seen": seen, "label": new, "count": both})
    return lines


def test_extend_predicts_labels_that_no_row_carries(run, table):
    write_rows(Path("counts.csv"), counts(item_rows(), "old"))
    ran = run("extend", table, *WIDE, "--counts", "counts.csv", "-o", "new.csv", "--json")
    assert ran.code == 0, ran
    assert ran.json["new_labels"] == ["old"]
    made = pandas.read_csv("new.csv")
    assert list(made.columns) == ["id", "old"]
    is_old = pandas.read_csv(table)["age"] > 0.5
    assert made["old"][is_old].mean() > made["old"][~is_old].mean()
    given = ("--counts", "counts.csv", "-o", "vote.csv", "-m", "vote", "--json")
    ran = run("extend", table, *WIDE, *given)
    assert ran.code == 0, ran
    assert "--model vote" in ran.json["command"]
    made = pandas.read_csv("vote.csv")
    assert made["old"][is_old].mean() > made["old"][~is_old].mean()


def test_extend_takes_texts_in_place_of_counts_and_beside_them(run, fails, table):
    texts = [{"label": "tag_a", "text": "young"}, {"label": "old", "text": "aged and old"}]
    write_rows(Path("texts.csv"), texts)
    write_rows(Path("counts.csv"), counts(item_rows(), "old"))
    given = ("extend", table, *WIDE, "--label-text", "texts.csv")
    for number, more in enumerate([(), ("--counts", "counts.csv"), ("-m", "vote")]):
        ran = run(*given, *more, "-o", f"new{number}.csv", "--json")
        assert ran.code == 0, ran
        assert ran.json["new_labels"] == ["old"]
        made = pandas.read_csv(f"new{number}.csv")
        assert made["old"].between(0, 1).all()
    assert "give --counts, --label-text, or both" in fails("extend", table, *WIDE, "-o", "n.csv")
    write_rows(Path("texts.csv"), texts[:1])
    assert "has no label beside those of items.csv" in fails(*given, "-o", "n.csv")
    write_rows(Path("texts.csv"), [{"label": "x", "definition": "y"}])
    assert "texts.csv, line 1: there is no column 'text'" in fails(*given, "-o", "n.csv")
    write_rows(Path("texts.csv"), [{"label": "x", "text": "y"}] * 2)
    assert "texts.csv, line 3: label 'x' is there twice" in fails(*given, "-o", "n.csv")


def test_extend_refuses_other_tables(fails, table):
    write_rows(Path("counts.csv"), [{"seen": "tag_a", "label": "tag_b", "count": 3}])
    arguments = ("extend", table, *WIDE, "--counts", "counts.csv", "-o", "n.csv")
    assert "carry every label that it lists" in fails(*arguments)
    write_rows(Path("counts.csv"), [{"seen": "tag_a", "name": "x", "count": 3}])
    assert "counts.csv, line 1: there is no column 'label'" in fails(*arguments)
    write_rows(Path("counts.csv"), [{"seen": "tag_a", "label": "x", "count": 3}] * 2)
    assert "counts.csv, line 3: seen and label 'tag_a', 'x' are there twice" in fails(*arguments)


def test_report_from_json(run, fails):
    Path("audit").mkdir()
    Path("audit/audit.json").write_text(sample_audit().to_json(), encoding="utf-8")
    ran = run("report", "audit", "-o", "page.html", "--json")
    assert ran.code == 0, ran
    assert ran.json["audit_id"] == sample_audit().audit_id
    assert "<html" in Path("page.html").read_text(encoding="utf-8")
    Path("other.json").write_text("{}")
    assert "other.json: this is no audit" in fails("report", "other.json", "-o", "x.html")
    assert "there is no such file" in fails("report", "absent.json", "-o", "x.html")


def test_impute_takes_what_was_decided(run, table):
    assert run("impute", table, *WIDE, "-o", "before.csv").code == 0
    before = pandas.read_csv("before.csv", dtype={"id": str})
    added = before[before["source"] == "imputed"].iloc[:2]
    first, second = (tuple(one) for one in added[["id", "label"]].to_numpy())
    assert run("audit", table, *WIDE, "-o", "audit").code == 0
    audited = json.loads(Path("audit/audit.json").read_text())["audit_id"]
    decided = [
        Decision(*first, "accept", "2026-01-05T08:30:00+00:00"),
        Decision(*second, "reject", "2026-01-05T08:31:00+00:00"),
    ]
    write_decisions(ReviewDecisions(audited, tuple(decided)), "d.json")
    ran = run("impute", table, *WIDE, "--decisions", "d.json", "-o", "after.csv")
    assert ran.code == 0, ran
    after = pandas.read_csv("after.csv", dtype={"id": str}).set_index(["id", "label"])
    assert after.loc[first, "source"] == "recorded"
    assert second not in after.index
