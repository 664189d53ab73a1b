"""Rows that lack a group of features: what the other groups say of it."""

import numpy as np

from labelgap import IMVWL
from labelgap.generators import make_views
from labelgap.metrics import auc
from labelgap.views import present

# generated: three views of one hidden vector; views are absent, and so are labels
made = make_views(400, {"colour": 12, "shape": 20, "words": 15}, 8, n_factors=4, random_state=0)
there = present(made.X, made.groups)
for name, share in zip(made.groups, there.mean(axis=0), strict=True):
    print(f"{name}: {share:.0%} of the rows have it")

model = IMVWL(made.groups, 4, predictor="combined", penalty=1.0, random_state=0)
model.fit(made.X, made.labels)
chances = model.predict_proba(made.X)
print(f"AUC of the labels that nobody looked at: {auc(made.hidden.truth, chances):.2f}")

filled = model.impute_views(made.X)
for place, (name, columns) in enumerate(made.groups.items()):
    gone, truth = ~there[:, place], made.hidden_views.blocks[name]
    error = np.mean((filled[gone][:, columns] - truth) ** 2)
    mean = np.mean((np.nanmean(made.X[:, columns], axis=0) - truth) ** 2)
    print(f"{name}: squared error {error:.2f}, of the mean {mean:.2f}")
