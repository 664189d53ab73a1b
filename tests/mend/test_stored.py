"""Mend from rows in blocks: arrays where they fit the memory, and what streams where not."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance, Mend, as_labels
from labelgap.fitting import ArrayRows, write_blocks
from labelgap.metrics import precision_at_k

SMALL = {"working_memory": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 150))
    Y = (X[:, :12] + 0.5 * rng.normal(size=(2000, 12)) > 1.0).astype(float)
    return X[:1500], Y[:1500], X[1500:], Y[1500:]


def test_rows_that_fit_the_memory_are_learned_as_arrays(table):
    X, Y, X_new, _ = table
    rows = ArrayRows(X[:200], Y[:200], block_rows=70)
    stored, plain = (Mend(preset="fast", random_state=0) for _ in range(2))
    expected = plain.fit(X[:200], Y[:200]).predict_proba(X_new)
    np.testing.assert_allclose(stored.fit(rows).predict_proba(X_new), expected, atol=1e-9)


def test_more_rows_are_learned_block_by_block(table, tmp_path):
    X, Y, X_new, Y_new = table
    write_blocks(
        tmp_path, (X, as_labels(Y).with_names([f"n{j}" for j in range(12)])), block_rows=400
    )
    with sklearn.config_context(**SMALL):
        model = Mend(random_state=0).fit(str(tmp_path))
    first, *others = model.leaderboard_
    assert (first.name, first.weight) == ("linear", 1.0)
    assert first.log_loss < 0.3
    assert "rows lie in blocks" in {row.name: row.skipped for row in others}["network"]
    probabilities = model.predict_proba(X_new)
    expected = BinaryRelevance().fit(X, Y).predict_proba(X_new)
    assert np.abs(probabilities - expected).mean() < 0.06
    names, best = model.predict_topk(ArrayRows(X_new, Y_new, block_rows=90), 3)
    top = np.argsort(-probabilities, axis=1)[:, :3]
    np.testing.assert_array_equal(names, model.classes_[top])
    np.testing.assert_allclose(best, np.take_along_axis(probabilities, top, axis=1))
    with pytest.raises(ValueError, match="in one array"):
        model.predict_proba(X_new, known=np.full(Y_new.shape, np.nan))


def test_many_labels_are_learned_by_a_tree(monkeypatch, table):
    monkeypatch.setattr("labelgap.mend._stored_portfolio.MANY_LABELS", 5)
    X, Y, X_new, Y_new = table
    rows = ArrayRows(sparse.csr_array(X * (X > 0)), Y, block_rows=400)
    with sklearn.config_context(**SMALL):
        model = Mend(random_state=0).fit(rows)
    assert model.leaderboard_[0].name == "label tree"
    X_new = sparse.csr_array(X_new * (X_new > 0))
    labels, best = model.predict_topk(X_new, 2)
    scores = model.predict_proba(X_new)
    np.testing.assert_array_equal(labels[:, 0], scores.argmax(axis=1))
    np.testing.assert_allclose(best[:, 0], scores.max(axis=1), rtol=1e-5)
    assert precision_at_k(Y_new, scores, k=1) > 0.6


def test_unlabeled_zeros_have_their_frequency_from_rows_left_out(table):
    X, Y, X_new, _ = table
    kept = Y * (np.random.default_rng(1).random(Y.shape) < 0.6)
    with sklearn.config_context(**SMALL):
        model = Mend(zeros="unlabeled", random_state=0).fit(ArrayRows(X, kept, block_rows=400))
        plain = Mend(random_state=0).fit(ArrayRows(X, kept, block_rows=400))
    assert 0.4 < model.label_frequency_ < 0.9
    assert (model.predict_proba(X_new) > plain.predict_proba(X_new)).mean() > 0.99


def test_what_needs_arrays_says_so(table):
    rows = ArrayRows(*table[:2], block_rows=400)
    with sklearn.config_context(**SMALL), pytest.raises(ValueError, match="one array"):
        Mend(LogisticRegression()).fit(rows)
    with pytest.raises(ValueError, match="sample_weight"):
        Mend().fit(rows, sample_weight=np.ones(1500))


@pytest.mark.parametrize("given", [{"time_limit": 60.0}, {"device": "cpu"}, {"callback": print}])
def test_what_models_of_blocks_do_not_have_is_refused(table, given):
    X, Y, _, _ = table
    with (
        sklearn.config_context(**SMALL),
        pytest.raises(ValueError, match=f"^{next(iter(given))} is for rows in one array"),
    ):
        Mend(**given).fit(ArrayRows(X, Y, block_rows=400))
