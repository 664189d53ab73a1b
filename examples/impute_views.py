"""Rows that lack a group of features: what the other views say of it."""

import numpy as np

from labelgap import IMVWL
from labelgap.generators import make_views
from labelgap.metrics import auc
from labelgap.views import present

# generated: three views of one hidden vector; views are absent, and so are labels
made = make_views(400, {"colour": 12, "shape": 20, "words": 15}, 8, n_factors=4, random_state=0)
there = present(made.X, made.views)
for name, fraction in zip(made.views, there.mean(axis=0), strict=True):
    print(f"{name}: {fraction:.0%} of the rows have it")

model = IMVWL(made.views, 4, predictor="combined", C=1.0, random_state=0)
model.fit(made.X, made.labels)
probabilities = model.predict_proba(made.X)
print(f"AUC of the unknown labels: {auc(made.hidden.truth, probabilities):.2f}")

imputed = model.impute_views(made.X)
for place, (name, columns) in enumerate(made.views.items()):
    gone, truth = ~there[:, place], made.hidden_views.blocks[name]
    error = np.mean((imputed[gone][:, columns] - truth) ** 2)
    mean = np.mean((np.nanmean(made.X[:, columns], axis=0) - truth) ** 2)
    print(f"{name}: squared error {error:.2f}, of the mean {mean:.2f}")
