"""Networks of the portfolio: on the observed entries, and on imputed labels."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import Normalizer

from labelgap.mend._member import Member, Teaching

__all__ = ["ImputedNetworkMember", "NetworkMember"]

# unit rows gain on bibtex (1,836 features), and lose on corel5k (499)
_MANY_FEATURES = 1000
# rows that a network sees at most, in all its passes, and the bounds of these
_MOST_ROWS_SEEN, _PASSES = 2_000_000, (20, 200)


class NetworkMember(Member):
    """Networks for all labels, each without the rows of a fold, with a loss at the observed entries."""

    name = "network"

    def reason_to_skip(self, teaching: Teaching) -> str:
        if find_spec("torch") is None:
            return "torch is not installed: pip install 'labelgap[networks]'"
        return ""

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        from labelgap.networks import LabelNet

        begin = time.perf_counter()

        def over_time(progress: Any) -> bool:
            return seconds is not None and time.perf_counter() - begin > seconds / 2

        X = teaching.X
        long_rows = sparse.issparse(X) and X.shape[1] >= _MANY_FEATURES
        self.scaler = Normalizer() if long_rows else None
        self.model = LabelNet(
            teaching.found.get("hidden_layer_sizes", "auto"),
            n_networks=teaching.n_folds,
            max_iter=int(np.clip(_MOST_ROWS_SEEN / teaching.labels.n_samples, *_PASSES)),
            device=self.limits.device,
            known_labels=False,
            callback=over_time,
            random_state=self.seed,
        )
        self._learn(self._scaled(X), teaching)
        teaching.found["hidden_layer_sizes"] = self.model.hidden_layer_sizes_
        self.model.set_params(callback=None)
        out_of_fold = self.model.oof_proba_
        if np.isnan(out_of_fold).any():
            self.gave_up = "the time limit came before the first pass over the rows"
            return None
        return out_of_fold

    def _learn(self, X: Any, teaching: Teaching) -> None:
        self.model.fit(X, teaching.labels, folds=teaching.folds)

    def _scaled(self, X: Any) -> Any:
        """Give sparse rows of many features unit length; a network standardises dense ones itself."""
        return X if self.scaler is None else self.scaler.transform(X)

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self._scaled(X))

    def predict_without(self, fold: int, X: Any) -> np.ndarray:
        return self.model.predict_proba(self._scaled(X), without=fold)

    def forget_training_rows(self) -> None:
        self.model._forget_training_rows()


class ImputedNetworkMember(NetworkMember):
    """Networks that learn from imputed labels, and stop by the observed entries."""

    name = "network on imputed labels"
    learns_from_imputed = True

    def reason_to_skip(self, teaching: Teaching) -> str:
        reason = super().reason_to_skip(teaching)
        if not reason and teaching.imputed is not None and not teaching.imputed.has_gaps:
            return "no label is missing"
        return reason

    def _learn(self, X: Any, teaching: Teaching) -> None:
        imputed = teaching.imputed
        assert imputed is not None
        self.label_frequency = imputed.label_frequency
        self.model.fit(
            X,
            teaching.labels,
            folds=teaching.folds,
            pseudo_labels=imputed.of_fold,
            label_frequency=imputed.label_frequency,
        )
        self.model.oof_proba_ *= self.label_frequency

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(X) * self.label_frequency
