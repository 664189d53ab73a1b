"""The methods of ``which_method.py``: how each is made, and the four settings that each may try.

The default settings are among the four wherever they were not chosen on the sets measured here.
Those of BCS, WSABIE and LRMMC (its ``feature_scale`` and ``completion``) were set with scores on
test rows of emotions and yeast in sight, so the four go to both sides of them. A first round had
many penalties at the strong end of their four on held-out training rows; these reach further now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from labelgap import (
    BMLPL,
    GMFS,
    IMVWL,
    MLLCS,
    RMFL,
    BinaryRelevance,
    KernelRidgePerLabel,
    KNeighborsLabels,
    LabelPrior,
    Mend,
    baselines,
)

SHARE_OF_FEATURES = 0.2


class Method(NamedTuple):
    """``make(**settings)`` gives an estimator; views methods also take ``groups`` and ``X``."""

    family: str
    make: Callable[..., Any]
    candidates: list[dict[str, Any]]


def varied(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


def crossed(one: dict[str, list], **fixed: Any) -> list[dict[str, Any]]:
    """All pairs of values of two parameters."""
    (first, values), (second, others) = one.items()
    return [{first: a, second: b, **fixed} for a in values for b in others]


def logistic(C: float = 1.0) -> LogisticRegression:
    return LogisticRegression(solver="liblinear", C=C, random_state=0)


def plain_intercept(C: float) -> LogisticRegression:
    """liblinear shrinks the intercept too, so that with a small C rare labels look frequent."""
    return LogisticRegression(C=C, max_iter=1000)


def seeded(estimator: type) -> Callable[..., Any]:
    def make(**settings: Any) -> Any:
        return estimator(**settings, random_state=0)

    return make


_C = varied("C", 0.001, 0.01, 0.1, 1.0)
_RIDGES = varied("ridge", 1.0, 30.0, 100.0, 300.0)
_ALPHAS = varied("alpha", 1.0, 100.0, 300.0, 1000.0)
_WEIGHTS = varied("weight", 1.0, 10.0, 30.0, 100.0)
_NEIGHBORS = varied("n_neighbors", 10, 20, 40, 80)

CLASSIFIERS: dict[str, Method] = {
    "LabelPrior": Method("yardstick", LabelPrior, [{}]),
    "KNeighborsLabels": Method("yardstick", KNeighborsLabels, _NEIGHBORS),
    "BinaryRelevance": Method("yardstick", lambda C: BinaryRelevance(plain_intercept(C)), _C),
    "KernelRidgePerLabel": Method(
        "yardstick", KernelRidgePerLabel, varied("alpha", 0.1, 0.3, 1.0, 3.0)
    ),
    "Mend": Method("Mend", lambda C: Mend(plain_intercept(C)), _C),
    "BMLPL": Method("system", seeded(BMLPL), crossed({"r": [0.3, 1.0], "tau": [0.1, 1.0]})),
    "MLLCS": Method(
        "system",
        seeded(MLLCS),
        [{}, {"lambda_w": 0.1}, {"lambda_w": 1.6}, {"lambda_w": 1.6, "exposure": "learn"}],
    ),
    "RMFL": Method(
        "system", seeded(RMFL), crossed({"lambda_4": [0.25, 1.0], "ridge_v": [3.0, 10.0]})
    ),
    "MLkNN": Method("baseline", baselines.MLkNN, _NEIGHBORS),
    "ClassifierChains": Method(
        "baseline", lambda C: baselines.ClassifierChains(logistic(C), random_state=0), _C
    ),
    "LEML": Method("baseline", baselines.LEML, _RIDGES),
    "LEML, logistic": Method(
        "baseline",
        lambda ridge: baselines.LEML(loss="logistic", ridge=ridge),
        _RIDGES,
    ),
    "LFMSL": Method("baseline", seeded(baselines.LFMSL), varied("lambda_w", 0.1, 0.4, 1.6, 6.4)),
    "GLOCAL": Method(
        "baseline",
        seeded(baselines.GLOCAL),
        [{}, {"lambda_5": 0.1}, {"lambda_5": 1.0}, {"lambda_0": 0.1, "lambda_5": 0.1}],
    ),
    "LSML": Method(
        "baseline", baselines.LSML, crossed({"lambda_1": [1.0, 10.0], "lambda_3": [0.1, 10.0]})
    ),
    "LLSF": Method("baseline", baselines.LLSF, varied("beta", 0.1, 1.0, 10.0, 30.0)),
    "JFSC": Method("baseline", baselines.JFSC, varied("lambda_3", 0.1, 3.0, 10.0, 30.0)),
    "FastTag": Method(
        "baseline", baselines.FastTag, crossed({"ridge": [1.0, 100.0], "noise": [0.1, 0.5]})
    ),
    "ML2": Method("baseline", baselines.ML2, varied("C", 0.1, 0.3, 1.0, 3.0)),
    "Maxide": Method("baseline", baselines.Maxide, _WEIGHTS),
    "PLST": Method("baseline", baselines.PLST, _ALPHAS),
    "CPLST": Method("baseline", baselines.CPLST, _ALPHAS),
    "BCS": Method(
        "baseline", seeded(baselines.BCS), crossed({"noise_z": [0.03, 0.3], "b": [0.03, 0.3]})
    ),
    "WSABIE": Method(
        "baseline",
        seeded(baselines.WSABIE),
        crossed({"learning_rate": [3e-4, 3e-3], "max_norm": [3.0, 30.0]}),
    ),
    "GenEML": Method(
        "baseline", seeded(baselines.GenEML), varied("lambda_w", 0.1, 30.0, 100.0, 300.0)
    ),
    "ExpoMF": Method("baseline", seeded(baselines.ExpoMF), _ALPHAS),
}


class Selected:
    """One logistic regression per label on a fifth of the features, or on all of them.

    Features are ranked standardised, with a constant one more where the method has no intercept;
    the classifier sees them as they are.
    """

    def __init__(self, selector: Any, constant: bool = False) -> None:
        self.selector = selector
        self.constant = constant

    def fit(self, X: Any, Y: Any) -> Selected:
        dense = StandardScaler().fit_transform(X.toarray() if sparse.issparse(X) else X)
        n = max(1, round(SHARE_OF_FEATURES * dense.shape[1]))
        self.columns_ = np.sort(self._ranking(dense, Y)[:n])
        self.classifier_ = BinaryRelevance(logistic()).fit(X[:, self.columns_], Y)
        return self

    def _ranking(self, dense: np.ndarray, Y: Any) -> np.ndarray:
        extra = np.ones((len(dense), int(self.constant)))
        scores = self.selector.fit(np.hstack([dense, extra]), Y).scores_
        return np.argsort(-scores[: dense.shape[1]], kind="stable")

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.classifier_.predict_proba(X[:, self.columns_])

    def predict(self, X: Any) -> np.ndarray:
        return self.classifier_.predict(X[:, self.columns_])


class RandomScores:
    """The ranking to beat."""

    def fit(self, X: Any, Y: Any) -> RandomScores:
        self.scores_ = np.random.default_rng([X.shape[0], 1]).random(X.shape[1])
        return self


def selector(make: Callable[..., Any], constant: bool = False) -> Callable[..., Any]:
    return lambda **settings: Selected(make(**settings), constant)


_STRONG = (1.0, 10.0, 30.0, 100.0)
SELECTORS: dict[str, Method] = {
    "all features": Method("yardstick", lambda: BinaryRelevance(logistic()), [{}]),
    "a random fifth": Method("yardstick", selector(RandomScores), [{}]),
    "GMFS": Method("system", selector(seeded(GMFS)), varied("sigma_0", 0.1, 0.3, 1.0, 3.0)),
    "FSNM": Method("baseline", selector(baselines.FSNM), varied("alpha", *_STRONG)),
    "SFUS": Method("baseline", selector(baselines.SFUS, True), varied("alpha", *_STRONG)),
    "MIFS": Method("baseline", selector(baselines.MIFS, True), varied("gamma", *_STRONG)),
    "CMFS": Method(
        "baseline",
        selector(baselines.CMFS),
        crossed({"alpha": [1.0, 30.0], "gamma": [1.0, 10.0]}),
    ),
    "MLMLFS": Method("baseline", selector(baselines.MLMLFS), varied("weight", *_STRONG)),
}


def imputed(last: Callable[..., Any]) -> Callable[..., Any]:
    """Absent views filled with means, standardised."""

    def make(groups: Any, X: np.ndarray, **settings: Any) -> Any:
        return make_pipeline(SimpleImputer(), StandardScaler(), last(**settings))

    return make


def prior(groups: Any, X: np.ndarray) -> Any:
    return make_pipeline(FunctionTransformer(np.nan_to_num), LabelPrior())


def imvwl(groups: Any, X: np.ndarray, **settings: Any) -> IMVWL:
    scaling: Any = "balance" if np.nanmin(X) >= 0 else "range"
    return IMVWL(groups, scaling=scaling, random_state=0, **settings)


def viewed(estimator: type) -> Callable[..., Any]:
    return lambda groups, X, **settings: estimator(groups, **settings)


_WIDE = {"n_factors": 1.0, "predictor": "combined"}
VIEWS: dict[str, Method] = {
    "LabelPrior": Method("yardstick", prior, [{}]),
    "means, BinaryRelevance": Method(
        "yardstick",
        imputed(lambda C: BinaryRelevance(logistic(C))),
        varied("C", 0.01, 0.1, 1.0, 10.0),
    ),
    "means, Maxide": Method("baseline", imputed(baselines.Maxide), _WEIGHTS),
    "IMVWL": Method(
        "system",
        imvwl,
        [{}, *varied("predictor", "logistic", "combined"), _WIDE],
    ),
    "LRMMC": Method(
        "baseline",
        viewed(baselines.LRMMC),
        crossed({"feature_scale": [3.0, 30.0], "completion": [0.1, 1.0]}),
    ),
    "MVLIV": Method(
        "baseline", viewed(baselines.MVLIV), crossed({"ridge": [0.1, 1.0], "penalty": [1.0, 10.0]})
    ),
    "LabelMe": Method(
        "baseline", viewed(baselines.LabelMe), crossed({"alpha": [1.0, 10.0], "ridge": [0.1, 0.3]})
    ),
    "IMSF": Method("baseline", viewed(baselines.IMSF), varied("alpha", 0.01, 0.03, 0.1, 0.3)),
}
