"""Notes and the drop-box as a user has them: the installed program, a real service, an editor, git, and kill -9."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.services import Served, alive, serving_processes, until
from tests.surfaces.test_files import git

PROXY = ".minutebook/memory/learning_proxy.md"
LETTER = "# One queue\n\n**By:** Keaton\n**What:** One queue for all.\n"


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    made = tmp_path / "ship"
    made.mkdir()
    return made


@pytest.fixture
def served(tmp_path: Path, ship: Path) -> Iterator[Served]:
    running = Served(tmp_path / "home", ship, MINUTEBOOK_PROJECT="")
    running.ok("init", "--name", "Nostromo")
    yield running
    running.end()


def save(path: Path, text: str) -> None:
    """As editors do: beside it, then in its place."""
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text)
    os.replace(beside, path)


def note(served: Served, ship: Path) -> Path:
    """A note of the person who runs the program."""
    served.ok(
        "memories", "write", "learning", "It drops bodies over 1 MB.", "--title", "Proxy", "--slug", "proxy"
    )
    until((ship / PROXY).exists, "the note is written")
    return ship / PROXY


def content(served: Served) -> str:
    return served.ok("memories", "show", "proxy")["memory"]["content"]


def test_an_edit_is_a_verdict_that_can_be_reverted_and_a_deletion_comes_back(
    served: Served, ship: Path
) -> None:
    path = note(served, ship)
    save(path, path.read_text().replace("1 MB", "2 MB"))
    until(lambda: content(served) == "It drops bodies over 2 MB.", "the edit is judged", seconds=20)
    verdict = served.ok("verdicts", "list")["items"][0]
    assert verdict["op"] == "update"
    served.ok("verdicts", "revert", verdict["id"], "--reason", "it does not")
    until(lambda: "1 MB" in path.read_text(), "the file follows")
    path.unlink()
    until(lambda: served.ok("memories", "show", "proxy")["memory"]["status"] == "retired", "it is retired")
    retired = served.ok("verdicts", "list")["items"][0]
    served.ok("verdicts", "revert", retired["id"], "--reason", "it was right")
    until(path.exists, "the file is back")
    assert served.ok("files", "status")["sentence"].startswith("all ")


def test_letters_and_edits_survive_the_death_of_the_service(served: Served, ship: Path) -> None:
    path = note(served, ship)
    inbox = ship / ".squad/decisions/inbox"
    inbox.mkdir(parents=True)
    (pid,) = serving_processes(served.home)
    for number in range(12):
        save(inbox / f"letter-{number}.md", LETTER.replace("One queue", f"Queue number {number}"))
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "it is dead")
    save(path, path.read_text().replace("1 MB", "3 MB"))
    until(lambda: len(served.ok("inbox", "list")["items"]) == 12, "every letter is read")
    until(lambda: content(served) == "It drops bodies over 3 MB.", "the edit is found")
    until(lambda: served.ok("files", "status")["sentence"].startswith("all "), "all is in step")
    assert len(served.ok("inbox", "list", "--status", "all")["items"]) == 12
    assert {line["agent"] for line in served.ok("inbox", "list")["items"]} == {"keaton"}


def test_two_worktrees_on_two_branches_and_a_checkout_lose_nothing(served: Served, ship: Path) -> None:
    git(ship, "init", "-q", "-b", "main")
    path = note(served, ship)
    served.ok("memories", "write", "learning", "Two of them.", "--slug", "second")
    until((ship / ".minutebook/memory/learning_second.md").exists, "the second is written")
    git(ship, "add", "-A", "-f")
    git(ship, "commit", "-qm", "first")
    git(ship, "checkout", "-qb", "bare")
    git(ship, "rm", "-q", "--cached", "-r", ".minutebook/memory")
    git(ship, "commit", "-qm", "no notes here")
    other = ship.parent / "other"
    git(ship, "worktree", "add", "-q", str(other), "main")
    assert served("init", cwd=other).code == 0
    until((other / PROXY).exists, "git put it there")
    save(other / PROXY, (other / PROXY).read_text().replace("1 MB", "4 MB"))
    until(lambda: content(served) == "It drops bodies over 4 MB.", "the edit in the other tree is judged")
    until(lambda: "4 MB" in path.read_text(), "the first tree follows")
    git(other, "checkout", "-q", "-f", "--detach", "bare")
    assert not (other / PROXY).exists()
    until(lambda: _states(served, other) == {"waiting"}, "what git took away is missed, and asked about")
    git(other, "checkout", "-q", "-f", "main")
    until(
        lambda: "4 MB" in (other / PROXY).read_text(), "what git put back is no edit, and follows the ledger"
    )
    assert content(served) == "It drops bodies over 4 MB."
    memories = served.ok("memories", "list")["items"]
    assert sorted(line["slug"] for line in memories) == ["proxy", "second"]


def _states(served: Served, root: Path) -> set[str]:
    """How the notes of a workspace stand that are not in step."""
    places = served.ok("files", "status")["workspaces"]
    (place,) = [each for each in places if each["root"] == str(root)]
    return {line["state"] for line in place["files"] if line["kind"] == "note"}


def test_a_service_that_nobody_asks_ends_though_files_are_watched(tmp_path: Path, ship: Path) -> None:
    served = Served(tmp_path / "home", ship, MINUTEBOOK_PROJECT="", MINUTEBOOK_IDLE_EXIT="2")
    try:
        served.ok("init", "--name", "Nostromo")
        until(lambda: serving_processes(served.home) == [], "it ends by itself")
    finally:
        served.end()
