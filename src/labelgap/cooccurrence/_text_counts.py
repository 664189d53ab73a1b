"""Counts that texts of labels lead one to expect."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import betabinom
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.cooccurrence._cooccurrence import Cooccurrence
from labelgap.cooccurrence._occurrences import occurrences
from labelgap.kernels.nonnegative_logistic import fit_nonnegative_logistic
from labelgap.labels import LabelWarning

_STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_FEWEST_PAIRS = 6


def counts_with_text(cooccurrence: Cooccurrence, vectors: Any) -> Cooccurrence:
    """Return counts of unseen labels as their texts and their own counts lead one to expect them.

    Of the items with a seen label s, the fraction that carries t too grows with the cosine of their
    texts: sigmoid(a + b cos(g_s, g_t)), with b >= 0, learned from all pairs of seen labels. For an
    unseen label this is the mean of a Beta prior, which its counts update; the strength of the prior
    is that under which the counts of seen pairs are most probable.

    Parameters
    ----------
    cooccurrence : Cooccurrence
        Counts of unseen labels may be missing.
    vectors : array or sparse matrix of shape (n_labels, n_dimensions)
        Texts of all labels, as rows of unit length.

    Returns
    -------
    Cooccurrence
        Rounded to whole numbers. As they came when there are fewer than three seen labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.cooccurrence import as_cooccurrence, counts_with_text
    >>> counts = as_cooccurrence([[40, 20, 1, 12], [20, 50, 2, np.nan], [1, 2, 60, np.nan]])
    >>> texts = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> counts_with_text(counts, texts).dense()[:, 3]
    array([16., 22.,  2.])
    """
    n_items, seen = occurrences(cooccurrence), cooccurrence.seen
    pairs, counted = cooccurrence.dense(missing=0.0)[:, seen], cooccurrence.observed[:, seen]
    counted &= ~np.eye(seen.size, dtype=bool) & (n_items > 0)[:, None]
    if counted.sum() < _FEWEST_PAIRS:
        return cooccurrence
    cosines = np.asarray(safe_sparse_dot(vectors[seen], vectors.T, dense_output=True))
    fraction = pairs / np.maximum(n_items, 1)[:, None]
    slope, intercept = fit_nonnegative_logistic(
        cosines[:, seen][counted][:, None], fraction[counted], 1e-3, 1
    )
    expected = 1 / (1 + np.exp(-(intercept + slope * cosines)))
    n_carried = np.broadcast_to(np.round(n_items)[:, None], pairs.shape)[counted]
    strength = _strength(
        np.minimum(pairs[counted], n_carried), n_carried, expected[:, seen][counted]
    )
    unseen = cooccurrence.unseen
    own = cooccurrence.dense(missing=0.0)[:, unseen]
    n_own = np.where(cooccurrence.observed[:, unseen], n_items[:, None], 0.0)
    posterior = (own + strength * expected[:, unseen]) / (n_own + strength)
    table = cooccurrence.dense(missing=0.0)
    table[:, unseen] = np.round(posterior * n_items[:, None])
    missing = cooccurrence.missing.toarray()
    missing[:, unseen] = False
    with warnings.catch_warnings():
        # a text may be like no other
        warnings.simplefilter("ignore", LabelWarning)
        return Cooccurrence(
            sparse.csr_array(table), seen, cooccurrence.names, sparse.csr_array(missing)
        )


def _strength(hits: np.ndarray, n_carried: np.ndarray, expected: np.ndarray) -> float:
    likelihoods = [
        betabinom.logpmf(np.round(hits), n_carried, s * expected, s * (1 - expected)).sum()
        for s in _STRENGTHS
    ]
    return _STRENGTHS[int(np.argmax(likelihoods))]
