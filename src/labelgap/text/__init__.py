"""What the texts of items and labels say about entries: encoders, matches, a model of entries.

An item's text and a label's name or definition speak about the same thing. :func:`match_texts` compares
them, :class:`TextEntryModel` learns over all labels together how much that says beside the score of a
model per label, and :class:`TextFeatures` makes features of texts.
"""

from labelgap.text._encoders import StaticEmbedding, TfidfEncoder, check_encoder, encode_unit
from labelgap.text._entry_model import TextEntryModel
from labelgap.text._label_text import check_texts, label_texts, words_of_name
from labelgap.text._label_vectors import LabelVectors, is_texts
from labelgap.text._text_features import TextFeatures
from labelgap.text._text_kernel import TextKernelRidge
from labelgap.text._text_match import TextMatch, match_texts

__all__ = [
    "LabelVectors",
    "StaticEmbedding",
    "TextEntryModel",
    "TextFeatures",
    "TextKernelRidge",
    "TextMatch",
    "TfidfEncoder",
    "check_encoder",
    "check_texts",
    "encode_unit",
    "is_texts",
    "label_texts",
    "match_texts",
    "words_of_name",
]
