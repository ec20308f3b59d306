"""The ledger of a run: gone through again, let go of, and mended."""

from __future__ import annotations

import json
from pathlib import Path

from minutebook.model.captures import CaptureState
from minutebook.model.runs import RunStatus
from minutebook.operations import captures, daily, inbox, memories, runs, sources, system
from tests.conftest import Clock
from tests.engine.extracting import work
from tests.houses import House
from tests.invariants import state_of, violations
from tests.operations.asking import code

TRANSCRIPT = "\n".join(
    json.dumps({"type": role, "message": {"role": role, "content": words}})
    for role, words in (
        ("user", "Please look at the cache."),
        ("user", [{"type": "tool_result", "content": "12 files"}]),
        ("assistant", "Turns out the cache key held the request id, so it never hit at all."),
    )
)


def told(house: House) -> str:
    run = house.ripley(runs.start, task="look at the cache").run.id
    mine = house.as_("Ripley", run=run)
    mine(memories.write, type="learning", content="The proxy drops bodies.", slug="proxy")
    house.ripley(runs.finish, ref=run, transcript=TRANSCRIPT, summary="Looked.")
    return run


def test_a_run_is_gone_through_again_in_its_order(house: House) -> None:
    run = told(house)
    work(house)
    entries = house.ripley(runs.replay, ref=run).items
    assert [entry.place for entry in entries] == list(range(1, len(entries) + 1))
    kinds = [entry.kind for entry in entries]
    assert kinds[:5] == ["run.started", "memory.added", "said", "said", "run.finished"]
    assert {"scribe.reported", "capture.received", "capture.extracted", "proposal.submitted"} < set(kinds)
    assert entries[2].said == "Please look at the cache."
    first = house.ripley(runs.replay, ref=run, limit=3)
    rest = house.ripley(runs.replay, ref=run, after=first.next)
    assert (*first.items, *rest.items) == entries
    assert code(house.bishop, runs.replay, ref=run) == "other_agent"
    assert house.dallas(runs.replay, ref=run).items == entries


def test_old_transcripts_are_let_go_after_a_look_and_nothing_else_is(house: House, clock: Clock) -> None:
    run = told(house)
    clock.advance(days=100)
    assert house.mother(runs.prune, older_than="90d").sources == ()  # nobody has read it yet
    work(house)
    would = house.mother(runs.prune, older_than="90d")
    assert (would.applied, would.runs, would.bytes) == (False, (run,), len(TRANSCRIPT))
    assert house.mother(sources.show, ref=would.sources[0]).text == TRANSCRIPT
    assert house.mother(runs.prune, older_than="90d", confirm=True).applied
    shown = house.mother(sources.show, ref=would.sources[0])
    assert (shown.state, shown.text) == ("pruned", "")
    assert [entry.kind for entry in house.ripley(runs.replay, ref=run).items].count("said") == 0
    assert len(house.mother(inbox.list_).items) == 1
    assert code(house.mother, captures.extract, ref=shown.id) == "bad_transition"
    # What was let go because it was old may come again, and is not read a second time.
    again = house.ripley(runs.start).run.id
    assert house.ripley(runs.finish, ref=again, transcript=TRANSCRIPT).job is None
    assert house.mother(sources.show, ref=shown.id).state == "kept"


def test_what_hangs_in_the_air_is_found_and_put_right(house: House, clock: Clock, tmp_path: Path) -> None:
    run = told(house)
    archive = tmp_path / "all.zip"
    house.mother(system.export, file=str(archive))
    left = house.bishop(runs.start, task="never ends").run.id
    other = House(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other-home", clock, seed=2)
    try:
        other.mother(system.import_, file=str(archive), skip_conflicts=True)
        there = other.as_("Mother", project=house.project)
        # Jobs do not travel: what was on its way when the archive was written hangs in the air.
        wrong = there(runs.repair)
        assert (len(wrong.stranded), wrong.applied) == (1, False)
        there(runs.repair, confirm=True)
        work(other)
        assert there(captures.show, ref=wrong.stranded[0]).state is CaptureState.DONE
        assert there(runs.repair).sentence == "Nothing hangs in the air."
    finally:
        other.close()
    clock.advance(days=8)
    assert house.mother(runs.repair).abandoned == (left,)
    house.mother(runs.repair, confirm=True)
    assert house.mother(runs.show, ref=left).run.status is RunStatus.ABANDONED
    assert house.mother(runs.show, ref=run).run.status is RunStatus.FINISHED
    assert violations(state_of(house.service.database)) == []


def test_a_day_is_told_by_scope_in_lines(house: House) -> None:
    told(house)
    work(house)
    lines = {line.scope: line for line in house.mother(daily.list_).items}
    assert lines["agent:ripley"].added == 1
    assert {line.scope for line in house.bishop(daily.list_).items} == {"project", "global"}
    log = house.ripley(daily.show, day="2026-01-01", scope="agent:ripley")
    assert "ripley memory.added: add learning proxy" in log.text
    assert (log.part, log.parts) == (1, 1)
    assert code(house.bishop, daily.show, day="2026-01-01", scope="agent:ripley") == "other_agent"
    assert code(house.mother, daily.show, day="1999-01-01") == "not_found"
    assert code(house.mother, daily.show, day="soon") == "invalid_input"
