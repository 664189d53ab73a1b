"""Published methods to compare with, under the same contract as the models."""

from labelgap.baselines._costa import COSTA
from labelgap.baselines._latent import LFMSL, LatentCOSTA
from labelgap.baselines._maxide import Maxide

__all__ = ["COSTA", "LFMSL", "LatentCOSTA", "Maxide"]
