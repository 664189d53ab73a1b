"""Chains of BMLPL: drawing them, and what they say about predictions and topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from labelgap.fitting import (
    ChainRecord,
    CredibleInterval,
    Diagnosis,
    Progress,
    Rows,
    diagnose,
    row_slices,
    run_chains,
)
from labelgap.kernels.products import Features, linear_part, prepare_features
from labelgap.kernels.topics import surprise_rates
from labelgap.models.bmlpl._gibbs import SampledTopicModel
from labelgap.models.bmlpl._model import Params

_CHUNK_BYTES = 2**28
_DRAWN = ("topics", "weights", "r", "tau")


@dataclass(frozen=True, eq=False)
class ChainSamples:
    """Kept draws of all chains.

    Attributes
    ----------
    topics, weights, r, tau : arrays of shape (n_chains, n_draws, ...)
        The fields of :class:`Params`, draw by draw.
    log_posterior : array of shape (n_chains, n_burn_in + n_draws * thin)
        After every sweep, burn-in included: see :meth:`SampledTopicModel.log_posterior`.
    seconds : array of the same shape
        Since the start of the chain.
    n_burn_in, thin : int
    """

    topics: np.ndarray
    weights: np.ndarray
    r: np.ndarray
    tau: np.ndarray
    log_posterior: np.ndarray
    seconds: np.ndarray
    n_burn_in: int
    thin: int

    @property
    def n_chains(self) -> int:
        return self.r.shape[0]

    @property
    def n_draws(self) -> int:
        """Kept draws per chain."""
        return self.r.shape[1]

    def __len__(self) -> int:
        return self.n_chains * self.n_draws

    def __iter__(self) -> Iterator[Params]:
        """Every kept draw, chain after chain."""
        for chain in range(self.n_chains):
            for draw in range(self.n_draws):
                yield self.params(chain, draw)

    def params(self, chain: int, draw: int) -> Params:
        """One kept draw."""
        at = chain, draw
        return Params(self.topics[at], self.weights[at], self.r[at], self.tau[at], None)

    def diagnose_log_posterior(self) -> Diagnosis:
        """R-hat and effective sample sizes of the log posterior at the kept draws."""
        record = ChainRecord(self.log_posterior, self.seconds, self.n_burn_in, self.thin)
        return record.diagnose()


def draw_chains(
    model: SampledTopicModel,
    rows: Rows,
    starts: Sequence[Params],
    *,
    n_burn_in: int,
    n_draws: int,
    seed: int,
    thin: int = 1,
    dtype: np.dtype | type = np.float64,
    callback: Callable[[Progress], object] | None = None,
) -> ChainSamples:
    """Run one chain from each start over the same rows, one after the other.

    A chain depends on its start, the seed and the blocks, not on where these lie. Local states of
    the rows are overwritten.

    Parameters
    ----------
    model : SampledTopicModel
    rows : Rows
    starts : sequence of Params
        Random or fitted parameters, one set per chain.
    n_burn_in : int
        Sweeps whose draws are not kept.
    n_draws : int
        Draws to keep per chain, one every ``thin`` sweeps.
    seed : int
    dtype : dtype
        In which kept draws are stored; chains themselves run in double precision.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every sweep; ``objective`` is the
        log posterior, and sweeps are counted over all chains.

    Raises
    ------
    FitDivergedError
        When a log posterior is not finite.
    """
    record = ChainRecord.of(len(starts), n_burn_in=n_burn_in, n_draws=n_draws, thin=thin)
    samples = _allocate(starts[0], record, n_draws, np.dtype(dtype))

    def keep(chain: int, draw: int, params: Params) -> None:
        for name in _DRAWN:
            getattr(samples, name)[chain, draw] = getattr(params, name)

    firsts = [_in_double_precision(start) for start in starts]
    run_chains(model, rows, firsts, record, keep, seed=seed, callback=callback)
    return samples


def _allocate(start: Params, record: ChainRecord, n_draws: int, dtype: np.dtype) -> ChainSamples:
    def room(like: np.ndarray) -> np.ndarray:
        return np.empty((len(record.seconds), n_draws, *like.shape), dtype=dtype)

    fields: dict[str, Any] = {name: room(getattr(start, name)) for name in _DRAWN}
    return ChainSamples(**fields, **record._asdict())


def _in_double_precision(params: Params) -> Params:
    changed = {name: np.array(getattr(params, name), dtype=np.float64) for name in _DRAWN}
    return Params(**changed, spread=None)


def predictive_probabilities(samples: ChainSamples, features: Features) -> np.ndarray:
    """Posterior predictive P(y_l = 1 | x), averaged over all kept draws, one draw at a time.

    Each draw gives 1 - prod_k (1 + V_lk exp(psi_k))^(-r_k).

    Parameters
    ----------
    samples : ChainSamples
    features : Features

    Returns
    -------
    array of shape (n_rows, n_labels)
    """
    total = np.zeros((features.shape[0], samples.topics.shape[2]))
    for params in samples:
        total += _probabilities(params, features)
    return total / len(samples)


def predictive_intervals(
    samples: ChainSamples, features: Features, level: float = 0.9
) -> CredibleInterval:
    """Central credible intervals of each P(y_l = 1 | x, parameters) over the kept draws.

    They say how well the probability is known, not whether the label is there.
    """
    bounds = _quantile_levels(level)
    n_rows, n_labels = features.shape[0], samples.topics.shape[2]
    out = np.empty((2, n_rows, n_labels))
    per_row = 8 * n_labels * len(samples)
    for chunk in row_slices(n_rows, max(1, _CHUNK_BYTES // per_row)) if n_rows else []:
        part = prepare_features(features.rows[chunk])
        draws = np.stack([_probabilities(params, part) for params in samples])
        out[:, chunk] = np.quantile(draws, bounds, axis=0)
    return CredibleInterval(*out)


def diagnose_predictions(samples: ChainSamples, features: Features) -> Diagnosis:
    """R-hat and effective sample sizes of predicted probabilities, (n_rows, n_labels) each.

    Predictions do not depend on the order of the topics, which may differ between chains. Give a
    few rows: all their draws are held at once.
    """
    draws = np.stack([_probabilities(params, features) for params in samples])
    return diagnose(draws.reshape(samples.n_chains, samples.n_draws, *draws.shape[1:]))


def align_topics(samples: ChainSamples, reference: np.ndarray | None = None) -> ChainSamples:
    """The same draws with the topics of each permuted to match a reference as well as possible.

    The order of the topics means nothing and may change within and between chains. The match
    maximises the summed Bhattacharyya coefficients sum_l sqrt(v_lk v*_lj).

    Parameters
    ----------
    samples : ChainSamples
    reference : array of shape (n_labels, n_topics), optional
        The last draw of the first chain by default.
    """
    if reference is None:
        reference = samples.topics[0, -1]
    roots = np.sqrt(reference)
    topics, weights = np.empty_like(samples.topics), np.empty_like(samples.weights)
    r = np.empty_like(samples.r)
    for at in np.ndindex(samples.n_chains, samples.n_draws):
        _, order = linear_sum_assignment(roots.T @ np.sqrt(samples.topics[at]), maximize=True)
        topics[at] = samples.topics[at][:, order]
        weights[at] = samples.weights[at][:, order]
        r[at] = samples.r[at][order]
    return replace(samples, topics=topics, weights=weights, r=r)


def topic_intervals(samples: ChainSamples, level: float = 0.9) -> CredibleInterval:
    """Central credible intervals of V (n_labels x n_topics), over draws aligned beforehand.

    See :func:`align_topics`; a topic that does not keep its identity has wide intervals.
    """
    draws = samples.topics.reshape(-1, *samples.topics.shape[2:])
    return CredibleInterval(*np.quantile(draws, _quantile_levels(level), axis=0))


def _probabilities(params: Params, features: Features) -> np.ndarray:
    psi = linear_part(features, params.weights)
    return -np.expm1(-surprise_rates(psi, params.topics, params.r))


def _quantile_levels(level: float) -> list[float]:
    if not 0 < level < 1:
        raise ValueError(f"level={level}: a credible level lies between 0 and 1")
    return [(1 - level) / 2, (1 + level) / 2]
