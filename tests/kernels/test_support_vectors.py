"""Machines of many labels at once: each is the one libSVM finds."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.svm import SVC

from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.support_vectors import fit_support_vectors


def libraries():
    torch = pytest.importorskip("torch")
    return lambda array: torch.as_tensor(np.ascontiguousarray(array))


@pytest.fixture(params=["numpy", "torch"])
def library(request):
    return np.asarray if request.param == "numpy" else libraries()


def problem(rng, n=80, shares=(0.5, 0.02, 0.3, 0.9), gaps=0.0):
    X = rng.normal(size=(n, 5))
    signs = np.where(X @ rng.normal(size=(5, len(shares))) > 0, 1.0, -1.0)
    for j, share in enumerate(shares):
        flip = rng.random(n) < 0.1
        signs[flip, j] *= -1
        limit = np.quantile(X[:, j % 5], 1 - share)
        signs[:, j] = np.where((X[:, j % 5] > limit) ^ flip, 1.0, -1.0)
    signs[rng.random(signs.shape) < gaps] = 0
    return X, signs


def gaussian(X, width):
    return np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / width)


def one_by_one(gram, signs, C, tol):
    """The slow way: scikit-learn's machine for every label, on the rows that count."""
    coefficients, level = np.zeros(signs.shape), np.zeros(signs.shape[1])
    for j, y in enumerate(signs.T):
        rows = np.flatnonzero(y)
        machine = SVC(C=C, kernel="precomputed", tol=tol)
        machine.fit(gram[np.ix_(rows, rows)], y[rows])
        coefficients[rows[machine.support_], j] = machine.dual_coef_[0]
        level[j] = machine.intercept_[0]
    return coefficients, level


def objective(gram, signs, coefficients):
    return 0.5 * np.sum(coefficients * (gram @ coefficients), axis=0) - np.sum(
        signs * coefficients, axis=0
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_every_label_is_that_of_libsvm(library, kernel, gaps, C):
    X, signs = problem(np.random.default_rng(4), gaps=gaps)
    gram = gaussian(X, 5.0) if kernel == "gaussian" else X @ X.T
    found = fit_support_vectors(library(gram), library(signs), C, tol=1e-5)
    coefficients, level = to_numpy(found.coefficients), to_numpy(found.level)
    expected, at = one_by_one(gram, signs, C, 1e-5)
    np.testing.assert_allclose(gram @ coefficients + level, gram @ expected + at, atol=2e-4)
    values = objective(gram, signs, coefficients)
    np.testing.assert_allclose(values, objective(gram, signs, expected), rtol=1e-5)
    assert np.all(signs * coefficients >= 0)
    assert np.all(np.abs(coefficients) <= C * np.abs(signs))
    np.testing.assert_allclose(coefficients.sum(axis=0), 0, atol=1e-9 * C)


def test_it_stops_where_libsvm_stops():
    X, signs = problem(np.random.default_rng(6), n=300)
    gram = gaussian(X, 5.0).astype(np.float32)
    found = fit_support_vectors(gram, signs)
    for j, y in enumerate(signs.T):
        machine = SVC(kernel="precomputed", shrinking=False).fit(gram, y)
        assert found.n_iter[j] == machine.n_iter_[0]
        np.testing.assert_allclose(found.level[j], machine.intercept_[0], atol=1e-5)


def test_no_pair_violates_optimality_by_more_than_the_tolerance(library):
    X, signs = problem(np.random.default_rng(7))
    gram = gaussian(X, 5.0)
    for tol in (1e-1, 1e-3):
        b = to_numpy(fit_support_vectors(library(gram), library(signs), tol=tol).coefficients)
        rest = signs - gram @ b
        up = np.where(b < np.maximum(signs, 0), rest, -np.inf).max(axis=0)
        down = np.where(b > np.minimum(signs, 0), rest, np.inf).min(axis=0)
        assert np.all(up - down < tol)


def test_several_kernel_matrices(library):
    X, signs = problem(np.random.default_rng(8))
    grams = np.stack([gaussian(X, width) for width in (2.0, 5.0)])
    found = fit_support_vectors(library(grams), library(signs))
    assert found.coefficients.shape == (2, *signs.shape)
    for place, gram in enumerate(grams):
        alone = fit_support_vectors(library(gram), library(signs))
        np.testing.assert_array_equal(
            to_numpy(found.coefficients[place]), to_numpy(alone.coefficients)
        )
        np.testing.assert_array_equal(to_numpy(found.level[place]), to_numpy(alone.level))
        np.testing.assert_array_equal(found.n_iter[place], alone.n_iter)


def test_labels_of_one_sign_or_none(library):
    X, _ = problem(np.random.default_rng(9), n=20)
    signs = np.zeros((20, 4))
    signs[:, 0], signs[3:, 1] = 1, -1
    signs[0, 3], signs[1:, 3] = 1, -1
    found = fit_support_vectors(library(gaussian(X, 5.0)), library(signs))
    np.testing.assert_array_equal(to_numpy(found.level)[:3], [1, -1, 0])
    assert not to_numpy(found.coefficients)[:, :3].any()
    assert to_numpy(found.coefficients)[0, 3] > 0


def test_duplicate_rows(library):
    """Pairs without curvature: as far as the bounds allow."""
    signs = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    found = fit_support_vectors(library(np.ones((4, 4))), library(signs), 2.0)
    np.testing.assert_allclose(to_numpy(found.coefficients), 2 * signs)


def test_steps_are_limited(library):
    X, signs = problem(np.random.default_rng(10))
    found = fit_support_vectors(library(gaussian(X, 5.0)), library(signs), max_iter=7)
    assert found.n_iter.max() == 7
    np.testing.assert_allclose(to_numpy(found.coefficients).sum(axis=0), 0, atol=1e-12)


def test_single_precision_matrices(library):
    X, signs = problem(np.random.default_rng(11))
    gram = gaussian(X, 5.0)
    single = fit_support_vectors(library(gram.astype(np.float32)), library(signs), tol=1e-4)
    double = fit_support_vectors(library(gram), library(signs), tol=1e-4)
    scores = [gram @ to_numpy(m.coefficients) + to_numpy(m.level) for m in (single, double)]
    np.testing.assert_allclose(*scores, atol=2e-3)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"gram has the shape"):
        fit_support_vectors(np.eye(3)[:2], np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"signs has the shape"):
        fit_support_vectors(np.eye(3), np.ones((4, 1)))
    with pytest.raises(ValueError, match=r"gram has values that are no finite number"):
        fit_support_vectors(np.full((2, 2), np.nan), np.array([[1.0], [-1.0]]))


def test_an_optimum_with_every_row_at_a_bound(library):
    """Rows are looked at for setting aside at the very step after which none may move."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.repeat([1.0, -1.0], 200)[:, None]
    found = fit_support_vectors(library(gaussian(X, 3.0)), library(y), C=1e-3)
    np.testing.assert_allclose(to_numpy(found.coefficients), 1e-3 * y, atol=1e-12)


STEPS = """
import sys
import numpy as np, torch
from labelgap.kernels import _device_steps, support_vectors

gram, signs = (torch.as_tensor(part) for part in np.load(sys.argv[1]).values())
support_vectors._way = lambda xp, flat: (_device_steps.walk, 40)
_device_steps._ROWS = 16
found = support_vectors.fit_support_vectors(gram, signs, 2.0, tol=1e-5)
np.savez(sys.argv[2], b=found.coefficients.numpy(), level=found.level, n_iter=found.n_iter)
"""


@pytest.mark.slow
def test_the_kernel_of_a_device_takes_the_steps_of_the_processor(tmp_path):
    """In triton's interpreter, which must be asked for before triton is imported."""
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    X, signs = problem(np.random.default_rng(12), n=40, gaps=0.1)
    signs[:, 1] = -1
    grams = np.stack([gaussian(X, width) for width in (2.0, 5.0)]).astype(np.float32)
    np.savez(tmp_path / "given.npz", gram=grams, signs=signs)
    command = [sys.executable, "-c", STEPS, tmp_path / "given.npz", tmp_path / "found.npz"]
    subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, check=True, timeout=300)
    expected = fit_support_vectors(grams, signs, 2.0, tol=1e-5)
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_allclose(found["n_iter"], expected.n_iter, atol=5)
        np.testing.assert_allclose(found["b"], expected.coefficients, atol=1e-4)
        np.testing.assert_allclose(found["level"], expected.level, atol=1e-4)
