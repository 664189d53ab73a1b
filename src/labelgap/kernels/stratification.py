"""Iterative stratification (Sechidis, Tsoumakas, Vlahavas 2011) as one pass over the positives,
and its refinement.

The published algorithm asks again and again for the label with the fewest rows left. Recounting
costs O(n L) each time; here an indexed binary heap keeps the labels ordered by what is left, so
the whole assignment costs O(nnz log L + n K) for K folds. A second kernel then evens out what the
greedy assignment leaves uneven.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _sift_up(heap, place, keys, at):
    label = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if keys[heap[parent]] <= keys[label]:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = label
    place[label] = at


@njit(cache=True)
def _sift_down(heap, place, keys, at, size):
    label = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[label] <= keys[heap[child]]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = label
    place[label] = at


@njit(cache=True)
def _neediest(label_need, fold_need, tie_break):
    """Fold with the largest label need, then fold need; ``tie_break`` picks among equals."""
    best, n_tied = 0, 1
    for k in range(1, fold_need.size):
        difference = label_need[k] - label_need[best]
        if difference == 0.0:
            difference = fold_need[k] - fold_need[best]
        if difference > 0.0:
            best, n_tied = k, 1
        elif difference == 0.0:
            n_tied += 1
    skip = int(tie_break * n_tied)
    for k in range(best, fold_need.size):
        if label_need[k] == label_need[best] and fold_need[k] == fold_need[best]:
            if skip == 0:
                return k
            skip -= 1
    return best


@njit(cache=True)
def assign_folds(indptr, indices, column_ptr, column_rows, fractions, label_rank, tie_breaks):
    """Assign every row to a fold so that each fold gets its fraction of every label.

    Labels are visited rarest first (fewest unassigned positives, then ``label_rank``). Each
    unassigned row that carries the label goes to the fold whose need ``fraction * total - given`` is
    largest for that label, then to the fold that needs most rows, then by ``tie_breaks``. Rows
    without a positive go last, to the fold that needs most rows.

    indptr, indices : int arrays. Positives in CSR order: the labels of row i are
        ``indices[indptr[i]:indptr[i + 1]]``.
    column_ptr, column_rows : int arrays. The same positives in CSC order; rows are visited in the
        order they are listed here.
    fractions : float64 array (n_folds,). Wanted fraction of rows per fold, summing to one.
    label_rank : int64 array (n_labels,). A permutation that orders labels with equally many rows
        left.
    tie_breaks : float64 array (n_samples,). Numbers in [0, 1): which of the equally good folds a
        row takes.
    Returns folds : int64 array (n_samples,)
    """
    n_samples, n_labels = indptr.size - 1, column_ptr.size - 1
    left = np.diff(column_ptr).astype(np.int64)
    label_needs = left.reshape(-1, 1) * fractions.reshape(1, -1)
    fold_need = fractions * n_samples
    folds = np.full(n_samples, -1, dtype=np.int64)

    keys = left * n_labels + label_rank
    heap = np.argsort(keys)
    place = np.empty(n_labels, dtype=np.int64)
    place[heap] = np.arange(n_labels)

    for n_waiting in range(n_labels, 0, -1):
        label = heap[0]
        heap[0] = heap[n_waiting - 1]
        place[heap[0]] = 0
        _sift_down(heap, place, keys, 0, n_waiting - 1)
        place[label] = -1
        if left[label] == 0:
            continue
        for row in column_rows[column_ptr[label] : column_ptr[label + 1]]:
            if folds[row] >= 0:
                continue
            fold = _neediest(label_needs[label], fold_need, tie_breaks[row])
            folds[row] = fold
            fold_need[fold] -= 1.0
            for other in indices[indptr[row] : indptr[row + 1]]:
                label_needs[other, fold] -= 1.0
                left[other] -= 1
                if place[other] >= 0:
                    keys[other] -= n_labels
                    _sift_up(heap, place, keys, place[other])

    for row in range(n_samples):
        if folds[row] < 0:
            folds[row] = _neediest(fold_need, fold_need, tie_breaks[row])
            fold_need[folds[row]] -= 1.0
    return folds


@njit(cache=True)
def _excesses(indptr, indices, totals, fractions, folds):
    """What each fold has beyond its fraction: of every label, and of rows."""
    n_samples = folds.size
    label_excess = -totals.reshape(-1, 1) * fractions.reshape(1, -1)
    fold_excess = -fractions * n_samples
    sizes = np.zeros(fractions.size, dtype=np.int64)
    for row in range(n_samples):
        sizes[folds[row]] += 1
        fold_excess[folds[row]] += 1.0
        for label in indices[indptr[row] : indptr[row + 1]]:
            label_excess[label, folds[row]] += 1.0
    return label_excess, fold_excess, sizes


@njit(cache=True)
def refine_folds(indptr, indices, totals, fractions, folds, size_weights):
    """Move single rows between folds while that makes the folds more even.

    Iterative stratification settles the rare labels and leaves the frequent ones to luck. This
    descends on the unevenness

        sum_k [ sum_l (given_lk - fraction_k total_l)^2 / total_l + w (size_k - fraction_k n)^2 ]

    one row at a time, so that it never increases within a pass. No fold is emptied.

    indptr, indices : int arrays. Positives in CSR order.
    totals : float64 array (n_labels,). Positives per label.
    fractions : float64 array (n_folds,)
    folds : int64 array (n_samples,). Fold of each row at the start; not modified.
    size_weights : float64 array (n_passes,). The weight w of the fold sizes in each pass over the
        rows.
    Returns folds : int64 array (n_samples,)
    """
    folds = folds.copy()
    label_excess, fold_excess, sizes = _excesses(indptr, indices, totals, fractions, folds)
    for weight in size_weights:
        for row in range(folds.size):
            source, target, best_change = folds[row], folds[row], -1e-12
            labels = indices[indptr[row] : indptr[row + 1]]
            for k in range(fractions.size):
                if k == source or sizes[source] == 1:
                    continue
                change = weight * (fold_excess[k] - fold_excess[source] + 1.0)
                for label in labels:
                    gap = label_excess[label, k] - label_excess[label, source] + 1.0
                    change += gap / totals[label]
                if change < best_change:
                    target, best_change = k, change
            if target != source:
                folds[row] = target
                sizes[source] -= 1
                sizes[target] += 1
                fold_excess[source] -= 1.0
                fold_excess[target] += 1.0
                for label in labels:
                    label_excess[label, source] -= 1.0
                    label_excess[label, target] += 1.0
    return folds
