"""What is learned, what is fixed, and the objective.

    J = sum_v ||O_v o (X_v - V U_v')||^2 + alpha ||M o (V W S + 1 b' - Y)||^2 + beta ||S||_*
        + ridge (||V||^2 + sum_v ||U_v||^2 + ||W||^2),        V, U_v >= 0

is minimised, for scaled views X_v and labels Y in {0, 1}. The paper [1]_ has no ridge and no
offset b. Without the ridge its nuclear norm does nothing: (c W, S / c) has the same loss and a
smaller penalty, and so has (c V, U / c, W / c), which is why W alone cannot carry the ridge.

S enters only through F = W S. Of all W and S with that product the cheapest follow from the
singular values d of F = A diag(d) B': W has the singular values w = (beta d / (2 ridge))^(1/3) and
S has d / w, at a cost of 3 ridge w^2 each. So the two penalties together are one on
sum_i d_i^(2/3), which favours low rank more than the nuclear norm does. W and S are fixed by F up
to a rotation W R, R' S; R = B is chosen, which makes S = B diag(d / w) B' symmetric and positive
semi-definite: label by label, as a correlation should be.

The factors of S are kept apart, S = basis @ T with orthonormal ``basis``, since more than k
dimensions of it cannot matter: only the part of S in the row space of W reaches the loss, and
dropping the rest does not increase the nuclear norm.

References
----------
.. [1] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
   learning. IJCAI, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from labelgap.kernels.low_rank import nuclear_norm, thin_svd
from labelgap.kernels.masked_targets import (
    MaskedTarget,
    loss_from_products,
    masked_cross,
    masked_loss,
    masked_product,
)
from labelgap.labels import Labels, State
from labelgap.memory import block_size
from labelgap.models.imvwl._scaled_views import ScaledView


class IMVWLParams(NamedTuple):
    """Everything that is learned.

    V : (n_samples, k), the shared subspace; U : (n_features, k), all views one below the other;
    W : (k, r); T : (r, n_labels) or None for S = I (then r = n_labels);
    basis : (n_labels, r) or None; offset : (n_labels,)
    """

    V: np.ndarray
    U: np.ndarray
    W: np.ndarray
    T: np.ndarray | None
    basis: np.ndarray | None
    offset: np.ndarray

    @property
    def F(self) -> np.ndarray:  # noqa: N802
        """W S, of shape (k, n_labels): the label scores are V F + b."""
        return self.W if self.T is None else self.W @ self.T

    @property
    def S(self) -> np.ndarray:  # noqa: N802
        """Of shape (n_labels, n_labels)."""
        n_labels = self.offset.size
        if self.T is None or self.basis is None:
            return np.eye(n_labels)
        return self.basis @ self.T


def label_correlation(params: IMVWLParams) -> np.ndarray:
    """Return S with ones on its diagonal, of shape (n_labels, n_labels); the identity for S = I.

    Computed as (F'F)^(1/3), which is S but for a constant where both penalties are at work, and a
    symmetric choice of S where they are not. A label that no score depends on has only itself.
    """
    n_labels = params.offset.size
    if params.T is None:
        return np.eye(n_labels)
    _, values, right = thin_svd(params.F)
    root = np.cbrt(values)[:, None] * right
    length = np.linalg.norm(root, axis=0)
    root = np.divide(root, length, out=np.zeros_like(root), where=length > 1e-12 * length.max())
    correlation = root.T @ root
    np.fill_diagonal(correlation, 1.0)
    return correlation


@dataclass(frozen=True)
class IMVWLProblem:
    """The data and the weights of the terms.

    ``labelled`` are the rows with an observed label, to which ``target`` belongs; ``target`` is
    None where labels play no part.
    """

    n_samples: int
    views: list[ScaledView]
    labelled: np.ndarray
    target: MaskedTarget | None
    alpha: float
    beta: float
    ridge: float
    with_offset: bool = False


class IMVWLLoss(NamedTuple):
    """The objective and its parts."""

    total: float
    views: np.ndarray
    labels: float


def view_loss(
    view: ScaledView, V: np.ndarray, U: np.ndarray, cross: np.ndarray | None = None
) -> float:
    """Return ||O o (X - V U')||^2 over what is observed; ``cross`` is X' V where it is at hand."""
    own = V[view.rows]
    U = U[view.columns]
    cross = view.transposed_times(own) if cross is None else cross
    loss = view.squares - 2 * np.vdot(cross, U) + np.vdot(own.T @ own, U.T @ U)
    return float(loss - _squared_at(view.missing, own, U))


def label_image(problem: IMVWLProblem, params: IMVWLParams) -> np.ndarray | None:
    """Return V' (M o (V W S)), of shape (k, n_labels), or None where labels play no part."""
    if problem.target is None:
        return None
    return masked_product(problem.target, params.V[problem.labelled], params.F)


def objective(
    problem: IMVWLProblem,
    params: IMVWLParams,
    crosses: list | None = None,
    image: np.ndarray | None = None,
) -> IMVWLLoss:
    """Return J; ``crosses`` holds X_v' V of every view and ``image`` the :func:`label_image` where they
    are at hand."""
    crosses = [None] * len(problem.views) if crosses is None else crosses
    pairs = zip(problem.views, crosses, strict=True)
    views = np.array([view_loss(view, params.V, params.U, cross) for view, cross in pairs])
    labels = 0.0
    total = views.sum() + problem.ridge * (_squares(params.V) + _squares(params.U))
    if problem.target is not None:
        rows = params.V[problem.labelled]
        labels = _label_loss(problem.target, rows, params.F, params.offset, image)
        total += problem.alpha * labels + problem.ridge * _squares(params.W)
        if params.T is not None:
            total += problem.beta * nuclear_norm(params.T)
    return IMVWLLoss(float(total), views, labels)


def _label_loss(target, rows, F, offset, image: np.ndarray | None) -> float:
    if image is None:
        return masked_loss(target, rows, F, offset)
    return loss_from_products(target, F, offset, masked_cross(target, rows, offset), image)


def _squares(values: np.ndarray) -> float:
    return float(np.vdot(values, values))


def _squared_at(missing: sparse.csr_array | None, V: np.ndarray, U: np.ndarray) -> float:
    """Sum of (v_i . u_j)^2 over the missing entries (i, j)."""
    if missing is None:
        return 0.0
    rows = np.repeat(np.arange(missing.shape[0]), np.diff(missing.indptr))
    total, step = 0.0, block_size(V.shape[1])
    for first in range(0, rows.size, step):
        part = slice(first, first + step)
        fitted = np.einsum("tk,tk->t", V[rows[part]], U[missing.indices[part]])
        total += float(np.vdot(fitted, fitted))
    return total


def masked_labels(labels: Labels) -> tuple[np.ndarray, MaskedTarget | None]:
    """Return the rows with an observed label, and their labels; unlabeled zeros count as zeros."""
    labelled = np.flatnonzero(labels.n_observed(axis=1, unlabeled=True))
    if not labelled.size:
        return labelled, None
    part = labels[labelled]
    ones = part.positives().astype(np.float64)
    complete = part.n_observed(unlabeled=True) == part.n_samples * part.n_labels
    mask = None if complete else part.states() != State.UNKNOWN
    return labelled, MaskedTarget(ones, mask)


def observed_log_odds(labels: Labels) -> np.ndarray:
    """Return log-odds of each label where it is observed, drawn a little towards those of all labels."""
    n_observed = labels.n_observed(axis=0, unlabeled=True)
    n_ones = labels.n_positives(axis=0)
    pooled = (n_ones.sum() + 0.5) / (n_observed.sum() + 1)
    fraction = (n_ones + pooled) / (n_observed + 1)
    return np.log(fraction / (1 - fraction))


def observed_pairs(target: MaskedTarget, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and labels (0 and 1) of all observed entries."""
    values = target.ones.toarray()
    if target.mask is None:
        return scores.ravel(), values.ravel()
    return scores[target.mask], values[target.mask]
