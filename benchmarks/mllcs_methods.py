"""The methods that the ML-LCS benchmarks compare, with their settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression

from labelgap.baselines import COSTA, LFMSL, LatentCOSTA
from labelgap.fitting import EM
from labelgap.models.mllcs import MLLCS
from labelgap.protocols import hide_labels
from labelgap.yardsticks import CooccurrenceVote
from mllcs_data import Split, hold_out, mean_squared_length, measure
from result_rows import ResultRows

PENALTIES = (0.1, 0.3, 1.0)
# a device of torch for everything of the size rows x labels, such as "cuda"
DEVICE = os.environ.get("LABELGAP_DEVICE")
FACTORS = {"bibtex": None, "mediamill": None, "delicious": 200}
ITERATIONS = {"bibtex": 100, "mediamill": 60, "delicious": 40}
# K = 80% of the labels in the paper; 786 on delicious would take minutes per iteration
PRINTED_FACTORS = {"bibtex": 127, "mediamill": 81, "delicious": 200}
PRINTED_ITERATIONS = {"bibtex": 100, "mediamill": 100, "delicious": 40}


def em(dataset: str) -> EM:
    return EM(ITERATIONS[dataset], 1e-4, solver="exact")


def mllcs(dataset: str, **settings: Any) -> MLLCS:
    """ML-LCS with the settings of a set; everything else by default."""
    settings = {"inference": em(dataset), "device": DEVICE, "random_state": 0, **settings}
    return MLLCS(FACTORS[dataset], **settings)


def as_printed(dataset: str, split: Split) -> MLLCS:
    """The paper's settings: all precisions 1, r = 5, linear map; kappa is the derived one."""
    return MLLCS(
        PRINTED_FACTORS[dataset],
        lambda_w=1 / mean_squared_length(split.X),
        count_weight=1.0,
        unseen="linear",
        device=DEVICE,
        inference=EM(PRINTED_ITERATIONS[dataset], 0.0, solver="exact"),
        random_state=0,
    )


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(solver="liblinear", C=C, random_state=0)


def methods(
    dataset: str, split: Split, C: float, loop: EM | None = None
) -> dict[str, Callable[[], Any]]:
    """By name, in the order of the tables."""
    factors, loop = FACTORS[dataset], loop or em(dataset)
    found: dict[str, Callable[[], Any]] = {
        "vote": lambda: CooccurrenceVote(logistic(C), n_jobs=-1),
        "COSTA": lambda: COSTA(logistic(C), n_jobs=-1),
        "COSTA, latent": lambda: LatentCOSTA(
            factors, inference=loop, device=DEVICE, random_state=0
        ),
        "LFM-SL": lambda: LFMSL(factors, inference=loop, device=DEVICE, random_state=0),
        "ML-LCS, as printed": lambda: as_printed(dataset, split),
        "ML-LCS, linear map": lambda: mllcs(dataset, unseen="linear", inference=loop),
        "ML-LCS, moments": lambda: mllcs(dataset, unseen="moments", inference=loop),
        "ML-LCS, constrained": lambda: mllcs(dataset, unseen="constrained", inference=loop),
    }
    if not has_rule("constrained"):
        del found["ML-LCS, constrained"]
    return found


def has_rule(rule: str) -> bool:
    """Whether ML-LCS knows a way to treat unseen labels."""
    return rule in MLLCS._parameter_constraints["unseen"][0].options


def choose_penalty(dataset: str, split: Split) -> float:
    """C of the logistic regressions, by P@1 on held-out training rows.

    Of the labels that are seen in the first draw half are hidden once more; the labels that are
    unseen there play no part.
    """
    rows = ResultRows("mllcs_selection", ("dataset", "C"))
    if any(rows.find(dataset=dataset, C=C) is None for C in PENALTIES):
        inner = hold_out(split)
        seen = hide_labels(split.Y, 0.5, random_state=0).seen
        inner = inner._replace(Y=inner.Y[:, seen], Y_test=inner.Y_test[:, seen])
        hidden = hide_labels(inner.Y, 0.5, random_state=0)
        for C in PENALTIES:
            if rows.find(dataset=dataset, C=C) is None:
                values = measure(CooccurrenceVote(logistic(C), n_jobs=-1), inner, hidden)
                rows.add({"experiment": "selection", "dataset": dataset, "C": C, **values})
    measured = [rows.find(dataset=dataset, C=C) for C in PENALTIES]
    return max(measured, key=lambda row: row["precision_at_1"])["C"]  # type: ignore[index]
