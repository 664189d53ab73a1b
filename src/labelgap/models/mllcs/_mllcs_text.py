"""A map from texts of labels to their factors, learned on seen labels: the prior of unseen ones.

With g_t the text of label t as a vector, the log-odds that row n has an unseen label t are, before any
count,

    h_nt = c_0 + c_1 (f_n . T' g_t + T_b' g_t) + a (x_n - mean x) . g_t,      c_1, a >= 0.

T is a ridge regression of the (v, b) of seen labels on their texts. The last term is bilinear in the
texts of item and label; it is there where items have their features from the encoder of the labels.
c and a are learned over all seen labels together, each of them through the T that the others give, as
if nobody had used it yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.kernels.nonnegative_logistic import fit_nonnegative_logistic

_PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
_MOST_ENTRIES = 400_000


class TextPrior(NamedTuple):
    """Prior (v, b) of some labels, and what their texts add directly: weights (n x d) or None."""

    factors: np.ndarray
    bias: np.ndarray
    direct: Any = None


@dataclass(frozen=True, eq=False)
class TextMap:
    """The map from texts to factors; see the module.

    ``vectors`` (S x D) and ``known`` (S x K + 1) are texts and (v, b) of seen labels; ``penalty`` is
    that of the ridge regression, relative to the mean squared length of the vectors; ``centre`` is
    the mean of the items' features, None where these are of another kind than the texts.
    """

    vectors: Any
    known: np.ndarray
    penalty: float
    slopes: np.ndarray
    centre: np.ndarray | None

    def prior(self, vectors: Any, left_out: np.ndarray | None = None) -> TextPrior:
        """The prior of labels with these texts, learned without some of the seen labels."""
        kept = np.ones(len(self.known), dtype=bool)
        if left_out is not None:
            kept[left_out] = False
        c_0, c_1, a = self.slopes
        mapped = c_1 * _ridge(self.vectors[kept], self.known[kept], vectors, self.penalty)
        direct = None
        if self.centre is not None and a > 0:
            direct = a * vectors
        return TextPrior(mapped[:, :-1], mapped[:, -1] + c_0, direct)

    def offsets(self, items: Any, prior: TextPrior) -> np.ndarray | float:
        """What the texts add directly to psi of these rows, with a mean of zero over all rows."""
        if prior.direct is None:
            return 0.0
        product = safe_sparse_dot(items, prior.direct.T, dense_output=True)
        return np.asarray(product) - self.shift(prior)

    def shift(self, prior: TextPrior) -> np.ndarray | float:
        """The mean over rows of what the texts add directly."""
        if prior.direct is None:
            return 0.0
        return np.asarray(safe_sparse_dot(prior.direct, self.centre)).ravel()


def learn_text_map(
    vectors: Any,
    factors: np.ndarray,
    bias: np.ndarray,
    rows: np.ndarray,
    positives: sparse.csr_array,
    items: Any = None,
) -> TextMap:
    """Learn the map from rows, their factors ``rows`` (n x K) and seen labels ``positives`` (n x S).

    ``items`` (n x D) are the rows' features where they are of the same kind as the texts.
    """
    known = np.column_stack([factors, bias]).astype(np.float64)
    centre = None if items is None else np.asarray(items.mean(axis=0)).ravel()
    step = max(1, -(-len(rows) * len(known) // _MOST_ENTRIES))
    part, y = rows[::step].astype(np.float64), positives[::step].toarray().astype(np.float64)
    direct = np.zeros_like(y)
    if items is not None and centre is not None:
        product = safe_sparse_dot(items[::step], vectors.T, dense_output=True)
        direct = np.asarray(product) - np.asarray(safe_sparse_dot(vectors, centre)).ravel()
    best: tuple[float, float, np.ndarray] | None = None
    for penalty in _PENALTIES:
        mapped = _left_out(vectors, known, penalty)
        psi = part @ mapped[:, :-1].T + mapped[:, -1]
        design = np.column_stack([psi.ravel(), direct.ravel()])
        slopes = fit_nonnegative_logistic(design, y.ravel(), 1.0, 2)
        z = design @ slopes[:-1] + slopes[-1]
        loss = float((np.logaddexp(0, z) - y.ravel() * z).sum())
        if best is None or loss < best[0]:
            best = loss, penalty, slopes
    assert best is not None
    c_1, a, c_0 = best[2]
    return TextMap(vectors, known, best[1], np.array([c_0, c_1, a]), centre)


def _system(vectors: Any, penalty: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centred Gram matrix of texts, the same with the penalty, and the mean text."""
    mean = np.asarray(vectors.mean(axis=0)).ravel()
    gram = _centred(vectors, vectors, mean)
    scale = float(np.trace(gram)) / max(1, len(gram)) or 1.0
    return gram, gram + penalty * scale * np.eye(len(gram)), mean


def _centred(left: Any, right: Any, mean: np.ndarray) -> np.ndarray:
    product = np.asarray(safe_sparse_dot(left, right.T, dense_output=True), dtype=np.float64)
    of_left = np.asarray(safe_sparse_dot(left, mean)).ravel()
    of_right = np.asarray(safe_sparse_dot(right, mean)).ravel()
    return product - of_left[:, None] - of_right + mean @ mean


def _ridge(seen: Any, known: np.ndarray, new: Any, penalty: float) -> np.ndarray:
    _, system, mean = _system(seen, penalty)
    centre = known.mean(axis=0)
    dual = linalg.solve(system, known - centre, assume_a="pos")
    return _centred(new, seen, mean) @ dual + centre


def _left_out(vectors: Any, known: np.ndarray, penalty: float) -> np.ndarray:
    """What the regression says of each seen label when it is fitted to the others.

    The mean text and the mean (v, b) are those of all labels.
    """
    gram, system, _ = _system(vectors, penalty)
    hat = linalg.solve(system, gram, assume_a="pos").T
    off = known - known.mean(axis=0)
    own = np.diag(hat)[:, None]
    return (hat @ off - own * off) / np.maximum(1 - own, 1e-9) + known.mean(axis=0)
