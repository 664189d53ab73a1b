"""Factors of labels with correlations learned for all rows and for groups of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from labelgap.kernels.array_namespace import array_like, array_namespace, check_shape, to_numpy
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.labels import Labels
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap_papers.methods import _glocal_steps as steps
from labelgap_papers.methods._glocal_steps import GLOCALPlace, GLOCALProblem, Weights
from labelgap_papers.methods._linear import LinearScores, as_double, placed, with_constant

_AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
_NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
_POSITIVE = [Interval(Real, 0, None, closed="neither")]


@with_parameters
class GLOCAL(LinearScores):
    """Multi-label learning with global and local label correlation [1]_.

    Labels of 1 and -1 are a product of row factors and label factors, V U', where they are
    observed; a linear map W predicts the row factors. Correlations Z_g Z_g' of labels are learned
    for each group of rows, and predictions of labels that occur together are drawn together, in
    the rows of the group and in all rows:

        min  1/2 ||M o (Y - V U')||^2 + lambda_0/2 ||V - X W||^2
             + lambda_3/2 ||V||^2 + lambda_4/2 ||U||^2 + lambda_5/2 ||W||^2
             + sum_g fraction_g lambda_2/2 ||X W U' Z_g||^2 + lambda_1/2 ||X_g W U' Z_g||^2,

    with rows of length one in every Z_g. M leaves out unknown labels. Scores are X W U'.

    Parameters
    ----------
    n_factors : int, default=None
        Columns of U, V and W; by default half the number of labels, at least 2.
    n_groups : int, default=5
        Groups of rows, by k-means on the features.
    width : int, default=None
        Columns of each Z_g; by default n_factors.
    lambda_0, lambda_1, lambda_2, lambda_3, lambda_4, lambda_5 : float
        Weights of the terms.
    rescale : bool, default=True
        Whether weights are multiplied by the number of observed entries and divided by the number
        of summands of their terms, as the authors' code does: n k, (n/n_groups)^2, n^2, n k, L k
        and d k for lambda_0 to lambda_5, with n rows, k factors, L labels and d features.
    groups : int array of shape (n_samples,), default=None
        The group of every row, counted from 0, instead of k-means.
    start_iter : int, default=15
        Iterations without the correlation terms before those with them.
    init : (V, U, Z), default=None
        Start, Z of shape (n_groups, n_labels, width); by default random normal numbers, as in the
        paper. W starts at zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_labels)
        W U', without the constant.
    intercept_ : ndarray of shape (n_labels,)
        The row of W U' that belongs to the constant, or zeros.
    row_factors_, label_factors_, feature_map_ : ndarrays
        V, U and W.
    label_directions_ : ndarray of shape (n_groups, n_labels, width)
        The Z_g.
    groups_ : ndarray of shape (n_samples,)
    weights_ : Weights
        The weights of the objective after rescaling.

    Notes
    -----
    Every step is the exact minimiser over V, U or W, or a sweep of exact minimisers over the rows
    of Z_g, so that the objective never increases. The authors' code makes steps along gradients
    instead, whose lengths come from other functions for U and W: with spectral norms, which are
    not what the gradients belong to.

    The systems for U and W are solved by conjugate gradient in coordinates in which little but the
    correlation of different labels, or the difference of groups, is off the diagonal. With more
    than about 2,000 features those of W are the features themselves, and a step takes far longer.

    Rows without any observed label take part in the correlation terms. Unlabeled zeros are
    irrelevant.

    References
    ----------
    .. [1] Y. Zhu, J. T. Kwok and Z.-H. Zhou. Multi-label learning with global and local label
       correlation. IEEE Transactions on Knowledge and Data Engineering 30, 2018.
    """

    n_factors: int | None = parameter(None, *_AT_LEAST_ONE, None)
    n_groups: int = parameter(5, AT_LEAST_ONE)
    _: KW_ONLY
    width: int | None = parameter(None, *_AT_LEAST_ONE, None)
    lambda_0: float = parameter(1.0, POSITIVE)
    lambda_1: float = parameter(1e-3, NOT_NEGATIVE)
    lambda_2: float = parameter(1e-3, NOT_NEGATIVE)
    lambda_3: float = parameter(0.01, NOT_NEGATIVE)
    lambda_4: float = parameter(0.01, POSITIVE)
    lambda_5: float = parameter(0.01, POSITIVE)
    rescale: bool = parameter(True)
    fit_intercept: bool = parameter(True)
    groups: Any = parameter(None, "array-like", None)
    start_iter: int = parameter(15, Interval(Integral, 0, None, closed="left"))
    max_iter: int = parameter(100)
    tol: float = parameter(1e-4)
    init: Any = parameter(None, tuple, list, None)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        Y = labels.to_dense()
        observed = ~np.isnan(Y)
        if not observed.any():
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        X = as_double(X)
        n_factors = self.n_factors or max(2, labels.n_labels // 2)
        problem, place = self._begin(X, np.where(observed, 2 * Y - 1, 0.0), observed, n_factors)
        self.weights_ = problem.weights
        place = GLOCALPlace(*map(to_numpy, self._descend(problem, place)))
        self.row_factors_, self.label_factors_, self.feature_map_, self.label_directions_ = place
        products = place.W @ place.U.T
        self.coef_ = products[: X.shape[1]]
        self.intercept_ = products[-1] if self.fit_intercept else np.zeros(labels.n_labels)
        scores = self._scores(X)
        self.slope_, self.level_ = fit_sigmoid(scores[observed], Y[observed])

    def _begin(
        self, X: Any, signed: np.ndarray, observed: np.ndarray, n_factors: int
    ) -> tuple[GLOCALProblem, GLOCALPlace]:
        rng = check_random_state(self.random_state)
        n, n_labels = signed.shape
        self.groups_ = self._grouped(X, rng)
        design = with_constant(X) if self.fit_intercept else X
        features, signed, observed, groups = placed(
            self.device, design, signed, observed, self.groups_
        )
        weights = Weights(*(getattr(self, f"lambda_{i}") for i in range(6)))
        n_groups = min(self.n_groups, n) if self.groups is None else int(self.groups_.max()) + 1
        problem = GLOCALProblem(features, signed, observed, groups, n_groups, weights)
        if self.rescale:
            problem = problem._replace(weights=steps.scaled(weights, problem, n_factors))
        problem = problem._replace(axes=steps.axes_of(problem))
        width = self.width or n_factors
        shapes = {"V": (n, n_factors), "U": (n_labels, n_factors), "Z": (n_groups, n_labels, width)}
        V, U, Z = self._start(shapes, rng)
        W = np.zeros((features.shape[1], n_factors))
        start = V, U, W, Z / np.linalg.norm(Z, axis=-1, keepdims=True)
        xp = array_namespace(problem.signed)
        return problem, GLOCALPlace(*(array_like(xp, part, problem.signed) for part in start))

    def _grouped(self, X: Any, rng: np.random.RandomState) -> np.ndarray:
        n = X.shape[0]
        if self.groups is not None:
            groups = np.asarray(self.groups)
            check_shape("groups", groups, (n,))
            if not np.issubdtype(groups.dtype, np.integer) or groups.min() < 0:
                raise ValueError("groups must be integers from 0, the group of every row")
            return groups.astype(np.intp)
        if self.n_groups == 1:
            return np.zeros(n, dtype=np.intp)
        means = KMeans(min(self.n_groups, n), n_init=5, random_state=rng)
        with warnings.catch_warnings():
            # fewer different rows than groups leave some groups empty, which does no harm
            warnings.simplefilter("ignore", ConvergenceWarning)
            return means.fit_predict(_short_indices(X)).astype(np.intp)

    def _start(
        self, shapes: dict[str, tuple[int, ...]], rng: np.random.RandomState
    ) -> list[np.ndarray]:
        if self.init is None:
            return [rng.standard_normal(shape) for shape in shapes.values()]
        if len(self.init) != len(shapes):
            raise ValueError(f"init has {len(self.init)} parts: give the three arrays (V, U, Z)")
        parts = [np.array(part, dtype=np.float64) for part in self.init]
        for (name, shape), part in zip(shapes.items(), parts, strict=True):
            check_shape(f"init {name}", part, shape)
            if not np.isfinite(part).all():
                raise ValueError(f"init {name} has values that are NaN or infinite")
        if not np.linalg.norm(parts[-1], axis=-1).all():
            raise ValueError("init Z has a row of zeros: its rows are directions")
        return parts

    def _descend(self, problem: GLOCALProblem, place: GLOCALPlace) -> GLOCALPlace:
        apart = problem._replace(weights=problem.weights._replace(local=0.0, total=0.0))
        for _ in range(self.start_iter):
            for step in (steps.label_step, steps.row_step, steps.feature_step):
                place = step(apart, place)
        monitor = self._monitor()
        for _ in range(self.max_iter):
            for step in (
                steps.direction_step,
                steps.row_step,
                steps.label_step,
                steps.feature_step,
            ):
                place = step(problem, place)
            if monitor.record(steps.objective(problem, place)):
                break
        self._keep_trace(monitor)
        return place


def _short_indices(X: Any) -> Any:
    """X with the indices k-means takes, where it is sparse."""
    if not sparse.issparse(X):
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_matrix(parts, shape=X.shape)
