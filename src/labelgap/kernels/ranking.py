"""Counts behind metrics: where relevant entries stand among irrelevant ones, and right decisions.

Entries are divided into *segments* (one per row, one per label, or one for everything). Within a
segment only the relevant entries are sorted; each irrelevant entry is then placed among them by
bisection. With p relevant of m entries this costs O(m log p) instead of O(m log m), needs memory
only for the relevant entries, and visits the labels as they are stored.

Labels arrive as compressed rows of state codes (``indptr``, ``indices``, ``states``) plus
``row_default``, the state per column of an entry that is not stored.
"""

import numpy as np
from numba import njit, prange

RELEVANT = 1
NEGATIVE = 2
UNKNOWN = 3
UNLABELED = 4

BY_ROW = 0
BY_LABEL = 1
POOLED = 2

# each of more columns is cheaper to sort than to insert
_MOST_INSERTED = 64


@njit(cache=True)
def first_nonfinite(values):
    """Return (row, column) of the first NaN or infinity in row-major order, or (-1, -1)."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if not np.isfinite(values[i, j]):
                return i, j
    return -1, -1


def top_k(scores, k):
    """Return the columns of the k largest scores of each row, best first, ties by column."""
    if k > _MOST_INSERTED:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return _inserted(np.ascontiguousarray(scores), k)


@njit(cache=True, parallel=True)
def _inserted(scores, k):
    best = np.zeros((scores.shape[0], k), np.intp)
    for row in prange(scores.shape[0]):
        values = np.full(k, -np.inf)
        n_held = 0
        for column in range(scores.shape[1]):
            score = scores[row, column]
            if n_held == k and not score > values[k - 1]:
                continue
            place = n_held if n_held < k else k - 1
            while place > 0 and score > values[place - 1]:
                values[place] = values[place - 1]
                best[row, place] = best[row, place - 1]
                place -= 1
            values[place] = score
            best[row, place] = column
            n_held = min(n_held + 1, k)
    return best


@njit(cache=True)
def descending_order(segment_starts, scores):
    """Return the permutation that sorts each segment by decreasing score, ties in given order."""
    order = np.empty(scores.size, np.int64)
    for g in range(segment_starts.size - 1):
        start, stop = segment_starts[g], segment_starts[g + 1]
        if stop > start:
            order[start:stop] = start + np.argsort(-scores[start:stop], kind="mergesort")
    return order


@njit(cache=True)
def tie_groups(segment_starts, scores):
    """Return for each slot of the sorted segments where its run of equal scores begins and ends."""
    begin = np.empty(scores.size, np.int64)
    end = np.empty(scores.size, np.int64)
    for g in range(segment_starts.size - 1):
        start, stop = segment_starts[g], segment_starts[g + 1]
        t = start
        while t < stop:
            u = t + 1
            while u < stop and scores[u] == scores[t]:
                u += 1
            begin[t:u] = t
            end[t:u] = u
            t = u
    return begin, end


@njit(cache=True)
def _first_at_most(scores, lo, hi, score):
    """First slot in [lo, hi) of decreasing ``scores`` that is not above ``score``."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if scores[mid] > score:
            lo = mid + 1
        else:
            hi = mid
    return lo


@njit(cache=True)
def _first_after(keys, lo, hi, key):
    """First slot in [lo, hi) of increasing ``keys`` that lies after ``key``."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if keys[mid] > key:
            hi = mid
        else:
            lo = mid + 1
    return lo


@njit(cache=True)
def _bucket(score, top, scale, n_buckets):
    """Bucket of a score: never decreases as the score falls, so buckets are runs of slots."""
    position = (np.float64(top) - np.float64(score)) * scale
    if position >= n_buckets - 1:
        return n_buckets - 1
    # "not >" also catches the NaN of an overflowing range, for which scale is 0
    return int(position) if position > 0 else 0


@njit(cache=True)
def _bucket_starts(scores):
    """Cut a long decreasing segment into equal score ranges, about one slot in each.

    Bisection in a segment of 10^5 slots misses the cache at every step; looking up the range of a
    score first leaves a few neighbouring slots to search.
    """
    n_buckets = max(scores.size, 1)
    starts = np.zeros(n_buckets + 1, np.int64)
    if scores.size == 0:
        return starts, 0.0, 0.0
    top = np.float64(scores[0])
    spread = top - np.float64(scores[-1])
    scale = (n_buckets - 1) / spread if 0 < spread < np.inf else 0.0
    if not np.isfinite(scale):
        scale = 0.0
    for t in range(scores.size):
        starts[_bucket(scores[t], top, scale, n_buckets) + 1] += 1
    for b in range(n_buckets):
        starts[b + 1] += starts[b]
    return starts, top, scale


@njit(cache=True)
def _accumulate(segment_starts, begin, above, tied, tied_before):
    """Turn the counts dropped at single slots into totals for every slot, in place."""
    for g in range(segment_starts.size - 1):
        running = 0
        for t in range(segment_starts[g], segment_starts[g + 1]):
            running += above[t]
            above[t] = running
            if begin[t] != t:
                tied[t] = tied[t - 1]
                tied_before[t] += tied_before[t - 1]


@njit(cache=True)
def count_irrelevant(
    scores,
    indptr,
    indices,
    states,
    row_default,
    mode,
    segment_starts,
    segment_scores,
    segment_keys,
    begin,
    end,
):
    """Return count, for every relevant entry, the irrelevant entries of its segment around it.

    scores : (n_samples, n_labels) float array
    indptr, indices, states : compressed rows of state codes
    row_default : (n_labels,) int8, state of entries that are not stored
    mode : BY_ROW, BY_LABEL or POOLED
    segment_starts, segment_scores, segment_keys : the relevant entries, sorted in each segment by.
        decreasing score and then increasing key (column, row, or flat index)
    begin, end : groups of equal scores, from `tie_groups`
    Returns above, tied, tied_before : int64 arrays, one value per relevant entry. Irrelevant
        entries with a higher score; with the same score; and those of the latter whose key is
        smaller.
    and n_irrelevant : int64 array, one value per segment
    """
    n_samples, n_labels = scores.shape
    above = np.zeros(segment_scores.size, np.int64)
    tied = np.zeros(segment_scores.size, np.int64)
    tied_before = np.zeros(segment_scores.size, np.int64)
    n_irrelevant = np.zeros(segment_starts.size - 1, np.int64)
    state = np.empty(n_labels, np.int8)
    starts, top, scale = _bucket_starts(segment_scores if mode == POOLED else segment_scores[:0])
    for i in range(n_samples):
        state[:] = row_default
        for t in range(indptr[i], indptr[i + 1]):
            state[indices[t]] = states[t]
        for j in range(n_labels):
            if state[j] != NEGATIVE and state[j] != UNLABELED:
                continue
            segment, key = i, j
            if mode == BY_LABEL:
                segment, key = j, i
            elif mode == POOLED:
                segment, key = 0, i * n_labels + j
            n_irrelevant[segment] += 1
            start, stop = segment_starts[segment], segment_starts[segment + 1]
            if mode == POOLED:
                bucket = _bucket(scores[i, j], top, scale, starts.size - 1)
                slot = _first_at_most(
                    segment_scores, starts[bucket], starts[bucket + 1], scores[i, j]
                )
            else:
                slot = _first_at_most(segment_scores, start, stop, scores[i, j])
            if slot == stop:
                continue
            if segment_scores[slot] < scores[i, j]:
                above[slot] += 1
                continue
            tied[slot] += 1
            after = end[slot]
            if after < stop:
                above[after] += 1
            later = _first_after(segment_keys, slot, after, key)
            if later < after:
                tied_before[later] += 1
    _accumulate(segment_starts, begin, above, tied, tied_before)
    return above, tied, tied_before, n_irrelevant


@njit(cache=True)
def count_predicted(indptr, indices, states, row_default, predicted_indptr, predicted_indices):
    """Count true and false positives per row and per label.

    indptr, indices, states : compressed rows of state codes, columns sorted
    row_default : (n_labels,) int8, state of entries that are not stored
    predicted_indptr, predicted_indices : compressed rows of the predicted positives, columns sorted
    Returns row_hits, row_false : int64 arrays of length n_samples
    and label_hits, label_false : int64 arrays of length n_labels. Predicted positives that are
        relevant, and that are known to be irrelevant; predictions for unknown entries are in
        neither.
    """
    n_samples = indptr.size - 1
    n_labels = row_default.size
    row_hits = np.zeros(n_samples, np.int64)
    row_false = np.zeros(n_samples, np.int64)
    label_hits = np.zeros(n_labels, np.int64)
    label_false = np.zeros(n_labels, np.int64)
    for i in range(n_samples):
        t, stop = indptr[i], indptr[i + 1]
        for u in range(predicted_indptr[i], predicted_indptr[i + 1]):
            j = predicted_indices[u]
            while t < stop and indices[t] < j:
                t += 1
            state = states[t] if t < stop and indices[t] == j else row_default[j]
            if state == RELEVANT:
                row_hits[i] += 1
                label_hits[j] += 1
            elif state in (NEGATIVE, UNLABELED):
                row_false[i] += 1
                label_false[j] += 1
    return row_hits, row_false, label_hits, label_false
