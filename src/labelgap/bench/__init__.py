"""Published tables as experiments: run them, keep the rows, set them beside the papers' figures."""

from labelgap.bench._experiment import Cell, Experiment, Place
from labelgap.bench._plans import (
    BUDGETS,
    BudgetPlan,
    DatasetPlan,
    MethodPlan,
    MetricPlan,
    SettingPlan,
)
from labelgap.bench._published import PublishedFigure, published_figures
from labelgap.bench._read import ExperimentError, load_experiments, read_experiment
from labelgap.bench._rows import DEFAULT_ROWS, Kind, Row, RowStore, Status
from labelgap.bench._runner import Summary, record_gaps, run_experiments
from labelgap.bench._statistics import Ranking, rank_methods

__all__ = [
    "BUDGETS",
    "DEFAULT_ROWS",
    "BudgetPlan",
    "Cell",
    "DatasetPlan",
    "Experiment",
    "ExperimentError",
    "Kind",
    "MethodPlan",
    "MetricPlan",
    "Place",
    "PublishedFigure",
    "Ranking",
    "Row",
    "RowStore",
    "SettingPlan",
    "Status",
    "Summary",
    "load_experiments",
    "published_figures",
    "rank_methods",
    "read_experiment",
    "record_gaps",
    "run_experiments",
]
