"""One name on every surface: the HTTP route and the MCP tool that follow, by rule, from an operation."""

from __future__ import annotations

from pathlib import Path

from minutebook.operations.parameters import Parameter, unwrap
from minutebook.operations.registry import Access, Operation

#: Verbs that make something new in the collection.
_CREATING = frozenset({"create", "write", "submit", "add", "start"})


def http(operation: Operation) -> tuple[str, str]:
    """Method and path: `POST /api/inbox/{slug}/promote`. Parameters in the path are not in the body."""
    collection = f"/api/{operation.noun}"
    item = item_of(operation)
    place = f"{collection}/{{{item.name}}}" if item else collection
    verb = operation.verb.replace("_", "-")
    if operation.access is Access.READ:
        if verb in ("list", operation.noun):
            return "GET", collection
        return "GET", place if verb == "show" else f"{place}/{verb}"
    if verb in _CREATING:
        return "POST", collection
    if verb == "edit":
        return "PATCH", place
    return "POST", f"{place}/{verb}"


def item_of(operation: Operation) -> Parameter | None:
    """The parameter that names the one thing an operation is about: its first, when it is a plain name."""
    first = next(iter(operation.parameters), None)
    if first is None or not first.required or first.text or first.many or first.structured or first.switch:
        return None
    return None if unwrap(first.type)[0] is Path else first


def tool(operation: Operation) -> str:
    """The name of the MCP tool: `inbox_promote`."""
    return operation.verb if operation.verb == operation.noun else f"{operation.noun}_{operation.verb}"
