"""Rows of the measuring scripts under ``benchmarks`` as rows of the ledger; fits nothing.

    python docs/reproduction/convert_rows.py

The scripts draw the same splits and masks as the experiments, so that what they measured need not
be measured again. Rows of the ledger's own runs stay as they are; run this again when the scripts'
rows have grown. Rows without a place in any experiment are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelgap.bench import (
    Cell,
    Experiment,
    Kind,
    Row,
    RowStore,
    Status,
    load_experiments,
    record_gaps,
)
from labelgap.bench._measure import method_params, protocol_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
ROWS = ROOT / "docs" / "reproduction" / "rows"

Measured = dict[str, Any]
Converter = Callable[[list[Measured]], Iterator[Row]]

RMFL_TABLES = {0.0: "rmfl-2", 0.4: "rmfl-4", 0.6: "rmfl-5", 0.8: "rmfl-6"}
GMFS_TABLES = {0.2: "gmfs-2", 0.4: "gmfs-3"}
RMFL_METRICS = ("one_error", "hamming_loss", "ranking_loss", "coverage", "average_precision")
VIEW_METRICS = {
    "one_minus_hl": "one_minus_hamming_loss",
    "one_minus_rl": "one_minus_ranking_loss",
    "ap": "average_precision",
    "auc": "auc_top_t",
    "auc_micro": "auc_micro",
}
VIEW_METHODS = {
    "iMVWL, roots, combined": "iMVWL, combined",
    "mean imputation, roots, tuned": "mean imputation, tuned",
    "mean imputation, roots, kernel ridge": "mean imputation, kernel ridge",
    "k = 0.2 d_min": "iMVWL, k = 0.2 d_min",
    "k = 0.5 d_min": "iMVWL",
    "k = 0.8 d_min": "iMVWL, k = 0.8 d_min",
}
HALVES = {"missing_labels": 0.5, "missing_views": 0.5}
STARTS = {"labels": "RMFL, start from labels", "random": "RMFL, random start"}
ALL_SEEN = {0.0: "LFM-SL", 0.1: "ML-LCS", 1.0: "ML-LCS, counts of weight 1"}


def facts(row: Measured) -> dict[str, Any]:
    """What a script's row says of code and machine."""
    processors = f"{row['cpus']} processors"
    cpu = f"{row['accelerator']}, {processors}" if "accelerator" in row else processors
    found = {"commit": row["commit"], "versions": row["versions"], "python": row["python"]}
    return {**found, "cpu": cpu, "device": row.get("device") or ""}


def result(
    row: Measured, experiment: str, setting: dict, run: int, method: str, **fields: Any
) -> Row:
    common = {"params": row.get("params") or {}, "fit_seconds": row.get("fit_seconds")}
    cell = (experiment, row["dataset"], setting, run, method)
    return Row(*cell, **{**common, **facts(row), **fields})


def chosen(row: Measured, experiment: str, setting: dict, method: str, **fields: Any) -> Row:
    common = {"kind": Kind.SELECTION, "params": row["params"], "fit_seconds": None}
    first = load()[experiment].first_run
    return result(row, experiment, setting, first, method, **{**common, **fields})


def picked(row: Measured, names: Any) -> dict[str, float]:
    return {name: row[name] for name in names if name in row}


def rmfl_tables(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        setting, method = {"missing": row["missing"]}, row["method"]
        name = RMFL_TABLES[row["missing"]]
        if row["dataset"].startswith("corel16k"):
            name = "rmfl-8"
        elif method.startswith("RMFL,"):
            name = "rmfl-9"
        metrics = picked(row, RMFL_METRICS)
        yield result(row, name, setting, row["run"], method, metrics=metrics)


def rmfl_selection(rows: list[Measured]) -> Iterator[Row]:
    """The scripts keep the best candidate of a search alone."""
    for row in rows:
        large = row["dataset"].startswith("corel16k")
        variant = row["method"].startswith("RMFL,")
        name = "rmfl-8" if large else "rmfl-9" if variant else RMFL_TABLES[row["missing"]]
        details = {"n_candidates": row["candidates"], "folds": row["folds"]}
        tried = {"candidates": [row["params"]], "scores": [row["cv_score"]]}
        setting = {"missing": row["missing"]}
        yield chosen(row, name, setting, row["method"], details=details, **tried)


def rmfl_sensitivity(rows: list[Measured]) -> Iterator[Row]:
    """What is not varied is as chosen for table V."""
    choice = next(
        row["params"]
        for row in read("rmfl_selection")
        if (row["dataset"], row["missing"], row["method"]) == ("yeast", 0.6, "RMFL")
    )
    for row in rows:
        name = "rmfl-fig4" if row["varied"].startswith("n_") else "rmfl-fig3"
        setting = picked(row, ("missing", "varied", "value"))
        metrics = picked(row, RMFL_METRICS)
        yield result(row, name, setting, row["run"], "RMFL", metrics=metrics, params=choice)


def rmfl_convergence(rows: list[Measured]) -> Iterator[Row]:
    curves: dict[tuple[str, str], list[Measured]] = {}
    for row in rows:
        curves.setdefault((row["dataset"], row["start"]), []).append(row)
    for (_, start), several in curves.items():
        several.sort(key=lambda row: row["iterations"])
        curve = {name: [row[name] for row in several] for name in ("objective", "change")}
        setting = {"missing": several[0]["missing"]}
        yield result(several[0], "rmfl-fig5", setting, 1, STARTS[start], curve=curve)


def gmfs_tables(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        if row["experiment"] == "tables":
            whole = row["sixths"] in ([1, 2, 3, 4, 5], [6])
            if whole and row["missing"] in GMFS_TABLES:
                yield of_features(row, GMFS_TABLES[row["missing"]])


def gmfs_figures(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        params = row["params"]
        if row["experiment"] == "missing":
            yield of_features(row, "gmfs-fig2")
        elif row["experiment"] == "priors":
            yield of_features(row, "gmfs-fig3")
        elif row["experiment"] == "neighbours":
            yield of_features(row, "gmfs-fig4-neighbours", k=params["k"])
        elif row["experiment"] == "factors":
            yield of_features(row, "gmfs-fig4-factors", n_factors=params["n_factors"])


def of_features(row: Measured, experiment: str, **varied: Any) -> Row:
    setting = {"missing": row["missing"], "scaling": row["scaling"], **varied}
    names = ("average_precision", "hamming_loss")
    curve = {name: row[f"{name}_by_size"] for name in names}
    found = {"metrics": picked(row, names), "curve": curve}
    found |= {"details": {"n_features": row["sizes"]}}
    seconds = {"predict_seconds": row["classify_seconds"]}
    return result(row, experiment, setting, row["run"], row["method"], **found, **seconds)


def gmfs_selection(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        name = GMFS_TABLES.get(row["missing"], "gmfs-fig2")
        tried = picked(row, ("candidates", "scores"))
        yield chosen(row, name, {"missing": row["missing"]}, row["method"], **tried)


def imvwl_accuracy(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        name = "imvwl-3" if row["method"].startswith("iMVWL-") else "imvwl-2"
        yield of_views(row, name, HALVES)


def imvwl_curves(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        setting = {"missing_labels": row["labels"], "missing_views": row["views"]}
        name = "imvwl-fig1" if row["views"] == 0.5 else "imvwl-fig2"
        yield of_views({"dataset": "corel5k_multiview", **row}, name, setting)


def imvwl_sensitivity(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        setting = {**HALVES, **picked(row, ("alpha", "beta"))}
        whole = {"dataset": "corel5k_multiview", "method": "iMVWL", "seed": 0, **row}
        yield of_views(whole, "imvwl-fig3", setting)


def imvwl_convergence(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        whole = {"dataset": "corel5k_multiview", **row}
        curve = {"objective": row["objective"]}
        yield result(whole, "imvwl-fig4", HALVES, 0, row["method"], curve=curve)


def of_views(row: Measured, experiment: str, setting: dict) -> Row:
    metrics = {ours: row[theirs] for theirs, ours in VIEW_METRICS.items() if theirs in row}
    method = VIEW_METHODS.get(row["method"], row["method"])
    return result(row, experiment, setting, row["seed"], method, metrics=metrics)


def mllcs_unseen(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        yield of_labels(row, "mllcs-2", {"seen": 0.5}, row["method"])


def mllcs_shares(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        latent = row["method"] not in ("vote", "COSTA")
        method = row["method"] + (", 30 iterations" if latent else "")
        yield of_labels(row, "mllcs-fig2", {"seen": row["share_seen"]}, method)


def mllcs_iterations(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        setting = {"seen": 0.5, "iterations": row["iterations"]}
        yield of_labels(row, "mllcs-fig3", setting, row["method"])


def mllcs_all_seen(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        method = ALL_SEEN[row["count_weight"]]
        if row["iterations"] != 100:
            method += f", {row['iterations']} iterations"
        yield of_labels({"draw": 0, **row}, "mllcs-4", {"features": row["features"]}, method)


def of_labels(row: Measured, experiment: str, setting: dict, method: str) -> Row:
    kinds = ("precision_at", "unseen_at", "carried_at")
    metrics = {name: value for name, value in row.items() if name.startswith(kinds)}
    # models of factors took the accelerator where there was one, and did not say so
    factors = row.get("method") not in ("vote", "COSTA", "logistic per label")
    device = "cuda" if factors and "accelerator" in row else ""
    return result(row, experiment, setting, row["draw"], method, metrics=metrics, device=device)


def mllcs_selection(rows: list[Measured]) -> Iterator[Row]:
    """One choice serves both methods that are made of classifiers."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        some = [row for row in rows if row["dataset"] == dataset]
        best = max(some, key=lambda row: row["precision_at_1"])
        tried = {"candidates": [{"C": row["C"]} for row in some]}
        tried |= {"scores": [row["precision_at_1"] for row in some]}
        for method in ("vote", "COSTA"):
            yield chosen({**best, "params": {"C": best["C"]}}, "mllcs-2", {}, method, **tried)


def bmlpl_accuracy(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        yield of_topics(row, "bmlpl-2", {"missing": 0.0})


def bmlpl_missing(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        if row["revealed"] == "20% of all entries":
            yield of_topics(row, "bmlpl-3", {"missing": 0.8})


def bmlpl_inference(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        setting = {"missing": 0.0, "iterations": row["iterations"]}
        made = of_topics(row, "bmlpl-fig2-inference", setting)
        yield replace(made, metrics={**made.metrics, "iteration_seconds": row["seconds"]})


def of_topics(row: Measured, experiment: str, setting: dict) -> Row:
    names = ("auc_micro", "auc_instance", "log_loss", *(f"precision_at_{k}" for k in (1, 3, 5)))
    return result(row, experiment, setting, 0, row["method"], metrics=picked(row, names))


def bmlpl_selection(rows: list[Measured]) -> Iterator[Row]:
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        some = [row for row in rows if row["dataset"] == dataset]
        best = max(some, key=lambda row: row["auc_instance"])
        tried = {"candidates": [row["params"] for row in some]}
        tried |= {"scores": [row["auc_instance"] for row in some]}
        yield chosen(best, "bmlpl-2", {"missing": 0.0}, "BMLPL, tuned", **tried)


def bmlpl_topics(rows: list[Measured]) -> Iterator[Row]:
    names = ("labels", "weights", "share", "coherence")
    topics = [picked(row, names) for row in rows]
    metrics = {"coherence": sum(row["coherence"] for row in rows) / len(rows)}
    found = {"metrics": metrics, "details": {"topics": topics}}
    yield result(rows[0], "bmlpl-4", {"missing": 0.0}, 0, "BMLPL", **found)


def bmlpl_scaling(rows: list[Measured]) -> Iterator[Row]:
    for row in rows:
        metrics = {name: float(row[name]) for name in ("seconds_per_iteration", "n_positives")}
        setting = {"share": row["share"]}
        yield result(row, "bmlpl-fig2-scaling", setting, 0, "BMLPL", metrics=metrics)


CONVERTERS: dict[str, Converter] = {
    converter.__name__: converter
    for converter in (
        rmfl_tables,
        rmfl_selection,
        rmfl_sensitivity,
        rmfl_convergence,
        gmfs_tables,
        gmfs_figures,
        gmfs_selection,
        imvwl_accuracy,
        imvwl_curves,
        imvwl_sensitivity,
        imvwl_convergence,
        mllcs_unseen,
        mllcs_shares,
        mllcs_iterations,
        mllcs_all_seen,
        mllcs_selection,
        bmlpl_accuracy,
        bmlpl_missing,
        bmlpl_inference,
        bmlpl_selection,
        bmlpl_topics,
        bmlpl_scaling,
    )
}
_experiments: dict[str, Experiment] = {}


def load() -> dict[str, Experiment]:
    if not _experiments:
        _experiments.update(load_experiments())
    return _experiments


def read(name: str) -> list[Measured]:
    lines = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def converted() -> dict[str, list[Row]]:
    """The rows of all scripts by experiment, each with the file it comes from as its source."""
    found: dict[str, dict[str, Row]] = {}
    for name, convert in CONVERTERS.items():
        path = RESULTS / f"{name}.jsonl"
        if not path.exists():
            continue
        for row in convert(read(name)):
            if row.kind is Kind.RESULT and not load()[row.experiment].measures(row.cell):
                continue
            placed = replace(as_stored(row), source=f"benchmarks/results/{path.name}")
            key = f"{placed.kind} {placed.cell.key}"
            found.setdefault(placed.experiment, {}).setdefault(key, placed)
    return {name: list(rows.values()) for name, rows in sorted(found.items())}


def as_stored(row: Row) -> Row:
    """In the experiment that keeps the cell, where several have it; with all its settings."""
    if row.kind is Kind.SELECTION:
        return row
    experiment = load()[row.experiment]
    varied = method_params(protocol_of(experiment), row.setting)
    params = {**row.params, **experiment.method(row.method).params, **varied}
    owner: Cell = experiment.owner(row.cell, load())
    return replace(row, experiment=owner.experiment, params=params)


def measured_here(rows: list[Row]) -> list[Row]:
    """Rows of the ledger's own runs, without notes of what could not be measured before."""
    gaps = (Status.NOT_BUILT, Status.DATA_NOT_PUBLIC)
    return [row for row in rows if row.source == "labelgap bench" and row.status not in gaps]


def main() -> None:
    store = RowStore(ROWS)
    found = converted()
    for name, rows in found.items():
        store.rewrite(name, lambda there, rows=rows: [*rows, *measured_here(there)])
        print(f"{name}: {len(rows)} converted, {len(measured_here(store.rows(name)))} own")
    for experiment in load().values():
        if experiment.name not in found:
            store.rewrite(experiment.name, measured_here)
        record_gaps(experiment, store)


if __name__ == "__main__":
    main()
