"""A stranger's way through the installed program, each command a process of its own."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minutebook.__main__ import main
from minutebook.operations.registry import NOUNS, REGISTRY
from tests.scenarios.program import COMMAND, PATIENCE, Program

HOUSE = ("init", "doctor", "connect", "restore", "serve", "stop", "status", "restart", "completion")
COMMANDS = sorted(
    {operation.command for operation in REGISTRY.all()}
    | {noun for noun in NOUNS if noun != "system"}
    | {*HOUSE}
)
#: What a terminal must never get from stored text: it sets titles, rings, hides, moves and overwrites.
STEERING = "\x1b]0;owned\x07\x1b[31mred\x1b[2J\x9b1A\u202egnp.exe\u2066\r\x08"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path / "home", tmp_path)


@pytest.fixture
def crew(program: Program) -> Program:
    """A project with two agents and a reviewer."""
    program.ok("init", "--name", "Nostromo")
    for name, role in (("Ripley", "agent"), ("Bishop", "agent"), ("Dallas", "coordinator")):
        program.ok("actors", "add", name, "--role", role)
    return program


# The path


def test_a_stranger_goes_from_nothing_to_a_governed_ledger_and_back(program: Program, tmp_path: Path) -> None:
    bound = program.ok("init", "--name", "Nostromo")
    assert (bound["project"], bound["outcome"]) == ("nostromo", "created")
    assert program.ok("init")["outcome"] == "known"
    program.ok("actors", "add", "Ripley")
    program.ok("actors", "add", "Dallas", "--role", "coordinator")

    first = program.ok(
        "inbox", "submit", "architectural", "Store", "Use PostgreSQL.", "--slug", "store", "--as", "ripley"
    )
    second = program.ok(
        "inbox",
        "submit",
        "architectural",
        "Store",
        "Use files.",
        "--slug",
        "store",
        MINUTEBOOK_AGENT="Bishop",
    )
    assert (first["slug"], second["slug"]) == ("store", "store--bishop")
    assert {line["slug"] for line in program.ok("inbox", "list")["items"]} == {"store", "store--bishop"}
    assert "2 wait, 2 of them boundaries" in program.ok("inbox", "digest")["sentence"]

    promoted = program.ok("inbox", "promote", "store", "--reason", "measured", "--as", "dallas")
    rejected = program.ok("inbox", "reject", "store--bishop", "we measured", "--as", "dallas")
    assert rejected["tombstone"]
    again = program("inbox", "submit", "scope", "Store", "use FILES", "-o", "json", MINUTEBOOK_AGENT="Ash")
    assert (again.code, again.error()["code"]) == (6, "tombstoned")

    newer = program.ok(
        "decisions", "write", "architectural", "Store", "Use PostgreSQL 18.", "--slug", "store"
    )
    assert newer["op"] == "supersede"
    shown = program.ok("decisions", "show", "store")
    assert (shown["memory"]["content"], shown["supersedes"]) == ("Use PostgreSQL 18.", [promoted["memory"]])

    listed = program.ok("verdicts", "list")["items"]
    assert [line["op"] for line in listed] == ["supersede", "refuse", "refuse", "add", "hold", "hold"]
    verdict = program.ok("verdicts", "show", newer["verdict"])
    assert verdict["candidate"] is None
    assert (
        program.ok("verdicts", "show", newer["verdict"], "--content")["candidate"]["content"]
        == "Use PostgreSQL 18."
    )

    program.ok("verdicts", "revert", newer["verdict"], "--reason", "too early")
    assert program.ok("decisions", "show", "store")["memory"]["content"] == "Use PostgreSQL."
    assert [hit["slug"] for hit in program.ok("search", "postgresql")["hits"]] == ["store"]

    program.ok("sessions", "start", "Landing", "--issue", "#1")
    program.ok("sessions", "start", "Repairs")
    assert program.ok("sessions", "current")["focus"] == "Repairs"
    assert len(program.ok("sessions", "list")["items"]) == 2

    program.ok("export", "ledger.zip")
    elsewhere = Program(tmp_path / "elsewhere", tmp_path)
    elsewhere.ok("import", "ledger.zip")
    assert elsewhere.ok("decisions", "list") == program.ok("decisions", "list")
    assert program("doctor", "-o", "json").code == 0


def test_memory_follows_the_directory_and_not_its_path(crew: Program, tmp_path: Path) -> None:
    crew.ok("decisions", "write", "scope", "Range", "Stay in orbit.", "--slug", "range")
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    assert crew("decisions", "show", "range", cwd=deep).code == 0
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / ".minutebook").rename(moved / ".minutebook")
    assert crew("decisions", "show", "range", cwd=moved).code == 0
    lost = crew("decisions", "show", "range", "-o", "json")
    assert (lost.code, lost.error()["code"]) == (2, "no_project")
    assert "minutebook init" in lost.error()["details"]["hint"]


# What is printed


def test_json_is_one_document_and_jsonl_one_line_per_item(crew: Program) -> None:
    for number in range(3):
        crew.ok("memories", "write", "artifact", f"Map of deck {number}.", "--slug", f"map-{number}")
    listed = crew.ok("memories", "list")
    assert set(listed) == {"items", "next"}
    lines = crew("memories", "list", "-o", "jsonl").lines()
    assert lines == listed["items"]
    assert [line["slug"] for line in lines] == ["map-2", "map-1", "map-0"]
    assert crew("memories", "list", "-q").out.split() == ["map-2", "map-1", "map-0"]


def test_a_listing_is_paged_by_its_cursor_and_misses_nothing(crew: Program) -> None:
    for number in range(7):
        crew.ok("memories", "write", "artifact", f"Map of deck {number}.", "--slug", f"map-{number}")
    seen: list[str] = []
    after: tuple[str, ...] = ()
    while True:
        page = crew.ok("memories", "list", "--limit", "3", *after)
        seen += [line["slug"] for line in page["items"]]
        if page["next"] is None:
            break
        after = ("--after", page["next"])
    assert seen == [f"map-{number}" for number in reversed(range(7))]
    first = crew("memories", "list", "--limit", "3", "-o", "jsonl")
    assert '"next"' in first.err
    spoken = crew("memories", "list", "--limit", "3").out + crew("memories", "list", "--limit", "3").err
    assert "--after" in spoken


def test_a_key_gives_the_first_answer_again_and_refuses_another_request(crew: Program) -> None:
    words = (
        "memories",
        "write",
        "learning",
        "Doors jam.",
        "--slug",
        "doors",
        "--key",
        "k1",
        "--as",
        "ripley",
    )
    first = crew.ok(*words)
    assert crew.ok(*words) == {**first, "replayed": True}
    other = crew(
        "memories", "write", "learning", "Lamps flicker.", "--key", "k1", "--as", "ripley", "-o", "json"
    )
    assert (other.code, other.error()["code"]) == (5, "key_reused")
    somebody = crew.ok("memories", "write", "learning", "Lamps flicker.", "--key", "k1", "--as", "bishop")
    assert somebody["op"] == "add"
    assert len(crew.ok("verdicts", "list")["items"]) == 2


def test_the_exit_code_tells_the_kind_of_error(crew: Program) -> None:
    crew.ok("inbox", "submit", "scope", "Gate", "Close it.", "--slug", "gate", "--as", "ripley")
    secret = "AKIA" + "Q3EGRIVJ4FBCX2LW"
    expected = {
        ("inbox", "list"): 0,
        ("memories", "write", "law", "c"): 2,
        ("inbox", "show", "nothing"): 3,
        ("inbox", "promote", "gate", "--as", "ripley"): 4,
        ("actors", "add", "RIPLEY"): 5,
        ("memories", "write", "artifact", f"The key is {secret}"): 6,
        ("memories", "write", "artifact", "x" * 70_000): 7,
        ("inbox", "list", "--home", "/dev/null/home"): 8,
    }
    got = {words: crew(*words) for words in expected}
    assert {words: done.code for words, done in got.items()} == expected
    for words, done in got.items():
        assert (done.err == "") == (expected[words] == 0)
        assert secret not in done.out + done.err


# Terminals


def on_a_terminal(program: Program, *words: str, **environment: str) -> str:
    """What a person sees: the command's output on a pseudo-terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *words],
        cwd=program.cwd,
        env=program.environ(TERM="xterm-256color", COLUMNS="100", **environment),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(ours)
    assert process.wait(PATIENCE) == 0
    return seen.decode()


def test_colour_is_for_terminals_that_want_it(crew: Program) -> None:
    crew.ok("decisions", "write", "scope", "Range", "Stay in orbit.", "--slug", "range")
    assert "\x1b[" in on_a_terminal(crew, "decisions", "list")
    assert "\x1b[" not in on_a_terminal(crew, "decisions", "list", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(crew, "decisions", "list", "--no-color")
    piped = crew("decisions", "list").out
    assert "range" in piped
    assert "\x1b[" not in piped


def test_a_reader_that_stops_reading_is_no_error(crew: Program) -> None:
    for number in range(3):
        crew.ok("memories", "write", "artifact", f"Map of deck {number}.", "--slug", f"map-{number}")
    pipe = f"'{COMMAND}' memories list -o json | head -c 1"
    done = subprocess.run(
        ["sh", "-c", pipe],
        cwd=crew.cwd,
        env=crew.environ(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"{", b"")


def test_stored_escapes_never_reach_a_terminal_raw(crew: Program) -> None:
    """Whatever a title, focus or reason holds, the terminal is told about it and never steered by it."""
    mild = STEERING.replace("\u202e", "").replace("\u2066", "")
    crew.ok("memories", "write", "artifact", f"Body {mild}", "--title", f"Title {mild}", "--slug", "evil")
    crew.ok("sessions", "start", f"Focus {mild}")
    crew.ok("inbox", "submit", "scope", f"Title {mild}", f"Body {mild}", "--slug", "bad", "--as", "ripley")
    crew.ok("inbox", "reject", "bad", f"Reason {mild}", "--as", "dallas")
    for words in (
        ("memories", "list"),
        ("memories", "show", "evil"),
        ("memories", "history", "evil"),
        ("search", "title", "--proposals-too"),
        ("sessions", "current"),
        ("sessions", "list"),
        ("inbox", "list", "--status", "all"),
        ("inbox", "show", "bad"),
        ("verdicts", "list"),
        ("tombstones", "list"),
        ("events", "list"),
    ):
        seen = re.sub("\x1b\\[[0-9;]*m", "", on_a_terminal(crew, *words)).replace("\r\n", "\n")
        assert not STEERS.findall(seen), f"{words} steered the terminal"
        printed = crew(*words, "-o", "json").out + crew(*words, "-q").out
        assert not STEERS.findall(printed), f"{words} printed what steers"
    wrong = crew("inbox", "show", f"no {STEERING}")
    assert wrong.code == 3
    assert not STEERS.findall(wrong.err)


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_by_example(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help exits well, shows how the command is used, and fits a hundred columns."""
    monkeypatch.setattr(sys, "argv", ["minutebook", *command.split(), "--help"])
    monkeypatch.setenv("COLUMNS", "100")
    assert main() == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: minutebook")
    assert re.search(rf"(?m)^ +minutebook {command}\b", shown), "no example"
    assert [line for line in shown.splitlines() if len(line) > 100] == []


def test_the_installed_program_and_the_module_are_the_same(program: Program) -> None:
    said = program("--help")
    assert (said.code, said.err) == (0, "")
    module = subprocess.run(
        [sys.executable, "-m", "minutebook", "--help"],
        cwd=program.cwd, env=program.environ(), capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert module.stdout == said.out
    assert program().out == said.out
    assert re.fullmatch(r"minutebook \d+\.\d+\.\d+\n", program("--version").out)
