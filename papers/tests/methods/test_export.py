"""Every published method is exported as a graph, or refused as not linear."""

from __future__ import annotations

import pytest

from export.exporting import check_export
from methods.contract_cases import CASES

NOT_LINEAR = {
    "ML2": "kernel='linear'",
    "MLkNN": "all",
    "BCS": "all",
    "ClassifierChains": "all",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_linear_methods_are_exported_and_others_refused(case):
    check_export(case.estimator, NOT_LINEAR)
