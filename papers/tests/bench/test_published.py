"""The published figures are whole, and each of them has one place."""

from __future__ import annotations

from collections import Counter

from labelgap_papers.bench import load_experiments, published_figures


def test_all_figures_are_there():
    figures = published_figures()
    assert len(figures) == 1626
    assert Counter(figure.paper for figure in figures) == {
        "RMFL": 1260,
        "iMVWL": 205,
        "GMFS": 98,
        "ML-LCS": 39,
        "BMLPL": 24,
    }
    assert len(set(figures)) == len(figures)


def test_a_figure_keeps_its_digits():
    figure = next(one for one in published_figures() if one.paper == "BMLPL")
    assert (figure.mean, figure.printed, figure.std) == (0.8882, "0.8882", None)
    assert figure.rounding == 0.00005


def test_every_figure_has_one_place():
    placed = Counter(
        figure for experiment in load_experiments().values() for figure, _ in experiment.figures()
    )
    assert set(placed) == set(published_figures())
    assert set(placed.values()) == {1}


def test_places_are_cells_or_known_gaps():
    """A published figure is either something we can run, or something we say we cannot."""
    for experiment in load_experiments().values():
        cells = {(c.dataset, c.method, str(c.setting)) for c in experiment.cells("full")}
        gaps = {(c.dataset, c.method, str(c.setting)) for c, _ in experiment.gaps()}
        for _, place in experiment.figures():
            assert (place.dataset, place.method, str(place.setting)) in cells | gaps
