"""Labels of logistic factor models: entries missing at random, positive-only, unseen labels.

    u_n ~ N(W' x_n, noise^2 I),   P(y_nl = 1) = sigmoid(signal u_n . b_l + c_l)

with W zero in the rows of irrelevant features, and c_l such that label l has the asked density.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from labelgap.generators._generated_data import (
    Generated,
    check_count,
    check_density,
    check_fraction,
    check_positive,
    draw_rates,
)
from labelgap.labels import Labels
from labelgap.protocols import hide_entries, hide_labels, hide_these_positives


def make_low_rank(
    n_samples: int = 500,
    n_features: int = 40,
    n_labels: int = 20,
    *,
    n_factors: int = 4,
    n_relevant: int | None = None,
    density: Any = 0.2,
    signal: float = 4.0,
    noise: float = 0.1,
    fraction_hidden: float = 0.4,
    random_state: Any = None,
) -> Generated:
    """Draw labels of a logistic low-rank model, with entries missing completely at random.

    ``u_n ~ N(W' x_n, noise^2)``, ``P(y_nl = 1) = sigmoid(signal u_n . b_l + c_l)``, where x is
    standard normal, W is zero in the rows of irrelevant features, and the intercepts c give each
    label its density.

    Parameters
    ----------
    n_samples : int, default=500
    n_features : int, default=40
    n_labels : int, default=20
    n_factors : int, default=4
    n_relevant : int, optional, default=None
        Features that matter; half of them by default.
    density : float or array of shape (n_labels,), default=0.2
        Expected fraction of relevant rows per label.
    signal : float, default=4.0
        Standard deviation of the logits, about; large values make labels predictable.
    noise : float, default=0.1
        Standard deviation of the factors given the features.
    fraction_hidden : float, default=0.4
        Probability that an entry is unknown.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Generated
        With ``relevant_features``; parameters ``W`` (n_features, n_factors), ``U`` (n_samples,
        n_factors), ``B`` (n_labels, n_factors; the signal included), ``intercept`` and
        ``probabilities`` (n_samples, n_labels).

    See Also
    --------
    make_positive_only : The same labels, recorded in part.

    Examples
    --------
    >>> from labelgap.generators import make_low_rank
    >>> made = make_low_rank(100, n_labels=5, random_state=0)
    >>> made.X.shape, made.labels.shape, made.labels.has_unknown
    ((100, 40), (100, 5), True)
    """
    model = _check_model(
        n_samples, n_features, n_labels, n_factors, n_relevant, density, signal, noise
    )
    check_fraction("fraction_hidden", fraction_hidden)
    rng = np.random.default_rng(random_state)
    X, full, relevant, parameters = _draw(model, rng)
    hidden = hide_entries(full, fraction_hidden, random_state=rng)
    return Generated(
        X=X, full=full, hidden=hidden, parameters=parameters, relevant_features=relevant
    )


def make_positive_only(
    n_samples: int = 500,
    n_features: int = 40,
    n_labels: int = 20,
    *,
    n_factors: int = 4,
    n_relevant: int | None = None,
    density: Any = 0.2,
    signal: float = 4.0,
    noise: float = 0.1,
    row_rates: Any = 1.0,
    label_frequency: Any = (0.3, 0.9),
    random_state: Any = None,
) -> Generated:
    """Draw low-rank labels of which only some positives are recorded; zeros are unlabeled.

    The model of :func:`make_low_rank`; a relevant entry (i, j) is recorded with probability
    ``row_rates[i] * label_frequency[j]``, its propensity, and is a zero otherwise.

    Parameters
    ----------
    n_samples, n_features, n_labels, n_factors, n_relevant, density, signal, noise
        As in :func:`make_low_rank`, with the same defaults.
    row_rates : float, tuple (low, high) or array of shape (n_samples,), default=1.0
        Factors of the propensity: one for all, drawn uniformly from a range, or one for each.
    label_frequency : float, tuple (low, high) or array of shape (n_labels,), default=(0.3, 0.9)
        The same by label: the label frequency where ``row_rates`` are 1.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Generated
        With ``row_rates``, ``label_frequency`` and ``relevant_features``; parameters as in
        :func:`make_low_rank`.

    See Also
    --------
    make_low_rank : The same labels, with unknown entries.

    Examples
    --------
    >>> from labelgap.generators import make_positive_only
    >>> made = make_positive_only(100, n_labels=5, label_frequency=0.6, random_state=0)
    >>> made.labels.n_positives() < made.full.n_positives()
    True
    """
    model = _check_model(
        n_samples, n_features, n_labels, n_factors, n_relevant, density, signal, noise
    )
    rng = np.random.default_rng(random_state)
    row_rates = draw_rates("row_rates", row_rates, model.n_samples, rng)
    label_frequency = draw_rates("label_frequency", label_frequency, model.n_labels, rng)
    X, full, relevant, parameters = _draw(model, rng)
    rows, cols = full.positives().nonzero()
    unrecorded = rng.random(rows.size) >= row_rates[rows] * label_frequency[cols]
    return Generated(
        X=X,
        full=full,
        hidden=hide_these_positives(full, unrecorded),
        parameters=parameters,
        relevant_features=relevant,
        row_rates=row_rates,
        label_frequency=label_frequency,
    )


def _draw(model: FactorModel, rng: np.random.Generator):
    X, relevant, W, U = _draw_features(model, rng)
    B = model.signal * rng.normal(size=(model.n_labels, model.n_factors)) / np.sqrt(model.n_factors)
    full, intercept, probabilities = draw_labels(U @ B.T, model.density, rng)
    parameters = {"W": W, "U": U, "B": B, "intercept": intercept, "probabilities": probabilities}
    return X, full, relevant, parameters


def make_unseen(
    n_samples: int = 500,
    n_features: int = 40,
    n_labels: int = 40,
    *,
    n_factors: int = 4,
    n_relevant: int | None = None,
    density: Any = 0.2,
    signal: float = 4.0,
    noise: float = 0.1,
    fraction_unseen: float = 0.5,
    counts: Literal["rows", "model"] = "rows",
    r: float | None = None,
    random_state: Any = None,
) -> Generated:
    """Draw labels of which a fraction is unseen, with counts that connect them (as for ML-LCS).

    The model of :func:`make_low_rank` with ``b_l = Psi beta_l``: each label has factors beta, which
    the counts show, and factors b, which the labels show, tied by one linear map.

    Parameters
    ----------
    n_samples, n_features, n_labels, n_factors, n_relevant, density, signal, noise
        As in :func:`make_low_rank`, with the same defaults but ``n_labels=40``.
    fraction_unseen : float, default=0.5
        Fraction of labels that are unseen.
    counts : {"rows", "model"}, default="rows"
        Whether co-occurrences are counted on the complete labels of these rows, or drawn as
        ``M_st ~ NB(r, sigmoid(b_s . beta_t))``, as from an outside source.
    r : float, optional, default=None
        Dispersion of counts drawn from the model, 5 by default; counted ones have none.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Generated
        With ``cooccurrence`` (n_seen, n_labels) and ``relevant_features``; ``hidden`` is a
        :class:`labelgap.protocols.HiddenLabels`. Parameters ``W``, ``U``, ``B``, ``beta`` (both
        (n_labels, n_factors)), ``Psi`` (n_factors, n_factors), ``intercept``, ``probabilities``.

    See Also
    --------
    labelgap.protocols.hide_labels : Hides the labels.

    Examples
    --------
    >>> from labelgap.generators import make_unseen
    >>> made = make_unseen(100, n_labels=6, random_state=0)
    >>> int(made.labels.unseen.sum()), made.cooccurrence.shape
    (3, (3, 6))
    """
    model = _check_model(
        n_samples, n_features, n_labels, n_factors, n_relevant, density, signal, noise
    )
    check_fraction("fraction_unseen", fraction_unseen)
    if counts not in ("rows", "model"):
        raise ValueError(f"counts={counts!r}: use 'rows' or 'model'")
    if counts == "rows" and r is not None:
        raise ValueError("r belongs to counts drawn from the model: set counts='model'")
    r = check_positive("r", 5.0 if r is None else r)
    rng = np.random.default_rng(random_state)

    X, relevant, W, U = _draw_features(model, rng)
    beta = rng.normal(size=(model.n_labels, model.n_factors)) / np.sqrt(model.n_factors)
    # a rotation keeps all factors equally strong
    Psi = model.signal * np.linalg.qr(rng.normal(size=(model.n_factors,) * 2))[0]
    B = beta @ Psi.T
    full, intercept, probabilities = draw_labels(U @ B.T, model.density, rng)
    hidden = hide_labels(full, fraction_unseen, random_state=rng)
    if counts == "model":
        p = expit(B[hidden.seen] @ beta.T)
        drawn = rng.negative_binomial(r, 1.0 - p)
        hidden = replace(hidden, cooccurrence=sparse.csr_array(drawn))
    parameters = {"W": W, "U": U, "B": B, "beta": beta, "Psi": Psi}
    parameters |= {"intercept": intercept, "probabilities": probabilities}
    return Generated(
        X=X,
        full=full,
        hidden=hidden,
        parameters=parameters,
        relevant_features=relevant,
        cooccurrence=hidden.cooccurrence,
    )


class FactorModel(NamedTuple):
    """Sizes and scales of the model, validated."""

    n_samples: int
    n_features: int
    n_labels: int
    n_factors: int
    n_relevant: int
    density: np.ndarray
    signal: float
    noise: float


def _check_model(
    n_samples, n_features, n_labels, n_factors, n_relevant, density, signal, noise
) -> FactorModel:
    n_features = check_count("n_features", n_features)
    n_labels = check_count("n_labels", n_labels)
    if n_relevant is None:
        n_relevant = (n_features + 1) // 2
    return FactorModel(
        check_count("n_samples", n_samples),
        n_features,
        n_labels,
        check_count("n_factors", n_factors),
        check_count("n_relevant", n_relevant, most=n_features),
        check_density(density, n_labels),
        check_positive("signal", signal),
        check_positive("noise", noise, zero=True),
    )


def _draw_features(model: FactorModel, rng: np.random.Generator):
    """Features, the relevant ones among them, W (n_features, n_factors) and U (n_samples, ...)."""
    X = rng.normal(size=(model.n_samples, model.n_features))
    relevant = np.zeros(model.n_features, dtype=bool)
    relevant[rng.choice(model.n_features, model.n_relevant, replace=False)] = True
    W = np.zeros((model.n_features, model.n_factors))
    W[relevant] = rng.normal(size=(model.n_relevant, model.n_factors)) / np.sqrt(model.n_relevant)
    U = X @ W + model.noise * rng.normal(size=(model.n_samples, model.n_factors))
    return X, relevant, W, U


def draw_labels(scores: np.ndarray, density: np.ndarray, rng: np.random.Generator):
    """Labels with logit ``scores + intercept``, the intercepts, and the probabilities."""
    intercept = _calibrate(scores, density)
    probabilities = expit(scores + intercept)
    positives = rng.random(scores.shape) < probabilities
    return Labels.from_dense(positives.astype(np.int8)), intercept, probabilities


def _calibrate(scores: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Intercepts with ``mean_n sigmoid(scores_nl + intercept_l) = density_l``, by bisection."""
    logit = np.log(density) - np.log1p(-density)
    low, high = logit - scores.max(axis=0), logit - scores.min(axis=0)
    for _ in range(60):
        middle = (low + high) / 2
        too_dense = expit(scores + middle).mean(axis=0) > density
        low, high = np.where(too_dense, low, middle), np.where(too_dense, middle, high)
    return (low + high) / 2
