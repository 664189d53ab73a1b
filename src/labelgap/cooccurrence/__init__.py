"""How often labels occur together: what connects an unseen label to the seen ones.

The convention, here and wherever counts come in: ``M[s, t]`` is the number of items that carry
both the seen label s and the label t. The diagonal ``M[s, s]`` is therefore the number of items
that carry s, written ``n_s``. A count that is missing says nothing; it is not a zero.
"""

from labelgap.cooccurrence._as_cooccurrence import as_cooccurrence, has_names
from labelgap.cooccurrence._cooccurrence import Cooccurrence
from labelgap.cooccurrence._count_cooccurrence import cooccurrence_matrix, count_cooccurrence
from labelgap.cooccurrence._occurrences import conditional_fractions, occurrences
from labelgap.cooccurrence._text_counts import counts_with_text

__all__ = [
    "Cooccurrence",
    "as_cooccurrence",
    "conditional_fractions",
    "cooccurrence_matrix",
    "count_cooccurrence",
    "counts_with_text",
    "has_names",
    "occurrences",
]
