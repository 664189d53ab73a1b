"""Mend as scikit-learn's users know estimators: weights, groups, thresholds, streams, frames, files."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from labelgap import Mend, as_labels
from labelgap.fitting import ProgressBar
from labelgap.imputers import draw_folds
from labelgap.mend._portfolio_members import MEMBERS_OF_PRESET
from labelgap.mend._selection import hold_out
from labelgap.mend._training_rows import TrainingRows, class_weighted
from labelgap.one_vs_rest import SoftLabel

ROWS, LABELS = 160, 3


@pytest.fixture
def table(rng):
    X = rng.normal(size=(ROWS, 4))
    full = (X @ rng.normal(size=(4, LABELS)) + 0.5 * rng.normal(size=(ROWS, LABELS)) > 0.3) * 1.0
    return X, full, np.where(rng.random(full.shape) < 0.3, np.nan, full)


PRECISE = LogisticRegression(tol=1e-10, max_iter=1000)


def test_weights_of_complete_rows_are_those_of_the_classifier(table, rng):
    X, full, _ = table
    weights = rng.random(ROWS)
    model = Mend(PRECISE).fit(X, full, sample_weight=weights)
    for label in range(LABELS):
        expected = clone(PRECISE).fit(X, full[:, label], sample_weight=weights)
        found = model.estimators_[label]
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)


def test_class_weights_of_complete_rows_are_those_of_the_classifier(table):
    X, full, _ = table
    for given in ("balanced", {0: 1, 1: 4}):
        model = Mend(PRECISE, class_weight=given).fit(X, full)
        expected = clone(PRECISE).set_params(class_weight=given).fit(X, full[:, 0])
        np.testing.assert_allclose(model.estimators_[0].coef_, expected.coef_, atol=1e-5)
    with pytest.raises(ValueError, match="class_weight has the key 'spam'"):
        Mend(PRECISE, class_weight={"spam": 2}).fit(X, full)
    with pytest.raises(ValueError, match="class_weight is for one classifier per label"):
        Mend(class_weight="balanced").fit(X, full)


def test_a_probability_is_two_weighted_entries():
    one = SoftLabel(np.arange(3), np.array([0.0, 0.3, 1.0]), np.array([1.0, 2.0, 1.0]))
    _, p, weights = class_weighted(one, {0: 3, 1: 5})
    np.testing.assert_allclose(weights * p, one.weights * one.probabilities * 5)
    np.testing.assert_allclose(weights * (1 - p), one.weights * (1 - one.probabilities) * 3)
    _, p, weights = class_weighted(one, "balanced")
    assert (weights * p).sum() == pytest.approx((weights * (1 - p)).sum())


def test_whole_weights_of_several_models_are_copies(table):
    X, _, gaps = table
    weights = 1 + np.arange(ROWS) % 2
    copies = TrainingRows.read(X, weights, None).copies()
    np.testing.assert_array_equal(np.bincount(copies), weights)
    table_ = TrainingRows.read(X, np.random.default_rng(0).random(ROWS), None)
    assert abs(table_.copies().size - 2 * ROWS) <= 1
    model = Mend().fit(X, gaps, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()


def test_groups_are_divided_by_no_split():
    groups = np.repeat(np.arange(20), 8)[np.random.default_rng(1).permutation(160)]
    rng = np.random.default_rng(0)
    learned, held = hold_out(160, 0.25, rng, groups)
    assert not set(groups[learned]) & set(groups[held])
    assert 20 <= held.size <= 60
    table = TrainingRows.read(np.zeros((160, 1)), None, groups)
    for folds in (draw_folds(160, rng, groups), table.systematic_folds(3)):
        np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(160))
        seen = [set(groups[rows]) for rows in folds]
        assert len(set.union(*seen)) == sum(map(len, seen))


class Nosy(LogisticRegression):
    """Remembers how many rows of each group a fit saw; the first feature names the group."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Nosy.seen.append(np.unique(X[:, 0].round(6), return_counts=True)[1])
        return super().fit(X, y, sample_weight)


def test_validation_and_the_portfolio_keep_groups_together(table):
    X, full, _ = table
    groups = np.arange(ROWS) // 4
    X = X.copy()
    X[:, 0] = groups / 40
    Nosy.seen = []
    unlabeled = Mend(Nosy(), zeros="unlabeled").fit(X, full, groups=groups)
    assert unlabeled.thresholds_.shape == (LABELS,)
    assert len(Nosy.seen) > LABELS
    # all rows of a group or none; a row with a soft label stands there twice
    assert all(counts.min() >= 4 for counts in Nosy.seen)
    assert any(counts.size < 40 for counts in Nosy.seen)
    model = Mend().fit(X, full, groups=groups)
    skipped = {row.name: row.skipped for row in model.leaderboard_}
    assert not skipped["linear"]
    with pytest.raises(ValueError, match="groups has 3 rows, X has 160"):
        Mend().fit(X, full, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="all rows are in one group"):
        Mend().fit(X, full, groups=np.zeros(ROWS))


@pytest.mark.parametrize("model", [Mend(preset="fast"), Mend()], ids=["fast", "auto"])
def test_thresholds_are_given_or_set(table, model):
    X, _, gaps = table
    wanted = [0.1, 0.5, 0.9]
    model = clone(model).set_params(threshold=wanted).fit(X, gaps)
    np.testing.assert_array_equal(model.thresholds_, wanted)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), (proba > wanted).astype(int))
    model.thresholds_ = np.zeros(LABELS)
    assert model.predict(X).all()
    assert clone(model).set_params(threshold=0.3).fit(X, gaps).thresholds_.tolist() == [0.3] * 3
    for wrong, said in (([0.5], "one for each of the 3"), ([0.1, 2, 0], r"threshold\[1\] = 2")):
        with pytest.raises(ValueError, match=said):
            clone(model).set_params(threshold=wrong).fit(X, gaps)


def test_a_stream(table):
    X, full, gaps = table
    model = Mend(SGDClassifier(loss="log_loss", random_state=0), threshold=0.4)
    expected = SGDClassifier(loss="log_loss", random_state=0)
    for rows in np.array_split(np.arange(ROWS), 4):
        model.partial_fit(X[rows], gaps[rows])
        known = rows[~np.isnan(gaps[rows, 1])]
        expected.partial_fit(X[known], gaps[known, 1], classes=[0, 1])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected.predict_proba(X)[:, 1])
    assert model.predict(X).shape == full.shape
    assert not hasattr(Mend(), "partial_fit")
    with pytest.raises(ValueError, match="give numbers; a stream cannot"):
        Mend(SGDClassifier(), zeros="unlabeled").partial_fit(X, full)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_have_names_and_index(table, container):
    pytest.importorskip(container)
    X, _, gaps = table
    items = [f"item {i}" for i in range(ROWS)]
    features = pd.DataFrame(X, index=items, columns=list("wxyz"))
    labels = pd.DataFrame(gaps, index=items, columns=["a", "b", "c"])
    model = Mend(preset="fast").set_output(transform=container).fit(features, labels)
    plain = Mend(preset="fast").fit(features, labels)
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(features)
        assert list(found.columns) == ["a", "b", "c"]
        np.testing.assert_array_equal(found.to_numpy(), getattr(plain, method)(features))
        if container == "pandas":
            assert found.index.tolist() == items
    assert list(clone(model).fit(features, labels).predict(features).columns) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="use one of 'default', 'pandas', 'polars'"):
        model.set_output(transform="excel")


def test_a_callback_hears_every_label_and_a_bar_draws_them(table):
    X, _, gaps = table
    heard = []
    Mend(LogisticRegression(), callback=heard.append).fit(X, gaps)
    assert len(heard) >= 2 * LABELS
    assert [one.iteration for one in heard] == list(range(len(heard)))
    assert all(one.iteration < one.max_iter for one in heard)
    drawn = io.StringIO()
    Mend(callback=ProgressBar("Mend", file=drawn)).fit(X, gaps)
    assert drawn.getvalue().count("\r") == len(MEMBERS_OF_PRESET["balanced"])


@pytest.mark.parametrize("model", [Mend(preset="fast"), Mend(), Mend(LinearSVC())], ids=str)
def test_a_pipeline_goes_through_skops(table, model):
    skops = pytest.importorskip("skops.io")
    X, _, gaps = table
    fitted = make_pipeline(StandardScaler(), clone(model)).fit(X, gaps)
    document = skops.dumps(fitted)
    again = skops.loads(document, trusted=skops.get_untrusted_types(data=document))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("n_relevant", [1, 2, 3])
def test_margins_of_a_rare_label(table, n_relevant):
    X, _, gaps = table
    gaps[:, 0] = np.where(np.isnan(gaps[:, 0]), np.nan, 0)
    gaps[:n_relevant, 0] = 1
    proba = Mend(LinearSVC()).fit(X, as_labels(gaps)).predict_proba(X)
    assert np.isfinite(proba).all()
