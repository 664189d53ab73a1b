"""Scores with the answers among the labels: honest, better, and in good time."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import sparse

from labelgap.auditing import AuditRescorer, Decision, ReviewDecisions, audit
from labelgap.auditing._rescoring import _scores_at
from labelgap.imputers import RidgeImputer
from labelgap.labels import Labels, State
from labelgap.protocols import hide_entries, hide_positives
from labelgap.review import item_traits, review_candidates
from labelgap.review._answer_model import prior_log_odds
from labelgap.review._background_rescoring import BackgroundRescoring
from review.books import drawn_candidates

N_ITEMS, N_FEATURES, N_LABELS = 200, 30, 6


def drawn(kind: str, seed: int = 0):
    """Data, labels with gaps, and candidates with their truth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ITEMS, N_FEATURES))
    weights = rng.standard_normal((N_FEATURES, N_LABELS)) / np.sqrt(N_FEATURES)
    log_odds = 4 * X @ weights - 1
    full = Labels.from_dense((log_odds + rng.logistic(size=log_odds.shape) > 0).astype(float))
    hide = hide_entries if kind == "unknown" else hide_positives
    labels = hide(full, 0.4, random_state=seed).labels
    zeros = "auto" if kind == "unknown" else "unlabeled"
    if kind == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    found = audit(X, labels, zeros=zeros, n_suggestions=N_ITEMS * N_LABELS, random_state=3)
    candidates = review_candidates(found, [str(k) for k in range(N_ITEMS)], item_traits(X))
    truth = full.positives().toarray()[candidates.rows, candidates.columns].astype(float)
    return candidates, truth, AuditRescorer(X, labels, zeros=zeros, random_state=3)


def rescored(rescore, candidates, answered, answers) -> np.ndarray:
    """New log-odds of all candidates."""
    rows, columns = candidates.rows, candidates.columns
    found = rescore((rows, columns), (rows[answered], columns[answered]), answers)
    return prior_log_odds(found)


def loss(log_odds: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(np.logaddexp(0, log_odds) - truth * log_odds))


NOTHING = np.empty(0, dtype=np.intp)


@pytest.mark.parametrize("kind", ["zeros", "unknown", "sparse"])
def test_without_answers_it_says_what_the_audit_said(kind):
    candidates, _, rescore = drawn(kind)
    np.testing.assert_allclose(
        rescored(rescore, candidates, NOTHING, np.empty(0)), candidates.log_odds, atol=1e-6
    )


def test_decisions_of_an_earlier_review_are_taken_in_as_the_audit_does():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ITEMS, N_FEATURES))
    full = Labels.from_dense((X[:, :N_LABELS] + rng.normal(size=(N_ITEMS, N_LABELS)) > 1.0) * 1.0)
    names = [f"label {k}" for k in range(N_LABELS)]
    labels = hide_positives(full, 0.4, random_state=0).labels.with_names(names)
    items = [f"item {k}" for k in range(N_ITEMS)]
    first = audit(X, labels, item_ids=items, n_suggestions=60, random_state=3)
    made = tuple(
        Decision(one.item, one.label, "accept" if one.rank % 3 else "reject", "")
        for one in first.suggestions
    )
    how = {"item_ids": items, "decisions": ReviewDecisions(first.audit_id, made), "random_state": 3}
    second = audit(X, labels, n_suggestions=100, **how)
    candidates = review_candidates(second, items, item_traits(X))
    fresh = rescored(AuditRescorer(X, labels, **how), candidates, NOTHING, np.empty(0))
    np.testing.assert_allclose(fresh, candidates.log_odds, atol=1e-6)


@pytest.mark.parametrize("kind", ["zeros", "unknown"])
def test_answers_improve_what_is_said_of_others(kind, rng):
    before, after = [], []
    for seed in range(3):
        candidates, truth, rescore = drawn(kind, seed)
        order = rng.permutation(candidates.n)
        half = candidates.n // 2
        answered, others = order[:half], order[half:]
        fresh = rescored(rescore, candidates, answered, truth[answered])
        before.append(loss(candidates.log_odds[others], truth[others]))
        after.append(loss(fresh[others], truth[others]))
    assert np.mean(after) < np.mean(before)


def test_an_answer_has_no_part_in_its_own_score():
    # the row of an entry is left out of what scores it
    candidates, _, again = drawn("zeros")
    start = again._start
    X = start.model.rows.inputs
    row, column = candidates.rows[[5]], candidates.columns[[5]]
    scores = []
    for state in (State.RELEVANT, State.NEGATIVE):
        known = again._labels.with_entries(row, column, state)
        ridge = RidgeImputer(*start.ridge.penalties_).fit(X, known)
        blocks = ridge.left_out_blocks(X, known)
        scores.append(_scores_at(blocks, candidates.rows, candidates.columns))
    moved = np.abs(scores[0] - scores[1])
    same_label = (candidates.columns == column) & (candidates.rows != row)
    assert moved[5] < 1e-9
    assert moved[same_label].max() > 1e-4


def test_scores_are_made_anew_when_there_are_a_quarter_more_answers():
    candidates, answers = drawn_candidates()
    calls = []

    def rescore(_, answered, __):
        calls.append(answered[0].size)
        return np.full(candidates.n, 0.5)

    scoring = BackgroundRescoring(rescore, patience=30.0)
    fresh = []
    for n in range(60):
        made = scoring.newest(candidates, np.arange(n), answers[:n])
        fresh.append(made is not None)
    assert calls == [20, 26, 33, 42, 53]
    assert [n for n, made in enumerate(fresh) if made] == calls


def test_nobody_waits_longer_than_patience():
    candidates, answers = drawn_candidates()
    go_on = threading.Event()

    def slow(*_):
        assert go_on.wait(30)
        return np.full(candidates.n, 0.5)

    scoring = BackgroundRescoring(slow, patience=0.01)
    answered = np.arange(30)
    assert scoring.newest(candidates, answered, answers[answered]) is None
    assert scoring.newest(candidates, answered, answers[answered]) is None
    go_on.set()
    made = None
    while made is None:
        made = scoring.newest(candidates, answered, answers[answered])
    np.testing.assert_array_equal(made, 0)
    assert scoring.newest(candidates, answered, answers[answered]) is None


def test_a_scoring_that_fails_leaves_the_old_scores(caplog):
    candidates, answers = drawn_candidates()

    def broken(*_):
        raise MemoryError("too large")

    scoring = BackgroundRescoring(broken, patience=30.0)
    assert scoring.newest(candidates, np.arange(30), answers[:30]) is None
    assert "could not be computed" in caplog.text
    assert scoring.newest(candidates, np.arange(31), answers[:31]) is None


def test_without_a_rescorer_nothing_is_scored():
    candidates, answers = drawn_candidates()
    assert BackgroundRescoring(None, 1.0).newest(candidates, np.arange(50), answers[:50]) is None


def test_entries_that_have_no_model_and_answers_that_are_none():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ITEMS, N_FEATURES))
    Y = (X[:, :3] > 0.5).astype(float)
    Y[:, 1] = 0
    Y[0, 1] = 1
    again = AuditRescorer(X, Y, zeros="unlabeled")
    nothing = (NOTHING, NOTHING)
    with pytest.raises(ValueError, match=r"entries\[1\]\[1\] is 1: .* too few items"):
        again((np.array([0, 1]), np.array([0, 1])), nothing, np.empty(0))
    with pytest.raises(ValueError, match=r"answered\[1\]\[0\] is 1: .* too few items"):
        again(nothing, (np.array([3]), np.array([1])), np.ones(1))
    with pytest.raises(ValueError, match="answers: give 0 or 1"):
        again(nothing, (np.array([3]), np.array([0])), np.array([0.5]))
