"""The GMFS estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import (
    EM,
    Gibbs,
    OnlineEM,
    Trace,
    fitting_settings,
    row_source,
)
from labelgap.kernels.products import prepare_features
from labelgap.labels import Labels
from labelgap.models.gmfs import _gmfs_holdout as holdout
from labelgap.models.gmfs._gmfs_em import (
    DeviceSolver,
    ExactSolver,
    GMFSParams,
    SelectionModel,
    feature_gram,
    first_weights,
    label_moments,
    starting_params,
)
from labelgap.models.gmfs._gmfs_features import (
    block_maker,
    default_block_rows,
    find_design,
    inner_design,
    prepared_rows,
)
from labelgap.models.gmfs._gmfs_fit import (
    GMFSFit,
    check_positives,
    check_settings,
    fit_mixture,
    fit_one,
    selection_mask,
)
from labelgap.models.gmfs._gmfs_missing import (
    ExaminedProbability,
    KnownRows,
    LikelyMissing,
)
from labelgap.models.gmfs._gmfs_mixture import several
from labelgap.models.gmfs._gmfs_priors import (
    Laplace,
    NeighborPropensities,
    PlainPropensities,
    Propensities,
    PropensityModel,
    SpikeSlab,
    WeightPrior,
    clipped,
    given_propensities,
    neighbor_graph,
)
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters
from labelgap.propensity import TopScoredFraction

_MAX_FACTORS = 100
_MAX_FEATURES_EXACT = 4096
_ITERATIONS = 30


@with_parameters
class GMFS(SelectorMixin, LabelGapClassifier):
    """Select features for labels of which a zero may be a missing label.

    Maximises over factors v of rows and b of labels and regression weights W

        sum_{y=1} log(theta sigma) + sum_{y=0} log(1 - theta sigma)
        - lambda_v/2 sum ||v_i - W' x_i||^2 - lambda_b/2 sum ||b_j||^2 + log prior(W)

    by EM, where sigma = sigmoid(v_i . b_j + a_j) and theta is the probability that a relevant entry
    is recorded. Zeros of plain arrays are unlabeled; of :class:`labelgap.Labels`, entries known to
    be 0 count as zeros and unknown ones not at all. A feature scores by the length of its row
    of W, for features scaled to unit variance.

    Parameters
    ----------
    n_factors : int, default=None
        Number of factors c; by default as many as labels, at most 100.
    n_components : int or "holdout", default=1
        Factor models in a mixture of them, to which rows are softly assigned; their number can be
        found by the log-likelihood of held-out entries.
    lambda_v, lambda_b : float, default=3.0 and 1.0
        Prior precisions of the factors of rows, around W' x, and of labels.
    prior : {"spike-slab", "laplace", "group-laplace"}, default="spike-slab"
        Of the weights: each feature's row from one of two Gaussians, or ``exp(-laplace_rate |w|)``
        for every weight, or for the length of every row.
    sigma_0, sigma_1 : float, default=1.0 and 10.0
        Variances of spike and slab, sigma_0 < sigma_1.
    relative : bool, default=True
        Variances in units of 1 / (lambda_v n_samples), which is what the rows alone leave of a
        weight, and ``laplace_rate`` in units of the square root of lambda_v n_samples. With the
        paper's lambda_v = 0.001 and some thousand rows both units are about the same.
    slab_threshold : {"derived", "printed"}, default="derived"
        Where a row changes from spike to slab. The printed threshold is the paper's, which is
        right for one factor; with it the objective may get worse.
    laplace_rate : float, default=1.0
        Rate of the Laplace priors.
    label_frequency : {"holdout", "most_confident"}, float or array, default="holdout"
        Probability that a relevant entry is recorded. "holdout" finds the one that predicts best
        what is recorded at a tenth of the entries, by short fits without them. "most_confident"
        reads it as the fraction recorded among the entries that such fits score highest: far nearer
        to the truth where labels are rare, if they are recorded alike. Arrays have the shape
        (n_labels,), (n_samples, 1) or (n_samples, n_labels). At 1 every zero is a zero.
    propensity : {"auto", "fixed", "global", "per_label", "neighbors"}, default="auto"
        How that probability theta varies: "fixed" keeps the label frequency; otherwise theta is
        learned around it, for all labels together, per label, or for every entry from its
        neighbours. "auto" is "fixed" for a number or array and otherwise "per_label".
    label_frequency_weight : float, default=1.0
        Weight of the label frequency where theta is learned, relative to the number of entries.
    calibrate : bool, default=False
        Fit the probabilities of :meth:`missing_label_proba` and :meth:`likely_missing` to held-out
        records and to the "most_confident" label frequency; neither the order of the zeros nor the
        fit changes.
    n_neighbors : int, default=20
        Number of nearest rows for "neighbors".
    neighbor_weight : float, default=5.0
        Entries that the same entry of a neighbour is worth, at least 1.
    neighbors : {"auto", "exact", "approximate"} or sparse matrix (n_samples, n_samples), \
default="auto"
        How they are found, or a graph of them. "auto" is exact up to 20,000 rows, and
        approximate above if pynndescent is installed.
    standardise : bool, default=True
        Scale features to unit variance, so that the prior treats them alike; sparse ones stay
        sparse. They are centred in any case.
    n_features_to_select : int or float, default=None
        How many features :meth:`transform` keeps, or which fraction of them.
    threshold : float or {"mean", "median"}, default=None
        Or those that score at least so much. Without either: the features in the slab or, for
        Laplace priors, with weights that are not zero; those above the mean when there is none.
    inference : {"em", "online"} or EM, OnlineEM, default="em"
        The loop, with its settings; see :mod:`labelgap.fitting`. "em" solves for W exactly up to
        4096 features and by 5 conjugate-gradient steps above.
    max_iter : int, default=None
        Most iterations of ``inference="em"``, 30 by default: short for ``EM(max_iter=...)``.
    tol : float, default=None
        Tolerance of ``inference="em"``, 0 by default: short for ``EM(tol=...)``.
    block_rows : int, default=None
        Rows in a block; by default as many as fit a part of the working memory, see
        :mod:`labelgap.memory`.
    device : str, default=None
        Device of torch ("cuda", "cpu") for the features, which are made dense there, and for
        everything of the size rows x labels; for one component and EM.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Length of each feature's row of W.
    label_frequency_ : array of shape (n_labels,)
        theta of each label, the mean over rows where it varies among them.
    propensity_ : array of shape (1 or n_samples, 1 or n_labels)
        theta, as far as it varies; without the neighbours for ``propensity="neighbors"``.
    label_frequency_search_ : dict
        Label frequencies that "holdout" tried, with their held-out log-likelihood per entry.
    most_confident_fraction_ : TopScoredFraction or None
        The fraction read for "most_confident" or ``calibrate``, of how many entries, and its
        interval as the fraction of a set that was picked; as an interval of theta it is too short.
    examined_ : ExaminedProbability
        P(examined | the record) of every training entry, computed when rows are asked for.
    calibration_ : GMFSCalibration
        Shift and slope of the log odds of missing labels; 0 and 1 without ``calibrate``.
    n_components_, mixture_fractions_, component_search_
        Components, their fractions, and held-out log-likelihoods of the numbers that were tried.
    params_ : GMFSParams
        Of the largest component.
    trace_ : Trace
        The objective J, with the log prior of theta where it is learned without neighbours.
    propensity_trace_ : Trace or None
        With neighbours: the iterations in which theta moves, before it is frozen.
    n_iter_, classes_, n_features_in_, feature_names_in_

    References
    ----------
    Y. Xu, J. Wang, J. Wei. "To avoid the pitfall of missing labels in feature selection: a
    generative model gives the answer." AAAI Conference on Artificial Intelligence, 2020.

    See Also
    --------
    StabilitySelection : Which features are selected on resampled rows.
    labelgap.audit : Finds missing labels with a model that needs no settings.

    Examples
    --------
    >>> from labelgap import GMFS
    >>> from labelgap.generators import make_positive_only
    >>> data = make_positive_only(200, 10, 6, label_frequency=0.6, random_state=0)
    >>> model = GMFS(3, label_frequency=0.6, max_iter=10, n_features_to_select=4, random_state=0)
    >>> model.fit_transform(data.X, data.labels).shape
    (200, 4)
    """

    _zeros = "unlabeled"

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    n_components: int | Literal["holdout"] = parameter(1, AT_LEAST_ONE, StrOptions({"holdout"}))
    lambda_v: float = parameter(3.0, POSITIVE)
    lambda_b: float = parameter(1.0, POSITIVE)
    prior: Literal["spike-slab", "laplace", "group-laplace"] = parameter("spike-slab")
    sigma_0: float = parameter(1.0, POSITIVE)
    sigma_1: float = parameter(10.0, POSITIVE)
    relative: bool = parameter(True)
    slab_threshold: Literal["derived", "printed"] = parameter("derived")
    laplace_rate: float = parameter(1.0, POSITIVE)
    label_frequency: Any = parameter(
        "holdout",
        Interval(Real, 0, 1, closed="right"),
        StrOptions({"holdout", "most_confident"}),
        "array-like",
    )
    propensity: Literal["auto", "fixed", "global", "per_label", "neighbors"] = parameter("auto")
    label_frequency_weight: float = parameter(1.0, NOT_NEGATIVE)
    calibrate: bool = parameter(False)
    n_neighbors: int = parameter(20, Interval(Integral, 0, None, closed="left"))
    neighbor_weight: float = parameter(5.0, Interval(Real, 1, None, closed="left"))
    neighbors: Any = parameter(
        "auto", StrOptions({"auto", "exact", "approximate"}), "sparse matrix"
    )
    standardise: bool = parameter(True)
    n_features_to_select: float | None = parameter(
        None,
        Interval(Integral, 0, None, closed="left"),
        Interval(Real, 0, 1, closed="neither"),
        None,
    )
    threshold: float | Literal["mean", "median"] | None = parameter(
        None, Interval(Real, None, None, closed="both"), StrOptions({"mean", "median"}), None
    )
    inference: Any = parameter("em", StrOptions({"em", "online"}), EM, OnlineEM, Gibbs)
    max_iter: int | None = parameter(None, AT_LEAST_ONE, None)
    tol: float | None = parameter(None, NOT_NEGATIVE, None)
    block_rows: int | None = parameter(None, AT_LEAST_ONE, None)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        settings = self._settings()
        check_settings(self, settings, self._learned())
        check_positives(labels, self.classes_)
        labels = labels.with_names(None)
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        block_rows = self.block_rows or default_block_rows(labels.n_labels, self.device)
        source = row_source(X, labels, block_rows=block_rows)
        self._design = find_design(source, standardise=self.standardise)
        make = block_maker(self._design, dtype, self.device)
        rows = prepared_rows(X, labels, block_rows, make)
        design = inner_design(self._design, X, self.device)
        frequency = self._find_label_frequency(X, labels, rng)
        propensity_model, propensities = self._propensity_model(X, labels, frequency)
        solver: ExactSolver | DeviceSolver | None = None
        if getattr(settings, "solver", None) == "exact":
            gram = rows.total(feature_gram, design), self.lambda_v
            solver = DeviceSolver(*gram, self.device) if self.device else ExactSolver(*gram)
        n_cg = getattr(settings, "n_cg", 5)
        prior = self._prior(X.shape[0])
        penalties = self.lambda_v, self.lambda_b
        model = SelectionModel(design, prior, propensity_model, *penalties, n_cg, solver)
        n_factors = self.n_factors or min(labels.n_labels, _MAX_FACTORS)
        moments = rows.total(label_moments, None)
        params = starting_params(moments, X.shape[1], n_factors, propensities, rng, dtype)
        params = first_weights(model, rows, params)
        number: Any = self.n_components
        self.component_search_: dict[int, float] = {}
        if number == "holdout":
            search = holdout.holdout_n_components
            number, self.component_search_ = search(self, X, labels, rng, frequency)
        self.n_components_ = int(number)
        if self.n_components_ > 1:
            start = several(params, self.n_components_, rng)
            found = fit_mixture(model, rows, start, settings, labels, self.callback)
        else:
            mini_batches = source, make, rng
            found = fit_one(model, rows, params, settings, labels, self.callback, mini_batches)
        self._describe(found, prior, labels.n_labels)

    def _describe(self, found: GMFSFit, prior: WeightPrior, n_labels: int) -> None:
        """Scores, what the prior selects, and theta."""
        self._components, self.mixture_fractions_ = found.components, found.fractions
        self.params_: GMFSParams = found.components[int(np.argmax(found.fractions))]
        self.trace_: Trace = found.trace
        self.n_iter_ = found.trace.n_iter
        self.propensity_trace_: Trace | None = found.propensity_trace
        self._rows: KnownRows = found.rows
        self.examined_ = ExaminedProbability(self._rows)
        squares = [np.square(part.weights[:-1], dtype=np.float64) for part in self._components]
        lengths = [square.sum(axis=1) for square in squares]
        self.scores_ = np.sqrt(self.mixture_fractions_ @ np.array(lengths))
        self._selected = np.any([prior.selected(part.weights) for part in self._components], axis=0)
        self.propensity_ = np.ones((1, 1))
        propensities = self.params_.propensities
        if isinstance(propensities, PlainPropensities):
            self.propensity_ = propensities.values
        elif isinstance(propensities, NeighborPropensities):
            self.propensity_ = propensities.without_neighbors()
        self.label_frequency_ = np.broadcast_to(self.propensity_.mean(axis=0), n_labels).copy()

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        number, threshold = self.n_features_to_select, self.threshold
        return selection_mask(self.scores_, self._selected, number, threshold)

    def _decision_function(self, X: Any) -> np.ndarray:
        features = prepare_features(X.astype(self.params_.weights.dtype, copy=False))
        if len(self._components) == 1:
            return self._log_odds(features, self.params_)
        parts = zip(self.mixture_fractions_, self._components, strict=True)
        return logit(
            sum(fraction * expit(self._log_odds(features, params)) for fraction, params in parts)
        )

    def _log_odds(self, features: Any, params: GMFSParams) -> np.ndarray:
        """Of P(relevant), averaged over the factors of a row given its features."""
        psi = self._design.linear(features, params.weights) @ params.factors.T + params.bias
        variance = np.square(params.factors).sum(axis=1) / self.lambda_v
        return psi / np.sqrt(1 + np.pi / 8 * variance)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def missing_label_proba(self) -> np.ndarray:
        """Return the probability that each unlabeled zero of the training rows is relevant.

        NaN elsewhere; a dense array of shape (n_samples, n_labels). :meth:`likely_missing` needs
        less memory.
        """
        check_is_fitted(self)
        parts = [self._rows.missing_label_proba(part) for part in self._rows.parts()]
        return self.calibration_(np.vstack(parts))

    def likely_missing(self, top: int = 100) -> LikelyMissing:
        """Return the unlabeled zeros of the training rows that are most probably missing labels.

        P(relevant | y = 0) = (1 - theta) sigma / (1 - theta sigma), with sigma from everything but
        the entry itself: the row's features and its other labels.

        Parameters
        ----------
        top : int, default=100
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

    def _forget_training_rows(self) -> None:
        """Drop what predictions do not need and a model file should not hold."""
        self.__dict__.update(_rows=None, examined_=None)

    def _learned(self) -> Literal["global", "per_label", "neighbors"] | None:
        """What of theta is learned."""
        if self.propensity == "auto":
            return "per_label" if isinstance(self.label_frequency, str) else None
        return None if self.propensity == "fixed" else self.propensity

    def _find_label_frequency(self, X: Any, labels: Labels, rng: np.random.Generator) -> float:
        self.label_frequency_search_: dict[float, float] = {}
        self._confident: holdout.ConfidentEstimate | None = None
        self._calibration: holdout.GMFSCalibration | None = None
        self.most_confident_fraction_: TopScoredFraction | None = None
        wanted = isinstance(self.label_frequency, str) and self.label_frequency == "most_confident"
        if self.calibrate or wanted:
            # a stream of its own: the rest of the fit is the same with and without
            own = rng.spawn(1)[0]
            self._confident = holdout.most_confident_label_frequency(self, X, labels, own)
        if self._confident is not None:
            self.most_confident_fraction_ = self._confident.fraction
        if not isinstance(self.label_frequency, str):
            return float(np.mean(self.label_frequency))
        if self.label_frequency == "most_confident":
            found = self._confident
            return holdout.FALLBACK if found is None else found.label_frequency
        best, self.label_frequency_search_ = holdout.holdout_label_frequency(self, X, labels, rng)
        return best

    @property
    def calibration_(self) -> holdout.GMFSCalibration:
        """Found when it is first asked for, since every zero has to be visited."""
        check_is_fitted(self)
        if self._confident is None or not self.calibrate:
            return holdout.GMFSCalibration()
        if self._calibration is None:
            self._calibration = holdout.calibrate(self._rows, self._confident)
        return self._calibration

    def _propensity_model(
        self, X: Any, labels: Labels, frequency: float
    ) -> tuple[PropensityModel, Propensities | None]:
        """What is learned about theta, and where it starts: at the mode of its prior."""
        learn = self._learned()
        if learn is None:
            given = frequency if isinstance(self.label_frequency, str) else self.label_frequency
            return PropensityModel(), given_propensities(given, labels)
        n_values = labels.n_labels if learn == "per_label" else 1
        start = PlainPropensities(np.full((1, n_values), clipped(np.asarray(frequency))))
        graph = None
        if learn == "neighbors":
            graph = neighbor_graph(self.neighbors, self.n_neighbors, X)
        weights = self.label_frequency_weight, graph, self.neighbor_weight
        return PropensityModel(learn, frequency, *weights), start

    def _settings(self) -> Any:
        solver: Any = "exact" if self.n_features_in_ <= _MAX_FEATURES_EXACT else "cg"
        defaults = {"em": EM(_ITERATIONS, 0.0, solver=solver, n_cg=5)}
        return fitting_settings(self.inference, self.max_iter, self.tol, defaults=defaults)

    def _prior(self, n_samples: int) -> WeightPrior:
        unit = 1 / (self.lambda_v * n_samples) if self.relative else 1.0
        if self.prior == "spike-slab":
            return SpikeSlab(unit * self.sigma_0, unit * self.sigma_1, self.slab_threshold)
        rate = self.laplace_rate / np.sqrt(unit)
        return Laplace(rate, by_row=self.prior == "group-laplace")
