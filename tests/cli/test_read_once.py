"""Every table on the command line is opened once and parsed once."""

from __future__ import annotations

import builtins
import io
from collections import Counter
from pathlib import Path

import pytest

from cli.sample_tables import table_rows, write_rows
from labelgap.review import ReviewServer

pandas = pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("skops.io")

WIDE = ("-l", "tag_*", "--item", "id", "--text", "note")
LONG = ("--label-table", "tags.csv", "--item", "id", "--drop", "note,tag_a,tag_b")
COMMANDS = {
    "audit": ("-o", "audit"),
    "review": (),
    "fit": ("-m", "binary-relevance", "-o", "m"),
    "impute": ("-o", "imputed.csv"),
    "compare": ("-m", "prior"),
}


@pytest.fixture
def counted(monkeypatch) -> Counter:
    """How often each file was opened, and tables were parsed ("rows")."""
    counts: Counter = Counter()
    opened, parsed = io.open, pandas.read_csv

    def counting_open(file, *rest, **options):
        counts[Path(str(file)).name] += 1
        return opened(file, *rest, **options)

    def counting_read(source, *rest, **options):
        counts["rows"] += options.get("nrows") is None
        return parsed(source, *rest, **options)

    def stop(server: ReviewServer, poll_interval: float = 0.5) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(builtins, "open", counting_open)
    monkeypatch.setattr(io, "open", counting_open)
    monkeypatch.setattr(pandas, "read_csv", counting_read)
    monkeypatch.setattr(ReviewServer, "serve_forever", stop)
    return counts


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_with_ids_and_text(run, items, counted, command):
    ran = run(command, items, *WIDE, *COMMANDS[command])
    assert ran.code == 0, ran
    assert (counted["items.csv"], counted["rows"]) == (1, 1)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_and_a_table_of_labels(run, items, counted, command):
    pairs = [
        {"id": row["id"], "label": tag}
        for row in table_rows()
        for tag in ("tag_a", "tag_b")
        if row[tag]
    ]
    write_rows(Path("tags.csv"), pairs)
    counted.clear()
    ran = run(command, items, *LONG, *COMMANDS[command])
    assert ran.code == 0, ran
    assert (counted["items.csv"], counted["tags.csv"], counted["rows"]) == (1, 1, 2)


def test_rows_to_predict_and_predictions(run, items, model, counted):
    assert run("predict", model, items, "--drop", "note", "-o", "p.csv").code == 0
    assert (counted["items.csv"], counted["rows"]) == (1, 1)
    counted.clear()
    assert run("evaluate", items, "-p", "p.csv", "--item", "id").code == 0
    assert (counted["items.csv"], counted["p.csv"], counted["rows"]) == (1, 1, 2)
