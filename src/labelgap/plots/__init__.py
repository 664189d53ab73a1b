"""Plots of audits and fitted models, as functions that return matplotlib axes.

Every function takes the objects of the library or plain arrays, draws on ``ax`` or on a new figure,
and returns the axes. Needs matplotlib (``pip install 'labelgap[report]'``). The pages of
:mod:`labelgap.report` show the same plots, with the help of :mod:`labelgap.plots.svg`.
"""

from labelgap.plots._audit_plots import (
    plot_calibration,
    plot_item_completeness,
    plot_label_completeness,
    plot_label_quality,
    plot_learning_curve,
    plot_suggestions,
)
from labelgap.plots._label_matrices import plot_cooccurrence, plot_label_correlation
from labelgap.plots._model_plots import plot_selected_features, plot_topics, plot_trace

__all__ = [
    "plot_calibration",
    "plot_cooccurrence",
    "plot_item_completeness",
    "plot_label_completeness",
    "plot_label_correlation",
    "plot_label_quality",
    "plot_learning_curve",
    "plot_selected_features",
    "plot_suggestions",
    "plot_topics",
    "plot_trace",
]
