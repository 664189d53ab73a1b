"""The published methods under contract: those with settings or exceptions of their own, and why.

All others are taken from their records.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn.svm import LinearSVC

from contract import starts
from contract.registry import COLUMN_OF_CLASSES, PRECISE, ROWS_TEACH, UNLABELED_ZEROS, Case
from labelgap.fitting import EM
from labelgap_papers.methods import (
    BCS,
    COSTA,
    CPLST,
    FSNM,
    GLOCAL,
    IMSF,
    JFSC,
    LEML,
    LFMSL,
    LLSF,
    LRMMC,
    LSML,
    MIFS,
    ML2,
    MVLIV,
    PLST,
    SFUS,
    WSABIE,
    ClassifierChains,
    ExpoMF,
    FastTag,
    GenEML,
    LabelMe,
    LatentCOSTA,
    Maxide,
    MLkNN,
)
from labelgap_papers.registry import ESTIMATORS, PublishedMethod

PARTICULAR = [
    Case(COSTA(PRECISE), grid={"normalisation": ["fraction", "pmi"]}),
    Case(COSTA(LinearSVC(tol=1e-8, random_state=0), normalisation="dice"), tolerance=1e-5),
    Case(
        LFMSL(inference=EM(4, 0.0), random_state=0),
        grid={"lambda_w": [0.1, 1.0]},
        exempt={"check_label_order": "noise at the start belongs to positions", **ROWS_TEACH},
    ),
    Case(
        LatentCOSTA(3, inference=EM(4, 0.0, solver="exact"), random_state=0),
        exempt={"check_label_order": "noise at the start belongs to positions", **ROWS_TEACH},
    ),
    Case(LLSF(unknown="negative", max_iter=20, tol=0.0), grid={"beta": [0.1, 1.0]}),
    Case(LLSF(0.0, 0.3, fit_intercept=False, unknown="mean", max_iter=20, tol=0.0, restart=False)),
    Case(LSML(max_iter=20, tol=0.0), grid={"lambda_2": [0.1, 1.0]}),
    Case(
        LSML(
            lambda_4=0.1, fit_intercept=False, symmetric=False, max_iter=20, tol=0.0, restart=False
        )
    ),
    Case(JFSC(unknown="negative", max_iter=20, tol=0.0), grid={"lambda_3": [0.1, 1.0]}),
    Case(JFSC(0.0, 0.0, fit_intercept=False, unknown="mean", max_iter=20, tol=0.0, restart=False)),
    Case(
        GLOCAL(2, 1, start_iter=2, max_iter=3, tol=0.0, random_state=0),
        grid={"lambda_0": [0.3, 1.0]},
        start=starts.direction_start(1),
        permute_start=starts.permute_direction_start,
        tolerance=1e-6,
    ),
    Case(
        GLOCAL(2, 3, fit_intercept=False, start_iter=2, max_iter=3, tol=0.0, random_state=0),
        exempt={"check_row_order": "k-means draws its first centres by position"},
        start=starts.direction_start(3),
        permute_start=starts.permute_direction_start,
        tolerance=1e-6,
    ),
    Case(LEML(2, max_iter=10, tol=0.0), grid={"ridge": [0.3, 3.0]}),
    Case(LEML(loss="logistic", max_iter=10, tol=0.0)),
    Case(LEML(3, loss="squared_hinge", fit_intercept=False, max_iter=10, tol=0.0)),
    Case(FastTag(), grid={"noise": [0.1, 0.5]}),
    Case(FastTag(0.3, n_layers=2, fit_intercept=False)),
    Case(
        ML2(n_neighbors=5, max_iter=20, tol=0.0),
        grid={"C": [0.3, 3.0]},
        exempt=ROWS_TEACH,
        tolerance=1e-6,
    ),
    Case(
        ML2(kernel="linear", epsilon=0.3, max_iter=20, tol=0.0), exempt=ROWS_TEACH, tolerance=1e-6
    ),
    Case(Maxide(max_iter=20, tol=0.0), grid={"weight": [0.3, 3.0]}),
    Case(Maxide(0.1, fit_intercept=False, max_iter=20, tol=0.0, restart=False)),
    Case(IMSF(max_iter=20, tol=0.0), grid={"alpha": [0.1, 0.3]}, exempt=ROWS_TEACH),
    Case(
        IMSF(alpha=0.2, loss="squared", unknown="negative", max_iter=20, tol=0.0), exempt=ROWS_TEACH
    ),
    Case(MVLIV(n_factors=3, max_iter=10, tol=0.0), grid={"ridge": [0.1, 1.0]}, exempt=ROWS_TEACH),
    Case(
        MVLIV(n_factors=2, unknown="negative", max_iter=10, tol=0.0),
        exempt={
            "check_unknown_column_changes_nothing": "its zeros move the factors of all labels",
            **ROWS_TEACH,
        },
    ),
    Case(LabelMe(n_factors=3, max_iter=10, tol=0.0), grid={"alpha": [0.3, 3.0]}, exempt=ROWS_TEACH),
    Case(
        LRMMC(n_factors=2, max_iter=20, tol=0.0),
        grid={"mu": [1e-3, 1e-2]},
        start=starts.row_start,
        permute_start=starts.permute_row_start,
    ),
    Case(FSNM(max_iter=20, tol=0.0), grid={"alpha": [0.3, 3.0]}),
    Case(FSNM(0.1, n_features_to_select=2, fit_intercept="free", max_iter=20, tol=0.0)),
    Case(SFUS(unknown="mean", max_iter=10, tol=0.0), grid={"beta": [0.3, 3.0]}),
    Case(MIFS(unknown="negative", max_iter=5, tol=0.0), grid={"gamma": [0.3, 3.0]}),
    Case(PLST(2, unknown="mean"), grid={"alpha": [0.3, 3.0]}),
    Case(CPLST(2, unknown="mean"), grid={"n_factors": [1, 3]}),
    Case(CPLST(2, fit_intercept="free", unknown="negative")),
    Case(
        MLkNN(5),
        grid={"n_neighbors": [3, 5], "smoothing": [0.5, 1.0]},
        exempt={"check_unknown_row_changes_nothing": "a row without labels is a neighbor as well"},
    ),
    Case(
        BCS(10, max_iter=5, n_predict=5, tol=0.0),
        grid={"noise_z": [0.1, 1.0], "b": [0.1, 1.0]},
        exempt={"check_label_order": "the random projection belongs to positions"},
    ),
    Case(
        WSABIE(learning_rate=0.1, max_iter=10, random_state=0),
        grid={"max_norm": [1.0, 10.0]},
        expected_failures={
            **COLUMN_OF_CLASSES,
            "check_classifiers_train": "the order of labels is learned, and one label has none",
        },
        exempt={
            "check_row_order": "draws belong to positions",
            "check_label_order": "draws belong to positions",
            "check_feature_order": "draws belong to positions",
        },
    ),
    Case(
        ClassifierChains(PRECISE, n_chains=2, link="probability", random_state=0),
        grid={"estimator__C": [0.1, 1.0]},
        exempt={"check_label_order": "random orders are of positions"},
        tolerance=1e-5,
    ),
    Case(
        ClassifierChains(PRECISE, order="given"),
        exempt={"check_label_order": "the chain goes by the order of the labels"},
        tolerance=1e-5,
    ),
    Case(
        ExpoMF(max_iter=10, tol=0.0, random_state=0),
        grid={"lambda_u": [0.1, 1.0], "a": [1.0, 2.0]},
        start=starts.two_factor_start,
        permute_start=starts.permute_factor_start,
        exempt=UNLABELED_ZEROS,
    ),
    Case(
        GenEML(max_iter=10, tol=0.0, random_state=0),
        grid={"lambda_v": [0.1, 1.0], "fit_label_frequency": [True, False]},
        start=starts.exposure_start,
        permute_start=starts.permute_exposure_start,
        exempt=UNLABELED_ZEROS,
    ),
    Case(
        GenEML(fit_label_frequency=False, batch_rows=30, step_power=0.6, max_iter=10, tol=0.0),
        start=starts.exposure_start,
        permute_start=starts.permute_exposure_start,
        exempt={"check_row_order": "each step takes the next rows"},
    ),
]


def plain_case(record: PublishedMethod) -> Case:
    """A method with nothing particular: a few iterations, and two values of what it tries."""
    method = record.load()
    known = inspect.signature(method).parameters
    quick: dict[str, Any] = {"max_iter": 10, "tol": 0.0}
    quick |= {"unknown": "negative"} if record.unknown == "warns" else {}
    quick = {name: value for name, value in quick.items() if name in known}
    grid = record.candidates if isinstance(record.candidates, Mapping) else {}
    return Case(
        method(**quick), grid={name: list(values)[:2] for name, values in list(grid.items())[:1]}
    )


_NAMED = {type(case.estimator).__name__ for case in PARTICULAR}
CASES = [*PARTICULAR, *(plain_case(record) for record in ESTIMATORS if record.name not in _NAMED)]
