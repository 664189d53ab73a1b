"""Products with standardised features that never touch the stored ones.

Features enter as (x - mean) / scale with a column of ones behind them, so that variances of
weights mean the same for every feature. A sparse matrix stays as it is: the products with W take
W / scale and correct for the mean by one row.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.extras import require
from labelgap.fitting import LocalRows, open_rows, row_slices
from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.products import (
    Features,
    linear_part,
    prepare_features,
    squared_transposed_times,
    times,
    transposed_times,
    with_intercept,
)
from labelgap.labels import Labels
from labelgap.memory import block_size


class GMFSBlock(NamedTuple):
    """Some rows, and where they stand among all; on a device with the codes of their entries."""

    rows: slice
    features: Features
    labels: Labels
    codes: Any = None

    def states(self) -> Any:
        """Return codes of the entries, beside the features."""
        return self.labels.states() if self.codes is None else self.codes


class FeatureSums(NamedTuple):
    """Sums over rows before a fit: rows, features and their squares."""

    n_samples: float
    total: np.ndarray
    squares: np.ndarray


def feature_sums(block: tuple[Any, Any], local: Any, argument: np.ndarray) -> FeatureSums:
    """Around a rough centre (zero for sparse features), for :meth:`labelgap.fitting.Rows.total`."""
    X = block[0]
    if sparse.issparse(X):
        squared = X.copy()
        squared.data = np.square(squared.data, dtype=np.float64)
        sums = (np.asarray(part.sum(axis=0), dtype=np.float64).ravel() for part in (X, squared))
        return FeatureSums(float(X.shape[0]), *sums)
    off = X.astype(np.float64) - argument
    return FeatureSums(float(X.shape[0]), off.sum(axis=0), np.square(off).sum(axis=0))


class Design(NamedTuple):
    """Mean and scale of every feature, (n_features,) each."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, sums: FeatureSums, centre: np.ndarray, *, standardise: bool) -> Design:
        """Return a feature that never varies has the scale one, and is zero once it is centred."""
        off = sums.total / sums.n_samples
        spread = np.sqrt(np.maximum(sums.squares / sums.n_samples - off**2, 0.0))
        mean = centre + off
        noise = 1e-6 * np.maximum(np.abs(mean), np.sqrt(sums.squares / sums.n_samples))
        constant = spread <= noise
        scale = np.where(constant, 1.0, spread) if standardise else np.ones_like(spread)
        return cls(mean, scale)

    def linear(self, features: Features, weights: np.ndarray) -> np.ndarray:
        """Return standardised X times W, plus the intercept in the last row of the weights."""
        scaled = weights[:-1] / self.scale.astype(weights.dtype)[:, None]
        offset = weights[-1] - (self.mean @ scaled).astype(weights.dtype)
        return times(features, scaled) + offset

    def transposed(self, features: Features, G: np.ndarray) -> np.ndarray:
        """Return standardised X' times G, and the column sums of G below it."""
        total = G.sum(axis=0)
        product = transposed_times(features, G) - np.outer(self.mean, total).astype(G.dtype)
        return np.vstack([product / self.scale.astype(G.dtype)[:, None], total])

    def squares(self, features: Features, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the diagonal of standardised X' diag(weights) X, the intercept's last."""
        ones = np.ones((features.shape[0], 1), dtype=features.dtype)
        column = ones if weights is None else weights[:, None].astype(features.dtype)
        total = float(column.sum(dtype=np.float64))
        second = squared_transposed_times(features, column)[:, 0].astype(np.float64)
        first = transposed_times(features, column)[:, 0].astype(np.float64)
        around = second - 2 * self.mean * first + total * self.mean**2
        return np.append(np.maximum(around, 0) / self.scale**2, total)

    def gram(self, features: Features) -> np.ndarray:
        """Return standardised X'X with the intercept, dense."""
        X = features.rows
        d = X.shape[1]
        inner = X.T @ X
        inner = inner.toarray() if sparse.issparse(inner) else inner
        sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        out = np.empty((d + 1, d + 1))
        cross = np.outer(self.mean, sums)
        centred = inner - cross - cross.T + X.shape[0] * np.outer(self.mean, self.mean)
        out[:d, :d] = centred / np.outer(self.scale, self.scale)
        out[d, :d] = out[:d, d] = (sums - X.shape[0] * self.mean) / self.scale
        out[d, d] = X.shape[0]
        return out

    def standardised(self, X: Any) -> Any:
        """Return dense features as they enter."""
        return (X - self.mean.astype(X.dtype)) / self.scale.astype(X.dtype)

    def nothing(self) -> Design:
        """For features that are standardised already."""
        return Design(np.zeros_like(self.mean), np.ones_like(self.scale))


class DeviceDesign(NamedTuple):
    """The same products with features that lie on a device, standardised already.

    What has a row for every row stays there; sums over rows come back.
    """

    def linear(self, features: Features, weights: np.ndarray) -> Any:
        xp = array_namespace(features.rows)
        return linear_part(features, array_like(xp, weights, features.rows))

    def transposed(self, features: Features, G: Any) -> np.ndarray:
        xp = array_namespace(features.rows)
        G = array_like(xp, G, features.rows)
        return to_numpy(with_intercept(transposed_times(features, G), G))

    def squares(self, features: Features, weights: np.ndarray | None = None) -> np.ndarray:
        xp = array_namespace(features.rows)
        column = np.ones(features.shape[0]) if weights is None else weights
        there = array_like(xp, column[:, None], features.rows)
        found = to_numpy(squared_transposed_times(features, there))[:, 0]
        return np.append(found.astype(np.float64), column.sum())

    def gram(self, features: Features) -> np.ndarray:
        X = features.rows
        xp = array_namespace(X)
        X = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)
        return to_numpy(xp.matrix_transpose(X) @ X).astype(np.float64)


def default_block_rows(n_labels: int, device: str | None = None) -> int:
    """Return rows whose entries fit the memory of one block."""
    return block_size(n_labels, fraction=1 / 8 if device else 1 / 32, least=256)


def find_design(source: Any, *, standardise: bool) -> Design:
    """Return means and scales over all rows; around the first rows' mean, where that is cheap."""
    X = source[0][0]
    is_sparse = sparse.issparse(X)
    centre = np.zeros(X.shape[1]) if is_sparse else X[:100].mean(axis=0, dtype=np.float64)
    sums = open_rows(source).total(feature_sums, centre)
    return Design.of(sums, centre, standardise=standardise)


def prepare_block(
    design: Design, dtype: np.dtype, device: str | None, start: int, X: Any, labels: Labels
) -> GMFSBlock:
    """Return features ready for products: dense ones standardised, sparse ones as they are.

    On a device all features are dense and standardised.
    """
    if device is not None and sparse.issparse(X):
        X = X.toarray()
    if not sparse.issparse(X):
        X = design.standardised(X.astype(np.float64, copy=False))
    X = X.astype(dtype, copy=False)
    place = slice(start, start + X.shape[0])
    if device is None:
        return GMFSBlock(place, prepare_features(X), labels)
    torch = require("torch", extra="gpu", purpose="device=")
    codes = torch.asarray(labels.states(), device=device)
    return GMFSBlock(place, prepare_features(torch.asarray(X, device=device)), labels, codes)


def block_maker(design: Design, dtype: np.dtype, device: str | None = None) -> Any:
    """Return :func:`prepare_block` with everything but the rows settled."""
    return partial(prepare_block, design, dtype, device)


def prepared_rows(X: Any, labels: Labels, block_rows: int, make: Any) -> LocalRows:
    """Return all rows in blocks that know where they stand."""
    parts = row_slices(X.shape[0], block_rows)
    return LocalRows([make(part.start, X[part], labels[part]) for part in parts])


def inner_design(design: Design, X: Any, device: str | None = None) -> Design | DeviceDesign:
    """Return what products still have to do: nothing for features that were standardised."""
    if device is not None:
        return DeviceDesign()
    return design if sparse.issparse(X) else design.nothing()
