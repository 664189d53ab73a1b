"""BMLPL: Bayesian multi-label learning via positive labels."""

from labelgap.models.bmlpl._estimator import BMLPL
from labelgap.models.bmlpl._start import starting_params
from labelgap.models.bmlpl._topics import Topic, topic_coherence

__all__ = ["BMLPL", "Topic", "starting_params", "topic_coherence"]
