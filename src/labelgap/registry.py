"""The estimators of the library, one record each: every list of estimators is taken from here.

The command line, the contract tests, the reference and the page that helps to choose a method read
:func:`list_estimators`. A package adds its own estimators with a tuple of :class:`EstimatorRecord`
that its entry point in the group ``labelgap.estimators`` names.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

__all__ = ["ESTIMATORS", "EstimatorRecord", "GapKind", "find_estimator", "list_estimators"]

GapKind = Literal["unknown", "unlabeled", "missing_views", "unseen_labels"]
Task = Literal["classification", "feature_selection", "unseen_labels"]
_GROUP = "labelgap.estimators"


@dataclass(frozen=True)
class EstimatorRecord:
    """What is known of an estimator without importing it.

    Parameters
    ----------
    name : str
        The public name of the class.
    module : str
        The public module that has it.
    use : str
        When to use it, in one sentence.
    gaps : tuple of {"unknown", "unlabeled", "missing_views", "unseen_labels"}
        The gaps it handles: unknown entries, zeros that may be missing labels, rows without some
        of their views, labels that no row carries.
    tasks : tuple of {"classification", "feature_selection", "unseen_labels"}, \
default=("classification",)
        What it can be used for on the command line.
    command : str, default=None
        Its name on the command line; None leaves it out there.
    settings : mapping, default={}
        The parameters that the command line sets other than the defaults of the class.

    See Also
    --------
    list_estimators : All records.

    Examples
    --------
    >>> from labelgap.registry import find_estimator
    >>> record = find_estimator("rmfl")
    >>> record.name, record.gaps
    ('RMFL', ('unknown',))
    >>> record.make(n_factors=3)
    RMFL(n_factors=3, tol=0.0001)
    """

    name: str
    module: str
    use: str
    gaps: tuple[GapKind, ...]
    tasks: tuple[Task, ...] = ("classification",)
    command: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> type:
        """Import and return the class."""
        return getattr(importlib.import_module(self.module), self.name)

    def make(self, **settings: Any) -> Any:
        """Return a new estimator with the settings of the command line and these."""
        return self.load()(**{**self.settings, **settings})


# a fixed number of iterations: a warning about convergence is no use at a prompt
_HUNDRED_STEPS = {"max_iter": 100, "tol": 0.0}

ESTIMATORS: tuple[EstimatorRecord, ...] = (
    EstimatorRecord(
        "Mend",
        "labelgap.mend",
        "The first choice for classification: linear models, networks, trees and others combined; or "
        "your classifier per label, trained with imputed labels where validation says that this helps.",
        ("unknown", "unlabeled"),
        command="mend",
    ),
    EstimatorRecord(
        "BMLPL",
        "labelgap.models.bmlpl",
        "Topics of labels and features for large sparse data, with fast predictions.",
        ("unknown",),
        command="bmlpl",
        settings=_HUNDRED_STEPS,
    ),
    EstimatorRecord(
        "MLLCS",
        "labelgap.models.mllcs",
        "Predicts labels that no row carries from how often they occur together with known ones.",
        ("unknown", "unlabeled", "unseen_labels"),
        ("classification", "unseen_labels"),
        command="mllcs",
        settings=_HUNDRED_STEPS,
    ),
    EstimatorRecord(
        "RMFL",
        "labelgap.models.rmfl",
        "A kernel model with low-rank labels for small dense data with many unknown entries.",
        ("unknown",),
        command="rmfl",
        settings={"tol": 1e-4},
    ),
    EstimatorRecord(
        "RMFLCV",
        "labelgap.models.rmfl",
        "RMFL with its regularisation chosen by cross-validation on observed entries.",
        ("unknown",),
    ),
    EstimatorRecord(
        "IMVWL",
        "labelgap.models.imvwl",
        "Learns from several views of each row when some rows lack some of their views.",
        ("unknown", "missing_views"),
        command="imvwl",
        # standardised features have either sign
        settings={"scaling": "range"},
    ),
    EstimatorRecord(
        "GMFS",
        "labelgap.models.gmfs",
        "Selects features that predict labels when zeros may be missing labels.",
        ("unknown", "unlabeled"),
        ("classification", "feature_selection"),
        command="gmfs",
        settings=_HUNDRED_STEPS,
    ),
    EstimatorRecord(
        "StabilitySelection",
        "labelgap.models.gmfs",
        "Selects the features that a selector chooses again on other halves of the rows.",
        ("unknown", "unlabeled"),
        ("feature_selection",),
    ),
    EstimatorRecord(
        "LabelNet",
        "labelgap.networks",
        "Neural networks for all labels at once, which also take labels that are known; needs torch.",
        ("unknown",),
        command="network",
    ),
    EstimatorRecord(
        "ProbabilisticLabelTree",
        "labelgap.label_tree",
        "Thousands of labels and more: a tree of sparse linear models, fast to fit and to search.",
        ("unknown",),
        command="label-tree",
    ),
    EstimatorRecord(
        "BinaryRelevance",
        "labelgap.baselines",
        "Any scikit-learn classifier, one per label, trained on the rows where the label is known.",
        ("unknown",),
        command="binary-relevance",
    ),
    EstimatorRecord(
        "KernelRidgePerLabel",
        "labelgap.baselines",
        "Kernel ridge regression per label: accurate on small dense data.",
        ("unknown",),
        command="kernel-ridge",
    ),
    EstimatorRecord(
        "GradientBoostingLabels",
        "labelgap.baselines",
        "XGBoost with one tree for all labels in each step, taught by known entries; needs xgboost.",
        ("unknown",),
        command="boosting",
    ),
    EstimatorRecord(
        "KNeighborsLabels",
        "labelgap.baselines",
        "The fraction of the nearest rows that carry a label, among those where it is known.",
        ("unknown",),
        command="neighbors",
    ),
    EstimatorRecord(
        "CooccurrenceVote",
        "labelgap.baselines",
        "The baseline for unseen labels: known labels vote by how often they occur together.",
        ("unknown", "unseen_labels"),
        ("unseen_labels",),
        command="vote",
    ),
    EstimatorRecord(
        "LabelPrior",
        "labelgap.baselines",
        "The baseline that ignores the features: how often each label is relevant where known.",
        ("unknown",),
        command="prior",
    ),
)
"""The estimators of this package."""


@cache
def list_estimators(task: Task | None = None) -> tuple[EstimatorRecord, ...]:
    """Return the records of all estimators, those of installed packages after our own.

    Parameters
    ----------
    task : {"classification", "feature_selection", "unseen_labels"}, default=None
        Only the estimators that the command line has for this task; None for all.

    Returns
    -------
    tuple of EstimatorRecord

    See Also
    --------
    find_estimator : One record by its name.

    Examples
    --------
    >>> from labelgap.registry import list_estimators
    >>> [record.name for record in list_estimators("feature_selection")][:1]
    ['GMFS']
    """
    records = list(ESTIMATORS)
    for entry in sorted(entry_points(group=_GROUP), key=lambda entry: entry.name):
        records += entry.load()
    if task is None:
        return tuple(records)
    return tuple(record for record in records if record.command and task in record.tasks)


def find_estimator(name: str) -> EstimatorRecord:
    """Return the record with this class name or command-line name.

    Parameters
    ----------
    name : str

    Raises
    ------
    KeyError
        With the nearest names, if there is no such estimator.

    See Also
    --------
    list_estimators : All records.

    Examples
    --------
    >>> from labelgap.registry import find_estimator
    >>> find_estimator("kernel-ridge").name
    'KernelRidgePerLabel'
    """
    known = {key: record for record in list_estimators() for key in (record.name, record.command)}
    if name not in known:
        near = difflib.get_close_matches(name, [key for key in known if key], n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "see labelgap.registry"
        raise KeyError(f"no estimator {name!r}: {hint}")
    return known[name]
