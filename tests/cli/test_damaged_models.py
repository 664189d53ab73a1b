"""A model file that was altered, by accident or on purpose, is refused before it is used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from labelgap import GradientBoostingLabels
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


@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize(
    ("array", "wrong"),
    [
        ("left_children", 10**6),
        ("left_children", 0),
        ("right_children", 10**6),
        ("split_indices", 10**6),
        ("split_type", 1),
        ("parents", 10**6),
    ],
)
def test_boosted_trees_that_lead_out_of_bounds_are_refused(n_labels, array, wrong):
    model, document, X = _boosted(n_labels)
    before = model.predict_proba(X)
    make_sound({"model": model, "unfitted": GradientBoostingLabels()})
    del model.booster_
    np.testing.assert_array_equal(model.predict_proba(X), before)
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree[array][0 if array != "parents" else 1] = wrong
    model._booster_json = json.dumps(document).encode()
    with pytest.raises(ValueError, match="a tree of the model is damaged"):
        make_sound([model])


def test_boosted_leaves_out_of_bounds_are_refused():
    model, document, _ = _boosted(2)
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["right_children"][tree["left_children"].index(-1)] = 10**6
    model._booster_json = json.dumps(document).encode()
    with pytest.raises(ValueError, match="a tree of the model is damaged"):
        make_sound(model)


def _boosted(n_labels):
    pytest.importorskip("xgboost")
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = GradientBoostingLabels(3).fit(X, (X[:, :n_labels] > 0).astype(float))
    return model, json.loads(model._booster_json), X


@pytest.mark.parametrize("n_labels", [1, 20])
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_sound_boosted_trees_are_kept(n_labels, scale):
    pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X, Y = scale * rng.normal(size=(60, 3)), (rng.random((60, n_labels)) > 0.5).astype(float)
    model = GradientBoostingLabels(3).fit(X, Y)
    before = model.predict_proba(X)
    make_sound(model)
    del model.booster_
    np.testing.assert_array_equal(model.predict_proba(X), before)
