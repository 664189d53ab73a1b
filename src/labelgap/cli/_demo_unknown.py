"""``labelgap demo --gaps unknown``: some entries are unknown, models learn from the rest."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

import labelgap
from labelgap.cli._demo_experiment import compare, prepare, sample_matrix
from labelgap.cli._terminal import Terminal, table
from labelgap.data import Dataset
from labelgap.report import DemoMethod, DemoResult, write_demo_page
from labelgap.report._demo_words import recovered_words, unseen_words, verdict

_PAGE, _USUAL_ROWS = "recovered.html", 10_000


def show_unknown(
    terminal: Terminal,
    data: Dataset,
    reason: str | None,
    *,
    share: float,
    seed: int,
    max_rows: int,
    out: Path,
) -> None:
    """Hide entries, learn in several ways, compare; ``reason`` says why data are generated."""
    start = time.perf_counter()
    experiment = prepare(data, share, max_rows, seed)
    with terminal.progress("learning") as progress:
        methods, completed = compare(experiment, seed, progress)
    hidden = experiment.hidden
    said = completed[hidden.rows, hidden.cols] > 0.5
    is_yes = hidden.values == 1
    result = DemoResult(
        dataset=data.name,
        generated=reason,
        n_train=experiment.full.n_rows,
        n_test=experiment.Y_test.n_rows,
        n_features=experiment.X.shape[1],
        n_labels=experiment.full.n_labels,
        share=share,
        seed=seed,
        n_hidden=hidden.n_hidden,
        n_hidden_yes=int(is_yes.sum()),
        n_right=int(np.sum(said == is_yes)),
        n_found=int(np.sum(said & is_yes)),
        methods=methods,
        sample=sample_matrix(experiment, completed, seed),
        command=demo_command("unknown", data.name, share, seed, max_rows, out),
        seconds=time.perf_counter() - start,
        version=labelgap.__version__,
    )
    out.mkdir(parents=True, exist_ok=True)
    page = out / _PAGE
    write_demo_page(result, page)
    terminal.result({**result.as_dict(), "out": str(page)}, *_shown(result, page))


def demo_command(gaps: str, name: str, share: float, seed: int, max_rows: int, out: Path) -> str:
    """What to type to get the same again."""
    parts = ["labelgap", "demo", "--gaps", gaps, "--dataset", name]
    parts += ["--share", f"{share:g}", "--seed", str(seed)]
    parts += ["--max-rows", str(max_rows)] if max_rows != _USUAL_ROWS else []
    return shlex.join([*parts, "--out", str(out)])


def _shown(result: DemoResult, page: Path) -> tuple[Any, ...]:
    sentences = (verdict(result), recovered_words(result), unseen_words(result))
    notice = f"[yellow]These data are generated.[/yellow] {escape(result.generated or '')}"
    columns = {
        "": "left",
        "hidden AUC": "right",
        "hidden F1": "right",
        "unseen avg. prec.": "right",
        "unseen F1": "right",
    }
    title = (
        f"{result.dataset}: {result.n_train:,} rows x {result.n_labels} labels, "
        f"{result.share:.0%} hidden; {result.n_test:,} unseen rows"
    )
    return (
        *([notice] if result.generated else []),
        f"[bold]{escape(sentences[0])}[/bold]",
        escape(" ".join(sentences[1:])),
        "",
        table(escape(title), columns, map(_line, result.methods)),
        f"The picture: [bold]{escape(str(page))}[/bold] ({result.seconds:.0f} s)",
    )


def _line(method: DemoMethod) -> tuple[str, ...]:
    inside, outside = method.recovered or {}, method.unseen
    cells = [
        "-" if value is None else f"{value:.3f}"
        for value in (
            inside.get("auc_micro"),
            inside.get("f1_micro"),
            outside["average_precision"],
            outside["f1_micro"],
        )
    ]
    style = {"model": "bold blue", "ceiling": "dim"}.get(method.role)
    return tuple(f"[{style}]{cell}[/{style}]" if style else cell for cell in (method.name, *cells))
