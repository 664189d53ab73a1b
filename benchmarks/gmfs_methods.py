"""Rankings of features by every method of the GMFS benchmarks, with the settings they try.

Every ranking is made from standardised features and labels in which a hidden positive is a zero.
Filters look at one label at a time and are averaged over labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_selection import mutual_info_classif
from sklearn.preprocessing import MinMaxScaler

from gmfs_data import Run
from labelgap import GMFS
from labelgap.baselines import CMFS, FSNM, MIFS, MLMLFS, SFUS
from labelgap.bench.methods._selectors import forest_importances

# Where tuned methods are fitted: a device of torch, or the processor.
DEVICE: str | None = None

_MOST_FACTORS = 100

Ranker = Callable[..., np.ndarray]
Settings = dict[str, Any]


def score_chi2(run: Run, seed: int) -> np.ndarray:
    """Chi-squared of features scaled to [0, 1], as scikit-learn's chi2, for all labels at once."""
    X = MinMaxScaler().fit_transform(run.standardised[run.train])
    Y = _mixed(run)
    share, total = Y.mean(axis=0)[:, None], X.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.square(Y.T @ X - share * total) / total
        return np.nan_to_num(off / share + off / (1 - share)).mean(axis=0)


def score_anova(run: Run, seed: int) -> np.ndarray:
    """F of an analysis of variance, as scikit-learn's f_classif, for all labels at once."""
    X = run.standardised[run.train]
    X = X - X.mean(axis=0)
    Y = _mixed(run)
    n, ones = len(Y), Y.sum(axis=0)[:, None]
    between = np.square(Y.T @ X) * (1 / ones + 1 / (n - ones))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / (np.square(X).sum(axis=0) - between) * (n - 2)
        return np.nan_to_num(ratio).mean(axis=0)


def score_mutual_information(run: Run, seed: int) -> np.ndarray:
    """By nearest neighbours; by presence where features are mostly absent."""
    X = run.raw[run.train]
    if np.mean(X == 0) > 0.5:
        present = X != 0
        return _mean_over_labels(run, lambda y: _information(present, y))
    return _mean_over_labels(run, lambda y: mutual_info_classif(X, y, random_state=seed))


def _information(present: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mutual information of two binary variables, from their table of counts."""
    n, ones = len(y), y.sum()
    both = present[y == 1].sum(axis=0)
    seen = present.sum(axis=0)
    total = np.zeros(present.shape[1])
    for count, first, second in (
        (both, seen, ones),
        (seen - both, seen, n - ones),
        (ones - both, n - seen, ones),
        (n - seen - ones + both, n - seen, n - ones),
    ):
        share, independent = count / n, first * second / n**2
        held = share > 0
        total[held] += share[held] * np.log(
            share[held] / np.broadcast_to(independent, held.shape)[held]
        )
    return total


def score_forest(run: Run, seed: int) -> np.ndarray:
    """Impurity importances of a forest whose splits serve the mean over all labels."""
    return forest_importances(run.standardised[run.train], run.Y.to_dense(), 200, seed)


def score_random(run: Run, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 1]).random(run.raw.shape[1])


def score_fsnm(run: Run, seed: int, alpha: float) -> np.ndarray:
    return FSNM(alpha, tol=1e-4, device=DEVICE).fit(run.standardised[run.train], run.Y).scores_


def score_sfus(run: Run, seed: int, alpha: float, beta: float) -> np.ndarray:
    """With a constant feature, for want of an intercept."""
    X = run.standardised[run.train]
    X = np.column_stack([X, np.ones(len(X))])
    return SFUS(alpha, beta, tol=1e-4, device=DEVICE).fit(X, run.Y).scores_[:-1]


def score_mlmlfs(run: Run, seed: int, weight: float, alpha: float) -> np.ndarray:
    model = MLMLFS(alpha, weight, tol=1e-4, device=DEVICE)
    return model.fit(run.standardised[run.train], run.Y).scores_


def score_mifs(run: Run, seed: int, gamma: float, beta: float) -> np.ndarray:
    """With a constant feature, for want of an intercept."""
    X = run.standardised[run.train]
    X = np.column_stack([X, np.ones(len(X))])
    return MIFS(1.0, beta, gamma, tol=1e-4, device=DEVICE).fit(X, run.Y).scores_[:-1]


def score_cmfs(run: Run, seed: int, alpha: float, gamma: float) -> np.ndarray:
    model = CMFS(alpha=alpha, gamma=gamma, tol=1e-4, device=DEVICE)
    return model.fit(run.standardised[run.train], run.Y).scores_


def gmfs(prior: str, n_neighbors: int) -> Ranker:
    """Scores of GMFS; ``factors`` is a share of the number of labels, at most of 100."""

    def score_gmfs(
        run: Run, seed: int, factors: float = 1.0, k: int = n_neighbors, **settings: Any
    ) -> np.ndarray:
        n_factors = max(2, round(factors * min(run.Y.n_labels, _MOST_FACTORS)))
        settings = {"n_factors": n_factors, **settings}
        looks = {"observability": "neighbors", "n_neighbors": k} if k else {}
        model = GMFS(prior=prior, **looks, **settings, device=DEVICE, random_state=seed)
        return model.fit(run.standardised[run.train], run.Y).scores_

    return score_gmfs


def _mean_over_labels(run: Run, score: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Mean over labels with both values; a constant feature scores nothing."""
    return np.mean([np.nan_to_num(score(y)) for y in _mixed(run).T.astype(int)], axis=0)


def _mixed(run: Run) -> np.ndarray:
    """Labels that are relevant somewhere, but not everywhere."""
    Y = run.Y.to_dense()
    return Y[:, Y.any(axis=0) & ~Y.all(axis=0)]


FILTERS: dict[str, Ranker] = {
    "chi-squared": score_chi2,
    "ANOVA F": score_anova,
    "mutual information": score_mutual_information,
    "forest": score_forest,
    "random": score_random,
}
_PAIR = (1.0, 10.0, 30.0, 100.0)
_ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_SPIKES = (0.1, 0.3, 1.0, 3.0)
_RATES = (0.1, 0.3, 1.0, 3.0)
_FACTORS = (0.25, 1.0)
_SPIKE_SLAB = [{"sigma_0": s, "factors": c} for s in _SPIKES for c in _FACTORS]
_LAPLACE = [{"laplace_rate": rate, "factors": c} for rate in _RATES for c in _FACTORS]
# Methods with settings: how they score, and the eight candidates that each of them tries.
TUNED: dict[str, tuple[Ranker, list[Settings]]] = {
    "FSNM": (score_fsnm, [{"alpha": alpha} for alpha in _ALPHAS]),
    "SFUS": (score_sfus, [{"alpha": a, "beta": b} for a in _PAIR for b in (1.0, 100.0)]),
    "MIFS": (score_mifs, [{"gamma": g, "beta": b} for g in _PAIR for b in (0.01, 1.0)]),
    "CMFS": (score_cmfs, [{"alpha": a, "gamma": g} for a in _PAIR for g in (1.0, 10.0)]),
    "MLMLFS": (score_mlmlfs, [{"weight": w, "alpha": a} for w in _PAIR for a in (1e-3, 0.1)]),
    "GMFS": (gmfs("spike-slab", 20), _SPIKE_SLAB),
    "GMFS, k = 0": (gmfs("spike-slab", 0), _SPIKE_SLAB),
    "GMFS, Laplace": (gmfs("laplace", 20), _LAPLACE),
}


def ranking(method: str, run: Run, seed: int, settings: Settings) -> np.ndarray:
    """Features, the best first."""
    if method in FILTERS:
        scores = FILTERS[method](run, seed)
    else:
        scores = TUNED[method][0](run, seed, **settings)
    return np.argsort(-scores, kind="stable")
