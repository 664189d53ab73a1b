"""Figures on real data that a change of the baseline must not lower."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from labelgap.baselines import BinaryRelevance
from labelgap.data import load_dataset
from labelgap.metrics import auc, get_scorer, precision_at_k
from labelgap.protocols import reveal

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bibtex(data_dir):
    return load_dataset("bibtex")


def test_complete_labels(bibtex):
    model = BinaryRelevance(LogisticRegression(solver="liblinear", C=0.1))
    model.fit(bibtex.X[bibtex.train], bibtex.Y[bibtex.train])
    scores, truth = model.decision_function(bibtex.X[bibtex.test]), bibtex.Y[bibtex.test]
    assert auc(truth, scores, average="instance") >= 0.94
    assert precision_at_k(truth, scores, k=1) >= 0.62


def test_a_fifth_of_the_labels_after_tuning(bibtex):
    """C and the normalisation of rows are chosen on observed entries of training rows only."""
    observed = reveal(bibtex.Y[bibtex.train], 0.2, random_state=0).labels
    logistic = LogisticRegression(solver="liblinear")
    search = GridSearchCV(
        Pipeline([("rows", "passthrough"), ("model", BinaryRelevance(logistic))]),
        {"rows": ["passthrough", Normalizer()], "model__estimator__C": [1.0, 10.0, 30.0]},
        scoring=get_scorer("auc_micro"),
        cv=KFold(2, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(bibtex.X[bibtex.train], observed)
    scores = search.decision_function(bibtex.X[bibtex.test])
    assert auc(bibtex.Y[bibtex.test], scores, average="micro") >= 0.90
