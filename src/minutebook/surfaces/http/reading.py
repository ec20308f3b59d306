"""A request's arguments: from its query, its body and its path, each value of the JSON type that it must have.

The operation's own parser is lenient, for the command line, where everything is text. Here a number in quotes
is not a number: what the description of the API promises to refuse is refused.
"""

from __future__ import annotations

import json
import math
import re
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from minutebook.model.errors import MinutebookError
from minutebook.operations.parameters import Parameter, optional, unwrap
from minutebook.operations.registry import Operation
from minutebook.surfaces.http.exchange import Request

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})", re.ASCII)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
#: The longest name that a header holds.
_MOST_HEADER = 300
#: Parameters in one query.
_MOST_PARAMETERS = 1_000
#: The whole numbers that both databases hold.
_MOST_WHOLE = 2**63 - 1


def arguments_of(operation: Operation, request: Request, item: dict[str, str]) -> dict[str, Any]:
    """The arguments of a call; `item` is what the path named."""
    kinds = _kinds(operation)
    if request.method in ("GET", "HEAD"):
        if request.body:
            raise MinutebookError(
                "invalid_input", f"{request.method} takes its parameters in the query, not a body."
            )
        found = _from_query(operation, request.query)
    else:
        if request.query:
            raise MinutebookError(
                "invalid_input", f"{request.method} takes its parameters in the body, not the query."
            )
        found = _from_body(request)
        for name, value in found.items():
            if name in kinds:
                kinds[name].check(name, value)
            else:
                found[name] = None  # the operation says that it knows no such parameter, whatever its value
    for name, value in item.items():
        if name in found:
            raise _wrong(name, "is in the path already; leave it out here")
        found[name] = value
    return found


# The path.


def segment(raw: bytes) -> str:
    """One segment of a path as text. A slash that was written %2F is a slash of the name."""
    return _text(raw, "The path")


def _text(raw: bytes, what: str) -> str:
    try:
        return unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise MinutebookError("invalid_input", f"{what} is not percent-encoded UTF-8.") from None


def header_text(request: Request, name: bytes, most: int = _MOST_HEADER) -> str | None:
    """A header's value; what is not ASCII travels in it as percent-encoded UTF-8."""
    raw = request.headers.get(name)
    if raw is None:
        return None
    if not raw.isascii():
        raise MinutebookError("invalid_input", f"The header {name.decode()} must be percent-encoded UTF-8.")
    text = _text(raw, f"The header {name.decode()}").strip()
    if len(text) > most:
        raise MinutebookError("invalid_input", f"The header {name.decode()} is over {most} characters.")
    return text or None


# The query.


def _from_query(operation: Operation, query: bytes) -> dict[str, Any]:
    given = query_of(query)
    kinds = _kinds(operation)
    found: dict[str, Any] = {}
    for name, values in given.items():
        kind = kinds.get(name)
        if kind is None:
            found[name] = values[0]  # no parameter of this name: the operation says which there are
        elif kind.many:
            found[name] = [kind.of_text(name, value) for value in values]
        elif len(values) > 1:
            raise _wrong(name, "was given more than once")
        else:
            found[name] = kind.of_text(name, values[0])
    return found


def query_of(query: bytes) -> dict[str, list[str]]:
    """The parameters of a query, each with all its values."""
    found: dict[str, list[str]] = {}
    pairs = query.split(b"&") if query else []
    if len(pairs) > _MOST_PARAMETERS:
        raise MinutebookError("too_many", f"A query has at most {_MOST_PARAMETERS:,} parameters.")
    for pair in pairs:
        name, _, value = pair.replace(b"+", b" ").partition(b"=")
        if pair:
            found.setdefault(_text(name, "The query"), []).append(_text(value, "The query"))
    return found


def value_of_text(operation: Operation, name: str, text: str) -> Any:
    """The value of a parameter, or of one of a list, that a text means."""
    return _kinds(operation)[name].of_text(name, text)


# The body.


def _from_body(request: Request) -> dict[str, Any]:
    if not request.body:
        return {}
    check_media(request)
    try:
        text = request.body.decode("utf-8")
    except UnicodeDecodeError:
        raise MinutebookError("invalid_input", "The body is not UTF-8.") from None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, json.JSONDecodeError) else "too deep, or a number too long"
        raise MinutebookError("invalid_input", f"The body is not JSON: {why}.") from None
    if type(value) is not dict:
        raise MinutebookError(
            "invalid_input", "The body must be a JSON object of the operation's parameters."
        )
    if "\\ud" in text or "\\uD" in text:
        _check_whole_characters(value)
    return value


def check_media(request: Request) -> None:
    """A body is JSON in UTF-8, as it stands. A form of a web page can send none of that."""
    media, _, rest = (request.header(b"content-type") or "").partition(";")
    charset = rest.strip().casefold().removeprefix("charset=").strip('"')
    if media.strip().casefold() != "application/json" or charset not in ("", "utf-8"):
        raise MinutebookError("bad_media", "Send the body as application/json, in UTF-8.")
    if (request.header(b"content-encoding") or "identity").casefold() != "identity":
        raise MinutebookError("bad_media", "Send the body as it is, without a Content-Encoding.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Two readers would see two different requests.
        raise MinutebookError("invalid_input", "The body names a field twice.")
    return found


def _constant(name: str) -> Any:
    raise MinutebookError("invalid_input", f"The body is not JSON: {name} is no number.")


def _check_whole_characters(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise MinutebookError(
            "invalid_input", "The body holds half a character (a lone surrogate)."
        ) from None


# The kinds of value.


def _wrong(name: str, problem: str) -> MinutebookError:
    return MinutebookError(
        "invalid_input", f"{name}: {problem}", problems=[{"field": name, "problem": problem}]
    )


class _Kind:
    """The JSON type of one parameter."""

    __slots__ = ("_of_text", "_said", "_types", "many", "nullable", "whole")

    def __init__(self, parameter: Parameter) -> None:
        core, _ = unwrap(parameter.type)
        self.many = parameter.many
        if self.many:
            core, _ = unwrap(typing.get_args(core)[0])
        self.nullable = _nullable(parameter.type)
        self.whole = core is int
        self._types, self._said, self._of_text = _simple(core)

    def check(self, name: str, value: Any) -> None:
        """Refuse a value of another JSON type. What the value may be is for the operation to say."""
        if value is None:
            if not self.nullable:
                raise _wrong(name, "must not be null; leave it out")
        elif self.many:
            if type(value) is not list:
                raise _wrong(name, "must be a list")
            for number, part in enumerate(value):
                self._check_one(f"{name}[{number}]", part)
        else:
            self._check_one(name, value)

    def _check_one(self, name: str, value: Any) -> None:
        if self._types and type(value) not in self._types:
            raise _wrong(name, f"must be {self._said}")
        if type(value) is int and abs(value) > _MOST_WHOLE:
            raise _wrong(name, "is a number too large")
        if type(value) is float and not math.isfinite(value):
            raise _wrong(name, "is a number too large")

    def of_text(self, name: str, text: str) -> Any:
        """The value that a text of the query means."""
        try:
            value = self._of_text(text)
        except ValueError:
            raise _wrong(name, f"must be {self._said}") from None
        self._check_one(name, value)
        return value


@cache
def _kinds(operation: Operation) -> dict[str, _Kind]:
    return {parameter.name: _Kind(parameter) for parameter in operation.parameters}


def _nullable(hint: Any) -> bool:
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    return optional(hint) is not None


def _simple(core: Any) -> tuple[Sequence[type], str, Callable[[str], Any]]:
    if core is bool:
        return (bool,), "true or false", _truth
    if core is int:
        return (int,), "a whole number", _whole
    if core is float:
        return (int, float), "a number", _number
    named = typing.get_origin(core) is Literal or (
        isinstance(core, type) and issubclass(core, str | Enum | Path)
    )
    if named:
        return (str,), "a text", str
    return (), "JSON", json.loads


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _whole(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)
