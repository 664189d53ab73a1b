"""Ranking metrics by enumeration: lists of known entries, every order that the scores allow.

An entry is a tuple (score, truth, position). Unknown entries are not in the lists at all, so
agreement with these functions says that hiding an entry is the same as deleting it.
"""

import itertools
import math


def segments(truth, scores, mode):
    """Known entries by row, by label, or pooled; ``truth`` holds 1, 0 and NaN."""
    n_samples, n_labels = truth.shape
    cells = [
        (i, j) for i in range(n_samples) for j in range(n_labels) if not math.isnan(truth[i, j])
    ]
    if mode == "pooled":
        return [[(scores[i, j], int(truth[i, j]), i * n_labels + j) for i, j in cells]]
    if mode == "by_row":
        return [
            [(scores[i, j], int(truth[i, j]), j) for i, j in cells if i == row]
            for row in range(n_samples)
        ]
    return [
        [(scores[i, j], int(truth[i, j]), i) for i, j in cells if j == label]
        for label in range(n_labels)
    ]


def counts(entries):
    """(position, above, tied, tied_before) of each relevant entry, best first, and irrelevant."""
    irrelevant = [e for e in entries if e[1] == 0]
    found = []
    for score, _, position in sorted(
        (e for e in entries if e[1] == 1), key=lambda e: (-e[0], e[2])
    ):
        above = sum(e[0] > score for e in irrelevant)
        tied = [e for e in irrelevant if e[0] == score]
        found.append((position, above, len(tied), sum(e[2] < position for e in tied)))
    return found, len(irrelevant)


def orders(entries, ties):
    """Every ranking of the entries that the scores and the treatment of ties allow."""
    keys = {
        "first": lambda e: (-e[0], e[2]),
        "last": lambda e: (-e[0], -e[2]),
        "error": lambda e: (-e[0], e[1], e[2]),
        "correct": lambda e: (-e[0], -e[1], e[2]),
    }
    if ties in keys:
        return [sorted(entries, key=keys[ties])]
    by_score = sorted(entries, key=lambda e: -e[0])
    groups = [list(group) for _, group in itertools.groupby(by_score, key=lambda e: e[0])]
    permuted = [list(itertools.permutations(group)) for group in groups]
    return [list(itertools.chain(*choice)) for choice in itertools.product(*permuted)]


def mean_over_orders(entries, ties, value):
    """Mean of a function of the ranked truth; NaN where there is nothing to rank."""
    if not entries:
        return math.nan
    results = [value([truth for _, truth, _ in order]) for order in orders(entries, ties)]
    return sum(results) / len(results)


def one_error(ranked):
    return 1.0 - ranked[0]


def ranking_loss(ranked):
    pairs = [(a, b) for a, b in itertools.combinations(ranked, 2) if a != b]
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else math.nan


def depth(ranked):
    return max((r for r, truth in enumerate(ranked, 1) if truth), default=math.nan)


def average_precision(ranked):
    precisions = [sum(ranked[:r]) / r for r, truth in enumerate(ranked, 1) if truth]
    return sum(precisions) / len(precisions) if precisions else math.nan


def threshold_average_precision(entries):
    """Precision among all entries that score at least as high as each relevant one."""
    precisions = []
    for score, truth, _ in entries:
        if truth:
            kept = [e[1] for e in entries if e[0] >= score]
            precisions.append(sum(kept) / len(kept))
    return sum(precisions) / len(precisions) if precisions else math.nan


def precision_at(k):
    return lambda ranked: sum(ranked[:k]) / min(k, len(ranked))


def ndcg_at(k):
    def gain(ranked):
        return sum(truth / math.log2(r + 1) for r, truth in enumerate(ranked[:k], 1))

    def value(ranked):
        best = gain(sorted(ranked, reverse=True))
        return gain(ranked) / best if best else math.nan

    return value


def auc(entries, ties):
    """Share of pairs in the right order, by looking at each pair."""
    right = total = 0.0
    for score, truth, position in entries:
        for other_score, other_truth, other_position in entries:
            if truth != 1 or other_truth != 0:
                continue
            total += 1
            if score == other_score:
                right += {
                    "half": 0.5,
                    "error": 0.0,
                    "correct": 1.0,
                    "first": float(position < other_position),
                    "last": float(position > other_position),
                }[ties]
            else:
                right += score > other_score
    return right / total if total else math.nan


def top_t_counts(rows, ties):
    """Pooled (false positives, true positives) when each row predicts its T best, T = 1, 2, ..."""
    counted = []
    for t in range(1, max(len(row) for row in rows) + 1):
        found = sum(mean_over_orders(row, ties, lambda r, t=t: sum(r[:t])) for row in rows if row)
        predicted = sum(min(t, len(row)) for row in rows)
        counted.append((predicted - found, found))
    return counted


def confusion(truth, predicted):
    """True positives and false positives over known entries, per row and per label."""
    n_samples, n_labels = truth.shape
    row = [[0, 0] for _ in range(n_samples)]
    label = [[0, 0] for _ in range(n_labels)]
    for i in range(n_samples):
        for j in range(n_labels):
            if not math.isnan(truth[i, j]) and predicted[i, j]:
                row[i][int(truth[i, j] == 0)] += 1
                label[j][int(truth[i, j] == 0)] += 1
    return row, label
