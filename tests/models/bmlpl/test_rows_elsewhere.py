"""One fit over arrays, blocks, folders and Dask arrays; killed and resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels
from labelgap.fitting import EM, CheckpointError, Gibbs, OnlineEM, write_blocks
from labelgap.models.bmlpl import BMLPL
from models.bmlpl.problems import held_out, training


def gappy_training():
    X, Y = training()
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    return X, Labels.from_dense(np.where(hidden, np.nan, Y.to_dense()))


def model(**settings):
    return BMLPL(4, **({"inference": EM(12, 0.0), "random_state": 0} | settings))


def assert_same(found, expected, *, rounding=False):
    for ours, theirs in zip(found.params_[:4], expected.params_[:4], strict=True):
        if rounding:
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-10)
        else:
            np.testing.assert_array_equal(ours, theirs)
    close = {"rel": 1e-7, "abs": 1e-9} if rounding else {"rel": 0, "abs": 0}
    assert found.calibration_ == pytest.approx(expected.calibration_, **close)


# ---- blocks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [training, gappy_training])
@pytest.mark.parametrize("settings", [{}, {"r": "learn", "tau": "learn", "weights": "mean"}])
def test_block_sizes_do_not_change_a_fit(data, settings):
    whole, parts = (model(block_rows=size, **settings).fit(*data()) for size in (None, 137))
    assert_same(parts, whole, rounding=True)
    np.testing.assert_allclose(parts.trace_.objective, whole.trace_.objective, rtol=1e-9)
    np.testing.assert_allclose(parts.topic_usage_, whole.topic_usage_, rtol=1e-7)


@pytest.mark.parametrize("data", [training, gappy_training])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "inference", [EM(8, 0.0), OnlineEM(100, 2), Gibbs(3, 2, n_chains=1)], ids=["em", "online", "g"]
)
def test_a_folder_of_blocks_gives_the_same_fit(tmp_path, data, make, inference):
    X, Y = data()
    folder = write_blocks(tmp_path / "blocks", (make(X), Y), block_rows=300)
    expected = model(inference=inference, block_rows=300).fit(make(X), Y)
    assert_same(model(inference=inference).fit(folder), expected)
    if isinstance(inference, EM):
        by_path = model(inference=inference).fit(tmp_path / "blocks")
        assert_same(by_path, expected)
        np.testing.assert_array_equal(
            by_path.predict_proba(held_out()[0]), expected.predict_proba(held_out()[0])
        )


def test_label_names_come_with_the_folder(tmp_path):
    X, Y = training()
    names = [f"tag {j}" for j in range(Y.n_labels)]
    write_blocks(tmp_path / "b", (X, Y.with_names(names)), block_rows=500)
    fitted = model(inference=EM(2, 0.0)).fit(tmp_path / "b")
    assert fitted.classes_.tolist() == names
    assert set(fitted.predict_topk(X[:5], 2)[0].ravel()) <= set(names)


def test_names_of_features_are_forgotten_with_the_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    X, Y = training()
    fitted = model(inference=EM(2, 0.0)).fit(pd.DataFrame(X).add_prefix("x"), Y)
    assert fitted.feature_names_in_[0] == "x0"
    fitted.fit(write_blocks(tmp_path / "b", (X, Y), block_rows=500))
    fitted.predict_proba(X)


def test_a_folder_brings_its_own_labels_and_blocks(tmp_path):
    X, Y = training()
    folder = write_blocks(tmp_path / "b", (X, Y), block_rows=500)
    with pytest.raises(ValueError, match="brings its own labels"):
        model().fit(folder, Y)


def test_not_a_number_is_not_written_to_a_folder(tmp_path):
    X, Y = training()
    X = X.copy()
    X[700, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN, first in X\[700, 2\]"):
        write_blocks(tmp_path / "b", (X, Y), block_rows=500)
    assert not list((tmp_path / "b").iterdir())


@pytest.mark.parametrize("data", [training, gappy_training])
def test_dask_arrays_give_the_same_fit(data):
    da = pytest.importorskip("dask.array")
    X, Y = data()
    expected = model(block_rows=400).fit(X, Y)
    rows = da.from_array(X, chunks=(400, 3))
    assert_same(model().fit(rows, da.from_array(Y.to_dense(), chunks=(250, 20))), expected)
    assert_same(model().fit(rows, Y), expected)


def test_dask_arrays_of_integers_are_features_too():
    da = pytest.importorskip("dask.array")
    X, Y = training()
    X = np.round(2 * X).astype(np.int32)
    expected = model(inference=EM(4, 0.0)).fit(X, Y)
    found = model(inference=EM(4, 0.0)).fit(da.from_array(X, chunks=(1000, 6)), Y)
    assert_same(found, expected, rounding=True)


# ---- checkpoints -----------------------------------------------------------------------------

KILLED = """
import os, signal
from labelgap.fitting import EM
from labelgap.models.bmlpl import BMLPL
from models.bmlpl.problems import training

def kill(progress):
    if progress.iteration == 7:
        os.kill(os.getpid(), signal.SIGKILL)

BMLPL(
    4, inference=EM(12, 0.0), random_state=0, checkpoint={folder!r}, checkpoint_every=3,
    block_rows=300, callback=kill,
).fit(*training())
"""


def test_a_killed_fit_resumes_to_the_same_end(tmp_path):
    folder = str(tmp_path / "c")
    script = KILLED.format(folder=folder)
    tests = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=tests, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    seen = []
    resumed = model(checkpoint=folder, checkpoint_every=3, block_rows=300, callback=seen.append)
    resumed.fit(*training())
    assert [progress.iteration for progress in seen] == [6, 7, 8, 9, 10, 11]
    assert_same(resumed, model(block_rows=300).fit(*training()))
    assert len(resumed.trace_.objective) == 12


def test_a_finished_fit_is_read_back_and_can_be_given_more_iterations(tmp_path):
    seen = []
    settings = {"checkpoint": tmp_path / "c", "callback": seen.append}
    first = model(**settings).fit(*training())
    n_first = len(seen)
    assert_same(model(**settings).fit(*training()), first)
    assert len(seen) == n_first
    longer = model(inference=EM(20, 0.0), **settings).fit(*training())
    assert_same(longer, model(inference=EM(20, 0.0)).fit(*training()))


def test_without_a_seed_the_start_of_the_interrupted_fit_will_do(tmp_path):
    settings = {"checkpoint": tmp_path / "c", "random_state": None, "init": "random"}
    first = model(**settings).fit(*training())
    assert_same(model(**settings).fit(*training()), first)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"r": 0.5}, "r was 1.0, is 0.5"),
        ({"random_state": 1}, "seed was"),
        ({"init": "random"}, "init was 'labels', is 'random'"),
        ({"inference": EM(12, 0.0, n_cg=3)}, "n_cg was 2, is 3"),
        ({"block_rows": 50}, "block_rows was None, is 50"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, change, name):
    X, Y = training()
    model(checkpoint=tmp_path / "c", inference=EM(2, 0.0)).fit(X, Y)
    other = {"inference": EM(2, 0.0), "checkpoint": tmp_path / "c"} | change
    with pytest.raises(CheckpointError, match=f"belongs to another fit: {name}"):
        model(**other).fit(X, Y)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    X, Y = training()
    model(checkpoint=tmp_path / "c", inference=EM(2, 0.0)).fit(X, Y)
    for rows, labels, name in (
        (X[:500], Y[:500], "labels"),
        (X + 1, Y, "norm"),
        (X, Y[::-1][:, ::-1], "labels"),
    ):
        with pytest.raises(CheckpointError, match=f"another fit: {name} was"):
            model(checkpoint=tmp_path / "c", inference=EM(2, 0.0)).fit(rows, labels)
