"""What a fitted Mend predicts: by one classifier per label, or by several kinds of models."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import log_odds, mean_log_odds
from labelgap.mend._imputed_labels import ImputedLabels
from labelgap.mend._known_labels import ResidualCorrelation
from labelgap.mend._portfolio import Portfolio
from labelgap.mend._selection import ValidationResult
from labelgap.mend._stored_portfolio import StoredMember
from labelgap.mend._text_step import TextRows, TextStep, without_texts
from labelgap.one_vs_rest import ConstantLabel, all_scores, readable_by_workers
from labelgap.propensity import relevance_log_odds

# of blocks that a member goes through by itself
_MOST_ROWS = 50_000


class MendPredictions(LabelGapClassifier):
    """The half of Mend that predicts; the other half fits what is named here."""

    # with fewer there is one classifier per label: five folds would say little
    _fewest_rows: ClassVar[int] = 100

    estimators_: list
    plain_estimators_: dict[int, Any]
    imputed_: ImputedLabels
    validation_: ValidationResult | None
    label_frequency_: Any
    thresholds_: np.ndarray
    _portfolio: Portfolio | None
    _text: TextStep | None
    _residuals: ResidualCorrelation | None
    _sigmoid: tuple[float, float] | None
    _training_frequency: Any

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        features = super()._validate_features(X, reset=reset)
        reader = getattr(self, "frame_reader_", None)
        texts = None if reader is None else reader.texts(X)
        return features if texts is None else TextRows(features, texts)

    def _decision_function(self, X: Any) -> np.ndarray:
        X, texts = without_texts(X)
        X = readable_by_workers(X)
        if self._portfolio is not None:
            recorded = log_odds(self._portfolio.probabilities(X))
            if self._text is not None:
                recorded = self._text.log_odds(texts, recorded)
            return relevance_log_odds(recorded, self.label_frequency_)
        scores = self._estimator_scores(X)
        if self._text is None:
            return scores
        return relevance_log_odds(self._text.log_odds(texts, scores), self.label_frequency_)

    def _searching(self) -> StoredMember | None:
        """The member whose best labels are those of the portfolio."""
        portfolio = self._portfolio
        if portfolio is None or np.ndim(self.label_frequency_) or self._text is not None:
            return None
        (first, *others) = portfolio.members
        return first if isinstance(first, StoredMember) and not others else None

    def _rows_at_once(self, k: int) -> int:
        return super()._rows_at_once(k) if self._searching() is None else _MOST_ROWS

    def _best_labels(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        member = self._searching()
        if member is None:
            return super()._best_labels(X, k)
        labels, recorded = member.best_labels(X, k)
        return labels, expit(relevance_log_odds(log_odds(recorded), self.label_frequency_))

    def _estimator_scores(self, X: Any) -> np.ndarray:
        """Log-odds of relevance by one classifier per label."""
        scores = all_scores(self.estimators_, X)
        both = np.array(list(self.plain_estimators_), dtype=np.intp)
        before = all_scores(list(self.plain_estimators_.values()), X)
        if self._sigmoid is not None:
            slope, offset = self._sigmoid
            fixed = [isinstance(model, ConstantLabel) for model in self.estimators_]
            scores[:, both] = (before + scores[:, both]) / 2
            scores = np.where(fixed, scores, slope * scores + offset)
            return relevance_log_odds(scores, self.label_frequency_)
        plain = np.flatnonzero(self.imputed_.weights == 0)
        c = np.broadcast_to(self._training_frequency, scores.shape[1])
        scores[:, plain] = relevance_log_odds(scores[:, plain], c[plain])
        scores[:, both] = mean_log_odds(relevance_log_odds(before, c[both]), scores[:, both])
        return relevance_log_odds(scores, self.label_frequency_ / c)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def predict_proba(self, X: Any, known: Any = None) -> np.ndarray:
        """Return the probability that each label is relevant, of shape (n_samples, n_labels).

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        known : labels of these rows, default=None
            Labels that are known, NaN where they are not: they change what is predicted of the
            others, and come back as 0 and 1. Unlabeled zeros count as unknown. For
            ``estimator="auto"``.
        """
        probabilities = self._label_probabilities(X)
        if known is not None:
            residuals = self._residual_model()
            known = self._read_known(known, len(probabilities))
            probabilities = residuals.update(probabilities, known)
        return self._framed(probabilities, X)

    def member_proba(self, X: Any) -> dict[str, np.ndarray]:
        """Return what each member of the portfolio predicts alone.

        Members without weight are not kept. For ``estimator="auto"``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        dict from name to ndarray of shape (n_samples, n_labels)
            Probabilities, by the names of ``leaderboard_``.
        """
        X = readable_by_workers(without_texts(self._validate_predict(X))[0])
        if self._portfolio is None:
            raise ValueError(
                f'member_proba needs estimator="auto" and at least {self._fewest_rows} training rows'
            )
        found = self._portfolio.member_probabilities(X)
        return {
            name: expit(relevance_log_odds(log_odds(recorded), self.label_frequency_))
            for name, recorded in found.items()
        }

    def which_label_next(self, X: Any, known: Any = None) -> np.ndarray:
        """Return for each row the label whose answer tells most, -1 where all are known.

        The label whose answer takes away most variance of all labels of the row, its own included.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        known : labels of these rows, default=None
            What is known already, NaN where it is not. For ``estimator="auto"``.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Positions of labels.
        """
        probabilities = self._label_probabilities(X)
        residuals = self._residual_model()
        given = np.full(probabilities.shape, np.nan)
        if known is not None:
            given = self._read_known(known, len(probabilities))
            probabilities = residuals.update(probabilities, given)
        best = residuals.information(probabilities, given).argmax(axis=1)
        return np.where(np.isnan(given).any(axis=1), best, -1)

    def _residual_model(self) -> ResidualCorrelation:
        if self._portfolio is None or self.target_.kind != "multilabel" or self._residuals is None:
            raise ValueError(
                'known labels need estimator="auto", a label matrix, and at least '
                f"{self._fewest_rows} training rows in one array"
            )
        return self._residuals

    def predict(self, X: Any) -> np.ndarray:
        """Return labels of 0 and 1, of shape (n_samples, n_labels); classes for a vector target."""
        probabilities = self._predict_proba(self._validate_predict(X))
        thresholds = self.thresholds_ if self.target_.kind == "multilabel" else 0.5
        return self._framed(self.target_.decide(probabilities, threshold=thresholds), X)

    def _forget_training_rows(self) -> None:
        """Drop what predictions do not need and a model file should not hold."""
        if self._portfolio is not None:
            self._portfolio = self._portfolio.without_training_rows()
            return
        self.imputed_ = self.imputed_._replace(probabilities=self.imputed_.probabilities[:0])
        self.validation_ = None
