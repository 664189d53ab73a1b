"""Counts and scores one at a time, as their definitions say."""

from __future__ import annotations

import numpy as np


def count_pairs(items, seen, labels) -> np.ndarray:
    """Items that carry both labels, for each seen label and each label."""
    counts = np.zeros((len(seen), len(labels)))
    for tags in items:
        for row, s in enumerate(seen):
            for column, t in enumerate(labels):
                counts[row, column] += s in tags and t in tags
    return counts


def votes(probability, counts, n_seen) -> np.ndarray:
    """sum_s P_s(x) M_su / n_s for the columns of ``counts``; missing counts do not vote."""
    result = np.zeros((len(probability), counts.shape[1]))
    for n, row in enumerate(probability):
        for u in range(counts.shape[1]):
            for s, p in enumerate(row):
                if n_seen[s] > 0 and not np.isnan(counts[s, u]):
                    result[n, u] += p * counts[s, u] / n_seen[s]
    return result


def similarity(kind, m_su, n_s, m_u, n_all) -> float:
    """How similar a seen label is to an unseen one."""
    if m_su == 0:
        return 0.0
    if kind == "fraction":
        return m_su
    if kind == "conditional":
        return m_su / n_s
    if kind == "dice":
        return 2 * m_su / (n_s + m_u)
    return max(0.0, np.log((m_su / m_u) / (n_s / n_all)))
