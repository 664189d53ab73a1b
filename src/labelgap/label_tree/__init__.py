"""Thousands to millions of labels: a tree of linear models, searched for the best labels of a row."""

from labelgap.label_tree._label_tree import ProbabilisticLabelTree

__all__ = ["ProbabilisticLabelTree"]
