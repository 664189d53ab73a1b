"""Logistic regressions of rows in blocks are those of rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from labelgap import BinaryRelevance, KNeighborsLabels
from labelgap.fitting import ArrayRows, write_blocks

MODEL = LogisticRegression(tol=1e-6, max_iter=300)


def problem(layout=np.asarray, n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.7)
    Y = (X[:, :5] + rng.logistic(size=(n, 5)) > [0, 1, 2, 5, 0]).astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[:, 4] = np.where(np.isnan(Y[:, 4]), np.nan, 0.0)  # one value alone
    return layout(X), Y


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("sample", [100, 20_000])
def test_coefficients_from_disk_are_those_of_the_array(layout, sample, tmp_path, monkeypatch):
    monkeypatch.setattr("labelgap.one_vs_rest._fit_stored._SAMPLE_ROWS", sample)
    X, Y = problem(layout)
    write_blocks(tmp_path / "rows", (X, Y), block_rows=400)
    here = BinaryRelevance(MODEL).fit(X, Y)
    there = BinaryRelevance(MODEL).fit(tmp_path / "rows")
    np.testing.assert_allclose(there.coef_, here.coef_, atol=2e-4)
    np.testing.assert_allclose(there.intercept_, here.intercept_, atol=2e-4)
    assert max(model.n_iter_[0] for model in there.estimators_[:4]) < 40
    np.testing.assert_array_equal(
        there.predict_topk(tmp_path / "rows", 2)[0], here.predict_topk(X, 2)[0]
    )


def test_few_labels_at_a_time_change_nothing(monkeypatch):
    X, Y = problem()
    rows = ArrayRows(X, Y, block_rows=300)
    whole = BinaryRelevance(MODEL, unknown="negative").fit(rows)
    monkeypatch.setattr("labelgap.one_vs_rest._fit_stored._N_ARRAYS", 10**9)
    parts = BinaryRelevance(MODEL, unknown="negative").fit(rows)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-3)


def test_models_that_need_arrays_say_so():
    rows = ArrayRows(*problem(), block_rows=300)
    with pytest.raises(ValueError, match="learns from arrays"):
        BinaryRelevance(DecisionTreeClassifier()).fit(rows)
    with pytest.raises(TypeError, match="KNeighborsLabels learns from arrays"):
        KNeighborsLabels().fit(rows)


def test_the_strength_of_each_label_is_chosen_as_in_memory():
    X, Y = problem()
    here, there = (BinaryRelevance().fit(*rows) for rows in ((X, Y), (ArrayRows(X, Y), None)))
    np.testing.assert_array_equal(there.C_, here.C_)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=0.02)
