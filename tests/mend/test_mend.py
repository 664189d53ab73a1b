"""The user's classifier on imputed labels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance, LabelPrior, Labels, metrics
from labelgap.imputers import EstimatorImputer, Imputer, PerLabelImputer
from labelgap.labels import LabelWarning, State
from labelgap.mend import Mend
from labelgap.mend._selection import expected_f1_helps, expected_f1_threshold
from labelgap.protocols import hide_entries


def generate(n_samples, seed=0, n_labels=6):
    """Labels share a factor that features tell in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    factor = X[:, 0] + 1.5 * rng.normal(size=n_samples)
    loads = np.linspace(1.5, 3, n_labels)
    noise = 0.5 * rng.normal(size=(n_samples, n_labels))
    Y = (factor[:, None] * loads + X[:, 1:2] + noise > 1).astype(float)
    return X, Y


def with_gaps(Y, fraction, seed=1):
    return np.where(np.random.default_rng(seed).random(Y.shape) < fraction, np.nan, Y)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), KNeighborsClassifier(3), RandomForestClassifier(5, random_state=0)],
)
def test_without_gaps_it_is_the_plain_classifier(estimator):
    X, Y = generate(120)
    mend = Mend(estimator).fit(X, Y)
    plain = BinaryRelevance(estimator).fit(X, Y)
    np.testing.assert_allclose(mend.predict_proba(X), plain.predict_proba(X), atol=1e-12)
    assert mend.validation_ is None
    assert mend.imputed_.probabilities.nnz == 0
    assert mend.imputed_.imputer == ""


def test_it_learns_more_from_the_same_labels():
    X, Y = generate(300)
    X_test, Y_test = generate(4000, seed=5)
    gains = []
    for seed in range(5):
        seen = with_gaps(Y, 0.6, seed)
        losses = [
            metrics.log_loss(Y_test, one.fit(X, seen).predict_proba(X_test))
            for one in (BinaryRelevance(), Mend(LogisticRegression()))
        ]
        gains.append(losses[0] - losses[1])
    assert np.mean(gains) > 0
    assert np.sum(np.array(gains) > 0) >= 4


class Wrong(Imputer):
    """Says the opposite of what is."""

    def fit(self, X, labels, wanted=None):
        self.inner_ = PerLabelImputer().fit(X, labels, wanted)
        return self

    def columns(self, X, labels):
        for column in self.inner_.columns(X, labels):
            yield 1 - column


def test_a_imputation_that_misleads_is_not_used():
    X, Y = generate(300)
    seen = with_gaps(Y, 0.5)
    mend = Mend(LogisticRegression(), imputer=Wrong()).fit(X, seen)
    assert mend.validation_.candidate.weight == 0
    assert not mend.imputed_.weights.any()
    plain = BinaryRelevance(LogisticRegression()).fit(X, seen)
    np.testing.assert_allclose(mend.predict_proba(X), plain.predict_proba(X), atol=1e-12)


def test_what_was_imputed():
    X, Y = generate(400)
    seen = with_gaps(Y, 0.5)
    mend = Mend(LogisticRegression()).fit(X, seen)
    probabilities, weights, imputer = mend.imputed_
    assert imputer == "PerLabelImputer(estimator=LogisticRegression())"
    assert weights.any()
    filled = probabilities.toarray()
    assert not filled[~np.isnan(seen)].any()
    hidden = np.isnan(seen) & (weights > 0)
    assert metrics.auc(np.where(hidden, Y, np.nan), filled, average="micro") > 0.9
    names = BinaryRelevance().fit(X, seen).predict_proba(X)
    assert metrics.auc(np.where(hidden, Y, np.nan), names, average="micro") < 0.9


def test_positive_only_labels_give_probabilities_of_relevance():
    X, Y = generate(2000)
    X_test, Y_test = generate(2000, seed=5)
    recorded = Y * (np.random.default_rng(2).random(Y.shape) < 0.6)
    plain = BinaryRelevance().fit(X, recorded)
    mend = Mend(LogisticRegression(), zeros="unlabeled").fit(X, recorded)
    assert 0.5 < mend.label_frequency_ < 0.8
    scores = [metrics.log_loss(Y_test, one.predict_proba(X_test)) for one in (plain, mend)]
    assert scores[1] < scores[0] - 0.02
    told = Mend(LogisticRegression(), zeros="unlabeled", label_frequency=0.6).fit(X, recorded)
    assert told.label_frequency_ == 0.6
    means = [abs(one.predict_proba(X_test).mean() - Y_test.mean()) for one in (plain, told)]
    assert means[1] < means[0] / 3


@pytest.mark.parametrize(
    "classifier",
    [
        Ridge(),
        LinearSVC(),
        KNeighborsClassifier(5),
        LogisticRegressionCV(
            Cs=2, cv=2, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
        ),
        LogisticRegression(l1_ratio=1.0, solver="liblinear"),
    ],
)
def test_any_classifier_or_regressor(classifier):
    X, Y = generate(200)
    seen = with_gaps(Y, 0.4)
    mend = Mend(classifier).fit(X, seen)
    probabilities = mend.predict_proba(X)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert metrics.auc(Y, probabilities, average="macro") > 0.75
    complete = Mend(classifier).fit(X, Y).predict_proba(X)
    assert metrics.auc(Y, complete, average="macro") > 0.75


def test_any_estimator_as_imputer():
    X, Y = generate(150)
    mend = Mend(LogisticRegression(), imputer=EstimatorImputer(LabelPrior())).fit(
        X, with_gaps(Y, 0.4)
    )
    assert mend.predict_proba(X).shape == Y.shape


def test_sparse_features_and_labels():
    X, Y = generate(150)
    labels = Labels.from_dense(with_gaps(Y, 0.4))
    dense = Mend(LogisticRegression(tol=1e-8)).fit(X, labels).predict_proba(X)
    S = sparse.csr_array(X)
    found = Mend(LogisticRegression(tol=1e-8)).fit(S, labels).predict_proba(S)
    np.testing.assert_allclose(found, dense, atol=1e-4)


def test_a_column_of_unknowns_is_named():
    X, Y = generate(100)
    seen = with_gaps(Y, 0.3)
    seen[:, 2] = np.nan
    with pytest.warns(LabelWarning, match="label 2 has no observed entry"):
        mend = Mend(LogisticRegression()).fit(X, seen)
    assert np.ptp(mend.predict_proba(X)[:, 2]) == 0


def test_hardly_anything_known():
    X, Y = generate(30)
    seen = np.full(Y.shape, np.nan)
    seen[:2] = Y[:2]
    mend = Mend(LogisticRegression()).fit(X, seen)
    assert mend.validation_.labels.size == 0
    assert not mend.imputed_.weights.any()


@pytest.mark.parametrize("seed", range(3))
def test_expected_f1_threshold_against_all_thresholds(seed):
    p = np.random.default_rng(seed).beta(0.5, 2, size=50)

    def promised(t):
        chosen = p > t
        return 2 * p[chosen].sum() / max(chosen.sum() + p.sum(), 1e-12)

    best = max(promised(t) for t in np.append(p, [0.0]) - 1e-12)
    assert promised(expected_f1_threshold(p)) == pytest.approx(best)


def test_thresholds_decide():
    X, Y = generate(200)
    Y = (Y.cumsum(axis=1) > 5).astype(float)  # rare ones
    half = Mend(LogisticRegression(), threshold="half").fit(X, with_gaps(Y, 0.3))
    lower = Mend(LogisticRegression(), threshold="expected_f1").fit(X, with_gaps(Y, 0.3))
    assert (half.thresholds_ == 0.5).all()
    expected = (lower.predict_proba(X) > lower.thresholds_).astype(int)
    np.testing.assert_array_equal(lower.predict(X), expected)
    assert lower.predict(X).sum() > half.predict(X).sum()


def test_only_labels_that_were_imputed_get_a_threshold():
    X, Y = generate(300)
    Y[:, 1:] = with_gaps(Y, 0.6)[:, 1:]
    model = Mend(LogisticRegression()).fit(X, Y)
    everywhere = Mend(LogisticRegression(), threshold="expected_f1").fit(X, Y).thresholds_
    imputed = model.imputed_.weights > 0
    assert imputed.any()
    assert not imputed[0]
    used = imputed & (model.thresholds_ != 0.5).any()
    np.testing.assert_array_equal(model.thresholds_, np.where(used, everywhere, 0.5))
    assert everywhere[0] != 0.5


class Opposite(Imputer):
    """Says the opposite of the truth."""

    def __init__(self, truth=None):
        self.truth = truth

    def fit(self, X, labels, wanted=None):
        self.wanted_ = wanted
        return self

    def columns(self, X, labels):
        rows = X[:, -1].astype(int)
        for label in self.wanted_:
            yield np.clip(1 - self.truth[rows, label], 0.05, 0.95)


@pytest.mark.parametrize("place", [0, 1])
def test_validation_choose_among_imputers(place):
    X, Y = generate(300)
    X = np.column_stack([X, np.arange(300)])
    imputers = [Opposite(Y), Opposite(Y)]
    imputers[place] = PerLabelImputer()
    model = Mend(LogisticRegression(), imputer=imputers).fit(X, with_gaps(Y, 0.6))
    assert model.validation_.candidate.weight > 0
    assert model.validation_.candidate.imputer == place
    alone = Mend(LogisticRegression(), imputer=PerLabelImputer()).fit(X, with_gaps(Y, 0.6))
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X))


def test_a_given_rate_still_chooses_the_imputer():
    X, Y = generate(300)
    X = np.column_stack([X, np.arange(300)])
    recorded = np.where(np.random.default_rng(2).random(Y.shape) < 0.5, 0.0, Y)
    imputers = [Opposite(Y), PerLabelImputer()]
    model = Mend(
        LogisticRegression(), imputer=imputers, label_frequency=0.5, zeros="unlabeled"
    ).fit(X, recorded)
    assert model.validation_.candidate == (1.0, 0.75, 1)
    assert model.label_frequency_ == 0.5
    alone = Mend(
        LogisticRegression(),
        imputer=imputers,
        label_frequency=0.5,
        zeros="unlabeled",
        ensemble=False,
    )
    assert alone.fit(X, recorded).validation_.candidate == (1.0, 0.5, 1)
    assert (model.imputed_.weights == 1).all()


@pytest.mark.parametrize(
    ("imputer", "error", "message"),
    [
        ([PerLabelImputer(), LogisticRegression()], TypeError, r"imputer\[1\] is Logistic"),
        ([], ValueError, "imputer is empty"),
    ],
)
def test_imputers_that_are_none(imputer, error, message):
    X, Y = generate(60)
    with pytest.raises(error, match=message):
        Mend(LogisticRegression(), imputer=imputer).fit(X, with_gaps(Y, 0.3))


def test_whether_thresholds_help_is_measured():
    honest = np.array([0.4, 0.4, 0.3, 0.05, 0.05, 0.05])
    rare = np.array([1, 1, 0, 0, 0, 0])
    assert expected_f1_helps([honest], [rare])
    too_high = np.array([0.45, 0.45, 0.45, 0.45, 0.9, 0.9])
    assert not expected_f1_helps([too_high], [np.array([0, 0, 0, 0, 1, 1])])
    assert not expected_f1_helps([honest], [np.zeros(6)])


def test_the_mean_of_what_is_learned_with_and_without_imputation():
    X, Y = generate(300)
    seen = with_gaps(Y, 0.5)
    precise = LogisticRegression(tol=1e-10)
    imputer = PerLabelImputer(precise)
    averaged = Mend(precise, imputer, ensemble=True).fit(X, seen)
    alone = Mend(precise, imputer, ensemble=False).fit(X, seen)
    both = (averaged.imputed_.weights > 0) & (alone.imputed_.weights > 0)
    assert both.sum() >= 3
    assert sorted(averaged.plain_estimators_) == np.flatnonzero(averaged.imputed_.weights).tolist()
    assert not alone.plain_estimators_
    plain = BinaryRelevance(precise).fit(X, seen).predict_proba(X)
    mean = (plain + alone.predict_proba(X)) / 2
    np.testing.assert_allclose(averaged.predict_proba(X)[:, both], mean[:, both], atol=1e-7)
    chosen = Mend(precise, imputer).fit(X, seen)
    np.testing.assert_allclose(chosen.predict_proba(X), alone.predict_proba(X))


def test_unlabeled_zeros_are_averaged():
    X, Y = generate(300)
    recorded = Y * (np.random.default_rng(2).random(Y.shape) < 0.6)
    given = {"zeros": "unlabeled", "label_frequency": 0.6}
    chosen, averaged, alone = (
        Mend(LogisticRegression(), **given, ensemble=ensemble).fit(X, recorded).predict_proba(X)
        for ensemble in ("auto", True, False)
    )
    np.testing.assert_allclose(chosen, averaged)
    assert np.abs(chosen - alone).max() > 1e-3


def test_forests_are_averaged():
    X, Y = generate(300)
    seen = with_gaps(Y, 0.5)
    forest = RandomForestClassifier(10, random_state=0)
    chosen, averaged, alone = (
        Mend(forest, ensemble=ensemble, random_state=0).fit(X, seen)
        for ensemble in ("auto", True, False)
    )
    assert averaged.plain_estimators_
    assert not alone.plain_estimators_
    np.testing.assert_allclose(chosen.predict_proba(X), averaged.predict_proba(X))
    assert np.abs(chosen.predict_proba(X) - alone.predict_proba(X)).max() > 1e-3


@pytest.mark.parametrize("container", [Labels.from_dense, sparse.csr_array])
def test_what_zeros_mean_is_heard_of_any_container(container):
    X, Y = generate(300)
    recorded = Y * (np.random.default_rng(2).random(Y.shape) < 0.6)
    expected = Mend(LogisticRegression(), zeros="unlabeled").fit(X, recorded)
    found = Mend(LogisticRegression(), zeros="unlabeled").fit(X, container(recorded))
    assert found.label_frequency_ == expected.label_frequency_ < 1
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X))


def test_labels_that_tell_zeros_apart_are_taken_at_their_word():
    X, Y = generate(300)
    labels = Labels.from_dense(Y, zeros="unlabeled")
    known = np.flatnonzero(Y[:, 0] == 0)
    labels = labels.with_entries(known, np.zeros(known.size, dtype=int), State.NEGATIVE)
    mend = Mend(LogisticRegression(), zeros="unlabeled", label_frequency=0.7).fit(X, labels)
    assert not mend.imputed_.probabilities[:, [0]].nnz
    assert mend.imputed_.probabilities.nnz


@pytest.mark.parametrize("classifier", [LogisticRegression(), LinearSVC()])
def test_labels_that_are_not_imputed_are_told_of_relevance_as_well(classifier):
    """Else they would be ranked too low beside those that are."""
    X, Y = generate(3000)
    recorded = Y * (np.random.default_rng(2).random(Y.shape) < 0.5)
    mend = Mend(classifier, Wrong(), zeros="unlabeled").fit(X, recorded)
    left_out = mend.imputed_.weights == 0
    assert left_out.any()
    assert mend.label_frequency_ < 0.8
    plain = BinaryRelevance().fit(X, recorded).predict_proba(X)
    relevant = mend.predict_proba(X)
    left = [np.abs(one.mean(axis=0) - Y.mean(axis=0))[left_out] for one in (plain, relevant)]
    assert (left[1] < 0.6 * left[0]).all()


def test_labels_that_are_fitted_together_or_one_by_one():
    """Solver and kind of soft targets differ, the result hardly does."""
    X, Y = generate(300)
    seen = with_gaps(Y, 0.5)
    together = Mend(LogisticRegression()).fit(X, seen)
    apart = Mend(LogisticRegression(solver="newton-cholesky", warm_start=True)).fit(X, seen)
    difference = np.abs(together.predict_proba(X) - apart.predict_proba(X))
    assert (together.imputed_.weights > 0).tolist() == (apart.imputed_.weights > 0).tolist()
    assert difference.max() < 0.01


def test_a_device_needs_a_classifier_that_can_use_it():
    X, Y = generate(60)
    with pytest.raises(ValueError, match="device='cpu' is for LogisticRegression"):
        Mend(RandomForestClassifier(), device="cpu").fit(X, Y)


def test_a_row_tells_nothing_of_what_is_said_of_it():
    """Else noise, learned by heart, would look like labels that are surely there."""
    rng = np.random.default_rng(0)
    X, recorded = rng.normal(size=(300, 600)), (rng.random((300, 4)) < 0.3).astype(float)
    mend = Mend(LogisticRegression(C=100.0, tol=1e-2), zeros="unlabeled").fit(X, recorded)
    assert mend.label_frequency_ < 0.6


def test_what_was_imputed_is_what_the_fraction_recorded_stands_for():
    X, Y = generate(600)
    recorded = Y * (np.random.default_rng(2).random(Y.shape) < 0.6)
    expected = (1 - 0.6) / 0.6 * recorded.sum(axis=0)
    for ensemble in ("auto", False):
        mend = Mend(
            LogisticRegression(), zeros="unlabeled", label_frequency=0.6, ensemble=ensemble
        ).fit(X, recorded)
        assert (mend.imputed_.weights == 1).all()
        total = mend.imputed_.probabilities.sum(axis=0)
        np.testing.assert_allclose(total, expected, rtol=0.05)


def test_weights_of_unknown_entries_are_tried_beside_unlabeled_zeros():
    X, Y = generate(200)
    labels = hide_entries(Labels.from_dense(Y, zeros="unlabeled"), 0.3, random_state=0).labels
    assert labels.unlabeled
    assert labels.n_observed(unlabeled=True) < Y.size
    mend = Mend(LogisticRegression(), imputed_weights=(0.25, 1.0), label_frequency=0.7).fit(
        X, labels
    )
    assert {candidate.weight for candidate in mend.validation_.candidates} == {0.25, 1.0}


def test_a_reader_can_follow_a_fit():
    path = Path(__file__).parents[2] / "benchmarks" / "trace_fit.py"
    spec = importlib.util.spec_from_file_location("trace_fit", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    X, Y = tool.with_gaps("negative")
    found = tool.trace(lambda: Mend(LogisticRegression()).fit(X, Y))
    assert len(found.functions) <= 142
    assert len(found.files) <= 29
