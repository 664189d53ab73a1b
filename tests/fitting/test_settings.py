"""``inference=`` by name or object, and its short form ``max_iter=`` and ``tol=``."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from labelgap import BMLPL, MLLCS
from labelgap.fitting import EM, Gibbs, OnlineEM, fitting_settings

X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X @ np.random.default_rng(1).normal(size=(4, 5)) > 0.5).astype(int)


def test_the_short_form_sets_em():
    assert fitting_settings("em", max_iter=7, tol=0.1).get_params() == EM(7, 0.1).get_params()
    defaults = {"em": EM(30, 0.0, n_cg=5)}
    settings = fitting_settings("em", max_iter=7, defaults=defaults)
    assert settings.get_params() == EM(7, 0.0, n_cg=5).get_params()
    assert defaults["em"].max_iter == 30
    assert fitting_settings("em").get_params() == EM().get_params()


@pytest.mark.parametrize(
    ("inference", "short", "message"),
    [
        (EM(5), {"max_iter": 7}, r"write inference=EM\(max_iter=7"),
        ("online", {"max_iter": 7}, "OnlineEM has its own"),
        (Gibbs(), {"tol": 0.1}, "it belongs to inference='em'"),
        ("newton", {}, "use 'em', 'online' or 'gibbs'"),
        (3, {}, "use a name or EM"),
        (EM(0), {}, "max_iter=0 must be at least 1"),
        (OnlineEM(step_power=-1), {}, "step_power=-1 must be at least 0"),
        (EM(solver="lu"), {}, "solver='lu'"),
    ],
)
def test_what_does_not_go_together_is_refused(inference, short, message):
    with pytest.raises(ValueError, match=message):
        fitting_settings(inference, **short)


@pytest.mark.parametrize("model", [BMLPL(3, random_state=0), MLLCS(2, random_state=0)])
def test_estimators_take_the_short_form(model):
    short = clone(model).set_params(max_iter=4, tol=0.0).fit(X, Y)
    assert short.trace_.n_iter == 4
    assert clone(short).max_iter == 4
    with pytest.raises(ValueError, match="write inference=EM"):
        clone(short).set_params(inference=EM(3)).fit(X, Y)
    search = GridSearchCV(clone(model).set_params(tol=0.0), {"max_iter": [1, 5]}, cv=2).fit(X, Y)
    assert search.best_estimator_.trace_.n_iter == search.best_params_["max_iter"]
    with pytest.raises(ValueError, match="max_iter"):
        clone(model).set_params(max_iter=0).fit(X, Y)
