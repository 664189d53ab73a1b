"""Labels are lost by how obvious they are: the three selection mechanisms of PU-Bench."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from labelgap.labels import Labels
from labelgap.protocols._entry_pool import check_fraction
from labelgap.protocols._hidden_by_people import HiddenByPeople, check_positive, hide_each
from labelgap.protocols._hidden_data import coordinates

_POWER = 10.0  # as in the experiments of LBE and PU-Bench
_LEAST_WEIGHT = 1e-300


def hide_improbable(
    labels: Labels, fraction: float, *, probabilities: Any, random_state: Any = None
) -> HiddenByPeople:
    """Hide positives that look improbable: the propensity grows with P(relevant | x) [1]_.

    Within each label e = min(1, a p), with a such that the mean of 1 - e is ``fraction``.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1.
    probabilities : array of shape (n_samples, n_labels)
        p, that each entry is relevant given its features.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople

    See Also
    --------
    hide_by_power : The same with a power of p, so that the most obvious labels are nearly complete.

    References
    ----------
    .. [1] M. Kato, T. Teshima and J. Honda. Learning from positive and unlabeled data with a
       selection bias. ICLR, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_improbable
    >>> labels, p = as_labels([[1, 0], [1, 1], [1, 0]]), np.array([[0.9, 0.1], [0.6, 0.5], [0.3, 0.2]])
    >>> hide_improbable(labels, 1 / 3, probabilities=p, random_state=0).propensity.toarray().round(2)
    array([[1.  , 0.  ],
           [0.67, 0.67],
           [0.33, 0.  ]])
    """
    weights = _at_positives(labels, probabilities)
    return _hide_by_weight(labels, fraction, weights, random_state)


def hide_off_boundary(
    labels: Labels,
    fraction: float,
    *,
    probabilities: Any,
    power: float = _POWER,
    random_state: Any = None,
) -> HiddenByPeople:
    """Hide positives far from the decision boundary, where the propensity is largest [1]_.

    Within each label e = min(1, a (1 - abs(p - 1/2))^k): what is doubtful was looked at.

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1: the mean of 1 - e in each label.
    probabilities : array of shape (n_samples, n_labels)
        p, that each entry is relevant given its features.
    power : float, default=10.0
        k.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople

    See Also
    --------
    hide_improbable : Keeps the most probable ones.

    References
    ----------
    .. [1] C. Gong et al. Instance-dependent positive and unlabeled learning with labeling bias
       estimation. IEEE TPAMI, 2021. (LBE-B; LBE-A is ``hide_by_power``)

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_off_boundary
    >>> labels, p = as_labels([[1, 0], [1, 1], [1, 0]]), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.2]])
    >>> hidden = hide_off_boundary(labels, 0.5, probabilities=p, power=1, random_state=0)
    >>> hidden.propensity.toarray()[:, 0].round(2).tolist()
    [0.41, 0.68, 0.41]
    """
    p = _at_positives(labels, probabilities)
    weights = (1.0 - np.abs(p - 0.5)) ** check_positive(power, "power")
    return _hide_by_weight(labels, fraction, weights, random_state)


def hide_by_power(
    labels: Labels,
    fraction: float,
    *,
    probabilities: Any,
    power: float = _POWER,
    random_state: Any = None,
) -> HiddenByPeople:
    """Keep the most obvious positives: the propensity is a power of P(relevant | x) [1]_.

    Within each label e = min(1, a p^k).

    Parameters
    ----------
    labels : Labels
    fraction : float
        Between 0 and 1: the mean of 1 - e in each label.
    probabilities : array of shape (n_samples, n_labels)
        p, that each entry is relevant given its features.
    power : float, default=10.0
        k.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenByPeople

    See Also
    --------
    hide_improbable : The same with k = 1.

    References
    ----------
    .. [1] C. Gong et al. Instance-dependent positive and unlabeled learning with labeling bias
       estimation. IEEE TPAMI, 2021. (LBE-A)

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_by_power
    >>> labels, p = as_labels([[1], [1], [1], [0]]), np.array([[0.9], [0.6], [0.3], [0.1]])
    >>> hidden = hide_by_power(labels, 2 / 3, probabilities=p, random_state=0)
    >>> hidden.propensity.toarray().ravel().round(2).tolist()
    [0.98, 0.02, 0.0, 0.0]
    """
    p = _at_positives(labels, probabilities)
    return _hide_by_weight(labels, fraction, p ** check_positive(power, "power"), random_state)


def _at_positives(labels: Labels, probabilities: Any) -> np.ndarray:
    given = np.asarray(probabilities, dtype=np.float64)
    if given.shape != labels.shape:
        raise ValueError(
            f"probabilities has shape {given.shape}: give one for each of the {labels.shape} entries"
        )
    rows, cols = coordinates(labels.positives())
    found = given[rows, cols]
    bad = np.flatnonzero(~((found >= 0) & (found <= 1)))
    if bad.size:
        place = f"{rows[bad[0]]}, {cols[bad[0]]}"
        raise ValueError(f"probabilities[{place}] = {found[bad[0]]} must be between 0 and 1")
    return found


def _hide_by_weight(
    labels: Labels, fraction: float, weights: np.ndarray, random_state: Any
) -> HiddenByPeople:
    """Keep positives with e = min(1, a weight), a of each label by the mean of e."""
    kept = 1.0 - check_fraction(fraction)
    columns = coordinates(labels.positives())[1]
    propensity = np.empty(weights.size)
    for label in np.unique(columns):
        mine = columns == label
        propensity[mine] = _with_mean(np.maximum(weights[mine], _LEAST_WEIGHT), kept)
    return hide_each(labels, propensity, np.random.default_rng(random_state))


def _with_mean(weights: np.ndarray, mean: float) -> np.ndarray:
    """min(1, a weights) with the given mean."""
    if mean in (0.0, 1.0):
        return np.full(weights.size, mean)
    relative = np.log(weights)

    def excess(log_scale: float) -> float:
        return float(np.exp(np.minimum(relative + log_scale, 0.0)).mean()) - mean

    least = np.log(mean) - relative.max() - 1.0
    log_scale = brentq(excess, least, 1.0 - relative.min(), xtol=1e-12)
    return np.exp(np.minimum(relative + log_scale, 0.0))
