"""Columns of a table that say how its rows were labelled."""

import json

import numpy as np
import pandas
import pytest


@pytest.fixture
def table(workplace):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    tags = (X[:, :3] + 0.3 * rng.normal(size=(120, 3)) > 0).astype(int)
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(
        **{f"tag_{k}": tags[:, k] for k in range(3)},
        added=pandas.date_range("2024-01-01", periods=120).astype(str),
        by=np.where(rng.random(120) < 0.5, "ann", "bob"),
        done=np.arange(120) % 2,
    )
    frame.to_csv(workplace / "items.csv", index=False)
    return workplace / "items.csv"


def test_they_are_used_and_are_no_features(run, table, workplace):
    out = workplace / "audit"
    given = ["--date", "added", "--annotator", "by", "--complete", "done", "-o", out]
    ran = run("audit", table, "--labels", "tag_*", *given)
    assert ran.code == 0, ran
    found = json.loads((out / "audit.json").read_text())
    assert found["summary"]["n_features"] == 4
    assert all(int(one["item"]) % 2 == 0 for one in found["suggestions"])


@pytest.mark.parametrize("option", ["--date", "--annotator", "--complete"])
def test_a_column_that_is_not_there(fails, table, option):
    said = fails("audit", table, "--labels", "tag_*", option, "when", "-o", "audit")
    assert f"{option} when" in said
