"""One-vs-rest for thousands of labels and more: a tree over the labels, a linear model per node.

The model is that of Parabel (Prabhu et al., 2018) and of XR-Linear (Yu et al., 2022): labels are
clustered by the features of their rows, every node has a squared-hinge regression that learns from
the rows that a search meets at its parent, and prediction follows the most probable nodes. Of its
own are the treatment of gaps (see ``_node_targets``) and probabilities from rows left out.
"""

from __future__ import annotations

import itertools
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import log_odds
from labelgap.label_tree._label_clusters import cluster_labels, level_edges, positive_means
from labelgap.label_tree._node_targets import label_targets, node_targets
from labelgap.label_tree._tree_levels import Settings, Tree, fit_levels, search
from labelgap.labels import Labels, observed_prevalence
from labelgap.metrics import propensities

_FEWEST_ROWS_FOR_PROPENSITIES = 3


class ProbabilisticLabelTree(LabelGapClassifier):
    """Predict the best of thousands of labels with a tree of sparse linear models.

    Similar labels share a branch. A row is compared with the nodes of the first level, then with
    the children of the most probable ones, and so on to the labels: the cost of a prediction grows
    with the logarithm of the number of labels. A label learns from the rows that a search meets in
    its branch, which costs a fraction of :class:`~labelgap.BinaryRelevance` on all rows.

    An unknown entry teaches its label nothing. A zero may be a missing label, the likelier the
    rarer the label: relevant entries weigh more than zeros.

    Parameters
    ----------
    C : float, default=0.5
        Inverse strength of the regularisation, as in scikit-learn's ``LinearSVC``: the cost of a zero
        of a row of unit length.
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

    _parameter_constraints: ClassVar = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "positive_weight": [
            StrOptions({"propensity"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "beam": [Interval(Integral, 1, None, closed="left")],
        "max_leaf": [Interval(Integral, 2, None, closed="left")],
        "prune": [Interval(Real, 0, 1, closed="left")],
        "unit_rows": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C: float = 0.5,
        *,
        positive_weight: Any = "propensity",
        n_trees: int = 1,
        beam: int = 10,
        max_leaf: int = 64,
        prune: float = 0.06,
        unit_rows: bool = True,
        tol: float = 0.1,
        max_iter: int = 20,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.positive_weight = positive_weight
        self.n_trees = n_trees
        self.beam = beam
        self.max_leaf = max_leaf
        self.prune = prune
        self.unit_rows = unit_rows
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Any, labels: Labels) -> None:
        X = self._rows(X)
        self.prevalence_ = observed_prevalence(labels)
        self.positive_weight_ = self._positive_weights(labels)
        n_known, n_relevant = labels.n_observed(axis=0, unlabeled=True), labels.n_positives(axis=0)
        learned = np.flatnonzero((n_relevant > 0) & (n_relevant < n_known))
        rng = check_random_state(self.random_state)
        self.trees_ = [
            self._fit_tree(X, labels, learned, rng) for _ in range(self.n_trees) if learned.size
        ]

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
        settings = Settings(self.C, self.beam, self.prune, self.tol, self.max_iter, self.n_jobs)
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
        return normalize(rows, copy=False) if self.unit_rows else rows

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

    def _best_labels(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        if len(self.trees_) != 1 or self.target_.kind != "multilabel":
            return super()._best_labels(X, k)
        labels, probabilities = search(self.trees_[0], self._rows(X), self.beam, k, self.n_jobs)
        if (labels < 0).any():
            return super()._best_labels(X, k)
        return labels, probabilities

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
