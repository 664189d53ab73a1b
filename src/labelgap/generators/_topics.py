"""Sparse labels from topics, at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.generators._checks import check_count, check_fraction, check_positive
from labelgap.generators._generated import Generated
from labelgap.labels import Labels
from labelgap.protocols import hide_positives


def make_topics(
    n_rows: int = 1000,
    n_features: int = 30,
    n_labels: int = 200,
    *,
    n_topics: int = 10,
    labels_per_row: float = 3.0,
    eta: float = 0.1,
    r: float = 1.0,
    signal: float = 1.0,
    share_hidden: float = 0.0,
    random_state: Any = None,
) -> Generated:
    """Labels from topics with a Bernoulli-Poisson link: the generative model of BMLPL [1]_.

    ``v_k ~ Dirichlet(eta)``, ``u_nk ~ Gamma(r, scale exp(x_n . w_k + c))``,
    ``m_nl ~ Poisson(sum_k u_nk v_lk)``, ``y_nl = 1(m_nl >= 1)``; that scale is p / (1 - p) for
    ``p = sigmoid(x . w + c)``. Counts are drawn per row and topic, then given to labels, so that
    time and memory follow the number of positives and ``n_labels * n_topics``, never
    ``n_rows * n_labels``.

    Parameters
    ----------
    n_rows, n_features, n_labels, n_topics : int
    labels_per_row : float
        Expected count per row, ``E[sum_l m_nl]`` averaged over rows; a row has fewer labels when
        counts fall on the same one.
    eta : float
        Dirichlet concentration; small values make topics of few labels.
    r : float
        Gamma shape; small values make rows of few topics.
    signal : float
        Standard deviation of ``x . w_k``.
    share_hidden : float
        Share of positives hidden without a trace; zeros are ambiguous whatever the share.
    random_state : int, Generator or None

    Returns
    -------
    Generated
        Parameters ``V`` (n_labels, n_topics), ``U`` (n_rows, n_topics), ``W`` (n_features,
        n_topics), ``intercept`` (a number) and ``r``.

    References
    ----------
    .. [1] P. Rai, C. Hu, R. Henao and L. Carin. Large-scale Bayesian multi-label learning via
       topic-based label embeddings. NIPS, 2015.
    """
    shape = check_count("n_rows", n_rows), check_count("n_labels", n_labels)
    check_count("n_features", n_features)
    check_count("n_topics", n_topics)
    check_positive("labels_per_row", labels_per_row)
    check_positive("eta", eta)
    check_positive("r", r)
    check_positive("signal", signal, zero=True)
    check_fraction("share_hidden", share_hidden)
    rng = np.random.default_rng(random_state)

    X = rng.normal(size=(n_rows, n_features))
    W = rng.normal(size=(n_features, n_topics)) * (signal / np.sqrt(n_features))
    scale = np.exp(X @ W)
    intercept = np.log(labels_per_row / (r * scale.sum(axis=1).mean()))
    U = rng.gamma(r, scale * np.exp(intercept))
    V, positives = _draw_labels(U, eta, shape, rng)
    full = Labels.from_sparse(positives, zeros="irrelevant")
    return Generated(
        X=X,
        full=full,
        hidden=hide_positives(full, share_hidden, random_state=rng),
        parameters={"V": V, "U": U, "W": W, "intercept": intercept, "r": r},
    )


def _draw_labels(U: np.ndarray, eta: float, shape: tuple[int, int], rng: np.random.Generator):
    """Topics, and the labels that carry at least one count."""
    n_labels = shape[1]
    V = np.empty((n_labels, U.shape[1]), order="F")
    rows, cols = [], []
    for topic, weights in enumerate(U.T):
        V[:, topic] = rng.dirichlet(np.full(n_labels, eta))
        # topics sum to one, so a row draws Poisson(u) counts and shares them out by v
        counts = rng.poisson(weights)
        rows.append(np.repeat(np.arange(shape[0]), counts))
        steps = np.cumsum(V[:, topic])
        cols.append(np.searchsorted(steps, rng.random(counts.sum()) * steps[-1], side="right"))
    coordinates = np.concatenate(rows), np.concatenate(cols)
    ones = np.ones(coordinates[0].size, dtype=bool)
    return V, sparse.coo_array((ones, coordinates), shape=shape).tocsr()
