"""Labels as RMFL takes them: signed entries, the factors to start from, and cuts of scores."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import svds

from labelgap.labels import Labels, LabelWarning

_STEEPEST = 100.0


class SignedLabels(NamedTuple):
    """Labels as +1, -1 and 0 where unknown, and ones where they are known.

    ``observed`` is None when everything is known.
    """

    signed: np.ndarray
    observed: np.ndarray | None


def signed_targets(labels: Labels) -> SignedLabels:
    """Return +1, -1 and 0 for unknown, and the mask unless everything is known."""
    known = labels.to_dense(unknown=0.5, unlabeled=0.0)
    known *= 2
    known -= 1
    observed = (known != 0).astype(np.float64) if labels.has_unknown else None
    return SignedLabels(known, observed)


def check_labels(labels: Labels, classes: Any) -> None:
    """Raise when nothing is observed; say what follows for rows and labels without an entry."""
    per_label = labels.n_observed(axis=0, unlabeled=True)
    if not per_label.any():
        raise ValueError("y has no observed entry: there is nothing to learn from")
    rows = np.flatnonzero(labels.n_observed(axis=1, unlabeled=True) == 0)
    if rows.size:
        _warn(
            f"row {rows[0]}" + _others(rows.size),
            "no observed label: such a row teaches nothing about the labels; its factors follow "
            "from its neighbours (lambda_1) and its features (lambda_3)",
        )
    empty = np.flatnonzero(per_label == 0)
    if empty.size:
        _warn(
            f"label {np.asarray(classes).tolist()[empty[0]]!r}" + _others(empty.size),
            "no observed entry: only the learned correlation with other labels (lambda_2) moves "
            "the scores of such a label from zero",
        )


def _others(count: int) -> str:
    return f" and {count - 1} others have" if count > 1 else " has"


def _warn(what: str, follows: str) -> None:
    warnings.warn(f"{what} {follows}", LabelWarning, stacklevel=6)


def check_start(init: Any, U_shape: tuple[int, int], n_labels: int) -> tuple:
    """Return a pair (U, Z) of the user, Z with rows of length one."""
    try:
        U, Z = (np.array(part, dtype=np.float64) for part in init)
    except (TypeError, ValueError) as error:
        raise ValueError("init: use 'labels', 'random' or a pair of arrays (U, Z)") from error
    if U.shape != U_shape:
        raise ValueError(f"init U has the shape {U.shape}: rows x factors are {U_shape}")
    if Z.ndim != 2 or len(Z) != n_labels:
        raise ValueError(f"init Z has the shape {Z.shape}: it needs {n_labels} rows, one per label")
    for name, part in (("U", U), ("Z", Z)):
        if not np.isfinite(part).all():
            raise ValueError(f"init {name} has values that are NaN or infinite")
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    if (lengths == 0).any():
        raise ValueError(f"init Z has a row of zeros, row {int(lengths.argmin())}")
    return U, Z / lengths


def starting_factors(
    targets: SignedLabels, n_factors: int, width: int, init: Any, seed: int, attempt: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return U and Z before the first step.

    ``init="labels"`` takes U from the singular vectors of the labels, unknown entries filled with
    the mean of their label; from the second attempt on with noise as large as they are.
    ``init="random"`` draws U, as the paper does. Z is random in both.
    """
    n_samples, n_labels = targets.signed.shape
    if not isinstance(init, str):
        return check_start(init, (n_samples, n_factors), n_labels)
    rng = np.random.default_rng([seed, attempt])
    Z = rng.standard_normal((n_labels, width))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    U = rng.standard_normal((n_samples, n_factors))
    if init == "random":
        return U, Z
    leading = _label_factors(targets, n_factors)
    if attempt == 0:
        return leading, Z
    return leading + U * np.sqrt((leading**2).mean(axis=0)), Z


def _label_factors(targets: SignedLabels, n_factors: int) -> np.ndarray:
    filled = targets.signed
    if targets.observed is not None:
        counts = targets.observed.sum(axis=0)
        means = targets.signed.sum(axis=0) / np.maximum(counts, 1)
        filled = targets.signed + (1 - targets.observed) * means
    n_samples, n_labels = filled.shape
    if n_labels > 1000 and n_factors < n_labels // 4:
        v0 = np.ones(min(filled.shape))
        vectors, values, _ = svds(filled, k=n_factors, v0=v0)
        return vectors[:, ::-1] * values[::-1]
    vectors, values, _ = np.linalg.svd(filled, full_matrices=False)
    found = vectors[:, :n_factors] * values[:n_factors]
    missing = n_factors - found.shape[1]
    return np.hstack([found, np.zeros((n_samples, missing))]) if missing > 0 else found


def best_cuts(
    scores: np.ndarray, targets: SignedLabels, criterion: Literal["hamming", "f1"]
) -> np.ndarray:
    """Return the cut of each label that suits its observed entries best, nearest to zero among equals.

    scores : array of shape (n_samples, n_labels)
    targets : SignedLabels
    criterion : {"hamming", "f1"}. Fewest wrong entries, or largest F1. A label without a positive
        is never cut by F1, and a label without an observed entry is cut at zero.
    """
    cuts = np.zeros(scores.shape[1])
    for label, signed in enumerate(targets.signed.T):
        known = signed != 0
        if known.any():
            cuts[label] = _best_cut(scores[known, label], signed[known] > 0, criterion)
    return cuts


def _best_cut(scores: np.ndarray, relevant: np.ndarray, criterion: str) -> float:
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.concatenate([[0], np.cumsum(relevant[order])])
    taken = np.arange(len(scores) + 1)
    gain = 2 * hits - taken if criterion == "hamming" else 2 * hits / (taken + hits[-1]).clip(1)
    if criterion == "f1" and hits[-1] == 0:
        gain = -taken
    margin = max(1.0, float(np.abs(ranked).max()))
    ends = np.concatenate([[ranked[0] + margin], ranked, [ranked[-1] - margin]])
    # equal scores are taken together
    possible = ends[:-1] > ends[1:]
    cuts = (ends[:-1] + ends[1:]) / 2
    best = np.flatnonzero(possible & (gain >= gain[possible].max() - 1e-12))
    inside = (ends[best] > 0) & (ends[best + 1] <= 0)
    return 0.0 if inside.any() else float(cuts[best[np.argmin(np.abs(cuts[best]))]])


def sigmoid_slope(scores: np.ndarray, targets: SignedLabels, cuts: np.ndarray) -> float:
    """Return the slope of sigmoid(slope * (score - cut)) with the least log-loss at observed entries."""
    known = targets.signed != 0
    if not known.any():
        return 1.0
    margins = (targets.signed * (scores - cuts))[known]

    def loss(log_slope: float) -> float:
        return float(np.logaddexp(0, -np.exp(log_slope) * margins).mean())

    bounds = (-np.log(_STEEPEST), np.log(_STEEPEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
