"""Life in scikit-learn: parameters, copies, files, pipelines and searches, all with gaps."""

from __future__ import annotations

import inspect
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from contract.problems import accepts_sparse, assert_same, fresh, outputs, problem
from contract.registry import Case
from labelgap import Labels, metrics


def check_unfitted(case: Case) -> None:
    p = problem()
    estimator = fresh(case)
    for method in ("decision_function", "predict_proba", "predict"):
        if hasattr(estimator, method):
            with pytest.raises(NotFittedError):
                getattr(estimator, method)(p.X_new)
    with pytest.raises(NotFittedError):
        estimator.score(p.X, p.Y)


def check_parameters_are_checked(case: Case) -> None:
    """Every parameter is documented, and a value of no use is refused by its name."""
    p = problem()
    documentation = inspect.getdoc(type(case.estimator)) or ""
    for name in case.estimator.get_params(deep=False):
        assert f"{name} :" in documentation or f"{name}," in documentation, f"undocumented: {name}"
        with pytest.raises((ValueError, TypeError), match=f"{name!r} parameter"):
            fresh(case).set_params(**{name: object()}).fit(p.X, p.Y)


def check_copies_and_files(case: Case) -> None:
    """A clone is unfitted and equal, a pickle is fitted and equal."""
    p = problem()
    estimator = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    expected = outputs(estimator, p.X_new)
    restored = pickle.loads(pickle.dumps(estimator))
    assert_same(expected, outputs(restored, p.X_new), 0)
    assert vars(restored).keys() == vars(estimator).keys()
    copied = clone(estimator)
    assert not hasattr(copied, "classes_")
    assert joblib.hash(copied.get_params()) == joblib.hash(estimator.get_params())
    assert_same(expected, outputs(copied.fit(p.X, p.Y), p.X_new), 0)


def check_names_and_frames(case: Case) -> None:
    """Labels come back by name, and predictions as frames with the items that they are of."""
    pandas, p = pytest.importorskip("pandas"), problem()
    items = [f"item {row}" for row in range(len(p.X))]
    names = ["oak", "ash", "elm", "yew"]
    features = [f"x{j}" for j in range(p.X.shape[1])]
    X = pandas.DataFrame(p.X, index=items, columns=features)
    Y = pandas.DataFrame(p.Y, index=items, columns=names)
    plain = fresh(case, p.X, p.Y).fit(X, Y)
    expected = outputs(plain, X)
    scores = expected.get("predict_proba", expected["decision_function"])
    named = plain.predict_names(X, k=2)
    assert named.shape == (len(X), 2)
    best = np.asarray(names, dtype=object)[scores.argmax(axis=1)]
    np.testing.assert_array_equal(named[:, 0], best)
    assert plain.predict_names(X[:3], k=9).shape == (3, 4)
    parts = iter([X[:5], X[5:]])
    labels, values = plain.predict_topk(parts, k=2)
    np.testing.assert_array_equal(labels, named)
    np.testing.assert_allclose(values, -np.sort(-scores, axis=1)[:, :2], rtol=1e-9, atol=1e-9)
    model = clone(plain).set_output(transform="pandas")
    assert clone(model)._sklearn_output_config == {"transform": "pandas"}
    if hasattr(plain, "init"):
        model.set_params(init=plain.init)
    model.fit(X, Y)
    for method, values in expected.items():
        found = getattr(model, method)(X)
        assert found.columns.tolist() == names
        assert found.index.tolist() == items
        np.testing.assert_array_equal(found.to_numpy(), values)
    assert model.predict_names(X, k=2).index.tolist() == items
    assert model.score(X, Y) == plain.score(X, Y)


def check_search_with_gaps(case: Case) -> None:
    """A search over folds works for Labels with ``cv=3`` and for NaN with a splitter."""
    p = problem()
    labels = Labels.from_dense(p.Y)
    scoring = metrics.get_scorer("auc_micro")
    for y, cv in ((labels, 3), (p.Y, KFold(3))):
        search = GridSearchCV(
            fresh(case), dict(case.grid), cv=cv, scoring=scoring, error_score="raise"
        ).fit(p.X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.predict(p.X_new).shape == (len(p.X_new), p.Y.shape[1])
        assert np.isfinite(search.score(p.X, y))


def check_cross_validation_in_a_pipeline(case: Case) -> None:
    """Sparse masks are cut with the rows, by hand, by splitters and inside pipelines."""
    p = problem()
    labels = Labels.from_sparse(
        sparse.csr_array((p.truth == 1) & ~p.hidden), observed=sparse.csr_array(~p.hidden)
    )
    X = sparse.csr_array(p.X) if accepts_sparse(case) else p.X
    pipeline = make_pipeline(MaxAbsScaler(), fresh(case))
    result = cross_validate(pipeline, X, labels, cv=3, error_score="raise")
    by_hand = []
    for train, test in KFold(3).split(p.X):
        fitted = clone(pipeline).fit(X[train], labels[train])
        by_hand.append(
            metrics.label_ranking_average_precision(p.Y[test], fitted.decision_function(X[test]))
        )
    np.testing.assert_allclose(result["test_score"], by_hand)
    X_train, X_test, Y_train, Y_test = train_test_split(X, labels, random_state=0)
    assert clone(pipeline).fit(X_train, Y_train).predict(X_test).shape == Y_test.shape


def check_classes_in_a_vector(case: Case) -> None:
    """A vector of two or three classes is an ordinary classification problem."""
    p = problem()
    for n_classes in (2, 3):
        y = np.array(["clay", "sand", "silt"])[np.argsort(p.X @ np.ones(p.X.shape[1])) % n_classes]
        estimator = fresh(case).fit(p.X, y)
        assert list(estimator.classes_) == sorted(set(y))
        predicted = estimator.predict(p.X_new)
        assert predicted.shape == (len(p.X_new),)
        assert set(predicted) <= set(y)
        if hasattr(estimator, "predict_proba"):
            total = estimator.predict_proba(p.X_new).sum(axis=1)
            np.testing.assert_allclose(total, 1)
