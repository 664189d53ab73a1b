"""Tags without negatives: publications of whose tags many are missing."""

# data: bibtex
# slow
# ruff: noqa: E402  (each part of the page imports what it uses)

# [table]
import numpy as np

from labelgap.data import load_dataset
from labelgap.protocols import hide_positives

data = load_dataset("bibtex")
names = np.array([name.removeprefix("TAG_") for name in data.label_names])
frequent = np.sort(np.argsort(-data.Y.n_positives(axis=0))[:40])
complete = data.Y.with_names(names)[:, frequent]
X, truth = data.X[data.train], complete[data.train]
X_test, Y_test = data.X[data.test], complete[data.test]

hidden = hide_positives(truth, 0.4, random_state=0)  # 40% of the tags become zeros
for tags in hidden.labels.to_tag_sets()[:6]:
    print(sorted(tags))

# [labels]
from labelgap import Labels

ones = hidden.labels.positives()  # a sparse matrix, as one has it
negative = Labels.from_sparse(ones, names=truth.names)
unlabeled = Labels.from_sparse(ones, names=truth.names, zeros="unlabeled")
print(negative)
print(unlabeled)

# [audit]
from textwrap import fill

from labelgap import audit

found = audit(X, negative, feature_names=list(data.feature_names))
print(fill(found.summary.gaps_in_words, 90))
print(fill(found.summary.sentences[0], 90))
print("really missing:", hidden.n_hidden)

# [suggestions]
column = {name: j for j, name in enumerate(truth.names)}
was_there = truth.positives().toarray()
right = [was_there[int(entry.item), column[entry.label]] for entry in found.suggestions]
for first in (100, 500, 1000):
    print(f"of the first {first} suggestions {np.mean(right[:first]):.0%} are right")
example = found.suggestions[300]
print(f"for instance item {example.item}: {example.label} ({example.probability:.0%})")
print("  it has the tags", [other.label for other in example.evidence.cooccurring])
print("  and the words", [part.feature for part in example.evidence.features])

# [mend]
import pandas as pd
from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance, Mend
from labelgap.metrics import evaluate

classifier = LogisticRegression(solver="liblinear")
models = {
    "zeros negative": BinaryRelevance(classifier).fit(X, negative),
    "Mend, zeros unlabeled": Mend(classifier).fit(X, unlabeled),
    "complete labels": BinaryRelevance(classifier).fit(X, truth),
}
rows = {}
for name, model in models.items():
    probabilities, decided = model.predict_proba(X_test), model.predict(X_test)
    rows[name] = evaluate(
        Y_test,
        metrics=["label_ranking_average_precision", "f1_macro"],
        y_proba=probabilities,
        y_pred=decided,
    )
    rows[name]["tags expected"] = round(float(probabilities.sum()))
print(pd.DataFrame(rows).T.round(3).astype({"tags expected": int}).to_string())
print("tags on the test rows:", Y_test.n_positives())

# [check]
mend = models["Mend, zeros unlabeled"]
print(mend.unopened_items_.size, "items without tags look as if nobody had opened them")
print(f"fraction of the tags that is recorded in the others: {mend.label_frequency_:.2f}")
print("labels for which imputed tags are used:", mend.validation_.used_for.sum(), "of 40")
