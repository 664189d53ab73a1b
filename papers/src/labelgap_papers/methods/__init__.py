"""Published methods to compare with, under the same contract as the models.

The names are those of `labelgap_papers.registry.ESTIMATORS`; a module is imported when it is used.
"""

from importlib import import_module
from typing import Any

from labelgap_papers.registry import ESTIMATORS

_FILES = {record.name: record.file or f"_{record.name.lower()}" for record in ESTIMATORS}

__all__ = sorted(_FILES)


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FILES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_FILES]
