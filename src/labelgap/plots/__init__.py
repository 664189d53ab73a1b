"""Pictures of audits, fitted models and comparisons, as functions that return matplotlib axes.

Every function takes the objects of the library or plain arrays, draws on ``ax`` or on a new figure,
and returns the axes. Needs matplotlib (``pip install 'labelgap[report]'``).
"""

from labelgap.plots._curves import plot_calibration, plot_learning_curve, plot_trace
from labelgap.plots._labels import plot_label_quality, plot_recording, plot_suggestions
from labelgap.plots._pairs import plot_cooccurrence, plot_label_correlation
from labelgap.plots._ranking import plot_critical_difference
from labelgap.plots._topics import plot_selected_features, plot_topics

__all__ = [
    "plot_calibration",
    "plot_cooccurrence",
    "plot_critical_difference",
    "plot_label_correlation",
    "plot_label_quality",
    "plot_learning_curve",
    "plot_recording",
    "plot_selected_features",
    "plot_suggestions",
    "plot_topics",
    "plot_trace",
]
