"""Real tables as a newcomer has them: emotions, with names, ids, and labels that are missing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.runner import run
from labelgap.data import load_dataset

__all__ = ["run"]

TAGS = ["amazed", "happy", "relaxed", "quiet", "sad", "angry"]


@pytest.fixture(scope="session")
def songs(data_dir) -> pd.DataFrame:
    """The 593 songs of emotions, complete."""
    data = load_dataset("emotions")
    frame = pd.DataFrame(data.X, columns=[f"f{j}" for j in range(data.X.shape[1])])
    frame.insert(0, "song", [f"song {i}" for i in range(len(frame))])
    return frame.join(pd.DataFrame(data.Y.to_dense().astype(int), columns=TAGS))


@pytest.fixture
def table(songs, tmp_path, monkeypatch) -> Path:
    """The songs as a file."""
    monkeypatch.chdir(tmp_path)
    songs.to_csv("songs.csv", index=False)
    return Path("songs.csv")


@pytest.fixture
def parts(songs) -> tuple[np.ndarray, pd.DataFrame]:
    """Features, and labels of which 30% are unknown."""
    labels = songs.set_index("song")[TAGS].astype(float)
    gone = np.random.default_rng(0).random(labels.shape) < 0.3
    features = songs.set_index("song").drop(columns=TAGS)
    return features, labels.mask(gone)


@pytest.fixture
def emojis(data_dir) -> pd.DataFrame:
    """Real emojis: what they are called, and the more frequent of their tags, as people left them."""
    table = pd.read_csv(data_dir / "realgaps/emoji.csv.gz")[:500]
    lists = [str(tags).split(";") if tags == tags else [] for tags in table["tags_then"]]
    often = Counter(tag for tags in lists for tag in tags)
    kept = [";".join(tag for tag in tags if often[tag] >= 20) for tags in lists]
    return pd.DataFrame({"id": table["id"], "text": table["text"], "tags": kept})
