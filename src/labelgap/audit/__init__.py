"""What is wrong with a table of labels: kinds of gaps, label pairs, and what is probably missing.

`Audit` is the result: a tree of plain values that goes to JSON and back.
"""

from labelgap.audit._audit import audit
from labelgap.audit._complete import Completed, complete
from labelgap.audit._decisions import (
    Decision,
    Decisions,
    apply_decisions,
    read_decisions,
    write_decisions,
)
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

__all__ = [
    "SCHEMA",
    "Audit",
    "CalibrationBin",
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
    "feature_rows",
    "find_topics",
    "read_decisions",
    "select_features",
    "write_decisions",
]
