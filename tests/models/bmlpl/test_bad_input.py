"""Input that is wrong, poor or extreme gets a clear answer, never NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from labelgap.fitting import EM, FitDivergedError, FitWarning, Gibbs, OnlineEM
from labelgap.labels import LabelWarning
from labelgap.models.bmlpl import BMLPL
from models.bmlpl.problems import held_out, instance_auc, training

LOOPS = [EM(15, 0.0), EM(15, 0.0, solver="exact"), OnlineEM(50), Gibbs(4, 3, n_chains=1)]


def small(n=120):
    X, Y = training()
    return X[:n], Y[:n].to_dense()


def fit(X, Y, n_factors=3, inference=LOOPS[0], **settings):
    return BMLPL(n_factors, inference=inference, random_state=0, **settings).fit(X, Y)


def assert_sound(model, X):
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert all(np.isfinite(part).all() for part in model.params_[:4])


@pytest.mark.parametrize("value", [-2, 2, 0.5, -1])
def test_labels_other_than_zero_and_one_are_refused(value):
    X, Y = small()
    Y[3, 2] = value
    with pytest.raises(ValueError, match=r"3"):
        fit(X, Y)


@pytest.mark.parametrize("inference", LOOPS)
def test_no_positive_at_all_is_refused(inference):
    X, Y = small()
    with pytest.raises(ValueError, match="y has no positive entry at all"):
        fit(X, 0 * Y, inference=inference)


@pytest.mark.parametrize("inference", LOOPS)
@pytest.mark.parametrize("eta", [1.0, 1.3])
def test_a_label_without_a_positive_is_announced_and_predicted_as_absent(inference, eta):
    X, Y = training()
    Y = Y.to_dense()
    Y[:, 4] = 0
    with pytest.warns(LabelWarning, match="label 4 has no positive"):
        model = fit(X, Y, inference=inference, eta=eta)
    assert_sound(model, X)
    assert model.predict_proba(X)[:, 4].mean() < 0.02
    np.testing.assert_allclose(model.params_.topics.sum(axis=0), 1, rtol=1e-5)


def test_many_labels_without_a_positive_are_counted():
    X, Y = small()
    Y[:, 5:9] = 0
    with pytest.warns(LabelWarning, match="and [0-9]+ others have no positive"):
        model = fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 5:9] < 1e-6, True)


@pytest.mark.filterwarnings("ignore::labelgap.labels.LabelWarning")
@pytest.mark.parametrize("inference", LOOPS)
@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.ones_like(X),
        lambda X: 0 * X,
        lambda X: sparse.csr_array(X.shape),
        lambda X: X[:, :1],
        lambda X: np.repeat(X[:, :1], 6, axis=1),
        lambda X: np.repeat(X[:4], 30, axis=0),
        lambda X: np.hstack([X, np.full((len(X), 1), 7.0)]),
    ],
    ids=[
        "constant",
        "zero",
        "empty sparse",
        "d = 1",
        "equal columns",
        "equal rows",
        "one constant",
    ],
)
def test_poor_features_still_give_frequencies(change, inference):
    X, Y = small()
    X = change(X)
    model = fit(X, Y, inference=inference)
    assert_sound(model, X)
    assert model.predict_proba(X).sum() == pytest.approx(Y.sum(), rel=0.3)


@pytest.mark.filterwarnings("ignore::labelgap.labels.LabelWarning")
@pytest.mark.parametrize("inference", LOOPS)
def test_more_topics_than_labels(inference):
    X, Y = small()
    model = fit(X, Y, 50, inference=inference)
    assert model.params_.topics.shape == (20, 50)
    assert_sound(model, X)


@pytest.mark.parametrize("inference", LOOPS)
def test_one_label_and_one_topic(inference):
    X, Y = small()
    model = fit(X, Y[:, [0]], 1, inference=inference)
    assert model.predict_proba(X).shape == (120, 1)
    assert_sound(model, X)


@pytest.mark.parametrize("inference", LOOPS)
def test_a_single_row(inference):
    X, _ = small()
    with pytest.warns(LabelWarning):
        model = fit(X[:1], np.array([[1, 0, 1]]), inference=inference)
    assert_sound(model, X)


@pytest.mark.filterwarnings("ignore::labelgap.labels.LabelWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("inference", LOOPS)
@pytest.mark.parametrize("what", ["all", "one row", "one column"])
def test_huge_values_converge_or_are_refused_with_advice(what, inference, dtype):
    X, Y = small()
    X = X.copy()
    X[{"all": ..., "one row": 3, "one column": (slice(None), 2)}[what]] *= 1e10
    model, message = None, ""
    try:
        model = fit(X.astype(dtype), Y, inference=inference)
    except FitDivergedError as error:
        message = str(error)
    if model is None:
        assert "scale the features" in message
    else:
        assert_sound(model, X.astype(dtype))


def test_repeated_rows_weigh_as_many_rows():
    X, Y = training()
    twice = fit(np.vstack([X, X]), np.vstack([Y.to_dense()] * 2), tau=0.2)
    once = fit(X, Y)
    X_test, Y_test = held_out()
    scores = [instance_auc(Y_test, model.predict_proba(X_test)) for model in (once, twice)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


def test_gaps_without_any_observed_entry_in_some_rows():
    X, Y = training()
    Y = Y.to_dense()
    Y[:200] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = fit(X, Y)
    assert_sound(model, X)
    alone = fit(X[200:], Y[200:])
    X_test, Y_test = held_out()
    scores = [instance_auc(Y_test, m.predict_proba(X_test)) for m in (model, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
