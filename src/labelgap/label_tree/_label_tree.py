"""One-vs-rest for thousands of labels and more: a tree over the labels, a linear model per node.

The model is that of Parabel (Prabhu et al., 2018) and of XR-Linear (Yu et al., 2022): labels are
clustered by the features of their rows, every node has a squared-hinge regression that learns from
the rows that a search meets at its parent, and prediction follows the most probable nodes. Of its
own are the treatment of gaps (see ``_node_targets``) and probabilities from rows left out.
"""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import RowSource, StoredFeatures
from labelgap.kernels.probabilities import log_odds
from labelgap.label_tree._label_clusters import cluster_labels, level_edges, positive_means
from labelgap.label_tree._node_targets import label_targets, node_targets
from labelgap.label_tree._stored_rows import scale_rows, single_precision
from labelgap.label_tree._tree_levels import Settings, Tree, fit_levels, search
from labelgap.labels import Labels, observed_prevalence
from labelgap.memory import block_size
from labelgap.metrics import propensities
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters

_FEWEST_ROWS_FOR_PROPENSITIES = 3


@with_parameters
class ProbabilisticLabelTree(LabelGapClassifier):
    """Predict the best of thousands of labels with a tree of sparse linear models.

    Similar labels share a branch. A row is compared with the nodes of the first level, then with
    the children of the most probable ones, and so on to the labels: the cost of a prediction grows
    with the logarithm of the number of labels. A label learns from the rows that a search meets in
    its branch, which costs a fraction of :class:`~labelgap.BinaryRelevance` on all rows.

    Rows may lie in blocks (:func:`labelgap.fitting.row_source`); their features are then read into
    memory, sparse and in single precision.

    An unknown entry teaches its label nothing. A zero may be a missing label, the likelier the
    rarer the label: relevant entries weigh more than zeros.

    Parameters
    ----------
    C : "auto" or float, default="auto"
        Inverse strength of the regularisation, as in scikit-learn's ``LinearSVC``: the cost of a zero
        of a row of unit length. "auto" chooses one for each level, by the log-loss of rows left out.
    positive_weight : {"propensity"}, float or array of shape (n_labels,), default="propensity"
        What a relevant entry costs, as a multiple of a zero. "propensity" takes 1.4 divided by the
        square root of the label's propensity (:func:`labelgap.metrics.propensities`), so that the rarer
        a label, the less its zeros say. 1 treats zeros as what they say.
    n_trees : int, default=1
        Trees with other clusters, whose probabilities are averaged.
    beam : int, default=10
        Nodes of each level that a row follows, in training and prediction.
    max_leaf : int, default=64
        Labels of a branch that are not parted further. So many labels have no tree at all.
    prune : float, default=0.06
        The smallest coefficients of each node are set to zero while their squares make up less than
        this fraction of all.
    unit_rows : bool, default=True
        Whether rows of features are scaled to unit length.
    tol : float, default=0.1
        Largest violation of the optimality conditions that ends a fit.
    max_iter : int, default=20
        Largest number of passes over the rows.
    n_jobs : int, default=None
        Threads.
    random_state : int, RandomState or None, default=0
        Draws the first clusters, the order of the rows and those left out for probabilities.

    Attributes
    ----------
    trees_ : list of Tree
        The levels of each tree with their coefficients.
    prevalence_ : ndarray of shape (n_labels,)
        Smoothed prevalence of each label.
    positive_weight_ : ndarray of shape (n_labels,)
        What the relevant entries of each label cost.
    C_ : list of float
        The C of each level of the first tree, the labels last.
    n_iter_ : int
        Most passes over the rows that any node took.

    See Also
    --------
    labelgap.BinaryRelevance : One model per label on all rows.
    labelgap.Mend : Combines several kinds of models.

    References
    ----------
    Prabhu, Y. et al. (2018). Parabel: partitioned label trees for extreme classification. WWW.
    Yu, H.-F. et al. (2022). PECOS: prediction for enormous and correlated output spaces. JMLR.
    Jain, H., Prabhu, Y., Varma, M. (2016). Extreme multi-label loss functions. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import ProbabilisticLabelTree
    >>> X = np.eye(4)[[0, 0, 1, 1, 2, 2, 3, 3]]
    >>> model = ProbabilisticLabelTree(max_leaf=2).fit(X, X)
    >>> model.predict_topk(np.eye(4), k=1)[0].ravel().tolist()
    [0, 1, 2, 3]
    """

    C: Any = parameter("auto", StrOptions({"auto"}), POSITIVE)
    _: KW_ONLY
    positive_weight: Any = parameter(
        "propensity", StrOptions({"propensity"}), POSITIVE, "array-like"
    )
    n_trees: int = parameter(1, AT_LEAST_ONE)
    beam: int = parameter(10, AT_LEAST_ONE)
    max_leaf: int = parameter(64, Interval(Integral, 2, None, closed="left"))
    prune: float = parameter(0.06, Interval(Real, 0, 1, closed="left"))
    unit_rows: bool = parameter(True)
    tol: float = parameter(0.1, POSITIVE)
    max_iter: int = parameter(20)
    n_jobs: int | None = parameter(None, Integral, None)
    random_state: Any = parameter(0)

    def _fit(self, X: Any, labels: Labels) -> None:
        self._fit_rows(self._rows(X), labels)

    def _fit_rows(self, X: sparse.csr_array, labels: Labels) -> None:
        self.prevalence_ = observed_prevalence(labels)
        self.positive_weight_ = self._positive_weights(labels)
        n_known, n_relevant = labels.n_observed(axis=0, unlabeled=True), labels.n_positives(axis=0)
        learned = np.flatnonzero((n_relevant > 0) & (n_relevant < n_known))
        rng = check_random_state(self.random_state)
        self.trees_ = [
            self._fit_tree(X, labels, learned, rng) for _ in range(self.n_trees) if learned.size
        ]
        self.C_ = [level.C for tree in self.trees_[:1] for level in tree.levels]

    def _fit_source(self, source: RowSource) -> None:
        stored = StoredFeatures(source)
        X = single_precision(stored)
        if self.unit_rows:
            scale_rows(X)
        self._fit_rows(X, stored.labels)

    def _fit_tree(
        self, X: sparse.csr_array, labels: Labels, learned: np.ndarray, rng: np.random.RandomState
    ) -> Tree:
        means = positive_means(X, labels.positives()[:, learned])
        order = learned[cluster_labels(means, self.max_leaf, rng)]
        edges = level_edges(learned.size, self.max_leaf)
        weight = float(np.min(self.positive_weight_[learned]))
        targets = [node_targets(labels, order, edge, self.prevalence_, weight) for edge in edges]
        targets.append(label_targets(labels, order, self.positive_weight_))
        bounds = [np.array([0, learned.size]), *edges, np.arange(learned.size + 1)]
        starts = [np.searchsorted(below, above) for above, below in itertools.pairwise(bounds)]
        C = None if self.C == "auto" else float(self.C)
        settings = Settings(C, self.beam, self.prune, self.tol, self.max_iter, self.n_jobs)
        return Tree(order, fit_levels(X, targets, starts, settings, rng))

    @property
    def n_iter_(self) -> int:
        """Most passes over the rows that any node took."""
        check_is_fitted(self)
        return max((level.n_iter for tree in self.trees_ for level in tree.levels), default=1)

    def _positive_weights(self, labels: Labels) -> np.ndarray:
        given = self.positive_weight
        if isinstance(given, str):
            if labels.n_samples < _FEWEST_ROWS_FOR_PROPENSITIES:
                return np.ones(labels.n_labels)
            return 1.4 / np.sqrt(propensities(labels))
        weights = np.asarray(given, dtype=np.float64)
        if weights.ndim and weights.shape != (labels.n_labels,):
            raise ValueError(
                f"positive_weight has shape {weights.shape}: give one number, or one for each of the "
                f"{labels.n_labels} labels"
            )
        wrong = np.flatnonzero(~(np.atleast_1d(weights) > 0))
        if wrong.size:
            raise ValueError(
                f"positive_weight[{wrong[0]}] is {np.atleast_1d(weights)[wrong[0]]}: give numbers "
                "above 0"
            )
        return np.broadcast_to(weights, labels.n_labels).copy()

    def _rows(self, X: Any) -> sparse.csr_array:
        """Rows in single precision, of unit length, with indices of 32 bits."""
        rows = sparse.csr_array(X).astype(np.float32)
        if rows.indices.dtype != np.int32:
            rows.indices = rows.indices.astype(np.int32)
        if self.unit_rows:
            scale_rows(rows)
        return rows

    def _predict_proba(self, X: Any) -> np.ndarray:
        """Labels that the search does not reach follow those that it does, by their prevalence."""
        X = self._rows(X)
        total = np.zeros((X.shape[0], self.prevalence_.size))
        for tree in self.trees_:
            labels, probabilities = search(tree, X, self.beam, None, self.n_jobs)
            lowest = np.min(probabilities, axis=1, where=labels >= 0, initial=1.0)
            found = lowest[:, None] * self.prevalence_
            rows, ranks = np.nonzero(labels >= 0)
            found[rows, labels[rows, ranks]] = probabilities[rows, ranks]
            total += found
        unlearned = np.ones(total.shape[1], dtype=bool)
        for tree in self.trees_[:1]:
            unlearned[tree.order] = False
        total /= max(1, len(self.trees_))
        total[:, unlearned] = self.prevalence_[unlearned]
        return total

    def _decision_function(self, X: Any) -> np.ndarray:
        return log_odds(self._predict_proba(X))

    def _searched(self, k: int) -> bool:
        """Whether a search of one tree finds the k best labels."""
        is_matrix = self.target_.kind == "multilabel"
        return is_matrix and len(self.trees_) == 1 and self.trees_[0].order.size >= k

    def _rows_at_once(self, k: int) -> int:
        if not self._searched(k):
            return super()._rows_at_once(k)
        return block_size(self.beam * self.max_leaf, fraction=1 / 4)

    def _best_labels(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        if not self._searched(k):
            return super()._best_labels(X, k)
        return search(self.trees_[0], self._rows(X), self.beam, k, self.n_jobs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
