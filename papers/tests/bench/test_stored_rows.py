"""The committed rows: in their places, and what the experiments measure again."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgap_papers.bench import Kind, RowStore, Status, load_experiments
from labelgap_papers.bench._measure import Job, do

ROOT = Path(__file__).parents[3]
STORE = RowStore(ROOT / "papers" / "reproduction" / "rows")
EXPERIMENTS = load_experiments()


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
def test_an_experiment_measures_what_was_measured_before(name, dataset, method):
    """Same split, same mask, same settings: the same figures."""
    row = next(
        row
        for row in STORE.rows(name, Kind.RESULT)
        if (row.dataset, row.method) == (dataset, method) and row.source.startswith("script ")
    )
    experiment = EXPERIMENTS[name]
    again = do(Job(experiment, row.cell, Kind.RESULT, "full", 600.0, 1, row.params)).row
    assert again.status is Status.MEASURED, again.reason
    # logistic regressions and machines end within their tolerance, by whatever solver
    assert again.metrics == pytest.approx(row.metrics, abs=5e-4)
