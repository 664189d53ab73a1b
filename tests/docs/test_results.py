"""Result tables and figures come from the measured rows and from nothing else."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from measured_rows import averaged, checksum, read_rows, shown  # noqa: E402

FIGURES = ROOT / "docs" / "models" / "figures"


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"experiment": "accuracy", "dataset": "bibtex", "auc_micro": 0.93456, "n": 12000},
        {"experiment": "accuracy", "dataset": "delicious", "auc_micro": 0.9},
    ]
    text = "\n".join(map(json.dumps, rows)) + "\n\n"
    (tmp_path / "bmlpl_accuracy.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "other.jsonl").write_text('{"experiment": "accuracy"}', encoding="utf-8")
    return tmp_path


def test_rows_are_chosen_by_file_and_by_field(folder):
    assert len(read_rows("bmlpl_", folder)) == 2
    assert [row["n"] for row in read_rows("bmlpl_", folder, dataset="bibtex")] == [12000]
    assert read_rows("bmlpl_", folder, dataset="enron") == []


def test_a_broken_line_is_named(folder):
    (folder / "bmlpl_broken.jsonl").write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"bmlpl_broken.jsonl, line 2"):
        read_rows("bmlpl_", folder)


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


def test_tables_leave_out_columns_that_were_not_measured(folder):
    pytest.importorskip("sphinx", reason="pip install 'labelgap[docs]'")
    from result_tables import pairs, table

    columns = pairs("dataset, auc_micro=AUC micro, precision_at_1=P@1")
    assert table(read_rows("bmlpl_", folder), columns).splitlines() == [
        "| dataset | AUC micro |",
        "| --- | --- |",
        "| bibtex | 0.935 |",
        "| delicious | 0.900 |",
    ]


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
        assert path.exists() == bool(rows), "python docs/models/figures.py"
        if rows:
            text = path.read_text(encoding="utf-8")
            assert f"rows {checksum(rows)}" in text, "python docs/models/figures.py"


EXAMPLE_ROWS = {
    "bmlpl_inference": [
        {"method": method, "iterations": t, "seconds": 2.0**t, "auc_instance": 0.9 - 0.3 / (t + 1)}
        for method in ("EM, exact", "EM, 2 CG steps", "Gibbs")
        for t in range(6)
    ],
    "bmlpl_scaling": [
        {"n_positives": n, "seconds_per_iteration": 0.1 + 1e-6 * n + 0.002 * (n % 3)}
        for n in range(50_000, 250_001, 50_000)
    ],
    "bmlpl_topics": [
        {
            "topic": k,
            "share": 0.2,
            "labels": [f"label {k} {rank}" for rank in range(6)],
            "weights": [0.5 / (rank + 1) for rank in range(6)],
        }
        for k in range(5)
    ],
    "bmlpl_reliability": [
        {"method": method, "predicted": p, "observed": factor * p, "n": int(1000 / p)}
        for method, factor in (("balanced", 1.0), ("as learned", 1.5))
        for p in (0.001, 0.01, 0.1, 0.5)
    ],
    "mllcs_shares": [
        {
            "method": method,
            "share_seen": share,
            "draw": draw,
            "precision_at_1": share / 2 + draw / 50,
            "precision_at_3": share / 3,
        }
        for method in ("ML-LCS", "COSTA")
        for share in (0.2, 0.5, 0.8)
        for draw in (0, 1)
    ],
    "mllcs_iterations": [
        {"method": method, "iterations": n, "precision_at_1": 0.5 - 0.2 / n, "unseen_at_1": 0.3}
        for method in ("ML-LCS", "COSTA")
        for n in (1, 10, 100)
    ],
    "gmfs_missing": [
        {"method": m, "missing": h, "run": r, "average_precision": 0.8 - h, "hamming_loss": h}
        for m in ("All features", "FSNM", "forest", "GMFS")
        for h in (0.1, 0.3, 0.6)
        for r in (1, 2)
    ],
    "gmfs_priors": [
        {"method": m, "sizes": [1, 2, 3], "average_precision_by_size": [0.1, 0.3 + r / 10, 0.4]}
        for m in ("GMFS", "GMFS, Laplace")
        for r in (0, 1)
    ],
    "gmfs_neighbours": [
        {"params": {"k": k}, "average_precision": 0.7 + k / 100} for k in (0, 10, 20) for _ in "ab"
    ],
    "gmfs_factors": [
        {"params": {"n_factors": c}, "average_precision": 0.7 - c / 100} for c in (2, 5, 10)
    ],
    "imvwl_curves": [
        {"method": m, "labels": h, "views": v, "ap": 0.4 - h / 10 - v / 10, "auc": 0.9 - h / 10}
        for m in ("k = 0.5 d_min", "mean imputation")
        for h, v in ((0.0, 0.5), (0.5, 0.5), (0.5, 0.0))
    ],
    "imvwl_sensitivity": [
        {"alpha": a, "beta": b, "ap": 0.3 + a / 10, "auc": 0.8 + b / 10}
        for a in (0.1, 1.0)
        for b in (0.1, 1.0)
    ],
    "imvwl_convergence": [
        {"method": m, "objective": [1 + 0.5**t for t in range(9)]} for m in ("iMVWL", "iMVWL-Sp")
    ],
    "imvwl_correlation": [{"labels": ["sky", "sun"], "correlation": [[1.0, 0.5], [0.5, 1.0]]}],
    "imvwl_scaling": [
        {"varied": name, "value": n, "seconds_per_iteration": 0.1 + n / 1e4 + (n % 3) / 100}
        for name in ("n_rows", "n_features", "n_factors")
        for n in (10, 20, 40)
    ],
    "rmfl_sensitivity": [
        {"varied": name, "value": value, "run": run, "average_precision": 0.7 + run / 100}
        for name in ("lambda_1", "lambda_2", "n_factors", "n_neighbors", "ridge_v")
        for value in (1, 10)
        for run in (1, 2)
    ],
    "rmfl_convergence": [
        {"dataset": name, "start": start, "iterations": t, "change": 0.5**t}
        for name in ("yeast", "emotions")
        for start in ("labels", "random")
        for t in range(1, 6)
    ],
    "rmfl_correlation": [{"labels": ["calm", "sad"], "correlation": [[1.0, 0.2], [0.2, 1.0]]}],
}
_TABLES = ("bmlpl_topics", "imvwl_correlation", "imvwl_sensitivity", "rmfl_correlation")


@pytest.mark.parametrize("name", sorted(EXAMPLE_ROWS))
def test_figures_draw_rows_of_the_documented_form(name, tmp_path):
    figures = _drawing()
    figure = figures.DRAWN[name](EXAMPLE_ROWS[name])
    figure.savefig(tmp_path / "figure.svg")
    figures.pyplot.close(figure)
    assert (tmp_path / "figure.svg").stat().st_size > 5000
    assert all(ax.get_xlabel() or name in _TABLES for ax in figure.axes)


def test_curves_are_means_over_draws():
    figures = _drawing()
    figure = figures.DRAWN["mllcs_shares"](EXAMPLE_ROWS["mllcs_shares"])
    curve = figure.axes[0].lines[0]
    figures.pyplot.close(figure)
    assert list(curve.get_xdata()) == [0.2, 0.5, 0.8]
    assert list(curve.get_ydata()) == pytest.approx([0.11, 0.26, 0.41])


def test_curves_over_sizes_are_means_over_runs():
    figures = _drawing()
    figure = figures.DRAWN["gmfs_priors"](EXAMPLE_ROWS["gmfs_priors"])
    curve = figure.axes[0].lines[0]
    figures.pyplot.close(figure)
    assert list(curve.get_xdata()) == [1, 2, 3]
    assert list(curve.get_ydata()) == pytest.approx([0.1, 0.35, 0.4])


def test_the_summary_of_rmfl_is_that_of_its_rows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import rmfl_summary

    assert read_rows("rmfl_summary") == rmfl_summary.summaries(rmfl_summary.measured()), (
        "rmfl_summary.py"
    )


def test_paired_tests_compare_the_runs_that_both_have(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from scipy.stats import ttest_rel

    from paired_tests import paired

    one, two = [0.5, 0.7, 0.6, 0.9], [0.4, 0.5, 0.55, 0.6, 0.1]
    rows = [{"method": "a", "run": run, "score": value} for run, value in enumerate(one)]
    rows += [{"method": "b", "run": run, "score": value} for run, value in enumerate(two)]
    found = paired(rows, "run", "score", "a", "b")
    assert found.n == 4
    assert found.difference == pytest.approx(0.1625)
    assert found.t_p == pytest.approx(ttest_rel(one, two[:4]).pvalue)
    assert found.wilcoxon_p == pytest.approx(0.125)
    assert paired(rows, "run", "score", "a", "a").wilcoxon_p == 1
    assert paired(rows, "run", "score", "a", "c").n == 0
