"""Public names say what they do and their defaults, and show it in an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import pkgutil
import re
import warnings
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import labelgap
import labelgap.auditing
import labelgap.fitting

SOURCE = Path(labelgap.__file__).parent

# rooms whose docstrings are still to be written; this list only gets shorter
NOT_YET: list[str] = []

# names without an example of their own, and why
NO_EXAMPLE: dict[str, str] = {
    f"labelgap.auditing.{name}": "a record inside Audit, whose example shows it"
    for name in labelgap.auditing.__all__
    if is_dataclass(getattr(labelgap.auditing, name)) and name != "Audit"
} | {
    "labelgap.auditing.ImputedEntries": "the result of impute, which shows it",
    "labelgap.auditing.write_decisions": "shown by its inverse, read_decisions",
    "labelgap.cli.BadInputError": "an error of commands",
    "labelgap.cli.Terminal": "made by as_command",
    "labelgap.cli.as_command": "the commands themselves show it",
    "labelgap.cli.check_target": "a check of an option",
    "labelgap.cli.main": "the command line itself",
    "labelgap.data.ChecksumError": "a DataFormatError",
    "labelgap.data.DatasetInfo": "the result of dataset_info, which shows it",
    "labelgap.data.DatasetUnavailableError": "an error of load_dataset",
    "labelgap.data.load_dataset": "would need the network",
    "labelgap.estimation.MissingTotal": "the result of estimate_missing, which shows it",
    "labelgap.estimation.Recalibration": "the result of recalibrate, which shows it",
    "labelgap.estimation.SamplingDesign": "the result of design_sample, which shows it",
    "labelgap.estimation.SourceOverlap": "the result of capture_recapture, which shows it",
    "labelgap.estimation.TwoSources": "the result of compare_sources, which shows it",
    "labelgap.parameters.parameter": "with_parameters shows it",
    "labelgap.export.LinearForm": "the result of linear_form, which shows it",
    "labelgap.export.NotLinearError": "an error of linear_form",
    "labelgap.labels.LabelCellError": "an error of read_label_frame",
    "labelgap.mend.LeaderboardRow": "an entry of Mend.leaderboard_",
    "labelgap.models.gmfs.ExaminedProbability": "an attribute of GMFS",
    "labelgap.models.gmfs.LikelyMissing": "the result of GMFS.likely_missing",
    "labelgap.models.imvwl.ViewContribution": "an entry of an attribute of IMVWL",
    "labelgap.models.imvwl.masked_labels": "a step of IMVWL that its variants share",
    "labelgap.models.imvwl.observed_pairs": "a step of IMVWL that its variants share",
    "labelgap.plots.svg.inline_svg": "shown by drawing",
    "labelgap.plots.svg.new_figure": "shown by drawing",
    "labelgap.plots.svg.raw_svg": "shown by drawing",
    "labelgap.plots.svg.svg_file": "shown by drawing",
    "labelgap.review.AnswerPosterior": "what ReviewSession learns from answers",
    "labelgap.review.BackgroundRescoring": "a thread of ReviewSession",
    "labelgap.review.Disagreement": "a record of ReviewSession",
    "labelgap.review.ForeignReviewError": "an error of the decision store",
    "labelgap.auditing.TableDiff": "the result of diff, which shows it",
    "labelgap.review.ItemLabel": "a record of Review.item",
    "labelgap.review.Population": "an argument of RandomPart",
    "labelgap.review.RandomDraw": "a record of the decision store",
    "labelgap.review.RandomPart": "a part of Review",
    "labelgap.review.RequestReusedError": "an error of the decision store",
    "labelgap.review.ReviewCertificate": "a record of ReviewProgress",
    "labelgap.review.ReviewTally": "a part of Review",
    "labelgap.review.ReviewerAgreement": "a record of ReviewTally",
    "labelgap.review.StoredDecision": "a record of the decision store",
    "labelgap.review.LastDecision": "a record of the decision store",
    "labelgap.review.Question": "what ReviewSession hands out",
    "labelgap.review.ReviewProgress": "a record of ReviewSession",
    "labelgap.review.ReviewRescorer": "made by ReviewSession",
    "labelgap.review.UnknownEntryError": "an error of ReviewSession",
    "labelgap.review.remaining_missing": "a step of ReviewSession",
}

# rooms that users do not call, and why
INSIDE = {"labelgap.kernels": "pure functions of arrays, each with a slow twin in tests/reference"}


NO_EXAMPLE |= {
    "labelgap.fitting.BlockFolder": "write_blocks shows it",
    "labelgap.fitting.LongLabels": "ParquetRows shows its sibling WideLabels",
    "labelgap.fitting.WideLabels": "ParquetRows shows it",
    "labelgap.fitting.CredibleInterval": "the result of predict_interval",
    "labelgap.fitting.Diagnosis": "the result of diagnose, which shows it",
    "labelgap.fitting.FitDivergedError": "an error of fits",
    "labelgap.fitting.FitWarning": "a warning of fits",
    "labelgap.fitting.Progress": "what a callback gets",
    "labelgap.models.bmlpl.LabelTopic": "an entry of BMLPL.topics_, whose example shows it",
} | {
    f"labelgap.fitting.{name}": "for authors of a model, or in need of a cluster"
    for name in labelgap.fitting.__all__
    if ">>> " not in (getattr(labelgap.fitting, name).__doc__ or "")
    and getattr(labelgap.fitting, name).__module__.rpartition(".")[2]
    in ("_chains", "_checkpoint", "_dask_rows", "_loops", "_row_blocks", "_block_folder")
}


def modules() -> Iterator[ModuleType]:
    """The public modules that say what they offer."""
    names = ["labelgap"]
    names += [m.name for m in pkgutil.walk_packages(labelgap.__path__, "labelgap.")]
    for name in names:
        if not any(part.startswith("_") for part in name.split(".")):
            module = importlib.import_module(name)
            if hasattr(module, "__all__"):
                yield module


def public() -> dict[str, Any]:
    """Public classes and functions, once each, by the shortest name a user imports."""
    found: dict[int, tuple[str, Any]] = {}
    for module in modules():
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) or inspect.isfunction(item):
                path = f"{module.__name__}.{name}"
                if id(item) not in found or len(path) < len(found[id(item)][0]):
                    found[id(item)] = (path, item)
    return dict(sorted(found.values()))


PUBLIC = public()


def not_yet(name: str, item: Any) -> bool:
    rooms = (*NOT_YET, *INSIDE)
    return any(name.startswith(room) or item.__module__.startswith(room) for room in rooms)


def signature_defaults(item: Any) -> dict[str, Any]:
    parameters = inspect.signature(item).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def documented_parameters(doc: str) -> dict[str, str]:
    """The type line of each parameter, by name."""
    section = re.search(r"\nParameters\n-+\n(.*?)(?=\n[A-Z][\w ]+\n-+\n|\Z)", doc, re.DOTALL)
    lines: dict[str, str] = {}
    listed = section.group(1).splitlines() if section else []
    for line, below in zip(listed, [*listed[1:], ""], strict=False):
        match = re.match(r"([\w*, ]+)(?: : (.*))?$", line)
        if match and not line.startswith(" "):
            for name in match[1].split(","):
                # "As in `other`, with the same defaults."
                shared = "default=" if match[2] is None and "default" in below else ""
                lines[name.strip().lstrip("*")] = match[2] or shared
    return lines


def complaints(name: str, item: Any) -> Iterator[str]:
    doc = inspect.cleandoc(item.__doc__ or "")
    first = doc.split("\n\n")[0]
    if not re.match(r"[A-Z`+].*[.:]$", first) or "\n" in first or len(first.split()) < 4:
        yield f"{name}: the first line is no sentence: {first[:80]!r}"
    lines = documented_parameters(doc)
    for parameter in signature_defaults(item) if lines or inspect.isfunction(item) else ():
        if parameter.startswith("_"):
            continue
        if "default=" not in lines.get(parameter, ""):
            yield f"{name}: no default= for {parameter}"
    if ">>> " not in doc and name not in NO_EXAMPLE:
        yield f"{name}: no example"


def test_every_public_name_is_documented():
    found = [
        complaint
        for name, item in PUBLIC.items()
        if not not_yet(name, item)
        for complaint in complaints(name, item)
    ]
    assert not found, "\n".join(found)


# the short form that functions inside the library have
SHORT = re.compile(r"^(Returns [A-Za-z`(]|\w[\w, ]* : [^\n]*\. )", re.MULTILINE)


def test_methods_of_public_classes_have_sections_that_the_reference_can_show():
    found = [
        f"{name}.{method}"
        for name, item in PUBLIC.items()
        if inspect.isclass(item) and not not_yet(name, item)
        for method, function in inspect.getmembers(item, callable)
        if not method.startswith("_")
        and (getattr(function, "__module__", None) or "").startswith("labelgap")
        and SHORT.search(inspect.cleandoc(function.__doc__ or "").partition("\n")[2])
    ]
    assert found == []
    assert SHORT.search("names : sequence, default=None. Label names.")


def test_a_bad_docstring_is_found():
    def bad(x: int, y: int = 3) -> int:
        """The sum"""
        return x + y

    assert [c.split(":")[1].strip() for c in complaints("bad", bad)] == [
        "the first line is no sentence",
        "no default= for y",
        "no example",
    ]


# modules whose examples need a package that not every machine has
NEEDS = {
    "labelgap.losses": "torch",
    "labelgap.networks._label_net": "torch",
    "labelgap.baselines._gradient_boosting_labels": "xgboost",
}

EXAMPLES = sorted(
    ".".join(["labelgap", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(
        ".__init__"
    )
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    output = io.StringIO()
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runner.run(test, out=output.write)
    assert not runner.failures, output.getvalue()
