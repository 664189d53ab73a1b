"""Exported graphs say what the models say, and what is not linear is refused."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

import labelgap
from contract.registry import CASES
from export.exporting import check_export, example, run_graph
from labelgap import BMLPL, RMFL, RMFLCV, BinaryRelevance, KNeighborsLabels, Labels, Mend
from labelgap.baselines import LabelPrior
from labelgap.export import NotLinearError, linear_form, to_onnx

# every estimator under contract is either linear, in all settings listed there, or in this table
NOT_LINEAR = {
    "KNeighborsLabels": "all",
    "KernelRidgePerLabel": "kernel='linear'",
    "BinaryRelevance": "LogisticRegression LinearSVC BinaryRelevance() BinaryRelevance(C=1.0)",
    "CooccurrenceVote": "all",
    "ProbabilisticLabelTree": "all",
    "BMLPL": "all",
    "GradientBoostingLabels": "all",
    "MLLCS": "EM( OnlineEM(",
    "RMFL": "kernel='linear'",
    "RMFLCV": "all",
    "IMVWL": "all",
    # probabilities of the toys are no sigmoid of their scores
    "GradientDescent": "all",
    "OnePassPerceptron": "all",
}


@pytest.fixture(scope="module")
def data():
    return example()


# an ensemble's prediction is the mean of two sigmoids, unless nothing was imputed
DECIDED_BY_DATA = (Mend,)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not isinstance(case.estimator, DECIDED_BY_DATA)],
    ids=lambda case: case.name,
)
def test_linear_estimators_are_exported_and_others_refused(case):
    check_export(case.estimator, NOT_LINEAR)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pipelines(data, dtype):
    X, Y, new = data
    X, new = 5 + X, 5 + new
    X[::7, 2] = new[::5, 1] = np.nan
    new[0] = 0.0
    pipeline = make_pipeline(
        SimpleImputer(), StandardScaler(), MaxAbsScaler(), Normalizer(), BinaryRelevance()
    ).fit(X, Y)
    made = to_onnx(pipeline, dtype=dtype)
    given = run_graph(made, new, dtype)["probabilities"]
    assert given.dtype == dtype
    np.testing.assert_allclose(given, pipeline.predict_proba(new), atol=1e-5)


def test_a_row_of_zeros_keeps_its_length(data):
    X, Y, _ = data
    pipeline = make_pipeline(Normalizer(), BinaryRelevance()).fit(X, Y)
    rows = np.vstack([np.zeros(6), np.ones(6)])
    given = run_graph(to_onnx(pipeline), rows)["probabilities"]
    np.testing.assert_allclose(given, pipeline.predict_proba(rows), atol=1e-9)


def test_mend_is_linear_without_hedging(data):
    X, Y, new = data
    labels = Labels.from_dense(np.nan_to_num(Y), zeros="unlabeled")
    model = Mend(LogisticRegression(), label_frequency=0.8, ensemble=False, random_state=0).fit(
        X, labels
    )
    given = run_graph(to_onnx(model), new)["probabilities"]
    np.testing.assert_allclose(given, model.predict_proba(new), atol=1e-9)


def test_search_and_thresholds_of_rmfl(data):
    X, Y, new = data
    base = RMFL(2, kernel="linear", thresholds="f1", max_iter=3, tol=0, random_state=0)
    search = RMFLCV(base, lambda_1=(0.1,), lambda_2=(0.1,), lambda_4=(1.0,), ridge_v=(1.0,), cv=2)
    search.fit(X, Y)
    assert search.best_estimator_.thresholds_.any()
    given = run_graph(to_onnx(search), new)["probabilities"]
    np.testing.assert_allclose(given, search.predict_proba(new), atol=1e-9)


def test_the_file_says_where_it_comes_from(data):
    X, Y, _ = data
    labels = Labels.from_dense(Y).with_names(["höhe", "b", "c", "d"])
    model = BinaryRelevance().fit(X, labels)
    names = [f"x{j}" for j in range(6)]
    made = to_onnx(model, feature_names=names)
    about = {one.key: one.value for one in made.metadata_props}
    assert json.loads(about["feature_names"]) == names
    assert json.loads(about["label_names"]) == ["höhe", "b", "c", "d"]
    assert about["estimator"] == "BinaryRelevance"
    assert about["labelgap_version"] == made.producer_version == labelgap.__version__


def test_names_come_from_the_frame_it_was_fitted_on(data):
    pandas = pytest.importorskip("pandas")
    X, Y, _ = data
    model = LabelPrior().fit(pandas.DataFrame(X, columns=list("uvwxyz")), Y)
    about = {one.key: one.value for one in to_onnx(model).metadata_props}
    assert json.loads(about["feature_names"]) == list("uvwxyz")


def test_the_form_is_that_of_the_coefficients(data):
    X, Y, new = data
    model = BinaryRelevance().fit(X, Y)
    form = linear_form(model)
    np.testing.assert_allclose(form.coef, model.coef_.T, atol=1e-12)
    np.testing.assert_allclose(form.intercept, model.intercept_, atol=1e-12)
    margins = linear_form(BinaryRelevance(LinearSVC(random_state=0)).fit(X, Y))
    with pytest.raises(ValueError, match="no probabilities"):
        margins.probabilities(new)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BMLPL(2, random_state=0), "BMLPL is not linear in its features"),
        (KNeighborsLabels(3), "KNeighborsLabels is not linear"),
        (BinaryRelevance(GaussianNB()), "export a linear model such as"),
        (make_pipeline(PolynomialFeatures(), BinaryRelevance()), "PolynomialFeatures before"),
        (make_pipeline(SimpleImputer(missing_values=0), LabelPrior()), "must fill NaN"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_linear_is_told(data, model, message):
    X, Y, _ = data
    with pytest.raises(NotLinearError, match=message):
        to_onnx(clone(model).fit(X, Y))


def test_other_refusals(data):
    X, Y, _ = data
    with pytest.raises(NotLinearError, match="vector of classes"):
        to_onnx(BinaryRelevance().fit(X, (X[:, 0] > 0).astype(int)))
    with pytest.raises(NotLinearError, match="LogisticRegression is no estimator of labelgap"):
        to_onnx(LogisticRegression().fit(X, (X[:, 0] > 0).astype(int)))
    kernel = RMFL(2, kernel="precomputed", max_iter=2, tol=0, random_state=0)
    with pytest.raises(NotLinearError, match="kernel values"):
        to_onnx(kernel.fit(X @ X.T + np.eye(60), Y))
    model = LabelPrior().fit(X, Y)
    with pytest.raises(ValueError, match="label_names has 1 names, the model has 4"):
        to_onnx(model, label_names=["a"])
    with pytest.raises(ValueError, match="dtype='float16'"):
        to_onnx(model, dtype="float16")


def test_without_onnx_the_error_names_the_extra(data, monkeypatch):
    X, Y, _ = data
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"labelgap\[onnx\]"):
        to_onnx(LabelPrior().fit(X, Y))
