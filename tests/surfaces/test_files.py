"""Generated files as a user has them: the installed program, a real service, git, and kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.program import Program
from tests.surfaces.services import Served, serving_processes, until


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    made = tmp_path / "ship"
    made.mkdir()
    return made


@pytest.fixture
def alone(tmp_path: Path, ship: Path) -> Program:
    """Each command owns the ledger for its own time; no service runs."""
    return Program(home=tmp_path / "home", cwd=ship)


@pytest.fixture
def served(tmp_path: Path, ship: Path) -> Iterator[Served]:
    running = Served(tmp_path / "home", ship, MINUTEBOOK_PROJECT="")
    yield running
    running.end()


def git(at: Path, *words: str) -> str:
    who = ["-c", "user.name=Kim", "-c", "user.email=kim@example.org", "-c", "core.hooksPath=/dev/null"]
    done = subprocess.run(["git", *who, *words], cwd=at, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_follow_the_service_within_a_second_and_survive_its_death(served: Served, ship: Path) -> None:
    served.ok("init", "--name", "Nostromo")
    decided = ship / ".squad/decisions.md"
    served.ok("decisions", "write", "scope", "Range", "Stay in orbit.")
    until(lambda: decided.exists(), "the first file is written")
    served.ok("decisions", "write", "technical", "Tabs", "Indent with tabs.")
    until(lambda: b"## Tabs" in decided.read_bytes(), "the file follows", seconds=20)
    (pid,) = serving_processes(served.home)
    os.kill(pid, signal.SIGKILL)
    decided.unlink()
    (ship / ".agentweaver/context/boundaries.md").write_bytes(b"mine")
    served.ok("decisions", "write", "technical", "Spaces", "No: with blanks.")
    until(lambda: decided.exists() and b"## Spaces" in decided.read_bytes(), "the next service catches up")
    (place,) = served.ok("files", "status")["workspaces"]
    assert [(line["path"], line["state"]) for line in place["files"]] == [
        (".agentweaver/context/boundaries.md", "edited")
    ]
    assert served.ok("health")["mirror"]["workspaces"] == 1
    shown = served("files", "status").out
    assert "minutebook files replace .agentweaver/context/boundaries.md" in " ".join(shown.split())


def test_a_sync_without_a_service_does_the_pass_itself(alone: Program, ship: Path) -> None:
    alone.ok("init", "--name", "Nostromo")
    alone.ok("decisions", "write", "scope", "Range", "Stay in orbit.")
    assert not (ship / ".squad").exists()
    (late,) = alone.ok("files", "status")["workspaces"]
    assert late["events_behind"] > 0
    done = alone.ok("files", "sync")
    assert done["sentence"] == "2 written"
    assert b"Stay in orbit." in (ship / ".squad/decisions.md").read_bytes()
    assert alone.ok("files", "sync")["sentence"] == "nothing to do"
    # From elsewhere there is no project to speak of.
    assert alone("files", "sync", "-o", "json", cwd=ship.parent).error()["code"] == "no_project"


def test_git_stays_quiet_and_a_merge_of_two_branches_settles_itself(alone: Program, ship: Path) -> None:
    git(ship, "init", "-q", "-b", "main")
    bound = alone.ok("init", "--name", "Nostromo", "--git-files")
    assert {each["path"]: each["outcome"] for each in bound["beside"]} == {
        ".gitattributes": "created", ".gitignore": "created",
    }  # fmt: skip
    alone.ok("decisions", "write", "scope", "Range", "Stay in orbit.")
    alone.ok("inbox", "submit", "process", "Stand up", "At nine.")
    alone.ok("files", "sync")
    git(ship, "add", "-A")
    git(ship, "commit", "-qm", "first")
    assert "inbox" not in git(ship, "ls-files")
    alone.ok("files", "sync")
    assert git(ship, "status", "--porcelain") == ""
    git(ship, "checkout", "-qb", "other")
    for branch, title in (("other", "Tabs"), ("main", "Spaces")):
        git(ship, "checkout", "-q", branch)
        alone.ok("decisions", "write", "technical", title, f"Use {title}.")
        alone.ok("files", "sync")
        git(ship, "commit", "-qam", title)
    merged = subprocess.run(["git", "merge", "-q", "other"], cwd=ship, capture_output=True, check=False)
    assert merged.returncode != 0, "git decided alone"
    assert b"<<<<<<<" not in (ship / ".squad/decisions.md").read_bytes()
    alone.ok("files", "sync")
    assert alone.ok("files", "status")["sentence"].startswith("all ")
    git(ship, "commit", "-qam", "merged")
    text = (ship / ".squad/decisions.md").read_text()
    assert (text.count("## Tabs"), text.count("## Spaces")) == (1, 1)


def test_init_changes_no_existing_file_without_a_word_and_takes_its_lines_back(
    alone: Program, ship: Path
) -> None:
    (ship / "AGENTS.md").write_bytes(b"# House rules\n\nBe kind.\n")
    (ship / ".gitignore").write_bytes(b"*.pyc\n")
    before = {path.name: path.read_bytes() for path in ship.iterdir()}
    git(ship, "init", "-q")
    first = alone("init", "--name", "Nostromo").out
    assert "minutebook init --git-files adds:" in first
    assert "minutebook init --agents-file AGENTS.md adds:" in first
    assert {name: (ship / name).read_bytes() for name in before} == before
    alone.ok("init", "--git-files", "--agents-file", "AGENTS.md", "--agents-file", "CLAUDE.md")
    text = (ship / "AGENTS.md").read_text()
    assert text.startswith("# House rules\n\nBe kind.\n\n<!-- minutebook:begin -->\n")
    assert ".agentweaver/context/boundaries.md" in text
    assert "minutebook context" in text
    assert (ship / "CLAUDE.md").exists()
    # A block that somebody changed is brought back by the next init; what stands around it stays.
    (ship / "AGENTS.md").write_text(text.replace("bind everyone", "bind no one") + "\nAfter.\n")
    alone.ok("init")
    assert (ship / "AGENTS.md").read_text() == text + "\nAfter.\n"
    (ship / "AGENTS.md").write_text(text)
    alone.ok("init", "--remove-blocks")
    assert {name: (ship / name).read_bytes() for name in before} == before
    assert not (ship / "CLAUDE.md").exists()
    assert not (ship / ".gitattributes").exists()


def test_a_workspace_can_do_without_generated_files(alone: Program, ship: Path) -> None:
    git(ship, "init", "-q")
    bound = alone.ok("init", "--name", "Nostromo", "--no-mirror")
    assert bound["beside"] == []
    alone.ok("decisions", "write", "scope", "Range", "Stay in orbit.")
    alone.ok("files", "sync")
    assert not (ship / ".squad").exists()
    (place,) = alone.ok("files", "status")["workspaces"]
    assert place["state"] == "off"
