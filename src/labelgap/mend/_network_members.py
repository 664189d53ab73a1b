"""Networks of the portfolio: on the observed entries, and on imputed labels."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from labelgap.mend._member import Member, Teaching

__all__ = ["ImputedNetworkMember", "NetworkMember"]


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

        self.model = LabelNet(
            teaching.found.get("hidden_layer_sizes", "auto"),
            n_networks=teaching.n_folds,
            device=self.limits.device,
            callback=over_time,
            random_state=self.seed,
        )
        self._learn(teaching)
        teaching.found["hidden_layer_sizes"] = self.model.hidden_layer_sizes_
        self.model.set_params(callback=None)
        out_of_fold = self.model.oof_proba_
        if np.isnan(out_of_fold).any():
            self.gave_up = "the time limit came before the first pass over the rows"
            return None
        return out_of_fold

    def _learn(self, teaching: Teaching) -> None:
        self.model.fit(teaching.X, teaching.labels, folds=teaching.folds)

    def predict_without(self, fold: int, X: Any) -> np.ndarray:
        return self.model.predict_proba(X, network=fold)

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

    def _learn(self, teaching: Teaching) -> None:
        imputed = teaching.imputed
        assert imputed is not None
        self.label_frequency = imputed.label_frequency
        self.model.fit(
            teaching.X,
            teaching.labels,
            folds=teaching.folds,
            pseudo_labels=imputed.of_fold,
            label_frequency=imputed.label_frequency,
        )
        self.model.oof_proba_ *= self.label_frequency

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X) * self.label_frequency
