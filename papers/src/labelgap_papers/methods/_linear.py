"""What baselines with one linear score per label have in common."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils._param_validation import StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.extras import require
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.products import Features, prepare_features
from labelgap.labels import Labels, LabelWarning, observed_prevalence
from labelgap.parameters import SharedParameter
from labelgap_papers.methods._iterative import Iterative


class LinearScores(Iterative, LabelGapClassifier):
    """Scores ``X coef_ + intercept_``, and one sigmoid that makes probabilities of them.

    A subclass writes ``_fit_map(X, Y, seen)`` for features in double precision and labels of shape
    (n_samples, n_seen) with NaN where an entry is unknown; every row and every label has an observed
    entry, and ``seen`` says which of all labels these are. It returns the coefficients and their
    intercepts.
    """

    _shared_parameters: ClassVar[dict[str, SharedParameter]] = {
        **LabelGapClassifier._shared_parameters,
        "fit_intercept": SharedParameter(
            "bool",
            "Whether labels have free intercepts. Without them the features should carry a constant.",
            ["boolean"],
        ),
        "unknown": SharedParameter(
            '{"negative", "mean"}',
            "What an unknown entry counts as; by default negative, with a warning.",
            [StrOptions({"negative", "mean"}), None],
        ),
        "restart": SharedParameter(
            "bool",
            "Whether momentum is dropped when the objective would increase; not in the paper.",
            ["boolean"],
        ),
    }

    def _fit(self, X: Any, labels: Labels) -> None:
        labelled = np.flatnonzero(labels.n_observed(axis=1, unlabeled=True))
        if not labelled.size:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        X, labels = as_double(X[labelled]), labels[labelled]
        seen = labels.n_observed(axis=0, unlabeled=True) > 0
        Y = labels.to_dense()[:, seen]
        self.coef_ = np.zeros((X.shape[1], labels.n_labels))
        self.intercept_ = self._unseen_scores(observed_prevalence(labels))
        self.coef_[:, seen], self.intercept_[seen] = self._fit_map(X, Y, seen)
        observed = ~np.isnan(Y)
        scores = self._scores(X)[:, seen]
        self.slope_, self.level_ = self._calibrate(scores[observed], Y[observed])

    def _unseen_scores(self, frequency: np.ndarray) -> np.ndarray:
        """Scores of labels without an observed entry, from the fraction of relevant entries."""
        return frequency

    def _calibrate(self, scores: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """Slope and level of the sigmoid."""
        return fit_sigmoid(scores, values)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError(f"{type(self).__name__} must implement _fit_map")

    def _scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_) + self.intercept_

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.slope_ * self._scores(as_double(X)) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


def as_double(X: Any) -> Any:
    """In double precision, and CSR where sparse."""
    X = X.astype(np.float64)
    return sparse.csr_array(X) if sparse.issparse(X) else X


def with_constant(X: Any) -> Any:
    """X and a last column of ones."""
    ones = np.ones((X.shape[0], 1))
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, sparse.csr_array(ones)]))
    return np.hstack([X, ones])


def placed(device: str | None, X: Any, *arrays: Any) -> tuple[Features, *tuple[Any, ...]]:
    """Features and arrays on a device of torch, where X becomes dense; as they are without one."""
    if device is None:
        return prepare_features(X), *arrays
    torch = require("torch", extra="gpu", purpose="device=")
    dense = X.toarray() if sparse.issparse(X) else X
    # torch warns of arrays that it could not write to, as those of a file that is mapped
    writable = (np.require(array, requirements="W") for array in (dense, *arrays))
    rows, *others = (torch.asarray(array, device=device) for array in writable)
    return prepare_features(rows), *others


def device_if_there(device: str | None) -> str | None:
    """The device, or None where torch or the device is missing."""
    if device is None:
        return None
    try:
        torch = require("torch", extra="gpu", purpose="device=")
        torch.ones(1, dtype=torch.float64, device=device)
    except (ImportError, RuntimeError, AssertionError, TypeError):
        return None
    return device


def solve_as_one(
    product: Callable[[Any], Any], right_side: Any, diagonal: Any, *, n_steps: int, tol: float
) -> Any:
    """The matrix x with product(x) = right_side, one system over all its entries."""
    shape = right_side.shape

    def flat(x: Any) -> Any:
        return product(x.reshape(shape)).reshape(-1, 1)

    columns = right_side.reshape(-1, 1), diagonal.reshape(-1, 1)
    return conjugate_gradient(flat, *columns, n_steps=n_steps, tol=tol).reshape(shape)


def fill_unknown(Y: np.ndarray, unknown: str | None, method: str) -> np.ndarray:
    """Labels without NaN, for a method that cannot leave entries out.

    Y : array of shape (n_samples, n_labels). Every label has an observed entry.
    unknown : {"negative", "mean"} or None. None is "negative" with a
        :class:`labelgap.LabelWarning`.
    method : str. Its name, for the warning.
    """
    gaps = np.isnan(Y)
    if not gaps.any():
        return Y
    if unknown is None:
        warnings.warn(
            f"{method} needs complete labels: the {int(gaps.sum())} unknown entries count as "
            "irrelevant. Say so by unknown='negative', or take unknown='mean' for the means of "
            "their labels",
            LabelWarning,
            stacklevel=5,
        )
    return np.where(gaps, np.nanmean(Y, axis=0) if unknown == "mean" else 0.0, Y)


def cosine_distances(Y: np.ndarray) -> np.ndarray:
    """1 - cos(y_i, y_j) of all pairs of columns; a column of zeros is at distance 1 of all others.

    Symmetric with a zero diagonal: no such matrix but zero itself is positive semi-definite.
    """
    lengths = np.linalg.norm(Y, axis=0)
    scaled = Y / np.where(lengths > 0, lengths, 1.0)
    distances = 1 - np.clip(scaled.T @ scaled, -1, 1)
    np.fill_diagonal(distances, 0.0)
    return distances
