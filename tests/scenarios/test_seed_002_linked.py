"""Seed 002 (Shared Agent Memory RFC), acceptance scenario 2 and "Default Search Scope": memory across projects."""

from __future__ import annotations

import json
from pathlib import Path

from tests.scenarios.program import Program

TASK = "write the deployment script"
DECISION = "A deployment script can be run twice without harm."


def test_a_decision_of_one_project_appears_in_another_only_when_it_is_linked(
    tmp_path: Path, database_url: str
) -> None:
    """A decision of project One is unknown in Two, however much a task is about it. Linked, it is told there, with
    the name of its project, as something that informs; and only where the task is about it. The link taken away,
    it is gone; and what was told in between can still be shown.
    """
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = Program(tmp_path / "home", tmp_path / "one", database_url)
    two = Program(tmp_path / "home", tmp_path / "two", database_url)
    one.ok("init", "--name", "One")
    two.ok("init", "--name", "Two")
    one.ok("decisions", "write", "architectural", "Idempotent deployment", DECISION, "--slug", "idempotent")
    two.ok("memories", "write", "project", "The ship is deployed by hand.", "--slug", "by-hand")
    context = ("context", "--agent", "ripley", "--task", TASK)
    assert DECISION not in two(*context).out
    assert two("memories", "show", "one/idempotent").code != 0

    two.ok("memories", "link", "by-hand", "related_to", "one/idempotent")
    told = two(*context)
    assert f"from one\n| Idempotent deployment\n| {DECISION}" in told.out
    assert "## Boundaries and Decisions" not in told.out
    assert DECISION not in two("context", "--agent", "ripley", "--task", "draw a logo").out
    item = next(
        each for each in json.loads(two(*context, "-o", "json").out)["items"] if each["slug"] == "idempotent"
    )
    assert (item["project"], item["layer"], item["type"]) == ("one", "relevant", "architectural")
    assert DECISION in two("memories", "show", "one/idempotent").out
    assert "The ship" not in one(*context).out
    at = str(json.loads(two("events", "list", "--limit", "1", "-o", "json").out)["items"][0]["seq"])

    two.ok("memories", "unlink", "by-hand", "related_to", "one/idempotent")
    assert DECISION not in two(*context).out
    assert two(*context, "--as-of", at).out == told.out
    assert two("memories", "show", "one/idempotent").code != 0
