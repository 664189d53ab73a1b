"""Iterative stratification written down as published: dense, recounting, slow."""

from __future__ import annotations

import numpy as np


def assign_folds(positives, fractions, label_rank, tie_breaks):
    """Fold of each row of a dense boolean matrix; see the kernel of the same name."""
    n_samples, n_labels = positives.shape
    label_needs = np.outer(positives.sum(axis=0), fractions)
    fold_need = np.array(fractions) * n_samples
    folds = np.full(n_samples, -1)

    def give(row, label_need):
        best = max(zip(label_need, fold_need, strict=True))
        tied = [k for k in range(len(fractions)) if (label_need[k], fold_need[k]) == best]
        folds[row] = tied[int(tie_breaks[row] * len(tied))]
        fold_need[folds[row]] -= 1
        label_needs[positives[row], folds[row]] -= 1

    while True:
        left = positives[folds < 0].sum(axis=0)
        candidates = [label for label in range(n_labels) if left[label] > 0]
        if not candidates:
            break
        label = min(candidates, key=lambda j: (left[j], label_rank[j]))
        for row in np.flatnonzero(positives[:, label] & (folds < 0)):
            give(row, label_needs[label])
    for row in np.flatnonzero(folds < 0):
        give(row, fold_need)
    return folds


def unevenness(positives, fractions, folds, size_weight):
    """The objective that the refinement descends on."""
    total = 0.0
    for k, fraction in enumerate(fractions):
        inside = folds == k
        for label in range(positives.shape[1]):
            n = positives[:, label].sum()
            if n:
                total += (positives[inside, label].sum() - fraction * n) ** 2 / n
        total += size_weight * (inside.sum() - fraction * len(folds)) ** 2
    return total


def refine_folds(positives, fractions, folds, size_weights):
    """Best single-row moves, each judged by recomputing the whole objective."""
    folds = np.array(folds)
    for weight in size_weights:
        for row in range(len(folds)):
            source = folds[row]
            if np.sum(folds == source) == 1:
                continue
            values = np.empty(len(fractions))
            for k in range(len(fractions)):
                folds[row] = k
                values[k] = unevenness(positives, fractions, folds, weight)
            better = values < values[source] - 1e-9
            folds[row] = np.argmin(np.where(better, values, np.inf)) if better.any() else source
    return folds
