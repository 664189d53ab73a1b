"""``python tests/reliability/same_bits.py``: what each estimator answers, as one checksum.

Run with other numbers of threads, jobs, or with a sparse X, the checksums show whose last digits change.

    python tests/reliability/same_bits.py --threads 2 --sparse
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]


def digests(*, is_sparse: bool, jobs: int) -> dict[str, str]:
    """By the name of a class, in its first setting under contract."""
    import numpy as np
    from scipy import sparse

    from contract.problems import fresh, outputs, problem
    from contract.registry import CASES
    from contract.suite import first_of_each_class

    p = problem(n_samples=300, n_features=40, n_labels=12)
    X, X_new = (sparse.csr_array(one) if is_sparse else one for one in (p.X, p.X_new))
    found = {}
    for case in first_of_each_class([case for case in CASES if not case.slow]):
        model = fresh(case, p.X, p.Y)
        if "n_jobs" in model.get_params(deep=False):
            model.set_params(n_jobs=jobs)
        answers = outputs(model.fit(X, p.Y), X_new)
        content = b"".join(np.ascontiguousarray(one).tobytes() for one in answers.values())
        found[type(model).__name__] = hashlib.sha256(content).hexdigest()[:16]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sparse", action="store_true")
    options = parser.parse_args()
    # before numpy and numba are imported
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(digests(is_sparse=options.sparse, jobs=options.jobs)))


if __name__ == "__main__":
    main()
