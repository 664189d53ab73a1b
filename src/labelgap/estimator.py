"""The contract of every estimator: what comes in, what comes out, in which shape."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from labelgap import metrics
from labelgap.fitting import RowSource, feature_blocks, is_elsewhere, row_slices, row_source
from labelgap.frames import FrameReader, FrameRows, check_container, framed
from labelgap.kernels.input_arrays import (
    LARGEST,
    LARGEST_FOR_LIBLINEAR,
    canonical_rows,
    check_not_tiny,
    check_numbers,
    named_non_numbers,
    refuse_complex,
)
from labelgap.kernels.ranking import top_k
from labelgap.labels import (
    Labels,
    LabelWarning,
    ZerosName,
    align_rows,
    as_labels,
    items_of,
    without_items,
)
from labelgap.memory import block_size
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, SharedParameter
from labelgap.targets import Target, read_target

__all__ = ["LabelGapClassifier", "explained"]

_ADVICE = (
    "scale the features (StandardScaler), drop columns that others determine, or regularise more"
)


class LabelGapClassifier(ClassifierMixin, BaseEstimator):
    """Validate the input, hand arrays to the model and shape the results: base of all classifiers.

    A subclass writes three methods on validated input:

    - ``_fit(X, labels)``: learn, from ``X`` (dense or CSR) and :class:`labelgap.Labels`;
    - ``_decision_function(X)``: scores of shape (n_samples, n_labels), larger is more relevant;
    - ``_predict_proba(X)``: probabilities of shape (n_samples, n_labels).

    One that can learn from rows in blocks also writes ``_fit_source(source)``, of a
    :class:`labelgap.fitting.RowSource`.

    It declares its parameters with :mod:`labelgap.parameters`; ``fit`` checks
    their values.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Label names, or positions when the labels have none.
    target_ : Target
        Whether the target was a label matrix or a vector of classes.
    frame_reader_ : FrameReader or None
        How a frame with text, categories, dates or empty cells becomes numbers.
    item_ : str or None
        The column of ids that frames of features and labels were joined on.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    labelgap.zero_shot.ZeroShotClassifier : the base of classifiers with unseen labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.estimator import LabelGapClassifier
    >>> class Always(LabelGapClassifier):
    ...     def _fit(self, X, labels):
    ...         self.n_labels_ = labels.n_labels
    ...
    ...     def _predict_proba(self, X):
    ...         return np.ones((X.shape[0], self.n_labels_))
    >>> Always().fit([[0.0], [1.0]], [[1, np.nan], [1, 0]]).predict([[2.0]])
    array([[1, 1]])
    """

    _sparse_format: str | None = "csr"
    _allow_missing_features = False
    _zeros: ZerosName = "negative"
    _parameter_constraints: ClassVar[dict[str, list]] = {}
    _shared_parameters: ClassVar[dict[str, SharedParameter]] = {
        "max_iter": SharedParameter("int", "Most iterations.", [AT_LEAST_ONE]),
        "tol": SharedParameter(
            "float",
            "Converged when the objective changes by less than ``tol`` times its size.",
            [NOT_NEGATIVE],
        ),
        "callback": SharedParameter(
            "callable",
            "Called with a :class:`labelgap.fitting.Progress` after every iteration; True stops.",
            [callable, None],
        ),
        "random_state": SharedParameter(
            "int, RandomState or None", "Seed of all random numbers.", ["random_state"]
        ),
        "device": SharedParameter(
            "str",
            'Device of torch to fit on (``"cuda"``), with dense features; the processor by default.',
            [str, None],
        ),
    }

    def fit(self, X: Any, y: Any = None) -> LabelGapClassifier:
        """Learn from rows of features and their labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features), or texts
            Features. A frame may have text, categories, dates and empty cells. Texts, in a sequence
            or in a column, become :class:`labelgap.text.TextFeatures`. Some estimators take rows
            that lie in blocks, see :func:`labelgap.fitting.row_source`.
        y : anything :func:`labelgap.as_labels` accepts, or a vector of classes
            Unknown entries are never read. Frames are joined with those of ``X`` on their index, or
            on a column of ids that both have.

        Returns
        -------
        self
        """
        self._validate_params()
        if is_elsewhere(X):
            return self._fit_elsewhere(X, y)
        X, labels = self._validate_fit(X, y)
        with explained(self):
            self._fit(X, labels)
        return self

    def _fit_elsewhere(self, X: Any, y: Any) -> Self:
        source = row_source(X, y, zeros=getattr(self, "zeros", self._zeros))
        self.n_features_in_ = source.n_features
        for stale in ("feature_names_in_", "frame_reader_", "item_"):
            self.__dict__.pop(stale, None)
        names = np.arange(source.n_labels) if source.names is None else source.names
        self.target_: Target = Target("multilabel", names)
        self.classes_ = names
        with explained(self):
            self._fit_source(source)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores of shape (n_samples, n_labels): the larger, the more relevant."""
        scores = self._decision_function(self._validate_predict(X))
        return self._framed(self.target_.scores(scores), X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability that each label is relevant, of shape (n_samples, n_labels)."""
        return self._framed(self._label_probabilities(X), X)

    def predict(self, X: Any) -> np.ndarray:
        """Return labels of 0 and 1, of shape (n_samples, n_labels); classes for a vector target."""
        return self._framed(self._decide(self._validate_predict(X)), X)

    def predict_names(self, X: Any, k: int = 5) -> Any:
        """Return the names of the k most probable labels of each row, best first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        k : int, default=5
            How many; all labels where there are fewer.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Names, or positions where the labels have none. A frame with the columns "1" to "k"
            after ``set_output``.

        Examples
        --------
        >>> import pandas as pd
        >>> from labelgap import LabelPrior
        >>> Y = pd.DataFrame({"sea": [1, 0, 0], "sky": [1, 1, 0], "land": [1, 1, 1]})
        >>> LabelPrior().fit([[0], [1], [2]], Y).predict_names([[3]], k=2).tolist()
        [['land', 'sky']]
        """
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k={k!r}: ask for at least one label")
        best = self.predict_topk(X, min(k, self._n_classes()))[0]
        ranks = [str(rank + 1) for rank in range(best.shape[1])]
        return self._framed(best, X, names=ranks)

    def predict_topk(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the k most probable labels of each row, without an array of all rows and labels.

        Parameters
        ----------
        X : array, frame or sparse matrix; or rows that lie elsewhere
            A Dask array, a folder of blocks, any other :class:`labelgap.fitting.RowSource`, or an
            iterator over parts. These are read one block at a time.
        k : int, default=5

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Names, or positions where the labels have none, best first.
        probabilities : ndarray of shape (n_samples, k)
            Those of the labels; scores of models without probabilities.

        Examples
        --------
        >>> import numpy as np
        >>> from labelgap import LabelPrior
        >>> prior = LabelPrior().fit(np.zeros((3, 1)), [[1, 0, 0], [1, 1, 0], [1, 1, 0]])
        >>> labels, probabilities = prior.predict_topk(np.zeros((1, 1)), k=2)
        >>> labels.tolist(), probabilities.round(1).tolist()
        ([[0, 1]], [[0.9, 0.6]])
        """
        check_is_fitted(self)
        if not isinstance(k, Integral) or not 1 <= k <= self._n_classes():
            raise ValueError(f"k={k}: there are {self._n_classes()} labels to choose from")
        best, probabilities = [np.empty((0, k), np.intp)], [np.empty((0, k))]
        for part in feature_blocks(X):
            rows = self._validate_predict(part)
            for piece in row_slices(rows.shape[0], self._rows_at_once(k)):
                found = self._best_labels(rows[piece], k)
                best.append(found[0])
                probabilities.append(found[1])
        return np.asarray(self.classes_)[np.concatenate(best)], np.concatenate(probabilities)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Say what predictions are returned as, in the way of scikit-learn's transformers.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Arrays; or frames with the names of the labels, and with the index or the ids of ``X``
            where that is a frame. None changes nothing.

        Returns
        -------
        self
        """
        if transform is not None:
            check_container(transform)
            # clone takes it over under this name
            self._sklearn_output_config = {"transform": transform}
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the label ranking average precision of observed entries; accuracy of a vector.

        ``sample_weight`` is accepted for vector targets only.
        """
        check_is_fitted(self)
        X, y, _ = align_rows(X, y)
        if self.target_.kind != "multilabel":
            return super().score(X, y, sample_weight)
        if sample_weight is not None:
            raise ValueError("sample_weight is not defined for label matrices")
        scores = self._numbers(self.decision_function(X))
        return metrics.label_ranking_average_precision(self.target_.read(y), scores)

    def _validate_fit(self, X: Any, Y: Any, *, classes: Any = None) -> tuple[Any, Labels]:
        zeros = getattr(self, "zeros", self._zeros)
        X, Y, item = align_rows(X, Y, zeros=zeros)
        X = self._validate_features(X, reset=True)
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give a "
                "label matrix (rows x labels) or a vector of classes"
            )
        labels, target = read_target(Y, n_samples=X.shape[0], zeros=zeros, classes=classes)
        self.item_: str | None = item
        self.target_ = target
        self.classes_ = target.classes
        return X, labels

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate_features(without_items(X, getattr(self, "item_", None)), reset=False)

    def _label_probabilities(self, X: Any) -> np.ndarray:
        probabilities = self._predict_proba(self._validate_predict(X))
        return self.target_.probabilities(probabilities)

    def _decide(self, X: Any, columns: Any = slice(None)) -> np.ndarray:
        """Labels or classes by the probabilities, or by the sign of scores where there are none."""
        if hasattr(self, "predict_proba"):
            return self.target_.decide(self._predict_proba(X)[:, columns])
        return self.target_.decide(self._decision_function(X)[:, columns], threshold=0.0)

    def _rows_at_once(self, k: int) -> int:
        """How many rows :meth:`_best_labels` is given at most."""
        return block_size(self._n_classes())

    def _best_labels(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions in ``classes_`` and probabilities of the best labels of a few validated rows."""
        ranked, probabilities = self._ranked_scores(X)
        best = top_k(ranked, k)
        return best, np.take_along_axis(probabilities, best, axis=1)

    def _ranked_scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return what ranks the classes of a few rows, and their probabilities: here the same."""
        if hasattr(self, "predict_proba"):
            said = self.target_.probabilities(self._predict_proba(X))
        else:
            said = self.target_.scores(self._decision_function(X))
            said = np.column_stack([-said, said]) if said.ndim == 1 else said
        return said, said

    def _n_classes(self) -> int:
        check_is_fitted(self)
        return len(self.classes_)

    def _framed(self, values: np.ndarray, X: Any, names: Any = None) -> Any:
        """Predictions of label matrices in the container that ``set_output`` asked for."""
        container = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if container == "default":
            return values
        names = self.classes_ if names is None else names
        return framed(
            values, container, names=names, items=items_of(X, self.item_), item=self.item_
        )

    def _numbers(self, predicted: Any) -> np.ndarray:
        """The array of predictions, whatever their container."""
        return np.asarray(without_items(predicted, self.item_))

    def _read_known(self, known: Any, n_samples: int) -> np.ndarray:
        """Return labels that are known at prediction, NaN where not, also for unlabeled zeros."""
        if self.target_.kind != "multilabel":
            raise ValueError("known is for label matrices: the target was a vector of classes")
        zeros = getattr(self, "zeros", self._zeros)
        with warnings.catch_warnings():
            # that nobody knows some label of these rows is no news
            warnings.simplefilter("ignore", LabelWarning)
            labels = as_labels(known, n_samples=n_samples, zeros=zeros)
        if labels.n_labels != len(self.classes_):
            raise ValueError(
                f"known has {labels.n_labels} labels and the model {len(self.classes_)}: give one "
                "column for each, NaN where the label is not known"
            )
        return labels.to_dense(unknown=np.nan, unlabeled=np.nan)

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        """What the tags say is accepted, which is what scikit-learn's tools go by."""
        accepted = get_tags(self).input_tags
        if reset:
            wrapped = getattr(self, "estimator", None)
            self.frame_reader_ = FrameReader.of(
                X,
                wrapped,
                keep_holes=accepted.allow_nan,
                sparse=accepted.sparse,
                text_encoder=getattr(self, "text_encoder", None),
            )
        reader = getattr(self, "frame_reader_", None)
        if reader is not None:
            X = reader.in_order(X)
            if reader.columns:
                validate_data(self, X, reset=reset, skip_check_array=True)
            X = reader.read(X)
            if isinstance(X, FrameRows):
                return X  # the estimator inside sees the frame, and checks it
        if reader is None or not reader.columns:
            X = self._read_array(X, accepted.sparse, reset=reset)
        most = LARGEST_FOR_LIBLINEAR if reset and self._goes_to_liblinear() else LARGEST
        check_numbers(X, allow_nan=accepted.allow_nan, most=most)
        if reset:
            check_not_tiny(X)
        return X

    def _goes_to_liblinear(self) -> bool:
        """Whether an estimator inside uses liblinear, and is none of a pipeline, which may scale X."""
        params = self.get_params()
        pipelines = tuple(f"{name}__" for name, one in params.items() if hasattr(one, "steps"))
        return any(
            type(one).__name__ == "LinearSVC" or getattr(one, "solver", None) == "liblinear"
            for name, one in params.items()
            if not name.startswith(pipelines)
        )

    def _read_array(self, X: Any, accept_sparse: bool, *, reset: bool) -> Any:
        """An array or sparse matrix in the one form that models get."""
        refuse_complex(X)
        if sparse.issparse(X) and accept_sparse:
            X = canonical_rows(X)
        with named_non_numbers(X):
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=self._sparse_format if accept_sparse else False,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
            )

    def _fit_source(self, source: RowSource) -> None:
        raise TypeError(
            f"{type(self).__name__} learns from arrays, not from rows in blocks: give X and y in "
            "memory, or use BinaryRelevance or BMLPL"
        )

    def _fit(self, X: Any, labels: Labels) -> None:
        raise NotImplementedError(f"{type(self).__name__} must implement _fit")

    def _decision_function(self, X: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must implement _decision_function")

    def _predict_proba(self, X: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must implement _predict_proba")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = self._sparse_format is not None
        tags.input_tags.allow_nan = self._allow_missing_features
        return tags


@contextmanager
def explained(estimator: Any) -> Iterator[None]:
    """Say of which estimator a system of equations is that numpy or scipy cannot solve.

    Parameters
    ----------
    estimator : estimator

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import LabelPrior
    >>> from labelgap.estimator import explained
    >>> with explained(LabelPrior()):
    ...     solution = np.linalg.solve(np.eye(1), np.ones(1))
    >>> solution
    array([1.])
    """
    try:
        yield
    except np.linalg.LinAlgError as error:
        if str(error).endswith(_ADVICE) or not _is_by_numpy(error):
            raise
        raise np.linalg.LinAlgError(
            f"{type(estimator).__name__} comes to equations without a solution ({error}): {_ADVICE}"
        ) from error


def _is_by_numpy(error: Exception) -> bool:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_globals["__name__"].startswith(("numpy", "scipy"))
