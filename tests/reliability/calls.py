"""Cases of other calls: metrics, audits, imputation, protocols and streams on odd input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier

from labelgap import Labels, Mend, as_labels, audit, impute
from labelgap.imputers import FactorImputer, NeighborsImputer, PerLabelImputer, RidgeImputer
from labelgap.metrics import METRICS, evaluate
from labelgap.protocols import LABEL_PROTOCOLS, PROTOCOLS
from reliability import fits
from reliability.fits import Fit, encoded_features, encoded_labels, features, label_matrix
from reliability.outcomes import Outcome, outcome_of

IMPUTERS = (None, RidgeImputer(), NeighborsImputer(), PerLabelImputer(), FactorImputer(2))


def _probabilities(X: Any) -> Any:
    """Numbers in the unit interval where they can be; what else came otherwise."""
    return abs(X) % 1 if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X


def _measured(name: str) -> Callable[[Any, Any], Any]:
    metric = METRICS[name]
    forms = {"probabilities": _probabilities, "labels": lambda X: X, "scores": lambda X: X}
    more = {"propensities": np.full(200, 0.5)} if "propensity" in name else {}

    def call(scores: Any, Y: Any) -> Any:
        given = {key: value[: np.shape(scores)[1]] for key, value in more.items()}
        return metric(Y, forms[metric.needs](scores), **given)

    return call


def _hidden(name: str) -> Callable[[Any, Any], Any]:
    def call(X: Any, Y: Any) -> Any:
        labels = as_labels(Y)
        hidden = PROTOCOLS[name](labels, 0.4, random_state=0)
        assert (hidden.restore().states() == labels.states()).all(), "restore() gives other labels"
        return hidden.labels.states()

    return call


def _audited(X: Any, Y: Any) -> Any:
    made = audit(X, Y, n_suggestions=5)
    return [made.summary.n_items, made.summary.n_labels, *(s.probability for s in made.suggestions)]


def _imputed(imputer: Any) -> Callable[[Any, Any], Any]:
    def call(X: Any, Y: Any) -> Any:
        found = impute(X, Y, imputer)
        made = np.zeros(as_labels(Y).shape)
        made[found.rows, found.labels] = found.probabilities
        return made

    return call


def _streamed(X: Any, Y: Any) -> Any:
    learner = SGDClassifier(loss="log_loss", random_state=0)
    stream = Mend(learner).partial_fit(X, Y)
    return stream.partial_fit(X, Y).predict_proba(X)


def _known(X: Any, Y: Any) -> Any:
    return Mend(LogisticRegression()).fit(X, Y).predict_proba(X, known=Y)


def _weighted(X: Any, Y: Any) -> Any:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    weights = np.arange(n) % 3
    return Mend(LogisticRegression()).fit(X, Y, sample_weight=weights).predict_proba(X)


def _round_trips(X: Any, Y: Any) -> Any:
    labels = as_labels(Y)
    states = labels.states()
    again = {
        "signed": Labels.from_signed(labels.to_signed()),
        "frame": Labels.from_frame(labels.to_frame()),
        "dense": Labels.from_dense(labels.to_dense()),
    }
    for name, other in again.items():
        if labels.implicit != "unlabeled":
            assert (other.states() == states).all(), f"other labels through {name}"
    return states


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: _measured(name) for name in METRICS},
    "evaluate": lambda scores, Y: list(evaluate(Y, scores).values()),
    **{f"hide {name}": _hidden(name) for name in LABEL_PROTOCOLS},
    **{f"impute {imputer}": _imputed(imputer) for imputer in IMPUTERS},
    "audit": _audited,
    "stream": _streamed,
    "known": _known,
    "weights": _weighted,
    "round trips": _round_trips,
}
_ON_SCORES = {*METRICS, "evaluate"}


def draw(seed: int) -> Fit:
    """The case of a seed: its call in turn, with input as odd as that of fits."""
    fit = fits.draw(seed)._replace(name=list(CALLS)[seed % len(CALLS)])
    n, _, n_labels = fit.shape
    return fit._replace(shape=(n, n_labels, n_labels)) if fit.name in _ON_SCORES else fit


def run(fit: Fit) -> Outcome:
    """Call, and compare with what the plain encoding gives."""
    if fit.needs:
        return Outcome("not installed", ", ".join(fit.needs))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        X, Y = features(fit), label_matrix(fit)
        call = CALLS[fit.name]
        found = outcome_of(lambda: call(encoded_features(fit, X), encoded_labels(fit, Y)))
        if found.kind != "right" or not _is_comparable(fit):
            return found._replace(value=None)
        plain = outcome_of(lambda: call(X, Y))
        if plain.kind != "right":
            return Outcome("wrong answer", f"the plain encoding fails: {plain.said}")
        first, second = (np.asarray(one, dtype=float) for one in (found.value, plain.value))
        same = first.shape == second.shape and np.allclose(
            first, second, rtol=1e-4, atol=1e-4, equal_nan=True
        )
        return Outcome("right") if same else Outcome("wrong answer", "another than plainly encoded")


def _is_comparable(fit: Fit) -> bool:
    return (
        fit.dtype in ("float64", "int8", "int64", "object", "int16", ">f8")
        and 1e-8 <= fit.scale <= 1e8
        and fit.values in ("normal", "counts", "zeros")
        and fit.x_form not in (*fits.SPARSE_FORMS, "list")
        and (fit.x_form not in fits.FRAMES or fits.is_plain_frame(fit))
    )
