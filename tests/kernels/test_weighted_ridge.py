from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.weighted_ridge import (
    packed_outer,
    solve_grams,
    unpack,
    weighted_grams,
    weighted_ridge,
)
from reference import weighted_ridge as slow

# n, m, k: tiles and vectors whole and cut, one of each, none of each
SHAPES = [
    (7, 5, 3),
    (5, 9, 13),
    (3, 4, 16),
    (3, 20, 21),
    (6, 2, 1),
    (1, 1, 1),
    (4, 0, 5),
    (0, 3, 2),
]
MEMORY = [1, 700, 5_000, 2**28]
KINDS = ["dense", "transposed", "strided", "integers", "csr", "csc"]


def problem(shape, dtype=np.float64, seed=0):
    """Weights with zeros, features, right sides."""
    rng = np.random.default_rng(seed)
    n, m, k = shape
    weights = rng.integers(1, 5, size=(n, m)) * (rng.random((n, m)) < 0.7)
    parts = weights, rng.normal(size=(m, k)), rng.normal(size=(n, k))
    return tuple(part.astype(dtype) for part in parts)


def given_as(weights, kind):
    if kind == "transposed":
        return np.ascontiguousarray(weights.T).T
    if kind == "strided":
        return np.repeat(np.repeat(weights, 2, axis=0), 3, axis=1)[::2, ::3]
    if kind == "integers":
        return weights.astype(np.int8)
    if kind in ("csr", "csc"):
        return sparse.csr_array(weights) if kind == "csr" else sparse.csc_array(weights)
    return weights


def close(found, expected, dtype=np.float64):
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_outer_products_are_packed_by_rows_of_the_triangle(shape, dtype):
    _, F, _ = problem(shape, dtype)
    found = packed_outer(F)
    assert found.dtype == dtype
    close(found, slow.pack(np.einsum("ma,mb->mab", F, F)), dtype)
    close(unpack(found, shape[2]), np.einsum("ma,mb->mab", F, F), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("shape", SHAPES)
def test_grams_agree_with_a_sum_of_outer_products(shape, memory, kind, dtype):
    weights, F, _ = problem(shape, dtype)
    found = weighted_grams(given_as(weights, kind), F, memory=memory)
    assert found.dtype == dtype
    close(found, slow.pack(slow.gram_matrices(weights, F)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("shape", SHAPES)
def test_solutions_agree_with_one_solve_per_row(shape, memory, kind, dtype):
    weights, F, b = problem(shape, dtype)
    found = weighted_ridge(given_as(weights, kind), F, b, 0.5, covariance="full", memory=memory)
    z, log_det, inverse = slow.solve(slow.gram_matrices(weights, F), b, 0.5)
    assert {part.dtype for part in found} == {np.dtype(dtype)}
    close(found.z, z, dtype)
    close(found.log_det, log_det, dtype)
    close(found.covariance, inverse, dtype)


@pytest.mark.parametrize("covariance", [False, "diagonal", "full"])
@pytest.mark.parametrize("ridge_kind", ["number", "column", "entry"])
@pytest.mark.parametrize("with_noise", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_options_of_both_ways_to_solve(shape, with_noise, ridge_kind, covariance):
    weights, F, b = problem(shape)
    rng = np.random.default_rng(1)
    ridge = {
        "number": 0.3,
        "column": rng.gamma(2.0, size=shape[2]) + 0.1,
        "entry": rng.gamma(2.0, size=b.shape) + 0.1,
    }[ridge_kind]
    noise = rng.normal(size=b.shape) if with_noise else None
    z, log_det, inverse = slow.solve(slow.gram_matrices(weights, F), b, ridge, noise)
    expected = {False: None, "full": inverse, "diagonal": np.diagonal(inverse, axis1=1, axis2=2)}
    options = {"covariance": covariance, "noise": noise}
    packed = weighted_grams(weights, F)
    kept = packed.copy()
    for found in (
        weighted_ridge(weights, F, b, ridge, memory=2_000, **options),
        solve_grams(packed, b, ridge, **options),
    ):
        close(found.z, z)
        close(found.log_det, log_det)
        if covariance:
            close(found.covariance, expected[covariance])
        else:
            assert found.covariance is None
    np.testing.assert_array_equal(packed, kept)


@pytest.mark.parametrize("memory", [300_000, 2**28])
def test_features_that_are_worth_threads(memory):
    weights, F, b = problem((5, 300, 21))
    grams = slow.gram_matrices(weights, F)
    close(packed_outer(F), slow.pack(np.einsum("ma,mb->mab", F, F)))
    close(weighted_grams(weights, F, memory=memory), slow.pack(grams))
    close(weighted_ridge(weights, F, b, 1.0, memory=memory).z, slow.solve(grams, b, 1.0)[0])


def test_weights_of_zero_leave_the_ridge_alone():
    _, F, b = problem((4, 3, 6))
    found = weighted_ridge(np.zeros((4, 3)), F, b, 2.0, covariance="diagonal")
    close(found.z, b / 2)
    close(found.log_det, np.full(4, 6 * np.log(2.0)))
    close(found.covariance, np.full((4, 6), 0.5))


def test_grams_of_blocks_add_up():
    weights, F, _ = problem((5, 40, 9))
    blocks = [weighted_grams(weights[:, part], F[part]) for part in (slice(0, 17), slice(17, 40))]
    close(sum(blocks), weighted_grams(weights, F))


def test_draws_have_the_mean_and_the_covariance():
    weights, F, b = problem((1, 12, 5))
    n_draws = 40_000
    packed = np.repeat(weighted_grams(weights, F), n_draws, axis=0)
    noise = np.random.default_rng(3).normal(size=(n_draws, 5))
    draws = solve_grams(packed, np.repeat(b, n_draws, axis=0), 1.0, noise=noise).z
    z, _, inverse = slow.solve(slow.gram_matrices(weights, F), b, 1.0)
    deviation = np.sqrt(np.diag(inverse[0]))
    assert (np.abs(draws.mean(axis=0) - z[0]) < 5 * deviation / np.sqrt(n_draws)).all()
    error = np.abs(np.cov(draws.T) - inverse[0]) / np.outer(deviation, deviation)
    assert error.max() < 5 * np.sqrt(2 / n_draws)


@pytest.mark.parametrize("memory", [1, 2**28])
@pytest.mark.parametrize("bad", [-10.0, np.nan, np.inf])
def test_a_matrix_that_is_not_positive_definite_is_named(bad, memory):
    weights, F, b = problem((6, 4, 3))
    weights[4] = bad
    weights[5] = bad
    with pytest.raises(np.linalg.LinAlgError, match=r"row 4 is not positive definite.*ridge"):
        weighted_ridge(weights, F, b, 0.1, memory=memory)
    with pytest.raises(np.linalg.LinAlgError, match="row 4"):
        solve_grams(weighted_grams(weights, F), b, 0.1)


def test_the_first_of_several_bad_rows_is_named_without_ridge():
    _, F, b = problem((3, 2, 4))
    with pytest.raises(np.linalg.LinAlgError, match="row 0"):
        weighted_ridge(np.zeros((3, 2)), F, b, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"F": np.ones((3, 2))}, r"weights have the shape \(4, 5\) and F \(3, 2\)"),
        ({"right_side": np.ones((4, 3))}, r"right_side has the shape \(4, 3\)"),
        ({"ridge": np.ones(3)}, r"ridge has the shape \(3,\)"),
        ({"ridge": np.ones((1, 2))}, r"ridge has the shape \(1, 2\)"),
        ({"noise": np.ones((5, 2))}, r"noise has the shape \(5, 2\)"),
        ({"covariance": "both"}, "covariance='both'"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    arguments = {
        "weights": np.ones((4, 5)), "F": np.ones((5, 2)), "right_side": np.ones((4, 2)),
        "ridge": 1.0, "noise": None, "covariance": False,
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=message):
        weighted_ridge(**arguments)


def test_packed_of_another_size_is_named():
    with pytest.raises(ValueError, match="right_side has 1 dimensions"):
        solve_grams(np.ones((4, 3)), np.ones(4), 1.0)
    with pytest.raises(ValueError, match=r"packed has the shape \(4, 5\)"):
        solve_grams(np.ones((4, 5)), np.ones((4, 2)), 1.0)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6), st.integers(0, 12), st.integers(1, 18), st.floats(1e-3, 1e3),
    st.integers(1, 20_000), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_residuals_are_small_and_rows_are_independent(n, m, k, ridge, memory, seed):
    rng = np.random.default_rng(seed)
    weights, F = rng.gamma(0.3, size=(n, m)), rng.normal(size=(m, k))
    b = rng.normal(size=(n, k))
    z = weighted_ridge(weights, F, b, ridge, memory=memory).z
    residual = (weights * (z @ F.T)) @ F + ridge * z - b
    scale = (weights @ np.square(F).sum(axis=1) + ridge) * np.abs(z).max(axis=1) + 1
    assert (np.abs(residual).max(axis=1) < 1e-12 * scale * k).all()
    rows, features, factors = rng.permutation(n), rng.permutation(m), rng.permutation(k)
    moved = weighted_ridge(
        weights[rows][:, features], F[features][:, factors], b[rows][:, factors], ridge
    )
    np.testing.assert_allclose(moved.z, z[rows][:, factors], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solving", [False, True])
def test_memory_stays_within_the_budget(kind, solving):
    weights, F, b = problem((300, 1500, 40))
    weights = given_as(weights, kind)
    run = {
        False: lambda memory: weighted_grams(weights, F, memory=memory),
        True: lambda memory: weighted_ridge(weights, F, b, 1.0, memory=memory),
    }[solving]
    run(2**28)
    budget = 1_500_000  # the packed features are 9.8 MB, the Gram matrices 2 MB
    result = 8 * 300 * (41 if solving else 820)
    converted = 12 * weights.nnz if kind == "csc" else 0
    tracemalloc.start()
    run(budget)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget + result + converted + 4 * b.nbytes


THREADS = """
import numba, numpy as np
from scipy import sparse
from labelgap.kernels.weighted_ridge import packed_outer, solve_grams, weighted_grams
rng = np.random.default_rng(0)
weights = sparse.random_array((50, 60), density=0.2, rng=rng, format="csr")
F, b = rng.normal(size=(60, 21)), rng.normal(size=(50, 21))
def everything():
    packed = weighted_grams(weights, F)
    found = solve_grams(packed, b, 1.0, covariance="full", noise=b)
    return [part.tobytes() for part in (packed_outer(F), packed, *found)]
numba.set_num_threads(1)
alone = everything()
numba.set_num_threads(3)
assert everything() == alone
"""


def test_results_do_not_depend_on_the_number_of_threads():
    environment = os.environ | {"NUMBA_NUM_THREADS": "3"}
    command = [sys.executable, "-c", THREADS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def devices():
    """Libraries beside numpy, with the devices there are."""
    found = ["array_api_strict", "torch", "torch cuda", "cupy"]
    return [pytest.param(name, id=name.replace(" ", "-")) for name in found]


def sender(name):
    """A function that takes a numpy array to another library, on some device."""
    library = pytest.importorskip(name.split()[0])
    if name == "torch cuda":
        if not library.cuda.is_available():
            pytest.skip("no GPU")
        return lambda array: library.asarray(array, device="cuda")
    if name == "cupy":
        try:
            library.zeros(1)
        except Exception:
            pytest.skip("no GPU")
    return library.asarray


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("covariance", [False, "diagonal", "full"])
@pytest.mark.parametrize("memory", [1, 20_000, 2**28])
@pytest.mark.parametrize("name", devices())
def test_other_libraries_give_the_same_numbers(name, memory, covariance, dtype):
    send = sender(name)
    weights, F, b = problem((7, 9, 5), dtype)
    noise = np.random.default_rng(2).normal(size=b.shape).astype(dtype)
    ridge = (np.abs(b) + 0.5).astype(dtype)
    options = {"covariance": covariance, "memory": memory}
    expected = weighted_ridge(weights, F, b, ridge, noise=noise, **options)
    sent = [send(part) for part in (weights, F, b, ridge)]
    packed = weighted_grams(sent[0], sent[1], memory=memory)
    close(to_numpy(packed), weighted_grams(weights, F), dtype)
    close(to_numpy(packed_outer(sent[1])), packed_outer(F), dtype)
    for found in (
        weighted_ridge(*sent, noise=send(noise), **options),
        solve_grams(packed, sent[2], sent[3], noise=send(noise), **options),
    ):
        assert type(found.z) is type(sent[0])
        for part, wanted in zip(found, expected, strict=True):
            if wanted is None:
                assert part is None
            else:
                assert to_numpy(part).dtype == dtype
                close(to_numpy(part), wanted, dtype)


@pytest.mark.parametrize("memory", [1, 2**28])
@pytest.mark.parametrize("name", devices())
def test_other_libraries_name_the_bad_row_and_take_empty_problems(name, memory):
    send = sender(name)
    weights, F, b = problem((6, 4, 3))
    weights[4:] = -10.0
    with pytest.raises(np.linalg.LinAlgError, match="row 4 is not positive definite"):
        weighted_ridge(send(weights), send(F), send(b), 0.1, memory=memory)
    found = weighted_ridge(send(weights[:0]), send(F), send(b[:0]), 0.1, memory=memory)
    assert tuple(found.z.shape) == (0, 3)
    found = weighted_ridge(send(weights[:, :0]), send(F[:0]), send(b), 0.1, memory=memory)
    close(to_numpy(found.z), b / 0.1)


def test_libraries_do_not_mix():
    strict = pytest.importorskip("array_api_strict")
    weights, F, b = problem((3, 4, 2))
    with pytest.raises(TypeError, match="array_api_strict and numpy"):
        weighted_ridge(strict.asarray(weights), strict.asarray(F), b, 1.0)
