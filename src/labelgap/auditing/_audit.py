"""The audit itself: from features and labels to everything that is known of the gaps."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from labelgap.auditing._audit_input import (
    AuditInput,
    FeatureRows,
    Zeros,
    check_input,
    check_kinds,
    feature_rows,
    fingerprint,
    text_match,
)
from labelgap.auditing._audit_result import (
    Audit,
    AuditSummary,
    DataSource,
    Estimate,
    MissingEstimate,
    Provenance,
)
from labelgap.auditing._audit_text import gaps_in_words, sentences_of
from labelgap.auditing._entry_probabilities import entry_probabilities
from labelgap.auditing._label_and_item_quality import (
    calibration_curve,
    claim_bins,
    item_audit,
    label_audits,
    learning_curve,
    unopened_items,
)
from labelgap.auditing._label_pairs import pair_audit
from labelgap.auditing._loss_model import LossModel, estimate_loss
from labelgap.auditing._missing_labels import FEW, missing_labels
from labelgap.auditing._out_of_fold import OutOfFold, ScoreSource
from labelgap.auditing._review_decisions import ReviewDecisions
from labelgap.auditing._score_counts import Advance, count_scores, silent
from labelgap.auditing._suggestion_evidence import make_suggestions
from labelgap.auditing._topics_and_features import find_topics, select_features
from labelgap.auditing._wrong_positives import wrong_positives


@dataclass(eq=False)
class _AuditRun:
    """What accompanies an audit: randomness, progress, and seconds per stage."""

    rng: np.random.Generator
    advance: Advance
    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = round(now - self.last, 3)
        self.last = now


def audit(
    X: Any,
    Y: Any = None,
    *,
    item_ids: Sequence[Any] | np.ndarray | None = None,
    feature_names: Sequence[str] | None = None,
    zeros: Zeros = "auto",
    imputer: Any = None,
    pred_probs: Any = None,
    estimator: Any = None,
    item_text: Sequence[str] | None = None,
    label_text: Any = None,
    text_encoder: Any = None,
    n_suggestions: int = 1000,
    n_topics: int | None = None,
    n_selected: int | None = None,
    scale: bool = True,
    decisions: ReviewDecisions | None = None,
    dates: Sequence[Any] | np.ndarray | None = None,
    annotators: Sequence[Any] | np.ndarray | None = None,
    complete: Sequence[Any] | np.ndarray | None = None,
    random_state: int | None = 0,
    progress: Advance | None = None,
    client: Any = None,
    command: str = "labelgap.audit(X, Y)",
    sources: Sequence[DataSource] = (),
) -> Audit:
    """Find out what kind of gaps labels have, and which labels are probably missing.

    Models predict every label from the features, and from the other labels of the item; every entry
    is scored by models that were fitted without its item. Items without a label are scored from
    their features alone: perhaps nobody opened them. One table does not tell how its labels got
    lost, so that the number of missing ones comes with the range over several mechanisms.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_items, n_features), texts, Dataset, or None
        A :class:`labelgap.data.Dataset` brings labels, ids and names of features. A sequence of
        texts, or a column of them, is ``item_text`` as well. Rows in blocks are a folder, Parquet
        files or Dask arrays (:func:`labelgap.fitting.row_source`); labels are then in memory and
        features are read a block at a time. None needs ``pred_probs``, or
        ``item_text``, which then gives the features too.
    Y : labels, default=None
        Whatever :func:`labelgap.as_labels` takes; None takes those of the data set.
    item_ids, feature_names : sequences, default=None
        None calls items by number, and features by number or the columns of a data frame. Ids must
        differ, also as strings.
    zeros : {"auto", "negative", "unlabeled"}, default="auto"
        Whether a zero may be a missing label. "auto": where the labels say so, and where there are
        no unknown entries, since a table that marks the unknown ones has meaningful zeros.
    imputer : Imputer, default=None
        Predicts labels from the features and the other labels of the item. None is
        :class:`labelgap.imputers.RidgeImputer`, which leaves out one row at a time. All other
        imputers are cross-fitted, get X as it is, and give no evidence from features and
        co-occurring labels.
    pred_probs : array of shape (n_items, n_labels), default=None
        Probabilities of labels from a model of yours that did not see the item (cleanlab's
        convention). They take the place of the models of the features.
    estimator : classifier or estimator, default=None
        Predicts labels from the features alone, cross-fitted: a classifier of scikit-learn, one per
        label, or an estimator of this library. None takes logistic regressions and trees, or one
        ridge regression for large tables.
    item_text : sequence of n_items texts, default=None
        What items say: how near their words are to each label takes part in its probability, as
        :class:`labelgap.text.TextEntryModel` learns it, and is evidence.
    label_text : sequence of n_labels texts, or mapping from names to texts, default=None
        Definitions of labels, beside their names. None takes those of the labels
        (:meth:`labelgap.Labels.with_text`).
    text_encoder : {"static", "tfidf"} or object with ``encode``, default=None
        See :func:`labelgap.text.check_encoder`.
    n_suggestions : int, default=1000
        How many probably missing labels to list.
    n_topics, n_selected : int, default=None
        Also find so many topics of the labels, and so many features worth keeping.
    scale : bool, default=True
        Whether to scale features: standardised when dense, rows of unit length when sparse.
    decisions : ReviewDecisions, default=None
        Decisions about suggestions of earlier audits; see :func:`read_decisions`.
    dates : sequence of n_items dates or numbers, default=None
        When each item was labelled: entries from before a label was first used are unknown.
    annotators : sequence of length n_items, default=None
        Who labelled each item: who records fewer labels than the features predict has missed more.
    complete : sequence of n_items flags, default=None
        Which items have all their labels: their zeros are negative.
    random_state : int or None, default=0
    progress : callable, default=None
        Called with the stage, how much is done, and of how much (None: not known).
    client : distributed.Client or "running", default=None
        Where sums over rows in blocks are computed. Dask arrays take the client in use.
    command : str, default="labelgap.audit(X, Y)"
        Noted in the provenance, as are the sources.
    sources : sequence of DataSource, default=()

    Returns
    -------
    Audit

    See Also
    --------
    labelgap.impute : All probable entries as arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import audit
    >>> X, Y = make_multilabel_classification(n_samples=600, n_classes=10, random_state=0)
    >>> kept = np.random.default_rng(0).random(Y.shape) < 0.6
    >>> result = audit(X, Y * kept, n_suggestions=20)
    >>> result.summary.gaps, result.missing.identified
    ('unlabeled', False)
    >>> result.missing.low < (Y * ~kept).sum() < result.missing.high
    np.True_
    >>> bool(np.mean([Y[int(s.item), int(s.label)] for s in result.suggestions]) > 0.8)
    True
    """
    counts = {"n_suggestions": n_suggestions, "n_topics": n_topics, "n_selected": n_selected}
    check_kinds(zeros=zeros, scale=scale, decisions=decisions, progress=progress, **counts)
    if n_suggestions < 1:
        raise ValueError(f"n_suggestions={n_suggestions}: ask for at least one")
    source = ScoreSource(imputer, estimator, pred_probs)
    if pred_probs is not None and estimator is not None:
        raise ValueError("pred_probs and estimator both score entries from features: give one")
    if X is None:
        X = _features_of(item_text, pred_probs)
    run = _AuditRun(np.random.default_rng(random_state), progress or silent)
    history = {"dates": dates, "annotators": annotators, "complete": complete}
    options = {"history": history, "text_encoder": text_encoder, "client": client}
    checked = check_input(X, Y, item_ids, feature_names, zeros, decisions, **options)
    seed = int(run.rng.integers(2**31 - 1))
    rows = feature_rows(checked.X, checked.feature_names, scale=scale, random_state=seed)
    source = source._replace(text=text_match(checked, item_text, label_text, text_encoder))
    run.lap("preparing")
    model = OutOfFold(source, checked, rows, run.rng, run.advance)
    run.lap("fitting")
    parts = _describe(checked, model, n_suggestions, run)
    parts |= _extras(checked, rows, n_topics, n_selected, seed, run)
    provenance = Provenance(
        command=command,
        version=_version(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        random_state=random_state,
        model=model.in_words(),
        settings={
            "zeros": zeros,
            "n_suggestions": n_suggestions,
            "n_topics": n_topics,
            "n_selected": n_selected,
            "scale": scale,
            **model.settings(),
        },
        sources=tuple(sources),
        data_sha256=fingerprint(rows, checked),
        n_decisions=checked.n_decisions,
        seconds=run.seconds,
    )
    return Audit(audit_id=_audit_id(provenance), provenance=provenance, **parts)


def _describe(
    checked: AuditInput, model: OutOfFold, n_suggestions: int, run: _AuditRun
) -> dict[str, Any]:
    """Return the parts of every audit."""
    labels, advance = checked.labels, run.advance
    loss = estimate_loss(model, checked, advance)
    run.lap("how labels were lost")
    entries = entry_probabilities(model, checked, loss, n_suggestions, advance)
    counts = count_scores(model.score_blocks(), checked.part, advance, checked.decided_part)
    wrong = wrong_positives(model, checked, advance)
    run.lap("scoring")
    suggestions = make_suggestions(model, checked, entries.top, advance)
    run.lap("evidence")
    pairs = pair_audit(model.rows, labels, checked.names, model.feature_penalty, advance)
    run.lap("pairs")
    curve = learning_curve(model.held_out_scores, checked.part, run.rng, advance)
    run.lap("learning curve")
    missing = missing_labels(checked, loss, entries)
    by_label = label_audits(checked, counts, loss, entries.by_label)
    items, unopened = item_audit(labels, checked.items, entries), unopened_items(checked, entries)
    summary = _summary(checked, model.rows, loss, missing)
    n_unopened = float(entries.unopened.sum())
    sentences = sentences_of(summary, missing, by_label, items, pairs, suggestions, n_unopened)
    run.lap("labels and items")
    return {
        "summary": replace(summary, sentences=sentences),
        "missing": missing,
        "labels": by_label,
        "items": items,
        "pairs": pairs,
        "suggestions": suggestions,
        "unopened_items": unopened,
        "wrong_positives": wrong,
        "claims": claim_bins(entries.top),
        "learning_curve": curve,
        "calibration": calibration_curve(counts),
    }


def _extras(
    checked: AuditInput,
    rows: FeatureRows,
    n_topics: int | None,
    n_selected: int | None,
    seed: int,
    run: _AuditRun,
) -> dict[str, Any]:
    """Return topics and selected features, where they were asked for."""
    how: Any = {"random_state": seed, "progress": run.advance}
    extras: dict[str, Any] = {}
    if n_topics is not None:
        run.advance("finding topics", 0, None)
        extras["topics"], trace = find_topics(rows, checked.part, n_topics, **how)
        extras["convergence"] = (trace,)
        run.lap("topics")
    if n_selected is not None:
        run.advance("selecting features", 0, None)
        extras["selected_features"] = select_features(rows, checked.part, n_selected, **how)
        run.lap("features")
    return extras


def _summary(
    checked: AuditInput, rows: FeatureRows, loss: LossModel, missing: MissingEstimate
) -> AuditSummary:
    labels = checked.labels
    n_cells = labels.n_samples * labels.n_labels
    n_unknown = n_cells - labels.n_observed(unlabeled=True)
    frequency, n = None, labels.n_positives()
    if checked.part.unlabeled:
        value, low, high = (n / max(n + m, 1) for m in (missing.value, missing.high, missing.low))
        frequency = Estimate(value, low, high)
    if frequency is not None and missing.high >= FEW * n:
        gaps = "both" if n_unknown else "unlabeled"
    else:
        gaps = "unknown" if n_unknown else "none"
    confident = loss.overall if checked.part.unlabeled else None
    return AuditSummary(
        n_items=labels.n_samples,
        n_labels=labels.n_labels,
        n_features=rows.scaled.shape[1],
        n_positive=n,
        n_unknown=n_unknown,
        gaps=gaps,  # type: ignore[arg-type]
        gaps_in_words=gaps_in_words(n_unknown, n_cells, confident, stated=checked.stated_unlabeled),
        label_frequency=frequency,
        sentences=(),
    )


def _features_of(item_text: Any, pred_probs: Any) -> Any:
    """Return features of items without any: their texts, or no columns at all."""
    if item_text is not None:
        return item_text
    if pred_probs is None:
        raise ValueError(
            "X is None: give features, item_text, or pred_probs from a model that saw some"
        )
    return np.empty((len(pred_probs), 0))


def _audit_id(provenance: Provenance) -> str:
    """Return the same for the same data and settings, whenever and wherever it was made."""
    names = ("data_sha256", "version", "random_state", "settings")
    parts = [getattr(provenance, name) for name in names]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _version() -> str:
    from labelgap import __version__

    return __version__
