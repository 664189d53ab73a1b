"""Every published method keeps the contract of the library's estimators."""

from __future__ import annotations

import pytest

from contract.suite import (
    CHECKS,
    SELECTOR_CHECKS,
    contract_checks,
    first_of_each_class,
    scikit_learn_checks,
    selector_checks,
)
from labelgap_papers.registry import ESTIMATORS
from methods.contract_cases import CASES

FIRST = first_of_each_class(CASES)


@scikit_learn_checks(FIRST)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@scikit_learn_checks([case for case in CASES if case not in FIRST])
def test_scikit_learn_check_of_other_settings(estimator, check):
    check(estimator)


def test_every_registered_method_is_under_contract():
    assert {record.name for record in ESTIMATORS} == {
        type(case.estimator).__name__ for case in CASES
    }


@contract_checks(CASES)
def test_contract(case, check):
    CHECKS[check](case)


@selector_checks(CASES)
def test_selector(case, check):
    SELECTOR_CHECKS[check](case)
