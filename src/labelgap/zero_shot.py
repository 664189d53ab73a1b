"""The contract of estimators that predict labels no training row carries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from labelgap import metrics
from labelgap.cooccurrence import (
    Cooccurrence,
    as_cooccurrence,
    count_cooccurrence,
    has_names,
    occurrences,
)
from labelgap.estimator import LabelGapClassifier, explained
from labelgap.labels import Labels, LabelWarning
from labelgap.labels.states import object_array
from labelgap.text import LabelVectors, label_texts

__all__ = ["ZeroShotClassifier", "prior_of_unconnected"]

LabelsName = Literal["all", "seen", "unseen"]


class ZeroShotClassifier(LabelGapClassifier):
    """Predict unseen labels from counts with seen ones, or from texts: base of such classifiers.

    A subclass writes, on validated input,

    - ``_fit(X, labels, cooccurrence)``: learn, from the :class:`labelgap.Labels` of the seen
      labels and a :class:`labelgap.cooccurrence.Cooccurrence` whose columns are in the order of
      ``classes_`` and whose rows are in the order of ``labels``;
    - ``_decision_function(X)`` and ``_predict_proba(X)``: of shape (n_samples, n_labels), over all
      labels in the order of ``classes_``.

    Of an unseen label nothing but its column of counts and its text is handed on: ``text_`` has
    the texts as numbers, in the order of ``classes_``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        All labels. In the order of ``Y`` when ``Y`` has all of them; otherwise the seen ones in
        the order of ``Y``, then the unseen ones in the order of the counts. Names, or columns of
        the counts when there are none.
    seen_ : bool ndarray of shape (n_labels,)
        Which of them are seen.
    text_ : LabelVectors or None
        Texts of labels as vectors, where there are texts.

    See Also
    --------
    labelgap.CooccurrenceVote, labelgap.MLLCS : Classifiers of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import CooccurrenceVote
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1], [1], [0], [0]])
    >>> model = CooccurrenceVote().fit(X, Y, cooccurrence=np.array([[20, 15]]))
    >>> model.predict(X, labels="unseen").ravel()
    array([1, 0, 0, 0])
    """

    def fit(self, X: Any, y: Any = None, cooccurrence: Any = None, label_text: Any = None) -> Self:
        """Learn from rows of features, their labels, and counts or texts of the labels they lack.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features), or texts
            A sequence of texts becomes features by :class:`labelgap.text.TextFeatures`; texts of
            labels are then read as those of items are.
        y : anything :func:`labelgap.as_labels` accepts, or a vector of classes
            Either the seen labels only, or :class:`labelgap.Labels` of all labels with the
            unseen ones marked (:meth:`labelgap.Labels.with_unseen`). Unknown entries are never
            read.
        cooccurrence : anything :func:`labelgap.cooccurrence.as_cooccurrence` accepts, default=None
            Counts of seen with all labels. They are matched with the labels of ``y`` by name
            where both have names. Otherwise by position: the rows are the seen labels of ``y``
            in their order; the columns are the labels of ``y`` when it has all of them, and else
            first the seen labels and then the unseen ones. By default the counts are those of
            ``y``, and labels without rows have none.
        label_text : sequence of n_labels texts, mapping from names to texts, or "names", default=None
            Names or definitions of all labels, in the order of ``classes_``, seen and unseen. Names
            in a mapping that neither ``y`` nor the counts have are new labels. None takes the
            texts of ``y`` (:meth:`labelgap.Labels.with_text`).

        Notes
        -----
        In a search, give a :class:`labelgap.cooccurrence.Cooccurrence`:
        ``GridSearchCV(...).fit(X, y, cooccurrence=counts)`` hands it to every fit as it is, while
        scikit-learn would cut a matrix that happens to have as many rows as ``X``. Give ``y``
        with the unseen labels marked, so that it has the columns of the predictions: scorers skip
        the unseen ones.
        """
        self._validate_params()
        X, labels = self._validate_fit(X, y)
        self.text_: LabelVectors | None = None
        labels, counts = self._match(labels, cooccurrence, label_text)
        with explained(self):
            self._fit(X, labels, counts)
        return self

    def decision_function(self, X: Any, labels: LabelsName = "all") -> np.ndarray:
        """Return scores of shape (n_samples, n_labels): the larger, the more relevant.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        labels : {"all", "seen", "unseen"}, default="all"
            The labels to predict, in the order of ``classes_``.
        """
        columns = self._restriction(labels)
        scores = self._decision_function(self._validate_predict(X))
        found = self.target_.scores(scores[:, columns])
        return self._framed(found, X, self.classes_[columns])

    def predict_proba(self, X: Any, labels: LabelsName = "all") -> np.ndarray:
        """Return the probability of each label; parameters as in :meth:`decision_function`."""
        columns = self._restriction(labels)
        probabilities = self._predict_proba(self._validate_predict(X))
        found = self.target_.probabilities(probabilities[:, columns])
        return self._framed(found, X, self.classes_[columns])

    def predict(self, X: Any, labels: LabelsName = "all") -> np.ndarray:
        """Return labels of 0 and 1, or classes; parameters as in :meth:`decision_function`."""
        columns = self._restriction(labels)
        found = self._decide(self._validate_predict(X), columns)
        return self._framed(found, X, self.classes_[columns])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the label ranking average precision of observed entries; accuracy of a vector.

        ``y`` has a column for each of ``classes_``, or one for each seen label.
        """
        check_is_fitted(self)
        if self.target_.kind == "multilabel" and sample_weight is None and not self.seen_.all():
            labels = self.target_.read(y)
            if labels.n_labels == self.seen_.sum():
                scores = self._numbers(self.decision_function(X, labels="seen"))
                return metrics.label_ranking_average_precision(labels, scores)
        return super().score(X, y, sample_weight)

    def _fit(self, X: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} must implement _fit")

    def _restriction(self, labels: str) -> Any:
        check_is_fitted(self)
        if labels not in ("all", "seen", "unseen"):
            raise ValueError(f"labels={labels!r}: use 'all', 'seen' or 'unseen'")
        if labels == "all":
            return slice(None)
        if self.target_.kind != "multilabel":
            raise ValueError(
                f"labels={labels!r}: the target is a vector of classes, all of them seen; use 'all'"
            )
        return self.seen_ if labels == "seen" else ~self.seen_

    def _match(
        self, labels: Labels, cooccurrence: Any, label_text: Any
    ) -> tuple[Labels, Cooccurrence]:
        """The seen labels and the counts in the order of all labels; sets what fit promises."""
        has_text = label_text is not None or labels.texts is not None
        if cooccurrence is None and not has_text and not labels.unseen.any():
            self.seen_ = np.ones(len(self.classes_), dtype=bool)
            return labels, count_cooccurrence(labels)
        if self.target_.kind != "multilabel":
            given = "label_text" if cooccurrence is None else "cooccurrence"
            raise ValueError(
                f"{given}: y is a vector of classes, which exclude each other; give a label "
                f"matrix, or leave {given} out"
            )
        if cooccurrence is None and not has_text:
            _refuse_unseen(labels)
        has_all = bool(labels.unseen.any()) or cooccurrence is None
        seen_labels = labels[:, ~labels.unseen] if has_all else labels
        if cooccurrence is None:
            counts = _not_counted(labels)
        else:
            find = _all_labels if has_all else _seen_first
            counts = find(labels, cooccurrence)
        counts = _with_new_labels(counts, label_text)
        names, is_seen = counts.names, np.zeros(counts.n_labels, dtype=bool)
        is_seen[counts.seen] = True
        classes = np.arange(counts.n_labels) if names is None else names
        if not has_all:
            order = np.concatenate([counts.seen, counts.unseen])
            classes, is_seen = classes[order], is_seen[order]
            counts = counts.columns(order if names is None else names[order])
        self.classes_, self.seen_ = classes, is_seen
        self.target_ = replace(self.target_, classes=classes)
        if has_text:
            self.text_ = self._vectors(labels, counts, label_text)
        return seen_labels, counts

    def _vectors(self, labels: Labels, counts: Cooccurrence, label_text: Any) -> LabelVectors:
        texts = _texts_in_order(labels, counts, label_text)
        encoder = getattr(self, "text_encoder", None)
        if self.frame_reader_ is not None and self.frame_reader_.text_features is not None:
            encoder = self.frame_reader_.text_features
        return LabelVectors.of(texts, encoder, self.n_features_in_)


def prior_of_unconnected(labels: Labels, cooccurrence: Cooccurrence) -> np.ndarray:
    """Return the probability of each unseen label as long as nothing connects it, (n_unseen,).

    The smoothed prevalence ``p / (n_u + 1)`` of a label that was found in none of the ``n_u``
    items in which it could have been: ``n_u`` is the sum of ``n_s`` over the seen labels with
    which it was counted, and ``p`` the fraction of relevant entries among all observed ones, as in
    :class:`labelgap.baselines.LabelPrior`. It is ``p`` itself when all counts are missing.

    Parameters
    ----------
    labels : Labels
        The seen labels.
    cooccurrence : Cooccurrence
        Counts of the seen labels with all labels.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.cooccurrence import as_cooccurrence
    >>> from labelgap.zero_shot import prior_of_unconnected
    >>> labels = as_labels([[1, 0], [0, 1], [1, 0]])
    >>> prior_of_unconnected(labels, as_cooccurrence([[2, 0, 1], [0, 1, 0]])).round(3)
    array([0.125])
    """
    n_relevant = labels.n_positives()
    fraction = (n_relevant + 0.5) / (labels.n_observed(unlabeled=True) + 1)
    n_items = occurrences(cooccurrence)
    not_counted = cooccurrence.missing[:, cooccurrence.unseen].T @ n_items
    return fraction / (n_items.sum() - not_counted + 1)


def _refuse_unseen(labels: Labels) -> None:
    first = int(np.flatnonzero(labels.unseen)[0])
    name = first if labels.names is None else repr(labels.names[first])
    raise ValueError(
        f"Y marks label {name} as unseen, but there is no cooccurrence to predict it from: give "
        "counts of seen with all labels, or texts (label_text), or leave the column out with "
        "Y[:, ~Y.unseen]"
    )


def _with_new_labels(counts: Cooccurrence, label_text: Any) -> Cooccurrence:
    """Counts with a column, all of it missing, for each name in a mapping that they lack."""
    if not isinstance(label_text, Mapping) or counts.names is None:
        return counts
    new = [name for name in label_text if name not in set(counts.names)]
    empty = sparse.csr_array((counts.n_seen, len(new)), dtype=counts.counts.dtype)
    missing = sparse.csr_array(np.ones((counts.n_seen, len(new)), dtype=bool))
    with warnings.catch_warnings():
        # their texts stand in for counts
        warnings.simplefilter("ignore", LabelWarning)
        return Cooccurrence(
            sparse.csr_array(sparse.hstack([counts.counts, empty])),
            counts.seen,
            object_array([*counts.names, *new]),
            sparse.csr_array(sparse.hstack([counts.missing, missing])),
        )


def _not_counted(labels: Labels) -> Cooccurrence:
    """The counts of the rows themselves, and none of the unseen labels."""
    seen = np.flatnonzero(~labels.unseen)
    counts = count_cooccurrence(labels[:, seen].with_names(None)).counts.tocoo()
    shape = (seen.size, labels.n_labels)
    table = sparse.csr_array((counts.data, (counts.row, seen[counts.col])), shape=shape)
    missing = np.zeros(shape, dtype=bool)
    missing[:, labels.unseen] = True
    with warnings.catch_warnings():
        # their texts stand in for counts
        warnings.simplefilter("ignore", LabelWarning)
        return Cooccurrence(table, seen, labels.names, sparse.csr_array(missing))


def _texts_in_order(labels: Labels, counts: Cooccurrence, label_text: Any) -> list[str]:
    """One text per label, in the order of the columns of the counts."""
    n_labels, names = counts.n_labels, counts.names
    if isinstance(label_text, str) and label_text != "names":
        raise ValueError(f"label_text={label_text!r}: give one text per label, or 'names'")
    stand_in = Labels(sparse.csr_array((1, n_labels), dtype=np.int8), names=names)
    if labels.texts is not None:
        own = labels.texts if labels.n_labels == n_labels else [*labels.texts]
        own = [*own, *[None] * (n_labels - len(own))]
        stand_in = stand_in.with_text(own)
    return label_texts(stand_in, None if isinstance(label_text, str) else label_text)


def _all_labels(labels: Labels, cooccurrence: Any) -> Cooccurrence:
    """Counts whose columns are those of labels that have all of them."""
    seen, names = np.flatnonzero(~labels.unseen), labels.names
    if names is not None and has_names(cooccurrence):
        return as_cooccurrence(cooccurrence, seen_names=names[seen], label_names=names)
    if isinstance(cooccurrence, Cooccurrence) or has_names(cooccurrence):
        counts = as_cooccurrence(cooccurrence)
        _check_shape(counts, seen.size, labels.n_labels)
        counts = counts.rows(seen if counts.names is None else counts.names[seen])
    else:
        _check_shape(cooccurrence, seen.size, labels.n_labels)
        counts = as_cooccurrence(cooccurrence, seen=seen)
    return counts if names is None else replace(counts, names=names)


def _seen_first(labels: Labels, cooccurrence: Any) -> Cooccurrence:
    """Counts whose rows are those of labels that have the seen ones only."""
    if labels.names is not None:
        return as_cooccurrence(cooccurrence, seen_names=labels.names)
    counts = as_cooccurrence(cooccurrence)
    _check_shape(counts, labels.n_labels, counts.n_labels)
    return counts


def _check_shape(counts: Any, n_seen: int, n_labels: int) -> None:
    given = np.shape(counts)
    if isinstance(counts, Cooccurrence):
        given = (counts.n_seen, counts.n_labels)
    if given != (n_seen, n_labels):
        raise ValueError(
            f"cooccurrence has shape {given}, but Y asks for ({n_seen}, {n_labels}): one row per "
            "seen label of Y and one column per label; with names on both sides rows are picked"
        )
