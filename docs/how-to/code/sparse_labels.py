"""Sparse labels with a sparse mask of what was looked at."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [make]
import numpy as np
from scipy import sparse

from labelgap import Labels
from labelgap.generators import make_topics

drawn = make_topics(1500, 20, 300, n_topics=6, signal=3.0, random_state=0)
X, truth = drawn.X, drawn.full.positives()
observed = sparse.random_array(truth.shape, density=0.2, format="csr", rng=1) > 0
positives = truth * observed

Y = Labels.from_sparse(positives, observed=observed)
print(Y)
print("stored:", Y.entries.nnz, "entries; what is not stored is", Y.implicit.name)

# [meaning]
print(Labels.from_sparse(positives))
print(Labels.from_sparse(positives, zeros="unlabeled"))

# [fold]
from labelgap.baselines import KNeighborsLabels, LabelPrior
from labelgap.model_selection import cross_validate

for model in (KNeighborsLabels(50), LabelPrior()):
    result = cross_validate(model, X, Y, cv=3, scoring="auc_micro")
    print(f"{type(model).__name__:<17} micro AUC {np.mean(result['test_score']):.3f}")

# [back]
ones, mask = Y.to_sparse()
print("differences:", (ones != positives).nnz, (mask != observed).nnz)
