"""One idea has one name, one default and one meaning, whatever the command."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import typer

from cli.sample_tables import table_rows, write_rows
from labelgap.cli._app import COMMANDS, app

pandas = pytest.importorskip("pandas")

# what may differ, and why
OWN_MEANING = {
    "--out": "files, folders and pages, but always --out and -o",
    "--model": "a method's name, or the file of a fitted one (evaluate)",
    "--features": "how many to keep; all unless asked for in fit and audit",
    "--topics": "how many to find; none unless asked for in audit",
    "--suggestions": "a review may go on for longer than a list is read",
    "--threshold": "where the model decides (predict, evaluate), or 0.5 (impute)",
    "--fetch": "may a set be fetched; in datasets: do it",
}
# the demo and the list of data sets read no tables of one's own
OWN_TABLES = set(COMMANDS) - {"demo", "datasets", "report", "export", "decisions"}
LEARNING = OWN_TABLES - {"predict", "evaluate", "hide", "diff"}
RANDOM = OWN_TABLES - {"predict", "evaluate", "diff"}


def _commands() -> dict[str, dict[str, typer.core.TyperOption]]:
    group = typer.main.get_command(app)
    return {
        name: {
            max(option.opts, key=lambda flag: flag.startswith("--")): option
            for option in group.commands[name].load().params
            if option.param_type_name == "option"
        }
        for name in COMMANDS
    }


OPTIONS = _commands()


@pytest.mark.parametrize("flag", sorted({flag for one in OPTIONS.values() for flag in one}))
def test_an_option_is_the_same_in_every_command(flag):
    if flag in OWN_MEANING:
        return
    found = {name: options[flag] for name, options in OPTIONS.items() if flag in options}
    first = next(iter(found.values()))
    for name, option in found.items():
        assert (option.opts, option.default) == (first.opts, first.default), name
        # the demo says in its own words what its seed and share are of
        if name != "demo" and "demo" not in found:
            assert option.help == first.help, name


def test_what_is_listed_as_different_is_used():
    flags = {flag for one in OPTIONS.values() for flag in one}
    assert flags >= OWN_MEANING.keys()


@pytest.mark.parametrize("name", OPTIONS)
def test_every_command_answers_machines(name):
    assert {"--json", "--debug", "--help"} <= OPTIONS[name].keys() | {"--help"}


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"review", "datasets"}))
def test_whatever_writes_is_told_where_in_the_same_way(name):
    assert OPTIONS[name]["--out"].opts == ["--out", "-o"]


@pytest.mark.parametrize("name", sorted(OWN_TABLES))
def test_tables_are_read_in_the_same_way(name):
    rows = {"--query", "--format", "--item", "--drop", "--rows", "--zero-based", "--fetch"}
    assert rows <= OPTIONS[name].keys()
    labelled = {"--labels", "--label-table", "--label-query", "--label-column", "--value-column"}
    if name != "predict":
        assert labelled | {"--zeros", "--text"} <= OPTIONS[name].keys()


@pytest.mark.parametrize("name", sorted(LEARNING))
def test_what_learns_knows_what_to_do_with_empty_cells(name):
    assert OPTIONS[name]["--empty"].default == "mean"


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_what_is_random_has_a_seed_and_nothing_else_has(name):
    assert ("--random-state" in OPTIONS[name]) == (name in RANDOM | {"demo"})
    if "--random-state" in OPTIONS[name]:
        assert OPTIONS[name]["--random-state"].default == 0


@pytest.mark.parametrize("name", ["audit", "review", "impute"])
def test_whatever_looks_for_missing_labels_knows_zeros_and_decisions(name):
    assert {"--zeros", "--decisions"} <= OPTIONS[name].keys()


def _without_clock(payload: dict) -> dict:
    lasting = {"seconds", "files", "out"}
    plain = {key: one for key, one in payload.items() if key not in lasting}
    for line in plain.get("models", []):
        line.pop("seconds")
    return plain


WIDE = ("-l", "tag_*", "--item", "id", "--drop", "note")
QUICK = ("-m", "imvwl", "--set", "max_iter=3", "--set", "n_factors=1")
FITTED = ("--drop", "note")
RUNS = {
    "fit": ("fit", "items.csv", *WIDE, *QUICK, "--random-state", 3, "-o", "m"),
    "predict": ("predict", "tags.model", "items.csv", *FITTED, "--top", 2, "-o", "p.csv"),
    "evaluate": ("evaluate", "items.csv", "--model", "tags.model", *FITTED, "-o", "e.csv"),
    "hide": ("hide", "items.csv", *WIDE, "--fraction", 0.2, "--random-state", 5, "-o", "hidden"),
    "impute": ("impute", "items.csv", *WIDE, "--threshold", 0.9, "-o", "c.csv"),
    "compare": ("compare", "items.csv", *WIDE, "-m", "prior", "--folds", 2, "-o", "cmp.csv"),
    "select": ("select", "items.csv", *WIDE, "-k", 1, "--repeats", 2, "--random-state", 1),
    "topics": ("topics", "items.csv", *WIDE, "-k", 2),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_command_in_the_result_gives_the_same_result(run, items, model, name):
    first = run(*RUNS[name], "--json")
    assert first.code == 0, first
    words = shlex.split(first.json["command"])
    assert words[:2] == ["labelgap", name]
    again = run(*words[1:], "--json")
    assert again.code == 0, again
    assert _without_clock(again.json) == _without_clock(first.json)


def test_metrics_are_written_as_a_table(run, items, model):
    ran = run("evaluate", items, "--model", model, "--drop", "note", "-o", "e.csv", "--json")
    written = pandas.read_csv("e.csv")
    assert written["metric"].tolist() == list(ran.json["metrics"])
    known = [value for value in ran.json["metrics"].values() if value is not None]
    assert written["value"].dropna().tolist() == pytest.approx(known, rel=1e-5)


def test_the_seed_reaches_the_model(run, items):
    def predicted(seed):
        fitted = run("fit", items, *WIDE, *QUICK, "--random-state", seed, "-o", "m")
        assert fitted.code == 0, fitted
        assert run("predict", "m", items, "--drop", "note", "-o", "p.csv").code == 0
        return Path("p.csv").read_text()

    assert predicted(1) == predicted(1)
    assert predicted(1) != predicted(2)


def test_the_best_features_are_kept(run, fails):
    rows = table_rows(60)
    for k, row in enumerate(rows):
        row["noise"] = (-1) ** k
    items = write_rows(Path("items.csv"), rows)
    ran = run("fit", items, *WIDE, "--features", 2, "-o", "m", "--json")
    assert ran.code == 0, ran
    assert run("predict", "m", items, "--drop", "note", "-o", "p.csv").code == 0
    for row in rows:
        row["noise"] = 17
    write_rows(items, rows)
    assert run("predict", "m", items, "--drop", "note", "-o", "q.csv").code == 0
    assert Path("p.csv").read_text() == Path("q.csv").read_text()
    assert "--features 9: there are 3 only" in fails("fit", items, *WIDE, "-k", 9, "-o", "n")
