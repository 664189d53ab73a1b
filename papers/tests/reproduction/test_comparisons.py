"""Wins and losses, mean ranks, curves: from rows with known answers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from labelgap_papers.reproduction import build_reproduction, load_papers
from labelgap_papers.reproduction._comparisons import blocks, main_method, ranked, win_loss
from labelgap_papers.reproduction._tables_and_curves import curve_tables, grids
from reproduction.made_results import (
    experiment_of,
    picture_experiment,
    picture_rows,
    rows_of,
    stored,
)

METRIC = "mean_average_precision"


def results_of(tmp_path, experiment, rows):
    reproduction = build_reproduction([experiment], stored(tmp_path / "rows", rows), load_papers())
    return reproduction, reproduction.results[0]


def moved(rows, method, shift):
    return [
        replace(row, metrics={METRIC: row.metrics[METRIC] + shift}) if row.method == method else row
        for row in rows
    ]


def test_wins_and_losses_follow_the_paired_differences(tmp_path):
    experiment = experiment_of("GMFS", "2")
    rows = rows_of(experiment, spread=0.0)
    values = {"FSNM": 0.1, "SFUS": 0.9}
    rows = [
        replace(row, metrics={METRIC: values.get(row.method, 0.5) + 0.01 * row.run}) for row in rows
    ]
    _, results = results_of(tmp_path, experiment, rows)
    found = {line.opponent: line for line in win_loss(results, METRIC)}
    assert main_method(results).name == "GMFS"
    assert (found["FSNM"].wins, found["FSNM"].ties, found["FSNM"].losses) == (7, 0, 0)
    assert (found["SFUS"].wins, found["SFUS"].ties, found["SFUS"].losses) == (0, 0, 7)
    assert (found["MIFS"].wins, found["MIFS"].ties, found["MIFS"].losses) == (0, 7, 0)
    assert found["FSNM"].advantage == pytest.approx(0.4)
    assert found["FSNM"].wilcoxon_p < 0.2
    assert math.isnan(found["MIFS"].wilcoxon_p)
    assert found["FSNM"].published == (7, 0, 0)
    assert found["one per label"].published is None


def test_runs_that_only_one_has_do_not_count(tmp_path):
    experiment = experiment_of("GMFS", "2", runs=3)
    rows = rows_of(experiment)
    rows = [row for row in rows if row.method != "FSNM" or row.run == 1]
    rows = [row for row in rows if row.method != "SFUS"]
    _, results = results_of(tmp_path, experiment, rows)
    found = {line.opponent: line for line in win_loss(results, METRIC)}
    assert (found["FSNM"].tested, found["FSNM"].untested) == (0, 7)
    assert math.isnan(found["FSNM"].effect)
    assert "SFUS" not in found


def test_ranks_leave_out_what_is_not_there(tmp_path):
    experiment = experiment_of("GMFS", "2", runs=2)
    rows = moved(rows_of(experiment), "GMFS", 1.0)
    rows = [row for row in rows if row.method != "MIFS" or row.dataset == "yeast"]
    rows = [row for row in rows if row.method != "CMFS" or row.dataset != "science"]
    _, results = results_of(tmp_path, experiment, rows)
    found = ranked(results, METRIC)
    assert found.ranking.methods[0] == "GMFS"
    assert found.ranking.mean_ranks[0] == 1
    assert found.ranking.n_blocks == 6
    assert set(found.left_out) == {"MIFS", "science"}


def test_too_little_is_not_ranked(tmp_path):
    experiment = experiment_of("GMFS", "2", runs=2)
    rows = [row for row in rows_of(experiment) if row.dataset in ("yeast", "science")]
    _, results = results_of(tmp_path, experiment, rows)
    assert ranked(results, METRIC) is None


def test_settings_that_are_not_printed_are_not_compared(tmp_path):
    whole = experiment_of("GMFS", "2", runs=2)
    extra = replace(whole.settings[0], values={"missing": "0.2", "scaling": "other"}, published="")
    experiment = replace(whole, settings=(*whole.settings, extra))
    _, results = results_of(tmp_path, experiment, [])
    assert len(blocks(results)) == 7


def test_tables_show_what_is_printed_or_measured(tmp_path):
    experiment = experiment_of("GMFS", "2", runs=2)
    rows = [row for row in rows_of(experiment) if row.method != "one per label"]
    rows = [row for row in rows if row.dataset == "yeast"]
    reproduction, results = results_of(tmp_path, experiment, moved(rows, "SFUS", 1.0))
    (grid,) = grids(reproduction, results)
    names = [line.method.name for line in grid.lines]
    assert "one per label" not in names
    assert len(grid.datasets) == 7
    best = [
        (line.method.name, dataset.name)
        for line in grid.lines
        for cell, dataset in zip(line.cells, grid.datasets, strict=True)
        if cell.best
    ]
    assert best == [("SFUS", "yeast")]


def test_curves_along_a_setting_are_means_over_runs(tmp_path):
    experiment = picture_experiment()
    _, results = results_of(tmp_path, experiment, picture_rows(experiment))
    (table,) = curve_tables(results)
    assert [panel.title for panel in table.panels] == ["emotions", "yeast"] * 2
    curve = table.panels[0].curves["GMFS"]
    assert list(curve) == [0.1, 0.3, 0.5]
    assert curve[0.1] == pytest.approx((0.79, 0.785, 0.795))
    assert list(table.panels[0].curves) == ["GMFS", "All features"]


def test_curves_along_iterations_are_those_of_the_rows(tmp_path):
    experiment = picture_experiment("iterations")
    _, results = results_of(tmp_path, experiment, picture_rows(experiment))
    (table,) = curve_tables(results)
    curve = table.panels[0].curves["GMFS"]
    assert len(curve) == 30
    assert curve[1] == pytest.approx(((5 + 10 / 3) / 2, 10 / 3, 5))


def test_a_single_place_is_no_curve(tmp_path):
    experiment = picture_experiment()
    rows = [row for row in picture_rows(experiment) if row.setting["missing"] == 0.1]
    _, results = results_of(tmp_path, experiment, rows)
    assert curve_tables(results) == []
