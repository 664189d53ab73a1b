"""Generators: the data follow the models they claim to come from."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from labelgap.cooccurrence import cooccurrence_matrix
from labelgap.generators import (
    GENERATORS,
    make_low_rank,
    make_positive_only,
    make_topics,
    make_unseen,
    make_views,
)
from labelgap.labels import State
from labelgap.views import present


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_gaps_hide_the_full_labels_and_nothing_else(name):
    made = GENERATORS[name](random_state=0)
    assert made.hidden.restore().equals(made.full)
    assert not made.full.has_gaps
    assert made.X.shape[0] == made.labels.n_samples == made.full.n_samples


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_random_state_repeats_and_matters(name):
    first, again, other = (GENERATORS[name](random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    assert first.labels.equals(again.labels)
    assert not first.full.equals(other.full)


def test_low_rank_probabilities_are_those_of_the_parameters():
    made = make_low_rank(4000, 12, 8, n_factors=3, n_relevant=5, noise=0.0, random_state=0)
    p = made.parameters
    np.testing.assert_array_equal((p["W"] != 0).all(axis=1), made.relevant_features)
    assert made.relevant_features.sum() == 5
    logits = made.X @ p["W"] @ p["B"].T
    assert np.linalg.matrix_rank(logits) == 3
    np.testing.assert_allclose(expit(logits + p["intercept"]), p["probabilities"])
    # calibration: among entries with probability about q, a fraction of about q is relevant
    y, q = made.full.to_dense().ravel(), p["probabilities"].ravel()
    bins = np.digitize(q, np.linspace(0.1, 0.9, 9))
    for b in range(10):
        assert y[bins == b].mean() == pytest.approx(q[bins == b].mean(), abs=0.03)


@pytest.mark.parametrize("density", [0.05, np.linspace(0.1, 0.6, 6)])
def test_density_is_met(density):
    made = make_low_rank(5000, n_labels=6, density=density, random_state=0)
    expected = np.broadcast_to(density, 6)
    np.testing.assert_allclose(made.parameters["probabilities"].mean(axis=0), expected, rtol=1e-6)
    np.testing.assert_allclose(made.full.n_positives(axis=0) / 5000, expected, atol=0.03)


def test_low_rank_hides_the_asked_fraction():
    made = make_low_rank(600, n_labels=50, fraction_hidden=0.3, random_state=0)
    assert made.hidden.n_hidden / 30_000 == pytest.approx(0.3, abs=0.01)
    assert make_low_rank(fraction_hidden=0.0, random_state=0).labels.equals(
        make_low_rank(fraction_hidden=0.0, random_state=0).full
    )


def test_only_relevant_features_predict():
    made = make_low_rank(2000, 10, 1, n_factors=1, n_relevant=5, noise=0.0, random_state=0)
    y = made.full.to_dense().ravel()

    def auc(features):
        model = LogisticRegression().fit(made.X[:1000, features], y[:1000])
        return roc_auc_score(y[1000:], model.decision_function(made.X[1000:, features]))

    assert auc(made.relevant_features) > 0.8
    assert auc(~made.relevant_features) < 0.6


def test_positive_only_follows_its_rates():
    made = make_positive_only(
        4000,
        n_labels=6,
        density=0.4,
        row_rates=(0.5, 1.0),
        label_frequency=(0.2, 0.9),
        random_state=0,
    )
    assert made.labels.implicit is State.UNLABELED
    assert made.hidden.traceless
    assert made.row_rates.shape == (4000,)
    assert 0.5 <= made.row_rates.min() < made.row_rates.max() <= 1.0
    seen = made.labels.n_positives(axis=0) / made.full.n_positives(axis=0)
    np.testing.assert_allclose(seen, made.row_rates.mean() * made.label_frequency, atol=0.05)
    lucky = made.row_rates > 0.75
    by_row = made.labels.n_positives(axis=1), made.full.n_positives(axis=1)
    rates = [by_row[0][part].sum() / by_row[1][part].sum() for part in (lucky, ~lucky)]
    assert rates[0] / rates[1] == pytest.approx(0.875 / 0.625, rel=0.1)


def test_positive_only_takes_given_rates():
    rates = np.array([0.0, 1.0, 0.5])
    made = make_positive_only(n_labels=3, label_frequency=rates, random_state=0)
    np.testing.assert_array_equal(made.label_frequency, rates)
    n_seen, n_all = made.labels.n_positives(axis=0), made.full.n_positives(axis=0)
    assert n_seen[0] == 0
    assert n_seen[1] == n_all[1]


def test_topics_match_the_bernoulli_poisson_link():
    made = make_topics(20_000, 3, 12, n_topics=3, labels_per_row=2.0, eta=0.5, random_state=0)
    p = made.parameters
    np.testing.assert_allclose(p["V"].sum(axis=0), 1.0)
    probability = 1 - np.exp(-p["U"] @ p["V"].T)
    np.testing.assert_allclose(
        made.full.n_positives(axis=0) / 20_000, probability.mean(axis=0), atol=0.012
    )
    # with u integrated out: P(y = 1 | x) = 1 - prod_k (1 + v_k exp(x . w_k + c))^(-r)
    scale = np.exp(made.X @ p["W"] + p["intercept"])
    marginal = 1 - np.prod(1 / (1 + scale[:, None, :] * p["V"]), axis=2)
    y = made.full.to_dense()
    for label in range(12):
        top = marginal[:, label] > np.median(marginal[:, label])
        for part in (top, ~top):
            expected = marginal[part, label].mean()
            assert y[part, label].mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("r", [0.2, 2.0])
def test_topics_calibrate_labels_per_row(r):
    made = make_topics(20_000, 5, 50_000, labels_per_row=4.0, eta=1.0, r=r, random_state=0)
    # with so many labels hardly any two counts of a row meet
    assert made.full.n_positives() / 20_000 == pytest.approx(4.0, rel=0.05)


def test_topics_hide_positives():
    made = make_topics(fraction_hidden=0.25, random_state=0)
    assert made.hidden.n_hidden == int(0.25 * made.full.n_positives())


@pytest.mark.slow
def test_topics_reach_extreme_sizes():
    made = make_topics(200_000, 10, 1_000_000, labels_per_row=10.5, random_state=0)
    assert made.full.shape == (200_000, 1_000_000)
    assert made.full.n_positives() == pytest.approx(2_000_000, rel=0.1)


def test_views_fraction_one_subspace():
    made = make_views(200, {"a": 8, "b": 12}, noise=0.0, fraction_views=0.4, random_state=0)
    complete = made.hidden_views.restore()
    p = made.parameters
    np.testing.assert_allclose(complete, p["V"] @ p["A"].T)
    assert (complete >= 0).all()
    assert list(made.views) == ["a", "b"]
    there = present(made.X, made.views)
    np.testing.assert_array_equal((~there).sum(axis=0), [80, 80])
    assert there.any(axis=1).all()
    assert made.labels.n_observed() == pytest.approx(1000, abs=30)


def test_unseen_labels_are_tied_to_the_counts():
    made = make_unseen(random_state=0)
    p = made.parameters
    np.testing.assert_allclose(p["B"], p["beta"] @ p["Psi"].T)
    assert made.labels.unseen.sum() == 20
    expected = cooccurrence_matrix(made.full, made.hidden.seen)
    np.testing.assert_array_equal(made.cooccurrence.toarray(), expected.toarray())


def test_unseen_counts_from_the_model():
    made = make_unseen(10, n_labels=300, counts="model", r=3.0, signal=1.0, random_state=0)
    p = made.parameters
    assert sparse.issparse(made.cooccurrence)
    rate = expit(p["B"][made.hidden.seen] @ p["beta"].T)
    mean = 3.0 * rate / (1 - rate)
    for part in (mean < 3, mean >= 3):
        assert made.cooccurrence.toarray()[part].mean() == pytest.approx(
            mean[part].mean(), rel=0.03
        )
    assert made.hidden.cooccurrence is made.cooccurrence


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_low_rank, {"n_samples": 0}, "n_samples=0 must be an integer of at least 1"),
        (make_low_rank, {"n_factors": 2.5}, "n_factors=2.5 must be an integer"),
        (make_low_rank, {"n_features": 4, "n_relevant": 5}, "n_relevant=5 must be at most 4"),
        (make_low_rank, {"density": 1.0}, "density=1.0 must lie strictly between"),
        (make_low_rank, {"density": [0.1, 0.2]}, r"density has shape \(2,\)"),
        (make_low_rank, {"noise": -1.0}, "noise=-1.0 must be a finite number at least 0"),
        (make_low_rank, {"signal": 0}, "signal=0 must be a finite number greater than 0"),
        (make_low_rank, {"fraction_hidden": 2}, "fraction_hidden=2 must be a fraction"),
        (
            make_positive_only,
            {"label_frequency": (0.9, 0.1)},
            r"label_frequency=\(0.9, 0.1\): a range",
        ),
        (make_positive_only, {"row_rates": [0.5]}, r"row_rates has shape \(1,\)"),
        (make_positive_only, {"row_rates": 1.5}, "row_rates must hold probabilities"),
        (make_topics, {"eta": 0.0}, "eta=0.0 must be a finite number greater than 0"),
        (make_topics, {"labels_per_row": float("inf")}, "labels_per_row=inf"),
        (make_views, {"view_widths": ()}, "view_widths is empty"),
        (make_views, {"view_widths": (3, 0)}, r"view_widths\['view1'\]=0"),
        (make_unseen, {"counts": "wikipedia"}, "counts='wikipedia': use 'rows' or 'model'"),
        (make_views, {"fraction_views": -1}, "fraction_views=-1 must be a fraction"),
        (make_topics, {"fraction_hidden": 1.1}, "fraction_hidden=1.1 must be a fraction"),
        (make_unseen, {"fraction_unseen": True}, "fraction_unseen=True must be a fraction"),
        (make_unseen, {"r": 2.0}, "set counts='model'"),
    ],
)
def test_errors_name_argument_and_remedy(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)
