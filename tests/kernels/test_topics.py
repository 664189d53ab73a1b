from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgap.kernels import topics as kernel
from reference import topic_kernels as slow

SHAPES = [(6, 3), (6, 1), (1, 3), (0, 2)]


def rows(shape, dtype=np.float64, seed=0):
    """psi, exposure (with zeros), counts (with zeros), r and spread."""
    rng = np.random.default_rng(seed)
    psi = 2 * rng.normal(size=shape)
    exposure = rng.random(shape) * (rng.random(shape) < 0.8)
    counts = rng.gamma(0.5, size=shape) * (exposure > 0)
    r = rng.gamma(1.0, size=shape[1]) + 0.05
    spread = rng.gamma(1.0, size=shape)
    return tuple(part.astype(dtype) for part in (psi, exposure, counts, r, spread))


def log(exposure):
    with np.errstate(divide="ignore"):
        return np.log(exposure)


def close(found, expected, dtype):
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_topic_weights_agree_with_the_definition(shape, dtype):
    psi, exposure, counts, r, _ = rows(shape, dtype)
    weights, term = np.empty_like(psi), np.empty(shape[0])
    kernel.topic_weights(psi, log(exposure), counts, r, weights, term)
    expected_weights, expected_term = slow.topic_weights(psi, exposure, counts, r)
    close(weights, expected_weights, dtype)
    close(term, expected_term, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("with_spread", [False, True])
def test_regression_terms_agree_with_the_definition(shape, dtype, with_spread):
    psi, exposure, counts, r, spread = rows(shape, dtype)
    if not with_spread:
        spread = np.zeros_like(psi)
    residual, omega = np.empty_like(psi), np.empty_like(psi)
    given_spread = spread if with_spread else np.empty((0, 0), dtype=dtype)
    kernel.regression_terms(psi, log(exposure), counts, r, given_spread, residual, omega)
    expected_residual, expected_omega = slow.regression_terms(psi, exposure, counts, r, spread)
    close(residual, expected_residual, dtype)
    close(omega, expected_omega, dtype)


def test_residual_is_the_gradient_of_the_negative_binomial_likelihood():
    """kappa - omega x = m - (m + r) logistic(x), the derivative of m x - (m + r) softplus(x)."""
    psi, _, counts, r, _ = rows((6, 3))
    none = np.zeros_like(psi)
    residual, omega = np.empty_like(psi), np.empty_like(psi)
    kernel.regression_terms(psi, none, counts, r, np.empty((0, 0)), residual, omega)
    np.testing.assert_allclose(residual, counts - (counts + r) / (1 + np.exp(-psi)), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("shape", [(4, 5, 3), (4, 1, 3), (4, 5, 1), (0, 5, 2), (2, 3, 400)])
def test_rates_agree_with_the_definition(shape, dtype, equal):
    rng = np.random.default_rng(0)
    n, n_labels, k = shape
    psi = (3 * rng.normal(size=(n, k))).astype(dtype)
    topics = rng.dirichlet(np.ones(n_labels), k).T.astype(dtype).copy()
    r = np.full(k, 0.3) if equal else rng.gamma(1.0, size=k) + 0.1
    np.testing.assert_allclose(
        kernel.surprise_rates(psi, topics, r.astype(dtype)),
        slow.surprise_rates(psi, topics, r),
        rtol=1e-6 if dtype == np.float64 else 1e-5,
    )


@settings(max_examples=40, deadline=None)
@given(st.floats(-600, 700), st.floats(1e-12, 1))
def test_small_and_large_rates_keep_their_digits(psi, fraction):
    found = kernel.surprise_rates(
        np.array([[psi, -800.0]]), np.array([[fraction, 0.5]]), np.ones(2)
    )
    expected = np.logaddexp(0, np.log(fraction) + min(psi, 80.0))
    assert found[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_many_medium_factors_before_a_few_huge_ones():
    psi = np.full((1, 8 * 12 + 7), 3.0)
    psi[0, -7:] = 80.0
    topics = np.full((1, psi.size), 0.5)
    found = kernel.surprise_rates(psi, topics, np.ones(psi.size))
    np.testing.assert_allclose(found[0, 0], np.logaddexp(0, np.log(0.5) + psi).sum())


@given(st.floats(-745, 745))
def test_scalars_are_the_logistic_function_and_its_integral(x):
    assert kernel.logistic(x) == pytest.approx(np.exp(-np.logaddexp(0, -x)), rel=1e-12, abs=1e-300)
    assert kernel.softplus(x) == pytest.approx(np.logaddexp(0, x), rel=1e-12, abs=1e-300)


THREADS = """
import numba, numpy as np
from scipy import sparse
from labelgap.kernels import latent_counts, products, topics
rng = np.random.default_rng(0)
X = sparse.random_array((300, 40), density=0.2, rng=rng, format="csr")
Y = sparse.csr_array(rng.random((300, 60)) < 0.1)
U, V = rng.gamma(0.5, size=(300, 17)), rng.dirichlet(np.ones(60), 17).T.copy()
psi, r = rng.normal(size=(300, 17)), np.full(17, 0.4)
features, positives = products.prepare_features(X), latent_counts.prepare_positives(Y)
def everything():
    found = latent_counts.expected_counts(positives, U, V)
    u, term, residual, omega = (np.empty_like(psi), np.empty(300), *np.empty((2, 300, 17)))
    topics.topic_weights(psi, np.zeros_like(psi), found.by_row, r, u, term)
    topics.regression_terms(psi, np.zeros_like(psi), found.by_row, r, np.empty((0, 0)), residual,
                            omega)
    parts = [found.by_row, found.by_label, u, term, residual, omega,
             products.times(features, rng_W), products.transposed_times(features, U),
             products.squared_transposed_times(features, U), products.weighted_gram(features, omega),
             topics.surprise_rates(psi, V, r), topics.surprise_rates(psi, V, r + U[0])]
    return [part.tobytes() for part in parts] + [found.log_expm1_rate]
rng_W = rng.normal(size=(40, 17))
numba.set_num_threads(1)
alone = everything()
numba.set_num_threads(3)
assert numba.get_num_threads() == 3
assert everything() == alone
"""


def test_results_do_not_depend_on_the_number_of_threads():
    environment = os.environ | {"NUMBA_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
