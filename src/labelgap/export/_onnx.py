"""ONNX graphs of linear models: what comes before them, one product, and a sigmoid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from labelgap import __version__
from labelgap.export._linear import LinearForm, NotLinearError, linear_form
from labelgap.extras import require

_OPSET, _IR_VERSION = 17, 8
_INPUT, _SCORES, _PROBABILITIES = "features", "scores", "probabilities"


class _Graph:
    """Nodes one after the other, and the constants that they use."""

    def __init__(self, onnx: Any, dtype: np.dtype) -> None:
        self._onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = _INPUT

    def constant(self, values: Any, dtype: Any = None) -> str:
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"step_{len(self.nodes)}"
        node = self._onnx.helper.make_node(kind, list(inputs), [output], **attributes)
        self.nodes.append(node)
        return output


def to_onnx(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    dtype: Literal["float64", "float32"] = "float64",
) -> Any:
    """Return the predictions of a linear model as an ONNX graph, for programs without Python.

    The graph has the input ``features`` (n_samples, n_features) and the outputs ``scores`` and, for
    models that have them, ``probabilities`` (n_samples, n_labels). Its metadata hold
    ``feature_names`` and ``label_names`` as JSON lists, ``estimator`` and ``labelgap_version``.

    Parameters
    ----------
    model : fitted estimator, or pipeline that ends with one
        Every estimator whose scores are linear in the features (see :func:`linear_form`). Before
        it a pipeline may have :class:`~sklearn.impute.SimpleImputer`, ``StandardScaler``,
        ``MaxAbsScaler``, ``Normalizer``, and selectors of features.
    feature_names : sequence of length n_features, default=None
        By default the names the model was fitted with, or "feature 0", "feature 1", ...
    label_names : sequence of length n_labels, default=None
        By default the model's ``classes_``.
    dtype : {"float64", "float32"}, default="float64"
        Of input and arithmetic. Single precision halves the file, and loses features with large
        means and small spreads.

    Returns
    -------
    onnx.ModelProto
        To be written by ``onnx.save(made, "model.onnx")``.

    Raises
    ------
    NotLinearError
        If the model is not linear; the message says what is in the way.

    See Also
    --------
    linear_form : The coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import BinaryRelevance
    >>> from labelgap.export import to_onnx
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> graph = to_onnx(BinaryRelevance().fit(X, [[0], [0], [1], [1]])).graph
    >>> [node.name for node in graph.output]
    ['probabilities', 'scores']
    """
    onnx = require("onnx", extra="onnx", purpose="to_onnx")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r}: use 'float64' or 'float32'")
    check_is_fitted(model)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    graph = _Graph(onnx, np.dtype(dtype))
    for step in steps[:-1]:
        _add_step(graph, step)
    last = steps[-1]
    form = linear_form(last)
    _add_form(graph, form)
    n_features = int(model.n_features_in_)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        feature_names = [f"feature {j}" for j in range(n_features)]
    labels = last.classes_ if label_names is None else label_names
    metadata = {
        "labelgap_version": __version__,
        "estimator": type(last).__name__,
        "feature_names": _listed("feature_names", feature_names, n_features),
        "label_names": _listed("label_names", labels, form.intercept.size),
    }
    return _assemble(onnx, graph, (n_features, form.intercept.size), metadata)


def _add_step(graph: _Graph, step: Any) -> None:
    """What a scaler, imputer or selector does."""
    if step is None or isinstance(step, str):
        return
    if isinstance(step, SimpleImputer) and not step.add_indicator:
        if not np.isnan(step.missing_values) or np.isnan(step.statistics_).any():
            raise NotLinearError("SimpleImputer must fill NaN, and no column may be all empty")
        empty = graph.add("IsNaN", graph.last)
        graph.last = graph.add("Where", empty, graph.constant(step.statistics_), graph.last)
    elif isinstance(step, StandardScaler):
        if step.mean_ is not None and step.with_mean:
            graph.last = graph.add("Sub", graph.last, graph.constant(step.mean_))
        if step.scale_ is not None:
            graph.last = graph.add("Div", graph.last, graph.constant(step.scale_))
    elif isinstance(step, MaxAbsScaler) and not getattr(step, "clip", False):
        graph.last = graph.add("Div", graph.last, graph.constant(step.scale_))
    elif isinstance(step, Normalizer) and step.norm == "l2":
        length = graph.add("ReduceL2", graph.last, axes=[1], keepdims=1)
        # a row of zeros stays one
        length = graph.add("Max", length, graph.constant(np.finfo(graph.dtype).tiny))
        graph.last = graph.add("Div", graph.last, length)
    elif isinstance(step, SelectorMixin):
        kept = graph.constant(step.get_support(indices=True), np.int64)
        graph.last = graph.add("Gather", graph.last, kept, axis=1)
    else:
        raise NotLinearError(
            f"{type(step).__name__} before the model cannot be exported: transform the rows "
            "beforehand, and export the model alone"
        )


def _add_form(graph: _Graph, form: LinearForm) -> None:
    graph.add(
        "Gemm",
        graph.last,
        graph.constant(form.coef),
        graph.constant(form.intercept),
        output=_SCORES,
    )
    if form.slope is None or form.level is None:
        return
    log_odds = _SCORES
    if (form.slope != 1).any():
        log_odds = graph.add("Mul", log_odds, graph.constant(form.slope))
    if form.level.any():
        log_odds = graph.add("Add", log_odds, graph.constant(form.level))
    graph.add("Sigmoid", log_odds, output=_PROBABILITIES)


def _assemble(onnx: Any, graph: _Graph, shape: tuple[int, int], metadata: dict[str, str]) -> Any:
    helper = onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(graph.dtype)
    made = {name for node in graph.nodes for name in node.output}
    outputs = [name for name in (_PROBABILITIES, _SCORES) if name in made]
    body = helper.make_graph(
        graph.nodes,
        "labelgap",
        [helper.make_tensor_value_info(_INPUT, kind, ["n_samples", shape[0]])],
        [helper.make_tensor_value_info(name, kind, ["n_samples", shape[1]]) for name in outputs],
        graph.constants,
    )
    made_by = {"producer_name": "labelgap", "producer_version": metadata["labelgap_version"]}
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(body, opset_imports=opset, ir_version=_IR_VERSION, **made_by)
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    return model


def _listed(argument: str, names: Any, number: int) -> str:
    listed = [str(name) for name in names]
    if len(listed) != number:
        raise ValueError(f"{argument} has {len(listed)} names, the model has {number}")
    return json.dumps(listed, ensure_ascii=False)
