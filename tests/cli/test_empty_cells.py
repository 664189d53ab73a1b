"""Empty cells of features: told where they are, filled when asked to, kept for absent views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.sample_tables import table_rows, write_rows

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops.io")

WIDE = ("-l", "tag_*", "--item", "id", "--drop", "note")


@pytest.fixture
def gaps() -> Path:
    rows = table_rows(60)
    for number in (4, 9, 30):
        rows[number]["age"] = ""
    return write_rows(Path("gaps.csv"), rows)


@pytest.mark.parametrize("command", ["audit", "impute", "compare", "fit", "select", "topics"])
def test_cells_are_refused_with_file_line_item_and_remedy(fails, gaps, command):
    said = fails(command, gaps, *WIDE, "-o", "out.csv", "--empty", "refuse")
    assert "gaps.csv, line 6: column 'age' of id i4 is empty" in said
    assert "--drop 'age', or give --empty mean" in said


def test_rows_of_parquet_are_counted(fails, gaps):
    pandas.read_csv(gaps).to_parquet("gaps.parquet")
    assert "gaps.parquet, row 5: column 'age'" in fails(
        "fit", "gaps.parquet", *WIDE, "-o", "m", "--empty", "refuse"
    )


@pytest.mark.parametrize("empty", ["mean", "zero"])
@pytest.mark.parametrize(
    "command",
    [
        ("audit", "-o", "audit"),
        ("impute", "-o", "c.csv"),
        ("compare", "-m", "prior", "-m", "binary-relevance"),
        ("topics", "-k", 2),
    ],
    ids=lambda command: command[0],
)
def test_filled_cells_do(run, gaps, command, empty):
    ran = run(command[0], gaps, *WIDE, *command[1:], "--empty", empty)
    assert ran.code == 0, ran


def test_a_model_fills_later_rows_with_the_means_it_learned(run, gaps):
    assert run("fit", gaps, *WIDE, "-o", "m").code == 0
    mean = pandas.read_csv(gaps)["age"].mean()
    frame = pandas.DataFrame({"id": ["x", "y"], "age": [np.nan, mean], "size": [1.0, 1.0]})
    frame.to_csv("new.csv", index=False)
    assert run("predict", "m", "new.csv", "-o", "p.csv").code == 0
    predicted = pandas.read_csv("p.csv")[["tag_a", "tag_b"]].to_numpy()
    np.testing.assert_allclose(predicted[0], predicted[1], rtol=1e-5)


def test_a_model_that_learned_no_means_says_how_to(fails, run, gaps):
    items = write_rows(Path("full.csv"), table_rows(60))
    assert run("fit", items, *WIDE, "--empty", "refuse", "-o", "model").code == 0
    model = "model"
    said = fails("predict", model, gaps, "--drop", "note", "-o", "p.csv")
    assert "gaps.csv, line 6: column 'age' of id i4 is empty" in said
    assert "fit the model again with --empty mean" in said
    assert "--drop 'age'" not in said, "the model needs the column"


def test_text_beside_filled_numbers(run, gaps):
    options = ("-l", "tag_*", "--item", "id", "--text", "note", "--empty", "mean")
    assert run("fit", gaps, *options, "-o", "m").code == 0
    assert run("predict", "m", gaps, "-o", "p.csv").code == 0
    assert run("audit", gaps, *options, "-o", "audit").code == 0


def test_a_column_without_any_value_has_no_mean(fails):
    rows = [{**row, "size": ""} for row in table_rows(20)]
    write_rows(Path("bare.csv"), rows)
    said = fails("fit", "bare.csv", *WIDE, "--empty", "mean", "-o", "m")
    assert "bare.csv: column 'size' is empty in every row" in said
    assert "--drop 'size'" in said


def test_infinite_cells_are_no_gaps(fails):
    rows = table_rows(20)
    rows[2]["size"] = "inf"
    write_rows(Path("inf.csv"), rows)
    said = fails("fit", "inf.csv", *WIDE, "--empty", "mean", "-o", "m")
    assert "inf.csv, line 4: column 'size' of id i2 is infinite" in said


def test_absent_views_are_told_what_to_do_and_kept(run, fails):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.gamma(1.0, size=(60, 4)), columns=list("abcd"))
    frame[["tag_x", "tag_y"]] = (frame[["a", "c"]] > 1).astype(int)
    frame.loc[::5, ["a", "b"]] = np.nan
    frame.to_csv("views.csv", index=False)
    arguments = ("fit", "views.csv", "-l", "tag_*", "-o", "m")
    said = fails(*arguments, "--empty", "refuse")
    assert "views.csv, line 2: column 'a' is empty" in said
    assert "labelgap fit --model imvwl --empty keep" in said
    assert "use --model imvwl" in fails(*arguments, "--empty", "keep")
    kept = ("--model", "imvwl", "--empty", "keep", "--set", "views={'one': 2, 'two': 2}")
    ran = run(*arguments, *kept, "--set", "n_factors=2")
    assert ran.code == 0, ran
    assert run("predict", "m", "views.csv", "-o", "p.csv").code == 0
    assert pandas.read_csv("p.csv")["tag_x"].between(0, 1).all()
    audit = ("audit", "views.csv", "-l", "tag_*", "--empty", "keep")
    assert "use --empty mean here" in fails(*audit)


def test_sparse_files(run, fails):
    lines = [f"{k % 2} 1:{k % 3 + 1} 2:{'nan' if k == 3 else k}" for k in range(20)]
    Path("x.svm").write_text("\n".join(lines) + "\n")
    said = fails("fit", "x.svm", "-o", "m", "--empty", "refuse")
    assert "x.svm, row 3 (counted from 0): column '1' is empty" in said
    ran = run("fit", "x.svm", "--empty", "mean", "-o", "m")
    assert ran.code == 0, ran
