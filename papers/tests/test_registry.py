"""Methods of this package on the command line of labelgap."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.sample_tables import table_rows, write_rows
from labelgap.cli._app import app
from labelgap.registry import list_estimators

WIDE = ("--labels", "tag_*", "--item", "id", "--drop", "note")


@pytest.fixture
def items(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_rows(tmp_path / "items.csv", table_rows())


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_record_can_be_made():
    for record in list_estimators():
        assert type(record.make()).__name__ == record.name


@pytest.mark.parametrize("model", ["cmfs", "fsnm"])
def test_select(items, model):
    given = ("select", items, *WIDE, "-k", 1, "--repeats", 2, "-m", model, "--json")
    found = run(*given)
    assert found["features"][0]["name"] in ("age", "size")
    assert f"--model {model}" in found["command"]
    assert run(*given)["features"] == found["features"]


def test_fit_and_predict(items):
    run("fit", items, *WIDE, "-m", "maxide", "-o", "tags.model", "--json")
    predicted = run("predict", "tags.model", items, "--drop", "note", "--json")["predictions"]
    assert len(predicted) == 80


def test_extend(items):
    rows = table_rows()
    lines = [
        {
            "seen": seen,
            "label": other,
            "count": sum((row[seen] or 0) * (row[other] or 0) for row in rows),
        }
        for seen in ("tag_a", "tag_b")
        for other in ("tag_a", "tag_b")
    ]
    lines += [{"seen": "tag_a", "label": "old", "count": 20}]
    with open("counts.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    run("extend", items, *WIDE, "--counts", "counts.csv", "-m", "costa", "-o", "new.csv", "--json")
    ages = np.array([row["age"] for row in rows])
    with open("new.csv", encoding="utf-8") as stream:
        old = np.array([float(row["old"]) for row in csv.DictReader(stream)])
    assert old[ages > 0].mean() > old[ages <= 0].mean()
