"""Imputing again, with what was learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from labelgap import Labels
from labelgap.imputers import FactorImputer, PerLabelImputer, StackingImputer
from labelgap.imputers._per_label_imputer import centred_labels
from labelgap.labels import observed_prevalence
from labelgap.mend import Mend
from labelgap.mend._imputed_labels import held_out_pseudo_labels
from labelgap.mend._self_training import SelfTraining
from labelgap.mend._training_rows import TrainingRows
from labelgap.one_vs_rest import known_entries

FIXED = {"n_factors": 2, "lambda_u": 1.0, "lambda_v": 1.0, "lambda_w": 1.0}


@pytest.fixture(scope="module")
def problem():
    """Label 1 is relevant where label 0 is, which follows a bent line through the features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    first = (np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=300) > 1).astype(float)
    second = np.where(rng.random(300) < 0.95, first, 1 - first)
    third = (X[:, 2] + rng.normal(size=300) > 0).astype(float)
    Y = np.column_stack([first, second, third])
    return X, np.where(rng.random(Y.shape) < 0.6, np.nan, Y)


def test_pseudo_labels_are_said_by_what_did_not_see_the_row(problem):
    _, Y = problem
    labels = Labels.from_dense(Y)
    wanted = np.array([2, 0])
    soft = [known_entries(labels, label) for label in wanted]
    asked = []

    def guess(others, part, rows):
        assert np.intersect1d(others, rows).size == 0
        parts = list(part)
        for one, whole in zip(parts, soft, strict=True):
            kept = np.isin(whole.rows, others)
            np.testing.assert_array_equal(others[one.rows], whole.rows[kept])
            np.testing.assert_array_equal(one.probabilities, whole.probabilities[kept])
        asked.append(rows)
        yield np.full(rows.size, 0.9)
        yield np.full(rows.size, np.nanmean(Y[:, 0]) + 0.05)

    folds = TrainingRows(300).systematic_folds(3)
    found = held_out_pseudo_labels(guess, labels, wanted, soft, folds).toarray()
    np.testing.assert_array_equal(np.sort(np.concatenate(asked)), np.arange(300))
    expected = np.zeros(Y.shape)
    # small ones are left out, and what is known is not guessed
    expected[np.isnan(Y[:, 2]), 2] = 0.9 - found_frequency(labels, 2)
    np.testing.assert_allclose(found, expected)


def found_frequency(labels, label):
    return observed_prevalence(labels)[label]


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), Ridge()])
def test_what_is_known_of_a_row_does_not_come_back_as_a_pseudo_label(problem, estimator):
    X, Y = problem
    training = SelfTraining(estimator)
    found = []
    for value in (0.0, 1.0):
        changed = Y.copy()
        changed[0] = [value, np.nan, np.nan]
        labels = Labels.from_dense(changed)
        wanted = np.arange(3)
        soft = [known_entries(labels, label) for label in wanted]
        codes = training.pseudo_labels(TrainingRows(300), X, labels, wanted, soft).toarray()
        frequency = np.array([found_frequency(labels, label) for label in wanted])
        found.append(np.where(codes[0] == 0, 0, codes[0] + frequency))
    if isinstance(estimator, LogisticRegression):
        np.testing.assert_allclose(*found, atol=1e-9)
    assert np.abs(found[0] - found[1]).max() < 0.05


def test_margins_become_probabilities_before_they_are_guesses(problem):
    X, Y = problem
    labels = Labels.from_dense(Y)
    wanted = np.arange(3)
    soft = [known_entries(labels, label) for label in wanted]
    found = {}
    for estimator in (LogisticRegression(C=1e6), LinearSVC(), Ridge()):
        codes = (
            SelfTraining(estimator)
            .pseudo_labels(TrainingRows(300), X, labels, wanted, soft)
            .toarray()
        )
        probabilities = codes + observed_prevalence(labels)
        found[type(estimator).__name__] = probabilities[(codes != 0).any(axis=1)]
        assert 0 <= probabilities.min() <= probabilities.max() <= 1
    assert abs(found["LinearSVC"].mean() - found["LogisticRegression"].mean()) < 0.05
    assert abs(found["Ridge"].mean() - found["LogisticRegression"].mean()) < 0.05


def test_pseudo_labels_stand_in_the_place_of_codes(problem):
    X, Y = problem
    pseudo_labels = sparse.csr_array(np.where(np.isnan(Y), 0.3, 0.0))
    labels = Labels.from_dense(Y)
    imputer = PerLabelImputer().fit(X, labels)
    codes = centred_labels(labels, imputer.prevalence_, pseudo_labels).toarray()
    np.testing.assert_allclose(codes, np.where(np.isnan(Y), 0.3, Y - imputer.prevalence_))


PRECISE = PerLabelImputer(LogisticRegression(tol=1e-9))
IMPUTERS = [
    PRECISE,
    PerLabelImputer(RandomForestClassifier(5, random_state=0)),
    StackingImputer([PRECISE, PerLabelImputer(LogisticRegression(C=0.1))]),
]


@pytest.mark.parametrize("imputer", IMPUTERS)
@pytest.mark.parametrize("zeros", ["negative", "unlabeled"])
def test_a_pseudo_label_of_another_label_is_heard_and_one_at_the_label_itself_is_not(
    problem, imputer, zeros
):
    X, Y = problem
    labels = Labels.from_dense(Y if zeros == "negative" else np.nan_to_num(Y), zeros=zeros)
    unknown = np.isnan(Y) if zeros == "negative" else np.nan_to_num(Y) == 0
    said = {}
    for label in (None, 0, 1):
        codes = np.zeros(Y.shape)
        if label is not None:
            codes[:, label] = np.where(unknown[:, label], np.sign(X[:, 1]) * 0.6, 0.0)
        training = SelfTraining(None, [imputer], rng=np.random.default_rng(0))
        given = {"pseudo_labels": sparse.csr_array(codes)}
        columns = training.impute(TrainingRows(300), X, labels, np.arange(3), 0, **given)
        said[label] = next(iter(columns))
    if not isinstance(imputer, StackingImputer):  # the weights of a stack serve all labels
        np.testing.assert_allclose(said[0], said[None], atol=1e-6)
    assert np.abs(said[1] - said[None]).max() > 0.02


def test_imputers_without_codes_have_one_iteration(problem):
    X, Y = problem
    with pytest.raises(ValueError, match=r"max_iter=2: FactorImputer\(.* gives the same"):
        Mend(LogisticRegression(), imputer=FactorImputer(), max_iter=2).fit(X, Y)
    both = [FactorImputer(**FIXED), PerLabelImputer()]
    model = Mend(LogisticRegression(), imputer=both, max_iter=2).fit(X, Y)
    labelwise = model.validation_.candidate.imputer == 1
    assert len(model.validation_.iteration_losses) == (2 if labelwise else 0)
    only_factors = Mend(
        LogisticRegression(), imputer=[FactorImputer(**FIXED), Worthless()], max_iter=2
    ).fit(X, Y)
    assert only_factors.validation_.candidate.imputer == 0
    assert only_factors.validation_.iteration_losses == ()


class Worthless(PerLabelImputer):
    """Says the opposite of what it should."""

    def columns(self, X, labels, **options):
        for column in super().columns(X, labels, **options):
            yield 1 - column


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": LinearSVC()},
        {"estimator": Ridge()},
        {"estimator": RandomForestClassifier(5, random_state=0)},
        {"imputer": StackingImputer([PerLabelImputer(), FactorImputer(**FIXED)])},
        {"imputer": [PerLabelImputer(), PerLabelImputer(label_variance=1.0)]},
    ],
)
def test_iterations_go_on_while_the_log_loss_falls(problem, options):
    X, Y = problem
    model = Mend(**{"estimator": LogisticRegression(), "max_iter": 4} | options).fit(X, Y)
    assert ((model.predict_proba(X) >= 0) & (model.predict_proba(X) <= 1)).all()
    result = model.validation_
    losses = result.iteration_losses
    if result.candidate.weight == 0:
        assert losses == ()
        return
    assert 2 <= len(losses) <= 4
    assert (np.diff(losses[:-1]) < 0).all()
    assert len(losses) == 4 or losses[-1] >= losses[-2]
    assert losses[0] == pytest.approx(result.log_losses[result.candidates.index(result.candidate)])
    assert result.n_iter == np.argmin(losses) + 1
    assert model.n_iter_ in (1, result.n_iter)


def test_one_iteration_is_the_default_and_none_is_counted(problem):
    X, Y = problem
    model = Mend(LogisticRegression()).fit(X, Y)
    assert model.n_iter_ == 1
    assert model.validation_.iteration_losses == ()
    assert Mend(LogisticRegression(), max_iter=3).fit(X, np.nan_to_num(Y)).n_iter_ == 1


def test_a_second_iteration_changes_what_is_completed(problem):
    X, Y = problem
    # what a forest makes of the bent line is news to a linear imputer
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    once, more = (Mend(forest, PerLabelImputer(), max_iter=n).fit(X, Y) for n in (1, 3))
    assert more.n_iter_ > 1
    assert (
        np.abs((once.imputed_.probabilities - more.imputed_.probabilities).toarray()).max() > 0.01
    )


def test_iterations_with_unlabeled_zeros(problem):
    X, Y = problem
    recorded = np.nan_to_num(Y)
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    found = []
    for how in ("estimate", 0.5, [0.5, 0.5, 0.9]):
        for classifier in (LogisticRegression(), forest):
            options = {"zeros": "unlabeled", "label_frequency": how, "max_iter": 3}
            model = Mend(classifier, PerLabelImputer(), **options).fit(X, recorded)
            assert np.isfinite(model.predict_proba(X)).all()
            found.append(model.n_iter_)
    assert max(found) > 1


def test_what_decides_is_the_validation_of_the_iteration_that_is_used(problem):
    """Margins are made probabilities by the sigmoid of that scored."""
    X, Y = problem
    sigmoids = {}
    for rounds in (1, 2):
        model = Mend(LinearSVC(), max_iter=rounds, random_state=1).fit(X, Y)
        sigmoids[model.n_iter_] = model._sigmoid
    assert len(sigmoids) == 2
    assert sigmoids[1] != sigmoids[2]
