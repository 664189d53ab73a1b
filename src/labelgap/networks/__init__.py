"""Neural networks for labels with gaps (needs torch to fit, not to predict)."""

from labelgap.networks._label_net import LabelNet

__all__ = ["LabelNet"]
