"""What an estimator may read of the labels, in whatever form they come."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from contract.problems import assert_same, fresh, outputs, problem
from contract.registry import Case
from labelgap import Labels, LabelWarning, metrics


def check_hidden_values_do_not_matter(case: Case) -> None:
    """What lies behind the mask changes nothing."""
    p = problem()
    results = []
    for behind in (p.truth, 1 - p.truth):
        values = np.where(p.hidden, behind, p.truth)
        masked = np.ma.MaskedArray(values, mask=p.hidden)
        hidden = Labels.from_dense(values).hide(*np.nonzero(p.hidden))
        results += [outputs(fresh(case, p.X, p.Y).fit(p.X, y), p.X_new) for y in (masked, hidden)]
    for other in results[1:]:
        assert_same(results[0], other, 1e-12)


def check_observed_values_matter(case: Case) -> None:
    """Other observed values give other scores: the check above is not passed by ignoring Y."""
    p = problem()
    other = np.where(p.hidden, np.nan, 1 - p.truth)
    scores = [fresh(case, p.X, p.Y).fit(p.X, y).decision_function(p.X_new) for y in (p.Y, other)]
    assert (np.abs(scores[0] - scores[1]).max(axis=0) > 1e-3).all()


def check_encodings_agree(case: Case) -> None:
    """Every encoding of the same labels gives the same fit."""
    p = problem()
    reference = outputs(fresh(case, p.X, p.Y).fit(p.X, p.Y), p.X_new)
    for name, labels in _encodings(p).items():
        estimator = fresh(case, p.X, p.Y).fit(p.X, labels)
        try:
            assert_same(reference, outputs(estimator, p.X_new), 1e-10)
        except AssertionError as error:
            raise AssertionError(f"labels given as {name}: {error}") from error


def _encodings(p) -> dict:
    positives, observed = (p.truth == 1) & ~p.hidden, ~p.hidden
    names = [f"label {j}" for j in range(p.Y.shape[1])]
    as_object = p.Y.astype(object)
    as_object[p.hidden] = None
    frame = pd.DataFrame(p.Y, columns=names)
    labels = Labels.from_dense(p.Y)
    return {
        "an object array with None": as_object,
        "float32": p.Y.astype(np.float32),
        "a list of lists": p.Y.tolist(),
        "a masked array": np.ma.MaskedArray(p.truth, mask=p.hidden),
        "a pandas frame": frame,
        "a pandas frame of nullable integers": frame.astype("Int8"),
        "a polars frame": pl.DataFrame(as_object.tolist(), schema=names, orient="row"),
        "signed labels": Labels.from_signed(np.where(p.hidden, 0, 2 * p.truth - 1)),
        "labels that store what is known": labels.with_implicit("unknown"),
        "labels that store what is unknown": labels.with_implicit("negative"),
        "a sparse matrix and a sparse mask": Labels.from_sparse(
            sparse.csr_matrix(positives), observed=sparse.csr_array(observed)
        ),
        "a sparse array and a dense mask": Labels.from_sparse(
            sparse.coo_array(positives), observed=observed
        ),
    }


def check_complete_encodings_agree(case: Case) -> None:
    """Without gaps: a plain sparse matrix is the same as a dense one."""
    p = problem()
    reference = outputs(fresh(case, p.X, p.Y).fit(p.X, p.truth), p.X_new)
    for labels in (sparse.csr_matrix(p.truth), sparse.csc_array(p.truth), p.truth.astype(bool)):
        estimator = fresh(case, p.X, p.Y).fit(p.X, labels)
        assert_same(reference, outputs(estimator, p.X_new), 1e-10)


def check_degenerate_labels(case: Case) -> None:
    """A label that is always 1, always 0 or never observed neither fails nor spoils the others."""
    p = problem()
    Y = np.column_stack([p.Y, np.zeros(len(p.Y)), np.ones(len(p.Y)), np.full(len(p.Y), np.nan)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        estimator = fresh(case, p.X, Y).fit(p.X, Y)
    for name, result in outputs(estimator, p.X_new).items():
        assert result.shape == (len(p.X_new), Y.shape[1]), name
        assert np.isfinite(result).all(), name
    scores = estimator.decision_function(p.X_new)
    assert scores[:, -2].mean() > scores[:, -3].mean(), "always 1 is ranked above always 0"


def check_score_counts_observed_entries(case: Case) -> None:
    """``score`` is the average precision over the observed entries."""
    p = problem()
    estimator = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    expected = metrics.label_ranking_average_precision(p.Y, estimator.decision_function(p.X))
    assert estimator.score(p.X, p.Y) == expected
    assert estimator.score(p.X, Labels.from_dense(p.Y)) == expected


def check_label_names(case: Case) -> None:
    """Names of labels and features come out as they went in."""
    p = problem()
    frame = pd.DataFrame(p.Y, columns=["sun", "sea", "tree", "snow"]).astype("Int8")
    features = pd.DataFrame(p.X, columns=[f"feature {j}" for j in range(p.X.shape[1])])
    estimator = fresh(case, p.X, p.Y).fit(features, frame)
    assert list(estimator.classes_) == list(frame.columns)
    assert list(estimator.feature_names_in_) == list(features.columns)
    plain = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    assert list(plain.classes_) == list(range(p.Y.shape[1]))
    assert not hasattr(plain, "feature_names_in_")
    named = pd.DataFrame(p.X_new, columns=features.columns)
    assert_same(outputs(plain, p.X_new), outputs(estimator, named), 1e-10)
