"""What a model file made, looked through before it is used: arrays that compiled code follows.

No type of a model file can run code of its own, but a tree whose child lies outside of it, or an
index outside of a matrix, would crash whoever predicts with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm._base import BaseLibSVM
from sklearn.tree._tree import Tree

from labelgap.baselines import GradientBoostingLabels
from labelgap.kernels.input_arrays import check_indices

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, np.generic, np.dtype)


def make_sound(loaded: Any) -> None:
    """Check trees and indices in everything that was loaded; search trees are grown again."""
    for part in _parts(loaded):
        if sparse.issparse(part):
            _check_sparse(part)
        elif isinstance(part, Tree):
            _check_tree(part)
        elif isinstance(part, GradientBoostingLabels):
            _check_boosted(part)
        elif isinstance(part, BaseLibSVM):
            raise ValueError(f"it holds a {type(part).__name__}, which no model of labelgap has")
        elif getattr(part, "_tree", None) is not None and hasattr(part, "_fit_X"):
            old = part._tree
            part._tree = type(old)(
                np.array(part._fit_X, dtype=np.float64),
                part.leaf_size,
                metric=part.effective_metric_,
                **part.effective_metric_params_,
            )


def _parts(root: Any) -> Iterator[Any]:
    """Every object that can be reached, each once."""
    waiting, seen = [root], set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, _PLAIN) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif not sparse.issparse(part):
            waiting += vars(part).values() if hasattr(part, "__dict__") else []
            slots = (name for kind in type(part).__mro__ for name in getattr(kind, "__slots__", ()))
            waiting += [getattr(part, name) for name in slots if hasattr(part, name)]


def _check_sparse(matrix: Any) -> None:
    if matrix.format in ("csr", "csc"):
        check_indices(matrix, "a matrix of the model")
    elif matrix.format == "coo":
        sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)


def _check_tree(tree: Tree) -> None:
    nodes = np.arange(tree.node_count)
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    fine = (left[inner] > nodes[inner]) & (right[inner] > nodes[inner])
    fine &= (left[inner] < tree.node_count) & (right[inner] < tree.node_count)
    feature = tree.feature[inner]
    fine &= (feature >= 0) & (feature < tree.n_features)
    if not fine.all() or not tree.node_count:
        raise ValueError("a tree of the model is damaged")


_LINKS = ("left_children", "right_children", "parents", "split_indices")
_PER_NODE = (
    *_LINKS,
    "default_left",
    "split_conditions",
    "split_type",
    "loss_changes",
    "sum_hessian",
)


def _check_boosted(model: GradientBoostingLabels) -> None:
    """Check the trees before XGBoost reads them, which follows them without looking."""
    if not hasattr(model, "_booster_json"):
        return
    document = json.loads(model._booster_json)
    learner = document["learner"]
    forest, shape = learner["gradient_booster"]["model"], learner["learner_model_param"]
    n_trees, n_labels = len(forest["trees"]), len(model.prevalence_)
    n_features = int(shape["num_feature"])
    fine = int(shape["num_target"]) == n_labels == model._start.size
    fine &= forest["iteration_indptr"] == list(range(n_trees + 1))
    fine &= forest["tree_info"] == [0] * n_trees
    fine &= all(_is_sound(tree, n_features, n_labels) for tree in forest["trees"])
    if not fine:
        raise ValueError("a tree of the model is damaged")
    # a name that is there twice could be read in two ways
    model._booster_json = json.dumps(document).encode()


def _is_sound(tree: dict[str, Any], n_features: int, n_labels: int) -> bool:
    shape, n_nodes = tree["tree_param"], len(tree["left_children"])
    fine = all(len(tree[name]) == n_nodes for name in _PER_NODE)
    fine &= not any(tree["categories"])
    # those of the labels that split
    fine &= n_nodes > 0 and len(tree["base_weights"]) % n_nodes == 0 < len(tree["base_weights"])
    fine &= int(shape["num_nodes"]) == n_nodes and not any(tree["split_type"])
    fine &= int(shape["num_feature"]) == n_features
    fine &= int(shape["size_leaf_vector"]) == n_labels
    if not fine:
        return False
    left, right, parents, feature = (np.array(tree[name]) for name in _LINKS)
    nodes, inner = np.arange(n_nodes), left != -1
    for children in (left[inner], right[inner]):
        fine &= bool(((nodes[inner] < children) & (children < n_nodes)).all())
        fine = fine and bool((parents[children] == nodes[inner]).all())
    fine &= bool(((feature >= 0) & (feature < n_features)).all())
    if n_labels > 1:
        # a leaf has the place of its vector where other nodes have their right child
        places = right[~inner]
        fine &= bool(((places >= 0) & (places < len(tree["leaf_weights"]) // n_labels)).all())
    return fine
