"""Twenty topics over the tags of delicious, with their coherence on test rows."""

from __future__ import annotations

import warnings

import numpy as np

from bmlpl_data import load_split
from labelgap import BMLPL
from labelgap.fitting import EM
from result_rows import ResultRows

SETTINGS = {"n_factors": 20, "r": 0.3, "init": "random"}


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("bmlpl_topics", ("topic",))
    if rows.rows:
        return
    split = load_split("delicious")
    tags = [str(name).removeprefix("TAG_") for name in split.names]
    model = BMLPL(**SETTINGS, inference=EM(100, 0.0, n_init=3), random_state=0)
    model.fit(split.X, split.Y.with_names(tags))
    coherence = model.topic_coherence(split.Y_test)
    for topic in model.topics_:
        row = {"experiment": "topics", "dataset": "delicious", "topic": topic.number}
        row |= {"share": topic.share, "labels": topic.labels[:8]}
        row |= {"weights": np.round(topic.weights[:8], 4).tolist()}
        rows.add({**row, "coherence": float(coherence[topic.number])})


if __name__ == "__main__":
    main()
