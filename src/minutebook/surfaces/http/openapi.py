"""The description of the API, OpenAPI 3.1: made from the operations, like the API itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import minutebook
from minutebook.model.errors import CODES, HTTP_STATUS, Kind
from minutebook.operations.parameters import Parameter
from minutebook.operations.registry import REGISTRY, Access, Operation
from minutebook.surfaces import spelling
from minutebook.surfaces.http import following, samples

Schema = dict[str, Any]

_ABOUT = """\
The shared, governed memory of a team of AI agents. Every operation is here under the name that it has on the
command line, in MCP and in Python.

**Who asks.** Over TCP every route takes a bearer token (`minutebook tokens create`); the actor, the role and the
project come from it. On the unix socket the user who runs the service needs none.

**Where.** `Minutebook-Project` names the project, by id or slug; a token that is bound to one needs no header.

**Names in a path** are ids or slugs, percent-encoded, so a slash in one is `%2F`. `-` in the place of a name says
that the name comes with the other parameters, or is left out where that is allowed.

**Parameters** of `GET` are in the query, a list by repeating its name. Those of other methods are one JSON object.
Unknown ones are refused.

**Writing once.** With an `Idempotency-Key` a repeated write gives its first answer. The key belongs to the actor.

**Not writing over others.** What `show` answers has an `ETag`. Sent back as `If-Match`, the write happens only if the
thing is still in that state; else the answer is 412 and nothing changed.

**Paging.** A listing answers `items` and `next`; `after=` that cursor continues, and so does the `Link` header.

**Errors** are `{"code", "message", "details"}`. The codes are a closed table; the status follows from the kind.
"""

#: Kinds of failure that every route may answer with, and those that only writes may.
_ANYWHERE = (
    Kind.INVALID, Kind.UNPROVEN, Kind.DENIED, Kind.NOT_FOUND, Kind.CONFLICT, Kind.SIZE, Kind.LIMIT,
    Kind.INTERNAL, Kind.UNAVAILABLE,
)  # fmt: skip
_WRITING = (Kind.SLOW, Kind.MEDIA, Kind.REFUSED)

_HEADERS: dict[str, Schema] = {
    "Minutebook-Project": {
        "description": "The project to act in: its id or slug.",
        "schema": {"type": "string", "maxLength": 300},
    },
    "Minutebook-Run": {
        "description": "The run that a write belongs to.",
        "schema": {"type": "string", "maxLength": 300},
    },
    "Idempotency-Key": {
        "description": "A repeated write with the same key gives its first answer.",
        "schema": {"type": "string", "maxLength": 200},
    },
    "If-Match": {
        "description": "Only if the thing is still in the state of this ETag; * is any state.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "description": "Answer 304 if the thing is still in the state of this ETag.",
        "schema": {"type": "string"},
    },
}


def document(operations: Iterable[Operation] | None = None) -> Schema:
    """The whole description, as plain data. The same code gives the same description."""
    parts = _Parts()
    paths: dict[str, Schema] = {}
    for operation in REGISTRY.all() if operations is None else operations:
        method, path = spelling.http(operation)
        paths.setdefault(path, {})[method.lower()] = _operation(operation, parts)
    paths |= _beside(parts)
    return {
        "openapi": "3.1.0",
        "info": {"title": "minutebook", "version": minutebook.__version__, "description": _ABOUT},
        "servers": [{"url": "/"}],
        "tags": [{"name": noun, "description": about} for noun, about in REGISTRY.nouns.items()],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(parts.schemas.items())),
            "responses": _failures(),
            "parameters": {
                name: {"name": name, "in": "header", "required": False, **said}
                for name, said in _HEADERS.items()
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `minutebook tokens create`.",
                },
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "For browsers: the token as the password, on the pages that are the same for all.",
                },
            },
        },
    }


class _Parts:
    """The named schemas that operations share."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def take(self, schema: Schema, noun: str) -> Schema:
        """The schema with its definitions, and itself where it is a type of ours, moved among the shared ones."""
        own = schema.pop("$defs", {})
        named = re.sub(r"\W+", "_", schema.get("title", "")).strip("_")
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            own, schema = {**own, named: schema}, {"$ref": f"#/$defs/{named}"}
        names = {name: name for name in own}
        while True:
            moved = {names[name]: _moved(part, names) for name, part in own.items()}
            taken = [name for name, part in moved.items() if self.schemas.get(name, part) != part]
            if not taken:
                self.schemas |= moved
                return _moved(schema, names)
            # Two nouns may each have a type of that name; the later one says whose it is.
            for name, said in names.items():
                names[name] = f"{noun.title()}{said}" if said in taken else said


def _moved(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, Mapping):
        places = node.get("prefixItems")
        if isinstance(places, list) and all(place == places[0] for place in places):
            # A pair of the same is said as a list of two, which more readers understand.
            node = {**{key: part for key, part in node.items() if key != "prefixItems"}, "items": places[0]}
        return {
            key: f"#/components/schemas/{names[value.removeprefix('#/$defs/')]}"
            if key == "$ref"
            else _moved(value, names)
            for key, value in node.items()
            if key != "title" or not isinstance(value, str)  # the field's name again
        }
    return [_moved(part, names) for part in node] if isinstance(node, list) else node


# One operation.


def _operation(operation: Operation, parts: _Parts) -> Schema:
    reads = operation.access is Access.READ
    _, path = spelling.http(operation)
    item = spelling.item_of(operation) if "{" in path else None
    given = parts.take(operation.input_schema(), operation.noun)
    named: dict[str, Schema] = given.get("properties", {})
    said: Schema = {
        "operationId": operation.name,
        "tags": [operation.noun],
        "summary": operation.summary,
        "description": _description(operation),
        "parameters": [_reference("parameters", name) for name in _headers_of(operation, item)],
        "responses": _answers(operation, item, parts),
        "x-codeSamples": [
            {"lang": "sh", "label": "command line", "source": line} for line in operation.examples
        ],
    }
    if item is not None:
        said["parameters"].insert(0, _in_path(item, named.pop(item.name)))
    if reads:
        said["parameters"] += [
            _in_query(parameter, named[parameter.name])
            for parameter in operation.parameters
            if parameter.name in named
        ]
        return said
    required = [name for name in given.get("required", []) if name in named]
    body: Schema = {"type": "object", "properties": named, "additionalProperties": False}
    if required:
        body["required"] = required
    content: Schema = {"schema": body}
    example = {name: value for name, value in samples.arguments(operation).items() if name in named}
    if example.keys() >= set(required):
        content["example"] = example
    said["requestBody"] = {"required": bool(required), "content": {"application/json": content}}
    return said


def _description(operation: Operation) -> str:
    about = f"Takes the role {samples.ROLES[operation.access]}."
    said = spelling.prose(operation.description)
    return f"{said}\n\n{about}" if said else about


def _headers_of(operation: Operation, item: Parameter | None) -> list[str]:
    names = ["Minutebook-Project"]
    if operation.access is Access.READ:
        return [*names, "If-None-Match"] if operation.verb == "show" and item is not None else names
    names += ["Minutebook-Run", "Idempotency-Key"]
    return [*names, "If-Match"] if spelling.conditional(operation) else names


def _in_path(parameter: Parameter, schema: Schema) -> Schema:
    plain = _without_null(schema)
    if plain.get("type") == "string":
        plain = {**plain, "minLength": 1}
    return {
        "name": parameter.name,
        "in": "path",
        "required": True,
        "description": parameter.help,
        "schema": plain,
        "example": samples.name_of(parameter),
    }


def _in_query(parameter: Parameter, schema: Schema) -> Schema:
    said: Schema = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.help,
        "schema": _without_null(schema),
    }
    return said | {"style": "form", "explode": True} if parameter.many else said


def _without_null(schema: Schema) -> Schema:
    """The schema of a value that is given: what is not given is left out, and never written null."""
    kept = {
        key: value for key, value in schema.items() if key not in ("anyOf", "default", "title", "description")
    }
    others = [part for part in schema.get("anyOf", []) if part.get("type") != "null"]
    if len(others) == 1:
        kept |= others[0]
    elif others:
        kept["anyOf"] = others
    if schema.get("default") is not None:
        kept["default"] = schema["default"]
    return kept


# Answers.


def _answers(operation: Operation, item: Parameter | None, parts: _Parts) -> Schema:
    good: Schema = {
        "description": "Done." if operation.access is not Access.READ else "The answer.",
        "headers": {
            "X-Request-Id": {"schema": {"type": "string"}, "description": "The request, as our log names it."}
        },
        "content": {"application/json": {"schema": parts.take(operation.output_schema(), operation.noun)}},
    }
    text = {"schema": {"type": "string"}}
    kinds = [*_ANYWHERE]
    answers: Schema = {"200": good}
    if operation.access is Access.READ:
        if operation.verb == "show" and item is not None:
            good["headers"]["ETag"] = {**text, "description": "The state of the thing, for If-Match."}
            answers["304"] = {"description": "It is still as the ETag says."}
        if operation.verb == "list":
            good["headers"]["Link"] = {**text, "description": "Where the listing goes on."}
    else:
        kinds += _WRITING
        if spelling.conditional(operation):
            kinds.append(Kind.OUTDATED)
        if spelling.creates(operation):
            made = {
                **good,
                "description": "Made, or held for review: the answer says which.",
                "headers": {**good["headers"]},
            }
            made["headers"]["Location"] = {**text, "description": "Where it is."}
            answers["201"] = made
            if not any(parameter.name == "dry_run" for parameter in operation.parameters):
                del answers["200"]
            else:
                good["description"] = "What would be done, for a dry run."
    return answers | _failing(kinds)


def _failing(kinds: Iterable[Kind]) -> Schema:
    numbers = sorted(HTTP_STATUS[kind] for kind in kinds)
    return {str(number): _reference("responses", f"Error{number}") for number in numbers}


def _failures() -> Schema:
    """One response for each status, with the codes that it may carry."""
    said: Schema = {}
    for kind, number in sorted(HTTP_STATUS.items(), key=lambda pair: pair[1]):
        codes = {code: meaning for code, (of, meaning) in CODES.items() if of is kind}
        said[f"Error{number}"] = {
            "description": " ".join(f"`{code}`: {meaning}" for code, meaning in codes.items()),
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["code", "message", "details"],
                        "additionalProperties": False,
                        "properties": {
                            "code": {"enum": list(codes)},
                            "message": {"type": "string"},
                            "details": {"type": "object"},
                        },
                    }
                }
            },
        }
    return said


def _reference(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


# What is no operation.


def _beside(parts: _Parts) -> dict[str, Schema]:
    plain = {"schema": {"type": "string"}}
    listed = {parameter.name: parameter for parameter in REGISTRY.get("events.list").parameters}
    schemas = parts.take(REGISTRY.get("events.list").input_schema(), "events")["properties"]
    query = [_in_query(listed[name], schemas[name]) for name in following.PARAMETERS]
    query[0]["schema"] = {"type": "string", "pattern": "^[0-9]{1,18}$"}
    last = {"name": "Last-Event-ID", "in": "header", "required": False, "schema": query[0]["schema"],
            "description": "Goes before `after`: where a client was cut off."}  # fmt: skip
    follow = _page(
        "events.follow",
        "Follow the log of events as it grows, as server-sent events.",
        "Each event has its `seq` as id and its kind as type. Nothing is left out, also when writes commit out of "
        "order. Without `after`, it begins with what happens next. A comment every 15 seconds says that we are still "
        "here. A stream whose token is revoked ends with an event of type `error`.",
        {"text/event-stream": plain},
    )
    follow["tags"] = ["events"]
    follow["parameters"] = [_reference("parameters", "Minutebook-Project"), last, *query]
    counted = "Takes the role viewer, and nobody who is bound to one project: it tells of all of them."
    browser = [{"token": []}, {"password": []}]
    return {
        following.PATH: {"get": follow},
        "/metrics": {
            "get": _page("metrics", "What is counted, for Prometheus.", counted, {"text/plain": plain})
        },
        "/openapi.json": {
            "get": _page(
                "openapi", "This description.", "", {"application/json": {"schema": {"type": "object"}}}
            )
            | {"security": browser}
        },
        "/docs": {
            "get": _page("docs", "This description, as a page.", "", {"text/html": plain})
            | {"security": browser}
        },
    }


def _page(name: str, summary: str, description: str, content: Schema) -> Schema:
    kinds = (Kind.INVALID, Kind.UNPROVEN, Kind.DENIED, Kind.NOT_FOUND, Kind.SIZE, Kind.LIMIT, Kind.INTERNAL,
             Kind.UNAVAILABLE)  # fmt: skip
    return {
        "operationId": name,
        "tags": ["system"],
        "summary": summary,
        "description": description or "Takes the role viewer.",
        "responses": {"200": {"description": "The answer.", "content": content}} | _failing(kinds),
    }
