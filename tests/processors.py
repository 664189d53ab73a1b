"""Run tests as other processors would run them.

    python tests/processors.py list                   # what this machine can play
    python tests/processors.py sample                 # a few tests on each of them
    python tests/processors.py all                    # the whole suite on each of them
    python tests/processors.py other                  # where order may count, on one unlike this one

OpenBLAS picks its kernels by the processor, and so do numpy and numba. Each of them adds numbers
up in an order of its own. A test that passes with one order only is wrong, or finds a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# the kernels that a core type may report: OpenBLAS builds some types as others
CORE_TYPES = {
    "SkylakeX": {"SkylakeX"},
    "Haswell": {"Haswell"},
    "Zen": {"Zen", "Haswell"},
    "Sandybridge": {"Sandybridge"},
    "Nehalem": {"Nehalem"},
    "Prescott": {"Prescott", "Katmai"},
}
SAMPLE = (
    "papers/tests/golden",
    "tests/models/rmfl/test_estimator.py",
    "papers/tests/kernels/test_proximal.py",
    "tests/contract/test_contract.py",
)
SAMPLED_CHECKS = "not contract or check_label_names or check_encodings_agree"
# tests that compare numbers added up in two orders: of the contract what agrees with what
COMPARING = ("papers/tests/golden", "tests/models", "tests/contract/test_contract.py")
COMPARED = "not contract or " + " or ".join(
    ("agree", "order", "same", "_is_", "nothing", "given", "hidden", "layout", "frames", "forms")
)
PROBE = """
import json, numpy as np, scipy.linalg, threadpoolctl
A = np.random.default_rng(0).normal(size=(60, 60))
scipy.linalg.cho_factor(A @ A.T + np.eye(60)), np.linalg.svd(A)
print(json.dumps([i["architecture"] for i in threadpoolctl.threadpool_info()
                  if i["internal_api"] == "openblas"]))
"""


def blas_kernels(core_type: str | None) -> list[str]:
    """Return the kernels OpenBLAS loads under a core type, or nothing where it cannot run them."""
    environment = dict(os.environ) | ({"OPENBLAS_CORETYPE": core_type} if core_type else {})
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=False
    )
    return json.loads(probe.stdout) if probe.returncode == 0 else []


def supported_core_types() -> list[str]:
    """Return the core types whose kernels run on this machine."""
    return [name for name, kernels in CORE_TYPES.items() if kernels & set(blas_kernels(name))]


def another_core_type() -> str | None:
    """Return the first core type whose kernels are not the ones this machine uses."""
    own = set(blas_kernels(None))
    others = [name for name in supported_core_types() if not CORE_TYPES[name] & own]
    return others[0] if others else None


def numpy_features() -> str:
    """Return the processor features that numpy chooses by and this machine has."""
    from numpy._core import _multiarray_umath as core

    return " ".join(name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name))


def variants() -> dict[str, dict[str, str]]:
    """Return the environment variables of each processor that this machine can play."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    found = {name: {"OPENBLAS_CORETYPE": name} for name in supported_core_types()}
    found |= {f"{n} threads": dict.fromkeys(threads, str(n)) for n in (1, 2)}
    found["numba without SIMD"] = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    if features := numpy_features():
        found["numpy without SIMD"] = {"NPY_DISABLE_CPU_FEATURES": features}
    return found


def run(arguments: list[str], variables: dict[str, str]) -> tuple[int, list[str], str]:
    """Run pytest and return its exit status, the failed tests and its last line."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not slow", *arguments],
        env=dict(os.environ) | variables,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, flags=re.MULTILINE)
    lines = done.stdout.strip().splitlines()
    return done.returncode, failed, lines[-1] if lines else ""


def report(arguments: list[str], chosen: dict[str, dict[str, str]]) -> int:
    """Run the tests under each variant, print a table row each, and return the worst status."""
    worst = 0
    print("| processor | failed | result |\n|---|---|---|")
    for name, variables in chosen.items():
        status, failed, last = run(arguments, variables)
        said = ", ".join(failed) or ("none" if status == 0 else f"pytest ended with {status}")
        print(f"| {name} | {said} | {last} |", flush=True)
        worst = max(worst, status)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["list", "sample", "all", "other"])
    parser.add_argument("--only", action="append", help="a processor from the list; repeatable")
    options, arguments = parser.parse_known_args()
    if options.what == "other":
        name = another_core_type()
        if name is None:
            print("this machine can run the kernels of its own processor only")
            return 0
        arguments = arguments or [*COMPARING, "-k", COMPARED]
        return report(["-n", "2", *arguments], {name: {"OPENBLAS_CORETYPE": name}})
    found = variants()
    if unknown := set(options.only or ()) - set(found):
        parser.error(f"--only {sorted(unknown)[0]!r}: this machine can play {', '.join(found)}")
    chosen = {name: found[name] for name in options.only or found}
    if options.what == "list":
        for name, variables in chosen.items():
            print(f"{name}: {variables}")
        return 0
    if options.what == "sample":
        arguments = [*SAMPLE, "-k", SAMPLED_CHECKS, *arguments]
    return report(["-n", "2", *arguments], chosen)


if __name__ == "__main__":
    sys.exit(main())
