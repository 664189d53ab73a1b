"""``python tests/reliability/fuzz.py arff --seconds 60``: coverage-guided fuzzing of our own parsers.

Needs atheris (``pip install atheris``). What ends otherwise than as read or as a clear error is printed
with its input, and stops the run; ``test_fuzz.py`` holds what was found.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

from reliability.outcomes import FAILED, outcome_of  # noqa: E402

FOLDER = Path(tempfile.gettempdir())


def _file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    def call(content: bytes) -> Any:
        path = FOLDER / name
        path.write_bytes(content)
        return read(path)

    return call


def _cells(content: bytes) -> Any:
    """A column of a table: texts that list labels, or say yes, no or nothing."""
    import pandas as pd

    from labelgap import Labels

    cells = content.decode("utf-8", "replace").split("\n")
    for frame in (pd.DataFrame({"tags": cells}), pd.DataFrame({"a": cells, "b": cells[::-1]})):
        labels = Labels.from_frame(frame)
        assert labels.shape[0] == len(cells)
    return None


def _audit(content: bytes) -> Any:
    from labelgap.auditing import Audit

    found = Audit.from_json(content)
    assert Audit.from_json(found.to_json().encode()) == found
    return found


def targets() -> dict[str, tuple[Callable[[bytes], Any], list[bytes]]]:
    """Each parser with some input that it reads."""
    from auditing.sample_audits import bare_audit
    from labelgap import data
    from labelgap.auditing import Decision, ReviewDecisions, read_decisions

    arff = (
        b"@relation 'a: -C 2'\n@attribute x numeric\n@attribute c {p,'q r'}\n@attribute t {0,1}\n"
    )
    time = "2026-01-05T08:30:00.000Z"
    made = ReviewDecisions("a" * 16, (Decision("i", "x", "accept", time, "Ann"),))
    decisions = json.dumps(made.to_dict()).encode()
    return {
        "cells": (_cells, [b"a;b\nb\n\nc|d", b"yes\nno\n?", b"['a', 'b']\n[]", b"1\n0\n"]),
        "arff": (
            _file("fuzz.arff", lambda path: data.read_arff(path, -1)),
            [arff + b"@data\n1,p,0\n{0 2, 2 1}\n?,'q r',1\n", arff + b"@DATA % x\n-1e3,p,1"],
        ),
        "xc": (_file("fuzz.xc", data.read_xc), [b"2 3 2\n0,1 0:1 2:.5\n1 1:2\n"]),
        "svmlight": (_file("fuzz.svm", data.read_svmlight), [b"0,1 1:1 3:.5 # x\n 2:1\n"]),
        "table": (
            _file("fuzz.csv", lambda path: data.read_table(path, label_columns=["t"])),
            [b"x,t\n1,0\n2,1\n", b'"x";"t"\n"1";"a,b"\n', b"\xef\xbb\xbfx\tt\r\n\xe4\t1\r\n"],
        ),
        "decisions": (_file("fuzz.json", read_decisions), [decisions]),
        "audit": (_audit, [bare_audit().to_json().encode(), b'{"schema": 1, "audit_id": "a"}']),
    }


def check(read: Callable[[bytes], Any], content: bytes) -> None:
    """Raise an AssertionError for what ends neither as read nor as a clear error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = outcome_of(lambda: read(content))
    assert outcome.kind not in FAILED, f"{outcome.said} from {content!r}"


def main() -> None:
    import atheris

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=None, help="a folder that grows")
    options = parser.parse_args()
    # kernels as plain Python: they are instrumented, and an index beyond an array is an error
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    with atheris.instrument_imports(include=["labelgap"]):
        read, seeds = targets()[options.target]
        for seed in seeds:
            check(read, seed)
    corpus = options.corpus or Path(tempfile.mkdtemp(prefix="labelgap-fuzz-"))
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    command = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        f"-max_len={max(400, 2 * max(map(len, seeds)))}",
        "-len_control=0",
        "-timeout=20",
    ]
    atheris.Setup([*command, "-rss_limit_mb=4096", str(corpus)], lambda given: check(read, given))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
