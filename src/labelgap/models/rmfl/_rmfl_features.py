"""What depends on the features alone: kernel, graph and reconstruction weights, once per fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_random_state

from labelgap.extras import require
from labelgap.kernels.neighbors import (
    APPROXIMATE_PACKAGE,
    given_graph,
    mean_distance_gamma,
    nearest_rows,
    reconstruction_weights,
)
from labelgap.memory import block_size
from labelgap.models.rmfl._kernel_regression import (
    Kernel,
    Regression,
    dual_regressions,
    kernel_matrix,
    primal_regressions,
)

if TYPE_CHECKING:
    from labelgap.models.rmfl._rmfl import RMFL

_ERROR_ROWS = 1000


@dataclass(frozen=True)
class FeatureMap:
    """What predictions are linear in: kernel values to the training rows, or features.

    kernel : Kernel or None. None when the features themselves are used, or an approximation of the
        kernel.
    rows : array or None. Training rows, for a kernel that was not precomputed.
    approximation : fitted transformer or None
    width : int
    """

    kernel: Kernel | None
    rows: Any
    approximation: Any
    width: int

    def __call__(self, X: Any) -> Any:
        if self.approximation is not None:
            return self.approximation.transform(X)
        if self.kernel is None or self.kernel.name == "precomputed":
            return X
        return self.kernel.between(X, self.rows)

    def blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Return blocks of rows, mapped one after the other."""
        for part in gen_batches(X.shape[0], block_size(self.width, fraction=1 / 8)):
            yield part, self(X[part])


@dataclass
class PreparedRows:
    """The training rows, ready for any lambda.

    features : FeatureMap
    weights : csr_array of shape (n_samples, n_samples). Reconstruction weights S.
    gamma : float or None
    form : {"dual", "primal"}
    approximation_error : float or None
    regression : callable. The regression for a ratio lambda_4 / lambda_3. Unless prepared for many
        ratios it may be called once: the matrix is inverted in place.
    """

    features: FeatureMap
    weights: sparse.csr_array
    gamma: float | None
    form: str
    approximation_error: float | None
    regression: Callable[[float], Regression]

    def of_features(self, features: np.ndarray, device: str | None) -> PreparedRows:
        """The same rows and neighbours with other features, in which the regression is linear."""
        plain = FeatureMap(None, None, None, features.shape[1])
        regression = primal_regressions(features, False, device)
        return PreparedRows(plain, self.weights, None, "primal", None, regression)


def prepare(model: RMFL, X: Any, seed: int, *, many_ratios: bool = False) -> PreparedRows:
    """Return kernel, graph and weights of the training rows.

    With ``many_ratios`` the kernel is decomposed into eigenvectors, which serves every
    lambda_4 / lambda_3; otherwise it is factored for one.
    """
    kernel, gamma = choose_kernel(model, X)
    precomputed = kernel.name == "precomputed"
    error = None
    if model.approximation is not None:
        mapping = _approximation(model, kernel, X, seed)
        design = mapping.fit_transform(X)
        error = _kernel_error(kernel, X, design, seed)
        features = FeatureMap(None, None, mapping, design.shape[1])
        form, regression = "primal", primal_regressions(design, many_ratios, model.device)
    elif kernel.name == "linear" and X.shape[1] < X.shape[0]:
        features = FeatureMap(None, None, None, X.shape[1])
        form, regression = "primal", primal_regressions(X, many_ratios, model.device)
    else:
        K = kernel_matrix(kernel, X)
        features = FeatureMap(kernel, None if precomputed else X, None, len(K))
        form, regression = "dual", dual_regressions(K, many_ratios, model.device)
    weights = _weights(model, X, precomputed, seed)
    return PreparedRows(features, weights, gamma, form, error, regression)


def choose_kernel(model: RMFL, X: Any) -> tuple[Kernel, float | None]:
    """Return the kernel with its width, and that width if it is a Gaussian."""
    name = model.kernel
    if name == "auto":
        name = "linear" if X.shape[1] < X.shape[0] else "rbf"
    params = dict(model.kernel_params or {})
    if model.gamma is not None:
        if "gamma" in params:
            raise ValueError("gamma is given twice: as gamma and in kernel_params")
        if name in ("linear", "cosine", "precomputed") or callable(name):
            raise ValueError(f"gamma={model.gamma!r} is of no use for kernel={name!r}")
        params["gamma"] = model.gamma
    if name != "rbf":
        return Kernel(name, params), None
    gamma = params.setdefault("gamma", None)
    if gamma is None:
        params["gamma"] = mean_distance_gamma(X)
    return Kernel(name, params), float(params["gamma"])


def _weights(model: RMFL, X: Any, precomputed: bool, seed: int) -> sparse.csr_array:
    n_samples = X.shape[0]
    if sparse.issparse(model.graph):
        graph = given_graph(model.graph, n_samples)
    elif model.graph == "approximate":
        require(APPROXIMATE_PACKAGE, extra="neighbors", purpose="graph='approximate'")
        graph = nearest_rows(X, model.n_neighbors, method="approximate", random_state=seed)
    elif precomputed:
        norms = X.diagonal()
        squared = np.maximum(norms[:, None] + norms - 2 * X, 0)
        np.fill_diagonal(squared, 0)
        graph = nearest_rows(np.sqrt(squared), model.n_neighbors, metric="precomputed")
    else:
        graph = nearest_rows(X, model.n_neighbors)
    return reconstruction_weights(X, graph, reg=model.lle_reg, kernel=precomputed)


def _approximation(model: RMFL, kernel: Kernel, X: Any, seed: int) -> Any:
    if kernel.name == "precomputed":
        raise ValueError(
            f"approximation={model.approximation!r}: the kernel is precomputed, there is nothing "
            "to approximate; leave it out, or give features and a named kernel"
        )
    if model.approximation == "nystroem":
        params = {} if callable(kernel.name) else dict(kernel.params)
        extra = dict(kernel.params) if callable(kernel.name) else None
        known = {name: params.pop(name) for name in ("gamma", "coef0", "degree") if name in params}
        return Nystroem(
            kernel.name,
            **known,
            kernel_params=extra or params or None,
            n_components=min(model.n_components, X.shape[0]),
            random_state=seed,
        )
    if kernel.name != "rbf":
        raise ValueError(
            "approximation='random_features' is for kernel='rbf': use 'nystroem' for "
            f"kernel={kernel.name!r}"
        )
    return RBFSampler(
        gamma=kernel.params["gamma"], n_components=model.n_components, random_state=seed
    )


def _kernel_error(kernel: Kernel, X: Any, design: np.ndarray, seed: int) -> float:
    """|K - F F'| / |K| in Frobenius' norm, among at most 1,000 random rows."""
    n = X.shape[0]
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:_ERROR_ROWS])
    K = kernel.between(X[rows], X[rows])
    return float(np.linalg.norm(K - design[rows] @ design[rows].T) / np.linalg.norm(K))


def draw_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


def working_rows(X: Any) -> Any:
    """Return X in double precision, which inverses of kernel matrices need."""
    return X.astype(np.float64)
