"""The experiments of the library: complete, honest about budgets, fair in what methods try."""

from __future__ import annotations

import pytest

from labelgap_papers.bench import (
    BUDGETS,
    Cell,
    RowStore,
    Status,
    load_experiments,
    run_experiments,
)
from labelgap_papers.bench._measure import protocol_of
from labelgap_papers.bench.methods import METHODS, find_method
from labelgap_papers.reproduction import build_reproduction, markdown_pages, page_contents
from labelgap_papers.reproduction._results import value_of

EXPERIMENTS = load_experiments()
NAMED = [
    *("gmfs-2", "gmfs-3", "gmfs-fig2", "gmfs-fig3", "gmfs-fig4-factors", "gmfs-fig4-neighbours"),
    *(f"rmfl-{table}" for table in (2, 4, 5, 6, 8, 9)),
    *(f"rmfl-fig{number}" for number in (1, 2, 3, 4, 5)),
    *("imvwl-2", "imvwl-3", "imvwl-4", "imvwl-fig1", "imvwl-fig2", "imvwl-fig3", "imvwl-fig4"),
    *("mllcs-2", "mllcs-3", "mllcs-4", "mllcs-fig2", "mllcs-fig3"),
    *("bmlpl-2", "bmlpl-3", "bmlpl-4", "bmlpl-fig2-scaling", "bmlpl-fig2-inference"),
    *("predictors", "complete-labels", "mechanisms", "real-gaps", "real-gaps-losses"),
]
every = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))


def test_every_table_and_figure_has_a_folder():
    assert sorted(NAMED) == sorted(EXPERIMENTS)


@every
def test_budgets_grow(experiment):
    cells = [{cell.key for cell in experiment.cells(budget)} for budget in BUDGETS]
    assert cells[0]
    assert cells[0] <= cells[1] <= cells[2]


@every
def test_a_budget_says_what_it_leaves_out(experiment):
    """What full runs and a budget does not is in its list of what it leaves out."""
    full = experiment.cells("full")
    for budget in BUDGETS[:2]:
        words = " ".join(experiment.left_out(budget))
        there = {cell.key for cell in experiment.cells(budget)}
        for cell in full:
            if cell.key not in there:
                settings = experiment.budgets[budget].settings
                told = (
                    f"set {cell.dataset}" in words
                    or "runs beyond" in words
                    or any(f"every {name} but" in words for name in settings)
                )
                assert told, cell
        unbuilt = [one.name for one in experiment.methods if one.not_built]
        assert all(f"method {name}" in words for name in unbuilt)


@every
def test_methods_try_equally_many_settings(experiment):
    """Every tuned method has as many candidates as the experiment grants (eurlex4k: BMLPL's)."""
    for plan in experiment.methods:
        if plan.not_built:
            continue
        method = find_method(plan, METHODS)
        if method.search is None and method.grid and experiment.candidates > 1:
            task = _Named(experiment.datasets[0].name)
            n = experiment.candidates
            assert len(method.candidates(task, n)) == n, plan.name


class _Named:
    def __init__(self, dataset: str) -> None:
        self.dataset = dataset


@every
def test_tables_have_a_yardstick(experiment):
    if not experiment.x_axis and experiment.name != "bmlpl-4":
        assert any(method.baseline for method in experiment.methods)


def test_every_registered_method_is_used():
    used = {method.uses for one in EXPERIMENTS.values() for method in one.methods}
    assert set(METHODS) == used - {""}


@every
def test_settings_are_read_by_the_protocol_or_given_to_methods(experiment):
    protocol = protocol_of(experiment)
    for setting in experiment.settings:
        unread = set(protocol.keys) - set(setting.values)
        assert not unread


@pytest.mark.usefixtures("data_dir")
def test_a_comparison_without_a_paper_runs_and_resumes(tmp_path):
    """Every method on one set, with every metric, and nothing measured twice."""
    store = RowStore(tmp_path)
    experiment = EXPERIMENTS["predictors"]
    assert not experiment.figures()
    chosen = {"datasets": ["emotions"], "methods": ["Mend", "logistic regression per label"]}
    summary = run_experiments(["predictors"], EXPERIMENTS, store, "smoke", **chosen)
    assert summary.counts == {Status.MEASURED: 6}
    assert summary.n_choices == 3
    for row in store.results("predictors"):
        for metric in experiment.metrics:
            assert value_of(row, metric.name) >= 0
        if row.method == "Mend":
            used = [one for one in row.details["members"].values() if one.get("weight")]
            assert all(0 < one["average_precision"] <= 1 for one in used)
    assert [row.run for row in store.results("predictors")] == [1] * 6
    again = run_experiments(["predictors"], EXPERIMENTS, store, "smoke", **chosen)
    assert (again.n_there, again.n_choices) == (6, 0)
    results = build_reproduction([experiment], store, ())
    page = markdown_pages(page_contents(results), "")["predictors.md"]
    measured = [line for line in page.splitlines() if line.startswith("| emotions |")]
    assert len(measured) == 3 * len(experiment.metrics)
    assert all(line.count("not\u00a0measured") == 10 for line in measured)
    assert "| delicious | not\u00a0measured |" in page


def test_zero_is_zero():
    first = Cell("a", "b", {"missing": 0}, 1, "c")
    assert first.key == Cell("a", "b", {"missing": 0.0}, 1, "c").key
    assert first.key != Cell("a", "b", {"missing": 0.1}, 1, "c").key


def test_cells_that_two_experiments_have_belong_to_one():
    figure = EXPERIMENTS["imvwl-fig1"]
    shared = Cell("imvwl-fig1", "corel5k_multiview", dict(_HALVES), 0, "iMVWL")
    own = Cell("imvwl-fig1", "corel5k_multiview", {**_HALVES, "missing_labels": 0.1}, 0, "iMVWL")
    assert figure.owner(shared, EXPERIMENTS).experiment == "imvwl-2"
    assert figure.owner(own, EXPERIMENTS).experiment == "imvwl-fig1"


def test_smaller_budgets_do_not_serve_larger_ones():
    experiment = EXPERIMENTS["rmfl-4"]
    assert experiment.serves("emotions", "full", "smoke")
    assert experiment.serves("emotions", "small", "full")
    assert not experiment.serves("emotions", "smoke", "small")


_HALVES = {"missing_labels": 0.5, "missing_views": 0.5}
