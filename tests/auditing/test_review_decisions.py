"""ReviewDecisions: from a file, to a file, into labels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labelgap.auditing import (
    Decision,
    ReviewDecisions,
    apply_decisions,
    read_decisions,
    write_decisions,
)
from labelgap.labels import Labels

TIME = "2026-01-05T08:30:00.000Z"


def made(*answers: tuple[str, str, str]) -> ReviewDecisions:
    return ReviewDecisions("a1", tuple(Decision(*one, TIME) for one in answers))  # type: ignore[arg-type]


def test_a_file_holds_what_was_decided(tmp_path):
    path = tmp_path / "decisions.json"
    decisions = ReviewDecisions(
        "a1",
        (
            Decision("b1", "crime", "accept", TIME, "Ann"),
            Decision("é 1", "<b>", "reject", TIME),
        ),
    )
    write_decisions(decisions, path)
    read = read_decisions(path)
    assert (read.audit, read.decisions) == (decisions.audit, decisions.decisions)
    assert read.place == str(path)
    assert "reviewer" not in json.loads(path.read_text("utf-8"))["decisions"][1]
    assert list(tmp_path.iterdir()) == [path]


def test_the_last_decision_counts():
    decisions = made(
        ("b1", "crime", "accept"), ("b2", "crime", "accept"), ("b1", "crime", "reject")
    )
    last = decisions.last()
    assert last["b1", "crime"].decision == "reject"
    assert len(last) == 2


GOOD = {"format": "labelgap decisions", "version": 1, "audit": "a1", "decisions": []}
ONE = {"item": "b1", "label": "crime", "decision": "accept", "time": TIME}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no decisions file, as it is not JSON"),
        ("[]", "is no decisions file; export one"),
        (json.dumps({**GOOD, "format": "other"}), "is no decisions file; export one"),
        (json.dumps({**GOOD, "version": 2}), "has layout 2"),
        (json.dumps({**GOOD, "audit": 7}), "audit: expected str, found 7"),
        (json.dumps({**GOOD, "decisions": None}), "decisions: expected a list"),
        (
            json.dumps({**GOOD, "decisions": [ONE, {**ONE, "decision": "maybe"}]}),
            r"decisions\[1\].decision: expected one of",
        ),
        (
            json.dumps({**GOOD, "decisions": [{**ONE, "item": 17}]}),
            r"decisions\[0\].item: expected",
        ),
    ],
)
def test_what_is_no_decisions_file_is_refused(tmp_path, content, message):
    path = tmp_path / "some.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"some.json: {message}"):
        read_decisions(path)


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "some.json"
    path.write_bytes(b'{"\xff": 1}')
    with pytest.raises(ValueError, match=r"some\.json: is no decisions file"):
        read_decisions(path)


@pytest.mark.parametrize("zeros", ["negative", "unlabeled"])
def test_decisions_enter_the_labels(zeros):
    labels = Labels.from_dense(
        np.array([[1.0, 0.0], [np.nan, 0.0], [0.0, 1.0]]), names=["a", "b"], zeros=zeros
    )
    decisions = made(("11", "a", "accept"), ("11", "b", "reject"), ("12", "b", "reject"))
    decided = apply_decisions(labels, decisions, [10, 11, 12])
    rows, values = decided.column(0, unlabeled=False)
    assert values[rows.tolist().index(1)] == 1
    rows, values = decided.column(1, unlabeled=False)
    assert values[rows.tolist().index(1)] == 0
    assert values[rows.tolist().index(2)] == 0
    assert labels.n_positives() == 2
    assert decided.n_positives() == 2


def test_labels_without_names_go_by_number():
    labels = Labels.from_dense(np.zeros((2, 2)))
    decided = apply_decisions(labels, made(("1", "0", "accept")), range(2))
    np.testing.assert_array_equal(np.asarray(decided), [[0, 0], [1, 0]])


def test_no_decisions_change_nothing():
    labels = Labels.from_dense(np.eye(2))
    assert apply_decisions(labels, made(), ["a", "b"]).equals(labels)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (("zz", "a", "accept"), r"decisions\[1\] is about the item 'zz', which the data"),
        (("10", "zz", "accept"), r"decisions\[1\] is about the label 'zz', which the data"),
    ],
)
def test_decisions_about_other_data_are_refused(answer, message):
    labels = Labels.from_dense(np.eye(2), names=["a", "b"])
    with pytest.raises(ValueError, match=message):
        apply_decisions(labels, made(("10", "b", "accept"), answer), [10, 11])
