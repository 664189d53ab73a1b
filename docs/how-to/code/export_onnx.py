"""A linear model as an ONNX file, and what runs it."""

# ruff: noqa: E402  (each part of the page imports what it uses)

from pathlib import Path
from tempfile import TemporaryDirectory

folder = TemporaryDirectory()
file = Path(folder.name, "tags.onnx")

# [fit]
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelgap import BinaryRelevance, Labels
from labelgap.generators import make_low_rank

made = make_low_rank(300, 8, 5, random_state=0)
labels = Labels.from_dense(made.full.to_dense(), names=["red", "green", "blue", "old", "new"])
model = make_pipeline(StandardScaler(), BinaryRelevance()).fit(made.X, labels)

# [export]
import onnx

from labelgap.export import to_onnx

graph = to_onnx(model, feature_names=[f"sensor {j}" for j in range(8)])
onnx.save(graph, file)
print([node.op_type for node in graph.graph.node])

# [run]
import json

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(file)
(proba,) = session.run(["probabilities"], {"features": made.X[:100]})
about = session.get_modelmeta().custom_metadata_map
print(json.loads(about["label_names"]))
print(np.allclose(proba, model.predict_proba(made.X[:100]), atol=1e-5))

# [words]
from sklearn.feature_extraction.text import TfidfVectorizer

notes = ["Send the contract today!", "a new contract", "lunch at noon", "today: lunch"]
named = Labels.from_dense([[1, 1], [0, 1], [0, 0], [1, 0]], names=["urgent", "legal"])
reader = make_pipeline(TfidfVectorizer(), BinaryRelevance()).fit(notes, named)

onnx.save(to_onnx(reader), file)
session = onnxruntime.InferenceSession(file)
texts = np.array(["TODAY", "The contract.", ""], dtype=object)
(proba,) = session.run(["probabilities"], {"texts": texts})
print(proba.round(2).tolist())
print(np.allclose(proba, reader.predict_proba(texts)))

# [refuse]
from labelgap import KNeighborsLabels

try:
    to_onnx(KNeighborsLabels().fit(made.X, labels))
except ValueError as error:
    print(error)
