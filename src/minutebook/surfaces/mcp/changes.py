"""Notices, for one MCP client, that what it watches is not as it was.

The event log says when to look; what is compared is the resource as this client sees it. So nobody hears of
a change that they may not see, and a write that leaves the page as it was is no change.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from minutebook.model.actors import Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import events
from minutebook.surfaces.mcp import resources
from minutebook.surfaces.mcp.resources import Ask
from minutebook.surfaces.waking import Waking

T = TypeVar("T")
#: Runs something that blocks, away from the event loop.
Aside = Callable[[Callable[[], T]], Awaitable[T]]

#: Addresses that one client may watch.
MOST = 100
#: Seconds between two looks: many writes in a row are one change.
_REST = 0.25
#: Events of one look.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be read anew."""

    uris: tuple[str, ...]
    #: whether the list of resources is another
    listed: bool = False
    #: whether other tools are shown, because the role is another
    tools: bool = False

    def __bool__(self) -> bool:
        return bool(self.uris) or self.listed or self.tools


class Changes:
    """What one client watches, and how it was when last seen. Its methods block but for `follow`."""

    def __init__(self, waking: Waking, ask: Ask, role: Callable[[], Role]) -> None:
        self._waking = waking
        self._ask = ask
        self._role = role
        self._seen: dict[str, str] = {}
        self._cursor: int | None = None
        self._list = ""
        self._last_role: Role | None = None
        self._begun = False
        self._beginning = threading.Lock()

    def begin(self) -> None:
        """Take how things are now as what the client knows; once, whoever comes first."""
        with self._beginning:
            if not self._begun:
                self._begin()
                self._begun = True

    def _begin(self) -> None:
        try:
            newest = self._ask(events.list_, limit=1).items
        except MinutebookError as error:
            if error.code != "no_project":
                raise
            return  # nothing happens to whoever belongs to no project
        self._cursor = newest[0].seq if newest else 0
        self._list = resources.digest_of_list(self._ask)
        self._last_role = self._role()

    def watch(self, uri: str) -> None:
        """Watch a resource that is there; `not_found` when it is not."""
        self.begin()
        resources.read(self._ask, uri)
        if uri not in self._seen and len(self._seen) >= MOST:
            raise MinutebookError("too_many", f"At most {MOST} resources can be watched at once.")
        self._seen[uri] = resources.digest(self._ask, uri)

    def unwatch(self, uri: str) -> None:
        self._seen.pop(uri, None)

    async def follow(self, aside: Aside[Change | None]) -> AsyncIterator[Change]:
        """Every change from `begin` on, until the service ends; raises what asking raises, a revoked token too."""
        while not self._waking.closed:
            count = self._waking.count
            change = None if self._cursor is None else await aside(self._look)
            if change is None:
                await self._waking.after(count)
                continue
            if change:
                yield change
            await asyncio.sleep(_REST)

    def _look(self) -> Change | None:
        """What changed since the last look; None when nothing at all happened."""
        found = self._ask(events.list_, follow=True, after=str(self._cursor), limit=_BATCH).items
        if not found:
            return None
        self._cursor = found[-1].seq
        # Taken before the pages are read: what happens meanwhile is looked at in the next round.
        changed = []
        for uri, before in list(self._seen.items()):
            now = resources.digest(self._ask, uri)
            if now != before and uri in self._seen:
                self._seen[uri] = now
                changed.append(uri)
        listed, self._list = self._list, resources.digest_of_list(self._ask)
        role, self._last_role = self._last_role, self._role()
        return Change(tuple(changed), listed != self._list, role != self._last_role)
