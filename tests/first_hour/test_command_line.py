"""The command line, the first hour: from a real table to figures that mean what they say."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from first_hour.conftest import TAGS
from labelgap import BinaryRelevance, Mend, as_labels, audit, impute, metrics
from labelgap.auditing import feature_rows, select_features
from labelgap.cli._terminal import Terminal
from labelgap.review import DecisionStore, ReviewServer

LABELS = ("--labels", ",".join(TAGS), "--item", "song")


def test_the_table_that_is_audited_is_the_table_that_is_fitted(run, table, songs):
    left = songs.copy()
    gone = np.random.default_rng(0).random(left[TAGS].shape) < 0.4
    left[TAGS] = left[TAGS].where(~(gone & (left[TAGS] == 1)), 0)
    left.to_csv("lost.csv", index=False)
    fitted = run("fit", "lost.csv", *LABELS, "--set", "preset='fast'", "-o", "lost.model", "--json")
    assert fitted.json["zeros"] == "unlabeled"
    assert fitted.json["fraction_known"] < 0.3
    shown = run("fit", "lost.csv", *LABELS, "--set", "preset='fast'", "-o", "lost.model").out
    assert "100.0%" not in shown
    assert "unlabeled" in shown


def test_decisions_are_those_of_the_model(run, table, songs):
    run(
        "fit", table, *LABELS, "--set", "preset='fast'", "--zeros", "unlabeled", "-o", "songs.model"
    )
    run("predict", "songs.model", table, "--item", "song", "-o", "p.csv")
    run("predict", "songs.model", table, "--item", "song", "--give", "labels", "-o", "y.csv")
    half = ("--threshold", "0.5", "-o", "half.csv")
    run("predict", "songs.model", table, "--item", "song", "--give", "labels", *half)
    proba, decided, at_half = (pd.read_csv(name)[TAGS] for name in ("p.csv", "y.csv", "half.csv"))
    assert at_half.equals((proba > 0.5).astype(int))
    # thresholds of expected F1 differ from 0.5
    assert not decided.equals(at_half)
    for tag in TAGS:
        assert proba[tag][decided[tag] == 1].min() > proba[tag][decided[tag] == 0].max()
    metric = ("--metric", "hamming_loss")
    found = run("evaluate", table, *LABELS, "--model", "songs.model", *metric, "--json").json
    wrong = (decided.to_numpy() != songs[TAGS].to_numpy()).mean()
    assert found["metrics"]["hamming_loss"] == pytest.approx(wrong)


def test_figures_of_the_training_rows_are_called_that(run, table, songs):
    songs[:300].to_csv("train.csv", index=False)
    songs[300:].to_csv("test.csv", index=False)
    run("fit", "train.csv", *LABELS, "--set", "preset='fast'", "-o", "songs.model")
    own = run("evaluate", "train.csv", *LABELS, "--model", "songs.model")
    assert "in-sample" in own.out
    other = run("evaluate", "test.csv", *LABELS, "--model", "songs.model")
    assert "in-sample" not in other.out
    both = run("evaluate", table, *LABELS, "--model", "songs.model", "--json").json
    assert both["n_learned"] == 300
    values = list(both["metrics"].values())
    assert len(set(values)) == len(values)


def test_a_complete_table_is_left_alone(run, table):
    added = run("impute", table, *LABELS, "-o", "more.csv", "--json").json
    assert added["n_added"] == 0
    told = " ".join(run("impute", table, *LABELS, "-o", "more.csv").out.split())
    assert "only where the table itself shows that labels are missing" in told
    assumed = run("impute", table, *LABELS, "--zeros", "unlabeled", "-o", "all.csv", "--json")
    assert assumed.json["n_added"] > 0


def test_an_option_is_given_once(run, table):
    ran = run("fit", table, *LABELS, "--text", "f1", "--text", "f2", "-o", "no.model")
    assert ran.code == 2
    assert "--text is given 2 times" in " ".join(ran.err.split())
    assert not Path("no.model").exists()


def test_extend_runs_as_its_help_says(run, data_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.split("#")[0].strip(" │") for line in run("extend", "--help").out.splitlines()]
    tried = [line.replace("yeast", "emotions") for line in lines if " yeast " in line]
    assert [shlex.split(line)[1] for line in tried] == ["hide", "extend"]
    for line in tried:
        extra = ["--model", "vote"] if " extend " in line else []
        ran = run(*shlex.split(line)[1:], *extra)
        assert ran.code == 0, ran
    assert len(pd.read_csv("new.csv").columns) > 1


@pytest.mark.parametrize("protocol", ["entries", "positives", "labels"])
def test_what_hide_recommends_can_be_run(run, table, protocol):
    shown = run("hide", table, *LABELS, "--protocol", protocol, "-o", "hidden")
    assert shown.code == 0, shown
    line = next(one for one in shown.out.splitlines() if one.startswith("next: "))
    command = shlex.split(line.removeprefix("next: "))[1:]
    expected = "extend" if protocol == "labels" else "fit"
    assert command[0] == expected
    extra = ["--set", "preset='fast'"] if expected == "fit" else ["--model", "vote"]
    ran = run(*command, *extra, "--json")
    assert ran.code == 0, ran
    if protocol == "labels":
        about = json.loads(Path("hidden/about.json").read_text())
        assert set(ran.json["new_labels"]) == set(about["unseen"])
        whole = run("extend", table, *LABELS, "--counts", "hidden/cooccurrence.csv", "-o", "x.csv")
        assert "carry every label" in whole.err
    else:
        expected_zeros = "unlabeled" if protocol == "positives" else "negative"
        assert ran.json["zeros"] == expected_zeros


def test_a_report_shows_what_the_item_says(run, table, songs):
    left = songs.copy()
    left["note"] = [
        f"a song that is {' and '.join(t for t in TAGS if row[t])}" for _, row in songs.iterrows()
    ]
    gone = np.random.default_rng(0).random(left[TAGS].shape) < 0.4
    left[TAGS] = left[TAGS].where(~(gone & (left[TAGS] == 1)), 0)
    left.to_csv("noted.csv", index=False)
    ran = run(
        "audit", "noted.csv", *LABELS, "--text", "note", "-o", "report", "--suggestions", "20"
    )
    assert ran.code == 0, ran
    found = json.loads(Path("report/audit.json").read_text())
    by_song = left.set_index("song")
    for one in found["suggestions"]:
        cells = dict(one["cells"])
        assert cells["note"] == by_song.loc[one["item"], "note"]
        recorded = [tag for tag in TAGS if by_song.loc[one["item"], tag]]
        assert cells["recorded labels"] == (", ".join(recorded) or "none")
    run("audit", table, *LABELS, "--zeros", "unlabeled", "-o", "plain")
    plain = json.loads(Path("plain/audit.json").read_text())["suggestions"]
    assert all(len(one["cells"]) == 6 for one in plain)


def test_what_is_known_of_a_row_tells_about_the_rest(run, table, songs):
    songs[:400].to_csv("train.csv", index=False)
    test = songs[400:].reset_index(drop=True)
    test.to_csv("new.csv", index=False)
    known = test.copy()
    known[["quiet", "sad", "angry"]] = np.nan
    known.to_csv("half.csv", index=False)
    run("fit", "train.csv", *LABELS, "--zeros", "negative", "-o", "songs.model")
    predict = ("predict", "songs.model", "new.csv", "--item", "song")
    run(*predict, "-o", "plain.csv")
    told = run(*predict, "--known", "half.csv", "-o", "told.csv", "--json")
    assert told.json["n_known"] == 3 * len(test)
    plain, told = (pd.read_csv(name) for name in ("plain.csv", "told.csv"))
    given = ["amazed", "happy", "relaxed"]
    assert told[given].to_numpy().tolist() == test[given].to_numpy().tolist()

    def loss(given: pd.DataFrame) -> float:
        truth = test[["quiet", "sad", "angry"]]
        p = given[truth.columns].where(truth == 1, 1 - given[truth.columns])
        return float(-np.log(p).mean(axis=None))

    assert loss(told) < 0.95 * loss(plain)
    # the same as a long table
    known.melt("song", TAGS, "label").dropna().to_csv("pairs.csv", index=False)
    run(*predict, "--known", "pairs.csv", "-o", "long.csv")
    assert Path("long.csv").read_bytes() == Path("told.csv").read_bytes()
    # what is there of a column that lists labels is known, and nothing else
    tags = [
        ";".join(t for t in ("amazed", "happy", "relaxed") if row[t]) for _, row in test.iterrows()
    ]
    pd.DataFrame({"song": test["song"], "tags": tags}).to_csv("tags.csv", index=False)
    told = run(*predict, "--known", "tags.csv", "-o", "listed.csv", "--json")
    assert told.json["n_known"] == test[given].to_numpy().sum()
    run(*predict, "--known", "half.csv", "--give", "next", "-o", "next.csv")
    assert set(pd.read_csv("next.csv")["label"]) <= {"quiet", "sad", "angry"}
    run("fit", "train.csv", *LABELS, "-m", "neighbors", "-o", "near.model")
    refused = run("predict", "near.model", "new.csv", "--item", "song", "--known", "half.csv")
    assert refused.code == 2
    assert "fit a model with --model mend" in " ".join(refused.err.split())


def test_the_review_of_an_audit_shows_its_items_and_takes_no_options_of_tables(
    run, table, monkeypatch
):
    pytest.importorskip("jinja2")
    run("audit", table, *LABELS, "--zeros", "unlabeled", "--suggestions", "20", "-o", "report")
    refused = run("review", "report/audit.json", "--text", "note")
    assert refused.code == 2
    assert "leave out all options of tables" in " ".join(refused.err.split())
    servers = []
    monkeypatch.setattr(ReviewServer, "serve_forever", lambda server: servers.append(server))
    # the folder of an audit stands for its audit.json
    assert run("review", "report").code == 0
    (question,) = servers[0].review.next_batch("Ann", 1)
    assert set(question.about) == set(dict(question.suggestion.cells))
    assert "recorded labels" in question.about


def test_choosing_features_says_how_far_it_is(songs):
    heard = []
    select_features(
        feature_rows(songs.filter(like="f").to_numpy()[:100, :12]),
        as_labels(songs[TAGS].to_numpy()[:100]),
        3,
        n_repeats=4,
        progress=lambda stage, done, total: heard.append((done, total)),
    )
    assert heard == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_the_column_that_lists_labels_is_named(run, songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = [f"number {k}; side {k % 7}" for k in range(len(songs))]
    tags = [";".join(tag for tag in TAGS if row[tag]) for _, row in songs.iterrows()]
    frame = pd.DataFrame(
        {"song": songs["song"], "note": notes, "mood tags": tags, "f": songs["f0"]}
    )
    frame.to_csv("listed.csv", index=False)
    said = " ".join(run("audit", "listed.csv").err.split())
    assert "column 'mood tags' looks like one that lists labels: --labels 'mood tags'" in said


def test_columns_of_yes_and_no_are_named(run, songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = songs.copy()
    words[TAGS] = words[TAGS].replace({1: "ja", 0: "nein"})
    words.to_csv("lieder.csv", index=False, sep=";", decimal=",")
    said = " ".join(run("audit", "lieder.csv").err.split())
    named = f"--labels {','.join(TAGS)}"
    assert named in said
    assert run("audit", "lieder.csv", *shlex.split(named), "--item", "song").code == 0


COMMANDS = [
    *("audit", "review", "fit", "impute", "compare", "evaluate", "extend", "select", "topics"),
    *("predict", "export", "hide", "report", "decisions", "demo", "datasets", "diff"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_one_option_says_what_zeros_mean(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    options = set(re.findall(r"--[a-z][a-z-]+", run(command, "--help").out))
    learns = {"audit", "review", "fit", "impute", "compare", "extend", "select", "topics"}
    assert ("--zeros" in options) or command not in learns
    assert not options & {"--unstated", "--implicit", "--ambiguous", "--unlabeled", "--seed-state"}


def test_decisions_go_from_file_to_file(run, table, songs):
    left = songs.copy()
    gone = np.random.default_rng(0).random(left[TAGS].shape) < 0.4
    left[TAGS] = left[TAGS].where(~(gone & (left[TAGS] == 1)), 0)
    left.to_csv("lost.csv", index=False)
    read = ("lost.csv", *LABELS, "--suggestions", "30")
    run("audit", *read, "-o", "report")
    found = json.loads(Path("report/audit.json").read_text())
    for name, part in (("Ann", slice(0, 6)), ("Bob", slice(4, 10))):
        store = DecisionStore(f"{name}.sqlite", found["audit_id"])
        for one in found["suggestions"][part]:
            what = "accept" if name == "Ann" else "reject"
            store.add(one["item"], one["label"], what, name)
    assert run("decisions", "merge", "Ann.sqlite", "Bob.sqlite", "-o", "all.sqlite").code == 0
    assert run("decisions", "export", "all.sqlite", "-o", "all.json").code == 0
    assert run("decisions", "import", "all.json", "-o", "again.sqlite").code == 0
    agreed = run("decisions", "agreement", "all.sqlite").out
    assert "Ann" in agreed
    assert "Bob" in agreed
    decided = {(one["item"], one["label"]) for one in found["suggestions"][:10]}
    ids = []
    for name in ("all.sqlite", "all.json", "again.sqlite"):
        ran = run("audit", *read, "--decisions", name, "-o", "next")
        assert ran.code == 0, ran
        after = json.loads(Path("next/audit.json").read_text())
        assert after["provenance"]["n_decisions"] == 10
        assert not {(one["item"], one["label"]) for one in after["suggestions"]} & decided
        ids.append([(one["item"], one["label"]) for one in after["suggestions"]])
    assert ids[0] == ids[1] == ids[2]


def test_a_column_of_text_is_not_printed_whole(run, emojis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    emojis.assign(tags="smile", story=emojis["text"] * 40).to_csv("long.csv", index=False)
    ran = run("fit", "long.csv", "--labels", "story", "--item", "id", "-o", "m")
    assert ran.code == 2
    assert "each row has a text of its own" in " ".join(ran.err.split())
    assert len(ran.err) < 600


def test_choosing_features_of_a_table_is_watched(run, table, monkeypatch):
    heard: list[tuple[str, int, int | None]] = []

    @contextmanager
    def watched(terminal, title):
        yield lambda stage, done, total: heard.append((stage, done, total))

    monkeypatch.setattr(Terminal, "progress", watched)
    ran = run("select", table, *LABELS, "-k", "3", "--repeats", "4", "-o", "chosen.csv")
    assert ran.code == 0, ran
    assert len(heard) >= 4


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda X, Y: audit(X, Y, zeros=np.array(["auto", "auto"])), "zeros: give 'auto'"),
        (lambda X, Y: audit(X, Y, n_suggestions=np.arange(2)), "n_suggestions: give a whole"),
        (lambda X, Y: audit(X, Y, decisions="decisions.sqlite"), "read_decisions"),
        (lambda X, Y: impute(X, Y, threshold=np.array([0.2, 0.5])), "threshold: give a number"),
        (lambda X, Y: impute(X, Y, max_entries="all"), "max_entries: give a whole number"),
        (lambda X, Y: Mend(imputed_weights=np.ones(2)).fit(X, Y), "imputed_weights is for one"),
        (lambda X, Y: Mend(threshold=np.ones((2, 2))).fit(X, Y), "threshold"),
        (lambda X, Y: BinaryRelevance(C=np.ones(2)).fit(X, Y), "'C' parameter"),
        (lambda X, Y: Mend(LogisticRegression()).fit(X, Y, sample_weight="a"), "sample_weight"),
        (lambda X, Y: metrics.auc(Y, X), "y_score"),
    ],
)
def test_errors_are_ours_and_not_those_of_numpy(call, named, parts):
    X, Y = parts
    with pytest.raises((TypeError, ValueError)) as error:
        call(X.to_numpy(), Y.to_numpy())
    said = str(error.value)
    assert named in said
    assert not re.search(r"truth value|broadcast|only length-1|not supported between", said)


def test_everybody_recommends_the_same_first_model(run):
    root = Path(__file__).parents[2]
    page = (root / "docs/which-method.md").read_text(encoding="utf-8")
    assert "**Begin with [`Mend()`]" in page
    readme = (root / "README.md").read_text(encoding="utf-8")
    for text in (readme, (root / "docs/index.md").read_text(encoding="utf-8")):
        (line,) = re.findall(r"^\|.*thousands of labels.*$", text, flags=re.MULTILINE)
        assert "ProbabilisticLabelTree" in line
    # "begin with" is followed by Mend on every page that is not about one method
    for path in [*(root / "docs").glob("*.md"), *(root / "docs/tutorials").glob("*.md")]:
        begun = re.findall(r"Begin with (\S+)", path.read_text(encoding="utf-8"))
        assert all("Mend" in one for one in begun), path
    assert re.search(r"^model = Mend\(\)\.fit", readme, flags=re.MULTILINE)
    assert "default: mend" in " ".join(run("fit", "--help").out.split())
