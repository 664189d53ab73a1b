"""The same classifier on observed entries, on unknown as negative, filled in, and on mended labels.

Entries unknown at random, or positives dropped without a trace; complete test rows. The penalty of
the classifier is chosen for every method alike, for each set, kind of gap and rate (of large sets
and of forests for each kind of gap, at its middle rate), by the area under the ROC curve over all
recorded entries of held-out training rows of a run that is not in the table: three folds of at most
3,000 rows, of small sets repeated until that many rows were judged; for forests once, of at most
1,500 rows. Mend takes the classifier as it was chosen for the observed entries.

    python benchmarks/mend_tables.py [sets] [--classifier logistic] [--gaps entries positives]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from labelgap import BinaryRelevance, LabelPrior, Mend, metrics
from labelgap.mending import NeighborsCompleter, ScoreCompleter
from labelgap.mending._soft_label import SoftLabel
from labelgap.mending._soft_targets import fit_labels, scores_of
from labelgap.yardsticks._label_prior import observed_frequency
from mend_data import CHOSEN_ON, CONFIRMED_ON, GAPS, LARGE, TEXT, Run, draw_run, half_of, score
from result_rows import ResultRows

OBSERVED, NEGATIVE, MENDED = "observed entries", "unknown as negative", "mended"
N_FOLDS, ROWS_JUDGED, ROWS_OF_FORESTS = 3, 3000, 1500


class Filled:
    """The classifier on labels whose unknown entries a completer filled in, and nothing tried."""

    def __init__(self, classifier: Any, completer: Any, device: str | None) -> None:
        self.classifier, self.completer, self.device = classifier, completer, device

    def fit(self, X: Any, labels: Any) -> Filled:
        columns = self.completer.fit(X, labels).columns(X, labels)
        soft = (self._filled(labels, label, column) for label, column in enumerate(columns))
        frequency = observed_frequency(labels)
        self.models_ = fit_labels(self.classifier, X, soft, frequency, device=self.device)
        return self

    def _filled(self, labels: Any, label: int, column: np.ndarray) -> SoftLabel:
        rows, values = labels.column(label)
        column[rows] = values
        return SoftLabel(np.arange(column.size), column, np.ones(column.size))

    def predict_proba(self, X: Any) -> np.ndarray:
        return expit(np.column_stack([scores_of(one, X) for one in self.models_]))

    def predict(self, X: Any) -> np.ndarray:
        return (self.predict_proba(X) > 0.5).astype(int)


def settings(name: str, classifier: str) -> tuple[float, ...]:
    """Penalties C of logistic regressions, or the smallest leaf of a forest."""
    if classifier == "forest":
        return (1, 3)
    if name in TEXT and classifier == "logistic":
        return (1.0, 3.0, 10.0, 30.0)
    return (0.003, 0.01, 0.03, 0.1)


def base(classifier: str, setting: float) -> Any:
    if classifier == "forest":
        leaf: Any = {"min_samples_leaf": int(setting)}
        return RandomForestClassifier(20, max_samples=0.3, random_state=0, **leaf)
    return LogisticRegression(C=setting)


def methods(
    gap: str, classifier: str, setting: float, device: str | None
) -> dict[str, Callable[[], Any]]:
    """With positives dropped, nothing is known to be missing: nothing can be filled in."""
    zeros: Any = "ambiguous" if gap == "positives" else "irrelevant"
    device = None if classifier == "forest" else device
    one = base(classifier, setting)
    found: dict[str, Callable[[], Any]] = {
        OBSERVED: lambda: BinaryRelevance(one, device=device),
        MENDED: lambda: Mend(one, zeros=zeros, device=device, random_state=0),
    }
    if gap == "entries":
        found[NEGATIVE] = lambda: BinaryRelevance(one, unknown="negative", device=device)
        found["filled with means"] = lambda: Filled(one, ScoreCompleter(LabelPrior()), device)
        found["filled by neighbours"] = lambda: Filled(one, NeighborsCompleter(), device)
    return found


class Tables:
    """The rows of one classifier on one set."""

    def __init__(self, name: str, classifier: str, device: str | None) -> None:
        self.name, self.classifier, self.device = name, classifier, device
        key = ("dataset", "classifier", "gap", "rate", "method")
        self.rows = ResultRows("mend_tables", (*key, "run"))
        self.tried = ResultRows("mend_selection", (*key, "setting"))

    def draw(self, gap: str, rate: float, seed: int) -> Run:
        return draw_run(self.name, gap, rate, seed, kernel=self.classifier == "kernel")

    def choose(self, gap: str, rate: float, method: str) -> float:
        method = OBSERVED if method == MENDED else method
        if self.name in LARGE or self.classifier == "forest":
            rate = GAPS[gap][1]
        wanted = {"dataset": self.name, "classifier": self.classifier, "gap": gap, "rate": rate}
        found = []
        for setting in settings(self.name, self.classifier):
            row = self.tried.find(**wanted, method=method, setting=setting)
            if row is None:
                row = {"experiment": "selection", **wanted, "method": method, "setting": setting}
                row["micro_auc"] = self.held_out_area(gap, rate, method, setting)
                self.tried.add(row)
            found.append((row["micro_auc"], setting))
        return max(found)[1]

    def held_out_area(self, gap: str, rate: float, method: str, setting: float) -> float:
        values = []
        run = self.draw(gap, rate, 0)
        forest = self.classifier == "forest"
        for inner in folds(run, ROWS_OF_FORESTS, 1) if forest else held_out(run):
            make = methods(gap, self.classifier, setting, self.device)[method]
            scores = make().fit(inner.X, inner.Y).predict_proba(inner.X_test)
            values.append(metrics.auc(inner.Y_test, scores, average="micro"))
        return float(np.mean(values))

    def measure(self, gap: str, rate: float, method: str, seed: int) -> None:
        wanted = {"dataset": self.name, "classifier": self.classifier, "gap": gap, "rate": rate}
        wanted |= {"method": method, "run": seed}
        if self.rows.find(**wanted):
            return
        setting = self.choose(gap, rate, method)
        run = self.draw(gap, rate, seed)
        start = time.perf_counter()
        model = methods(gap, self.classifier, setting, self.device)[method]().fit(run.X, run.Y)
        seconds = time.perf_counter() - start
        row = {"experiment": "tables", **wanted, "setting": setting, **score(model, run)}
        row |= {"fit_seconds": seconds, "device": self.device}
        row["half"] = half_of(self.name)
        if isinstance(model, Mend):
            row |= {"recorded": model.recorded_, "weight": model.completed_.weights.max()}
            row["completer"] = model.verdict_.plan.completer if model.verdict_ else None
            row["labels_mended"] = float((model.completed_.weights > 0).mean())
        self.rows.add(row)


def held_out(run: Run) -> Iterator[Run]:
    """Folds of the training rows, with the gaps that they have."""
    return folds(run, ROWS_JUDGED, -(-ROWS_JUDGED // run.Y.n_rows))


def folds(run: Run, most_rows: int, n_repeats: int) -> Iterator[Run]:
    for repeat in range(n_repeats):
        some = np.random.default_rng(repeat).permutation(run.Y.n_rows)[:most_rows]
        for fit, held in KFold(N_FOLDS).split(some):
            fit, held = np.sort(some[fit]), np.sort(some[held])
            yield Run(run.X[fit], run.Y[fit], run.X[held], run.Y[held])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*CHOSEN_ON, *CONFIRMED_ON])
    parser.add_argument(
        "--classifier", default="logistic", choices=["logistic", "kernel", "forest"]
    )
    parser.add_argument("--gaps", nargs="*", default=list(GAPS))
    parser.add_argument("--rates", nargs="*", type=float, help="only these")
    parser.add_argument("--runs", type=int, help="5, or 3 for large sets, by default")
    parser.add_argument("--methods", nargs="*", help="only these")
    parser.add_argument("--device", help="of torch, for logistic regressions")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.sets:
        tables = Tables(name, arguments.classifier, arguments.device)
        n_runs = arguments.runs or (3 if name in LARGE else 5)
        for seed in range(1, 1 + n_runs):
            for gap in arguments.gaps:
                for rate in arguments.rates or GAPS[gap]:
                    for method in methods(gap, arguments.classifier, 1.0, None):
                        if not arguments.methods or method in arguments.methods:
                            tables.measure(gap, rate, method, seed)


if __name__ == "__main__":
    main()
