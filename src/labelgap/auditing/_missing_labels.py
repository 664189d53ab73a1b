"""How many labels are missing: one number for each account of how labels get lost, and their range."""

from __future__ import annotations

import numpy as np

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._audit_result import MissingEstimate, MissingScenario
from labelgap.auditing._entry_probabilities import EntryProbabilities
from labelgap.auditing._loss_model import LossModel
from labelgap.labels import Labels

_AGREE = 1.25
FEW = 0.05
# ends of the range of rates: as if all labels erred together
_LOWEST, _HIGHEST = 0.1, 0.9
_OF_ZEROS = "one table; a range over several ways in which labels get lost"
_OF_UNKNOWN = "one table; entries are unknown independently of whether they are relevant"
_Z = 1.96


def missing_labels(
    checked: AuditInput, loss: LossModel, entries: EntryProbabilities
) -> MissingEstimate:
    """Return the number of missing labels with its range."""
    labels, complete = checked.part, checked.history.complete
    if complete is not None:
        labels = labels[np.flatnonzero(~complete)]
    value = float(entries.sums.value)
    if not labels.unlabeled:
        half = _Z * float(np.sqrt(entries.item_variance.sum()))
        low, high = max(0.0, value - half), value + half
        return MissingEstimate(value, low, high, _OF_UNKNOWN, True)
    scenarios = _scenarios(labels, loss, entries)
    ends = [value]
    for scenario in scenarios:
        ends += [scenario.low, scenario.high]
    low, high = max(0.0, min(ends)), max(ends)
    return MissingEstimate(
        value, low, high, _OF_ZEROS, bool(high <= _AGREE * max(low, 1.0)), scenarios
    )


def shows_missing(checked: AuditInput, loss: LossModel, entries: EntryProbabilities) -> bool:
    """Return whether labels are missing however they got lost: more than few at the lower end."""
    return missing_labels(checked, loss, entries).low >= FEW * checked.part.n_positives()


def _scenarios(
    labels: Labels, loss: LossModel, entries: EntryProbabilities
) -> tuple[MissingScenario, ...]:
    ones = labels.n_positives(axis=0)
    total = float(ones.sum())
    most = labels.n_samples * labels.n_labels - total
    overall = loss.overall
    largest = max(overall.high, loss.highest)
    rate, low, high = (
        min(total * (1 - c) / max(c, 0.02), most) for c in (overall.middle, largest, overall.low)
    )
    own, lowest, highest = (
        float((ones / np.clip(c, 0.02, 1) / loss.opened).sum() - total)
        for c in (
            1 / (1 + loss.rates.missing_per_positive()),
            loss.rates.quantile(_HIGHEST),
            loss.rates.quantile(_LOWEST),
        )
    )
    own, lowest, highest = (max(0.0, min(end, most)) for end in (own, lowest, highest))
    unopened, obvious = map(float, entries.sums[1:])
    carried = labels.n_positives(axis=1)
    many = float(loss.by_counts.sum() * carried[carried > 0].mean())
    return (
        MissingScenario("one rate for all labels", rate, min(low, rate), max(high, rate)),
        MissingScenario("items that nobody opened", unopened, unopened, max(unopened, many)),
        MissingScenario("a rate for each label", own, min(own, lowest), max(own, highest)),
        MissingScenario("obvious labels recorded first", obvious, obvious, obvious),
    )
