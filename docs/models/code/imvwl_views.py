"""Use of iMVWL: views with missing rows, labels with gaps."""

# [data]
import numpy as np
import pandas as pd

from labelgap import IMVWL, metrics
from labelgap.generators import make_views
from labelgap.views import from_blocks, to_blocks

data = make_views(400, {"colour": 12, "shape": 20, "words": 15}, 8, n_factors=4, random_state=0)
blocks = {name: pd.DataFrame(block) for name, block in to_blocks(data.X, data.views).items()}
X, views = from_blocks(blocks)
print("rows without colour:", int(np.isnan(X[:, views["colour"]]).all(axis=1).sum()), "of 400")
print("labels unknown:", f"{np.isnan(data.labels.to_dense()).mean():.0%}")

# [fit]
model = IMVWL(views, 4, predictor="combined", C=1.0, random_state=0).fit(X, data.labels)
hidden = metrics.auc(data.hidden.truth, model.predict_proba(X), average="micro")
print(f"AUC of the hidden labels: {hidden:.3f}")

# [impute]
filled = model.impute_views(X)
rows = data.hidden_views.removed[:, 0]
truth = data.hidden_views.blocks["colour"]
error = np.square(filled[rows][:, views["colour"]] - truth).mean()
mean = np.square(np.nanmean(X[:, views["colour"]], axis=0) - truth).mean()
print(f"squared error of imputed colours: {error:.3f}; of their mean: {mean:.3f}")

# [new]
one = X[:1].copy()
one[:, views["words"]] = np.nan
vector = model.transform(one)
print("vector of a row without words:", vector.round(2)[0])

# [contribution]
for name, part in model.view_contribution_.items():
    print(f"{name}: explained {part.explained:.2f}, weight {part.weight:.2f}")
print("strongest pair:", np.abs(np.triu(model.label_correlation_, 1)).max().round(2))
