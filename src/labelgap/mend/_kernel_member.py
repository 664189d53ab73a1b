"""Kernel ridge regression of all labels with one factorisation for each fold that is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import Normalizer, StandardScaler

from labelgap.kernels.logistic import mean_log_loss
from labelgap.kernels.neighbors import mean_distance_gamma
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.labels import observed_prevalence
from labelgap.memory import block_size
from labelgap.mend._member import Member, Teaching

__all__ = ["KernelMember"]

_ALPHAS = (0.1, 0.5, 2.0)
# times the usual gamma: the width is the mean distance between rows, and half of it
_GAMMAS = (1.0, 4.0)
_LANDMARKS_PAY = 10
_JITTER = 1e-8


class KernelMember(Member):
    """Kernel ridge regression with a Gaussian kernel on imputed labels.

    Width and penalty are chosen by the log-loss of the first fold. With more rows than the preset
    allows, some of them are the landmarks of the others (Nystroem).
    """

    name = "kernel"
    learns_from_imputed = True

    def reason_to_skip(self, teaching: Teaching) -> str:
        n_samples, most = teaching.labels.n_samples, _LANDMARKS_PAY * self.limits.kernel_rows
        return f"{n_samples:,} rows are more than {most:,}" if n_samples > most else ""

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        labels = teaching.labels
        self.scaler = Normalizer() if sparse.issparse(teaching.X) else StandardScaler()
        X = self.scaler.fit_transform(teaching.X)
        rng = np.random.default_rng(self.seed)
        chosen = np.sort(rng.permutation(X.shape[0])[: self.limits.kernel_rows])
        self.landmarks = X[chosen]
        self.prevalence = observed_prevalence(labels)
        solver, alpha = self._choose(X, chosen, teaching)
        self.gamma = solver.gamma
        scores = np.empty(labels.shape, dtype=np.float32)
        for fold in range(teaching.n_folds):
            _, scores[teaching.folds == fold] = solver.without(fold, alpha)
        self.coef, _ = solver.without(-1, alpha)
        values = labels.to_dense(unknown=np.nan, unlabeled=0.0)
        known = ~np.isnan(values)
        self.slope, self.offset = fit_sigmoid(scores[known], values[known])
        return expit(self.slope * scores + self.offset)

    def _choose(self, X: Any, chosen: np.ndarray, teaching: Teaching) -> tuple[_Exact, float]:
        """Return the kernel and the penalty with the least log-loss of the first fold."""
        truth = teaching.labels[teaching.folds == 0].to_dense(unknown=np.nan, unlabeled=0.0)
        known = ~np.isnan(truth)
        make = _Exact if chosen.size == X.shape[0] else _Landmarks
        usual = mean_distance_gamma(self.landmarks)
        best, least = None, np.inf
        for factor in _GAMMAS:
            solver = make(X, chosen, factor * usual, teaching, self.prevalence)
            if not known.any():
                return solver, _ALPHAS[0]
            for alpha in _ALPHAS:
                _, held = solver.without(0, alpha)
                slope, offset = fit_sigmoid(held[known], truth[known])
                loss = mean_log_loss(expit(slope * held + offset), truth)
                if best is None or loss < least:
                    best, least = (solver, alpha), loss
        assert best is not None
        return best

    def predict(self, X: Any) -> np.ndarray:
        X = self.scaler.transform(X)
        found = np.empty((X.shape[0], self.coef.shape[1]))
        step = block_size(self.landmarks.shape[0] + self.coef.shape[1])
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            cross = rbf_kernel(X[rows], self.landmarks, gamma=self.gamma)
            found[rows] = cross @ self.coef + self.prevalence
        return expit(self.slope * found + self.offset)


class _Exact:
    """Kernel ridge regressions without one fold of the rows, or with all where it is -1."""

    def __init__(
        self, X: Any, chosen: np.ndarray, gamma: float, teaching: Teaching, prevalence: np.ndarray
    ) -> None:
        self.gamma, self.teaching, self.prevalence = gamma, teaching, prevalence
        self.cross = rbf_kernel(X, X[chosen], gamma=gamma)

    def without(self, fold: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients of the landmarks, and scores of the rows of the fold."""
        coef = self._coef(fold, alpha)
        return coef, self.cross[self.teaching.folds == fold] @ coef + self.prevalence

    def _coef(self, fold: int, alpha: float) -> np.ndarray:
        learned = np.flatnonzero(self.teaching.folds != fold)
        coef = np.zeros((len(self.cross), self.prevalence.size))
        matrix = self.cross[np.ix_(learned, learned)]
        coef[learned] = _solve_ridge(matrix, self._targets(fold), alpha)
        return coef

    def _targets(self, fold: int) -> np.ndarray:
        return self.teaching.imputed_without(fold) - self.prevalence


class _Landmarks(_Exact):
    """The same with some of the rows as landmarks: min |Y - C b|^2 + alpha b' K b.

    With K = L L' and Z = C L^-T, b = L^-T (Z'Z + alpha I)^-1 Z'Y; Z'Z without a fold is that of all
    rows minus that of the fold.
    """

    def __init__(
        self, X: Any, chosen: np.ndarray, gamma: float, teaching: Teaching, prevalence: np.ndarray
    ) -> None:
        super().__init__(X, chosen, gamma, teaching, prevalence)
        kernel = self.cross[chosen]
        kernel[np.diag_indices_from(kernel)] += _JITTER
        self.root = cholesky(kernel, lower=True)
        self.Z = solve_triangular(self.root, self.cross.T, lower=True).T
        folds = teaching.folds
        parts = [self.Z[folds == fold] for fold in range(teaching.n_folds)]
        self.grams = [part.T @ part for part in parts]

    def _coef(self, fold: int, alpha: float) -> np.ndarray:
        gram = sum(part for k, part in enumerate(self.grams) if k != fold)
        image = self.Z[self.teaching.folds != fold].T @ self._targets(fold)
        coef = _solve_ridge(np.asarray(gram), image, alpha)
        return solve_triangular(self.root, coef, lower=True, trans="T")


def _solve_ridge(matrix: np.ndarray, targets: np.ndarray, alpha: float) -> np.ndarray:
    """Return (A + alpha I)^-1 Y."""
    matrix[np.diag_indices_from(matrix)] += alpha
    return cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), targets)
