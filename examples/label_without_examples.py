"""A label that no row carries, predicted from the labels it occurs with."""

import numpy as np

from labelgap import MLLCS, CooccurrenceVote
from labelgap.generators import make_unseen
from labelgap.metrics import auc

# generated: 30 labels, of which 6 have no example; counts tell which labels come together
made = make_unseen(900, 20, 30, fraction_unseen=0.2, random_state=0)
train, test = np.arange(600), np.arange(600, 900)
labels = made.labels[train]
unseen = np.flatnonzero(labels.unseen)
print(labels)
print("labels without an example:", *unseen)

for model in (MLLCS(n_factors=8, random_state=0), CooccurrenceVote()):
    model.fit(made.X[train], labels, cooccurrence=made.cooccurrence)
    scores = model.decision_function(made.X[test])
    value = auc(made.full[test][:, unseen], scores[:, unseen], average="macro")
    print(f"{type(model).__name__}: AUC over the labels without examples {value:.2f}")
