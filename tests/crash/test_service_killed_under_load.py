"""kill -9 of the service while sixteen clients write over HTTP, the socket and MCP.

Each client asks again, with the key it had, until it has its answer. Then every write that was acknowledged is
in the ledger, once, and the ledger is whole.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.client import Client
from minutebook.model.errors import MinutebookError
from minutebook.operations import memories, projects, tokens
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.remote import RemoteClient, SocketLink, UrlLink
from tests.surfaces.services import COMMAND, Served, serving_processes

PROJECT = "nostromo"
#: Seconds for all of it; on a loaded machine a service takes seconds to come up again.
LONGEST = 240.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Relay:
    """A host that speaks MCP with `minutebook mcp`, and asks again when it is told to."""

    def __init__(self, served: Served, token: str) -> None:
        self._process = subprocess.Popen(
            [COMMAND, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=served.environ(MINUTEBOOK_TOKEN=token, MINUTEBOOK_PROJECT=PROJECT),
            cwd=served.cwd,
        )
        self._number = 0
        self._ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "a host", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, content: str, key: str) -> str:
        asked = {"name": "memories_write", "arguments": {"type": "learning", "content": content}}
        while True:
            answer = self._ask("tools/call", {**asked, "_meta": {"minutebook/key": key}})
            if "result" in answer and not answer["result"].get("isError"):
                return answer["result"]["structuredContent"]["memory"]
            if "result" in answer:
                error = json.loads(answer["result"]["content"][0]["text"])
                assert error["code"] in ("no_service", "ledger_closed", "overloaded"), error
            time.sleep(0.02)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise AssertionError("the relay ended before its host")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def writer_of(client: Client) -> Callable[[str, str], str]:
    def write(content: str, key: str) -> str:
        arguments = {"type": "learning", "content": content}
        while True:
            try:
                return client.invoke(REGISTRY.of(memories.write), arguments, key=key).memory
            except MinutebookError as error:
                if error.code != "no_service":
                    raise
            time.sleep(0.02)

    return write


def drive(tmp_path: Path, *, kills: int, writes: int) -> None:
    port = free_port()
    served = Served(
        tmp_path / "h",
        tmp_path,
        MINUTEBOOK_PORT=str(port),
        MINUTEBOOK_WRITES_PER_MINUTE="0",
        MINUTEBOOK_REQUESTS_PER_MINUTE="0",
    )
    environ = served.environ()

    def by_socket(project: str) -> RemoteClient:
        link = SocketLink(served.places, environ, start=True, tell=lambda _: None)
        return RemoteClient(link, {}, project=project)

    relays: list[Relay] = []
    clients: list[Client] = []
    try:
        with by_socket("global") as owner:
            owner(projects.create, name="Nostromo")
        owner = by_socket(PROJECT)
        clients.append(owner)
        secrets = [owner(tokens.create, agent=f"agent-{number}").secret for number in range(16)]
        doors: list[Callable[[str, str], str]] = []
        for number, secret in enumerate(secrets):
            if number % 3 == 0:
                clients.append(by_socket(PROJECT))
                doors.append(writer_of(clients[-1]))
            elif number % 3 == 1:
                link = UrlLink(f"http://127.0.0.1:{port}")
                clients.append(RemoteClient(link, {}, project=PROJECT, token=secret))
                doors.append(writer_of(clients[-1]))
            else:
                relays.append(Relay(served, secret))
                doors.append(relays[-1].write)
        acknowledged = _write_through_kills(served, doors, kills=kills, writes=writes)
        assert len(acknowledged) == len(doors) * writes
        _check(owner, acknowledged)
    finally:
        for relay in relays:
            relay.close()
        for client in clients:
            client.close()
        served.end()


def _write_through_kills(
    served: Served, doors: list[Callable[[str, str], str]], *, kills: int, writes: int
) -> dict[str, str]:
    """Every door writes; the service is killed again and again. What was written, with the id in each answer."""
    acknowledged: dict[str, str] = {}
    failures: list[BaseException] = []

    def work(number: int, write: Callable[[str, str], str]) -> None:
        try:
            for count in range(writes):
                content = (
                    f"Client {number} says that its thing number {count} is {number * 7919 + count * 104729}."
                )
                acknowledged[content] = write(content, f"{number}-{count}")
        except BaseException as error:  # noqa: BLE001 - raised again by the test
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(number, door), daemon=True) for number, door in enumerate(doors)
    ]
    for thread in threads:
        thread.start()
    lot, killed = random.Random(11), 0
    deadline = time.monotonic() + LONGEST
    while any(thread.is_alive() for thread in threads) and not failures:
        assert time.monotonic() < deadline, f"{len(acknowledged)} writes were acknowledged, {killed} kills"
        before = len(acknowledged)
        # Between two kills something is to be acknowledged: else nothing would be put to the test.
        while len(acknowledged) < before + lot.randint(1, writes) and any(t.is_alive() for t in threads):
            assert failures == []
            assert time.monotonic() < deadline
            time.sleep(0.005)
        if killed < kills:
            for pid in serving_processes(served.home):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    for thread in threads:
        thread.join(LONGEST)
    assert failures == []
    assert killed >= kills
    return acknowledged


def _check(owner: RemoteClient, acknowledged: dict[str, str]) -> None:
    """Each write is there once, under the id that its client was given."""
    found: dict[str, list[str]] = {}
    after: str | None = None
    while True:
        page = owner(memories.list_, limit=1000, after=after)
        for line in page.items:
            content = owner(memories.show, ref=line.id).memory.content
            found.setdefault(content, []).append(line.id)
        if page.next is None:
            break
        after = page.next
    assert {content: [id] for content, id in acknowledged.items()} == found


def test_what_was_acknowledged_through_any_door_is_there_once_after_kills(tmp_path: Path) -> None:
    drive(tmp_path, kills=4, writes=12)


@pytest.mark.slow
def test_the_same_with_many_kills(tmp_path: Path) -> None:
    drive(tmp_path, kills=40, writes=80)
