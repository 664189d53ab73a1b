"""Three ways to the label directions Z: exact row steps, projected gradient, and pymanopt.

All start from the same directions and minimise tr(V'Z Z'V) over rows of length one, V being
random label factors of falling size. Noted is the value after growing numbers of passes, and the
time of each; a gradient step costs what a pass over the rows does.

    pip install pymanopt
    python benchmarks/rmfl_oblique.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from labelgap.kernels.oblique import row_sweeps
from result_rows import ResultRows

SHAPES = ((14, 14), (374, 20))
PASSES = (3, 30, 300)


def value(V: np.ndarray, Z: np.ndarray) -> float:
    return float(np.square(Z.T @ V).sum())


def projected_gradient(V: np.ndarray, Z: np.ndarray, n_steps: int) -> np.ndarray:
    """Steps of length 1 / largest eigenvalue of V V', each followed by scaling to length one."""
    step = 1 / np.linalg.eigvalsh(V.T @ V)[-1]
    for _ in range(n_steps):
        Z = Z - step * (V @ (V.T @ Z))
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return Z


def by_pymanopt(V: np.ndarray, Z: np.ndarray, n_steps: int) -> np.ndarray:
    """Conjugate gradient on the oblique manifold, which has columns of length one."""
    import pymanopt  # of this comparison alone

    manifold = pymanopt.manifolds.Oblique(Z.shape[1], Z.shape[0])

    @pymanopt.function.numpy(manifold)
    def cost(turned: np.ndarray) -> float:
        return value(V, turned.T)

    @pymanopt.function.numpy(manifold)
    def gradient(turned: np.ndarray) -> np.ndarray:
        return 2 * (turned @ V) @ V.T

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    optimizer = pymanopt.optimizers.ConjugateGradient(max_iterations=n_steps, verbosity=0)
    return optimizer.run(problem, initial_point=Z.T.copy()).point.T


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "exact row steps": row_sweeps,
    "projected gradient": projected_gradient,
    "pymanopt, conjugate gradient": by_pymanopt,
}


def main() -> None:
    rows = ResultRows("rmfl_oblique", ("method", "n_labels", "passes"))
    for n_labels, k in SHAPES:
        rng = np.random.default_rng(0)
        V = rng.standard_normal((n_labels, k)) * np.geomspace(1, 0.05, k)
        Z = rng.standard_normal((n_labels, k))
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        for method, minimise in METHODS.items():
            minimise(V, Z, 1)  # compilation, or its cache
            for passes in PASSES:
                key = {"method": method, "n_labels": n_labels, "passes": passes}
                if rows.find(**key):
                    continue
                start = time.perf_counter()
                found = minimise(V, Z, passes)
                seconds = time.perf_counter() - start
                share = value(V, found) / value(V, Z)
                row = {"experiment": "oblique", **key, "n_factors": k}
                rows.add({**row, "share_left": share, "seconds": seconds})


if __name__ == "__main__":
    main()
