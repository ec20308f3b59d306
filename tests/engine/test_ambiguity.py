"""A model says which of several memories is meant: one of those that it was shown, or everything stays as it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from minutebook.engine.jobs import JobWorker, Times
from minutebook.engine.kinds import KINDS
from minutebook.ledger import jobs
from minutebook.minds.embedders import Endpoint
from minutebook.minds.http_door import Breaker
from minutebook.minds.models_http import ChatModel
from minutebook.model.inbox import ProposalStatus
from minutebook.model.jobs import Job
from minutebook.operations import events, inbox, memories, verdicts
from minutebook.policy.ambiguity import Named, named
from tests.houses import House
from tests.invariants import state_of, violations
from tests.minds.scripted import Scripted, said, serving
from tests.operations.asking import code

SLOT = {"entity": "beacon", "attribute": "transport", "scope": "project"}


@pytest.fixture
def script() -> Iterator[Scripted]:
    with serving(Scripted(said({"target": "none", "reason": ""}))) as running:
        yield running


def think(house: House, script: Scripted, *answers: Any) -> None:
    script.answers = list(answers)
    mind = ChatModel(Endpoint(script.url, "reader", "sesame", 5.0), Breaker(lambda: 0.0), tokens=300)
    house.service.world = replace(house.service.world, mind=mind)


def work(house: House) -> None:
    worker = JobWorker(
        "jobs", house.service.database, house.service.world, KINDS, times=Times(first_pause=1, attempts=2)
    )
    worker.step(threading.Event())


def job(house: House) -> Job:
    with house.service.database.read() as tx:
        [found] = jobs.list_(tx, house.project, kind="settle", limit=10)
    return found


def ask(house: House) -> str:
    """Ripley and Bishop tell different things of one slot, and both stand. Then Ripley writes of it again, and that
    is held: its slug."""
    house.ripley(memories.write, type="learning", content="The beacon talks HTTP to the hub.", **SLOT)
    other = house.bishop(memories.write, type="learning", content="Beacons use a serial line.", **SLOT)
    house.mother(inbox.promote, ref=other.slug)
    held = house.ripley(
        memories.write, type="learning", content="It is MQTT that is spoken since May.", **SLOT
    )
    assert (held.op, held.rules[-1]) == ("hold", "ambiguous")
    return held.slug


def place_of(script: Scripted, words: str) -> str:
    """The letter under which a memory was shown."""
    material = script.asked[-1]["messages"][1]["content"]
    return next(part[1] for part in material.split("\n\n") if words in part)


def contents(house: House) -> set[str]:
    return set(letters(house))


def letters(house: House) -> dict[str, str]:
    """What stands, each with the letter under which a model is shown it."""
    rows = house.rows(
        "SELECT content FROM memories WHERE entity = 'beacon' AND status = 'active' ORDER BY id"
    )
    return {row["content"]: letter for row, letter in zip(rows, "ABC", strict=False)}


def test_without_a_model_it_stays_held_and_nobody_is_asked(house: House, script: Scripted) -> None:
    held = ask(house)
    work(house)
    assert house.rows("SELECT id FROM jobs") == []
    assert house.mother(inbox.show, ref=held).proposal.status is ProposalStatus.PENDING
    assert script.asked == []


def test_what_was_held_for_nothing_else_is_written_and_can_be_taken_back(
    house: House, script: Scripted
) -> None:
    think(house, script, said("{}"))
    held = ask(house)
    letter = letters(house)["The beacon talks HTTP to the hub."]
    think(house, script, said({"target": letter, "reason": "both tell how it talks"}))
    work(house)
    assert "named" in (job(house).outcome or "")
    assert "100 tokens in and 20 out" in (job(house).outcome or "")
    assert contents(house) == {"It is MQTT that is spoken since May.", "Beacons use a serial line."}
    proposal = house.mother(inbox.show, ref=held).proposal
    assert proposal.status is ProposalStatus.MERGED
    assert place_of(script, "talks HTTP") == letter
    [told] = house.mother(events.list_, kind="proposal.asked_model").items
    assert told.detail is not None
    assert (told.detail["model"], told.detail["tokens_in"], told.detail["outcome"]) == (
        "reader",
        100,
        "accepted",
    )
    assert "MQTT" not in json.dumps(told.detail)
    accepted = house.mother(verdicts.list_, op="update").items[0]
    assert accepted.actor == "scribe"
    house.mother(verdicts.revert, id=accepted.id)
    assert contents(house) == {"The beacon talks HTTP to the hub.", "Beacons use a serial line."}
    assert violations(state_of(house.service.database)) == []


def test_what_another_rule_holds_is_named_and_waits_for_a_reviewer_who_can_accept_it(
    house: House, script: Scripted
) -> None:
    think(house, script, said("{}"))
    held = ask(house)
    assert code(house.mother, inbox.promote, ref=held) == "ambiguous"
    letter = letters(house)["Beacons use a serial line."]
    think(house, script, said({"target": letter, "reason": "both tell how it talks"}))
    work(house)
    view = house.mother(inbox.show, ref=held).proposal
    assert view.status is ProposalStatus.PENDING  # it is Bishop's memory
    assert view.would.held_because.startswith("reader takes it to mean")
    assert code(house.ripley, inbox.promote, ref=held) == "not_allowed"
    assert house.mother(inbox.promote, ref=held).op == "update"
    assert contents(house) == {"The beacon talks HTTP to the hub.", "It is MQTT that is spoken since May."}
    assert violations(state_of(house.service.database)) == []


@pytest.mark.parametrize(
    "answer",
    [
        "none of these",
        "[]",
        '[{"target": "A", "reason": "x"}]',
        '{"target": "A", "reason": ""} {"target": "B", "reason": ""}',
        '{"target": "none", "reason": "x"}',
        '{"target": "C", "reason": "one that was not shown"}',
        '{"target": "AB", "reason": ""}',
        '{"target": "", "reason": ""}',
        '{"target": 0, "reason": ""}',
        '{"reason": "x"}',
        '{"target": "A"',
        "[" * 100_000,
    ],
)
def test_whatever_else_it_answers_names_none(answer: str) -> None:
    assert isinstance(named(answer, 2), str)


def test_where_none_is_named_it_stays_held_as_it_was(house: House, script: Scripted) -> None:
    think(house, script, said({"target": "C", "reason": "one that was not shown"}))
    held = ask(house)
    before = house.mother(inbox.show, ref=held).proposal
    work(house)
    assert house.mother(inbox.show, ref=held).proposal == before
    assert job(house).state == "done"
    assert (job(house).outcome or "").startswith("It stays held: it named none of those that it was shown;")


def test_a_model_that_is_down_costs_the_proposal_nothing(house: House, script: Scripted) -> None:
    think(house, script, (500, b"down"))
    held = ask(house)
    before = house.mother(inbox.show, ref=held).proposal
    work(house)
    assert (job(house).state, job(house).attempts) == ("todo", 1)
    assert house.mother(inbox.show, ref=held).proposal == before


def test_one_that_was_settled_meanwhile_is_left_alone(house: House, script: Scripted) -> None:
    think(house, script, said({"target": "A", "reason": ""}))
    held = ask(house)
    house.mother(inbox.reject, ref=held, reason="no")
    work(house)
    assert job(house).outcome == "It is not ambiguous any more."
    assert script.asked == []


def test_one_object_is_read_also_where_it_stands_in_a_fence() -> None:
    assert named('```json\n{"target": "B", "reason": " so\\nit is "}\n```', 2) == Named(1, "so it is")
