"""The GMFS estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import (
    EM,
    Gibbs,
    Monitor,
    OnlineEM,
    Trace,
    fitting_settings,
    n_batches,
    row_source,
    run_em,
    run_passes,
)
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.products import prepare_features
from labelgap.kernels.surest import Share
from labelgap.labels import Labels
from labelgap.models.gmfs import _checks, _prepare, _search
from labelgap.models.gmfs._assigned import AssignedRows
from labelgap.models.gmfs._looks import NeighborRates, PlainRates
from labelgap.models.gmfs._missing import FittedRows, KnownRows, LikelyMissing, Observability
from labelgap.models.gmfs._mixture import MixtureModel, several
from labelgap.models.gmfs._model import DeviceSolver, ExactSolver, SelectionModel
from labelgap.models.gmfs._priors import Laplace, SpikeSlab, WeightPrior
from labelgap.models.gmfs._rows import Params, RowSteps, feature_gram
from labelgap.models.gmfs._start import first_weights, label_moments, starting_params
from labelgap.models.gmfs._surest import Calibration, SurestRate, calibration, read_rate

__all__ = ["GMFS"]

_MOST_FACTORS = 100
_MOST_FEATURES_EXACT = 4096
_ITERATIONS = 30
# iterations in which theta follows the neighbours, before it is frozen
_MOVING = 10


class GMFS(SelectorMixin, LabelGapClassifier):
    """Features that matter to labels of which a zero may mean that nobody looked.

    Maximises over factors v of rows and b of labels and regression weights W

        sum_{y=1} log(theta sigma) + sum_{y=0} log(1 - theta sigma)
        - lambda_v/2 sum ||v_i - W' x_i||^2 - lambda_b/2 sum ||b_j||^2 + log prior(W)

    by EM, where sigma = sigmoid(v_i . b_j + a_j) and theta is the probability that an entry was
    looked at. Zeros of plain arrays are ambiguous; of :class:`labelgap.Labels`, entries known to
    be 0 count as zeros and unknown ones not at all. A feature scores by the length of its row
    of W, for features scaled to unit variance.

    Parameters
    ----------
    n_factors : int, optional
        Number of factors c; by default as many as labels, at most 100.
    n_components : int or "held out"
        Factor models in a mixture of them, to which rows are softly assigned; their number can be
        found by the log-likelihood of held-out entries.
    lambda_v, lambda_b : float
        Prior precisions of the factors of rows, around W' x, and of labels.
    prior : {"spike-slab", "laplace", "group-laplace"}
        Of the weights: each feature's row from one of two Gaussians, or ``exp(-laplace_rate |w|)``
        for every weight, or for the length of every row.
    sigma_0, sigma_1 : float
        Variances of spike and slab, sigma_0 < sigma_1.
    relative : bool
        Variances in units of 1 / (lambda_v n_rows), which is what the rows alone leave of a
        weight, and ``laplace_rate`` in units of the square root of lambda_v n_rows. The paper's
        settings (sigma_1 = 1, lambda_v = 0.001, some thousand rows) are about the same in both
        units.
    slab_threshold : {"derived", "printed"}
        Where a row changes from spike to slab. The printed threshold is the paper's, which is
        right for one factor; with it the objective may get worse.
    laplace_rate : float
        Rate of the Laplace priors.
    observability : {"labels", "global", "neighbors"}, float or array
        Probability theta that an entry was looked at: learned for every label, for all labels
        together, or for every entry from its neighbours; or given, as one number or an array of
        shape (n_labels,), (n_rows, 1) or (n_rows, n_labels). At 1 every zero is a zero.
    look_rate : float, "held out" or "surest"
        Mode of the beta prior of theta, for all that is learned. "held out" finds the one that
        predicts best what is recorded at a tenth of the entries, by short fits without them.
        "surest" reads it as the share recorded among the entries that such fits find most surely
        relevant: far nearer to the truth where labels are rare, if they are recorded alike.
    look_weight : float
        Weight of that prior, relative to the number of entries.
    calibrate : bool
        Fit the probabilities of :meth:`forgotten` and :meth:`likely_missing` to held-out records
        and to the "surest" rate; neither the order of the zeros nor the fit changes.
    n_neighbors : int
        Number of nearest rows for "neighbors".
    neighbor_weight : float
        Entries that the same entry of a neighbour is worth, at least 1.
    neighbors : {"auto", "exact", "approximate"} or sparse matrix of shape (n_rows, n_rows)
        How they are found, or a graph of them. "auto" is exact up to 20,000 rows, and
        approximate above if pynndescent is installed.
    standardise : bool
        Scale features to unit variance, so that the prior treats them alike; sparse ones stay
        sparse. They are centred in any case.
    n_features_to_select : int or float, optional
        How many features :meth:`transform` keeps, or which share of them.
    threshold : float or {"mean", "median"}, optional
        Or those that score at least so much. Without either: the features in the slab; for
        Laplace priors those whose weights are not zero; at least the mean when there is none.
    inference : {"em", "online"} or EM, OnlineEM
        The loop, with its settings; see :mod:`labelgap.fitting`. "em" runs 30 iterations, with
        W solved for exactly up to 4096 features and by 5 conjugate-gradient steps above.
    block_rows : int, optional
        Rows in a block; by default as many as fit 2**22 entries, or 2**24 on a device.
    device : str, optional
        Device of torch ("cuda", "cpu") for the features, which are made dense there, and for
        everything of the size rows x labels; for one component and EM.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every iteration.
    random_state : int, RandomState or None

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Length of each feature's row of W.
    observability_ : Observability
        P(somebody looked | the record) of every training entry, computed when rows are asked for.
    look_rates_ : array
        theta, of shape (1 or n_rows, 1 or n_labels); per label for "neighbors".
    look_search_ : dict
        Rates that were tried, with their held-out log-likelihood per entry.
    look_share_ : Share or None
        The share read for "surest" or ``calibrate``, of how many entries, and its interval as
        the share of a set that was picked; as an interval of theta it is too short.
    calibration_ : Calibration
        Shift and slope of the log odds of forgotten positives; 0 and 1 without ``calibrate``.
    n_components_, mixture_shares_, component_search_
        Components, their shares, and held-out log-likelihoods of the numbers that were tried.
    params_ : Params
        Of the largest component.
    trace_ : Trace
        The objective J, with the log prior of theta where it is learned without neighbours.
    look_trace_ : Trace or None
        With neighbours: the iterations in which theta moves, before it is frozen.
    classes_, n_features_in_, feature_names_in_

    References
    ----------
    Y. Xu, J. Wang, J. Wei. "To avoid the pitfall of missing labels in feature selection: a
    generative model gives the answer." AAAI Conference on Artificial Intelligence, 2020.
    """

    params_: Params
    look_trace_: Trace | None
    look_share_: Share | None
    _surest: SurestRate | None
    _calibration: Calibration | None
    _rows: KnownRows

    _zeros = "ambiguous"
    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_factors": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"held out"})],
        "lambda_v": [Interval(Real, 0, None, closed="neither")],
        "lambda_b": [Interval(Real, 0, None, closed="neither")],
        "prior": [StrOptions({"spike-slab", "laplace", "group-laplace"})],
        "sigma_0": [Interval(Real, 0, None, closed="neither")],
        "sigma_1": [Interval(Real, 0, None, closed="neither")],
        "relative": ["boolean"],
        "slab_threshold": [StrOptions({"derived", "printed"})],
        "laplace_rate": [Interval(Real, 0, None, closed="neither")],
        "observability": [
            StrOptions({"labels", "global", "neighbors"}),
            Interval(Real, 0, 1, closed="right"),
            "array-like",
        ],
        "look_rate": [Interval(Real, 0, 1, closed="neither"), StrOptions({"held out", "surest"})],
        "look_weight": [Interval(Real, 0, None, closed="left")],
        "calibrate": ["boolean"],
        "n_neighbors": [Interval(Integral, 0, None, closed="left")],
        "neighbor_weight": [Interval(Real, 1, None, closed="left")],
        "neighbors": [StrOptions({"auto", "exact", "approximate"}), "sparse matrix"],
        "standardise": ["boolean"],
        "n_features_to_select": [
            Interval(Integral, 0, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "threshold": [
            Interval(Real, None, None, closed="both"),
            StrOptions({"mean", "median"}),
            None,
        ],
        "inference": [StrOptions({"em", "online"}), EM, OnlineEM, Gibbs],
        "block_rows": [Interval(Integral, 1, None, closed="left"), None],
        "device": [str, None],
        "callback": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_factors: int | None = None,
        *,
        n_components: int | Literal["held out"] = 1,
        lambda_v: float = 3.0,
        lambda_b: float = 1.0,
        prior: Literal["spike-slab", "laplace", "group-laplace"] = "spike-slab",
        sigma_0: float = 1.0,
        sigma_1: float = 10.0,
        relative: bool = True,
        slab_threshold: Literal["derived", "printed"] = "derived",
        laplace_rate: float = 1.0,
        observability: Any = "labels",
        look_rate: float | Literal["held out", "surest"] = "held out",
        look_weight: float = 1.0,
        calibrate: bool = False,
        n_neighbors: int = 20,
        neighbor_weight: float = 5.0,
        neighbors: Any = "auto",
        standardise: bool = True,
        n_features_to_select: float | None = None,
        threshold: float | Literal["mean", "median"] | None = None,
        inference: Any = "em",
        block_rows: int | None = None,
        device: str | None = None,
        callback: Callable | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.n_components = n_components
        self.lambda_v = lambda_v
        self.lambda_b = lambda_b
        self.prior = prior
        self.sigma_0 = sigma_0
        self.sigma_1 = sigma_1
        self.relative = relative
        self.slab_threshold = slab_threshold
        self.laplace_rate = laplace_rate
        self.observability = observability
        self.look_rate = look_rate
        self.look_weight = look_weight
        self.calibrate = calibrate
        self.n_neighbors = n_neighbors
        self.neighbor_weight = neighbor_weight
        self.neighbors = neighbors
        self.standardise = standardise
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.inference = inference
        self.block_rows = block_rows
        self.device = device
        self.callback = callback
        self.random_state = random_state

    # -- learning -----------------------------------------------------------------------------

    def _fit(self, X: Any, labels: Labels) -> None:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        settings = self._settings()
        _checks.check_settings(self, settings)
        _checks.check_data(labels, self.classes_)
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        block_rows = self.block_rows or _prepare.default_block_rows(labels.n_labels, self.device)
        source = row_source(X, labels.with_names(None), block_rows=block_rows)
        self._design = _prepare.find_design(source, standardise=self.standardise)
        make = _prepare.block_maker(self._design, dtype, self.device)
        rows = _prepare.prepared_rows(X, labels.with_names(None), block_rows, make)
        steps = RowSteps(_prepare.inner_design(self._design, X, self.device), self.lambda_v)
        looks, rates = _checks.look_model(self, X, labels, self._look_rate(X, labels, rng))
        solver: ExactSolver | DeviceSolver | None = None
        if getattr(settings, "solver", None) == "exact":
            gram = rows.total(feature_gram, steps.design), self.lambda_v
            solver = DeviceSolver(*gram, self.device) if self.device else ExactSolver(*gram)
        model = SelectionModel(
            steps,
            self._prior(X.shape[0]),
            looks,
            self.lambda_b,
            getattr(settings, "n_cg", 5),
            solver,
        )
        n_factors = self.n_factors or min(labels.n_labels, _MOST_FACTORS)
        moments = rows.total(label_moments, None)
        params = starting_params(moments, X.shape[1], n_factors, rates, rng, dtype)
        params = first_weights(model, rows, params)
        number = self._n_components(X, labels, rng, looks.rate)
        self.n_components_ = number
        if number > 1:
            self._fit_mixture(model, rows, params, settings, labels, rng)
            return
        params = self._run(model, settings, source, make, rows, params, rng)
        self._finish(model, rows, params, labels)

    def _fit_mixture(self, model, rows, params, settings, labels, rng) -> None:
        self.look_trace_ = None
        mixture: Any = MixtureModel(replace(model, solver=None))
        start = several(params, self.n_components_, rng)
        monitor = Monitor(settings.max_iter, settings.tol, self.callback)
        found, self.trace_ = run_em(mixture, rows, start, monitor)
        rows.update(mixture.step, found)
        self.mixture_shares_ = found.shares
        self._components = list(found.components)
        self.params_ = self._components[int(np.argmax(found.shares))]
        steps, linear = RowSteps(self._design, self.lambda_v), model.row_steps.design.linear
        states, fitted = list(rows.local_states()), []
        for m, one in enumerate(found.components):
            factors = np.concatenate([local.factors[m] for local in states])
            means = np.concatenate([linear(b.features, one.weights) for b in rows.blocks])
            fitted.append(FittedRows(steps, one, factors, means, labels.with_names(None)))
        assigned = np.concatenate([local.assigned for local in states])
        self._rows = AssignedRows(fitted, assigned)
        self._describe(model.prior)

    def _run(self, model, settings, source, make, rows, params, rng) -> Params:
        self.look_trace_ = None
        if isinstance(settings, OnlineEM):
            n_steps = settings.n_passes * n_batches(source, settings.batch_rows)
            monitor = Monitor(n_steps, 0.0, self.callback)
            params, _ = run_passes(model, settings, source, make, params, monitor, rng)
            self.trace_ = monitor.finish()
            return params
        if model.looks.learn == "neighbors":
            typical = np.full(params.bias.size, model.looks.rate)
            moving = Monitor(min(_MOVING, settings.max_iter), 0.0, self.callback)
            params, self.look_trace_ = run_em(model, rows, params._replace(typical=typical), moving)
            model = replace(model, looks=replace(model.looks, learn=None))
            params = params._replace(typical=None)
        monitor = Monitor(settings.max_iter, settings.tol, self.callback)
        params, self.trace_ = run_em(model, rows, params, monitor)
        return params

    def _finish(self, model: SelectionModel, rows: Any, params: Params, labels: Labels) -> None:
        rows.update(model.step, params._replace(typical=None))
        self.params_ = params
        self.mixture_shares_ = np.ones(1)
        self._components = [params]
        factors = np.concatenate([to_numpy(local.factors) for local in rows.local_states()])
        linear = model.row_steps.design.linear
        means = np.concatenate(
            [to_numpy(linear(block.features, params.weights)) for block in rows.blocks]
        )
        steps = RowSteps(self._design, self.lambda_v)
        self._rows = FittedRows(steps, params, factors, means, labels.with_names(None))
        self._describe(model.prior)

    def _describe(self, prior: WeightPrior) -> None:
        """Scores, what the prior selects, and theta."""
        self.observability_ = Observability(self._rows)
        squares = [np.square(one.weights[:-1], dtype=np.float64) for one in self._components]
        self.scores_ = np.sqrt(
            sum(
                share * s.sum(axis=1)
                for share, s in zip(self.mixture_shares_, squares, strict=True)
            )
        )
        self._selected = np.any([prior.selected(one.weights) for one in self._components], axis=0)
        self.look_rates_ = np.ones((1, 1))
        rates = self.params_.rates
        if isinstance(rates, PlainRates):
            self.look_rates_ = rates.values
        elif isinstance(rates, NeighborRates):
            self.look_rates_ = rates.without_neighbors()

    # -- selection ----------------------------------------------------------------------------

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return _checks.support(
            self.scores_, self._selected, self.n_features_to_select, self.threshold
        )

    # -- prediction ---------------------------------------------------------------------------

    def _decision_function(self, X: Any) -> np.ndarray:
        features = prepare_features(X.astype(self.params_.weights.dtype, copy=False))
        if len(self._components) == 1:
            return self._log_odds(features, self.params_)
        parts = zip(self.mixture_shares_, self._components, strict=True)
        return logit(sum(share * expit(self._log_odds(features, one)) for share, one in parts))

    def _log_odds(self, features: Any, params: Params) -> np.ndarray:
        """Of P(relevant), averaged over the factors of a row given its features."""
        psi = self._design.linear(features, params.weights) @ params.factors.T + params.bias
        variance = np.square(params.factors).sum(axis=1) / self.lambda_v
        return psi / np.sqrt(1 + np.pi / 8 * variance)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    # -- what was never looked at -------------------------------------------------------------

    def forgotten(self) -> np.ndarray:
        """P(relevant | recorded 0) at the ambiguous zeros of the training rows, NaN elsewhere.

        A dense array of shape (n_rows, n_labels); :meth:`likely_missing` needs less memory.
        """
        check_is_fitted(self)
        chance = np.vstack([self._rows.forgotten(part) for part in self._rows.parts()])
        return self.calibration_(chance)

    def likely_missing(self, top: int = 100) -> LikelyMissing:
        """The ambiguous zeros of the training rows that are most probably forgotten positives.

        P(relevant | y = 0) = (1 - theta) sigma / (1 - theta sigma), with sigma from everything but
        the entry itself: the row's features and its other labels.

        Parameters
        ----------
        top : int
            How many.

        Returns
        -------
        LikelyMissing
            ``rows``, ``columns``, ``labels`` and ``probability``, the most probable first.
        """
        check_is_fitted(self)
        if top < 1:
            raise ValueError(f"top={top}: ask for at least one entry")
        found = self._rows.likely_missing(int(top), self.classes_)
        return found._replace(probability=self.calibration_(found.probability))

    @property
    def calibration_(self) -> Calibration:
        """Found when it is first asked for, since every zero has to be looked at."""
        check_is_fitted(self)
        if self._surest is None or not self.calibrate:
            return Calibration()
        if self._calibration is None:
            self._calibration = calibration(self._rows, self._surest)
        return self._calibration

    # -- internals ----------------------------------------------------------------------------

    def _look_rate(self, X: Any, labels: Labels, rng: np.random.Generator) -> float:
        self.look_search_: dict[float, float] = {}
        self._surest = self._calibration = self.look_share_ = None
        learned = isinstance(self.observability, str)
        if self.calibrate or (learned and self.look_rate == "surest"):
            # a stream of its own: the rest of the fit is the same with and without
            self._surest = read_rate(self, X, labels, rng.spawn(1)[0])
            self.look_share_ = None if self._surest is None else self._surest.share
        if not isinstance(self.look_rate, str):
            return float(self.look_rate)
        if not learned:
            return 0.5
        if self.look_rate == "surest":
            return _search.FALLBACK if self._surest is None else self._surest.rate
        rate, self.look_search_ = _search.best_rate(self, X, labels, rng)
        return rate

    def _n_components(self, X: Any, labels: Labels, rng: np.random.Generator, rate: float) -> int:
        self.component_search_: dict[int, float] = {}
        if self.n_components != "held out":
            return int(self.n_components)
        if not isinstance(self.observability, str):
            rate = float(np.mean(self.observability))
        number, self.component_search_ = _search.best_number(self, X, labels, rng, rate)
        return number

    def _settings(self) -> Any:
        solver: Any = "exact" if self.n_features_in_ <= _MOST_FEATURES_EXACT else "cg"
        if self.inference == "em":
            return EM(_ITERATIONS, 0.0, solver=solver, n_cg=5)
        return fitting_settings(self.inference)

    def _prior(self, n_rows: int) -> WeightPrior:
        unit = 1 / (self.lambda_v * n_rows) if self.relative else 1.0
        if self.prior == "spike-slab":
            return SpikeSlab(unit * self.sigma_0, unit * self.sigma_1, self.slab_threshold)
        rate = self.laplace_rate / np.sqrt(unit)
        return Laplace(rate, by_row=self.prior == "group-laplace")
