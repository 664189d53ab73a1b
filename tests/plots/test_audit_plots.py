"""Pictures of an audit, of arrays and of rankings show the numbers they are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pip install 'labelgap[report]'")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.collections import LineCollection  # noqa: E402

from auditing.sample_audits import bare_audit, sample_audit  # noqa: E402
from labelgap import Labels, plots  # noqa: E402
from labelgap.models.gmfs import GMFS, StabilitySelection  # noqa: E402

AUDIT = sample_audit()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def _rows(ax) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def _dots(ax) -> np.ndarray:
    return ax.lines[0].get_xydata()


def _bars(ax) -> np.ndarray:
    (bars,) = (one for one in ax.collections if isinstance(one, LineCollection))
    return np.array([segment[:, 0] for segment in bars.get_segments()])


def test_completeness_shows_estimates_with_their_intervals_the_lowest_first():
    ax = plots.plot_label_completeness(AUDIT)
    known = sorted(
        (one for one in AUDIT.labels if one.label_frequency),
        key=lambda one: one.label_frequency.value,
    )
    assert _rows(ax) == [one.name for one in known]
    assert _dots(ax)[:, 0] == pytest.approx([one.label_frequency.value for one in known])
    assert _bars(ax) == pytest.approx(
        np.array([(one.label_frequency.low, one.label_frequency.high) for one in known])
    )
    assert ax.get_xlim() == (0, 1)
    assert ax.yaxis_inverted()


def test_without_a_frequency_of_their_own_labels_share_one_or_show_what_is_known():
    bare = replace(AUDIT, labels=tuple(replace(one, label_frequency=None) for one in AUDIT.labels))
    ax = plots.plot_label_completeness(bare)
    assert _rows(ax) == ["all labels"]
    assert _dots(ax)[:, 0] == pytest.approx([AUDIT.summary.label_frequency.value])
    assert ax.get_title() == "no label has a frequency of its own"
    bare = replace(bare, summary=replace(AUDIT.summary, label_frequency=None))
    for source in (bare, bare.labels):
        ax = plots.plot_label_completeness(source)
        assert _dots(ax)[:, 0] == pytest.approx(sorted(one.observed for one in AUDIT.labels))
        assert "in which the label is known" in ax.get_xlabel()


def test_completeness_of_labels_is_the_fraction_of_known_rows():
    labels = Labels.from_dense([[1, np.nan, 0], [0, np.nan, 1], [1, 1, np.nan], [0, 0, 0]])
    ax = plots.plot_label_completeness(labels.with_names(["x", "y", "z"]))
    assert _rows(ax) == ["y", "z", "x"]
    assert _dots(ax)[:, 0] == pytest.approx([0.5, 0.75, 1.0])
    assert not ax.collections


def test_of_many_labels_the_lowest_are_shown_and_the_title_says_so():
    ax = plots.plot_label_completeness(np.linspace(1, 0, 50), n_labels=4)
    assert _rows(ax) == ["49", "48", "47", "46"]
    assert ax.get_title() == "the 4 lowest of 50 labels"


@pytest.mark.parametrize("metric", ["average_precision", "auc"])
def test_label_quality_shows_the_metric_asked_for(metric):
    ax = plots.plot_label_quality(AUDIT, metric=metric)
    values = sorted(getattr(one, metric).value for one in AUDIT.labels if one.auc)
    assert _dots(ax)[:, 0] == pytest.approx(values)


def test_label_quality_of_arrays():
    ax = plots.plot_label_quality([[0.9, 0.8, 1.0], [0.2, 0.1, 0.4]], ["good", "bad"])
    assert _rows(ax) == ["bad", "good"]
    assert _bars(ax).tolist() == [[0.1, 0.4], [0.8, 1.0]]


def test_suggestions_are_bars_as_long_as_their_probabilities():
    mixed = [
        replace(one, state="unknown") if one.rank == 2 else one for one in AUDIT.suggestions[:5]
    ]
    ax = plots.plot_suggestions(mixed, 4)
    lengths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}
    assert lengths == {k: pytest.approx(one.probability) for k, one in enumerate(mixed[:4])}
    assert [text.get_text() for text in ax.texts] == [f"{o.probability:.0%}" for o in mixed[:4]]
    assert all(
        one.item in row and one.label in row for one, row in zip(mixed[:4], _rows(ax), strict=True)
    )
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["recorded as zero", "unknown"]
    assert len({bar.get_hatch() for bar in ax.patches}) == 2, "told apart without colours"


def test_the_map_of_an_audit_and_of_its_counts_are_the_same():
    pairs = AUDIT.pairs.map
    ax = plots.plot_cooccurrence(AUDIT)
    shown = np.ma.getdata(ax.collections[0].get_array())
    assert np.isnan(np.diag(shown)).all()
    # 97 of 200 carry both labels, 110 and 100 one of them
    assert shown[0, 1] == pytest.approx(np.log2((97 + 2) / (110 * 100 / 200 + 2)))
    assert shown[0, 2] == pytest.approx(max(-3, np.log2((3 + 2) / (110 * 60 / 200 + 2))))
    again = plots.plot_cooccurrence(np.array(pairs.counts), pairs.labels, n_samples=200)
    order = [pairs.labels.index(name) for name in _rows(again)]
    other = np.ma.getdata(again.collections[0].get_array())
    np.testing.assert_allclose(other, shown[np.ix_(order, order)])


def test_the_map_of_labels_counts_rows():
    Y = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    ax = plots.plot_cooccurrence(Labels.from_dense(Y).with_names(["a", "b", "c"]), n_labels=2)
    assert sorted(_rows(ax)) == ["a", "b"]
    shown = np.ma.getdata(ax.collections[0].get_array())
    assert shown[0, 1] == pytest.approx(np.log2((2 + 2) / (3 * 2 / 4 + 2)))


def test_learning_curve_has_a_band():
    ax = plots.plot_learning_curve(AUDIT)
    points = AUDIT.learning_curve
    np.testing.assert_allclose(
        _dots(ax), [(one.n_labels, one.average_precision.value) for one in points]
    )
    band = ax.collections[0].get_paths()[0].vertices
    lows = [one.average_precision.low for one in points]
    assert band[:, 1].min() == pytest.approx(min(lows))


def test_items_by_the_fraction_recorded():
    ax = plots.plot_item_completeness(AUDIT)
    assert [bar.get_height() for bar in ax.patches] == list(AUDIT.items.counts)
    assert ax.get_xlim() == (AUDIT.items.edges[0], AUDIT.items.edges[-1])


def test_several_learning_curves_have_names_and_looks_of_their_own():
    curves = {"ours": AUDIT, "other": ([10, 20, 40], [0.1, 0.2, 0.3])}
    ax = plots.plot_learning_curve(curves)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "other"]
    looks = {(one.get_color(), one.get_linestyle(), one.get_marker()) for one in ax.lines}
    assert len(looks) == 2
    assert ax.lines[1].get_xydata().tolist() == [[10, 0.1], [20, 0.2], [40, 0.3]]


def test_calibration_of_an_audit():
    ax = plots.plot_calibration(AUDIT)
    dots = ax.collections[-1].get_offsets()
    expected = [(one.predicted, one.observed.value) for one in AUDIT.calibration]
    np.testing.assert_allclose(dots, expected)
    assert _dots(ax).tolist() == [[0, 0], [1, 1]]


def test_calibration_of_probabilities_leaves_out_what_is_unknown():
    Y = np.array([[1, 0, np.nan], [1, 1, np.nan], [0, 0, np.nan], [1, 0, 0]])
    p = np.array([[0.75, 0.2, 0.9], [0.8, 0.3, 0.9], [0.9, 0.1, 0.9], [0.6, 0.4, 0.0]])
    ax = plots.plot_calibration(Y, p, n_bins=2)
    dots = np.asarray(ax.collections[-1].get_offsets())
    np.testing.assert_allclose(dots, [(np.mean([0.2, 0.3, 0.1, 0.4, 0.0]), 0.2), (0.7625, 0.75)])
    with pytest.raises(ValueError, match="y_proba must lie between 0 and 1"):
        plots.plot_calibration(Y, p + 1)


def test_topics_of_an_audit():
    ax = plots.plot_topics(AUDIT)
    assert [text.get_text() for text in ax.texts] == ["fiction"]
    assert ax.get_xticklabels()[0].get_text() == "topic 1\n40.0%"


def test_selected_features_have_weights_and_stabilities():
    chosen = (
        replace(AUDIT.selected_features[0], name="b", weight=0.5, stability=0.3),
        replace(AUDIT.selected_features[0], name="a", weight=2.0, stability=0.9),
    )
    ax = plots.plot_selected_features(chosen)
    assert _rows(ax) == ["a", "b"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([1.0, 0.25])
    assert _dots(ax).tolist() == [[0.9, 0], [0.3, 1]]


def test_selected_features_of_selectors():
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 4)), rng.integers(0, 2, (40, 3))
    stable = StabilitySelection(GMFS(2, random_state=0), n_repeats=2, random_state=0).fit(X, Y)
    ax = plots.plot_selected_features(stable, ["p", "q", "r", "s"])
    weights = stable.selector_.scores_
    order = np.argsort(-weights, kind="stable")
    assert _rows(ax) == ["pqrs"[k] for k in order]
    assert _dots(ax)[:, 0] == pytest.approx(stable.scores_[order])
    alone = plots.plot_selected_features(stable.selector_)
    assert not alone.lines
    widths = [bar.get_width() for bar in alone.patches]
    assert widths == pytest.approx(weights[order] / weights.max())


def test_convergence_of_an_audit_and_of_numbers():
    ax = plots.plot_trace(AUDIT)
    assert ax.lines[0].get_ydata().tolist() == [-9.0, -4.0, -3.5]
    assert ax.get_title() == "BMLPL: converged after 3 iterations"
    assert plots.plot_trace([3, 2, 1]).lines[0].get_xdata().tolist() == [1, 2, 3]


DRAWN = {
    "plot_label_completeness": AUDIT,
    "plot_item_completeness": AUDIT,
    "plot_label_quality": AUDIT,
    "plot_suggestions": AUDIT,
    "plot_cooccurrence": AUDIT,
    "plot_learning_curve": AUDIT,
    "plot_calibration": AUDIT,
    "plot_topics": AUDIT,
    "plot_selected_features": AUDIT,
    "plot_trace": AUDIT,
    "plot_label_correlation": np.eye(4),
}


@pytest.mark.parametrize("name", plots.__all__)
def test_every_picture_draws_where_it_is_told(name):
    figure, (left, right) = pyplot.subplots(1, 2)
    assert getattr(plots, name)(DRAWN[name], ax=right) is right
    assert right.has_data()
    assert not left.has_data()
    assert len(pyplot.get_fignums()) == 1
    figure.canvas.draw()


@pytest.mark.parametrize(
    "name",
    sorted(
        DRAWN.keys()
        - {"plot_item_completeness", "plot_label_completeness", "plot_label_correlation"}
    ),
)
def test_an_audit_without_it_is_an_error_that_says_so(name):
    with pytest.raises(ValueError, match=r"there (is|are) no|nothing|no (label|features)"):
        getattr(plots, name)(replace(bare_audit(), suggestions=()))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.plot_label_completeness(np.ones((3, 2))), r"shape \(3, 2\)"),
        (lambda: plots.plot_label_completeness([0.5], ["a", "b"]), "2 names for 1 labels"),
        (lambda: plots.plot_label_completeness(AUDIT, ["a"]), "an audit has its own"),
        (lambda: plots.plot_label_quality([0.5], metric="f1"), "metric='f1'"),
        (lambda: plots.plot_cooccurrence(np.eye(3)), "n_samples is missing"),
        (lambda: plots.plot_cooccurrence(np.ones((3, 2)), n_samples=3), r"shape \(3, 2\)"),
        (lambda: plots.plot_learning_curve([1, 2, 3]), "values is missing"),
        (lambda: plots.plot_learning_curve([1, 2, 3], [0.1, 0.2]), "3 amounts and 2 values"),
        (lambda: plots.plot_suggestions(AUDIT, 0), "n_suggestions=0"),
    ],
)
def test_wrong_arguments_are_told(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
