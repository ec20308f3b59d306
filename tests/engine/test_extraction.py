"""From a capture to the inbox: once, whatever comes between, and never back by itself."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from minutebook.engine import extraction
from minutebook.engine.jobs import JobWorker, Times
from minutebook.engine.kinds import KINDS
from minutebook.model.captures import CaptureState
from minutebook.model.errors import MinutebookError
from minutebook.operations import (
    captures,
    decisions,
    inbox,
    jobs,
    memories,
    runs,
    search,
    sources,
    system,
    verdicts,
)
from tests.conftest import Clock
from tests.engine.extracting import work
from tests.houses import House
from tests.invariants import state_of, violations
from tests.operations.asking import code

KEY = "AKIAQ3EGRKQ2NZLHVJ5T"
TALK = """Ana: Which database do we take?
Sebas: We decided to use PostgreSQL instead of MySQL for the billing service.
Ana: Fine with me.
Sebas: Never push directly to main, please.
Sebas: I prefer short commit messages in the imperative mood.
Ana: Turns out the flaky test was caused by the fixture sharing one temp directory."""


def talk(house: House, text: str = TALK, **given: Any) -> str:
    return house.mother(captures.conversation, content=text, consent="both agreed", **given).capture


def pending(house: House) -> dict[str, str]:
    return {line.title: line.type for line in house.mother(inbox.list_, limit=1000).items}


def test_a_conversation_turns_up_in_the_inbox_with_its_lines_and_its_source(house: House) -> None:
    receipt = house.mother(captures.conversation, content=TALK, consent="both agreed", mode="notes")
    assert (receipt.state, receipt.bytes) == (CaptureState.QUEUED, len(TALK))
    assert pending(house) == {}  # raw until somebody has read it
    work(house)
    assert sorted(pending(house).values()) == ["learning", "process", "profile", "technical"]
    shown = house.mother(captures.show, ref=receipt.capture)
    assert shown.outcome == {"form": "chat", "turns": 6, "found": 4, "proposed": 4}
    assert [(piece.type, piece.span, piece.status) for piece in shown.pieces] == [
        ("technical", "2-2", "pending"),
        ("process", "4-4", "pending"),
        ("profile", "5-5", "pending"),
        ("learning", "6-6", "pending"),
    ]
    proposal = house.mother(inbox.show, ref=shown.pieces[0].slug).proposal
    assert (proposal.agent, proposal.origin, proposal.source) == ("extractor", "extraction", receipt.source)
    assert (proposal.entity, proposal.attribute) == ("mysql", "used instead")
    assert proposal.confidence == 0.85
    evidence = proposal.evidence[0]
    assert (evidence.kind, evidence.ref, evidence.span) == ("source", receipt.source, "2-2")
    lines = house.mother(sources.show, ref=evidence.ref, first=2, last=2)
    assert lines.text == TALK.split("\n")[1]
    assert violations(state_of(house.service.database)) == []


def test_nothing_of_it_governs_before_somebody_accepts_it_and_whoever_captured_it_may(house: House) -> None:
    talk(house)
    work(house)
    assert house.mother(memories.list_).items == ()
    slug = next(line.slug for line in house.mother(inbox.list_).items if line.type == "technical")
    house.mother(inbox.promote, ref=slug)
    memory = house.mother(decisions.show, ref=slug).memory
    assert (memory.author, memory.decided_by, memory.origin) == ("extractor", "mother", "extraction")
    assert memory.source is not None
    assert memory.evidence[0].kind == "source"


def test_the_way_of_a_piece_is_told_stage_by_stage(house: House) -> None:
    def stages(id: str) -> list[tuple[str, str]]:
        return [(stage.name, stage.state) for stage in house.mother(captures.show, ref=id).stages]

    id = talk(house)
    assert stages(id)[:2] == [("captured", "done"), ("extracted", "waiting")]
    work(house)
    assert dict(stages(id)) == {
        "captured": "done",
        "extracted": "done",
        "consolidated": "done",
        "promoted": "waiting",
        "indexed": "nothing",
    }
    for number, line in enumerate(house.mother(inbox.list_).items):
        if number:
            house.mother(inbox.promote, ref=line.slug)
        else:
            house.mother(inbox.reject, ref=line.slug, reason="no")
    assert dict(stages(id)) == {
        "captured": "done",
        "extracted": "done",
        "consolidated": "done",
        "promoted": "done",
        "indexed": "done",
    }


def test_the_same_words_are_kept_and_read_once(house: House) -> None:
    first = talk(house)
    work(house)
    again = house.dallas(captures.conversation, content=TALK, consent="both agreed")
    assert (again.state, again.job) == (CaptureState.KNOWN, None)
    work(house)
    assert len(pending(house)) == 4
    assert house.mother(captures.show, ref=again.capture).outcome == {"known": first}
    house.mother(captures.extract, ref=first)
    work(house)
    assert len(pending(house)) == 4
    newest = house.mother(captures.list_).items[0]
    assert house.mother(captures.show, ref=newest.id).outcome["known"] == 4


def test_a_run_that_ends_is_read_later_and_what_it_wrote_itself_is_not_proposed_again(house: House) -> None:
    run = house.ripley(runs.start, task="look at the tests").run.id
    mine = house.as_("Ripley", run=run)
    mine(
        memories.write,
        type="learning",
        content="The flaky test was caused by the fixture sharing one temp directory between workers.",
    )
    transcript = "\n".join(
        json.dumps({"type": role, "message": {"role": role, "content": words}})
        for role, words in (
            ("user", "Never call the production API from tests."),
            (
                "assistant",
                "Turns out the flaky test was caused by the fixture sharing one temp directory between workers.",
            ),
            (
                "assistant",
                "Lesson learned: the vendor's sandbox resets every night, so tests must recreate its data.",
            ),
        )
    )
    report = house.ripley(runs.finish, ref=run, transcript=transcript)
    assert report.capture is not None
    work(house)
    shown = house.ripley(captures.show, ref=report.capture)
    assert (shown.outcome["found"], shown.outcome["own"], shown.outcome["proposed"]) == (3, 1, 2)
    learned = next(line for line in house.mother(inbox.list_).items if line.type == "learning")
    proposal = house.mother(inbox.show, ref=learned.slug).proposal
    assert (proposal.agent, proposal.run, str(proposal.scope)) == ("ripley", run, "agent:ripley")
    assert code(house.ripley, inbox.promote, ref=learned.slug) == "not_allowed"


def test_what_an_agent_captures_stands_under_its_name_and_waits_for_somebody_else(house: House) -> None:
    house.ripley(captures.note, content="We decided to use Redis instead of Memcached for the sessions.")
    work(house)
    line = house.mother(inbox.list_).items[0]
    assert (line.agent, line.type, line.status) == ("ripley", "technical", "pending")
    assert code(house.bishop, captures.show, ref=house.ripley(captures.list_).items[0].id) == "not_found"
    assert house.bishop(captures.list_).items == ()


def test_words_that_were_asked_for_in_one_scope_live_there_if_they_can(house: House) -> None:
    house.ripley(captures.note, content=TALK, scope="agent")
    work(house)
    scopes = {
        line.type: str(house.mother(inbox.show, ref=line.slug).proposal.scope)
        for line in house.mother(inbox.list_).items
    }
    assert scopes == {
        "technical": "project",
        "process": "project",
        "profile": "agent:ripley",
        "learning": "agent:ripley",
    }


def test_likely_duplicates_and_contradictions_stand_beside_what_is_proposed(house: House) -> None:
    house.mother(
        decisions.write, type="technical", title="MySQL", content="We use SQLite instead of MySQL.",
        entity="MySQL", attribute="used instead",
    )  # fmt: skip
    house.mother(
        memories.write, type="process", title="main", content="Never push directly to main, please!!"
    )
    talk(house)
    work(house)
    view = house.mother(captures.show, ref=house.mother(captures.list_).items[0].id)
    against = {piece.type: (piece.contradicts, piece.similar) for piece in view.pieces}
    assert against["technical"] == (1, 0)
    assert view.outcome["known"] == 1  # the rule stands already


def test_a_secret_is_refused_and_nothing_of_it_is_kept(house: House) -> None:
    words = TALK + "\nSebas: the key is AKIAQ3EGRKQ2NZLHVJ5T and wJalrXUtnFEMIbK7MDENGbPxRfiCYzK4pLm9QsTd"
    assert code(house.mother, captures.conversation, content=words, consent="both") == "secret"
    assert house.rows("SELECT id FROM sources") == []
    assert house.rows("SELECT id FROM jobs") == []


def test_of_a_transcript_the_lines_with_a_secret_are_left_out_and_the_rest_is_read(house: House) -> None:
    """Nobody can be asked to clean it: some program printed a key."""
    lines = [
        json.dumps({"type": role, "message": {"role": role, "content": words}})
        for role, words in (
            ("user", "Never call the production API from tests."),
            ("user", [{"type": "tool_result", "content": f"AWS_ACCESS_KEY_ID={KEY}"}]),
            ("user", "Always squash before merging into the main branch."),
        )
    ]
    run = house.ripley(runs.start).run.id
    report = house.ripley(runs.finish, ref=run, transcript="\n".join(lines))
    assert report.transcript_note == "1 lines of it hold what looks like a credential; these were not kept."
    assert report.transcript is not None
    kept = house.ripley(sources.show, ref=report.transcript).text.split("\n")
    assert kept == [lines[0], "[withheld]", lines[2]]
    work(house)
    shown = house.ripley(captures.show, ref=report.capture)
    assert [(piece.type, piece.span) for piece in shown.pieces] == [("process", "1-1"), ("process", "3-3")]
    for row in house.rows("SELECT content FROM sources"):
        assert KEY not in row["content"]


def test_a_conversation_needs_consent(house: House) -> None:
    assert code(house.mother, captures.conversation, content=TALK, consent=" ") == "blank_field"
    assert code(house.mother, captures.conversation, content=TALK) == "invalid_input"


def test_sources_are_never_found_by_a_search(house: House) -> None:
    talk(house, "Ana: the zebra crossing\nSebas: indeed, the zebra")
    work(house)
    assert house.mother(search.search, query="zebra").hits == ()


# --- when something goes wrong ----------------------------------------------------------------------------------


def test_a_failure_is_told_retried_and_costs_no_source(
    house: House, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = talk(house)

    def broken(*_: Any, **__: Any) -> Any:
        raise MinutebookError("io_error", "the disk is slow today")

    with monkeypatch.context() as patch:
        patch.setattr(extraction, "extract", broken)
        work(house)
        shown = house.mother(captures.show, ref=id)
        assert (shown.state, shown.retries, shown.fault) == ("queued", 1, "the disk is slow today")
        for _ in range(3):
            clock.advance(minutes=10)
            work(house)
    shown = house.mother(captures.show, ref=id)
    assert (shown.state, shown.retries) == ("failed", 3)
    assert "minutebook jobs retry" in shown.stages[1].said
    dead = house.mother(jobs.list_, state="dead").items
    assert [line.id for line in dead] == [shown.job]
    assert house.mother(system.health).jobs.dead == 1
    assert house.mother(sources.show, ref=shown.source).text == TALK
    replayed = house.dallas(jobs.retry)
    assert replayed.jobs == (shown.job,)
    work(house)
    assert house.mother(captures.show, ref=id).state is CaptureState.DONE
    assert len(pending(house)) == 4


class Killed(BaseException):
    """As if the process ended here."""


@pytest.mark.parametrize("place", range(1, 8))
def test_a_worker_that_ends_anywhere_leaves_nothing_undone_and_nothing_doubled(
    house: House, clock: Clock, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Before each commit of the pipeline, which is after the one before it: the next worker goes on from there."""
    monkeypatch.setattr(extraction, "_AT_ONCE", 1)
    id = talk(house)
    database = house.service.database
    write = database.write
    left = [place]

    def dying(lane: str, work: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return write(lane, work)

    monkeypatch.setattr(database, "write", dying)
    worker = JobWorker("first", database, house.service.world, KINDS, times=Times())
    with pytest.raises(Killed):
        worker.step(threading.Event())
    monkeypatch.setattr(database, "write", write)
    clock.advance(minutes=2)
    work(house, "second")
    assert len(pending(house)) == 4
    assert house.mother(captures.show, ref=id).outcome["proposed"] == 4
    held = house.rows("SELECT count(*) AS n FROM verdicts WHERE op = 'hold'")
    assert held == [{"n": 4}]
    assert violations(state_of(database)) == []


def test_many_findings_are_dealt_with_in_parts_and_the_way_is_told(house: House) -> None:
    names = [f"service-{number}" for number in range(45)]
    words = "\n".join(
        f"- We decided to use PostgreSQL instead of MySQL for {name} and its {name} tests." for name in names
    )
    id = house.mother(captures.document, content=words).capture
    work(house)
    shown = house.mother(captures.show, ref=id)
    assert (shown.progress, shown.state) == ("45 of 45", "done")
    assert sum(shown.outcome.get(name, 0) for name in ("proposed", "known", "refused")) == 45


# --- a correction sticks --------------------------------------------------------------------------------------------


def test_what_was_retired_stays_away_whatever_brings_it_back(house: House, tmp_path: Path) -> None:
    id = talk(house)
    work(house)
    for line in house.mother(inbox.list_).items:
        house.mother(inbox.promote, ref=line.slug)
    old = str(tmp_path / "old.zip")
    house.mother(system.export, file=old)
    fact = next(line for line in house.mother(memories.list_).items if line.type == "learning")
    house.mother(memories.retire, ref=fact.slug, reason="it was the clock after all")

    def standing() -> set[str]:
        return {line.type for line in house.mother(memories.list_, status="active").items}

    def refusals() -> int:
        found = house.mother(verdicts.list_, op="refuse", limit=1000).items
        return sum("tombstone" in line.rules for line in found)

    assert standing() == {"technical", "process", "profile"}
    house.mother(captures.conversation, content=TALK, consent="once more")  # the very same
    house.mother(captures.extract, ref=id)  # read again
    house.mother(captures.conversation, content=TALK + "\nAna: ok", consent="once more")  # nearly the same
    work(house)
    assert refusals() == 2
    house.restart()
    house.mother(system.reindex)
    house.mother(system.import_, file=old, skip_conflicts=True)
    work(house)
    house.mother(captures.extract, ref=id)
    work(house)
    assert refusals() == 3
    assert standing() == {"technical", "process", "profile"}
    assert house.mother(inbox.list_).items == ()


def test_what_was_accepted_in_other_words_and_retired_stays_away_too(house: House) -> None:
    id = talk(house)
    work(house)
    slug = next(line.slug for line in house.mother(inbox.list_).items if line.type == "learning")
    house.mother(inbox.promote, ref=slug, content="Fixtures of the tests must not share a directory at all.")
    house.mother(captures.extract, ref=id)
    work(house)
    known = house.mother(captures.show, ref=house.mother(captures.list_).items[0].id).outcome
    assert known["known"] == 4
    house.mother(memories.retire, ref=slug, reason="no")
    house.mother(captures.extract, ref=id)
    work(house)
    outcome = house.mother(captures.show, ref=house.mother(captures.list_).items[0].id).outcome
    assert (outcome["refused"], outcome["known"]) == (1, 3)
