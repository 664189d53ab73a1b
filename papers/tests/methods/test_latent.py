from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from labelgap.cooccurrence import as_cooccurrence
from labelgap.fitting import EM
from labelgap.generators import make_unseen
from labelgap.models.mllcs import MLLCS
from labelgap_papers.methods import LFMSL, LatentCOSTA
from labelgap_papers.methods._synthesis_weights import synthesis_weights

SETTINGS = {"n_factors": 3, "inference": EM(6, 0.0, solver="exact"), "random_state": 0}


@pytest.fixture(scope="module")
def made():
    return make_unseen(50, 4, 9, random_state=4)


def fitted(made, model):
    return model.fit(made.X, made.hidden.labels, cooccurrence=made.cooccurrence)


def test_seen_labels_are_a_factor_model_without_counts(made):
    model = fitted(made, LFMSL(**SETTINGS))
    seen = made.hidden.labels[:, made.hidden.seen]
    alone = MLLCS(**SETTINGS, count_weight=0.0).fit(made.X, seen)
    expected = alone.decision_function(made.X)
    np.testing.assert_allclose(model.decision_function(made.X, labels="seen"), expected)


@pytest.mark.parametrize(
    "model", [LFMSL(**SETTINGS), LatentCOSTA(**SETTINGS)], ids=["lfm", "costa"]
)
def test_scores_are_products_of_factors(made, model):
    model = fitted(made, model)
    U = MLLCS._factors(model.factor_model_, made.X)
    scores = U @ model.label_factors_.T + model.label_bias_
    np.testing.assert_allclose(model.decision_function(made.X), scores, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(made.X), expit(scores), atol=1e-10)
    assert model.label_factors_.shape == (9, 3)


def test_without_counts_unseen_labels_are_all_the_same(made):
    model = fitted(made, LFMSL(**SETTINGS))
    probability = model.predict_proba(made.X, labels="unseen")
    seen = made.hidden.labels[:, made.hidden.seen]
    fraction = (seen.n_positives() + 0.5) / (50 * seen.n_labels + 1)
    np.testing.assert_allclose(probability, fraction / 51)


def test_counts_do_not_reach_the_model_without_them(made):
    other = made.cooccurrence.toarray()
    other[:, made.hidden.unseen] = other[:, made.hidden.unseen][:, ::-1] + 7
    first = fitted(made, LFMSL(**SETTINGS)).decision_function(made.X)
    second = LFMSL(**SETTINGS).fit(made.X, made.hidden.labels, cooccurrence=other)
    np.testing.assert_array_equal(second.decision_function(made.X), first)


@pytest.mark.parametrize("normalisation", ["fraction", "pmi"])
def test_unseen_factors_are_weighted_sums(made, normalisation):
    model = fitted(made, LatentCOSTA(**SETTINGS, normalisation=normalisation))
    counts = as_cooccurrence(made.cooccurrence, seen=made.hidden.seen)
    weights = synthesis_weights(counts, normalisation).toarray()
    base = fitted(made, LFMSL(**SETTINGS))
    seen = made.hidden.seen
    for place, u in enumerate(made.hidden.unseen):
        v = sum(weights[place, i] * base.label_factors_[s] for i, s in enumerate(seen))
        b = sum(weights[place, i] * base.label_bias_[s] for i, s in enumerate(seen))
        np.testing.assert_allclose(model.label_factors_[u], v, atol=1e-12)
        np.testing.assert_allclose(model.label_bias_[u], b, atol=1e-12)
    np.testing.assert_array_equal(model.label_factors_[seen], base.label_factors_[seen])


def test_a_label_that_occurs_with_nothing_falls_back(made):
    counts = made.cooccurrence.toarray()
    lonely = made.hidden.unseen[1]
    counts[:, lonely] = 0
    model = LatentCOSTA(**SETTINGS)
    with pytest.warns(UserWarning, match=str(lonely)):
        model.fit(made.X, made.hidden.labels, cooccurrence=counts)
    assert np.ptp(model.predict_proba(made.X)[:, lonely]) == 0
    assert model.predict_proba(made.X)[0, lonely] < 0.01


def test_names_of_labels_stay_with_the_outer_model(made):
    labels = made.hidden.labels.with_names([f"l{i}" for i in range(9)])
    model = LatentCOSTA(**SETTINGS).fit(made.X, labels, cooccurrence=made.cooccurrence)
    assert list(model.classes_[:2]) == ["l0", "l1"]
    plain = fitted(made, LatentCOSTA(**SETTINGS)).decision_function(made.X)
    np.testing.assert_array_equal(model.decision_function(made.X), plain)
