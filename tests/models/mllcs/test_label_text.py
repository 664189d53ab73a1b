"""Labels known by their texts: alone, beside counts, at the fit or later."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from labelgap import MLLCS, CooccurrenceVote, Labels, LabelWarning
from labelgap.cooccurrence import as_cooccurrence, counts_with_text
from labelgap.models.mllcs._mllcs_text import _left_out, _ridge
from labelgap_papers.methods import COSTA

N_SEEN = 14


class Vectors:
    """An encoder of texts that are numbers."""

    def encode(self, texts):
        return np.array([[float(number) for number in text.split()] for text in texts])


class Problem(NamedTuple):
    X: np.ndarray
    Y: np.ndarray
    texts: list[str]
    counts: np.ndarray


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Items and labels with texts in one space: an item carries the labels it is like."""
    rng = np.random.default_rng(0)
    X, G = rng.normal(size=(500, 5)), rng.normal(size=(20, 5))
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    Y = (rng.random((500, 20)) < expit(3 * X @ G.T - 2)).astype(float)
    texts = [" ".join(map(str, g)) for g in G]
    return Problem(X, Y, texts, (Y[:, :N_SEEN].T @ Y).astype(int))


def quick(**parameters):
    return MLLCS(4, max_iter=10, random_state=0, text_encoder=Vectors(), **parameters)


def named(p: Problem) -> Labels:
    names = [f"label {t}" for t in range(20)]
    return Labels.from_dense(p.Y, names=names).with_unseen(range(N_SEEN, 20))


def auc(p: Problem, scores: np.ndarray) -> float:
    return float(
        np.mean([roc_auc_score(p.Y[:, N_SEEN + k], scores[:, k]) for k in range(20 - N_SEEN)])
    )


def shuffled(p: Problem) -> list[str]:
    return [*p.texts[7:], *p.texts[:7]]


def test_texts_alone_predict_and_shuffled_texts_do_not(problem):
    p = problem
    found, lost = (
        auc(p, quick().fit(p.X, named(p), label_text=t).decision_function(p.X)[:, N_SEEN:])
        for t in (p.texts, shuffled(p))
    )
    assert found > 0.8
    assert lost < found - 0.15


@pytest.mark.parametrize("unseen", ["moments", "constrained", "linear", "kernel"])
def test_texts_beside_counts(problem, unseen):
    few = np.minimum(problem.counts, 3)  # counts that say little
    few[:, :N_SEEN] = problem.counts[:, :N_SEEN]
    alone = quick(unseen=unseen).fit(problem.X, named(problem), cooccurrence=few)
    both = quick(unseen=unseen).fit(
        problem.X, named(problem), cooccurrence=few, label_text=problem.texts
    )
    found = [auc(problem, m.decision_function(problem.X, labels="unseen")) for m in (alone, both)]
    # a map from counts takes texts of labels without counts only
    least = found[0] - 1e-9 if unseen in ("linear", "kernel") else found[0]
    assert found[1] >= least
    assert both.label_text_weights_.shape == (20, 5)
    assert not both.label_text_weights_[:N_SEEN].nnz


def test_texts_in_another_space_than_items_are_mapped(problem):
    wide = np.column_stack([problem.X @ np.random.default_rng(1).normal(size=(5, 7))])
    model = quick().fit(wide, named(problem), label_text=problem.texts)
    assert model.label_text_weights_ is None
    assert auc(problem, model.decision_function(wide, labels="unseen")) > 0.75


@pytest.mark.parametrize("with_counts", [False, True])
def test_a_label_may_come_later(problem, with_counts):
    p, last = problem, [f"label {t}" for t in range(N_SEEN, 20)]
    seen = named(p)[:, :N_SEEN]
    counts = p.counts[:, N_SEEN:] if with_counts else None
    model = quick(unseen="moments").fit(p.X, seen, label_text=p.texts[:N_SEEN])
    model.add_labels(counts, last, p.texts[N_SEEN:])
    together = quick(unseen="moments").fit(
        p.X, named(p), cooccurrence=p.counts if with_counts else None, label_text=p.texts
    )
    assert list(model.classes_) == list(together.classes_)
    found, expected = (m.decision_function(p.X, labels="unseen") for m in (model, together))
    if not with_counts:
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert auc(p, found) > 0.8
    model.add_labels(p.counts[:, 19], ["by counts alone"])
    assert np.isfinite(model.predict_proba(p.X)).all()
    model.fold_in(p.X, p.Y[:, 19], "label 19")
    assert model.label_text_weights_.shape[0] == len(model.classes_) == 21


def test_new_names_in_a_mapping_are_new_labels(problem):
    names = [f"label {t}" for t in range(20)]
    texts = dict(zip(names, problem.texts, strict=True))
    model = quick().fit(problem.X, named(problem)[:, :N_SEEN], label_text=texts)
    assert list(model.classes_) == names
    assert model.seen_.sum() == N_SEEN
    by_labels = quick().fit(problem.X, named(problem).with_text(problem.texts))
    np.testing.assert_allclose(model.predict_proba(problem.X), by_labels.predict_proba(problem.X))


def test_texts_of_items_become_features():
    items = ["red car", "blue car", "red bus", "blue bus", "green car", "green bus"] * 8
    Y = np.array([[colour in item for colour in ("red", "blue", "car")] for item in items])
    labels = Labels.from_dense(Y.astype(float), names=["red", "blue", "car"])
    texts = {"red": "red", "blue": "blue", "car": "car", "bus": "bus"}
    model = MLLCS(3, text_encoder="tfidf", random_state=0).fit(items, labels, label_text=texts)
    found = model.decision_function(["old bus", "old car"], labels="unseen").ravel()
    assert found[0] > found[1]
    with pytest.raises(ValueError, match=r"X\[0, 0\] is no number .*red car"):
        quick().fit(np.eye(48), labels).predict(items)


def test_what_is_left_out_is_left_out(rng):
    G, known = rng.normal(size=(9, 4)), rng.normal(size=(9, 3))
    found = _left_out(G, known, 0.5)
    centred = known - known.mean(axis=0)
    scale = np.square(G - G.mean(axis=0)).sum() / 9
    for left in range(9):
        kept = np.arange(9) != left
        A, B = (G - G.mean(axis=0))[kept], centred[kept]
        slope = np.linalg.solve(A.T @ A + 0.5 * scale * np.eye(4), A.T @ B)
        expected = (G - G.mean(axis=0))[left] @ slope + known.mean(axis=0)
        np.testing.assert_allclose(found[left], expected, rtol=1e-9)
    plain = LinearRegression().fit(G, known).predict(G)
    np.testing.assert_allclose(_ridge(G, known, G, 1e-8), plain, atol=1e-4)


def test_counts_update_what_texts_say(problem):
    G = Vectors().encode(problem.texts)
    table = problem.counts.astype(float)
    table[:, N_SEEN + 1 :] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        given = as_cooccurrence(table)
    completed = counts_with_text(given, G)
    assert not completed.has_missing
    own = completed.dense()[:, N_SEEN]
    np.testing.assert_allclose(own, problem.counts[:, N_SEEN], atol=12)
    guessed, true = completed.dense()[:, N_SEEN + 1 :], problem.counts[:, N_SEEN + 1 :]
    assert np.corrcoef(guessed.ravel(), true.ravel())[0, 1] > 0.5


@pytest.mark.parametrize("estimator", [CooccurrenceVote(), COSTA()])
def test_votes_take_counts_texts_and_both(problem, estimator):
    estimator.set_params(text_encoder=Vectors())
    given = {"label_text": problem.texts}, {"cooccurrence": problem.counts}
    for more in (given[0], given[1], {**given[0], **given[1]}):
        model = estimator.fit(problem.X, named(problem), **more)
        assert auc(problem, model.decision_function(problem.X, labels="unseen")) > 0.55


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: quick().fit(p.X, named(p)), "texts \\(label_text\\)"),
        (lambda p: quick().fit(p.X, named(p), label_text="definitions"), "or 'names'"),
        (lambda p: quick().fit(p.X, named(p), label_text=["1 2"]), "1 texts for 20 labels"),
        (
            lambda p: MLLCS(inference="gibbs", text_encoder=Vectors()).fit(
                p.X, named(p), label_text=p.texts
            ),
            "needs a fit by EM",
        ),
        (
            lambda p: quick().fit(p.X, p.Y).add_labels(None, ["new"], ["1 2 3 4 5"]),
            "fitted without texts",
        ),
        (lambda p: quick().fit(p.X, p.Y).add_labels(names=["new"]), "label_text, or both"),
    ],
)
def test_wrong_texts_are_refused(problem, call, message):
    with pytest.raises(ValueError, match=message):
        call(problem)
