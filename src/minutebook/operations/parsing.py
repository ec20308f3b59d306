"""Raw arguments (strings of a command line, values of JSON) into typed ones, or an error saying what to do.

Pydantic is the judge. Importing it costs a third of what a command may take, so plain readers go first:
they accept only what pydantic would accept unchanged, and leave every other case, and every refusal, to it.
"""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from minutebook.model.errors import MinutebookError
from minutebook.operations.parameters import Check, Help, LongText, Parameter, Read, optional

Reader = Callable[[Any], Any]


class Unsure(Exception):
    """The plain reader leaves this value to pydantic."""


class Parser:
    """Reads the arguments of one operation."""

    def __init__(self, name: str, parameters: Sequence[Parameter]) -> None:
        self._name = name
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._readers = {parameter.name: _reader(parameter.type) for parameter in parameters}
        self._built: Any = None

    def parse(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter with its typed value; defaults where nothing was given."""
        arguments = {name: _storable(value) for name, value in arguments.items()}
        try:
            return self._read(arguments)
        except Unsure:
            return self._validate(arguments)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self._model().model_json_schema()

    def _read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if arguments.keys() - self._parameters.keys():
            raise Unsure
        values = {}
        for name, parameter in self._parameters.items():
            if name in arguments:
                values[name] = self._readers[name](arguments[name])
            elif parameter.required:
                raise Unsure
            else:
                values[name] = parameter.default
        return values

    def _validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic import ValidationError

        try:
            model = self._model().model_validate(dict(arguments))
        except ValidationError as error:
            raise self._refusal(error.errors(include_url=False)) from None
        return {name: getattr(model, f"p_{name}") for name in self._parameters}

    def _model(self) -> Any:
        if self._built is None:
            from pydantic import ConfigDict, Field, create_model

            # The prefix keeps parameter names (copy, schema, json...) clear of pydantic's own.
            fields: dict[str, Any] = {
                f"p_{name}": (
                    parameter.type,
                    Field(
                        default=... if parameter.required else parameter.default,
                        alias=name,
                        title=name,
                        description=parameter.help or None,
                    ),
                )
                for name, parameter in self._parameters.items()
            }
            config = ConfigDict(extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=False)
            self._built = create_model(self._name, __config__=config, **fields)
        return self._built

    def _refusal(self, errors: Sequence[Any]) -> MinutebookError:
        problems = [
            {"field": _field(error["loc"]), "problem": self._problem(error), "type": error["type"]}
            for error in errors
        ]
        first = problems[0]
        code = _CODES.get(first["type"], "invalid_input")
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        for problem in problems:
            del problem["type"]
        return MinutebookError(code, f"{first['field']}: {first['problem']}{more}", problems=problems)

    def _problem(self, error: Any) -> str:
        """What is wrong with one value and what to give instead."""
        kind, context = error["type"], error.get("ctx", {})
        parameter = self._parameters.get(str(error["loc"][0])) if error["loc"] else None
        if kind == "missing":
            about = f" ({parameter.help})" if parameter and parameter.help else ""
            return f"is missing; give it a value{about}"
        if kind == "extra_forbidden":
            return self._unknown(str(error["loc"][-1]))
        if kind == "value_error":
            return str(context["error"])
        if kind in _SENTENCES:
            said = _SENTENCES[kind].format_map(_Context(context))
        else:
            said = error["msg"][:1].lower() + error["msg"][1:]
        return said + _seen(error["input"], parameter)

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._parameters, n=1)
        if close:
            return f"is no parameter of {self._name}; did you mean {close[0]}?"
        return f"is no parameter of {self._name}, which takes: {', '.join(self._parameters) or 'none'}"


def _storable(value: Any) -> Any:
    """The value with every text in it such that both databases can hold it.

    Here and nowhere else: a name that is only looked for would break PostgreSQL as much as one that is kept.
    """
    if type(value) is str:
        if value.isascii() and "\0" not in value:
            return value
        from minutebook.model.text import storable  # costs more to import than most commands need

        return storable(value)
    if type(value) in (list, tuple):
        return type(value)(_storable(item) for item in value)
    if type(value) is dict:
        return {name: _storable(item) for name, item in value.items()}
    return value


class _Context(dict[str, Any]):
    """Numbers with thousands, and `'a' or 'b'` without quotes, as a sentence wants them."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:,}"
        return str(value).replace("'", "")


#: Where the table of errors has a closer word than invalid_input.
_CODES = {"string_too_long": "too_large", "bytes_too_long": "too_large", "too_long": "too_many"}

_SENTENCES = {
    "string_type": "must be a text",
    "string_too_short": "must be at least {min_length} characters long",
    "string_too_long": "is longer than {max_length} characters; send less",
    "too_long": "has {actual_length} items; at most {max_length} are taken",
    "too_short": "has {actual_length} items; at least {min_length} are needed",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "dataclass_type": "must be an object",
}

_SHOWN = 40


def _seen(value: Any, parameter: Parameter | None) -> str:
    """The value that was given, when it is short and no prose: errors go to logs, and content must not."""
    if parameter is None or parameter.text or isinstance(value, list | tuple | dict) or value is None:
        return ""
    shown = ascii(value)
    return f", not {shown}" if len(shown) <= _SHOWN else ""


def _field(location: Sequence[Any]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.lstrip(".") or "arguments"


# The plain readers.

_WHOLE = re.compile(r"[+-]?[0-9]{1,15}", re.ASCII)


def _reader(hint: Any) -> Reader:
    if typing.get_origin(hint) is Annotated:
        core, *markers = typing.get_args(hint)
        return _checked(_reader(core), markers)
    if (inner := optional(hint)) is not None:
        read = _reader(inner)
        return lambda value: None if value is None else read(value)
    if typing.get_origin(hint) in (list, tuple):
        return _list(hint)
    if typing.get_origin(hint) is Literal:
        allowed = {choice for choice in typing.get_args(hint) if type(choice) is str}
        return lambda value: value if type(value) is str and value in allowed else _unsure()
    if isinstance(hint, type) and issubclass(hint, Enum):
        members = {member.value: member for member in hint if isinstance(member.value, str)}
        return lambda value: members[value] if type(value) is str and value in members else _unsure()
    return _SIMPLE.get(hint, _unsure)


def _unsure(value: Any = None) -> Any:
    raise Unsure


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    return int(value) if type(value) is str and _WHOLE.fullmatch(value) else _unsure()


_SIMPLE: dict[Any, Reader] = {
    str: lambda value: value if type(value) is str and value.isascii() else _text(value),
    bool: lambda value: value if type(value) is bool else _unsure(),
    int: _whole,
    Path: lambda value: Path(value) if type(value) is str else _unsure(),
}


def _text(value: Any) -> str:
    """A text as it is; one with lone surrogates is no Unicode text, which pydantic says."""
    if type(value) is not str:
        raise Unsure
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Unsure from None
    return value


def _list(hint: Any) -> Reader:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and arguments[1:] != (Ellipsis,):
        return _unsure
    read = _reader(arguments[0])

    def read_all(value: Any) -> Any:
        if type(value) not in (list, tuple):
            raise Unsure
        return origin(read(item) for item in value)  # type: ignore[misc]

    return read_all


def _checked(read: Reader, markers: Sequence[Any]) -> Reader:
    """The reader, then what the markers ask for; a marker we do not know leaves the type to pydantic."""
    checks: list[Reader] = []
    for marker in markers:
        if isinstance(marker, Help | LongText):
            continue
        if isinstance(marker, Read) and not checks:
            read = _spelled(marker)
            continue
        check = marker.function if isinstance(marker, Check) else _limit(marker)
        if check is None:
            return _unsure
        checks.append(check)

    def read_and_check(value: Any) -> Any:
        try:
            value = read(value)
            for check in checks:
                value = check(value)
        except (ValueError, TypeError, AssertionError):
            raise Unsure from None
        return value

    return read_and_check


def _spelled(marker: Read) -> Reader:
    return lambda value: marker.function(value) if type(value) is str else _unsure()


def _limit(marker: Any) -> Reader | None:
    """The check of a marker of annotated_types, which need not be imported to be recognised."""
    if type(marker).__module__ != "annotated_types":
        return None
    match type(marker).__name__:
        case "Ge":
            return lambda value: value if value >= marker.ge else _unsure()
        case "Gt":
            return lambda value: value if value > marker.gt else _unsure()
        case "Le":
            return lambda value: value if value <= marker.le else _unsure()
        case "Lt":
            return lambda value: value if value < marker.lt else _unsure()
        case "MinLen":
            return lambda value: value if len(value) >= marker.min_length else _unsure()
        case "MaxLen":
            return lambda value: value if len(value) <= marker.max_length else _unsure()
    return None
