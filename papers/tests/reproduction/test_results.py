"""Published figures, rows and reasons come together."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from labelgap_papers.bench import BudgetPlan, Status, load_experiments, published_figures
from labelgap_papers.reproduction import (
    ReproductionStatus,
    build_reproduction,
    load_papers,
    load_reasons,
)
from reproduction.made_results import experiment_of, failed, rows_of, stored

PAPERS = load_papers()
NONE = dict.fromkeys(ReproductionStatus, 0)


def reproduction_of(tmp_path, experiments, *rows, reasons=()):
    return build_reproduction(experiments, stored(tmp_path / "rows", *rows), PAPERS, reasons)


def test_every_figure_has_one_entry_in_the_order_of_the_papers(tmp_path):
    experiment = experiment_of("GMFS", "2")
    reproduction = reproduction_of(tmp_path, [experiment], rows_of(experiment))
    assert [entry.figure for entry in reproduction.entries] == list(published_figures())
    assert len(reproduction.entries) == 1626
    assert sum(reproduction.counts().values()) == 1626
    per_paper = [reproduction.counts(paper.name) for paper in PAPERS]
    assert [sum(column) for column in zip(*(one.values() for one in per_paper), strict=True)] == (
        list(reproduction.counts().values())
    )
    assert reproduction.counts("GMFS", "3") == {**NONE, ReproductionStatus.NOT_MEASURED: 49}


def test_rows_near_the_published_means_reproduce_them(tmp_path):
    experiment = experiment_of("GMFS", "2")
    reproduction = reproduction_of(tmp_path, [experiment], rows_of(experiment, spread=1e-5))
    assert reproduction.counts("GMFS", "2") == {**NONE, ReproductionStatus.REPRODUCED: 49}
    assert reproduction.n_samples == len(experiment.cells("full"))
    assert reproduction.n_measured == 49


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(0.2, ReproductionStatus.BEATEN), (-0.2, ReproductionStatus.BELOW)],
    ids=["better", "worse"],
)
def test_losses_count_the_other_way(tmp_path, shift, expected):
    experiment = experiment_of("RMFL", "IX")
    reproduction = reproduction_of(tmp_path, [experiment], rows_of(experiment, shift, spread=1e-4))
    assert reproduction.counts("RMFL", "IX") == {**NONE, expected: 40}


def test_absent_sets_unbuilt_methods_and_failures_say_why(tmp_path):
    whole = experiment_of("GMFS", "2", runs=2)
    experiment = replace(
        whole,
        datasets=tuple(
            replace(one, not_public="nobody has it") if one.name == "science" else one
            for one in whole.datasets
        ),
        methods=tuple(
            replace(one, not_built="too hard") if one.name == "CMFS" else one
            for one in whole.methods
        ),
    )
    rows = rows_of(experiment)
    rows = [failed(row) if (row.method, row.dataset) == ("FSNM", "yeast") else row for row in rows]
    rows = [row for row in rows if (row.method, row.dataset) != ("SFUS", "yeast")]
    reproduction = reproduction_of(tmp_path, [experiment], rows)
    told = {
        (entry.figure.method, entry.figure.dataset): (entry.status, entry.reason)
        for entry in reproduction.entries
        if (entry.figure.paper, entry.figure.table) == ("GMFS", "2")
    }
    assert told["GMFS", "science"] == (ReproductionStatus.DATA_NOT_PUBLIC, "nobody has it")
    assert told["CMFS", "science"] == (ReproductionStatus.DATA_NOT_PUBLIC, "nobody has it")
    assert told["CMFS", "yeast"] == (ReproductionStatus.NOT_BUILT, "too hard")
    assert told["FSNM", "yeast"] == (ReproductionStatus.NOT_MEASURED, "timed out: 600 s")
    assert told["SFUS", "yeast"] == (ReproductionStatus.NOT_MEASURED, "not run yet")


def test_a_failed_run_among_measured_ones_is_left_out(tmp_path):
    experiment = experiment_of("GMFS", "2", runs=3)
    rows = rows_of(experiment)
    rows = [failed(row, Status.OUT_OF_MEMORY) if row.run == 2 else row for row in rows]
    reproduction = reproduction_of(tmp_path, [experiment], rows)
    entry = next(one for one in reproduction.entries if one.ours)
    assert (entry.ours.n, entry.ours.planned, entry.ours.complete) == (2, 3, False)
    assert sorted(entry.ours.values) == [1, 3]


def test_a_smaller_budget_makes_a_status_provisional(tmp_path):
    experiment = experiment_of("GMFS", "2", runs=2, candidates=16)
    rows = [replace(row, budget="small") for row in rows_of(experiment)]
    entry = next(one for one in reproduction_of(tmp_path, [experiment], rows).entries if one.ours)
    assert entry.ours.n == entry.ours.planned
    assert not entry.ours.complete


def test_a_smaller_budget_that_seeks_as_hard_does_not(tmp_path):
    full = BudgetPlan("full", ("emotions",), None, None, 600.0)
    small = BudgetPlan("small", ("emotions",), 1, None, 600.0)
    experiment = experiment_of("GMFS", "2", runs=2, budgets={"small": small, "full": full})
    rows = [replace(row, budget="small") for row in rows_of(experiment)]
    entry = next(one for one in reproduction_of(tmp_path, [experiment], rows).entries if one.ours)
    assert entry.ours.complete


def test_borrowed_rows_count_where_the_cells_are_the_same(tmp_path):
    lender = experiment_of("RMFL", "II", runs=2)
    borrower = experiment_of("RMFL", "IX", runs=2, borrows=(lender.name,))
    reproduction = reproduction_of(tmp_path, [lender, borrower], rows_of(lender, spread=1e-6))
    found = [
        entry
        for entry in reproduction.entries
        if entry.figure.table == "IX" and entry.figure.paper == "RMFL"
    ]
    measured = {entry.figure.method for entry in found if entry.ours}
    assert measured == {"RMFL"}
    assert {entry.status for entry in found if not entry.ours} == {ReproductionStatus.NOT_MEASURED}


def test_refutation_needs_a_shortfall(tmp_path):
    path = tmp_path / "reasons.toml"
    path.write_text(
        '[[refuted]]\npaper = "GMFS"\ntable = "2"\nmethod = ["GMFS", "MIFS"]\n'
        'text = "It cannot be."\nevidence = "page.md"\n'
        '[[note]]\npaper = "GMFS"\ndataset = "yeast"\ntext = "Mind the yeast."\n',
        encoding="utf-8",
    )
    experiment = experiment_of("GMFS", "2")
    low, high = rows_of(experiment, -0.2), rows_of(experiment, 0.2)
    rows = [row for row in low if row.method == "GMFS"]
    rows += [row for row in high if row.method == "MIFS"]
    rows += [row for row in low if row.method == "FSNM"]
    reproduction = reproduction_of(tmp_path, [experiment], rows, reasons=load_reasons(path))
    statuses = {
        entry.figure.method: (entry.status, entry.reason, entry.evidence)
        for entry in reproduction.entries
        if entry.ours and entry.figure.dataset == "yeast"
    }
    assert statuses["GMFS"] == (ReproductionStatus.REFUTED, "It cannot be.", "page.md")
    assert statuses["MIFS"] == (ReproductionStatus.BEATEN, "", "")
    assert statuses["FSNM"] == (ReproductionStatus.BELOW, "", "")
    noted = {entry.figure.dataset for entry in reproduction.entries if entry.notes}
    assert noted == {"yeast"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[refuted]]\npaper = "GMFS"\ntext = "No."', "refuted 1: a refutation needs evidence"),
        ('[[note]]\npaper = "GMFS"', "note 1: needs a text"),
        ('[[note]]\nset = "yeast"\ntext = "x"', "note 1: there is no key 'set'"),
        ('[[note]]\npaper = "GMSF"\ntext = "x"', "no published figure is selected"),
        ('[[remark]]\ntext = "x"', "'remark' is neither"),
        ("[[note", "reasons.toml"),
    ],
)
def test_wrong_reasons_are_named(tmp_path, text, message):
    path = tmp_path / "reasons.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_reasons(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[GMSF]\nholds = []", "no paper is called 'GMSF'"),
        ("[GMFS]\nworks = []", "GMFS: 'works' is none of"),
        ("[GMFS", "explanations.toml"),
    ],
)
def test_wrong_explanations_are_named(tmp_path, text, message):
    path = tmp_path / "explanations.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_papers(path)


def test_evidence_exists(request):
    pages = request.config.rootpath / "docs" / "reproduction"
    for reason in load_reasons():
        if reason.evidence:
            path, _, anchor = reason.evidence.partition("#")
            text = Path(os.path.normpath(pages / path)).read_text(encoding="utf-8")
            headings = [line for line in text.splitlines() if line.startswith("#")]
            assert anchor in {h.lstrip("# ").lower().replace(" ", "-") for h in headings}
    for paper in PAPERS:
        assert Path(os.path.normpath(pages / paper.page)).is_file()


def test_every_table_of_the_papers_has_an_experiment(tmp_path):
    reproduction = reproduction_of(tmp_path, list(load_experiments().values()), [])
    assert {entry.experiment for entry in reproduction.entries if not entry.experiment} == set()
    assert {paper.name for paper in PAPERS} == {f.paper for f in published_figures()}
