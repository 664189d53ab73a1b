"""ViewSelector in pipelines and searches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelgap.views import Views, ViewSelector, from_blocks, present

VIEWS = Views({"noise": 2, "signal": 3, "more": 1})


@parametrize_with_checks([ViewSelector({"first": 1})])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def _problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, (X[:, 2] + X[:, 3] > 0).astype(int)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_selects_columns(container):
    X, _ = _problem()
    selector = ViewSelector(VIEWS, keep=["more", "signal"]).fit(container(X))
    chosen = selector.transform(container(X))
    chosen = chosen.toarray() if sparse.issparse(chosen) else chosen
    np.testing.assert_array_equal(chosen, X[:, [5, 2, 3, 4]])
    assert dict(selector.views_) == {"more": slice(0, 1), "signal": slice(1, 4)}


def test_all_views_by_default():
    X, _ = _problem()
    np.testing.assert_array_equal(ViewSelector(VIEWS).fit_transform(X), X)


def test_marks_of_missing_views_pass_through():
    mask = np.array([True, False, True])
    for wrap in (np.asarray, sparse.csr_array):
        X, views = from_blocks({"a": wrap(np.ones((3, 2))), "b": np.ones((3, 1))}, {"a": mask})
        selector = ViewSelector(views, keep=["a"])
        kept = selector.fit_transform(X)
        assert present(kept, selector.views_).ravel().tolist() == mask.tolist()


def test_a_search_finds_the_view_that_helps():
    X, y = _problem()
    pipeline = Pipeline([("views", ViewSelector(VIEWS)), ("model", LogisticRegression())])
    grid = {"views__keep": [["noise"], ["signal"], ["more"]]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"views__keep": ["signal"]}
    assert search.best_estimator_["model"].n_features_in_ == 3


@pytest.mark.parametrize(
    ("library", "frame_type"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_frames_in_frames_out(library, frame_type):
    X, _ = _problem()
    names = [f"f{j}" for j in range(6)]
    frame = frame_type(dict(zip(names, X.T, strict=True)))
    selector = ViewSelector(VIEWS, keep=["signal"]).set_output(transform=library)
    chosen = selector.fit_transform(frame)
    assert isinstance(chosen, frame_type)
    assert list(chosen.columns) == ["f2", "f3", "f4"]
    assert selector.get_feature_names_out().tolist() == ["f2", "f3", "f4"]
    with pytest.raises(ValueError, match="input_features"):
        selector.get_feature_names_out(["other"] * 6)


def test_names_without_a_frame():
    X, _ = _problem()
    selector = ViewSelector(VIEWS, keep=["more"]).fit(X)
    assert selector.get_feature_names_out().tolist() == ["x5"]
    assert selector.get_feature_names_out(list("abcdef")).tolist() == ["f"]


def test_search_in_frames():
    X, y = _problem()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
    pipeline = Pipeline([("views", ViewSelector(VIEWS)), ("model", LogisticRegression())])
    pipeline.set_output(transform="pandas")
    search = GridSearchCV(pipeline, {"views__keep": [["noise"], ["signal"], None]}, cv=3)
    search.fit(frame, y)
    assert "f2" in search.best_estimator_["model"].feature_names_in_


def test_clone_keeps_groups():
    copied = clone(ViewSelector(VIEWS, keep=["more"]))
    assert copied.views == VIEWS
    assert copied.keep == ["more"]


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (
            ["colour"],
            r"keep\[0\] = 'colour' is not a view; the views are 'noise', 'signal', 'more'",
        ),
        (["more", "more"], r"keep\[1\] = 'more' is there twice"),
        ([], "keep is empty"),
        ("more", r"keep='more' is a string: give a list of views, keep=\['more'\]"),
    ],
)
def test_keep_errors(keep, message):
    with pytest.raises(ValueError, match=message):
        ViewSelector(VIEWS, keep=keep).fit(np.zeros((3, 6)))


def test_too_narrow_a_matrix():
    with pytest.raises(ValueError, match="view 'more' ends at column 6, but X has 5 columns"):
        ViewSelector(VIEWS).fit(np.zeros((3, 5)))
