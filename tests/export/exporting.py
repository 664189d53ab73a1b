"""Every estimator under contract is exported as a graph, or refused as not linear."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from labelgap.export import NotLinearError, to_onnx

runtime = pytest.importorskip("onnxruntime", reason="pip install 'labelgap[test]'")


def example() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels with gaps, and new features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    Y = (X @ rng.standard_normal((6, 4)) + rng.standard_normal((60, 4)) > 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.15] = np.nan
    return X, Y, 3 * rng.standard_normal((40, 6))


def run_graph(graph: Any, X: np.ndarray, dtype: Any = np.float64) -> dict[str, np.ndarray]:
    """The outputs of a graph, by name."""
    session = runtime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"features": X.astype(dtype)}), strict=True))


def is_linear(estimator: Any, not_linear: dict[str, str]) -> bool:
    """Whether a table of exceptions leaves this setting of the estimator linear."""
    exception = not_linear.get(type(estimator).__name__)
    if exception is None:
        return True
    written = " ".join(str(estimator).split())
    return exception != "all" and any(part in written for part in exception.split(" "))


def check_export(estimator: Any, not_linear: dict[str, str]) -> None:
    """The graph predicts what the model predicts; what is not linear is refused."""
    X, Y, new = example()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(X, Y)
    if not is_linear(model, not_linear):
        with pytest.raises(NotLinearError, match=type(model).__name__):
            to_onnx(model)
        return
    given = run_graph(to_onnx(model), new)
    np.testing.assert_allclose(given["scores"], model.decision_function(new), rtol=1e-9, atol=1e-9)
    assert ("probabilities" in given) == hasattr(model, "predict_proba")
    if "probabilities" in given:
        np.testing.assert_allclose(given["probabilities"], model.predict_proba(new), atol=1e-9)
