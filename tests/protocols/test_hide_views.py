"""Views are removed as asked, every row keeps one, and the features come back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelgap.protocols import hide_views
from labelgap.views import Views, present

VIEWS = Views({"colour": 3, "texture": 1, "shape": 4})


def features(n_samples, seed=0, views=VIEWS):
    return np.random.default_rng(seed).normal(size=(n_samples, views.n_columns))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 40), st.sampled_from([0.0, 0.2, 0.5, 2 / 3]), st.integers(0, 99), st.booleans()
)
def test_each_view_loses_its_fraction_and_each_row_keeps_one(n_samples, fraction, seed, as_sparse):
    X = features(n_samples, seed)
    hidden = hide_views(sparse.csr_array(X) if as_sparse else X, VIEWS, fraction, random_state=seed)
    left = present(hidden.X, VIEWS)
    np.testing.assert_array_equal(hidden.removed, ~left)
    assert left.any(axis=1).all()
    expected = np.floor(fraction * n_samples + 1e-9)
    np.testing.assert_array_equal(hidden.removed.sum(axis=0), np.full(3, expected))
    restored = hidden.restore()
    np.testing.assert_array_equal(restored.toarray() if as_sparse else restored, X)
    assert sparse.issparse(hidden.X) == as_sparse


def test_two_views_half_removed_leaves_one_view_each():
    views = Views({"a": 2, "b": 2})
    hidden = hide_views(features(50, views=views), views, 0.5, random_state=0)
    np.testing.assert_array_equal(hidden.removed.sum(axis=1), np.ones(50))


def test_views_absent_before_stay_absent_and_are_not_counted():
    X = features(40)
    X[:10, VIEWS["colour"]] = np.nan
    hidden = hide_views(X, VIEWS, 0.5, random_state=0)
    np.testing.assert_array_equal(hidden.removed.sum(axis=0), [15, 20, 20])
    assert not hidden.removed[:10, 0].any()
    assert present(hidden.X, VIEWS).any(axis=1).all()
    np.testing.assert_array_equal(hidden.restore(), X)


def test_input_is_not_changed_and_seed_matters():
    X = features(30)
    before = X.copy()
    first = hide_views(X, VIEWS, 0.4, random_state=1)
    np.testing.assert_array_equal(X, before)
    again = hide_views(X, VIEWS, 0.4, random_state=1)
    np.testing.assert_array_equal(first.removed, again.removed)
    assert (first.removed != hide_views(X, VIEWS, 0.4, random_state=2).removed).any()


def test_too_large_a_fraction_is_refused():
    with pytest.raises(ValueError, match=r"would lose its last view .* lower fraction"):
        hide_views(features(20), VIEWS, 0.9, random_state=0)
    with pytest.raises(ValueError, match="fraction=2 must be a fraction"):
        hide_views(features(20), VIEWS, 2)
    with pytest.raises(ValueError, match="cover all columns"):
        hide_views(sparse.csr_array(features(20)), {"colour": (0, 3)}, 0.0)
