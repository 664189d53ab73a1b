"""Published methods to compare with, under the same contract as the models."""

from labelgap.baselines._bcs import BCS
from labelgap.baselines._classifier_chains import ClassifierChains
from labelgap.baselines._cmfs import CMFS
from labelgap.baselines._costa import COSTA
from labelgap.baselines._expomf import ExpoMF
from labelgap.baselines._fasttag import FastTag
from labelgap.baselines._fsnm import FSNM
from labelgap.baselines._geneml import GenEML
from labelgap.baselines._glocal import GLOCAL
from labelgap.baselines._imsf import IMSF
from labelgap.baselines._jfsc import JFSC
from labelgap.baselines._labelme import LabelMe
from labelgap.baselines._latent import LFMSL, LatentCOSTA
from labelgap.baselines._leml import LEML
from labelgap.baselines._llsf import LLSF
from labelgap.baselines._lrmmc import LRMMC
from labelgap.baselines._lsml import LSML
from labelgap.baselines._maxide import Maxide
from labelgap.baselines._mifs import MIFS
from labelgap.baselines._ml2 import ML2
from labelgap.baselines._mlknn import MLkNN
from labelgap.baselines._mlmlfs import MLMLFS
from labelgap.baselines._mvliv import MVLIV
from labelgap.baselines._plst import CPLST, PLST
from labelgap.baselines._sfus import SFUS
from labelgap.baselines._wsabie import WSABIE

__all__ = [
    "BCS",
    "CMFS",
    "COSTA",
    "CPLST",
    "FSNM",
    "GLOCAL",
    "IMSF",
    "JFSC",
    "LEML",
    "LFMSL",
    "LLSF",
    "LRMMC",
    "LSML",
    "MIFS",
    "ML2",
    "MLMLFS",
    "MVLIV",
    "PLST",
    "SFUS",
    "WSABIE",
    "ClassifierChains",
    "ExpoMF",
    "FastTag",
    "GenEML",
    "LabelMe",
    "LatentCOSTA",
    "MLkNN",
    "Maxide",
]
