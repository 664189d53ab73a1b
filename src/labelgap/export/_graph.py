"""An ONNX graph that grows node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

FEATURES, TEXTS, SCORES, PROBABILITIES = "features", "texts", "scores", "probabilities"
_OPSET, _IR_VERSION = 17, 8
# of onnxruntime: it cuts texts into words
_RUNTIME = "com.microsoft"


class Graph:
    """Nodes one after the other, and the constants that they use.

    Parameters
    ----------
    onnx : module
    dtype : numpy.dtype
        Of features and arithmetic.
    n_features : int
        Columns of the input ``features``; without any there is no such input.
    """

    def __init__(self, onnx: Any, dtype: np.dtype, n_features: int) -> None:
        self._onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self._inputs = {FEATURES: (kind, ["n_samples", n_features])} if n_features else {}
        self.last = FEATURES if n_features else ""

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Keep an array, and return its name."""
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Append a node, and return the name of what it makes."""
        output = output or f"step_{len(self.nodes)}"
        node = self._onnx.helper.make_node(kind, list(inputs), [output], **attributes)
        self.nodes.append(node)
        return output

    def tokens(self, pattern: str, locale: str | None) -> str:
        """Add the input ``texts``, and return its matches of a pattern, small letters with a locale."""
        last = TEXTS
        self._inputs[TEXTS] = (self._onnx.TensorProto.STRING, ["n_samples"])
        if locale is not None:
            how: Any = {"case_change_action": "LOWER", "locale": locale}
            last = self.add("StringNormalizer", last, **how)
        cut: Any = {"mark": 0, "mincharnum": 1, "pad_value": "", "tokenexp": pattern}
        return self.add("Tokenizer", last, domain=_RUNTIME, **cut)

    def cast(self, name: str) -> str:
        """Return numbers of another type as those of the graph."""
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        return self.add("Cast", name, to=kind)

    def unit_rows(self, name: str) -> str:
        """Divide rows by their length; a row of zeros stays one."""
        length = self.add("ReduceL2", name, axes=[1], keepdims=1)
        length = self.add("Max", length, self.constant(np.finfo(self.dtype).tiny))
        return self.add("Div", name, length)

    def model(self, n_labels: int, metadata: dict[str, str]) -> Any:
        """Return the checked model, whose outputs are those that were made."""
        helper, kind = self._onnx.helper, self._onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        made = {name for node in self.nodes for name in node.output}
        outputs = [name for name in (PROBABILITIES, SCORES) if name in made]
        body = helper.make_graph(
            self.nodes,
            "labelgap",
            [helper.make_tensor_value_info(name, *what) for name, what in self._inputs.items()],
            [
                helper.make_tensor_value_info(name, kind, ["n_samples", n_labels])
                for name in outputs
            ],
            self.constants,
        )
        made_by = {"producer_name": "labelgap", "producer_version": metadata["labelgap_version"]}
        opset = [helper.make_opsetid("", _OPSET)]
        if TEXTS in self._inputs:
            opset.append(helper.make_opsetid(_RUNTIME, 1))
        model = helper.make_model(body, opset_imports=opset, ir_version=_IR_VERSION, **made_by)
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model)
        return model
