"""Principal components of incomplete views, against the dense computation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from labelgap import IMVWL, metrics
from labelgap.generators import make_views
from labelgap.models.imvwl._scaled_views import find_components, learn_scaling, read_views
from labelgap.views import present
from models.imvwl.problems import VIEWS, make_data, marked_sparse


def found(X, n_components=16, scaling="range"):
    there = present(X, VIEWS)
    learned = learn_scaling(X, VIEWS, there, scaling)
    views = read_views(X, VIEWS, there, learned)
    rng = np.random.default_rng(0)
    return find_components(views, X.shape[0], learned.fill, n_components, rng), views, learned


def dense_rows(X, learned):
    """Scaled, centred, weighted and filled with zeros, as the docstring says."""
    scaled = (X - learned.shift) * learned.factor - learned.fill
    for columns in VIEWS.values():
        there = ~np.isnan(scaled[:, columns]).all(axis=1)
        variance = np.nansum(np.square(scaled[there, columns])) / there.sum()
        scaled[:, columns] /= np.sqrt(variance)
    return np.nan_to_num(scaled)


@pytest.mark.parametrize("form", [np.array, marked_sparse])
@pytest.mark.parametrize("scaling", ["balance", "range", None])
def test_equal_a_dense_decomposition(form, scaling):
    X = make_data().X
    components, views, learned = found(form(X), scaling=scaling)
    rows = dense_rows(X, learned)
    coordinates = components.of(views, len(X))
    np.testing.assert_allclose(coordinates @ coordinates.T, rows @ rows.T, atol=1e-8)
    values = np.linalg.svd(rows, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(coordinates, axis=0), values, atol=1e-8)


def test_few_components_are_the_leading_ones():
    X = make_data(views=False, values=False, n_samples=200).X
    components, views, learned = found(X, 3)
    theirs = PCA(3, svd_solver="full").fit_transform(dense_rows(X, learned))
    ours = components.of(views, len(X))
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-2)


def test_a_constant_view_has_no_say():
    X = make_data(views=False, values=False).X
    X[:, VIEWS["shape"]] = 2.0
    components, views, _ = found(X, scaling="balance")
    assert not components.axes[VIEWS["shape"]].any()
    assert np.isfinite(components.of(views, len(X))).all()


def test_the_combined_predictor_sees_what_the_subspace_leaves_out():
    """One factor cannot hold three; the components can."""
    data = make_views(300, (8, 12, 6), 6, n_factors=3, noise=0.05, random_state=0)
    scores = {}
    for predictor in ("logistic", "combined"):
        model = IMVWL(data.views, 1, predictor=predictor, C=1.0, random_state=0)
        model.fit(data.X, data.labels)
        probabilities = model.predict_proba(data.X)
        scores[predictor] = metrics.auc(data.hidden.truth, probabilities, average="micro")
    assert scores["combined"] > scores["logistic"] + 0.02


def test_the_logistic_predictor_sees_roots():
    X, Y = make_data()
    model = IMVWL(VIEWS, 3, predictor="logistic", max_iter=5, random_state=0).fit(X, Y)
    expected = model.logistic_.log_odds(np.sqrt(model.transform(X)))
    np.testing.assert_allclose(model.decision_function(X), expected)
    roots = np.sqrt(model.transform(X))[~np.isnan(Y).all(axis=1)]
    np.testing.assert_allclose(model.logistic_.scale, roots.std(axis=0))
    assert model.components_ is None
