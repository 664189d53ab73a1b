"""What the texts of items and labels add to the scores of a fitted Mend."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from labelgap.kernels.probabilities import bounded_log_odds
from labelgap.labels import Labels
from labelgap.mend._training_rows import TrainingRows
from labelgap.text import TextEntryModel, TextKernelRidge, TextMatch, match_texts

# scores of a regression leave 0 to 1
_LEAST = 3e-3


class TextRows(NamedTuple):
    """Features with the text of each row, of which rows can be taken as of an array."""

    features: Any
    texts: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.features.shape

    def __getitem__(self, rows: Any) -> TextRows:  # type: ignore[override]
        return TextRows(self.features[rows], self.texts[rows])


def without_texts(X: Any) -> tuple[Any, Any]:
    """Return features, and the texts of their rows where there are some."""
    return (X.features, X.texts) if isinstance(X, TextRows) else (X, None)


class TextStep(NamedTuple):
    """What texts say by themselves and beside the names of labels, combined with other scores."""

    names: Any
    definitions: Any
    kernel: TextKernelRidge
    encoder: Any
    model: TextEntryModel

    @classmethod
    def fit(cls, texts: Any, labels: Labels, scores: np.ndarray, encoder: Any) -> Self:
        """Learn from log-odds of being recorded, by models that did not see the row."""
        match, names, definitions = _compare(texts, labels, encoder)
        kernel = TextKernelRidge(match.encoder).fit(texts, labels, match.label_text)
        both = scores, _log_odds(kernel.left_out())
        model = TextEntryModel().fit(both, labels, match)
        return cls(names, definitions, kernel, match.encoder, model)

    @classmethod
    def held_out(cls, part: Any, X: Any, labels: Labels, table: TrainingRows, texts: Any) -> Self:
        """Learn on a third of the rows what texts add to ``part``, a Mend that learns the others."""
        learned, held = table.hold_out(1 / 3, part._generator())
        part._fit_rows(X[learned], labels[learned], table.part(learned))
        match, names, definitions = _compare(texts, labels, part.text_encoder)
        kernel = TextKernelRidge(match.encoder)
        kernel.fit(texts, labels, match.label_text, learned)
        both = part._decision_function(X[held]), _log_odds(kernel.left_out(held))
        model = TextEntryModel().fit(both, labels[held], match.rows(held))
        kernel.fit(texts, labels, match.label_text)
        return cls(names, definitions, kernel, match.encoder, model)

    def log_odds(self, texts: Any, scores: np.ndarray, *, left_out: bool = False) -> np.ndarray:
        """Return the log-odds of being recorded of rows with these texts and scores.

        ``left_out``: of the training rows, each from texts of the others.
        """
        match = match_texts(texts, self.names, self.definitions, encoder=self.encoder)
        own = self.kernel.left_out() if left_out else self.kernel.predict(texts)
        return self.model.decision_function((scores, _log_odds(own)), match)


def _compare(texts: Any, labels: Labels, encoder: Any) -> tuple[TextMatch, Any, Any]:
    """Compare texts with names and definitions of labels, and return all three."""
    names: Any = labels.names
    definitions: Any = labels.texts
    if definitions is not None:
        definitions = ["" if text is None else text for text in definitions]
    return match_texts(texts, names, definitions, encoder=encoder), names, definitions


def _log_odds(scores: np.ndarray) -> np.ndarray:
    return bounded_log_odds(scores, _LEAST)
