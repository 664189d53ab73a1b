"""The small problem all contract checks look at, and how results are compared."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags


class Problem(NamedTuple):
    X: np.ndarray  # (n_samples, n_features), half of it zero
    truth: np.ndarray  # (n_samples, n_labels), 0 and 1
    hidden: np.ndarray  # (n_samples, n_labels), True where the label is not observed
    Y: np.ndarray  # the truth with NaN where hidden
    X_new: np.ndarray


@cache
def problem(n_samples: int = 72, n_features: int = 6, n_labels: int = 4, seed: int = 0) -> Problem:
    """Linear labels; three tenths of the entries are hidden, none of the last label's."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples + 20, n_features))
    X[rng.random(X.shape) < 0.4] = 0
    weights = rng.standard_normal((n_features, n_labels))
    noise = rng.standard_normal((n_samples + 20, n_labels))
    truth = (X @ weights + 0.5 * noise > 0.2).astype(np.int64)[:n_samples]
    hidden = rng.random(truth.shape) < 0.3
    hidden[:, -1] = False
    made = Problem(X[:n_samples], truth, hidden, np.where(hidden, np.nan, truth), X[n_samples:])
    for array in made:
        array.flags.writeable = False
    return made


def fresh(case: Any, X: Any = None, Y: Any = None) -> Any:
    """An unfitted estimator with a fixed seed, and the start of the case where it has one."""
    estimator = clone(case.estimator)
    parameters = estimator.get_params(deep=False)
    if "random_state" in parameters:
        estimator.set_params(random_state=0)
    if "init" in parameters and X is not None:
        assert case.start is not None, "an estimator with init= is registered with start="
        estimator.set_params(init=case.start(X, Y))
    return estimator


def outputs(estimator: Any, X: Any) -> dict[str, np.ndarray]:
    """Everything the estimator says about some rows."""
    results = {"decision_function": estimator.decision_function(X), "predict": estimator.predict(X)}
    if hasattr(estimator, "predict_proba"):
        results["predict_proba"] = estimator.predict_proba(X)
    return results


def assert_same(first: dict, second: dict, tolerance: float, *, decisions: bool = True) -> None:
    """Equal results; with ``decisions=False`` near ties may be decided otherwise."""
    assert first.keys() == second.keys()
    for name, value in first.items():
        if name == "predict":
            if decisions:
                np.testing.assert_array_equal(value, second[name], err_msg=name)
            continue
        np.testing.assert_allclose(
            value, second[name], rtol=tolerance, atol=tolerance, err_msg=name
        )


def accepts_sparse(case: Any) -> bool:
    return get_tags(case.estimator).input_tags.sparse


def stored_awkwardly(X: np.ndarray, index: Any = np.int64) -> sparse.csr_array:
    """The same matrix with entries in two halves, explicit zeros, out of order, in wide indices."""
    rows, columns = np.indices(X.shape).reshape(2, -1)
    rows, columns = np.concatenate([rows, rows[::-1]]), np.concatenate([columns, columns[::-1]])
    halves = np.tile(X.ravel() / 2, 2)
    halves[X.size :] = halves[X.size :][::-1]
    order = np.argsort(rows, kind="stable")
    starts = np.arange(len(X) + 1) * (2 * X.shape[1])
    parts = (halves[order], columns[order].astype(index), starts.astype(index))
    return sparse.csr_array(parts, shape=X.shape)


def read_only_csr(X: np.ndarray, *, sort: bool, index: Any) -> sparse.csr_array:
    """A sparse copy of X in arrays that refuse to be changed, each row backwards unless sorted."""
    rows, columns = np.nonzero(X)
    order = np.lexsort((columns if sort else -columns, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    parts = (X[rows, columns][order], columns[order].astype(index), starts.astype(index))
    for part in parts:
        part.flags.writeable = False
    return sparse.csr_array(parts, shape=X.shape, copy=False)
