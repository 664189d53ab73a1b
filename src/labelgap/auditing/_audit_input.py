"""What an audit starts from: checked labels under their names, items by their ids, and features."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_array

from labelgap.auditing._item_history import ItemHistory, check_history, with_history
from labelgap.auditing._review_decisions import ReviewDecisions, entries_of, names_of
from labelgap.data import Dataset
from labelgap.fitting import StoredFeatures, is_elsewhere, row_source, sum_rows
from labelgap.frames import FrameReader
from labelgap.kernels.input_arrays import canonical_rows, check_numbers
from labelgap.labels import Labels, State, align_rows, as_labels, items_of
from labelgap.text import TextMatch, check_texts, label_texts, match_texts

Zeros = Literal["auto", "negative", "unlabeled"]

_FEWEST_POSITIVE = 5
_MOST_FEATURES = 3000
_N_COMPONENTS = 400
_OVERSAMPLED, _N_PASSES = 10, 4


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Scaled features of items, as :func:`feature_rows` makes them.

    ``scaled`` are all features; a row has the squared length 1, exactly when sparse, on average when
    dense. ``inputs`` are what a linear model learns from: ``scaled`` itself, or its projection on
    ``axes``. ``absent`` is what a zero became when the columns were centred.
    """

    scaled: Any
    inputs: Any
    axes: np.ndarray | None
    names: list[str]
    absent: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        return self.scaled.shape[0]

    def contributions(self, row: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the features that a row has, and what each adds to a linear score of inputs."""
        features = self.scaled[[row]]
        if sparse.issparse(features):
            at, values = features.indices, features.data
        else:
            # a word that a text lacks explains nothing to a reader, also where centring moved its 0
            there = (features[0] != 0) & (self.absent is None or features[0] != self.absent)
            at = np.flatnonzero(there)
            values = features[0, at]
        return at, values * (weights[at] if self.axes is None else self.axes[at] @ weights)


def feature_rows(
    X: Any, names: Any = None, *, scale: bool = True, random_state: int | None = None
) -> FeatureRows:
    """Check and scale features; more than 3,000 are projected on 400 directions.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    names : sequence of str, default=None
        Names of the features; None calls them by number.
    scale : bool, default=True
        Whether dense columns are centred and divided by their deviation and by the root of their
        number, and sparse rows divided by their length.
    random_state : int or None, default=None
        Of the directions of largest variance (randomized SVD).

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.auditing import feature_rows
    >>> feature_rows(np.array([[1.0, 5.0], [3.0, 5.0]]), names=["a", "b"]).scaled.round(2)
    array([[-0.71,  0.  ],
           [ 0.71,  0.  ]])
    """
    if isinstance(X, StoredFeatures):
        return stored_feature_rows(X, names, scale=scale, random_state=random_state)
    X = canonical_rows(X) if sparse.issparse(X) else X
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=np.float64,
        order="C",
        ensure_min_features=0,
        ensure_all_finite=False,
        input_name="X",
    )
    check_numbers(X)
    absent = None
    if sparse.issparse(X):
        X = sparse.csr_array(normalize(X) if scale else X)
    elif scale:
        X, absent = _standardised(X)
    names = _feature_names(names, X.shape[1])
    if X.shape[1] <= _MOST_FEATURES:
        return FeatureRows(X, X, None, names, absent)
    n_axes = min(_N_COMPONENTS, X.shape[0])
    _, _, axes = randomized_svd(X, n_axes, n_iter=3, random_state=random_state)
    inputs, axes = np.asarray(X @ axes.T), np.ascontiguousarray(axes.T)
    return FeatureRows(X, inputs, axes, names, absent)


def _feature_names(names: Any, n_features: int) -> list[str]:
    names = [f"feature {k}" for k in range(n_features)] if names is None else list(map(str, names))
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names, X has {n_features} columns")
    return names


def stored_feature_rows(
    X: StoredFeatures, names: Any = None, *, scale: bool = True, random_state: int | None = None
) -> FeatureRows:
    """Scale and project features in blocks as :func:`feature_rows` does those of an array."""
    names, absent = _feature_names(names, X.shape[1]), None
    is_sparse = sparse.issparse(X[:1])
    if scale and is_sparse:
        X = X.changed(normalize)
    elif scale:
        mean = sum_rows(_total, X) / X.shape[0]
        spread = sum_rows(_centred_squares, X, argument=mean) / X.shape[0]
        size = np.sqrt(spread + mean**2)
        deviation = np.sqrt(spread)
        deviation[deviation <= 1e-12 * size] = np.inf
        deviation *= np.sqrt(X.shape[1])
        X, absent = X.changed(partial(_scaled, mean=mean, deviation=deviation)), -mean / deviation
    if X.shape[1] <= _MOST_FEATURES:
        return FeatureRows(X, X, None, names, absent)
    axes = _largest_directions(X, random_state)
    inputs = X.changed(partial(_projected, axes=axes), axes.shape[1])
    return FeatureRows(X, inputs, axes, names, absent)


def _largest_directions(X: StoredFeatures, random_state: int | None) -> np.ndarray:
    """Return the directions of largest variance, by subspace iteration over the blocks."""
    n_axes = min(_N_COMPONENTS, *X.shape)
    rng = np.random.default_rng(random_state)
    axes = rng.normal(size=(X.shape[1], min(n_axes + _OVERSAMPLED, X.shape[1])))
    for _ in range(_N_PASSES):
        axes, _ = np.linalg.qr(sum_rows(_gram_times, X, argument=axes))
    _, turned = np.linalg.eigh(sum_rows(_projected_gram, X, argument=axes))
    return np.ascontiguousarray(axes @ turned[:, ::-1][:, :n_axes])


def _total(X: Any, argument: None) -> np.ndarray:
    return np.asarray(X.sum(axis=0)).ravel()


def _centred_squares(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return ((X - mean) ** 2).sum(axis=0)


def _gram_times(X: Any, axes: np.ndarray) -> np.ndarray:
    return np.asarray(X.T @ (X @ axes))


def _projected_gram(X: Any, axes: np.ndarray) -> np.ndarray:
    projected = X @ axes
    return projected.T @ projected


def _scaled(X: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    return (X - mean) / deviation


def _projected(X: Any, axes: np.ndarray) -> np.ndarray:
    return np.asarray(X @ axes)


def _standardised(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns on one scale, and what a zero becomes in each."""
    deviation = X.std(axis=0)
    deviation[deviation <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)] = np.inf
    mean, root = X.mean(axis=0), np.sqrt(max(X.shape[1], 1))
    return (X - mean) / deviation / root, (0.0 - mean) / deviation / root


@dataclass(frozen=True, eq=False)
class AuditInput:
    """Features and labels of one table, checked.

    ``labels`` have unlabeled zeros where zeros may be missing labels, and decisions applied;
    ``stated_unlabeled`` says whether they came with unlabeled zeros. ``modelled`` are the positions of
    the labels that can be learned: at least 5 items carry them, and one does not. ``decided`` are
    rows and columns of the entries that reviewers decided, and which of them were unlabeled zeros.
    ``history`` is how items were labelled, and ``stated`` are the items that came without unknown entries
    and are not marked as complete. ``texts`` are those of the items where X has some and the labels have
    names.
    """

    X: Any
    feature_names: Sequence[str] | None
    labels: Labels
    names: list[str]
    items: np.ndarray
    modelled: np.ndarray
    decided: tuple[np.ndarray, np.ndarray, np.ndarray]
    n_decisions: int
    stated_unlabeled: bool
    history: ItemHistory
    stated: np.ndarray
    texts: Any = None

    @property
    def part(self) -> Labels:
        """The labels that can be learned."""
        return self.labels[:, self.modelled]

    @property
    def part_names(self) -> list[str]:
        return [self.names[label] for label in self.modelled]

    @property
    def places(self) -> np.ndarray:
        """The position of each label among those that can be learned, -1 for others."""
        places = np.full(self.labels.n_labels, -1)
        places[self.modelled] = np.arange(self.modelled.size)
        return places

    @property
    def decided_part(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Decided entries of the labels that can be learned, by their positions among these."""
        rows, columns, was_zero = self.decided
        places = self.places[columns]
        kept = places >= 0
        return rows[kept], places[kept], was_zero[kept]


_KINDS: dict[str, tuple[Any, str]] = {
    "zeros": (str, "'auto', 'negative' or 'unlabeled'"),
    "scale": ((bool, np.bool_), "True or False"),
    "decisions": (ReviewDecisions, "what labelgap.auditing.read_decisions(path) returns"),
    "n_suggestions": (Integral, "a whole number"),
    "n_topics": (Integral, "a whole number"),
    "n_selected": (Integral, "a whole number"),
    "max_entries": (Integral, "a whole number"),
    "threshold": (Real, "a number between 0 and 1"),
    "progress": (Callable, "a function of a stage, how much is done, and how much there is"),
}
_MAY_BE_NONE = {"decisions", "n_topics", "n_selected", "progress"}


def check_kinds(**given: Any) -> None:
    """Raise a TypeError that says what an argument of an audit has to be."""
    for name, value in given.items():
        kind, words = _KINDS[name]
        if not isinstance(value, kind) and not (value is None and name in _MAY_BE_NONE):
            raise TypeError(f"{name}: give {words}, not {type(value).__name__}")


def check_input(
    X: Any,
    Y: Any,
    item_ids: Any = None,
    feature_names: Any = None,
    zeros: Zeros = "auto",
    decisions: ReviewDecisions | None = None,
    history: Mapping[str, Any] | None = None,
    text_encoder: Any = None,
    client: Any = None,
) -> AuditInput:
    """Check features and labels, find out which zeros are unlabeled, and apply decisions."""
    if zeros not in ("auto", "negative", "unlabeled"):
        raise ValueError(f"zeros={zeros!r}: use 'auto', 'negative' or 'unlabeled'")
    if isinstance(X, Dataset):
        dataset, X, Y = X, X.X, X.Y if Y is None else Y
        item_ids = getattr(dataset, "ids", None) if item_ids is None else item_ids
        feature_names = dataset.feature_names if feature_names is None else feature_names
    X, Y = _from_blocks(X, Y, client)
    frame = X
    X, Y, item = align_rows(X, Y)
    if item_ids is None:
        item_ids = items_of(frame, item)
    reader, texts = FrameReader.of(X, sparse=True, text_encoder=text_encoder), None
    if reader is not None and reader.encoder is not None:
        texts = reader.texts(X)
        X, feature_names = reader.read(X), reader.encoder.get_feature_names_out()
    if feature_names is None:
        feature_names = getattr(X, "columns", None)
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = as_labels(Y, n_samples=n_samples)
    if labels.n_samples != n_samples:
        raise ValueError(f"X has {n_samples} rows and Y has {labels.n_samples}: give one per item")
    if labels.names is None:
        texts = None
    names = [str(name) for name in names_of(labels)]
    labels = labels.with_names(names)
    stated = labels.unlabeled
    if zeros != "auto":
        labels = labels.with_zeros(zeros)
    elif not labels.has_gaps:
        labels = labels.with_zeros("unlabeled")
    items = _check_items(item_ids, n_samples)
    known_history = check_history(n_samples, **(history or {}))
    stated_rows = np.asarray(labels.n_observed(axis=1, unlabeled=True) == labels.n_labels)
    if known_history.complete is not None:
        stated_rows &= ~known_history.complete
    labels = with_history(labels, known_history)
    none = np.empty(0, dtype=np.intp)
    decided, n_decisions = (none, none, np.empty(0, dtype=bool)), 0
    if decisions is not None and decisions.decisions:
        rows, columns, states = entries_of(decisions, items, names)
        decided = (rows, columns, states_at(labels, rows, columns) == State.UNLABELED)
        labels, n_decisions = labels.with_entries(rows, columns, states), len(decisions.decisions)
    ones = labels.n_positives(axis=0)
    known = labels.n_observed(axis=0, unlabeled=True)
    modelled = np.flatnonzero((ones >= _FEWEST_POSITIVE) & (ones < known))
    if not modelled.size:
        raise ValueError(
            f"no label can be learned: each needs {_FEWEST_POSITIVE} items that carry it and one "
            f"known not to; the most frequent is carried by {int(ones.max(initial=0))}. Give more "
            "items, or join labels"
        )
    return AuditInput(
        X,
        feature_names,
        labels,
        names,
        items,
        modelled,
        decided,
        n_decisions,
        stated,
        known_history,
        stated_rows,
        texts,
    )


def text_match(
    checked: AuditInput, item_text: Any, label_text: Any = None, encoder: Any = None
) -> TextMatch | None:
    """Compare texts of items with the labels that can be learned; None without texts of items."""
    item_text = checked.texts if item_text is None else item_text
    if item_text is None:
        if label_text is not None:
            raise ValueError(
                "label_text needs item_text: what the words of labels are compared with"
            )
        return None
    texts = check_texts(item_text, checked.labels.n_samples, "item_text", "item")
    part = checked.part
    definitions = None
    if label_text is not None or part.texts is not None:
        definitions = label_texts(checked.labels, label_text)
        definitions = [definitions[label] for label in checked.modelled]
    return match_texts(texts, checked.part_names, definitions, encoder=encoder)


def fingerprint(rows: FeatureRows, checked: AuditInput) -> str:
    """Return the SHA-256 of ids, scaled features and labels."""
    digest = hashlib.sha256("\n".join([*checked.items, *checked.names]).encode())
    matrices: Any = [checked.labels.entries, rows.scaled]
    if isinstance(rows.scaled, StoredFeatures):
        matrices = itertools.chain(matrices[:1], rows.scaled.blocks())
    for matrix in matrices:
        arrays = [matrix]
        if sparse.issparse(matrix):
            arrays = [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _from_blocks(X: Any, Y: Any, client: Any) -> tuple[Any, Any]:
    """Features in blocks with the labels that lie beside them; anything else as it is."""
    if not is_elsewhere(X):
        if client is not None:
            raise ValueError("client: is for rows in blocks; give those, or client=None")
        return X, Y
    stored = StoredFeatures(row_source(X, Y), client=client)
    return stored, stored.labels


def states_at(labels: Labels, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the state codes of single entries."""
    stated = np.asarray(labels.entries[rows, columns]).ravel()
    return np.where(stated == 0, labels.implicit, stated)


def _check_items(item_ids: Sequence[Any] | np.ndarray | None, n_samples: int) -> np.ndarray:
    if item_ids is None:
        return np.arange(n_samples).astype(str).astype(object)
    items = np.array([str(item) for item in item_ids], dtype=object)
    if items.size != n_samples:
        raise ValueError(
            f"item_ids has {items.size} ids, X has {n_samples} rows: give one per item"
        )
    first: dict[str, int] = {}
    for row, item in enumerate(items):
        if first.setdefault(item, row) != row:
            raise ValueError(
                f"item_ids[{row}] is {item!r} like item_ids[{first[item]}]: ids must differ"
            )
    return items
