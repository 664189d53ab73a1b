"""Candidates of methods: as many as asked, always the same ones."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from labelgap.fitting import FitDivergedError
from labelgap.labels import Labels
from labelgap_papers.bench import DatasetPlan, MethodPlan
from labelgap_papers.bench._machine import device_params
from labelgap_papers.bench._measure import best_of, try_candidates
from labelgap_papers.bench.methods import METHODS, Method, find_method
from labelgap_papers.bench.protocols import PROTOCOLS
from labelgap_papers.bench.protocols.protocol import Task


def a_task(rng: np.random.Generator) -> Task:
    X = rng.normal(size=(60, 3))
    Y = (X @ rng.normal(size=(3, 8)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    labels = Labels.from_dense(Y)
    return Task("toy", X, labels, X[:0], labels[:0])


def test_grids_give_as_many_as_asked_and_the_same_each_time():
    method = Method(lambda task: None, {"a": range(10), "b": range(10)})
    some = method.candidates(None, 16)
    assert len(some) == 16
    assert some == method.candidates(None, 16)
    assert len({(one["a"], one["b"]) for one in some}) == 16
    assert len(method.candidates(None, 200)) == 100


def test_a_list_of_candidates_keeps_its_order():
    listed = [{"a": 3}, {"a": 1}, {"a": 2}]
    assert Method(lambda task: None, listed).candidates(None, 2) == listed[:2]


def test_a_method_without_a_grid_is_not_tuned():
    assert not Method(lambda task: None).tuned
    assert METHODS["rmfl"].tuned


def test_a_plan_may_bring_its_own_grid():
    plan = MethodPlan("x", "rmfl", grid={"lambda_1": [1.0, 2.0]})
    method = find_method(plan, METHODS)
    assert method.search is None
    assert method.candidates(None, 5) == [{"lambda_1": 1.0}, {"lambda_1": 2.0}]


class Noted:
    """Knows the right answers from a constant on; breaks down at others."""

    def __init__(self, level: float) -> None:
        self.level = level

    def fit(self, X, Y):
        if self.level < 0:
            raise FitDivergedError("it diverged")
        return self

    def decision_function(self, X):
        return np.tile(np.arange(8) * self.level, (len(X), 1))


def test_the_best_candidate_on_training_rows_is_chosen(rng):
    protocol, dataset = PROTOCOLS["unknown-per-row"](), DatasetPlan("toy")
    grid = {"level": [-1.0, 0.0, 1.0]}
    method = Method(lambda task, level: Noted(level), grid)
    task = a_task(rng)
    candidates, scores = try_candidates(protocol, method, task, dataset, 3, {})
    assert scores[0] is None
    assert best_of(candidates, scores) == candidates[1 + int(scores[2] > scores[1])]
    with pytest.raises(FitDivergedError, match="each of 1 candidates"):
        best_of(candidates[:1], scores[:1])


def test_only_so_many_rows_are_used_to_choose(rng):
    seen = []
    method = Method(
        lambda task, level: seen.append(task.Y.n_samples) or Noted(level), {"level": [1]}
    )
    dataset = DatasetPlan("toy", tuning_rows=30)
    try_candidates(PROTOCOLS["unknown-per-row"](), method, a_task(rng), dataset, 1, {})
    assert seen == [20, 20, 20]


class Placed:
    def __init__(self, scale: float = 1.0, device: str | None = None) -> None:
        self.scale, self.device = scale, device

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return vars(self)

    def set_params(self, **params: object) -> Placed:
        vars(self).update(params)
        return self


class Unplaced:
    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {}


def test_models_that_can_go_to_the_device_and_the_others_stay():
    given = []

    def search(task, n_candidates, params):
        given.append(params)
        return [params], [1.0]

    for make, device in [(lambda task, **p: Placed(**p), "cuda:1"), (lambda task, **p: 7, None)]:
        model = Method(make, search=search).on_device("cuda:1")
        made = model.make(None, scale=2.0)
        assert getattr(made, "device", None) == device
        model.search(None, 1, {"scale": 2.0})
        assert given.pop().get("device") == device
    assert isinstance(Method(lambda task: Unplaced()).on_device("cuda").make(None), Unplaced)
    plain = Method(lambda task, **p: Placed(**p))
    assert plain.on_device(None) is plain
    assert plain.on_device("cuda").search is None


def test_parts_of_a_model_go_to_the_device(rng):
    task = replace(a_task(rng), extra={"run": 1})
    for name in ("sfus", "mifs"):
        model = METHODS[name].on_device("cuda:1").make(task)
        assert device_params(model) == {"selector__device": "cuda:1"}


@pytest.mark.parametrize("name", ["kernel-ridge", "rmfl", "leml", "glocal", "logistic-per-label"])
def test_models_are_fitted_there_unless_their_settings_forbid(rng, name):
    pytest.importorskip("torch")
    task = a_task(rng)
    model = METHODS[name].on_device("cpu").make(task)
    stays = name in ("kernel-ridge", "logistic-per-label")
    assert model.device == (None if stays else "cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = METHODS[name].make(task).fit(task.X, task.Y)
        model.fit(task.X, task.Y)
    np.testing.assert_allclose(model.predict_proba(task.X), plain.predict_proba(task.X), atol=1e-4)


def test_mend_with_all_items_opened_differs_by_the_unopened_items_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = (X[:, :2] + X[:, 2:] > -1).astype(int)
    Y[rng.permutation(300)[:120]] = 0
    task = Task("made", X, Labels.from_dense(Y).with_zeros("unlabeled"), X, Labels.from_dense(Y))
    models = [METHODS[name].make(task) for name in ("mend-logistic", "mend-logistic-all-opened")]
    found = [model.fit(task.X, task.Y).unopened_items_.size for model in models]
    assert found[0] > 80
    assert found[1] == 0
