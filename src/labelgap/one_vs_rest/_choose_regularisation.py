"""How strongly to regularise the logistic regression of each label: by entries left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.kernels.logistic import LogisticTargets, fit_logistic
from labelgap.kernels.products import linear_part, prepare_features
from labelgap.kernels.pruning import kept_coefficients
from labelgap.one_vs_rest._fit_labels import SoftLabel, single_where_it_serves

# in units of 1 / the mean variance of a row: from means alone to nearly no penalty
_GRID = 10.0 ** np.arange(-1.0, 4.0, 0.5)
_MOST_ROWS, _FEWEST_ROWS = 10_000, 40
_FRACTION_LEFT_OUT = 0.25
# labels whose rarer side is up to four times that of the rarest are judged together
_GROUP_RATIO = 4.0
_FEWEST_HELD = 8
_MOST_LABELS, _FEWEST_LABELS = 24, 8
_DEFAULT = 1.0
# a group has passed its best C when its loss is above the least by this fraction
_PASSED = 0.02
_TOL, _MAX_ITER = 1e-3, 50
# parts of the sum of squares that coefficients which are dropped may have, and what that may cost
_PRUNED, _DEARER = (0.1, 0.06, 0.03, 0.01), 1.005


def choose_strengths(X: Any, read: Callable[[int], SoftLabel], n_rarer: np.ndarray) -> np.ndarray:
    """Return the C of the logistic regression of every label.

    Labels of similar frequency share one. A quarter of the rows (10,000 at most are looked at) is
    left out, and some labels of each frequency are fitted to the others for one C after the other,
    each from the last solution. The C with the least log-loss of known entries left out wins.
    Groups with few entries on their rarer side there join the next more frequent one.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    read : callable
        Takes the position of a label and returns it as a soft label.
    n_rarer : int array of shape (n_labels,)
        The rarer of relevant and irrelevant entries of each label; those with none are not fitted.

    Returns
    -------
    array of shape (n_labels,)
        1 where there are too few rows to choose.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import SoftLabel, choose_strengths
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> noise = SoftLabel(np.arange(200), np.tile([0.0, 1.0], 100), np.ones(200))
    >>> bool(choose_strengths(X, lambda label: noise, np.array([100]))[0] < 0.1)
    True
    """
    chosen = np.full(n_rarer.size, _DEFAULT)
    if X.shape[0] < _FEWEST_ROWS or not (n_rarer > 0).any():
        return chosen
    group_of = _groups(n_rarer, _FRACTION_LEFT_OUT * min(1.0, _MOST_ROWS / X.shape[0]))
    sample = _sampled(group_of, n_rarer)
    parts = _parts(X, read, sample)
    best = _path(parts, group_of[sample], _GRID / _mean_variance(parts[0][0]))
    for group, C in best.items():
        chosen[group_of == group] = C
    return chosen


def choose_pruning(
    X: Any, read: Callable[[int], SoftLabel], n_rarer: np.ndarray, C: np.ndarray
) -> float:
    """Return how much of the sum of squares of coefficients may be dropped.

    Some labels of each frequency are fitted to three quarters of the rows, as in
    :func:`choose_strengths`. The largest of a few fractions wins with which the log-loss of known entries
    left out is at most half a percent above that of all coefficients.

    Parameters
    ----------
    X, read, n_rarer
        As in :func:`choose_strengths`.
    C : array of shape (n_labels,)
        Inverse strength of the regularisation of each label.

    Returns
    -------
    float
        0 where there are too few rows to choose.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.one_vs_rest import SoftLabel, choose_pruning
    >>> X = np.random.default_rng(0).normal(size=(400, 20))
    >>> first = SoftLabel(np.arange(400), (X[:, 0] > 0) * 1.0, np.ones(400))
    >>> choose_pruning(X, lambda label: first, np.array([200]), np.array([1.0]))
    0.1
    """
    if X.shape[0] < _FEWEST_ROWS or not (n_rarer > 0).any():
        return 0.0
    group_of = _groups(n_rarer, _FRACTION_LEFT_OUT * min(1.0, _MOST_ROWS / X.shape[0]))
    sample = _sampled(group_of, n_rarer)
    (X_learned, learned), (X_held, held) = _parts(X, read, sample)
    at = np.flatnonzero((learned.weights.sum(axis=0) > 0) & (held.weights.sum(axis=0) > 0))
    how: Any = {"tol": _TOL, "max_iter": _MAX_ITER}
    W, _ = fit_logistic(prepare_features(X_learned), _columns(learned, at), C[sample[at]], **how)
    features, truth = prepare_features(X_held), _columns(held, at)
    limit = _DEARER * float(_losses(features, truth, W).sum())
    for fraction in _PRUNED:
        pruned = W.copy()
        pruned[:-1] *= kept_coefficients(W[:-1], fraction)
        if float(_losses(features, truth, pruned).sum()) <= limit:
            return fraction
    return 0.0


def _parts(
    X: Any, read: Callable[[int], SoftLabel], sample: np.ndarray
) -> list[tuple[Any, LogisticTargets]]:
    """Return features and targets of rows to learn from, and of rows left out."""
    rows = np.random.default_rng(0).permutation(X.shape[0])[:_MOST_ROWS]
    n_held = int(rows.size * _FRACTION_LEFT_OUT)
    soft = [read(label) for label in sample.tolist()]
    place_of = np.full(X.shape[0], -1)
    parts = []
    for part in (np.sort(rows[n_held:]), np.sort(rows[:n_held])):
        place_of[:] = -1
        place_of[part] = np.arange(part.size)
        found = X[part]
        found = found.astype(single_where_it_serves(found, _TOL), copy=False)
        parts.append((found, _targets(soft, place_of, part.size)))
    return parts


def _losses(features: Any, truth: LogisticTargets, W: np.ndarray) -> np.ndarray:
    """Return the weighted log-loss of every entry."""
    scores = linear_part(features, W)
    return truth.weights * (np.logaddexp(0.0, scores) - truth.probabilities * scores)


def _mean_variance(X: Any) -> float:
    """Sum over features of their variance."""
    if sparse.issparse(X):
        squares = float(X.multiply(X).sum()) / X.shape[0]
        total = squares - float(np.square(np.asarray(X.mean(axis=0))).sum())
    else:
        total = float(np.var(X, axis=0).sum())
    return total if total > 0 else 1.0


def _groups(n_rarer: np.ndarray, fraction_held: float) -> np.ndarray:
    """The group of each label by its frequency, from rare to frequent; -1 for labels of one value."""
    learnable = n_rarer > 0
    group_of = np.full(n_rarer.size, -1)
    group_of[learnable] = (np.log(n_rarer[learnable]) / np.log(_GROUP_RATIO)).astype(int)
    last = int(group_of.max())
    for group in range(last):
        members = group_of == group
        if members.any() and n_rarer[members].sum() * fraction_held < _FEWEST_HELD:
            group_of[members] = group + 1
    members, below = group_of == last, group_of[(group_of >= 0) & (group_of < last)]
    if below.size and n_rarer[members].sum() * fraction_held < _FEWEST_HELD:
        group_of[members] = below.max()
    return group_of


def _sampled(group_of: np.ndarray, n_rarer: np.ndarray) -> np.ndarray:
    """Some labels of each group, of any frequency in it: a quarter of all together at most."""
    groups = np.unique(group_of[group_of >= 0])
    size = int(np.clip(n_rarer.size // (4 * groups.size), _FEWEST_LABELS, _MOST_LABELS))
    found = []
    for group in groups:
        members = np.flatnonzero(group_of == group)
        members = members[np.argsort(n_rarer[members], kind="stable")]
        places = np.linspace(0, members.size - 1, min(size, members.size)).round().astype(int)
        found.append(members[places])
    return np.concatenate(found)


def _targets(soft: list[SoftLabel], place_of: np.ndarray, n_rows: int) -> LogisticTargets:
    probabilities, weights = np.zeros((2, n_rows, len(soft)))
    for column, label in enumerate(soft):
        places = place_of[label.rows]
        there = places >= 0
        probabilities[places[there], column] = label.probabilities[there]
        weights[places[there], column] = label.weights[there]
    return LogisticTargets(probabilities, weights)


def _path(
    parts: list[tuple[Any, LogisticTargets]], group_of: np.ndarray, strengths: np.ndarray
) -> dict[int, float]:
    """The best C of each group; a group leaves the path when it has passed its best."""
    (X, learned), (X_held, held) = parts
    features, features_held = prepare_features(X), prepare_features(X_held)
    best = {int(group): (np.inf, _DEFAULT) for group in np.unique(group_of)}
    # what has no weight has nothing to learn from, or to be judged by
    going = np.flatnonzero((learned.weights.sum(axis=0) > 0) & (held.weights.sum(axis=0) > 0))
    W = None
    for C in strengths:
        if not going.size:
            break
        W, _ = fit_logistic(
            features, _columns(learned, going), C, start=W, tol=_TOL, max_iter=_MAX_ITER
        )
        losses = _losses(features_held, _columns(held, going), W)
        kept = np.ones(going.size, dtype=bool)
        for group in np.unique(group_of[going]):
            members = group_of[going] == group
            loss = float(losses[:, members].sum())
            if loss < best[int(group)][0]:
                best[int(group)] = loss, float(C)
            elif loss > (1 + _PASSED) * best[int(group)][0]:
                kept[members] = False
        going, W = going[kept], W[:, kept]
    return {group: C for group, (_, C) in best.items()}


def _columns(targets: LogisticTargets, labels: np.ndarray) -> LogisticTargets:
    return LogisticTargets(targets.probabilities[:, labels], targets.weights[:, labels])
