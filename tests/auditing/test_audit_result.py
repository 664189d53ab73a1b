"""Audits go to JSON and back, and what is no audit is refused with its place."""

from __future__ import annotations

import json

import numpy as np
import pytest

from auditing.sample_audits import bare_audit, sample_audit
from labelgap.auditing import Audit, audit_tables


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
        (changed(labels=[]), r"audit.suggestions\[0\].label: .* is not among audit.labels"),
        (
            changed(topics=[{"name": "a", "fraction": True, "labels": [], "features": []}]),
            "fraction",
        ),
        (
            changed(topics=[{"name": "a", "fraction": 1, "labels": [["x"]], "features": []}]),
            r"topics\[0\].labels\[0\]: expected 2 values, found 1",
        ),
    ],
)
def test_what_is_no_audit_is_refused(plain, message):
    with pytest.raises(ValueError, match=message):
        Audit.from_dict(plain)


@pytest.mark.parametrize("name", ["counts", "lift"])
def test_a_map_that_is_not_square_is_refused(name):
    plain = sample_audit().to_dict()
    plain["pairs"]["map"][name][0].append(1)
    with pytest.raises(ValueError, match=rf"audit\.pairs\.map\.{name} is not one number"):
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
    assert suggestions["cooccurring_labels"][0] == "novel (lift 1.8)"
    assert labels["label"].tolist() == [one.name for one in found.labels]
    assert np.isnan(labels["auc_low"][-1])
    assert labels["label_frequency_high"][0] == found.labels[0].label_frequency.high
    assert {len(column) for column in labels.values()} == {len(found.labels)}


def test_it_is_shown_in_one_line_and_on_a_card():
    found = sample_audit(8)
    assert repr(found) == (
        "<Audit of 200 items x 6 labels: about 130 labels missing (61 to 210), 8 suggestions>"
    )
    card = found._repr_html_()
    assert "<li>About 130 labels are probably missing" in card
    assert card.count("<tr>") == 6
    assert "poetry &lt;b&gt;" in card
    assert "<table>" not in bare_audit()._repr_html_()


def test_suggestions_as_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = sample_audit(4).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["probability"].is_monotonic_decreasing
    assert list(frame.columns[:5]) == ["rank", "item", "label", "probability", "state"]
