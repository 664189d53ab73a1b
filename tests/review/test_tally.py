"""Counts that follow the decisions are those of a count from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from labelgap.review import ReviewTally, StoredDecision

WORDS = ("accept", "reject", "unsure", "skip", "withdraw")


def made(number, item, decision, reviewer="Ann"):
    return StoredDecision(number, item, "crime", decision, reviewer, f"t{number:04d}")


def tally_of(decisions):
    tally = ReviewTally()
    for one in decisions:
        tally.add(one)
    return tally


def random_decisions(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return [
        made(k + 1, f"b{rng.integers(40)}", rng.choice(WORDS), rng.choice(["Ann", "Bob", "Cem"]))
        for k in range(n)
    ]


def test_counts_are_those_of_the_last_decisions():
    decisions = random_decisions()
    tally = tally_of(decisions)
    last = {}
    for one in decisions:
        last.pop(one.item, None)
        last[one.item] = one
    for word in WORDS:
        assert tally.counts[word] == sum(one.decision == word for one in last.values())
    answers = [one for one in last.values() if one.decision in ("accept", "reject")]
    assert tally.n_answers == len(answers) == sum(tally.by_reviewer.values())
    assert tally.found()[-1] == (len(answers), tally.counts["accept"])
    accepted = np.cumsum([one.decision == "accept" for one in answers])
    assert tally.found()[1:] == tuple((k + 1, int(n)) for k, n in enumerate(accepted))


def test_disagreements_are_those_of_last_answers():
    decisions = [
        made(1, "b1", "accept"),
        made(2, "b1", "reject", "Bob"),
        made(3, "b2", "accept"),
        made(4, "b2", "reject", "Bob"),
        made(5, "b2", "accept", "Bob"),
    ]
    (differ,) = tally_of(decisions).disagreements()
    assert differ.item == "b1"
    assert differ.answers == (("Ann", "accept"), ("Bob", "reject"))


def test_agreement_is_cohens_kappa():
    rng = np.random.default_rng(1)
    ann, bob = rng.random(200) < 0.4, rng.random(200) < 0.5
    bob[:120] = ann[:120]
    words = np.array(["reject", "accept"])
    decisions = [made(k + 1, f"b{k}", words[int(ann[k])]) for k in range(200)]
    decisions += [made(k + 201, f"b{k}", words[int(bob[k])], "Bob") for k in range(200)]
    (pair,) = tally_of(decisions).agreement()
    assert (pair.first, pair.second, pair.n_both) == ("Ann", "Bob", 200)
    assert pair.n_agree == (ann == bob).sum()
    assert pair.kappa == pytest.approx(cohen_kappa_score(ann, bob), abs=1e-4)


def test_the_same_answer_throughout_has_no_kappa():
    decisions = [made(1, "b1", "accept"), made(2, "b1", "accept", "Bob")]
    assert tally_of(decisions).agreement()[0].kappa is None
