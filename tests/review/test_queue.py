"""The next question: gains against brute force, and batches that do not ask twice."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.review import ReviewCandidates
from labelgap.review import _question_queue as module
from labelgap.review._answer_model import AnswerPosterior, expected_probability, learn_from_answers
from labelgap.review._question_queue import choose_batch, question_price
from review.books import drawn_candidates

NOTHING = np.empty(0, dtype=np.intp)


def slow_gain(candidates, posterior, entry, undecided, price):
    """The formula, one entry and one answer at a time."""
    label = candidates.columns[entry]
    covariance = posterior.covariances[label]
    traits = candidates.reach(np.arange(candidates.n))
    mean, variance = posterior.log_odds(candidates, np.arange(candidates.n))
    spread = traits[entry] @ covariance @ traits[entry]
    p = float(expected_probability(mean[entry], variance[entry]))
    q = p * (1 - p)
    total = p
    for k in undecided:
        if candidates.columns[k] != label:
            continue
        shared = traits[k] @ covariance @ traits[entry]
        after = variance[k] - shared**2 * q / (1 + q * spread)
        moved = [mean[k] + shared * (y - p) / (1 + q * spread) for y in (1, 0)]
        yes, no = expected_probability(np.array(moved), after)
        expected = p * yes + (1 - p) * no
        worth = p * max(yes - price, 0) + (1 - p) * max(no - price, 0)
        total += worth - max(expected - price, 0)
    return total


def test_gains_are_those_of_the_formula():
    candidates, answers = drawn_candidates(30, 2, 1)
    answered = np.arange(10)
    posterior = learn_from_answers(candidates, answered, answers[answered])
    undecided = np.arange(10, candidates.n)
    means, variances = posterior.log_odds(candidates, undecided)
    queues = module._label_queues(candidates, posterior, undecided, means, variances, 0.4)
    assert len(queues) == 2
    for queue in queues:
        expected = [slow_gain(candidates, posterior, k, undecided, 0.4) for k in queue._entries]
        np.testing.assert_allclose(queue._gains, expected, rtol=1e-9)
        assert queue.best_gain == pytest.approx(max(expected))


def test_the_first_question_gains_most():
    candidates, _ = drawn_candidates(30, 2, 1)
    posterior = learn_from_answers(candidates, NOTHING, np.empty(0))
    undecided = np.arange(candidates.n)
    probabilities = expected_probability(*posterior.log_odds(candidates, undecided))
    price = question_price(probabilities, 20)
    gains = [slow_gain(candidates, posterior, k, undecided, price) for k in undecided]
    assert choose_batch(candidates, posterior, undecided, 2, horizon=10)[0] == int(np.argmax(gains))


def two_labels(n: int = 40) -> ReviewCandidates:
    """Of the same probabilities; about the second label much is uncertain."""
    columns = np.repeat([0, 1], n)
    log_odds = np.tile(np.linspace(-1, 1, n), 2)
    rows = np.arange(2 * n)
    items = [f"i{k}" for k in rows]
    return ReviewCandidates(rows, columns, log_odds, np.ones((2 * n, 1)), items, ["known", "open"])


def certain(covariances: list[float]) -> AnswerPosterior:
    spread = np.array(covariances)[:, None, None]
    return AnswerPosterior(np.array([0.0, 1.0]), np.zeros((2, 2)), np.zeros((2, 1)), spread)


def test_an_uncertain_label_is_asked_about_before_it_is_the_most_probable():
    candidates = two_labels()
    batch = choose_batch(candidates, certain([1e-12, 2.0]), np.arange(candidates.n), 4, horizon=5)
    assert candidates.columns[batch[0]] == 1
    alone = choose_batch(candidates, certain([1e-12, 1e-12]), np.arange(candidates.n), 4, horizon=5)
    np.testing.assert_allclose(np.sort(candidates.log_odds[alone])[::-1][:2], 1.0)


def test_a_batch_does_not_ask_the_same_thing_again_and_again():
    # an answer tells all about the uncertain label: after the first few, the other's turn comes
    candidates = two_labels()
    posterior = certain([0.3, 2.0])
    batch = choose_batch(candidates, posterior, np.arange(candidates.n), 16, horizon=2)
    assert len(set(batch.tolist())) == 16
    assert set(candidates.columns[batch]) == {0, 1}


def test_certain_labels_are_asked_by_probability():
    candidates, _ = drawn_candidates(40, 3, 1)
    flat = AnswerPosterior(
        np.array([0.0, 1.0]), np.zeros((2, 2)), np.zeros((3, 2)), np.full((3, 2, 2), 1e-15)
    )
    batch = choose_batch(candidates, flat, np.arange(candidates.n), 10)
    np.testing.assert_array_equal(batch, np.argsort(-candidates.log_odds, kind="stable")[:10])


@pytest.mark.parametrize("n_open", [0, 1, 5, 200])
def test_a_batch_is_full_or_all_there_is(n_open):
    candidates, _ = drawn_candidates(100, 2, 1)
    posterior = learn_from_answers(candidates, NOTHING, np.empty(0))
    undecided = np.arange(n_open)
    batch = choose_batch(candidates, posterior, undecided, 190)
    assert batch.size == min(190, n_open)
    assert len(set(batch.tolist())) == batch.size
    assert set(batch.tolist()) <= set(undecided.tolist())


def test_many_labels_compete_by_probability(monkeypatch):
    monkeypatch.setattr(module, "_MOST_LABELS", 1)
    candidates, _ = drawn_candidates(50, 4, 1)
    posterior = learn_from_answers(candidates, NOTHING, np.empty(0))
    batch = choose_batch(candidates, posterior, np.arange(candidates.n), 30)
    assert len(set(batch.tolist())) == 30
    assert len(set(candidates.columns[batch])) == 4


def test_the_price_is_where_the_questions_end():
    probabilities = np.array([0.1, 0.9, 0.5, 0.7])
    assert question_price(probabilities, 2) == 0.7
    assert question_price(probabilities, 4) == 0.0
    assert question_price(np.empty(0), 3) == 0.0
