"""What every registered estimator that selects features must do with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from contract.problems import accepts_sparse, fresh, problem
from labelgap import Labels
from labelgap.baselines import BinaryRelevance


def fitted(case, X, Y):
    return fresh(case, X, Y).fit(X, Y)


def check_kept_features_are_those_with_the_largest_scores(case):
    p = problem()
    selector = fresh(case, p.X, p.Y).set_params(n_features_to_select=3).fit(p.X, p.Y)
    kept, scores = selector.get_support(), selector.scores_
    assert scores.shape == kept.shape == (p.X.shape[1],)
    assert (scores >= 0).all()
    assert scores[kept].min() >= scores[~kept].max()


def check_columns_come_out_as_they_went_in(case):
    p = problem()
    selector = fitted(case, p.X, p.Y)
    kept = selector.get_support(indices=True)
    np.testing.assert_array_equal(selector.transform(p.X_new), p.X_new[:, kept])
    back = selector.inverse_transform(p.X_new[:, kept])
    np.testing.assert_array_equal(back[:, kept], p.X_new[:, kept])
    if accepts_sparse(case):
        narrow = selector.transform(sparse.csr_array(p.X_new))
        assert sparse.issparse(narrow)
        np.testing.assert_array_equal(narrow.toarray(), p.X_new[:, kept])


def check_names_of_kept_features(case):
    p = problem()
    frame = pd.DataFrame(p.X, columns=[f"feature {j}" for j in range(p.X.shape[1])])
    selector = fresh(case, p.X, p.Y).set_output(transform="pandas").fit(frame, p.Y)
    narrow = selector.transform(frame)
    assert isinstance(narrow, pd.DataFrame)
    assert list(narrow.columns) == list(selector.get_feature_names_out())
    pd.testing.assert_frame_equal(narrow, frame[list(narrow.columns)])


def check_as_many_features_as_asked_for(case):
    p = problem()
    for wanted, n in ((1, 1), (5, 5), (6, 6), (0.5, 3)):
        selector = fresh(case, p.X, p.Y).set_params(n_features_to_select=wanted).fit(p.X, p.Y)
        assert selector.get_support().sum() == n
    with pytest.raises(ValueError, match="n_features_to_select=7"):
        fresh(case, p.X, p.Y).set_params(n_features_to_select=7).fit(p.X, p.Y)


def check_scores_follow_the_features(case):
    p = problem()
    order = np.random.default_rng(3).permutation(p.X.shape[1])
    scores = fitted(case, p.X, p.Y).scores_
    selector = fresh(case)
    if "init" in selector.get_params():
        everything = slice(None)
        start = case.permute_start(case.start(p.X, p.Y), everything, everything, order)
        selector.set_params(init=start)
    moved = selector.fit(p.X[:, order], p.Y).scores_
    np.testing.assert_allclose(moved, scores[order], rtol=case.tolerance, atol=case.tolerance)


def check_a_selector_is_a_step_of_a_pipeline(case):
    p = problem()
    labels = Labels.from_dense(p.Y)
    pipeline = make_pipeline(fresh(case), BinaryRelevance()).fit(p.X, labels)
    assert pipeline.predict(p.X_new).shape == (len(p.X_new), p.Y.shape[1])
    with pytest.raises(NotFittedError):
        fresh(case).transform(p.X)
