"""Tiny problems of the model, and short fits."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from labelgap import GMFS, Labels
from labelgap.fitting import EM, LocalRows, Monitor, run_em
from labelgap.generators import make_positive_only
from labelgap.models.gmfs._gmfs_em import ExactSolver, GMFSParams, SelectionModel, feature_gram
from labelgap.models.gmfs._gmfs_features import Design, block_maker
from labelgap.models.gmfs._gmfs_priors import PlainPropensities, PropensityModel, SpikeSlab

SETTINGS = {"lambda_v": 1.3, "lambda_b": 0.8}
SPIKE_SLAB = {"spike": 0.02, "slab": 0.7}


class Tiny(NamedTuple):
    """A problem with entries of all four states, and a start that is no special point."""

    X: np.ndarray
    labels: Labels
    params: GMFSParams


def tiny_problem(seed: int = 0, *, n=11, d=3, n_labels=4, c=2, theta: Any = None) -> Tiny:
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 0.4).astype(float)
    labels = Labels.from_dense(Y, zeros="unlabeled")
    zero_rows, zero_columns = np.nonzero(Y == 0)
    picked = rng.permutation(len(zero_rows))
    known, unknown = picked[:4], picked[4:9]
    labels = labels.with_entries(zero_rows[known], zero_columns[known], 2)
    labels = labels.hide(zero_rows[unknown], zero_columns[unknown])
    rates = None if theta is None else PlainPropensities(np.asarray(theta(rng, n, n_labels)))
    params = GMFSParams(
        factors=rng.normal(size=(n_labels, c)),
        bias=rng.normal(size=n_labels),
        weights=0.4 * rng.normal(size=(d + 1, c)),
        propensities=rates,
    )
    return Tiny(rng.normal(size=(n, d)), labels, params)


def plain_design(d: int) -> Design:
    return Design(np.zeros(d), np.ones(d))


def rows_of(tiny: Tiny, sizes: Any = None, X: Any = None) -> LocalRows:
    """The rows in blocks of these sizes, features as they are; by default in one block."""
    X = tiny.X if X is None else X
    make = block_maker(plain_design(X.shape[1]), np.dtype(np.float64))
    ends = np.cumsum([X.shape[0]] if sizes is None else sizes)
    parts = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return LocalRows([make(part.start, X[part], tiny.labels[part]) for part in parts])


def model_of(
    tiny: Tiny, *, exact=True, prior: Any = None, propensity_model: Any = None, n_cg=3
) -> SelectionModel:
    design = plain_design(tiny.X.shape[1])
    solver = None
    if exact:
        solver = ExactSolver(rows_of(tiny).total(feature_gram, design), SETTINGS["lambda_v"])
    return SelectionModel(
        design,
        SpikeSlab(**SPIKE_SLAB) if prior is None else prior,
        PropensityModel() if propensity_model is None else propensity_model,
        SETTINGS["lambda_v"],
        SETTINGS["lambda_b"],
        n_cg,
        solver,
    )


def fit(tiny: Tiny, model: SelectionModel, n_iter: int, sizes: Any = None):
    """Parameters, the rows with their factors, and the trace after some iterations."""
    rows = rows_of(tiny, sizes)
    params, trace = run_em(model, rows, tiny.params, Monitor(n_iter, 0.0))
    return params, rows, trace


def row_factors(rows: LocalRows) -> np.ndarray:
    return np.concatenate([local.factors for local in rows.local_states()])


@cache
def planted(n_samples=300, n_features=20, n_labels=10, *, rate=0.6, density=0.3, seed=0):
    """Labels of the model, of which a fraction was recorded; half of the features matter."""
    return make_positive_only(
        n_samples,
        n_features,
        n_labels,
        n_factors=3,
        density=density,
        label_frequency=rate,
        random_state=seed,
    )


def quick(**parameters: Any) -> GMFS:
    """A short fit with a fixed seed."""
    settings = {
        "n_factors": 3,
        "label_frequency": 0.7,
        "propensity": "per_label",
        "inference": EM(10, 0.0, solver="exact"),
        "random_state": 0,
    }
    return GMFS(**{**settings, **parameters})
