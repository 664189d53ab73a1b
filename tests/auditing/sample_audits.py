"""Small audits with every part filled in, for tests of pages, tables and JSON."""

from __future__ import annotations

from dataclasses import replace

from labelgap.auditing import (
    Audit,
    AuditSummary,
    AuditTopic,
    CalibrationBin,
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
    NearDuplicate,
    PairAudit,
    Provenance,
    RarePair,
    SelectedFeature,
    SimilarItem,
    Suggestion,
)

NAMES = ("fiction", "novel", "crime", "poetry <b>", "travel & food", "atlas")


def sample_audit(n_suggestions: int = 12) -> Audit:
    """An invented library of 200 books with six labels."""
    return Audit(
        audit_id="5a0c1e7d9b3f2a64",
        summary=AuditSummary(
            n_items=200,
            n_labels=6,
            n_features=40,
            n_positive=412,
            n_unknown=0,
            gaps="unlabeled",
            gaps_in_words="Zeros look unlabeled: some of them are probably missing labels.",
            label_frequency=Estimate(0.76, 0.66, 0.87),
            sentences=(
                "About 130 labels are probably missing (95% interval: 61 to 210).",
                "1 of 6 labels is too rare to learn.",
            ),
        ),
        missing=MissingEstimate(130.0, 61.0, 210.0, "one table; an assumption", True),
        labels=tuple(_label(k, name) for k, name in enumerate(NAMES)),
        items=ItemAudit(
            edges=(0.0, 0.25, 0.5, 0.75, 1.0),
            counts=(3, 20, 77, 100),
            n_without_labels=2,
            worst=(
                ItemRate("9007199254740993", 0, 1.0, 2.4, Estimate(0.0, 0.0, 0.3)),
                ItemRate("b17", 1, 1.0, 1.9, Estimate(0.34, 0.2, 0.6)),
            ),
        ),
        pairs=PairAudit(
            rare=(RarePair("fiction", "crime", 3, 21.5, 0.0004, 0.61),),
            duplicates=(
                NearDuplicate(
                    "fiction",
                    "novel",
                    110,
                    100,
                    97,
                    Estimate(0.858, 0.79, 0.91),
                    Estimate(0.97, 0.92, 0.99),
                    "same",
                ),
            ),
            map=CooccurrenceMap(
                NAMES[:3],
                ((110, 97, 3), (97, 100, 30), (3, 30, 60)),
                ((1.0, 1.76, 0.09), (1.76, 1.0, 1.0), (0.09, 1.0, 1.0)),
            ),
        ),
        suggestions=tuple(_suggestion(rank) for rank in range(1, n_suggestions + 1)),
        learning_curve=tuple(
            LearningPoint(
                fraction,
                int(160 * fraction),
                Estimate(ap, ap - 0.04, ap + 0.04),
                int(400 * fraction),
            )
            for fraction, ap in ((0.25, 0.61), (0.5, 0.68), (1.0, 0.72))
        ),
        calibration=tuple(
            CalibrationBin(low, low + 0.25, 50, low + 0.12, Estimate(low + 0.1, low, low + 0.2))
            for low in (0.0, 0.25, 0.5, 0.75)
        ),
        provenance=Provenance(
            command="labelgap audit books.csv --labels 'is_*' --item id --seed 0",
            version="0.1.0",
            created="2026-01-05T08:30:00+00:00",
            random_state=0,
            model="per-label: a logistic regression per label (200 items x 6 labels)",
            settings={"n_suggestions": n_suggestions, "zeros": "auto"},
            sources=(DataSource("items", "books.csv", "ab" * 32),),
            data_sha256="cd" * 32,
            n_decisions=0,
            seconds={"reading": 0.2, "suggestions": 3.1},
        ),
        topics=(AuditTopic("topic 1", 0.4, (("fiction", 0.7),), (("love", 0.1), ("death", 0.08))),),
        selected_features=(SelectedFeature("love", 1.2, 0.95),),
        convergence=(ConvergenceTrace("BMLPL", "bound", (-9.0, -4.0, -3.5), True),),
    )


def bare_audit() -> Audit:
    """The same without anything that may be absent."""
    full = sample_audit(0)
    return replace(
        full,
        missing=MissingEstimate(0.0, 0.0, 0.0, "one table; an assumption", True),
        summary=replace(full.summary, gaps="none", gaps_in_words="None.", label_frequency=None),
        labels=(LabelAudit("fiction", 0, 1.0, None, None, True, None, None, None),),
        pairs=PairAudit((), (), CooccurrenceMap((), (), ())),
        learning_curve=(),
        calibration=(),
        topics=None,
        selected_features=None,
        convergence=(),
    )


def _label(k: int, name: str) -> LabelAudit:
    if name == "atlas":
        return LabelAudit(name, 1, 1.0, None, None, True, None, None, None)
    return LabelAudit(
        name=name,
        n_positive=110 - 15 * k,
        observed=1.0,
        label_frequency=Estimate(0.8 - 0.05 * k, 0.6 - 0.05 * k, 0.95),
        expected_missing=20.0 + k,
        too_rare=False,
        auc=Estimate(0.9 - 0.03 * k, 0.85 - 0.03 * k, 0.94),
        average_precision=Estimate(0.8 - 0.06 * k, 0.7 - 0.06 * k, 0.88),
        calibration_error=0.03,
    )


def _suggestion(rank: int) -> Suggestion:
    return Suggestion(
        rank=rank,
        item=f"b{rank}" if rank > 1 else "9007199254740993",
        label=NAMES[rank % 5],
        probability=round(0.99 - 0.03 * rank, 4),
        state="zero",
        evidence=Evidence(
            similar=(SimilarItem("b40", 0.93), SimilarItem("b41", 0.9)),
            cooccurring=(CooccurringLabel("novel", 1.76, 97),),
            features=(FeatureContribution("love", 0.8), FeatureContribution("murder", 0.3)),
        ),
    )
