# %% [markdown]
# # An audit, step by step
#
# emotions: 593 songs and six moods that listeners heard. The table is complete. Four in ten labels are deleted here, without
# a trace, so that the truth is known: the audit sees zeros and nothing else.

# %%
import numpy as np

from labelgap import audit
from labelgap.data import load_dataset
from labelgap.protocols import hide_positives

songs = load_dataset("emotions")
hidden = hide_positives(songs.Y, 0.4, random_state=0)
hidden.labels

# %% [markdown]
# One call finds out what zeros mean, how many labels are missing and which ones.

# %%
found = audit(songs.X, hidden.labels.with_zeros("negative"), random_state=0)
found

# %% [markdown]
# ## Which labels are missing
#
# The list, most probable first. We know the truth, so we can count how many of the first suggestions are right.

# %%
table = found.to_frame()
truth = songs.Y.to_dense()
names = [str(name) for name in songs.Y.names]
right = np.array([truth[int(one.item), names.index(one.label)] for one in found.suggestions])
print(f"right among the first 50: {right[:50].mean():.0%}, the first 100: {right[:100].mean():.0%}")
print("really missing:", hidden.n_hidden)
table.head(8)

# %%
from labelgap import plots

plots.plot_suggestions(found, n_suggestions=12);

# %% [markdown]
# ## How well each label is predicted
#
# A label that features predict badly looks like one that is seldom recorded: doubt its suggestions first.

# %%
plots.plot_label_quality(found);

# %% [markdown]
# ## Can the probabilities be trusted?
#
# Predictions of songs that the model did not see, against the fraction that is recorded.

# %%
plots.plot_calibration(found);
