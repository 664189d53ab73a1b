"""BMLPL: Bayesian multi-label learning via positive labels."""

from labelgap.models.bmlpl._bmlpl import BMLPL
from labelgap.models.bmlpl._topics import LabelTopic, topic_coherence

__all__ = ["BMLPL", "LabelTopic", "topic_coherence"]
