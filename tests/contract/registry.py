"""The estimators under contract: one line each, and every exception with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from contract import starts
from contract.toys import GradientDescent, OnePassPerceptron
from labelgap.baselines import (
    BinaryRelevance,
    CooccurrenceVote,
    GradientBoostingLabels,
    KernelRidgePerLabel,
    KNeighborsLabels,
    LabelPrior,
)
from labelgap.fitting import EM, Gibbs, OnlineEM
from labelgap.label_tree import ProbabilisticLabelTree
from labelgap.mend import Mend
from labelgap.models.bmlpl import BMLPL
from labelgap.models.gmfs import GMFS, StabilitySelection
from labelgap.models.imvwl import IMVWL
from labelgap.models.mllcs import MLLCS
from labelgap.models.rmfl import RMFL, RMFLCV
from labelgap.networks import LabelNet

COLUMN_OF_CLASSES = {
    "check_supervised_y_2d": "a matrix with one column is one label with 0, 1 and unknown "
    "entries, not a vector of classes in the wrong shape"
}


@dataclass(frozen=True)
class Case:
    """One estimator and what is particular about it.

    Parameters
    ----------
    estimator : estimator
        With settings that make it quick and, where it is iterative, a few iterations long.
    grid : mapping
        A grid for a search over it.
    expected_failures : mapping from the name of a scikit-learn check to the reason
    exempt : mapping from the name of a contract check to the reason
    start : callable (X, Y) -> init, optional
        A start for estimators with ``init=``.
    permute_start : callable (init, rows, labels, features) -> init, optional
        The same start for permuted data; indices, or ``slice(None)`` for what stays.
    tolerance : float
        Largest difference between results that should be equal.
    slow : bool
        Whether the contract of this setting is kept for the full suite.
    """

    estimator: Any
    grid: Mapping[str, list] = field(default_factory=dict)
    expected_failures: Mapping[str, str] = field(default_factory=lambda: COLUMN_OF_CLASSES)
    exempt: Mapping[str, str] = field(default_factory=dict)
    start: Callable | None = None
    permute_start: Callable | None = None
    tolerance: float = 1e-7
    slow: bool = False

    @property
    def name(self) -> str:
        return " ".join(str(self.estimator).split())


NOISY_START = "the start has noise, which belongs to positions of labels"
_ZEROS_DIFFER = "a zero of an array is unlabeled, one of Labels is what they say it is"
UNLABELED_ZEROS = {
    "check_hidden_values_do_not_matter": _ZEROS_DIFFER,
    "check_encodings_agree": _ZEROS_DIFFER,
}
# members of a portfolio, where torch is installed
NETWORKS_BY_POSITION = (
    dict.fromkeys(
        ("check_feature_order", "check_label_order"), "the start of networks belongs to positions"
    )
    if find_spec("torch") is not None
    else {}
)
_STANDARDISED = "dense features are standardised, sparse ones are taken as they are"
SPARSE_DIFFERS = {
    "check_sparse_is_dense": _STANDARDISED,
    "check_read_only_input": _STANDARDISED,
}
ROWS_TEACH = {"check_unknown_row_changes_nothing": "features of rows without labels teach as well"}
ITERATIONS_OF_ONE = {
    **COLUMN_OF_CLASSES,
    "check_class_weight_classifiers": "sets max_iter, which several kinds of models do not have",
}

PRECISE = LogisticRegression(solver="liblinear", tol=1e-10)


class PortfolioOfFewRows(Mend):
    __doc__ = Mend.__doc__
    _fewest_rows = 20


CASES = [
    Case(LabelPrior(), grid={"smoothing": [0.0, 1.0]}),
    Case(KNeighborsLabels(5), grid={"n_neighbors": [3, 5]}),
    Case(KNeighborsLabels(5, weights="distance")),
    Case(
        KernelRidgePerLabel(),
        grid={"alpha": [0.1, 1.0]},
        exempt={"check_unknown_row_changes_nothing": "the width of the kernel is that of all rows"},
    ),
    Case(KernelRidgePerLabel(kernel="linear")),
    Case(
        BinaryRelevance(),
        grid={"unknown": ["ignore", "negative"], "C": ["auto", 0.1]},
        exempt={"check_row_order": "rows are left out by position"},
        tolerance=1e-3,
    ),
    Case(BinaryRelevance(C=1.0), tolerance=1e-3),
    Case(
        BinaryRelevance(PRECISE, unknown="negative"),
        grid={"estimator__C": [0.1, 1.0]},
        exempt={"check_unknown_row_changes_nothing": "what is unknown is negative"},
    ),
    Case(BinaryRelevance(LinearSVC(tol=1e-8, random_state=0)), tolerance=1e-5),
    Case(BinaryRelevance(GaussianNB())),
    Case(Mend(PRECISE), grid={"estimator__C": [0.1, 1.0]}, exempt=ROWS_TEACH),
    Case(
        Mend(PRECISE, label_frequency=0.8, zeros="unlabeled", threshold="half"),
        exempt={
            "check_row_order": "rows are left out by position",
            "check_a_weight_is_a_row_given_again": "rows are left out by position",
        },
    ),
    Case(
        Mend(),
        grid={"threshold": ["auto", "half"]},
        exempt=ROWS_TEACH,
        expected_failures=ITERATIONS_OF_ONE,
        tolerance=1e-3,
    ),
    Case(
        PortfolioOfFewRows(),
        grid={"threshold": ["auto", "half"]},
        exempt={
            "check_row_order": "folds are drawn by position",
            "check_a_weight_is_a_row_given_again": "folds are drawn by position",
            **NETWORKS_BY_POSITION,
            **SPARSE_DIFFERS,
        },
        expected_failures={
            **ITERATIONS_OF_ONE,
            "check_sample_weight_equivalence_on_dense_data": "folds are drawn by position",
            "check_sample_weight_equivalence_on_sparse_data": "folds are drawn by position",
        },
        tolerance=1e-3,
        slow=True,
    ),
    Case(
        ProbabilisticLabelTree(tol=1e-5, max_iter=1000, prune=0.0, unit_rows=False),
        grid={"C": [0.1, 1.0], "positive_weight": [1.0, 2.0]},
        exempt={"check_unknown_row_changes_nothing": "rows are left out by position"},
        tolerance=1e-3,
    ),
    Case(CooccurrenceVote(PRECISE), grid={"estimator__C": [0.1, 1.0]}),
    Case(CooccurrenceVote(GaussianNB())),
    Case(
        BMLPL(inference=EM(4, 0.0), random_state=0),
        grid={"r": [0.3, 1.0], "inference__max_iter": [2, 3]},
        start=starts.topic_start,
        permute_start=starts.permute_topic_start,
    ),
    Case(
        BMLPL(weights="mean", r="learn", inference=EM(4, 0.0, solver="exact"), random_state=0),
        start=starts.topic_start,
        permute_start=starts.permute_topic_start,
    ),
    Case(
        BMLPL(inference=OnlineEM(16), random_state=0),
        start=starts.topic_start,
        permute_start=starts.permute_topic_start,
        exempt={"check_row_order": "mini-batches are drawn by position"},
    ),
    Case(
        BMLPL(inference=Gibbs(3, 2, n_chains=1), random_state=0),
        start=starts.topic_start,
        permute_start=starts.permute_topic_start,
        exempt={
            "check_row_order": "draws belong to positions",
            "check_label_order": "draws belong to positions",
            "check_feature_order": "draws belong to positions",
        },
    ),
    Case(
        MLLCS(n_factors=2, inference=EM(3, 0.0, solver="exact"), random_state=0),
        grid={"lambda_w": [0.1, 1.0], "inference__max_iter": [2, 3]},
        exempt={"check_label_order": NOISY_START, **ROWS_TEACH},
    ),
    Case(
        MLLCS(n_factors=2, unseen="linear", inference=EM(3, 0.0, n_cg=6), random_state=0),
        exempt={"check_label_order": NOISY_START, **ROWS_TEACH},
    ),
    Case(
        MLLCS(n_factors=2, inference=OnlineEM(16), random_state=0),
        exempt={
            "check_row_order": "mini-batches are drawn by position",
            "check_label_order": NOISY_START,
        },
    ),
    Case(
        MLLCS(n_factors=2, inference=Gibbs(3, 2, n_chains=1, start_iter=2), random_state=0),
        exempt={
            "check_row_order": "draws belong to positions",
            "check_label_order": "draws belong to positions",
            "check_feature_order": "draws belong to positions",
        },
    ),
    Case(
        GMFS(2, label_frequency=1.0, inference=EM(3, 0.0, solver="exact"), random_state=0),
        grid={"lambda_v": [0.3, 3.0], "inference__max_iter": [2, 3]},
        exempt={"check_label_order": NOISY_START, **ROWS_TEACH},
    ),
    Case(
        GMFS(
            2,
            label_frequency=0.7,
            propensity="per_label",
            inference=EM(3, 0.0, solver="exact"),
            random_state=0,
        ),
        grid={"label_frequency": [0.5, 0.8]},
        exempt={**UNLABELED_ZEROS, "check_label_order": NOISY_START, **ROWS_TEACH},
    ),
    Case(
        GMFS(
            2,
            propensity="neighbors",
            label_frequency=0.7,
            n_neighbors=3,
            prior="group-laplace",
            inference=EM(2, 0.0, n_cg=8),
            random_state=0,
        ),
        exempt={**UNLABELED_ZEROS, "check_label_order": NOISY_START, **ROWS_TEACH},
        tolerance=1e-5,
    ),
    Case(
        GMFS(
            2, label_frequency=0.7, propensity="per_label", inference=OnlineEM(16), random_state=0
        ),
        exempt={
            **UNLABELED_ZEROS,
            "check_row_order": "mini-batches are drawn by position",
            "check_label_order": NOISY_START,
        },
    ),
    Case(
        StabilitySelection(
            GMFS(
                2, label_frequency=0.7, propensity="per_label", inference=EM(2, 0.0, solver="exact")
            ),
            n_features_to_select=0.5,
            n_repeats=2,
            threshold=None,
            random_state=0,
        ),
        grid={"mask_fraction": [0.1, 0.2], "selector__lambda_v": [0.3, 3.0]},
        exempt={**UNLABELED_ZEROS, "check_label_order": NOISY_START, **ROWS_TEACH},
    ),
    Case(
        RMFL(2, max_iter=4, tol=0, random_state=0),
        grid={"lambda_4": [0.1, 1.0], "lambda_1": [0.1, 1.0]},
        start=starts.factor_start,
        permute_start=starts.permute_factor_start,
        tolerance=1e-6,
    ),
    Case(
        RMFL(
            2, kernel="linear", solver="exact", thresholds="f1", max_iter=4, tol=0, random_state=0
        ),
        expected_failures={
            **COLUMN_OF_CLASSES,
            "check_classifier_multioutput": "scores rank the labels of a row and stay as they are; "
            "their cuts, one per label, are not all zero",
        },
        start=starts.factor_start,
        permute_start=starts.permute_factor_start,
        tolerance=1e-6,
    ),
    Case(
        RMFL(2, approximation="nystroem", n_components=20, max_iter=4, tol=0, random_state=0),
        start=starts.factor_start,
        permute_start=starts.permute_factor_start,
        exempt={"check_row_order": "the rows that span the approximation are drawn by position"},
        tolerance=1e-6,
    ),
    Case(
        RMFLCV(
            RMFL(2, max_iter=3, tol=0, init="random", random_state=0),
            lambda_1=(0.1,),
            lambda_2=(0.1,),
            lambda_4=(1.0,),
            ridge_v=(1.0, 3.0),
            cv=2,
        ),
        grid={"lambda_4": [(0.1,), (0.3, 1.0)]},
        exempt={
            "check_row_order": "the start is random and belongs to positions",
            "check_label_order": "the start is random and belongs to positions",
        },
        tolerance=1e-6,
    ),
    Case(
        IMVWL(n_factors=1.0, scaling="range", max_iter=5, random_state=0),
        grid={"alpha": [0.01, 0.1], "max_iter": [2, 3]},
        start=starts.subspace_start,
        permute_start=starts.permute_subspace_start,
    ),
    Case(
        IMVWL(
            n_factors=1.0,
            scaling="range",
            supervised=False,
            fit_intercept=True,
            predictor="logistic",
            max_iter=3,
            random_state=0,
        ),
        start=starts.subspace_start,
        permute_start=starts.permute_subspace_start,
    ),
    Case(
        IMVWL(n_factors=1.0, scaling="range", predictor="combined", max_iter=3, random_state=0),
        start=starts.subspace_start,
        permute_start=starts.permute_subspace_start,
    ),
    Case(
        IMVWL(
            n_factors=1.0,
            scaling="range",
            correlation=False,
            concatenate=True,
            max_iter=3,
            random_state=0,
        ),
        start=starts.subspace_start,
        permute_start=starts.permute_subspace_start,
    ),
    Case(
        GradientDescent(),
        start=GradientDescent.some_start,
        permute_start=lambda init, rows, labels, features: init[features][:, labels],
    ),
    Case(
        OnePassPerceptron(),
        exempt={"check_row_order": "one pass over the rows: the last ones count most"},
    ),
]

_NOT_STORED = "to XGBoost an entry that is not stored is missing, not zero"
if find_spec("xgboost") is not None:
    CASES.append(
        Case(
            GradientBoostingLabels(5, max_bins=256, validation_fraction=None),
            grid={"max_depth": [2, 4]},
            exempt={
                "check_sparse_is_dense": _NOT_STORED,
                "check_read_only_input": _NOT_STORED,
                "check_feature_order": "of splits with the same gain the first is taken",
            },
            tolerance=1e-4,
        )
    )
if find_spec("torch") is not None:
    CASES.append(
        Case(
            LabelNet((16,), n_networks=2, max_iter=5, batch_size=16),
            grid={"dropout": [0.0, 0.5]},
            exempt={
                "check_row_order": "batches are drawn by position",
                "check_label_order": "the start belongs to positions",
                "check_feature_order": "the start belongs to positions",
                **SPARSE_DIFFERS,
            },
            tolerance=1e-3,
        )
    )
