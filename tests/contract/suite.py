"""The contract as lists of tests, for any table of cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract import (
    checks_ecosystem,
    checks_input,
    checks_labels,
    checks_metamorphic,
    checks_selectors,
    checks_symmetry,
)
from contract.registry import Case

CHECKS = {
    name: check
    for module in (
        checks_ecosystem,
        checks_input,
        checks_labels,
        checks_metamorphic,
        checks_symmetry,
    )
    for name, check in sorted(vars(module).items())
    if name.startswith("check_")
}
SELECTOR_CHECKS = {
    name: check for name, check in vars(checks_selectors).items() if name.startswith("check_")
}


def first_of_each_class(cases: list[Case]) -> list[Case]:
    """One setting of each class: its first."""
    return list({type(case.estimator): case for case in reversed(cases)}.values())[::-1]


def scikit_learn_checks(cases: list[Case]) -> Any:
    """Scikit-learn's own checks of these cases, as a mark for ``test(estimator, check)``."""
    failures = {id(case.estimator): dict(case.expected_failures) for case in cases}
    return parametrize_with_checks(
        [case.estimator for case in cases],
        expected_failed_checks=lambda estimator: failures[id(estimator)],
        xfail_strict=True,
    )


def contract_checks(cases: list[Case]) -> Any:
    """Our own checks of these cases, as a mark for ``test(case, check)``."""
    return pytest.mark.parametrize(("case", "check"), list(_pairs(cases)))


def selector_checks(cases: list[Case]) -> Any:
    """The checks of feature selectors among these cases, as a mark for ``test(case, check)``."""
    pairs = [
        pytest.param(case, name, id=f"{name}-{case.name}")
        for case in cases
        if hasattr(case.estimator, "get_support")
        for name in SELECTOR_CHECKS
    ]
    return pytest.mark.parametrize(("case", "check"), pairs)


def _pairs(cases: list[Case]) -> Iterator[Any]:
    for case in cases:
        unknown = case.exempt.keys() - CHECKS.keys()
        assert not unknown, f"{case.name} is exempt from checks that do not exist: {unknown}"
        for name in CHECKS:
            reason = case.exempt.get(name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            marks += [pytest.mark.slow] if case.slow else []
            yield pytest.param(case, name, id=f"{name}-{case.name}", marks=marks)
