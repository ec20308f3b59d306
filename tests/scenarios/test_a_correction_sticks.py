"""A fact that was taken back stays away, whatever brings its words again. Through the installed program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.surfaces.services import Served, until

TALK = """Ana: Which database do we take?
Sebas: We decided to use PostgreSQL instead of MySQL for the billing service.
Sebas: Never push directly to main, please.
Ana: Turns out the flaky test was caused by the fixture sharing one temp directory.
"""


def read(program: Served, capture: str) -> dict[str, Any]:
    until(lambda: program.ok("captures", "show", capture)["state"] in ("done", "known"), "it was read")
    return program.ok("captures", "show", capture)


def standing(program: Served) -> dict[str, int]:
    """What stands, by its slug, with its revision."""
    listed = program.ok("memories", "list", "--status", "active", "--limit", "100")["items"]
    return {
        line["slug"]: program.ok("memories", "show", line["slug"])["memory"]["revision"] for line in listed
    }


def refusals(program: Served) -> list[dict[str, Any]]:
    listed = program.ok("verdicts", "list", "--op", "refuse", "--limit", "100")["items"]
    return [line for line in listed if "tombstone" in line["rules"]]


def test_what_was_retired_stays_away_and_its_neighbours_are_untouched(tmp_path: Path) -> None:
    program = Served(tmp_path / "h", tmp_path, MINUTEBOOK_PORT="0")
    try:
        program.ok("projects", "create", "Nostromo")
        program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
        first = program.ok("capture", "conversation", TALK, "both agreed")
        for piece in read(program, first["capture"])["pieces"]:
            program.ok("inbox", "promote", piece["slug"])
        old = tmp_path / "old.zip"
        program.ok("export", str(old))
        everything = standing(program)
        assert len(everything) == 3
        fact = next(slug for slug in everything if "flaky" in slug)
        program.ok("memories", "retire", fact, "it was the clock after all")
        neighbours = {slug: revision for slug, revision in everything.items() if slug != fact}
        assert standing(program) == neighbours

        # Its source is fed again: the very same, read once more, and nearly the same.
        assert program.ok("capture", "conversation", TALK, "once more")["state"] == "known"
        again = program.ok("captures", "extract", first["capture"])
        assert read(program, again["capture"])["outcome"]["refused"] == 1
        more = program.ok("capture", "conversation", TALK + "Sebas: fine.\n", "once more")
        assert read(program, more["capture"])["outcome"]["refused"] == 1
        assert len(refusals(program)) == 2
        assert standing(program) == neighbours

        # Somebody writes it by hand, an agent proposes it.
        words = "Turns out the flaky test was caused by the fixture sharing one temp directory."
        program.ok("actors", "add", "Ripley")
        said = program("memories", "write", "learning", words, "-o", "json", MINUTEBOOK_AGENT="Ripley")
        assert said.error()["code"] == "tombstoned"

        program.ok("consolidation", "run")
        assert standing(program) == neighbours
        program.ok("restart")
        assert standing(program) == neighbours
        program.ok("reindex")
        assert standing(program) == neighbours
        program.ok("import", str(old), "--skip-conflicts")
        assert standing(program) == neighbours
        last = program.ok("captures", "extract", first["capture"])
        assert read(program, last["capture"])["outcome"]["refused"] == 1

        assert standing(program) == neighbours
        assert [line["status"] for line in program.ok("inbox", "list")["items"]] == []
        assert len(refusals(program)) == 4
        assert "flaky" not in str(program.ok("search", "flaky test fixture")["hits"])
    finally:
        program.end()
