"""Audits go to JSON and back, and what is no audit is refused with its place."""

from __future__ import annotations

import json

import numpy as np
import pytest

from audit.sample_audits import bare_audit, sample_audit
from labelgap.audit import Audit, audit_tables


@pytest.mark.parametrize("found", [sample_audit(), sample_audit(0), bare_audit()])
def test_round_trip(found):
    assert Audit.from_json(found.to_json()) == found
    assert Audit.from_json(found.to_json(indent=2)) == found
    assert Audit.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def changed(**changes):
    return {**sample_audit().to_dict(), **changes}


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([], "this is no audit"),
        ({"summary": {}}, "no 'schema'"),
        (changed(schema=99), "layout 99"),
        (changed(audit_id=5), "audit.audit_id: expected str, found 5"),
        (changed(extra=1), "audit: unknown name 'extra'"),
        (changed(items=None), "audit.items: expected an object"),
        (changed(labels=[{}]), r"audit.labels\[0\]: 'name' is missing"),
        (changed(labels=3), "audit.labels: expected a list"),
        (changed(topics=[{"name": "a", "share": True, "labels": [], "features": []}]), "share"),
        (
            changed(topics=[{"name": "a", "share": 1, "labels": [["x"]], "features": []}]),
            r"topics\[0\].labels\[0\]: expected 2 values, found 1",
        ),
    ],
)
def test_what_is_no_audit_is_refused(plain, message):
    with pytest.raises(ValueError, match=message):
        Audit.from_dict(plain)


def test_text_that_is_no_json():
    with pytest.raises(ValueError, match="not JSON"):
        Audit.from_json("{")


def test_wrong_words_are_refused():
    plain = sample_audit().to_dict()
    plain["summary"]["gaps"] = "holes"
    with pytest.raises(ValueError, match=r"audit\.summary\.gaps: expected one of"):
        Audit.from_dict(plain)


def test_tables_have_a_line_per_suggestion_and_per_label():
    found = sample_audit(4)
    suggestions, labels = audit_tables(found, item="isbn")
    assert list(suggestions)[:3] == ["rank", "isbn", "label"]
    assert suggestions["isbn"].tolist() == [one.item for one in found.suggestions]
    assert suggestions["companion_labels"][0] == "novel (lift 1.8)"
    assert labels["label"].tolist() == [one.name for one in found.labels]
    assert np.isnan(labels["auc_low"][-1])
    assert labels["recorded_high"][0] == found.labels[0].recorded.high
    assert {len(column) for column in labels.values()} == {len(found.labels)}
