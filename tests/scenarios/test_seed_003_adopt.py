"""Seed 003: a stranger with a team's folder runs one command, reads what it says, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.files.adoptable import adrs, squad, write
from tests.scenarios.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    repository = adrs(squad(tmp_path / "repository"))
    write(repository, {"CLAUDE.md": "# Rules\n\nAlways write a test first.\n"})
    program = Program(tmp_path / "home", repository)
    assert program("init", "--name", "Nostromo").code == 0
    return program


def test_the_preview_says_what_was_found_and_how_to_go_on(program: Program) -> None:
    shown = " ".join(program("adopt", COLUMNS="120").out.split())
    for words in (
        "Nothing was written",
        "squad: decision ledger",
        "decision records",
        "instructions to agents",
    ):
        assert words in shown
    assert "minutebook adopt --confirm --activate" in shown
    assert program("adoptions", "list", "-o", "json").json()["items"] == []
    # The folder can be named, and is then part of every command that is advised.
    folder = program.cwd / "docs" / "adr"
    named = program("adopt", "docs/adr", "--form", "adr", "-o", "json").json()
    assert f"minutebook adopt {folder} --form adr --confirm" in named["next_steps"]
    assert {line["form"] for line in named["files"]} == {"adr"}


def test_what_was_adopted_is_there_and_stays_what_it_was(program: Program) -> None:
    before = {path: path.read_bytes() for path in program.cwd.rglob("*") if path.is_file()}
    done = program("adopt", "--confirm", "--activate", "-o", "json").json()
    assert done["becomes"]["active"] > 8
    found = program("decisions", "show", "use-postgresql-for-the-ledger", "-o", "json").json()["memory"]
    assert (found["tags"], found["observed_at"][:10]) == (["by:ripley"], "2026-02-14")
    again = program("adopt", "--confirm", "--activate").out
    assert again.startswith("Nothing new")
    settled = program("adoptions", "accept", done["id"], "--confirm", "-o", "json").json()
    assert settled["settled"] == done["becomes"]["proposed"]
    checked = program("memories", "verify", "-o", "json", "--limit", "1000").json()["items"]
    assert {one["state"] for one in checked if one["evidence"].startswith("file:")} == {"fresh"}
    assert {path: path.read_bytes() for path in before} == before


def test_an_agent_reads_no_files_by_our_hand(program: Program, tmp_path: Path) -> None:
    elsewhere = squad(tmp_path / "elsewhere")
    told = program("adopt", str(elsewhere), "-o", "json", MINUTEBOOK_AGENT="ripley")
    assert told.error()["code"] == "not_allowed"
    told = program("adopt", "--confirm", "--activate", "-o", "json", MINUTEBOOK_AGENT="ripley")
    assert told.error()["code"] == "not_allowed"
    done = program("adopt", "--confirm", "-o", "json", MINUTEBOOK_AGENT="ripley").json()
    assert "active" not in json.dumps(done["becomes"])
    denied = program("adoptions", "accept", done["id"], "--confirm", "-o", "json", MINUTEBOOK_AGENT="ripley")
    assert denied.error()["code"] == "not_allowed"
