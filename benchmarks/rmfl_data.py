"""The sets of the RMFL benchmarks, the protocol, the published figures, and the scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from labelgap import Labels, metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_per_row

CRITERIA = ("one_error", "hamming_loss", "ranking_loss", "coverage", "average_precision")
SMALL = ("emotions", "image", "yeast", "scene")
LARGE = ("science", "education", "social", "corel5k", "corel16k1", "corel16k2", "corel16k3")
TEXT = ("science", "education", "social")
RATES = (0.0, 0.4, 0.6, 0.8)

# Tables II, IV, V, VI and VIII (whose percentages are of observed labels), in CRITERIA's order.
PUBLISHED = {
    ("yeast", 0.0): "0.209 0.189 0.157 0.442 0.780",
    ("yeast", 0.4): "0.221 0.193 0.164 0.454 0.769",
    ("yeast", 0.6): "0.222 0.197 0.167 0.461 0.765",
    ("yeast", 0.8): "0.237 0.208 0.177 0.474 0.749",
    ("image", 0.0): "0.251 0.149 0.134 0.165 0.836",
    ("image", 0.4): "0.250 0.149 0.138 0.168 0.834",
    ("image", 0.6): "0.254 0.154 0.140 0.171 0.830",
    ("image", 0.8): "0.275 0.188 0.146 0.174 0.820",
    ("scene", 0.0): "0.174 0.073 0.060 0.064 0.895",
    ("scene", 0.4): "0.180 0.074 0.059 0.063 0.893",
    ("scene", 0.6): "0.181 0.077 0.061 0.065 0.891",
    ("scene", 0.8): "0.192 0.096 0.061 0.066 0.887",
    ("emotions", 0.0): "0.308 0.218 0.186 0.313 0.778",
    ("emotions", 0.4): "0.316 0.222 0.190 0.316 0.774",
    ("emotions", 0.6): "0.331 0.228 0.203 0.329 0.761",
    ("emotions", 0.8): "0.342 0.280 0.214 0.341 0.750",
    ("corel5k", 0.0): "0.632 0.008 0.138 0.307 0.301",
    ("corel5k", 0.4): "0.653 0.009 0.150 0.340 0.290",
    ("corel5k", 0.6): "0.660 0.009 0.161 0.371 0.282",
    ("corel5k", 0.8): "0.711 0.010 0.196 0.468 0.241",
    ("science", 0.0): "0.475 0.032 0.114 0.160 0.613",
    ("science", 0.4): "0.489 0.031 0.112 0.158 0.603",
    ("science", 0.6): "0.492 0.031 0.111 0.158 0.598",
    ("science", 0.8): "0.523 0.035 0.106 0.152 0.580",
    ("education", 0.0): "0.449 0.036 0.086 0.127 0.651",
    ("education", 0.4): "0.455 0.036 0.081 0.122 0.646",
    ("education", 0.6): "0.461 0.037 0.078 0.118 0.645",
    ("education", 0.8): "0.470 0.043 0.074 0.110 0.640",
    ("social", 0.0): "0.264 0.019 0.064 0.090 0.784",
    ("social", 0.4): "0.272 0.019 0.053 0.085 0.782",
    ("social", 0.6): "0.280 0.020 0.058 0.086 0.778",
    ("social", 0.8): "0.299 0.023 0.058 0.077 0.771",
    ("corel16k1", 0.4): "0.649 0.018 0.168 0.333 0.335",
    ("corel16k1", 0.6): "0.660 0.018 0.172 0.334 0.325",
    ("corel16k1", 0.8): "0.683 0.018 0.206 0.402 0.306",
    ("corel16k2", 0.4): "0.637 0.017 0.156 0.312 0.339",
    ("corel16k2", 0.6): "0.648 0.017 0.168 0.337 0.323",
    ("corel16k2", 0.8): "0.673 0.018 0.187 0.377 0.303",
    ("corel16k3", 0.4): "0.643 0.017 0.157 0.323 0.340",
    ("corel16k3", 0.6): "0.656 0.018 0.168 0.326 0.329",
    ("corel16k3", 0.8): "0.670 0.018 0.188 0.397 0.299",
}


class Run(NamedTuple):
    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels


def draw_run(name: str, rate: float, seed: int) -> Run:
    """80% of the rows to learn from, with floor(rate x labels) entries of each of them unknown.

    Features are standardised by the training rows; those of the texts have rows of length one.
    """
    data = load_dataset(name)
    n_rows = data.Y.n_rows
    order = np.random.default_rng(seed).permutation(n_rows)
    train, test = (np.sort(part) for part in np.split(order, [int(0.8 * n_rows)]))
    if name in TEXT:
        X = normalize(sparse.csr_array(data.X, dtype=np.float64))
    else:
        dense = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
        X = StandardScaler().fit(dense[train]).transform(dense)
    Y = data.Y[train]
    if rate > 0:
        Y = hide_per_row(Y, rate, random_state=seed).labels
    return Run(X[train], Y, X[test], data.Y[test])


def some_rows(run: Run, most: int, seed: int = 0) -> Run:
    """At most so many of the training rows, for choosing settings."""
    if run.Y.n_rows <= most:
        return run
    rows = np.sort(np.random.default_rng(seed).permutation(run.Y.n_rows)[:most])
    return run._replace(X=run.X[rows], Y=run.Y[rows])


def score(model: Any, run: Run) -> dict[str, float]:
    """The five criteria on the test rows; coverage is divided by the number of labels."""
    scores = model.decision_function(run.X_test)
    found = {
        "one_error": metrics.one_error(run.Y_test, scores),
        "hamming_loss": metrics.hamming_loss(run.Y_test, model.predict(run.X_test)),
        "ranking_loss": metrics.ranking_loss(run.Y_test, scores),
        "coverage": metrics.coverage(run.Y_test, scores, normalize=True),
        "average_precision": metrics.average_precision(run.Y_test, scores),
    }
    return {name: float(value) for name, value in found.items()}


def published(name: str, rate: float) -> dict[str, float] | None:
    values = PUBLISHED.get((name, rate))
    return None if values is None else dict(zip(CRITERIA, map(float, values.split()), strict=True))
