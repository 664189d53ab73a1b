"""Claims of the derivation that need no data: each is computed, not quoted."""

# [kappa]
import numpy as np
from scipy import special


def log_likelihood(psi, m, r):
    """Of a negative binomial count, as a function of psi alone."""
    return m * psi - (m + r) * np.logaddexp(0, psi)


def bound(psi, m, r, kappa, at):
    """The quadratic under it, shifted to touch it at one place."""
    omega = (m + r) * np.tanh(at / 2) / (2 * at)
    parabola = kappa * psi - omega * psi**2 / 2
    return parabola - (kappa * at - omega * at**2 / 2) + log_likelihood(at, m, r)


psi = np.linspace(-6, 6, 1201)
for name, sign in (("derived, (m - r) / 2", -1), ("printed, (m + r) / 2", 1)):
    highest = max(
        (bound(psi, m, r, (m + sign * r) / 2, at) - log_likelihood(psi, m, r)).max()
        for m in (0, 3, 40)
        for r in (1.0, 5.0)
        for at in (-2.0, 0.5, 3.0)
    )
    print(f"{name}: the bound lies above the likelihood by at most {max(highest, 0):.6f}")

# [zero]
m, r = 0, 5.0
psi_0 = 0.1
for name, kappa in (("derived", (m - r) / 2), ("printed", (m + r) / 2)):
    value = psi_0
    for _ in range(200):  # EM on a single count of zero, with a weak prior
        omega = (m + r) * np.tanh(value / 2) / (2 * value)
        value = kappa / (omega + 0.01)
    print(f"{name}: a count of zero leads to a success probability of {special.expit(value):.4f}")
