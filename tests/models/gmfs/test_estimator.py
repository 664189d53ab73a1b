"""The estimator: selection, prediction, planted features, online EM, special cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from labelgap import GMFS
from labelgap.fitting import EM, OnlineEM
from models.gmfs.problems import planted, quick


def recall(scores, relevant):
    """Share of the relevant features among as many of the largest scores."""
    n = int(relevant.sum())
    return relevant[np.argsort(-scores)[:n]].mean()


@pytest.mark.parametrize("prior", ["spike-slab", "laplace", "group-laplace"])
@pytest.mark.parametrize("rate", [0.9, 0.5])
def test_planted_features_are_found(prior, rate):
    data = planted(600, 30, 12, rate=rate)
    model = quick(prior=prior, label_frequency=rate, propensity="fixed").fit(data.X, data.labels)
    assert recall(model.scores_, data.relevant_features) >= 0.85


def test_hidden_labels_cost_fewer_features_than_zeros_do():
    """Telling that zeros may be unseen finds no fewer planted features than calling them zeros."""
    found = {1.0: [], 0.4: []}
    for seed in range(5):
        data = planted(250, 40, 8, rate=0.4, seed=seed)
        for theta in found:
            model = quick(label_frequency=theta, propensity="fixed").fit(data.X, data.labels)
            found[theta].append(recall(model.scores_, data.relevant_features))
    assert np.mean(found[0.4]) >= np.mean(found[1.0]) - 0.01


def test_the_slab_holds_the_planted_features():
    data = planted(2000, 20, 12, rate=0.8)
    model = quick(
        label_frequency=0.8,
        propensity="fixed",
        lambda_v=10.0,
        inference=EM(40, 0.0, solver="exact"),
    )
    chosen = model.fit(data.X, data.labels).get_support()
    assert (chosen & data.relevant_features).sum() >= 0.8 * data.relevant_features.sum()
    assert (chosen & ~data.relevant_features).sum() <= 2


def test_scores_are_lengths_of_rows():
    data = planted()
    model = quick().fit(data.X, data.labels)
    np.testing.assert_allclose(
        model.scores_, np.linalg.norm(model.params_.weights[:-1], axis=1), rtol=1e-12
    )


def test_scale_of_features_does_not_matter():
    data = planted()
    scale = np.logspace(-3, 3, data.X.shape[1])
    plain = quick().fit(data.X, data.labels)
    scaled = quick().fit(data.X * scale + 5, data.labels)
    np.testing.assert_allclose(scaled.scores_, plain.scores_, rtol=1e-6)
    X = data.X[:9] * scale + 5
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(data.X[:9]), rtol=1e-6)
    unscaled = quick(standardise=False).fit(data.X * scale, data.labels)
    assert np.argmax(unscaled.scores_) != np.argmax(plain.scores_)


def test_relative_variances_are_in_their_unit():
    """The unit is 1 / (lambda_v n_samples)."""
    data = planted()
    absolute = quick(relative=False, sigma_0=1 / 900, sigma_1=10 / 900).fit(data.X, data.labels)
    relative = quick().fit(data.X, data.labels)
    np.testing.assert_allclose(absolute.scores_, relative.scores_, rtol=1e-9)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_features(form):
    data = planted()
    X = np.where(np.abs(data.X) > 0.7, data.X, 0)
    dense, thin = quick().fit(X, data.labels), quick().fit(form(X), data.labels)
    np.testing.assert_allclose(thin.scores_, dense.scores_, rtol=1e-7)
    np.testing.assert_allclose(thin.missing_label_proba(), dense.missing_label_proba(), rtol=1e-6)


def test_number_fraction_and_threshold():
    data = planted()
    model = quick().fit(data.X, data.labels)
    scores = model.scores_
    assert model.set_params(n_features_to_select=4).get_support().sum() == 4
    assert model.set_params(n_features_to_select=0.25).get_support().sum() == 5
    model.set_params(n_features_to_select=None)
    for threshold, level in (("mean", scores.mean()), ("median", np.median(scores)), (0.1, 0.1)):
        kept = model.set_params(threshold=threshold).get_support()
        np.testing.assert_array_equal(kept, scores >= level)


def test_frames_in_frames_out():
    data = planted()
    X = pd.DataFrame(data.X, columns=[f"f{j}" for j in range(20)])
    model = quick(n_features_to_select=3).set_output(transform="pandas")
    narrow = model.fit_transform(X, data.labels)
    assert list(narrow.columns) == list(model.get_feature_names_out())
    assert list(model.feature_names_in_) == list(X.columns)
    pd.testing.assert_frame_equal(narrow, X[narrow.columns])
    back = model.inverse_transform(narrow.to_numpy())
    assert back.shape == (300, 20)
    assert (back != 0).any(axis=0).sum() == 3


def test_probabilities_are_those_of_relevance_not_of_records():
    """With the precisions of the generator."""
    data = planted(1500, 10, 8, rate=0.5)
    settings = {"lambda_v": 100.0, "lambda_b": 0.2, "inference": EM(60, 0.0, solver="exact")}
    settings |= {"relative": False, "sigma_0": 1e-4, "sigma_1": 0.2}
    told, fooled = (
        quick(label_frequency=theta, propensity="fixed", **settings)
        .fit(data.X, data.labels)
        .predict_proba(data.X)
        for theta in (0.5, 1.0)
    )
    truth = data.parameters["probabilities"]
    assert np.abs(told - truth).mean() < 0.6 * np.abs(fooled - truth).mean()
    assert told.mean() == pytest.approx(truth.mean(), abs=0.05)


def test_online_em_comes_near_batch_em():
    data = planted(1500, 15, 10, rate=0.7)
    batch = quick(propensity="per_label").fit(data.X, data.labels)
    loop = OnlineEM(250, 6)
    online = quick(propensity="per_label", inference=loop).fit(data.X, data.labels)
    assert np.corrcoef(batch.scores_, online.scores_)[0, 1] > 0.95
    assert recall(online.scores_, data.relevant_features) >= 0.85
    assert np.abs(batch.propensity_ - online.propensity_).max() < 0.05
    assert online.trace_.n_iter == 36


def test_convergence_is_declared():
    data = planted()
    model = quick(inference=EM(500, 1e-7, solver="exact")).fit(data.X, data.labels)
    assert model.trace_.outcome == "converged"
    assert model.trace_.largest_drop() < 1e-10


def test_blocks_do_not_matter():
    data = planted()
    one, many = (quick(block_rows=b).fit(data.X, data.labels) for b in (None, 37))
    np.testing.assert_allclose(one.scores_, many.scores_, rtol=1e-8)
    np.testing.assert_allclose(one.missing_label_proba(), many.missing_label_proba(), rtol=1e-7)


def test_single_precision():
    data = planted()
    double = quick().fit(data.X, data.labels)
    single = quick().fit(data.X.astype(np.float32), data.labels)
    assert single.params_.weights.dtype == np.float32
    np.testing.assert_allclose(single.scores_, double.scores_, rtol=2e-3, atol=1e-4)


def test_a_callback_hears_and_stops():
    data = planted()
    heard = []
    model = quick(callback=lambda progress: heard.append(progress) or len(heard) == 3)
    assert model.fit(data.X, data.labels).trace_.outcome == "stopped"
    assert len(heard) == 3


def test_defaults_run():
    data = planted(120, 8, 5)
    model = GMFS(random_state=0).fit(data.X, data.labels)
    assert model.label_frequency_search_
    assert model.trace_.n_iter == 30
