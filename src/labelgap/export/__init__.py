"""Models for other programs: predictions of linear models as ONNX graphs."""

from labelgap.export._linear import LinearForm, NotLinearError, linear_form
from labelgap.export._onnx import to_onnx

__all__ = ["LinearForm", "NotLinearError", "linear_form", "to_onnx"]
