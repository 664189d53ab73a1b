"""Several views of one non-negative subspace, some of them missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelgap.generators._checks import check_count, check_density, check_fraction, check_positive
from labelgap.generators._factors import draw_labels
from labelgap.generators._generated import Generated
from labelgap.protocols import hide_per_label, hide_views
from labelgap.views import ViewGroups


def make_views(
    n_rows: int = 300,
    view_widths: Mapping[str, int] | Sequence[int] = (20, 30, 15),
    n_labels: int = 10,
    *,
    n_factors: int = 4,
    density: Any = 0.3,
    signal: float = 4.0,
    noise: float = 0.1,
    share_views: float = 0.5,
    share_hidden: float = 0.5,
    random_state: Any = None,
) -> Generated:
    """Views and labels from one shared non-negative subspace, both incomplete (as for iMVWL).

    ``V ~ Gamma(1)`` (n_rows, n_factors), view ``X_v = max(0, V A_v' + noise e)`` with
    ``A_v ~ Gamma(1)``, and ``P(y_nl = 1) = sigmoid(z_n . b_l + c_l)``, where z is V with mean 0
    and variance 1 and B has scale ``signal / sqrt(n_factors)``.

    Parameters
    ----------
    n_rows, n_labels, n_factors : int
    view_widths : mapping from name to width, or sequence of widths
    density : float or array of shape (n_labels,)
        Expected share of relevant rows per label.
    signal : float
        Standard deviation of the logits, about.
    noise : float
        Standard deviation of the noise of each feature.
    share_views : float
        Share of rows that lose a view, for each view; each row keeps one.
    share_hidden : float
        Share of each label's positives and of its negatives that is unknown.
    random_state : int, Generator or None

    Returns
    -------
    Generated
        With ``groups`` and ``hidden_views``; parameters ``V``, ``A`` (n_features, n_factors), ``B``
        (n_labels, n_factors), ``intercept`` and ``probabilities``.
    """
    n_rows, n_labels = check_count("n_rows", n_rows), check_count("n_labels", n_labels)
    n_factors = check_count("n_factors", n_factors)
    density = check_density(density, n_labels)
    signal, noise = check_positive("signal", signal), check_positive("noise", noise, zero=True)
    check_fraction("share_views", share_views)
    check_fraction("share_hidden", share_hidden)
    groups = _groups(view_widths)
    rng = np.random.default_rng(random_state)

    V = rng.gamma(1.0, size=(n_rows, n_factors))
    A = rng.gamma(1.0, size=(groups.n_columns, n_factors))
    X = np.maximum(V @ A.T + noise * rng.normal(size=(n_rows, groups.n_columns)), 0.0)
    B = signal * rng.normal(size=(n_labels, n_factors)) / np.sqrt(n_factors)
    full, intercept, probabilities = draw_labels((V - 1.0) @ B.T, density, rng)
    hidden_views = hide_views(X, groups, share_views, random_state=rng)
    parameters = {"V": V, "A": A, "B": B, "intercept": intercept, "probabilities": probabilities}
    return Generated(
        X=hidden_views.X,
        full=full,
        hidden=hide_per_label(full, share_hidden, random_state=rng),
        parameters=parameters,
        groups=groups,
        hidden_views=hidden_views,
    )


def _groups(view_widths: Mapping[str, int] | Sequence[int]) -> ViewGroups:
    if not isinstance(view_widths, Mapping):
        view_widths = {f"view{position}": width for position, width in enumerate(view_widths)}
    if not view_widths:
        raise ValueError("view_widths is empty: give the width of at least one view")
    return ViewGroups(
        {name: check_count(f"view_widths[{name!r}]", width) for name, width in view_widths.items()}
    )
