"""From a frame with NaNs in its label columns to a tuned model."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [table]
import numpy as np
import pandas as pd

from labelgap.generators import make_low_rank

TAGS = ["billing", "bug", "feature", "outage", "security", "spam"]


def your_table() -> pd.DataFrame:
    """A stand-in for your own table; 40% of the tag cells are empty."""
    drawn = make_low_rank(1500, 12, len(TAGS), density=0.25, random_state=3)
    frame = pd.DataFrame(drawn.X, columns=[f"signal_{j}" for j in range(12)])
    frame["channel"] = np.where(frame.pop("signal_11") > 0, "mail", "chat")
    return frame.join(pd.DataFrame(drawn.labels.to_dense(), columns=TAGS))


frame = your_table()
print(frame[["signal_0", "channel", *TAGS]].head(4).round(2).to_string())

# [labels]
from labelgap import Labels

Y = Labels.from_frame(frame[TAGS])
X = frame.drop(columns=TAGS)
print(Y)
print("known per label:", dict(zip(Y.names, Y.n_observed(axis=0).tolist(), strict=True)))

# [split]
from labelgap.model_selection import train_test_split

X_train, X_test, Y_train, Y_test = train_test_split(X, Y, stratify=Y, random_state=0)
print(X_train.shape, Y_train)

# [search]
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from labelgap.baselines import BinaryRelevance, KNeighborsLabels
from labelgap.model_selection import GridSearchCV

columns = make_column_transformer(
    (OneHotEncoder(drop="if_binary"), ["channel"]), remainder=StandardScaler()
)
pipeline = Pipeline([("columns", columns), ("model", BinaryRelevance(LogisticRegression()))])
grid = [
    {"model__estimator__C": [0.01, 0.1, 1.0, 10.0]},
    {"model": [KNeighborsLabels()], "model__n_neighbors": [10, 30, 60]},
]
search = GridSearchCV(pipeline, grid, scoring="label_ranking_average_precision", cv=5)
search.fit(X_train, Y_train)
print(type(search.best_params_.get("model", pipeline["model"])).__name__)
print(f"cross-validated average precision: {search.best_score_:.3f}")

# [evaluate]
from labelgap.baselines import LabelPrior
from labelgap.metrics import evaluate

probability = search.predict_proba(X_test)
prior = Pipeline([("columns", columns), ("model", LabelPrior())]).fit(X_train, Y_train)
wanted = [
    "label_ranking_average_precision",
    "ranking_loss",
    "auc_macro",
    "brier",
    "calibration_error",
]
table = pd.DataFrame(
    {
        "tuned": evaluate(Y_test, metrics=wanted, y_proba=probability),
        "label prior": evaluate(Y_test, metrics=wanted, y_proba=prior.predict_proba(X_test)),
    }
)
print(table.round(3).to_string())

# [thresholds]
from labelgap.metrics import f1
from labelgap.model_selection import cross_val_predict

held_out = cross_val_predict(search.best_estimator_, X_train, Y_train, method="predict_proba")

candidates = np.linspace(0.05, 0.95, 19)
scores = [f1(Y_train, held_out > t, average="label", reduce=False) for t in candidates]
thresholds = candidates[np.nanargmax(scores, axis=0)]
print("thresholds:", dict(zip(TAGS, thresholds.round(2).tolist(), strict=True)))
print(f"macro F1 at 0.5: {f1(Y_test, probability > 0.5):.3f}")
print(f"macro F1 at the chosen thresholds: {f1(Y_test, probability > thresholds):.3f}")

# [use]
suggested = frame[TAGS].mask(frame[TAGS].isna(), search.predict_proba(X))
print(suggested.head(4).round(2).to_string())
