"""Records: frozen dataclasses that go to JSON and back, checked against their type hints.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Point:
...     x: float
...     names: tuple[str, ...] = ()
>>> to_plain(Point(1.0, ("a",)))
{'x': 1.0, 'names': ['a']}
>>> from_plain(Point, {"x": 2}, "point")
Point(x=2.0, names=())
>>> from_plain(Point, {"x": "two"}, "point")
Traceback (most recent call last):
ValueError: point.x: expected float, found 'two'
"""

from __future__ import annotations

import functools
import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Return dataclasses as dicts and tuples as lists, at any depth."""
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_plain(element) for element in value]
    if isinstance(value, dict):
        return {key: to_plain(element) for key, element in value.items()}
    return value


def from_plain(hint: type[T], value: Any, place: str) -> T:
    """Return the inverse of :func:`to_plain`; a ValueError names the place of what does not fit.

    Type hints may be dataclasses, ``int``, ``float``, ``str``, ``bool``, ``Any``, ``Literal``,
    ``X | None``, ``dict[str, X]``, ``tuple[X, ...]`` and tuples of a fixed length.
    """
    return _read(hint, value, place)


def _read(hint: Any, value: Any, place: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if is_dataclass(hint):
        return _read_fields(hint, _checked(value, dict, "an object", place), place)
    if origin in (Union, types.UnionType):
        (required,) = (option for option in inner if option is not type(None))
        return None if value is None else _read(required, value, place)
    if origin is tuple:
        return _read_tuple(inner, _checked(value, (list, tuple), "a list", place), place)
    if origin is dict:
        entries = _checked(value, dict, "an object", place)
        return {key: _read(inner[1], entry, f"{place}.{key}") for key, entry in entries.items()}
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{place}: expected one of {inner}, found {value!r}")
        return value
    accepted = (int, float) if hint is float else hint
    if isinstance(value, bool) and hint is not bool:
        accepted = ()
    return hint(_checked(value, accepted, hint.__name__, place))


def _checked(value: Any, accepted: Any, name: str, place: str) -> Any:
    if not isinstance(value, accepted):
        raise ValueError(f"{place}: expected {name}, found {value!r}")
    return value


def _read_fields(record: Any, value: dict[str, Any], place: str) -> Any:
    hints = _hints(record)
    for name in sorted(value.keys() - hints.keys()):
        raise ValueError(f"{place}: unknown name {name!r}")
    for field in fields(record):
        optional = field.default is not MISSING or field.default_factory is not MISSING
        if field.name not in value and not optional:
            raise ValueError(f"{place}: {field.name!r} is missing")
    read = {name: _read(hints[name], part, f"{place}.{name}") for name, part in value.items()}
    return record(**read)


def _read_tuple(inner: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    if inner[-1] is Ellipsis:
        inner = inner[:1] * len(value)
    if len(inner) != len(value):
        raise ValueError(f"{place}: expected {len(inner)} values, found {len(value)}")
    pairs = zip(inner, value, strict=True)
    return tuple(_read(hint, element, f"{place}[{k}]") for k, (hint, element) in enumerate(pairs))


_hints = functools.cache(get_type_hints)
