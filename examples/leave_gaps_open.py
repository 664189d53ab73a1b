"""What it costs to replace unknown entries by zeros."""

# data: emotions or generated

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelgap import BinaryRelevance
from labelgap.data import DatasetUnavailableError, load_dataset
from labelgap.generators import make_low_rank
from labelgap.metrics import f1
from labelgap.protocols import hide_entries

try:
    data = load_dataset("emotions", fetch=False)
    X, Y, train, test = data.X, data.Y, data.train, data.test
except DatasetUnavailableError:
    print("emotions is not on this machine; these data are generated")
    made = make_low_rank(600, 40, 6, fraction_hidden=0.0, random_state=0)
    X, Y, train, test = made.X, made.full, np.arange(400), np.arange(400, 600)

X = StandardScaler().fit_transform(X)
model = BinaryRelevance(LogisticRegression(C=0.1))
fractions = [0.0, 0.2, 0.4, 0.6, 0.8]
scores = {"unknown entries left out": [], "unknown entries as zeros": []}
for fraction in fractions:
    gaps = hide_entries(Y[train], fraction, random_state=0).labels
    for name, labels in zip(scores, (gaps, np.nan_to_num(gaps.to_dense())), strict=True):
        scores[name].append(f1(Y[test], model.fit(X[train], labels).predict(X[test])))

figure, ax = plt.subplots(figsize=(6, 3.4))
for (name, values), style in zip(scores.items(), ("o-", "s--"), strict=True):
    print(f"{name:<24}", *(f"{value:.3f}" for value in values))
    ax.plot(fractions, values, style, label=name)
ax.set(xlabel="fraction of unknown entries", ylabel="F1 on complete test rows")
ax.legend(frameon=False)
plt.show()
