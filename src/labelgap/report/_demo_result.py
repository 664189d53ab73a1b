"""What ``labelgap demo`` measured, as plain values that a page or a table can show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

CELL_STATES = {
    "yes": "known: yes",
    "no": "known: no",
    "found": "hidden, recovered: yes",
    "cleared": "hidden, recovered: no",
    "missed": "hidden, wrong: is yes, was predicted no",
    "alarm": "hidden, wrong: is no, was predicted yes",
}


@dataclass(frozen=True)
class DemoMethod:
    """One way to learn, and how well it did.

    Attributes
    ----------
    key, name, description : str
    role : {"model", "naive", "ceiling"}
        What is demonstrated, what one would do without it, and what complete labels would give.
    unseen : dict from metric to value
        On rows that were not used for learning, with all their labels.
    recovered : dict from metric to value, optional
        On the hidden entries of the training rows; None where the truth was given.
    intervals : dict from metric to (low, high)
        95% intervals of ``unseen``, over resampled rows.
    lead : dict from metric to (low, high)
        95% intervals of how far the model is ahead of this one on unseen rows, over the same
        resampled rows.
    seconds : float
    """

    key: str
    name: str
    description: str
    role: Literal["model", "naive", "ceiling"]
    unseen: dict[str, float]
    recovered: dict[str, float] | None
    seconds: float
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    lead: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class MatrixSample:
    """A few rows of the label matrix: ``states[i][j]`` is one of `CELL_STATES`."""

    rows: list[int]
    labels: list[str]
    states: list[list[str]]


@dataclass(frozen=True)
class DemoResult:
    """Everything the demo has to say.

    Attributes
    ----------
    dataset : str
    generated : str, optional
        Why the data were generated; None for a real set.
    n_train, n_test, n_features, n_labels : int
    share, seed
        What was asked for.
    n_hidden, n_hidden_yes, n_right, n_found : int
        Hidden entries, those of them that are a yes, those recovered correctly, and the yeses
        among these.
    methods : list of DemoMethod
        The model first.
    sample : MatrixSample
    command : str
        What reproduces the result.
    seconds : float
    version : str
    """

    dataset: str
    generated: str | None
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    share: float
    seed: int
    n_hidden: int
    n_hidden_yes: int
    n_right: int
    n_found: int
    methods: list[DemoMethod]
    sample: MatrixSample
    command: str
    seconds: float
    version: str

    @property
    def model(self) -> DemoMethod:
        return next(one for one in self.methods if one.role == "model")

    @property
    def ceiling(self) -> DemoMethod:
        return next(one for one in self.methods if one.role == "ceiling")

    @property
    def naive(self) -> list[DemoMethod]:
        return [one for one in self.methods if one.role == "naive"]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)
