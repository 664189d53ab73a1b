"""A fit with the whole kernel matrix on all rows of corel16k: seconds and peak memory.

python benchmarks/rmfl_large.py [--approximation nystroem]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from labelgap import RMFL
from labelgap.data import load_dataset
from labelgap.protocols import hide_per_row
from result_rows import ResultRows, peak_gigabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="corel16k1")
    parser.add_argument("--approximation", choices=["nystroem", "random_features"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("rmfl_large", ("dataset", "approximation"))
    key = {"dataset": arguments.dataset, "approximation": arguments.approximation}
    if rows.find(**key):
        print(rows.find(**key))
        return
    data = load_dataset(arguments.dataset)
    dense = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    X = StandardScaler().fit_transform(dense)
    Y = hide_per_row(data.Y, 0.4, random_state=0).labels
    model = RMFL(20, ridge_v=10.0, approximation=arguments.approximation, tol=1e-4, random_state=0)
    before = peak_gigabytes()
    start = time.perf_counter()
    model.fit(X, Y)
    seconds = time.perf_counter() - start
    row = {"experiment": "large", **key, "n_rows": X.shape[0], "n_labels": Y.n_labels}
    row |= {"fit_seconds": seconds, "gigabytes_before": before, "peak_gigabytes": peak_gigabytes()}
    row |= {"n_iter": model.n_iter_, "kernel_error": model.approximation_error_}
    rows.add(row)


if __name__ == "__main__":
    main()
