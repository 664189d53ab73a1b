"""Small problems with everything missing that can be, and the objective written out densely."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from labelgap import Labels
from labelgap.models.imvwl._imvwl_objective import IMVWLParams, IMVWLProblem, masked_labels
from labelgap.models.imvwl._imvwl_steps import first_params
from labelgap.models.imvwl._scaled_views import learn_scaling, read_views
from labelgap.views import Views, present

VIEWS = Views({"colour": 4, "shape": 7, "words": 5})


class Data(NamedTuple):
    X: np.ndarray  # NaN where a view or a value is missing
    Y: np.ndarray  # NaN where unknown


def make_data(
    seed=0, n_samples=30, n_labels=6, *, views=True, values=True, labels=True, unlabelled=True
) -> Data:
    """Non-negative views of three factors, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    V = rng.gamma(1.0, size=(n_samples, 3))
    X = V @ rng.gamma(1.0, size=(3, VIEWS.n_columns)) + 0.3 * rng.random((n_samples, 16))
    X[rng.random(X.shape) < 0.3] = 0.0
    logits = (V - 1) @ rng.normal(size=(3, n_labels)) + 0.3 * rng.normal(size=(n_samples, n_labels))
    Y = (logits > 0).astype(float)
    if values:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:, [0, 4, 11]] = np.nan_to_num(X[:, [0, 4, 11]], nan=0.5)
    if views:
        for row, view in enumerate(rng.integers(3, size=n_samples // 2)):
            X[row, list(VIEWS.values())[view]] = np.nan
    if labels:
        Y[rng.random(Y.shape) < 0.4] = np.nan
    if unlabelled:
        Y[-4:] = np.nan
    return Data(X, Y)


def make_problem(data: Data, scaling="balance", with_offset=False, form=np.array, **weights):
    X = form(data.X) if form is np.array else marked_sparse(data.X)
    there = present(X, VIEWS)
    learned = learn_scaling(X, VIEWS, there, scaling)
    labelled, target = masked_labels(Labels.from_dense(data.Y))
    weights = {"alpha": 0.3, "beta": 0.2, "ridge": 0.05, **weights}
    views = read_views(X, VIEWS, there, learned)
    return IMVWLProblem(
        len(X) if form is np.array else X.shape[0],
        views,
        labelled,
        target,
        **weights,
        with_offset=with_offset,
    ), learned


def marked_sparse(X) -> sparse.csr_array:
    """Sparse, with absent views marked as :mod:`labelgap.views` says."""
    from labelgap.views import from_blocks, to_blocks

    blocks = {
        name: sparse.csr_array(np.nan_to_num(b, nan=0.0)) for name, b in to_blocks(X, VIEWS).items()
    }
    there = present(X, VIEWS)
    marked = from_blocks(blocks, {name: there[:, p] for p, name in enumerate(VIEWS)})[0].tolil()
    for position, columns in enumerate(VIEWS.values()):
        for row in np.flatnonzero(there[:, position]):
            for column in range(columns.start, columns.stop):
                if np.isnan(X[row, column]):
                    marked[row, column] = np.nan
    return sparse.csr_array(marked)


def start(problem: IMVWLProblem, k=3, seed=0, correlation=True, n_labels=6) -> IMVWLParams:
    U = np.random.default_rng(seed).gamma(1.0, size=(VIEWS.n_columns, k))
    return first_params(problem, U, n_labels, correlation)


def dense_objective(data: Data, scaling, problem: IMVWLProblem, params: IMVWLParams) -> float:
    """The formula of the docstring with masks of the size of the data."""
    X = np.maximum((data.X - scaling.shift) * scaling.factor, 0)
    views = np.where(np.isnan(X), 0.0, X - params.V @ params.U.T)
    total = np.square(views).sum()
    total += problem.ridge * (np.square(params.V).sum() + np.square(params.U).sum())
    if problem.target is not None:
        S = params.S
        W = params.W if params.basis is None else params.W @ params.basis.T
        fitted = params.V @ W @ S + params.offset
        total += problem.alpha * np.square(np.where(np.isnan(data.Y), 0.0, fitted - data.Y)).sum()
        total += problem.ridge * np.square(W).sum()
        if params.T is not None:
            total += problem.beta * np.linalg.svd(S, compute_uv=False).sum()
    return float(total)
