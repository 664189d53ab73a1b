"""bibtex: precision against the share of seen labels and against iterations.

Figures 2 and 3 of the ML-LCS paper; and iterations once more on held-out training rows, which is
what the default number of them rests on.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from labelgap.baselines import LatentCOSTA
from labelgap.fitting import EM
from mllcs_data import Split, draw, hold_out, load_split, measure
from mllcs_methods import DEVICE, choose_penalty, methods, mllcs
from result_rows import ResultRows

SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
N_DRAWS = 2
COMPARED = ("vote", "COSTA", "COSTA, latent", "ML-LCS, moments")
HELD_OUT_ITERATIONS = (10, 20, 30, 50, 100)
ITERATIONS = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)


def shares(split: Split) -> None:
    rows = ResultRows("mllcs_shares", ("share_seen", "draw", "method"))
    loop = EM(30, 0.0, solver="exact")
    candidates = methods("bibtex", split, choose_penalty("bibtex", split), loop)
    for seed in range(N_DRAWS):
        for share in SHARES:
            hidden = draw(split, seed, 1 - share)
            for method in COMPARED:
                wanted = {"share_seen": share, "draw": seed, "method": method}
                if rows.find(**wanted) is None:
                    row = {"experiment": "shares", "dataset": "bibtex", **wanted}
                    rows.add({**row, **measure(candidates[method](), split, hidden)})


def iterations(split: Split) -> None:
    """A fit of its own for every point: the first iterations of all of them are the same."""
    rows = ResultRows("mllcs_iterations", ("method", "iterations"))
    hidden = draw(split, 0)
    for n in ITERATIONS:
        loop = EM(n, 0.0, solver="exact")
        compared: dict[str, Any] = {
            "ML-LCS, moments": mllcs("bibtex", unseen="moments", inference=loop),
            "ML-LCS, linear map": mllcs("bibtex", unseen="linear", inference=loop),
            "COSTA, latent": LatentCOSTA(inference=loop, device=DEVICE, random_state=0),
        }
        for method, model in compared.items():
            if rows.find(method=method, iterations=n) is None:
                row = {"experiment": "iterations", "dataset": "bibtex", "draw": 0}
                row |= {"method": method, "iterations": n}
                rows.add({**row, **measure(model, split, hidden)})


def held_out_iterations(split: Split) -> None:
    """No test row plays a part; three draws of the unseen half."""
    rows = ResultRows("mllcs_held_out", ("method", "iterations", "draw"))
    inner = hold_out(split)
    for seed in range(3):
        hidden = draw(inner, seed)
        for n in HELD_OUT_ITERATIONS:
            for rule in ("moments", "constrained"):
                wanted = {"method": f"ML-LCS, {rule}", "iterations": n, "draw": seed}
                if rows.find(**wanted) is None:
                    model = mllcs("bibtex", unseen=rule, inference=EM(n, 0.0, solver="exact"))
                    row = {"experiment": "held-out iterations", "dataset": "bibtex"}
                    rows.add({**row, **wanted, **measure(model, inner, hidden)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["iterations", "held-out", "shares"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    split = load_split("bibtex")
    if "iterations" in arguments.parts:
        iterations(split)
    if "held-out" in arguments.parts:
        held_out_iterations(split)
    if "shares" in arguments.parts:
        shares(split)


if __name__ == "__main__":
    main()
