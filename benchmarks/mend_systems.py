"""The five systems of the library on the sets, gaps, splits and scores of ``mend_tables``.

Each may try four settings (those of ``which_method_models``), once per set and kind of gap, at its
middle rate, by the same folds and the same measure as the penalties of ``mend_tables``. GMFS ranks
features, a fifth of which go to the logistic regression that was chosen for the observed entries;
IMVWL has one view; no label is unseen here, which is what MLLCS is made for. A fit of more than
LIMIT seconds is given up, and so is the system on that set and kind of gap. Settings of IMVWL that
differ in what predicts from its factors share them, and their seconds count for each. On bibtex and
delicious, where half as many factors as features take minutes, it has 50 or 100.

    python benchmarks/mend_systems.py [sets] [--gaps entries positives] [--systems BMLPL ...]
                                      [--runs 1 2 3]

Without any number after ``--runs`` settings are chosen and nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from cpu_limit import OverLimitError, fit_seconds
from labelgap import GMFS, IMVWL, BinaryRelevance, metrics
from mend_data import CHOSEN_ON, CONFIRMED_ON, GAPS, LARGE, Run, draw_run, half_of, score
from mend_tables import OBSERVED, Tables, held_out
from result_rows import ResultRows
from which_method_models import CLASSIFIERS, SELECTORS, SHARE_OF_FEATURES, VIEWS

CANDIDATES: dict[str, list[dict[str, Any]]] = {
    name: CLASSIFIERS[name].candidates for name in ("BMLPL", "MLLCS", "RMFL")
} | {"GMFS": SELECTORS["GMFS"].candidates, "IMVWL": VIEWS["IMVWL"].candidates}
FEW_FACTORS = [
    {"n_factors": 50},
    {"n_factors": 50, "predictor": "logistic"},
    {"n_factors": 50, "predictor": "combined"},
    {"n_factors": 100, "predictor": "combined"},
]
WITH_FEW_FACTORS = ("bibtex", "delicious")
ON_DEVICE = ("MLLCS", "RMFL", "GMFS")
LIMIT = 60.0
KEY = ("dataset", "gap", "rate", "method")


class SelectedFeatures:
    """A logistic regression per label on the features that GMFS ranks first."""

    def __init__(self, C: float, device: str | None, **settings: Any) -> None:
        self.C, self.device, self.settings = C, device, settings

    def fit(self, X: Any, Y: Any) -> SelectedFeatures:
        dense = StandardScaler().fit_transform(_dense(X))
        ranking = GMFS(**self.settings, device=self.device, random_state=0)
        scores = ranking.fit(dense, Y).scores_
        n = max(1, round(SHARE_OF_FEATURES * dense.shape[1]))
        self.columns_ = np.sort(np.argsort(-scores, kind="stable")[:n])
        self.classifier_ = BinaryRelevance(LogisticRegression(C=self.C), device=self.device)
        self.classifier_.fit(X[:, self.columns_], Y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.classifier_.predict_proba(X[:, self.columns_])

    def predict(self, X: Any) -> np.ndarray:
        return self.classifier_.predict(X[:, self.columns_])


class SharedFactors(IMVWL):
    """IMVWL that takes its factors from an earlier fit to the same data, where there was one."""

    earlier: dict[int, Any]

    def _descend(self, problem: Any, k: int, n_labels: int) -> Any:
        start, self.seconds_before_ = time.process_time(), 0.0
        if k not in self.earlier:
            self.earlier[k] = None, LIMIT  # if it is given up
            factors = super()._descend(problem, k, n_labels)
            self.earlier[k] = factors, time.process_time() - start
            return factors
        factors, self.seconds_before_ = self.earlier[k]
        if factors is None:
            raise OverLimitError(f"over {LIMIT:g} s")
        return factors


class OneView:
    """IMVWL on dense features, scaled as its views are in the other tables."""

    def __init__(self, earlier: dict[Any, Any] | None = None, **settings: Any) -> None:
        self.earlier, self.settings = {} if earlier is None else earlier, settings

    def fit(self, X: Any, Y: Any) -> OneView:
        dense = _dense(X)
        scaling: Any = "balance" if dense.min() >= 0 else "range"
        found = hashlib.sha256(dense.tobytes() + Y.states().tobytes()).digest()
        self.model_ = SharedFactors(scaling=scaling, random_state=0, **self.settings)
        self.model_.earlier = self.earlier.setdefault(found, {})
        self.model_.fit(dense, Y)
        self.seconds_before_ = self.model_.seconds_before_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model_.predict_proba(_dense(X))

    def predict(self, X: Any) -> np.ndarray:
        return self.model_.predict(_dense(X))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


class Systems:
    """The rows of one set and one kind of gap."""

    def __init__(self, name: str, gap: str, device: str | None) -> None:
        self.name, self.gap, self.device = name, gap, device
        self.rows = ResultRows("mend_systems", (*KEY, "run"))
        self.tried = ResultRows("mend_systems_selection", (*KEY, "setting"))
        self.factors: dict[Any, Any] = {}

    def made(self, method: str, settings: dict[str, Any], *, trial: bool = False) -> Any:
        if method == "GMFS":
            penalty = Tables(self.name, "logistic", None).choose(self.gap, self.middle, OBSERVED)
            return SelectedFeatures(penalty, self.device, **settings)
        if method == "IMVWL":
            return OneView(self.factors if trial else None, **settings)
        there = {"device": self.device} if method in ON_DEVICE else {}
        return CLASSIFIERS[method].make(**settings, **there)

    @property
    def middle(self) -> float:
        return GAPS[self.gap][1]

    def choose(self, method: str) -> dict[str, Any] | None:
        """The best of the settings; None if all are given up."""
        found = []
        wanted = {"dataset": self.name, "gap": self.gap, "rate": self.middle, "method": method}
        for settings in self.candidates(method):
            row = self.tried.find(**wanted, setting=settings)
            if row is None:
                row = {"experiment": "selection", **wanted, "setting": settings}
                self.tried.add(row | self.held_out_area(method, settings))
                row = self.tried.rows[-1]
            if row["outcome"] == "fitted":
                found.append((row["micro_auc"], settings))
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def candidates(self, method: str) -> list[dict[str, Any]]:
        few = method == "IMVWL" and self.name in WITH_FEW_FACTORS
        return FEW_FACTORS if few else CANDIDATES[method]

    def held_out_area(self, method: str, settings: dict[str, Any]) -> dict[str, Any]:
        values, seconds = [], 0.0
        for inner in held_out(draw_run(self.name, self.gap, self.middle, 0)):
            model = self.made(method, settings, trial=True)
            try:
                taken = fit_seconds(model, inner.X, inner.Y, LIMIT)
            except OverLimitError as reason:
                return {"outcome": str(reason)}
            taken += getattr(model, "seconds_before_", 0.0)
            if taken > LIMIT:
                return {"outcome": f"over {LIMIT:g} s"}
            seconds += taken
            scores = model.predict_proba(inner.X_test)
            values.append(metrics.auc(inner.Y_test, scores, average="micro"))
        return {
            "outcome": "fitted",
            "micro_auc": float(np.mean(values)),
            "fit_seconds": seconds / len(values),
        }

    def measure(self, method: str, rate: float, seed: int) -> None:
        wanted = {"dataset": self.name, "gap": self.gap, "rate": rate, "method": method}
        if self.rows.find(**wanted, run=seed):
            return
        settings = self.choose(method)
        row = {"experiment": "systems", **wanted, "run": seed, "setting": settings}
        row["half"] = half_of(self.name)
        if settings is not None:
            row |= self.fitted(method, settings, draw_run(self.name, self.gap, rate, seed))
        else:
            row["outcome"] = f"over {LIMIT:g} s"
        self.rows.add(row)

    def fitted(self, method: str, settings: dict[str, Any], run: Run) -> dict[str, Any]:
        model = self.made(method, settings)
        try:
            seconds = fit_seconds(model, run.X, run.Y, 3 * LIMIT)
        except OverLimitError as reason:
            return {"outcome": str(reason)}
        where = self.device if method in ON_DEVICE else None
        return {"outcome": "fitted", **score(model, run), "fit_seconds": seconds, "device": where}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*CHOSEN_ON, *CONFIRMED_ON])
    parser.add_argument("--gaps", nargs="*", default=list(GAPS))
    parser.add_argument("--systems", nargs="*", default=list(CANDIDATES))
    parser.add_argument("--runs", nargs="*", type=int, help="1 to 5, or to 3, by default")
    parser.add_argument("--device", help="of torch, for MLLCS, RMFL and GMFS")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.sets:
        every = range(1, 4 if name in LARGE else 6)
        runs = every if arguments.runs is None else arguments.runs
        for gap in arguments.gaps:
            for method in arguments.systems:
                table = Systems(name, gap, arguments.device)
                table.choose(method)
                for seed in runs:
                    for rate in GAPS[gap]:
                        table.measure(method, rate, seed)


if __name__ == "__main__":
    main()
