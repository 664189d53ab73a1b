"""Rows that arrive in blocks: the model learns from each once and forgets the rows."""

import matplotlib.pyplot as plt
import numpy as np

from labelgap import BMLPL
from labelgap.fitting import EM
from labelgap.generators import make_topics
from labelgap.metrics import auc

# generated: 30 labels in 6 topics
made = make_topics(12_500, 20, 30, n_topics=6, eta=0.5, signal=3.0, random_state=0)
train, test = np.arange(12_000), np.arange(12_000, 12_500)
stream = BMLPL(n_factors=6, random_state=0)
seen, scores = [], []
for number, rows in enumerate(np.split(train, 120)):
    stream.partial_fit(made.X[rows], made.labels[rows])
    if number % 10 == 0:
        seen.append(rows[-1] + 1)
        scores.append(auc(made.full[test], stream.predict_proba(made.X[test]), average="micro"))

fifty = EM(max_iter=50, tol=0)
whole = BMLPL(n_factors=6, inference=fifty, random_state=0).fit(made.X[train], made.labels[train])
ceiling = auc(made.full[test], whole.predict_proba(made.X[test]), average="micro")
print(*(f"{n} rows: {score:.2f}" for n, score in zip(seen[::3], scores[::3], strict=True)))
print(f"all rows at once, fifty passes: {ceiling:.2f}")

figure, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(seen, scores, "o-", label="one pass, 100 rows at a time")
ax.axhline(ceiling, linestyle="--", color="0.5", label="all rows at once")
ax.set(xlabel="rows seen", ylabel="micro AUC on other rows")
ax.legend(frameon=False)
plt.show()
