"""What cannot be used is refused, or handled, in words that help."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import GMFS, LabelWarning
from labelgap.fitting import EM, Gibbs, OnlineEM
from models.gmfs.problems import planted, quick


def test_constant_features_score_nothing():
    data = planted()
    X = np.column_stack([data.X, np.full(300, 3.7), np.zeros(300)])
    for form in (np.array, sparse.csr_array):
        model = quick().fit(form(X), data.labels)
        np.testing.assert_allclose(model.scores_[-2:], 0, atol=1e-9)
        assert np.isfinite(model.predict_proba(form(X))).all()
        assert not model.set_params(n_features_to_select=20).get_support()[-2:].any()


def test_a_label_without_positives_is_named():
    data = planted()
    Y = np.column_stack([np.asarray(data.labels), np.zeros(300)])
    with pytest.warns(LabelWarning, match="label 10 has no positive"):
        model = quick().fit(data.X, Y)
    assert model.predict_proba(data.X)[:, -1].max() < 0.2
    assert np.isfinite(model.scores_).all()


def test_no_positive_at_all():
    data = planted()
    with pytest.raises(ValueError, match="y has no positive entry at all"):
        quick().fit(data.X, np.zeros((300, 2)))


@pytest.mark.parametrize("n_neighbors", [2, 5])
def test_duplicate_rows_are_neighbors_like_others(n_neighbors):
    data = planted()
    X = np.repeat(data.X[:60], 5, axis=0)
    labels = data.labels[np.repeat(np.arange(60), 5)]
    settings = {"propensity": "neighbors", "n_neighbors": n_neighbors}
    model = quick(**settings).fit(X, labels)
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(np.asarray(model.examined_)).all()
    again = quick(**settings).fit(X, labels)
    np.testing.assert_array_equal(model.scores_, again.scores_)


@pytest.mark.parametrize("n_neighbors", [300, 1000])
def test_more_neighbors_than_rows(n_neighbors):
    data = planted()
    with pytest.raises(ValueError, match=rf"n_neighbors={n_neighbors}.*300 rows.*at most 299"):
        quick(propensity="neighbors", n_neighbors=n_neighbors).fit(data.X, data.labels)


@pytest.mark.parametrize(("spike", "slab"), [(1.0, 1.0), (2.0, 1.0)])
def test_a_spike_as_wide_as_the_slab(spike, slab):
    data = planted()
    with pytest.raises(ValueError, match=r"sigma_0=.* and sigma_1=1.0.*smaller"):
        quick(sigma_0=spike, sigma_1=slab).fit(data.X, data.labels)
    quick(sigma_0=spike, sigma_1=slab, prior="laplace").fit(data.X, data.labels)


def test_examined_of_a_wrong_shape():
    data = planted()
    with pytest.raises(
        ValueError, match=r"label_frequency has the shape \(7,\).*\(10,\) per label"
    ):
        quick(label_frequency=np.full(7, 0.5), propensity="fixed").fit(data.X, data.labels)


@pytest.mark.parametrize("bad", [0.0, -0.2, 1.3, np.nan])
def test_examined_that_is_no_probability(bad):
    data = planted()
    rates = np.full((300, 10), 0.5)
    rates[4, 2] = bad
    with pytest.raises(ValueError, match=r"label_frequency\[4, 2\] = "):
        quick(label_frequency=rates, propensity="fixed").fit(data.X, data.labels)


def test_mini_batches_know_neither_neighbors_nor_rows():
    data = planted()
    fixed = {"label_frequency": np.full((300, 1), 0.5), "propensity": "fixed"}
    for look in ({"propensity": "neighbors"}, fixed):
        with pytest.raises(ValueError, match="OnlineEM"):
            quick(**look, inference=OnlineEM(50)).fit(data.X, data.labels)


def test_gibbs_is_not_offered():
    data = planted()
    with pytest.raises(ValueError, match="not by Gibbs"):
        quick(inference=Gibbs()).fit(data.X, data.labels)


def test_number_and_threshold_exclude_each_other():
    data = planted()
    with pytest.raises(ValueError, match=r"n_features_to_select=3 and threshold=0\.5"):
        quick(n_features_to_select=3, threshold=0.5).fit(data.X, data.labels)


def test_a_graph_of_other_rows():
    data = planted()
    with pytest.raises(ValueError, match="graph has the shape"):
        quick(propensity="neighbors", neighbors=sparse.eye_array(7, format="csr")).fit(
            data.X, data.labels
        )


def test_more_factors_than_labels_and_features():
    data = planted(40, 3, 4)
    model = GMFS(9, label_frequency=0.6, inference=EM(5, 0.0), random_state=0).fit(
        data.X, data.labels
    )
    assert np.isfinite(model.predict_proba(data.X)).all()
