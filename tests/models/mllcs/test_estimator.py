"""The estimator on ordinary, odd and wrong input."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from labelgap import Labels, LabelWarning
from labelgap.cooccurrence import Cooccurrence, count_cooccurrence
from labelgap.fitting import EM, OnlineEM
from labelgap.models.mllcs import MLLCS
from models.mllcs.problems import fitted, quick, unseen_problem

RULES = ["moments", "constrained", "linear", "kernel"]


def scores(model, p=None, labels="all"):
    return model.decision_function((p or unseen_problem()).X_new, labels=labels)


# -- the same fit in other clothes ---------------------------------------------------------------


@pytest.mark.parametrize("unseen", RULES)
def test_blocks_of_any_size_give_the_same_fit(unseen):
    whole = scores(fitted(unseen=unseen))
    for block_rows in (1, 7, 59):
        found = scores(fitted(unseen=unseen, block_rows=block_rows))
        np.testing.assert_allclose(found, whole, rtol=1e-6, atol=1e-6)
        seen = slice(8)
        if unseen != "constrained":
            np.testing.assert_allclose(found[:, seen], whole[:, seen], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("label_frequency", [None, "estimate"])
def test_one_batch_of_all_rows_is_one_em_step(label_frequency):
    p = unseen_problem()
    settings = {"label_frequency": label_frequency, "r": "learn", "joint": True}
    online = fitted(inference=OnlineEM(len(p.X), 1, n_local=1, n_cg=3), **settings)
    batch = fitted(inference=EM(1, 0.0, n_cg=3), **settings)
    for name in online.params_._fields:
        found, expected = getattr(online.params_, name), getattr(batch.params_, name)
        if expected is None:
            assert found is None
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("unseen", RULES)
def test_sparse_features_are_dense_features(unseen):
    p = unseen_problem()
    thin = np.where(np.abs(p.X) > 0.5, p.X, 0)
    dense = quick(unseen=unseen).fit(thin, p.seen, cooccurrence=p.cooccurrence)
    found = quick(unseen=unseen).fit(sparse.csr_array(thin), p.seen, cooccurrence=p.cooccurrence)
    np.testing.assert_allclose(scores(found), scores(dense), atol=1e-6)
    np.testing.assert_allclose(
        found.decision_function(sparse.csr_array(p.X_new)), scores(found), atol=1e-10
    )


@pytest.mark.parametrize("label_frequency", [None, 0.7])
@pytest.mark.parametrize("unseen", RULES)
def test_single_precision_is_close(unseen, label_frequency):
    p = unseen_problem()
    single = quick(unseen=unseen, label_frequency=label_frequency).fit(
        p.X.astype(np.float32), p.seen, cooccurrence=p.cooccurrence
    )
    assert single.label_factors_.dtype == single.params_.weights.dtype == np.float32
    double = fitted(unseen=unseen, label_frequency=label_frequency)
    tolerance = 5e-2 if unseen == "constrained" else 5e-3
    np.testing.assert_allclose(scores(single), scores(double), atol=tolerance)


@pytest.mark.parametrize("label_frequency", [None, "estimate"])
@pytest.mark.parametrize("unseen", ["moments", "constrained"])
def test_torch_gives_numpys_numbers(unseen, label_frequency):
    pytest.importorskip("torch")
    here = fitted(unseen=unseen, label_frequency=label_frequency)
    there = fitted(unseen=unseen, label_frequency=label_frequency, device="cpu")
    np.testing.assert_allclose(scores(there), scores(here), atol=1e-5)


def test_forms_of_counts_agree():
    p = unseen_problem()
    expected = scores(fitted())
    counts = count_cooccurrence(p.full, seen=np.arange(p.n_seen))
    for form in (sparse.csr_array(p.cooccurrence), counts):
        found = quick().fit(p.X, p.seen, cooccurrence=form)
        np.testing.assert_array_equal(scores(found), expected)


def test_predictions_can_be_restricted():
    p = unseen_problem()
    model = fitted()
    whole = model.predict_proba(p.X_new)
    np.testing.assert_array_equal(model.predict_proba(p.X_new, "seen"), whole[:, : p.n_seen])
    np.testing.assert_array_equal(model.predict_proba(p.X_new, "unseen"), whole[:, p.n_seen :])
    assert list(model.classes_) == list(range(p.n_labels))
    np.testing.assert_array_equal(model.seen_, np.arange(p.n_labels) < p.n_seen)


def test_the_seed_decides():
    same = [fitted(random_state=3), fitted(random_state=np.random.RandomState(3))]
    again = fitted(random_state=3)
    np.testing.assert_array_equal(scores(same[0]), scores(again))
    assert np.abs(scores(same[0]) - scores(fitted(random_state=4))).max() > 1e-6


def test_add_labels_survives_pickling():
    p = unseen_problem()
    model = pickle.loads(pickle.dumps(fitted()))
    expected = fitted().add_labels(p.cooccurrence[:, -1], ["x"])
    np.testing.assert_array_equal(
        scores(model.add_labels(p.cooccurrence[:, -1], ["x"])), scores(expected)
    )
    assert not hasattr(clone(model), "params_")


def test_the_trace_climbs_and_the_callback_hears_of_it():
    heard = []
    model = fitted(callback=lambda progress: heard.append(progress.objective))
    traces = model.trace_.objective, model.refit_trace_.objective
    assert heard == [*traces[0], *traces[1]]
    for trace in traces:
        assert all(b >= a - 1e-8 for a, b in pairwise(trace))
    stopped = fitted(callback=lambda progress: progress.iteration == 2)
    assert stopped.trace_.outcome == "stopped"
    assert stopped.trace_.n_iter == 3
    assert stopped.refit_trace_ is None
    assert fitted(unseen="moments").refit_trace_ is None


# -- all labels seen -----------------------------------------------------------------------------


def test_all_labels_seen_counts_from_the_labels():
    p = unseen_problem()
    model = quick().fit(p.X, p.full)
    explicit = quick().fit(p.X, p.full, cooccurrence=count_cooccurrence(p.full))
    np.testing.assert_array_equal(scores(model), scores(explicit))
    assert model.seen_.all()
    assert model.predict_proba(p.X_new, labels="unseen").shape == (len(p.X_new), 0)
    # the counts take part
    assert np.abs(scores(quick(count_weight=0.0).fit(p.X, p.full)) - scores(model)).max() > 1e-3


# -- odd input -----------------------------------------------------------------------------------


def assert_fits(X, Y, cooccurrence=None, **parameters):
    model = quick(**parameters).fit(X, Y, cooccurrence=cooccurrence)
    found = model.predict_proba(X)
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
    interval = model.predict_interval(X)
    assert (interval.lower <= interval.upper).all()
    if model.trace_.n_iter > 1:
        assert model.trace_.largest_drop() < 1e-8
    return model


@pytest.mark.parametrize("unseen", RULES)
def test_more_factors_than_labels(unseen):
    p = unseen_problem()
    model = assert_fits(p.X, p.seen, p.cooccurrence, n_factors=15, unseen=unseen)
    assert model.label_factors_.shape == (p.n_labels, 15)


@pytest.mark.parametrize("n_factors", [None, 1])
def test_number_of_factors(n_factors):
    p = unseen_problem()
    model = assert_fits(p.X, p.seen, p.cooccurrence, n_factors=n_factors)
    assert model.label_factors_.shape[1] == (p.n_seen if n_factors is None else 1)


@pytest.mark.parametrize("unseen", RULES)
def test_one_feature_and_constant_features(unseen):
    p = unseen_problem()
    assert_fits(p.X[:, :1], p.seen, p.cooccurrence, unseen=unseen)
    for X in (np.ones_like(p.X), np.zeros_like(p.X)):
        model = assert_fits(X, p.seen, p.cooccurrence, unseen=unseen)
        # nothing tells rows apart: all get the same
        assert np.ptp(model.decision_function(X), axis=0).max() < 1e-8


@pytest.mark.parametrize("unseen", RULES)
def test_one_seen_label(unseen):
    p = unseen_problem()
    model = assert_fits(p.X, p.seen[:, :1], p.cooccurrence[:1, [0, 8, 9]], unseen=unseen)
    assert model.rule_error_ == np.inf


@pytest.mark.parametrize("unseen", RULES)
@pytest.mark.parametrize("label_frequency", [None, "estimate"])
def test_labels_and_rows_that_say_nothing(unseen, label_frequency):
    p = unseen_problem()
    Y = p.seen.to_dense()
    Y[:, 0] = 0  # a label without positives
    Y[:, 1] = np.nan  # a label that is never known
    Y[5] = np.nan  # a row of which nothing is known
    with pytest.warns(LabelWarning):
        model = assert_fits(p.X, Y, p.cooccurrence, unseen=unseen, label_frequency=label_frequency)
    if unseen == "moments":
        assert model.predict_proba(p.X_new)[:, 0].mean() < 0.2


def test_a_row_without_known_entries_changes_nothing_but_the_size_of_the_rest():
    """It is no evidence: with the regression weights fixed in scale, it cannot move labels."""
    p = unseen_problem()
    Y = np.vstack([p.seen.to_dense(), np.full((1, p.n_seen), np.nan)])
    X = np.vstack([p.X, np.zeros((1, p.X.shape[1]))])
    model = quick(count_weight=0.0).fit(p.X, p.seen, cooccurrence=p.cooccurrence)
    longer = quick(count_weight=0.0).fit(X, Y, cooccurrence=p.cooccurrence)
    # lambda_w is relative to the mean row, hence the tolerance
    np.testing.assert_allclose(scores(longer), scores(model), atol=0.1)


@pytest.mark.filterwarnings("ignore:the counts of the seen labels are not symmetric")
@pytest.mark.parametrize("unseen", RULES)
def test_missing_counts(unseen):
    p = unseen_problem()
    table = p.cooccurrence.copy()
    table[np.random.default_rng(0).random(table.shape) < 0.3] = np.nan
    table[0] = np.nan
    table[0, 0] = p.cooccurrence[0, 0]
    model = assert_fits(p.X, p.seen, table, unseen=unseen)
    zeros = assert_fits(p.X, p.seen, np.nan_to_num(table), unseen=unseen)
    assert np.abs(scores(model) - scores(zeros)).max() > 1e-2


@pytest.mark.parametrize("unseen", RULES)
def test_an_unseen_label_without_counts_gets_a_prior_and_a_warning(unseen):
    p = unseen_problem()
    table = p.cooccurrence.copy()
    table[:, -1] = 0
    with pytest.warns(LabelWarning, match="co-occurs with no"):
        model = fitted(p._replace(cooccurrence=table), unseen=unseen)
    found = model.predict_proba(p.X_new)
    assert np.ptp(found[:, -1]) < 1e-12
    assert found[0, -1] < 0.05
    assert np.ptp(found[:, -2]) > 1e-3


def test_r_and_looks_are_learned():
    p = unseen_problem()
    model = fitted(r="learn", label_frequency="estimate", count_weight=1.0)
    assert model.params_.r != 5
    assert np.ptp(model.params_.label_frequency) > 1e-3
    fixed = fitted(r=2.0, label_frequency=0.6)
    assert fixed.params_.r == 2
    np.testing.assert_array_equal(fixed.params_.label_frequency, 0.6)
    assert len(model.params_.label_frequency) == p.n_seen


def test_the_diagonal_can_be_left_out():
    p = unseen_problem()
    settings = {"count_weight": 1.0, "unseen": "moments"}
    with_it, without = fitted(**settings), fitted(**settings, diagonal=False)
    assert np.abs(scores(with_it) - scores(without)).max() > 1e-4
    table = p.cooccurrence.copy()
    table[np.arange(p.n_seen), np.arange(p.n_seen)] += 100
    other = fitted(p._replace(cooccurrence=table), **settings, diagonal=False)
    found, expected = (scores(m, labels="seen") for m in (other, without))
    # the offset of the counts is a mean over those that weigh anything
    np.testing.assert_allclose(found, expected, atol=1e-9)


# -- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_factors": 0},
        {"n_factors": 2.5},
        {"lambda_u": 0.0},
        {"lambda_v": -1.0},
        {"lambda_w": 0},
        {"lambda_beta": np.nan},
        {"lambda_map": "strong"},
        {"count_weight": -0.1},
        {"r": 0.0},
        {"r": "estimate"},
        {"diagonal": "yes"},
        {"unseen": "magic"},
        {"slack": 0.0},
        {"joint": 2},
        {"label_frequency": 0.0},
        {"label_frequency": 1.0},
        {"label_frequency": "fixed"},
        {"inference": "vb"},
        {"block_rows": 0},
        {"device": 1},
        {"callback": "print"},
        {"random_state": "seed"},
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters):
    p = unseen_problem()
    (name,) = parameters
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        MLLCS(**parameters).fit(p.X, p.seen)


@pytest.mark.parametrize(
    ("inference", "message"),
    [
        (EM(0), "max_iter=0 must be at least 1"),
        (EM(5, -1.0), "tol=-1.0 must be at least 0"),
        (EM(5, solver="lu"), "solver='lu'"),
        (EM(5, n_cg=0), "n_cg=0"),
        (EM(5, n_init=3), "n_init=3"),
        (OnlineEM(0), "batch_rows=0"),
    ],
    ids=str,
)
def test_bad_settings_of_the_loop_are_named(inference, message):
    p = unseen_problem()
    with pytest.raises(ValueError, match=message):
        quick(inference=inference).fit(p.X, p.seen)


def test_bad_counts_are_named():
    p = unseen_problem()
    with pytest.raises(ValueError, match="cooccurrence has shape"):
        quick().fit(p.X, p.seen, cooccurrence=p.cooccurrence[:-1])
    for change, message in ((-1000, "negative"), (0.5, "not a count")):
        with pytest.raises(ValueError, match=message):
            quick().fit(p.X, p.seen, cooccurrence=p.cooccurrence + change)
    with pytest.raises(ValueError, match="no cooccurrence to predict it from"):
        quick().fit(p.X, p.marked)
    names = [f"label {j}" for j in range(p.n_labels)]
    counts = Cooccurrence(sparse.csr_array(p.cooccurrence), names=names)
    labels = Labels.from_dense(p.seen.to_dense(), names=["fog", *names[1 : p.n_seen]])
    with pytest.raises(ValueError, match="cooccurrence has no label 'fog'"):
        quick().fit(p.X, labels, cooccurrence=counts)
    with pytest.raises(ValueError, match="labels='none'"):
        fitted().predict(p.X, labels="none")


def test_interval_of_two_classes():
    p = unseen_problem()
    y = np.where(p.X[:, 0] > 0, "yes", "no")
    model = quick().fit(p.X, y)
    interval = model.predict_interval(p.X_new)
    assert interval.lower.shape == (len(p.X_new), 1)
    assert (interval.lower < interval.upper).all()
