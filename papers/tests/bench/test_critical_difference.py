"""The plot of critical differences."""

from __future__ import annotations

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from labelgap_papers.bench import plot_critical_difference, rank_methods  # noqa: E402

RANKING = rank_methods(
    ["a", "b", "c"], np.array([[0.9, 0.5, 0.1], [0.8, 0.6, 0.2], [0.9, 0.4, 0.3]]), True
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_critical_differences_name_all_methods_at_their_ranks():
    ax = plot_critical_difference(RANKING, "b")
    words = [text.get_text() for text in ax.texts]
    for method, rank in zip(RANKING.methods, RANKING.mean_ranks, strict=True):
        assert any(method in one and f"{rank:.2f}" in one for one in words)
    (bold,) = (text for text in ax.texts if text.get_fontweight() == "bold")
    assert bold.get_text() == "b  2.00"
    assert f"critical difference {RANKING.critical_difference:.2f}" in words
    with pytest.raises(ValueError, match="main='z'"):
        plot_critical_difference(RANKING, "z")


def test_it_draws_where_it_is_told():
    figure, (left, right) = pyplot.subplots(1, 2)
    assert plot_critical_difference(RANKING, ax=right) is right
    assert right.has_data()
    assert not left.has_data()
    figure.canvas.draw()
