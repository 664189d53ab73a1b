"""Hide labels on purpose, and score how well they are recovered."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [hide]
from labelgap.generators import make_low_rank
from labelgap.protocols import hide_per_row

complete = make_low_rank(600, 30, 12, fraction_hidden=0.0, random_state=0)
hidden = hide_per_row(complete.full, 0.4, random_state=1)
print(hidden.labels)
print("hidden entries:", hidden.n_hidden, "of which relevant:", int(hidden.values.sum()))

# [score]
from labelgap.baselines import BinaryRelevance, KNeighborsLabels, LabelPrior
from labelgap.metrics import auc, label_ranking_average_precision

for model in (BinaryRelevance(), KNeighborsLabels(20), LabelPrior()):
    scores = model.fit(complete.X, hidden.labels).decision_function(complete.X)
    print(
        f"{type(model).__name__:<17} average precision "
        f"{label_ranking_average_precision(hidden.truth, scores):.3f}, "
        f"micro AUC {auc(hidden.truth, scores, average='micro'):.3f}"
    )

# [traceless]
from labelgap.protocols import hide_positives

weak = hide_positives(complete.full, 0.4, random_state=1)
print(weak.labels)
print("must be found among", weak.truth.n_observed(), "zeros:", weak.n_hidden)
scores = BinaryRelevance().fit(complete.X, weak.labels).decision_function(complete.X)
print(f"micro AUC {auc(weak.truth, scores, average='micro'):.3f}")

# [restore]
print(hidden.restore().equals(complete.full))
