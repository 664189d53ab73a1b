"""The parts of an experiment, as its file states them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BUDGETS = ("smoke", "small", "full")
"""From the smallest to the largest."""


@dataclass(frozen=True)
class DatasetPlan:
    """A set and the runs on it.

    Attributes
    ----------
    name : str
    runs : int
    published : str
        What the paper calls it; empty where the paper's table does not have it.
    not_public : str
        Why its data is not at hand; then no method runs on it.
    candidates : int or None
        Settings that each method tries, where it is another number than the experiment's.
    tuning_rows : int or None
        At most so many training rows are used to choose settings.
    """

    name: str
    runs: int = 1
    published: str = ""
    not_public: str = ""
    candidates: int | None = None
    tuning_rows: int | None = None


@dataclass(frozen=True)
class SettingPlan:
    """What the experiment varies, as the protocol and the methods see it.

    ``published`` is how the paper's figures call it; ``datasets`` and ``methods`` limit it to some
    of them. Values that the protocol does not read are parameters of the methods; ``varied`` and
    ``value`` together are one such parameter.
    """

    values: dict[str, Any]
    published: str = ""
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def is_for(self, dataset: DatasetPlan) -> bool:
        return not self.datasets or dataset.name in self.datasets


@dataclass(frozen=True)
class MetricPlan:
    """A metric, whether more of it is better, and what the paper calls it.

    Names are those in the rows' ``metrics``, or ``fit_seconds``, ``fit_cpu_seconds``,
    ``predict_seconds`` and ``peak_gigabytes`` of the row itself.
    """

    name: str
    higher_is_better: bool
    published: str = ""


@dataclass(frozen=True)
class MethodPlan:
    """A column of the table.

    Attributes
    ----------
    name : str
        As rows and reports call it.
    uses : str
        A registered method, or ``"package.module:factory"``.
    params : dict
        Settings that stay as they are.
    grid : dict from setting to list of values, or None
        What is tried instead of the registered candidates.
    settings_of : str
        Another method, of this experiment or of one it borrows from, whose chosen settings are
        taken instead of own ones.
    published : str
        The paper's name; empty where the paper has no such column.
    not_built : str
        Why there is no such method here; then it is listed and never run.
    datasets : tuple of str
        Only these sets; empty for all.
    yardstick : bool
        Whether it is what a user would pick without the paper.
    """

    name: str
    uses: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] | None = None
    settings_of: str = ""
    published: str = ""
    not_built: str = ""
    datasets: tuple[str, ...] = ()
    yardstick: bool = False

    def is_for(self, dataset: DatasetPlan, setting: SettingPlan) -> bool:
        """Whether the table has the method there."""
        if setting.methods and self.name not in setting.methods:
            return False
        return not self.datasets or dataset.name in self.datasets

    def runs_on(self, dataset: DatasetPlan, setting: SettingPlan) -> bool:
        """Whether it can be measured there: both the method and the set are at hand."""
        return not self.not_built and not dataset.not_public and self.is_for(dataset, setting)


@dataclass(frozen=True)
class BudgetPlan:
    """What one budget runs.

    Attributes
    ----------
    name : str
    datasets : tuple of str
    runs : int or None
        At most so many of the runs of a set.
    candidates : int or None
        At most so many settings tried per method.
    seconds : float
        A cell that takes longer is stopped, and says so.
    settings : dict from setting to list of values
        Only cells with these values.
    """

    name: str
    datasets: tuple[str, ...]
    runs: int | None = None
    candidates: int | None = None
    seconds: float = 4 * 3600.0
    settings: dict[str, list[Any]] = field(default_factory=dict)

    def has_setting(self, values: dict[str, Any]) -> bool:
        return all(values[name] in some for name, some in self.settings.items() if name in values)
