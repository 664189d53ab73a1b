"""What can go wrong with data, each with the place and the remedy in its message."""

from __future__ import annotations


class DataFormatError(ValueError):
    """A file does not follow its format.

    Parameters
    ----------
    problem : str
    file : str
        The file as the user knows it.
    line : int, optional
        Counted from 1.
    row : int, optional
        For what has no lines: counted from 1 in files, from 0 in frames.
    remedy : str
        What the user can do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str,
        line: int | None = None,
        row: int | None = None,
        remedy: str,
    ) -> None:
        self.problem, self.file, self.line, self.row = problem, file, line, row
        self.remedy = remedy
        place = file if line is None else f"{file}, line {line}"
        place = place if row is None else f"{place}, row {row}"
        super().__init__(f"{place}: {problem}. {remedy}")

    def __reduce__(self):
        return _rebuild, (self.problem, self.file, self.line, self.row, self.remedy)


class ChecksumError(DataFormatError):
    """A file is not the one that the registry describes."""


class DatasetUnavailableError(OSError):
    """A data set is neither on this machine nor could it be fetched."""


def _rebuild(
    problem: str, file: str, line: int | None, row: int | None, remedy: str
) -> DataFormatError:
    return DataFormatError(problem, file=file, line=line, row=row, remedy=remedy)
