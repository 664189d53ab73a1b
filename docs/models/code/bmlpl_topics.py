"""Topics over tags, learned from the positives and predicted from features."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [data]
import numpy as np

from labelgap import Labels

themes = {
    "cooking": ["recipe", "bread", "soup", "kitchen", "spices"],
    "travel": ["train", "hotel", "map", "border", "spices"],
    "code": ["python", "linux", "compiler", "database", "map"],
    "music": ["guitar", "concert", "score", "radio", "choir"],
}
tags = sorted(set().union(*themes.values()))
rng = np.random.default_rng(0)
n_samples = 1200
X = rng.normal(size=(n_samples, 8))
weight = rng.gamma(0.5, 2 * np.exp(1.5 * X[:, :4] - 1.5))  # of the four themes in each row
counts = np.zeros((n_samples, len(tags)))
for theme, members in enumerate(themes.values()):
    columns = [tags.index(tag) for tag in members]
    counts[:, columns] += rng.poisson(weight[:, [theme]] * [0.4, 0.25, 0.15, 0.1, 0.1])
labels = Labels.from_dense((counts > 0).astype(float), names=tags)
train, test = np.arange(800), np.arange(800, n_samples)
print(labels)

# [fit]
from labelgap import BMLPL

model = BMLPL(n_factors=4, random_state=0).fit(X[train], labels[train])
print(model.trace_.outcome)
print(f"largest drop of the objective: {max(model.trace_.largest_drop(), 0):.9f} of its size")

# [topics]
for topic in model.topics_[:4]:
    print(f"{topic.fraction:.2f}", *topic.labels[:5])
coherence = model.topic_coherence(labels[test], n_labels=3)
print(f"mean coherence of the strongest three on other rows: {np.nanmean(coherence):.2f}")

# [predict]
from labelgap.metrics import auc

probabilities = model.predict_proba(X[test])
best, their_probabilities = model.predict_topk(X[test], k=3)
print(*best[0], *(f"{p:.2f}" for p in their_probabilities[0]))
print(f"micro AUC {auc(labels[test], probabilities, average='micro'):.3f}")
fraction = labels[test].n_positives() / probabilities.size
print(f"fraction of positives {fraction:.3f}, mean probability {probabilities.mean():.3f}")
print("topic weights:", model.transform(X[test]).shape)

# [unknown]
looked_at = np.where(np.arange(len(tags)) % 2, 0.8, 0.1)  # fraction of the rows, per tag
unseen = np.nonzero(rng.random((train.size, len(tags))) > looked_at)
hidden = labels[train].hide(*unseen)
print(hidden)
for unknown in ("negative", "ignore"):
    part = BMLPL(n_factors=4, unknown=unknown, random_state=0).fit(X[train], hidden)
    guess = part.predict_proba(X[test])
    print(
        f"unknown={unknown!r}: micro AUC {auc(labels[test], guess, average='micro'):.3f}, "
        f"mean probability {guess.mean():.3f}"
    )

# [online]
stream = BMLPL(n_factors=4, random_state=0)
for start in range(0, 800, 200):
    rows = slice(start, start + 200)
    stream.partial_fit(X[rows], labels[rows], total_rows=800)
print(f"micro AUC {auc(labels[test], stream.predict_proba(X[test]), average='micro'):.3f}")
