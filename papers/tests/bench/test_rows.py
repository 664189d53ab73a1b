"""Rows survive being written, torn and read again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labelgap_papers.bench import Kind, Row, RowStore, Status

ROW = Row("toy", "emotions", {"missing": 0.4}, 1, "means", metrics={"hamming_loss": 0.0})


def test_a_row_comes_back_as_it_was(tmp_path):
    full = replace(
        ROW,
        kind=Kind.SELECTION,
        candidates=[{"a": 1.0}, {"a": None}],
        scores=[0.5, None],
        curve={"objective": [3.0, 2.0]},
        details={"topics": [["a", "b"]]},
        fit_seconds=0.0,
        versions={"numpy": "2"},
        threads=2,
    )
    store = RowStore(tmp_path / "rows")
    for row in (ROW, full):
        store.append(row)
    assert store.rows("toy") == [ROW, full]
    assert store.rows("toy", Kind.SELECTION) == [full]
    assert store.experiments() == ["toy"]
    assert store.rows("other") == []


@pytest.mark.parametrize("kept", [1, 10, -2, -1])
def test_a_torn_line_is_dropped_and_cut_off(tmp_path, kept):
    store = RowStore(tmp_path)
    store.append(ROW)
    torn = ROW.to_json(0).encode()[:kept]
    with store.path("toy").open("ab") as file:
        file.write(torn)
    assert store.rows("toy") == [ROW]
    other = replace(ROW, run=2)
    store.append(other)
    assert store.rows("toy") == [ROW, other]
    assert store.path("toy").read_bytes().count(b"\n") == 3


def test_a_file_of_one_torn_line_is_empty(tmp_path):
    store = RowStore(tmp_path)
    store.path("toy").write_bytes(b'{"environment": 0, "to')
    assert store.rows("toy") == []
    store.append(ROW)
    assert store.rows("toy") == [ROW]


@pytest.mark.parametrize("line", ["nonsense", '{"environment": 0, "toy"}', '{"colour": 1}'])
def test_a_wrong_line_is_named(tmp_path, line):
    store = RowStore(tmp_path)
    store.append(ROW)
    with store.path("toy").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=r"toy\.jsonl, line 3: .*remove the line"):
        store.rows("toy")


def test_what_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(ROW, metrics={"hamming_loss": float("nan")}).to_json(0)


def test_of_several_rows_the_best_counts(tmp_path):
    store = RowStore(tmp_path)
    failed = replace(ROW, status=Status.FAILED, reason="it broke", metrics={}, budget="full")
    smoke, full = replace(ROW, budget="smoke"), replace(ROW, budget="full", commit="a")
    again = replace(full, commit="b")
    for row in (failed, full, smoke, again, replace(failed, commit="c")):
        store.append(row)
    assert store.results("toy") == [again]
    assert store.find(ROW.cell) == again
    assert store.find(replace(ROW, run=9).cell) is None


def test_rewriting_is_whole_or_not_at_all(tmp_path):
    store = RowStore(tmp_path)
    store.append(ROW)

    def breaks(rows):
        yield rows[0]
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        store.rewrite("toy", breaks)
    assert store.rows("toy") == [ROW]
    store.rewrite("toy", lambda rows: [*rows, replace(ROW, run=2)])
    assert [row.run for row in store.rows("toy")] == [1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.jsonl"]
    store.rewrite("toy", lambda rows: [])
    assert store.experiments() == []
