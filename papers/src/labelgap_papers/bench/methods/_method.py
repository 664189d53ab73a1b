"""What a method is to an experiment: how to make it, and what to try."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state

from labelgap_papers.bench._experiment import MethodPlan
from labelgap_papers.bench._machine import device_params
from labelgap_papers.bench.protocols.protocol import Task
from labelgap_papers.registry import PublishedMethod

Params = dict[str, Any]
Tried = tuple[list[Params], list[float]]


@dataclass(frozen=True)
class Method:
    """A registered method.

    Attributes
    ----------
    make : callable
        ``make(task, **params)`` gives an estimator that is not fitted yet.
    grid : mapping from setting to values, sequence of settings, or function that gives one
        What is tried; nothing, and the method has nothing to choose. Of a mapping that has more
        combinations than may be tried, random ones are. A function is given the task and the
        number of candidates.
    search : callable, optional
        ``search(task, n_candidates, params)`` tries settings by itself and returns them with their
        scores on observed training labels: for methods whose candidates share work.
    stays : callable, optional
        Whether a model that has the parameter ``device`` cannot use it with its other settings.
    """

    make: Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] | Sequence[Params] | Callable[[Task, int], Any] = ()
    search: Callable[[Task, int, Params], Tried] | None = None
    stays: Callable[[Any], bool] | None = None

    @property
    def tuned(self) -> bool:
        return bool(self.grid) or self.search is not None

    def on_device(self, device: str | None) -> Method:
        """The method with models that compute on a device, where they can."""
        if device is None:
            return self
        make, search = self.make, self.search

        def made(task: Task, **params: Any) -> Any:
            model = make(task, **params)
            moved = self._moved(model, device)
            return model.set_params(**moved) if moved else model

        def searched(task: Task, n_candidates: int, params: Params) -> Tried:
            assert search is not None
            return search(task, n_candidates, params | self._moved(make(task, **params), device))

        return replace(self, make=made, search=None if search is None else searched)

    def _moved(self, model: Any, device: str) -> Params:
        """The settings that put a model there; none where its other ones forbid it."""
        if self.stays is not None and self.stays(model):
            return {}
        return dict.fromkeys(device_params(model), device)

    def candidates(self, task: Task, n_candidates: int) -> list[Params]:
        """At most so many settings, the same ones each time."""
        grid = self.grid(task, n_candidates) if callable(self.grid) else self.grid
        if not isinstance(grid, Mapping):
            return list(grid)[:n_candidates]
        every = list(ParameterGrid({name: list(values) for name, values in grid.items()}))
        if len(every) > n_candidates:
            order = check_random_state(0).permutation(len(every))[:n_candidates]
            every = [every[position] for position in sorted(order)]
        return every


def from_record(record: PublishedMethod) -> Method:
    """Return a published method with the settings of its record."""

    def make(task: Task, **params: Any) -> Any:
        return record.load()(**{**record.params, **params})

    return Method(make, record.candidates)


def find_method(plan: MethodPlan, registered: Mapping[str, Method]) -> Method:
    """The method of a plan, by its registered name or as ``package.module:factory``.

    A grid in the plan replaces the registered one; its ``params`` stay as they are.
    """
    if ":" in plan.uses:
        factory = _imported(plan.uses)
        method = Method(lambda task, **params: factory(**params))
    else:
        method = registered[plan.uses]
    if plan.grid is not None:
        method = replace(method, grid=plan.grid, search=None)
    return method


def _imported(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ValueError(f"method {path!r}: {error}; is its folder on PYTHONPATH?") from error
    except AttributeError as error:
        raise ValueError(f"method {path!r}: the module {module} has no {name!r}") from error
