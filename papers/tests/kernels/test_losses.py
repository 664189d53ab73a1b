from __future__ import annotations

import numpy as np
import pytest

from labelgap_papers.kernels.losses import LOSSES

SCORES = np.array([-700.0, -3.2, -1.3, -0.4, 0.0, 0.3, 1.7, 4.0, 700.0])
PLAIN = {
    "squared": lambda s, y: (s - y) ** 2 / 2,
    "logistic": lambda s, y: np.log1p(np.exp(-s if y else s)),
    "squared_hinge": lambda s, y: max(0, 1 - s if y else 1 + s) ** 2 / 2,
}


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_values_and_derivatives(name, label):
    loss, labels = LOSSES[name], np.full(SCORES.shape, label)
    expected = [PLAIN[name](score, label) for score in SCORES]
    np.testing.assert_allclose(loss.value(SCORES, labels), expected, rtol=1e-12, atol=1e-300)
    h = 1e-5
    ahead, behind = SCORES + h, SCORES - h
    slope = (loss.value(ahead, labels) - loss.value(behind, labels)) / (2 * h)
    np.testing.assert_allclose(loss.slope(SCORES, labels), slope, rtol=1e-6, atol=1e-6)
    bend = (loss.slope(ahead, labels) - loss.slope(behind, labels)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(SCORES, labels), bend, rtol=1e-6, atol=1e-6)
