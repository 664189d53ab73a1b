from __future__ import annotations

import numpy as np
import pytest

from labelgap import IMVWL, LabelWarning
from models.imvwl.problems import VIEWS, make_data


def fitted(X, Y, **settings) -> IMVWL:
    return IMVWL(VIEWS, 3, max_iter=20, random_state=0, **settings).fit(X, Y)


@pytest.mark.parametrize("weights", [{}, {"beta": 0.0}, {"ridge": 0.0}])
def test_is_a_correlation(weights):
    found = fitted(*make_data(), **weights).label_correlation_
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1)
    assert np.abs(found).max() <= 1 + 1e-12
    assert np.linalg.eigvalsh(found).min() > -1e-10


def test_is_the_matrix_of_the_model_up_to_the_lengths_of_its_columns():
    model = fitted(*make_data())
    S = model.params_.S
    length = np.sqrt(np.diag(S))
    np.testing.assert_allclose(model.label_correlation_, S / np.outer(length, length), atol=1e-9)


def test_equal_opposite_and_unknown_labels():
    X, Y = make_data(labels=False)
    Y[:, 1], Y[:, 2], Y[:, 3] = Y[:, 0], 1 - Y[:, 0], np.nan
    with pytest.warns(LabelWarning, match="label 3 has no observed entry"):
        found = fitted(X, Y, fit_intercept=True).label_correlation_
    assert found[0, 1] > 0.999
    assert found[0, 2] < -0.999
    np.testing.assert_array_equal(found[3], np.eye(6)[3])


def test_the_picture_shows_it():
    matplotlib = pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from labelgap.plots import plot_label_correlation

    model = fitted(*make_data())
    ax = plot_label_correlation(model)
    order = [int(tick.get_text()) for tick in ax.get_xticklabels()]
    shown = np.asarray(ax.collections[0].get_array())
    np.testing.assert_allclose(shown, model.label_correlation_[np.ix_(order, order)])
    pyplot.close("all")
