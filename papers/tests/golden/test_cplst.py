"""CPLST and PLST against numbers from their authors' release."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap_papers.methods import CPLST, PLST


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "cplst.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "cplst.npz") as arrays:
        return {"about": about, **arrays}


def fitted(golden, method):
    settings = golden["about"]["hyper_parameters"]
    model = method(settings["M"], alpha=settings["lambda_"])
    return model.fit(golden["X_train"], golden["Y_train"])


def same_signs(V, expected):
    return V * np.sign((V * expected).sum(axis=0))


def signed_scores(model, X):
    """In the coding -1, 1 of the reference."""
    return 2 * (X @ model.coef_ + model.intercept_) - 1


def objective(golden, V, W):
    """Errors of the code and of its prediction with the ridge, labels -1 and 1."""
    Y = 2.0 * golden["Y_train"] - 1
    Y -= Y.mean(axis=0)
    design = np.column_stack([np.ones(len(Y)), golden["X_train"]])
    coding = np.square(Y - Y @ V @ V.T).sum()
    predicting = np.square(design @ W - Y @ V).sum()
    return coding + predicting + golden["about"]["hyper_parameters"]["lambda_"] * (W**2).sum()


def hat_without_intercept(self, features, Y, regression):
    """The reference's step: the hat matrix lacks the intercept of the regression."""
    X = features.rows
    gram = X.T @ X + self.alpha * np.eye(X.shape[1])
    return Y.T @ X @ np.linalg.solve(gram, X.T @ Y)


def tolerance_of(golden, name):
    return float(str(golden["about"]["tolerance"][name]).split()[0])


def assert_is_reference(golden, model, V, W, scores, Z):
    name = type(model).__name__
    of_scores, of_directions = tolerance_of(golden, "scores"), tolerance_of(golden, "V")
    found = same_signs(model.label_directions_, V)
    signs = np.sign((model.label_directions_ * V).sum(axis=0))
    assert_agrees(f"{name}: V", found, V, atol=of_directions)
    code = 2 * np.vstack([model.code_intercept_, model.code_coef_]) * signs
    assert_agrees(f"{name}: W", code, W, atol=of_directions)
    found_scores = signed_scores(model, golden["X_test"])
    assert_agrees(f"{name}: scores", found_scores, scores, atol=of_scores)
    signed = 2.0 * golden["Y_train"] - 1
    centred = signed - signed.mean(axis=0)
    assert_agrees(f"{name}: Z", centred @ found, Z, atol=of_directions)


def test_plst(golden):
    model = fitted(golden, PLST)
    assert_is_reference(
        golden, model, golden["plst_Vm"], golden["plst_ww"], golden["plst_Yr"], golden["plst_Z"]
    )


def test_cplst_with_the_hat_matrix_of_the_reference(golden, monkeypatch):
    monkeypatch.setattr(CPLST, "_label_moments", hat_without_intercept)
    model = fitted(golden, CPLST)
    assert_is_reference(golden, model, golden["V"], golden["W"], golden["scores_test"], golden["Z"])
    decided = np.where(signed_scores(model, golden["X_test"]) > 0, 1, -1)
    np.testing.assert_array_equal(decided, golden["pred_test_pm1"])
    eigenvalues = np.linalg.eigvalsh(golden["G"])[::-1][: model.importance_.size]
    importance = 4 * model.importance_
    assert_agrees("CPLST: eigenvalues", importance, eigenvalues, atol=tolerance_of(golden, "G"))


def test_one_regression_for_hat_and_code_is_no_worse(golden):
    model = fitted(golden, CPLST)
    W = 2 * np.vstack([model.code_intercept_, model.code_coef_])
    ours = objective(golden, model.label_directions_, W)
    theirs = objective(golden, golden["V"], golden["W"])
    assert_ahead("all", ours, theirs, iterations=0)
    of_labels_alone = objective(golden, golden["plst_Vm"], golden["plst_ww"])
    assert ours <= of_labels_alone
