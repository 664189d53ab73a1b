"""The levels of a label tree: linear models of nodes, fitted where the level above sends rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.special import expit
from sklearn.utils.parallel import Parallel, delayed

from labelgap.kernels.beam_search import child_margins, most_probable
from labelgap.kernels.block_descent import BLOCK, descend, local_rows
from labelgap.kernels.logistic import LogisticTargets, fit_logistic
from labelgap.kernels.products import prepare_features
from labelgap.kernels.pruning import kept_coefficients
from labelgap.label_tree._node_targets import NodeTargets
from labelgap.memory import block_size

# log-odds of a node from the log-odds of its parent and its own margin, where no rows are left out
_MIX = (0.0, 0.2, 4.0)
_FEWEST_ROWS_LEFT_OUT = 200
_MOST_ROWS_LEFT_OUT = 5000
_FRACTION_LEFT_OUT = 0.2
# rows of the second fit at most
_MOST_ROWS_LEARNED = 50_000
_LEAST_GROUPS, _FRACTION_OF_GROUPS = 4, 1 / 16
_STRENGTHS, _DEFAULT = (0.015, 0.05, 0.15, 0.5, 1.5), 0.5


class Settings(NamedTuple):
    """How the nodes are fitted; C is None where each level chooses its own.

    ``most_children`` limits the children of a parent that are fitted, all with None.
    """

    C: float | None
    beam: int
    prune: float
    tol: float
    max_iter: int
    n_jobs: int | None
    most_children: int | None = None

    def children(self, starts: np.ndarray, parent: int) -> slice:
        """Which nodes of a level are fitted below a parent."""
        first, stop = int(starts[parent]), int(starts[parent + 1])
        return slice(first, min(stop, first + (self.most_children or stop)))


class Level(NamedTuple):
    """The nodes of a level: a linear model of each, and which node above is its parent.

    starts : (n_parents + 1,), the children of parent p are starts[p] to starts[p + 1]
    weights : CSR of shape (n_nodes, n_features)
    intercepts : (n_nodes,)
    mix : (3,), log-odds = mix[0] + mix[1] * log-odds of the parent + mix[2] * margin
    C : inverse strength of the regularisation
    n_iter : most passes over the rows of any node
    """

    starts: np.ndarray
    weights: sparse.csr_array
    intercepts: np.ndarray
    mix: np.ndarray
    C: float
    n_iter: int


class Tree(NamedTuple):
    """The levels of a tree, and which label stands at each of its leaves."""

    order: np.ndarray
    levels: list[Level]


class Beam(NamedTuple):
    """The most probable nodes of each row, best first, and their log-odds; -1 where there are fewer."""

    nodes: np.ndarray
    log_odds: np.ndarray


def root_beam(n_rows: int) -> Beam:
    """Return the beam before the first level: every row is at the root."""
    return Beam(np.zeros((n_rows, 1), np.int32), np.zeros((n_rows, 1), np.float32))


def advance(
    level: Level, X: sparse.csr_array, beam: Beam, width: int, n_jobs: int | None = None
) -> Beam:
    """Return the most probable children of the nodes that each row reached."""
    size = block_size(beam.nodes.shape[1] * int(np.diff(level.starts).max()), fraction=1 / 16)
    n_workers = effective_n_jobs(n_jobs)
    size = max(1, min(size, -(-X.shape[0] // n_workers)))
    parts = [slice(first, first + size) for first in range(0, X.shape[0], size)]
    found = Parallel(n_jobs=n_workers, prefer="threads")(
        delayed(_advance_rows)(level, X[part], Beam(beam.nodes[part], beam.log_odds[part]), width)
        for part in parts
    )
    return Beam(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _advance_rows(level: Level, X: sparse.csr_array, beam: Beam, width: int) -> Beam:
    out = Beam(np.empty((X.shape[0], width), np.int32), np.empty((X.shape[0], width), np.float32))
    margins = _margins(level, X, beam)
    most_probable(margins, level.starts, *beam, level.mix, *out)
    return out


def _margins(level: Level, X: sparse.csr_array, beam: Beam) -> np.ndarray:
    margins = np.zeros((*beam.nodes.shape, int(np.diff(level.starts).max())), np.float32)
    pairs = np.argsort(beam.nodes, axis=None, kind="stable")
    rows, weights = _parts(X), _parts(level.weights)
    child_margins(
        rows, weights, level.intercepts, level.starts, beam.nodes, pairs, X.shape[1], margins
    )
    return margins


def _parts(matrix: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr, matrix.indices, matrix.data


def fit_levels(
    X: sparse.csr_array,
    targets: list[NodeTargets],
    starts: list[np.ndarray],
    settings: Settings,
    rng: np.random.RandomState,
) -> list[Level]:
    """Return the fitted levels, the labels last.

    The nodes of a level learn from the rows in which their parent is relevant or among the most
    probable nodes: the rows that a search meets there. A part of the rows is left out of a second,
    partial fit, which says how margins become log-odds.
    """
    seed = int(rng.randint(2**31 - 1))
    validation = _HeldOutLevels(X, settings, rng)
    levels: list[Level] = []
    beam = root_beam(X.shape[0])
    above: NodeTargets | None = None
    for target, edges in zip(targets, starts, strict=True):
        last = target is targets[-1]
        C, mix = validation.level(target, above, edges, last, seed)
        own = settings._replace(C=C)
        everything = np.arange(edges.size - 1)
        level = _fit_level(X, target, above, edges, beam, everything, own, seed)
        levels.append(level._replace(mix=mix))
        if not last:
            beam = advance(levels[-1], X, beam, settings.beam, settings.n_jobs)
        above = target
    return levels


class _HeldOutLevels:
    """The same levels from a part of the rows, which says something of those left out.

    Parameters
    ----------
    X : rows of features
    settings : Settings
    rng : RandomState
        Draws the rows left out, and the parents whose children are fitted.
    """

    def __init__(self, X: sparse.csr_array, settings: Settings, rng: np.random.RandomState) -> None:
        self.settings, self.rng = settings, rng
        self.held = _left_out(X.shape[0], rng)
        others = np.setdiff1d(np.arange(X.shape[0]), self.held)
        self.learned = np.sort(rng.permutation(others)[:_MOST_ROWS_LEARNED])
        self.X, self.X_held = X[self.learned], X[self.held]
        self.beam, self.held_beam = root_beam(self.learned.size), root_beam(self.held.size)
        squares = float(np.square(X.data, dtype=np.float64).sum())
        self.unit = X.shape[0] / squares if squares > 0 else 1.0

    def level(
        self,
        target: NodeTargets,
        above: NodeTargets | None,
        starts: np.ndarray,
        last: bool,
        seed: int,
    ) -> tuple[float, np.ndarray]:
        """Return C, and how margins become log-odds; the rows then follow their beam."""
        settings = self.settings
        if not self.held.size:
            return settings.C or _DEFAULT * self.unit, np.array(_MIX, dtype=np.float32)
        learned, held = target.take(self.learned), target.take(self.held)
        part = None if above is None else above.take(self.learned)

        def fitted(groups: np.ndarray, own: Settings) -> tuple[float, Level]:
            level = _fit_level(self.X, learned, part, starts, self.beam, groups, own, seed)
            wanted = np.zeros(int(starts[-1]), dtype=bool)
            for group in groups.tolist():
                wanted[own.children(starts, group)] = True
            mix, loss = _fit_mix(level, self.X_held, held, self.held_beam, wanted)
            return loss, level._replace(mix=mix)

        some = _some_groups(starts.size - 1, self.rng)
        C, level = settings.C, None
        if C is None:
            level = _best_strength(
                lambda C: fitted(some, settings._replace(C=C * self.unit, most_children=BLOCK))
            )
            C = level.C
        if last:
            level = level or fitted(some, settings)[1]
        else:
            _, level = fitted(np.arange(starts.size - 1), settings._replace(C=C))
            self.beam = advance(level, self.X, self.beam, settings.beam)
            self.held_beam = advance(level, self.X_held, self.held_beam, settings.beam)
        return C, level.mix


def _best_strength(fitted: Callable[[float], tuple[float, Level]]) -> Level:
    """Return what the C with the least loss fits: from the default one downhill."""
    place = _STRENGTHS.index(_DEFAULT)
    found = {at: fitted(_STRENGTHS[at]) for at in (place - 1, place)}
    step = 1 if found[place][0] <= found[place - 1][0] else -1
    place = place if step == 1 else place - 1
    while 0 <= place + step < len(_STRENGTHS):
        found[place + step] = fitted(_STRENGTHS[place + step])
        if found[place + step][0] >= found[place][0]:
            break
        place += step
    return found[place][1]


def _left_out(n_rows: int, rng: np.random.RandomState) -> np.ndarray:
    size = min(int(n_rows * _FRACTION_LEFT_OUT), _MOST_ROWS_LEFT_OUT)
    if n_rows < _FEWEST_ROWS_LEFT_OUT:
        size = 0
    return np.sort(rng.permutation(n_rows)[:size])


def _some_groups(n_groups: int, rng: np.random.RandomState) -> np.ndarray:
    size = min(n_groups, max(_LEAST_GROUPS, int(n_groups * _FRACTION_OF_GROUPS)))
    return np.sort(rng.permutation(n_groups)[:size])


def _fit_level(
    X: sparse.csr_array,
    targets: NodeTargets,
    above: NodeTargets | None,
    starts: np.ndarray,
    beam: Beam,
    groups: np.ndarray,
    settings: Settings,
    seed: int,
) -> Level:
    """Fit the children of some parents; those of others have no coefficients."""
    order = np.argsort(beam.nodes, axis=None, kind="stable")
    sorted_nodes = beam.nodes.ravel()[order]
    width = beam.nodes.shape[1]
    n_nodes = int(starts[-1])

    def rows_of(group: int) -> np.ndarray:
        first, last = np.searchsorted(sorted_nodes, [group, group + 1])
        reached = order[first:last] // width
        if above is None:
            return reached
        column = above.positives
        relevant = column.indices[column.indptr[group] : column.indptr[group + 1]]
        return np.union1d(reached, relevant)

    found = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
        delayed(_fit_group)(
            X, targets, rows_of(group), settings.children(starts, group), settings, seed
        )
        for group in groups.tolist()
    )
    counts, intercepts = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.float32)
    for group, (lengths, _, _, constants, _) in zip(groups.tolist(), found, strict=True):
        counts[settings.children(starts, group)] = lengths
        intercepts[settings.children(starts, group)] = constants
    indices = np.concatenate([part[1] for part in found])
    data = np.concatenate([part[2] for part in found])
    # indices of 32 bits stay so where the number of coefficients allows
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indptr = indptr.astype(np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64)
    weights = sparse.csr_array((data, indices, indptr), shape=(n_nodes, X.shape[1]))
    n_iter = max(int(part[4].max()) for part in found)
    mix = np.array(_MIX, np.float32)
    return Level(np.asarray(starts), weights, intercepts, mix, settings.C or _DEFAULT, n_iter)


def _fit_group(
    X: sparse.csr_array,
    targets: NodeTargets,
    rows: np.ndarray,
    nodes: slice,
    settings: Settings,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Coefficients of nodes with one parent: how many each has, which, values, intercepts, passes."""
    if rows.size == X.shape[0]:
        indptr, indices, data = X.indptr.astype(np.int64), X.indices, X.data
        used = np.arange(X.shape[1], dtype=np.int32)
    else:
        indptr, indices, data, used = local_rows(*_parts(X), rows, X.shape[1])
    place_of = np.full(X.shape[0], -1, np.int64)
    place_of[rows] = np.arange(rows.size)
    found = []
    for first in range(nodes.start, nodes.stop, BLOCK):
        block = slice(first, min(first + BLOCK, nodes.stop))
        costs = targets.costs(rows, block, place_of) * np.float32(settings.C)
        W = np.zeros((used.size + 1, costs.shape[1]), np.float32)
        tol, max_iter = np.float32(settings.tol), settings.max_iter
        n_iter = descend(indptr, indices, data, costs, W, tol, max_iter, seed)
        found.append((*_pruned(W[:-1], used, settings.prune), W[-1], np.array([n_iter])))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def _pruned(
    W: np.ndarray, used: np.ndarray, fraction: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many coefficients each node keeps, of which features, and their values."""
    kept = kept_coefficients(W, fraction)
    nodes, places = np.nonzero(kept.T)
    return kept.sum(axis=0), used[places], W[places, nodes]


def _fit_mix(
    level: Level, X: sparse.csr_array, targets: NodeTargets, beam: Beam, wanted: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return how margins of rows left out become log-odds, and the log-loss of these.

    A logistic regression of the nodes that are wanted. Its weights are those of the entries; that of
    relevant ones is left out, so that probabilities are those of recorded labels.
    """
    margins = _margins(level, X, beam)
    row, rank = np.nonzero(beam.nodes >= 0)
    parent = beam.nodes[row, rank]
    sizes = np.diff(level.starts)[parent]
    pair = np.repeat(np.arange(row.size), sizes)
    child = np.arange(pair.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = level.starts[parent[pair]] + child
    there = wanted[nodes]
    pair, child, nodes = pair[there], child[there], nodes[there]
    relevant = np.asarray(targets.positives.tocsr()[row[pair], nodes]).ravel() > 0
    weights = np.ones(pair.size)
    if targets.negatives is not None:
        unsure = _stored(targets.negatives, row[pair], nodes)
        weights = np.where(relevant, 1.0, unsure)
    if not relevant.any() or relevant.all():
        return np.array(_MIX, dtype=np.float32), np.inf
    features = np.column_stack(
        [beam.log_odds[row, rank][pair], margins[row, rank][pair, child]]
    ).astype(np.float64)
    problem = LogisticTargets(relevant[:, None].astype(np.float64), weights[:, None])
    fitted, _ = fit_logistic(prepare_features(features), problem, 1e3)
    mix = np.array([fitted[2, 0], *np.maximum(fitted[:2, 0], [0.0, 0.1])])
    log_odds = mix[0] + features @ mix[1:]
    losses = np.logaddexp(0.0, log_odds) - relevant * log_odds
    return mix.astype(np.float32), float(weights @ losses / weights.sum())


def _stored(matrix: sparse.csc_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Stored values of some entries, 1 where nothing is stored."""
    shifted = matrix.copy()
    shifted.data = matrix.data - 2.0
    values = np.asarray(shifted.tocsr()[rows, columns]).ravel()
    return np.where(values == 0.0, 1.0, values + 2.0)


def search(
    tree: Tree, X: sparse.csr_array, width: int, k: int | None, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k most probable labels of each row, or all that it reaches, and their probabilities.

    A row follows as many nodes of each level as hold k labels, ``width`` at least. Labels are -1
    where a row reaches fewer.
    """
    children = np.diff(tree.levels[-1].starts)
    width = max(width, -(-(k or 1) // int(children.min())))
    beam = root_beam(X.shape[0])
    for level in tree.levels[:-1]:
        beam = advance(level, X, beam, min(width, level.intercepts.size), n_jobs)
    reached = min(beam.nodes.shape[1] * int(children.max()), tree.order.size)
    beam = advance(tree.levels[-1], X, beam, min(k or reached, reached), n_jobs)
    labels = np.where(beam.nodes < 0, -1, tree.order[beam.nodes])
    return labels, expit(beam.log_odds.astype(np.float64))
