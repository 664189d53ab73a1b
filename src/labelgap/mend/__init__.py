"""The default predictor; or any classifier, trained on imputed labels."""

from labelgap.mend._imputed_labels import ImputedLabels
from labelgap.mend._mend import Mend
from labelgap.mend._portfolio import LeaderboardRow
from labelgap.mend._selection import Candidate, ValidationResult

__all__ = ["Candidate", "ImputedLabels", "LeaderboardRow", "Mend", "ValidationResult"]
