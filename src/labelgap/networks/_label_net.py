"""A neural network for all labels at once, with a loss at observed entries alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.extras import require
from labelgap.fitting import Progress
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.memory import block_size
from labelgap.networks._targets import observed_targets, stacked_targets, targets_of_rows
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters

_EPSILON = 1e-5
# an input for each known label costs this many labels squared in weights
_MOST_LABEL_INPUTS = 1000
# the wider ones gain .004 of average precision on nine sets, and cost no more on a GPU
_SIZES = ((512, 512), (1024,))
_SIZES_ON_A_GPU = ((1024, 1024), (1024,))
# of layers of at most so many units, and of wider ones
_NARROW, _DROPOUT, _DROPOUT_WIDE = 512, 0.6, 0.7
_FEWEST_ROWS_TO_CHOOSE, _MOST_ROWS_TO_CHOOSE = 200, 5000
_FEWEST_FOLDS = 5
# a mean of networks gains from more passes than one network does; chosen on bibtex
_LONGER = 1.2


@with_parameters
class LabelNet(LabelGapClassifier):
    """A multi-label neural network that learns from the observed entries.

    Several networks of one shape are trained as one computation. Each leaves out a part of the rows
    of its own and stops where the log-loss of the observed entries in them is least. They are then
    trained anew on all rows, for as many passes, and the prediction is the mean of their
    probabilities. In training a random part of a row's labels is
    given to the networks as input, so that labels that are known at prediction time help to
    predict the others: ``predict_proba(X, known=Y)``.

    Dense features are standardised; sparse ones are taken as they are and never made dense.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int or "auto", default="auto"
        Hidden units of each layer. "auto" chooses between (512, 512) and (1024,), on a GPU between
        (1024, 1024) and (1024,), by the log-loss of left-out entries, of one network each.
    n_networks : int, default=5
        Networks whose probabilities are averaged. Each leaves out a fifth of the rows, or less
        where there are more than five.
    dropout : float or "auto", default="auto"
        Fraction of hidden units that are left out in a training step; "auto" is 0.7 with a layer of
        more than 512 units, and 0.6 without.
    learning_rate : float, default=1e-3
        Of AdamW.
    weight_decay : float, default=1e-2
        Of AdamW.
    batch_size : int or "auto", default="auto"
        Rows of a training step; "auto" is 128 up to 10,000 rows and 256 beyond.
    max_iter : int, default=200
        Largest number of passes over the rows.
    n_iter_no_change : int or "auto", default="auto"
        Passes without gain after which training ends; "auto": half as many as were best, or 5.
    refit : bool, default=True
        Whether the networks are trained anew on all rows, for the mean of the best passes;
        otherwise each predicts as it is, without the rows it left out.
    loss : callable, default=None
        A function of logits and targets (NaN where unknown) such as those in
        :mod:`labelgap.losses`; by default the log-loss.
    known_labels : bool or "auto", default="auto"
        Whether known labels can be given at prediction; "auto": with at most 1,000 labels.
    zeros : {"negative", "unlabeled"}, default="negative"
        What a zero means. The log-loss reads unlabeled zeros as zeros: choose another ``loss``, or
        :class:`labelgap.Mend`, which imputes them.
    device : str, default=None
        Device of torch; by default "cuda" where there is one, otherwise "cpu".
    callback : callable, default=None
        Called with a :class:`labelgap.fitting.Progress` after every pass, also while sizes are
        chosen; True stops the passes.
    random_state : int, RandomState or None, default=None
        Start, dropout, order of rows and left-out rows. The same seed gives the same networks on
        the same device with the same number of threads.

    Attributes
    ----------
    coefs_, intercepts_ : list of ndarray
        Weights of each layer with standardisation and normalisation folded in, (n_networks,
        n_inputs, n_outputs) and (n_networks, n_outputs).
    label_coefs_ : tuple of two ndarray or None
        Weights of the codes of known labels to the first layer and to the output.
    logit_scales_ : ndarray of shape (n_networks,)
        Factors of the logits, chosen on left-out rows.
    hidden_layer_sizes_ : tuple of int
        The sizes that were chosen.
    n_iter_ : int
        The largest number of passes that a network was trained for.
    refit_iter_ : int
        Passes of training on all rows, 1.2 times the mean until networks were best.
    validation_loss_ : float
        Mean log-loss of left-out observed entries; NaN without any.
    oof_proba_ : ndarray of shape (n_samples, n_labels)
        Probabilities of each training row by the network that left it out; NaN where none did.

    See Also
    --------
    labelgap.Mend : combines networks with other models.

    References
    ----------
    Gorishniy, Y., Kotelnikov, A., Babenko, A. (2025). TabM: advancing tabular deep learning with
    parameter-efficient ensembling. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import LabelNet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> Y = (X[:, :3] > 0).astype(float)
    >>> Y[rng.random(Y.shape) < 0.5] = np.nan
    >>> model = LabelNet((32,), max_iter=20, random_state=0).fit(X, Y)
    >>> model.predict([[3.0, 3.0, -3.0, 0.0, 0.0]])
    array([[1, 1, 0]])
    """

    hidden_layer_sizes: Sequence[int] | Literal["auto"] = parameter(
        "auto", StrOptions({"auto"}), "array-like"
    )
    _: KW_ONLY
    n_networks: int = parameter(5, AT_LEAST_ONE)
    dropout: float | Literal["auto"] = parameter(
        "auto", StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")
    )
    learning_rate: float = parameter(1e-3, POSITIVE)
    weight_decay: float = parameter(1e-2, NOT_NEGATIVE)
    batch_size: int | Literal["auto"] = parameter("auto", StrOptions({"auto"}), AT_LEAST_ONE)
    max_iter: int = parameter(200)
    n_iter_no_change: int | Literal["auto"] = parameter("auto", StrOptions({"auto"}), AT_LEAST_ONE)
    refit: bool = parameter(True)
    loss: Callable | None = parameter(None, callable, None)
    known_labels: bool | Literal["auto"] = parameter("auto")
    zeros: Literal["negative", "unlabeled"] = parameter("negative")
    device: str | None = parameter(None)
    callback: Callable[[Progress], bool | None] | None = parameter(None)
    random_state: Any = parameter(None)

    @property
    def _zeros(self) -> Any:  # type: ignore[override]
        return self.zeros

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        folds: Any = None,
        pseudo_labels: Any = None,
        label_frequency: Any = 1.0,
    ) -> LabelNet:
        """Learn from rows of features and their labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features.
        y : anything :func:`labelgap.as_labels` accepts, or a vector of classes
            Unknown entries are never read.
        folds : int array of shape (n_samples,), default=None
            The network that leaves out each row, -1 for none; drawn by default.
        pseudo_labels : sequence of arrays of shape (n_samples, n_labels), default=None
            For each network, probabilities to learn instead of ``y``, NaN where there is nothing
            to learn. Sizes and passes are chosen by ``y`` all the same.
        label_frequency : float or array of shape (n_labels,), default=1.0
            The probability that ``y`` records a label that is relevant by the pseudo-labels.

        Returns
        -------
        self
        """
        self._validate_params()
        X, labels = self._validate_fit(X, y)
        learned = None
        if pseudo_labels is not None:
            learned = stacked_targets(pseudo_labels, self.n_networks, labels.shape)
        self._fit_targets(X, learned, labels, folds, label_frequency)
        return self

    def _fit_targets(
        self,
        X: Any,
        learned: Callable[[np.ndarray], np.ndarray] | None,
        labels: Labels,
        folds: Any,
        label_frequency: Any,
    ) -> None:
        device = self._torch_device()
        from labelgap.networks._training import TrainingTargets, train

        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        X = self._standardised(X)
        self._prevalence = np.clip(observed_prevalence(labels), 1e-4, 1 - 1e-4)
        n_networks = min(self.n_networks, max(1, X.shape[0] // 2))
        if folds is None:
            folds = rng.permutation(X.shape[0]) % max(n_networks, min(_FEWEST_FOLDS, X.shape[0]))
        seed = int(rng.integers(2**31 - 1))
        observed = observed_targets(labels)
        run = partial(
            train,
            X=X,
            targets=TrainingTargets(learned or observed, observed, label_frequency),
            prevalence=self._prevalence,
            seed=seed,
            device=device,
            callback=self.callback,
        )
        self.hidden_layer_sizes_ = self._choose_sizes(run, X, folds, rng, device.type)
        state = self._initial_state(X, self.hidden_layer_sizes_, n_networks, rng)
        settings = self._settings(X, self.hidden_layer_sizes_)
        trained = run(state, folds=folds, settings=settings)
        self.n_iter_ = int(trained.best_epochs.max()) + 1
        self.refit_iter_ = max(1, round(_LONGER * float(trained.best_epochs.mean() + 1)))
        self.validation_loss_ = float(np.mean(trained.validation_losses))
        self.oof_proba_ = trained.out_of_fold
        self._keep(trained.state)
        self.logit_scales_ = trained.logit_scales
        has_stopped = np.isfinite(trained.validation_losses).all() and not trained.stopped
        self._is_refitted = bool(self.refit and has_stopped)
        if self._is_refitted:
            again = run(
                self._initial_state(X, self.hidden_layer_sizes_, n_networks, rng),
                folds=np.full(X.shape[0], -1),
                settings=replace(settings, max_iter=self.refit_iter_),
            )
            self._keep(again.state)
            self.logit_scales_ = np.full(n_networks, trained.logit_scales.mean())

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> LabelNet:
        """Learn from further rows, in one pass over them.

        Nothing is left out: the number of passes is yours. Features are standardised by the rows
        of the first call.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : labels as in ``fit``
        classes : sequence, default=None
            All classes of a vector target, at the first call.

        Returns
        -------
        self
        """
        device = self._torch_device()
        from labelgap.networks._training import continue_training

        if not hasattr(self, "_state"):
            self._validate_params()
            X, labels = self._validate_fit(X, y, classes=classes)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            X = self._standardised(X)
            self._prevalence = np.clip(observed_prevalence(labels), 1e-4, 1 - 1e-4)
            self.hidden_layer_sizes_ = self._given_sizes() or _sizes_on(device.type)[0]
            self._state = self._initial_state(X, self.hidden_layer_sizes_, self.n_networks, rng)
            self.n_iter_, self.validation_loss_ = 0, float("nan")
            self.logit_scales_ = np.ones(self.n_networks)
        else:
            X = self._validate_features(X, reset=False)
            labels = self.target_.read(y, n_samples=X.shape[0], zeros=self.zeros)
            X = self._scaled(X)

        self.n_iter_ += 1
        state = continue_training(
            self._state,
            X,
            observed_targets(labels),
            self._prevalence,
            self._settings(X, self.hidden_layer_sizes_),
            self.n_iter_,
            device,
        )
        self._keep(state)
        self.__dict__.pop("oof_proba_", None)
        return self

    def _torch_device(self) -> Any:
        torch = require("torch", extra="networks", purpose="LabelNet.fit")
        if self.device is not None:
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _settings(self, X: Any, sizes: tuple[int, ...]) -> Any:
        from labelgap import losses
        from labelgap.networks._training import TrainingSettings

        batch_size = self.batch_size
        if batch_size == "auto":
            batch_size = 128 if X.shape[0] <= 10_000 else 256
        dropout = self.dropout
        if dropout == "auto":
            dropout = _DROPOUT if max(sizes) <= _NARROW else _DROPOUT_WIDE
        return TrainingSettings(
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=dropout,
            batch_size=batch_size,
            max_iter=self.max_iter,
            n_iter_no_change=self.n_iter_no_change,
            loss=self.loss or losses.bce,
        )

    def _given_sizes(self) -> tuple[int, ...] | None:
        if isinstance(self.hidden_layer_sizes, str):
            return None
        sizes = tuple(int(size) for size in self.hidden_layer_sizes)
        if not sizes or min(sizes) < 1:
            raise ValueError(
                f"hidden_layer_sizes={self.hidden_layer_sizes!r}: give at least one positive number"
            )
        return sizes

    def _choose_sizes(
        self, run: partial, X: Any, folds: np.ndarray, rng: np.random.Generator, device: str
    ) -> tuple[int, ...]:
        """The given sizes, or those of the network with the least log-loss of left-out entries."""
        given = self._given_sizes()
        if given is not None:
            return given
        if X.shape[0] < _FEWEST_ROWS_TO_CHOOSE:
            return _sizes_on(device)[0]
        some = np.sort(rng.permutation(X.shape[0])[:_MOST_ROWS_TO_CHOOSE])
        first_fold = np.where(folds[some] == 0, 0, -1)
        observed = targets_of_rows(run.keywords["targets"].observed, some)
        targets = run.keywords["targets"]._replace(learned=observed, observed=observed)
        found = {}
        for sizes in _sizes_on(device):
            state = self._initial_state(X, sizes, 1, np.random.default_rng(rng.integers(2**31)))
            settings = self._settings(X, sizes)
            tried = run(state, X=X[some], targets=targets, folds=first_fold, settings=settings)
            found[sizes] = tried.validation_losses[0]
        return min(found, key=lambda sizes: found[sizes])

    def _initial_state(
        self, X: Any, sizes: tuple[int, ...], n_networks: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        from labelgap.networks._batched_networks import BatchedNetworks

        known = self.known_labels
        if known == "auto":
            known = 1 < self._prevalence.size <= _MOST_LABEL_INPUTS
        return BatchedNetworks.initial_state(
            X.shape[1], self._prevalence, sizes, n_networks, rng, known_labels=bool(known)
        )

    def _standardised(self, X: Any) -> Any:
        """Learn the scale of dense features; constant ones and sparse ones keep theirs."""
        if sparse.issparse(X):
            self._centre, self._scale = None, None
            return X
        self._centre = X.mean(axis=0)
        scale = X.std(axis=0)
        self._scale = np.where(scale > 1e-12 * np.maximum(np.abs(self._centre), 1), scale, 1.0)
        return self._scaled(X)

    def _scaled(self, X: Any) -> Any:
        if self._centre is None:
            return X
        return ((X.toarray() if sparse.issparse(X) else X) - self._centre) / self._scale

    def _keep(self, state: dict[str, np.ndarray]) -> None:
        """Fold normalisation and standardisation into plain affine layers."""
        self._state = state
        n_networks = state["V"].shape[0]
        self.coefs_: list[np.ndarray] = []
        self.intercepts_: list[np.ndarray] = []
        first = state["W1"].reshape(state["W1"].shape[0], n_networks, -1).transpose(1, 0, 2)
        codes = None
        for i in range(1, len(self.hidden_layer_sizes_) + 1):
            weights = first if i == 1 else state[f"W{i}"]
            gain = state[f"gain{i}"] / np.sqrt(state[f"running_var{i}"] + _EPSILON)
            intercept = state[f"bias{i}"] - state[f"running_mean{i}"] * gain
            weights = weights * gain
            if i == 1 and "C1" in state:
                shape = (state["C1"].shape[0], n_networks, -1)
                codes = state["C1"].reshape(shape).transpose(1, 0, 2) * gain
            if i == 1 and self._centre is not None and self._scale is not None:
                weights = weights / self._scale[:, None].astype(np.float32)
                intercept = intercept - np.einsum(
                    "d,kdh->kh", self._centre, weights.astype(np.float64)
                )[:, None].astype(np.float32)
            self.coefs_.append(np.ascontiguousarray(weights, dtype=np.float32))
            self.intercepts_.append(intercept[:, 0].astype(np.float32))
        self.coefs_.append(state["V"])
        self.intercepts_.append(state["c"][:, 0])
        self.label_coefs_ = None if codes is None else (codes, state["A"])

    def predict_proba(self, X: Any, known: Any = None, *, without: int | None = None) -> np.ndarray:
        """Return the probability that each label is relevant, of shape (n_samples, n_labels).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        known : labels of the same rows, default=None
            Labels that are known, NaN where they are not. They help to predict the others, and are
            returned as 0 and 1. Unlabeled zeros are taken as unknown.
        without : int, default=None
            A number in ``folds``: predict by the network without its rows; for ``refit=False``.
        """
        if without is not None and self._is_refitted:
            raise ValueError("without: these networks learned from all rows; fit with refit=False")
        rows = self._validate_predict(X)
        if known is None:
            found = self._mean_probability(rows, None, without)
            return self._framed(self.target_.probabilities(found), X)
        if self.label_coefs_ is None:
            raise ValueError(
                "known: this network was fitted without inputs for known labels; fit it with "
                "known_labels=True"
            )
        values = self._read_known(known, rows.shape[0])
        found = self._mean_probability(rows, values, without)
        return self._framed(np.where(np.isnan(values), found, values), X)

    def _forget_training_rows(self) -> None:
        """Drop what predictions do not need: ``partial_fit`` then starts anew."""
        for name in ("oof_proba_", "_state"):
            self.__dict__.pop(name, None)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return self._mean_probability(X, None)

    def _decision_function(self, X: Any) -> np.ndarray:
        return log_odds(self._predict_proba(X))

    def _mean_probability(
        self, X: Any, known: np.ndarray | None, without: int | None = None
    ) -> np.ndarray:
        """The mean over the networks, or the one that left out a fold."""
        networks = range(self.coefs_[0].shape[0]) if without is None else [without]
        n_labels, width = self._prevalence.size, max(c.shape[2] for c in self.coefs_)
        probabilities = np.empty((X.shape[0], n_labels))
        step = block_size(2 * (width + n_labels))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            codes = None if known is None else self._codes(known[rows])
            each = (self._block_probability(X[rows], codes, k) for k in networks)
            probabilities[rows] = sum(each) / len(networks)
        return probabilities

    def _codes(self, known: np.ndarray) -> np.ndarray:
        missing = np.isnan(known)
        values = np.where(missing, 0.0, known)
        return np.hstack([~missing * (values - self._prevalence), values])

    def _block_probability(self, X: Any, codes: np.ndarray | None, k: int) -> np.ndarray:
        """The probabilities of one network."""
        h = X if sparse.issparse(X) else X.astype(np.float64)
        labels: Any = self.label_coefs_
        layers = zip(self.coefs_, self.intercepts_, strict=True)
        for layer, (weights, intercept) in enumerate(layers):
            h = h @ weights[k].astype(np.float64) + intercept[k]
            if layer == 0 and codes is not None:
                h = h + codes @ labels[0][k]
            if layer < len(self.coefs_) - 1:
                h = np.maximum(h, 0)
        h = h if codes is None else h + codes @ labels[1][k]
        return expit(self.logit_scales_[k] * h)


def _sizes_on(device: str) -> tuple[tuple[int, ...], ...]:
    """Return the sizes to choose among on a kind of device."""
    return _SIZES if device == "cpu" else _SIZES_ON_A_GPU
