"""Which operation a method and a path mean: one route for each, by the rule of their spelling."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from minutebook.model.errors import MinutebookError
from minutebook.operations.registry import Operation, Registry
from minutebook.surfaces import spelling
from minutebook.surfaces.http import reading

_UNNAMED = spelling.UNNAMED.encode()


@dataclass(frozen=True, slots=True)
class Route:
    """One operation, and the parameter that its path names."""

    operation: Operation
    item: str | None


class Routes:
    """All operations by their paths. One path means one thing: a word of ours there is never a caller's name.

    What concerns one noun is imported with the first request that does: nobody waits for all of them.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._unread = {noun.encode(): noun for noun in registry.nouns}
        #: segments of the path, None for a name -> method -> route
        self._places: dict[tuple[bytes | None, ...], dict[str, Route]] = {}

    def _read(self, noun: bytes) -> None:
        name = self._unread.get(noun)
        if name is None:
            return
        for operation in self._registry.noun(name):
            method, path = spelling.http(operation)
            parts = path.split("/")[1:]
            place = tuple(None if part.startswith("{") else part.encode() for part in parts)
            item = next((part[1:-1] for part in parts if part.startswith("{")), None)
            methods = self._places.setdefault(place, {})
            if method in methods:
                raise TypeError(
                    f"{operation.name} and {methods[method].operation.name} are both {method} {path}"
                )
            methods[method] = Route(operation, item)
        del self._unread[noun]

    def find(self, method: str, path: bytes) -> tuple[Route, dict[str, str]]:
        """The route and what the path names; `wrong_method` and `not_found` say what there is instead."""
        name, methods = self._at(path.split(b"/")[1:])
        if not methods:
            raise MinutebookError("not_found", "There is no such route.", hint="GET /openapi.json lists them")
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise wrong_method(method, methods)
        return route, {} if name is None or route.item is None else {route.item: reading.segment(name)}

    def _at(self, parts: list[bytes]) -> tuple[bytes | None, dict[str, Route]]:
        """What stands at a path, and the name in it."""
        if len(parts) > 1 and parts[1] in self._unread:
            self._read(parts[1])
        exact = self._places.get(tuple(parts))
        if exact is not None:
            return None, exact
        if len(parts) > 2 and parts[2]:
            name = None if parts[2] == _UNNAMED else parts[2]
            return name, self._places.get((*parts[:2], None, *parts[3:]), {})
        return None, {}


def wrong_method(method: str, known: Collection[str]) -> MinutebookError:
    """What a route says to a method that it does not take; the answer to OPTIONS says the same."""
    allowed = sorted({*known, "OPTIONS"} | ({"HEAD"} if "GET" in known else set()))
    return MinutebookError(
        "wrong_method", f"This route takes {', '.join(allowed)}, not {method[:20]}.", allowed=allowed
    )
