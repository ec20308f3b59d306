"""Listing and showing as of a moment: what stood then, as it stood, for whoever may see it."""

from __future__ import annotations

from typing import Any

from minutebook.operations import decisions, memories
from minutebook.operations.plain import to_plain
from tests.houses import House
from tests.operations.asking import code


def last(house: House) -> str:
    return str(house.rows("SELECT max(seq) AS seq FROM events")[0]["seq"])


def test_a_listing_of_every_past_moment_is_the_one_that_was_then(house: House) -> None:
    """Also narrowed, for every kind of reader, and a page at a time."""
    narrowed: list[dict[str, Any]] = [
        {}, {"status": "all"}, {"type": "learning"}, {"tag": ["cross-team"]}, {"importance": "high"},
        {"agent": "ripley"}, {"scope": "project"}, {"author": "mother"},
    ]  # fmt: skip
    acts: list[tuple[str, Any, dict[str, Any]]] = [
        ("ripley", memories.write, {"type": "learning", "content": "The proxy drops bodies.", "slug": "proxy"}),
        ("mother", decisions.write, {"type": "scope", "title": "Phones", "content": "No phones.", "slug": "phones"}),
        ("bishop", memories.write, {"type": "pattern", "content": "Restart the worker.", "slug": "worker"}),
        ("bishop", memories.tag, {"ref": "worker", "tags": ["cross-team"]}),
        ("ripley", memories.edit, {"ref": "proxy", "importance": "high"}),
        ("mother", decisions.write, {"type": "scope", "title": "Tablets", "content": "Tablets.", "supersedes": "phones"}),
        ("mother", memories.rescope, {"ref": "proxy", "scope": "project"}),
        ("mother", memories.retire, {"ref": "worker", "reason": "gone"}),
        ("mother", memories.restore, {"ref": "worker", "reason": "back"}),
        ("mother", memories.archive, {"ref": "proxy", "reason": "old"}),
    ]  # fmt: skip
    seen: dict[str, Any] = {}

    def all_of(as_of: str | None) -> Any:
        more = {} if as_of is None else {"as_of": as_of}
        return [
            to_plain(getattr(house, who)(memories.list_, **each, **more))
            for who in ("mother", "ripley", "ash", "jones")
            for each in narrowed
        ] + [to_plain(house.jones(decisions.list_, status="all", **more))]

    for who, act, arguments in acts:
        getattr(house, who)(act, **arguments)
        seen[last(house)] = all_of(None)
    house.restart()
    for moment, listings in seen.items():
        assert all_of(moment) == listings
    first = house.mother(memories.list_, as_of=last(house), limit=1, status="all")
    second = house.mother(memories.list_, as_of=last(house), limit=10, status="all", after=first.next)
    assert len(second.items) == 3
    assert code(house.mother, memories.list_, as_of="1", status="contradicted") == "invalid_input"


def test_a_memory_is_shown_as_it_stood_by_id_and_by_the_name_that_it_had(house: House) -> None:
    done = house.ripley(memories.write, type="learning", content="The port is 8080.", slug="port")
    then = last(house)
    house.ripley(memories.edit, ref="port", content="The port is 9090.")
    house.mother(memories.retire, ref="port", reason="wrong")
    for ref in ("port", done.memory or ""):
        shown = house.ripley(memories.show, ref=ref, as_of=then)
        assert (shown.memory.content, shown.memory.revision, shown.standing) == (
            "The port is 8080.",
            1,
            "active",
        )
        assert code(house.ripley, memories.show, ref=ref, as_of=str(int(then) - 1)) == "not_found"
        assert code(house.bishop, memories.show, ref=ref, as_of=then) == "not_found"
        assert code(house.mother, decisions.show, ref=ref, as_of=then) == "not_found"
    assert house.ripley(memories.show, ref=done.memory or "", as_of=last(house)).standing == "retired"


def test_of_two_memories_of_a_name_the_deeper_one_was_meant_then_too(house: House) -> None:
    house.mother(memories.write, type="learning", content="Wide.", slug="port")
    before = last(house)
    house.ripley(memories.write, type="learning", content="Deep.", slug="port")
    then = last(house)
    house.mother(memories.retire, ref=house.ripley(memories.show, ref="port").memory.id, reason="no")
    assert house.ripley(memories.show, ref="port", as_of=before).memory.content == "Wide."
    assert house.ripley(memories.show, ref="port", as_of=then).memory.content == "Deep."
    assert house.ripley(memories.show, ref="port").memory.content == "Wide."


def test_erased_words_do_not_come_back_from_the_past(house: House) -> None:
    done = house.mother(memories.write, type="project", content="The customer is Weyland.", slug="customer")
    then = last(house)
    house.mother(memories.erase, ref="customer", reason="personal")
    shown = house.mother(memories.show, ref=done.memory or "", as_of=then)
    assert (shown.memory.content, shown.standing) == ("[erased]", "erased")
    assert house.mother(memories.list_, as_of=then).items == ()
    assert [line.status for line in house.mother(memories.list_, as_of=then, status="all").items] == [
        "erased"
    ]
