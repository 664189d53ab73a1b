"""What the texts of items and labels add to the scores of a fitted Mend."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from labelgap.labels import Labels
from labelgap.mend._training_rows import TrainingRows
from labelgap.text import TextEntryModel, match_texts


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
    """A :class:`labelgap.text.TextEntryModel` with the names and definitions of its labels."""

    names: Any
    definitions: Any
    encoder: Any
    model: TextEntryModel

    @classmethod
    def fit(cls, texts: Any, labels: Labels, scores: np.ndarray, encoder: Any) -> Self:
        """Learn from log-odds of being recorded, by models that did not see the row."""
        names: Any = labels.names
        definitions: Any = labels.texts
        if definitions is not None:
            definitions = ["" if text is None else text for text in definitions]
        match = match_texts(texts, names, definitions, encoder=encoder)
        return cls(names, definitions, match.encoder, TextEntryModel().fit(scores, labels, match))

    @classmethod
    def held_out(cls, part: Any, X: Any, labels: Labels, table: TrainingRows, texts: Any) -> Self:
        """Learn on a third of the rows what texts add to ``part``, a Mend that learns the others."""
        learned, held = table.hold_out(1 / 3, part._generator())
        part._fit_rows(X[learned], labels[learned], table.part(learned))
        scores = part._decision_function(X[held])
        return cls.fit(texts[held], labels[held], scores, part.text_encoder)

    def log_odds(self, texts: Any, scores: np.ndarray) -> np.ndarray:
        """Return the log-odds of being recorded of rows with these texts and scores."""
        match = match_texts(texts, self.names, self.definitions, encoder=self.encoder)
        return self.model.decision_function(scores, match)
