"""Audits with suggestions of known probabilities, and reviews of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from auditing.sample_audits import NAMES, sample_audit
from labelgap.auditing import Audit, Suggestion
from labelgap.review import DecisionStore, Review, ReviewCandidates
from labelgap.review._answer_model import prior_log_odds


def book_audit(n_suggestions: int = 50, seed: int = 0) -> Audit:
    """An audit whose suggestions have probabilities from nearly 1 down to nearly 0."""
    rng = np.random.default_rng(seed)
    probabilities = np.sort(rng.uniform(0.02, 0.98, n_suggestions))[::-1]
    full = sample_audit(1)
    evidence = full.suggestions[0].evidence
    suggestions = tuple(
        Suggestion(k + 1, f"b{k}", NAMES[k % 5], round(float(p), 4), "zero", evidence)
        for k, p in enumerate(probabilities)
    )
    return replace(full, suggestions=suggestions)


def open_review(folder: Path, audit: Audit | None = None, **options) -> Review:
    audit = audit or book_audit()
    return Review(audit, DecisionStore(folder / "decisions.db", audit.audit_id), **options)


def drawn_candidates(
    n_items: int = 300, n_labels: int = 4, n_traits: int = 2, seed: int = 0, *, effect: float = 1.5
) -> tuple[ReviewCandidates, np.ndarray]:
    """ReviewCandidates for all entries, and answers whose log-odds the traits and labels move."""
    rng = np.random.default_rng(seed)
    traits = np.column_stack([np.ones(n_items), rng.standard_normal((n_items, n_traits))])
    rows, columns = (part.ravel() for part in np.indices((n_items, n_labels)))
    said = rng.normal(-0.5, 1.5, rows.size)
    weights = effect * rng.standard_normal((n_labels, n_traits + 1))
    log_odds = said + np.einsum("nd,nd->n", traits[rows], weights[columns])
    answers = (rng.uniform(size=rows.size) < 1 / (1 + np.exp(-log_odds))).astype(float)
    items = [f"i{k}" for k in range(n_items)]
    labels = [f"l{k}" for k in range(n_labels)]
    probabilities = 1 / (1 + np.exp(-said))
    return ReviewCandidates(
        rows, columns, prior_log_odds(probabilities), traits, items, labels
    ), answers
