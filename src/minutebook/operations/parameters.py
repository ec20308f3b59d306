"""What an operation may be asked with: parameters, read from a function's annotations.

The markers below say in the signature what a surface must know and Python does not: help, long text,
a check. None of them needs pydantic to be imported.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union

T = TypeVar("T")

#: Stands for "no default": `None` is a default like any other.
MISSING: Any = inspect.Parameter.empty


class Help(str):
    """One line about a parameter: `Annotated[str, Help("why it was accepted")]`."""

    __slots__ = ()


class LongText:
    """Marks a text that may be long: on the command line `-` reads it from stdin and `@path` from a file."""


class Argument:
    """Marks an optional parameter that is an argument of the command line all the same: `adopt [PATH]`."""


class Check:
    """A function that looks at a parsed value and returns the one to use, or raises.

    A ValueError becomes a problem of the field; a MinutebookError comes through with its own code.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self.function, handler(source))


class Read:
    """A function that reads a text as a value of the type: `Annotated[Type, Read(parse_type)]`.

    For types with more spellings than their members; what is not a text is left to the type itself.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(
            lambda value: self.function(value) if type(value) is str else value, handler(source)
        )


#: A text that may be long.
Text = Annotated[str, LongText()]

_FLAGS = "__minutebook_flags__"


def flags(cls: type[T]) -> type[T]:
    """Make the fields of a dataclass parameters of the surface, so that functions keep few of their own."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"@flags goes above @dataclass: {cls.__name__} is not a dataclass yet")
    setattr(cls, _FLAGS, True)
    return cls


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing an operation may be asked with, as every surface sees it."""

    name: str  # on every surface; a trailing underscore is Python's affair
    keyword: str  # in the function's signature
    type: Any
    required: bool
    default: Any = None
    help: str = ""
    text: bool = False  # long: `-` and `@file` on the command line
    many: bool = False  # a list: given again and again
    switch: bool = False  # a bool
    structured: bool = False  # made of parts: JSON on the command line
    choices: tuple[str, ...] = ()
    limits: str = ""  # of the value, in words
    lengths: str = ""  # of the text or list
    part_of: str | None = None  # the function's own parameter, when this is a field of its @flags
    argument: bool = False  # on the command line without a flag

    @property
    def can_be_emptied(self) -> bool:
        """A list that is left alone when it is not given, and can be given as an empty one."""
        return self.many and not self.required and self.default is None

    @property
    def spelling(self) -> str:
        """The type as a reader of the surface file sees it."""
        return spell(self.type)


def parameters_of(function: Callable[..., Any]) -> tuple[tuple[Parameter, ...], dict[str, type]]:
    """The parameters of an operation in order, and the @flags classes that some of them belong to."""
    hints = hints_of(function)
    found: list[Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__qualname__}: an operation takes no *args or **kwargs")
        hint = hints[name]
        group, _ = unwrap(hint)
        if isinstance(group, type) and group.__dict__.get(_FLAGS):
            groups[name] = group
            found.extend(_fields(name, group, parameter.default))
        else:
            found.append(_parameter(name, hint, parameter.default))
    names = [parameter.name for parameter in found]
    if len(set(names)) != len(names):
        raise TypeError(f"{function.__qualname__}: two parameters share a name: {', '.join(sorted(names))}")
    return tuple(found), groups


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations, all but that of `call`, which surfaces never see."""
    wanted = {name: hint for name, hint in function.__annotations__.items() if name != "call"}
    return typing.get_type_hints(
        types.SimpleNamespace(__annotations__=wanted),
        globalns=getattr(function, "__globals__", {}),
        include_extras=True,
    )


def _fields(name: str, group: type, default: Any) -> list[Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    found = []
    for field in dataclasses.fields(group):  # type: ignore[arg-type]
        if default is not MISSING:
            value = getattr(default, field.name)
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            value = MISSING
        found.append(_parameter(field.name, hints[field.name], value, part_of=name))
    return found


def _parameter(name: str, hint: Any, default: Any, part_of: str | None = None) -> Parameter:
    core, markers = unwrap(hint)
    many = typing.get_origin(core) in (list, tuple, set, frozenset)
    item = core
    if many:
        item, inner = unwrap(typing.get_args(core)[0])
        markers = [*markers, *inner]
    required = default is MISSING
    return Parameter(
        name=name.rstrip("_"),
        keyword=name,
        type=hint,
        required=required,
        default=None if required else default,
        help=next((str(marker) for marker in markers if isinstance(marker, Help)), ""),
        text=any(isinstance(marker, LongText) for marker in markers),
        many=many,
        switch=item is bool and not many,
        structured=_structured(item) and not any(isinstance(marker, Read) for marker in markers),
        choices=choices_of(item),
        limits=_limits(markers, _LIMITS),
        lengths=_limits(markers, _LENGTHS),
        part_of=part_of,
        argument=required or any(isinstance(marker, Argument) for marker in markers),
    )


def unwrap(hint: Any) -> tuple[Any, list[Any]]:
    """The bare type inside Annotated and Optional, and the markers met on the way, outermost first."""
    markers: list[Any] = []
    while True:
        if typing.get_origin(hint) is Annotated:
            hint, *found = typing.get_args(hint)
            markers.extend(found)
        elif optional(hint):
            hint = optional(hint)
        else:
            return hint, markers


def optional(hint: Any) -> Any:
    """X, when the type is `X | None`; else None."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        rest = [argument for argument in typing.get_args(hint) if argument is not types.NoneType]
        if len(rest) == 1:
            return rest[0]
    return None


def choices_of(item: Any) -> tuple[str, ...]:
    """The closed list of values of an Enum or Literal, else nothing."""
    if typing.get_origin(item) is Literal:
        return tuple(str(value) for value in typing.get_args(item))
    if isinstance(item, type) and issubclass(item, Enum):
        return tuple(str(member.value) for member in item)
    return ()


def _structured(item: Any) -> bool:
    origin = typing.get_origin(item) or item
    return dataclasses.is_dataclass(origin) or (
        isinstance(origin, type) and issubclass(origin, (Mapping, list, tuple))
    )


#: Attribute of an annotated_types marker -> how help says it.
_LIMITS = {"ge": "at least {}", "gt": "more than {}", "le": "at most {}", "lt": "less than {}"}
_LENGTHS = {"min_length": "at least {} long", "max_length": "at most {} long"}


def _limits(markers: Sequence[Any], sentences: Mapping[str, str]) -> str:
    said = []
    for marker in markers:
        for attribute, sentence in sentences.items():
            value = getattr(marker, attribute, None)
            if isinstance(value, int | float) and (value or attribute != "min_length"):
                said.append(sentence.format(f"{value:,}"))
    return ", ".join(said)


def spell(hint: Any) -> str:
    """A type in the words of the surface file: the same on every Python, without module names."""
    core, markers = unwrap(hint)
    nothing = " | null" if hint is not core and _nullable(hint) else ""
    if any(isinstance(marker, LongText) for marker in markers) and core is str:
        return f"text{nothing}"
    if choices_of(core):
        return "|".join(choices_of(core)) + nothing
    arguments = typing.get_args(core)
    origin = typing.get_origin(core)
    if origin in (Union, types.UnionType):
        return " | ".join("null" if item is types.NoneType else spell(item) for item in arguments)
    if origin in (list, tuple, set, frozenset) and arguments:
        inner = [spell(item) for item in arguments if item is not Ellipsis]
        return f"list[{', '.join(inner)}]{nothing}"
    if origin is not None:
        inner = [spell(item) for item in arguments]
        return f"{getattr(origin, '__name__', str(origin))}[{', '.join(inner)}]{nothing}"
    return _WORDS.get(core, getattr(core, "__name__", str(core))) + nothing


_WORDS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", Path: "path",
                          types.NoneType: "null", Any: "any", bytes: "base64", dict: "object"}  # fmt: skip


def _nullable(hint: Any) -> bool:
    while typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    return optional(hint) is not None
