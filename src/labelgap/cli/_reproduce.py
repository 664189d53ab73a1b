"""The command that gives the same result again, and where its data came from."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from labelgap.audit import DataSource
from labelgap.cli._options import LabelledOptions

__all__ = ["command_words", "data_sources"]

_CHUNK = 2**20


def command_words(name: str, source: Any, *groups: Any, first: Any = None, **options: Any) -> str:
    """What to type; options that have their default are left out.

    Parameters
    ----------
    name : str
        The command.
    source, groups : dataclasses of options
        As the command got them.
    first : optional
        An argument that stands before the data.
    options : mapping from option to value
        Further options by their names, ``n_jobs`` for ``--n-jobs``; None and False are left out.
    """
    words = ["labelgap", name, *([] if first is None else [str(first)]), str(source.data)]
    for group in (source, *groups):
        words += _group_words(group)
    for option, value in options.items():
        words += _option(f"--{option.replace('_', '-')}", value)
    return shlex.join(words)


def data_sources(source: LabelledOptions) -> tuple[DataSource, ...]:
    """The files that were read, with their checksums."""
    found = [_source("items", source.data)]
    if source.label_table is not None:
        found.append(_source("labels", source.label_table))
    return tuple(found)


def _group_words(group: Any) -> list[str]:
    words = []
    hints = get_type_hints(type(group), include_extras=True)
    for one in fields(group):
        value = getattr(group, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if one.name != "data" and value != default:
            words += _option(_flag(hints[one.name], one.name), value)
    return words


def _flag(hint: Any, name: str) -> str:
    """The long name that typer knows the option by."""
    if get_origin(hint) is Annotated:
        option = get_args(hint)[1]
        # in an Annotated hint the first name stands where a default would
        declared = (getattr(option, "default", None), *(getattr(option, "param_decls", None) or ()))
        for one in declared:
            if isinstance(one, str) and one.startswith("--"):
                return one
    return f"--{name.replace('_', '-')}"


def _option(flag: str, value: Any) -> list[str]:
    if value is None or value is False:
        return [flag.replace("--", "--no-", 1)] if flag == "--fetch" and value is False else []
    if value is True:
        return [flag]
    values = value if isinstance(value, (list, tuple)) else [value]
    return [word for one in values for word in (flag, str(one))]


def _source(role: str, place: Any) -> DataSource:
    path = Path(place)
    if not path.is_file():
        return DataSource(role, str(place), None)
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return DataSource(role, str(place), digest.hexdigest())
