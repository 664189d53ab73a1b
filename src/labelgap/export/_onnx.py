"""ONNX graphs of linear models: what comes before them, one product, and a sigmoid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from labelgap import __version__
from labelgap.export._graph import PROBABILITIES, SCORES, Graph
from labelgap.export._linear import LinearForm, NotLinearError, linear_form
from labelgap.export._words import add_words
from labelgap.extras import require


def to_onnx(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    dtype: Literal["float64", "float32"] = "float64",
    locale: str | None = None,
) -> Any:
    """Return the predictions of a linear model as an ONNX graph, for programs without Python.

    The graph has the input ``features`` (n_samples, n_features), the input ``texts`` (n_samples,)
    where the model reads words, and the outputs ``scores`` and, for models that have them,
    ``probabilities`` (n_samples, n_labels). Its metadata hold ``feature_names`` and
    ``label_names`` as JSON lists, ``estimator`` and ``labelgap_version``.

    Parameters
    ----------
    model : fitted estimator, or pipeline that ends with one
        Every estimator whose scores are linear in the features (see :func:`linear_form`). Before
        it a pipeline may have :class:`~sklearn.impute.SimpleImputer`, ``StandardScaler``,
        ``MaxAbsScaler``, ``Normalizer``, selectors of features, and ``TfidfVectorizer``, whose
        words stand after the features that come before it.
    feature_names : sequence of length n_features, default=None
        By default the names the model was fitted with, or "feature 0", "feature 1", ...
    label_names : sequence of length n_labels, default=None
        By default the model's ``classes_``.
    dtype : {"float64", "float32"}, default="float64"
        Of input and arithmetic. Single precision halves the file, and loses features with large
        means and small spreads.
    locale : str, default=None
        With which the machine that runs the graph makes small letters of texts. By default "C",
        which every machine has, where all words are ASCII, and "C.UTF-8" otherwise, which Linux
        has; a machine without it refuses the graph and wants another, such as "en_US.UTF-8".

    Returns
    -------
    onnx.ModelProto
        To be written by ``onnx.save(made, "model.onnx")``. A graph of texts needs onnxruntime,
        whose ``Tokenizer`` it uses.

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
    steps = [step for step in steps if step is not None and not isinstance(step, str)]
    form = linear_form(steps[-1])
    n_features = _n_features(steps)
    graph = Graph(onnx, np.dtype(dtype), n_features)
    for step in steps[:-1]:
        _add_step(graph, step, locale)
    _add_form(graph, form)
    if feature_names is None:
        feature_names = getattr(steps[0], "feature_names_in_", None)
    if feature_names is None:
        feature_names = [f"feature {j}" for j in range(n_features)]
    labels = steps[-1].classes_ if label_names is None else label_names
    metadata = {
        "labelgap_version": __version__,
        "estimator": type(steps[-1]).__name__,
        "feature_names": _listed("feature_names", feature_names, n_features),
        "label_names": _listed("label_names", labels, form.intercept.size),
    }
    return graph.model(form.intercept.size, metadata)


def _n_features(steps: list[Any]) -> int:
    """Columns that go in, without the words of a vectorizer."""
    if isinstance(steps[0], TfidfVectorizer):
        return int(steps[1].n_features_in_) - len(steps[0].vocabulary_)
    return int(steps[0].n_features_in_)


def _add_step(graph: Graph, step: Any, locale: str | None) -> None:
    """What a scaler, imputer, selector or vectorizer does."""
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
        graph.last = graph.unit_rows(graph.last)
    elif isinstance(step, TfidfVectorizer):
        add_words(graph, step, locale)
    elif isinstance(step, SelectorMixin):
        kept = graph.constant(step.get_support(indices=True), np.int64)
        graph.last = graph.add("Gather", graph.last, kept, axis=1)
    else:
        raise NotLinearError(
            f"{type(step).__name__} before the model cannot be exported: transform the rows "
            "beforehand, and export the model alone"
        )


def _add_form(graph: Graph, form: LinearForm) -> None:
    graph.add(
        "Gemm",
        graph.last,
        graph.constant(form.coef),
        graph.constant(form.intercept),
        output=SCORES,
    )
    if form.slope is None or form.level is None:
        return
    log_odds = SCORES
    if (form.slope != 1).any():
        log_odds = graph.add("Mul", log_odds, graph.constant(form.slope))
    if form.level.any():
        log_odds = graph.add("Add", log_odds, graph.constant(form.level))
    graph.add("Sigmoid", log_odds, output=PROBABILITIES)


def _listed(argument: str, names: Any, number: int) -> str:
    listed = [str(name) for name in names]
    if len(listed) != number:
        raise ValueError(f"{argument} has {len(listed)} names, the model has {number}")
    return json.dumps(listed, ensure_ascii=False)
