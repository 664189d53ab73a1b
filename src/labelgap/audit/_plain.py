"""Frozen dataclasses to nested dicts and lists and back, guided by their type hints."""

from __future__ import annotations

import functools
import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_NUMBERS = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}


def to_plain(value: Any) -> Any:
    """Dataclasses become dicts, tuples become lists."""
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: to_plain(one) for key, one in value.items()}
    return value


def from_plain(hint: type[T], value: Any, place: str) -> T:
    """The inverse, checked: a wrong type or name is a ValueError that says where."""
    return _read(hint, value, place)


def _read(hint: Any, value: Any, place: str) -> Any:
    if is_dataclass(hint):
        return _read_fields(hint, value, place)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _read_optional(inner, value, place)
    if origin is tuple:
        return _read_tuple(inner, value, place)
    if origin is dict:
        if not isinstance(value, dict):
            raise ValueError(f"{place}: expected an object, found {value!r}")
        return {key: _read(inner[1], one, f"{place}.{key}") for key, one in value.items()}
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{place}: expected one of {inner}, found {value!r}")
        return value
    if hint is Any:
        return value
    accepted = _NUMBERS[hint]
    if not isinstance(value, accepted) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{place}: expected {hint.__name__}, found {value!r}")
    return float(value) if hint is float else value


def _read_fields(hint: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{place}: expected an object, found {value!r}")
    hints = _hints(hint)
    strange = sorted(value.keys() - hints.keys())
    if strange:
        raise ValueError(f"{place}: unknown name {strange[0]!r}")
    needed = [
        one.name
        for one in fields(hint)
        if one.default is MISSING and one.default_factory is MISSING and one.name not in value
    ]
    if needed:
        raise ValueError(f"{place}: {needed[0]!r} is missing")
    return hint(**{name: _read(hints[name], one, f"{place}.{name}") for name, one in value.items()})


def _read_optional(inner: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None:
        return None
    (only,) = (one for one in inner if one is not type(None))
    return _read(only, value, place)


def _read_tuple(inner: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{place}: expected a list, found {value!r}")
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_read(inner[0], one, f"{place}[{k}]") for k, one in enumerate(value))
    if len(inner) != len(value):
        raise ValueError(f"{place}: expected {len(inner)} values, found {len(value)}")
    return tuple(_read(one, value[k], f"{place}[{k}]") for k, one in enumerate(inner))


@functools.cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint)
