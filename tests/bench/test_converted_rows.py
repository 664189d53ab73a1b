"""The committed rows: current, in their places, and what the experiments measure themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from labelgap.bench import Kind, RowStore, Status, load_experiments
from labelgap.bench._measure import Job, do

ROOT = Path(__file__).parents[2]
STORE = RowStore(ROOT / "docs" / "reproduction" / "rows")
EXPERIMENTS = load_experiments()


@pytest.fixture(scope="module")
def convert_rows() -> ModuleType:
    path = ROOT / "docs" / "reproduction" / "convert_rows.py"
    spec = importlib.util.spec_from_file_location("convert_rows", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_converted_rows_are_current(convert_rows):
    for name, rows in convert_rows.converted().items():
        stored = [row for row in STORE.rows(name) if row.source.startswith("benchmarks/")]
        assert stored == rows, f"{name}: run python docs/reproduction/convert_rows.py"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_has_its_place(name):
    experiment = EXPERIMENTS[name]
    gaps = {cell.key for cell, _ in experiment.gaps()}
    known = {metric.name for metric in experiment.metrics}
    for row in STORE.rows(name, Kind.RESULT):
        if row.status is Status.MEASURED:
            assert experiment.measures(row.cell), row.cell
            assert not row.reason
            measured = row.metrics.keys() | row.curve.keys()
            assert measured & known or row.fit_seconds or row.curve
            assert experiment.owner(row.cell, EXPERIMENTS) == row.cell
        else:
            assert row.reason
            assert row.cell.key in gaps or experiment.measures(row.cell)


SAME = [
    ("rmfl-4", "emotions", "RMFL"),
    ("rmfl-4", "emotions", "kernel ridge per label"),
    ("gmfs-2", "emotions", "FSNM"),
    ("gmfs-2", "emotions", "GMFS, k = 0"),
    ("gmfs-2", "emotions", "chi-squared"),
    ("gmfs-2", "emotions", "random"),
    ("imvwl-2", "emotions_multiview", "iMVWL, combined"),
    ("imvwl-2", "emotions_multiview", "low-rank imputation, PCA, logistic"),
    ("imvwl-2", "emotions_multiview", "mean imputation, tuned"),
    ("imvwl-3", "yeast_multiview", "iMVWL-X"),
]


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize(("name", "dataset", "method"), SAME)
def test_an_experiment_measures_what_the_script_measured(name, dataset, method):
    """Same split, same mask, same settings: the same figures."""
    row = next(
        row
        for row in STORE.rows(name, Kind.RESULT)
        if (row.dataset, row.method) == (dataset, method) and row.source.startswith("benchmarks/")
    )
    experiment = EXPERIMENTS[name]
    again = do(Job(experiment, row.cell, Kind.RESULT, "full", 600.0, 1, row.params)).row
    assert again.status is Status.MEASURED, again.reason
    # logistic regressions and machines end within their tolerance, by whatever solver
    assert again.metrics == pytest.approx(row.metrics, abs=5e-4)
