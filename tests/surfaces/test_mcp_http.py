"""MCP over HTTP, on real sockets: who is let in, whose session it is, and what bad clients get."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from minutebook.operations import decisions, memories, tokens
from tests.houses import House
from tests.surfaces.talking import ERAS, SOON, Service, serving, talk

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def engine() -> str:
    """The transport is the same on both databases; the conversation itself is tested on both."""
    return "sqlite"


@pytest.fixture
def service(house: House, tmp_path: Path) -> Iterator[Service]:
    with serving(house, tmp_path / "s") as made:
        yield made


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


def words(seed: str) -> str:
    """Words that no other seed gives: texts that are nearly alike would be held."""
    digest = hashlib.sha256(seed.encode()).hexdigest()
    return " ".join(f"w{digest[at : at + 6]}" for at in range(0, 60, 6))


def post(service: Service, message: Any, **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{service.url}/mcp", json=message, headers={**ACCEPT, **given}, timeout=SOON)


def modern(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": ENVELOPE}}


def test_a_token_speaks_for_its_agent_and_project(service: Service, era: str) -> None:
    secret, _ = service.secret("Ripley")

    async def ask() -> Any:
        async with service.client(secret, era) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert len(listed) == 12
            return await client.call_tool(
                "memories_write", {"type": "learning", "content": "The valve sticks."}
            )

    result = talk(ask)
    assert not result.is_error
    written = service.house.ripley(memories.show, ref=result.structured_content["slug"]).memory
    assert (written.author, written.origin) == ("ripley", "mcp")


def test_a_token_cannot_name_another_project(service: Service, era: str) -> None:
    other = service.house.new_project("Sulaco")
    service.house.as_("Mother", project=other)(
        decisions.write, type="scope", title="Canary", content="Sulaco canary."
    )
    secret, _ = service.secret("Ripley")

    async def ask() -> list[Any]:
        async with service.client(secret, era, Minutebook_Project=other) as client:
            return [
                await client.call_tool("decisions_list", {}),
                await client.call_tool("search", {"query": "canary"}),
                await client.call_tool("decisions_show", {"ref": "canary"}),
            ]

    results = talk(ask)
    assert all(result.is_error for result in results)
    assert "Sulaco canary" not in str(results)


@pytest.mark.parametrize("message", [HELLO, modern("tools/list")], ids=["older", "newer"])
def test_without_a_token_nothing_is_answered(service: Service, message: Any) -> None:
    version = {} if message is HELLO else {"MCP_Protocol_Version": "2026-07-28"}
    answer = post(service, message, **version)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "no_token"
    answer = post(service, message, Authorization="Bearer mbk_wrong", **version)
    assert (answer.status_code, answer.json()["code"]) == (401, "bad_token")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_revoked_token_is_refused_with_the_next_request(service: Service) -> None:
    secret, token = service.secret("Ripley")
    bearer = f"Bearer {secret}"
    hello = post(service, HELLO, Authorization=bearer)
    session = hello.headers["mcp-session-id"]
    assert hello.status_code == 200
    service.house.mother(tokens.revoke, id=token, reason="lost")
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(service, listing, Authorization=bearer, Mcp_Session_Id=session).status_code == 401
    again = post(
        service,
        modern("tools/list"),
        Authorization=bearer,
        MCP_Protocol_Version="2026-07-28",
        Mcp_Method="tools/list",
    )
    assert again.status_code == 401


def test_a_session_is_of_no_use_to_another_token(service: Service) -> None:
    mine, _ = service.secret("Ripley")
    theirs, _ = service.secret("Bishop")
    again, _ = service.secret("Ripley")
    hello = post(service, HELLO, Authorization=f"Bearer {mine}")
    session = hello.headers["mcp-session-id"]
    assert len(session) >= 32
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(service, listing, Authorization=f"Bearer {mine}", Mcp_Session_Id=session).status_code == 200
    for secret in (theirs, again):
        answer = post(service, listing, Authorization=f"Bearer {secret}", Mcp_Session_Id=session)
        assert answer.status_code == 404
    deleted = httpx2.delete(
        f"{service.url}/mcp", headers={"Authorization": f"Bearer {theirs}", "Mcp-Session-Id": session}
    )
    assert deleted.status_code == 404


def test_a_foreign_page_and_a_foreign_host_are_turned_away(service: Service) -> None:
    secret, _ = service.secret("Ripley")
    bearer = f"Bearer {secret}"
    assert post(service, HELLO, Authorization=bearer, Origin="https://evil.example").status_code == 403
    assert post(service, HELLO, Authorization=bearer, Origin="null").status_code == 403
    assert post(service, HELLO, Authorization=bearer, Host="evil.example").status_code == 403
    own = post(service, HELLO, Authorization=bearer, Origin=service.url)
    assert own.status_code == 200
    assert not [name for name in own.headers if name.startswith("access-control")]


def test_bodies_that_are_no_messages_are_answered_and_the_service_lives(service: Service) -> None:
    secret, _ = service.secret("Ripley")
    headers = {**ACCEPT, "Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    bodies = [
        b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":1,"method":"x"}',
        b'{"jsonrpc":"2.0","id":1,"method":"nowhere"}', b"[" * 100_000, b'{"a":' * 50_000, json.dumps([HELLO] * 3).encode(),
    ]  # fmt: skip
    for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}, {"MCP-Protocol-Version": "1999-01-01"}):
        for body in bodies:
            answer = httpx2.post(
                f"{service.url}/mcp", content=body, headers={**headers, **version}, timeout=SOON
            )
            assert 400 <= answer.status_code < 500, (version, body[:40], answer.status_code)
            assert b"Traceback" not in answer.content
    huge = httpx2.post(f"{service.url}/mcp", content=b"x" * 13_000_000, headers=headers, timeout=SOON)
    assert huge.status_code == 413
    assert post(service, HELLO, Authorization=f"Bearer {secret}").status_code == 200


def test_the_same_door_is_on_the_unix_socket(service: Service, era: str) -> None:
    async def ask() -> Any:
        transport = httpx2.AsyncHTTPTransport(uds=str(service.http_socket))
        headers = {"Minutebook-Agent": "Ripley", "Minutebook-Project": service.house.project}
        async with httpx2.AsyncClient(transport=transport, headers=headers, timeout=SOON) as http:
            door = streamable_http_client("http://localhost/mcp", http_client=http)
            async with Client(door, mode=era) as client:
                return await client.call_tool(
                    "memories_write", {"type": "learning", "content": "Sockets work."}
                )

    assert not talk(ask).is_error


def test_sixteen_clients_at_once_each_read_what_they_wrote(service: Service) -> None:
    secrets = [service.secret(f"worker-{number}")[0] for number in range(16)]

    async def work(number: int) -> list[str]:
        found = []
        async with service.client(secrets[number], ERAS[number % 2]) as client:
            for step in range(5):
                content = words(f"{number} {step}")
                made = await client.call_tool(
                    "memories_write", {"type": "learning", "content": content, "slug": f"step-{step}"}
                )
                assert not made.is_error, made
                assert made.structured_content["op"] == "add", made.structured_content
                shown = await client.call_tool("memories_show", {"ref": made.structured_content["memory"]})
                assert not shown.is_error, shown
                assert shown.structured_content["memory"]["content"] == content
                found.append(made.structured_content["memory"])
        return found

    async def all_of_them() -> list[list[str]]:
        return await asyncio.gather(*(work(number) for number in range(16)))

    made = talk(all_of_them, 60)
    assert len({memory for each in made for memory in each}) == 80


def test_open_streams_of_both_eras_do_not_hold_up_the_end(house: House, tmp_path: Path) -> None:
    """A stream that is only listened to, of each era, is open while the service is told to end."""
    ended: list[str] = []

    async def listen(service: Service, era: str, ready: asyncio.Event) -> None:
        async with service.client(secrets[era], era) as client:
            await client.list_tools()
            if era == "legacy":
                ready.set()
                await asyncio.sleep(0)
                await over.wait()
            else:
                async with client.listen(resources_list_changed=True) as stream:
                    ready.set()
                    async for _ in stream:
                        pass
            ended.append(era)

    over = asyncio.Event()
    secrets: dict[str, str] = {}

    async def both() -> float:
        with serving(house, tmp_path / "s") as service:
            for era in ERAS:
                secrets[era] = await asyncio.to_thread(lambda: service.secret("Ripley")[0])
            events = {era: asyncio.Event() for era in ERAS}
            tasks = [asyncio.create_task(listen(service, era, events[era])) for era in ERAS]
            for event in events.values():
                await event.wait()
            began = time.monotonic()
            await asyncio.to_thread(service.end)
            took = time.monotonic() - began
            over.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            return took

    assert talk(both, 40) < 10
    assert "auto" in ended


def test_a_stream_ends_when_its_token_is_revoked(service: Service) -> None:
    secret, token = service.secret("Ripley")

    async def listen() -> list[Any]:
        async with (
            service.client(secret, "auto") as client,
            client.listen(resource_subscriptions=("minutebook://decisions",)) as stream,
        ):
            await asyncio.to_thread(service.house.mother, tokens.revoke, id=token, reason="lost")
            await asyncio.to_thread(
                service.house.dallas, decisions.write, type="scope", title="Secret", content="Not for Ripley."
            )
            return [event async for event in stream]

    assert talk(listen) == []


def test_a_client_that_hangs_up_in_the_middle_hurts_nobody(service: Service) -> None:
    secret, _ = service.secret("Ripley")
    port = int(service.url.rpartition(":")[2])
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {secret}\r\n"
    head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    body = json.dumps(HELLO).encode()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port), timeout=SOON) as half:
            half.sendall(head.encode() + b"Content-Length: 500\r\n\r\n" + body[:40])
        with socket.create_connection(("127.0.0.1", port), timeout=SOON) as whole:
            whole.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert post(service, HELLO, Authorization=f"Bearer {secret}").status_code == 200
