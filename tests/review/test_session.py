"""A review: questions, leases, learning between batches, and going on after a stop."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.auditing import read_decisions, write_decisions
from labelgap.review import UnknownEntryError
from labelgap.review._review_session import batch_size
from review.books import book_audit, open_review


def answer(review, questions, decision, reviewer="Ann"):
    for one in questions:
        review.decide(one.suggestion.item, one.suggestion.label, decision, reviewer)


def entries(questions):
    return [(one.suggestion.item, one.suggestion.label) for one in questions]


def test_two_reviewers_are_asked_different_questions(tmp_path):
    review = open_review(tmp_path)
    ann, bob = review.next_batch("Ann"), review.next_batch("Bob")
    assert len(ann) == len(bob) == 20
    assert not set(entries(ann)) & set(entries(bob))


def test_the_same_client_is_asked_the_same_again(tmp_path):
    review = open_review(tmp_path)
    assert entries(review.next_batch("Ann")) == entries(review.next_batch("Ann"))


def test_leases_end(tmp_path):
    now = [0.0]
    review = open_review(tmp_path, clock=lambda: now[0])
    first = review.next_batch("Ann")
    now[0] = 3600.0
    assert entries(review.next_batch("Bob")) == entries(first)


def test_the_last_questions_are_asked_even_if_somebody_else_has_them(tmp_path):
    review = open_review(tmp_path, book_audit(10))
    first = review.next_batch("Ann")
    assert len(first) == 10
    assert set(entries(review.next_batch("Bob"))) == set(entries(first))


def test_decided_entries_are_not_asked_again_until_withdrawn(tmp_path):
    review = open_review(tmp_path, book_audit(10))
    first = review.next_batch("Ann", 4)
    answer(review, first[:2], "accept")
    answer(review, first[2:], "skip")
    rest = review.next_batch("Ann")
    assert not set(entries(rest)) & set(entries(first))
    answer(review, first[:1], "withdraw")
    assert entries(first)[0] in entries(review.next_batch("Ann"))


def test_answers_change_the_probabilities_of_the_next_batch(tmp_path):
    review = open_review(tmp_path)
    for decision, sign in (("reject", -1), ("accept", 1)):
        folder = tmp_path / decision
        folder.mkdir()
        review = open_review(folder)
        answer(review, review.next_batch("Ann"), decision)
        moved = [one.probability - one.suggestion.probability for one in review.next_batch("Ann")]
        assert sign * sum(moved) > 0.5


def test_a_review_goes_on_where_it_was(tmp_path):
    review = open_review(tmp_path)
    answer(review, review.next_batch("Ann"), "accept")
    again = open_review(tmp_path)
    assert again.progress() == open_review(tmp_path).progress()
    expected = review.next_batch("Ann")
    assert [(one.suggestion, one.probability) for one in again.next_batch("Ann")] == [
        (one.suggestion, one.probability) for one in expected
    ]
    assert again.progress() == review.progress()


def test_progress_counts_and_names_disagreements(tmp_path):
    review = open_review(tmp_path)
    first, second, third, fourth = review.next_batch("Ann", 4)
    answer(review, [first, second], "accept")
    answer(review, [first], "reject", "Bob")
    answer(review, [second], "accept", "Bob")
    answer(review, [third], "skip")
    answer(review, [fourth], "reject")
    seen = review.progress()
    assert (seen.n_accepted, seen.n_rejected, seen.n_skipped) == (1, 2, 1)
    assert seen.found == ((0, 0), (1, 0), (2, 1), (3, 1))
    assert seen.by_reviewer == {"Bob": 2, "Ann": 1}
    (disagreement,) = seen.disagreements
    assert (disagreement.item, disagreement.label) == entries([first])[0]
    assert disagreement.answers == (("Ann", "accept"), ("Bob", "reject"))


def test_fewer_gaps_remain_after_each_batch(tmp_path):
    review = open_review(tmp_path)
    before = review.progress().remaining
    assert before.low < sum(one.probability for one in review.audit.suggestions) < before.high
    answer(review, review.next_batch("Ann"), "reject")
    review.next_batch("Ann")
    assert review.progress().remaining.value < before.value


def test_gaps_beyond_the_list_are_counted(tmp_path):
    review = open_review(tmp_path, book_audit(10))
    listed = sum(one.probability for one in review.audit.suggestions)
    assert review.progress().beyond == pytest.approx(130 - listed)


def test_what_was_not_suggested_cannot_be_decided(tmp_path):
    review = open_review(tmp_path)
    with pytest.raises(UnknownEntryError, match="'atlas' was not suggested for 'b1'"):
        review.decide("b1", "atlas", "accept", "Ann")
    assert review.progress().n_accepted == 0


def test_decisions_go_through_a_file(tmp_path):
    review = open_review(tmp_path)
    questions = review.next_batch("Ann", 3)
    answer(review, questions[:2], "accept")
    answer(review, questions[1:2], "reject", "Bob")
    answer(review, questions[2:], "skip")
    write_decisions(review.decisions(), tmp_path / "decisions.json")
    read = read_decisions(tmp_path / "decisions.json")
    assert read.audit == review.audit.audit_id
    assert [(one.item, one.label) for one in read.decisions] == entries(questions[:2])
    assert [(one.decision, one.reviewer) for one in read.decisions] == [
        ("accept", "Ann"),
        ("reject", "Bob"),
    ]


def test_a_question_shows_its_item(tmp_path):
    review = open_review(tmp_path, describe=lambda item: {"title": f"The book {item}"})
    one = review.next_batch("Ann", 1)[0]
    assert one.about == {"title": f"The book {one.suggestion.item}"}


def test_batches_grow_with_the_answers():
    assert [batch_size(n) for n in (0, 400, 401, 1000)] == [20, 20, 20, 50]


def test_new_scores_reach_the_next_batch(tmp_path):
    audit = book_audit()

    def rescore(entries, answered, answers):
        assert answered[0].size == answers.size == 20
        # the least probable entries have become the most probable ones
        return np.array([1 - suggestion.probability for suggestion in audit.suggestions])

    review = open_review(tmp_path, audit, rescore=rescore, patience=30.0)
    first = review.next_batch("Ann")
    answer(review, first[::2], "accept")
    answer(review, first[1::2], "reject")
    after = review.next_batch("Ann")
    ranks = [one.suggestion.rank for one in after[:5]]
    assert min(ranks) > 30
