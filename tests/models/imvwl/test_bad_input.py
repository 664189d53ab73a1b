"""Messages name the argument, the place and the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import IMVWL, Labels
from labelgap.fitting import FitWarning
from models.imvwl.problems import VIEWS, make_data, marked_sparse


def quick(views=VIEWS, n_factors=3, **settings) -> IMVWL:
    return IMVWL(views, n_factors, **{"max_iter": 2, "random_state": 0, **settings})


@pytest.mark.parametrize("form", [np.array, marked_sparse])
@pytest.mark.parametrize("scaling", ["balance", None])
def test_negative_features(form, scaling):
    X, Y = make_data(views=False, values=False)
    X[3, 5] = -0.25
    message = r"X\[3, 5\] = -0\.25.*scaling='range'.*MinMaxScaler\(clip=True\)"
    with pytest.raises(ValueError, match=message):
        quick(scaling=scaling).fit(form(X), Y)
    assert np.isfinite(quick(scaling="range").fit(form(X), Y).decision_function(form(X))).all()
    fitted = quick(scaling=scaling).fit(np.abs(X), Y)
    with pytest.raises(ValueError, match="Negative values in data passed to IMVWL"):
        fitted.predict(form(X))


@pytest.mark.parametrize("form", [np.array, marked_sparse])
def test_a_row_without_any_view(form):
    X, Y = make_data()
    X[[7, 9]] = np.nan
    with pytest.raises(ValueError, match=r"row 7 and 1 others have no view.*drop the row"):
        quick().fit(form(X), Y)
    good, _ = make_data()
    with pytest.raises(ValueError, match="row 7 and 1 others have no view"):
        quick().fit(good, Y).predict(form(X))


def test_a_view_that_is_absent_everywhere():
    X, Y = make_data()
    X[:, VIEWS["shape"]] = np.nan
    X[:, VIEWS["words"]] = 1.0
    with pytest.raises(ValueError, match=r"view 'shape' is absent in every row.*ViewSelector"):
        quick().fit(X, Y)
    good, _ = make_data()
    assert np.isfinite(quick().fit(good, Y).decision_function(X)).all(), "new rows may lack a view"


def test_more_factors_than_the_narrowest_view_is_wide():
    X, Y = make_data()
    with pytest.warns(FitWarning, match="n_factors=5 is more than the 4 columns of view 'colour'"):
        model = quick(n_factors=5).fit(X, Y)
    assert model.embedding_.shape == (30, 5)


def test_labels_without_an_observed_entry():
    X, Y = make_data()
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="y has no observed entry at all"),
    ):
        quick().fit(X, Labels.from_dense(np.full_like(Y, np.nan)))


def test_views_that_do_not_fit():
    X, Y = make_data()
    with pytest.raises(ValueError, match="columns 4:6 of X belong to no view"):
        quick({"a": (0, 4), "b": (6, 16)}).fit(X, Y)
    with pytest.raises(ValueError, match="columns 8:16 of X belong to no view"):
        quick({"a": 8}).fit(X, Y)
    with pytest.raises(ValueError, match="ends at column 20, but X has 16"):
        quick({"a": 20}).fit(X, Y)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.ones((16, 2)), r"init has shape \(16, 2\).*\(16, 3\)"),
        (-np.ones((16, 3)), "negative"),
        (np.full((16, 3), np.nan), "missing"),
    ],
)
def test_starts_that_do_not_fit(init, message):
    X, Y = make_data()
    with pytest.raises(ValueError, match=message):
        quick(init=init).fit(X, Y)


def test_other_labels_at_fold_in():
    X, Y = make_data()
    with pytest.raises(ValueError, match="Y has 2 labels, the fit had 6"):
        quick().fit(X, Y).fold_in(X, Y[:, :2])


def test_a_feature_that_is_constant_missing_or_zero():
    X, Y = make_data(views=False)
    X[:, 1], X[:, 5], X[:, 12] = 2.0, np.nan, 0.0
    for scaling in ("balance", "range", None):
        model = quick(scaling=scaling).fit(X, Y)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.impute_views(X)).all()
    zero = sparse.csr_array((30, 16))
    assert np.isfinite(quick().fit(zero, Y).decision_function(zero)).all()
