"""Experiments' files: what is wrong is named with its file and key."""

from __future__ import annotations

import re

import pytest

from bench.toy import TOY, write_toy
from labelgap_papers.bench import ExperimentError, load_experiments, read_experiment


def test_the_toy_is_read(tmp_path):
    toy = read_experiment(write_toy(tmp_path) / "toy" / "experiment.toml")
    assert toy.name == "toy"
    assert [one.values for one in toy.settings] == [{"missing": 0.4}, {"missing": 0.6}]
    assert len(toy.cells("full")) == 2 * 3 * 2
    assert len(toy.cells("smoke")) == 2 * 1 * 2
    assert toy.budgets["full"].candidates is None


WRONG = [
    ('title = "A toy"\n', "", "'title' is missing"),
    ('title = "A toy"', 'title = "A toy"\ncolour = 1', "no key 'colour'"),
    ('"unknown-per-row"', '"by-hand"', "protocol: no 'by-hand'"),
    ('"unknown-per-row"', '{ name = "unknown-per-row", sixths = 1 }', "no option 'sixths'"),
    ("emotions = 3", "emotion = 3", "datasets.emotion: no such set"),
    ("emotions = 3", "emotions = 0", "datasets.emotions.runs=0"),
    ("emotions = 3", "emotions = { repeats = 3 }", "datasets.emotions: no key 'repeats'"),
    ('"lower"', '"smaller"', "metrics.hamming_loss: say"),
    ('"bench.toy:constant"', '"rmfll"', "methods.constant: no registered method 'rmfll'"),
    ("runs = 2", 'runs = 2\ndatasets = ["yeast"]', "budgets.small.datasets: 'yeast'"),
    ("[budgets.small]\nruns = 2", "", "budgets.small is missing"),
    ("[budgets.small]", "[budgets.tiny]", "budgets: no key 'tiny'"),
    ('table = "toy"', 'table = "IV"', "datasets: none is the published"),
    ("emotions = 3", 'emotions = { runs = 3, published = "x" }', "datasets.emotions.published"),
    ("candidates = 4", "candidates = ", "not TOML"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_errors_name_file_and_key(tmp_path, old, new, message):
    path = write_toy(tmp_path) / "toy" / "experiment.toml"
    assert old in TOY
    path.write_text(TOY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ExperimentError, match=re.escape(message)) as caught:
        read_experiment(path)
    assert str(path) in str(caught.value)


def test_references_between_experiments_are_checked(tmp_path):
    path = write_toy(tmp_path) / "toy" / "experiment.toml"
    path.write_text('borrows = ["nothing"]\n' + TOY, encoding="utf-8")
    with pytest.raises(ExperimentError, match="there is no experiment 'nothing'"):
        load_experiments(tmp_path)
    line = 'other = { uses = "rmfl", settings_of = "nobody" }'
    write_toy(tmp_path / "more", line)
    with pytest.raises(ExperimentError, match="no method 'nobody' here or borrowed"):
        load_experiments(tmp_path / "more")


def test_own_experiments_stand_beside_and_before_the_library(tmp_path):
    found = load_experiments(write_toy(tmp_path))
    assert {"toy", "rmfl-4"} <= set(found)
    write_toy(tmp_path / "mine", name="bmlpl-4")
    assert load_experiments(tmp_path / "mine")["bmlpl-4"].title == "A toy"
    with pytest.raises(ExperimentError, match="no such folder"):
        load_experiments(tmp_path / "nowhere")
