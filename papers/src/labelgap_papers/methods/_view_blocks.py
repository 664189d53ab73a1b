"""What methods for several views share: one dense, scaled matrix with NaN for what is absent."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import FitWarning
from labelgap.labels import Labels
from labelgap.parameters import AT_LEAST_ONE, SharedParameter
from labelgap.views import Views, covering_views, require_a_view, require_every_view
from labelgap_papers.methods._iterative import Iterative

ScalingName = Literal["balance", "standard"]


class ViewScaling(NamedTuple):
    """Features become ``(x - centre) * factor``, column by column.

    centre, factor : (n_features,)
    fill : (n_features,), mean of the scaled feature where it is observed
    """

    centre: np.ndarray
    factor: np.ndarray
    fill: np.ndarray

    def scaled(self, values: np.ndarray) -> np.ndarray:
        return (values - self.centre) * self.factor

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Scaled, with the mean of the feature in place of NaN."""
        return np.where(np.isnan(values), self.fill, self.scaled(values))

    def restored(self, scaled: np.ndarray) -> np.ndarray:
        return scaled / self.factor + self.centre


def dense_views(X: Any, views: Views) -> tuple[np.ndarray, np.ndarray]:
    """X in double precision with NaN in all columns of an absent view, and which row has which."""
    there = require_a_view(X, views)
    values = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64, order="C")
    for position, columns in enumerate(views.values()):
        values[~there[:, position], columns] = np.nan
    return values, there


def learn_scaling(values: np.ndarray, views: Views, option: ScalingName | None) -> ViewScaling:
    """Scaling of every column, from the observed values of the training rows.

    "balance" centres the features and divides each view by the root mean square length of its
    rows; "standard" centres them and divides each by its own standard deviation (n - 1 degrees of
    freedom); None leaves them as they are.
    """
    n_observed = (~np.isnan(values)).sum(axis=0)
    known = np.maximum(n_observed, 1)
    mean = np.nansum(values, axis=0) / known
    factor = np.ones(values.shape[1])
    if option is None:
        return ViewScaling(np.zeros_like(mean), factor, mean)
    variance = np.nansum((values - mean) ** 2, axis=0)
    varies = variance > (1e-14 * np.abs(mean)) ** 2 * known
    if option == "standard":
        variance /= np.maximum(n_observed - 1, 1)
        factor[varies] = 1 / np.sqrt(variance[varies])
    else:
        for columns in views.values():
            length = (variance[columns] / known[columns])[varies[columns]].sum()
            factor[columns] = 1 / np.sqrt(length) if length > 0 else 1.0
    return ViewScaling(mean, factor, np.zeros_like(mean))


def warn_of_filled_views(owner: str, values: np.ndarray, there: np.ndarray) -> None:
    """Say once per fit that what is absent was filled in, for methods without another way."""
    n_absent = int((~there).sum())
    if not n_absent and not np.isnan(values).any():
        return
    what = f"{n_absent} absent views of rows" if n_absent else "missing values"
    warnings.warn(
        f"{owner} assumes complete views: {what} are filled with the means of the features; "
        "IMVWL, MVLIV and IMSF leave absent views out",
        FitWarning,
        stacklevel=5,
    )


class ViewClassifier(Iterative, LabelGapClassifier):
    """A classifier of rows with several views, some of them absent.

    Attributes
    ----------
    views_ : Views
    scaling_ : ViewScaling
    """

    views: Mapping[str, Any] | None
    views_: Views
    scaling_: ViewScaling
    _allow_missing_features = True
    _shared_parameters: ClassVar[dict[str, SharedParameter]] = {
        **LabelGapClassifier._shared_parameters,
        "views": SharedParameter(
            "Views or mapping from name to slice, pair or width",
            "The columns of each view, see :func:`labelgap.views.from_blocks`; by default one view.",
            [Mapping, None],
        ),
        "n_factors": SharedParameter(
            "int or float",
            "Size of the vectors; a float is a fraction of the width of the narrowest view.",
            [AT_LEAST_ONE, Interval(Real, 0, 1, closed="right")],
        ),
        "scaling": SharedParameter(
            '{"balance"} or None',
            "Whether views are centred, and rows of each have mean squared length 1.",
            [StrOptions({"balance"}), None],
        ),
    }

    def _read_views(self, X: Any, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        self.views_ = covering_views(self.views, X)
        values, there = dense_views(X, self.views_)
        require_every_view(self.views_, there)
        if not labels.n_observed(unlabeled=True):
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        return values, there

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


class ViewEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ViewClassifier):
    """A classifier that places rows in one space for all views."""

    def transform(self, X: Any) -> np.ndarray:
        """Return the vectors of rows from the views they have, of shape (n_samples, n_factors)."""
        return self._embed(self._validate_predict(X))

    def _embed(self, X: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must implement _embed")
