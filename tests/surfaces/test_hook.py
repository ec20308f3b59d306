"""The hook: what each host sends and reads, its limits, and what it leaves when something is wrong."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.files import workspace
from minutebook.model.errors import MinutebookError
from minutebook.model.hooks import HookEvent
from minutebook.settings import Settings
from minutebook.surfaces.light import daemon, here, hook, hook_shapes, receipts
from minutebook.surfaces.light.places import Places
from tests.scenarios.program import Program
from tests.surfaces.service_process import serving

HOOK = str(Path(sys.executable).with_name("minutebook-hook"))
CANARY = "canary-5f1d0c"

#: What each host writes to a hook's stdin at the start of a session, as its documentation shows it.
INPUTS: dict[str, dict[str, Any]] = {
    "claude-code": {
        "session_id": "abc123",
        "transcript_path": "/home/kim/.claude/projects/x/abc123.jsonl",
        "cwd": "/home/kim/checkout",
        "hook_event_name": "SessionStart",
        "source": "startup",
        "model": "claude-opus-5",
    },
    "codex": {
        "session_id": "0199-aa",
        "transcript_path": None,
        "cwd": "/home/kim/checkout",
        "hook_event_name": "SessionStart",
        "model": "gpt-6-codex",
        "permission_mode": "default",
        "source": "startup",
    },
    "gemini-cli": {
        "session_id": "s-1",
        "transcript_path": "/home/kim/.gemini/tmp/x/chats/s-1.json",
        "cwd": "/home/kim/checkout",
        "hook_event_name": "SessionStart",
        "timestamp": "2026-11-16T09:30:00.000Z",
        "source": "startup",
    },
    "cursor": {
        "conversation_id": "668320d2",
        "generation_id": "490b90b7",
        "model": "default",
        "hook_event_name": "sessionStart",
        "cursor_version": "3.1.0",
        "workspace_roots": ["/home/kim/checkout"],
        "user_email": "kim@example.com",
        "transcript_path": None,
    },
    "vscode": {
        "timestamp": "2026-11-16T09:30:00.000Z",
        "cwd": "/home/kim/checkout",
        "sessionId": "c9a1",
        "hookEventName": "SessionStart",
        "transcript_path": "/home/kim/.config/Code/x.json",
        "source": "new",
    },
    "opencode": {"sessionID": "ses_1", "cwd": "/home/kim/checkout"},
    "copilot-cli": {"timestamp": 1704614400000, "cwd": "/home/kim/checkout", "source": "new"},
}
#: What hosts set in the environment of a hook.
VARIABLES = {
    "claude-code": {"CLAUDE_PROJECT_DIR": "/home/kim/checkout"},
    "gemini-cli": {"GEMINI_PROJECT_DIR": "/home/kim/checkout", "CLAUDE_PROJECT_DIR": "/home/kim/checkout"},
    "cursor": {"CURSOR_VERSION": "3.1.0"},
}


# --- spelling ----------------------------------------------------------------------------------------


def test_the_hook_and_the_ledger_know_the_same_events_and_the_same_deadline() -> None:
    assert tuple(HookEvent) == hook_shapes.EVENTS
    assert Settings().hook_seconds == hook.SECONDS


@pytest.mark.parametrize(
    ("word", "event"),
    [
        *[(event, event) for event in hook_shapes.EVENTS],
        ("SessionStart", "session-start"),
        ("sessionStart", "session-start"),
        ("session_start", "session-start"),
        ("session.created", "session-start"),
        ("UserPromptSubmit", "prompt-submit"),
        ("userPromptSubmitted", "prompt-submit"),
        ("beforeSubmitPrompt", "prompt-submit"),
        ("BeforeAgent", "prompt-submit"),
        ("AfterAgent", "stop"),
        ("PreCompress", "pre-compact"),
        ("experimental.session.compacting", "pre-compact"),
        ("session.deleted", "session-end"),
        ("PreToolUse", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_every_hosts_word_for_an_event_is_understood(word: object, event: str | None) -> None:
    assert hook_shapes.event_of(word) == event


@pytest.mark.parametrize("host", [host for host in INPUTS if host != "opencode"])
def test_a_host_is_known_by_what_it_sends(host: str) -> None:
    assert hook_shapes.host_of(INPUTS[host], VARIABLES.get(host, {}), None) == host


def test_signs_of_a_host_count_more_than_the_name_in_a_configuration_that_others_read_too() -> None:
    assert hook_shapes.host_of(INPUTS["vscode"], {}, "claude-code") == "vscode"
    assert hook_shapes.host_of(INPUTS["cursor"], {}, "claude-code") == "cursor"
    assert hook_shapes.host_of(INPUTS["codex"], {"CLAUDE_PROJECT_DIR": "/x"}, "codex") == "codex"
    assert hook_shapes.host_of({}, {}, "opencode") == "opencode"
    assert hook_shapes.host_of({}, {}, None) == "other"


@pytest.mark.parametrize("host", INPUTS)
def test_what_a_host_sends_comes_to_one_form(host: str) -> None:
    found = hook_shapes.arguments_of(INPUTS[host], host, "/elsewhere")
    assert found["host"] == host
    assert found["cwd"] == "/home/kim/checkout"
    assert set(found) <= {"host", "session", "cwd", "transcript", "agent", "reason"}
    assert ("session" in found) == (host != "copilot-cli")
    assert ("transcript" in found) == (host in ("claude-code", "gemini-cli", "vscode"))


def test_fields_that_are_no_text_or_too_long_are_left_out() -> None:
    odd = {
        "session_id": 7,
        "cwd": ["/x"],
        "transcript_path": "x" * 5000,
        "agent_type": " ",
        "source": "clear",
    }
    assert hook_shapes.arguments_of(odd, "other", "/here") == {
        "host": "other",
        "cwd": "/here",
        "reason": "clear",
    }


@pytest.mark.parametrize(
    ("form", "event", "answer"),
    [
        ("claude-code", "session-start", {"hookEventName": "SessionStart", "additionalContext": "x"}),
        ("claude-code", "subagent-start", {"hookEventName": "SubagentStart", "additionalContext": "x"}),
        ("codex", "session-start", {"hookEventName": "SessionStart", "additionalContext": "x"}),
        ("gemini-cli", "prompt-submit", {"hookEventName": "BeforeAgent", "additionalContext": "x"}),
        ("vscode", "session-start", {"hookEventName": "SessionStart", "additionalContext": "x"}),
    ],
)
def test_a_context_is_given_in_the_hosts_form(form: str, event: str, answer: dict[str, str]) -> None:
    assert hook_shapes.answer_for(form, event, "x") == {"hookSpecificOutput": answer}


def test_cursor_and_our_own_plugin_have_forms_of_their_own() -> None:
    assert hook_shapes.answer_for("cursor", "session-start", "x") == {"additional_context": "x"}
    assert hook_shapes.answer_for("opencode", "pre-compact", "x") == {"context": "x"}


@pytest.mark.parametrize("form", [*INPUTS, "other", "nobody"])
@pytest.mark.parametrize("event", ["stop", "session-end", "subagent-stop", "post-compact"])
def test_no_host_is_told_anything_where_it_would_go_on_working(form: str, event: str) -> None:
    assert hook_shapes.answer_for(form, event, "x") is None


# --- one call ----------------------------------------------------------------------------------------


@dataclass
class Called:
    code: int
    out: str
    err: str
    seconds: float


@dataclass
class Caller:
    """Runs the installed hook as a host does."""

    program: Program

    def environ(self, **more: str) -> dict[str, str]:
        return self.program.environ(**{"MINUTEBOOK_SERVICE": "join", **more})

    def __call__(self, *words: str, given: Any = None, **environment: str) -> Called:
        data = given if isinstance(given, bytes) else json.dumps(given or {}).encode()
        began = time.monotonic()
        done = subprocess.run(
            [HOOK, *words],
            input=data,
            cwd=self.program.cwd,
            env=self.environ(**environment),
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Called(done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - began)

    def start(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        """The hook with its stdin left open."""
        return subprocess.Popen(
            [HOOK, *words],
            cwd=self.program.cwd,
            env=self.environ(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @property
    def receipts(self) -> list[dict[str, Any]]:
        rows, unreadable = receipts.read(receipts.file_of(str(self.program.home)))
        assert unreadable == 0
        return rows  # type: ignore[return-value]

    @property
    def last(self) -> tuple[Any, Any]:
        return self.receipts[-1]["outcome"], self.receipts[-1].get("code")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    place = tmp_path / "nostromo"
    place.mkdir()
    return Program(home=tmp_path / "home", cwd=place)


@pytest.fixture
def call(program: Program) -> Caller:
    return Caller(program)


@contextmanager
def peer(program: Program, behave: Callable[[socket.socket], None]) -> Iterator[list[bytes]]:
    """Somebody at the service's socket who answers in a way of their own; the requests they got."""
    places = Places(str(program.home))
    places.make()
    got: list[bytes] = []
    over = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(places.socket)
        listener.listen()

        def serve() -> None:
            while not over.is_set():
                connection, _ = listener.accept()
                with connection:
                    if over.is_set():
                        return
                    got.append(connection.recv(1 << 20))
                    try:
                        behave(connection)
                    except (BrokenPipeError, ConnectionResetError):
                        continue  # the hook went away, as it should

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield got
        finally:
            over.set()
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
                last.connect(places.socket)
            thread.join(30)
            os.unlink(places.socket)


def says(status: str, body: Any) -> Callable[[socket.socket], None]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    return lambda connection: connection.sendall(head.encode() + data)


def hangs(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


# --- a service that is there -------------------------------------------------------------------------


def test_every_host_is_heard_by_a_real_service_and_told_nothing_yet(call: Caller, program: Program) -> None:
    with serving(program):
        for host, sent in INPUTS.items():
            given = {**sent, "cwd": str(program.cwd), "prompt": CANARY, "extra": {"deep": [CANARY]}}
            done = call("SessionStart", "--host", host, given=given, **VARIABLES.get(host, {}))
            assert (done.code, done.out, done.err) == (0, "", ""), host
            row = call.receipts[-1]
            assert (row["host"], row["event"], row["outcome"]) == (host, "session-start", "ok")
            assert set(row) == {"at", "host", "event", "outcome", "ms"}
        for event in hook_shapes.EVENTS:
            assert call(event, given=INPUTS["codex"]).code == 0
            assert (call.last, call.receipts[-1]["event"]) == (("ok", None), event)
        # The service remembers who was there, so that health can say when each host was last seen.
        seen = json.dumps(program.ok("health", MINUTEBOOK_SERVICE="join"))
        assert all(f"minutebook-hook ({host})" in seen for host in INPUTS)
    file = program.home / "run" / "hooks.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert CANARY not in file.read_text()


def test_the_service_judges_what_a_hook_says(call: Caller, program: Program) -> None:
    with serving(program):
        assert call("session-start", "--project", "nowhere").code == 0
        assert call.last == ("refused", "not_found")
        call("session-start", "--host", "a\nb")
        assert call.last == ("refused", "bad_name")
        (program.cwd / ".minutebook").mkdir()
        (program.cwd / ".minutebook" / "workspace.toml").write_text("project_id = 7")
        assert call("session-start").code == 0
        assert call.last == ("failed", "bad_workspace")


def test_the_event_may_come_from_the_input_alone(call: Caller, program: Program) -> None:
    with peer(program, says("200 OK", {"context": "Use Postgres."})):
        done = call(given=INPUTS["gemini-cli"])
    assert json.loads(done.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"


def test_a_context_is_printed_in_the_form_of_the_configuration_that_called(
    call: Caller, program: Program
) -> None:
    context = 'Nie — "Postgres"\u2028 löschen.'
    with peer(program, says("200 OK", {"context": context})) as got:
        done = call("session-start", "--host", "claude-code", given=INPUTS["claude-code"])
        assert json.loads(done.out) == {
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}
        }
        assert done.out.isascii()
        assert json.loads(call("session-start", given=INPUTS["cursor"]).out) == {
            "additional_context": context
        }
        # VS Code runs what Claude Code's file says, and is known by what it sends.
        done = call("session-start", "--host", "claude-code", given=INPUTS["vscode"])
        assert "hookSpecificOutput" in json.loads(done.out)
        assert call.receipts[-1]["host"] == "vscode"
        assert call("stop", "--host", "claude-code", given=INPUTS["claude-code"]).out == ""
    assert {row["outcome"] for row in call.receipts} == {"ok"}
    assert got[0].startswith(b"POST /api/hooks/session-start/receive HTTP/1.1\r\n")


def test_who_asks_and_where_travels_in_the_headers(call: Caller, program: Program) -> None:
    folder = program.cwd / ".minutebook"
    folder.mkdir()
    project = "01K9" + "A" * 22
    (folder / "workspace.toml").write_text(f'# ours\nproject_id = "{project}"\nname = "Nostromo"\n')
    inner = program.cwd / "src" / "deep"
    inner.mkdir(parents=True)
    with peer(program, says("200 OK", {"context": None})) as got:
        call("stop", "--agent", "Zoë 100%", given={"cwd": str(inner)})
        call("stop", "--agent", "zoe", MINUTEBOOK_AGENT="ripley", MINUTEBOOK_RUN="r1")
        call("stop", MINUTEBOOK_TOKEN="mbt_x", MINUTEBOOK_AGENT="ripley", MINUTEBOOK_PROJECT="other")
    first, second, third = (request.partition(b"\r\n\r\n")[0].decode().split("\r\n") for request in got)
    assert f"Minutebook-Project: {project}" in first
    assert "Minutebook-Agent: Zo%C3%AB%20100%25" in first
    # An environment that binds a process to an agent cannot be talked out of it by a flag.
    assert {"Minutebook-Agent: ripley", "Minutebook-Run: r1"} <= set(second)
    assert {"Authorization: Bearer mbt_x", "Minutebook-Project: other"} <= set(third)
    assert not any(line.startswith("Minutebook-Agent") for line in third)


# --- a service that is not there, or not well --------------------------------------------------------


def test_without_a_service_nothing_is_said_and_a_receipt_is_left(call: Caller, program: Program) -> None:
    done = call("session-start", given=INPUTS["claude-code"])
    assert (done.code, done.out, done.err) == (0, "", "")
    assert call.last == ("no_service", None)
    assert stat.S_IMODE(program.home.stat().st_mode) == 0o700


def test_an_absent_service_is_started_and_not_waited_for(call: Caller, program: Program) -> None:
    places = Places(str(program.home))
    try:
        done = call("session-start", MINUTEBOOK_SERVICE="auto", MINUTEBOOK_IDLE_EXIT="60")
        assert (done.code, done.out, done.err) == (0, "", "")
        assert call.last == ("starting", None)
        deadline = time.monotonic() + 60
        while daemon.ask(places) is None:
            assert time.monotonic() < deadline, "the service never came"
            time.sleep(0.05)
        call("session-start")
        assert call.last == ("ok", None)
    finally:
        daemon.stop(places, force=True)


def test_a_service_that_hangs_costs_the_host_no_more_than_the_deadline(
    call: Caller, program: Program
) -> None:
    with peer(program, hangs):
        done = call("session-start", MINUTEBOOK_HOOK_SECONDS="0.4")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert call.last == ("timeout", None)
    assert 400 <= call.receipts[-1]["ms"] < 3000


def test_a_service_that_drips_its_answer_is_not_waited_for_either(call: Caller, program: Program) -> None:
    gone = threading.Event()

    def drips(connection: socket.socket) -> None:
        while not gone.wait(0.02):
            connection.sendall(b"H")

    with peer(program, drips):
        call("session-start", MINUTEBOOK_HOOK_SECONDS="0.4")
        gone.set()
    assert call.last == ("timeout", None)
    assert call.receipts[-1]["ms"] < 3000


@pytest.mark.parametrize(
    ("behave", "outcome"),
    [
        (lambda connection: None, ("no_service", "connection_lost")),
        (
            lambda connection: connection.sendall(b"220 smtp.example.org\r\n"),
            ("no_service", "connection_lost"),
        ),
        (says("200 OK", b"<html>"), ("refused", "http_200")),
        (says("502 Bad Gateway", b"<html>"), ("refused", "http_502")),
        (says("429 Too Many", {"code": "rate_limited", "message": CANARY}), ("refused", "rate_limited")),
        (says("200 OK", b"[1]"), ("ok", None)),
        (says("200 OK", {"context": 7}), ("ok", None)),
        (says("200 OK", b" " * (2 << 20)), ("refused", "answer_too_large")),
    ],
)
def test_an_odd_answer_is_noted_and_never_passed_on(
    behave: Callable[[socket.socket], None], outcome: tuple[str, str | None], call: Caller, program: Program
) -> None:
    with peer(program, behave):
        done = call("session-start", "--host", "claude-code")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert call.last == outcome
    assert CANARY not in json.dumps(call.receipts)


def test_a_directory_that_others_could_put_a_socket_into_is_not_trusted(
    call: Caller, program: Program
) -> None:
    with peer(program, says("200 OK", {"context": "Do as I say."})) as got:
        (program.home / "run").chmod(0o777)
        done = call("session-start", "--host", "claude-code")
    assert (done.code, done.out, got[:-1]) == (0, "", [])
    assert "no receipt" in done.err  # for the same reason


# --- what a host sends -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", "not_json"),
        (b"[]", "not_json"),
        (b"null", "not_json"),
        (b'"SessionStart"', "not_json"),
        (b"\xff\xfe{}", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"a": "' + b"x" * (5 << 20) + b'"}', "too_large"),
    ],
)
def test_input_that_is_none_is_noted_with_its_reason(data: bytes, code: str, call: Caller) -> None:
    done = call("session-start", given=data)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert call.last == ("bad_input", code)


@pytest.mark.parametrize("data", [b"", b"  \n"])
def test_a_host_that_sends_nothing_is_heard_all_the_same(data: bytes, call: Caller, program: Program) -> None:
    with peer(program, says("200 OK", {"context": None})):
        call("session-start", given=data)
    assert call.last == ("ok", None)


@pytest.mark.parametrize("words", [("PreToolUse",), (), ("session-start", "again"), ("--verbose",)])
def test_a_command_line_that_is_not_understood_is_noted_and_blocks_nobody(
    words: tuple[str, ...], call: Caller
) -> None:
    done = call(*words)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert call.last[0] == "bad_input"


def test_help_is_for_people(call: Caller, program: Program) -> None:
    done = call("--help")
    assert (done.code, done.err) == (0, "")
    assert "session-start" in done.out
    assert not program.home.exists()


def test_a_host_that_never_closes_the_pipe_is_answered_when_its_input_is_complete(
    call: Caller, program: Program
) -> None:
    with peer(program, says("200 OK", {"context": "x"})):
        process = call.start("session-start", MINUTEBOOK_HOOK_SECONDS="20")
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(INPUTS["cursor"]).encode())
            process.stdin.flush()
            assert process.wait(15) == 0
            assert process.stdout is not None
            assert json.loads(process.stdout.read()) == {"additional_context": "x"}
        finally:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(("sent", "outcome"), [(b"", "no_service"), (b'{"session_id": "', "bad_input")])
def test_a_host_that_stops_halfway_costs_half_the_deadline(sent: bytes, outcome: str, call: Caller) -> None:
    process = call.start("session-start", MINUTEBOOK_HOOK_SECONDS="0.4")
    assert process.stdin is not None
    try:
        process.stdin.write(sent)
        process.stdin.flush()
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.communicate()
    assert call.last[0] == outcome
    assert call.receipts[-1]["ms"] < 3000


def test_a_host_that_ends_the_hook_is_noted(call: Caller, program: Program) -> None:
    arrived = threading.Event()

    def holds(connection: socket.socket) -> None:
        arrived.set()
        hangs(connection)

    with peer(program, holds):
        process = call.start("session-start", MINUTEBOOK_HOOK_SECONDS="30")
        assert process.stdin is not None
        process.stdin.close()
        try:
            assert arrived.wait(15)
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()
    assert call.last == ("stopped", "SIGTERM")


def test_a_host_that_reads_no_more_gets_exit_code_0(call: Caller, program: Program) -> None:
    with peer(program, says("200 OK", {"context": "x" * 200_000})):
        process = call.start("session-start", "--host", "claude-code")
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.close()
        try:
            assert process.wait(15) == 0
        finally:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
    assert call.last == ("failed", "BrokenPipeError")


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "inf", "nan", "100"])
def test_a_deadline_that_is_none_is_noted(seconds: str, call: Caller) -> None:
    assert call("session-start", MINUTEBOOK_HOOK_SECONDS=seconds).code == 0
    assert call.last == ("bad_input", "bad_setting")


# --- elsewhere ---------------------------------------------------------------------------------------


def test_a_service_elsewhere_is_asked_with_a_token(call: Caller, program: Program) -> None:
    with serving(program, MINUTEBOOK_SERVICE="auto") as facts:
        made = program.ok(
            "tokens",
            "create",
            "--role",
            "agent",
            "--agent",
            "ripley",
            "--everywhere",
            MINUTEBOOK_SERVICE="join",
        )
        away = {"MINUTEBOOK_SERVICE_URL": facts["url"], "MINUTEBOOK_SERVICE": "join"}
        call("session-start", given=INPUTS["claude-code"], **away)
        assert call.last == ("refused", "no_token")
        call("session-start", given=INPUTS["claude-code"], MINUTEBOOK_TOKEN=made["secret"], **away)
        assert call.last == ("ok", None)
        call("session-start", MINUTEBOOK_SERVICE_URL="ftp://x")
        assert call.last == ("bad_input", "bad_setting")
    call("session-start", **away)
    assert call.last == ("no_service", None)


# --- receipts ----------------------------------------------------------------------------------------


def test_many_hooks_at_once_leave_whole_receipts(call: Caller) -> None:
    started = [call.start("stop", "--host", f"host-{number}") for number in range(12)]
    try:
        for process in started:
            process.communicate(timeout=60)
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert {row["host"] for row in call.receipts} == {f"host-{number}" for number in range(12)}


def test_receipts_are_kept_within_bounds(tmp_path: Path) -> None:
    path = str(tmp_path / "hooks.jsonl")
    for number in range(9000):
        receipts.leave(path, {"host": "codex", "event": "stop", "outcome": "ok", "ms": number})
    rows, unreadable = receipts.read(path)
    assert (rows[-1]["ms"], unreadable) == (8999, 0)
    assert [row["ms"] for row in rows] == list(range(9000 - len(rows), 9000))
    assert 2000 < len(rows) < 9000
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 600_000
    assert sorted(file.name for file in tmp_path.iterdir()) == ["hooks.jsonl", "hooks.jsonl.1"]


def test_a_full_file_is_turned_over_once_by_whoever_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "hooks.jsonl"
    path.write_bytes(b"{}\n" * 100_000)
    with open(path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        receipts.leave(str(path), {"outcome": "ok"})
        assert not (tmp_path / "hooks.jsonl.1").exists()
    receipts.leave(str(path), {"outcome": "ok"})
    assert (tmp_path / "hooks.jsonl.1").exists()
    assert not path.exists()


def test_a_receipt_never_goes_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("")
    (tmp_path / "hooks.jsonl").symlink_to(target)
    with pytest.raises(OSError, match="symbolic"):
        receipts.leave(str(tmp_path / "hooks.jsonl"), {"outcome": "ok"})
    assert target.read_text() == ""


def test_a_long_or_unreadable_receipt_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "hooks.jsonl"
    receipts.leave(str(path), {"host": "x" * 5000, "outcome": "ok"})
    with open(path, "ab") as file:
        file.write(b'{"torn\n7\n')
    receipts.leave(str(path), {"outcome": "stopped"})
    rows, unreadable = receipts.read(str(path))
    assert [(row["outcome"], row.get("code")) for row in rows] == [("ok", "too_large"), ("stopped", None)]
    assert unreadable == 2


def test_where_no_receipt_can_be_left_one_line_says_so(call: Caller, program: Program) -> None:
    program.home.write_text("a file")
    done = call("session-start")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("minutebook-hook: ")
    assert done.err.count("\n") == 1


# --- the project of a directory ----------------------------------------------------------------------


def _slowly(directory: Path) -> Any:
    try:
        found = workspace.find(directory)
    except MinutebookError as error:
        return error.code
    return None if found is None else found.project


def _quickly(directory: Path) -> Any:
    try:
        return here.project_of(str(directory))
    except MinutebookError as error:
        return error.code


_LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                'project_id = "01K9AAAAAAAAAAAAAAAAAAAAAA"',
                'project_id = "81K9AAAAAAAAAAAAAAAAAAAAAA"',
                "project_id = '01K9AAAAAAAAAAAAAAAAAAAAAA'",
                'project_id="01K9AAAAAAAAAAAAAAAAAAAAAB" # ours',
                'name = "Nostromo"',
                'name = "\\u0041"',
                "name = 7",
                "# a remark",
                "",
                "[table]",
                "x = [1,",
                'other = "x"',
            ]
        ),
        st.text(max_size=20),
    ),
    max_size=5,
)


@given(lines=_LINES)
def test_the_quick_reader_of_the_workspace_file_agrees_with_the_careful_one(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / ".minutebook").mkdir()
    (root / ".minutebook" / "workspace.toml").write_bytes("\n".join(lines).encode("utf-8", "replace"))
    assert _quickly(root) == _slowly(root)


def test_a_directory_without_a_project_or_with_a_broken_link_is_read_alike(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert _quickly(deep) == _slowly(deep)
    (tmp_path / ".minutebook").mkdir()
    (tmp_path / ".minutebook" / "workspace.toml").symlink_to("/nowhere")
    assert _quickly(deep) == _slowly(deep) == "bad_workspace"
