"""Kernel ridge regression of texts: exact when left out, and labels with texts are examples."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap import Labels
from labelgap.text import TextKernelRidge, _text_kernel

TEXTS = ["chess clock", "chess board", "smtp server", "mail client", "mail clock", "board game"]
Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [1, 0]], dtype=float)


class Letters:
    """Embed texts by how often they have some letters."""

    def encode(self, texts):
        return np.array([[text.count(letter) for letter in "aeils"] for text in texts], dtype=float)


@pytest.mark.parametrize("encoder", ["tfidf", Letters()])
def test_left_out_scores_are_those_of_a_fit_without_the_item(encoder):
    labels = Labels.from_dense(Y)
    model = TextKernelRidge(encoder).fit(TEXTS, labels, ["game", "mail"])
    for item in range(len(TEXTS)):
        others = TextKernelRidge(encoder)
        others.fit(TEXTS, labels, ["game", "mail"], np.delete(np.arange(len(TEXTS)), item))
        # the prevalence is that of all items
        off = others.dual_coef_, others.prevalence_
        kernel = others._items[[item]].kernel(others._examples)
        target = np.vstack([np.delete(Y, item, axis=0), np.eye(2)]) - model.prevalence_
        gram = others._examples.kernel(others._examples) + np.eye(7)
        expected = kernel @ np.linalg.solve(gram, target) + model.prevalence_
        np.testing.assert_allclose(model.left_out([item]), expected, atol=1e-10)
        np.testing.assert_allclose(others.left_out([item])[0], kernel[0] @ off[0] + off[1])


def test_a_label_without_items_is_known_by_its_text():
    alone = np.where([[True, False]], Y, 0.0)
    for texts, better in ((["game", "mail"], True), (["game", "clock"], False), (None, False)):
        model = TextKernelRidge("tfidf").fit(TEXTS, Labels.from_dense(alone), texts)
        scores = model.left_out()[:, 1]
        assert (scores[[3, 4]].min() > scores[[0, 1, 2, 5]].max() + 0.05) == better


def test_unknown_entries_teach_nothing():
    gaps = Y.copy()
    gaps[0, 1] = np.nan
    gaps[5] = np.nan
    model = TextKernelRidge("tfidf").fit(TEXTS, Labels.from_dense(gaps))
    assert model.prevalence_[1] == pytest.approx(3 / 4)
    shorter = TextKernelRidge("tfidf").fit(TEXTS, Labels.from_dense(gaps), rows=np.arange(5))
    np.testing.assert_allclose(model.left_out(), shorter.left_out())
    np.testing.assert_allclose(model.left_out([5]), model.predict(TEXTS[5:]))


def test_at_most_so_many_items_are_learned_from(monkeypatch):
    monkeypatch.setattr(_text_kernel, "_MOST_ITEMS", 4)
    model = TextKernelRidge("tfidf").fit(TEXTS, Labels.from_dense(Y))
    assert model.learned_.size == 4
    others = np.setdiff1d(np.arange(6), model.learned_)
    new = model.predict([TEXTS[item] for item in others])
    np.testing.assert_allclose(model.left_out()[others], new)
