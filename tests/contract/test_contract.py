"""Every registered estimator keeps the contract; every broken one is caught."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from contract import toys
from contract.registry import CASES, Case
from contract.suite import (
    CHECKS,
    SELECTOR_CHECKS,
    contract_checks,
    first_of_each_class,
    scikit_learn_checks,
    selector_checks,
)
from labelgap.registry import ESTIMATORS

FIRST = first_of_each_class([case for case in CASES if not case.slow])


@scikit_learn_checks(FIRST)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@scikit_learn_checks([case for case in CASES if case not in FIRST])
def test_scikit_learn_check_of_other_settings(estimator, check):
    check(estimator)


def test_every_registered_estimator_is_under_contract():
    tested = {type(case.estimator).__name__ for case in CASES}
    not_registered = {"GradientDescent", "OnePassPerceptron", "PortfolioOfFewRows"}
    packages = {"LabelNet": "torch", "GradientBoostingLabels": "xgboost"}
    absent = {name for name, package in packages.items() if find_spec(package) is None}
    assert {record.name for record in ESTIMATORS} - absent == tested - not_registered


@contract_checks(CASES)
def test_contract(case, check):
    CHECKS[check](case)


@selector_checks(CASES)
def test_selector(case, check):
    SELECTOR_CHECKS[check](case)


BROKEN = [
    (toys.UsesGlobalRandomness, "check_same_seed_same_result"),
    (toys.LeaksBetweenFits, "check_refit_is_a_fresh_fit"),
    (toys.ChangesItsInput, "check_input_is_left_alone"),
    (toys.ClipsItsInputInPlace, "check_read_only_input"),
    (toys.ReadsBehindTheMask, "check_hidden_values_do_not_matter"),
    (toys.ReadsBehindTheMask, "check_encodings_agree"),
    (toys.DependsOnRowOrder, "check_row_order"),
    (toys.DependsOnLabelOrder, "check_label_order"),
    (toys.DependsOnFeatureOrder, "check_feature_order"),
    (toys.TreatsSparseDifferently, "check_sparse_is_dense"),
    (toys.LetsStoredFormsIn, "check_stored_forms_are_one"),
    (toys.LosesPrecision, "check_float32_is_float64"),
    (toys.ForgetsOnPickling, "check_copies_and_files"),
    (toys.AcceptsAnything, "check_parameters_are_checked"),
    (toys.CountsLabels, "check_unknown_column_changes_nothing"),
    (toys.CountsRows, "check_unknown_row_changes_nothing"),
    (toys.CountsStoredEntries, "check_an_unknown_entry_is_one_that_is_not_there"),
    (toys.CountsStoredEntries, "check_known_labels_given_twice"),
    (toys.ForgetsWeights, "check_a_weight_is_a_row_given_again"),
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
