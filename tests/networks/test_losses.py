"""Losses against formulas written in numpy, finite differences, and each other."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from labelgap import losses

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
Z = RNG.normal(scale=2, size=(12, 5))
Y = (RNG.random(Z.shape) < 0.4).astype(float)
Y[RNG.random(Z.shape) < 0.25] = np.nan
P = expit(Z)
LOSSES = {
    "bce": losses.bce,
    "assume_negative": losses.assume_negative,
    "expected_positives": partial(losses.expected_positives, label_frequency=0.6),
    "large_loss_rejection": partial(losses.large_loss_rejection, fraction=0.2),
    "large_loss_correction": partial(losses.large_loss_rejection, fraction=0.2, correct=True),
    "hill": losses.hill,
    "splc": losses.splc,
    "generalized_robust": partial(losses.generalized_robust, label_frequency=0.6),
    "propensity_weighted": partial(losses.propensity_weighted, propensity=0.5),
    "unbiased": partial(losses.propensity_weighted, propensity=0.5, unbiased=True),
}


def value(loss, z=Z, y=Y):
    return loss(torch.as_tensor(z), torch.as_tensor(y)).numpy()


def log_loss(p, y):
    return np.where(np.isnan(y), 0, -np.where(y == 0, 0, y * np.log(p)) - (1 - y) * np.log(1 - p))


def expected(name):
    y, ones, zeros = np.nan_to_num(Y), Y == 1, Y == 0
    plain = -(y * np.log(P) + (1 - y) * np.log(1 - P))
    posterior = 0.4 * P / (1 - 0.6 * P)
    n_rejected = int(0.2 * zeros.sum())
    rejected = zeros & (np.sort(P[zeros])[-n_rejected] <= P)
    shifted = expit(Z - 1)
    if name == "bce":
        found = plain
    elif name == "assume_negative":
        soft = 0.9 * y + 0.05
        found = -(soft * np.log(P) + (1 - soft) * np.log(1 - P))
    elif name == "expected_positives":
        soft = np.where(zeros, posterior, y)
        found = -(soft * np.log(P) + (1 - soft) * np.log(1 - P))
    elif name == "large_loss_rejection":
        found = np.where(rejected, 0, plain)
    elif name == "large_loss_correction":
        found = np.where(rejected, -np.log(P), plain)
    elif name == "hill":
        found = np.where(ones, -((1 - shifted) ** 2) * np.log(shifted), (1.5 - P) * P**2)
    elif name == "splc":
        found = np.where(ones | (zeros & (P > 0.6)), -np.log(shifted), -np.log(1 - P))
    elif name == "generalized_robust":
        k = np.where(zeros, posterior, y)
        found = k * (1 - P**0.1) / 0.1 + (1 - k) * (1 - (1 - P) ** 0.7) / 0.7
    else:
        found = np.where(ones, plain / 0.5, plain)
        if name == "unbiased":
            found = np.where(ones, found + np.log(1 - P), found)
    return np.where(np.isnan(Y), 0, found)


@pytest.mark.parametrize("name", LOSSES)
def test_formula(name):
    np.testing.assert_allclose(value(LOSSES[name]), expected(name), rtol=1e-9, atol=1e-12)


def _held_fixed(name, z):
    """What the gradient treats as given: pseudo-labels and rejections belong to the first logits."""
    frozen = Y.copy()
    if name == "expected_positives":
        frozen[Y == 0] = (0.4 * P / (1 - 0.6 * P))[Y == 0]
        return losses.bce(torch.as_tensor(z), torch.as_tensor(frozen)).numpy()
    if name == "generalized_robust":
        k = np.where(Y == 0, 0.4 * P / (1 - 0.6 * P), Y)
        p = expit(z)
        found = k * (1 - p**0.1) / 0.1 + (1 - k) * (1 - (1 - p) ** 0.7) / 0.7
        return np.where(np.isnan(Y), 0, found)
    return value(LOSSES[name], z)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_the_finite_difference(name):
    z = torch.as_tensor(Z).requires_grad_()
    LOSSES[name](z, torch.as_tensor(Y)).sum().backward()
    step = 1e-6
    numeric = (_held_fixed(name, Z + step) - _held_fixed(name, Z - step)) / (2 * step)
    np.testing.assert_allclose(z.grad.numpy(), numeric, rtol=1e-5, atol=1e-7)
    assert not z.grad.numpy()[np.isnan(Y)].any()


@pytest.mark.parametrize("name", LOSSES)
def test_extreme_logits_stay_finite_and_unknown_entries_cost_nothing(name):
    z = np.array([[60.0, -60.0, 60.0, -60.0, 60.0]])
    y = np.array([[1.0, 1.0, 0.0, 0.0, np.nan]])
    found = value(LOSSES[name], z, y)
    assert np.isfinite(found).all()
    assert found[0, 4] == 0


@pytest.mark.parametrize(
    "loss",
    [
        partial(losses.assume_negative, smoothing=0.0),
        partial(losses.expected_positives, label_frequency=1.0),
        partial(losses.large_loss_rejection, fraction=0.0),
        partial(losses.splc, threshold=1.0, margin=0.0),
        partial(losses.propensity_weighted, propensity=1.0),
        partial(losses.propensity_weighted, propensity=1.0, unbiased=True),
        partial(losses.generalized_robust, label_frequency=1.0, q_positive=0.0, q_negative=0.0),
    ],
)
def test_special_cases_are_the_log_loss(loss):
    np.testing.assert_allclose(value(loss), value(losses.bce), atol=1e-12)


def test_the_robust_loss_goes_to_the_log_loss():
    near = partial(losses.generalized_robust, label_frequency=1.0)
    far = [
        np.abs(value(partial(near, q_positive=q, q_negative=q)) - value(losses.bce)).max()
        for q in (0.1, 0.01, 0.001)
    ]
    assert far[0] > far[1] > far[2]
    assert far[2] < 0.02


def test_the_unbiased_loss_has_the_mean_of_the_complete_labels():
    truth = np.nan_to_num(Y)
    recorded = value(partial(losses.propensity_weighted, propensity=0.3, unbiased=True), Z, truth)
    lost = value(losses.bce, Z, np.zeros_like(truth))
    mean = np.where(truth == 1, 0.3 * recorded + 0.7 * lost, recorded)
    np.testing.assert_allclose(mean, value(losses.bce, Z, truth), atol=1e-12)


def test_label_frequency_per_label():
    c = torch.tensor([0.2, 0.4, 0.6, 0.8, 1.0], dtype=torch.float64)
    together = value(partial(losses.expected_positives, label_frequency=c))
    for label in range(5):
        one = partial(losses.expected_positives, label_frequency=float(c[label]))
        np.testing.assert_allclose(together[:, label], value(one)[:, label])


def test_number_of_observed_entries():
    assert losses.n_observed(torch.as_tensor(Y)) == np.isfinite(Y).sum()
    assert losses.n_observed(torch.full((2, 2), torch.nan)) == 1
