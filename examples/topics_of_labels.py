"""Labels that come together: topics, learned from the ones of a label table."""

import matplotlib.pyplot as plt
import numpy as np

from labelgap import BMLPL, Labels
from labelgap.plots import plot_topics

themes = {
    "cooking": ["recipe", "bread", "soup", "kitchen", "spices"],
    "travel": ["train", "hotel", "map", "border", "spices"],
    "code": ["python", "linux", "compiler", "database", "map"],
    "music": ["guitar", "concert", "score", "radio", "choir"],
}
tags = sorted(set().union(*themes.values()))
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 8))  # generated: the first four features carry the themes
strength = rng.gamma(0.5, 2 * np.exp(1.5 * X[:, :4] - 1.5))
counts = np.zeros((1000, len(tags)))
for theme, members in enumerate(themes.values()):
    columns = [tags.index(tag) for tag in members]
    counts[:, columns] += rng.poisson(strength[:, [theme]] * [0.4, 0.25, 0.15, 0.1, 0.1])
labels = Labels.from_dense((counts > 0).astype(float), names=tags)
print(labels)

model = BMLPL(n_factors=4, random_state=0).fit(X, labels)
for topic in model.topics_:
    print(f"{topic.fraction:.0%}", *topic.labels[:5])

plot_topics(model)
plt.show()
