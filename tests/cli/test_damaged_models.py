"""A model file that was altered, by accident or on purpose, is refused before it is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from labelgap.cli._loaded_parts import make_sound
from labelgap.cli._models import load_model
from labelgap.cli._terminal import BadInputError

pytest.importorskip("skops.io")


def test_a_damaged_model_is_refused(items, model):
    whole, rng = model.read_bytes(), np.random.default_rng(0)
    expected = load_model(model).estimator.predict_proba(np.ones((1, 2)))
    for place in rng.choice(len(whole), 40, replace=False):
        Path("bad.model").write_bytes(
            whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :]
        )
        try:
            found = load_model(Path("bad.model")).estimator.predict_proba(np.ones((1, 2)))
        except BadInputError:
            continue
        else:
            # a byte that says nothing, such as a date
            np.testing.assert_array_equal(found, expected)
    Path("bad.model").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInputError, match="not a model of labelgap, or is damaged"):
        load_model(Path("bad.model"))


def test_parts_that_compiled_code_would_follow_out_of_bounds_are_refused(run, items):
    X = np.random.default_rng(0).normal(size=(50, 3))
    matrix = sparse.csr_array(np.eye(3))
    make_sound({"matrix": matrix})
    matrix.indices = np.array([0, 1, 10**6], dtype=np.int32)
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        make_sound({"matrix": [matrix]})
    tree = DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] > 0)
    make_sound(tree)
    state = tree.tree_.__getstate__()
    state["nodes"]["left_child"][0] = 10**6
    tree.tree_.__setstate__(state)
    with pytest.raises(ValueError, match="a tree of the model is damaged"):
        make_sound(tree)
    with pytest.raises(ValueError, match="holds a SVC"):
        make_sound(SVC().fit(X, X[:, 0] > 0))
    for algorithm in ("kd_tree", "ball_tree"):
        neighbors = NearestNeighbors(algorithm=algorithm).fit(X)
        before, old = neighbors.kneighbors(X), neighbors._tree
        make_sound((neighbors,))
        assert neighbors._tree is not old
        np.testing.assert_array_equal(neighbors.kneighbors(X), before)
