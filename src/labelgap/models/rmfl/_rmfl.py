"""The RMFL estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy.special import expit
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import FactorMap, FitWarning, Monitor, Trace
from labelgap.kernels.coordinate_descent import row_sweeps
from labelgap.labels import Labels, LabelWarning
from labelgap.models.rmfl._rmfl_features import PreparedRows, draw_seed, prepare, working_rows
from labelgap.models.rmfl._rmfl_labels import (
    SignedLabels,
    best_cuts,
    check_labels,
    sigmoid_slope,
    signed_targets,
    starting_factors,
)
from labelgap.models.rmfl._rmfl_objective import (
    RMFLFactors,
    RMFLPenalties,
    RMFLProblem,
    held_out_scores,
    impute_rows,
)
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters

_KERNELS = {*PAIRWISE_KERNEL_FUNCTIONS, "precomputed", "auto"}
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
_POLISH = 100
ThresholdName = Literal["zero", "hamming", "f1"]


@with_parameters
class RMFL(LabelGapClassifier):
    """Regularised matrix factorisation for labels of which many are missing.

    The labels, +1 and -1, are the product of row factors U and label factors V at the observed
    entries; row factors follow those of neighbouring rows and a regression f on the features,
    label factors follow correlations between labels that are learned with them:

        1/2 ||R o (Y - U V')||^2 + lambda_1/2 ||U - S U||^2 + lambda_2/2 tr(V'Z Z'V)
          + lambda_3/2 ||U - f(X)||^2 + lambda_4/2 ||f||^2 + ridge_v/2 ||V||^2

    with the rows of Z of length one. New rows get the scores V f(x).

    Parameters
    ----------
    n_factors : int, default=20
        At most the number of labels is used: more do not change the least objective.
    lambda_1 : float, default=3.0
        How much row factors follow their reconstruction from neighbours. Less where these say
        little, as the nearest of short texts do.
    lambda_2 : float, default=1.0
        How much label factors follow the learned correlation.
    lambda_3 : float, default=10.0
        How much row factors follow the regression. Small values let them follow their own labels,
        which :meth:`impute` lives on; new rows have the regression alone.
    lambda_4 : float, default=1.0
        Ridge of the regression, of which lambda_4 / lambda_3 is what acts.
    ridge_v : float, default=10.0
        Ridge on the label factors. With 0 (the paper's objective) nothing keeps V from growing
        while U shrinks, and the result depends on the number of iterations.
    kernel : str or callable, default="rbf"
        Of scikit-learn. "linear" works on the features themselves when there
        are fewer of them than rows. "precomputed": X is a kernel matrix, rows x training rows.
        "auto": linear for more rows than features, otherwise "rbf", which is the cheaper choice.
    gamma : float, default=None
        Of the kernel. For "rbf" by default 1 / (2 width^2), the width being the mean distance
        of two training rows.
    kernel_params : mapping, default=None
        Further parameters of the kernel.
    map : regressor, default=None
        Any regressor of several outputs, from features to factors: it learns the row factors of a
        fit with the kernel, and f is then linear in what it says of rows that it did not learn from.
    approximation : {"nystroem", "random_features"}, default=None
        Replaces the kernel by ``n_components`` features, for many rows.
    n_components : int, default=1000
    n_neighbors : int, default=10
        Neighbours from which a row is rebuilt; at most all other rows.
    graph : {"exact", "approximate"} or sparse matrix (n_samples, n_samples), default="exact"
        How neighbours are found; or who they are. "approximate" needs the package pynndescent.
    lle_reg : float, default=1e-3
        Regularisation of the reconstruction, relative to the trace of the local Gram matrix.
    width : int, default=None
        Columns of Z; by default n_factors, as the paper writes.
    solver : {"cg", "exact"}, default="cg"
        Of the systems of U and V. "exact" is for small problems.
    n_cg : int, default=10
        Steps of conjugate gradient for each of them and iteration.
    tol : float, default=1e-5
        Stop when the objective falls by less than ``tol`` times its size; 0 to run ``max_iter``
        iterations on purpose.
    n_init : int, default=1
        Starts, of which the least objective is kept.
    init : {"labels", "random"} or (U, Z), default="labels"
        Singular vectors of the labels (further starts with noise), random factors as in the
        paper, or factors of the rows and directions of the labels.
    thresholds : {"zero", "hamming", "f1"}, default="zero"
        Where scores are cut: at zero as in the paper, or per label where decisions about the
        observed entries are best, by leave-one-out scores. Classes in a vector are cut at zero.
    device : str, default=None
        Device of torch ("cuda", "cpu") for the inverse of the kernel matrix and its products,
        which are the greater part of a fit to many rows.

    Attributes
    ----------
    row_factors_, label_factors_, label_directions_ : arrays
        U, V and Z.
    coef_, intercept_ : arrays
        Of f: on kernel values (``form_ == "dual"``) or features (``"primal"``).
    label_correlation_ : array of shape (n_labels, n_labels)
        -z_i . z_j, ones on the diagonal: Z Z' takes the place of a Laplacian D - C.
    thresholds_ : array of shape (n_labels,)
    slope_ : float
        Probabilities are sigmoid(slope * (score - threshold)).
    trace_ : Trace
        Objective (smaller is better) of every iteration, and how the fit ended.
    terms_ : RMFLTerms
        The parts of the last objective.
    approximation_error_ : float or None
        ``||K - F F'|| / ||K||`` in Frobenius' norm, among at most 1,000 random training rows.
    form_, gamma_, n_iter_

    Notes
    -----
    Memory: n_samples^2 numbers with a kernel, n_features^2 (or n_components^2) without, and a few
    times n_samples x n_labels. Unlabeled zeros count as zeros.

    References
    ----------
    L. Feng, J. Huang, S. Shu, B. An. "Regularized matrix factorization for multilabel learning
    with missing labels." IEEE Transactions on Cybernetics 52, 2022.

    See Also
    --------
    RMFLCV : Chooses the weights by cross-validation.
    labelgap.Mend : Any classifier, trained with imputed labels.

    Examples
    --------
    >>> from labelgap import RMFL
    >>> from labelgap.generators import make_low_rank
    >>> data = make_low_rank(100, 8, 6, random_state=0)
    >>> model = RMFL(n_factors=3, random_state=0).fit(data.X, data.labels)
    >>> model.predict_proba(data.X).shape
    (100, 6)
    """

    n_factors: int = parameter(20, AT_LEAST_ONE)
    _: KW_ONLY
    lambda_1: float = parameter(3.0, NOT_NEGATIVE)
    lambda_2: float = parameter(1.0, NOT_NEGATIVE)
    lambda_3: float = parameter(10.0, POSITIVE)
    lambda_4: float = parameter(1.0, POSITIVE)
    ridge_v: float = parameter(10.0, NOT_NEGATIVE)
    kernel: str | Callable = parameter("rbf", StrOptions(_KERNELS), callable)
    gamma: float | None = parameter(None, POSITIVE, None)
    kernel_params: Mapping[str, Any] | None = parameter(None, dict, None)
    map: Any = parameter(None, HasMethods(["fit", "predict"]), None)
    approximation: Literal["nystroem", "random_features"] | None = parameter(None)
    n_components: int = parameter(1000, AT_LEAST_ONE)
    n_neighbors: int = parameter(10, AT_LEAST_ONE)
    graph: Any = parameter("exact", StrOptions({"exact", "approximate"}), "sparse matrix")
    lle_reg: float = parameter(1e-3, POSITIVE)
    width: int | None = parameter(None, AT_LEAST_ONE, None)
    solver: Literal["cg", "exact"] = parameter("cg")
    n_cg: int = parameter(10, AT_LEAST_ONE)
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    n_init: int = parameter(1, AT_LEAST_ONE)
    init: Any = parameter("labels", StrOptions({"labels", "random"}), tuple, list)
    thresholds: ThresholdName = parameter("zero")
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        check_labels(labels, self.classes_)
        seed = draw_seed(self.random_state)
        rows, self._factor_map = working_rows(X), None
        prepared = prepare(self, rows, seed)
        # the classes of a vector compete with each other: one cut for all
        multilabel = self.target_.kind == "multilabel"
        thresholds = self.thresholds if multilabel else "zero"
        targets = signed_targets(labels)
        self._learn(prepared, targets, seed, "zero" if self.map is not None else thresholds)
        if self.map is not None:
            self._factor_map, left_out = FactorMap.learn(self.map, rows, self.row_factors_, seed)
            linear = prepared.of_features(left_out, self.device)
            self._learn(linear, targets, seed, thresholds)

    def _learn(
        self, prepared: PreparedRows, targets: SignedLabels, seed: int, thresholds: ThresholdName
    ) -> None:
        """FittedRegression to rows that were prepared before."""
        penalties = RMFLPenalties(
            self.lambda_1, self.lambda_2, self.lambda_3, self.lambda_4, self.ridge_v
        )
        regression = prepared.regression(self.lambda_4 / self.lambda_3)
        problem = RMFLProblem(
            targets, prepared.weights, regression, penalties, self.solver, self.n_cg
        )
        found, self.trace_ = self._best_fit(problem, seed)
        self.n_iter_ = self.trace_.n_iter
        self.terms_ = problem.terms(found)
        self.row_factors_, self.label_factors_ = found.U, found.V
        self.label_directions_ = found.Z
        if self.lambda_2 == 0:  # nothing depended on them so far
            self.label_directions_ = row_sweeps(found.V, found.Z, _POLISH)
        self.coef_ = found.fit.coef
        self.intercept_ = regression.intercept(found.U, found.fit.coef)
        self._fitted_values = found.U - found.fit.residual
        self._features, self._weights = prepared.features, prepared.weights
        self.form_, self.gamma_ = prepared.form, prepared.gamma
        self.approximation_error_ = prepared.approximation_error
        scores = held_out_scores(found, regression)
        self.thresholds_ = np.zeros(scores.shape[1])
        if thresholds != "zero":
            self.thresholds_ = best_cuts(scores, targets, thresholds)
        self.slope_ = sigmoid_slope(scores, targets, self.thresholds_)

    def _best_fit(self, problem: RMFLProblem, seed: int) -> tuple[RMFLFactors, Trace]:
        n_labels = problem.targets.signed.shape[1]
        n_factors = min(self.n_factors, n_labels)
        width = self.width or self.n_factors
        best: tuple[RMFLFactors, Trace] | None = None
        attempts = self.n_init if isinstance(self.init, str) else 1
        for attempt in range(attempts):
            U, Z = starting_factors(problem.targets, n_factors, width, self.init, seed, attempt)
            now = problem.begin(U, Z)
            monitor = Monitor(self.max_iter, self.tol, self.callback)
            while monitor.trace.n_iter < self.max_iter:
                now = problem.step(now)
                if monitor.record(problem.objective(now)):
                    break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FitWarning)
                trace = monitor.finish()
            if best is None or trace.objective[-1] < best[1].objective[-1]:
                best = now, trace
        assert best is not None
        self._warn_if_unfinished(best[1])
        return best

    def _warn_if_unfinished(self, trace: Trace) -> None:
        if trace.outcome == "out_of_iterations" and self.tol > 0:
            warnings.warn(
                f"RMFL is not converged after max_iter={self.max_iter} iterations: raise max_iter, "
                "raise tol, or set tol=0 to run a fixed number of iterations on purpose"
                + ("; with ridge_v=0 it may never converge" if self.ridge_v == 0 else ""),
                FitWarning,
                stacklevel=6,
            )

    # -- prediction ---------------------------------------------------------------------------

    def _decision_function(self, X: Any) -> np.ndarray:
        X = self._mapped(X)
        scores = np.empty((X.shape[0], len(self.label_factors_)))
        for part, mapped in self._features.blocks(X):
            scores[part] = self._score_mapped(mapped)
        return scores

    def _mapped(self, X: Any) -> Any:
        """Rows as f takes them: features, or what the regressor says of factors."""
        rows = working_rows(X)
        return rows if self._factor_map is None else self._factor_map(rows)

    def _score_mapped(self, mapped: Any) -> np.ndarray:
        return (mapped @ self.coef_ + self.intercept_) @ self.label_factors_.T

    def _predict_proba(self, X: Any) -> np.ndarray:
        return self._probabilities(self._decision_function(X))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.slope_ * (scores - self.thresholds_))

    def impute(self, Y: Any, X: Any = None) -> np.ndarray:
        """Return labels with scores in their gaps, which use what is known of the same row.

        The factors of the rows are found from their observed labels, the regression on their
        features, and, for the training rows, their neighbours.

        Parameters
        ----------
        Y : labels with gaps, as in :meth:`fit`
            Of the training rows in their order, or of the rows of ``X``.
        X : rows as in :meth:`fit`, default=None
            New rows; the training rows by default.

        Returns
        -------
        array of shape (n_samples, n_labels)
            1 and -1 where the label is known, the score U V' where it is not.
        """
        check_is_fitted(self)
        if X is None:
            fitted, coupling = self._fitted_values, (self._weights, self.lambda_1)
        else:
            fitted, coupling = self._regressed(self._validate_predict(X)), None
        n_samples = len(fitted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelWarning)  # nothing is learned: gaps are welcome
            targets = signed_targets(self.target_.read(Y, n_samples=n_samples, zeros=self._zeros))
        V = self.label_factors_
        if targets.signed.shape[1] != len(V):
            raise ValueError(f"Y has {targets.signed.shape[1]} labels, the model has {len(V)}")
        U = impute_rows(targets, V, fitted, self.lambda_3, coupling)
        return np.where(targets.signed != 0, targets.signed, U @ V.T)

    def _regressed(self, X: Any) -> np.ndarray:
        """f(x) of new rows."""
        X = self._mapped(X)
        factors = np.empty((X.shape[0], self.label_factors_.shape[1]))
        for part, mapped in self._features.blocks(X):
            factors[part] = mapped @ self.coef_ + self.intercept_
        return factors

    @property
    def label_correlation_(self) -> np.ndarray:
        check_is_fitted(self)
        cosines = self.label_directions_ @ self.label_directions_.T
        correlation = -(cosines + cosines.T) / 2
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed" and not callable(self.kernel)
        return tags
