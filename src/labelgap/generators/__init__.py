"""Generators: data with known truth for every way in which labels can be incomplete."""

from labelgap.generators._factor_generators import make_low_rank, make_positive_only, make_unseen
from labelgap.generators._generated_data import Generated
from labelgap.generators._topic_and_view_generators import make_topics, make_views

GENERATORS = {
    "low-rank": make_low_rank,
    "topics": make_topics,
    "positive-only": make_positive_only,
    "views": make_views,
    "unseen": make_unseen,
}

__all__ = [
    "GENERATORS",
    "Generated",
    "make_low_rank",
    "make_positive_only",
    "make_topics",
    "make_unseen",
    "make_views",
]
