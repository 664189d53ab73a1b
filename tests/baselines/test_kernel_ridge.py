import numpy as np
import pytest
from scipy.special import logit
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from labelgap.baselines import KernelRidgePerLabel, _kernel_ridge_per_label


@pytest.fixture
def data(rng):
    X = rng.standard_normal((50, 4))
    Y = (X @ rng.standard_normal((4, 3)) + rng.standard_normal((50, 3)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    return X, Y, rng.standard_normal((7, 4))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_each_label_is_a_ridge_regression_on_its_observed_rows(data, kernel):
    X, Y, X_new = data
    gamma = 0.2 if kernel == "rbf" else None
    model = KernelRidgePerLabel(0.7, kernel=kernel, gamma=gamma).fit(X, Y)
    fitted = (model.decision_function(X_new) - model.offset_) / model.slope_
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        p = model.prevalence_[j]
        ridge = KernelRidge(alpha=0.7, kernel=kernel, gamma=gamma).fit(X[known], Y[known, j] - p)
        np.testing.assert_allclose(fitted[:, j], p + ridge.predict(X_new), atol=1e-10)
        assert not model.dual_coef_[~known, j].any()


def test_left_out_predictions_are_those_of_leaving_out(data):
    X, Y, _ = data
    residual = np.nan_to_num(Y[:, :2])
    kernel = rbf_kernel(X, gamma=0.3)
    _, left_out = _kernel_ridge_per_label._solve(kernel, None, residual, 0.5)
    for i in range(0, 50, 7):
        others = np.arange(50) != i
        matrix = kernel[np.ix_(others, others)] + 0.5 * np.eye(49)
        expected = kernel[i, others] @ np.linalg.solve(matrix, residual[others])
        np.testing.assert_allclose(left_out[i], expected, atol=1e-10)


def test_one_factorisation_per_mask(data, monkeypatch):
    X, Y, _ = data
    calls = []
    factorise = _kernel_ridge_per_label.cho_factor
    monkeypatch.setattr(
        _kernel_ridge_per_label, "cho_factor", lambda *a, **k: calls.append(1) or factorise(*a, **k)
    )
    KernelRidgePerLabel().fit(X, np.nan_to_num(Y))
    assert len(calls) == 1
    KernelRidgePerLabel().fit(X, Y[:, [0, 1, 0, 0, 1]])
    assert len(calls) == 3


def test_the_default_width_is_the_mean_distance(data):
    X, Y, _ = data
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]
    model = KernelRidgePerLabel().fit(X, Y)
    assert model.gamma_ == pytest.approx(1 / (2 * np.mean(pairs) ** 2))


def test_rows_that_are_all_the_same_have_some_width(data):
    _, Y, X_new = data
    model = KernelRidgePerLabel().fit(np.ones((50, 4)), Y)
    assert np.isfinite(model.predict_proba(X_new)).all()


def test_prediction_in_blocks_is_the_same(data, monkeypatch):
    X, Y, X_new = data
    model = KernelRidgePerLabel().fit(X, Y)
    whole = model.decision_function(X_new)
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 2 * len(X))
    np.testing.assert_allclose(model.decision_function(X_new), whole, atol=1e-12)


def test_a_kernel_of_the_user(data):
    X, Y, X_new = data
    mine = KernelRidgePerLabel(kernel=lambda u, v: float(u @ v)).fit(X, Y)
    linear = KernelRidgePerLabel(kernel="linear").fit(X, Y)
    np.testing.assert_allclose(mine.predict_proba(X_new), linear.predict_proba(X_new), atol=1e-9)


def test_probabilities_are_calibrated_on_the_whole(rng):
    X = rng.standard_normal((600, 5))
    Y = (X @ rng.standard_normal((5, 4)) + 2 * rng.standard_normal((600, 4)) > 1).astype(int)
    model = KernelRidgePerLabel().fit(X[:300], Y[:300])
    probability, truth = model.predict_proba(X[300:]), Y[300:]
    for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 1)):
        inside = (probability >= low) & (probability < high)
        assert abs(probability[inside].mean() - truth[inside].mean()) < 0.06
    np.testing.assert_allclose(logit(probability), model.decision_function(X[300:]), atol=1e-9)


def test_errors_name_the_parameter(data):
    X, Y, _ = data
    with pytest.raises(ValueError, match="'alpha' parameter of KernelRidgePerLabel"):
        KernelRidgePerLabel(0.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"gamma=1\.0 is of use for kernel='rbf' only"):
        KernelRidgePerLabel(kernel="linear", gamma=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="alpha=1e-300: the kernel matrix is numerically singular"):
        KernelRidgePerLabel(1e-300, kernel="linear").fit(X, Y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_conjugate_gradient_gives_what_factors_give(data, kernel):
    X, Y, X_new = data
    exact = KernelRidgePerLabel(0.7, kernel=kernel).fit(X, Y)
    found = KernelRidgePerLabel(0.7, kernel=kernel, solver="cg").fit(X, Y)
    scores = [(m.decision_function(X_new) - m.offset_) / m.slope_ for m in (exact, found)]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-3)
    assert not found.dual_coef_[np.isnan(Y)].any()


def test_conjugate_gradient_on_a_device(data):
    pytest.importorskip("torch")
    X, Y, _ = data
    found = KernelRidgePerLabel(solver="cg", device="cpu").fit(X, Y).predict_proba(X)
    expected = KernelRidgePerLabel(solver="cg").fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)  # of conjugate gradient


def test_a_device_is_for_conjugate_gradient(data):
    with pytest.raises(ValueError, match="device='cpu' is of use for solver='cg' only"):
        KernelRidgePerLabel(device="cpu").fit(*data[:2])


def test_conjugate_gradient_calibrates_on_held_out_entries(rng):
    X = rng.standard_normal((400, 3))
    chance = 1 / (1 + np.exp(-2 * X @ rng.standard_normal((3, 30))))
    Y = (rng.random(chance.shape) < chance).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    found = KernelRidgePerLabel(solver="cg").fit(X[:200], Y[:200]).predict_proba(X[200:])
    assert abs(found.mean() - np.nanmean(Y[200:])) < 0.03


@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_conjugate_gradient_with_one_known_entry():
    X, Y = np.eye(4), np.full((4, 2), np.nan)
    Y[1, 0] = 1
    model = KernelRidgePerLabel(solver="cg").fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()
