"""Tables that are read from the library's registries whenever the documentation is built."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from labelgap.data import DatasetInfo, dataset_info, list_datasets
from labelgap.metrics import CONVENTIONS, METRICS
from labelgap.protocols import PROTOCOLS
from labelgap.registry import list_estimators
from labelgap_papers.registry import ESTIMATORS as PUBLISHED

Row = Sequence[str]


class RegistryTable(SphinxDirective):
    """A table with one row per entry of a registry; cells are Markdown of one line."""

    heading: ClassVar[Row]

    def rows(self) -> Iterator[Row]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        lines = [self.heading, ["---"] * len(self.heading), *self.rows()]
        text = "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)
        return self.parse_text_to_nodes(text)


class MetricTable(RegistryTable):
    heading = ("name", "better", "needs", "what it is", "variants and their defaults")

    def rows(self) -> Iterator[Row]:
        for name, metric in METRICS.items():
            better = "higher" if metric.greater_is_better else "lower"
            yield f"`{name}`", better, metric.needs, metric.description, _variants(metric)


class ConventionTable(RegistryTable):
    heading = ("source", "metric", "parameters that count as it does")

    def rows(self) -> Iterator[Row]:
        for source, metrics in CONVENTIONS.items():
            for metric, params in metrics.items():
                yield source, f"`{metric}`", _settings(params) or "our defaults"


class DatasetTable(RegistryTable):
    heading = ("name", "rows", "features", "labels", "labels per row", "split", "from")

    def rows(self) -> Iterator[Row]:
        for info in map(dataset_info, list_datasets()):
            split = "none" if info.split is None else f"{info.split[0]} / {info.split[1]}"
            sizes = map(str, info.shape)
            yield f"`{info.name}`", *sizes, f"{info.cardinality:.2f}", split, _sources(info)


class DatasetSources(RegistryTable):
    heading = ("name", "what it is", "licence", "to cite", "note")

    def rows(self) -> Iterator[Row]:
        for info in map(dataset_info, list_datasets()):
            yield f"`{info.name}`", info.title, info.licence, info.citation, info.note


class EstimatorTable(RegistryTable):
    heading = ("estimator", "gaps it handles", "command line", "when to use it")

    def rows(self) -> Iterator[Row]:
        for record in list_estimators():
            name = f"{{py:class}}`~{record.module}.{record.name}`"
            gaps = ", ".join(record.gaps).replace("_", " ")
            yield name, gaps, f"`{record.command}`" if record.command else "", record.use


class ProtocolTable(RegistryTable):
    heading = ("name", "function", "what it does")

    def rows(self) -> Iterator[Row]:
        for name, function in PROTOCOLS.items():
            summary = (inspect.getdoc(function) or "").split("\n\n")[0].replace(" [1]_", "")
            yield f"`{name}`", f"{{py:func}}`~labelgap.protocols.{function.__name__}`", summary


class PublishedTable(RegistryTable):
    heading = ("method", "unknown entry", "unlabeled zero", "what it is")

    def rows(self) -> Iterator[Row]:
        words = {"ignored": "left out", "imputed": "imputed", "warns": "warns"}
        for record in sorted(PUBLISHED, key=lambda record: record.name.lower()):
            zeros = "label frequencies" if "unlabeled" in record.gaps else "a zero"
            yield record.name, words[record.unknown], zeros, record.use


def _variants(metric: Any) -> str:
    """Named parameters of the metric, with the defaults or what the name fixes."""
    parameters = inspect.signature(metric.function).parameters
    shown = {
        name: parameter.default
        for name, parameter in list(parameters.items())[2:]
        if name != "reduce" and name not in metric.params
    }
    fixed = [f"`{name}={value!r}` (fixed)" for name, value in metric.params.items()]
    free = [
        f"`{name}`" if value is inspect.Parameter.empty else f"`{name}={value!r}`"
        for name, value in shown.items()
    ]
    return ", ".join(fixed + free)


def _settings(params: dict[str, Any]) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, value in params.items())


def _sources(info: DatasetInfo) -> str:
    return "; ".join(dict.fromkeys(map(str, info.sources)))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("metric-table", MetricTable)
    app.add_directive("convention-table", ConventionTable)
    app.add_directive("dataset-table", DatasetTable)
    app.add_directive("dataset-sources", DatasetSources)
    app.add_directive("protocol-table", ProtocolTable)
    app.add_directive("estimator-table", EstimatorTable)
    app.add_directive("published-table", PublishedTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
