"""Calibration error against its definition, with gaps and probabilities on the edges of bins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelgap import metrics
from reference.calibration import calibration_error as reference

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.UndefinedMetricWarning", "ignore::labelgap.LabelWarning"
)

truths = hnp.arrays(float, (7, 3), elements=st.sampled_from([0.0, 1.0, np.nan]))
probabilities = hnp.arrays(
    float, (7, 3), elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 1.0])
)


@settings(max_examples=80, deadline=None)
@given(
    truths,
    probabilities,
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from(["uniform", "quantile"]),
    st.sampled_from(["l1", "l2", "max"]),
)
def test_equals_definition(truth, proba, n_bins, strategy, norm):
    known = ~np.isnan(truth)
    options = {"n_bins": n_bins, "strategy": strategy, "norm": norm}
    pooled = list(zip(proba[known], truth[known], strict=True))
    expected = reference(pooled, n_bins, strategy, norm)
    actual = metrics.calibration_error(truth, proba, **options)
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    per_label = [
        reference(list(zip(p[k], t[k], strict=True)), n_bins, strategy, norm)
        for t, p, k in zip(truth.T, proba.T, known.T, strict=True)
    ]
    values = metrics.calibration_error(truth, proba, average="macro", reduce=False, **options)
    np.testing.assert_allclose(values, per_label, atol=1e-12)


def test_promises_that_are_kept_have_no_error():
    truth = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    assert metrics.calibration_error(truth, np.full((4, 4), 0.5)) == 0
    assert metrics.calibration_error(truth, truth) == 0
    assert metrics.calibration_error(truth, np.ones((4, 4))) == 0.5
