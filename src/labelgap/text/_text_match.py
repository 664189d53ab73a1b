"""How near the texts of items and labels are, entry by entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.memory import block_size
from labelgap.text._encoders import encode_unit, fitted_encoder
from labelgap.text._label_text import check_texts, words_of_name

_WORDS_AT_ONCE = 4096
_NOT_NEAR = 0.0


@dataclass(frozen=True, eq=False)
class TextMatch:
    """What the texts of items and labels say about each entry; see :func:`match_texts`.

    Attributes
    ----------
    words : csr_array of bool, (n_items, n_words)
        Which words each item says.
    vocabulary : ndarray of str, (n_words,)
    nearness : float32 ndarray of shape (n_words, n_labels)
        Cosine of each word with each label.
    named : csr_array of bool, (n_items, n_labels)
        Where the item says the label's name, or one of its alternatives, word for word.
    encoder : object
        What compared the words.
    label_text : ndarray of str
        Definitions of the labels, or their names where there is none.

    Examples
    --------
    >>> from labelgap.text import match_texts
    >>> match = match_texts(["chess clock", "mail server"], ["chess", "e-mail"], encoder="tfidf")
    >>> match.named.toarray()
    array([[ True, False],
           [False, False]])
    >>> match.best_word(1, 1)
    ('mail', 0.7071)
    """

    words: sparse.csr_array
    vocabulary: np.ndarray
    nearness: np.ndarray
    named: sparse.csr_array
    encoder: Any
    label_text: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items and of labels."""
        return self.words.shape[0], self.nearness.shape[1]

    def best(self, rows: Any = None) -> np.ndarray:
        """Return the cosine of each label with the nearest word of some items (all by default).

        Parameters
        ----------
        rows : slice or int array, default=None
            The items.

        Returns
        -------
        float32 ndarray of shape (n_rows, n_labels); 0 for an item without words
        """
        words = self.words if rows is None else self.words[rows]
        out = np.full((words.shape[0], self.nearness.shape[1]), _NOT_NEAR, dtype=np.float32)
        filled = np.flatnonzero(np.diff(words.indptr))
        size = block_size(self.nearness.shape[1] * max(1, words.nnz // max(1, filled.size)))
        for start in range(0, filled.size, size):
            part = filled[start : start + size]
            block = words[part]
            out[part] = np.maximum.reduceat(self.nearness[block.indices], block.indptr[:-1], axis=0)
        return out

    def best_word(self, item: int, label: int) -> tuple[str, float]:
        """Return the word of an item that is nearest to a label, and how near it is.

        Parameters
        ----------
        item, label : int
            Positions.
        """
        at = self.words.indices[self.words.indptr[item] : self.words.indptr[item + 1]]
        if not at.size:
            return "", _NOT_NEAR
        best = at[np.argmax(self.nearness[at, label])]
        return str(self.vocabulary[best]), round(float(self.nearness[best, label]), 4)

    def rows(self, items: Any) -> TextMatch:
        """Return the match with some of the items.

        Parameters
        ----------
        items : int array
            Their positions.
        """
        named = sparse.csr_array(self.named[items])
        return replace(self, words=self.words[items], named=named)

    def columns(self, labels: Any) -> TextMatch:
        """Return the match with some of the labels.

        Parameters
        ----------
        labels : int array
            Their positions.
        """
        named = sparse.csr_array(self.named[:, labels])
        nearness, texts = self.nearness[:, labels], self.label_text[labels]
        return replace(self, nearness=nearness, named=named, label_text=texts)


def match_texts(
    item_text: Sequence[str],
    label_names: Sequence[Any],
    label_text: Sequence[str] | None = None,
    *,
    encoder: Any = None,
) -> TextMatch:
    """Compare the words of every item with every label.

    An entry is as near as the nearest of the item's words is to the label: a long text that says
    "clock" once is about time. A label is the mean of its words, or the nearest of its alternatives
    ("Date / Time"), or its definition.

    Parameters
    ----------
    item_text : sequence of n_items texts
    label_names : sequence of n_labels names
    label_text : sequence of n_labels texts, default=None
        Definitions; None compares names alone.
    encoder : {"static", "tfidf"} or object with ``encode``, default=None
        See :func:`labelgap.text.check_encoder`.

    Returns
    -------
    TextMatch

    See Also
    --------
    labelgap.text.TextEntryModel : Learns what such a match says.

    Examples
    --------
    >>> from labelgap.text import match_texts
    >>> match = match_texts(["chess clock", "mail server"], ["chess", "e-mail"], encoder="tfidf")
    >>> match.best().round(1)
    array([[1. , 0. ],
           [0. , 0.7]], dtype=float32)
    """
    items = check_texts(item_text, len(item_text), "item_text", "item")
    names = [words_of_name(name) for name in label_names]
    definitions = None
    if label_text is not None:
        definitions = check_texts(label_text, len(names), "label_text", "label")
    words, vocabulary = _words_of(items)
    texts = [text for alternatives in names for text in alternatives]
    owner = np.repeat(np.arange(len(names)), [len(alternatives) for alternatives in names])
    named = _named(words, vocabulary, texts, owner, len(names))
    if definitions is not None:
        extra = [k for k, text in enumerate(definitions) if text.strip()]
        texts = texts + [definitions[k] for k in extra]
        owner = np.concatenate([owner, np.array(extra, dtype=owner.dtype)])
    fitted = fitted_encoder(encoder, [*items, *texts])
    nearness = _nearness(fitted, vocabulary, texts, owner, len(names))
    said = [" ".join(alternatives) for alternatives in names]
    if definitions is not None:
        said = [text if text.strip() else said[k] for k, text in enumerate(definitions)]
    label_texts = np.array(said, dtype=object)
    return TextMatch(words, vocabulary, nearness, named, fitted, label_texts)


def _words_of(items: list[str]) -> tuple[sparse.csr_array, np.ndarray]:
    counter = CountVectorizer(token_pattern=r"\w+", binary=True, dtype=np.int8)
    try:
        words = sparse.csr_array(counter.fit_transform(items)).astype(bool)
    except ValueError as error:  # no item says anything
        if "empty vocabulary" not in str(error):
            raise
        return sparse.csr_array((len(items), 0), dtype=bool), np.empty(0, dtype=object)
    return words, counter.get_feature_names_out()


def _named(
    words: sparse.csr_array,
    vocabulary: np.ndarray,
    texts: list[str],
    owner: np.ndarray,
    n_labels: int,
) -> sparse.csr_array:
    """Where an item says all words of an alternative of the label's name."""
    place = {word: k for k, word in enumerate(vocabulary)}
    needed = [sorted({*text.split()}) for text in texts]
    pairs = [(place[w], k) for k, ws in enumerate(needed) for w in ws if w in place]
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    ones = np.ones(rows.size, dtype=np.int32)
    wanted = sparse.csr_array((ones, (rows, columns)), shape=(len(vocabulary), len(texts)))
    said = sparse.coo_array(words.astype(np.int32) @ wanted)
    whole = said.data == np.array([len(ws) for ws in needed], dtype=np.int32)[said.col]
    at = said.row[whole], owner[said.col[whole]]
    entries = sparse.csr_array(
        (np.ones(at[0].size, dtype=np.int32), at), (words.shape[0], n_labels)
    )
    return entries.astype(bool)


def _nearness(
    encoder: Any, vocabulary: np.ndarray, texts: list[str], owner: np.ndarray, n_labels: int
) -> np.ndarray:
    """Cosine of each word with the nearest text of each label, (n_words, n_labels)."""
    label_vectors = _mean_of_words(encoder, texts)
    out = np.full((len(vocabulary), n_labels), -1.0, dtype=np.float32)
    for start in range(0, len(vocabulary), _WORDS_AT_ONCE):
        part = slice(start, start + _WORDS_AT_ONCE)
        vectors = encode_unit(encoder, [str(word) for word in vocabulary[part]])
        cosines = safe_sparse_dot(vectors, label_vectors.T, dense_output=True)
        order = np.argsort(owner, kind="stable")
        first = np.searchsorted(owner[order], np.arange(n_labels))
        out[part] = np.maximum.reduceat(cosines[:, order], first, axis=1)
    return out


def _mean_of_words(encoder: Any, texts: list[str]) -> Any:
    """Unit vectors of texts, from those of their words, so that each word weighs the same."""
    counter = CountVectorizer(token_pattern=r"\w+", dtype=np.float64)
    try:
        counts = sparse.csr_array(counter.fit_transform(texts))
    except ValueError:  # names without a letter, such as an emoji
        return encode_unit(encoder, texts)
    words = encode_unit(encoder, [str(word) for word in counter.get_feature_names_out()])
    total = safe_sparse_dot(counts, words)
    if sparse.issparse(total):
        length = np.sqrt(total.multiply(total).sum(axis=1))
        return sparse.csr_array(sparse.diags_array(1 / np.maximum(length, 1e-12)) @ total)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
