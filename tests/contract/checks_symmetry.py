"""What the result may depend on: not on chance, history, the order of things or the processes."""

from __future__ import annotations

import numpy as np

from contract.problems import assert_same, fresh, outputs, problem
from contract.registry import Case

KEEP = slice(None)


def check_same_seed_same_result(case: Case) -> None:
    p = problem()
    results = [outputs(fresh(case).fit(p.X, p.Y), p.X_new) for _ in range(2)]
    assert_same(*results, 0)


def check_refit_is_a_fresh_fit(case: Case) -> None:
    """Nothing of an earlier fit, on other features, labels and rows, survives."""
    before, p = problem(n_samples=61, n_features=9, n_labels=7, seed=1), problem()
    used = fresh(case).fit(before.X, before.Y)
    used.predict(before.X_new)
    used.fit(p.X, p.Y)
    new = fresh(case).fit(p.X, p.Y)
    assert_same(outputs(used, p.X_new), outputs(new, p.X_new), 0)
    assert vars(used).keys() == vars(new).keys()


def check_prediction_leaves_no_trace(case: Case) -> None:
    """Rows are predicted on their own: not by what else is in the batch or was asked before."""
    p = problem()
    estimator = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    together = outputs(estimator, p.X_new)
    apart = [outputs(estimator, p.X_new[i : i + 1]) for i in range(len(p.X_new))]
    stacked = {name: np.vstack([one[name] for one in apart]) for name in together}
    assert_same(together, stacked, 1e-10)


def check_row_order(case: Case) -> None:
    p = problem()
    rows = np.random.default_rng(2).permutation(len(p.X))
    _compare(case, rows=rows)


def check_label_order(case: Case) -> None:
    _compare(case, labels=np.array([2, 0, 3, 1]))


def check_feature_order(case: Case) -> None:
    _compare(case, features=np.array([3, 5, 0, 1, 4, 2]))


def _compare(case: Case, rows=KEEP, labels=KEEP, features=KEEP) -> None:
    """The fit on permuted data says the permuted things; a start is permuted with the data."""
    p = problem()
    plain = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    permuted = fresh(case, p.X, p.Y)
    if case.permute_start is not None:
        permuted.set_params(init=case.permute_start(permuted.init, rows, labels, features))
    permuted.fit(p.X[rows][:, features], p.Y[rows][:, labels])
    expected = {name: value[:, labels] for name, value in outputs(plain, p.X_new).items()}
    assert_same(expected, outputs(permuted, p.X_new[:, features]), case.tolerance)


def check_number_of_jobs(case: Case) -> None:
    p = problem()
    if "n_jobs" not in case.estimator.get_params(deep=False):
        return
    one, two = (fresh(case, p.X, p.Y).set_params(n_jobs=n).fit(p.X, p.Y) for n in (1, 2))
    assert_same(outputs(one, p.X_new), outputs(two, p.X_new), 0)
