"""The label tree and one model per label on many labels, complete and with 40% of positives dropped.

Seconds are those of the processor, one thread; megabytes are those of the pickled model. Rows of
features have unit length. Propensities are those of the complete training labels. napkinXC and
libpecos run at their defaults where they are installed (``pip install napkinxc libpecos``).
libpecos 1.2.8 needs two changes for numpy 2 and scipy 1.17 in pecos/utils/smat_util.py:
``smat._sputils`` for ``smat.sputils``, and ``copy=copy or None`` in calls of ``np.array``.

    python benchmarks/label_tree_speed.py [--datasets eurlex4k delicious bibtex] [--methods tree ...]
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance, ProbabilisticLabelTree
from labelgap.data import load_dataset
from labelgap.kernels.ranking import top_k
from labelgap.metrics import precision_at_k, propensities, propensity_scored_precision_at_k
from labelgap.protocols import hide_positives
from result_rows import ResultRows

DEPTH = 5
METHODS: dict[str, Callable[[], Any]] = {
    "tree": ProbabilisticLabelTree,
    "tree, weights of 1": lambda: ProbabilisticLabelTree(C=1.0, positive_weight=1.0),
    "binary relevance": BinaryRelevance,
    "liblinear": lambda: OneVsRestClassifier(LinearSVC()),
    "napkinxc": lambda: NapkinTree(),
    "libpecos": lambda: PecosTree(),
}
PEERS = {"napkinxc": "napkinxc", "libpecos": "pecos"}
# an hour on the large one
LEFT_OUT = {("eurlex4k", "liblinear")}


class NapkinTree:
    """A probabilistic label tree of napkinXC at its defaults."""

    def fit(self, X: Any, Y: Any) -> NapkinTree:
        from napkinxc.models import PLT

        self.folder = tempfile.mkdtemp()
        self.model = PLT(self.folder, threads=1, verbose=False)
        self.model.fit(X, sparse.csr_matrix(Y.positives()).astype(np.float32))
        return self

    def top(self, X: Any) -> np.ndarray:
        found = self.model.predict(X, top_k=DEPTH)
        return np.array([(row + [0] * DEPTH)[:DEPTH] for row in found])

    def __getstate__(self) -> dict:
        return files_in(self.folder)


class PecosTree:
    """XR-Linear of libpecos at its defaults."""

    def fit(self, X: Any, Y: Any) -> PecosTree:
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        X, Y = sparse.csr_matrix(X), sparse.csr_matrix(Y.positives()).astype(np.float32)
        embedded = LabelEmbeddingFactory.create(Y, X, method="pifa")
        self.model = XLinearModel.train(X, Y, C=Indexer.gen(embedded, threads=1), threads=1)
        return self

    def top(self, X: Any) -> np.ndarray:
        found = self.model.predict(sparse.csr_matrix(X), only_topk=DEPTH, threads=1)
        return np.array([(row.indices[np.argsort(-row.data)]) for row in found])

    def __getstate__(self) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(folder)
            return files_in(folder)


def files_in(folder: str) -> dict[str, Any]:
    """What a model takes on disk."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {"files": [path.read_bytes() for path in files]}


def best_labels(model: Any, X: Any) -> np.ndarray:
    """The best labels of each row, best first."""
    if isinstance(model, NapkinTree | PecosTree):
        return model.top(X)
    if isinstance(model, OneVsRestClassifier):
        return top_k(model.decision_function(X), DEPTH)
    return model.predict_topk(X, DEPTH)[0]


def scores_of(best: np.ndarray, n_labels: int) -> np.ndarray:
    scores = np.zeros((best.shape[0], n_labels), np.float32)
    np.put_along_axis(scores, best, np.arange(DEPTH, 0, -1, dtype=np.float32)[None, :], axis=1)
    return scores


def measure(dataset: str, dropped: float, method: str) -> dict[str, Any]:
    data = load_dataset(dataset)
    X = normalize(sparse.csr_matrix(data.X)).astype(np.float32)
    labels = data.Y.with_names(None)
    complete, truth = labels[data.train], labels[data.test]
    Y = hide_positives(complete, dropped, random_state=0).labels if dropped else complete
    model = METHODS[method]()
    # compiled before the clock starts
    ProbabilisticLabelTree(max_leaf=2).fit(X[:300], complete[:300, :8]).predict_topk(X[:3], 2)
    BinaryRelevance().fit(X[:300], complete[:300, :8])
    begin = time.process_time()
    is_sklearn = isinstance(model, OneVsRestClassifier)
    model.fit(X[data.train], Y.positives().astype(int).tocsr() if is_sklearn else Y)
    fitted = time.process_time()
    best = best_labels(model, X[data.test])
    found = scores_of(best, truth.n_labels)
    row = {
        "fit_seconds": fitted - begin,
        "predict_ms": 1e3 * (time.process_time() - fitted) / truth.n_samples,
        "megabytes": len(pickle.dumps(model)) / 1e6,
    }
    worth = propensities(complete)
    for k in (1, 3, 5):
        row[f"precision_at_{k}"] = precision_at_k(truth, found, k=k)
        scored = propensity_scored_precision_at_k(truth, found, k=k, propensities=worth)
        row[f"propensity_scored_precision_at_{k}"] = scored
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["bibtex", "delicious", "eurlex4k"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--dropped", nargs="+", type=float, default=[0.0, 0.4])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("label_tree_speed", ("dataset", "dropped", "method"))
    for dataset in arguments.datasets:
        for dropped in arguments.dropped:
            for method in arguments.methods:
                key = {"dataset": dataset, "dropped": dropped, "method": method}
                absent = method in PEERS and find_spec(PEERS[method]) is None
                if rows.find(**key) or absent or (dataset, method) in LEFT_OUT:
                    continue
                rows.add({**key, **measure(**key)})


if __name__ == "__main__":
    main()
