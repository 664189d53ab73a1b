"""Encoders: objects that turn a list of texts into rows of numbers."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from labelgap.extras import require

_PACKAGES = ("wordllama", "tokenizers", "safetensors")
_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_MOST_CACHED = 200_000

_cached: WeakKeyDictionary[Any, dict[str, np.ndarray]] = WeakKeyDictionary()


class TfidfEncoder(BaseEstimator):
    """Encode texts by the words and the character n-grams that they consist of.

    Needs no package and no download, and knows no synonyms: two texts are near where they share
    words or parts of words.

    Parameters
    ----------
    ngram_range : tuple of two int, default=(3, 5)
        Lengths of the character n-grams, inside words.
    min_df : int, default=1
        In how many texts an n-gram must stand.

    See Also
    --------
    StaticEmbedding : Knows which words mean something similar.

    Examples
    --------
    >>> from labelgap.text import TfidfEncoder
    >>> encoder = TfidfEncoder().fit(["a chess game", "chess board", "mail server"])
    >>> vectors = encoder.encode(["chess", "mail"])
    >>> vectors.shape[0], (vectors @ encoder.encode(["chess game"]).T).toarray().round(1).ravel()
    (2, array([0.6, 0. ]))
    """

    def __init__(self, ngram_range: tuple[int, int] = (3, 5), *, min_df: int = 1) -> None:
        self.ngram_range = ngram_range
        self.min_df = min_df

    def fit(self, texts: Sequence[str], y: Any = None) -> Self:
        """Learn the words and n-grams, and how rare they are."""
        how: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float64}
        words = TfidfVectorizer(token_pattern=r"\w+", **how)
        parts = TfidfVectorizer(
            analyzer="char_wb", ngram_range=tuple(self.ngram_range), min_df=self.min_df, **how
        )
        self.vectorizers_ = []
        for vectorizer in (words, parts):
            try:
                self.vectorizers_.append(vectorizer.fit(texts))
            except ValueError as error:  # texts without any word
                if "empty vocabulary" not in str(error) and "no terms remain" not in str(error):
                    raise
        return self

    def encode(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return rows of unit length, or zero where nothing of a text is known."""
        check_is_fitted(self)
        if not self.vectorizers_:
            return sparse.csr_array((len(texts), 1))
        blocks = [vectorizer.transform(texts) for vectorizer in self.vectorizers_]
        return sparse.csr_array(normalize(sparse.hstack(blocks, format="csr")))


class StaticEmbedding(BaseEstimator):
    """Encode texts by the mean of the vectors of their word pieces: fast, without a network.

    A table of 32,000 x 256 numbers and its tokenizer, from the package ``wordllama`` (extra
    ``text``), whose files are read directly: nothing is downloaded. About 30,000 short texts a second.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether to ignore capitals.

    See Also
    --------
    TfidfEncoder : Without a package.

    References
    ----------
    Miller, D. L. (2024). WordLlama: recycled token embeddings from large language models.

    Examples
    --------
    >>> from labelgap.text import StaticEmbedding
    >>> apple, pear, law = StaticEmbedding().encode(["apple", "pear", "law"])  # doctest: +SKIP
    >>> bool(apple @ pear > apple @ law)  # doctest: +SKIP
    True
    """

    _tables: ClassVar[list[tuple[Any, np.ndarray]]] = []

    def __init__(self, *, lowercase: bool = True) -> None:
        self.lowercase = lowercase

    @staticmethod
    def is_installed() -> bool:
        """Return whether the packages of the extra ``text`` are there."""
        return all(importlib.util.find_spec(package) is not None for package in _PACKAGES)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return an array of shape (n_texts, 256); zero for an empty text."""
        tokenizer, table = self._loaded()
        lowered = [text.lower() for text in texts] if self.lowercase else list(texts)
        pieces = [found.ids for found in tokenizer.encode_batch(lowered, add_special_tokens=False)]
        lengths = np.array([len(ids) for ids in pieces], dtype=np.intp)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.fromiter((k for ids in pieces for k in ids), dtype=np.intp, count=int(ends[-1]))
        weights = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
        means = sparse.csr_array((weights, flat, ends), shape=(len(pieces), table.shape[0]))
        return means @ table

    @classmethod
    def _loaded(cls) -> tuple[Any, np.ndarray]:
        if not cls._tables:
            purpose = "StaticEmbedding"
            found = importlib.util.find_spec("wordllama")
            if found is None or not found.submodule_search_locations:
                require("wordllama", extra="text", purpose=purpose)
            folder = Path(found.submodule_search_locations[0])  # type: ignore[union-attr,index]
            tokenizers = require("tokenizers", extra="text", purpose=purpose)
            load_file = require("safetensors.numpy", extra="text", purpose=purpose).load_file
            (table,) = load_file(folder / _TABLE).values()
            tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
            cls._tables.append((tokenizer, np.asarray(table, dtype=np.float32)))
        return cls._tables[0]


def check_encoder(encoder: Any = None) -> Any:
    """Return an encoder: the one given, or the best that is installed.

    Parameters
    ----------
    encoder : {"static", "tfidf"}, object with ``encode(list of str) -> array``, default=None
        None is :class:`StaticEmbedding` where its packages are installed, else
        :class:`TfidfEncoder`. A model of sentence-transformers has such a method. An estimator with
        ``fit`` is cloned and learns the texts it will compare, unless it is fitted.

    Examples
    --------
    >>> from labelgap.text import check_encoder
    >>> check_encoder("tfidf")
    TfidfEncoder()
    """
    if encoder is None:
        return StaticEmbedding() if StaticEmbedding.is_installed() else TfidfEncoder()
    if isinstance(encoder, str):
        named = {"static": StaticEmbedding, "tfidf": TfidfEncoder}
        if encoder not in named:
            raise ValueError(f"encoder={encoder!r}: use 'static', 'tfidf' or an object with encode")
        return named[encoder]()
    if not callable(getattr(encoder, "encode", None)):
        raise TypeError(
            f"encoder={encoder!r} has no method encode(list of str) -> array; give 'static', "
            "'tfidf' or an object that has one"
        )
    return encoder


def fitted_encoder(encoder: Any, texts: Sequence[str]) -> Any:
    """Return an encoder that has seen texts: these, if it learns from texts and has seen none."""
    encoder = check_encoder(encoder)
    if not _learns(encoder) or any(name.endswith("_") for name in vars(encoder) if name[0] != "_"):
        return encoder
    return clone(encoder).fit(texts)


def _learns(encoder: Any) -> bool:
    """Whether it learns from texts; a language model has a ``fit`` that wants something else."""
    return hasattr(encoder, "fit") and hasattr(encoder, "get_params")


def encode_unit(encoder: Any, texts: Sequence[str]) -> Any:
    """Return texts as rows of unit length, from a memory of what the encoder said before.

    Parameters
    ----------
    encoder : object with ``encode``
        A fitted one; see :func:`check_encoder`.
    texts : sequence of str

    Returns
    -------
    array or csr_array of shape (n_texts, n_dimensions)

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.text import encode_unit
    >>> class Length:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> encode_unit(Length(), ["a", ""]).round(2)
    array([[0.71, 0.71],
           [0.  , 1.  ]], dtype=float32)
    """
    if _learns(encoder):  # what it learned may change
        vectors = encoder.encode(texts)
        return normalize(vectors) if sparse.issparse(vectors) else _unit(vectors)
    vectors = _remembered(encoder, texts)
    return _unit(vectors)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _remembered(encoder: Any, texts: Sequence[str]) -> np.ndarray:
    if isinstance(encoder, StaticEmbedding):  # as fast as a memory
        return encoder.encode(texts)
    try:
        memory = _cached.setdefault(encoder, {})
    except TypeError:  # cannot be weakly referenced
        memory = {}
    new = list(dict.fromkeys(text for text in texts if text not in memory))
    if len(memory) + len(new) > _MOST_CACHED:
        memory.clear()
        new = list(dict.fromkeys(texts))
    if new:
        vectors = np.asarray(encoder.encode(new), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(new):
            raise ValueError(
                f"encoder.encode gave an array of shape {vectors.shape} for {len(new)} texts: it must "
                "return one row per text"
            )
        memory.update(zip(new, vectors, strict=True))
    return np.stack([memory[text] for text in texts]) if texts else np.zeros((0, 1))
