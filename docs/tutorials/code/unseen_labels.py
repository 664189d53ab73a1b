"""Labels never seen in training: tags that came up after the publications had been tagged."""

# data: bibtex
# slow
# ruff: noqa: E402  (each part of the page imports what it uses)

# [table]
from textwrap import fill

import numpy as np

from labelgap.data import load_dataset

data = load_dataset("bibtex")
names = np.array([name.removeprefix("TAG_") for name in data.label_names])
Y = data.Y.with_names(names)
rng = np.random.default_rng(0)
ours, elsewhere = np.array_split(rng.permutation(data.train), 2)
new = np.sort(rng.permutation(len(names))[:20])
seen = np.setdiff1d(np.arange(len(names)), new)
print(fill(f"new: {' '.join(names[new])}", 90))

X, labels = data.X[ours], Y[ours][:, seen]  # our rows never heard of the new tags
print(labels)

# [counts]
from labelgap.cooccurrence import count_cooccurrence

lists = Y[elsewhere].to_tag_sets()  # tags of other publications; no features are needed
counts = count_cooccurrence(lists, seen=names[seen].tolist(), all_labels=names.tolist())
print(counts)
table = counts.dense()
for tag in ("software", "elearning", "logic"):
    with_it = table[:, names.tolist().index(tag)]
    best = np.argsort(-with_it, kind="stable")[:4]
    print(f"{tag} comes with", *(f"{names[seen][s]} ({with_it[s]:.0f})" for s in best))

# [fit]
from sklearn.linear_model import LogisticRegression

from labelgap import MLLCS, CooccurrenceVote

model = MLLCS(n_factors=60, random_state=0).fit(X, labels, cooccurrence=counts)
classifier = LogisticRegression(solver="liblinear", C=0.3)
vote = CooccurrenceVote(classifier).fit(X, labels, cooccurrence=counts)
print(model.predict_proba(data.X[data.test]).shape, model.seen_.sum(), "of them seen")

# [check]
from labelgap.metrics import auc, precision_at_k

X_test, Y_test = data.X[data.test], Y[data.test]


def columns(wanted):
    """The test labels in the order of the model."""
    return Y_test[:, [names.tolist().index(name) for name in wanted]]


truth = columns(model.classes_[~model.seen_])
print("test rows with a new tag:", (truth.n_positives(axis=1) > 0).sum(), "of", len(truth))
for name, fitted in (("ML-LCS", model), ("vote", vote)):
    scores = fitted.decision_function(X_test, labels="unseen")
    first = precision_at_k(truth, scores, k=1, empty="drop")
    print(f"{name}: the new tag it puts first is right {first:.2f} of the time", end="; ")
    print(f"AUC {auc(truth, scores, average='macro'):.3f}")

# [each]
per_label = auc(
    truth, model.decision_function(X_test, labels="unseen"), average="macro", reduce=False
)
order = np.argsort(-per_label)
unseen = model.classes_[~model.seen_]
print("best:", *(f"{unseen[j]} {per_label[j]:.2f}" for j in order[:4]))
print("worst:", *(f"{unseen[j]} {per_label[j]:.2f}" for j in order[-4:]))

# [fold]
from copy import deepcopy

tag = "software"
column, place = names.tolist().index(tag), list(model.classes_).index(tag)
for n_samples in (0, 200, len(ours)):
    looked_at, later = ours[:n_samples], deepcopy(model)
    carried = Y[looked_at].to_dense()[:, column]
    if n_samples:
        later.fold_in(data.X[looked_at], carried, tag)
    value = auc(columns([tag]), later.decision_function(X_test)[:, [place]], average="micro")
    print(f"{tag}: AUC {value:.3f} with {n_samples} rows, {carried.sum():.0f} of which carry it")
