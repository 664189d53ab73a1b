"""Audits of label tables: kinds of gaps, pairs of labels, and what is probably missing.

:func:`audit` makes an `Audit`, a tree of plain records that goes to JSON and back.
"""

from labelgap.auditing._audit import audit
from labelgap.auditing._audit_input import FeatureRows, feature_rows
from labelgap.auditing._audit_result import (
    SCHEMA,
    Audit,
    AuditSummary,
    AuditTopic,
    CalibrationBin,
    ClaimBin,
    ConvergenceTrace,
    CooccurrenceMap,
    CooccurringLabel,
    DataSource,
    Estimate,
    Evidence,
    FeatureContribution,
    ItemAudit,
    ItemRate,
    LabelAudit,
    LearningPoint,
    MissingEstimate,
    MissingScenario,
    NearDuplicate,
    NearestWord,
    PairAudit,
    Provenance,
    RarePair,
    SelectedFeature,
    SimilarItem,
    Suggestion,
    UnopenedItem,
    WrongPositive,
)
from labelgap.auditing._audit_text import audit_tables, rounded
from labelgap.auditing._impute import ImputedEntries, impute
from labelgap.auditing._label_pairs import MOST_EXTREME, cooccurrence_map, damped_log_lift
from labelgap.auditing._rescoring import AuditRescorer
from labelgap.auditing._review_decisions import (
    Decision,
    ReviewDecisions,
    apply_decisions,
    read_decisions,
    write_decisions,
)
from labelgap.auditing._table_diff import LabelChange, TableDiff, diff
from labelgap.auditing._topics_and_features import find_topics, select_features

__all__ = [
    "MOST_EXTREME",
    "SCHEMA",
    "Audit",
    "AuditRescorer",
    "AuditSummary",
    "AuditTopic",
    "CalibrationBin",
    "ClaimBin",
    "ConvergenceTrace",
    "CooccurrenceMap",
    "CooccurringLabel",
    "DataSource",
    "Decision",
    "Estimate",
    "Evidence",
    "FeatureContribution",
    "FeatureRows",
    "ImputedEntries",
    "ItemAudit",
    "ItemRate",
    "LabelAudit",
    "LabelChange",
    "LearningPoint",
    "MissingEstimate",
    "MissingScenario",
    "NearDuplicate",
    "NearestWord",
    "PairAudit",
    "Provenance",
    "RarePair",
    "ReviewDecisions",
    "SelectedFeature",
    "SimilarItem",
    "Suggestion",
    "TableDiff",
    "UnopenedItem",
    "WrongPositive",
    "apply_decisions",
    "audit",
    "audit_tables",
    "cooccurrence_map",
    "damped_log_lift",
    "diff",
    "feature_rows",
    "find_topics",
    "impute",
    "read_decisions",
    "rounded",
    "select_features",
    "write_decisions",
]
