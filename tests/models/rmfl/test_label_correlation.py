"""The picture of the learned correlation."""

from __future__ import annotations

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from labelgap import RMFL, Labels  # noqa: E402
from labelgap.plots import plot_label_correlation  # noqa: E402
from models.rmfl.problems import data  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_a_model_is_shown_with_its_names():
    drawn = data()
    labels = Labels.from_dense(drawn.Y, names=["sun", "sea", "tree", "snow", "road"])
    model = RMFL(3, max_iter=5, tol=0, random_state=0).fit(drawn.X, labels)
    ax = plot_label_correlation(model)
    order = [list(model.classes_).index(name) for name in names_of(ax)]
    assert sorted(order) == list(range(5))
    shown = np.asarray(ax.collections[0].get_array())
    np.testing.assert_allclose(shown, model.label_correlation_[np.ix_(order, order)])


def test_similar_labels_are_neighbours():
    matrix = np.full((6, 6), -0.2)
    for group in ([0, 3, 5], [1, 2, 4]):
        matrix[np.ix_(group, group)] = 0.9
    np.fill_diagonal(matrix, 1)
    order = [int(name) for name in names_of(plot_label_correlation(matrix))]
    assert {frozenset(order[:3]), frozenset(order[3:])} == {
        frozenset({0, 3, 5}),
        frozenset({1, 2, 4}),
    }


def test_the_strongest_labels_are_chosen():
    matrix = np.eye(10)
    matrix[2, 7] = matrix[7, 2] = -0.8
    matrix[4, 2] = matrix[2, 4] = 0.5
    ax = plot_label_correlation(matrix, n_labels=3, names=[f"label {i}" for i in range(10)])
    assert set(names_of(ax)) == {"label 2", "label 4", "label 7"}


def test_two_labels_and_given_axes():
    _, ax = pyplot.subplots()
    assert plot_label_correlation(np.array([[1, 0.2], [0.2, 1]]), ax=ax) is ax
    assert names_of(ax) == ["0", "1"]


@pytest.mark.parametrize(
    ("matrix", "settings", "message"),
    [
        (np.ones((2, 3)), {}, "labels x labels"),
        (np.eye(3), {"names": ["a"]}, "1 names for 3"),
        (np.eye(3), {"n_labels": 0}, "n_labels=0"),
    ],
)
def test_wrong_input(matrix, settings, message):
    with pytest.raises(ValueError, match=message):
        plot_label_correlation(matrix, **settings)
