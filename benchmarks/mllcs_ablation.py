"""bibtex, half of the labels unseen: what each part of ML-LCS does, over five draws.

- kappa as derived and as printed, where the counts matter most: linear map, counts of weight 1;
- the ways to treat unseen labels, and the map estimated jointly;
- exposure, on the labels as they are and after 40% of the positives were forgotten;
- counts on other rows than those of the fit. On its own rows, Y_s' y_u = M is a linear system that
  nearly determines y_u; a corpus from elsewhere tells much less.

All fits have 30 iterations: mllcs_curves.py says what more of them would change.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

from labelgap.fitting import EM
from labelgap.models.mllcs import MLLCS
from labelgap.models.mllcs._counts import Counts
from labelgap.protocols import cooccurrence, hide_labels, hide_positives
from mllcs_data import Split, draw, half_of_rows, load_split, measure
from mllcs_methods import choose_penalty, has_rule, methods
from mllcs_methods import mllcs as with_settings
from result_rows import ResultRows

N_DRAWS = 5
FORGOTTEN = 0.4
LOOP = EM(30, 0.0, solver="exact")


class PrintedKappa(MLLCS):
    """ML-LCS with (m + r) / 2 in the place of (m - r) / 2, as printed."""

    def fit(self, X: Any, Y: Any = None, cooccurrence: Any = None) -> MLLCS:
        with mock.patch.object(Counts, "kappa_sign", 1.0):
            return super().fit(X, Y, cooccurrence=cooccurrence)


def mllcs(**settings: Any) -> MLLCS:
    return with_settings("bibtex", inference=LOOP, **{"unseen": "moments", **settings})


def printed_kappa(**settings: Any) -> MLLCS:
    return PrintedKappa(**mllcs(**settings).get_params(deep=False))


def variants() -> dict[tuple[str, str], Callable[[], Any]]:
    """(what is varied, its value): model."""
    found: dict[tuple[str, str], Callable[[], Any]] = {}
    for weight in (0.1, 1.0):
        settings = {"unseen": "linear", "count_weight": weight}
        group = f"kappa, counts of weight {weight:g}"
        found[group, "derived"] = lambda s=settings: mllcs(**s)
        found[group, "printed"] = lambda s=settings: printed_kappa(**s)
    for rule in ("linear", "kernel", "moments", "constrained"):
        if has_rule(rule):
            found["unseen labels", rule] = lambda rule=rule: mllcs(unseen=rule)
    found["unseen labels", "linear, joint"] = lambda: mllcs(unseen="linear", joint=True)
    for weight in (0.0, 0.1, 1.0):
        settings = {"count_weight": weight}
        found["weight of the counts", f"{weight:g}"] = lambda s=settings: mllcs(**s)
    return found


def exposures() -> dict[str, Callable[[], Any]]:
    return {
        "none": lambda: mllcs(),
        "0.7": lambda: mllcs(exposure=0.7),
        "learned": lambda: mllcs(exposure="learn"),
    }


class Ablation:
    """One measurement per (what is varied, value, draw)."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.rows = ResultRows("mllcs_ablation", ("varied", "value", "draw"))

    def add(self, varied: str, value: str, seed: int, make: Callable, *data: Any) -> None:
        if self.rows.find(varied=varied, value=value, draw=seed) is None:
            row = {"experiment": "ablation", "dataset": "bibtex", "varied": varied}
            self.rows.add({**row, "value": value, "draw": seed, **measure(make(), *data)})

    def settings(self, seed: int) -> None:
        hidden = draw(self.split, seed)
        for (varied, value), make in variants().items():
            self.add(varied, value, seed, make, self.split, hidden)

    def exposure(self, seed: int) -> None:
        whole = self.split.Y.with_zeros("ambiguous")
        forgotten = hide_positives(self.split.Y, FORGOTTEN, random_state=seed).labels
        for labels, words in ((whole, "as they are"), (forgotten, "40% of positives forgotten")):
            hidden = hide_labels(labels, 0.5, random_state=seed)
            for value, make in exposures().items():
                self.add(f"exposure, labels {words}", value, seed, make, self.split, hidden)

    def corpus(self, seed: int, C: float) -> None:
        half, others = half_of_rows(self.split, seed)
        hidden = hide_labels(half.Y, 0.5, random_state=seed)
        elsewhere = cooccurrence(others, hidden.seen)
        candidates = methods("bibtex", half, C, LOOP)
        names = ("vote", "ML-LCS, linear map", "ML-LCS, moments", "ML-LCS, constrained")
        for name in names:
            if name in candidates:
                make, data = candidates[name], (half, hidden)
                self.add("half of the rows, counts on these", name, seed, make, *data)
                data = (half, hidden, elsewhere)
                self.add("half of the rows, counts on the others", name, seed, make, *data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["settings", "corpus", "exposure"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    split = load_split("bibtex")
    ablation, C = Ablation(split), choose_penalty("bibtex", split)
    for seed in range(N_DRAWS):
        if "settings" in arguments.parts:
            ablation.settings(seed)
        if "corpus" in arguments.parts:
            ablation.corpus(seed, C)
        if "exposure" in arguments.parts:
            ablation.exposure(seed)


if __name__ == "__main__":
    main()
