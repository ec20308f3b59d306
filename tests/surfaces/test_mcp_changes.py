"""MCP clients of both eras hear when what they watch has changed, and of nothing that they may not see."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged

from minutebook.model.actors import Role
from minutebook.operations import actors, decisions, inbox, memories, sessions, verdicts
from minutebook.surfaces.mcp.changes import Changes
from minutebook.surfaces.reach import Reach
from tests.houses import House
from tests.surfaces.talking import in_process, reach_of, talk

DECISIONS = "minutebook://decisions"
LISTED = "(the list)"
TOOLS = "(the tools)"


@pytest.fixture
def reach(house: House) -> Iterator[Reach]:
    made = reach_of(house)
    yield made
    made.waking.close()


@asynccontextmanager
async def watching(
    house: House, reach: Reach, era: str, *uris: str, name: str = "Ripley"
) -> AsyncIterator[tuple[Client, asyncio.Queue[str]]]:
    """A client that watches, and what it hears: addresses, and the list."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    if era == "legacy":

        async def hear(message: Any) -> None:
            method = getattr(message, "method", "")
            if method == "notifications/resources/updated":
                await heard.put(str(message.params.uri))
            elif method == "notifications/resources/list_changed":
                await heard.put(LISTED)
            elif method == "notifications/tools/list_changed":
                await heard.put(TOOLS)

        async with in_process(house, reach, name, era, message_handler=hear) as client:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)  # the older era is what is tested
                for uri in uris:
                    await client.subscribe_resource(uri)
            yield client, heard
        return
    async with (
        in_process(house, reach, name, era) as client,
        client.listen(
            tools_list_changed=True, resources_list_changed=True, resource_subscriptions=uris
        ) as stream,
    ):

        async def pass_on() -> None:
            async for event in stream:
                if isinstance(event, ResourceUpdated):
                    await heard.put(event.uri)
                elif isinstance(event, ResourcesListChanged):
                    await heard.put(LISTED)
                elif isinstance(event, ToolsListChanged):
                    await heard.put(TOOLS)

        passing = asyncio.create_task(pass_on())
        try:
            yield client, heard
        finally:
            passing.cancel()
            await asyncio.gather(passing, return_exceptions=True)


async def heard_until(heard: asyncio.Queue[str], *wanted: str) -> list[str]:
    """What is heard until all that is wanted was."""
    found: list[str] = []
    while not set(wanted) <= set(found):
        async with asyncio.timeout(10):
            found.append(await heard.get())
    return found


Act = Callable[[House], Any]


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


def decide(house: House) -> Any:
    return house.dallas(decisions.write, type="technical", title="Tabs", content="Indent by tabs.")


def test_a_new_decision_is_heard_of(house: House, reach: Reach, era: str) -> None:
    async def listen() -> list[str]:
        async with watching(house, reach, era, DECISIONS) as (_, heard):
            await asyncio.to_thread(decide, house)
            return await heard_until(heard, DECISIONS, LISTED)

    assert set(talk(listen)) == {DECISIONS, LISTED}


def test_one_memory_is_watched_and_no_other(house: House, reach: Reach, era: str) -> None:
    one = house.ripley(memories.write, type="learning", content="The valve sticks.", slug="valve")
    house.ripley(memories.write, type="learning", content="The hatch jams.", slug="hatch")
    uri = f"minutebook://memories/{one.memory}"

    async def listen() -> list[str]:
        async with watching(house, reach, era, uri) as (client, heard):
            await asyncio.to_thread(
                house.ripley, memories.edit, ref="hatch", content="The hatch jams at night."
            )
            await asyncio.to_thread(
                house.ripley, memories.edit, ref="valve", content="The valve sticks when cold."
            )
            found = await heard_until(heard, uri)
            text = (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
            assert "when cold" in text
            return found

    assert talk(listen) == [uri]


def test_an_undone_decision_and_a_session_are_heard_of(house: House, reach: Reach, era: str) -> None:
    made = decide(house)

    async def listen() -> None:
        async with watching(house, reach, era, DECISIONS, "minutebook://session", "minutebook://inbox") as (
            _,
            heard,
        ):
            await asyncio.to_thread(house.dallas, verdicts.revert, id=made.verdict)
            await heard_until(heard, DECISIONS)
            await asyncio.to_thread(house.dallas, sessions.start, focus="Find the cat")
            await heard_until(heard, "minutebook://session")
            await asyncio.to_thread(
                house.bishop, inbox.submit, type="scope", title="No pets", content="No pets aboard."
            )
            await heard_until(heard, "minutebook://inbox")

    talk(listen)


def test_a_role_that_was_given_shows_other_tools(house: House, reach: Reach, era: str) -> None:
    async def listen() -> list[str]:
        async with watching(house, reach, era, DECISIONS) as (client, heard):
            await asyncio.to_thread(house.mother, actors.edit, name="Ripley", role="coordinator")
            await heard_until(heard, TOOLS)
            return [tool.name for tool in (await client.list_tools(cache_mode="reload")).tools]

    assert "inbox_promote" in talk(listen)


def test_nobody_hears_of_what_they_may_not_see(house: House, reach: Reach, era: str) -> None:
    """Ripley's own memory changes, then a decision: Bishop hears of the decision alone."""
    own = house.ripley(memories.write, type="core_context", content="Ripley's plan.", slug="plan")
    uri = f"minutebook://memories/{own.memory}"

    async def listen() -> list[str]:
        watched = (DECISIONS,) if era == "legacy" else (DECISIONS, uri)
        async with watching(house, reach, era, *watched, name="Bishop") as (client, heard):
            if era == "legacy":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MCPDeprecationWarning)
                    with pytest.raises(MCPError):
                        await client.subscribe_resource(uri)
            await asyncio.to_thread(house.ripley, memories.edit, ref="plan", content="Ripley's other plan.")
            await asyncio.to_thread(decide, house)
            return await heard_until(heard, DECISIONS, LISTED)

    assert uri not in talk(listen)


def test_a_stream_of_the_newer_era_says_what_it_will_tell(house: House, reach: Reach) -> None:
    async def listen() -> Any:
        async with (
            in_process(house, reach, "Ripley", "auto") as client,
            client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=(DECISIONS, "minutebook://memories/nowhere", "file:///etc/passwd"),
            ) as stream,
        ):
            return stream.honored

    honoured = talk(listen)
    assert honoured.resource_subscriptions == [DECISIONS]
    assert honoured.resources_list_changed
    assert honoured.tools_list_changed
    assert not honoured.prompts_list_changed


def test_streams_end_when_the_service_does(house: House, reach: Reach) -> None:
    async def listen() -> list[Any]:
        async with (
            in_process(house, reach, "Ripley", "auto") as client,
            client.listen(resource_subscriptions=(DECISIONS,)) as stream,
        ):
            await asyncio.to_thread(reach.waking.close)
            return [event async for event in stream]

    assert talk(listen) == []


def test_at_most_so_many_resources_are_watched(house: House, reach: Reach) -> None:
    def ask(function: Any, **arguments: Any) -> Any:
        return house.mother(
            function, **{name: value for name, value in arguments.items() if value is not None}
        )

    changes = Changes(reach.waking, ask, lambda: Role.OPERATOR)
    for number in range(100):
        made = house.mother(memories.write, type="artifact", content=f"Map {number}.", slug=f"map-{number}")
        changes.watch(f"minutebook://memories/{made.memory}")
    with pytest.raises(Exception, match="At most 100"):
        changes.watch(DECISIONS)
