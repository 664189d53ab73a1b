"""No spreadsheet runs what somebody wrote into an id or a name."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from cli.sample_tables import table_rows, write_rows
from labelgap.cli._table_files import inert, read_predictions, save_table, write_csv

HOSTILE = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]


@pytest.mark.parametrize("text", HOSTILE)
def test_formulas_become_text_and_come_back(text, tmp_path):
    columns = {"item": np.array([text, "b"], dtype=object), text.strip(): np.array([0.25, 0.5])}
    stream = io.StringIO()
    write_csv(columns, stream)
    rows = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert rows[1][0] == f"'{text}"
    assert rows[0][1] == f"'{text.strip()}"
    raw = io.StringIO()
    write_csv(columns, raw, raw=True)
    assert f"'{text}" not in raw.getvalue()
    save_table(columns, tmp_path / "p.csv")
    found = read_predictions(tmp_path / "p.csv", "item")
    assert found.items.tolist() == [text, "b"]
    assert found.labels == [text.strip()]


@pytest.mark.parametrize("text", ["-5", "+3", "-1e-5", "sea", "", "a=b", 5, None, -2.5])
def test_all_else_is_written_as_it_is(text):
    assert inert(text) is text


def test_every_command_that_writes_a_table(run):
    rows = table_rows(60)
    for row in rows:
        row["id"] = f"=1+{row['id']}"
    write_rows(Path("items.csv"), rows)
    what = ("items.csv", "-l", "tag_*", "--item", "id", "--drop", "note")
    assert run("fit", *what, "-m", "prior", "-o", "m").code == 0
    commands = {
        "p.csv": ("predict", "m", "items.csv", "-o", "p.csv", "--drop", "note"),
        "i.csv": ("impute", *what, "-o", "i.csv"),
        "hidden/truth.csv": ("hide", *what, "--fraction", "0.3", "-o", "hidden"),
        "audit/suggestions.csv": ("audit", *what, "-o", "audit"),
    }
    for file, command in commands.items():
        for raw in (False, True):
            done = run(*command, *["--raw-csv"] * raw)
            assert done.code == 0, done
            text = Path(file).read_text()
            assert ("'=1+" in text) is not raw
            assert "=1+" in text
    done = run("evaluate", "items.csv", "-l", "tag_*", "--item", "id", "--predictions", "p.csv")
    assert done.code == 0, done
