"""Labels without a row, during and after a fit of ML-LCS."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelgap.cooccurrence import Cooccurrence, occurrences
from labelgap.labels import Labels
from labelgap.models.mllcs import (
    _constrained,
    _extend,
    _prepare,
    _sampling,
    _uncertainty,
    _unseen,
)
from labelgap.models.mllcs._counts import Counts
from labelgap.models.mllcs._model import Params, with_ones
from labelgap.zero_shot import ZeroShotClassifier, prior_of_unconnected

_MOST_ANCHORS = 20_000
_STEPS = 60
# labels that come later are wanted at once
_ANCHORS_LATER, _STEPS_LATER = 4_000, 20
_PRETENDED = 50


class UnseenLabels(ZeroShotClassifier):
    """The part of :class:`MLLCS` that gives factors to labels from their counts."""

    params_: Params
    samples_: Any
    _precision: np.ndarray
    _count_columns: np.ndarray
    _count_offset: float
    count_weight: float
    diagonal: bool
    lambda_beta: float
    lambda_map: float
    slack: float
    unseen: str

    def _factors(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def _teacher(self, cooccurrence: Cooccurrence) -> _constrained.Teacher:
        """What gives the training rows soft labels of the unseen ones."""
        unseen = cooccurrence.unseen
        scale = _unseen.corpus_scale(self._anchors, self._corpus_counts)
        targets = cooccurrence.dense(missing=0.0)[:, unseen] / np.maximum(scale, 1e-12)[:, None]
        start = _unseen.LabelFactors(self.label_factors_[unseen], self.label_bias_[unseen])
        return _constrained.tilted_labels(
            self._anchors,
            self.params_.weights,
            targets,
            cooccurrence.observed[:, unseen],
            start,
            self.lambda_map,
            self.slack,
        )

    def _with_unseen(self, params: Params, cooccurrence: Cooccurrence) -> Params:
        """Parameters whose seen labels are followed by the unseen ones."""
        order = np.concatenate([cooccurrence.seen, cooccurrence.unseen])
        return params._replace(factors=self.label_factors_[order], bias=self.label_bias_[order])

    def _take_unseen(self, params: Params, source: Any, cooccurrence: Cooccurrence) -> None:
        """Take over a fit with soft labels; labels without counts keep their prior."""
        connected = np.nan_to_num(cooccurrence.dense()).sum(axis=0) > 0
        order = np.concatenate([cooccurrence.seen, cooccurrence.unseen])
        kept = np.ones(order.size, dtype=bool)
        kept[cooccurrence.n_seen :] = connected[cooccurrence.unseen]
        self.label_factors_[order[kept]] = params.factors[kept]
        self.label_bias_[order[kept]] = params.bias[kept]
        n_seen = cooccurrence.n_seen
        self.params_ = self.params_._replace(
            factors=params.factors[:n_seen], bias=params.bias[:n_seen], weights=params.weights
        )
        self._anchors = _prepare.gather_anchors(source, params.weights, _MOST_ANCHORS)
        self.rule_error_ = self._rule_error(cooccurrence)

    def _finish(self, source: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:
        """Factors of all labels, and what is kept for those that come later."""
        if not self.count_weight and self.unseen in ("linear", "kernel"):
            offset, diagonal = self._count_offset, self.diagonal
            self.params_ = _extend.with_count_factors(
                self.params_, cooccurrence, offset, self.lambda_beta, diagonal=diagonal
            )
        params = self.params_
        n_labels, k = cooccurrence.n_labels, params.factors.shape[1]
        self.label_factors_ = np.zeros((n_labels, k), dtype=params.factors.dtype)
        self.label_bias_ = np.zeros(n_labels, dtype=params.factors.dtype)
        self.label_factors_[cooccurrence.seen] = params.factors
        self.label_bias_[cooccurrence.seen] = params.bias
        self._anchors = _prepare.gather_anchors(source, params.weights, _MOST_ANCHORS)
        self._corpus_counts = occurrences(cooccurrence)
        self._folded_in: dict[int, np.ndarray] = {}
        self._share = (labels.n_positives() + 0.5) / (labels.n_observed(ambiguous=True) + 1)
        self._prior_logit = _logit(prior_of_unconnected(labels, cooccurrence))
        unseen = cooccurrence.unseen
        if unseen.size:
            table = cooccurrence.dense()[:, unseen]
            found = self._guess(table, self._prior_logit)
            self.label_factors_[unseen], self.label_bias_[unseen] = found
        self.rule_error_ = self._rule_error(cooccurrence)

    def _guess(
        self,
        table: np.ndarray,
        prior_logit: np.ndarray,
        left_out: np.ndarray | None = None,
        n_anchors: int = _MOST_ANCHORS,
        max_iter: int = _STEPS,
    ) -> _unseen.LabelFactors:
        """(v, b) of labels with these counts (n_seen, n_new), NaN where one is missing.

        ``left_out`` are seen labels that the rule must not learn from; moments are matched on at
        most ``n_anchors`` rows, in at most ``max_iter`` steps.
        """
        k = self.params_.factors.shape[1]
        weights, values = (~np.isnan(table)).astype(float), np.nan_to_num(table)
        if self.unseen in ("moments", "constrained"):
            found = _unseen.match_moments(
                _unseen.thinned(self._anchors, n_anchors),
                values,
                weights,
                self._corpus_counts,
                self.lambda_map,
                max_iter=max_iter,
            )
        else:
            found = self._map(values, weights, left_out)
        connected = (values * weights).sum(axis=0) > 0
        factors, bias = np.zeros((table.shape[1], k)), prior_logit.copy()
        factors[connected], bias[connected] = found.factors[connected], found.bias[connected]
        return _unseen.LabelFactors(factors, bias)

    def _map(
        self, values: np.ndarray, weights: np.ndarray, left_out: np.ndarray | None
    ) -> _unseen.LabelFactors:
        params = self.params_
        counts = Counts(values, weights, self._count_columns, self._count_offset)
        new = _extend.count_factors(counts, params, self.lambda_beta)
        known = np.column_stack([params.beta, params.column_bias])[self._count_columns]
        kept = np.ones(len(known), dtype=bool)
        if left_out is not None:
            kept[left_out] = False
        targets = _unseen.LabelFactors(params.factors[kept], params.bias[kept])
        rule: Any = self.unseen
        return _unseen.map_labels(known[kept], targets, new, rule, self.lambda_map)

    def _unconnected(self, table: np.ndarray) -> np.ndarray:
        """:func:`labelgap.zero_shot.prior_of_unconnected`, as log odds, for a table of counts."""
        return _logit(self._share / ((~np.isnan(table)).T @ self._corpus_counts + 1))

    def _rule_error(self, cooccurrence: Cooccurrence) -> float:
        """How far psi is off when some seen labels are treated as if they were unseen."""
        n_seen = cooccurrence.n_seen
        if n_seen == 1:
            return np.inf
        # a map needs others to be learned from
        n_chosen = min(max(n_seen // 2, 1), _PRETENDED)
        chosen = np.unique(np.linspace(0, n_seen - 1, n_chosen).astype(int))
        table = cooccurrence.dense()[:, cooccurrence.seen[chosen]]
        # of itself an unseen label would have no count
        table[chosen, np.arange(chosen.size)] = np.nan
        guessed = self._guess(table, self._unconnected(table), chosen)
        own = _unseen.LabelFactors(self.params_.factors[chosen], self.params_.bias[chosen])
        sample = self._anchors.factors[:: max(1, len(self._anchors.factors) // 1000)]
        off = sample @ (guessed.factors - own.factors).T + (guessed.bias - own.bias)
        return float(np.sqrt(np.square(off).mean()))

    # -- labels that come later ---------------------------------------------------------------

    def add_labels(self, counts: Any, names: Any = None) -> Self:
        """Make new labels predictable, given only their co-occurrence counts with seen labels.

        Nothing is fitted again: the factors of all other labels stay as they are.

        Parameters
        ----------
        counts : array of shape (n_seen,) or (n_seen, n_new), sparse matrix, or frame
            One row per seen label, in the order of ``classes_[seen_]`` (a frame may name them in
            its index); NaN where nobody counted.
        names : sequence of n_new names, optional for a frame
        """
        check_is_fitted(self)
        self._restriction("seen")  # refuses vector targets
        table, names = _extend.new_counts(counts, names, np.asarray(self.classes_), self.seen_)
        prior = self._unconnected(table)
        found = self._guess(table, prior, n_anchors=_ANCHORS_LATER, max_iter=_STEPS_LATER)
        if self.samples_ is not None:
            _sampling.add_labels(self, table, prior)
        self.label_factors_ = np.vstack([self.label_factors_, found.factors])
        self.label_bias_ = np.append(self.label_bias_, found.bias)
        self.classes_ = np.append(np.asarray(self.classes_, dtype=object), names)
        self.seen_ = np.append(self.seen_, np.zeros(len(names), dtype=bool))
        self.target_ = replace(self.target_, classes=self.classes_)
        return self

    def fold_in(self, X: Any, Y: Any, labels: Any) -> Self:
        """Improve the factors of some labels by rows in which they have become known.

        The factors of an unseen label lean towards what its counts say, the more so the smaller
        ``rule_error_`` is; those of a seen label towards what its training rows said. Nothing
        else changes.

        Parameters
        ----------
        X : rows of features
        Y : array of shape (n_rows,) or (n_rows, len(labels))
            1, 0, or NaN where still unknown.
        labels : sequence of names from ``classes_``, or one name
        """
        X = self._validate_predict(X)
        if self.samples_ is not None:
            raise ValueError("fold_in needs a fit by EM; with inference='gibbs' fit again")
        self._restriction("seen")  # refuses vector targets
        wanted = [labels] if np.ndim(labels) == 0 else list(labels)
        positions = {name: position for position, name in enumerate(self.classes_)}
        for name in wanted:
            if name not in positions:
                raise ValueError(f"labels: {name!r} is none of classes_; add it with add_labels")
        states = _extend.known_states(Y, X.shape[0], len(wanted))
        factors = self._factors(X)
        for column, name in enumerate(wanted):
            label = positions[name]
            prior = _unseen.LabelFactors(
                self.label_factors_[[label]].astype(float), self.label_bias_[[label]].astype(float)
            )
            precision = self._label_precision(label)
            found, precision = _extend.updated_label(factors, states[:, column], prior, precision)
            self.label_factors_[label], self.label_bias_[label] = found[:-1], found[-1]
            self._folded_in[label] = precision
        return self

    def _label_precision(self, label: int) -> np.ndarray:
        """Precision of (v, b) of one label before further rows."""
        k = self.label_factors_.shape[1]
        if label in self._folded_in:
            return self._folded_in[label]
        if self.seen_[label]:
            row = int(self.seen_[:label].sum())
            return _uncertainty.unpack(self._precision[[row]].astype(float), k + 1)[0]
        # an error of psi, spread over directions as rows use them
        sample = with_ones(self._anchors.factors.astype(float))
        spread = sample.T @ sample / len(sample) / max(self.rule_error_**2, 1e-6)
        return spread / (k + 1) + 1e-6 * np.eye(k + 1)


def _logit(probability: np.ndarray) -> np.ndarray:
    clipped = np.clip(probability, 1e-9, 1 - 1e-9)
    return np.log(clipped / (1 - clipped))
