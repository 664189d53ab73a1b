"""Impute empty label cells by probabilities, and see whether these can be trusted."""

# data: emotions or generated

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from labelgap import KernelRidgePerLabel
from labelgap.data import DatasetUnavailableError, load_dataset
from labelgap.generators import make_low_rank
from labelgap.metrics import auc
from labelgap.plots import plot_calibration
from labelgap.protocols import hide_entries

try:
    data = load_dataset("emotions", fetch=False)
    X, truth = data.X, data.Y
except DatasetUnavailableError:
    print("emotions is not on this machine; these data are generated")
    made = make_low_rank(600, 40, 6, fraction_hidden=0.0, random_state=0)
    X, truth = made.X, made.full.with_names([f"mood {j}" for j in range(6)])

X = StandardScaler().fit_transform(X)
hidden = hide_entries(truth, 0.4, random_state=0)
frame = hidden.labels.to_frame().astype("Float64")
print(frame.head(4).to_string(na_rep="?"))

probabilities = KernelRidgePerLabel().fit(X, hidden.labels).predict_proba(X)
print(frame.mask(frame.isna(), probabilities.astype(object)).head(4).round(2).to_string())
print(f"AUC of what was hidden: {auc(hidden.truth, probabilities, average='micro'):.2f}")

plot_calibration(hidden.truth, probabilities)
plt.show()
