"""Kernel ridge regression of labels on texts, in which the text of a label is one more item.

Two texts are as alike as the words and n-grams that they share, and as near as their embeddings,

    k(s, t) = w_s . w_t + exp(2 (e_s . e_t - 1)),

with w the TF-IDF vectors and e the embeddings around their mean, both of unit length. A label's text is
an example of that label and of no other, so that a label with few items borrows from its name. Square
loss orders the entries of rare labels better than a logistic regression of the same features does, and
left-out predictions are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.lapack import dpotri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.labels import Labels
from labelgap.memory import block_size
from labelgap.text._encoders import TfidfEncoder, encode_unit, fitted_encoder

# half a minute of one core, and 300 MB
_MOST_ITEMS = 6_000


class _Encoded(NamedTuple):
    """TF-IDF vectors of texts, and their embeddings; None where the former are all there is."""

    words: sparse.csr_array
    embedded: Any

    def __getitem__(self, rows: Any) -> _Encoded:  # type: ignore[override]
        return _Encoded(self.words[rows], None if self.embedded is None else self.embedded[rows])

    def joined(self, other: _Encoded) -> _Encoded:
        words = sparse.csr_array(sparse.vstack([self.words, other.words]))
        if self.embedded is None:
            return _Encoded(words, None)
        return _Encoded(words, np.vstack([self.embedded, other.embedded]))

    def kernel(self, other: _Encoded) -> np.ndarray:
        shared = (self.words @ other.words.T).toarray()
        cosine = shared if self.embedded is None else self.embedded @ other.embedded.T
        return shared + np.exp(2 * (cosine - 1))


class TextKernelRidge(BaseEstimator):
    """Predict labels by kernel ridge regression on texts of items and labels.

    Parameters
    ----------
    encoder : {"static", "tfidf"} or object with ``encode``, default=None
        Embeds the texts, see :func:`labelgap.text.check_encoder`; "tfidf" knows shared words alone.
    alpha : float, default=1.0
        Ridge penalty.
    random_state : int, RandomState or None, default=0
        Draws the items to learn from where there are more than 6,000.

    Attributes
    ----------
    learned_ : ndarray of int
        Positions of the items that it learned from.
    dual_coef_ : ndarray of shape (n_learned + n_label_texts, n_labels)
    prevalence_ : ndarray of shape (n_labels,)

    See Also
    --------
    TextEntryModel : Combines its scores with others, entry by entry.

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.text import TextKernelRidge
    >>> labels = Labels.from_dense([[1, 0], [1, 0], [0, 1]], names=["game", "mail"])
    >>> texts = ["chess clock", "chess board", "smtp server"]
    >>> model = TextKernelRidge("tfidf").fit(texts, labels, ["game", "mail"])
    >>> model.predict(["chess", "mail server"]).argmax(axis=1)
    array([0, 1])
    """

    def __init__(self, encoder: Any = None, *, alpha: float = 1.0, random_state: Any = 0) -> None:
        self.encoder = encoder
        self.alpha = alpha
        self.random_state = random_state

    def fit(
        self,
        item_text: Sequence[str] | np.ndarray,
        labels: Labels,
        label_text: Sequence[str] | np.ndarray | None = None,
        rows: Any = None,
    ) -> Self:
        """Learn from items.

        Parameters
        ----------
        item_text : sequence of n_items texts
        labels : Labels
            An unknown entry counts as the prevalence of its label.
        label_text : sequence of n_labels texts, default=None
            Further items, each with its label alone.
        rows : int array, default=None
            The items to learn from; None takes all. Those without an observed entry teach nothing.
        """
        texts = list(item_text)
        self._words = TfidfEncoder(min_df=2 if len(texts) > 10 else 1).fit(texts)
        encoder = fitted_encoder(self.encoder, texts)
        self._embedding = None if isinstance(encoder, TfidfEncoder) else encoder
        self._centre: Any = None
        items = self._encode(texts)
        rows = np.arange(len(texts)) if rows is None else np.asarray(rows)
        self.learned_ = self._draw(rows[labels[rows].n_observed(axis=1, unlabeled=True) > 0])
        learned = labels[self.learned_]
        known = np.maximum(learned.n_observed(axis=0, unlabeled=True), 1)
        self.prevalence_ = learned.n_positives(axis=0) / known
        self._examples, target = items[self.learned_], self._residuals(learned)
        if label_text is not None:
            self._examples = self._examples.joined(self._encode(list(label_text)))
            target = np.vstack([target, np.eye(labels.n_labels) - self.prevalence_])
        kernel = self._examples.kernel(self._examples)
        kernel.flat[:: len(kernel) + 1] += self.alpha
        # the transposed view has LAPACK's order, so that nothing is copied
        factor, _ = linalg.cho_factor(kernel.T, overwrite_a=True, check_finite=False)
        self.dual_coef_ = linalg.cho_solve((factor, False), target, check_finite=False)
        inverse, _ = dpotri(factor, overwrite_c=True)
        left_out = target - self.dual_coef_ / inverse.diagonal()[:, None]
        self._left_out = left_out[: self.learned_.size] + self.prevalence_
        self._items = items
        return self

    def left_out(self, items: Any = slice(None)) -> np.ndarray:
        """Return the scores of items, each from all others, (n, n_labels).

        Parameters
        ----------
        items : int array or slice, default=slice(None)
        """
        check_is_fitted(self)
        positions = np.arange(self._items.words.shape[0])[items]
        out = self._scores(self._items[positions])
        place = np.searchsorted(self.learned_, positions).clip(max=self.learned_.size - 1)
        learned = self.learned_[place] == positions
        out[learned] = self._left_out[place[learned]]
        return out

    def predict(self, item_text: Sequence[str]) -> np.ndarray:
        """Return scores near the probability of each label, (n, n_labels); they may leave 0 to 1.

        Parameters
        ----------
        item_text : sequence of n texts
        """
        check_is_fitted(self)
        return self._scores(self._encode(list(item_text)))

    def _encode(self, texts: list[str]) -> _Encoded:
        words = self._words.encode(texts)
        if self._embedding is None:
            return _Encoded(words, None)
        vectors = np.asarray(encode_unit(self._embedding, texts), dtype=np.float64)
        if self._centre is None:
            self._centre = vectors.mean(axis=0)
        off = vectors - self._centre
        return _Encoded(words, off / np.maximum(np.linalg.norm(off, axis=1)[:, None], 1e-12))

    def _draw(self, rows: np.ndarray) -> np.ndarray:
        return np.sort(check_random_state(self.random_state).permutation(rows)[:_MOST_ITEMS])

    def _scores(self, texts: _Encoded) -> np.ndarray:
        out = np.empty((texts.words.shape[0], self.dual_coef_.shape[1]))
        size = block_size(4 * len(self.dual_coef_))
        for start in range(0, len(out), size):
            rows = slice(start, start + size)
            out[rows] = texts[rows].kernel(self._examples) @ self.dual_coef_
        return out + self.prevalence_

    def _residuals(self, labels: Labels) -> np.ndarray:
        truth = labels.to_dense(unlabeled=0.0)
        return np.where(np.isnan(truth), 0.0, truth - self.prevalence_)
