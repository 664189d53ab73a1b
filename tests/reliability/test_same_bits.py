"""Same seed, same bits: again, with more jobs or threads, for a sparse X; but for those named here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("same_bits.py")
# products of whole matrices, which the linear algebra adds up by threads
BY_THREADS = {"KernelRidgePerLabel", "RMFL", "RMFLCV"}
# sums over stored entries alone, which have another order
BY_FORM = {"BinaryRelevance", "BMLPL", "CooccurrenceVote", "GMFS", "KernelRidgePerLabel", "Mend"}
BY_FORM |= {"MLLCS", "RMFL", "RMFLCV", "StabilitySelection"}
BY_FORM |= {"GradientDescent", "OnePassPerceptron"}  # of the tests


def digests(*options: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_bits_change_where_the_page_says_so_alone():
    once = digests()
    assert len(once) > 15
    found = {
        option: {name for name, digest in digests(*option.split()).items() if digest != once[name]}
        for option in ("--threads 1", "--jobs 2", "--threads 2", "--sparse")
    }
    assert found["--threads 1"] == found["--jobs 2"] == set()
    assert found["--threads 2"] <= BY_THREADS
    assert found["--sparse"] <= BY_FORM
