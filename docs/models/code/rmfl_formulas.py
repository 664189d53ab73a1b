"""Statements of the page, checked by numbers."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [gradient]
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

rng = np.random.default_rng(0)
X, U = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
K, ratio = rbf_kernel(X, gamma=0.1), 0.5
H = np.eye(30) - 1 / 30
A = np.linalg.solve(H @ K @ H + ratio * np.eye(30), H @ U)
b = (U - K @ A).mean(axis=0)
residual = K @ A + b - U
print(f"with ratio K A   {np.abs(K @ residual + ratio * K @ A).max():.4f}")
print(f"with 2 ratio A   {np.abs(K @ residual + 2 * ratio * A).max():.4f}")

# [printed]
printed = K @ K + ratio * K - K @ np.ones((30, 30)) @ K / 30
A_printed = np.linalg.solve(printed, K @ H @ U)
print(f"eq. 16 and the symmetric form differ by {np.abs(A - A_printed).max():.4f}")
print(f"condition: eq. 16 {np.linalg.cond(printed):.0e}, ", end="")
print(f"symmetric {np.linalg.cond(H @ K @ H + ratio * np.eye(30)):.0e}")

# [drift]
from labelgap import RMFL
from labelgap.generators import make_low_rank

drawn = make_low_rank(100, 5, 8, random_state=0)
settings = {"lambda_1": 0.1, "lambda_2": 0.01, "tol": 0, "random_state": 0}
for ridge_v in (0.0, 1.0):
    sizes = []
    for max_iter in (10, 100, 1000):
        model = RMFL(8, ridge_v=ridge_v, max_iter=max_iter, **settings).fit(drawn.X, drawn.full)
        sizes.append(np.linalg.norm(model.label_factors_))
    print(f"ridge {ridge_v:g}: |V| after 10, 100, 1000 iterations", *np.round(sizes, 1))

# [vacuous]
from labelgap.kernels.coordinate_descent import row_sweeps

for n_labels in (8, 9, 12, 20, 40):
    V = rng.normal(size=(n_labels, 8))
    Z = rng.normal(size=(n_labels, 8))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    left = np.square(row_sweeps(V, Z, 3000).T @ V).sum() / np.square(V).sum()
    print(f"{n_labels:2} labels, 8 factors: {left:.4f} of |V|^2 is left")
