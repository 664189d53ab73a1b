"""Which labels are missing: an audit of a table whose gaps are known."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [table]
import numpy as np

from labelgap import Labels

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 6))
spicy, warm, sweet = X[:, 0] > 0.5, X[:, 0] + X[:, 1] > 0.8, X[:, 2] > 0.6
complete = np.column_stack([spicy, warm, sweet, spicy & warm])
recorded = complete & (rng.random(complete.shape) < 0.7)  # 30% are missing
Y = Labels.from_dense(recorded.astype(float), names=["spicy", "warm", "sweet", "curry"])

# [audit]
from labelgap import audit

found = audit(X, Y, item_ids=[f"dish {k}" for k in range(1500)])
print(found.summary.gaps)
print(f"about {found.summary.label_frequency.value:.1f} of the labels are recorded")
print("missing:", (complete & ~recorded).sum(), "labels")

# [suggestions]
places = [
    (int(one.item.split()[1]), ["spicy", "warm", "sweet", "curry"].index(one.label))
    for one in found.suggestions[:300]
]
right = np.mean([complete[place] for place in places])
print(f"more than 9 of 10 of the first 300 are right: {right > 0.9}")
helped = next(one for one in found.suggestions if one.evidence.cooccurring)
print([other.label for other in helped.evidence.cooccurring][:1])

# [json]
from labelgap import Audit

assert Audit.from_json(found.to_json()) == found

# [clean]
