"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(*targets: Path) -> Iterator[tuple[Path, ...]]:
    """Temporary paths beside the targets, which take their places when the block succeeds.

    When it fails, what was written vanishes and the targets stay as they were.
    """
    token = secrets.token_hex(4)
    partial = tuple(target.with_name(f".{target.name}.{token}.partial") for target in targets)
    try:
        yield partial
        for source, target in zip(partial, targets, strict=True):
            os.replace(source, target)
    finally:
        for source in partial:
            source.unlink(missing_ok=True)
