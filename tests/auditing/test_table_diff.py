"""Two versions of a table: matched by id and name, checked against an audit, calibration carried on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from auditing.sample_audits import sample_audit
from labelgap import Labels, diff
from labelgap.auditing import LabelChange, Suggestion
from labelgap.data import Dataset


def version(rows, ids, names):
    Y = Labels.from_dense(np.array(rows)).with_names(names)
    return Dataset("toy", np.zeros((len(rows), 1)), Y, ids=np.array(ids))


OLD = version([[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["a", "b", "c"], ["sea", "sky", "old"])
NEW = version([[1, 1, 0], [0, 0, 1], [1, 1, 1]], ["b", "a", "d"], ["sky", "sea", "new"])


def audit_of(entries):
    suggestions = tuple(
        Suggestion(k + 1, item, label, p, "zero") for k, (item, label, p) in enumerate(entries)
    )
    return replace(sample_audit(1), suggestions=suggestions)


def test_items_and_labels_are_matched_by_name():
    made = diff(OLD, NEW)
    assert (made.n_items, made.n_labels, made.n_common) == (2, 2, 1)
    assert made.added == (LabelChange("b", "sea"),)
    assert made.removed == (LabelChange("a", "sea"),)
    assert (made.new_items, made.lost_items) == (("d",), ("c",))
    assert (made.new_labels, made.lost_labels) == (("new",), ("old",))
    assert made.by_label() == {"sea": (1, 1)}
    assert made.to_frame().values.tolist()[0][:3] == ["added", "b", "sea"]


def test_the_audit_of_the_old_version_is_checked():
    found = audit_of([("b", "sea", 0.8), ("a", "sky", 0.6), ("c", "sky", 0.5)])
    made = diff(OLD, NEW, audit=found)
    assert made.added == (LabelChange("b", "sea", 0.8),)
    # c is gone: nothing is known of it
    assert made.suggested == ((0.8, 1), (0.6, 0))


def test_the_calibration_is_carried_to_a_new_audit():
    rng = np.random.default_rng(0)
    n = 1500
    said = rng.uniform(0.1, 0.9, n)
    came = rng.random(n) < said / 3
    ids, names = [str(k) for k in range(n)], ["sea"]
    old = version(np.zeros((n, 1), dtype=int), ids, names)
    new = version(came[:, None].astype(int), ids, names)
    made = diff(old, new, audit=audit_of([(k, "sea", p) for k, p in zip(ids, said, strict=True)]))
    later = made.calibrate(audit_of([("x", "sea", 0.9), ("y", "sea", 0.3)]))
    assert later.suggestions[0].probability == pytest.approx(0.3, abs=0.06)
    assert later.suggestions[1].probability == pytest.approx(0.1, abs=0.04)
    with pytest.raises(ValueError, match="give diff the audit"):
        diff(old, new).calibrate(later)


@pytest.mark.parametrize(
    ("old", "new", "options", "words"),
    [
        (OLD, version([[1]], ["z"], ["sea"]), {}, "no item of the old"),
        (OLD, version([[1]], ["a"], ["dog"]), {}, "no label of the old"),
        (version([[1], [0]], ["a", "a"], ["sea"]), NEW, {}, "old_ids: 'a' comes twice"),
        (OLD, NEW, {"new_ids": ["a"]}, "new_ids: 1 ids for 3 items"),
    ],
)
def test_wrong_input_is_named(old, new, options, words):
    with pytest.raises(ValueError, match=words):
        diff(old, new, **options)
