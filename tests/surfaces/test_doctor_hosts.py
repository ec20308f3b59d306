"""What doctor says of the service, of the hosts that are configured, and of the hooks that were called."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.model.system import Finding
from minutebook.settings import Settings, load
from minutebook.surfaces.cli.doctor_hosts import Look, host_findings
from minutebook.surfaces.cli.doctor_service import hook_findings, service_findings
from minutebook.surfaces.hosts.known import HOSTS
from minutebook.surfaces.light import daemon, receipts
from minutebook.surfaces.light.places import Places
from tests.scenarios.program import COMMAND, Program
from tests.surfaces.service_process import serving


@pytest.fixture
def program(tmp_path: Path) -> Program:
    place = tmp_path / "kim"
    place.mkdir()
    return Program(home=tmp_path / "home", cwd=place)


def settings_of(program: Program, **more: str) -> Settings:
    return load(program.environ(**more))


def look(program: Program, **more: str) -> Look:
    environ = program.environ(**more)
    return Look(load(environ), environ, program.cwd, program.cwd)


def told(findings: Iterator[Finding]) -> list[tuple[str, str]]:
    return [(found.state, found.what) for found in findings]


def states(findings: Iterator[Finding]) -> list[str]:
    return [found.state for found in findings]


# --- the service -------------------------------------------------------------------------------------


def test_without_a_service_each_way_of_having_one_is_told(program: Program) -> None:
    assert told(service_findings(settings_of(program, MINUTEBOOK_SERVICE="auto")))[0] == (
        "ok",
        "No service runs; the first command that needs it starts it.",
    )
    assert states(service_findings(settings_of(program, MINUTEBOOK_SERVICE="join"))) == ["warning"]
    assert states(service_findings(settings_of(program, MINUTEBOOK_SERVICE="never"))) == ["ok"]
    assert not program.home.exists()


def test_a_service_that_runs_is_told_with_its_address(program: Program) -> None:
    with serving(program) as facts:
        found = told(service_findings(settings_of(program)))
        assert [state for state, _ in found] == ["ok", "ok"]
        assert f"process {facts['pid']}" in found[0][1]
        assert found[1][1] == f"HTTP answers at {facts['url']}."
        # told through the program as well, which goes by the socket
        said = program.ok("doctor", MINUTEBOOK_SERVICE="join")
        assert any("The service is running" in one["what"] for one in said["findings"])


def test_a_service_of_another_version_is_told(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(program):
        monkeypatch.setattr(minutebook, "__version__", "9.9")
        state, what = told(service_findings(settings_of(program)))[0]
    assert state == "warning"
    assert "this is 9.9" in what


def test_a_service_that_takes_connections_and_never_answers_is_told_and_not_waited_for(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.surfaces.cli.doctor_service._PATIENCE", 0.2)
    places = Places(str(program.home))
    lock = daemon.take_lock(places)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(places.socket)
        listener.listen()
        state, what = told(service_findings(settings_of(program)))[0]
    assert lock is not None
    assert state == "error"
    assert "does not answer" in what


def test_a_port_that_somebody_else_has_is_told(program: Program) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = told(
            service_findings(settings_of(program, MINUTEBOOK_PORT=str(port), MINUTEBOOK_SERVICE="auto"))
        )
    assert found[1][0] == "warning"
    assert str(port) in found[1][1]


def test_a_stranger_at_the_services_port_is_told(program: Program) -> None:
    over = threading.Event()
    with serving(program), socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        url = f"http://127.0.0.1:{stranger.getsockname()[1]}"

        def greet() -> None:
            connection, _ = stranger.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            over.set()

        thread = threading.Thread(target=greet)
        thread.start()
        places = Places(str(program.home))
        facts = daemon.facts_of(places)
        assert facts is not None
        Path(places.facts).write_text(json.dumps({**facts, "url": url}))
        found = told(service_findings(settings_of(program)))
        thread.join(30)
    assert found[1] == ("error", f"Something else than minutebook answers at {url}.")


def test_the_last_failure_in_the_log_is_told_and_older_ones_are_not(program: Program) -> None:
    places = Places(str(program.home))
    places.make()

    def logged(*lines: dict[str, Any] | str) -> list[tuple[str, str]]:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        Path(places.log).write_text("\n".join(texts) + "\n")
        return told(service_findings(settings_of(program, MINUTEBOOK_SERVICE="never")))[1:]

    old = {"time": "2020-01-01T00:00:00.000Z", "level": "error", "event": "request"}
    new = {
        "time": "2999-01-01T00:00:00.000Z",
        "level": "error",
        "event": "request",
        "operation": "inbox.list",
    }
    fine = {"time": "2999-01-02T00:00:00.000Z", "level": "info", "event": "ended"}
    assert logged() == []
    assert logged(old) == []
    assert logged(old, "a library speaks", fine) == []
    ((state, what),) = logged(old, new, fine)
    assert state == "warning"
    assert "2999-01-01" in what
    assert "inbox.list" in what
    ((state, what),) = logged(fine, "error[cannot_open]: There is no room", "  hint: make some")
    assert (state, what.endswith("error[cannot_open]: There is no room.")) == ("warning", True)
    assert logged("error[cannot_open]: There is no room", fine) == []  # it came up after that


def test_a_service_elsewhere_is_looked_for_where_the_setting_says(program: Program) -> None:
    with serving(program) as facts:
        assert states(service_findings(settings_of(program, MINUTEBOOK_SERVICE_URL=facts["url"]))) == ["ok"]
    assert states(service_findings(settings_of(program, MINUTEBOOK_SERVICE_URL=facts["url"]))) == ["error"]


# --- hosts -------------------------------------------------------------------------------------------


def test_hosts_that_are_not_configured_are_not_spoken_of(program: Program) -> None:
    assert told(host_findings(look(program))) == []
    (program.cwd / ".claude.json").write_text('{"mcpServers": {"other": {}}}')
    assert told(host_findings(look(program))) == []


def test_every_host_that_connect_configured_starts_and_is_answered(program: Program) -> None:
    program.ok("connect", *HOSTS, "--write")
    assert states(host_findings(look(program))) == ["ok"] * len(HOSTS)
    assert all("not tried" in what for _, what in told(host_findings(look(program))))
    assert not program.home.exists()  # it starts no service
    with serving(program):
        found = told(host_findings(look(program)))
    assert [(state, what.endswith("starts and answers.")) for state, what in found] == [("ok", True)] * len(
        HOSTS
    )


def test_over_http_the_address_and_the_token_are_tried(program: Program) -> None:
    with serving(program) as facts:
        program.ok("connect", "claude-code", "codex", "vscode", "--transport", "http", "--write")
        found = told(host_findings(look(program)))
        assert [state for state, _ in found] == ["warning", "warning", "ok"]
        assert "MINUTEBOOK_TOKEN is not set" in found[0][1]
        found = told(host_findings(look(program, MINUTEBOOK_TOKEN="mbt_nonsense")))
        assert [state for state, _ in found] == ["error", "error", "ok"]
        assert "does not take the token" in found[0][1]
        made = program.ok("tokens", "create", "--agent", "ripley", "--everywhere", MINUTEBOOK_SERVICE="join")
        found = told(host_findings(look(program, MINUTEBOOK_TOKEN=made["secret"])))
        assert [state for state, _ in found] == ["ok", "ok", "ok"]
        assert facts["url"] in found[0][1]
        elsewhere = told(host_findings(look(program, MINUTEBOOK_SERVICE_URL="http://127.0.0.1:1")))
        assert {state for state, _ in elsewhere} == {"warning"}
        assert "the service is at http://127.0.0.1:1/mcp" in elsewhere[0][1]


def configured(program: Program, **entry: Any) -> tuple[str, str]:
    """What is said of Cursor when its file has that entry."""
    file = program.cwd / ".cursor" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"minutebook": entry}}))
    (found,) = told(host_findings(look(program)))
    return found


def test_an_entry_that_does_not_work_is_told_with_its_reason(program: Program, tmp_path: Path) -> None:
    bound = ["mcp", "--agent", "ripley"]
    assert configured(program)[0] == "error"
    state, what = configured(program, command="/nowhere/minutebook", args=bound)
    assert (state, "there is no program" in what) == ("error", True)
    script = tmp_path / "plain"
    script.write_text("#!/bin/sh\n")
    assert configured(program, command=str(script), args=bound)[0] == "error"  # it cannot be run
    state, what = configured(program, command=COMMAND, args=["mcp"])
    assert (state, "acts as you" in what) == ("warning", True)
    state, what = configured(program, command=COMMAND, args=bound, env={"MINUTEBOOK_HOME": "/elsewhere"})
    assert (state, "another home" in what) == ("warning", True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "did not answer in the form of MCP"),
        ("echo hello", "did not answer in the form of MCP"),
        ("echo 7", "did not answer in the form of MCP"),
        ("cat > /dev/null; sleep 60", "did not answer within"),
        ("""echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no ledger"}}'""", "no ledger"),
    ],
)
def test_a_server_that_does_not_say_hello_is_told(
    script: str, said: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.surfaces.cli.doctor_hosts._PATIENCE", 0.5)
    file = tmp_path / "server"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)
    lock = daemon.take_lock(Places(str(program.home)))  # a service runs, as far as can be seen
    state, what = configured(program, command=str(file), args=["--agent", "x"])
    assert lock is not None
    assert state == "error"
    assert said in what


def test_a_token_that_others_can_read_is_told(program: Program) -> None:
    secret = "mbt_" + "s" * 40
    program.ok("connect", "cursor", "--transport", "http", "--show-token", "--write", MINUTEBOOK_TOKEN=secret)
    assert states(host_findings(look(program))) == ["ok"]
    (program.cwd / ".cursor" / "mcp.json").chmod(0o644)
    ((state, what),) = told(host_findings(look(program)))
    assert (state, "others may read" in what) == ("warning", True)
    assert secret not in what


def test_a_file_that_cannot_be_read_is_told_once_and_hides_no_other(program: Program) -> None:
    (program.cwd / ".gemini").mkdir()
    (program.cwd / ".gemini" / "settings.json").write_text("{ // minutebook\n}")
    program.ok("connect", "opencode", "--write")
    found = told(host_findings(look(program)))
    assert [state for state, _ in found] == ["warning", "ok"]
    assert "remarks" in found[0][1]


def test_hooks_whose_program_is_gone_are_told(program: Program) -> None:
    hosts = [host for host in HOSTS if host != "vscode"]
    program.ok("connect", *hosts, "--hooks", "--write")
    found = [what for what in told(host_findings(look(program))) if "hooks (" in what[1]]
    assert [state for state, _ in found] == ["ok"] * len(hosts)
    for host in hosts:
        file = HOSTS[host].hooks_file("user", program.cwd, program.cwd)
        assert file is not None
        file.write_text(file.read_text().replace("/minutebook-hook", "/gone-minutebook-hook"))
    found = [what for what in told(host_findings(look(program))) if "hooks (" in what[1]]
    assert [state for state, _ in found] == ["error"] * len(hosts)
    assert "gone-minutebook-hook" in found[0][1]


# --- hooks -------------------------------------------------------------------------------------------


def left(program: Program, *rows: dict[str, object]) -> list[tuple[str, str]]:
    Places(str(program.home)).make()
    for row in rows:
        receipts.leave(receipts.file_of(str(program.home)), row)
    return told(hook_findings(settings_of(program)))


def test_how_the_last_hooks_went_is_told_by_host(program: Program) -> None:
    assert told(hook_findings(settings_of(program))) == []
    fine = {"host": "codex", "event": "session-start", "outcome": "ok", "ms": 9}
    late = {"host": "cursor", "event": "stop", "outcome": "timeout", "ms": 1500}
    found = left(program, fine, late, late, {**fine, "outcome": "starting"})
    assert [state for state, _ in found] == ["ok", "warning"]
    assert "codex: last session-start" in found[0][1]
    assert "timeout" in found[1][1]
    assert "2 of its last 2 calls failed" in found[1][1]
    # a failure that is over is said, and is no warning any more
    found = left(program, {**late, "outcome": "ok"})
    assert found[1][0] == "ok"
    assert "2 of its last 3 calls failed" in found[1][1]


def test_a_service_that_hooks_start_and_that_never_comes_is_told(program: Program) -> None:
    row: dict[str, object] = {"host": "codex", "event": "stop", "outcome": "starting", "ms": 3}
    assert left(program, row, row)[0][0] == "ok"
    ((state, what),) = left(program, row)
    assert (state, "none was there" in what) == ("warning", True)


def test_a_refusal_is_told_with_its_code_and_what_to_do(program: Program) -> None:
    row = {"host": "codex", "event": "stop", "outcome": "refused", "code": "not_found", "ms": 3}
    Places(str(program.home)).make()
    receipts.leave(receipts.file_of(str(program.home)), dict[str, object](row))
    (found,) = hook_findings(settings_of(program))
    assert (found.state, found.advice) == (
        "warning",
        "minutebook init takes this directory's project into the ledger",
    )
    assert "refused (not_found)" in found.what


def test_receipts_that_cannot_be_read_are_told(program: Program) -> None:
    Places(str(program.home)).make()
    file = Path(receipts.file_of(str(program.home)))
    file.write_text("{\n")
    assert told(hook_findings(settings_of(program))) == [("warning", "1 receipts of hooks cannot be read.")]
    file.unlink()
    file.mkdir()
    assert states(hook_findings(settings_of(program))) == ["warning"]
