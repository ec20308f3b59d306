"""Operations as MCP tools: the same names and schemas, and for each role the few that it needs to see.

Nothing here comes from the ledger: names, descriptions and schemas are constants of the program, so no stored
text can speak through them. No SDK is needed to know them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from minutebook.model.actors import Role, rank
from minutebook.operations.registry import REGISTRY, Access, Operation
from minutebook.surfaces import spelling

#: What an agent needs before, during and after its work. More tools would make each harder to find.
_FOR_AGENTS = (
    "runs.start",
    "runs.finish",
    "context.context",
    "search.search",
    "decisions.list",
    "decisions.show",
    "memories.show",
    "memories.write",
    "memories.edit",
    "inbox.submit",
    "inbox.list",
    "inbox.show",
)
#: What whoever reviews needs besides.
_FOR_COORDINATORS = (
    "inbox.digest",
    "inbox.promote",
    "inbox.reject",
    "decisions.write",
    "decisions.edit",
    "decisions.supersede",
    "decisions.archive",
    "decisions.retire",
    "memories.list",
    "memories.retire",
    "memories.restore",
    "verdicts.list",
    "verdicts.show",
    "verdicts.revert",
    "sessions.start",
    "sessions.update",
    "sessions.close",
    "runs.list",
    "runs.show",
    "consolidation.run",
    "consolidation.show",
    "consolidation.take",
    "consolidation.leave",
)
#: What whoever keeps the house needs every day. The rest of what they may do is for the command line: all of it
#: here would fill fifty thousand tokens of every conversation.
_FOR_OPERATORS = (
    "system.health",
    "system.backup",
    "audit.audit",
    "captures.note",
    "captures.document",
    "captures.list",
    "sources.list",
    "sources.show",
    "searches.explain",
    "jobs.list",
    "jobs.retry",
    "adopt.adopt",
    "adoptions.list",
    "adoptions.show",
    "adoptions.accept",
    "files.status",
    "files.sync",
    "agents.add",
    "actors.list",
    "projects.list",
    "projects.show",
)
#: Verbs that take something out of use, or its words away for good; and what does so by another name.
_TAKES_AWAY = frozenset(
    [
        "abandon",
        "archive",
        "close",
        "disable",
        "erase",
        "expire",
        "forget",
        "import",
        "prune",
        "reject",
        "repair",
        "replace",
        "restore",
        "retire",
        "revert",
        "revert_all",
        "revoke",
        "revoke_all",
        "supersede",
        "unlink",
        "untag",
        "withdraw",
    ]
)
_TAKES_AWAY_TOO = frozenset({"consolidation.take"})
#: What only looks, though it takes more than a reader's role to ask for it.
_LOOKS = frozenset({"audit.audit", "audit.page"})
#: Writes that do more when they are asked for again.
_NOT_AGAIN = frozenset(
    [
        "captures.extract",
        "consolidation.run",
        "consolidation.retry",
        "hooks.receive",
        "jobs.retry",
        "runs.reload",
        "runs.start",
        "sessions.start",
        "sessions.update",
        "system.backup",
        "system.export",
        "tokens.create",
    ]
)


@dataclass(frozen=True, slots=True)
class Tool:
    """One operation, as an MCP client is told of it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    reads: bool
    takes_away: bool
    idempotent: bool
    #: whether the answer may be something other than an object, which clients do not take: it is put into one
    wrapped: bool

    def structured(self, plain: Any) -> dict[str, Any]:
        """The answer as structured content."""
        return {"result": plain} if self.wrapped else plain


def listed_for(role: Role) -> tuple[Operation, ...]:
    """The operations that a role is shown. What it may do and is not shown, it can call all the same."""
    named = {operation.name: operation for operation in REGISTRY.all()}
    shown = [named[name] for name in _FOR_AGENTS]
    if rank(role) >= rank(Role.COORDINATOR):
        shown += [named[name] for name in _FOR_COORDINATORS]
    if rank(role) >= rank(Role.OPERATOR):
        shown += [named[name] for name in _FOR_OPERATORS]
    if rank(role) < rank(Role.AGENT):
        shown = [operation for operation in shown if operation.access is Access.READ]
    return tuple(shown)


@cache
def by_name() -> dict[str, Operation]:
    """Every operation by the name of its tool."""
    return {spelling.tool(operation): operation for operation in REGISTRY.all()}


@cache
def tool_of(operation: Operation) -> Tool:
    """The tool that an operation is."""
    prose = [operation.summary, spelling.prose(operation.description)]
    answer = portable(operation.output_schema(), answers=True)
    wrapped = answer.get("type") != "object"
    words = operation.command.replace("-", " ")
    reads = operation.access is Access.READ or operation.name in _LOOKS
    return Tool(
        name=spelling.tool(operation),
        title=words[:1].upper() + words[1:],
        description="\n\n".join(part for part in prose if part),
        input_schema=portable(operation.input_schema(), answers=False),
        output_schema=_wrapped(answer) if wrapped else answer,
        reads=reads,
        takes_away=not reads and (operation.verb in _TAKES_AWAY or operation.name in _TAKES_AWAY_TOO),
        idempotent=operation.name not in _NOT_AGAIN,
        wrapped=wrapped,
    )


def _wrapped(answer: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": answer}, "required": ["result"]}


def portable(schema: dict[str, Any], *, answers: bool) -> dict[str, Any]:
    """A schema that every client can read: without references, names of classes, and nulls that say nothing.

    A parameter that may be null may as well be left out, so clients are told of the value alone. In an answer
    null is a value; there it stays, and only prose goes.
    """
    definitions = schema.get("$defs", {})
    whole = {key: value for key, value in schema.items() if key != "$defs"}
    return _plain(whole, definitions, answers, ())


def _plain(node: Any, definitions: dict[str, Any], answers: bool, inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions, answers, inside) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in inside:
            raise TypeError(f"{name} holds itself: such a type has no schema without references")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        merged = {**copy.deepcopy(definitions[name]), **rest}
        return _plain(merged, definitions, answers, (*inside, name))
    plain: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":  # their names are ours, whatever they look like
            plain[key] = {name: _plain(item, definitions, answers, inside) for name, item in value.items()}
        elif key == "title" or (answers and key in ("description", "default")):
            continue
        elif key in ("enum", "const", "default", "examples", "required"):
            plain[key] = value
        else:
            plain[key] = _plain(value, definitions, answers, inside)
    return plain if answers else _without_null(plain)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    branches = node.get("anyOf")
    if branches is None:
        return node
    kept = [branch for branch in branches if branch != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if rest.get("default", False) is None:
        del rest["default"]
    return {**kept[0], **rest} if len(kept) == 1 else {**rest, "anyOf": kept}
