"""Unknown entries: photographs of which somebody looked at some labels only."""

# data: scene
# slow
# ruff: noqa: E402  (each part of the page imports what it uses)

# [table]
import pandas as pd
from sklearn.preprocessing import StandardScaler

from labelgap.data import load_dataset
from labelgap.protocols import hide_entries

data = load_dataset("scene")
X = StandardScaler().fit(data.X[data.train]).transform(data.X)
X_test, Y_test = X[data.test], data.Y[data.test]

answers = hide_entries(data.Y[data.train], 0.6, random_state=0).labels  # 60% were never asked
frame = pd.DataFrame(answers.to_dense(), columns=data.label_names).dropna(how="all")
X_train, truth = X[frame.index], data.Y[frame.index]
some = [0, 130, 350, 600, 840, 1100]
print(frame.loc[some].to_string())

# [labels]
from labelgap import Labels

Y = Labels.from_frame(frame)
print(Y)
print("answers per photograph:", Y.n_observed(axis=1).mean().round(1), "of 6")
print("photographs without a gap:", (Y.n_observed(axis=1) == 6).sum(), "of", Y.n_samples)

# [usual]
from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance
from labelgap.metrics import evaluate

WANTED = ["label_ranking_average_precision", "f1_macro", "hamming_loss"]
classifier = BinaryRelevance(LogisticRegression(C=0.1, max_iter=1000))
complete = frame.notna().all(axis=1).to_numpy()


def learned(X, Y):
    return classifier.fit(X, Y).predict_proba(X_test)


def table(rows):
    scores = {
        name: evaluate(Y_test, metrics=WANTED, y_proba=p, y_pred=p > 0.5)
        for name, p in rows.items()
    }
    return pd.DataFrame(scores).T.round(3).to_string()


rows = {
    "gaps filled with 0": learned(X_train, frame.fillna(0)),
    "rows with gaps dropped": learned(X_train[complete], frame[complete]),
    "gaps left open": learned(X_train, frame),
}
print(table(rows))

# [better]
from labelgap import RMFL, KernelRidgePerLabel, LabelPrior, Mend

models = {
    "kernel ridge per label": KernelRidgePerLabel(),
    "RMFL": RMFL(random_state=0),
    "Mend": Mend(),
    "Mend, logistic regression": Mend(LogisticRegression(C=0.1, max_iter=1000)),
    "label frequency": LabelPrior(),
}
rows = {name: model.fit(X_train, Y).predict_proba(X_test) for name, model in models.items()}
ceiling = KernelRidgePerLabel().fit(X_train, truth)
rows["kernel ridge, no gaps at all"] = ceiling.predict_proba(X_test)
print(table(rows))

# [check]
from labelgap.model_selection import cross_val_score

for metric in ("auc_macro", "brier"):
    found = cross_val_score(KernelRidgePerLabel(), X_train, Y, scoring=metric)
    later = evaluate(Y_test, metrics=[metric], y_proba=rows["kernel ridge per label"])[metric]
    print(f"{metric}: {abs(found.mean()):.3f} on what is known, {later:.3f} on the test rows")

# [fill]
model = models["kernel ridge per label"]
filled = frame.mask(frame.isna(), model.predict_proba(X_train))
print(filled.loc[some].round(2).to_string())

gaps, guesses = frame.isna().to_numpy(), filled.to_numpy()
sure = gaps & ((guesses < 0.1) | (guesses > 0.9))
right = ((guesses > 0.5) == truth.to_dense())[sure].mean()
print(f"{sure.sum() / gaps.sum():.0%} of the gaps are filled with 90% or more:", end=" ")
print(f"{right:.0%} of these rightly")
