"""Where a row comes from: the code, the libraries, the machine and the device of its model."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy
import sklearn
import threadpoolctl

from labelgap import __version__
from labelgap.extras import require

_SOURCE = Path(__file__).parents[1]
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


@cache
def machine_facts() -> dict[str, Any]:
    """Commit, versions, processor and linear algebra of this process, as rows state them.

    A commit with "+" has uncommitted changes in the source; outside of a repository it is empty.
    Returns dict with the keys commit, versions, cpu, blas and python
    """
    versions = {module.__name__: module.__version__ for module in (np, scipy, sklearn, numba)}
    return {
        "commit": _commit(),
        "versions": {"labelgap": __version__, **versions},
        "cpu": _cpu(),
        "blas": _blas(),
        "python": platform.python_version(),
    }


def _commit() -> str:
    commit = _git("rev-parse", "--short", "HEAD")
    return commit + "+" if commit and _git("status", "-s", ".") else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            text=True,
            cwd=_SOURCE,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu() -> str:
    """Model and number of processors."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = named[0] if named else model
    return f"{model}, {os.cpu_count()} processors"


def _blas() -> str:
    found = [one for one in threadpoolctl.threadpool_info() if one.get("user_api") == "blas"]
    names = {f"{one.get('internal_api')} {one.get('version')}" for one in found}
    return ", ".join(sorted(names))


def forget_peak() -> None:
    """Let the peak of this process's memory begin again; nothing where the system cannot."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return


def peak_gigabytes() -> float | None:
    """Peak memory of this process since `forget_peak`; None where the system does not tell."""
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 2**20
    return None


def device_params(model: Any) -> dict[str, Any]:
    """The parameters ``device`` of a model and of what it is made of."""
    params = model.get_params() if hasattr(model, "get_params") else {}
    return {name: value for name, value in params.items() if name.split("__")[-1] == "device"}


def device_of(model: Any) -> str:
    """Where a model is fitted, with the name of the accelerator; nothing for the processor."""
    found = [value for value in device_params(model).values() if value]
    if not found:
        return ""
    torch = require("torch", extra="gpu", purpose="device=")
    place = torch.device(found[0])
    return f"{place} ({torch.cuda.get_device_name(place)})" if place.type == "cuda" else str(place)


def try_device(device: str | None) -> None:
    """Compute something in double precision there; a ValueError where that cannot be done.

    The first use of a device in a process takes seconds, which are not those of a fit.
    """
    if device is None:
        return
    torch = require("torch", extra="gpu", purpose=f"device={device!r}")
    try:
        torch.ones(1, dtype=torch.float64, device=device).cpu().item()
    except (RuntimeError, AssertionError, ImportError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={device!r} cannot be used here ({reason}): name one that torch has, or none"
        ) from error
