"""A latent-factor model of all labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from labelgap.imputers._imputer import Imputer
from labelgap.kernels.logistic import log_losses
from labelgap.labels import Labels, LabelWarning, State, observed_prevalence
from labelgap.models.mllcs import MLLCS

Settings = dict[str, float]

# from few to many; the search begins in the middle and goes on while it gains
_GRID: dict[str, tuple[float, ...]] = {
    "n_factors": (5, 10, 20, 40, 80, 160),
    "lambda_v": (0.25, 1.0, 4.0, 16.0, 64.0),
    "lambda_w": (0.4, 1.3, 4.0, 13.0, 40.0),
    "lambda_u": (0.3, 1.0, 3.0, 10.0, 30.0),
}
_START: Settings = {"n_factors": 40, "lambda_v": 4.0, "lambda_w": 4.0, "lambda_u": 3.0}
_FRACTION_HIDDEN = 0.1


class Hidden(NamedTuple):
    """Some known entries, and the labels without them."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    labels: Labels

    @classmethod
    def draw(cls, labels: Labels, rng: np.random.Generator) -> Hidden | None:
        states = labels.states()
        chosen = (states != State.UNKNOWN) & (rng.random(states.shape) < _FRACTION_HIDDEN)
        if not chosen.any():
            return None
        rows, columns = np.nonzero(chosen)
        relevant = states[rows, columns] == State.RELEVANT
        return cls(rows, columns, relevant, labels.hide(rows, columns))


class FactorImputer(Imputer):
    """Impute with latent factors that a row has from its features and its known labels.

    P(y_ij = 1) = sigmoid(u_i . v_j + b_j) with u_i ~ N(W' x_i, 1 / lambda_u), fitted by EM to the
    known entries: the labels' half of :class:`labelgap.MLLCS`. The probability of an unknown entry
    comes from the factors that suit the features and all known labels of the row; of a known one,
    from those without it and the other labels of its group, to which every n_groups-th label
    belongs (with up to ``n_groups`` labels: without it alone).

    Settings that are None are chosen: a tenth of the known entries is hidden, and the settings
    under which they are most likely given what is left win, by steps along one setting at a time.

    Parameters
    ----------
    n_factors : int, default=None
        At most as many as there are labels.
    lambda_u, lambda_v, lambda_w : float, default=None
        Precisions of the factors of rows around W'x, of those of labels, and of W, as in
        :class:`labelgap.MLLCS`.
    label_frequency : float or "estimate", default=None
        For unlabeled zeros, as in :class:`labelgap.MLLCS`. The imputer then still gives the
        probability that the label is recorded, the label frequency times that of relevance. None
        takes a zero as a zero.
    n_groups : int, default=10
        Groups of labels.
    max_validation_samples : int, default=3000
        Rows that settings are chosen on at most.
    device : str, default=None
        Device of torch ("cuda", "cpu").
    random_state : int, RandomState or None, default=0
        Draws the hidden entries and the start of the fits.

    Attributes
    ----------
    model_ : MLLCS
    settings_ : dict
        What was chosen or given.
    validation_losses_ : list of pairs of dict and float
        Every setting that was tried, and the log-loss of the hidden entries.

    See Also
    --------
    labelgap.MLLCS : The model behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.generators import make_low_rank
    >>> from labelgap.imputers import FactorImputer
    >>> data = make_low_rank(100, 5, 6, n_factors=2, fraction_hidden=0.3, random_state=0)
    >>> X = np.asarray(data.X)
    >>> imputer = FactorImputer(2, lambda_u=1.0, lambda_v=1.0, lambda_w=1.0).fit(X, data.labels)
    >>> len(list(imputer.columns(X, data.labels)))
    6
    """

    def __init__(
        self,
        n_factors: int | None = None,
        *,
        lambda_u: float | None = None,
        lambda_v: float | None = None,
        lambda_w: float | None = None,
        label_frequency: Any = None,
        n_groups: int = 10,
        max_validation_samples: int = 3000,
        device: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_factors = n_factors
        self.lambda_u = lambda_u
        self.lambda_v = lambda_v
        self.lambda_w = lambda_w
        self.label_frequency = label_frequency
        self.n_groups = n_groups
        self.max_validation_samples = max_validation_samples
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        if self.n_groups < 2:
            raise ValueError(f"n_groups={self.n_groups}: give 2 or more")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self._seed = int(rng.integers(2**31 - 1))
        self.seen_ = np.flatnonzero(~labels.unseen)
        self.prevalence_ = observed_prevalence(labels)
        self.wanted_ = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        labels = labels[:, self.seen_]
        self.validation_losses_: list[tuple[Settings, float]] = []
        self.settings_ = self._choose(X, labels, rng)
        self.model_ = self._fitted(X, labels, self.settings_)
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        place = np.full(labels.n_labels, -1)
        place[self.seen_] = np.arange(self.seen_.size)
        labels = labels[:, self.seen_]
        whole = self.model_.embed(X, labels)
        groups = [self._without(X, labels, group) for group in range(self._n_groups(labels))]
        for wanted in self.wanted_.tolist():
            label = int(place[wanted])
            if label < 0:
                yield np.full(labels.n_samples, self.prevalence_[wanted])
                continue
            column = record_probabilities(self.model_, whole, label)
            known, _ = labels.column(label)
            without = groups[label % len(groups)]
            column[known] = record_probabilities(self.model_, without[known], label)
            yield column

    # -- internals ----------------------------------------------------------------------------

    def _n_groups(self, labels: Labels) -> int:
        return min(self.n_groups, labels.n_labels)

    def _without(self, X: Any, labels: Labels, group: int) -> np.ndarray:
        """Factors of rows from their features and the labels outside of a group."""
        hidden = np.arange(group, labels.n_labels, self._n_groups(labels))
        return self.model_.embed(X, labels.with_unseen(hidden))

    def _fitted(self, X: Any, labels: Labels, settings: Mapping[str, float]) -> MLLCS:
        # without a zero that is in doubt, there is no look to be in doubt of
        model = MLLCS(
            int(settings["n_factors"]),
            lambda_u=settings["lambda_u"],
            lambda_v=settings["lambda_v"],
            lambda_w=settings["lambda_w"],
            count_weight=0.0,
            unseen="moments",
            label_frequency=self.label_frequency if labels.unlabeled else None,
            device=self.device,
            random_state=self._seed,
        )
        with warnings.catch_warnings():
            # of labels without any entry, which was said before
            warnings.simplefilter("ignore", LabelWarning)
            return model.fit(X, labels)

    def _choose(self, X: Any, labels: Labels, rng: np.random.Generator) -> Settings:
        given = {name: getattr(self, name) for name in _GRID}
        best: Settings = {name: _START[name] if v is None else v for name, v in given.items()}
        best["n_factors"] = min(best["n_factors"], labels.n_labels)
        free = [name for name, value in given.items() if value is None]
        rows = np.sort(rng.permutation(labels.n_samples)[: self.max_validation_samples])
        entries = Hidden.draw(labels[rows], rng) if free else None
        if entries is None:
            return best
        X = X[rows]
        least = self._log_loss(X, entries, best)
        for name in free:
            most = labels.n_labels if name == "n_factors" else np.inf
            ladder = np.unique(np.minimum(_GRID[name], most)).tolist()
            for step in (1, -1):
                while (value := _next(ladder, best[name], step)) is not None:
                    tried = {**best, name: value}
                    loss = self._log_loss(X, entries, tried)
                    if loss >= least:
                        break
                    best, least = tried, loss
        return best

    def _log_loss(self, X: Any, entries: Hidden, settings: Settings) -> float:
        """Of hidden entries, given the features and what is left of the labels of their rows."""
        for tried, loss in self.validation_losses_:
            if tried == settings:
                return loss
        model = self._fitted(X, entries.labels, settings)
        factors = model.embed(X, entries.labels)
        probabilities = record_probabilities(model, factors[entries.rows], entries.columns)
        loss = float(log_losses(probabilities, entries.values).mean())
        self.validation_losses_.append((settings, loss))
        return loss


def record_probabilities(model: MLLCS, factors: np.ndarray, labels: Any) -> np.ndarray:
    """That a label is recorded in rows with these factors: one label, or one for each row."""
    psi = (factors * model.label_factors_[labels]).sum(axis=1) + model.label_bias_[labels]
    frequency = model.params_.label_frequency
    return expit(psi) if frequency is None else expit(psi) * frequency[labels]


def _next(ladder: list[float], value: float, step: int) -> float | None:
    """The rung above or below."""
    if step > 0:
        return min((one for one in ladder if one > value), default=None)
    return max((one for one in ladder if one < value), default=None)
