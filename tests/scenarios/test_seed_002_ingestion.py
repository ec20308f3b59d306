"""Seed 002 (Shared Agent Memory RFC): what triggers ingestion, its timing, ownership and failure rules, scenarios 4
and 5; and what seed 004 says of its extractor. Through the installed program, with its service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger.database import open_database
from minutebook.model.captures import Trigger
from minutebook.wiring import SCHEMA, utc_now
from tests.surfaces.services import Served, until

TALK = """Ana: Which database do we take?
Sebas: We decided to use PostgreSQL instead of MySQL for the billing service.
Sebas: I prefer short commit messages in the imperative mood.
Ana: Turns out the flaky test was caused by the fixture sharing one temp directory.
"""
TRANSCRIPT = "\n".join(
    json.dumps({"type": role, "message": {"role": role, "content": words}})
    for role, words in (
        ("user", "Never call the production API from tests."),
        ("user", [{"type": "tool_result", "content": "We decided to use Kafka instead of RabbitMQ."}]),
        ("assistant", "Lesson learned: the vendor's sandbox resets every night, so tests recreate its data."),
    )
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("ingestion")
    program = Served(root / "h", root, MINUTEBOOK_PORT="0")
    program.ok("projects", "create", "Nostromo")
    program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
    program.ok("actors", "add", "Ripley")
    try:
        yield program
    finally:
        program.end()


def read(served: Served, capture: str) -> dict[str, Any]:
    until(lambda: served.ok("captures", "show", capture)["state"] == "done", "it was read")
    return served.ok("captures", "show", capture)


def stages(shown: dict[str, Any]) -> dict[str, str]:
    return {stage["name"]: stage["state"] for stage in shown["stages"]}


def test_a_conversation_stays_raw_until_it_is_captured_then_waits_and_may_be_promoted(served: Served) -> None:
    """Acceptance scenario 4, and the state flow: capture, extract, consolidate, promote, index."""
    file = served.cwd / "call.txt"
    file.write_text(TALK)
    assert served.ok("inbox", "list")["items"] == []
    assert served.ok("sources", "list")["items"] == []  # a file that lies there is nobody's business
    refused = served("capture", "conversation", f"@{file}", "", "-o", "json").error()
    assert refused["code"] == "blank_field"  # permission is not inferred
    receipt = served.ok("capture", "conversation", f"@{file}", "Ana and Sebas agreed", "--mode", "notes")
    shown = read(served, receipt["capture"])
    assert stages(shown) == {
        "captured": "done", "extracted": "done", "consolidated": "done", "promoted": "waiting", "indexed": "nothing",
    }  # fmt: skip
    assert (shown["trigger"], shown["outcome"]["proposed"]) == ("conversation_capture", 3)
    assert served.ok("memories", "list")["items"] == []  # candidates, not truth
    line = next(line for line in served.ok("inbox", "list")["items"] if line["type"] == "technical")
    served.ok("inbox", "promote", line["slug"], "--reason", "yes, we did")
    decision = served.ok("decisions", "show", line["slug"])["memory"]
    # Every promoted memory keeps its source and what it rests on.
    assert decision["source"] == receipt["source"]
    assert decision["evidence"][0]["ref"] == receipt["source"]
    lines = served.ok("sources", "show", receipt["source"], "--first", "2", "--last", "2")
    assert lines["text"] == TALK.split("\n")[1]
    assert decision["slug"] in json.dumps(served.ok("search", "postgresql billing"))


def test_closing_a_run_answers_at_once_and_is_read_behind_the_agents_back(served: Served) -> None:
    """Acceptance scenario 5 and the timing rules: session-close extraction never holds up the agent."""
    agent = {"MINUTEBOOK_AGENT": "Ripley"}
    run = served.ok("runs", "start", "--task", "look at the tests", **agent)["run"]["id"]
    file = served.cwd / "session.jsonl"
    file.write_text(TRANSCRIPT)
    report = served.ok("runs", "finish", run, "--transcript", f"@{file}", **agent)
    assert (report["outcome"], report["capture"] is not None) == ("completed", True)
    shown = read(served, report["capture"])
    assert shown["trigger"] == "session_close"
    # What a program printed is nobody's word; the rest waits, under the agent's name.
    assert sorted(piece["type"] for piece in shown["pieces"]) == ["learning", "process"]
    assert {line["agent"] for line in served.ok("inbox", "list")["items"] if line["id"] in {p["proposal"] for p in shown["pieces"]}} == {"ripley"}  # fmt: skip
    # Seed 004: the event of a completion carries counts, and no content.
    done = served.ok("events", "list", "--kind", "capture.extracted", "--limit", "1")["items"][0]
    assert (done["detail"]["found"], done["detail"]["proposed"]) == (2, 2)
    assert "sandbox" not in json.dumps(done)


def test_two_facts_that_contradict_each_other_stand_together_each_with_its_evidence(served: Served) -> None:
    """Acceptance scenario 6: nothing replaces silently what was known, and both say where they are from."""
    slugs: list[str] = []
    for words in ("The retention period is 30 days, not 90.", "The retention period is 60 days, not 90."):
        receipt = served.ok("capture", "conversation", f"Ana: hello there\nSebas: {words}\nAna: ok", "agreed")
        [piece] = read(served, receipt["capture"])["pieces"]
        slugs.append(piece["slug"])
        line = next(one for one in served.ok("inbox", "list")["items"] if one["slug"] == piece["slug"])
        assert line["evidence"] == f"source:{receipt['source']}#2-2"
        assert line["confidence"] == piece["confidence"]
        assert len(line["contradicts"]) == len(slugs) - 1  # told before it is accepted
        served.ok("inbox", "promote", piece["slug"])
    shown = [served.ok("memories", "show", slug) for slug in slugs]
    assert [one["memory"]["status"] for one in shown] == ["active", "active"]
    assert [one["standing"] for one in shown] == ["contradicted", "contradicted"]
    assert all(one["memory"]["evidence"] for one in shown)


def test_only_four_moments_bring_material_in(served: Served) -> None:
    """What triggers ingestion, and what does not: every arrival names one of the four."""
    assert {trigger.value for trigger in Trigger} == {
        "manual_write", "session_close", "conversation_capture", "scheduled_maintenance",
    }  # fmt: skip
    note = served.ok("capture", "note", "Lesson learned: restart the proxy after each of the upgrades.")
    again = served.ok("captures", "extract", note["capture"])
    seen = {line["id"]: line["trigger"] for line in served.ok("captures", "list", "--limit", "100")["items"]}
    assert (seen[note["capture"]], seen[again["capture"]]) == ("manual_write", "scheduled_maintenance")
    assert set(seen.values()) <= {trigger.value for trigger in Trigger}


def test_a_manual_write_is_durable_at_once_and_needs_no_engine(served: Served) -> None:
    """Timing rules: manual writes of profile and project facts are synchronous."""
    wrote = served.ok("memories", "write", "profile", "Sebas works in the mornings, in Lisbon.")
    assert wrote["op"] == "add"
    assert "Lisbon" in json.dumps(served.ok("search", "Lisbon"))


def test_what_agents_say_is_at_most_a_candidate(served: Served) -> None:
    """Ownership rules: profile facts need a person's word, decisions keep their source before they are active."""
    agent = {"MINUTEBOOK_AGENT": "Ripley"}
    receipt = served.ok("capture", "note", "I prefer tabs over spaces in every file.", **agent)
    shown = read(served, receipt["capture"])
    assert [(piece["type"], piece["status"]) for piece in shown["pieces"]] == [("profile", "pending")]
    slug = shown["pieces"][0]["slug"]
    assert served("inbox", "promote", slug, "-o", "json", **agent).error()["code"] == "not_allowed"
    proposal = served.ok("inbox", "show", slug)["proposal"]
    assert (proposal["origin"], proposal["source"]) == ("extraction", receipt["source"])
    episode = served.ok("memories", "write", "episode", "Looked at the tests for an hour.", **agent)
    assert episode["op"] == "add"  # agents may store episodes by themselves


def test_what_failed_can_be_retried_and_its_source_is_whole(tmp_path: Path) -> None:
    """Failure rules: with nobody to do the work, the job waits; the source stands; one command has it done."""
    program = Served(tmp_path / "h", tmp_path, MINUTEBOOK_PORT="0", MINUTEBOOK_JOB_WORKERS="0")
    try:
        program.ok("projects", "create", "Nostromo")
        program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
        receipt = program.ok("capture", "conversation", TALK, "both agreed")
        waiting = program.ok("captures", "show", receipt["capture"])
        assert (waiting["state"], stages(waiting)["extracted"]) == ("queued", "waiting")
        assert program.ok("jobs", "show", receipt["job"])["state"] == "todo"
        assert program.ok("sources", "show", receipt["source"])["text"] == TALK
        assert program.ok("health")["jobs"]["todo"] == 1
        program.ok("stop")
        program.environment["MINUTEBOOK_JOB_WORKERS"] = "1"
        assert read(program, receipt["capture"])["outcome"]["proposed"] == 3
        assert program.ok("jobs", "retry")["jobs"] == []  # nothing had given up
    finally:
        program.end()


def test_a_dead_model_and_a_poison_job_cost_nothing_but_their_own_work(tmp_path: Path) -> None:
    """Failure rules: what failed is told, stays retryable, and holds up nobody."""
    nowhere = {"MINUTEBOOK_MODEL_URL": "http://127.0.0.1:1/v1", "MINUTEBOOK_MODEL_NAME": "reader"}
    program = Served(tmp_path / "h", tmp_path, MINUTEBOOK_PORT="0", MINUTEBOOK_JOB_WORKERS="0", **nowhere)
    try:
        program.ok("projects", "create", "Nostromo")
        program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
        poisoned = program.ok(
            "capture", "note", "Turns out the third airlock opens only after the second one."
        )
        program.ok("stop")
        _poison(program, poisoned["job"])
        program.environment["MINUTEBOOK_JOB_WORKERS"] = "1"
        receipt = program.ok("capture", "conversation", TALK, "both agreed")
        assert read(program, receipt["capture"])["outcome"]["proposed"] == 3
        until(lambda: program.ok("jobs", "list", "--state", "dead")["items"], "it was given up")
        [dead] = program.ok("jobs", "list", "--state", "dead")["items"]
        assert (dead["id"], dead["fault"], dead["attempts"]) == (poisoned["job"], "KeyError", 8)
        assert program.ok("sources", "show", poisoned["source"])["text"].startswith("Turns out")
        assert program.ok("health")["jobs"]["dead"] == 1
        until(lambda: any(one["fault"] for one in asking(program)), "the model was asked")
        asked = asking(program)
        assert {one["state"] for one in asked} <= {"todo", "doing"}  # tried again, later and later
        assert all("does not answer" in one["fault"] for one in asked)
        _poison(program, poisoned["job"], cured=poisoned["capture"])
        assert program.ok("jobs", "retry", "--kind", "extract")["jobs"] == [poisoned["job"]]
        assert read(program, poisoned["capture"])["outcome"]["proposed"] == 1
    finally:
        program.end()


def asking(program: Served) -> list[dict[str, Any]]:
    return program.ok("jobs", "list", "--kind", "extract_model")["items"]


def _poison(program: Served, job: str, cured: str | None = None) -> None:
    """Take away what a job is about, and all but its last attempt; or give it back. Nobody else has the ledger."""
    program.ok("stop")
    payload = {} if cured is None else {"capture": cured}
    with open_database(
        f"sqlite://{program.home}/ledger.db", schema=SCHEMA, wait=20, clock=utc_now
    ) as database:
        database.write(
            "global",
            lambda tx: tx.run(
                "UPDATE jobs SET payload = :payload, attempts = 7 WHERE id = :id AND kind = 'extract'",
                payload=json.dumps(payload),
                id=job,
            ),
        )
