"""The methods that experiments name, with what each of them tries.

Published methods are made from their records in `labelgap_papers.registry`. A method that depends on
the task is a line in the ``METHODS`` of the file of its tables, and one outside the library needs no
line at all: an experiment names it as ``"package.module:factory"``.
"""

from labelgap_papers.bench.methods import (
    _embeddings,
    _missing_labels,
    _positive_unlabeled,
    _predictors,
    _selectors,
    _views,
)
from labelgap_papers.bench.methods._method import Method, find_method, from_record
from labelgap_papers.registry import ESTIMATORS

METHODS: dict[str, Method] = {
    **{record.name.lower(): from_record(record) for record in ESTIMATORS if record.candidates},
    **_missing_labels.METHODS,
    **_selectors.METHODS,
    **_views.METHODS,
    **_embeddings.METHODS,
    **_predictors.METHODS,
    **_positive_unlabeled.METHODS,
}
"""By the names that experiments use."""

__all__ = ["METHODS", "Method", "find_method"]
