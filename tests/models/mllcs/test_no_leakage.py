"""Nothing of an unseen label reaches the model but its column of counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels
from labelgap.fitting import EM, OnlineEM
from models.mllcs.problems import fitted, named, quick, unseen_problem

RULES = ["moments", "linear", "kernel", "constrained"]


def arrays_of(estimator):
    """Everything numeric that a fit left."""
    found = {f"params_.{k}": v for k, v in estimator.params_._asdict().items() if v is not None}
    for name in ("label_factors_", "label_bias_", "rule_error_", "_precision"):
        found[name] = getattr(estimator, name)
    return found


def assert_same_model(first, second):
    first, second = arrays_of(first), arrays_of(second)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


@pytest.mark.parametrize("unseen", RULES)
@pytest.mark.parametrize("count_weight", [0.0, 0.1])
def test_marked_columns_are_the_same_as_no_columns(unseen, count_weight):
    p = unseen_problem()
    settings = {"unseen": unseen, "count_weight": count_weight}
    without = fitted(**settings)
    marked = quick(**settings).fit(p.X, p.marked, cooccurrence=p.cooccurrence)
    assert_same_model(without, marked)
    np.testing.assert_array_equal(without.predict_proba(p.X_new), marked.predict_proba(p.X_new))


def poisoned(p, rng):
    """Labels that still store entries in their unseen columns, as no constructor allows."""
    states = p.full.states()
    states[:, p.n_seen :] = rng.integers(1, 5, size=states[:, p.n_seen :].shape)
    full = Labels(sparse.csr_array(states))
    return full._like(full.entries, unseen=p.marked.unseen)


@pytest.mark.parametrize("unseen", RULES)
@pytest.mark.parametrize("inference", [EM(5, 0.0), OnlineEM(20)], ids=["em", "online"])
@pytest.mark.parametrize("label_frequency", [None, "estimate"])
def test_what_lies_behind_an_unseen_column_does_not_matter(unseen, inference, label_frequency, rng):
    p = unseen_problem()
    settings = {"unseen": unseen, "inference": inference, "label_frequency": label_frequency}
    first = quick(**settings).fit(p.X, p.marked, cooccurrence=p.cooccurrence)
    labels = poisoned(p, rng)
    assert (labels.entries.toarray()[:, p.n_seen :] != 0).any(axis=0).all()
    assert_same_model(first, quick(**settings).fit(p.X, labels, cooccurrence=p.cooccurrence))


class Watched(Labels):
    """Refuses every look at entries as long as there are unseen columns among them."""


def _refusing(name):
    original = getattr(Labels, name)

    def look(self, *arguments, **options):
        if self.unseen.any():
            raise AssertionError(f"{name} was asked of labels with unseen columns")
        return original(self, *arguments, **options)

    return look


# n_observed is left out: the reader of labels warns of columns in which nothing is known
for _name in ("states", "column", "where", "n_positives", "with_implicit"):
    setattr(Watched, _name, _refusing(_name))


@pytest.mark.parametrize("unseen", RULES)
@pytest.mark.parametrize("inference", [EM(2, 0.0), OnlineEM(20)], ids=["em", "online"])
def test_unseen_columns_are_never_read(unseen, inference):
    p = unseen_problem()
    watched = Watched(p.marked.entries, p.marked.implicit, unseen=p.marked.unseen)
    for look in (watched.states, watched.positives, watched.n_positives):
        with pytest.raises(AssertionError, match="unseen columns"):
            look()
    model = quick(unseen=unseen, inference=inference)
    model.fit(p.X, watched, cooccurrence=p.cooccurrence)
    assert np.isfinite(model.predict_proba(p.X_new)).all()


@pytest.mark.parametrize("unseen", RULES)
def test_other_values_of_seen_labels_do_matter(unseen):
    """The checks above are not passed by ignoring the labels."""
    p = unseen_problem()
    first = fitted(unseen=unseen)
    second = quick(unseen=unseen).fit(p.X[::-1], p.seen, cooccurrence=p.cooccurrence)
    assert np.abs(first.label_factors_ - second.label_factors_).max() > 0.1


# -- columns of counts ---------------------------------------------------------------------------


@pytest.mark.parametrize("unseen", RULES)
def test_the_order_of_unseen_columns_is_the_order_of_their_predictions(unseen, rng):
    p = unseen_problem()
    order = np.concatenate([np.arange(p.n_seen), rng.permutation(np.arange(p.n_seen, p.n_labels))])
    assert (order != np.arange(p.n_labels)).any()
    plain = fitted(unseen=unseen, count_weight=0.0)
    other = fitted(
        p._replace(cooccurrence=p.cooccurrence[:, order]), unseen=unseen, count_weight=0.0
    )
    found, expected = other.decision_function(p.X_new), plain.decision_function(p.X_new)[:, order]
    tolerance = 1e-9 if unseen in ("linear", "kernel") else 2e-2  # an optimiser's, of all columns
    np.testing.assert_allclose(found, expected, atol=tolerance)
    if unseen != "constrained":  # whose second fit has soft labels
        np.testing.assert_array_equal(found[:, : p.n_seen], expected[:, : p.n_seen])


def changed_column(p):
    """The same counts but for one unseen label, whose counts are those of another one."""
    table = p.cooccurrence.copy()
    table[:, p.n_seen] = table[:, p.n_seen + 1]
    assert (table != p.cooccurrence).any()
    return p._replace(cooccurrence=table)


@pytest.mark.parametrize("unseen", ["moments", "linear", "kernel"])
def test_without_count_weight_a_column_reaches_its_own_label_alone(unseen):
    p = unseen_problem()
    plain = fitted(unseen=unseen, count_weight=0.0)
    other = fitted(changed_column(p), unseen=unseen, count_weight=0.0)
    before, after = plain.decision_function(p.X_new), other.decision_function(p.X_new)
    np.testing.assert_array_equal(after[:, : p.n_seen], before[:, : p.n_seen])
    tolerance = 1e-9 if unseen in ("linear", "kernel") else 2e-2
    np.testing.assert_allclose(after[:, p.n_seen + 1 :], before[:, p.n_seen + 1 :], atol=tolerance)
    assert np.abs(after[:, p.n_seen] - before[:, p.n_seen]).max() > 0.05


def test_with_count_weight_counts_of_unseen_labels_inform_the_seen_ones():
    """By design: v of a seen label is estimated from its whole row of counts."""
    p = unseen_problem()
    plain, other = fitted(count_weight=1.0), fitted(changed_column(p), count_weight=1.0)
    before, after = (m.decision_function(p.X_new, labels="seen") for m in (plain, other))
    assert np.abs(after - before).max() > 1e-4


def test_names_decide_not_positions():
    p = unseen_problem()
    names = [f"label {j}" for j in range(p.n_labels)]
    counts = named(p)
    model = quick().fit(p.X, p.seen.with_names(names[: p.n_seen]), cooccurrence=counts)
    reverse = counts.rows(names[: p.n_seen][::-1])
    again = quick().fit(p.X, p.seen.with_names(names[: p.n_seen]), cooccurrence=reverse)
    assert list(model.classes_) == list(again.classes_) == names
    assert_same_model(model, again)
