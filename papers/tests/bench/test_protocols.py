"""What is hidden stays hidden where settings are chosen; drawings depend on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.data import load_dataset
from labelgap.protocols import MECHANISMS
from labelgap_papers.bench.protocols import PROTOCOLS, Protocol
from labelgap_papers.bench.real_gaps import read_versions

CASES = {
    "gaps": ("emotions", {"kind": "entries", "fraction": 0.6}),
    "real-gaps": ("emoji", {"features": "words", "labels": "old"}),
    "unknown-per-row": ("emotions", {"missing": 0.4}),
    "hidden-positives": ("emotions", {"missing": 0.4, "scaling": "raw"}),
    "missing-views": ("emotions_multiview", {"missing_labels": 0.5, "missing_views": 0.5}),
    "unseen-labels": ("bibtex", {"seen": 0.5}),
    "official-split": ("bibtex", {"missing": 0.8}),
    "all-labels-seen": ("bibtex", {"features": "binary"}),
    "fewer-positives": ("bibtex", {"fraction": 0.5}),
}
TIMED = "fewer-positives"
each = pytest.mark.parametrize("name", CASES)
choosing = pytest.mark.parametrize("name", sorted(set(CASES) - {TIMED}))
pytestmark = pytest.mark.usefixtures("data_dir")


def drawn(name: str, run: int = 1):
    dataset, setting = CASES[name]
    return PROTOCOLS[name]().draw(dataset, setting, run)


def rows_of(X) -> set[bytes]:
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return {np.ascontiguousarray(row).tobytes() for row in dense}


def test_every_protocol_is_tried_here():
    assert set(CASES) == set(PROTOCOLS)


@each
def test_a_drawing_depends_on_set_setting_and_run_alone(name):
    first, again = drawn(name), drawn(name)
    assert rows_of(first.X) == rows_of(again.X)
    assert first.Y.equals(again.Y)
    assert first.Y_test.equals(again.Y_test)


@choosing
def test_settings_are_chosen_within_the_training_rows(name):
    task = drawn(name)
    training = rows_of(task.X)
    for part in PROTOCOLS[name]().divisions(task):
        assert rows_of(part.X) <= training
        assert rows_of(part.X_test) <= training
        assert part.Y.n_samples + part.Y_test.n_samples <= task.Y.n_samples


@choosing
def test_settings_are_judged_by_what_a_learner_may_see(name):
    """No division knows more positives, or more entries, than the training labels it is part of."""
    task = drawn(name)
    for part in PROTOCOLS[name]().divisions(task):
        seen = part.Y.n_positives() + part.Y_test.n_positives()
        assert seen <= task.Y.n_positives()
        known = part.Y.n_observed(unlabeled=True) + part.Y_test.n_observed(unlabeled=True)
        assert known <= task.Y.n_observed(unlabeled=True)


@each
def test_test_labels_are_complete(name):
    assert not drawn(name).Y_test.has_gaps


def test_fractions_are_those_of_the_papers():
    truth = load_dataset("emotions").Y
    task = drawn("unknown-per-row")
    assert task.Y.n_samples == int(0.8 * truth.n_samples)
    assert set(task.Y.n_observed(axis=1).tolist()) == {6 - 2}  # floor(0.4 x 6) unknown
    views = drawn("missing-views")
    assert views.Y.n_samples == int(0.7 * truth.n_samples)
    for columns in views.views.values():
        absent = [np.isnan(X[:, columns]).all(axis=1) for X in (views.X, views.X_test)]
        assert np.concatenate(absent).mean() == pytest.approx(0.5, abs=0.06)
    unseen = drawn("unseen-labels")
    assert len(unseen.unseen) == unseen.Y.n_labels // 2
    assert unseen.Y[:, unseen.unseen].n_observed() == 0
    revealed = drawn("official-split").Y
    assert revealed.n_observed() == pytest.approx(0.2 * np.prod(revealed.shape), rel=0.01)


@pytest.mark.parametrize("dataset", ["emotions", "rcv1subset1"])
def test_gaps_are_of_the_kind_asked_for(dataset):
    """Published split where there is one, else 70%; the training labels have the gaps alone."""
    data, protocol = load_dataset(dataset), PROTOCOLS["gaps"]()
    n_train = int(0.7 * data.Y.n_samples) if data.train is None else len(data.train)
    tasks = {
        kind: protocol.draw(dataset, {"kind": kind, "fraction": fraction}, 1)
        for kind, fraction in (("none", 0.0), ("entries", 0.6), ("positives", 0.4))
    }
    complete = tasks["none"].Y
    for task in tasks.values():
        assert task.Y.n_samples == n_train
        assert task.Y.n_samples + task.Y_test.n_samples == data.Y.n_samples
    assert not complete.has_gaps
    known = tasks["entries"].Y.n_observed() / np.prod(complete.shape)
    assert known == pytest.approx(0.4, abs=0.02)
    dropped = tasks["positives"].Y
    assert dropped.unlabeled
    assert not dropped.has_unknown
    assert dropped.n_positives() == pytest.approx(0.6 * complete.n_positives(), rel=0.01)
    with pytest.raises(ValueError, match="kind='rows': use"):
        protocol.draw(dataset, {"kind": "rows", "fraction": 0.1}, 1)


@pytest.mark.parametrize("kind", sorted(MECHANISMS))
def test_every_mechanism_is_a_kind_of_gap(kind):
    task = PROTOCOLS["gaps"]().draw("emotions", {"kind": kind, "fraction": 0.4}, 1)
    complete = PROTOCOLS["gaps"]().draw("emotions", {"kind": "none", "fraction": 0.0}, 1)
    left = task.Y.n_positives() / complete.Y.n_positives()
    assert left == pytest.approx(0.6, abs=0.12)
    assert task.Y.unlabeled


def test_real_gaps_learn_from_what_was_recorded():
    protocol, setting = PROTOCOLS["real-gaps"](), {"features": "words"}
    recorded = protocol.draw("mdi", {**setting, "labels": "old"}, 1)
    assert recorded.Y.n_positives() == 4119
    assert recorded.Y.unlabeled
    assert recorded.X_test.shape[0] == 2402
    filled = protocol.draw("mdi", {**setting, "labels": "filled"}, 1)
    assert filled.Y.n_positives() == 4119 + 559
    assert not filled.Y.unlabeled
    # as many are lost at random as were missing
    masked = protocol.draw("mdi", {**setting, "labels": "positives"}, 1)
    assert abs(masked.Y.n_positives() - 4119) <= 1
    debtags = protocol.draw("debtags", {**setting, "labels": "old"}, 1)
    assert (np.asarray(debtags.Y.n_positives(axis=1)) == 0).sum() >= 3393
    known = protocol.draw("debtags", {**setting, "labels": "filled"}, 1)
    assert known.Y.n_samples == 6000 - 3393
    with pytest.raises(ValueError, match="labels='rows': use"):
        protocol.draw("mdi", {**setting, "labels": "rows"}, 1)
    with pytest.raises(ValueError, match="features='sounds': use"):
        protocol.draw("mdi", {"features": "sounds", "labels": "filled"}, 1)


def test_versions_of_ones_own_are_read(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("id,text,tags\n1,red door,red\n2,blue door,\n3,red sky,red;sky\n")
    new.write_text(
        "id,text,tags\n1,red door,red;door\n2,blue door,blue\n3,red sky,sky\n4,red sun,red\n"
    )
    pair = read_versions(old, new)
    assert list(pair.then.names) == ["red", "sky"]
    assert pair.then.unlabeled
    # what was removed stays, what was added is there, labels that the old version lacks are not
    np.testing.assert_array_equal(pair.filled.to_dense(), [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(pair.test_labels.to_dense(), [[1, 0]])
    protocol = PROTOCOLS["real-gaps"](pairs={"mine": {"old": str(old), "new": str(new)}})
    assert "mine" in protocol.known_datasets()
    task = protocol.draw("mine", {"features": "words", "labels": "old"}, 1)
    assert task.X.shape[0] == 3
    with pytest.raises(ValueError, match="no column 'name'; name it"):
        read_versions(old, new, item="name")


def test_time_is_nothing_to_choose_settings_by():
    with pytest.raises(NotImplementedError, match="FewerPositives cannot choose settings"):
        PROTOCOLS[TIMED]().divisions(drawn(TIMED))


def test_options_are_checked():
    with pytest.raises(ValueError, match="no option 'colour' of the protocol; it has: none"):
        Protocol(colour=1)
    with pytest.raises(ValueError, match="it has: sixths, divisions"):
        PROTOCOLS["hidden-positives"](colour=1)
