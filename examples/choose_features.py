"""Which features matter, when part of the labels are missing and nobody knows which."""

import numpy as np

from labelgap import GMFS
from labelgap.generators import make_positive_only

# generated, so that the useful features and the missing labels are known
made = make_positive_only(500, 40, 12, n_relevant=8, label_frequency=0.6, random_state=0)
useful = np.flatnonzero(made.relevant_features)
print(made.labels)
print("useful features:", *useful)

model = GMFS(n_features_to_select=8, random_state=0).fit(made.X, made.labels)
chosen = model.get_support(indices=True)
print("chosen:         ", *chosen)
print(f"{len(set(chosen) & set(useful))} of 8 are right")

smaller = model.transform(made.X)
print("features kept:", smaller.shape)
