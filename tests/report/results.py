"""A result of the demo with made-up numbers."""

from __future__ import annotations

from dataclasses import replace

from labelgap.report import CELL_STATES, DemoMethod, DemoResult, MatrixSample

UNSEEN = {"average_precision": 0.75, "auc_micro": 0.8, "f1_micro": 0.6, "log_loss": 0.45}
RECOVERED = {"auc_micro": 0.8, "average_precision_micro": 0.7, "f1_micro": 0.55}


def method(key: str, role: str, *, ahead: tuple[float, float] = (0.1, 0.2)) -> DemoMethod:
    return DemoMethod(
        key=key,
        name=f"Method {key}",
        description=f"What {key} does.",
        role=role,  # type: ignore[arg-type]
        unseen=UNSEEN,
        recovered=None if role == "ceiling" else RECOVERED,
        seconds=0.5,
        intervals={"average_precision": (0.7, 0.8), "f1_micro": (0.5, 0.7)},
        lead={"average_precision": ahead, "f1_micro": ahead},
    )


def result(**changes: object) -> DemoResult:
    states = list(CELL_STATES)
    made = DemoResult(
        dataset="yeast",
        generated=None,
        n_train=1500,
        n_test=917,
        n_features=103,
        n_labels=6,
        share=0.4,
        seed=0,
        n_hidden=1000,
        n_hidden_yes=300,
        n_right=800,
        n_found=150,
        methods=[
            method("model", "model"),
            method("one", "naive"),
            method("two", "naive"),
            method("all", "ceiling"),
        ],
        sample=MatrixSample([3, 5], [f"label {j}" for j in range(6)], [states, states[::-1]]),
        command="labelgap demo --seed 0",
        seconds=12.0,
        version="0.1.0",
    )
    return replace(made, **changes)  # type: ignore[arg-type]
