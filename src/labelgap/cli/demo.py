"""``labelgap demo``: hide labels of a real set, recover them, show how well."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

import labelgap
from labelgap._extras import require
from labelgap.cli._demo_experiment import compare, generated_data, prepare, sample_matrix
from labelgap.cli._failures import BadInputError
from labelgap.cli._outputs import check_target
from labelgap.cli._sources import check_dataset_name
from labelgap.cli._terminal import Terminal, table
from labelgap.data import Dataset, DatasetUnavailableError, load_dataset
from labelgap.report import DemoMethod, DemoResult, write_demo_page
from labelgap.report._demo_words import recovered_words, unseen_words, verdict


def demo(
    terminal: Terminal,
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="A data set, or 'generated'.")
    ] = "yeast",
    share: Annotated[
        float, typer.Option(min=0.01, max=0.95, help="How much of the labels is hidden.")
    ] = 0.4,
    seed: Annotated[int, typer.Option(min=0, help="The same seed hides the same.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = Path("labelgap-demo.html"),
    max_rows: Annotated[
        int, typer.Option(min=20, help="Use at most so many training rows, and test rows.")
    ] = 5000,
    fetch: Annotated[bool, typer.Option(help="Whether the data set may be fetched.")] = True,
) -> None:
    """Hide labels of a real data set, learn from the rest, and show what was recovered.

    Prints a table and writes one HTML page with pictures that works offline. If the data set is
    neither here nor can be fetched, generated data are used, and the result says so.

    [bold]Examples[/bold]

    \b  labelgap demo
      labelgap demo --dataset scene --share 0.6 --seed 1 --out scene.html
      labelgap demo --dataset generated --json
    """
    start = time.perf_counter()
    check_target(out)
    require("jinja2", extra="cli", purpose="labelgap demo")
    data, reason = _load(dataset, seed, terminal, fetch)
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
        command=_command(data.name, share, seed, max_rows, out),
        seconds=time.perf_counter() - start,
        version=labelgap.__version__,
    )
    write_demo_page(result, out)
    terminal.result({**result.as_dict(), "out": str(out)}, *_shown(result, out))


def _load(name: str, seed: int, terminal: Terminal, fetch: bool) -> tuple[Dataset, str | None]:
    if name == "generated":
        return generated_data(seed), "They were asked for, from a low-rank model with known truth."
    name = check_dataset_name(name)
    try:
        with terminal.progress(f"loading {name}") as progress:
            data = load_dataset(name, fetch=fetch, progress=progress)
    except DatasetUnavailableError as error:
        terminal.note(f"{error}")
        reason = f"The data set {name} is neither on this machine nor could it be fetched."
        return generated_data(seed), reason
    if data.Y.has_unknown or not np.isfinite(getattr(data.X, "data", data.X)).all():
        raise BadInputError(
            f"--dataset {name}: has gaps itself; the demo needs complete features and labels"
        )
    return data, None


def _command(name: str, share: float, seed: int, max_rows: int, out: Path) -> str:
    parts = ["labelgap", "demo", "--dataset", name, "--share", f"{share:g}", "--seed", str(seed)]
    parts += ["--max-rows", str(max_rows)] if max_rows != 5000 else []
    return shlex.join([*parts, "--out", str(out)])


def _shown(result: DemoResult, out: Path) -> tuple[Any, ...]:
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
        table(escape(title), columns, map(_line, result.methods)),
        f"[bold]{escape(sentences[0])}[/bold]",
        escape(" ".join(sentences[1:])),
        f"\nThe picture: [bold]{escape(str(out))}[/bold] ({result.seconds:.0f} s)",
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
