"""Absent views: songs of which one of two analyses is missing."""

# data: emotions
# ruff: noqa: E402  (each part of the page imports what it uses)

# [table]
import numpy as np
import pandas as pd

from labelgap.data import load_dataset

data = load_dataset("emotions")
rng = np.random.default_rng(0)
timbre, rhythm = pd.DataFrame(data.X[:, :64]), pd.DataFrame(data.X[:, 64:])
coin = rng.random(len(timbre))
timbre[coin < 0.35] = np.nan  # nobody ran the analysis of the sound
rhythm[coin > 0.65] = np.nan  # nobody ran the analysis of the beat
print(pd.concat([timbre.iloc[:6, :3], rhythm.iloc[:6, :3]], axis=1).round(2).to_string())

# [views]
from labelgap.views import from_blocks, present

X, views = from_blocks({"timbre": timbre, "rhythm": rhythm})
there = present(X, views)
print(views)
print("songs with timbre, with rhythm:", *there.sum(axis=0), "with both:", there.all(axis=1).sum())

# [fit]
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelgap import IMVWL, BinaryRelevance, KernelRidgePerLabel, LabelPrior
from labelgap.metrics import evaluate
from labelgap.model_selection import train_test_split

both = there.all(axis=1)
X_train, X_test, Y_train, Y_test, complete, _ = train_test_split(
    X, data.Y, both, test_size=0.3, stratify=data.Y, random_state=0
)


def on_means(model):
    """Standardise; then a view that is absent is one with all values at their means."""
    return make_pipeline(StandardScaler(), SimpleImputer(), model)


subspace = IMVWL(views, 1.0, predictor="combined", scaling="range", C=0.25, random_state=0)
fitted = {
    "songs with both views only": on_means(KernelRidgePerLabel()).fit(
        X_train[complete], Y_train[complete]
    ),
    "means, logistic regression": on_means(BinaryRelevance()).fit(X_train, Y_train),
    "means, kernel ridge": on_means(KernelRidgePerLabel()).fit(X_train, Y_train),
    "IMVWL": subspace.fit(X_train, Y_train),
    "label frequency": on_means(LabelPrior()).fit(X_train, Y_train),
}
rows = {
    name: evaluate(
        Y_test,
        metrics=["label_ranking_average_precision", "auc_macro"],
        y_proba=model.predict_proba(X_test),
    )
    for name, model in fitted.items()
}
print(pd.DataFrame(rows).T.round(3).to_string())

# [worth]
there_test = present(X_test, views)
for name in ("means, kernel ridge", "IMVWL"):
    for seen, part in (("timbre", there_test[:, 0]), ("rhythm alone", ~there_test[:, 0])):
        scores = fitted[name].predict_proba(X_test[part])
        found = evaluate(Y_test[part], metrics=["label_ranking_average_precision"], y_proba=scores)
        print(f"{name}, songs with {seen}: {found['label_ranking_average_precision']:.3f}")

# [impute]
filled = subspace.impute_views(X)
for place, (name, columns) in enumerate(views.items()):
    gone, spread = ~there[:, place], np.nanstd(X[:, columns], axis=0)
    true, mean = data.X[gone][:, columns], np.nanmean(X[:, columns], axis=0)
    error, usual = (
        np.mean(((guess - true) / spread) ** 2) for guess in (filled[gone][:, columns], mean)
    )
    print(f"{name}: squared error {error:.1f} when filled in, {usual:.1f} with means")
