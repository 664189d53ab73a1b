"""Experiments from their files, with errors that name the file and the key."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from labelgap_papers.bench._experiment import (
    BUDGETS,
    BudgetPlan,
    DatasetPlan,
    Experiment,
    MethodPlan,
    MetricPlan,
    SettingPlan,
    published_figures,
)
from labelgap_papers.bench.methods import METHODS
from labelgap_papers.bench.protocols import PROTOCOLS

FILE = "experiment.toml"
_REQUIRED = ("title", "protocol", "datasets", "metrics", "methods", "budgets")
_SIMPLE = ("title", "paper", "table", "candidates", "x_axis", "first_run")
_OPTIONAL = (*_SIMPLE[1:], "about", "settings", "borrows")
_DIRECTIONS = {"higher": True, "lower": False}


class ExperimentError(ValueError):
    """An experiment's file says something that cannot be run."""


def load_experiments(folder: str | os.PathLike[str] | None = None) -> dict[str, Experiment]:
    """All experiments of the library, and those of a folder of one's own.

    Parameters
    ----------
    folder : path, default=None
        Holds ``<name>/experiment.toml`` files. An experiment with the name of one of the library's
        takes its place.

    Returns
    -------
    dict from name to Experiment
    """
    own = Path(str(resources.files("labelgap_papers.bench") / "experiments"))
    found = {one.name: one for one in _in_folder(own)}
    if folder is not None:
        if not Path(folder).is_dir():
            raise ExperimentError(f"{folder}: there is no such folder of experiments")
        found |= {one.name: one for one in _in_folder(Path(folder))}
    for one in found.values():
        _check_references(one, found)
    return dict(sorted(found.items()))


def _check_references(one: Experiment, experiments: Mapping[str, Experiment]) -> None:
    wrong = [name for name in one.borrows if name not in experiments]
    if wrong:
        raise ExperimentError(f"{one.name}: borrows: there is no experiment {wrong[0]!r}")
    reached = (one, *(experiments[name] for name in one.borrows))
    methods = {method.name for other in reached for method in other.methods}
    for method in one.methods:
        if method.settings_of and method.settings_of not in methods:
            place = f"{one.name}: methods.{method.name}.settings_of"
            raise ExperimentError(f"{place}: no method {method.settings_of!r} here or borrowed")


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """One experiment from its file; the folder gives it its name.

    Parameters
    ----------
    path : path of an ``experiment.toml``

    Returns
    -------
    Experiment
    """
    path = Path(path)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{path}: not TOML: {error}") from error
    try:
        return _Reader(path.parent.name, values).experiment()
    except ExperimentError as error:
        raise ExperimentError(f"{path}: {error}") from error


def _in_folder(folder: Path) -> Iterator[Experiment]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield read_experiment(path)


class _Reader:
    """The values of one file, checked while they become an experiment."""

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        self.name, self.values = name, values
        _check_keys("the file", values, (*_REQUIRED, *_OPTIONAL))
        missing = [key for key in _REQUIRED if key not in values]
        if missing:
            raise ExperimentError(f"{missing[0]!r} is missing")
        table = (values.get("paper"), values.get("table"))
        self.figures = [one for one in published_figures() if (one.paper, one.table) == table]

    def experiment(self) -> Experiment:
        values = self.values
        protocol, protocol_options = self._protocol()
        known = PROTOCOLS[protocol](**protocol_options).known_datasets()
        datasets, settings = self._datasets(known), self._settings()
        metrics, methods = self._metrics(), self._methods()
        simple = {key: values[key] for key in _SIMPLE if key in values}
        made = Experiment(
            name=self.name,
            about=" ".join(values.get("about", "").split()),
            protocol=protocol,
            protocol_options=protocol_options,
            datasets=datasets,
            settings=settings,
            metrics=metrics,
            methods=methods,
            budgets=self._budgets(datasets),
            borrows=tuple(values.get("borrows", ())),
            **simple,
        )
        self._check_figures(made)
        return made

    def _protocol(self) -> tuple[str, dict[str, Any]]:
        given = self.values["protocol"]
        options = dict(given) if isinstance(given, Mapping) else {"name": given}
        name = options.pop("name", None)
        if name not in PROTOCOLS:
            raise ExperimentError(f"protocol: no {name!r}; there are: {', '.join(PROTOCOLS)}")
        try:
            PROTOCOLS[name](**options)
        except ValueError as error:
            raise ExperimentError(f"protocol: {error}") from error
        return name, options

    def _datasets(self, known: set[str]) -> tuple[DatasetPlan, ...]:
        found = []
        for name, given in self.values["datasets"].items():
            options = given if isinstance(given, Mapping) else {"runs": given}
            place = f"datasets.{name}"
            plan = _made(DatasetPlan, place, {"name": name, **options})
            if not plan.not_public and name not in known:
                raise ExperimentError(f"{place}: no such set; labelgap datasets lists them")
            if plan.runs < 1:
                raise ExperimentError(f"{place}.runs={plan.runs}: give at least 1")
            found.append(self._with_published(plan, "dataset"))
        return tuple(found)

    def _settings(self) -> tuple[SettingPlan, ...]:
        """A list of values in a setting stands for one setting each."""
        found = []
        for given in self.values.get("settings", [{}]):
            one = dict(given)
            published = one.pop("published", "")
            limits = [tuple(one.pop(key, ())) for key in ("datasets", "methods")]
            several = [value if isinstance(value, list) else [value] for value in one.values()]
            for values in itertools.product(*several):
                setting = dict(zip(one, values, strict=True))
                found.append(SettingPlan(setting, published, *limits))
        return tuple(found)

    def _metrics(self) -> tuple[MetricPlan, ...]:
        found = []
        for name, given in self.values["metrics"].items():
            options = dict(given) if isinstance(given, Mapping) else {"better": given}
            better = options.pop("better", None)
            if better not in _DIRECTIONS:
                raise ExperimentError(f'metrics.{name}: say "higher" or "lower", not {better!r}')
            options |= {"name": name, "higher_is_better": _DIRECTIONS[better]}
            plan = _made(MetricPlan, f"metrics.{name}", options)
            found.append(self._with_published(plan, "metric"))
        return tuple(found)

    def _methods(self) -> tuple[MethodPlan, ...]:
        found = []
        for name, given in self.values["methods"].items():
            options = dict(given) if isinstance(given, Mapping) else {"uses": given}
            place = f"methods.{name}"
            options["datasets"] = tuple(options.get("datasets", ()))
            plan = _made(MethodPlan, place, {"name": name, **options})
            if not plan.not_built and ":" not in plan.uses and plan.uses not in METHODS:
                raise ExperimentError(
                    f"{place}: no registered method {plan.uses!r}; name one of "
                    f'{", ".join(sorted(METHODS))}, or "package.module:factory"'
                )
            found.append(self._with_published(plan, "method"))
        return tuple(found)

    def _budgets(self, datasets: tuple[DatasetPlan, ...]) -> dict[str, BudgetPlan]:
        at_hand = tuple(one.name for one in datasets if not one.not_public)
        given = {"full": {}, **self.values["budgets"]}
        _check_keys("budgets", given, BUDGETS)
        found = {}
        for name in BUDGETS:
            if name not in given:
                raise ExperimentError(f"budgets.{name} is missing")
            options = {"name": name, **given[name]}
            options["datasets"] = tuple(options.get("datasets", at_hand))
            wrong = [one for one in options["datasets"] if one not in at_hand]
            if wrong:
                raise ExperimentError(f"budgets.{name}.datasets: {wrong[0]!r} is not at hand")
            found[name] = _made(BudgetPlan, f"budgets.{name}", options)
        return found

    def _with_published(self, plan: Any, kind: str) -> Any:
        """Named in the paper as here, unless the file gives that name to something else."""
        known = {getattr(figure, kind) for figure in self.figures}
        claimed = {
            one.get("published")
            for one in self.values[f"{kind}s"].values()
            if isinstance(one, Mapping)
        }
        if plan.published and plan.published not in known:
            raise ExperimentError(
                f"{kind}s.{plan.name}.published: no {plan.published!r} is printed"
            )
        if not plan.published and plan.name in known - claimed:
            return type(plan)(**{**_fields(plan), "published": plan.name})
        return plan

    def _check_figures(self, made: Experiment) -> None:
        """Every published figure of the table has its place."""
        for kind in ("dataset", "setting", "metric", "method"):
            known = {one.published for one in getattr(made, f"{kind}s")}
            for figure in self.figures:
                wanted = getattr(figure, kind)
                if wanted not in known:
                    raise ExperimentError(f"{kind}s: none is the published {wanted!r}")


def _fields(plan: Any) -> dict[str, Any]:
    return {one.name: getattr(plan, one.name) for one in fields(plan)}


def _made(kind: type, place: str, options: Mapping[str, Any]) -> Any:
    _check_keys(place, options, [one.name for one in fields(kind)])
    return kind(**options)


def _check_keys(place: str, given: Mapping[str, Any], known: Any) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ExperimentError(f"{place}: no key {unknown[0]!r}; there are: {', '.join(known)}")
