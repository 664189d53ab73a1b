# %% [markdown]
# # Mend, from NaN to decisions
#
# yeast: 2,417 genes and 14 functions. Half of the cells are emptied at random; the rows that are tested keep all of theirs, so
# that the figures are those of complete labels.

# %%
import numpy as np
import pandas as pd

from labelgap import Mend
from labelgap.data import load_dataset
from labelgap.metrics import evaluate

genes = load_dataset("yeast")
X, full = genes.X, genes.Y.to_dense()
train, test = genes.train, genes.test
Y = np.where(np.random.default_rng(0).random(full.shape) < 0.5, np.nan, full)
pd.DataFrame(Y[train]).head(4)

# %% [markdown]
# ## What zeros and NaN cost
#
# The same linear models, with NaN read as zero, with NaN left out, and with several kinds of models combined.

# %%
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelgap import BinaryRelevance

models = {
    "NaN read as 0": BinaryRelevance(unknown="negative"),
    "NaN left out": BinaryRelevance(),
    "Mend()": Mend(random_state=0),
}
wanted = ["label_ranking_average_precision", "average_precision", "f1_macro", "log_loss"]
rows, pipelines = {}, {}
for name, model in models.items():
    pipelines[name] = make_pipeline(StandardScaler(), model).fit(X[train], Y[train])
    proba, decided = pipelines[name].predict_proba(X[test]), pipelines[name].predict(X[test])
    rows[name] = evaluate(full[test], metrics=wanted, y_proba=proba, y_pred=decided)
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# ## What it is made of
#
# Each kind of model is judged by labels of rows that it did not learn from.

# %%
board = pd.DataFrame(models["Mend()"].leaderboard_).set_index("name")
board[["log_loss", "weight"]].round(3)

# %%
import matplotlib.pyplot as plt

used = board[board["weight"] > 0].sort_values("weight")
fig, ax = plt.subplots(figsize=(6, 2.5))
ax.barh(used.index, used["weight"])
ax.set_xlabel("weight in the mean");

# %% [markdown]
# ## Cross-validation with NaN
#
# `labelgap.model_selection` has scikit-learn's tools for `y` with NaN; metrics count what is known.

# %%
from labelgap.model_selection import cross_validate

pipeline = make_pipeline(StandardScaler(), Mend(preset="fast"))
scores = cross_validate(pipeline, X[train], Y[train], cv=3, scoring=["f1_macro", "roc_auc"])
{name: scores[name].round(3).tolist() for name in ("test_f1_macro", "test_roc_auc")}

# %%
from labelgap import plots

plots.plot_calibration(full[test], pipelines["Mend()"].predict_proba(X[test]));
