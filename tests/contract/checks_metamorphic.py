"""Two ways to say the same: what a change of the labels that says nothing must not change."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from contract.problems import assert_same, fresh, outputs, problem
from contract.registry import Case
from labelgap import Labels, LabelWarning


def check_unknown_column_changes_nothing(case: Case) -> None:
    """A label that nobody stated anything about leaves the other labels as they are."""
    if case.permute_start is not None or "check_label_order" in case.exempt:
        # factors of all labels start together, at random or as given
        return
    p = problem()
    plain = outputs(fresh(case, p.X, p.Y).fit(p.X, p.Y), p.X_new)
    Y = np.column_stack([p.Y, np.full(len(p.Y), np.nan)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        wider = outputs(fresh(case, p.X, Y).fit(p.X, Y), p.X_new)
    kept = {name: values[:, :-1] for name, values in wider.items()}
    assert_same(plain, kept, max(case.tolerance, 1e-6))


def check_unknown_row_changes_nothing(case: Case) -> None:
    """An item of which no label is known leaves the predictions as they are."""
    if case.permute_start is not None or "check_row_order" in case.exempt:
        # starts and draws belong to positions of rows
        return
    p = problem()
    plain = outputs(fresh(case, p.X, p.Y).fit(p.X, p.Y), p.X_new)
    X, Y = np.vstack([p.X, p.X_new[:3]]), np.vstack([p.Y, np.full((3, p.Y.shape[1]), np.nan)])
    longer = outputs(fresh(case, X, Y).fit(X, Y), p.X_new)
    assert_same(plain, longer, max(case.tolerance, 1e-6))


def check_a_weight_is_a_row_given_again(case: Case) -> None:
    """A row with the weight k counts as k rows, and one with the weight 0 not at all."""
    if not has_fit_parameter(case.estimator, "sample_weight"):
        return
    p = problem()
    # without gaps: rows that are left out to choose among imputers are drawn by position
    X, Y, weights = p.X, p.truth, np.random.default_rng(3).integers(0, 3, len(p.X))
    weighted = fresh(case, X, Y).fit(X, Y, sample_weight=weights.astype(float))
    again = fresh(case, X, Y).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    found = [outputs(one, p.X_new) for one in (weighted, again)]
    for one in found:
        del one["predict"]  # thresholds, too, come from rows left out
    assert_same(*found, max(case.tolerance, 1e-6))


def check_an_unknown_entry_is_one_that_is_not_there(case: Case) -> None:
    """Entries that are not stored, stored as unknown or hidden afterwards are the same."""
    p = problem()
    rows, columns = np.nonzero(~p.hidden)
    listed = Labels.from_long(
        rows, columns, p.truth[rows, columns], item_order=range(len(p.X)), implicit="unknown"
    )
    everywhere = np.indices(p.truth.shape).reshape(2, -1)
    values = p.Y[tuple(everywhere)]
    stored = Labels.from_long(*everywhere, values, item_order=range(len(p.X)))
    results = [
        outputs(fresh(case, p.X, p.Y).fit(p.X, Y.with_names(None)), p.X_new)
        for Y in (listed, stored)
    ]
    assert_same(*results, 1e-10)


def check_known_labels_given_twice(case: Case) -> None:
    """Fitting to labels that went through an export and back gives the same."""
    p = problem()
    labels = Labels.from_dense(p.Y)
    again = Labels.from_signed(labels.to_signed(as_sparse=True))
    twice = Labels.from_long(
        *(np.concatenate([part, part]) for part in again.to_long()),
        item_order=range(len(p.X)),
        implicit="unknown",
    )
    results = [
        outputs(fresh(case, p.X, p.Y).fit(p.X, Y.with_names(None)), p.X_new)
        for Y in (labels, again, twice)
    ]
    assert_same(results[0], results[1], 1e-10)
    assert_same(results[0], results[2], 1e-10)
