"""Labels with gaps, their completion, and new rows."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [data]
import numpy as np

from labelgap import Labels
from labelgap.protocols import hide_per_row

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 10))
themes = np.tanh(X @ rng.normal(size=(10, 4))) + 0.5 * rng.normal(size=(900, 4))
full = Labels.from_dense((themes @ rng.normal(size=(4, 20)) > 0.5).astype(float))
train, test = np.arange(600), np.arange(600, 900)
Y = hide_per_row(full[train], 0.6, random_state=0).labels
print(Y)

# [fit]
from labelgap import RMFL, KernelRidgePerLabel, metrics

model = RMFL(random_state=0).fit(X[train], Y)
ridge = KernelRidgePerLabel().fit(X[train], Y)
print(f"{model.trace_.outcome} after {model.n_iter_} iterations")
for one in (model, ridge):
    score = metrics.label_ranking_average_precision(full[test], one.decision_function(X[test]))
    print(f"{type(one).__name__:20} average precision on new rows {score:.3f}")

# [complete]
hidden = np.isnan(Y.to_dense())
truth = full[train].to_dense()
scores = {
    "impute": model.impute(Y),
    "features alone": model.decision_function(X[train]),
    "ridge": ridge.decision_function(X[train]),
}
for name, score in scores.items():
    right = np.mean((score[hidden] > 0) == (truth[hidden] == 1))
    print(f"{name:15} right about {right:.3f} of the hidden entries")

# [search]
from labelgap import RMFLCV

search = RMFLCV(RMFL(tol=1e-4, random_state=0), cv=3, random_state=0).fit(X[train], Y)
print(f"{len(search.cv_results_['params'])} of 432 combinations tried")
print(search.best_params_)
score = metrics.label_ranking_average_precision(full[test], search.decision_function(X[test]))
print(f"average precision on new rows {score:.3f}")
