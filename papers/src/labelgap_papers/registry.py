"""The published methods of this package, one record each.

A method is one file in :mod:`labelgap_papers.methods` and one record here: the public names, the
command line, the runner of experiments, the contract tests, the reference and the pages read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgap.registry import EstimatorRecord, GapKind

__all__ = ["ESTIMATORS", "PublishedMethod"]


@dataclass(frozen=True, kw_only=True)
class PublishedMethod(EstimatorRecord):
    """What is known of a published method without importing it.

    file : str. The module in `labelgap_papers.methods`.
    unknown : {"ignored", "imputed", "warns"}, default="ignored". What it does with unknown entries:
        it leaves them out, fills them in as its paper says, or takes them for irrelevant ones with
        a warning.
    params : mapping, default={}. Its settings in experiments, beside those that are tried.
    candidates : mapping from parameter to values, or sequence of settings, default={}. What
        experiments try. With it, an experiment names the method in lower case.

    See Also
    --------
    labelgap.registry.list_estimators : The records of all packages.

    Examples
    --------
    >>> from labelgap.registry import find_estimator
    >>> find_estimator("LLSF").unknown
    'warns'
    """

    module: str = "labelgap_papers.methods"
    gaps: tuple[GapKind, ...] = ("unknown",)
    file: str | None = None
    unknown: Literal["ignored", "imputed", "warns"] = "ignored"
    params: Mapping[str, Any] = field(default_factory=dict)
    candidates: Mapping[str, Sequence[Any]] | Sequence[dict[str, Any]] = field(default_factory=dict)


def pairs(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all pairs of the values of two parameters, those of the last one fastest."""
    (first, firsts), (second, seconds) = values.items()
    return [{first: one, second: other} for one in firsts for other in seconds]


_PAIR = (1.0, 10.0, 30.0, 100.0)

ESTIMATORS = (
    PublishedMethod(
        name="Maxide",
        use="A low-rank linear map for many rows, about as accurate as kernel ridge per label.",
        command="maxide",
        settings={"tol": 1e-4},
    ),
    PublishedMethod(
        name="COSTA",
        use="Unseen labels as sums of the classifiers of the labels they occur together with.",
        gaps=("unknown", "unseen_labels"),
        tasks=("unseen_labels",),
        command="costa",
    ),
    PublishedMethod(
        name="CMFS",
        use="Selects features by factors that rows, features and labels share.",
        tasks=("feature_selection",),
        command="cmfs",
        params={"tol": 1e-4},
        candidates=pairs(alpha=_PAIR, gamma=(1.0, 10.0)),
    ),
    PublishedMethod(
        name="MLMLFS",
        use="Selects features by a row-sparse linear map with missing labels filled in.",
        tasks=("feature_selection",),
        command="mlmlfs",
        params={"tol": 1e-4},
        candidates=pairs(weight=_PAIR, alpha=(1e-3, 0.1)),
    ),
    PublishedMethod(
        name="MIFS",
        use="Selects features by a row-sparse map to factors of the labels.",
        tasks=("feature_selection",),
        command="mifs",
        unknown="warns",
    ),
    PublishedMethod(
        name="SFUS",
        use="Selects features by a row-sparse map with a subspace that labels share.",
        tasks=("feature_selection",),
        command="sfus",
        unknown="warns",
    ),
    PublishedMethod(
        name="FSNM",
        use="Selects features by joint L2,1 norms of the loss and of the map.",
        tasks=("feature_selection",),
        command="fsnm",
        params={"tol": 1e-4},
        candidates=[
            {"alpha": alpha} for alpha in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
        ],
    ),
    PublishedMethod(
        name="LatentCOSTA",
        file="_latent",
        use="Unseen labels as sums of the factors of the labels they occur together with.",
        gaps=("unknown", "unseen_labels"),
        tasks=("unseen_labels",),
    ),
    PublishedMethod(
        name="BCS",
        use="Random projections of sparse labels, predicted by Bayesian linear regression.",
    ),
    PublishedMethod(
        name="CPLST",
        file="_plst",
        use="Principal directions of labels that the features predict, by linear regression.",
        unknown="warns",
    ),
    PublishedMethod(
        name="PLST",
        use="Principal directions of labels, each predicted by linear regression.",
        unknown="warns",
    ),
    PublishedMethod(
        name="ClassifierChains",
        file="_classifier_chains",
        use="Chains of classifiers, each of which sees the labels before it.",
    ),
    PublishedMethod(
        name="ExpoMF",
        use="Factors of items and labels that weigh zeros by label frequencies; ignores features.",
        gaps=("unlabeled",),
    ),
    PublishedMethod(
        name="FastTag",
        use="Completes tags by tags and predicts them from features, in closed form.",
        unknown="imputed",
        candidates={
            "ridge": (10.0, 100.0, 1e3, 1e4),
            "weight": (1.0, 10.0, 100.0),
            "noise": (0.3, 0.6),
        },
    ),
    PublishedMethod(
        name="GLOCAL",
        use="A linear map with correlations of labels, overall and within groups of rows.",
    ),
    PublishedMethod(
        name="GenEML",
        use="Factors of labels regressed on features, which weigh zeros by label frequencies.",
        gaps=("unlabeled",),
    ),
    PublishedMethod(
        name="IMSF",
        use="Linear models of rows with the same views, which select the same features.",
        gaps=("unknown", "missing_views"),
    ),
    PublishedMethod(
        name="JFSC",
        use="A sparse linear map with a robust loss, from features that separate classes.",
        unknown="warns",
        params={"unknown": "negative", "max_iter": 300, "tol": 1e-4},
        candidates={
            "lambda_1": (1e-4, 1e-3, 1e-2),
            "lambda_2": (1e-5, 1e-4, 1e-3),
            "lambda_3": (0.1, 1.0, 10.0),
        },
    ),
    PublishedMethod(
        name="LEML",
        use="A low-rank linear map for many labels, by the loss of observed entries.",
    ),
    PublishedMethod(
        name="LFMSL",
        file="_latent",
        use="Factors of items and labels with linear maps from features; seen labels only.",
    ),
    PublishedMethod(
        name="LLSF",
        use="A sparse linear map in which correlated labels have similar weights.",
        unknown="warns",
        params={"unknown": "negative", "max_iter": 300, "tol": 1e-4},
        candidates={
            "alpha": (1e-3, 1e-1, 10.0),
            "beta": (0.1, 0.2683, 0.7197, 1.931, 5.179, 13.89, 37.28, 100.0),
        },
    ),
    PublishedMethod(
        name="LRMMC",
        use="Low-rank matrix completion of labels beside each view, joined by learned weights.",
        gaps=("unknown", "missing_views"),
    ),
    PublishedMethod(
        name="LSML",
        use="A sparse linear map that learns the correlations of labels from incomplete labels.",
        unknown="imputed",
        params={"tol": 1e-4, "max_iter": 300},
        candidates={
            "lambda_1": (10.0, 100.0, 1000.0),
            "lambda_2": (1.0, 10.0, 100.0),
            "lambda_3": (1.0, 10.0, 100.0),
            "lambda_4": (0.01, 1.0),
        },
    ),
    PublishedMethod(
        name="LabelMe",
        use="Embeddings of labels and views that agree where a row has both.",
        gaps=("unknown", "missing_views"),
    ),
    PublishedMethod(
        name="ML2",
        use="A manifold of labels: numerical labels by neighbours, predicted by kernel regression.",
        params={"max_iter": 100, "tol": 1e-4},
        candidates={"C": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "epsilon": (0.01, 0.1, 0.3)},
    ),
    PublishedMethod(
        name="MLkNN",
        use="Counts of a label among the nearest rows, weighed by Bayes' rule.",
    ),
    PublishedMethod(
        name="MVLIV",
        use="A shared subspace of incomplete views, on which a linear classifier is learned.",
        gaps=("unknown", "missing_views"),
    ),
    PublishedMethod(
        name="WSABIE",
        use="Embeddings of rows and labels trained to rank, by sampled violations.",
    ),
)
"""The published methods."""
