from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from labelgap.models.imvwl._scaled_views import column_facts, learn_scaling, read_views
from labelgap.views import present
from models.imvwl.problems import VIEWS, make_data, marked_sparse


@pytest.mark.parametrize("form", [np.array, marked_sparse])
def test_facts_are_those_of_the_observed_values(form):
    X = make_data().X
    X[:, 2] = -np.abs(X[:, 2]) - 1
    given = form(X)
    facts = column_facts(given, VIEWS, present(given, VIEWS))
    np.testing.assert_array_equal(facts.n_observed, (~np.isnan(X)).sum(axis=0))
    np.testing.assert_allclose(facts.least, np.nanmin(X, axis=0))
    np.testing.assert_allclose(facts.largest, np.nanmax(X, axis=0))
    np.testing.assert_allclose(facts.total, np.nansum(X, axis=0))
    np.testing.assert_allclose(facts.squares, np.nansum(X**2, axis=0))


@pytest.mark.parametrize("option", ["balance", "range"])
@pytest.mark.parametrize("form", [np.array, marked_sparse])
def test_rows_of_scaled_views_have_mean_squared_length_one(form, option):
    given = form(make_data().X)
    there = present(given, VIEWS)
    for view in read_views(given, VIEWS, there, learn_scaling(given, VIEWS, there, option)):
        assert view.squares / len(view.rows) == pytest.approx(1)


def test_range_is_min_max_scaling_up_to_a_constant_per_view():
    X = make_data(views=False, values=False).X - 0.7
    there = present(X, VIEWS)
    views = read_views(X, VIEWS, there, learn_scaling(X, VIEWS, there, "range"))
    expected = MinMaxScaler().fit_transform(X)
    for view in views:
        part = expected[:, view.columns]
        ratio = np.sqrt(np.square(part).sum() / view.squares)
        np.testing.assert_allclose(view.values.rows * ratio, part, atol=1e-12)


def test_restoring_undoes_scaling():
    X = make_data(views=False, values=False).X - 0.3
    there = present(X, VIEWS)
    learned = learn_scaling(X, VIEWS, there, "range")
    for view in read_views(X, VIEWS, there, learned):
        restored = learned.restore(view.values.rows, view.columns)
        np.testing.assert_allclose(restored, X[:, view.columns], atol=1e-12)


def test_new_values_below_the_range_are_clipped():
    X = make_data(views=False, values=False).X
    there = present(X, VIEWS)
    learned = learn_scaling(X, VIEWS, there, "range")
    for new in (X - 5, sparse.csr_array(X - 5)):
        for view in read_views(new, VIEWS, there, learned):
            values = view.values.rows
            assert (values.toarray() if sparse.issparse(values) else values).min() == 0


def test_sparse_views_stay_sparse_unless_a_feature_needs_a_shift():
    X = make_data().X
    X[:, 0] += 3.0
    given = marked_sparse(X)
    there = present(given, VIEWS)
    for option, dense in (("balance", []), (None, []), ("range", [0])):
        views = read_views(given, VIEWS, there, learn_scaling(given, VIEWS, there, option))
        kinds = [sparse.issparse(view.values.rows) for view in views]
        assert [position for position, thin in enumerate(kinds) if not thin] == dense
