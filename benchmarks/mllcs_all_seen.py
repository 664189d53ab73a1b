"""All labels of bibtex seen, counts from the labels themselves (table 4 of the ML-LCS paper)."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from labelgap.fitting import EM
from labelgap.models.mllcs import MLLCS
from mllcs_data import PUBLISHED_SEEN, Split, fit_timed, load_split, precisions
from mllcs_methods import DEVICE
from result_rows import ResultRows

N_FACTORS = 120
COUNT_WEIGHTS = (0.0, 0.1, 1.0)
ITERATIONS = (30, 100)


def weighted_words(split: Split) -> Split:
    """TF-IDF in rows of one length, that of the mean row of binary features."""
    weigh = TfidfTransformer().fit(split.X)
    length = np.sqrt(float(split.X.sum()) / split.X.shape[0])
    X, X_test = (
        sparse.csr_array(length * weigh.transform(part), dtype=np.float32)
        for part in (split.X, split.X_test)
    )
    return split._replace(X=X, X_test=X_test)


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("mllcs_all_seen", ("dataset", "features", "iterations", "count_weight"))
    plain = load_split("bibtex")
    for features, split in (("binary", plain), ("TF-IDF", weighted_words(plain))):
        for n_iter, weight in itertools.product(ITERATIONS, COUNT_WEIGHTS):
            wanted = {"dataset": "bibtex", "features": features, "iterations": n_iter}
            wanted["count_weight"] = weight
            if rows.find(**wanted):
                continue
            method = "ML-LCS" if weight else "LFM-SL"
            settings = {"count_weight": weight, "device": DEVICE, "random_state": 0}
            model = MLLCS(N_FACTORS, inference=EM(n_iter, 0.0, solver="exact"), **settings)
            seconds = fit_timed(model, split.X, split.Y)
            values = precisions(split.Y_test, model.decision_function(split.X_test))
            row = {"experiment": "all seen", **wanted, "method": method}
            row["published"] = PUBLISHED_SEEN[method]
            rows.add({**row, **values, "fit_seconds": seconds})


if __name__ == "__main__":
    main()
