"""Labels that should be one: two words that people use for the same thing."""

import numpy as np

from labelgap import Labels, audit

# generated: some say colour and some say color, and whoever says rgb says colour as well
rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 6))
painting, music, travel = (X[:, k] > 0.7 for k in range(3))
british = rng.random(1500) < 0.5
rgb = painting & british & (X[:, 3] > 0)
tags = {
    "colour": painting & british,
    "color": painting & ~british,
    "rgb": rgb,
    "concert": music,
    "hotel": travel & (rng.random(1500) < 0.8),
}
labels = Labels.from_dense(np.column_stack(list(tags.values())).astype(float), names=list(tags))

found = audit(X, labels, zeros="negative")
for pair in found.pairs.rare:
    print(f"{pair.first} and {pair.second}: on {pair.observed:.0f} items together,", end=" ")
    print(f"{pair.expected:.0f} expected: two words for one thing?")
for pair in found.pairs.duplicates:
    print(f"{pair.first} and {pair.second}: one contains the other?")
