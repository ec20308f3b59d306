"""One name on every surface: the HTTP route and the MCP tool that follow, by rule, from an operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minutebook.model.ids import is_ulid
from minutebook.operations.parameters import Parameter, unwrap
from minutebook.operations.registry import Access, Operation

#: Verbs that make something new in the collection.
_CREATING = frozenset({"create", "write", "submit", "add", "start"})

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")

#: Stands in a path where an item's name would: the name is a parameter like any other, or is not given.
UNNAMED = "-"


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
    if creates(operation) or verb == operation.noun:
        return "POST", collection
    if verb == "edit":
        return "PATCH", place
    return "POST", f"{place}/{verb}"


def request(operation: Operation, arguments: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Method, path, and the arguments that are left for the query or the body.

    Only an id goes into the path. A name may be one of the collection's own verbs, or hold a slash, so it
    goes with the other parameters, and `-` stands in its place.
    """
    method, path = http(operation)
    item = item_of(operation)
    rest = dict(arguments)
    if item is None or "{" not in path:
        return method, path, rest
    name = UNNAMED
    if is_ulid(str(rest.get(item.name, ""))):
        name = str(rest.pop(item.name))
    return method, path.replace(f"{{{item.name}}}", name), rest


def creates(operation: Operation) -> bool:
    """Whether it makes something new in its collection."""
    return operation.access is not Access.READ and operation.verb in _CREATING


def conditional(operation: Operation) -> bool:
    """Whether a write takes If-Match: it is about one thing, which can be shown, and it is one transaction."""
    about_one = "{" in http(operation)[1] and "show" in operation.kin
    return about_one and operation.access is not Access.READ and not operation.outside


def item_of(operation: Operation) -> Parameter | None:
    """The parameter that names the one thing an operation is about: the first, when that is a plain name.

    Where the noun can `show` one thing, it is what `show` calls it. So `projects add-repo NAME` is not taken
    to be about a project of the repository's name.
    """
    first = next(iter(operation.parameters), None)
    if first is None or first.text or first.many or first.structured or first.switch:
        return None
    if unwrap(first.type)[0] is Path:
        return None
    show = operation.kin.get("show")
    shown = None if show is None else next(iter(show.parameters), None)
    if shown is not None and shown.name != first.name:
        return None
    # `show` may leave the name out and mean the present one; without a place for items it would be `list`.
    return first if first.required or (operation is show and "list" in operation.kin) else None


def prose(text: str) -> str:
    """What an operation says of itself, where its parameters are no flags: `--dry-run` is `dry_run`."""
    return _FLAG.sub(lambda found: found[1].replace("-", "_"), text)


def tool(operation: Operation) -> str:
    """The name of the MCP tool: `inbox_promote`."""
    return operation.verb if operation.verb == operation.noun else f"{operation.noun}_{operation.verb}"
