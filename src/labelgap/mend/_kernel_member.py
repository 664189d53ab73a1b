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
from labelgap.mend._member import Member, Teaching, labels_to_choose_by

_ALPHAS = (0.1, 0.5, 2.0)
# times the usual gamma: the width is the mean distance between rows, and half of it
_GAMMAS = (1.0, 4.0)
_LANDMARKS_PAY = 10
_JITTER = 1e-8
_ALL = slice(None)
_MOST_LABELS = 2000
_ENTRIES_OF_SIGMOID = 1_000_000


class KernelMember(Member):
    """Kernel ridge regression with a Gaussian kernel on imputed labels.

    Width and penalty are chosen by the log-loss of the first fold. With more rows than the preset
    allows, some of them are the landmarks of the others (Nystroem).
    """

    name = "kernel"
    learns_from_imputed = True

    def reason_to_skip(self, teaching: Teaching) -> str:
        n_samples, n_labels = teaching.labels.shape
        most = _LANDMARKS_PAY * self.limits.kernel_rows
        if n_samples > most:
            return f"{n_samples:,} rows are more than {most:,}"
        if n_samples > self.limits.kernel_rows and n_labels > _MOST_LABELS:
            return f"{n_labels:,} labels of {n_samples:,} rows take too long"
        return ""

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        labels = teaching.labels
        self.scaler = Normalizer() if sparse.issparse(teaching.X) else StandardScaler()
        X = self.scaler.fit_transform(teaching.X)
        rng = np.random.default_rng(self.seed)
        chosen = np.sort(rng.permutation(X.shape[0])[: self.limits.kernel_rows])
        self.landmarks = X[chosen]
        self.prevalence = observed_prevalence(labels)
        self.solver, self.alpha = self._choose(X, chosen, teaching)
        self.gamma = self.solver.gamma
        scores = np.empty(labels.shape, dtype=np.float32)
        for fold in range(teaching.n_folds):
            scores[teaching.folds == fold] = self.solver.without(fold, self.alpha)
        some = rng.permutation(labels.n_samples)[: 1 + _ENTRIES_OF_SIGMOID // labels.n_labels]
        values = labels[some].to_dense(unknown=np.nan, unlabeled=0.0)
        known = ~np.isnan(values)
        self.slope, self.offset = fit_sigmoid(scores[some][known].astype(float), values[known])
        return expit(np.float32(self.slope) * scores + np.float32(self.offset))

    def refit(self, teaching: Teaching, seconds: float | None) -> None:
        self.coef = self.solver.coef(-1, self.alpha)
        del self.solver

    def _choose(self, X: Any, chosen: np.ndarray, teaching: Teaching) -> tuple[_Exact, float]:
        """Return the kernel and the penalty with the least log-loss of the first fold."""
        some = labels_to_choose_by(teaching.labels)
        truth = teaching.labels[teaching.folds == 0, some].to_dense(unknown=np.nan, unlabeled=0.0)
        known = ~np.isnan(truth)
        make = _Exact if chosen.size == X.shape[0] else _Landmarks
        usual = mean_distance_gamma(self.landmarks)
        best, least = None, np.inf
        for factor in _GAMMAS:
            solver = make(X, chosen, factor * usual, teaching, self.prevalence)
            if not known.any():
                return solver, _ALPHAS[0]
            for alpha in _ALPHAS:
                held = solver.without(0, alpha, some)
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

    def without(self, fold: int, alpha: float, labels: Any = _ALL) -> np.ndarray:
        """Return scores of some labels in the rows of the fold."""
        coef = self.coef(fold, alpha, labels)
        return self.cross[self.teaching.folds == fold] @ coef + self.prevalence[labels]

    def coef(self, fold: int, alpha: float, labels: Any = _ALL) -> np.ndarray:
        """Return the coefficients of the landmarks."""
        learned = np.flatnonzero(self.teaching.folds != fold)
        targets = self._targets(fold, labels)
        coef = np.zeros((len(self.cross), targets.shape[1]))
        matrix = self.cross[np.ix_(learned, learned)]
        coef[learned] = _solve_ridge(matrix, targets, alpha)
        return coef

    def _targets(self, fold: int, labels: Any) -> np.ndarray:
        return self.teaching.imputed_without(fold)[:, labels] - self.prevalence[labels]


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

    def coef(self, fold: int, alpha: float, labels: Any = _ALL) -> np.ndarray:
        gram = sum(part for k, part in enumerate(self.grams) if k != fold)
        image = self.Z[self.teaching.folds != fold].T @ self._targets(fold, labels)
        coef = _solve_ridge(np.asarray(gram), image, alpha)
        return solve_triangular(self.root, coef, lower=True, trans="T")


def _solve_ridge(matrix: np.ndarray, targets: np.ndarray, alpha: float) -> np.ndarray:
    """Return (A + alpha I)^-1 Y."""
    matrix[np.diag_indices_from(matrix)] += alpha
    return cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), targets)
