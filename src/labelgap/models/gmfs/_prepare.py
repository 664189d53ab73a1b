"""Blocks of the model, and how features enter."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from labelgap._extras import require
from labelgap.fitting import LocalRows, open_rows, row_slices
from labelgap.kernels.products import prepare_features
from labelgap.labels import Labels
from labelgap.models.gmfs._design import Design, DeviceDesign, feature_sums
from labelgap.models.gmfs._rows import Block

# a handful of arrays of this size are held for a block
_BLOCK_CELLS = 2**22
_DEVICE_CELLS = 2**24


def default_block_rows(n_labels: int, device: str | None = None) -> int:
    """Rows whose entries fit the memory of one block."""
    return max(256, (_DEVICE_CELLS if device else _BLOCK_CELLS) // max(n_labels, 1))


def find_design(source: Any, *, standardise: bool) -> Design:
    """Means and scales over all rows; around the first rows' mean, where that is cheap."""
    X = source[0][0]
    is_sparse = sparse.issparse(X)
    centre = np.zeros(X.shape[1]) if is_sparse else X[:100].mean(axis=0, dtype=np.float64)
    sums = open_rows(source).total(feature_sums, centre)
    return Design.of(sums, centre, standardise=standardise)


def prepare_block(
    design: Design, dtype: np.dtype, device: str | None, start: int, X: Any, labels: Labels
) -> Block:
    """Features ready for products: dense ones standardised, sparse ones as they are.

    On a device all features are dense and standardised.
    """
    if device is not None and sparse.issparse(X):
        X = X.toarray()
    if not sparse.issparse(X):
        X = design.standardised(X.astype(np.float64, copy=False))
    X = X.astype(dtype, copy=False)
    place = slice(start, start + X.shape[0])
    if device is None:
        return Block(place, prepare_features(X), labels)
    torch = require("torch", extra="gpu", purpose="device=")
    codes = torch.asarray(labels.states(), device=device)
    return Block(place, prepare_features(torch.asarray(X, device=device)), labels, codes)


def block_maker(design: Design, dtype: np.dtype, device: str | None = None) -> Any:
    """:func:`prepare_block` with everything but the rows settled."""
    return partial(prepare_block, design, dtype, device)


def prepared_rows(X: Any, labels: Labels, block_rows: int, make: Any) -> LocalRows:
    """All rows in blocks that know where they stand."""
    parts = row_slices(X.shape[0], block_rows)
    return LocalRows([make(part.start, X[part], labels[part]) for part in parts])


def inner_design(design: Design, X: Any, device: str | None = None) -> Design | DeviceDesign:
    """What products still have to do: nothing for features that were standardised."""
    if device is not None:
        return DeviceDesign()
    return design if sparse.issparse(X) else design.nothing()
