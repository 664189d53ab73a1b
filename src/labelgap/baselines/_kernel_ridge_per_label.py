"""Kernel ridge regression of each label on the rows in which it is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import expit
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.extras import require
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.neighbors import mean_distance_gamma
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.labels import Labels, observed_prevalence
from labelgap.memory import block_size
from labelgap.one_vs_rest import same_rows
from labelgap.parameters import POSITIVE, parameter, with_parameters

_MOST_STEPS = 500
_TOLERANCE = 1e-4
_LABELS_HELD_OUT = 20
_FRACTION_HELD_OUT = 0.2


@with_parameters
class KernelRidgePerLabel(LabelGapClassifier):
    """Fit kernel ridge regression per label, each on the rows in which the label is known.

    For label j with known rows S_j and smoothed prevalence p_j (see :class:`LabelPrior`), the
    coefficients solve

        (K[S_j, S_j] + alpha I) c_j = y_j[S_j] - p_j,      f_j(x) = p_j + k(x, S_j) c_j.

    Labels that are known in the same rows share one Cholesky factor, so complete labels cost one
    factorisation for all. Probabilities are ``sigmoid(slope * f_j(x) + offset)``; the two numbers
    are the same for all labels, which keeps the order of the labels, and are fitted (after Platt)
    to the leave-one-out predictions at the observed entries, which ridge regression gives in
    closed form: f_-i(x_i) = y_i - c_i / [(K + alpha I)^-1]_ii, with p_j held fixed.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the ridge penalty.
    kernel : {"rbf", "linear"} or callable, default="rbf"
        A callable takes two rows and returns a number.
    gamma : float, default=None
        exp(-gamma * distance^2); by default 1 / (2 * width^2), the width being the mean distance
        between two different training rows. For ``kernel="rbf"`` only.
    solver : {"cholesky", "cg"}, default="cholesky"
        "cg" solves for all labels at once by conjugate gradient, to residuals of 1e-4: for many
        labels that are known in different rows, each of which would need a factor of its own.
        The sigmoid is then fitted to a fifth of the observed entries of at most 20 labels,
        predicted without them.
    device : str, default=None
        Device of torch ("cuda", "cpu") for the steps of "cg".

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        Zero where the label is unknown.
    prevalence_ : ndarray of shape (n_labels,)
        Smoothed prevalence of each label.
    gamma_ : float
        Only for ``kernel="rbf"``.
    slope_, offset_ : float
        Of the sigmoid.

    Notes
    -----
    The kernel matrix of the training rows takes n_samples^2 numbers of memory.

    See Also
    --------
    BinaryRelevance : any scikit-learn classifier per label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import KernelRidgePerLabel
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> Y = np.hstack([X > 1.5, X < 1.5]).astype(float)
    >>> Y[::5, 0] = np.nan
    >>> KernelRidgePerLabel().fit(X, Y).predict([[0.0], [3.0]])
    array([[0, 1],
           [1, 0]])
    """

    alpha: float = parameter(1.0, POSITIVE)
    _: KW_ONLY
    kernel: Any = parameter("rbf", StrOptions({"rbf", "linear"}), callable)
    gamma: float | None = parameter(None, POSITIVE, None)
    solver: Literal["cholesky", "cg"] = parameter("cholesky")
    device: str | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        if self.gamma is not None and self.kernel != "rbf":
            raise ValueError(f"gamma={self.gamma!r} is of use for kernel='rbf' only: leave it out")
        if self.device is not None and self.solver != "cg":
            raise ValueError(f"device={self.device!r} is of use for solver='cg' only: leave it out")
        self._rows = X.astype(np.float64)
        self.__dict__.pop("gamma_", None)
        if self.kernel == "rbf":
            self.gamma_ = mean_distance_gamma(self._rows) if self.gamma is None else self.gamma
        self.prevalence_ = observed_prevalence(labels)
        kernel = self._kernel_to_rows(self._rows)
        if self.solver == "cg":
            self._fit_all_labels(kernel, labels)
        else:
            self._fit_groups(kernel, labels)

    def _fit_groups(self, kernel: np.ndarray, labels: Labels) -> None:
        """One factor for the labels that are known in the same rows."""
        self.dual_coef_ = np.zeros(labels.shape)
        held_out, values = [], []
        known = np.flatnonzero(labels.n_observed(axis=0, unlabeled=True))
        if not known.size:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        for rows, group in same_rows(labels, known):
            target = np.column_stack([labels.column(label)[1] for label in group])
            residual = target - self.prevalence_[group]
            solution, left_out = _solve(kernel, rows, residual, self.alpha)
            where = slice(None) if rows is None else rows[:, None]
            self.dual_coef_[where, group] = solution
            held_out.append((left_out + self.prevalence_[group]).ravel())
            values.append(target.ravel())
        self.slope_, self.offset_ = fit_sigmoid(np.concatenate(held_out), np.concatenate(values))

    def _fit_all_labels(self, kernel: np.ndarray, labels: Labels) -> None:
        """Conjugate gradient on the systems of all labels, which have one kernel in common."""
        truth = labels.to_dense(unknown=np.nan, unlabeled=0.0)
        known = ~np.isnan(truth)
        residual = np.where(known, truth - self.prevalence_, 0.0)
        solve = partial(_solve_masked, alpha=self.alpha, device=self.device)
        self.dual_coef_ = solve(kernel, known, residual)
        rng = np.random.default_rng(0)
        some = np.sort(rng.permutation(labels.n_labels)[:_LABELS_HELD_OUT])
        left_out = known[:, some] & (rng.random((len(truth), some.size)) < _FRACTION_HELD_OUT)
        if not left_out.any():  # next to nothing is known
            left_out[:] = known[:, some]
        kept = known[:, some] & ~left_out
        coef = solve(kernel, kept, residual[:, some] * kept)
        scores = kernel @ coef + self.prevalence_[some]
        self.slope_, self.offset_ = fit_sigmoid(scores[left_out], truth[:, some][left_out])

    def _decision_function(self, X: Any) -> np.ndarray:
        X = X.astype(np.float64)
        scores = np.empty((X.shape[0], self.dual_coef_.shape[1]))
        for batch in self._batches(X.shape[0]):
            scores[batch] = self._kernel_to_rows(X[batch]) @ self.dual_coef_
        return self.slope_ * (scores + self.prevalence_) + self.offset_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def _kernel_to_rows(self, X: Any) -> np.ndarray:
        parameters = {"gamma": self.gamma_} if self.kernel == "rbf" else {}
        kernel = pairwise_kernels(X, self._rows, metric=self.kernel, **parameters)
        return kernel.toarray() if hasattr(kernel, "toarray") else kernel

    def _batches(self, n_samples: int) -> Iterator[slice]:
        return gen_batches(n_samples, block_size(self._rows.shape[0], fraction=1 / 8))


def _solve(
    kernel: np.ndarray, rows: np.ndarray | None, residual: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Dual coefficients, and what leave-one-out predicts of the residuals."""
    matrix = kernel.copy() if rows is None else kernel[np.ix_(rows, rows)]
    np.fill_diagonal(matrix, matrix.diagonal() + alpha)
    try:
        factor, lower = cho_factor(matrix, lower=True, overwrite_a=True)
    except LinAlgError as error:
        raise ValueError(
            f"alpha={alpha!r}: the kernel matrix is numerically singular; try a larger alpha"
        ) from error
    solution = cho_solve((factor, lower), residual)
    inverse, _ = dpotri(factor, lower=lower, overwrite_c=True)
    return solution, residual - solution / inverse.diagonal()[:, None]


def _solve_masked(
    kernel: Any, known: Any, residual: Any, alpha: float, device: str | None
) -> np.ndarray:
    """Coefficients of every label, zero where it is unknown."""
    diagonal = np.repeat((kernel.diagonal() + alpha)[:, None], residual.shape[1], axis=1)
    if device is not None:
        torch = require("torch", extra="gpu", purpose="device=")
        kernel, known, residual, diagonal = (
            torch.asarray(array, device=device) for array in (kernel, known, residual, diagonal)
        )

    def product(coef: Any) -> Any:
        image = kernel @ coef
        image += alpha * coef
        image *= known
        return image

    found = conjugate_gradient(product, residual, diagonal, n_steps=_MOST_STEPS, tol=_TOLERANCE)
    return found if device is None else found.cpu().numpy()
