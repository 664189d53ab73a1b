"""The audit itself: from features and labels to everything that can be said of the gaps."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from labelgap import __version__
from labelgap.audit._chances import Chances, chances_from
from labelgap.audit._decisions import Decisions
from labelgap.audit._evidence import collect_evidence
from labelgap.audit._given import Given, Zeros, check_given, fingerprint
from labelgap.audit._joint import Advance, JointModel, fit_joint
from labelgap.audit._pairs import pair_audit
from labelgap.audit._per_label import expected_missing, item_audit, label_audits
from labelgap.audit._quality import calibration_curve, learning_curve
from labelgap.audit._recording import Recorded, read_recorded
from labelgap.audit._result import Audit, DataSource, Estimate, Provenance, Suggestion, Summary
from labelgap.audit._rows import FeatureRows, feature_rows
from labelgap.audit._tally import Tally, take_tally
from labelgap.audit._topics import find_topics, select_features
from labelgap.audit._words import gaps_in_words, sentences_of

__all__ = ["audit"]

_UNFINISHED = Provenance("", "", "", None, "", {}, (), "", 0, {})


@dataclass(eq=False)
class _Run:
    """What accompanies an audit: randomness, progress, and seconds per stage."""

    rng: np.random.Generator
    advance: Advance
    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = round(now - self.last, 3)
        self.last = now


def audit(
    X: Any,
    Y: Any,
    *,
    item_ids: Sequence[Any] | np.ndarray | None = None,
    feature_names: Sequence[str] | None = None,
    zeros: Zeros = "auto",
    n_suggestions: int = 1000,
    n_topics: int | None = None,
    n_selected: int | None = None,
    scale: bool = True,
    decisions: Decisions | None = None,
    random_state: int | None = 0,
    progress: Advance | None = None,
    command: str = "labelgap.audit.audit(X, Y)",
    sources: Sequence[DataSource] = (),
) -> Audit:
    """Find out what kind of gaps labels have, and which labels are probably missing.

    Every label is regressed on the features and on all other labels (ridge regression), and every
    entry is judged by regressions that were fitted without its row. Scores become chances by
    isotonic regression at the known entries; the share of relevant labels that is recorded is read
    from where these chances stop rising. Nothing of the size rows x labels is kept.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features)
    Y : whatever :func:`labelgap.as_labels` takes
    item_ids : sequence of length n_items, optional
        Row numbers by default. They must differ, also as strings.
    feature_names : sequence of length n_features, optional
    zeros : {"auto", "irrelevant", "ambiguous"}
        Whether zeros are in question. "auto": where the labels say so, and where there are no
        unknown entries, since who marks the unknown means the zeros.
    n_suggestions : int
        How many probably missing labels to list.
    n_topics : int, optional
        Also find so many topics of the labels.
    n_selected : int, optional
        Also find so many features worth keeping, with their stability.
    scale : bool
        Whether features are scaled: standardised when dense, rows of unit length when sparse.
    decisions : Decisions, optional
        What people decided about suggestions of earlier audits; see :func:`read_decisions`.
    random_state : int or None
    progress : callable, optional
        Called with what is going on, how much is done, and of how much (None: not known).
    command, sources
        Noted in the provenance.

    Returns
    -------
    Audit
    """
    if n_suggestions < 1:
        raise ValueError(f"n_suggestions={n_suggestions}: ask for at least one")
    run = _Run(np.random.default_rng(random_state), progress or _silent)
    given = check_given(X, Y, item_ids, zeros, decisions)
    seed = int(run.rng.integers(2**31 - 1))
    rows = feature_rows(X, feature_names, scale=scale, random_state=seed)
    run.lap("preparing")
    model = fit_joint(rows, given.part, run.rng, run.advance)
    run.lap("fitting")
    found = _describe(given, model, n_suggestions, run)
    found = _with_extras(found, given, rows, n_topics, n_selected, seed, run)
    settings = {
        "zeros": zeros,
        "n_suggestions": n_suggestions,
        "n_topics": n_topics,
        "n_selected": n_selected,
        "scale": scale,
        "feature_penalty": model.penalties[0],
        "label_penalty": model.penalties[1],
    }
    about = Provenance(
        command=command,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        random_state=random_state,
        model=_model_in_words(model, given),
        settings=settings,
        sources=tuple(sources),
        data_sha256=fingerprint(rows, given),
        n_decisions=given.n_decisions,
        seconds=run.seconds,
    )
    return replace(found, audit_id=_audit_id(about), provenance=about)


def _describe(given: Given, model: JointModel, n_suggestions: int, run: _Run) -> Audit:
    """Everything but where it comes from."""
    part = given.part
    tally = take_tally(model, part, n_suggestions, run.advance, given.decided_part)
    recorded = read_recorded(tally) if part.ambiguous else None
    chances = chances_from(tally, recorded)
    run.lap("scoring")
    suggestions = _suggest(model, given, tally, chances, n_suggestions, run.advance)
    run.lap("evidence")
    pairs = pair_audit(model.rows, given.labels, given.names, model.penalties[0], run.advance)
    run.lap("pairs")
    curve = learning_curve(model, part, run.rng, run.advance)
    run.lap("learning curve")
    share = 1.0 if recorded is None else recorded.share.value
    labels = label_audits(given.labels, given.names, given.modelled, tally, chances, share)
    items = item_audit(given.labels, given.items, tally, chances)
    summary = _summary(given, model.rows, tally, recorded)
    run.lap("labels and items")
    return Audit(
        audit_id="",
        summary=replace(
            summary, sentences=sentences_of(summary, labels, items, pairs, suggestions)
        ),
        labels=labels,
        items=items,
        pairs=pairs,
        suggestions=suggestions,
        learning_curve=curve,
        calibration=calibration_curve(tally),
        provenance=_UNFINISHED,
    )


def _with_extras(
    found: Audit,
    given: Given,
    rows: FeatureRows,
    n_topics: int | None,
    n_selected: int | None,
    seed: int,
    run: _Run,
) -> Audit:
    """What was asked for beside the audit."""
    if n_topics is not None:
        run.advance("finding topics", 0, None)
        topics, trace = find_topics(
            rows, given.part, n_topics, random_state=seed, progress=run.advance
        )
        found = replace(found, topics=topics, convergence=(*found.convergence, trace))
        run.lap("topics")
    if n_selected is not None:
        run.advance("selecting features", 0, None)
        chosen = select_features(
            rows, given.part, n_selected, random_state=seed, progress=run.advance
        )
        found = replace(found, selected_features=chosen)
        run.lap("features")
    return found


def _suggest(
    model: JointModel,
    given: Given,
    tally: Tally,
    chances: Chances,
    n_wanted: int,
    advance: Advance,
) -> tuple[Suggestion, ...]:
    """The most probable of the zeros in question and the unknown entries, with their evidence."""
    part, names = given.part, given.part_names
    zero, unknown = tally.best_zero, tally.best_unknown
    if not part.ambiguous:
        zero = tally.best_zero.first(0)
    rows = np.concatenate([zero.rows, unknown.rows])
    columns = np.concatenate([zero.labels, unknown.labels])
    scores = np.concatenate([zero.scores, unknown.scores])
    chance = np.concatenate([chances.of_zeros(zero.scores), chances.of_unknown(unknown.scores)])
    is_unknown = np.arange(rows.size) >= zero.rows.size
    order = np.lexsort((columns, rows, -scores, -chance))[:n_wanted]
    pairs = (rows[order], columns[order])
    evidence = collect_evidence(model, part, names, given.items, pairs, advance)
    return tuple(
        Suggestion(
            rank=rank,
            item=str(given.items[rows[k]]),
            label=names[columns[k]],
            probability=float(chance[k]),
            state="unknown" if is_unknown[k] else "zero",
            evidence=why,
        )
        for rank, (k, why) in enumerate(zip(order, evidence, strict=True), start=1)
    )


def _summary(given: Given, rows: FeatureRows, tally: Tally, recorded: Recorded | None) -> Summary:
    labels = given.labels
    n_cells = labels.n_rows * labels.n_labels
    n_unknown = n_cells - labels.n_observed(ambiguous=True)
    missing = _total_missing(tally, recorded)
    words = gaps_in_words(n_unknown, n_cells, recorded, by_statement=given.stated_ambiguous)
    doubtful = recorded is not None and recorded.verdict != "complete"
    if doubtful:
        kind = "both" if n_unknown else "ambiguous zeros"
    else:
        kind = "unknown entries" if n_unknown else "none"
    return Summary(
        n_items=labels.n_rows,
        n_labels=labels.n_labels,
        n_features=rows.scaled.shape[1],
        n_positive=labels.n_positives(),
        n_unknown=n_unknown,
        gaps=kind,  # type: ignore[arg-type]
        gaps_in_words=words,
        expected_missing=missing,
        recorded=None if recorded is None else recorded.share,
        sentences=(),
    )


def _total_missing(tally: Tally, recorded: Recorded | None) -> Estimate:
    """Expected gaps; the interval is that of the share recorded, or that of independent entries."""
    if recorded is not None:
        share = recorded.share
        value, high, low = (
            float(expected_missing(tally, chances_from(tally, recorded, one)).sum())
            for one in (share.value, share.low, share.high)
        )
        return Estimate(value, min(low, value), max(high, value))
    chances = chances_from(tally, None)
    n, p = tally.unknown.sum(axis=0), chances.if_unknown
    value, half = float(n @ p), 1.96 * float(np.sqrt(n @ (p * (1 - p))))
    return Estimate(value, max(0.0, value - half), value + half)


def _model_in_words(model: JointModel, given: Given) -> str:
    axes = model.rows.axes
    inputs = f"{model.rows.scaled.shape[1]:,} features"
    if axes is not None:
        inputs += f" projected on {axes.shape[1]} directions"
    return (
        f"ridge regressions of {given.modelled.size:,} labels on {inputs} and on each other, every "
        "item judged by regressions fitted without it"
    )


def _audit_id(about: Provenance) -> str:
    """The same for the same data and settings, whenever and wherever it was made."""
    parts = [about.data_sha256, about.version, about.random_state, about.settings]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _silent(stage: str, done: int, total: int | None) -> None:
    pass
