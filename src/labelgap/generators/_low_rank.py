"""Low-rank labels: entries missing at random, and positive-only."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.generators._checks import check_fraction, draw_rates
from labelgap.generators._factors import FactorModel, check_model, draw_features, draw_labels
from labelgap.generators._generated import Generated
from labelgap.protocols import hide_entries, hide_these_positives


def make_low_rank(
    n_rows: int = 500,
    n_features: int = 40,
    n_labels: int = 20,
    *,
    n_factors: int = 4,
    n_relevant: int | None = None,
    density: Any = 0.2,
    signal: float = 4.0,
    noise: float = 0.1,
    share_hidden: float = 0.4,
    random_state: Any = None,
) -> Generated:
    """Labels of a logistic low-rank model, with entries missing completely at random.

    ``u_n ~ N(W' x_n, noise^2)``, ``P(y_nl = 1) = sigmoid(signal u_n . b_l + c_l)``, where x is
    standard normal, W is zero in the rows of irrelevant features, and the intercepts c give each
    label its density.

    Parameters
    ----------
    n_rows, n_features, n_labels, n_factors : int
    n_relevant : int, optional
        Features that matter; half of them by default.
    density : float or array of shape (n_labels,)
        Expected share of relevant rows per label.
    signal : float
        Standard deviation of the logits, about; large values make labels predictable.
    noise : float
        Standard deviation of the factors given the features.
    share_hidden : float
        Probability that an entry is unknown.
    random_state : int, Generator or None

    Returns
    -------
    Generated
        With ``relevant_features``; parameters ``W`` (n_features, n_factors), ``U`` (n_rows,
        n_factors), ``B`` (n_labels, n_factors; the signal included), ``intercept`` and
        ``probabilities`` (n_rows, n_labels).
    """
    model = check_model(n_rows, n_features, n_labels, n_factors, n_relevant, density, signal, noise)
    check_fraction("share_hidden", share_hidden)
    rng = np.random.default_rng(random_state)
    X, full, relevant, parameters = _draw(model, rng)
    hidden = hide_entries(full, share_hidden, random_state=rng)
    return Generated(
        X=X, full=full, hidden=hidden, parameters=parameters, relevant_features=relevant
    )


def make_positive_only(
    n_rows: int = 500,
    n_features: int = 40,
    n_labels: int = 20,
    *,
    n_factors: int = 4,
    n_relevant: int | None = None,
    density: Any = 0.2,
    signal: float = 4.0,
    noise: float = 0.1,
    row_rates: Any = 1.0,
    label_rates: Any = (0.3, 0.9),
    random_state: Any = None,
) -> Generated:
    """Low-rank labels of which only some positives were ever recorded; zeros are ambiguous.

    The model of :func:`make_low_rank`; a relevant entry (i, j) is observed with probability
    ``row_rates[i] * label_rates[j]`` and a zero without a trace otherwise.

    Parameters
    ----------
    n_rows, n_features, n_labels, n_factors, n_relevant, density, signal, noise
        As in :func:`make_low_rank`.
    row_rates, label_rates : float, tuple (low, high) or array
        Observation rates: one for all, drawn uniformly from a range, or one for each.
    random_state : int, Generator or None

    Returns
    -------
    Generated
        With ``row_rates``, ``label_rates`` and ``relevant_features``; parameters as in
        :func:`make_low_rank`.
    """
    model = check_model(n_rows, n_features, n_labels, n_factors, n_relevant, density, signal, noise)
    rng = np.random.default_rng(random_state)
    row_rates = draw_rates("row_rates", row_rates, model.n_rows, rng)
    label_rates = draw_rates("label_rates", label_rates, model.n_labels, rng)
    X, full, relevant, parameters = _draw(model, rng)
    rows, cols = full.positives().nonzero()
    unobserved = rng.random(rows.size) >= row_rates[rows] * label_rates[cols]
    return Generated(
        X=X,
        full=full,
        hidden=hide_these_positives(full, unobserved),
        parameters=parameters,
        relevant_features=relevant,
        row_rates=row_rates,
        label_rates=label_rates,
    )


def _draw(model: FactorModel, rng: np.random.Generator):
    X, relevant, W, U = draw_features(model, rng)
    B = model.signal * rng.normal(size=(model.n_labels, model.n_factors)) / np.sqrt(model.n_factors)
    full, intercept, probabilities = draw_labels(U @ B.T, model.density, rng)
    parameters = {"W": W, "U": U, "B": B, "intercept": intercept, "probabilities": probabilities}
    return X, full, relevant, parameters
