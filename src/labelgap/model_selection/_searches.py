"""Searches for parameters as in scikit-learn, with labels that have gaps."""

from __future__ import annotations

from typing import Any

from sklearn import model_selection

from labelgap.model_selection._splits_and_scorers import as_scorers, as_splitter


class _SearchOfLabels:
    """Read ``cv`` and ``scoring`` for labels with gaps before scikit-learn's search does."""

    cv: Any
    scoring: Any

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Any:
        """Try the candidates on folds, and fit the best one on all rows.

        Parameters
        ----------
        X : array-like with n_samples rows
        y : Labels, array or frame with NaN, or anything :func:`labelgap.as_labels` takes
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together; a number of folds then means ``GroupKFold``.
        **params
            Further arguments of the estimator's ``fit``.

        Returns
        -------
        self
        """
        given = self.cv, self.scoring
        self.cv = as_splitter(self.cv, y, groups)
        self.scoring = as_scorers(self.scoring, y)
        if groups is not None:
            params["groups"] = groups
        try:
            return super().fit(X, y, **params)  # type: ignore[misc]
        finally:
            self.cv, self.scoring = given


class GridSearchCV(_SearchOfLabels, model_selection.GridSearchCV):
    """Search a grid of parameters by cross-validation on labels that have gaps.

    :class:`sklearn.model_selection.GridSearchCV`, which refuses NaN in ``y``, with two differences:
    a number of folds is stratified by all labels, and metrics given by name skip unknown entries.
    All parameters and attributes are scikit-learn's.

    See Also
    --------
    cross_validate : Says what ``cv`` and ``scoring`` may be.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import KNeighborsLabels
    >>> from labelgap.model_selection import GridSearchCV
    >>> X = np.arange(24.0)[:, None]
    >>> Y = np.column_stack([X[:, 0] > 8, X[:, 0] > 15]).astype(float)
    >>> Y[::5, 0] = np.nan
    >>> search = GridSearchCV(KNeighborsLabels(), {"n_neighbors": [3, 15]}, cv=3, scoring="log_loss")
    >>> search.fit(X, Y).best_params_
    {'n_neighbors': 3}
    """


class RandomizedSearchCV(_SearchOfLabels, model_selection.RandomizedSearchCV):
    """Search parameters drawn at random by cross-validation on labels that have gaps.

    :class:`sklearn.model_selection.RandomizedSearchCV` with the differences of
    :class:`GridSearchCV`. All parameters and attributes are scikit-learn's.

    See Also
    --------
    GridSearchCV : Tries all candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import KNeighborsLabels
    >>> from labelgap.model_selection import RandomizedSearchCV
    >>> X = np.arange(24.0)[:, None]
    >>> Y = np.column_stack([X[:, 0] > 8, X[:, 0] > 15]).astype(float)
    >>> Y[::5, 0] = np.nan
    >>> grid = {"n_neighbors": [3, 15]}
    >>> search = RandomizedSearchCV(KNeighborsLabels(), grid, n_iter=2, cv=3, scoring="log_loss")
    >>> search.fit(X, Y).best_params_
    {'n_neighbors': 3}
    """
