"""Vectors of classes are labels too, and come back as what they were."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from labelgap import BinaryRelevance, Labels
from labelgap.targets import read_target


def _as_probabilities(labels: Labels) -> np.ndarray:
    return 0.1 + 0.8 * labels.to_dense()


@pytest.mark.parametrize(
    ("y", "kind", "n_labels"),
    [
        ([0, 1, 1, 0], "binary", 1),
        (["no", "yes", "no"], "binary", 1),
        (np.array([-1.0, 1.0, 1.0]), "binary", 1),
        (pd.Series([True, False]), "binary", 1),
        ([3, 1, 2, 3], "multiclass", 3),
        (np.array(["c", "a", "b"], dtype=object), "multiclass", 3),
    ],
)
def test_classes_round_trip(y, kind, n_labels):
    labels, target = read_target(y)
    assert target.kind == kind
    assert labels.shape == (len(y), n_labels)
    assert not labels.has_gaps
    assert target.classes.tolist() == sorted(set(np.asarray(y).tolist()))
    assert target.decide(_as_probabilities(labels)).tolist() == list(y)


def test_each_row_of_classes_has_one_label():
    labels, _ = read_target(["b", "a", "c", "a"])
    assert labels.positives().toarray().tolist() == [
        [False, True, False],
        [True, False, False],
        [False, False, True],
        [True, False, False],
    ]


@pytest.mark.parametrize(
    "y",
    [
        np.array([[1, 0], [0, 1]]),
        [[1, 0], [0, 1]],
        sparse.csr_array([[1, 0], [0, 1]]),
        Labels.from_dense([[1, 0], [0, 1]]),
        pd.DataFrame({0: [1, 0], 1: [0, 1]}),
    ],
)
def test_label_matrices(y):
    labels, target = read_target(y)
    assert target.kind == "multilabel"
    assert target.classes.tolist() == [0, 1]
    probabilities = _as_probabilities(labels)
    np.testing.assert_array_equal(target.decide(probabilities), [[1, 0], [0, 1]])
    assert target.probabilities(probabilities) is probabilities
    assert target.scores(probabilities) is probabilities


def test_names_become_classes():
    _, target = read_target(pd.DataFrame({"cat": [1, 0], "dog": [None, 1]}))
    assert target.classes.tolist() == ["cat", "dog"]


def test_a_label_with_gaps_is_a_matrix_with_one_column():
    labels, target = read_target(np.array([[1.0], [np.nan], [0.0]]))
    assert (target.kind, labels.n_observed()) == ("multilabel", 2)


def test_shapes_of_scores_and_probabilities():
    _, binary = read_target([0, 1])
    assert binary.scores(np.array([[0.2], [0.7]])).tolist() == [0.2, 0.7]
    np.testing.assert_allclose(binary.probabilities(np.array([[0.2]])), [[0.8, 0.2]])
    _, classes = read_target([0, 1, 2])
    np.testing.assert_allclose(
        classes.probabilities(np.array([[0.2, 0.2, 0.4], [0.0, 0.0, 0.0]])),
        [[0.25, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3]],
    )


@pytest.mark.parametrize(
    ("y", "n_samples", "message"),
    [
        ([1.0, np.nan, 0.0], None, r"Input y contains NaN.*y.reshape\(-1, 1\)"),
        ([1.0, np.inf, 0.0], None, "Input y contains infinity"),
        ([1, 0], 3, "X has 3 rows, y has 2"),
        (np.eye(2), 3, "X has 3 rows, y has 2"),
        ([1, 1], None, "only one class, .*1"),
        ([0.3, 0.7, 1.1], None, "continuous"),
        (None, None, "requires y"),
        (np.empty((3, 0)), None, "y has no labels"),
    ],
)
def test_errors(y, n_samples, message):
    with pytest.raises(ValueError, match=message):
        read_target(y, n_samples=n_samples)


def test_a_base_classifier_that_answers_nan_is_not_passed_on():
    X, Y = np.ones((12, 2)), np.tile([[1.0, 0], [0, 1]], (6, 1))
    model = BinaryRelevance(GaussianNB())
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
        for ask in (model.predict_proba, model.predict, model.decision_function):
            with pytest.raises(ValueError, match=r"of label 0 in row 0 of X is NaN.*scale X"):
                ask(X)
