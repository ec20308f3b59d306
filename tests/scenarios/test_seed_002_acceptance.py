"""Seed 002 (Shared Agent Memory RFC), section "Acceptance Scenarios": those that are kept so far."""

from __future__ import annotations

from pathlib import Path

from minutebook.operations import inbox, memories, search, system
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import empty, live_in
from tests.scenarios.program import Program, finished
from tests.scenarios.rows import all_rows, changed

#: What must be the same after a move: identity, time, standing, relations, history.
KEPT = {
    "memories": "id, status, revision, slug, author, created_at, updated_at, superseded_by, proposal_id",
    "proposals": "id, status, slug, requested_slug, agent, reviewer, created_at, decided_at, memory_id",
    "memory_links": "from_id, relation, to_id, created_by, created_at",
    "revisions": "memory_id, revision, verdict_id, state",
    "verdicts": "id, op, actor, reason, trace, effects, reverts, reverted_by, at",
    "events": "seq, kind, subject, actor, at",
    "sessions": "id, session, focus, started_at, ended_at",
    "sources": "id, kind, title, content, digest, created_at",
    "ingestion_events": "id, trigger_type, source_id, state, retry_count, created_at",
    "tombstones": "id, cause, ref, reason, at, lifted_at",
    "tags": "ref, tag",
}

#: Processes that write at once, and how often each does.
WRITERS = 4
WRITES = 2


def test_two_facts_that_contradict_each_other_stand_side_by_side(house: House) -> None:
    """Seed 002, acceptance scenario 6: both claims are kept, each with its status and what it rests on.

    The later one replaces nothing. It waits for a reviewer, who is shown what it contradicts; accepted, both
    are active, linked, listed as contradicted, and found together.
    """
    first = house.ripley(
        memories.write, type="project", slug="port", title="Port", content="The beacon listens on port 8080.",
        entity="beacon", attribute="port", evidence=["file:beacon.toml#3-4"],
    )  # fmt: skip
    second = house.bishop(
        inbox.submit, type="project", slug="port-seen", title="Port",
        content="The beacon listens on port 9090.", entity="Beacon", attribute="Port",
        evidence=["url:https://example.org/beacon", "commit:0a1b2c3d"],
    )  # fmt: skip
    assert first.memory is not None
    waiting = house.dallas(inbox.show, ref=second.slug).proposal
    assert (waiting.status, waiting.would.contradicts, waiting.risk) == ("pending", (first.memory,), "high")

    accepted = house.dallas(inbox.promote, ref=second.slug, reason="both were measured")
    one, two = (house.ripley(memories.show, ref=id) for id in (first.memory, accepted.memory))
    assert (one.memory.status, two.memory.status) == ("active", "active")
    assert (one.standing, two.standing) == ("contradicted", "contradicted")
    assert one.memory.content == "The beacon listens on port 8080."
    assert [(link.from_id, link.relation, link.to_id) for link in one.links] == [
        (accepted.memory, "contradicts", first.memory)
    ]
    assert [evidence.ref for evidence in one.memory.evidence] == ["beacon.toml"]
    assert [evidence.kind for evidence in two.memory.evidence] == ["url", "commit"]

    both = {first.memory, accepted.memory}
    assert {line.id for line in house.ripley(memories.list_, status="contradicted").items} == both
    assert {line.id for line in house.ripley(memories.list_).items} == both
    assert {hit.id for hit in house.ripley(search.search, query="beacon port").hits} == both
    house.restart()
    assert house.jones(memories.show, ref=first.memory).standing == "contradicted"

    house.ripley(memories.retire, ref=first.memory, reason="measured again")
    assert house.jones(memories.show, ref=accepted.memory).standing == "active"


def test_what_goes_out_by_an_archive_comes_in_the_same(house: House, tmp_path: Path, clock: Clock) -> None:
    """Seed 002, acceptance scenario 8: a ledger moves to another machine by an archive, and stays the same.

    Ids, times, links, statuses and the history of ingestion are the same in the ledger that it came to,
    whatever database that has; exported again it gives the same bytes, and a second import changes nothing.
    """
    live_in(house)
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    house.mother(system.export, file=first)
    there = empty(f"sqlite://{tmp_path}/there/ledger.db", tmp_path / "there", clock)
    try:
        came = there.mother(system.import_, file=first)
        assert came.conflicts == came.asides == ()
        for table, columns in KEPT.items():
            query = f"SELECT {columns} FROM {table} ORDER BY {columns}"
            rows = house.rows(query)
            assert rows, f"nothing to compare in {table}"
            assert there.rows(query) == rows, table
        there.mother(system.export, file=second)
        assert second.read_bytes() == first.read_bytes()
        before = all_rows(there)
        assert there.mother(system.import_, file=first).rows == {}
        assert changed(before, all_rows(there)) <= {"maintenance"}
    finally:
        there.close()


def test_several_agents_use_one_ledger_at_once_through_the_program(tmp_path: Path, ledger_url: str) -> None:
    """Seed 002, acceptance scenario 9: many local agents share one memory, and none is locked out or lost.

    Each agent is several processes of the installed program. All want one slug, all write memory, others
    read meanwhile; every acknowledged write is there afterwards, once, under its author's name.
    """
    program = Program(tmp_path / "home", tmp_path, ledger_url, {"MINUTEBOOK_LOCK_WAIT": "100"})
    program.ok("init")
    started = []
    for writer in range(WRITERS):
        agent = f"Agent {writer}"
        for number in range(WRITES):
            started.append(
                program.start(
                    "memories",
                    "write",
                    "learning",
                    f"Deck {writer} has {number} leaks, says {agent}.",
                    "--slug",
                    f"leaks-{number}",
                    "-o",
                    "json",
                    MINUTEBOOK_AGENT=agent,
                )
            )
        started.append(
            program.start(
                "inbox",
                "submit",
                "technical",
                "Leaks",
                f"{agent} would weld deck {writer}.",
                "--slug",
                "leaks",
                "-o",
                "json",
                MINUTEBOOK_AGENT=agent,
            )
        )
        started.append(program.start("memories", "list", "-o", "json"))
    done = [finished(process) for process in started]
    assert [(one.code, one.err) for one in done] == [(0, "")] * len(done)

    answers = [one.json() for one in done]
    written = {answer["memory"] for answer in answers if answer.get("op") == "add"}
    sent = {answer["slug"] for answer in answers if "requested_slug" in answer}
    assert (len(written), len(sent)) == (WRITERS * WRITES, WRITERS)

    kept = program.ok("memories", "list", "--type", "learning", "--limit", "1000")["items"]
    assert {item["id"] for item in kept} == written
    assert sorted((item["author"], item["slug"]) for item in kept) == sorted(
        (f"agent {writer}", f"leaks-{number}") for writer in range(WRITERS) for number in range(WRITES)
    )
    waiting = program.ok("inbox", "list", "--limit", "1000")["items"]
    assert {item["slug"] for item in waiting} == sent
    assert sorted(item["agent"] for item in waiting) == [f"agent {writer}" for writer in range(WRITERS)]
    log = program.ok("events", "list", "--limit", "1000")["items"]
    assert len({event["seq"] for event in log}) == len(log)
    assert sum(event["kind"] in ("memory.added", "proposal.submitted") for event in log) == WRITERS * (
        WRITES + 1
    )
