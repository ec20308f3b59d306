"""The ordered log."""

from __future__ import annotations

from minutebook.operations import actors, decisions, events, inbox, memories, sessions, tombstones, verdicts
from tests.houses import House
from tests.operations.asking import code


def test_everything_that_changes_leaves_an_event_and_content_is_in_none(house: House) -> None:
    house.ripley(
        inbox.submit, type="scope", title="Title", content="The canary sings.", slug="s", rationale="canary"
    )
    house.ripley(inbox.submit, type="scope", title="Title", content="The canary sang.", slug="s")
    house.dallas(inbox.promote, ref="s")
    house.mother(decisions.edit, ref="s", content="The canary flew.")
    house.ripley(memories.write, type="learning", content="The canary ate.", slug="l", title="Ate")
    house.ripley(memories.retire, ref="l", reason="no")
    house.dallas(memories.restore, ref="l", reason="yes")
    house.ripley(sessions.start, focus="canary", summary="canary")
    undone = house.dallas(verdicts.list_, op="restore").items[0]
    house.dallas(verdicts.revert, id=undone.id)
    (stone,) = house.dallas(tombstones.list_).items
    house.dallas(tombstones.lift, id=stone.id, reason="fine")
    found = house.jones(events.list_, follow=True, limit=100).items
    assert [event.kind for event in found if event.kind.split(".")[0] not in ("actor", "project")] == [
        "proposal.submitted", "proposal.updated", "proposal.promoted", "memory.updated", "memory.added",
        "memory.retired", "memory.restored", "session.started", "verdict.reverted", "tombstone.lifted",
    ]  # fmt: skip
    assert "canary" not in repr(found)
    assert [event.seq for event in found] == sorted({event.seq for event in found})
    for event in found:
        if event.verdict is not None:
            assert house.jones(verdicts.show, id=event.verdict).seq == event.seq


def test_events_are_filtered_paged_and_followed(house: House) -> None:
    for number in range(4):
        house.ripley(memories.write, type="learning", content=f"Fact {number} it is.", slug=f"f{number}")
    made = house.jones(events.list_, kind="memory").items
    assert len(made) == 4
    assert [event.kind for event in house.jones(events.list_, kind="memory.added", limit=2).items] == [
        "memory.added"
    ] * 2
    assert house.jones(events.list_, kind="mem").items == ()
    assert [event.seq for event in house.jones(events.list_, subject=made[0].subject).items] == [made[0].seq]
    assert {event.actor for event in house.jones(events.list_, actor="RIPLEY").items} == {"ripley"}
    page = house.jones(events.list_, kind="memory", limit=3)
    rest = house.jones(events.list_, kind="memory", after=page.next)
    assert [event.seq for event in (*page.items, *rest.items)] == [event.seq for event in made]
    seen, cursor = [], "0"
    while True:
        step = house.jones(events.list_, kind="memory", follow=True, after=cursor, limit=2)
        if not step.items:
            break
        seen += [event.seq for event in step.items]
        cursor = step.next or ""
    assert seen == sorted(event.seq for event in made)
    assert step.next == cursor  # a follower goes on from where it is
    assert code(house.jones, events.list_, after="x") == "invalid_input"


def test_events_of_another_project_are_not_listed_and_those_of_the_house_are(house: House) -> None:
    elsewhere = house.as_("Jones", project=house.new_project("Sulaco"))
    house.ripley(memories.write, type="learning", content="A fact.", slug="f")
    house.mother(actors.add, name="Kane")
    kinds = {event.kind for event in elsewhere(events.list_, limit=100).items}
    assert kinds == {"project.created", "actor.added"}
