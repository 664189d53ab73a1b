"""The same fit on a Dask cluster, whatever happens to its workers."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from scipy import sparse

from fitting.topic_problem import (
    BLOCK_ROWS,
    MODEL,
    N_FEATURES,
    N_LABELS,
    fit,
    prepare,
    problem,
    same,
    start,
)
from labelgap.fitting import (
    ArrayRows,
    Checkpoint,
    DaskArrays,
    DaskRows,
    PreparedBlocks,
    open_rows,
    row_source,
    write_blocks,
)
from labelgap.models.bmlpl._bmlpl_em import BMLPLLocal

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client():
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**workers, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def close(found, expected) -> bool:
    pairs = zip(found, expected, strict=True)
    return all(a is b is None or np.allclose(a, b, rtol=1e-10, atol=1e-13) for a, b in pairs)


def blocks(gaps: bool = False, dense: bool = False) -> PreparedBlocks:
    X, labels = problem(gaps=gaps, dense=dense)
    return PreparedBlocks(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(gaps))


def in_memory(gaps: bool = False, dense: bool = False, **options):
    prepared = blocks(gaps, dense)
    return fit(open_rows(prepared.source, prepared.prepare), **options)


@pytest.mark.parametrize("gaps", [False, True])
def test_cluster_memory_and_disk_agree(client, tmp_path, gaps):
    X, labels = problem(gaps=gaps)
    expected, trace = in_memory(gaps)
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    from_disk, disk_trace = fit(open_rows(folder, prepare(gaps), client=client))
    from_memory, _ = fit(DaskRows("running", blocks(gaps)))
    assert close(from_disk, expected)
    assert np.allclose(disk_trace.objective, trace.objective, rtol=1e-12)
    assert same(from_disk, from_memory)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("labels_in_dask", [False, True])
def test_chunks_of_dask_arrays_are_blocks(client, dense, labels_in_dask):
    X, labels = problem(gaps=True, dense=True)
    array = da.from_array(X, chunks=(BLOCK_ROWS, 4))
    if not dense:
        array = array.rechunk({1: -1}).map_blocks(sparse.csr_array)
    y = da.from_array(labels.to_dense(), chunks=(30, 5)) if labels_in_dask else labels
    source = row_source(array, y)
    assert isinstance(source, DaskArrays)
    assert (len(source), source.n_features, source.n_labels) == (5, N_FEATURES, N_LABELS)
    found, _ = fit(open_rows(source, prepare(True)))
    expected, _ = in_memory(True, dense)
    assert close(found, expected)


def test_unknown_chunk_sizes_need_chunked_labels(client):
    X, labels = problem(dense=True)
    rows = da.from_array(X, chunks=(BLOCK_ROWS, -1))
    unknown = rows[rows[:, 0] > -np.inf]
    y = da.from_array(labels.to_dense(), chunks=(BLOCK_ROWS, -1))
    found, _ = fit(open_rows(DaskArrays(unknown, y), prepare(False), client=client))
    assert close(found, in_memory(dense=True)[0])
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        DaskArrays(unknown, labels)
    with pytest.raises(ValueError, match="chunk them alike"):
        DaskArrays(unknown, y.rechunk((7, -1)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DaskArrays(rows, y[:-1])


def test_history_on_the_scheduler_is_bounded(client):
    rows = DaskRows(client, blocks(), keep_history=2)
    sizes = []

    def count(progress):
        tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        sizes.append(tasks)

    found, _ = fit(rows, max_iter=12, callback=count)
    assert max(sizes[6:]) <= 1.2 * max(sizes[:6])
    assert close(found, in_memory(max_iter=12)[0])


def test_checkpoints_move_between_cluster_and_memory(client, tmp_path):
    expected, _ = in_memory(max_iter=8)
    saved = Checkpoint(tmp_path / "saved", local_type=BMLPLLocal, every=1)
    fit(DaskRows(client, blocks()), max_iter=3, checkpoint=saved)
    resumed, trace = in_memory(max_iter=8, checkpoint=saved)
    assert trace.n_iter == 8
    assert close(resumed, expected)
    saved = Checkpoint(tmp_path / "other", local_type=BMLPLLocal, every=1)
    in_memory(max_iter=3, checkpoint=saved)
    resumed, _ = fit(DaskRows(client, blocks()), max_iter=8, checkpoint=saved)
    assert close(resumed, expected)


def test_local_states_come_back_in_order(client):
    rows = DaskRows(client, blocks())
    assert list(rows.local_states()) == [None] * 5
    rows.update(MODEL.step, start())
    states = list(rows.local_states())
    assert [len(state.counts) for state in states] == [16, 16, 16, 16, 6]
    rows.restore(states)
    assert all(same(a, b) for a, b in zip(rows.local_states(), states, strict=True))
    with pytest.raises(ValueError, match="5 blocks now"):
        rows.restore(states[:3])


def test_bad_arguments_are_refused(client):
    with pytest.raises(ValueError, match="blocks is empty"):
        DaskRows(client, [])
    with pytest.raises(ValueError, match="keep_history=0"):
        DaskRows(client, blocks(), keep_history=0)


def test_groups_of_blocks_change_nothing(client, monkeypatch):
    alone = DaskRows(client, blocks(True))
    monkeypatch.setattr("labelgap.fitting._dask_rows._TASKS_PER_WORKER", 1)
    grouped = DaskRows(client, blocks(True))
    assert grouped._groups == [range(2), range(2, 4), range(4, 5)]
    assert same(fit(grouped, max_iter=5)[0], fit(alone, max_iter=5)[0])
    states = list(grouped.local_states())
    assert len(states) == 5
    with pytest.raises(ValueError, match="5 blocks now"):
        grouped.restore([*states, None])
    assert all(same(a, b) for a, b in zip(alone.local_states(), states, strict=True))


def check_killed_worker_changes_nothing(client):
    undisturbed, _ = fit(DaskRows(client, blocks(True), keep_history=3), max_iter=8)
    killed = []

    def kill(progress):
        if progress.iteration == 4:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    rows = DaskRows(client, blocks(True), keep_history=3)
    disturbed, trace = fit(rows, max_iter=8, callback=kill)
    assert killed[0] not in client.run(os.getpid).values()
    assert trace.n_iter == 8
    assert same(disturbed, undisturbed)


def test_killed_worker_that_comes_back_empty_changes_nothing(client):
    check_killed_worker_changes_nothing(client)
    client.wait_for_workers(2)


def test_killed_worker_that_stays_away_changes_nothing(client):
    """The last test of the cluster, which is left with one worker."""
    for nanny in client.cluster.workers.values():
        nanny.close_gracefully()  # which means: do not restart a worker that goes away
    check_killed_worker_changes_nothing(client)
    assert len(client.nthreads()) == 1
