"""Labels from topics at any size, and several views of one subspace, some of them missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.generators._factor_generators import draw_labels
from labelgap.generators._generated_data import (
    Generated,
    check_count,
    check_density,
    check_fraction,
    check_positive,
)
from labelgap.labels import Labels
from labelgap.protocols import hide_per_label, hide_positives, hide_views
from labelgap.views import Views


def make_topics(
    n_samples: int = 1000,
    n_features: int = 30,
    n_labels: int = 200,
    *,
    n_topics: int = 10,
    labels_per_row: float = 3.0,
    eta: float = 0.1,
    r: float = 1.0,
    signal: float = 1.0,
    fraction_hidden: float = 0.0,
    random_state: Any = None,
) -> Generated:
    """Draw labels from topics with a Bernoulli-Poisson link: the generative model of BMLPL [1]_.

    ``v_k ~ Dirichlet(eta)``, ``u_nk ~ Gamma(r, scale exp(x_n . w_k + c))``,
    ``m_nl ~ Poisson(sum_k u_nk v_lk)``, ``y_nl = 1(m_nl >= 1)``; that scale is p / (1 - p) for
    ``p = sigmoid(x . w + c)``. Counts are drawn per row and topic, then given to labels, so that
    time and memory follow the number of positives and ``n_labels * n_topics``, never
    ``n_samples * n_labels``.

    Parameters
    ----------
    n_samples : int, default=1000
    n_features : int, default=30
    n_labels : int, default=200
    n_topics : int, default=10
    labels_per_row : float, default=3.0
        Expected count per row, ``E[sum_l m_nl]`` averaged over rows; a row has fewer labels when
        counts fall on the same one.
    eta : float, default=0.1
        Dirichlet concentration; small values make topics of few labels.
    r : float, default=1.0
        Gamma shape; small values make rows of few topics.
    signal : float, default=1.0
        Standard deviation of ``x . w_k``.
    fraction_hidden : float, default=0.0
        Fraction of positives hidden without a trace; zeros are unlabeled whatever the fraction.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Generated
        Parameters ``V`` (n_labels, n_topics), ``U`` (n_samples, n_topics), ``W`` (n_features,
        n_topics), ``intercept`` (a number) and ``r``.

    See Also
    --------
    labelgap.BMLPL : The model of these data.

    References
    ----------
    .. [1] P. Rai, C. Hu, R. Henao and L. Carin. Large-scale Bayesian multi-label learning via
       topic-based label embeddings. NIPS, 2015.

    Examples
    --------
    >>> from labelgap.generators import make_topics
    >>> made = make_topics(100, n_labels=50, random_state=0)
    >>> made.full.shape, made.parameters["V"].shape
    ((100, 50), (50, 10))
    """
    shape = check_count("n_samples", n_samples), check_count("n_labels", n_labels)
    check_count("n_features", n_features)
    check_count("n_topics", n_topics)
    check_positive("labels_per_row", labels_per_row)
    check_positive("eta", eta)
    check_positive("r", r)
    check_positive("signal", signal, zero=True)
    check_fraction("fraction_hidden", fraction_hidden)
    rng = np.random.default_rng(random_state)

    X = rng.normal(size=(n_samples, n_features))
    W = rng.normal(size=(n_features, n_topics)) * (signal / np.sqrt(n_features))
    scale = np.exp(X @ W)
    intercept = np.log(labels_per_row / (r * scale.sum(axis=1).mean()))
    U = rng.gamma(r, scale * np.exp(intercept))
    V, positives = _draw_topics(U, eta, shape, rng)
    full = Labels.from_sparse(positives, zeros="negative")
    return Generated(
        X=X,
        full=full,
        hidden=hide_positives(full, fraction_hidden, random_state=rng),
        parameters={"V": V, "U": U, "W": W, "intercept": intercept, "r": r},
    )


def _draw_topics(U: np.ndarray, eta: float, shape: tuple[int, int], rng: np.random.Generator):
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


def make_views(
    n_samples: int = 300,
    view_widths: Mapping[str, int] | Sequence[int] = (20, 30, 15),
    n_labels: int = 10,
    *,
    n_factors: int = 4,
    density: Any = 0.3,
    signal: float = 4.0,
    noise: float = 0.1,
    fraction_views: float = 0.5,
    fraction_hidden: float = 0.5,
    random_state: Any = None,
) -> Generated:
    """Draw views and labels from one shared non-negative subspace, both incomplete (as for iMVWL).

    ``V ~ Gamma(1)`` (n_samples, n_factors), view ``X_v = max(0, V A_v' + noise e)`` with
    ``A_v ~ Gamma(1)``, and ``P(y_nl = 1) = sigmoid(z_n . b_l + c_l)``, where z is V with mean 0
    and variance 1 and B has scale ``signal / sqrt(n_factors)``.

    Parameters
    ----------
    n_samples : int, default=300
    view_widths : mapping from name to width, or sequence of widths, default=(20, 30, 15)
    n_labels : int, default=10
    n_factors : int, default=4
    density : float or array of shape (n_labels,), default=0.3
        Expected fraction of relevant rows per label.
    signal : float, default=4.0
        Standard deviation of the logits, about.
    noise : float, default=0.1
        Standard deviation of the noise of each feature.
    fraction_views : float, default=0.5
        Fraction of rows that lose a view, for each view; each row keeps one.
    fraction_hidden : float, default=0.5
        Fraction of each label's positives and of its negatives that is unknown.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Generated
        With ``views`` and ``hidden_views``; parameters ``V``, ``A`` (n_features, n_factors), ``B``
        (n_labels, n_factors), ``intercept`` and ``probabilities``.

    See Also
    --------
    labelgap.protocols.hide_views : Removes the views.

    Examples
    --------
    >>> from labelgap.generators import make_views
    >>> made = make_views(100, {"colour": 4, "shape": 6}, random_state=0)
    >>> list(made.views), made.hidden_views.removed.sum(axis=0).tolist()
    (['colour', 'shape'], [50, 50])
    """
    n_samples, n_labels = check_count("n_samples", n_samples), check_count("n_labels", n_labels)
    n_factors = check_count("n_factors", n_factors)
    density = check_density(density, n_labels)
    signal, noise = check_positive("signal", signal), check_positive("noise", noise, zero=True)
    check_fraction("fraction_views", fraction_views)
    check_fraction("fraction_hidden", fraction_hidden)
    views = _as_views(view_widths)
    rng = np.random.default_rng(random_state)

    V = rng.gamma(1.0, size=(n_samples, n_factors))
    A = rng.gamma(1.0, size=(views.n_columns, n_factors))
    X = np.maximum(V @ A.T + noise * rng.normal(size=(n_samples, views.n_columns)), 0.0)
    B = signal * rng.normal(size=(n_labels, n_factors)) / np.sqrt(n_factors)
    full, intercept, probabilities = draw_labels((V - 1.0) @ B.T, density, rng)
    hidden_views = hide_views(X, views, fraction_views, random_state=rng)
    parameters = {"V": V, "A": A, "B": B, "intercept": intercept, "probabilities": probabilities}
    return Generated(
        X=hidden_views.X,
        full=full,
        hidden=hide_per_label(full, fraction_hidden, random_state=rng),
        parameters=parameters,
        views=views,
        hidden_views=hidden_views,
    )


def _as_views(view_widths: Mapping[str, int] | Sequence[int]) -> Views:
    if not isinstance(view_widths, Mapping):
        view_widths = {f"view{position}": width for position, width in enumerate(view_widths)}
    if not view_widths:
        raise ValueError("view_widths is empty: give the width of at least one view")
    return Views(
        {name: check_count(f"view_widths[{name!r}]", width) for name, width in view_widths.items()}
    )
