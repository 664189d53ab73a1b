"""What Mend's choices were made by: ways to complete and to learn, on the four sets chosen on.

Splits and gaps are drawn as in ``mend_tables``, with runs that are not in its table; the penalty is
the one chosen there for the observed entries. Labels are completed and learned from without any
trial, unless the row says Mend. ``hidden_log_loss`` is that of the completed chances at the entries
that were hidden (with positives dropped, of the order of the unrecorded entries: ``hidden_auc``).
Rows of "Mend without doubt" are of a version that completed only where trials saw a gain, "Mend" is
the last one, with its defaults. Rows with positives dropped were made while cross-fitted completers
still began with a model of all rows, which matters where penalties are weak.

    python benchmarks/mend_choices.py [sets] [--runs 11 12 13] [--gaps entries positives]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from labelgap import BinaryRelevance, Mend, metrics
from labelgap.data import load_dataset
from labelgap.mending import (
    FactorCompleter,
    LabelwiseCompleter,
    NeighborsCompleter,
    StackedCompleter,
)
from labelgap.mending._completers import cross_fitted
from labelgap.mending._filling import mended_label
from labelgap.mending._recording import relevance_log_odds
from labelgap.mending._soft_targets import fit_labels, mean_log_odds
from labelgap.mending._trust import Plan
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._together import scores_together
from mend_data import CHOSEN_ON, GAPS, Run, draw_run
from mend_tables import OBSERVED, Tables
from result_rows import ResultRows

KEY = ("dataset", "gap", "rate", "run", "variant")
Found = Iterator[tuple[str, np.ndarray, dict[str, float]]]


class Study:
    """Everything that is tried on one split with its gaps."""

    def __init__(self, name: str, gap: str, rate: float, seed: int, device: str | None) -> None:
        self.run: Run = draw_run(name, gap, rate, seed)
        self.penalty = Tables(name, "logistic", None).choose(gap, rate, OBSERVED)
        self.classifier, self.device = LogisticRegression(C=self.penalty), device
        data = load_dataset(name)
        order = np.random.default_rng(seed).permutation(data.Y.n_rows)
        self.truth = np.asarray(data.Y[np.sort(order[: self.run.Y.n_rows])].to_dense())
        self.labels = np.arange(data.Y.n_labels)
        plain = BinaryRelevance(self.classifier, device=device).fit(self.run.X, self.run.Y)
        self.plain = plain.estimators_
        self.before = scores_together(self.plain, self.run.X_test)

    def labelwise(self, variance: float | None = None) -> LabelwiseCompleter:
        given = self.penalty if variance is None else variance
        return LabelwiseCompleter(self.classifier, label_variance=given, device=self.device)

    def chances(self, completer: Any, folds: int | None = None) -> list[np.ndarray]:
        X, Y = self.run.X, self.run.Y
        if folds is None:
            warm = isinstance(completer, LabelwiseCompleter)
            options = {"start": self.plain} if warm else {}
            return list(completer.fit(X, Y, self.labels, **options).columns(X, Y))
        order = np.random.default_rng(0).permutation(Y.n_rows)
        parts = [np.sort(part) for part in np.array_split(order, folds)]
        return list(cross_fitted(completer, X, Y, self.labels, parts))

    def taught(self, columns: list[np.ndarray], plan: Plan, tol: float = 1e-4) -> np.ndarray:
        X, Y = self.run.X, self.run.Y
        soft = (mended_label(Y, label, column, plan) for label, column in enumerate(columns))
        one = LogisticRegression(C=self.penalty, tol=tol)
        frequency = observed_frequency(Y)
        models = fit_labels(one, X, soft, frequency, start=self.plain, device=self.device)
        return scores_together(models, self.run.X_test)

    def entries(self, only: list[str]) -> Found:
        unknown = np.isnan(np.asarray(self.run.Y.to_dense()))
        completers = {f"labels' variance {v:g}": self.labelwise(v) for v in (1.0, 3.0, 10.0)}
        completers["labels' variance C"] = self.labelwise()
        completers["neighbours"] = NeighborsCompleter()
        completers["factors"] = FactorCompleter(device=self.device)
        both = [self.labelwise(3.0), FactorCompleter(device=self.device)]
        completers["labels' variance 3 and factors, stacked"] = StackedCompleter(both)
        for name, completer in completers.items():
            if only and not any(f"{one}, ".startswith(f"{name}, ") for one in only):
                continue
            columns = self.chances(completer)
            said = np.clip(np.column_stack(columns), 1e-6, 1 - 1e-6)[unknown]
            facts = {"hidden_log_loss": float(log_loss(self.truth[unknown], said))}
            after = self.taught(columns, Plan(1.0, 1.0))
            yield name, after, facts
            yield f"{name}, hedged", mean_log_odds(self.before, after), facts
            if name == "labels' variance 3":
                yield f"{name}, exact", self.taught(columns, Plan(1.0, 1.0), 1e-6), facts
                yield f"{name}, half weight", self.taught(columns, Plan(0.5, 1.0)), facts

    def positives(self) -> Found:
        unsure = np.asarray(self.run.Y.to_dense()) == 0
        rate = Mend(self.classifier, zeros="ambiguous", device=self.device)
        rate = rate.fit(self.run.X, self.run.Y)._rate
        for folds in (3, 2):
            for v in (None, 3.0):
                columns = self.chances(self.labelwise(v), folds)
                said = np.column_stack(columns)[unsure]
                facts = {"hidden_auc": float(roc_auc_score(self.truth[unsure], said))}
                for what, c in (("", rate), (", halfway", (1 + rate) / 2)):
                    after = self.taught(columns, Plan(1.0, c))
                    name = f"labels' variance {'C' if v is None else f'{v:g}'}, {folds} folds{what}"
                    yield name, after, facts
                    before = relevance_log_odds(self.before, c)
                    yield f"{name}, hedged", mean_log_odds(before, after), facts

    def every(self, gap: str, only: list[str]) -> Found:
        yield OBSERVED, self.before, {}
        if gap == "entries":
            yield from self.entries(only)
        elif not only or any(one.startswith("labels'") for one in only):
            yield from self.positives()
        for name, rounds in (("Mend", 1), ("Mend, up to 4 rounds", 4)):
            if not only or name in only:
                yield name, *self.mended(gap, rounds)

    def mended(self, gap: str, max_rounds: int) -> tuple[np.ndarray, dict[str, float]]:
        zeros: Any = "ambiguous" if gap == "positives" else "irrelevant"
        mend = Mend(self.classifier, zeros=zeros, max_rounds=max_rounds, device=self.device)
        mend.fit(self.run.X, self.run.Y)
        share = float((mend.completed_.weights > 0).mean())
        facts = {"recorded": mend.recorded_, "labels_mended": share, "rounds": mend.n_rounds_}
        return mend.decision_function(self.run.X_test), facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(CHOSEN_ON))
    parser.add_argument("--gaps", nargs="*", default=list(GAPS))
    parser.add_argument("--runs", type=int, nargs="*", default=[11, 12, 13, 14, 15])
    parser.add_argument("--only", nargs="*", default=[], help="these variants")
    parser.add_argument("--device", help="of torch")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_choices", KEY)
    for name in arguments.sets:
        for seed in arguments.runs:
            for gap in arguments.gaps:
                for rate in GAPS[gap]:
                    wanted = {"dataset": name, "gap": gap, "rate": rate, "run": seed}
                    only = arguments.only
                    if only and all(rows.find(**wanted, variant=one) for one in only):
                        continue
                    study = Study(name, gap, rate, seed, arguments.device)
                    for variant, scores, facts in study.every(gap, only):
                        if only and variant not in only:
                            continue
                        row = {"experiment": "choices", **wanted, "variant": variant, **facts}
                        if not rows.find(**row):
                            rows.add(row | judged(study.run.Y_test, scores))


def judged(truth: Any, scores: np.ndarray) -> dict[str, float]:
    return {
        "average_precision": float(metrics.average_precision(truth, scores)),
        "macro_auc": float(metrics.auc(truth, expit(scores), average="macro")),
    }


if __name__ == "__main__":
    main()
