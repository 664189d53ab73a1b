"""All entries that are probably relevant though not recorded, not only the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from labelgap.auditing._audit_input import (
    Zeros,
    check_input,
    check_kinds,
    feature_rows,
    text_match,
)
from labelgap.auditing._entry_probabilities import entry_probabilities
from labelgap.auditing._loss_model import estimate_loss
from labelgap.auditing._missing_labels import shows_missing
from labelgap.auditing._out_of_fold import OutOfFold, ScoreSource
from labelgap.auditing._review_decisions import ReviewDecisions
from labelgap.auditing._score_counts import Advance, silent


class ImputedEntries(NamedTuple):
    """Entries by falling probability of being relevant: rows, positions of labels, probabilities.

    See Also
    --------
    labelgap.impute : Makes one, with an example.
    """

    rows: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray


def impute(
    X: Any,
    Y: Any = None,
    imputer: Any = None,
    *,
    threshold: float = 0.5,
    max_entries: int = 1_000_000,
    zeros: Zeros = "auto",
    scale: bool = True,
    item_ids: Sequence[Any] | np.ndarray | None = None,
    item_text: Sequence[str] | None = None,
    label_text: Any = None,
    text_encoder: Any = None,
    decisions: ReviewDecisions | None = None,
    random_state: int | None = 0,
    progress: Advance | None = None,
    client: Any = None,
) -> ImputedEntries:
    """Return the unknown entries and unlabeled zeros that are relevant with some probability.

    Zeros of a table without unknown entries are returned only where the table itself shows that
    labels are missing: where :attr:`labelgap.Audit.missing` begins at 5% of the recorded ones or
    more. Elsewhere the probabilities of the audit rest on the assumption that some are missing,
    which ``zeros="unlabeled"`` makes.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), Dataset, or rows in blocks
        This and the parameters without an explanation are as in :func:`labelgap.audit`.
    Y : labels, default=None
    imputer : Imputer, default=None
        Gives the probabilities, as in :func:`labelgap.audit`.
    threshold : float, default=0.5
        The probability that an entry must exceed.
    max_entries : int, default=1_000_000
        At most so many entries, the most probable.
    zeros : {"auto", "negative", "unlabeled"}, default="auto"
        "unlabeled" returns zeros also where the table does not show that labels are missing.
    scale : bool, default=True
    item_ids : sequence of length n_items, default=None
    item_text, label_text, text_encoder : default=None
    decisions : ReviewDecisions, default=None
        Entries that reviewers decided are not imputed again.
    random_state : int or None, default=0
    progress : callable, default=None
    client : distributed.Client or "running", default=None

    Returns
    -------
    ImputedEntries

    See Also
    --------
    labelgap.audit : The same probabilities with evidence, and the gaps as a whole.
    labelgap.Mend : A classifier trained with imputed labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import impute
    >>> X, Y = make_multilabel_classification(n_samples=300, random_state=0)
    >>> gaps = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)
    >>> rows, labels, probabilities = impute(X, gaps)
    >>> bool(np.isnan(gaps[rows, labels]).all()), float(Y[rows, labels].mean().round(1))
    (True, 0.8)
    """
    check_kinds(zeros=zeros, scale=scale, decisions=decisions, progress=progress)
    check_kinds(threshold=threshold, max_entries=max_entries)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold={threshold}: must lie between 0 and 1")
    advance = progress or silent
    rng = np.random.default_rng(random_state)
    options = {"text_encoder": text_encoder, "client": client}
    checked = check_input(X, Y, item_ids, None, zeros, decisions, **options)
    rows = feature_rows(checked.X, scale=scale, random_state=int(rng.integers(2**31 - 1)))
    text = text_match(checked, item_text, label_text, text_encoder)
    model = OutOfFold(ScoreSource(imputer, text=text), checked, rows, rng, advance)
    loss = estimate_loss(model, checked, advance)
    entries = entry_probabilities(model, checked, loss, max_entries, advance)
    top = entries.top
    kept = top.probabilities > threshold
    said_unlabeled = zeros == "unlabeled" or checked.stated_unlabeled
    if not said_unlabeled and not shows_missing(checked, loss, entries):
        kept &= top.unknown
    labels = checked.modelled[top.labels[kept]]
    return ImputedEntries(top.rows[kept], labels, top.probabilities[kept])
