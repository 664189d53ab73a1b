"""Pictures show what the fitted model holds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from labelgap import BMLPL  # noqa: E402
from labelgap.fitting import EM, Gibbs  # noqa: E402
from labelgap.generators import make_topics  # noqa: E402
from labelgap.plots import plot_topics, plot_trace  # noqa: E402


@pytest.fixture(scope="module")
def data():
    generated = make_topics(150, 5, 12, n_topics=3, eta=1.0, random_state=0)
    names = [f"tag {position}" for position in range(12)]
    return generated.X, generated.full.with_names(names)


@pytest.fixture(scope="module")
def fitted(data):
    return BMLPL(4, inference=EM(8, tol=0), random_state=0).fit(*data)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def _cells(ax) -> dict[tuple[int, int], str]:
    places = {text.get_position(): text.get_text() for text in ax.texts}
    return {(int(column), int(rank)): text for (column, rank), text in places.items()}


def test_topics_show_the_strongest_labels_in_order(fitted):
    ax = plot_topics(fitted, n_topics=3, n_labels=4)
    shown = _cells(ax)
    for column, topic in enumerate(fitted.topics_[:3]):
        column_labels = [shown[column, rank] for rank in range(4)]
        assert column_labels == [str(label) for label in topic.labels[:4]]
        heading = ax.get_xticklabels()[column].get_text()
        assert heading.startswith(f"topic {topic.number}\n")
    shade = ax.images[0].get_array()
    assert shade.shape == (4, 3)
    assert (shade[0] == 1).all()
    assert (np.diff(shade, axis=0) <= 0).all()


def test_fewer_topics_than_asked_for_are_all_shown(fitted):
    assert plot_topics(fitted, n_topics=50).images[0].get_array().shape[1] == 4


def test_topics_draw_where_they_are_told(fitted):
    _, ax = pyplot.subplots()
    assert plot_topics(fitted, ax=ax) is ax
    assert len(pyplot.get_fignums()) == 1


def test_long_names_are_cut(data):
    X, labels = data
    names = [f"{position} of a very long name of a label" for position in range(12)]
    model = BMLPL(2, inference=EM(2, tol=0), random_state=0).fit(X, labels.with_names(names))
    assert max(map(len, _cells(plot_topics(model)).values())) <= 24


@pytest.mark.parametrize("name", ["n_topics", "n_labels"])
def test_nothing_to_show_is_an_error(fitted, name):
    with pytest.raises(ValueError, match=f"{name}=0"):
        plot_topics(fitted, **{name: 0})


def test_trace_is_the_objective_of_every_iteration(fitted):
    ax = plot_trace(fitted)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), fitted.trace_.objective)
    assert ax.get_title() == "out of iterations after 8 iterations"


def test_trace_of_gibbs_shows_every_chain_and_burn_in(data):
    settings = Gibbs(n_draws=4, burn_in=3, n_chains=2, start_iter=2)
    model = BMLPL(2, inference=settings, random_state=0).fit(*data)
    ax = plot_trace(model)
    assert len(ax.lines) == 2
    for line, values in zip(ax.lines, model.samples_.log_posterior, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "burn-in"


def test_without_matplotlib_the_error_names_the_extra(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"labelgap\[report\]"):
        plot_topics(fitted)
