"""``labelgap demo``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelgap import Labels
from labelgap.cli import _demo_experiment as experiment_module
from labelgap.cli._demo_experiment import Experiment, generated_data, prepare, sample_matrix
from labelgap.protocols import hide_entries

pytest.importorskip("jinja2")

SMALL = ("--max-rows", "150")


def test_generated_demo_prints_and_writes_a_page(run):
    ran = run("demo", "--dataset", "generated", *SMALL)
    assert ran.code == 0, ran
    assert "These data are generated." in ran.out
    assert "Unknown as no" in ran.out
    page = Path("labelgap-demo.html").read_text(encoding="utf-8")
    assert "These data are generated." in page
    assert "labelgap demo --dataset generated --share 0.4 --seed 0 --max-rows 150" in page


def test_json_is_clean_and_repeatable(run):
    arguments = ("demo", "-d", "generated", *SMALL, "--seed", "4", "-o", "page.html", "--json")
    first, second = run(*arguments), run(*arguments)
    assert first.err == ""
    one, two = first.json, second.json
    for timed in (one, two):
        timed.pop("seconds")
        for method in timed["methods"]:
            method.pop("seconds")
    assert one == two
    assert one["n_hidden"] == pytest.approx(0.4 * 150 * 14, rel=0.1)
    assert one["n_found"] <= one["n_hidden_yes"] <= one["n_hidden"]
    assert [method["role"] for method in one["methods"]][0::4] == ["model", "ceiling"]


def test_the_model_beats_the_naive_ways_on_generated_data(run):
    methods = run("demo", "-d", "generated", "--max-rows", "300", "--json").json["methods"]
    model, *naive = (one for one in methods if one["role"] != "ceiling")
    for other in naive:
        assert model["unseen"]["f1_micro"] > other["unseen"]["f1_micro"]
        assert model["recovered"]["f1_micro"] > other["recovered"]["f1_micro"]
        assert other["lead"]["f1_micro"][0] > 0


def test_without_data_and_network_it_says_that_data_are_generated(run):
    ran = run("demo", "--no-fetch", *SMALL, "--json")
    assert ran.code == 0
    assert ran.json["dataset"] == "generated"
    assert "yeast is neither on this machine nor could it be fetched" in ran.json["generated"]
    assert "LABELGAP_DATA is not set" in ran.err


def test_real_data(run, data_dir, monkeypatch):
    monkeypatch.setenv("LABELGAP_DATA", str(data_dir))
    ran = run("demo", "--dataset", "emotions", "--json").json
    assert (ran["generated"], ran["n_train"], ran["n_test"]) == (None, 391, 202)
    found = {one["key"]: one["unseen"]["average_precision"] for one in ran["methods"]}
    assert found["model"] > found["prior"]


def test_large_sets_use_logistic_regression(run, monkeypatch):
    monkeypatch.setattr(experiment_module, "_MOST_KERNEL_WORK", 0)
    methods = run("demo", "-d", "generated", *SMALL, "--json").json["methods"]
    assert "BinaryRelevance" in methods[0]["description"]


def test_what_is_refused(fails):
    assert "did you mean yeast?" in fails("demo", "-d", "yaest")
    assert "there is no folder nowhere" in fails("demo", "-o", "nowhere/page.html")


def test_cells_of_the_picture_say_what_happened():
    truth = np.array([[1, 1, 1, 0, 0, 0]])
    full = Labels.from_dense(truth, names=list("abcdef"))
    hidden = hide_entries(full, 0.0)
    gaps = full.hide([0, 0, 0, 0], [1, 2, 4, 5])
    hidden = type(hidden)(gaps, hidden.truth)
    said = np.array([[0.9, 0.9, 0.1, 0.9, 0.1, 0.9]])
    sample = sample_matrix(Experiment(np.zeros((1, 1)), hidden, full, None, full), said, 0)
    assert sample.states == [["yes", "found", "missed", "no", "cleared", "alarm"]]
    assert sample.labels == list("abcdef")


def test_test_rows_never_reach_training():
    data = generated_data(0)
    experiment = prepare(data, 0.4, 10_000, 0)
    assert experiment.full.n_rows + experiment.Y_test.n_rows == data.Y.n_rows
    known = {row.tobytes() for row in np.round(experiment.X, 9)}
    assert not any(row.tobytes() in known for row in np.round(experiment.X_test, 9))
