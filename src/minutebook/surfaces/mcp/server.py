"""Our operations, resources and prompts as a server of the MCP SDK.

Both eras of the protocol are served by the same functions. Who asks comes with the connection or the request,
never with the arguments; everything is carried out by the service, on threads, as for any other door.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from minutebook import __version__
from minutebook.model.actors import Origin
from minutebook.model.errors import MinutebookError
from minutebook.operations.registry import REGISTRY, Access, Operation, to_plain
from minutebook.service import authorise
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.http.bounds import bounded
from minutebook.surfaces.http.crew import settle
from minutebook.surfaces.mcp import prompts, resources, tools, wire
from minutebook.surfaces.mcp.changes import Changes
from minutebook.surfaces.observing.observer import Observation
from minutebook.surfaces.reach import Reach

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]

#: Where a caller's idempotency key travels: beside the arguments, in `_meta`.
KEY = "minutebook/key"
#: Streams of changes open at once.
_LISTENERS = 500
_CHANGES = "minutebook.changes"

_log = logging.getLogger("minutebook.mcp")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who is at the other end."""

    #: looks at the credential again and says who it is; blocks, and raises when it holds no more
    identify: Callable[[], Asker]
    #: whether they sit at this machine, and may name files of it
    local: bool


class _Server(Server[Any]):
    """A server that says of itself what it tells of changes, in both eras."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        return super().create_initialization_options(
            notification_options or NotificationOptions(resources_changed=True, tools_changed=True),
            experimental_capabilities,
            extensions,
        )

    def get_capabilities(self, *given: Any, **named: Any) -> types.ServerCapabilities:
        made = super().get_capabilities(*given, **named)
        if made.prompts is not None:
            made.prompts.list_changed = False  # they are constants
        return made


class Conversation:
    """What MCP clients can ask, whatever they come through."""

    def __init__(self, reach: Reach, visitor_of: Callable[[Context], Visitor]) -> None:
        self._reach = reach
        self._visitor_of = visitor_of
        self._listening = 0

    def server(self) -> Server[Any]:
        """The SDK's server with our answers."""
        made = _Server(
            "minutebook",
            version=__version__,
            title="Minutebook",
            description="The shared, governed memory of a team of AI agents.",
            instructions=prompts.INSTRUCTIONS,
            cache_hints={
                "tools/list": CacheHint(ttl_ms=60_000, scope="private"),
                "prompts/list": CacheHint(ttl_ms=3_600_000, scope="public"),
                "resources/templates/list": CacheHint(ttl_ms=3_600_000, scope="public"),
                "server/discover": CacheHint(ttl_ms=60_000, scope="private"),
            },
            get_tool_input_schema=wire.input_schema,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )
        made.add_notification_handler("notifications/initialized", types.NotificationParams, self.initialized)
        return made

    # --- tools --------------------------------------------------------------------------------------

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        wire.one_page(params)
        visitor = self._visitor_of(ctx)

        def shown(asker: Asker) -> list[types.Tool]:
            return [wire.tool(operation) for operation in tools.listed_for(asker.actor.role)]

        return types.ListToolsResult(tools=await self._answer(ctx, visitor, shown))

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        operation = tools.by_name().get(params.name)
        if operation is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:80]!r}.")
        visitor = self._visitor_of(ctx)
        with self._reach.observer.request("mcp", operation.name, _carrier(ctx)) as seen:
            try:
                plain = await self._carry_out(operation, params.arguments or {}, visitor, ctx, seen)
            except MinutebookError as error:
                seen.failed(error)
                return wire.refused(error)
            except Exception:  # noqa: BLE001 - answered and logged: a defect of ours, not the caller's
                error = MinutebookError("internal")
                seen.failed(error)
                _log.exception("a tool failed", extra={"operation": operation.name})
                return wire.refused(error)
        structured = tools.tool_of(operation).structured(plain)
        return types.CallToolResult(content=[wire.text(plain)], structured_content=structured)

    async def _carry_out(
        self,
        operation: Operation,
        arguments: dict[str, Any],
        visitor: Visitor,
        ctx: Context,
        seen: Observation,
    ) -> Any:
        service, key = self._reach.service, _key(ctx)

        def prepared() -> tuple[dict[str, Any], dict[str, Any]]:
            asker = _seen(seen, visitor, ctx)
            authorise(asker.actor, operation)  # who may not ask is told nothing about the question
            inside = bounded(operation, arguments, self._reach.settings, local=visitor.local)
            return inside, asker.terms()

        if service.can_be_soon(operation):
            # No thread is kept while a write waits for its commit.
            loop = asyncio.get_running_loop()
            done: asyncio.Future[Any] = loop.create_future()

            def tell(value: Any, error: BaseException | None) -> None:
                loop.call_soon_threadsafe(settle, done, value, error)

            def begin() -> None:
                inside, terms = prepared()
                service.invoke_soon(operation, inside, tell, key=key, watch=seen, **terms)

            await self._reach.quick.do(begin)
            return to_plain(await done)

        def carry_out() -> Any:
            inside, terms = prepared()
            return to_plain(service.invoke(operation, inside, key=key, watch=seen, **terms))

        slow = operation.outside and operation.access is not Access.READ
        return await (self._reach.slow if slow else self._reach.quick).do(carry_out)

    # --- resources ----------------------------------------------------------------------------------

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        visitor = self._visitor_of(ctx)
        cursor = params.cursor if params else None
        found, after = await self._answer(
            ctx, visitor, lambda asker: resources.page(self._ask(asker), cursor)
        )
        listed = [wire.resource(each) for each in found]
        return types.ListResourcesResult(resources=listed, next_cursor=after)

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        wire.one_page(params)
        return types.ListResourceTemplatesResult(
            resource_templates=[wire.template(each) for each in resources.TEMPLATES]
        )

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._answer(
            ctx, self._visitor_of(ctx), lambda asker: resources.read(self._ask(asker), uri), uri=uri
        )
        contents = types.TextResourceContents(uri=uri, mime_type=resources.MEDIA, text=text)
        return types.ReadResourceResult(contents=[contents])

    # --- changes ------------------------------------------------------------------------------------

    async def initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        """A client of the older era is ready: from now on it hears when the list of resources changes."""
        self._changes(ctx)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        changes = self._changes(ctx)
        uri = str(params.uri)
        await self._answer(ctx, self._visitor_of(ctx), lambda asker: changes.watch(uri))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._changes(ctx).unwatch(str(params.uri))
        return types.EmptyResult()

    def _changes(self, ctx: Context) -> Changes:
        """What this connection of the older era watches. The SDK shows a connection's end to nobody else."""
        connection = ctx.session._connection
        changes = connection.state.get(_CHANGES)
        if changes is None:
            visitor = self._visitor_of(ctx)
            changes = self._changes_for(visitor)
            connection.state[_CHANGES] = changes
            telling = asyncio.get_running_loop().create_task(self._tell(changes, ctx.session))
            connection.exit_stack.callback(telling.cancel)
        return changes

    def _changes_for(self, visitor: Visitor) -> Changes:
        def ask(function: Callable[..., Any], **arguments: Any) -> Any:
            return self._ask(visitor.identify())(function, **arguments)

        return Changes(self._reach.waking, ask, lambda: visitor.identify().actor.role)

    async def _tell(self, changes: Changes, session: ServerSession) -> None:
        try:
            await self._aside(changes.begin)
            async for change in changes.follow(self._aside):
                for uri in change.uris:
                    await session.send_resource_updated(uri)
                if change.listed:
                    await session.send_resource_list_changed()
                if change.tools:
                    await session.send_tool_list_changed()
        except MinutebookError:
            return  # the credential holds no more, or the ledger is closed: the next request is told

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """One stream of the newer era: its request is answered when the service ends."""
        if self._listening >= _LISTENERS:
            raise wire.protocol_error(
                MinutebookError("overloaded", f"{_LISTENERS} streams are open already.")
            )
        visitor = self._visitor_of(ctx)
        changes = self._changes_for(visitor)
        wanted = params.notifications.resource_subscriptions or []

        def begin(asker: Asker) -> list[str]:
            changes.begin()
            return [str(uri) for uri in wanted if _watched(changes, str(uri))]

        honoured = await self._answer(ctx, visitor, begin)
        # Prompts are constants, so nobody is promised to hear of a change.
        asked = params.notifications.model_copy(
            update={"resource_subscriptions": honoured or None, "prompts_list_changed": None}
        )
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus)
        self._listening += 1
        results: list[types.SubscriptionsListenResult] = []
        try:
            async with anyio.create_task_group() as both:
                both.start_soon(self._publish, changes, bus, stream)
                results.append(await stream(ctx, params.model_copy(update={"notifications": asked})))
                both.cancel_scope.cancel()
        finally:
            self._listening -= 1
        return results[0]

    async def _publish(self, changes: Changes, bus: InMemorySubscriptionBus, stream: ListenHandler) -> None:
        try:
            async for change in changes.follow(self._aside):
                for uri in change.uris:
                    await bus.publish(ResourceUpdated(uri))
                if change.listed:
                    await bus.publish(ResourcesListChanged())
                if change.tools:
                    await bus.publish(ToolsListChanged())
        except MinutebookError:
            pass  # the credential holds no more, or the ledger is closed: the stream ends, as at the end of all
        stream.close()

    # --- prompts ------------------------------------------------------------------------------------

    async def list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        wire.one_page(params)
        return types.ListPromptsResult(prompts=[wire.prompt(each) for each in prompts.PROMPTS.values()])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = prompts.PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name[:80]!r}.")
        given = params.arguments or {}
        known = {argument.name for argument in prompt.arguments}
        missing = [
            each.name for each in prompt.arguments if each.required and not given.get(each.name, "").strip()
        ]
        if missing or given.keys() - known:
            raise MCPError(types.INVALID_PARAMS, f"{prompt.name} takes {', '.join(sorted(known))}.")
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=prompt.filled(given))
        )
        return types.GetPromptResult(description=prompt.description, messages=[message])

    # --- how it is carried out ----------------------------------------------------------------------

    async def _aside(self, work: Callable[[], T]) -> T:
        return await self._reach.quick.do(work)

    async def _answer(self, ctx: Context, visitor: Visitor, work: Callable[[Asker], T], **about: str) -> T:
        """What is not a tool: its errors are the protocol's."""
        with self._reach.observer.request("mcp", ctx.method, _carrier(ctx)) as seen:
            try:
                return await self._aside(lambda: work(_seen(seen, visitor, ctx)))
            except MinutebookError as error:
                seen.failed(error)
                raise wire.protocol_error(error, **about) from error

    def _ask(self, asker: Asker) -> resources.Ask:
        """`ask(decisions.show, ref=…)`, as that asker."""
        terms = replace(asker, origin=Origin.MCP).terms()

        def ask(function: Callable[..., Any], **arguments: Any) -> Any:
            given = {name: value for name, value in arguments.items() if value is not None}
            return self._reach.service.invoke(REGISTRY.of(function), given, **terms)

        return ask


def _watched(changes: Changes, uri: str) -> bool:
    try:
        changes.watch(uri)
    except MinutebookError as error:
        if error.code not in ("not_found", "ambiguous", "no_project"):
            raise
        return False  # what is not there is not promised: the acknowledgement says what is
    return True


def _seen(seen: Observation, visitor: Visitor, ctx: Context) -> Asker:
    asker = replace(visitor.identify(), origin=Origin.MCP)
    params = ctx.session.client_params
    client = f"{params.client_info.name}/{params.client_info.version}" if params else ""
    seen.asked_by(asker, client)
    return asker


def _carrier(ctx: Context) -> Mapping[str, Any] | None:
    return ctx.meta if isinstance(ctx.meta, Mapping) else None


def _key(ctx: Context) -> str | None:
    key = (ctx.meta or {}).get(KEY)
    if key is not None and not isinstance(key, str):
        raise MinutebookError("invalid_input", f"_meta[{KEY!r}] must be a text.")
    return key
