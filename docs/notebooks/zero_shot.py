# %% [markdown]
# # Labels that no row carries yet
#
# A catalogue gets a new tag. No item has it, but it is known how often it occurs together with the tags in use, from another
# catalogue, say. That is enough to predict it.

# %%
import numpy as np

from labelgap import MLLCS, CooccurrenceVote
from labelgap.generators import make_unseen

made = make_unseen(900, 20, 30, fraction_unseen=0.2, random_state=0)
train, test = np.arange(600), np.arange(600, 900)
labels = made.labels[train]
labels

# %% [markdown]
# The counts: rows are the labels in use, columns all of them.

# %%
import matplotlib.pyplot as plt

counts = np.asarray(
    made.cooccurrence.todense() if hasattr(made.cooccurrence, "todense") else made.cooccurrence
)
plt.imshow(counts, aspect="auto", cmap="Blues", vmax=np.quantile(counts, 0.98))
plt.xlabel("all labels")
plt.ylabel("labels in use")
plt.colorbar(label="items with both");

# %% [markdown]
# ## Fit and predict
#
# `cooccurrence=` is all that is new. Predictions have a column for every label, those without an example included.

# %%
from labelgap.metrics import auc

unseen = np.flatnonzero(labels.unseen)
found = {}
for model in (MLLCS(n_factors=8, random_state=0), CooccurrenceVote()):
    model.fit(made.X[train], labels, cooccurrence=made.cooccurrence)
    scores = model.decision_function(made.X[test])
    found[type(model).__name__] = auc(made.full[test][:, unseen], scores[:, unseen], reduce=False)
for name, values in found.items():
    print(f"{name}: AUC of labels without examples {np.mean(values):.2f}")

# %%
fig, ax = plt.subplots(figsize=(6, 2.8))
for place, (name, values) in enumerate(found.items()):
    ax.bar(np.arange(unseen.size) + 0.4 * place, values, 0.38, label=name)
ax.set_xticks(np.arange(unseen.size) + 0.2, [f"label {k}" for k in unseen])
ax.axhline(0.5, color="grey", linewidth=1)
ax.set_ylabel("area under the ROC curve")
ax.legend();
