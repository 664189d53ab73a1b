"""Tags that no training row carries, known by how often they occur with others elsewhere."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [data]
import numpy as np

from labelgap import Labels
from labelgap.cooccurrence import count_cooccurrence

themes = {
    "cooking": ["recipe", "bread", "soup", "kitchen", "spices"],
    "travel": ["train", "hotel", "map", "border", "ferry"],
    "code": ["python", "linux", "compiler", "database", "parser"],
    "music": ["guitar", "concert", "score", "radio", "choir"],
}
tags = sorted(set().union(*themes.values()))
rng = np.random.default_rng(0)


def draw(n_samples):
    """Features of some items, and their tags."""
    X = rng.normal(size=(n_samples, 8))
    log_odds = np.full((n_samples, len(tags)), -3.5)
    for place, members in enumerate(themes.values()):
        columns = [tags.index(tag) for tag in members]
        log_odds[:, columns] += 2.5 * X[:, [place]] + [1.5, 1.0, 0.5, 0.0, 0.0]
    return X, (rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))).astype(float)


X, Y = draw(600)
X_test, Y_test = draw(400)
new = ["bread", "ferry", "parser", "choir", "spices"]
seen = [tag for tag in tags if tag not in new]
labels = Labels.from_dense(Y, names=tags)[:, [tags.index(tag) for tag in seen]]
corpus = Labels.from_dense(draw(2000)[1], names=tags).to_tag_sets()  # tags alone, no features
counts = count_cooccurrence(corpus, seen=seen, all_labels=tags)
print(labels)
print(counts)

# [fit]
from labelgap import MLLCS

model = MLLCS(n_factors=6, random_state=0).fit(X, labels, cooccurrence=counts)
print(*model.classes_[~model.seen_])
print(model.predict_proba(X_test).shape, model.predict_proba(X_test, labels="unseen").shape)

# [score]
from labelgap.baselines import CooccurrenceVote
from labelgap.metrics import auc

truth = Labels.from_dense(Y_test, names=tags)[:, [tags.index(tag) for tag in model.classes_]]
unseen = truth[:, ~model.seen_]
vote = CooccurrenceVote().fit(X, labels, cooccurrence=counts)
for name, fitted in (("ML-LCS", model), ("vote", vote)):
    value = auc(unseen, fitted.decision_function(X_test, labels="unseen"), average="micro")
    print(f"{name}: AUC over unseen labels {value:.3f}")

# [interval]
interval = model.predict_interval(X_test, level=0.9)
width = (interval.upper - interval.lower).mean(axis=0)
print(f"width of 90% intervals: seen {width[model.seen_].mean():.2f}", end=", ")
print(f"unseen {width[~model.seen_].mean():.2f}")

# [add]
choir = counts.dense()[:, tags.index("choir")]
model.add_labels(choir // 2, names=["opera"])  # with the same tags as choir, half as often
mean = dict(zip(model.classes_, model.predict_proba(X_test).mean(axis=0), strict=True))
print(f"mean probability of choir {mean['choir']:.2f}, of opera {mean['opera']:.2f}")

# [fold]
column, known = list(model.classes_).index("bread"), np.arange(150)
for when in ("before", "after"):
    score = auc(truth[:, [column]], model.decision_function(X_test)[:, [column]], average="micro")
    print(f"bread: AUC {when} {known.size} rows became known {score:.3f}")
    model.fold_in(X[known], Y[known, tags.index("bread")], "bread")
