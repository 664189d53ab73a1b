"""Tables that do not fit in memory: written in parts, then audited, learned from and predicted."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [make]
import tempfile

import numpy as np

from labelgap.fitting import write_blocks
from labelgap.labels import as_labels


def parts():
    """Some thousand rows at a time, from wherever they come."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 20))
        truth = X[:, :8] + 0.5 * rng.normal(size=(500, 8)) > 1
        yield X, as_labels(truth & (rng.random(truth.shape) < 0.7), zeros="unlabeled")


folder = tempfile.mkdtemp() + "/rows"
blocks = write_blocks(folder, parts(), block_rows=600)
print(len(blocks), "blocks of", blocks.n_samples, "rows")

# [audit]
from labelgap import audit

found = audit(folder, n_suggestions=100)
print(len(found.suggestions), "suggestions; the first has", found.suggestions[0].item)

# [learn]
from labelgap import BinaryRelevance

model = BinaryRelevance().fit(folder)
labels, probabilities = model.predict_topk(folder, k=2)
print(labels.shape, labels[0], probabilities[0].round(2))

# [impute]
from labelgap import impute

rows, columns, _ = impute(folder, zeros="unlabeled")
print(rows.size, "labels made relevant")
