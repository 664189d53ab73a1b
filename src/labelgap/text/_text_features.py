"""Features of texts for any classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from labelgap.text._encoders import TfidfEncoder, check_encoder, encode_unit, fitted_encoder
from labelgap.text._label_text import check_texts


class TextFeatures(TransformerMixin, BaseEstimator):
    """Turn texts into sparse features: words, character n-grams, and an embedding.

    Parameters
    ----------
    encoder : {"static", "tfidf"} or object with ``encode``, default=None
        What is added to words and n-grams, see :func:`labelgap.text.check_encoder`; "tfidf" adds
        nothing.
    min_df : int, default=2
        In how many texts an n-gram must stand.

    Attributes
    ----------
    tfidf_ : TfidfEncoder
    n_embedded_ : int
        How many of the last columns are the embedding.

    Examples
    --------
    >>> from labelgap.text import TextFeatures
    >>> X = TextFeatures("tfidf").fit_transform(["chess game", "chess board", "mail server"])
    >>> X.shape[0], round(float(X[[0]].sum()), 1) > 0
    (3, True)
    """

    def __init__(self, encoder: Any = None, *, min_df: int = 2) -> None:
        self.encoder = encoder
        self.min_df = min_df

    def fit(self, X: Sequence[str], y: Any = None) -> Self:
        """Learn words and n-grams from a sequence of texts."""
        texts = self._texts(X)
        self.tfidf_ = TfidfEncoder(min_df=self.min_df if len(texts) > 10 else 1).fit(texts)
        encoder = check_encoder(self.encoder)
        self._embedding = None
        if not isinstance(encoder, TfidfEncoder):
            self._embedding = fitted_encoder(encoder, texts)
        first = [] if self._embedding is None else encode_unit(self._embedding, texts[:1])
        self.n_embedded_ = 0 if self._embedding is None else first.shape[1]  # type: ignore[union-attr]
        return self

    def transform(self, X: Sequence[str]) -> sparse.csr_array:
        """Return features of shape (n_texts, n_features)."""
        check_is_fitted(self)
        texts = self._texts(X)
        known = self.tfidf_.encode(texts)
        if self._embedding is None:
            return known
        embedded = np.asarray(encode_unit(self._embedding, texts), dtype=np.float64)
        return sparse.csr_array(sparse.hstack([known, sparse.csr_array(embedded)], format="csr"))

    def encode(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return the same features: a fitted one is an encoder of labels as if they were items."""
        return self.transform(texts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return words as they are, n-grams in quotes, and numbered directions of the embedding."""
        check_is_fitted(self)
        names: list[str] = []
        for vectorizer in self.tfidf_.vectorizers_:
            found = vectorizer.get_feature_names_out()
            plain = vectorizer.analyzer == "word"
            names += [str(name) if plain else f"'{name}'" for name in found]
        names += [f"embedding {k}" for k in range(self.n_embedded_)]
        return np.array(names, dtype=object)

    @staticmethod
    def _texts(X: Any) -> list[str]:
        values = X.iloc[:, 0] if getattr(X, "ndim", 1) == 2 and hasattr(X, "iloc") else X
        return check_texts(values, len(values), "X", "row")
