"""Many processes on one ledger, through the command line: none locked out, none lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import memories
from minutebook.policy.limits import Limits
from tests.conftest import Clock
from tests.houses import House
from tests.invariants import state_of, violations

WRITERS, WRITES, READERS = 8, 3, 50

#: Owns the ledger, leaves a write unfinished inside its transaction, and stays there.
OWNER = """
import sys, threading
from minutebook.wiring import SCHEMA, utc_now
from minutebook.ledger.database import open_database
database = open_database("sqlite://" + sys.argv[1], schema=SCHEMA, wait=20, clock=utc_now)
def half(tx):
    tx.run("UPDATE proposals SET title = 'half'")
    print("inside", flush=True)
    sys.stdin.read()
database.write("global", half)
"""


class CommandLine:
    """The installed program, in a ledger of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MINUTEBOOK_")},
            "MINUTEBOOK_HOME": str(home),
            "MINUTEBOOK_PROJECT": "nostromo",
            "MINUTEBOOK_LOCK_WAIT": "120",
            "MINUTEBOOK_SERVICE": "never",
        }

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "minutebook", "-o", "json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
            env={**self.environment, **environment},
        )

    def run(self, *words: str, **environment: str) -> Any:
        answer, said = (process := self.start(*words, **environment)).communicate()
        assert process.returncode == 0, (words, said)
        return json.loads(answer)

    def submit(self, agent: str, number: int, **environment: str) -> subprocess.Popen[str]:
        title, words = f"Rule {number} of {agent}", f"{agent} {number} says: look twice, then {number}."
        return self.start(
            "inbox", "submit", "process", title, words, "--slug", f"rule-{number}",
            MINUTEBOOK_AGENT=agent, **environment,
        )  # fmt: skip


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    line.run("projects", "create", "Nostromo", MINUTEBOOK_PROJECT="")
    return line


def ended(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """The answers of processes that all ended well."""
    answers = []
    for process in processes:
        answer, said = process.communicate()
        assert process.returncode == 0, said
        answers.append(json.loads(answer))
    return answers


def proposals_of(command: CommandLine) -> dict[str, str]:
    items = command.run("inbox", "list", "--limit", "1000")["items"]
    return {item["slug"]: item["agent"] for item in items}


def test_eight_processes_write_at_once_and_nothing_is_lost(command: CommandLine) -> None:
    acknowledged: list[dict[str, Any]] = []
    for number in range(WRITES):
        acknowledged += ended([command.submit(f"agent{n}", number) for n in range(WRITERS)])
    # All asked for the same three slugs: one of them got it, and the others one with their name in it.
    assert len({answer["slug"] for answer in acknowledged}) == WRITERS * WRITES
    assert {answer["requested_slug"] for answer in acknowledged} == {f"rule-{n}" for n in range(WRITES)}
    assert set(proposals_of(command)) == {answer["slug"] for answer in acknowledged}


def test_fifty_processes_read_at_once_and_all_are_answered(command: CommandLine) -> None:
    ended([command.submit("ripley", 1)])
    readers = [command.start("inbox", "list") for _ in range(READERS)]
    assert [[item["slug"] for item in answer["items"]] for answer in ended(readers)] == [["rule-1"]] * READERS


def test_a_killed_owner_holds_nobody_up(command: CommandLine) -> None:
    ended([command.submit("ripley", 1)])
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(command.home / "ledger.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    assert owner.stdout.readline() == "inside\n"
    waiting = [command.submit(f"agent{n}", 2) for n in range(WRITERS)]
    # One that does not wait is told who is in the way; by then the others stand in line.
    busy = command.submit("bishop", 2, MINUTEBOOK_LOCK_WAIT="0.5")
    _, said = busy.communicate()
    assert busy.returncode == 8
    assert str(owner.pid) in said
    assert all(process.poll() is None for process in waiting)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    assert len({answer["slug"] for answer in ended(waiting)}) == WRITERS
    assert len(proposals_of(command)) == 1 + WRITERS
    titles = [item["title"] for item in command.run("inbox", "list", "--limit", "1000")["items"]]
    assert "half" not in titles


# ── many threads ─────────────────────────────────────────────────────────────────────────────────────


def together(count: int, work: Callable[[int], None]) -> None:
    """Run `work` in threads that start at once; what one raises is raised here."""
    raised: list[BaseException] = []
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_of_eight_edits_of_one_revision_exactly_one_wins(
    ledger_url: str, tmp_path: Path, clock: Clock
) -> None:
    house = House(ledger_url, tmp_path / "home", clock, limits=Limits(writes_per_minute=0))
    try:
        rounds, threads = 12, 8
        memory = house.dallas(
            memories.write, type="project", title="Counter", content="Nobody was here yet."
        ).memory
        won: list[tuple[int, int]] = []
        lost: list[str] = []

        def edit(number: int) -> None:
            client = house.as_("Mother" if number % 2 else "Dallas")
            for _ in range(rounds):
                seen = client(memories.show, ref=memory).memory
                words = f"{seen.content}\nThread {number} was here at {seen.revision}."
                try:
                    done = client(memories.edit, ref=memory, content=words, revision=seen.revision)
                except MinutebookError as error:
                    lost.append(error.code)
                else:
                    assert done.revision is not None
                    won.append((done.revision, number))

        together(threads, edit)
        end = house.mother(memories.show, ref=memory).memory
        assert len(won) + len(lost) == rounds * threads
        assert set(lost) <= {"stale_revision"}
        # One winner for each revision, and nobody's line was written over.
        assert sorted(revision for revision, _ in won) == list(range(2, end.revision + 1))
        assert end.content.splitlines()[1:] == [f"Thread {n} was here at {r - 1}." for r, n in sorted(won)]
        assert violations(state_of(house.service.database)) == []
    finally:
        house.close()
