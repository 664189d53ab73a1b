"""What can go wrong in a command, what it is called, and the exit code it gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from labelgap.data import DataFormatError, DatasetUnavailableError

# remedies of the library, as one would type them here
_IN_SHELL = (
    (
        r"Pass drop=\['(.*?)'\], text='.*?' for TF-IDF, or encode it first",
        r"Leave it out with --drop '\1', name it --item if it identifies the rows, or --text",
    ),
    (r"Pass zero_based=True", "Give --zero-based"),
    (r"Pass labels= as", "Give --labels as"),
)

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class BadInputError(ValueError):
    """The user gave something that cannot be used; the message says what, where and what to do."""


@contextmanager
def reading(place: str | PathLike) -> Iterator[None]:
    """Put the file (or data set) in front of an error about its contents."""
    try:
        yield
    except (BadInputError, DataFormatError):
        raise
    except FileNotFoundError as error:
        missing = error.filename or place
        raise BadInputError(f"{missing}: there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise BadInputError(f"{place}: is a folder; give a file") from error
    except ValueError as error:
        said = _one_line(error)
        named = said.startswith(f"{place}:")
        raise BadInputError(said if named else f"{place}: {said}") from error


def exit_code_of(error: Exception) -> int:
    """2 for what the user can correct in the call or the files, 1 for everything else."""
    return BAD_INPUT if isinstance(error, ValueError) else FAILED


def explain(error: Exception) -> str:
    """One sentence or two, without a traceback."""
    if isinstance(error, (ValueError, DatasetUnavailableError, ImportError)):
        return _one_line(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "there is not enough memory: use fewer rows or labels"
    return f"unexpected {type(error).__name__}: {_one_line(error)}; run again with --debug"


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    for said, typed in _IN_SHELL:
        text = re.sub(said, typed, text)
    return text
