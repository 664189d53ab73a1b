"""Missing labels: against refits without the entry, sorting, and the planted truth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from labelgap import State
from labelgap.fitting import EM
from labelgap.kernels.entry_likelihood import label_terms
from labelgap.propensity import unlabeled_posterior
from models.gmfs.problems import planted, quick

# those of the generator: 1 / noise^2, and variances of label factors and weights
TRUE_SETTINGS = {
    "lambda_v": 100.0,
    "lambda_b": 0.2,
    "relative": False,
    "sigma_0": 1e-4,
    "sigma_1": 0.2,
    "inference": EM(60, 0.0, solver="exact"),
}


@pytest.fixture(scope="module")
def model():
    data = planted()
    return quick(propensity="per_label").fit(data.X, data.labels)


def test_factors_without_an_entry_are_those_of_a_ridge_without_it(model):
    """One row's weighted regression with the entry's weights taken out, solved anew."""
    rows, params = model._rows, model.params_
    mean, variance = rows.without_own(slice(0, 4))
    B, a, lambda_v = params.factors, params.bias, rows.lambda_v
    for i in range(4):
        psi = rows.factors[i] @ B.T + a
        states = rows.labels.states(slice(i, i + 1))
        terms = label_terms(psi[None], states, model.propensity_[0])
        kappa, omega = terms.kappa[0], terms.omega[0]
        for j in range(len(a)):
            rest = np.arange(len(a)) != j
            A = (B[rest].T * omega[rest]) @ B[rest] + lambda_v * np.eye(B.shape[1])
            right = (kappa - omega * a)[rest] @ B[rest] + lambda_v * rows.means[i]
            assert mean[i, j] == pytest.approx(B[j] @ np.linalg.solve(A, right) + a[j])
            assert variance[i, j] == pytest.approx(B[j] @ np.linalg.solve(A, B[j]))


def test_probability_is_bayes_rule(model):
    part = slice(0, 50)
    mean, variance = model._rows.without_own(part)
    psi = mean / np.sqrt(1 + np.pi / 8 * variance)
    expected = unlabeled_posterior(psi, np.broadcast_to(model.propensity_, psi.shape))
    found = model.missing_label_proba()[part]
    unlabeled = planted().labels.states(part) == State.UNLABELED
    np.testing.assert_allclose(found[unlabeled], expected[unlabeled])
    assert np.isnan(found[~unlabeled]).all()


@pytest.mark.parametrize("top", [1, 17, 10**6])
@pytest.mark.parametrize("cells", [100, 2**22])
def test_likely_missing_are_the_largest_in_order(model, monkeypatch, top, cells):
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * cells)
    chance = model.missing_label_proba()
    found = model.likely_missing(top=top)
    n = min(top, int((~np.isnan(chance)).sum()))
    assert len(found.rows) == n
    np.testing.assert_allclose(found.probability, -np.sort(-chance[~np.isnan(chance)])[:n])
    np.testing.assert_allclose(chance[found.rows, found.columns], found.probability)
    np.testing.assert_array_equal(found.labels, model.classes_[found.columns])


def test_missing_labels_are_found_and_counted():
    """Nearly as well as by the true probabilities, and about as many as there are."""
    data = planted(800, 12, 12, rate=0.6)
    model = quick(label_frequency=0.6, propensity="fixed", **TRUE_SETTINGS).fit(data.X, data.labels)
    truth = data.hidden.truth.states()
    asked = np.isin(truth, [State.RELEVANT, State.NEGATIVE])
    hidden = truth[asked] == State.RELEVANT
    chance = model.missing_label_proba()[asked]
    best = roc_auc_score(hidden, data.parameters["probabilities"][asked])
    assert roc_auc_score(hidden, chance) > best - 0.05
    assert chance.sum() == pytest.approx(hidden.sum(), rel=0.25)
    # calibration by fifths of the probability
    edges = np.quantile(chance, np.linspace(0, 1, 6))
    for low, high in pairwise(edges):
        inside = (chance >= low) & (chance <= high)
        assert abs(chance[inside].mean() - hidden[inside].mean()) < 0.1


def test_examined_is_calibrated():
    """Near theta (1 - p) / (1 - theta p) for the true probabilities p."""
    data = planted(800, 12, 12, rate=0.6)
    model = quick(label_frequency=0.6, propensity="fixed", **TRUE_SETTINGS).fit(data.X, data.labels)
    examined = np.asarray(model.examined_)
    probabilities = data.parameters["probabilities"]
    unlabeled = data.labels.states() == State.UNLABELED
    exact = 0.6 * (1 - probabilities) / (1 - 0.6 * probabilities)
    assert np.abs(examined - exact)[unlabeled].mean() < 0.06
    assert np.corrcoef(examined[unlabeled], exact[unlabeled])[0, 1] > 0.8


def test_examined_of_every_state():
    data = planted()
    labels = data.labels.hide([0, 1], [2, 3]).with_entries([2, 3], [0, 1], State.NEGATIVE)
    model = quick().fit(data.X, labels)
    values, states = np.asarray(model.examined_), labels.states()
    assert (values[states == State.UNKNOWN] == 0).all()
    assert (values[states == State.RELEVANT] == 1).all()
    assert (values[states == State.NEGATIVE] == 1).all()
    between = values[states == State.UNLABELED]
    assert between.min() > 0
    assert between.max() < 1


def test_examined_gives_the_rows_that_are_asked_for(model):
    everything = np.asarray(model.examined_)
    assert everything.shape == model.examined_.shape == (300, 10)
    assert len(model.examined_) == 300
    for key in (
        slice(5, 40),
        slice(None),
        slice(3, 30, 7),
        [4, 2],
        7,
        -1,
        np.arange(300) % 50 == 0,
    ):
        np.testing.assert_allclose(model.examined_[key], everything[key], rtol=1e-12)
    stacked = np.vstack([values for _, values in model.examined_.blocks()])
    np.testing.assert_array_equal(stacked, everything)
    assert "300 rows x 10 labels" in repr(model.examined_)
    with pytest.raises(ValueError, match="always a copy"):
        np.array(model.examined_, copy=False)


def test_rows_and_labels_are_all_that_is_kept(model):
    """No array of rows x labels stays behind the fit."""
    n, n_labels = model.examined_.shape
    for name, value in vars(model._rows).items():
        if isinstance(value, np.ndarray):
            assert value.shape != (n, n_labels), name


def test_at_least_one_is_asked_for(model):
    with pytest.raises(ValueError, match="top=0"):
        model.likely_missing(top=0)
