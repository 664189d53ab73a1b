"""What every baseline does with unknown entries, unlabeled zeros and absent views, and that it
says so: a method that cannot use them warns once per fit, and no other warns at all.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

from contract.problems import fresh, problem
from labelgap import Labels, LabelWarning
from labelgap.fitting import FitWarning
from labelgap.views import Views
from labelgap_papers import methods
from labelgap_papers.registry import ESTIMATORS
from methods.contract_cases import CASES

# of unknown entries
LEFT_OUT = "no part of the loss, or inferred with the rest"
ZERO = "a zero that the method completes, as in its paper"
WARNED = "irrelevant, with a warning"
MEANINGS = {"ignored": LEFT_OUT, "imputed": ZERO, "warns": WARNED}
UNKNOWN = {record.name: MEANINGS[record.unknown] for record in ESTIMATORS}
# to these an unlabeled zero is a zero that nobody may have looked at, to all others a zero
MODELS_LOOKS = {record.name for record in ESTIMATORS if "unlabeled" in record.gaps}
# of absent views
VIEWS = {"IMSF": LEFT_OUT, "MVLIV": LEFT_OUT, "LabelMe": WARNED, "LRMMC": WARNED}

every_baseline = pytest.mark.parametrize("name", sorted(UNKNOWN))


def settings_of(name: str, p: Any, Y: Any) -> Any:
    """As registered, but for what is said of unknown entries: that is the default."""
    case = next(case for case in CASES if type(case.estimator).__name__ == name)
    estimator = fresh(case, p.X, Y)
    given = inspect.signature(type(estimator)).parameters
    return (
        estimator.set_params(unknown=given["unknown"].default) if "unknown" in given else estimator
    )


def fitted(estimator: Any, X: Any, Y: Any) -> tuple[Any, list]:
    """The fitted estimator, and what it warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        estimator.fit(X, Y)
    return estimator, said


def learned(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What was learned from the labels, without the sigmoid: that sees known entries alone."""
    arrays = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }
    if not hasattr(model, "slope_"):
        arrays["decision_function"] = model.decision_function(X)
    return arrays


def same(first: dict, second: dict) -> bool:
    return all(np.array_equal(value, second[name]) for name, value in first.items())


@pytest.fixture(scope="module")
def p():
    return problem()


def test_the_table_has_every_baseline():
    takes_views = {
        name
        for name in methods.__all__
        if "views" in inspect.signature(getattr(methods, name)).parameters
    } - {"GLOCAL"}  # its groups are of rows
    assert set(VIEWS) == takes_views


@every_baseline
def test_unknown_entries(name, p):
    labels = Labels.from_dense(p.Y)
    as_zeros = Labels.from_dense(np.nan_to_num(p.Y))
    model, said = fitted(settings_of(name, p, p.Y), p.X, labels)
    assert [w.category for w in said] == ([LabelWarning] if UNKNOWN[name] == WARNED else [])
    if said:
        assert f"{int(np.isnan(p.Y).sum())} unknown entries" in str(said[0].message)
        assert said[0].filename == __file__
    plain, said = fitted(settings_of(name, p, p.Y), p.X, as_zeros)
    assert not said
    found = same(learned(model, p.X_new), learned(plain, p.X_new))
    assert found == (UNKNOWN[name] != LEFT_OUT)


@every_baseline
def test_unlabeled_zeros(name, p):
    assert "nlabeled" in inspect.getdoc(getattr(methods, name)), "say what becomes of them"
    models = []
    for zeros in ("negative", "unlabeled"):
        labels = Labels.from_dense(p.truth.astype(float), zeros=zeros)
        model, said = fitted(settings_of(name, p, p.truth), p.X, labels)
        assert not said
        models.append(learned(model, p.X_new))
    assert same(*models) == (name not in MODELS_LOOKS)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_absent_views(name, p):
    views = Views({"first": 3, "second": 3})
    X = p.X.copy()
    X[::4, views["second"]] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    labels = Labels.from_dense(p.Y)
    models = []
    for features, n_warnings in ((X, int(VIEWS[name] == WARNED)), (filled, 0)):
        estimator = settings_of(name, p, p.Y).set_params(views=views)
        if "scaling" in estimator.get_params():
            estimator.set_params(scaling=None)  # which would be by what is there alone
        model, said = fitted(estimator, features, labels)
        assert [w.category for w in said] == n_warnings * [FitWarning]
        assert all("absent views" in str(w.message) for w in said)
        models.append(model)
    results = [m.decision_function(filled) for m in models]
    assert np.allclose(*results) == (VIEWS[name] == WARNED)
