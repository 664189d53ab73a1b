"""Labels of which some are unseen, with co-occurrence counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit

from labelgap.generators._checks import check_fraction, check_positive
from labelgap.generators._factors import check_model, draw_features, draw_labels
from labelgap.generators._generated import Generated
from labelgap.protocols import hide_labels


def make_unseen(
    n_rows: int = 500,
    n_features: int = 40,
    n_labels: int = 40,
    *,
    n_factors: int = 4,
    n_relevant: int | None = None,
    density: Any = 0.2,
    signal: float = 4.0,
    noise: float = 0.1,
    share_unseen: float = 0.5,
    counts: Literal["rows", "model"] = "rows",
    r: float | None = None,
    random_state: Any = None,
) -> Generated:
    """Labels of which a share is unseen, with counts that connect them (as for ML-LCS).

    The model of :func:`make_low_rank` with ``b_l = Psi beta_l``: each label has factors beta, which
    the counts show, and factors b, which the labels show, tied by one linear map.

    Parameters
    ----------
    n_rows, n_features, n_labels, n_factors, n_relevant, density, signal, noise
        As in :func:`make_low_rank`.
    share_unseen : float
        Share of labels that are unseen.
    counts : {"rows", "model"}
        Whether co-occurrences are counted on the complete labels of these rows, or drawn as
        ``M_st ~ NB(r, sigmoid(b_s . beta_t))``, as from an outside source.
    r : float, optional
        Dispersion of counts drawn from the model, 5 by default; counted ones have none.
    random_state : int, Generator or None

    Returns
    -------
    Generated
        With ``cooccurrence`` (n_seen, n_labels) and ``relevant_features``; ``hidden`` is a
        :class:`labelgap.protocols.HiddenLabels`. Parameters ``W``, ``U``, ``B``, ``beta`` (both
        (n_labels, n_factors)), ``Psi`` (n_factors, n_factors), ``intercept``, ``probabilities``.
    """
    model = check_model(n_rows, n_features, n_labels, n_factors, n_relevant, density, signal, noise)
    check_fraction("share_unseen", share_unseen)
    if counts not in ("rows", "model"):
        raise ValueError(f"counts={counts!r}: use 'rows' or 'model'")
    if counts == "rows" and r is not None:
        raise ValueError("r belongs to counts drawn from the model: set counts='model'")
    r = check_positive("r", 5.0 if r is None else r)
    rng = np.random.default_rng(random_state)

    X, relevant, W, U = draw_features(model, rng)
    beta = rng.normal(size=(model.n_labels, model.n_factors)) / np.sqrt(model.n_factors)
    # a rotation keeps all factors equally strong
    Psi = model.signal * np.linalg.qr(rng.normal(size=(model.n_factors,) * 2))[0]
    B = beta @ Psi.T
    full, intercept, probabilities = draw_labels(U @ B.T, model.density, rng)
    hidden = hide_labels(full, share_unseen, random_state=rng)
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
