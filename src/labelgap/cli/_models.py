"""The models that ``labelgap fit`` knows by name, and fitted models in a file, without pickle.

A file is a zip of ``about.json`` and a skops document. Only the types listed here, and the classes
of packages whose estimators are registered, are ever made when a file is read: a model from a
stranger can be wrong but cannot run code.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import sklearn
import typer
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

import labelgap
from labelgap.cli._design_matrix import Schema, design_matrix, fill_cells
from labelgap.cli._loaded_parts import make_sound
from labelgap.cli._read_data import Hints, InputRows
from labelgap.cli._terminal import Advance, BadInputError
from labelgap.extras import require
from labelgap.files import expands_too_far, read_json, replacing
from labelgap.fitting import Progress
from labelgap.labels import Labels
from labelgap.registry import Task, find_estimator, list_estimators


def command_names(task: Task) -> dict[str, str]:
    """The command-line names of the estimators for a task, to make the choices of an option."""
    return {str(one.command): str(one.command) for one in list_estimators(task)}


ModelName = StrEnum("ModelName", command_names("classification"))  # type: ignore[misc]
DEFAULT_MODEL = ModelName("mend")


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


def make_model(
    name: str, settings: list[str], scale: Scale, X: Any, random_state: int = 0
) -> Pipeline:
    """An unfitted pipeline of scaling and model.

    Parameters
    ----------
    name : str
        The command-line name of an estimator.
    settings : list of "parameter=value"
        Values are Python literals; what is not one is a string.
    scale : Scale
        "auto": standardised when `X` is dense, as it is when sparse.
    X : array or sparse matrix
    random_state : int
        For models with random starts; a setting ``random_state`` goes first.
    """
    model = with_random_state(find_estimator(name).make(), random_state)
    try:
        model.set_params(**dict(map(_setting, settings)))
    except ValueError as error:
        if isinstance(error, BadInputError):
            raise
        known = ", ".join(model.get_params())
        raise BadInputError(f"--set: {name} has only the parameters {known}") from error
    return Pipeline([*_scaling(scale, sparse.issparse(X)), ("model", model)])


def with_random_state(model: Any, random_state: int) -> Any:
    """The same model, with its random state set where it has one."""
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=random_state)
    return model


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
    pipeline: Pipeline, X: Any, labels: Labels, number: int, random_state: int
) -> Pipeline:
    """The pipeline with a step that keeps the features GMFS finds best in the scaled rows."""
    if number > X.shape[1]:
        raise BadInputError(f"--features {number}: there are {X.shape[1]} only; ask for fewer")
    scaled = Pipeline(pipeline.steps[:-1]).fit_transform(X) if len(pipeline.steps) > 1 else X
    with warnings.catch_warnings():
        # what GMFS says of its own fit is of no use at a prompt
        warnings.simplefilter("ignore")
        selector = find_estimator("gmfs").make(random_state=random_state).fit(scaled, labels)
    kept = np.sort(np.argsort(-selector.scores_, kind="stable")[:number])
    step = ("keep", KeptFeatures(kept.tolist()))
    return Pipeline([*pipeline.steps[:-1], step, pipeline.steps[-1]])


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


# -- model files

FORMAT = 2
TRUSTED_TYPES = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
)
_ABOUT, _MODEL = "about.json", "model.skops"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted pipeline, what fills empty cells, the vocabulary of its text, what it expects."""

    estimator: Any
    vectorizer: Any
    filler: Any
    schema: Schema
    about: dict[str, Any]

    @property
    def hints(self) -> Hints:
        """How the rows for this model are to be read."""
        return Hints(
            n_features=self.schema.n_features,
            text=self.schema.text,
            item=self.about.get("item"),
            labels=self.schema.labels,
            zero_based=self.schema.zero_based,
            unused=self.about.get("unused", []),
        )

    def predict(
        self, rows: InputRows, threshold: float | None, known: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities and decisions of 0 and 1, the labels in the order of the schema.

        Decisions are 1 above the threshold; where the model decides itself, without one. Labels that
        are known, and not NaN, change the probabilities of the others.
        """
        X = self._scaled(rows)
        if known is None:
            probabilities = self._asked("predict_proba", X)
            if threshold is None:
                return probabilities, np.asarray(self._asked("predict", X)).astype(np.int8)
        else:
            self._require_known()
            probabilities = self._asked("predict_proba", X, known=known)
        if threshold is None:
            threshold = getattr(self.estimator[-1], "thresholds_", 0.5)
        return probabilities, (probabilities > threshold).astype(np.int8)

    def predict_topk(
        self, rows: InputRows, k: int, known: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best labels of each row with their probabilities; without known ones block by block."""
        if known is None:
            return self._asked("predict_topk", self._scaled(rows), k)
        probabilities, _ = self.predict(rows, None, known)
        best = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
        names = np.array(self.schema.labels, dtype=object)
        return names[best], np.take_along_axis(probabilities, best, axis=1)

    def most_telling(self, rows: InputRows, known: np.ndarray | None) -> np.ndarray:
        """The position of the label of each row whose answer tells most, -1 where all are known."""
        self._require_known()
        return self._asked("which_label_next", self._scaled(rows), known)

    def n_learned(self, rows: InputRows) -> int:
        """How many of the rows the model learned from, of those that it remembers."""
        known = set(self.about.get("learned_rows", ()))
        if not known:
            return 0
        X = self.schema.columns_of(rows)
        return sum(digest in known for digest in row_digests(X, rows.data.texts))

    def _scaled(self, rows: InputRows) -> Any:
        """What the last step of the pipeline takes."""
        numbers = self.schema.columns_of(rows)
        numbers = fill_cells(rows, numbers, self.filler, keep=self.about.get("empty") == "keep")
        X = design_matrix(rows, numbers, self.vectorizer)
        for _, step in self.estimator.steps[:-1]:
            X = self._asked("transform", X, of=step)
        return X

    def _require_known(self) -> None:
        if not hasattr(self.estimator[-1], "which_label_next"):
            raise BadInputError(
                f"--known and --give next: {self.about['model']} does not learn what known labels "
                f"tell about others; fit a model with --model {DEFAULT_MODEL}"
            )

    def _asked(self, method: str, *given: Any, of: Any = None, **named: Any) -> Any:
        try:
            return getattr(self.estimator[-1] if of is None else of, method)(*given, **named)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise BadInputError(
                f"the model is damaged ({type(error).__name__}: {error}); fit it again"
            ) from error

    def save(self, path: Path) -> None:
        """Write the model; an existing file is replaced only when all is written."""
        skops = require("skops.io", extra="cli", purpose="saving a model")
        parts = {"estimator": self.estimator, "vectorizer": self.vectorizer, "filler": self.filler}
        document = skops.dumps(parts)
        about = {
            **self.about,
            "format": FORMAT,
            "labelgap": labelgap.__version__,
            "scikit-learn": sklearn.__version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "sha256": hashlib.sha256(document).hexdigest(),
            "schema": self.schema.as_dict(),
        }
        with replacing(path) as (partial,), zipfile.ZipFile(partial, "w") as archive:
            archive.writestr(_ABOUT, json.dumps(about, indent=2, ensure_ascii=False))
            archive.writestr(_MODEL, document, zipfile.ZIP_DEFLATED)


def row_digests(X: Any, texts: Any, most: int | None = None) -> list[str]:
    """What tells a row from others, of all rows or of so many at even distances."""
    n_samples = X.shape[0]
    step = 1 if most is None else max(1, -(-n_samples // most))
    if hasattr(X, "columns"):
        # cells of any type, as they are shown
        cells = ["\0".join(map(str, row)) for row in X.itertuples(index=False)]
        texts = cells if texts is None else [f"{a}\0{b}" for a, b in zip(cells, texts, strict=True)]
        X = np.empty((n_samples, 0))
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    digests = []
    for row in range(0, n_samples, step):
        content = hashlib.blake2b(digest_size=6)
        if sparse.issparse(X):
            here = slice(X.indptr[row], X.indptr[row + 1])
            order = np.argsort(X.indices[here])
            content.update(X.indices[here][order].astype(np.int64).tobytes())
            content.update(X.data[here][order].astype(np.float64).tobytes())
        else:
            content.update(X[row].tobytes())
        content.update(b"" if texts is None else str(texts[row]).encode())
        digests.append(content.hexdigest())
    return digests


def load_model(path: Path) -> SavedModel:
    """Read what :meth:`SavedModel.save` wrote."""
    skops = require("skops.io", extra="cli", purpose="loading a model")
    about, document = _members(path)
    try:
        types = skops.get_untrusted_types(data=document)
    except Exception as error:
        raise _damaged(path, error) from error
    if strange := [one for one in types if one not in TRUSTED_TYPES and not _is_ours(one)]:
        raise BadInputError(
            f"{path}: holds the type {min(strange)}, which no model of labelgap has; do not use it"
        )
    try:
        parts = skops.loads(document, trusted=types)
        schema = Schema(**about.pop("schema"))
        make_sound(parts)
        return SavedModel(
            parts["estimator"], parts["vectorizer"], parts.get("filler"), schema, about
        )
    # whoever makes a file by hand can make it fail anywhere
    except Exception as error:
        raise _damaged(path, error, about.get("labelgap")) from error


def _damaged(path: Path, error: Exception, made_by: Any = None) -> BadInputError:
    by = "" if made_by in (None, labelgap.__version__) else f", and was made by labelgap {made_by}"
    said = " ".join(str(error).split())[:200]
    return BadInputError(
        f"{path}: the model is damaged, or cannot be read by labelgap {labelgap.__version__}{by} "
        f"({type(error).__name__}: {said}); fit it again"
    )


def _is_ours(type_name: str) -> bool:
    """Whether it is a class of a package whose estimators are registered."""
    module, _, name = type_name.rpartition(".")
    packages = {record.module.split(".")[0] for record in list_estimators()}
    package = module.split(".")[0]
    if package not in packages | {"skrub"} or find_spec(module) is None:
        return False
    known = getattr(importlib.import_module(module), name, None)
    # encoders of columns hold some functions of skrub beside its classes
    return isinstance(known, type) or (package == "skrub" and callable(known))


def _members(path: Path) -> tuple[dict[str, Any], bytes]:
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such model; make one with: labelgap fit")
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
            if expands_too_far(n_bytes, path.stat().st_size):
                raise ValueError("it becomes far larger when decompressed")
            about = read_json(archive.read(_ABOUT))
            document = archive.read(_MODEL)
            about.get("format")
    # a damaged archive fails in a dozen ways: zlib, struct, unknown compression, ...
    except Exception as error:
        raise BadInputError(
            f"{path}: is not a model of labelgap, or is damaged ({error}); make one with: "
            "labelgap fit"
        ) from error
    if about.get("format") != FORMAT:
        raise BadInputError(
            f"{path}: has format {about.get('format')}, written by labelgap "
            f"{about.get('labelgap')}; this version reads format {FORMAT}: fit the model again"
        )
    if about.get("sha256") != hashlib.sha256(document).hexdigest():
        raise BadInputError(f"{path}: is damaged, its checksum differs; fit the model again")
    return about, document
