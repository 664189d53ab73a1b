"""How often relevant labels are recorded, and what that says of the entries that are not.

The *label frequency* c is the probability that a relevant entry is recorded, and the *propensity* the
same where it depends on item and label. With g the probability that an entry is recorded,
P(relevant) = g / c, and :func:`unlabeled_posterior` is the probability of an entry that is not.

One table tells g alone. Each of these functions says which assumption turns it into relevance:

- one rate for all entries: :func:`top_scored_fraction`, :func:`estimate_label_frequency`,
  :func:`label_frequency_mode`;
- items that nobody opened: :func:`find_unopened`;
- one rate per label: :func:`estimate_label_rates`;
- obvious labels are recorded first: :func:`obvious_first_posterior`.
"""

from labelgap.propensity._ceilings import LabelCeilings, fit_ceilings
from labelgap.propensity._label_frequency import (
    FrequencyEstimate,
    TopScoredFraction,
    calibration_shift,
    estimate_label_frequency,
    fit_slope,
    label_frequency_mode,
    relevance_log_odds,
    top_scored_fraction,
    top_scored_fraction_of_bins,
    unlabeled_posterior,
    wilson_interval,
)
from labelgap.propensity._rates_of_labels import (
    LabelRates,
    bounded_relevance,
    estimate_label_rates,
    highest_label_frequency,
    obvious_first_posterior,
)
from labelgap.propensity._unopened_items import (
    UnopenedItems,
    as_far_as_told,
    carrying_probability,
    find_unopened,
    opened_label_frequency,
    unopened_probability,
)

__all__ = [
    "FrequencyEstimate",
    "LabelCeilings",
    "LabelRates",
    "TopScoredFraction",
    "UnopenedItems",
    "as_far_as_told",
    "bounded_relevance",
    "calibration_shift",
    "carrying_probability",
    "estimate_label_frequency",
    "estimate_label_rates",
    "find_unopened",
    "fit_ceilings",
    "fit_slope",
    "highest_label_frequency",
    "label_frequency_mode",
    "obvious_first_posterior",
    "opened_label_frequency",
    "relevance_log_odds",
    "top_scored_fraction",
    "top_scored_fraction_of_bins",
    "unlabeled_posterior",
    "unopened_probability",
    "wilson_interval",
]
