"""Result tables and figures come from the measured rows and from nothing else."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from measured_rows import averaged, checksum, files_of, read_rows, shown  # noqa: E402

FIGURES = ROOT / "docs" / "models" / "figures"


def test_rows_are_chosen_by_name_and_by_field():
    assert {row["method"] for row in read_rows("device_cost") if "method" in row} == set()
    rows = read_rows("gmfs_hidden", missing="0.2")
    assert {row["missing"] for row in rows} == {0.2}
    assert {"dataset", "method", "run", "auc"} <= rows[0].keys()
    assert read_rows("gmfs_hidden", dataset="enron") == []


def test_a_summary_depends_on_its_rows():
    assert [path.name for path in files_of("which_method_summary")] == [
        "which_method_summary.py",
        "which-method.jsonl",
        "baselines-table.jsonl",
    ]


@pytest.mark.parametrize(
    ("value", "column", "cell"),
    [
        (0.93456, "auc_micro", "0.935"),
        (0.0123456, "fit_seconds", "0.0123"),
        (123.456, "fit_seconds", "123"),
        (None, "auc_micro", "–"),
        (12000, "n", "12,000"),
        ({}, "params", "defaults"),
        ({"r": 0.3, "K": 150}, "params", "r = 0.300, K = 150"),
    ],
)
def test_cells(value, column, cell):
    assert shown(value, column) == cell


def test_rows_that_differ_in_figures_alone_are_averaged():
    rows = [
        {"method": "a", "draw": 0, "score": 0.25, "fit_seconds": 1.0},
        {"method": "a", "draw": 1, "score": 0.75, "fit_seconds": 2.0},
        {"method": "b", "draw": 0, "score": 0.5, "fit_seconds": 4.0},
    ]
    assert averaged(rows, ["method", "score", "fit_seconds", "absent"]) == [
        {"method": "a", "score": "0.500 ± 0.354", "fit_seconds": 1.5},
        {"method": "b", "score": 0.5, "fit_seconds": 4.0},
    ]
    assert len(averaged(rows, ["method", "draw", "score"])) == 3


def test_figures_that_rows_are_told_apart_by():
    rows = [{"rate": rate, "score": rate + draw} for rate in (0.2, 0.4) for draw in (0.1, 0.3)]
    assert averaged(rows, ["rate", "score"], ["rate"]) == [
        {"rate": 0.2, "score": "0.400 ± 0.141"},
        {"rate": 0.4, "score": "0.600 ± 0.141"},
    ]
    assert len(averaged(rows, ["rate", "score"])) == 1


def test_gains_and_p_values_keep_their_digits():
    assert shown(0.00024, "p") == "0.00024"
    assert shown(0.0003, "average_precision_gain") == "0.0003"
    assert shown(0.0003, "average_precision") == "0.000"


def test_tables_leave_out_columns_that_were_not_measured():
    pytest.importorskip("sphinx", reason="pip install 'labelgap[docs]'")
    from result_tables import pairs, table

    rows = [{"dataset": "bibtex", "auc_micro": 0.93456}, {"dataset": "delicious", "auc_micro": 0.9}]
    columns = pairs("dataset, auc_micro=AUC micro, precision_at_1=P@1")
    assert table(rows, columns).splitlines() == [
        "| dataset | AUC micro |",
        "| --- | --- |",
        "| bibtex | 0.935 |",
        "| delicious | 0.900 |",
    ]


def test_every_table_of_the_pages_has_rows():
    pattern = re.compile(r"```\{result-table\} (\S+)\n(.*?)```", re.DOTALL)
    for page in (ROOT / "docs").rglob("*.md"):
        for name, body in pattern.findall(page.read_text(encoding="utf-8")):
            options = dict(re.findall(r":(\w+): ?(.*)", body))
            wanted = re.findall(r"(\w+)=([^,]+)", options.get("where", ""))
            rows = read_rows(name, **{key: value.strip() for key, value in wanted})
            columns = [one.partition("=")[0].strip() for one in options["columns"].split(",")]
            absent = [one for one in columns if not any(one in row for row in rows)]
            assert rows, f"{page}: {name} {options.get('where')}"
            assert len(absent) < 3, f"{page}: {name} has no {absent}"


def _drawing():
    pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
    spec = importlib.util.spec_from_file_location("figures", FIGURES.with_suffix(".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_is_drawn_from_the_rows_that_are_there():
    figures = _drawing()
    for name in figures.DRAWN:
        rows = figures.rows_of(name)
        path = FIGURES / f"{name}.svg"
        text = path.read_text(encoding="utf-8")
        assert f"rows {checksum(rows)}" in text, "python docs/models/figures.py"
        figure = figures.DRAWN[name](rows)
        drawn_by_plots = "correlation" in name or name.startswith("mend_")
        assert drawn_by_plots or all(ax.get_xlabel() for ax in figure.axes)
        figures.pyplot.close(figure)
