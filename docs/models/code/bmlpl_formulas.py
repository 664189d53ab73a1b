"""Claims of the derivation that need no data: each is computed, not quoted."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [logistic]
import numpy as np
from scipy import special

from labelgap.kernels.topics import surprise_rates

psi = np.linspace(-4, 4, 9)[:, None] + np.array([0.0, 0.5, 1.0])
probability = -np.expm1(-surprise_rates(psi, np.eye(3), np.ones(3)))
print(
    "largest difference to a logistic curve:", f"{abs(probability - special.expit(psi)).max():.9f}"
)

# [balance]
from scipy.optimize import brentq


def best_weight(r, p):
    """u with u = (r + m) p and m = u / (1 - exp(-u)): one positive on a topic of its own."""
    return np.exp(
        brentq(lambda t: np.exp(t) - p * (r + np.exp(t) / -np.expm1(-np.exp(t))), -40, 40)
    )


def learned_fraction(r, fraction):
    """What a topic with one label and no features predicts after learning at best weights."""

    def gradient(psi):
        p = special.expit(psi)
        count = best_weight(r, p) / -np.expm1(-best_weight(r, p))
        return fraction * (count - (count + r) * p) - (1 - fraction) * r * p

    return -np.expm1(-r * np.logaddexp(0, brentq(gradient, -30, 18)))


print("     r  predicted / actual fraction of positives, at shares of 0.01, 0.1, 0.3, 0.5")
for r in (0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
    ratios = (learned_fraction(r, fraction) / fraction for fraction in (0.01, 0.1, 0.3, 0.5))
    print(f"{r:6.1f} ", *(f"{ratio:.3f}" for ratio in ratios))

# [shape]
log_r = np.linspace(-6, 4, 401)
inverse_r = np.linspace(0.01, 50, 4001)


def log_rising(r, m):
    return special.gammaln(m + r) - special.gammaln(r)


for m in (0.2, 0.9, 1.5):
    bend = np.diff(log_rising(np.exp(log_r), m), 2)
    other = np.diff(log_rising(1 / inverse_r, m), 2)
    shape = "convex" if (bend > 0).all() else "concave" if (bend < 0).all() else "neither"
    print(f"m = {m}: {shape} in log r, {'convex' if (other > 0).all() else 'not convex'} in 1/r")
