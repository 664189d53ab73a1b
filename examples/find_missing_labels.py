"""Which labels are missing? An audit of photographs of whose labels some were deleted."""

# data: scene or generated

import matplotlib.pyplot as plt
import numpy as np

from labelgap import Labels
from labelgap.audit import audit
from labelgap.data import DatasetUnavailableError, load_dataset
from labelgap.generators import make_low_rank
from labelgap.protocols import hide_positives

try:
    data = load_dataset("scene", fetch=False)
    X, truth = data.X, data.Y
except DatasetUnavailableError:
    print("scene is not on this machine; these data are generated")
    made = make_low_rank(600, 40, 6, share_hidden=0.0, random_state=0)
    X, truth = made.X, made.full.with_names([f"label {j}" for j in range(6)])

hidden = hide_positives(truth, 0.4, random_state=0)
recorded = Labels.from_sparse(hidden.labels.positives(), names=truth.names)
found = audit(X, recorded)
print("the audit says:", found.summary.gaps)
print(f"share of the labels that is recorded: {found.summary.recorded.value:.2f}, really 0.60")

names, was_there = list(truth.names), truth.positives().toarray()
right = np.array([was_there[int(one.item), names.index(one.label)] for one in found.suggestions])
promised = np.array([one.probability for one in found.suggestions])
print(f"right among the first 100 suggestions: {right[:100].mean():.2f}")

looked_at = np.arange(1, len(right) + 1)
n_zeros = was_there.size - recorded.n_positives()
figure, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(looked_at, right.cumsum(), label="missing labels found")
ax.plot(looked_at, promised.cumsum(), "--", label="as promised by the chances")
ax.plot(looked_at, looked_at * hidden.n_hidden / n_zeros, ":", label="zeros in any order")
ax.set(xlabel="suggestions looked at", ylabel="labels")
ax.legend(frameon=False)
plt.show()
