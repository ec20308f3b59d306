"""Results as plain data (what JSON can hold), and back.

Neither way needs pydantic: a command that prints JSON, and a client that rebuilds a typed result, must not
pay for importing it, and what comes back was made by us.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Annotated, Any, Literal, TypeVar, Union

_SCALARS = frozenset({str, int, float, bool, type(None)})


def to_plain(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None; nothing is left out."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    names = field_names(kind)
    if names is not None:
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, Enum):
        return to_plain(value.value)
    if isinstance(value, Mapping):
        return {str(to_plain(key)): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        # A set has no order of its own; the same value must always print the same.
        return sorted((to_plain(item) for item in value), key=repr)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    for plain in (str, bool, int, float):
        if isinstance(value, plain):
            return plain(value)
    raise TypeError(f"a result may not hold a {kind.__qualname__}")


def from_plain(kind: Any, data: Any) -> Any:
    """The typed value that `to_plain` made the data from; ValueError where the data does not fit the type."""
    return _builder(kind)(data)


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of what `to_plain` makes of a value of that type."""
    return _adapter(kind).json_schema(mode="serialization")


@cache
def field_names(kind: type) -> tuple[str, ...] | None:
    """The names of a record's fields; None for a type that is no record."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


@cache
def _builder(kind: Any) -> Callable[[Any], Any]:
    """How a value of that type is made again from plain data. Made once per type: a page has many items."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _builder(arguments[0])
    if origin in (Union, types.UnionType):
        return _any_of([_builder(argument) for argument in arguments])
    if dataclasses.is_dataclass(origin or kind):
        return _record(kind)
    if origin in (list, tuple, set, frozenset, dict):
        return _collection(origin, arguments)
    if origin is Literal:
        return _only(*{type(value) for value in arguments})
    if isinstance(kind, typing.NewType):
        return _builder(kind.__supertype__)
    if kind is bytes:
        return lambda data: base64.b64decode(data, validate=True)
    if isinstance(kind, type) and issubclass(kind, datetime.date | datetime.time):
        return kind.fromisoformat
    if kind in (Any, object, dict, list):
        return lambda data: data
    if kind in (None, types.NoneType):
        return _only(types.NoneType)
    if kind is float:
        return lambda data: float(_only(int, float)(data))
    if kind in _SCALARS:
        return _only(kind)
    return kind  # an Enum, a Path, a named str: the class itself takes the plain value


def _record(kind: Any) -> Callable[[Any], Any]:
    cls = typing.get_origin(kind) or kind
    hints = typing.get_type_hints(cls, include_extras=True)
    bound = dict(zip(getattr(cls, "__parameters__", ()), typing.get_args(kind), strict=False))
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    builders: dict[str, Callable[[Any], Any]] = {}

    def build(data: Any) -> Any:
        if not builders:  # on first use, so that a type may hold itself
            builders.update({name: _builder(_substitute(hints[name], bound)) for name in names})
        if type(data) is not dict or not data.keys() >= builders.keys():
            raise ValueError(f"the data does not fit {cls.__qualname__}")
        return cls(**{name: build_field(data[name]) for name, build_field in builders.items()})

    return build


def _substitute(hint: Any, bound: dict[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return bound.get(hint, Any)
    free = getattr(hint, "__parameters__", ())
    return hint[tuple(bound.get(variable, Any) for variable in free)] if free else hint


def _collection(origin: Any, arguments: tuple[Any, ...]) -> Callable[[Any], Any]:
    if origin is dict:
        key, item = (_builder(argument) for argument in arguments)
        return lambda data: {key(name): item(value) for name, value in _only(dict)(data).items()}
    if origin is tuple and Ellipsis not in arguments:
        parts = [_builder(argument) for argument in arguments]
        return lambda data: tuple(part(value) for part, value in zip(parts, data, strict=True))
    each = _builder(arguments[0])
    return lambda data: origin(each(value) for value in _only(list)(data))


def _any_of(builders: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def build(data: Any) -> Any:
        for builder in builders:
            try:
                return builder(data)
            except (ValueError, TypeError):
                continue
        raise ValueError("the data fits no type of the union")

    return build


def _only(*kinds: type) -> Callable[[Any], Any]:
    def build(data: Any) -> Any:
        if type(data) not in kinds:
            raise ValueError(
                f"a {type(data).__name__} where {' or '.join(k.__name__ for k in kinds)} belongs"
            )
        return data

    return build


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
