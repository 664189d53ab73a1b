"""Texts of labels as vectors, and what the co-occurrence of seen labels says about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.text._encoders import encode_unit, fitted_encoder


@dataclass(frozen=True, eq=False)
class LabelVectors:
    """Texts of labels as rows of unit length.

    Attributes
    ----------
    vectors : ndarray or csr_array of shape (n_labels, n_dimensions)
    encoder : object
        What made them, for labels that come later.
    like_items : bool
        Whether the encoder is that of the items' features, so that products of both mean something.

    Examples
    --------
    >>> from labelgap.text import LabelVectors
    >>> found = LabelVectors.of(["chess game", "board game"], "tfidf")
    >>> found.vectors.shape[0], found.like_items
    (2, False)
    """

    vectors: Any
    encoder: Any
    like_items: bool = False

    @classmethod
    def of(
        cls, texts: Sequence[str], encoder: Any = None, n_features: int | None = None
    ) -> LabelVectors:
        """Encode texts.

        Parameters
        ----------
        texts : sequence of str
        encoder : {"static", "tfidf"} or object with ``encode``, default=None
            See :func:`labelgap.text.check_encoder`.
        n_features : int, default=None
            How many features items have. An encoder that gives as many is taken as theirs.
        """
        is_fitted = hasattr(encoder, "tfidf_")
        fitted = fitted_encoder(encoder, texts)
        vectors = _exact(encode_unit(fitted, list(texts)))
        like_items = is_fitted or (
            vectors.shape[1] == n_features and not hasattr(fitted, "vectorizers_")
        )
        return cls(vectors, fitted, like_items)

    def with_vectors(self, vectors: Any) -> LabelVectors:
        """Return these labels and further ones.

        Parameters
        ----------
        vectors : array or csr_array
            Of the further ones, as :meth:`more` gives them.
        """
        stack = sparse.vstack if sparse.issparse(vectors) else np.vstack
        return LabelVectors(_exact(stack([self.vectors, vectors])), self.encoder, self.like_items)

    def more(self, texts: Sequence[str]) -> Any:
        """Return the vectors of further texts.

        Parameters
        ----------
        texts : sequence of str
        """
        return _exact(encode_unit(self.encoder, list(texts)))


def is_texts(X: Any) -> bool:
    """Return whether this is a sequence of texts rather than a matrix of features.

    Parameters
    ----------
    X : Any

    Examples
    --------
    >>> from labelgap.text import is_texts
    >>> is_texts(["a text", "another"]), is_texts([[1.0], [2.0]])
    (True, False)
    """
    if sparse.issparse(X) or hasattr(X, "columns") or not hasattr(X, "__len__") or not len(X):
        return False
    if isinstance(X, (str, bytes)) or getattr(X, "ndim", 1) != 1:
        return False
    return any(isinstance(value, str) for value in list(X)[:20])


def _exact(vectors: Any) -> Any:
    return sparse.csr_array(vectors) if sparse.issparse(vectors) else np.asarray(vectors, float)
