"""Counts of right and wrong decisions over the entries whose truth is known."""

import numpy as np
from numba import njit

from labelgap.kernels.ranking import AMBIGUOUS, IRRELEVANT, RELEVANT


@njit(cache=True)
def count_predicted(indptr, indices, states, row_default, predicted_indptr, predicted_indices):
    """Count true and false positives per row and per label.

    Parameters
    ----------
    indptr, indices, states : compressed rows of state codes, columns sorted
    row_default : (n_labels,) int8, state of entries that are not stored
    predicted_indptr, predicted_indices : compressed rows of the predicted positives, columns sorted

    Returns
    -------
    row_hits, row_false : int64 arrays of length n_rows
    label_hits, label_false : int64 arrays of length n_labels
        Predicted positives that are relevant, and that are known to be irrelevant; predictions for
        unknown entries are in neither.
    """
    n_rows = indptr.size - 1
    n_labels = row_default.size
    row_hits = np.zeros(n_rows, np.int64)
    row_false = np.zeros(n_rows, np.int64)
    label_hits = np.zeros(n_labels, np.int64)
    label_false = np.zeros(n_labels, np.int64)
    for i in range(n_rows):
        t, stop = indptr[i], indptr[i + 1]
        for u in range(predicted_indptr[i], predicted_indptr[i + 1]):
            j = predicted_indices[u]
            while t < stop and indices[t] < j:
                t += 1
            state = states[t] if t < stop and indices[t] == j else row_default[j]
            if state == RELEVANT:
                row_hits[i] += 1
                label_hits[j] += 1
            elif state in (IRRELEVANT, AMBIGUOUS):
                row_false[i] += 1
                label_false[j] += 1
    return row_hits, row_false, label_hits, label_false
