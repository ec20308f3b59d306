"""Seed 004's dreaming, as it is here: gates that tell the truth, one look at a time, a batch to be taken or left, and
nothing that stands is changed by it. Through the installed program, with its service."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.services import Served, serving_processes, until

PORT = "The beacon of the lower deck listens on port {} when the ship is docked."
AGENT = {"MINUTEBOOK_AGENT": "Ripley"}
#: The gates are looked at every second, and what they need is little.
GATES = {
    "MINUTEBOOK_CONSOLIDATION_AT": "* * * * * *",
    "MINUTEBOOK_CONSOLIDATION_HOURS": "24",
    "MINUTEBOOK_CONSOLIDATION_RUNS": "2",
    "MINUTEBOOK_CONSOLIDATION_SIGNALS": "3",
}


def begun(root: Path, **environment: str) -> Served:
    program = Served(root / "h", root, MINUTEBOOK_PORT="0", **environment)
    program.ok("projects", "create", "Nostromo")
    program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
    program.ok("actors", "add", "Ripley")
    return program


def write(served: Served, slug: str, content: str, type: str = "project") -> Any:
    return served.ok("memories", "write", type, content, "--slug", slug, "--title", slug)


def memories(served: Served) -> Any:
    return served.ok("memories", "list", "--status", "all")["items"]


@pytest.fixture(scope="module")
def dreaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    program = begun(tmp_path_factory.mktemp("dreaming"), **GATES)
    try:
        yield program
    finally:
        program.end()


@pytest.fixture
def awake(tmp_path: Path) -> Iterator[Served]:
    """A program whose service consolidates nothing by itself."""
    program = begun(tmp_path, MINUTEBOOK_CONSOLIDATION_AT="-")
    try:
        yield program
    finally:
        program.end()


def test_it_waits_for_every_gate_and_says_which_and_begins_by_itself_when_all_are_open(
    dreaming: Served,
) -> None:
    """Gates in order, a status that tells the truth, runs that are listed; success shuts the gate of time."""
    for number, port in enumerate((8080, 9090)):
        write(dreaming, f"port-{number}", PORT.format(port))
    write(dreaming, "freeze", "The release branch of the shop is frozen until 2020-06-30.")
    status = dreaming.ok("consolidation", "status")
    assert {gate["name"]: gate["open"] for gate in status["gates"]} == {
        "hours": True, "runs": False, "signals": True, "lock": True,
    }  # fmt: skip
    assert (status["enabled"], status["last"]) == (True, None)
    assert "0 runs ended ever; it takes 2" in status["sentence"]
    assert status["next_look"] is not None
    assert dreaming.ok("consolidation", "list")["items"] == []
    before, context = memories(dreaming), dreaming.ok("context", "--task", "port of the beacon", **AGENT)
    verdicts = dreaming.ok("verdicts", "list")["items"]
    for _ in range(2):
        run = dreaming.ok("runs", "start", "--task", "look", **AGENT)["run"]["id"]
        dreaming.ok("runs", "finish", run, **AGENT)
    until(lambda: dreaming.ok("consolidation", "list")["items"] != [], "the gates were looked at")
    until(lambda: dreaming.ok("consolidation", "status")["last"] is not None, "it came to its end")
    [done] = dreaming.ok("consolidation", "list")["items"]
    assert (done["state"], done["cause"], done["started_by"]) == ("done", "gates", "consolidation")
    assert done["counts"] == {"contradiction": 1, "outdated": 1}
    # Nothing that stands was changed by it, and no prompt or search holds what it made.
    assert memories(dreaming) == before
    assert {each["id"] for each in dreaming.ok("verdicts", "list")["items"]} == {
        each["id"] for each in verdicts
    }
    assert dreaming.ok("context", "--task", "port of the beacon", **AGENT)["text"] == context["text"]
    found = dreaming.ok("search", "consolidation contradiction outdated suggestion")
    assert all(hit["kind"] == "memory" for hit in found["hits"])
    status = dreaming.ok("consolidation", "status")
    assert {gate["name"]: gate["open"] for gate in status["gates"]}["hours"] is False
    assert status["sentence"].startswith("It waits: ")
    assert status["waiting"] == 2


def test_each_suggestion_is_a_diff_that_is_taken_or_left_and_what_was_taken_can_be_reverted(
    dreaming: Served,
) -> None:
    batch = dreaming.ok("consolidation", "show")
    by_kind = {each["kind"]: each for each in batch["suggestions"]}
    assert "-The beacon of the lower deck listens on port 8080" in by_kind["contradiction"]["diff"]
    refused = dreaming("consolidation", "take", by_kind["outdated"]["id"], "-o", "json", **AGENT).error()
    assert refused["code"] == "not_allowed"
    taken = dreaming.ok("consolidation", "take", by_kind["outdated"]["id"])
    assert {line["slug"]: line["status"] for line in memories(dreaming)}["freeze"] == "archived"
    dreaming.ok("verdicts", "revert", taken["verdict"], "--reason", "it holds on")
    assert {line["slug"]: line["status"] for line in memories(dreaming)}["freeze"] == "active"
    kept = dreaming.ok("consolidation", "take", by_kind["contradiction"]["id"], "--keep", "port-0")
    shown = dreaming.ok("verdicts", "show", kept["verdict"])
    assert "supersede" in json.dumps(shown)
    assert dreaming.ok("memories", "show", "port-1")["memory"]["status"] == "superseded"
    # Whoever asks needs no gate; a second look on the same day leaves the first one as it was.
    again = dreaming.ok("consolidation", "run")
    assert [run["id"] for run in dreaming.ok("consolidation", "list")["items"]] == [
        again["run"]["id"],
        batch["run"]["id"],
    ]
    assert again["run"]["cause"] == "asked"


def test_the_terminal_reads_well(dreaming: Served) -> None:
    write(
        dreaming,
        "proxy-one",
        "The staging proxy of the shop drops every upload that is larger than the limit.",
    )
    write(dreaming, "proxy-two", "The staging proxy of the shop drops every upload that is larger than the limit. Always.")  # fmt: skip
    said = dreaming("consolidation", "run").out
    assert "say nearly the same" in said
    assert "    -status: active" in said
    assert "take one with: minutebook consolidation take ID" in said
    assert "{" not in dreaming("consolidation", "list").out
    assert "open" in dreaming("consolidation", "status").out
    assert "suggestions of a consolidation wait" in dreaming("inbox", "digest").out.replace("\n", " ") or (
        "suggestion of a consolidation waits" in dreaming("inbox", "digest").out.replace("\n", " ")
    )


def test_what_an_audit_says_can_be_done_is_a_command_that_is_understood(dreaming: Served) -> None:
    hints = {check["hint"].split(",")[0] for check in dreaming.ok("audit")["checks"]}
    assert len(hints) >= 8
    for hint in hints:
        words = hint.replace("SLUG", "nothing-of-that-name").replace("PATH#LINES", "README.md#1").split()
        assert words[0] == "minutebook"
        said = dreaming(*words[1:], "-o", "json")
        assert said.code in (0, 3), f"{hint}: {said}"  # 3: there is nothing of that name


def test_where_it_is_turned_off_everything_says_so_and_whoever_asks_is_served(awake: Served) -> None:
    status = awake.ok("consolidation", "status")
    assert (status["enabled"], status["next_look"]) == (False, None)
    assert status["sentence"] == "It does not begin on its own: MINUTEBOOK_CONSOLIDATION_AT turns it off."
    assert awake.ok("jobs", "list", "--kind", "consolidation_gates")["items"] == []
    for number, port in enumerate((8080, 9090)):
        write(awake, f"port-{number}", PORT.format(port))
    assert [each["kind"] for each in awake.ok("consolidation", "run")["suggestions"]] == ["contradiction"]
    alone = awake.ok("consolidation", "status", MINUTEBOOK_CONSOLIDATION_AT="* * * * *")
    assert alone["enabled"] is False, "what the service was started with counts"


def test_a_look_that_fails_says_why_holds_no_lock_and_can_be_had_again(awake: Served) -> None:
    write(awake, "note", "Something that stands.")
    awake.end()
    awake.environment["MINUTEBOOK_PROMOTION_RULES"] = "boundaries: always"
    failed = awake("consolidation", "run", "-o", "json").error()
    assert failed["code"] == "bad_setting"
    [run] = awake.ok("consolidation", "list")["items"]
    assert (run["state"], "promotion rule" in run["fault"]) == ("failed", True)
    assert all(
        gate["open"] for gate in awake.ok("consolidation", "status")["gates"] if gate["name"] == "lock"
    )
    awake.end()
    del awake.environment["MINUTEBOOK_PROMOTION_RULES"]
    assert awake.ok("consolidation", "retry", run["id"])["run"]["state"] == "done"


def test_what_a_document_says_becomes_no_boundary_by_itself_however_often_it_is_looked_at(
    awake: Served,
) -> None:
    """Minimum trust over lineage: of what was found in a document a person makes a boundary, or nobody does."""
    said = "We decided that every service of the shop is written in Rust and in no other language."
    kept = awake.ok("capture", "document", said)
    for receipt in (kept, awake.ok("captures", "extract", kept["source"])):
        until(
            lambda receipt=receipt: awake.ok("captures", "show", receipt["capture"])["state"] == "done",
            "it was read",
        )
        awake.ok("consolidation", "run")
    assert awake.ok("decisions", "list")["items"] == []
    assert [each["kind"] for each in awake.ok("consolidation", "show")["suggestions"]] == []
    [waits] = awake.ok("inbox", "list")["items"]
    agent = awake("inbox", "promote", waits["slug"], "-o", "json", **AGENT).error()
    assert agent["code"] == "not_allowed"
    awake.ok("inbox", "promote", waits["slug"], "--reason", "I was there")
    decision = awake.ok("decisions", "show", waits["slug"])["memory"]
    assert (decision["decided_role"], decision["origin"]) == ("operator", "extraction")


def test_a_service_that_is_killed_leaves_no_lock_behind(awake: Served) -> None:
    for number, port in enumerate((8080, 9090)):
        write(awake, f"port-{number}", PORT.format(port))
    asking = awake.start("consolidation", "run", "-o", "json")
    for pid in serving_processes(awake.home):
        os.kill(pid, signal.SIGKILL)
    asking.communicate(timeout=90)
    assert len(awake.ok("consolidation", "run")["suggestions"]) == 1
    states = {run["state"] for run in awake.ok("consolidation", "list")["items"]}
    assert states <= {"done", "abandoned"}
