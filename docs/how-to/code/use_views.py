"""Several views of the same rows, some of them missing."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [make]
import numpy as np

from labelgap.views import ViewSelector, from_blocks, present, to_blocks

rng = np.random.default_rng(0)
colour, text = rng.random((200, 8)), rng.random((200, 5))
has_text = rng.random(200) < 0.6

X, views = from_blocks({"colour": colour, "text": text}, present={"text": has_text})
print(X.shape, views)
print("rows per view:", dict(zip(views, present(X, views).sum(axis=0).tolist(), strict=True)))

# [search]
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from labelgap.baselines import BinaryRelevance
from labelgap.model_selection import GridSearchCV

Y = np.column_stack([colour[:, 0] > 0.6, colour[:, 1] > 0.5, text[:, 0] > 0.7]).astype(float)
Y[rng.random(Y.shape) < 0.3] = np.nan

pipeline = Pipeline(
    [
        ("views", ViewSelector(views)),
        ("fill", SimpleImputer()),
        ("model", BinaryRelevance()),
    ]
)
grid = {"views__keep": [["colour"], ["text"], ["colour", "text"]]}
search = GridSearchCV(pipeline, grid, scoring="auc_macro", cv=3)
search.fit(X, Y)
print("best views:", search.best_params_["views__keep"])

# [back]
blocks = to_blocks(X, views)
print({name: block.shape for name, block in blocks.items()})
print("same colours:", np.array_equal(blocks["colour"], colour))
