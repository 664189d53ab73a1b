"""Topics on the simplex: the closed form, and the root that replaces it under a mask."""

from __future__ import annotations

import numpy as np


def constrained_topics(
    counts: np.ndarray, exposed: np.ndarray | None, eta: float, n_empty: int
) -> np.ndarray:
    """v_lk = (m_lk + eta - 1) / (c_lk + mu_k), with mu_k such that every topic sums to one.

    Without a mask c is the same for all labels of a topic and the formula is a normalisation.
    ``n_empty`` labels without any positive have been left out; each takes (eta - 1) of the total.
    Under a mask and with eta = 1 a label without counts stays at zero, although mass on a label
    that is hardly ever observed could raise the objective: it would only rescale the topic.

    Parameters
    ----------
    counts : array of shape (n_labels, n_topics)
    exposed : array of shape (n_labels, n_topics) or None
    eta : float, at least 1
    n_empty : int
    """
    mass = counts + (eta - 1) if eta > 1 else counts
    total = mass.sum(axis=0) + n_empty * (eta - 1)
    if exposed is None:
        return mass / np.maximum(total, np.finfo(mass.dtype).tiny)
    return _solve_multipliers(mass, exposed)


def with_unseen_labels(topics: np.ndarray, before: np.ndarray) -> np.ndarray:
    """New topics in which a label without any weight keeps the one it had before.

    A label that no mini-batch of a stream has shown yet must not fall to zero: from there the
    multiplicative updates could never lift it again.
    """
    unseen = ~topics.any(axis=1)
    if not unseen.any():
        return topics
    kept = before[unseen]
    topics = topics * np.maximum(1 - kept.sum(axis=0), 0)
    topics[unseen] = kept
    return topics / topics.sum(axis=0)


def _solve_multipliers(mass: np.ndarray, exposed: np.ndarray) -> np.ndarray:
    """Newton steps on 1/S(mu) = 1 for S(mu) = sum_l mass_l / (exposed_l + mu).

    1/S is concave and increasing above minus the least exposure of a label with mass. The search
    starts where that label alone makes S at least one, which is left of the root; tangents of a
    concave function lie above it, so no step passes the root.
    """
    dtype = mass.dtype
    mass, exposed = mass.astype(np.float64), exposed.astype(np.float64)
    held = mass > 0
    bound = np.where(held, exposed, np.inf).min(axis=0)
    least_exposed = np.where(held & (exposed <= bound), mass, 0).max(axis=0)
    offset = np.maximum(least_exposed, 1e-300)
    shifted = np.where(held, exposed - bound, np.inf)
    for _ in range(200):
        share = np.where(held, mass / (shifted + offset), 0)
        size = share.sum(axis=0)
        slope = np.where(held, share / (shifted + offset), 0).sum(axis=0)
        change = np.divide(size * (size - 1), slope, out=np.zeros_like(size), where=slope > 0)
        offset = np.maximum(offset + change, 1e-300)
        if (np.abs(size - 1) < 1e-12).all():
            break
    topics = np.where(held, mass / (shifted + offset), 0)
    return (topics / np.maximum(topics.sum(axis=0), 1e-300)).astype(dtype)
