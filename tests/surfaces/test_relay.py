"""`minutebook mcp`: between a host's pipes and the service, whatever happens to either."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from minutebook.surfaces.light.relay import Relay, _Lines
from tests.surfaces.services import COMMAND, Served, alive, serving_processes, until
from tests.surfaces.talking import ERAS, talk

SOON = 60.0
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "home", tmp_path)
    yield made
    made.end()


class Host:
    """A host with a relay of its own, spoken to by hand."""

    def __init__(self, program: Served, *words: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "mcp", *words],
            cwd=program.cwd,
            env=program.environ(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._rest = b""
        self._ended: tuple[int, str] | None = None

    def say(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        """The next message; None when the relay has ended."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + SOON
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0], (
                "silence"
            )
            data = os.read(self.process.stdout.fileno(), 1024 * 1024)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def answer(self, identity: Any) -> Any:
        """The answer to a request, past what else comes."""
        while True:
            heard = self.hear()
            if heard is None or heard.get("id", self) == identity:
                return heard

    def ask(self, message: dict[str, Any]) -> Any:
        self.say(message)
        return self.answer(message["id"])

    def greet(self) -> None:
        assert self.ask(HELLO)["result"]["serverInfo"]["name"] == "minutebook"
        self.say(READY)

    def tool(self, number: int, tool: str, /, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        return self.ask({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def end(self) -> tuple[int, str]:
        """Close the pipes, as a host that is done; the relay's exit code, and what it said on stderr."""
        if self._ended is None:
            process = self.process
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            said = process.stderr.read().decode()
            self._ended = (process.wait(SOON), said)
            process.stdout.close()
            process.stderr.close()
        return self._ended


@contextlib.contextmanager
def hosting(program: Served, *words: str, **environment: str) -> Iterator[Host]:
    made = Host(program, *words, **environment)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.end()


def hear_of(host: Host, method: str) -> Any:
    """The next notification of a kind; the host hears no answer that it did not ask for."""
    while True:
        heard = host.hear()
        assert "id" not in heard
        if heard["method"] == method:
            return heard


def ping(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


# --- ordinary work --------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_the_sdks_own_client_works_through_it(program: Served, era: str) -> None:
    parameters = StdioServerParameters(
        command=COMMAND, args=["mcp", "--agent", "Ripley"], env=program.environ(), cwd=program.cwd
    )

    async def ask() -> tuple[int, Any]:
        async with Client(parameters, mode=era) as client:
            listed = await client.list_tools()
            made = await client.call_tool(
                "memories_write", {"type": "artifact", "content": "A map of deck 5."}
            )
            return len(listed.tools), made

    count, made = talk(ask, SOON)
    assert count == 12
    assert made.structured_content["op"] in ("add", "hold")


def test_it_ends_with_its_host_when_everything_is_answered(program: Served) -> None:
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        host.say(*(ping(number) for number in range(1, 51)))
        assert host.process.stdin is not None
        host.process.stdin.close()
        heard = []
        while (message := host.hear()) is not None:
            heard.append(message)
        assert sorted(message["id"] for message in heard if "id" in message) == list(range(1, 51))
        assert host.end() == (0, "")


def test_the_project_of_the_directory_and_the_agent_of_the_environment_are_taken(program: Served) -> None:
    program.environment.pop("MINUTEBOOK_PROJECT")
    program.ok("init")
    with hosting(program, MINUTEBOOK_AGENT="Kane") as host:
        host.greet()
        made = host.tool(1, "memories_write", type="learning", content="Eggs below the mist.")
        shown = host.tool(2, "memories_show", ref=made["result"]["structuredContent"]["slug"])
        assert shown["result"]["structuredContent"]["memory"]["author"] == "kane"


def test_an_environment_that_binds_an_agent_cannot_be_talked_out_of_it(program: Served) -> None:
    with hosting(program, "--agent", "Mother", MINUTEBOOK_AGENT="Kane") as host:
        refused = host.ask(HELLO)
        assert refused["error"]["data"]["code"] == "not_allowed"
    with hosting(program, "--agent", "kane", MINUTEBOOK_AGENT="Kane") as host:
        host.greet()


# --- the service comes and goes -------------------------------------------------------------------------


def test_a_service_that_dies_under_a_request_is_said_and_the_next_request_is_served(program: Served) -> None:
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        service = program.status()["service"]["pid"]
        os.kill(service, signal.SIGSTOP)  # so that it cannot answer before it dies
        host.say(ping(1))
        os.kill(service, signal.SIGKILL)
        told = host.answer(1)
        assert told["error"]["data"]["code"] == "no_service"
        assert "ask again" in told["error"]["message"]
        # Another service, to which the relay introduced its host again: the older era needs that.
        made = host.tool(2, "memories_list")
        assert not made["result"]["isError"]
        assert program.status()["service"]["pid"] != service


def test_a_service_that_was_stopped_is_started_only_when_it_is_needed(program: Served) -> None:
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        assert host.ask(ping(1))["result"] == {}
        program.ok("stop")
        assert serving_processes(program.home) == []
        assert host.process.poll() is None
        assert host.ask(ping(2))["result"] == {}
        assert program.status()["state"] == "running"


def test_subscriptions_outlive_a_restart_of_the_service(program: Served) -> None:
    program.environment.pop("MINUTEBOOK_PROJECT")
    program.ok("init")
    decisions = "minutebook://decisions"
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": decisions}}
        assert host.ask(subscribe)["result"] == {}
        updated = {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": decisions},
        }
        program.ok("restart")
        # What changed in between is not known, so the host is told to look again.
        assert hear_of(host, "notifications/resources/updated") == updated
        program.ok("decisions", "write", "technical", "Tabs", "Indent by tabs.")
        assert hear_of(host, "notifications/resources/updated") == updated


def test_each_request_is_answered_where_no_service_can_be_started(program: Served) -> None:
    program.home.write_text("this is no directory")
    with hosting(program, "--agent", "Ripley") as host:
        for number in (1, 2, 3):
            told = host.ask(ping(number))
            assert told["error"]["data"]["code"] in ("no_service", "cannot_open")
            assert set(told["error"]["data"]) == {"code", "message", "details"}
        host.say(READY)
        code, said = host.end()
    assert code == 0
    assert said.startswith("minutebook mcp: ")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"MINUTEBOOK_SERVICE": "join"}, "no_service"),
        ({"MINUTEBOOK_SERVICE": "never"}, "no_service"),
        ({"MINUTEBOOK_SERVICE_URL": "https://memory.example"}, "bad_setting"),
        ({"MINUTEBOOK_TOKEN": "mbk_wrong"}, "bad_token"),
        ({"MINUTEBOOK_AGENT": "\u202eyelpiR"}, "bad_name"),
    ],
)
def test_what_keeps_it_from_the_service_is_the_answer_to_each_request(
    program: Served, environment: dict[str, str], code: str
) -> None:
    with hosting(program, **environment) as host:
        assert host.ask(HELLO)["error"]["data"]["code"] == code
        assert host.ask(ping(2))["error"]["data"]["code"] == code


# --- hosts that are no good -----------------------------------------------------------------------------


def test_a_host_that_is_killed_leaves_no_relay_behind(program: Served, tmp_path: Path) -> None:
    """The host is a process of its own, killed with the relay's pipes open."""
    noted = tmp_path / "relay.pid"
    script = (
        "import subprocess, sys, time\n"
        f"relay = subprocess.Popen([{COMMAND!r}, 'mcp', '--agent', 'Ripley'], stdin=-1, stdout=-1)\n"
        'relay.stdin.write(b\'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n\'); relay.stdin.flush()\n'
        "relay.stdout.readline()\n"
        f"open({str(noted)!r} + '.new', 'w').write(str(relay.pid))\n"
        f"import os; os.rename({str(noted)!r} + '.new', {str(noted)!r})\n"
        "time.sleep(600)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", script], env=program.environ(), cwd=program.cwd)
    try:
        until(noted.exists, "the relay works", SOON)
        relay = int(noted.read_text())
        assert alive(relay)
    finally:
        host.kill()
        host.wait()
    until(lambda: not alive(relay), "the relay has ended")


def test_a_host_that_leaves_before_its_answers_is_no_failure(program: Served) -> None:
    with hosting(program, "--agent", "ripley") as host:
        host.greet()
    said = [{"minutebook": 1, "agent": "ripley"}, HELLO, READY, *(ping(number) for number in range(10, 30))]
    for _ in range(8):
        with socket.socket(socket.AF_UNIX) as gone:
            gone.connect(program.places.mcp_socket)
            gone.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in said))
    program.ok("stop")  # and with it whoever is still waited for
    assert '"level": "error"' not in Path(program.places.log).read_text()


def test_garbage_and_endless_lines_are_answered_without_memory(program: Served) -> None:
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        assert host.process.stdin is not None
        for line in (b"{", b"[]", b"7", b"\xff", b"[" * 100_000):
            host.process.stdin.write(line + b"\n\n")
            host.process.stdin.flush()
            assert host.hear()["error"]["code"] in (-32700, -32600)
        for _ in range(100):
            host.process.stdin.write(b"x" * (1024 * 1024))
        host.process.stdin.write(b"\n")
        host.process.stdin.flush()
        assert host.hear()["error"]["code"] == -32600
        assert host.ask(ping(1))["result"] == {}
        status = Path(f"/proc/{host.process.pid}/status").read_text()
        peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
        assert peak < 60 * 1024, f"{peak} KB"


def test_a_host_that_does_not_read_gets_everything_later(program: Served) -> None:
    """Far more is answered than a pipe holds."""
    program.environment.pop("MINUTEBOOK_PROJECT")
    program.ok("init")
    program.ok("decisions", "write", "technical", "Long", "so " * 2000)
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        params = {"uri": "minutebook://decisions"}
        wanted = list(range(1, 201))
        for number in wanted:
            host.say({"jsonrpc": "2.0", "id": number, "method": "resources/read", "params": params})
        heard = [host.hear() for _ in wanted]
        assert sorted(message["id"] for message in heard) == wanted


# --- small and quick ------------------------------------------------------------------------------------


def test_it_imports_the_standard_library_alone_and_little_of_it() -> None:
    script = (
        "import sys; before = set(sys.modules)\n"
        "from minutebook.surfaces.light import relay, daemon, places, here\n"
        "print(*sorted(name for name in set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=SOON
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    ours = {name for name in done.stdout.split() if name.startswith("minutebook.")}
    assert not loaded & {
        "asyncio",
        "argparse",
        "click",
        "pydantic",
        "subprocess",
        "pathlib",
        "logging",
        "tomllib",
    }
    assert loaded - {"minutebook"} <= set(sys.stdlib_module_names) | {"_json"}
    assert ours == {
        "minutebook.surfaces", "minutebook.surfaces.light", "minutebook.surfaces.light.relay", "minutebook.surfaces.light.daemon",
        "minutebook.surfaces.light.places", "minutebook.surfaces.light.here",
    }  # fmt: skip


def test_it_is_small(program: Served) -> None:
    with hosting(program, "--agent", "Ripley") as host:
        host.greet()
        status = Path(f"/proc/{host.process.pid}/status").read_text()
        resident = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
        assert resident < 15 * 1024, f"{resident} KB"


def test_lines_come_whole_however_they_were_cut() -> None:
    text = b"one\n\ntwo\nthree-is-too-long\nfour\nrest"
    for size in range(1, len(text) + 1):
        lines = _Lines(8)
        found = [
            line for start in range(0, len(text), size) for line in lines.split(text[start : start + size])
        ]
        assert found == [b"one", b"", b"two", None, b"four"]


def test_a_relay_without_a_host_ends_at_once() -> None:
    ours, theirs = os.pipe()
    out, into = os.pipe()
    os.close(theirs)
    try:
        assert Relay(lambda start: None, ours, into).run() == 0
    finally:
        for descriptor in (ours, out, into):
            os.close(descriptor)
