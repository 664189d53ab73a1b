"""The models that ``labelgap fit`` knows by name, with their parameters and scaling."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from labelgap.baselines import Maxide
from labelgap.cli._failures import BadInputError
from labelgap.fitting import EM
from labelgap.models.bmlpl import BMLPL
from labelgap.models.imvwl import IMVWL
from labelgap.models.rmfl import RMFL
from labelgap.yardsticks import BinaryRelevance, KernelRidgePerLabel, KNeighborsLabels, LabelPrior

MODELS: dict[str, Callable[[], Any]] = {
    # a fixed number of iterations: a warning about convergence is no use at a prompt
    "bmlpl": lambda: BMLPL(inference=EM(100, tol=0.0)),
    "rmfl": lambda: RMFL(tol=1e-4, random_state=0),
    # standardised features have either sign
    "imvwl": lambda: IMVWL(scaling="range", random_state=0),
    "maxide": lambda: Maxide(tol=1e-4),
    "binary-relevance": lambda: BinaryRelevance(LogisticRegression(solver="liblinear")),
    "kernel-ridge": KernelRidgePerLabel,
    "neighbors": KNeighborsLabels,
    "prior": LabelPrior,
}
ModelName = StrEnum("ModelName", {name: name for name in MODELS})  # type: ignore[misc]
DEFAULT_MODEL = ModelName("binary-relevance")


class Scale(StrEnum):
    AUTO = "auto"
    NONE = "none"
    STANDARD = "standard"
    MAX_ABS = "max-abs"
    UNIT_ROWS = "unit-rows"


def make_model(name: str, settings: list[str], scale: Scale, X: Any) -> Pipeline:
    """An unfitted pipeline of scaling and model.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    settings : list of "parameter=value"
        Values are Python literals; what is not one is a string.
    scale : Scale
        "auto": standardised when `X` is dense, as it is when sparse.
    X : array or sparse matrix
    """
    model = MODELS[name]()
    try:
        model.set_params(**dict(map(_setting, settings)))
    except ValueError as error:
        if isinstance(error, BadInputError):
            raise
        known = ", ".join(model.get_params())
        raise BadInputError(f"--set: {name} has only the parameters {known}") from error
    return Pipeline([*_scaling(scale, sparse.issparse(X)), ("model", model)])


def _scaling(scale: Scale, is_sparse: bool) -> list[tuple[str, Any]]:
    if scale is Scale.NONE or (scale is Scale.AUTO and is_sparse):
        return []
    if scale is Scale.MAX_ABS:
        return [("scale", MaxAbsScaler())]
    if scale is Scale.UNIT_ROWS:
        return [("scale", Normalizer())]
    return [("scale", StandardScaler(with_mean=not is_sparse))]


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInputError(f"--set {text}: write parameter=value, such as estimator__C=0.1")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
