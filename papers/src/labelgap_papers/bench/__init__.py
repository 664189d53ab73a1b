"""Published tables as experiments: run them, keep the rows, set them beside the papers' figures."""

from labelgap_papers.bench._experiment import (
    BUDGETS,
    BudgetPlan,
    Cell,
    DatasetPlan,
    Experiment,
    FigurePlace,
    MethodPlan,
    MetricPlan,
    PublishedFigure,
    SettingPlan,
    published_figures,
)
from labelgap_papers.bench._read import ExperimentError, load_experiments, read_experiment
from labelgap_papers.bench._rows import DEFAULT_ROWS, Kind, Row, RowStore, Status
from labelgap_papers.bench._runner import Summary, record_gaps, run_experiments
from labelgap_papers.bench.critical_difference import plot_critical_difference
from labelgap_papers.bench.statistics import Ranking, holm, rank_methods

__all__ = [
    "BUDGETS",
    "DEFAULT_ROWS",
    "BudgetPlan",
    "Cell",
    "DatasetPlan",
    "Experiment",
    "ExperimentError",
    "FigurePlace",
    "Kind",
    "MethodPlan",
    "MetricPlan",
    "PublishedFigure",
    "Ranking",
    "Row",
    "RowStore",
    "SettingPlan",
    "Status",
    "Summary",
    "holm",
    "load_experiments",
    "plot_critical_difference",
    "published_figures",
    "rank_methods",
    "read_experiment",
    "record_gaps",
    "run_experiments",
]
