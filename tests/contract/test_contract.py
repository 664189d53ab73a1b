"""Every registered estimator keeps the contract; every broken one is caught."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract import (
    checks_ecosystem,
    checks_input,
    checks_labels,
    checks_symmetry,
    toys,
)
from contract.registry import CASES, Case

CHECKS = {
    name: check
    for module in (checks_ecosystem, checks_input, checks_labels, checks_symmetry)
    for name, check in sorted(vars(module).items())
    if name.startswith("check_")
}

_CASE_OF = {id(case.estimator): case for case in CASES}


def _expected_failures(estimator) -> dict[str, str]:
    return dict(_CASE_OF[id(estimator)].expected_failures)


@parametrize_with_checks(
    [case.estimator for case in CASES],
    expected_failed_checks=_expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def _pairs():
    for case in CASES:
        unknown = case.exempt.keys() - CHECKS.keys()
        assert not unknown, f"{case.name} is exempt from checks that do not exist: {unknown}"
        for name in CHECKS:
            reason = case.exempt.get(name)
            marks = pytest.mark.xfail(reason=reason, strict=True) if reason else ()
            yield pytest.param(case, name, id=f"{name}-{case.name}", marks=marks)


@pytest.mark.parametrize(("case", "check"), list(_pairs()))
def test_contract(case, check):
    CHECKS[check](case)


BROKEN = [
    (toys.UsesGlobalRandomness, "check_same_seed_same_result"),
    (toys.LeaksBetweenFits, "check_refit_is_a_fresh_fit"),
    (toys.ChangesItsInput, "check_input_is_left_alone"),
    (toys.SortsItsInputInPlace, "check_read_only_input"),
    (toys.ReadsBehindTheMask, "check_hidden_values_do_not_matter"),
    (toys.ReadsBehindTheMask, "check_encodings_agree"),
    (toys.DependsOnRowOrder, "check_row_order"),
    (toys.DependsOnLabelOrder, "check_label_order"),
    (toys.DependsOnFeatureOrder, "check_feature_order"),
    (toys.TreatsSparseDifferently, "check_sparse_is_dense"),
    (toys.LosesPrecision, "check_float32_is_float64"),
    (toys.ForgetsOnPickling, "check_copies_and_files"),
    (toys.AcceptsAnything, "check_parameters_are_checked"),
    (toys.ProbabilitiesOutOfRange, "check_shapes_and_range"),
]


@pytest.mark.parametrize(("broken", "check"), BROKEN)
def test_the_contract_catches(broken, check):
    case = Case(broken(), start=broken.some_start)
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        CHECKS[check](case)


@pytest.mark.parametrize("check", sorted({check for _, check in BROKEN}))
def test_what_the_broken_ones_have_in_common_is_sound(check):
    CHECKS[check](Case(toys.Sound(), start=toys.Sound.some_start))
