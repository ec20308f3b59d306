"""MCP as lines over the relay's socket: the first line, hostile clients, and the last answer."""

from __future__ import annotations

import json
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.actors import Role
from minutebook.operations import actors, decisions, tokens
from tests.houses import House
from tests.surfaces.talking import SOON, Service, serving

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def service(house: House, tmp_path: Path) -> Iterator[Service]:
    with serving(house, tmp_path / "s") as made:
        yield made


class Talk:
    """One connection to the relay's socket, spoken to by hand."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._rest = b""

    def say(self, *messages: Any) -> None:
        for message in messages:
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        """The next message; None when the other side has closed."""
        while b"\n" not in self._rest:
            data = self.connection.recv(1024 * 1024)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ask(self, message: dict[str, Any]) -> Any:
        """The answer to one request, past what else comes."""
        self.say(message)
        while True:
            heard = self.hear()
            if heard is None or heard.get("id") == message["id"]:
                return heard

    def tool(self, number: int, tool: str, /, **arguments: Any) -> Any:
        return self.ask(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }
        )["result"]


@contextmanager
def talking(service: Service, *, greet: bool = True, **said: Any) -> Iterator[Talk]:
    """A connection; greeted in the older era, as a host does."""
    with service.connect() as connection:
        talk = Talk(connection)
        talk.say({"minutebook": 1, "project": service.house.project, **said})
        if greet:
            assert talk.ask(HELLO)["result"]["serverInfo"]["name"] == "minutebook"
            talk.say(READY)
        yield talk


def error_of(result: Any) -> str:
    assert result["isError"]
    return result["_meta"]["minutebook/error"]["code"]


# --- the first line -------------------------------------------------------------------------------------


def test_an_agent_named_in_the_first_line_is_who_writes(service: Service) -> None:
    with talking(service, agent="Kane") as talk:
        result = talk.tool(1, "memories_write", type="learning", content="Eggs below the mist.")
        assert not result["isError"]
        shown = talk.tool(2, "memories_show", ref=result["structuredContent"]["slug"])["structuredContent"]
        assert (shown["memory"]["author"], shown["memory"]["author_role"]) == ("kane", "agent")


def test_whoever_names_nobody_is_an_agent_and_never_the_user(service: Service) -> None:
    with talking(service) as talk:
        result = talk.tool(1, "decisions_write", type="scope", title="Mine", content="I decide.")
        assert result["structuredContent"]["op"] == "hold"
        assert error_of(talk.tool(2, "projects_create", name="Mine")) == "not_allowed"
        listed = talk.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})["result"]["tools"]
        assert len(listed) == 12


def test_a_registered_actor_has_their_role(service: Service) -> None:
    with talking(service, actor="Dallas") as talk:
        listed = talk.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})["result"]["tools"]
        assert "inbox_promote" in [tool["name"] for tool in listed]
        service.house.mother(actors.edit, name="Dallas", role=Role.VIEWER)
        assert error_of(talk.tool(4, "memories_write", type="learning", content="I may.")) == "not_allowed"


def test_a_token_in_the_first_line_binds_and_its_end_is_felt_at_once(service: Service) -> None:
    secret, token = service.secret("Ripley")
    with talking(service, token=secret) as talk:
        assert not talk.tool(1, "memories_write", type="learning", content="Bound by a token.")["isError"]
        service.house.mother(tokens.revoke, id=token, reason="lost")
        assert error_of(talk.tool(2, "memories_write", type="learning", content="And now?")) == "bad_token"
        refused = talk.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
        assert refused["error"]["data"]["code"] == "bad_token"


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (b"GET / HTTP/1.1\n", "invalid_input"),
        (b"{}\n", "invalid_input"),
        (b'{"minutebook": 99}\n', "invalid_input"),
        (b'{"minutebook": 1, "agent": 7}\n', "invalid_input"),
        (b'{"minutebook": 1, "agent": " "}\n', "bad_name"),
        (b'{"minutebook": 1, "actor": "Nobody"}\n', "not_found"),
        (b'{"minutebook": 1, "token": "mbk_wrong"}\n', "bad_token"),
        (b"x" * 100_000 + b"\n", "invalid_input"),
        (b"[" * 60_000 + b"\n", "invalid_input"),
    ],
    ids=str,
)
def test_a_first_line_that_is_wrong_is_answered_and_closed(service: Service, first: bytes, code: str) -> None:
    with service.connect() as connection:
        connection.sendall(first)
        talk = Talk(connection)
        refusal = talk.hear()
        assert refusal["id"] is None
        assert refusal["error"]["data"]["code"] == code
        assert talk.hear() is None


def test_whoever_leaves_without_a_word_is_let_go(service: Service) -> None:
    for said in (b"", b'{"minutebook"'):
        with service.connect() as connection:
            connection.sendall(said)
    with talking(service, agent="Ripley"):
        pass


# --- hostile clients ------------------------------------------------------------------------------------


def test_garbage_between_messages_is_answered_and_skipped(service: Service) -> None:
    with talking(service, agent="Ripley") as talk:
        for line in (
            b"{",
            b"\xff\xfe",
            b"[]",
            b"7",
            b'{"id": 1}',
            b"[" * 50_000,
            b'{"jsonrpc":"2.0","id":{}}',
        ):
            talk.connection.sendall(line + b"\n\n\r\n")
            complaint = talk.hear()
            assert complaint["id"] is None
            assert complaint["error"]["code"] in (-32700, -32600)
        assert talk.ask({"jsonrpc": "2.0", "id": 9, "method": "ping"})["result"] == {}


def test_a_line_without_end_costs_no_memory_and_no_other_client(service: Service) -> None:
    """300 MB in one line, while another client is served."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = b"x" * (1024 * 1024)
    with talking(service, agent="Ripley") as bad, talking(service, agent="Bishop") as good:

        def flood() -> None:
            for _ in range(300):
                bad.connection.sendall(block)
            bad.connection.sendall(b"\n")

        flooding = threading.Thread(target=flood)
        flooding.start()
        for number in range(1, 20):
            assert good.ask({"jsonrpc": "2.0", "id": number, "method": "ping"})["result"] == {}
        flooding.join(60)
        complaint = bad.hear()
        assert complaint["error"]["code"] == -32600
        assert bad.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"})["result"] == {}
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 60 * 1024, f"{grown} KB"


def test_a_client_that_never_reads_holds_up_nobody(service: Service) -> None:
    """It asks ten thousand times for pages that it does not take."""
    for number in range(30):
        service.house.dallas(
            decisions.write,
            type="technical",
            title=f"Rule {number}",
            content=f"Rule {number}: " + "so " * 400,
        )
    with talking(service, agent="Ripley") as deaf, talking(service, agent="Bishop") as good:
        deaf.connection.settimeout(0.5)
        asked = 0
        try:
            for asked in range(1, 10_000):
                deaf.say(
                    {
                        "jsonrpc": "2.0",
                        "id": asked,
                        "method": "resources/read",
                        "params": {"uri": "minutebook://decisions"},
                    }
                )
        except TimeoutError:
            pass
        assert 0 < asked < 9_999, "what it may have under way is bounded"
        for number in range(1, 20):
            assert good.ask({"jsonrpc": "2.0", "id": number, "method": "ping"})["result"] == {}


def test_requests_that_were_taken_back_make_room(service: Service) -> None:
    """More streams than may be under way, each cancelled: the next request is served all the same."""
    with service.connect() as connection:
        talk = Talk(connection)
        talk.say({"minutebook": 1, "agent": "Ripley", "project": service.house.project})
        for number in range(1, 200):
            listen = {"notifications": {"resourcesListChanged": True}, "_meta": ENVELOPE}
            talk.say({"jsonrpc": "2.0", "id": number, "method": "subscriptions/listen", "params": listen})
            acknowledged = talk.hear()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            talk.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        answer = talk.ask(
            {"jsonrpc": "2.0", "id": 999, "method": "tools/list", "params": {"_meta": ENVELOPE}}
        )
        assert len(answer["result"]["tools"]) == 12


# --- the end --------------------------------------------------------------------------------------------


def test_what_was_asked_before_the_end_is_answered(service: Service) -> None:
    with talking(service, agent="Ripley") as talk:
        for number in range(1, 31):
            talk.say(
                {
                    "jsonrpc": "2.0",
                    "id": number,
                    "method": "tools/call",
                    "params": {"name": "search", "arguments": {"query": f"word{number}"}},
                }
            )
        talk.connection.shutdown(socket.SHUT_WR)
        heard = []
        while (message := talk.hear()) is not None:
            heard.append(message)
    assert sorted(message["id"] for message in heard if "id" in message) == list(range(1, 31))


def test_a_half_line_at_the_end_is_nothing(service: Service) -> None:
    with talking(service, agent="Ripley") as talk:
        talk.connection.sendall(b'{"jsonrpc":"2.0","id":5,"method":"pi')
        talk.connection.shutdown(socket.SHUT_WR)
        talk.connection.settimeout(SOON)
        assert talk.hear() is None


def test_sixteen_relays_at_once_are_served(service: Service) -> None:
    failures: list[str] = []

    def work(number: int) -> None:
        with talking(service, agent=f"worker-{number}") as talk:
            for step in range(1, 6):
                made = talk.tool(
                    step,
                    "memories_write",
                    type="update",
                    content=f"{number * 7919 + step} is my {step}. number",
                )
                if made["isError"]:
                    failures.append(str(made))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


# --- runs -----------------------------------------------------------------------------------------------


def test_an_agent_that_starts_a_run_by_a_tool_works_in_it_until_it_finishes(service: Service) -> None:
    with talking(service, agent="Kane") as talk:
        run = talk.tool(1, "runs_start", task="look at the eggs")["structuredContent"]["run"]["id"]
        given = {"type": "learning", "title": "Eggs", "content": "Eggs open when somebody leans over them."}
        assert not talk.tool(2, "inbox_submit", **given)["isError"]
        report = talk.tool(3, "runs_finish", ref="current", summary="Looked.")["structuredContent"]
        assert (report["run"], [one["slug"] for one in report["promoted"]]) == (run, ["eggs"])
        later = talk.tool(4, "memories_write", type="learning", content="Mist lies over all of them.")
        assert not later["isError"]
        shown = talk.tool(5, "memories_show", ref=later["structuredContent"]["memory"])["structuredContent"]
        assert shown["memory"]["run"] is None
