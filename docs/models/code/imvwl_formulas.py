"""Claims of the derivation that need no data: each is computed, not quoted."""

# [scale]
import numpy as np

rng = np.random.default_rng(0)
V, W = rng.random((30, 4)), rng.normal(size=(4, 6))
S = rng.normal(size=(6, 6))
U = rng.random((9, 4))
for c in (1, 10, 100):
    same = np.allclose((c * V) @ (U / c).T, V @ U.T)
    same &= np.allclose((c * V) @ W @ (S / c), V @ W @ S)
    norm = np.linalg.norm(S / c, "nuc")
    print(f"V times {c}: same fit {same}, same ||W||, ||S||_* = {norm:.3f}")

# [signs]
Y = (rng.random((30, 6)) < 0.4).astype(float)
for name, given in (("S of either sign", S), ("S without negative entries", np.abs(S))):
    w, losses = np.abs(W), []
    for _ in range(30):
        losses.append(np.square(V @ w @ given - Y).sum())
        w = w * (V.T @ Y @ given.T) / (V.T @ (V @ w @ given) @ given.T)
    rises = int((np.diff(losses) > 0).sum())
    print(f"{name}: the loss rises in {rises} of 29 printed updates of W, to {max(losses[1:]):.1f}")

# [balance]
beta, ridge = 0.3, 0.05
d = np.linalg.svd(W @ S, compute_uv=False)
w = np.cbrt(beta * d / (2 * ridge))
cost = ridge * (w**2).sum() + beta * (d / w).sum()
print(f"cheapest cost of the product W S: {cost:.4f}")
print("3 (beta^2 ridge / 4)^(1/3) times the sum of d^(2/3): ", end="")
print(f"{3 * np.cbrt(beta**2 * ridge / 4) * (d ** (2 / 3)).sum():.4f}")
