"""ML-kNN against its authors' MATLAB code and against a Python implementation with two faults."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap import metrics
from labelgap_papers.methods import MLkNN, _mlknn


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "mlknn.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "mlknn.npz") as arrays:
        return {"about": about, **arrays}


def fitted(golden, name):
    settings = golden["about"]["hyper_parameters"]
    Y = golden["Y_train"].astype(float)
    if name == "miss":
        Y[golden["mask"] == 0] = np.nan
    if name == "miss0":
        Y = Y * golden["mask"]
    return MLkNN(settings["k"], smoothing=settings["s"]).fit(golden["X_train"], Y)


def assert_close(golden, array, found, expected):
    assert_agrees(array, found, expected, atol=golden["about"]["tolerance"]["all"])


@pytest.mark.parametrize("name", ["full", "miss"])
def test_the_authors_code(golden, name):
    model = fitted(golden, name)
    prior, without = golden[f"matlab_{name}_Prior"], golden[f"matlab_{name}_PriorN"]
    # the reference divides by all rows, ours by those in which the label is known
    assert_close(golden, "prior", model.prior_, prior / (prior + without))
    assert_close(golden, "with the label", model.likelihood_[1], golden[f"matlab_{name}_Cond"])
    assert_close(golden, "without it", model.likelihood_[0], golden[f"matlab_{name}_CondN"])
    probability = model.predict_proba(golden["X_test"])
    assert_close(golden, "probabilities", probability, golden[f"matlab_{name}_Outputs"])
    decided = np.where(probability >= 0.5, 1, -1)
    np.testing.assert_array_equal(decided, golden[f"matlab_{name}_Pre"])


@pytest.mark.parametrize("name", ["full", "miss"])
def test_hamming_loss_of_the_authors_code(golden, name):
    decided = fitted(golden, name).predict_proba(golden["X_test"]) >= 0.5
    expected = golden[f"matlab_{name}_metrics"][0]
    assert metrics.hamming_loss(golden["Y_test"], decided) == pytest.approx(expected)


def with_itself(search):
    """The fault: a training row counts as its own neighbour."""
    return search.kneighbors(search._fit_X, return_distance=False)


def without_nearest(search, X):
    """The other fault: the nearest training row is dropped for new rows as well."""
    wanted = search.n_neighbors + 1
    return search.kneighbors(X, n_neighbors=wanted, return_distance=False)[:, 1:]


@pytest.mark.parametrize("name", ["full", "miss0"])
@pytest.mark.parametrize("fault", ["ignore0", "ignore1"])
def test_the_faults_of_the_other_implementation(golden, name, fault, monkeypatch):
    if fault == "ignore0":
        monkeypatch.setattr(_mlknn, "_neighbors_in_training", with_itself)
    else:
        monkeypatch.setattr(_mlknn, "_neighbors_of_new", without_nearest)
    model = fitted(golden, name)
    assert_close(golden, "prior", model.prior_, golden[f"ng_{name}_{fault}_prior_true"])
    assert_close(
        golden, "with the label", model.likelihood_[1], golden[f"ng_{name}_{fault}_cond_true"]
    )
    assert_close(
        golden, "without it", model.likelihood_[0], golden[f"ng_{name}_{fault}_cond_false"]
    )
    probability = model.predict_proba(golden["X_test"])
    assert_close(golden, "probabilities", probability, golden[f"ng_{name}_{fault}_proba"])
    decided = golden[f"ng_{name}_{fault}_pred"]
    np.testing.assert_array_equal(model.predict(golden["X_test"]), decided)


@pytest.mark.parametrize("name", ["full", "miss0"])
def test_the_fault_costs_likelihood(golden, name):
    """Of the counts of neighbours that new rows would have, with s imaginary rows of each."""
    model = fitted(golden, name)
    s = golden["about"]["hyper_parameters"]["s"]
    Y = golden["Y_train"] * (golden["mask"] if name == "miss0" else 1)
    counts = model._count(model._search.kneighbors(return_distance=False))

    def log_likelihood(likelihood):
        of_rows = likelihood[Y, np.arange(Y.shape[1]), counts]
        return np.log(of_rows).sum() + s * np.log(likelihood).sum()

    leaking = [golden[f"ng_{name}_ignore0_cond_{value}"] for value in ("false", "true")]
    ours, theirs = log_likelihood(model.likelihood_), log_likelihood(np.stack(leaking))
    assert_ahead(name, ours, theirs, iterations=0, higher=True)
