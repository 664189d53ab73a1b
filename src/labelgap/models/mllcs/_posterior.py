"""Chains of ML-LCS: drawing them, and what they say about predictions.

Factors may rotate within and between chains, so that an average of them means nothing: everything
here is a function of psi, which does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

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
from labelgap.models.mllcs._gibbs import SampledCooccurrenceModel
from labelgap.models.mllcs._model import Params

_CHUNK_BYTES = 2**28
_DRAWN = ("factors", "bias", "count_bias", "weights", "r", "looked_at")
# a rule of n nodes is off by less than 5e-4 up to the standard deviation given; the last for more
_NODES = ((2.0, 9), (3.0, 17), (np.inf, 41))


class Draw(NamedTuple):
    """One kept draw: what predictions need of :class:`Params`, and noise e of a new row.

    V (S x K), b and a (S), W (d + 1 x K), r, theta (S) or None, e (K).
    """

    factors: np.ndarray
    bias: np.ndarray
    count_bias: np.ndarray
    weights: np.ndarray
    r: float
    looked_at: np.ndarray | None
    noise: np.ndarray


@dataclass(frozen=True, eq=False)
class ChainSamples:
    """Kept draws of all chains.

    Attributes
    ----------
    factors, bias, count_bias, weights, r, looked_at : arrays of shape (n_chains, n_draws, ...)
        Fields of :class:`Params`, draw by draw; ``looked_at`` is None without exposure.
    noise : array of shape (n_chains, n_draws, n_factors)
        Standard normal: what a new row's factors differ from their means by, times the root of
        lambda_u.
    log_posterior : array of shape (n_chains, n_burn_in + n_draws * thin)
        After every sweep, burn-in included: see :meth:`SampledCooccurrenceModel.log_posterior`.
    seconds : array of the same shape
        Since the start of the chain.
    n_burn_in, thin : int
    lambda_u : float
    """

    factors: np.ndarray
    bias: np.ndarray
    count_bias: np.ndarray
    weights: np.ndarray
    r: np.ndarray
    looked_at: np.ndarray | None
    noise: np.ndarray
    log_posterior: np.ndarray
    seconds: np.ndarray
    n_burn_in: int
    thin: int
    lambda_u: float

    @property
    def n_chains(self) -> int:
        return self.r.shape[0]

    @property
    def n_draws(self) -> int:
        """Kept draws per chain."""
        return self.r.shape[1]

    def __len__(self) -> int:
        return self.n_chains * self.n_draws

    def __getitem__(self, index: int) -> Draw:
        """One kept draw; they are counted chain after chain."""
        at = divmod(range(len(self))[index], self.n_draws)
        parts = (getattr(self, name) for name in Draw._fields)
        fields: list[Any] = [None if part is None else part[at] for part in parts]
        return Draw(*fields)

    def __iter__(self) -> Iterator[Draw]:
        return (self[index] for index in range(len(self)))

    def spaced(self, n_most: int) -> np.ndarray:
        """Indices of at most ``n_most`` draws, evenly spaced over all chains."""
        n = min(n_most, len(self))
        return ((np.arange(n) + 0.5) * len(self) / n).astype(np.intp)

    def diagnose_log_posterior(self) -> Diagnosis:
        """R-hat and effective sample sizes of the log posterior at the kept draws."""
        record = ChainRecord(self.log_posterior, self.seconds, self.n_burn_in, self.thin)
        return record.diagnose()


class OtherLabels(NamedTuple):
    """Labels that the chains do not know: (v, b) under some of the draws.

    ``draws`` (T) are indices into :class:`ChainSamples`, ``factors`` (T x U x K), ``bias``
    (T x U).
    """

    draws: np.ndarray
    factors: np.ndarray
    bias: np.ndarray


def draw_chains(
    model: SampledCooccurrenceModel,
    rows: Rows,
    starts: Sequence[Params],
    *,
    n_burn_in: int,
    n_draws: int,
    seed: int,
    thin: int = 1,
    dtype: np.dtype | type = np.float64,
    callback: Callable[[Progress], object] | None = None,
) -> tuple[ChainSamples, Params]:
    """Run one chain from each start over the same rows, one after the other.

    A chain depends on its start, the seed and the blocks, not on where these lie. Local states of
    the rows are overwritten.

    Parameters
    ----------
    model : SampledCooccurrenceModel
    rows : Rows
    starts : sequence of Params
        One set per chain.
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

    Returns
    -------
    samples : ChainSamples
    params : Params
        The last draw of the last chain, whole.

    Raises
    ------
    FitDivergedError
        When a log posterior is not finite.
    """
    record = ChainRecord.of(len(starts), n_burn_in=n_burn_in, n_draws=n_draws, thin=thin)
    samples = ChainSamples(
        **_room(starts[0], (len(starts), n_draws), np.dtype(dtype), seed),
        **record._asdict(),
        lambda_u=model.model.lambda_u,
    )

    def keep(chain: int, draw: int, params: Params) -> None:
        for name in _DRAWN:
            if getattr(samples, name) is not None:
                getattr(samples, name)[chain, draw] = getattr(params, name)

    firsts = [in_double_precision(start) for start in starts]
    params = run_chains(model, rows, firsts, record, keep, seed=seed, callback=callback)
    return samples, params


def _room(start: Params, shape: tuple[int, int], dtype: np.dtype, seed: int) -> dict[str, Any]:
    kept = {name: getattr(start, name) for name in _DRAWN}
    room = {
        name: None if part is None else np.empty((*shape, *np.shape(part)), dtype=dtype)
        for name, part in kept.items()
    }
    noise = np.random.default_rng([seed, 1]).standard_normal((*shape, start.factors.shape[1]))
    return room | {"noise": noise.astype(dtype)}


def in_double_precision(params: Params) -> Params:
    """Parameters as chains take them."""
    arrays: list[Any] = [None if p is None else np.array(p, dtype=np.float64) for p in params]
    return Params(*arrays)._replace(r=float(params.r))


def expected_sigmoid(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E[sigmoid(x)] for x ~ N(mean, variance), by Gauss-Hermite quadrature.

    A sum of sigmoids with positive weights: small probabilities keep their order.

    Parameters
    ----------
    mean : array of shape (n_rows, n_labels)
    variance : array of shape (n_labels,)
    """
    spread = np.sqrt(variance)
    largest = float(spread.max(initial=0))
    if largest == 0:
        return expit(mean)
    nodes, weights = hermegauss(next(n for most, n in _NODES if largest <= most))
    weights /= weights.sum()
    total = np.zeros(mean.shape)
    for node, weight in zip(nodes, weights, strict=True):
        total += weight * expit(mean + (node * spread).astype(mean.dtype))
    return total


def seen_probabilities(draw: Draw, features: Features, lambda_u: float) -> np.ndarray:
    """P(y = 1 | x) of the seen labels under one draw, the factors of the row integrated out."""
    psi = linear_part(features, draw.weights) @ draw.factors.T + draw.bias
    variance = np.square(draw.factors, dtype=np.float64).sum(axis=1) / lambda_u
    return expected_sigmoid(psi, variance)


def predictive_probabilities(samples: ChainSamples, features: Features) -> np.ndarray:
    """Posterior predictive P(y = 1 | x) of the seen labels, averaged over all kept draws."""
    total: Any = 0.0
    for draw in samples:
        total = total + seen_probabilities(draw, features, samples.lambda_u)
    return total / len(samples)


def other_probabilities(
    samples: ChainSamples, others: OtherLabels, features: Features, with_rows: bool
) -> np.ndarray:
    """As :func:`predictive_probabilities`, of labels that the chains do not know.

    ``with_rows``: integrate the factors of the row out, too. Factors that were matched to counts
    on the rows' predicted factors are to be used on those.
    """
    total: Any = 0.0
    for index, V, b in zip(others.draws, others.factors, others.bias, strict=True):
        psi = linear_part(features, samples[index].weights) @ V.T + b
        variance = np.square(V, dtype=np.float64).sum(axis=1) / samples.lambda_u
        total = total + expected_sigmoid(psi, variance * with_rows)
    return total / len(others.draws)


def forgotten_probabilities(samples: ChainSamples, features: Features) -> np.ndarray:
    """P(relevant | recorded 0, x) of seen labels: E[(1 - theta) p] / E[1 - theta p] over draws."""
    above: Any = 0.0
    below: Any = 0.0
    for draw in samples:
        assert draw.looked_at is not None
        p = seen_probabilities(draw, features, samples.lambda_u)
        above = above + (1 - draw.looked_at) * p
        below = below + (1 - draw.looked_at * p)
    return above / below


def predictive_intervals(
    samples: ChainSamples,
    features: Features,
    level: float = 0.9,
    others: OtherLabels | None = None,
    other_error: float = 0.0,
) -> CredibleInterval:
    """Central credible intervals of sigmoid(psi) over the kept draws, psi with a drawn row.

    They say how well the probability is known, not whether the label is there.

    Parameters
    ----------
    samples : ChainSamples
    features : Features
    level : float
    others : OtherLabels, optional
        Take these labels instead of the seen ones.
    other_error : float
        Standard deviation of a further error of their psi.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level}: a credible level lies between 0 and 1")
    bounds = [(1 - level) / 2, (1 + level) / 2]
    labels = _seen_labels(samples) if others is None else others
    n_rows, n_labels = features.shape[0], labels.bias.shape[1]
    out = np.empty((2, n_rows, n_labels))
    # label by label, so that labels that come later change nothing for the others
    error = np.random.default_rng(0).standard_normal(labels.bias.shape[::-1]).T * other_error
    per_row = max(1, 8 * n_labels * len(labels.draws))
    for chunk in row_slices(n_rows, max(1, _CHUNK_BYTES // per_row)) if n_rows else []:
        part = prepare_features(features.rows[chunk])
        draws = np.stack(
            [
                drawn_psi(samples[index], part, V, b, samples.lambda_u)
                for index, V, b in zip(*labels, strict=True)
            ]
        )
        out[:, chunk] = expit(np.quantile(draws + error[:, None], bounds, axis=0))
    return CredibleInterval(*out)


def drawn_psi(
    draw: Draw, features: Features, V: np.ndarray, b: np.ndarray, lambda_u: float
) -> np.ndarray:
    """psi of new rows under one draw; rows share the noise, so that none depends on the others."""
    rows = linear_part(features, draw.weights) + draw.noise / np.sqrt(lambda_u).astype(V.dtype)
    return rows @ V.T + b


def diagnose_psi(samples: ChainSamples, features: Features) -> Diagnosis:
    """R-hat and effective sample sizes of psi at the rows' expected factors, (n_rows, n_seen) each.

    Give a few rows: all their draws are held at once.
    """
    draws = [linear_part(features, d.weights) @ d.factors.T + d.bias for d in samples]
    shape = (samples.n_chains, samples.n_draws, *draws[0].shape)
    return diagnose(np.stack(draws).reshape(shape))


def _seen_labels(samples: ChainSamples) -> OtherLabels:
    n = len(samples)
    factors, bias = samples.factors, samples.bias
    return OtherLabels(
        np.arange(n), factors.reshape(n, *factors.shape[2:]), bias.reshape(n, bias.shape[2])
    )
