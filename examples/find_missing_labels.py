"""Which labels are missing? An audit of photographs of whose labels some were deleted."""

# data: scene or generated

import matplotlib.pyplot as plt
import numpy as np

from labelgap import Labels, audit
from labelgap.data import DatasetUnavailableError, load_dataset
from labelgap.generators import make_low_rank
from labelgap.protocols import hide_positives

try:
    data = load_dataset("scene", fetch=False)
    X, truth = data.X, data.Y
except DatasetUnavailableError:
    print("scene is not on this machine; these data are generated")
    made = make_low_rank(600, 40, 6, fraction_hidden=0.0, random_state=0)
    X, truth = made.X, made.full.with_names([f"label {j}" for j in range(6)])

hidden = hide_positives(truth, 0.4, random_state=0)
recorded = Labels.from_sparse(hidden.labels.positives(), names=truth.names)
found = audit(X, recorded)
print("the audit says:", found.summary.gaps)
print(f"label frequency: {found.summary.label_frequency.value:.2f}, really 0.60")

names, was_there = list(truth.names), truth.positives().toarray()
right = np.array(
    [was_there[int(entry.item), names.index(entry.label)] for entry in found.suggestions]
)
predicted = np.array([entry.probability for entry in found.suggestions])
print(f"right among the first 100 suggestions: {right[:100].mean():.2f}")

reviewed = np.arange(1, len(right) + 1)
n_zeros = was_there.size - recorded.n_positives()
figure, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(reviewed, right.cumsum(), label="missing labels found")
ax.plot(reviewed, predicted.cumsum(), "--", label="as the probabilities predict")
ax.plot(reviewed, reviewed * hidden.n_hidden / n_zeros, ":", label="zeros in any order")
ax.set(xlabel="suggestions reviewed", ylabel="labels")
ax.legend(frameon=False)
plt.show()
