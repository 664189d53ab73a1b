"""What forests say of hidden entries: from the features, with other labels as columns, or after.

Entries unknown at random on the sets that choices were made on, in runs that are not in the tables.
A forest of the features alone; one of the features and the codes of the other labels; and a forest
of the features whose log-odds a logistic regression joins with the codes, which is what
``LabelwiseCompleter`` does.

    python benchmarks/mend_forests.py [sets] [--runs 11 12]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from labelgap import Labels, metrics
from labelgap.mending import Completer, LabelwiseCompleter
from labelgap.mending._labelwise import label_codes, without_column
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import readable_by_workers
from mend_data import CHOSEN_ON, draw_run
from mend_tables import base
from result_rows import ResultRows

RATE = 0.6
LEAF = 3


class OneForest(Completer):
    """A forest per label, of the features and perhaps the codes of the other labels."""

    def __init__(self, forest: Any, with_codes: bool) -> None:
        self.forest, self.with_codes = forest, with_codes

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> OneForest:
        self.frequency_ = observed_frequency(labels)
        self.models_ = []
        for label in range(labels.n_labels):
            rows, values = labels.column(label)
            seen = self._seen(X, labels, label)[rows]
            self.models_.append(clone(self.forest).fit(seen, values.astype(int)))
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        for label, model in enumerate(self.models_):
            votes = model.predict_proba(self._seen(X, labels, label))
            yield votes[:, 1] if votes.shape[1] == 2 else np.full(X.shape[0], model.classes_[0])

    def _seen(self, X: Any, labels: Labels, label: int) -> Any:
        if not self.with_codes:
            return X
        codes = without_column(label_codes(labels, self.frequency_), label)
        if sparse.issparse(X):
            joined = sparse.csr_array(sparse.hstack([X, codes], format="csr"))
            return readable_by_workers(joined)
        return np.hstack([X, codes.toarray()])


def variants() -> dict[str, Completer]:
    forest = base("forest", LEAF)
    return {
        "features alone": OneForest(forest, with_codes=False),
        "labels as columns": OneForest(forest, with_codes=True),
        "labels after": LabelwiseCompleter(forest),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(CHOSEN_ON))
    parser.add_argument("--runs", nargs="*", type=int, default=[11, 12])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_forests", ("dataset", "rate", "variant", "run"))
    for name in arguments.sets:
        for seed in arguments.runs:
            run, whole = (draw_run(name, "entries", rate, seed) for rate in (RATE, 0.0))
            known = ~np.isnan(run.Y.to_dense())
            hidden = np.where(known, np.nan, whole.Y.to_dense())
            for variant, completer in variants().items():
                wanted = {"dataset": name, "rate": RATE, "variant": variant, "run": seed}
                if rows.find(**wanted):
                    continue
                start = time.process_time()
                columns = list(completer.fit(run.X, run.Y).columns(run.X, run.Y))
                seconds = time.process_time() - start
                # all trees may be wrong, which must not cost an infinite loss
                chances = np.column_stack(columns).clip(0.005, 0.995)
                row = {"experiment": "forests", **wanted, "fit_seconds": seconds}
                row["hidden_log_loss"] = metrics.log_loss(hidden, chances)
                row["hidden_auc"] = metrics.auc(hidden, chances, average="micro")
                rows.add(row)


if __name__ == "__main__":
    main()
