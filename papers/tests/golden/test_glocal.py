"""GLOCAL against numbers from its authors' code."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.proximal import backtrack
from labelgap_papers.methods import GLOCAL
from labelgap_papers.methods import _glocal_steps as steps


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "glocal.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "glocal.npz") as arrays:
        return {"about": about, **arrays}


def parameters(golden):
    stated = golden["about"]["hyper_parameters"]
    weights = {"lambda_0": stated["lambda_"]}
    weights |= {f"lambda_{i}": stated[f"lambda{i}"] for i in range(1, 6)}
    return {"n_factors": stated["k"], "width": stated["k2"], "n_groups": stated["g"], **weights}


def groups_of(golden):
    return golden["cluster"] - golden["cluster"].min()


def directions(golden, name):
    n_groups = golden["about"]["hyper_parameters"]["g"]
    joint = "_" if name == "L0" else ""
    return np.stack([golden[f"{name}{joint}{g + 1}"] for g in range(n_groups)])


def problem_of(golden):
    observed = golden["mask"] == 1
    return steps.GLOCALProblem(
        prepare_features(golden["X_train"]),
        np.where(observed, 2.0 * golden["Y_train"] - 1, 0.0),
        observed,
        groups_of(golden),
        golden["about"]["hyper_parameters"]["g"],
        steps.Weights(*golden["scaled_lambdas"]),
    )


def place_of(golden, name):
    """A stored point; the reference has factors of rows and scores of labels in columns."""
    V, U, W = (golden[f"{name}_{part}"] for part in "VUW")
    return steps.GLOCALPlace(V.T, U, W, directions(golden, f"{name}_L"))


def start_of(golden):
    V, U, W = golden["V_init"].T, golden["U_init"], golden["grad_W_point"]
    return steps.GLOCALPlace(V, U, W, directions(golden, "L0"))


def fitted(golden, **settings):
    V, U, _, Z = start_of(golden)
    Y = np.where(golden["mask"] == 1, golden["Y_train"], np.nan)
    settings = {"groups": groups_of(golden), "init": (V, U, Z), "tol": 0.0, **settings}
    model = GLOCAL(**parameters(golden), fit_intercept=False, **settings)
    return model.fit(golden["X_train"], Y)


def test_weights_are_scaled_as_in_the_reference(golden):
    model = fitted(golden, start_iter=0, max_iter=1)
    assert_agrees("weights", model.weights_, golden["scaled_lambdas"], rtol=1e-12)
    assert_agrees("fractions", problem_of(golden).fractions(), golden["beta"], rtol=1e-12)


def test_gradients(golden):
    problem, place = problem_of(golden), start_of(golden)
    atol = golden["about"]["tolerance"]["gradients"]
    assert_agrees("slope of V", steps.row_slope(problem, place), golden["V_grad"].T, atol=atol)
    assert_agrees("slope of U", steps.label_slope(problem, place), golden["U_grad"], atol=atol)
    assert_agrees("slope of W", steps.feature_slope(problem, place), golden["W_grad"], atol=atol)
    for g, slope in enumerate(steps.direction_slope(problem, place)):
        assert_agrees("slope of Z", slope, golden[f"L{g + 1}_grad"], atol=atol)


@pytest.mark.parametrize("name", ["s1", "s5", "full", "conv"])
def test_objectives_of_stored_points(golden, name):
    value = steps.objective(problem_of(golden), place_of(golden, name))
    assert_agrees("objective", value, golden[f"{name}_objective_formula"], rtol=1e-12)


def parts_of(golden, square):
    """The terms that depend on U, on W and on V, with squares measured in some norm."""
    problem, place = problem_of(golden), start_of(golden)
    V, U, W, Z = place
    loss = square(problem.observed * (V @ U.T) - problem.signed)
    regression = problem.weights.regression * square(V - problem.features.rows @ W)
    correlation = np.vdot(Z, steps.direction_slope(problem, place))
    label = loss + problem.weights.labels * square(U) + correlation
    feature = regression + problem.weights.features * square(W) + correlation
    return label, feature, loss + regression + problem.weights.rows * square(V)


def test_line_searches_of_the_reference_look_at_other_functions(golden):
    """Costs of its steps in U and W have spectral norms and no factor 1/2; that in V is right."""
    label, feature, _ = parts_of(golden, lambda A: np.linalg.norm(A, 2) ** 2)
    np.testing.assert_allclose(label, golden["U_cost"], rtol=1e-12)
    np.testing.assert_allclose(feature, golden["W_cost"], rtol=1e-12)
    right = [part / 2 for part in parts_of(golden, lambda A: np.square(A).sum())]
    np.testing.assert_allclose(right[2], golden["V_cost"], rtol=1e-12)
    assert abs(right[0] - golden["U_cost"]) > 1
    assert abs(right[1] - golden["W_cost"]) > 1


@pytest.mark.parametrize(
    ("name", "start_iter", "max_iter", "slack"),
    [("s1", 1, 1, 0), ("s5", 1, 1, 0), ("full", 15, 15, 0.02), ("conv", 60, 100, 0.02)],
)
def test_no_higher_than_the_reference_after_as_many_rounds(
    golden, name, start_iter, max_iter, slack
):
    """Exact steps are ahead from the first round on; long runs may end in another minimum."""
    model = fitted(golden, start_iter=start_iter, max_iter=max_iter)
    assert (np.diff(model.trace_.objective) <= 1e-9).all()
    theirs = golden[f"{name}_objective_formula"]
    assert_ahead(name, model.trace_.objective[-1], theirs, iterations=max_iter, slack=slack)


def spectral(A):
    return np.linalg.norm(A, 2) ** 2


def published_costs(problem):
    """What the line searches of the reference test, by block; right for V and the directions."""
    weights = problem.weights

    def correlation(place):
        return float(np.vdot(place.Z, steps.direction_slope(problem, place)))

    def of_labels(place):
        residual = problem.observed * (place.V @ place.U.T) - problem.signed
        return spectral(residual) + weights.labels * spectral(place.U) + correlation(place)

    def of_features(place):
        residual = place.V - problem.features.rows @ place.W
        value = weights.regression * spectral(residual) + weights.features * spectral(place.W)
        return value + correlation(place)

    def whole(place):
        return steps.objective(problem, place)

    return {"U": of_labels, "W": of_features, "V": whole, "Z": whole}


def published_step(problem, place, name, slope):
    """Along the plain gradient, first of length one, then half as long until the cost falls."""
    cost, block, length = (
        published_costs(problem)[name],
        getattr(place, name),
        np.linalg.norm(slope),
    )

    def moved(step):
        found = block - step * slope
        if name == "Z":
            found = found / np.linalg.norm(found, axis=-1, keepdims=True)
        return place._replace(**{name: found})

    def reached(step):
        return cost(moved(step))

    step, _ = backtrack(reached, cost(place), -(length**2), step=1 / length)
    return moved(step)


def test_one_round_with_the_line_searches_of_the_reference(golden):
    problem, place = problem_of(golden), start_of(golden)
    place = place._replace(W=0 * place.W)
    apart = problem._replace(weights=problem.weights._replace(local=0.0, total=0.0))
    slopes = {"U": steps.label_slope, "V": steps.row_slope, "W": steps.feature_slope}
    for name in "UVW":
        place = published_step(apart, place, name, slopes[name](apart, place))
    atol = float(golden["about"]["tolerance"]["s1"].split()[0])
    for found, name in ((place.U, "U"), (place.V.T, "V"), (place.W, "W")):
        assert_agrees(name, found, golden[f"s1_{name}init"], atol=atol)
    whole = steps.direction_slope(problem, place)
    for g in range(problem.n_groups):
        only = np.zeros_like(whole)
        only[g] = whole[g]
        place = published_step(problem, place, "Z", only)
    for name in "VUW":
        place = published_step(problem, place, name, slopes[name](problem, place))
    expected = place_of(golden, "s1")
    for name, found, stored in zip(place._fields, place, expected, strict=True):
        assert_agrees(name, found, stored, atol=atol)
    scores = golden["X_test"] @ place.W @ place.U.T
    assert_agrees("scores", scores, golden["s1_scores"], atol=atol)
