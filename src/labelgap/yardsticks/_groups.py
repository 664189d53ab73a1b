"""Labels that were observed in the same rows share the work that depends on the rows only."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from labelgap.labels import Labels


def same_rows(labels: Labels, members: np.ndarray) -> Iterator[tuple[np.ndarray | None, list[int]]]:
    """Groups of labels that are known in exactly the same rows.

    Parameters
    ----------
    labels : Labels
    members : int array
        The labels to group.

    Yields
    ------
    rows : int array, or None for all rows
        Where the labels of the group are known; ambiguous zeros are known.
    group : list of int
        Those labels, ascending. The groups come in the order of their first label.
    """
    n_known = labels.n_observed(axis=0, ambiguous=True)
    groups: dict[bytes, list[int]] = {}
    for label in members.tolist():
        complete = n_known[label] == labels.n_rows
        key = b"" if complete else _digest(labels.column(label)[0])
        groups.setdefault(key, []).append(label)
    for key, group in groups.items():
        yield (labels.column(group[0])[0] if key else None), group


def _digest(rows: np.ndarray) -> bytes:
    return blake2b(np.ascontiguousarray(rows, dtype=np.int64).tobytes(), digest_size=16).digest()
