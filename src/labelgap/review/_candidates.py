"""What may be reviewed: entries with a prior chance, and what is known of their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.utils.extmath import randomized_svd

from labelgap.audit import Audit

__all__ = ["Candidates", "candidates_of", "item_traits"]

_SUREST = 1e-4
_FADING = 0.05


class Candidates(NamedTuple):
    """Entries that somebody may be asked about.

    Attributes
    ----------
    rows, columns : int arrays of shape (n,)
        Positions in ``items`` and ``labels``.
    log_odds : array of shape (n,)
        What the audit says: log-odds that the label belongs to the item.
    traits : array of shape (n_items, d)
        A few numbers about each item, by which the answers for one item tell about others; the
        first is 1.
    items, labels : list of str
    """

    rows: np.ndarray
    columns: np.ndarray
    log_odds: np.ndarray
    traits: np.ndarray
    items: Sequence[str]
    labels: Sequence[str]

    @property
    def n(self) -> int:
        return self.rows.size

    def reach(self, some: np.ndarray) -> np.ndarray:
        """Traits of some candidates, as far as corrections of their labels reach them, (n, d).

        With p the chance that the audit gives, traits are multiplied by p / (p + 0.05): questions
        come from the top of the list, and what they tell of a label there fades where chances are
        small, since otherwise it would decide about thousands of entries that nobody asked about.
        """
        p = expit(self.log_odds[some])
        return self.traits[self.rows[some]] * (p / (p + _FADING))[:, None]


def prior_log_odds(probabilities: Any) -> np.ndarray:
    """Log-odds, kept away from certainty: an answer must be able to change them."""
    return logit(np.clip(np.asarray(probabilities, dtype=float), _SUREST, 1 - _SUREST))


def candidates_of(
    audit: Audit,
    item_ids: Sequence[Any] | np.ndarray | None = None,
    traits: np.ndarray | None = None,
) -> Candidates:
    """The suggestions of an audit.

    Parameters
    ----------
    audit : Audit
    item_ids : sequence, optional
        The ids of the rows of ``traits``.
    traits : array of shape (n_items, d), optional
        See :func:`item_traits`. Without them answers tell about a label as a whole.
    """
    suggestions = audit.suggestions
    if traits is None:
        items = list(dict.fromkeys(one.item for one in suggestions))
        traits = np.ones((len(items), 1))
    else:
        items = [str(one) for one in (() if item_ids is None else item_ids)]
    labels = [label.name for label in audit.labels]
    row_of = {item: row for row, item in enumerate(items)}
    column_of = {label: column for column, label in enumerate(labels)}
    for one in suggestions:
        if one.item not in row_of:
            raise ValueError(f"item_ids: there is no {one.item!r}, for which a label is suggested")
    return Candidates(
        rows=np.array([row_of[one.item] for one in suggestions], dtype=np.intp),
        columns=np.array([column_of[one.label] for one in suggestions], dtype=np.intp),
        log_odds=prior_log_odds([one.probability for one in suggestions]),
        traits=traits,
        items=items,
        labels=labels,
    )


def item_traits(X: Any, n_traits: int = 12, random_state: int = 0) -> np.ndarray:
    """A constant and the leading principal scores of the features, each of mean square 1.

    Columns of dense features are standardised first; sparse ones are taken as they are, their rows
    scaled to length one, and nothing is centred.
    """
    n_items, n_features = X.shape
    rank = min(n_traits, n_features, n_items)
    if sparse.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        matrix = sparse.csr_array(sparse.diags_array(1 / np.maximum(lengths, 1e-12)) @ X)
    else:
        spread = X.std(axis=0)
        matrix = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores, values, _ = randomized_svd(matrix, rank, random_state=random_state)
    kept = scores[:, values > 1e-9 * max(values[0], 1e-300)] if rank else np.empty((n_items, 0))
    return np.column_stack([np.ones(n_items), np.sqrt(n_items) * kept])
