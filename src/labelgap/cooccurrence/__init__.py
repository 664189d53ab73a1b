"""How often labels occur together: what connects an unseen label to the seen ones.

The convention, here and wherever counts come in: ``M[s, t]`` is the number of items that carry
both the seen label s and the label t. The diagonal ``M[s, s]`` is therefore the number of items
that carry s, written ``n_s``. A count that is missing says nothing; it is not a zero.
"""

from labelgap.cooccurrence._accept import as_cooccurrence
from labelgap.cooccurrence._container import Cooccurrence
from labelgap.cooccurrence._counting import count_cooccurrence
from labelgap.cooccurrence._weights import (
    NORMALISATIONS,
    conditional_shares,
    occurrences,
    synthesis_weights,
)

__all__ = [
    "NORMALISATIONS",
    "Cooccurrence",
    "as_cooccurrence",
    "conditional_shares",
    "count_cooccurrence",
    "occurrences",
    "synthesis_weights",
]
