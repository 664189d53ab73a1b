"""Labels that come after the fit: by their counts, or by rows in which they become known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from labelgap import LabelWarning
from labelgap.cooccurrence import as_cooccurrence
from labelgap.zero_shot import prior_of_unconnected
from models.mllcs.problems import fitted, mean_auc, named, quick, unseen_problem

MAPS = ["linear", "kernel"]


def without(p, label):
    """The problem before one unseen label was counted."""
    return p._replace(cooccurrence=np.delete(p.cooccurrence, label, axis=1))


# -- add_labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unseen", ["moments", *MAPS])
def test_a_label_may_come_at_the_fit_or_later(unseen):
    p = unseen_problem()
    last = p.n_labels - 1
    together = fitted(unseen=unseen, count_weight=0.0)
    before = fitted(without(p, last), unseen=unseen, count_weight=0.0)
    later = before.add_labels(p.cooccurrence[:, last], [last])
    assert list(later.classes_) == list(range(p.n_labels))
    np.testing.assert_array_equal(later.seen_, together.seen_)
    # the moments of all unseen labels are matched by one optimiser, which stops when they are
    tolerance = 1e-8 if unseen in MAPS else 2e-2
    np.testing.assert_allclose(
        later.decision_function(p.X_new), together.decision_function(p.X_new), atol=tolerance
    )
    assert np.ptp(later.decision_function(p.X_new)[:, last]) > 0.1


def test_a_fraction_of_the_rows_is_enough_for_a_later_label(monkeypatch):
    """Moments on every second row come close to those on all of them, since both are scaled."""
    p = unseen_problem(400)
    last = p.n_labels - 1
    on_all = fitted(without(p, last)).add_labels(p.cooccurrence[:, last], [last])
    monkeypatch.setattr("labelgap.models.mllcs._mllcs._ANCHORS_LATER", 200)
    on_half = fitted(without(p, last)).add_labels(p.cooccurrence[:, last], [last])
    found, expected = (m.decision_function(p.X_new)[:, last] for m in (on_half, on_all))
    assert np.abs(found - expected).max() > 1e-6
    assert np.corrcoef(found, expected)[0, 1] > 0.9
    assert abs(found.mean() - expected.mean()) < 0.5


def test_later_labels_change_nothing_else():
    p = unseen_problem()
    model = fitted(without(p, p.n_labels - 1))
    before = model.predict_proba(p.X_new)
    model.add_labels(p.cooccurrence[:, [-1]], ["late"]).add_labels(p.cooccurrence[:, -2], ["later"])
    after = model.predict_proba(p.X_new)
    np.testing.assert_array_equal(after[:, :-2], before)
    assert list(model.classes_[-2:]) == ["late", "later"]
    assert model.predict(p.X_new, labels="unseen").shape[1] == p.n_labels - p.n_seen + 1
    interval = model.predict_interval(p.X_new)
    assert interval.lower.shape == after.shape


@pytest.mark.parametrize("unseen", ["moments", *MAPS])
def test_labels_can_be_added_when_all_were_seen(unseen):
    p = unseen_problem()
    model = quick(unseen=unseen).fit(p.X, p.seen)
    model.add_labels(p.cooccurrence[:, p.n_seen :], [f"new {j}" for j in range(4)])
    found = model.predict_interval(p.X_new, labels="unseen")
    assert np.isfinite(found.lower).all()
    assert np.isfinite(found.upper).all()
    model.fold_in(p.X, p.full.to_dense()[:, p.n_seen], "new 0")
    assert np.isfinite(model.predict_proba(p.X_new)).all()


def test_a_new_label_without_counts_falls_back_on_a_prior():
    p = unseen_problem()
    table = np.column_stack([p.cooccurrence[:, -2], np.zeros(p.n_seen)])
    model = fitted(p._replace(cooccurrence=p.cooccurrence[:, : p.n_seen]))
    with pytest.warns(LabelWarning, match="lonely"):
        model.add_labels(table, ["some", "lonely"])
    found = model.predict_proba(p.X_new)
    assert np.ptp(found[:, -1]) == 0
    assert np.ptp(found[:, -2]) > 0.05
    # as when it is there from the start
    with pytest.warns(LabelWarning):
        counts = as_cooccurrence(np.hstack([p.cooccurrence[:, : p.n_seen], table]))
    expected = prior_of_unconnected(p.seen, counts)[-1]
    np.testing.assert_allclose(found[:, -1], expected, rtol=1e-9)


def test_missing_counts_are_not_zeros():
    p = unseen_problem()
    model = fitted()
    gaps = p.cooccurrence[:, -1].copy()
    gaps[:3] = np.nan
    zeros = np.nan_to_num(gaps)
    scores = model.add_labels(np.column_stack([gaps, zeros]), ["gaps", "zeros"])
    found = scores.decision_function(p.X_new)[:, -2:]
    assert np.abs(found[:, 0] - found[:, 1]).max() > 1e-2


def test_forms_of_counts_agree():
    p = unseen_problem()
    names = [f"label {j}" for j in range(p.n_labels)]
    table = p.cooccurrence[:, -2:]
    shuffled = np.random.default_rng(0).permutation(p.n_seen)
    forms = {
        "array": (table, ["a", "b"]),
        "sparse": (sparse.csr_array(table), ["a", "b"]),
        "numbered frame": (pd.DataFrame(table, columns=["a", "b"]), None),
        "polars": (pl.DataFrame(table, schema=["a", "b"]), None),
        "named frame": (
            pd.DataFrame(table, columns=["a", "b"], index=names[: p.n_seen]).iloc[shuffled],
            None,
        ),
        "nullable frame": (
            pd.DataFrame(table.astype(int), columns=["a", "b"], index=names[: p.n_seen]).astype(
                "Int64"
            ),
            None,
        ),
    }
    results = {}
    for form, (counts, new) in forms.items():
        model = quick().fit(p.X, p.seen.with_names(names[: p.n_seen]), cooccurrence=named(p))
        model.add_labels(counts, new)
        assert list(model.classes_[-2:]) == ["a", "b"], form
        results[form] = model.predict_proba(p.X_new)
    for form, found in results.items():
        np.testing.assert_array_equal(found, results["array"], err_msg=form)


@pytest.mark.parametrize(
    ("counts", "names", "message"),
    [
        (lambda c: c[:-1], ["x"], r"counts has 7 rows, but there are 8 seen labels"),
        (lambda c: c, None, "names: give the names"),
        (lambda c: c, ["x", "y"], "names has 2 entries for 1 labels"),
        (lambda c: c, ["label 9"], "'label 9' is there already; use fold_in"),
        (lambda c: c, ["label 0"], "'label 0' is there already"),
        (lambda c: np.column_stack([c, c]), ["x", "x"], "'x' is the name of label 0 too"),
        (lambda c: c - 1000, ["x"], r"'label 0', 'x'.* is negative"),
        (lambda c: c + 0.5, ["x"], r"'label 0', 'x'.* is not a count"),
        (lambda c: c + np.inf, ["x"], "is infinite"),
        (
            lambda c: pd.DataFrame({"x": c}, index=[f"other {j}" for j in range(8)]),
            None,
            "no row for the seen label 'label 0'",
        ),
    ],
)
def test_bad_counts_are_refused(counts, names, message):
    p = unseen_problem()
    all_names = [f"label {j}" for j in range(p.n_labels)]
    labels = p.seen.with_names(all_names[: p.n_seen])
    model = quick().fit(p.X, labels, cooccurrence=named(p))
    before = model.label_factors_
    with pytest.raises(ValueError, match=message):
        model.add_labels(counts(p.cooccurrence[:, -1]), names)
    assert model.label_factors_ is before
    assert list(model.classes_) == all_names


def test_a_vector_of_classes_takes_no_further_labels():
    p = unseen_problem()
    model = quick().fit(p.X, np.arange(len(p.X)) % 2)
    with pytest.raises(ValueError, match="vector of classes"):
        model.add_labels(np.ones(2), ["x"])
    with pytest.raises(ValueError, match="vector of classes"):
        model.fold_in(p.X, np.ones(len(p.X)), 1)


# -- fold_in -------------------------------------------------------------------------------------


def test_rows_of_which_nothing_is_known_change_nothing():
    p = unseen_problem()
    model = fitted()
    before = model.decision_function(p.X_new)
    with pytest.warns(LabelWarning):
        model.fold_in(p.X, np.full(len(p.X), np.nan), p.n_seen)
    np.testing.assert_allclose(model.decision_function(p.X_new), before, atol=1e-8)


@pytest.mark.parametrize("label", [0, 9], ids=["seen", "unseen"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_few_rows_move_predictions_their_way_and_no_other_label(label, value):
    p = unseen_problem()
    model = fitted()
    before = model.decision_function(p.X[:3]), model.decision_function(p.X_new)
    model.fold_in(p.X[:3], np.full(3, value), label)
    after = model.decision_function(p.X[:3]), model.decision_function(p.X_new)
    moved = (after[0] - before[0])[:, label]
    assert np.sign(moved.sum()) == (1 if value else -1)
    assert np.abs(moved).max() > 1e-3
    others = np.arange(p.n_labels) != label
    np.testing.assert_array_equal(after[1][:, others], before[1][:, others])


def test_seen_labels_move_less_than_unseen_ones():
    """A seen label has all its training rows against a few new ones."""
    p = unseen_problem()
    model = fitted()
    before = model.decision_function(p.X_new)
    y = np.ones((2, p.n_labels))
    model.fold_in(p.X_new[:2], y, list(range(p.n_labels)))
    moved = np.abs(model.decision_function(p.X_new) - before).mean(axis=0)
    assert np.median(moved[: p.n_seen]) < np.median(moved[p.n_seen :])


def test_many_rows_tend_to_a_logistic_regression_on_factors():
    p = unseen_problem()
    rng = np.random.default_rng(0)
    model = fitted()
    X = rng.normal(size=(6000, p.X.shape[1]))
    factors = model._factors(X)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-(factors @ [0.8, -0.5] / factors.std() - 0.3)))) * 1
    model.fold_in(X, y, p.n_labels - 1)
    plain = LogisticRegression(C=np.inf, tol=1e-10).fit(factors, y)
    found = model.decision_function(p.X_new)[:, -1]
    expected = plain.decision_function(model._factors(p.X_new))
    np.testing.assert_allclose(found, expected, atol=0.15)
    assert np.corrcoef(found, expected)[0, 1] > 0.999


def test_rows_folded_in_earlier_keep_their_weight():
    """Twice a half comes close to once all: the second call leans on what the first one saw."""
    p = unseen_problem()
    label, y = p.n_labels - 1, p.full.to_dense()[:, p.n_labels - 1]
    half = len(y) // 2
    at_once = fitted().fold_in(p.X, y, label)
    in_turn = fitted().fold_in(p.X[:half], y[:half], label).fold_in(p.X[half:], y[half:], label)
    start, found, expected = (
        m.decision_function(p.X_new)[:, label] for m in (fitted(), in_turn, at_once)
    )
    assert np.abs(found - expected).mean() < 0.3 * np.abs(expected - start).mean()


def test_known_rows_improve_an_unseen_label():
    p = unseen_problem(200)
    model = fitted(p)
    unseen = list(range(p.n_seen, p.n_labels))
    truth = p.new_probabilities[:, p.n_seen :]
    shuffled = p.cooccurrence.copy()
    shuffled[:, unseen] = shuffled[:, unseen[1:] + unseen[:1]]
    misled = fitted(p._replace(cooccurrence=shuffled))
    before = mean_auc(truth, misled.predict_proba(p.X_new, labels="unseen"))
    Y = p.full.to_dense()[:, p.n_seen :]
    Y[100:, 0] = np.nan
    misled.fold_in(p.X, Y, unseen)
    after = mean_auc(truth, misled.predict_proba(p.X_new, labels="unseen"))
    assert after > before + 0.1
    best = mean_auc(truth, model.fold_in(p.X, Y, unseen).predict_proba(p.X_new, labels="unseen"))
    assert best >= after - 0.02


def test_bad_rows_are_refused():
    p = unseen_problem()
    model = fitted()
    y = np.ones(len(p.X))
    with pytest.raises(ValueError, match=r"labels: 'fog' is none of classes_.*add_labels"):
        model.fold_in(p.X, y, "fog")
    with pytest.raises(ValueError, match="Y has 1 columns, but 2 labels are named"):
        model.fold_in(p.X, y, [0, 1])
    with pytest.raises(ValueError, match="y has 60"):
        model.fold_in(p.X[:5], y, 0)
    with pytest.raises(ValueError, match="2 features"):
        model.fold_in(p.X[:, :2], y, 0)
