"""Random draws of a review: kept, weighted, certified, and an estimate at the end."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.review import DecisionStore, Population, RandomPart, Review, ReviewTally
from review.books import book_audit, open_review


def population(n_items=40, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = (part.ravel() for part in np.indices((n_items, n_labels)))
    p = rng.beta(0.3, 2, rows.size)
    truth = rng.random(rows.size) < p
    items, labels = [f"i{k}" for k in range(n_items)], [f"l{k}" for k in range(n_labels)]
    return Population(rows, columns, p, items, labels), truth


def opened(folder, seed=0, **options):
    entries, truth = population(seed=seed)
    store = DecisionStore(folder / f"d{seed}.sqlite", "audit 1")
    return RandomPart(entries, store, random_state=seed, **options), truth, store


def answered(part, tally, store, truth, entries):
    for item, label in entries:
        relevant = truth[part.position(item, label)]
        store.add(item, label, "accept" if relevant else "reject", "Ann")
    for made in store.since(tally.newest):
        tally.add(made)


def test_a_draw_takes_nothing_that_was_decided_or_drawn(tmp_path):
    part, truth, store = opened(tmp_path)
    tally = ReviewTally()
    answered(part, tally, store, truth, [part.population.entry(k) for k in range(30)])
    drawn = part.draw(300, tally)
    assert len(drawn) == len(set(drawn)) == 160 - 30
    assert not {part.position(*entry) for entry in drawn} & set(range(30))


def test_weights_are_inverse_probabilities(tmp_path):
    part, _, store = opened(tmp_path)
    part.draw(3, ReviewTally())
    first = store.draws()[0]
    stratum = part.design.strata[part.position(first.item, first.label)]
    assert first.weight == part.design.n_strata * part.design.sizes[stratum]
    assert first.after == 0


def test_it_goes_on_where_it_was(tmp_path):
    part, truth, store = opened(tmp_path)
    tally = ReviewTally()
    answered(part, tally, store, truth, part.draw(25, tally))
    again = RandomPart(part.population, store, random_state=1)
    assert again.certificate(tally) == part.certificate(tally)
    assert again.waiting(tally) == []
    assert not set(again.draw(50, tally)) & {(one.item, one.label) for one in store.draws()[:25]}


def test_the_certificate_waits_for_the_first_open_draw(tmp_path):
    part, truth, store = opened(tmp_path)
    tally = ReviewTally()
    drawn = part.draw(10, tally)
    answered(part, tally, store, truth, drawn[1:])
    assert part.certificate(tally).n_drawn == 0
    assert part.waiting(tally) == drawn[:1]
    answered(part, tally, store, truth, drawn[:1])
    assert part.certificate(tally).n_drawn == 10


def test_the_certificate_holds(tmp_path):
    wrong = 0
    for seed in range(4):
        part, truth, store = opened(tmp_path, seed)
        tally = ReviewTally()
        queue = np.argsort(-part.population.probabilities)
        while not part.certificate(tally).holds:
            greedy = [part.population.entry(k) for k in queue]
            open_ones = [entry for entry in greedy if entry not in tally.last][:6]
            answered(part, tally, store, truth, part.draw(3, tally) + open_ones)
        wrong += tally.counts["accept"] < 0.9 * truth.sum()
    assert wrong <= 1


def test_everything_answered_is_everything_found(tmp_path):
    part, truth, store = opened(tmp_path)
    tally = ReviewTally()
    answered(part, tally, store, truth, part.draw(160, tally))
    made = part.estimate(tally)
    assert made.n_answers == 160
    assert made.guaranteed_low == made.guaranteed_high == truth.sum()
    by_label = part.estimate_by_label(tally)
    assert sum(one.n_found for one in by_label.values()) == truth.sum()


def test_a_review_for_an_estimate_asks_random_draws_alone(tmp_path):
    review = open_review(tmp_path, n_wanted=30, random_state=0)
    first = review.next_batch("Ann")
    assert len(first) == 20
    assert all(one.is_random for one in first)
    for one in first:
        review.decide(one.suggestion.item, one.suggestion.label, "accept", "Ann")
    second = review.next_batch("Ann")
    assert len(second) == 10
    for one in second:
        review.decide(one.suggestion.item, one.suggestion.label, "unsure", "Ann")
    assert review.next_batch("Ann") == []
    assert review.progress().n_unsure == 10
    assert review.estimate().n_answers == 20
    assert review.estimate().low >= 20


def test_a_certified_review_mixes_random_questions_in(tmp_path):
    review = open_review(tmp_path, random_fraction=0.3, random_state=0)
    batch = review.next_batch("Ann")
    assert sum(one.is_random for one in batch) == 6
    assert len({(one.suggestion.item, one.suggestion.label) for one in batch}) == 20
    for one in batch:
        review.decide(one.suggestion.item, one.suggestion.label, "reject", "Ann")
    proof = review.progress().certificate
    assert proof.n_drawn == 6
    assert proof.upper < 50


def test_an_item_shows_all_its_labels(tmp_path):
    entries, _ = population()
    audit = book_audit(10)
    store = DecisionStore(tmp_path / "d.sqlite", audit.audit_id)
    carried = {"l0": True, "l1": False, "l2": False, "l3": False}
    review = Review(
        audit, store, population=entries, random_fraction=0.2, labels_of=lambda item: carried
    )
    review.decide("i3", "l2", "accept", "Ann", comment="on the cover")
    about, labels = review.item("i3")
    assert about == {}
    assert [one.label for one in labels if one.is_positive] == ["l0"]
    assert len(labels) == 4
    with pytest.raises(ValueError, match="'l9' is no open label for 'i3'"):
        review.decide("i3", "l9", "accept", "Ann")
    (chosen,) = [one for one in labels if one.label == "l2"]
    assert (chosen.decision, chosen.comment, chosen.is_positive) == (
        "accept",
        "on the cover",
        False,
    )
    with pytest.raises(ValueError, match="no item 'nobody'"):
        review.item("nobody")
