"""The result of an audit: frozen records of numbers, strings and tuples.

`Audit.to_json` and `Audit.from_json` are inverse to each other; the JSON object has the names of
the attributes. Item ids are strings, since integers beyond 2**53 do not survive a browser.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgap._records import from_plain, to_plain
from labelgap.auditing._audit_frames import columns_of
from labelgap.auditing._audit_text import card_of, line_of
from labelgap.extras import require
from labelgap.files import read_json

SCHEMA = 3

GapKind = Literal["unknown", "unlabeled", "both", "none"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MissingScenario:
    """How many labels are missing if they got lost in one way, the ``mechanism``."""

    mechanism: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MissingEstimate:
    """How many relevant labels are probably not recorded, with a range.

    ``basis`` names the data and the assumption it rests on. One table with unlabeled zeros does not
    tell how its labels got lost: ``low`` and ``high`` are then the range over the ``scenarios``, and
    ``identified`` says whether these agree within a quarter. Otherwise they are a 95% interval.
    """

    value: float
    low: float
    high: float
    basis: str
    identified: bool
    scenarios: tuple[MissingScenario, ...] = ()


@dataclass(frozen=True)
class AuditSummary:
    """The audit in a few numbers and sentences, the most important sentence first.

    Of all entries, ``n_positive`` are recorded as relevant and ``n_unknown`` explicitly unknown.
    Relevant labels may be missing among unknown entries, unlabeled zeros, both or none of them
    (``gaps``, in a sentence with what shows it: ``gaps_in_words``). ``label_frequency`` is the
    estimated fraction of the relevant labels that is recorded; None where zeros are negative.
    """

    n_items: int
    n_labels: int
    n_features: int
    n_positive: int
    n_unknown: int
    gaps: GapKind
    gaps_in_words: str
    label_frequency: Estimate | None
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class LabelAudit:
    """One label: how completely it is recorded, and how well it can be predicted.

    ``n_positive`` items carry it, and in the fraction ``observed`` of all items it is known
    (unlabeled zeros count as known). ``label_frequency`` is the estimated fraction of its relevant
    entries that is recorded, ``expected_missing`` the expected number of the others. Areas are those
    of out-of-fold predictions at the known entries; ``calibration_error`` is the mean distance
    between predicted probability and observed fraction. A label that is ``too_rare`` to learn has
    None in their places.
    """

    name: str
    n_positive: int
    observed: float
    label_frequency: Estimate | None
    expected_missing: float | None
    too_rare: bool
    auc: Estimate | None
    average_precision: Estimate | None
    calibration_error: float | None


@dataclass(frozen=True)
class ItemRate:
    """How completely one item is labelled.

    It carries ``n_positive`` labels and probably lacks ``expected_missing``; ``label_frequency`` is
    the fraction of its relevant labels that is recorded, ``observed`` that of its known entries.
    """

    item: str
    n_positive: int
    observed: float
    expected_missing: float
    label_frequency: Estimate


@dataclass(frozen=True)
class ItemAudit:
    """How completely items are labelled: a histogram, and the least complete items.

    For ``counts[k]`` items a fraction between ``edges[k]`` and ``edges[k + 1]`` of the relevant
    labels is recorded; ``n_without_labels`` items carry no label.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    n_without_labels: int
    worst: tuple[ItemRate, ...]


@dataclass(frozen=True)
class RarePair:
    """Two labels found on similar items, but rarely on the same item.

    ``observed`` items carry both; ``expected`` would if each followed the probabilities predicted
    from the features independently of the other. ``p`` is the P value of so few, corrected for all
    compared pairs (Benjamini-Yekutieli), ``similarity`` the correlation of the probabilities.
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

    ``jaccard`` is the fraction of common items, ``containment`` the fraction of the rarer label's
    items that carry the other as well; ``kind`` says which of the two is large.
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
    """How often the most frequent labels come together; similar labels are next to each other.

    ``counts[i][j]`` items carry both; ``lift[i][j]`` is that divided by what independent labels
    would give, 1.0 on the diagonal.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    lift: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class PairAudit:
    """Pairs of labels: rarely together, near-duplicates, and the map of the most frequent."""

    rare: tuple[RarePair, ...]
    duplicates: tuple[NearDuplicate, ...]
    map: CooccurrenceMap


@dataclass(frozen=True)
class SimilarItem:
    """An item that carries the suggested label; ``similarity`` is the cosine of the features."""

    item: str
    similarity: float


@dataclass(frozen=True)
class CooccurringLabel:
    """A label the item carries; ``lift`` is P(suggested | this label) / P(suggested)."""

    label: str
    lift: float
    n_both: int


@dataclass(frozen=True)
class FeatureContribution:
    """A feature of the item with what it adds to the score of the label."""

    feature: str
    contribution: float


@dataclass(frozen=True)
class NearestWord:
    """The word of an item that is nearest to a label, their cosine, and whether it is the name."""

    word: str
    cosine: float
    named: bool


@dataclass(frozen=True)
class Evidence:
    """Why a label is suggested; only linear imputers fill the second and third, and texts the last."""

    similar: tuple[SimilarItem, ...] = ()
    cooccurring: tuple[CooccurringLabel, ...] = ()
    features: tuple[FeatureContribution, ...] = ()
    words: tuple[NearestWord, ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """A label that is probably missing on an item; ``rank`` 1 is the most probable.

    ``state`` is what the table says now: "unknown", or "zero" (unlabeled). ``cells`` are names and
    contents of what a person should see of the item: its text, or some of its features.
    """

    rank: int
    item: str
    label: str
    probability: float
    state: Literal["unknown", "zero"]
    evidence: Evidence = field(default_factory=Evidence)
    cells: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class UnopenedItem:
    """An item without labels that perhaps nobody opened, with the number of labels it should have."""

    item: str
    probability: float
    expected_missing: float


@dataclass(frozen=True)
class WrongPositive:
    """A recorded label that is probably wrong; ``rank`` 1 is the most probable."""

    rank: int
    item: str
    label: str
    probability: float


@dataclass(frozen=True)
class ClaimBin:
    """Suggestions between two probabilities: how many, and their mean probability.

    ``if_obvious_first`` is that mean if people recorded the obvious labels first.
    """

    low: float
    high: float
    n: int
    claimed: float
    if_obvious_first: float


@dataclass(frozen=True)
class LearningPoint:
    """Average precision on held-out items, learned from some others that carry n_labels labels."""

    fraction: float
    n_items: int
    average_precision: Estimate
    n_labels: int


@dataclass(frozen=True)
class CalibrationBin:
    """Out-of-fold predictions between two probabilities: their mean, and the fraction recorded."""

    low: float
    high: float
    n: int
    predicted: float
    observed: Estimate


@dataclass(frozen=True)
class AuditTopic:
    """A topic: labels and features with the largest weights, and the fraction of items it covers."""

    name: str
    fraction: float
    labels: tuple[tuple[str, float], ...]
    features: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class SelectedFeature:
    """A feature worth keeping; ``stability`` is the fraction of resamples that selected it too."""

    name: str
    weight: float
    stability: float


@dataclass(frozen=True)
class ConvergenceTrace:
    """The objective of an iterative model over its iterations."""

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
    """How to get the same audit again: command, settings, data, and what scored the entries.

    ``data_sha256`` is that of ids, features and labels; ``seconds`` are by stage.
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


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of :func:`labelgap.audit`: what is missing, where, and how well that is known.

    The ``audit_id`` is derived from data and settings: the same audit has the same id, and decisions
    refer to it. ``suggestions``, ``unopened_items`` and ``wrong_positives`` are sorted by falling
    probability; ``claims`` sum up the probabilities of the suggestions. ``topics`` and
    ``selected_features`` are None unless asked for.

    See Also
    --------
    labelgap.audit : Makes one.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import Audit, audit
    >>> X, Y = make_multilabel_classification(n_samples=300, random_state=0)
    >>> result = audit(X, Y, n_suggestions=2)
    >>> result
    <Audit of 300 items x 5 labels: about 70 labels missing (0 to 240), 2 suggestions>
    >>> result.missing.basis
    'one table; a range over several ways in which labels get lost'
    >>> result.suggestions[0].label, result.to_frame().shape
    ('1', (2, 8))
    >>> [label.n_positive for label in result.labels]
    [95, 136, 110, 124, 106]
    >>> Audit.from_json(result.to_json()) == result
    True
    """

    audit_id: str
    summary: AuditSummary
    missing: MissingEstimate
    labels: tuple[LabelAudit, ...]
    items: ItemAudit
    pairs: PairAudit
    suggestions: tuple[Suggestion, ...]
    learning_curve: tuple[LearningPoint, ...]
    calibration: tuple[CalibrationBin, ...]
    provenance: Provenance
    topics: tuple[AuditTopic, ...] | None = None
    selected_features: tuple[SelectedFeature, ...] | None = None
    convergence: tuple[ConvergenceTrace, ...] = ()
    unopened_items: tuple[UnopenedItem, ...] = ()
    wrong_positives: tuple[WrongPositive, ...] = ()
    claims: tuple[ClaimBin, ...] = ()

    def __repr__(self) -> str:
        return line_of(self)

    def _repr_html_(self) -> str:
        return card_of(self)

    def to_frame(self, table: str = "suggestions") -> Any:
        """Return a table of the audit as a pandas data frame.

        Parameters
        ----------
        table : str, default="suggestions"
            Or "labels", "items", "rare_pairs", "duplicates", "learning_curve", "calibration",
            "topics", "selected_features", "unopened_items", "wrong_positives", "claims". The first
            two have the columns of :func:`labelgap.auditing.audit_tables`, the others those of
            their records.
        """
        pandas = require("pandas", extra="frames", purpose="Audit.to_frame")
        return pandas.DataFrame(columns_of(self, table))

    def to_dict(self) -> dict[str, Any]:
        """Return nested dicts and lists, for JSON; ``schema`` is the version of their layout."""
        return {"schema": SCHEMA, **to_plain(self)}

    def to_json(self, indent: int | None = None) -> str:
        """Return the audit as JSON; numbers are finite, and what is not known is null."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Audit:
        """Return the audit whose `to_dict` this is; a ValueError names the place of an error."""
        if not isinstance(plain, dict) or "schema" not in plain:
            raise ValueError("this is no audit: it has no 'schema'; labelgap audit writes one")
        if plain["schema"] != SCHEMA:
            raise ValueError(
                f"the audit has layout {plain['schema']!r}, this version reads {SCHEMA}: "
                "run labelgap audit again"
            )
        parts = {name: part for name, part in plain.items() if name != "schema"}
        try:
            made = from_plain(cls, parts, "audit")
        except ValueError as error:
            raise ValueError(f"{error}; run labelgap audit again") from error
        names = {label.name for label in made.labels}
        for place, suggestion in enumerate(made.suggestions):
            if suggestion.label not in names:
                raise ValueError(
                    f"audit.suggestions[{place}].label: {suggestion.label[:80]!r} is not among "
                    "audit.labels; run labelgap audit again"
                )
        shown = made.pairs.map
        for name, table in (("counts", shown.counts), ("lift", shown.lift)):
            if [len(row) for row in table] != [len(shown.labels)] * len(shown.labels):
                raise ValueError(
                    f"audit.pairs.map.{name} is not one number for each two of audit.pairs.map.labels; "
                    "run labelgap audit again"
                )
        return made

    @classmethod
    def from_json(cls, text: str | bytes) -> Audit:
        """Return the audit whose `to_json` this is; see `from_dict`."""
        try:
            plain = read_json(text)
        except ValueError as error:
            raise ValueError(f"this is no audit: {error}") from error
        return cls.from_dict(plain)
