"""What is wrong with a table of labels: kinds of gaps, label pairs, and what is probably missing.

`Audit` is the result: a tree of plain values that goes to JSON and back.
"""

from labelgap.audit._again import ChancesAgain
from labelgap.audit._audit import audit
from labelgap.audit._complete import Completed, complete
from labelgap.audit._decisions import (
    Decision,
    Decisions,
    apply_decisions,
    read_decisions,
    write_decisions,
)
from labelgap.audit._pairs import MOST_EXTREME, cooccurrence_map, damped_log_lift
from labelgap.audit._result import (
    SCHEMA,
    Audit,
    CalibrationBin,
    Companion,
    CooccurrenceMap,
    DataSource,
    Estimate,
    Evidence,
    FeaturePull,
    ItemAudit,
    ItemRate,
    LabelAudit,
    LearningPoint,
    NearDuplicate,
    PairAudit,
    Provenance,
    SeldomPair,
    SelectedFeature,
    SimilarItem,
    Suggestion,
    Summary,
    Topic,
    Trace,
)
from labelgap.audit._rows import FeatureRows, feature_rows
from labelgap.audit._tables import audit_tables
from labelgap.audit._topics import find_topics, select_features
from labelgap.audit._words import rounded

__all__ = [
    "MOST_EXTREME",
    "SCHEMA",
    "Audit",
    "CalibrationBin",
    "ChancesAgain",
    "Companion",
    "Completed",
    "CooccurrenceMap",
    "DataSource",
    "Decision",
    "Decisions",
    "Estimate",
    "Evidence",
    "FeaturePull",
    "FeatureRows",
    "ItemAudit",
    "ItemRate",
    "LabelAudit",
    "LearningPoint",
    "NearDuplicate",
    "PairAudit",
    "Provenance",
    "SeldomPair",
    "SelectedFeature",
    "SimilarItem",
    "Suggestion",
    "Summary",
    "Topic",
    "Trace",
    "apply_decisions",
    "audit",
    "audit_tables",
    "complete",
    "cooccurrence_map",
    "damped_log_lift",
    "feature_rows",
    "find_topics",
    "read_decisions",
    "rounded",
    "select_features",
    "write_decisions",
]
