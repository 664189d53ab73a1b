"""RMFL: what is minimised, and the steps of which none increases it.

With R the observed entries, Y in {+1, -1}, S the reconstruction weights of the rows and f the
regression of the row factors on the features,

    1/2 |R o (Y - U V')|^2 + lambda_1/2 |U - S U|^2 + lambda_2/2 tr(V'Z Z'V)
      + lambda_3/2 |U - f(X)|^2 + lambda_4/2 |f|^2 + ridge/2 |V|^2,     rows of Z of length one.

This is eq. 8 of the paper and a ridge on V, without which nothing keeps V from growing while U
shrinks.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.kernels.oblique import row_sweeps
from labelgap.models.rmfl._regression import Fit, Regression
from labelgap.models.rmfl._systems import (
    LabelCoupling,
    RowCoupling,
    System,
    difference_matrix,
    solve,
)

_SWEEPS = 3
_MOST_STEPS = 1000
_LEAST_SHARE = 1e-4


class Targets(NamedTuple):
    """Labels as +1, -1 and 0 where unknown, and ones where they are known.

    ``observed`` is None when everything is known.
    """

    signed: np.ndarray
    observed: np.ndarray | None


class Penalties(NamedTuple):
    """The weights of the terms, in the order of the formula."""

    lambda_1: float
    lambda_2: float
    lambda_3: float
    lambda_4: float
    ridge_v: float


class Factors(NamedTuple):
    """The unknowns: rows U, labels V, label directions Z, and the regression of U."""

    U: np.ndarray
    V: np.ndarray
    Z: np.ndarray
    fit: Fit


class Terms(NamedTuple):
    """The six terms of the objective, weights included."""

    loss: float
    rows: float
    labels: float
    regression: float
    size: float
    ridge: float


class Problem:
    """Targets, weights and features of one fit, and the steps on them.

    Parameters
    ----------
    targets : Targets
    weights : csr_array of shape (n_rows, n_rows)
        Reconstruction weights S.
    regression : Regression
        For the ratio lambda_4 / lambda_3.
    penalties : Penalties
    solver : {"cg", "exact"}
    n_cg : int
        Steps of conjugate gradient for each side and iteration.
    """

    def __init__(
        self,
        targets: Targets,
        weights: Any,
        regression: Regression,
        penalties: Penalties,
        solver: Literal["cg", "exact"] = "cg",
        n_cg: int = 10,
    ) -> None:
        self.targets = targets
        self.regression = regression
        self.penalties = penalties
        self.solver = solver
        self.n_cg = n_cg
        self._difference = difference_matrix(weights)
        self._rows = RowCoupling(weights, penalties.lambda_1, penalties.lambda_3)

    def begin(self, U: np.ndarray, Z: np.ndarray) -> Factors:
        """All unknowns from a start of two of them."""
        V = np.zeros((Z.shape[0], U.shape[1]))
        start = Factors(U, V, Z, self.regression.fit(U))
        return start._replace(V=self._solve_labels(start))

    def step(self, now: Factors) -> Factors:
        """Every unknown once: U, V, Z, the regression, and the scale they share."""
        now = now._replace(U=self._solve_rows(now))
        now = now._replace(V=self._solve_labels(now))
        if self.penalties.lambda_2 > 0:
            now = now._replace(Z=row_sweeps(now.V, now.Z, _SWEEPS))
        now = now._replace(fit=self.regression.fit(now.U))
        return self._balance(now)

    def objective(self, now: Factors) -> float:
        return float(sum(self.terms(now)))

    def terms(self, now: Factors) -> Terms:
        """Each term of the objective."""
        penalties = self.penalties
        error = now.U @ now.V.T
        if self.targets.observed is not None:
            error *= self.targets.observed
        error -= self.targets.signed
        return Terms(
            _half_square(error),
            penalties.lambda_1 * _half_square(self._difference @ now.U),
            penalties.lambda_2 * _half_square(now.Z.T @ now.V),
            penalties.lambda_3 * _half_square(now.fit.residual),
            penalties.lambda_4 * float(np.trace(now.fit.gram)) / 2,
            penalties.ridge_v * _half_square(now.V),
        )

    # -- steps ------------------------------------------------------------------------------------

    def _solve_rows(self, now: Factors) -> np.ndarray:
        fitted = now.U - now.fit.residual
        right_side = self.targets.signed @ now.V + self.penalties.lambda_3 * fitted
        system = System(now.V, self.targets.observed, self._rows, right_side)
        return solve(system, now.U, self.solver, self.n_cg)

    def _solve_labels(self, now: Factors) -> np.ndarray:
        observed = self.targets.observed
        coupling = LabelCoupling(now.Z, self.penalties.lambda_2, self.penalties.ridge_v)
        right_side = self.targets.signed.T @ now.U
        system = System(now.U, None if observed is None else observed.T, coupling, right_side)
        return solve(system, now.V, self.solver, self.n_cg)

    def _balance(self, now: Factors) -> Factors:
        """Move size between the two sides, which leaves U V' and every prediction as they are.

        (U, V) and (U G^-T, V G) differ in the penalties only, tr(G^-1 Q G^-T) + tr(G'P G) with the
        matrices Q and P below. Both depend on M = G G' alone, and M P M = Q at the minimum. By
        alternation alone it takes hundreds of iterations to get there.
        """
        penalties = self.penalties
        if penalties.ridge_v == 0:
            return now  # nothing but the number of iterations holds V back
        difference, residual = self._difference @ now.U, now.fit.residual
        Q = penalties.lambda_1 * difference.T @ difference + penalties.lambda_4 * now.fit.gram
        Q += penalties.lambda_3 * residual.T @ residual
        projected = now.Z.T @ now.V
        P = penalties.lambda_2 * projected.T @ projected + penalties.ridge_v * now.V.T @ now.V
        G = balancing_transform(Q, P, now.V.T @ now.V)
        if G is None:
            return now
        inverse = np.linalg.inv(G).T
        return Factors(now.U @ inverse, now.V @ G, now.Z, now.fit.turned(inverse))


def complete_rows(
    targets: Targets,
    V: np.ndarray,
    fitted: np.ndarray,
    lambda_3: float,
    neighbors: tuple[Any, float] | None = None,
) -> np.ndarray:
    """Row factors from observed labels and fitted values, all else being fixed.

    ``neighbors`` are reconstruction weights and lambda_1; without them every row is by itself.
    """
    nobody = sparse.csr_array((len(fitted), len(fitted)))
    weights, lambda_1 = (nobody, 0.0) if neighbors is None else neighbors
    coupling = RowCoupling(weights, lambda_1, lambda_3)
    system = System(V, targets.observed, coupling, targets.signed @ V + lambda_3 * fitted)
    return solve(system, fitted, "exact" if coupling.separable else "cg", _MOST_STEPS, 1e-10)


def balancing_transform(Q: np.ndarray, P: np.ndarray, gram: np.ndarray) -> np.ndarray | None:
    """G that minimises tr(G^-1 Q G^-T) + tr(G'P G), with G'(gram)G diagonal; None if no gain.

    Directions that only one of the two penalises (a constant column of U costs nothing) have no
    minimum: both matrices get a small multiple of the identity.
    """
    k = len(Q)
    sizes = np.trace(Q) / k, np.trace(P) / k
    if min(sizes) <= 0:
        return None
    smooth_Q, smooth_P = (
        matrix + _LEAST_SHARE * size * np.eye(k) for matrix, size in zip((Q, P), sizes, strict=True)
    )
    root = _power(smooth_P, 0.5)
    inverse_root = _power(smooth_P, -0.5)
    M = inverse_root @ _power(root @ smooth_Q @ root, 0.5) @ inverse_root
    half = _power(M, 0.5)
    G = half @ np.linalg.eigh(half @ gram @ half)[1]
    inverse = np.linalg.inv(G)
    after = np.trace(inverse @ Q @ inverse.T) + np.trace(G.T @ P @ G)
    return G if after < np.trace(Q) + np.trace(P) else None


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, Q = np.linalg.eigh((matrix + matrix.T) / 2)
    return (Q * np.maximum(values, 1e-300) ** exponent) @ Q.T


def _half_square(matrix: np.ndarray) -> float:
    return 0.5 * float(np.vdot(matrix, matrix))
