"""The words of texts as a TfidfVectorizer weighs them, as nodes of an ONNX graph."""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labelgap.export._graph import Graph
from labelgap.export._linear import NotLinearError

# Python's \w, in the syntax of RE2
_WORDS = {
    r"(?u)\b\w\w+\b": r"[\p{L}\p{N}_][\p{L}\p{N}_]+",
    r"(?u)\b\w+\b": r"[\p{L}\p{N}_]+",
}
# with these values the graph does what scikit-learn does
_AS_EXPORTED = {
    "analyzer": "word",
    "preprocessor": None,
    "tokenizer": None,
    "stop_words": None,
    "strip_accents": None,
    "binary": False,
    "sublinear_tf": False,
}


def add_words(graph: Graph, vectorizer: TfidfVectorizer, locale: str | None) -> None:
    """Put the words of an input ``texts`` beside the features that the graph has so far."""
    _check(vectorizer)
    names = [str(name) for name in vectorizer.get_feature_names_out()]
    if locale is None:
        # any machine has this one, and it knows the letters of ASCII
        locale = "C" if all(name.isascii() for name in names) else "C.UTF-8"
    tokens = graph.tokens(
        _WORDS[vectorizer.token_pattern], locale if vectorizer.lowercase else None
    )
    fewest, most = vectorizer.ngram_range
    terms = [name.split(" ") for name in names]
    by_length = sorted(range(len(terms)), key=lambda k: len(terms[k]))
    lengths = np.array([len(terms[k]) for k in by_length])
    # the op's pool begins with single words, also where only pairs count
    starts = [int((lengths < n) @ lengths) for n in range(1, most + 1)]
    counts = graph.add(
        "TfIdfVectorizer",
        tokens,
        mode="TF",
        min_gram_length=fewest,
        max_gram_length=most,
        max_skip_count=0,
        pool_strings=[word for k in by_length for word in terms[k]],
        ngram_counts=starts,
        ngram_indexes=by_length,
    )
    words = graph.cast(counts)
    if vectorizer.use_idf:
        words = graph.add("Mul", words, graph.constant(vectorizer.idf_))
    if vectorizer.norm == "l2":
        words = graph.unit_rows(words)
    graph.last = graph.add("Concat", graph.last, words, axis=1) if graph.last else words


def _check(vectorizer: TfidfVectorizer) -> None:
    wrong = [
        f"{name}={value!r}"
        for name, usual in _AS_EXPORTED.items()
        if (value := getattr(vectorizer, name)) != usual
    ]
    if vectorizer.token_pattern not in _WORDS:
        wrong.append(f"token_pattern={vectorizer.token_pattern!r}")
    if vectorizer.norm not in ("l2", None):
        wrong.append(f"norm={vectorizer.norm!r}")
    if wrong:
        raise NotLinearError(
            f"TfidfVectorizer({', '.join(wrong)}) cannot be exported: leave "
            f"{'it' if len(wrong) == 1 else 'them'} at the default"
        )
