"""The methods that experiments name, with what each of them tries.

A new one is a line in the ``METHODS`` of the file of its tables: how it is made for a task, and a
grid. Methods outside the library need no line here: an experiment names them as
``"package.module:factory"``.
"""

from labelgap.bench.methods import _embeddings, _missing_labels, _selectors, _views
from labelgap.bench.methods._method import Method, find_method

METHODS: dict[str, Method] = {
    **_missing_labels.METHODS,
    **_selectors.METHODS,
    **_views.METHODS,
    **_embeddings.METHODS,
}
"""By the names that experiments use."""

__all__ = ["METHODS", "Method", "find_method"]
