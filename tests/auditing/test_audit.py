"""Audits of data whose gaps are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from labelgap import Audit, Labels, audit, impute
from labelgap.auditing import Decision, ReviewDecisions
from labelgap.data import Dataset
from labelgap.imputers import NeighborsImputer, PerLabelImputer, RidgeImputer
from labelgap.protocols import hide_entries, hide_positives

N, D, L = 500, 12, 8


def generated(seed=0, n=N):
    """Labels that follow from the features, and from each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    scores = X @ rng.normal(size=(D, L)) * 1.2 - 1.5
    scores[:, 1] += 2 * (scores[:, 0] > 0)
    Y = (scores + 0.5 * rng.logistic(size=(n, L)) > 0).astype(float)
    return X, Labels.from_dense(Y, names=[f"tag {j}" for j in range(L)])


@pytest.fixture(scope="module")
def hidden():
    X, full = generated()
    return X, full, hide_positives(full, 0.4, random_state=1).labels


@pytest.fixture(scope="module")
def found(hidden):
    X, _, shown = hidden
    return audit(X, shown, item_ids=[f"i{k}" for k in range(N)], n_suggestions=200)


def place(one):
    return int(one.item[1:]), int(one.label.split()[1])


def test_suggested_labels_were_hidden(hidden, found):
    _, full, shown = hidden
    truth, seen = full.to_dense(), shown.positives().toarray()
    places = [place(one) for one in found.suggestions]
    assert len(set(places)) == 200
    assert not any(seen[where] for where in places)
    base = (truth.sum() - seen.sum()) / (~seen).sum()
    right = np.mean([truth[where] for where in places[:100]])
    assert right > 0.8 > 3 * base


def test_the_number_of_missing_labels_is_about_right(hidden, found):
    _, full, shown = hidden
    n_hidden = full.n_positives() - shown.n_positives()
    assert found.summary.gaps == "unlabeled"
    assert found.missing.low * 0.8 < n_hidden
    assert n_hidden < found.missing.high * 1.25
    assert abs(found.summary.label_frequency.value - 0.6) < 0.1
    by_label = sum(one.expected_missing for one in found.labels)
    assert by_label == pytest.approx(found.missing.value)


def test_suggestions_are_ranked(found):
    probabilities = [one.probability for one in found.suggestions]
    assert probabilities == sorted(probabilities, reverse=True)
    assert [one.rank for one in found.suggestions] == list(range(1, 201))
    assert all(0 <= one <= 1 for one in probabilities)


def test_the_evidence_is_there(hidden, found):
    X, _, shown = hidden
    seen = shown.positives().toarray()
    unit = (X - X.mean(0)) / X.std(0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    for one in found.suggestions[:20]:
        row, label = place(one)
        near = [int(other.item[1:]) for other in one.evidence.similar]
        assert near
        assert seen[near, label].all()
        cosines = np.where(seen[:, label], unit @ unit[row], -1)
        assert near[0] == int(np.argmax(cosines))
        assert one.evidence.similar[0].similarity == pytest.approx(cosines.max())
        for other_label in one.evidence.cooccurring:
            other = int(other_label.label.split()[1])
            both = (seen[:, label] & seen[:, other]).sum()
            lift = both * N / (seen[:, label].sum() * seen[:, other].sum())
            assert seen[row, other]
            assert other_label.n_both == both
            assert other_label.lift == pytest.approx(lift)
        contributions = [feature.contribution for feature in one.evidence.features]
        assert contributions == sorted(contributions, reverse=True)
        assert all(contribution > 0 for contribution in contributions)


def test_items_are_counted(hidden, found):
    _, _, shown = hidden
    assert sum(found.items.counts) == N
    assert found.items.n_without_labels == (shown.n_positives(axis=1) == 0).sum()
    gaps = [one.expected_missing for one in found.items.worst]
    assert gaps == sorted(gaps, reverse=True)
    for one in found.items.worst:
        assert one.label_frequency.low <= one.label_frequency.value <= one.label_frequency.high


def test_labels_are_measured(found):
    assert [one.name for one in found.labels] == [f"tag {j}" for j in range(L)]
    for one in found.labels:
        assert not one.too_rare
        assert one.auc.value > 0.7
        assert one.label_frequency is None  # all labels were lost at one rate
        assert one.expected_missing > 0
    assert [point.fraction for point in found.learning_curve] == [0.125, 0.25, 0.5, 1.0]
    first, last = found.learning_curve[0], found.learning_curve[-1]
    assert last.average_precision.value > first.average_precision.value


def test_the_same_audit_has_the_same_id(hidden, found):
    X, _, shown = hidden
    items = [f"i{k}" for k in range(N)]
    again = audit(sparse.csr_array(X).toarray(), shown, item_ids=items, n_suggestions=200)
    timeless = {"created": "", "seconds": {}}
    assert replace(again, provenance=replace(again.provenance, **timeless)) == replace(
        found, provenance=replace(found.provenance, **timeless)
    )
    other = audit(X, shown, item_ids=items, n_suggestions=100)
    assert other.audit_id != found.audit_id


def test_it_goes_to_json_and_back(found):
    assert Audit.from_json(found.to_json()) == found


def test_nothing_is_called_complete_where_obvious_labels_may_come_first():
    X, full = generated(n=2000)
    seen = audit(X, full)
    constant = seen.missing.scenarios[0]
    assert constant.mechanism == "one rate for all labels"
    assert constant.value < 0.05 * full.n_positives() < seen.missing.high
    assert not seen.missing.identified
    assert "cannot be told from one table" in seen.summary.sentences[1]
    assert "nearly always recorded" in seen.summary.gaps_in_words


def test_labels_that_features_determine_are_complete():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    X[np.abs(X) < 0.3] += 1.0
    seen = audit(X, (X > 0) * 1.0, estimator=LogisticRegression(C=1e4))
    assert seen.summary.gaps == "none"
    assert seen.summary.sentences[0].startswith("Few labels seem to be missing")


def test_items_that_nobody_opened_are_named_and_imputed():
    X, full = generated(n=1500)
    carry = full.n_positives(axis=1) > 0
    X, full = X[carry], full[carry]
    stripped = np.random.default_rng(0).random(full.n_samples) < 0.4
    Y = full.to_dense() * ~stripped[:, None]
    seen = audit(X, Y, n_suggestions=300)
    named = {int(one.item) for one in seen.unopened_items}
    assert named == set(np.flatnonzero(stripped).tolist())
    probabilities = [one.probability for one in seen.unopened_items]
    assert probabilities == sorted(probabilities, reverse=True)
    assert min(probabilities) > 0.5
    lost = full.to_dense()[stripped].sum()
    assert abs(seen.missing.value / lost - 1) < 0.25
    right = [full.to_dense()[int(one.item), int(one.label)] for one in seen.suggestions]
    claimed = [one.probability for one in seen.suggestions]
    assert np.mean(right) > 0.9
    assert abs(np.mean(right) - np.mean(claimed)) < 0.1
    assert "look as if nobody opened them" in " ".join(seen.summary.sentences)


def test_items_that_rightly_carry_nothing_were_opened():
    X, full = generated(n=1500)
    full = full[:, [2, 3]]
    seen = audit(X, full)
    empty = int((full.n_positives(axis=1) == 0).sum())
    assert empty > 200
    expected = sum(one.probability for one in seen.unopened_items)
    assert expected < 0.35 * empty


def test_labels_that_are_lost_at_their_own_rates_are_told_apart():
    X, full = generated(n=2000)
    rates = np.linspace(0.1, 0.8, L)
    Y = full.to_dense() * (np.random.default_rng(0).random(full.shape) > rates)
    seen = audit(X, Y, n_suggestions=500)
    found = np.array([one.label_frequency.value for one in seen.labels])
    assert np.corrcoef(np.argsort(np.argsort(found)), np.arange(L))[0, 1] < -0.7
    lost = full.n_positives() - Y.sum()
    assert seen.missing.low < lost < seen.missing.high
    right = [full.to_dense()[int(one.item), int(one.label)] for one in seen.suggestions]
    assert np.mean(right) > 0.75


def test_given_probabilities_take_the_place_of_features(hidden):
    X, full, shown = hidden
    truth = full.to_dense()
    said = np.clip(0.6 * truth + 0.02 + 0.1 * np.random.default_rng(0).random(truth.shape), 0, 1)
    for features in (None, X):
        seen = audit(features, shown, pred_probs=said, n_suggestions=200)
        right = np.mean(
            [truth[int(one.item), int(one.label.split()[1])] for one in seen.suggestions]
        )
        assert right > 0.97
    with pytest.raises(ValueError, match="X is None"):
        audit(None, shown)
    with pytest.raises(ValueError, match=r"pred_probs has the shape \(500, 3\)"):
        audit(X, shown, pred_probs=said[:, :3])
    with pytest.raises(ValueError, match=r"pred_probs\[0, 0\] is"):
        audit(X, shown, pred_probs=said * 3 - 1)
    with pytest.raises(ValueError, match="give one"):
        audit(X, shown, pred_probs=said, estimator=LogisticRegression())


def test_any_estimator_predicts_from_the_features():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(800, 4))
    inside = (np.abs(X[:, :3]) < 0.4).astype(float)  # no straight line tells these
    shown = inside * (rng.random(inside.shape) < 0.6)
    right = {}
    for name, estimator in (
        ("linear", LogisticRegression()),
        ("forest", RandomForestClassifier(50, random_state=0)),
        ("ours", None),
    ):
        seen = audit(X, shown, estimator=estimator, n_suggestions=200)
        right[name] = np.mean([inside[int(s.item), int(s.label)] for s in seen.suggestions])
    assert right["linear"] < 0.6 < 0.9 < min(right["forest"], right["ours"])
    with pytest.raises(TypeError, match="give a classifier"):
        audit(X, shown, estimator="forest")


def test_planted_labels_are_questioned():
    X, full = generated(n=1500)
    rng = np.random.default_rng(0)
    planted = (full.to_dense() == 0) & (rng.random(full.shape) < 0.02)
    seen = audit(X, full.to_dense() + planted)
    listed = [planted[int(one.item), int(one.label)] for one in seen.wrong_positives]
    probabilities = [one.probability for one in seen.wrong_positives]
    assert probabilities == sorted(probabilities, reverse=True)
    assert np.mean(listed[:50]) > 0.8
    assert [one.rank for one in seen.wrong_positives] == list(range(1, len(listed) + 1))


def test_suggestions_claim_what_the_panel_shows(found):
    assert sum(one.n for one in found.claims) == len(found.suggestions)
    claimed = sum(one.n * one.claimed for one in found.claims)
    assert claimed == pytest.approx(sum(one.probability for one in found.suggestions))
    assert all(one.low <= one.claimed <= one.high for one in found.claims)
    assert len({one.probability for one in found.suggestions}) == len(found.suggestions)


def test_unknown_entries_are_suggested_where_they_are_relevant():
    X, full = generated(seed=2)
    shown = hide_entries(full, 0.4, random_state=0).labels
    seen = audit(X, shown, n_suggestions=100)
    truth = full.to_dense()
    right = [truth[int(one.item), int(one.label.split()[1])] for one in seen.suggestions]
    assert {one.state for one in seen.suggestions} == {"unknown"}
    assert np.mean(right) > 0.9
    assert seen.summary.gaps == "unknown"
    n_hidden = full.n_positives() - shown.n_positives()
    assert abs(seen.missing.value / n_hidden - 1) < 0.15
    claimed = np.mean([one.probability for one in seen.suggestions])
    assert abs(claimed - np.mean(right)) < 0.1
    both = audit(X, shown, zeros="unlabeled", n_suggestions=50)
    assert both.summary.label_frequency is not None


def test_zeros_that_are_meant_are_not_suggested(hidden):
    X, _, shown = hidden
    seen = audit(X, shown, zeros="negative")
    assert seen.suggestions == ()
    assert seen.summary.label_frequency is None


def test_decisions_are_taken_in(hidden, found):
    X, _, shown = hidden
    first, second = found.suggestions[:2]
    made = ReviewDecisions(
        found.audit_id,
        (
            Decision(first.item, first.label, "accept", "2026-01-01T00:00:00Z"),
            Decision(second.item, second.label, "reject", "2026-01-01T00:00:01Z"),
        ),
    )
    items = [f"i{k}" for k in range(N)]
    after = audit(X, shown, item_ids=items, n_suggestions=200, decisions=made)
    listed = {(one.item, one.label) for one in after.suggestions}
    assert (first.item, first.label) not in listed
    assert (second.item, second.label) not in listed
    assert after.summary.n_positive == found.summary.n_positive + 1
    assert after.provenance.n_decisions == 2
    assert after.audit_id != found.audit_id


def test_decisions_do_not_hide_that_labels_are_missing(hidden, found):
    """The most confident zeros are decided first: without them only recorded entries would be sure."""
    X, full, shown = hidden
    truth, items = full.to_dense(), [f"i{k}" for k in range(N)]
    made: list[Decision] = []
    turn = found
    for _ in range(2):
        for one in turn.suggestions[:60]:
            verdict = "accept" if truth[place(one)] else "reject"
            made.append(Decision(one.item, one.label, verdict, "2026-01-01T00:00:00Z"))
        decisions = ReviewDecisions(turn.audit_id, tuple(made))
        turn = audit(X, shown, item_ids=items, n_suggestions=200, decisions=decisions)
        assert turn.summary.gaps == "unlabeled"
        relevant = [one.summary.n_positive + one.missing.value for one in (turn, found)]
        assert abs(relevant[0] / relevant[1] - 1) < 0.1
        next_ones = turn.suggestions[:60]
        claimed = np.mean([one.probability for one in next_ones])
        right = np.mean([truth[place(one)] for one in next_ones])
        assert abs(claimed - right) < 0.2


def test_rare_labels_are_said_to_be_so():
    X, full = generated()
    rare = np.zeros((N, 1))
    rare[:3] = 1
    labels = Labels.from_dense(np.hstack([full.to_dense(), rare]))
    seen = audit(X, labels, n_suggestions=5000)
    assert [one.too_rare for one in seen.labels] == [False] * L + [True]
    assert "1 of 9 labels is too rare to learn." in seen.summary.sentences
    assert str(L) not in {one.label for one in seen.suggestions}


def synonyms(n=3000):
    """Label 0 is one topic; 1 and 2 are two words for another, used in turn; 3 repeats 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    topic, other = X[:, 0] > 0.7, X[:, 1] > 0.7
    word = rng.random(n) < 0.5
    repeated = topic & (rng.random(n) < 0.97)
    Y = np.column_stack([topic, other & word, other & ~word, repeated]).astype(float)
    return X, Labels.from_dense(Y, names=["topic", "car", "auto", "theme"])


def test_synonyms_and_duplicates_are_found():
    seen = audit(*synonyms())
    assert [(one.first, one.second) for one in seen.pairs.rare] == [("car", "auto")]
    pair = seen.pairs.rare[0]
    assert pair.observed == 0
    assert pair.expected > 20
    assert pair.similarity > 0.8
    same = seen.pairs.duplicates[0]
    assert (same.first, same.second, same.kind) == ("topic", "theme", "same")
    assert same.jaccard.low < same.jaccard.value < same.jaccard.high
    drawn = seen.pairs.map
    at = {name: k for k, name in enumerate(drawn.labels)}
    assert abs(at["topic"] - at["theme"]) == 1
    assert drawn.counts[at["topic"]][at["theme"]] == same.n_both
    assert drawn.counts[at["car"]][at["auto"]] == 0


def test_progress_is_reported_to_the_end(hidden):
    X, _, shown = hidden
    calls = []
    audit(X, shown, n_suggestions=10, progress=lambda *call: calls.append(call))
    stages = list(dict.fromkeys(stage for stage, _, _ in calls))
    assert len(stages) == 9
    assert "comparing pairs of labels" in stages
    for stage in stages:
        done = [(n, total) for name, n, total in calls if name == stage]
        assert done == sorted(done)
        assert done[-1][0] == done[-1][1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"item_ids": ["a"] * N}, r"item_ids\[1\] is 'a' like item_ids\[0\]"),
        ({"item_ids": ["a"]}, "item_ids has 1 ids, X has 500 rows"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, X has 12 columns"),
        ({"zeros": "maybe"}, "zeros='maybe'"),
        ({"n_suggestions": 0}, "n_suggestions=0"),
    ],
)
def test_wrong_arguments_are_refused(hidden, changes, message):
    X, _, shown = hidden
    with pytest.raises(ValueError, match=message):
        audit(X, shown, **changes)


def test_labels_that_cannot_be_learned_are_refused():
    with pytest.raises(ValueError, match=r"no label can be learned.*carried by 1"):
        audit(np.ones((4, 1)), Labels.from_dense(np.eye(4)))


def test_features_are_not_needed():
    _, full = generated()
    shown = hide_positives(full, 0.3, random_state=0).labels
    seen = audit(np.empty((N, 0)), shown, n_suggestions=20)
    assert len(seen.suggestions) == 20
    assert all(not one.evidence.features for one in seen.suggestions)


@pytest.mark.parametrize(
    "imputer", [PerLabelImputer(LogisticRegression()), NeighborsImputer(), RidgeImputer(3.0, 5.0)]
)
def test_any_imputer_scores_the_entries(hidden, found, imputer):
    X, full, shown = hidden
    truth, seen = full.to_dense(), shown.positives().toarray()
    items = [f"i{k}" for k in range(N)]
    other = audit(X, shown, item_ids=items, n_suggestions=200, imputer=imputer)
    places = [place(one) for one in other.suggestions]
    assert not any(seen[where] for where in places)
    base = (truth.sum() - seen.sum()) / (~seen).sum()
    assert np.mean([truth[where] for where in places[:100]]) > 0.7 > 3 * base
    assert abs(other.summary.label_frequency.value - 0.6) < 0.15
    assert other.audit_id != found.audit_id
    assert len(other.learning_curve) == 4
    is_ridge = isinstance(imputer, RidgeImputer)
    assert (
        type(imputer).__name__.removesuffix("Imputer").lower()[:5] in other.provenance.model.lower()
    )
    for one in other.suggestions[:20]:
        assert one.evidence.similar
        assert bool(one.evidence.features) == is_ridge
    assert not hasattr(imputer, "codes_")


def test_no_row_teaches_the_model_that_scores_it(hidden):
    """Out of fold, a nearest neighbor cannot be the row itself."""
    X, _, shown = hidden
    memory = audit(X, shown, imputer=NeighborsImputer(n_neighbors=1), n_suggestions=10)
    assert all(one.average_precision.value < 0.9 for one in memory.labels)


def test_imputed_entries_are_those_the_audit_suggests(hidden, found):
    X, _, shown = hidden
    for imputer in (None, PerLabelImputer(LogisticRegression())):
        items = [f"i{k}" for k in range(N)]
        listed = audit(X, shown, item_ids=items, n_suggestions=4000, imputer=imputer).suggestions
        rows, labels, probabilities = impute(X, shown, imputer, threshold=0.3)
        expected = [one for one in listed if one.probability > 0.3]
        assert {place(one) for one in expected} == set(zip(rows, labels, strict=True))
        np.testing.assert_allclose(probabilities, [one.probability for one in expected])


def test_an_imputer_must_be_one(hidden):
    X, _, shown = hidden
    with pytest.raises(TypeError, match="is not an Imputer"):
        audit(X, shown, imputer="ridge")


def test_a_data_set_brings_its_names(hidden):
    X, _, shown = hidden
    names = np.array([f"word {k}" for k in range(D)])
    seen = audit(Dataset("tags", X, shown, feature_names=names), n_suggestions=10)
    assert seen == replace(
        audit(X, shown, feature_names=names, n_suggestions=10), provenance=seen.provenance
    )
    rows, _, _ = impute(Dataset("tags", X, shown))
    assert rows.size


def test_a_frame_names_its_columns(hidden):
    pandas = pytest.importorskip("pandas")
    X, _, shown = hidden
    seen = audit(pandas.DataFrame(X).rename(columns="word {}".format), shown, n_suggestions=10)
    named = [part.feature for one in seen.suggestions for part in one.evidence.features]
    assert named
    assert all(name.startswith("word ") for name in named)


def test_what_the_number_rests_on():
    X, full = generated()
    unlabeled = audit(X, hide_positives(full, 0.4, random_state=1).labels).missing
    assert unlabeled.basis.startswith("one table; a range over several ways")
    assert not unlabeled.identified
    assert len(unlabeled.scenarios) == 4
    for scenario in unlabeled.scenarios:
        assert unlabeled.low <= scenario.low <= scenario.value <= scenario.high <= unlabeled.high
    unknown = audit(X, hide_entries(full, 0.4, random_state=1).labels).missing
    assert unknown.basis.startswith("one table; entries are unknown")
    rng = np.random.default_rng(0)
    noise = audit(rng.normal(size=(N, D)), (rng.random((N, L)) < 0.2) * 1.0)
    assert not noise.missing.identified
    assert noise.missing.high > noise.summary.n_positive
