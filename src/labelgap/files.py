"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(*targets: str | Path) -> Iterator[tuple[Path, ...]]:
    """Give temporary paths that take the places of the targets when the block succeeds.

    When the block fails, what was written vanishes and the targets stay as they were.

    Parameters
    ----------
    *targets : path
        The files to write; their folders must exist.

    Yields
    ------
    tuple of Path
        One path per target, in the same folder and with the same suffix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "page.html")
    ...     with replacing(target) as (partial,):
    ...         _ = partial.write_text("<p>Hello</p>")
    ...     target.read_text()
    '<p>Hello</p>'
    """
    token = secrets.token_hex(4)
    paths = [Path(target) for target in targets]
    partial = tuple(path.with_name(f".partial-{token}-{path.name}") for path in paths)
    try:
        yield partial
        for source, path in zip(partial, paths, strict=True):
            with source.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(source, path)
    finally:
        for source in partial:
            source.unlink(missing_ok=True)
