"""Any classifier, trained on imputed labels: a zero may be a missing label."""

# data: emotions or generated

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from labelgap import BinaryRelevance, Mend
from labelgap.data import DatasetUnavailableError, load_dataset
from labelgap.generators import make_low_rank
from labelgap.metrics import f1
from labelgap.protocols import hide_positives

try:
    data = load_dataset("emotions", fetch=False)
    X, Y, train, test = data.X, data.Y, data.train, data.test
except DatasetUnavailableError:
    print("emotions is not on this machine; these data are generated")
    made = make_low_rank(600, 40, 6, fraction_hidden=0.0, random_state=0)
    X, Y, train, test = made.X, made.full, np.arange(400), np.arange(400, 600)

X = StandardScaler().fit(X[train]).transform(X)
recorded = hide_positives(Y[train], 0.5, random_state=0).labels
print(recorded)

for classifier in (LogisticRegression(C=0.1), GaussianNB()):
    models = {
        "zeros negative": BinaryRelevance(classifier).fit(X[train], recorded),
        "Mend": Mend(classifier, random_state=0).fit(X[train], recorded),
        "complete labels": BinaryRelevance(classifier).fit(X[train], Y[train]),
    }
    print(type(classifier).__name__)
    for name, model in models.items():
        expected = model.predict_proba(X[test]).sum() / Y[test].n_positives()
        print(f"  {name:<18} F1 {f1(Y[test], model.predict(X[test])):.2f},", end=" ")
        print(f"{expected:.2f} labels expected for each that is there")
