"""The models that ``labelgap fit`` knows by name, with their parameters, scaling and seeds."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from labelgap.baselines import Maxide
from labelgap.cli._failures import BadInputError
from labelgap.cli._terminal import Advance
from labelgap.fitting import EM, Progress
from labelgap.labels import Labels
from labelgap.mending import Mend
from labelgap.models.bmlpl import BMLPL
from labelgap.models.gmfs import GMFS
from labelgap.models.imvwl import IMVWL
from labelgap.models.mllcs import MLLCS
from labelgap.models.rmfl import RMFL
from labelgap.yardsticks import BinaryRelevance, KernelRidgePerLabel, KNeighborsLabels, LabelPrior

MODELS: dict[str, Callable[[], Any]] = {
    # a fixed number of iterations: a warning about convergence is no use at a prompt
    "bmlpl": lambda: BMLPL(inference=EM(100, tol=0.0)),
    "mllcs": lambda: MLLCS(inference=EM(100, tol=0.0)),
    "rmfl": lambda: RMFL(tol=1e-4),
    # standardised features have either sign
    "imvwl": lambda: IMVWL(scaling="range"),
    "gmfs": lambda: GMFS(inference=EM(100, tol=0.0)),
    "mend": Mend,
    "maxide": lambda: Maxide(tol=1e-4),
    "binary-relevance": BinaryRelevance,
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


ScaleOption = Annotated[
    Scale, typer.Option("--scale", help="How features are scaled; auto: standard unless sparse.")
]


class KeptFeatures(SelectorMixin, BaseEstimator):
    """Some of the features, by their positions."""

    def __init__(self, kept: list[int]) -> None:
        self.kept = kept

    def fit(self, X: Any, y: Any = None) -> KeptFeatures:
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self) -> np.ndarray:
        return np.isin(np.arange(self.n_features_in_), self.kept)


def make_model(name: str, settings: list[str], scale: Scale, X: Any, seed: int = 0) -> Pipeline:
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
    seed : int
        For models with random starts; a setting ``random_state`` goes first.
    """
    model = MODELS[name]()
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    try:
        model.set_params(**dict(map(_setting, settings)))
    except ValueError as error:
        if isinstance(error, BadInputError):
            raise
        known = ", ".join(model.get_params())
        raise BadInputError(f"--set: {name} has only the parameters {known}") from error
    return Pipeline([*_scaling(scale, sparse.issparse(X)), ("model", model)])


@contextmanager
def watched(model: Any, advance: Advance, title: str) -> Iterator[None]:
    """Tell how far a fit is, of a model that lets one listen; nothing of it stays in the model."""
    if "callback" not in model.get_params(deep=False):
        yield
        return

    def heard(now: Progress) -> None:
        advance(title, now.iteration + 1, now.max_iter)

    model.set_params(callback=heard)
    try:
        yield
    finally:
        model.set_params(callback=None)


def keep_best_features(
    pipeline: Pipeline, X: Any, labels: Labels, number: int, seed: int
) -> Pipeline:
    """The pipeline with a step that keeps the features GMFS finds best in the scaled rows."""
    if number > X.shape[1]:
        raise BadInputError(f"--features {number}: there are {X.shape[1]} only; ask for fewer")
    scaled = Pipeline(pipeline.steps[:-1]).fit_transform(X) if len(pipeline.steps) > 1 else X
    with warnings.catch_warnings():
        # what GMFS says of its own fit is of no use at a prompt
        warnings.simplefilter("ignore")
        selector = GMFS(inference=EM(100, tol=0.0), random_state=seed).fit(scaled, labels)
    kept = np.sort(np.argsort(-selector.scores_, kind="stable")[:number])
    step = ("keep", KeptFeatures(kept.tolist()))
    return Pipeline([*pipeline.steps[:-1], step, pipeline.steps[-1]])


def without_training_rows(pipeline: Pipeline) -> Pipeline:
    """Leave out what predictions do not need and a file should not hold."""
    model = pipeline[-1]
    if isinstance(model, Mend):
        nothing = model.completed_._replace(chances=model.completed_.chances[:0])
        model.__dict__.update(verdict_=None, completed_=nothing, _candidates=())
        model.__dict__.pop("_rng", None)
    if isinstance(model, GMFS):
        model.__dict__.update(_rows=None, observability_=None)
    return pipeline


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
