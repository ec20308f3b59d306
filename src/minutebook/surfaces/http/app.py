"""The operations over HTTP: the same app on the unix socket and on the loopback.

The event loop reads and writes bytes; everything that may wait for the ledger runs in a thread. A write on
SQLite keeps no thread while it waits for its commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from minutebook.call import Call
from minutebook.ledger.database import Tx
from minutebook.model.errors import Kind, MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.paging import Page
from minutebook.model.tokens import NewToken
from minutebook.model.verdicts import Outcome
from minutebook.operations.registry import REGISTRY, Access
from minutebook.service import authorise
from minutebook.surfaces import spelling
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.http import reading, tags
from minutebook.surfaces.http.bounds import bounded, names_files
from minutebook.surfaces.http.credentials import asker_of
from minutebook.surfaces.http.crew import settle
from minutebook.surfaces.http.exchange import (
    CONNECTION,
    JSON,
    REQUEST,
    Answer,
    App,
    Header,
    Receive,
    Request,
    Scope,
    Send,
    failure,
    json_bytes,
)
from minutebook.surfaces.http.following import Follower, Following
from minutebook.surfaces.http.guarding import Guard
from minutebook.surfaces.http.lately import Lately, who_asks
from minutebook.surfaces.http.pages import Fixed, Pages, asked_for_password
from minutebook.surfaces.http.routes import Route, Routes, wrong_method
from minutebook.surfaces.http.snapshots import Snapshots
from minutebook.surfaces.observing.observer import Observation
from minutebook.surfaces.reach import Reach

#: By id these are reads of a few rows, however large the ledger: done on the event loop, where that is quicker
#: than to hand them to a thread and back.
_SHORT = frozenset({"decisions.show", "memories.show", "sessions.show"})
#: The longest body of a write that is read on the event loop, for the same reason.
_SHORT_BODY = 16 * 1024

log = logging.getLogger("minutebook.http")


def build_app(reach: Reach, *, mounts: Mapping[str, App] | None = None) -> App:
    """The whole service as one ASGI application.

    `mounts` are other applications behind the same guard, by their path (`/mcp`). They find the request in
    the scope, and ask for themselves who is there.
    """
    return Guard(Door(reach, mounts or {}), reach)


class Door:
    """Every operation, and the few pages beside them, for whoever proves who they are."""

    def __init__(self, reach: Reach, mounts: Mapping[str, App]) -> None:
        self._reach = reach
        self._mounts = {path.encode(): app for path, app in mounts.items()}
        self._routes = Routes(REGISTRY)
        self._pages = Pages(reach)
        self._snapshots = Snapshots(reach.service.database)
        self._lately = Lately(reach.service)
        self._following = Following(reach)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request = scope[REQUEST]
        mounted = self._mounts.get(request.path)
        if mounted is not None:
            await mounted(scope, receive, send)
            return
        observer = self._reach.observer
        with observer.request(request.surface, "unknown", _Carrier(request), request.id) as seen:
            try:
                answer = await self._answer(request, seen)
            except MinutebookError as error:
                seen.failed(error)
                answer = failure(error)
            except Exception as error:  # a defect of ours: answered, and told where we can read it
                failed = MinutebookError("internal", request=request.id)
                seen.failed(failed)
                log.error("request %s failed", request.id, exc_info=error)
                answer = failure(failed)
            else:
                seen.status(200 if isinstance(answer, Follower) else answer.status)
        if isinstance(answer, Follower):
            await self._following.send(answer, scope, receive, send)
            return
        connection = scope.get(CONNECTION)
        if connection is not None and answer.body and request.method != "HEAD":
            connection.hold_head()
        await answer.send(send)

    async def _answer(self, request: Request, seen: Observation) -> Answer | Follower:
        page = self._pages.find(request.path)
        if page is not None:
            return await self._page(page, request, seen)
        try:
            route, item = self._routes.find(request.method, request.path)
        except MinutebookError as error:
            # Who may not ask is told nothing, not even what there is.
            await self._reach.quick.do(lambda: self._prove(request, seen))
            return refused(request, error)
        seen.operation = route.operation.name
        if self._reach.service.can_be_soon(route.operation):
            return await self._write_soon(route, item, request, seen)
        if route.operation.name in _SHORT and is_ulid(item.get(route.item or "", "")):
            return self._short(route, item, request, seen) or await self._reach.quick.do(
                lambda: self._carry_out(route, item, request, seen)
            )
        long = route.operation.outside and route.operation.access is not Access.READ
        crew = self._reach.slow if long else self._reach.quick
        return await crew.do(lambda: self._carry_out(route, item, request, seen))

    def _short(
        self, route: Route, item: dict[str, str], request: Request, seen: Observation
    ) -> Answer | None:
        """A read of a few rows, here and now; None where it would have to be waited for."""
        who = who_asks(request)
        given = self._lately.find(request, who)
        if given is not None:
            seen.asked_by(given.asker, request.header(b"user-agent") or "")
            return given.answer
        commits = self._reach.service.database.commits
        snapshot = self._snapshots.now()
        if snapshot is None:
            return None
        known = self._snapshots.askers.get(who)
        answer = self._carry_out(route, item, request, seen, snapshot, known)
        if seen.asker is not None:
            self._snapshots.askers[who] = seen.asker
            self._lately.keep(request, who, answer, seen.asker, commits)
        return answer

    async def _page(self, page: Fixed, request: Request, seen: Observation) -> Answer | Follower:
        seen.operation = page.name
        try:
            asker = await self._reach.quick.do(lambda: self._prove(request, seen, browser=page.browser))
        except MinutebookError as error:
            if page.browser and error.kind is Kind.UNPROVEN:
                seen.failed(error)
                return asked_for_password(error)
            raise
        if request.method not in ("GET", "HEAD"):
            return refused(request, wrong_method(request.method, ("GET",)))
        if page.whole and asker.actor.project is not None:
            raise MinutebookError(
                "other_project",
                f"{asker.actor.name} is bound to one project, and this tells of all of them.",
                hint="minutebook tokens create --role viewer --agent prometheus --everywhere",
            )
        if page.render is None:
            return await self._following.begin(request, asker)
        return await self._reach.quick.do(page.render)

    async def _write_soon(
        self, route: Route, item: dict[str, str], request: Request, seen: Observation
    ) -> Answer:
        """A write that keeps no thread while it waits to be durable."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[Any] = loop.create_future()

        def tell(value: Any, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(settle, written, value, error)

        def begin(within: Tx | None = None) -> dict[str, Any]:
            arguments, terms = self._prepare(route, item, request, seen, within)
            self._reach.service.invoke_soon(route.operation, arguments, tell, watch=seen, **terms)
            return arguments

        short = len(request.body) <= _SHORT_BODY and not names_files(route.operation)
        snapshot = self._reach.service.database.read_at_once() if short else None
        if snapshot is None:
            arguments = await self._reach.quick.do(begin)
        else:
            # Not the one that reads share: among many writes one would always be open, and the log never emptied.
            with snapshot as within:
                arguments = begin(within)
        return answer_for(route, request, arguments, await written)

    def _carry_out(
        self,
        route: Route,
        item: dict[str, str],
        request: Request,
        seen: Observation,
        within: Tx | None = None,
        known: Asker | None = None,
    ) -> Answer:
        """Everything from the credential to the bytes, in one thread or within one snapshot.

        `known` is who asks, where that was proved in the same snapshot.
        """
        arguments, terms = self._prepare(route, item, request, seen, within, known)
        value = self._reach.service.invoke(route.operation, arguments, watch=seen, within=within, **terms)
        return answer_for(route, request, arguments, value)

    def _prepare(
        self,
        route: Route,
        item: dict[str, str],
        request: Request,
        seen: Observation,
        within: Tx | None = None,
        known: Asker | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments of a call and its terms: who asks, with which key, on which condition."""
        operation = route.operation
        asker = self._prove(request, seen, within, known=known)
        authorise(asker.actor, operation)  # who may not ask is told nothing about the question
        arguments = reading.arguments_of(operation, request, item)
        local = request.peer is not None
        arguments = bounded(operation, arguments, self._reach.settings, local=local)
        terms = asker.terms()
        if operation.access is not Access.READ:
            terms["key"] = reading.header_text(request, b"idempotency-key")
            terms["condition"] = _condition(route, request, arguments)
        return arguments, terms

    def _prove(
        self,
        request: Request,
        seen: Observation,
        within: Tx | None = None,
        *,
        known: Asker | None = None,
        browser: bool = False,
    ) -> Asker:
        asker = known or asker_of(self._reach.doorkeeper, request, within, browser=browser)
        seen.asked_by(asker, request.header(b"user-agent") or "")
        return asker


def refused(request: Request, error: MinutebookError) -> Answer:
    """What is said where there is no route, or none for the method; OPTIONS only wants to know."""
    if error.code == "wrong_method" and request.method == "OPTIONS":
        return Answer(204, headers=[(b"allow", ", ".join(error.details["allowed"]).encode("ascii"))])
    raise error


def _condition(route: Route, request: Request, arguments: dict[str, Any]) -> Callable[[Call], None] | None:
    if_match = request.header(b"if-match")
    if if_match is None:
        return None
    show = route.operation.kin.get("show")
    if show is None or not spelling.conditional(route.operation):
        # A condition that is not looked at would be worse than none.
        raise MinutebookError("invalid_input", f"{route.operation.name} takes no If-Match.")
    item = {name: arguments[name] for name in (route.item,) if name in arguments}
    return tags.condition(show, item, if_match)


def answer_for(route: Route, request: Request, arguments: dict[str, Any], value: Any) -> Answer:
    """The answer to an operation that went well."""
    operation = route.operation
    body = json_bytes(value)
    headers = [JSON]
    if operation.access is Access.READ:
        if operation.verb == "show" and route.item is not None:
            tag = tags.tag_of(value, body)
            headers += [(b"etag", tag.encode("ascii")), (b"cache-control", b"private, no-cache")]
            if tags.is_known(tag, request.header(b"if-none-match")):
                return Answer(304, headers=headers[1:])
        elif isinstance(value, Page) and value.next is not None:
            headers.append(_next(request, value.next))
    elif spelling.creates(operation) and not arguments.get("dry_run"):
        return Answer(201, body, [*headers, *_location(operation.noun, value)])
    return Answer(200, body, headers)


def _next(request: Request, cursor: str) -> Header:
    """Where the listing goes on, with everything else that was asked for."""
    asked = {**reading.query_of(request.query), "after": [cursor]}
    query = urlencode(asked, doseq=True, quote_via=quote)
    return b"link", b'<%s?%s>; rel="next"' % (request.path, query.encode("ascii"))


def _location(noun: str, value: Any) -> Iterator[Header]:
    """Where the thing is that was made, or the proposal that waits for it."""
    id = getattr(value, "id", None)
    if isinstance(value, NewToken):
        id = value.token.id
    elif isinstance(value, Outcome):
        noun, id = (noun, value.memory) if value.memory is not None else ("inbox", value.proposal)
    if id is not None:
        yield b"location", f"/api/{noun}/{quote(id, safe='')}".encode("ascii")


class _Carrier(Mapping[str, str]):
    """The headers by their names as text, for whoever keeps account of the request."""

    __slots__ = ("_headers",)

    def __init__(self, request: Request) -> None:
        self._headers = request.headers

    def __getitem__(self, name: str) -> str:
        return self._headers[name.encode("latin-1", "replace")].decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._headers)

    def __len__(self) -> int:
        return len(self._headers)
