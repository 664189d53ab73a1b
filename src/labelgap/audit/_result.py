"""What an audit found, as plain values that a page, a table or a program can show.

Everything here is a frozen dataclass of numbers, strings and tuples. `Audit.to_json` and
`Audit.from_json` are inverse to each other; the JSON object has the names of the attributes below.
Item ids are strings throughout, since integers beyond 2**53 do not survive a browser.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgap.audit._plain import from_plain, to_plain

__all__ = [
    "SCHEMA",
    "Audit",
    "CalibrationBin",
    "Companion",
    "CooccurrenceMap",
    "DataSource",
    "Estimate",
    "Evidence",
    "FeaturePull",
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
]

SCHEMA = 1

GapKind = Literal["unknown entries", "ambiguous zeros", "both", "none"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """The audit in a few numbers and sentences.

    Attributes
    ----------
    n_items, n_labels, n_features : int
    n_positive : int
        Entries that are recorded as relevant.
    n_unknown : int
        Entries that are explicitly unknown.
    gaps : {"unknown entries", "ambiguous zeros", "both", "none"}
        Where relevant labels may be missing: in the unknown entries, among the zeros, in both, or
        nowhere.
    gaps_in_words : str
        The same as a sentence, with what it was read from.
    expected_missing : Estimate or None
        How many relevant labels are probably missing; None where nothing could be estimated.
    recorded : Estimate or None
        Estimated share of the relevant labels that is recorded.
    sentences : tuple of str
        What a reader should know first, most important first.
    """

    n_items: int
    n_labels: int
    n_features: int
    n_positive: int
    n_unknown: int
    gaps: GapKind
    gaps_in_words: str
    expected_missing: Estimate | None
    recorded: Estimate | None
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class LabelAudit:
    """One label.

    Attributes
    ----------
    name : str
    n_positive : int
    observed : float
        Share of the items in which the label is known (ambiguous zeros count as known).
    recorded : Estimate or None
        Estimated share of the relevant entries that are recorded; None for labels too rare.
    expected_missing : float or None
        Expected number of relevant entries that are not recorded.
    too_rare : bool
        Fewer positive items than anything can be learned from.
    auc, average_precision : Estimate or None
        Of cross-validated predictions at the known entries.
    calibration_error : float or None
        Mean distance between predicted chance and observed share over bins.
    """

    name: str
    n_positive: int
    observed: float
    recorded: Estimate | None
    expected_missing: float | None
    too_rare: bool
    auc: Estimate | None
    average_precision: Estimate | None
    calibration_error: float | None


@dataclass(frozen=True)
class ItemRate:
    """How well labelled one item is.

    ``observed`` is the share of its entries that are known, ``n_positive`` the labels it carries,
    ``expected_missing`` how many more it probably should, ``recorded`` the share of its
    relevant labels that is recorded.
    """

    item: str
    n_positive: int
    observed: float
    expected_missing: float
    recorded: Estimate


@dataclass(frozen=True)
class ItemAudit:
    """The items: a histogram of how completely they are labelled, and the worst of them.

    ``counts[k]`` items have a recorded share between ``edges[k]`` and ``edges[k + 1]``;
    ``n_without_labels`` carry none at all.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    n_without_labels: int
    worst: tuple[ItemRate, ...]


@dataclass(frozen=True)
class SeldomPair:
    """Two labels found on similar items, but on the same item suspiciously seldom.

    Attributes
    ----------
    first, second : str
    observed, expected : float
        Items that carry both, and how many would if each followed the chances of the model
        without knowing of the other.
    p : float
        Chance of so few, corrected for all pairs that were looked at (Benjamini-Yekutieli).
    similarity : float
        Correlation of the predicted chances of the two.
    """

    first: str
    second: str
    observed: float
    expected: float
    p: float
    similarity: float


@dataclass(frozen=True)
class NearDuplicate:
    """Two labels that are nearly the same set of items, or one within the other.

    ``jaccard`` is the share of common items, ``containment`` the share of the rarer label's items
    that carry the other as well; ``kind`` says which of the two is large.
    """

    first: str
    second: str
    n_first: int
    n_second: int
    n_both: int
    jaccard: Estimate
    containment: Estimate
    kind: Literal["same", "contained"]


@dataclass(frozen=True)
class CooccurrenceMap:
    """How often the most frequent labels come together: ``counts[i][j]`` items carry both.

    Labels are in an order that puts similar ones next to each other. ``lift[i][j]`` is the count
    over what independent labels would give; 1.0 on the diagonal.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    lift: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class PairAudit:
    """What pairs of labels say."""

    seldom: tuple[SeldomPair, ...]
    duplicates: tuple[NearDuplicate, ...]
    map: CooccurrenceMap


@dataclass(frozen=True)
class SimilarItem:
    """An item that carries the suggested label; ``similarity`` is the cosine of the features."""

    item: str
    similarity: float


@dataclass(frozen=True)
class Companion:
    """A label the item carries already; ``lift`` is P(suggested | this) / P(suggested)."""

    label: str
    lift: float
    n_both: int


@dataclass(frozen=True)
class FeaturePull:
    """A feature of the item that speaks for the label, with what it adds to the score."""

    feature: str
    contribution: float


@dataclass(frozen=True)
class Evidence:
    """Why a label is suggested: any of the three may be empty."""

    similar: tuple[SimilarItem, ...] = ()
    companions: tuple[Companion, ...] = ()
    features: tuple[FeaturePull, ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """A label that is probably missing, by descending ``probability``; ``rank`` starts at 1.

    ``state`` is what the table says now: "unknown", or "zero" (maybe forgotten).
    """

    rank: int
    item: str
    label: str
    probability: float
    state: Literal["unknown", "zero"]
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True)
class LearningPoint:
    """Quality of held-out predictions when learning from a share of the items.

    ``n_labels`` is how many labels these items carry; None in audits of earlier versions.
    """

    share: float
    n_items: int
    average_precision: Estimate
    n_labels: int | None = None

    @property
    def amount(self) -> int:
        """Labels that were learned from, or items where nobody counted the labels."""
        return self.n_items if self.n_labels is None else self.n_labels


@dataclass(frozen=True)
class CalibrationBin:
    """Held-out predictions between two chances: their mean, and the share that is recorded."""

    low: float
    high: float
    n: int
    predicted: float
    observed: Estimate


@dataclass(frozen=True)
class Topic:
    """A topic: labels and features with the largest weights, and the share of items it covers."""

    name: str
    share: float
    labels: tuple[tuple[str, float], ...]
    features: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class SelectedFeature:
    """A feature worth keeping; ``stability`` is the share of resamples that selected it too."""

    name: str
    weight: float
    stability: float


@dataclass(frozen=True)
class Trace:
    """An objective over iterations, of a model that has one."""

    model: str
    name: str
    values: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class DataSource:
    """Where a table came from; ``sha256`` of the file, None for arrays and queries."""

    role: str
    place: str
    sha256: str | None


@dataclass(frozen=True)
class Provenance:
    """How to get the same audit again.

    Attributes
    ----------
    command : str
        What reproduces it.
    version : str
    created : str
        ISO 8601, UTC.
    random_state : int or None
    model : str
        The suggestion model and why it was chosen, in a sentence.
    settings : dict
        All options that differ between runs.
    sources : tuple of DataSource
    data_sha256 : str
        Of what was read: ids, features and labels.
    n_decisions : int
        Decisions of a reviewer that were taken in.
    seconds : dict from stage to seconds
    """

    command: str
    version: str
    created: str
    random_state: int | None
    model: str
    settings: dict[str, Any]
    sources: tuple[DataSource, ...]
    data_sha256: str
    n_decisions: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class Audit:
    """Everything an audit has to say.

    ``audit_id`` is derived from the data and the settings: the same audit has the same id, and
    decisions refer to it. ``topics`` and ``selected_features`` are None unless asked for.
    """

    audit_id: str
    summary: Summary
    labels: tuple[LabelAudit, ...]
    items: ItemAudit
    pairs: PairAudit
    suggestions: tuple[Suggestion, ...]
    learning_curve: tuple[LearningPoint, ...]
    calibration: tuple[CalibrationBin, ...]
    provenance: Provenance
    topics: tuple[Topic, ...] | None = None
    selected_features: tuple[SelectedFeature, ...] | None = None
    convergence: tuple[Trace, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts and lists, for JSON; ``schema`` is the version of their layout."""
        return {"schema": SCHEMA, **to_plain(self)}

    def to_json(self, indent: int | None = None) -> str:
        """The audit as JSON. Numbers are finite; what is not known is null."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Audit:
        """The inverse of `to_dict`.

        Raises
        ------
        ValueError
            If it is no audit, or one of another layout; the message names the place.
        """
        if not isinstance(plain, dict) or "schema" not in plain:
            raise ValueError("this is no audit: it has no 'schema'; labelgap audit writes one")
        if plain["schema"] != SCHEMA:
            raise ValueError(
                f"the audit has layout {plain['schema']!r}, this version reads {SCHEMA}: "
                "run labelgap audit again"
            )
        return from_plain(cls, {k: v for k, v in plain.items() if k != "schema"}, "audit")

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """The inverse of `to_json`."""
        try:
            plain = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"this is no audit: not JSON ({error})") from error
        return cls.from_dict(plain)
