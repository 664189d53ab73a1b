"""Repair the labels, then train the classifier one already has."""

from labelgap.mending._completers import Completer, ScoreCompleter
from labelgap.mending._factors import FactorCompleter
from labelgap.mending._labelwise import LabelwiseCompleter
from labelgap.mending._mend import Mend
from labelgap.mending._neighbors import NeighborsCompleter
from labelgap.mending._stack import StackedCompleter

__all__ = [
    "Completer",
    "FactorCompleter",
    "LabelwiseCompleter",
    "Mend",
    "NeighborsCompleter",
    "ScoreCompleter",
    "StackedCompleter",
]
