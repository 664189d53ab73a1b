"""LabelNet: what it may read, what it promises, and what it says of wrong input."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from labelgap import LabelNet, Labels, losses

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


def problem(n_samples=240, n_labels=4, seed=0, gaps=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 6))
    truth = (X @ rng.normal(size=(6, n_labels)) > 0).astype(float)
    return X, truth, np.where(rng.random(truth.shape) < gaps, np.nan, truth)


def quick(**settings):
    few = {"max_iter": 12, "n_networks": 2, "dropout": 0.2, "batch_size": 32, "random_state": 0}
    return LabelNet((32, 16), **{**few, **settings})


def test_hidden_values_are_not_read():
    X, truth, Y = problem()
    hidden = np.isnan(Y)
    found = []
    for behind in (truth, 1 - truth):
        labels = Labels.from_dense(np.where(hidden, behind, truth)).hide(*np.nonzero(hidden))
        found.append(quick().fit(X, labels).predict_proba(X))
    found.append(quick().fit(X, Y).predict_proba(X))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_same_seed_same_predictions_and_copies():
    X, _, Y = problem()
    model = quick().fit(X, Y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(X, Y).predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    assert np.abs(quick(random_state=1).fit(X, Y).predict_proba(X) - expected).max() > 1e-3


def test_sparse_features_give_what_dense_ones_do_where_both_are_taken_as_they_are():
    X, _, Y = problem()
    X[np.abs(X) < 0.7] = 0
    model = quick().fit(sparse.csr_array(X), Y)
    # what standardised columns of this mean and spread are is what was given
    fixed = quick()
    fixed._standardised = lambda X: _as_it_is(fixed, X)
    fixed.fit(X, Y)
    np.testing.assert_allclose(fixed.predict_proba(X), model.predict_proba(X), atol=1e-4)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        np.testing.assert_allclose(model.predict_proba(form(X)), model.predict_proba(X), atol=1e-12)


def _as_it_is(model, X):
    model._centre, model._scale = None, None
    return X


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_prediction_in_numpy_is_the_forward_pass_in_torch(form):
    from labelgap.networks._batched_networks import BatchedNetworks, as_input
    from labelgap.networks._training import known_codes

    X, truth, Y = problem()
    model = quick().fit(form(X), Y)
    networks = BatchedNetworks(model._state, "cpu")
    x = as_input(model._scaled(form(X)), "cpu")
    known = np.where(np.arange(4) % 2, np.nan, truth)
    prevalence = torch.as_tensor(model._prevalence.astype(np.float32))
    targets = torch.as_tensor(known.astype(np.float32))
    codes = known_codes(targets, ~targets.isnan(), prevalence)
    with torch.no_grad():
        plain = torch.sigmoid(networks.logits(x, None)).mean(0).numpy()
        given = torch.sigmoid(networks.logits(x, codes)).mean(0).numpy()
    np.testing.assert_allclose(model.predict_proba(form(X)), plain, atol=1e-5)
    found = model.predict_proba(form(X), known=known)
    np.testing.assert_allclose(found[:, 1::2], given[:, 1::2], atol=1e-5)
    np.testing.assert_array_equal(found[:, ::2], truth[:, ::2])


def test_several_networks_are_what_each_would_be_alone():
    from labelgap.networks._batched_networks import BatchedNetworks, as_input

    X, _, Y = problem()
    networks = BatchedNetworks(quick().fit(X, Y)._state, "cpu")
    x = as_input(X, "cpu")
    with torch.no_grad():
        together = networks.logits(x, None)
        for k in range(2):
            parts = networks.network_state(k)
            state = {
                name: (part if name in ("W1", "C1") else part[None]).numpy()
                for name, part in parts.items()
            }
            alone = BatchedNetworks(state, "cpu").logits(x, None)[0]
            torch.testing.assert_close(alone, together[k])


def test_unknown_entries_cost_nothing_whatever_is_predicted_there():
    _, _, Y = problem()
    rng = np.random.default_rng(1)
    z = rng.normal(size=Y.shape)
    other = np.where(np.isnan(Y), 50 * rng.normal(size=Y.shape), z)
    first, second = (losses.bce(torch.as_tensor(a), torch.as_tensor(Y)).sum() for a in (z, other))
    assert first == second


def test_it_learns_and_left_out_rows_say_how_well():
    X, truth, Y = problem(600)
    model = quick(max_iter=40, n_networks=5).fit(X[:400], Y[:400])
    assert (model.predict(X[400:]) == truth[400:]).mean() > 0.88
    assert model.oof_proba_.shape == (400, 4)
    assert ((model.oof_proba_ > 0.5) == truth[:400]).mean() > 0.85
    assert model.validation_loss_ < 0.5


def test_partial_fit_learns():
    X, truth, Y = problem(600)
    model = quick()
    first = model.partial_fit(X[:400], Y[:400]).score(X[400:], truth[400:])
    for _ in range(25):
        model.partial_fit(X[:400], Y[:400])
    assert model.n_iter_ == 26
    assert model.score(X[400:], truth[400:]) > max(first, 0.9)
    fitted = quick().fit(X[:400], Y[:400])
    before = fitted.predict_proba(X)
    assert (fitted.partial_fit(X[:100], Y[:100]).predict_proba(X) != before).any()


def test_known_labels_move_the_others_towards_what_goes_with_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    hidden = rng.random(600) < 0.5
    Y = np.column_stack([hidden, hidden, ~hidden]).astype(float)
    model = quick(max_iter=60).fit(X, Y)
    known = np.full((20, 3), np.nan)
    given = {}
    for value in (0, 1):
        known[:, 0] = value
        given[value] = model.predict_proba(X[:20], known=known)
        assert (given[value][:, 0] == value).all()
    assert (given[1][:, 1] > given[0][:, 1] + 0.3).all()
    assert (given[1][:, 2] < given[0][:, 2] - 0.3).all()
    nothing = model.predict_proba(X[:20], known=np.full((20, 3), np.nan))
    np.testing.assert_allclose(nothing, model.predict_proba(X[:20]), atol=1e-12)


def test_a_callback_is_told_and_stops():
    X, _, Y = problem()
    heard = []

    def stop_after_three(progress):
        heard.append((progress.iteration, progress.max_iter))
        return len(heard) == 3

    quick(callback=stop_after_three).fit(X, Y)
    assert heard == [(0, 12), (1, 12), (2, 12)]


def test_a_loss_of_your_own_and_soft_defaults():
    X, _, Y = problem()
    loss = partial(losses.expected_positives, label_frequency=0.5)
    assert (
        quick(loss=loss).fit(X, Y).predict_proba(X).mean()
        > quick().fit(X, Y).predict_proba(X).mean()
    )


def test_sizes_are_chosen_among_two():
    X, _, Y = problem()
    model = LabelNet(max_iter=2, n_networks=2, random_state=0).fit(X, Y)
    assert model.hidden_layer_sizes_ in ((512, 512), (1024,))


def test_one_network_leaves_out_a_fifth():
    X, _, Y = problem()
    model = quick(n_networks=1).fit(X, Y)
    assert np.isfinite(model.oof_proba_).all(axis=1).sum() == 48


@pytest.mark.parametrize(
    ("settings", "known", "message"),
    [
        ({}, np.zeros((240, 3)), "known has 3 labels and the model 4: give one column for each"),
        ({"known_labels": False}, np.zeros((240, 4)), "fit it with known_labels=True"),
    ],
)
def test_wrong_known_labels(settings, known, message):
    X, _, Y = problem()
    model = quick(**settings).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict_proba(X, known=known)


def test_known_labels_are_not_for_classes():
    X, truth, _ = problem()
    model = quick(known_labels=True).fit(X, truth[:, 0])
    with pytest.raises(ValueError, match="known is for label matrices"):
        model.predict_proba(X, known=truth[:, :1])


@pytest.mark.parametrize("sizes", [(), (16, 0)])
def test_wrong_sizes(sizes):
    X, _, Y = problem()
    with pytest.raises(ValueError, match=r"hidden_layer_sizes=.*: give at least one positive"):
        LabelNet(sizes).fit(X, Y)


# -- pseudo-labels and folds


def test_pseudo_labels_that_say_what_is_observed_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    Y = np.where(rng.random((90, 3)) < 0.3, np.nan, X[:, :3] > 0)
    folds = np.arange(90) % 3
    settings = {"hidden_layer_sizes": (16,), "n_networks": 3, "max_iter": 5, "random_state": 0}
    plain = LabelNet(**settings).fit(X, Y, folds=folds)
    taught = LabelNet(**settings).fit(X, Y, folds=folds, pseudo_labels=[Y] * 3)
    np.testing.assert_allclose(taught.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    as_it_is = LabelNet(**settings, refit=False).fit(X, Y, folds=folds)
    alone = [as_it_is.predict_proba(X, without=k) for k in range(3)]
    np.testing.assert_allclose(np.mean(alone, axis=0), as_it_is.predict_proba(X), atol=1e-12)
    for k, said in enumerate(alone):
        np.testing.assert_allclose(plain.oof_proba_[folds == k], said[folds == k], atol=1e-4)


def test_each_network_learns_its_own_pseudo_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = np.full((200, 2), 0.0)
    Y[::2] = 1
    values = [(X[:, :2] > 0).astype(float), (X[:, :2] < 0).astype(float)]
    model = LabelNet((32,), n_networks=2, max_iter=30, n_iter_no_change=30, dropout=0.0)
    model.set_params(random_state=0).fit(
        X, Y, folds=np.full(200, -1), pseudo_labels=values, label_frequency=0.5
    )
    for k in range(2):
        assert ((model.predict_proba(X, without=k) > 0.5) == values[k]).mean() > 0.9
    with pytest.raises(ValueError, match=r"pseudo_labels has 1 arrays .* give 2 of the shape"):
        model.fit(X, Y, pseudo_labels=values[:1])


def test_networks_are_trained_anew_on_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (rng.random((60, 2)) < 0.5).astype(float)
    settings = {"hidden_layer_sizes": (64,), "n_networks": 3, "dropout": 0.0, "random_state": 0}
    model = LabelNet(**settings).fit(X, Y)
    # labels of chance: who has seen a row knows it better than who has not
    left_out = LabelNet(**settings, refit=False).fit(X, Y).predict_proba(X)
    assert ((model.predict_proba(X) - 0.5) * (Y - 0.5)).mean() > 0
    assert np.abs(model.predict_proba(X) - left_out).max() > 0.01
    with pytest.raises(ValueError, match="these networks learned from all rows"):
        model.predict_proba(X, without=0)
    stopped = LabelNet(**settings, callback=lambda progress: True).fit(X, Y)
    left_out = np.mean([stopped.predict_proba(X, without=k) for k in range(3)], axis=0)
    np.testing.assert_allclose(stopped.predict_proba(X), left_out)
