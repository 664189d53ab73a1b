"""Fitted models in a file, without pickle: a zip of ``about.json`` and a skops document.

Only the types listed here are ever made when a file is read, so that a model from a stranger can
be wrong but cannot run code.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import labelgap
from labelgap._extras import require
from labelgap.cli._empty import fill_cells
from labelgap.cli._failures import BadInputError
from labelgap.cli._features import Schema, design_matrix
from labelgap.cli._loaded import Hints, Loaded
from labelgap.report._files import replacing

FORMAT = 1
TRUSTED_TYPES = (
    "labelgap.baselines._maxide.Maxide",
    "labelgap.cli._models.KeptFeatures",
    "labelgap.fitting._monitor.Trace",
    "labelgap.fitting._settings.EM",
    "labelgap.mending._filling.Completed",
    "labelgap.mending._mend.Mend",
    "labelgap.models.bmlpl._calibration.Calibration",
    "labelgap.models.bmlpl._estimator.BMLPL",
    "labelgap.models.bmlpl._model.Params",
    "labelgap.models.gmfs._design.Design",
    "labelgap.models.gmfs._estimator.GMFS",
    "labelgap.models.gmfs._looks.PlainRates",
    "labelgap.models.gmfs._rows.Params",
    "labelgap.models.gmfs._surest.Calibration",
    "labelgap.models.imvwl._components.Components",
    "labelgap.models.imvwl._estimator.IMVWL",
    "labelgap.models.imvwl._estimator.ViewContribution",
    "labelgap.models.imvwl._logistic.LogisticPredictor",
    "labelgap.models.imvwl._params.Params",
    "labelgap.models.imvwl._scaling.Scaling",
    "labelgap.models.mllcs._estimator.MLLCS",
    "labelgap.models.mllcs._model.Params",
    "labelgap.models.mllcs._unseen.Anchors",
    "labelgap.models.rmfl._estimator.RMFL",
    "labelgap.models.rmfl._kernel.Kernel",
    "labelgap.models.rmfl._model.Terms",
    "labelgap.models.rmfl._prepare.FeatureMap",
    "labelgap.targets.Target",
    "labelgap.views.ViewGroups",
    "labelgap.yardsticks._binary_relevance.BinaryRelevance",
    "labelgap.yardsticks._kernel_ridge.KernelRidgePerLabel",
    "labelgap.yardsticks._label_prior.LabelPrior",
    "labelgap.yardsticks._neighbors.KNeighborsLabels",
    "labelgap.yardsticks._per_label.ConstantLabel",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
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
        )

    def predict_proba(self, rows: Loaded) -> np.ndarray:
        """Probabilities (n_rows, n_labels), the labels in the order of the schema."""
        numbers = self.schema.columns_of(rows)
        numbers = fill_cells(rows, numbers, self.filler, keep=self.about.get("empty") == "keep")
        X = design_matrix(rows, numbers, self.vectorizer)
        return self.estimator.predict_proba(X)

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
            "schema": self.schema.as_dict(),
        }
        with replacing(path) as (partial,), zipfile.ZipFile(partial, "w") as archive:
            archive.writestr(_ABOUT, json.dumps(about, indent=2, ensure_ascii=False))
            archive.writestr(_MODEL, document, zipfile.ZIP_DEFLATED)


def load_model(path: Path) -> SavedModel:
    """Read what :meth:`SavedModel.save` wrote."""
    skops = require("skops.io", extra="cli", purpose="loading a model")
    about, document = _members(path)
    strange = set(skops.get_untrusted_types(data=document)) - set(TRUSTED_TYPES)
    if strange:
        raise BadInputError(
            f"{path}: holds the type {min(strange)}, which no model of labelgap has; do not use it"
        )
    try:
        parts = skops.loads(document, trusted=list(TRUSTED_TYPES))
        schema = Schema(**about.pop("schema"))
        return SavedModel(
            parts["estimator"], parts["vectorizer"], parts.get("filler"), schema, about
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInputError(
            f"{path}: the model was made by labelgap {about.get('labelgap')} and cannot be read by "
            f"{labelgap.__version__}; fit it again"
        ) from error


def _members(path: Path) -> tuple[dict[str, Any], bytes]:
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such model; make one with: labelgap fit")
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read(_ABOUT))
            document = archive.read(_MODEL)
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise BadInputError(
            f"{path}: is not a model of labelgap; make one with: labelgap fit"
        ) from error
    if about.get("format") != FORMAT:
        raise BadInputError(
            f"{path}: has format {about.get('format')}, written by labelgap "
            f"{about.get('labelgap')}; this version reads format {FORMAT}: fit the model again"
        )
    return about, document
