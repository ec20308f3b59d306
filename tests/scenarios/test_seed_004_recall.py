"""Seed 004: what recall promises: deterministic, scoped, shadowed, traced, with freshness and signals."""

from __future__ import annotations

from typing import Any

from minutebook.operations import decisions, inbox, memories, runs, search, searches
from tests.conftest import Clock
from tests.houses import House
from tests.operations.asking import code, recorded


def slugs(house: House, query: str, who: str = "ripley", **how: Any) -> list[str]:
    return [hit.slug for hit in getattr(house, who)(search.search, query=query, **how).hits]


def test_recall_is_deterministic(house: House) -> None:
    """Seed 004: the same ledger and the same question give the same answer, also after a restart."""
    for number in range(12):
        house.mother(
            memories.write,
            type="project",
            content=f"Tide table of dock {number}{number}x.",
            slug=f"t{number}",
        )
    first = [(hit.id, round(hit.score, 2)) for hit in house.ripley(search.search, query="tide table").hits]
    house.restart()
    assert [
        (hit.id, round(hit.score, 2)) for hit in house.ripley(search.search, query="tide table").hits
    ] == first
    assert len(first) == 10


def test_one_absent_word_does_not_empty_the_answer_and_two_letters_count(house: House) -> None:
    """Seed 004's own users: all-term matching made one unknown word cost everything; short words matched nothing."""
    house.mother(memories.write, type="project", content="The UI of the gateway is slow.", slug="ui")
    assert slugs(house, "gateway unheardof") == ["ui"]
    assert slugs(house, "ui") == ["ui"]


def test_the_deeper_scope_shadows_and_the_answer_says_by_what(house: House) -> None:
    """Seed 004: agent over workspace over global, whole entries, and the trace keeps the shadow."""
    house.mother(
        memories.write, type="profile", scope="global", content="Answer in English.", slug="language"
    )
    wide = house.mother(
        memories.write, type="profile", scope="project", content="Answer in German.", slug="language"
    )
    found = house.ripley(search.search, query="answer", explain=True)
    assert [(hit.slug, hit.scope) for hit in found.hits] == [("language", "project")]
    assert [(one.reason, str(wide.memory) in one.because) for one in found.dropped] == [("shadow", True)]


def test_a_recall_trace_can_be_read_by_run_and_turn(house: House) -> None:
    """Seed 004: candidate set, score by parts, freshness and shadows of one turn; for its own agent and for people."""
    kept = recorded(house)
    house.mother(memories.write, type="project", content="The gateway is slow.", slug="gateway")
    run = house.ripley(runs.start).run.id
    house.as_("Ripley", run=run)(search.search, query="gateway")
    house.as_("Ripley", run="current")(search.search, query="nothing of it")
    house.as_("Bishop", run=run)(search.search, query="a run of somebody else")
    kept.flush(house.service.database)
    first = house.ripley(searches.show, search=run, turn=1)
    assert [hit.slug for hit in first.hits] == ["gateway"]
    assert {part.part for part in first.hits[0].parts} >= {"text", "recency", "signal"}
    assert house.dallas(searches.show, search=run, turn=2).search.state == "empty"
    assert code(house.bishop, searches.show, search=run, turn=1) == "not_found"


def test_signals_belong_to_the_memory_and_are_fed_behind_the_search(house: House) -> None:
    """Seed 004, and its defect: signals that hung on chunks died with every edit."""
    kept = recorded(house)
    house.mother(memories.write, type="project", content="The gateway is slow.", slug="gateway")
    slugs(house, "gateway")
    assert house.rows("SELECT * FROM signals") == []  # the search itself wrote nothing
    kept.flush(house.service.database)
    house.mother(memories.edit, ref="gateway", content="The gateway is quick now.")
    slugs(house, "gateway")
    kept.flush(house.service.database)
    assert [row["recalls"] for row in house.rows("SELECT recalls FROM signals")] == [2]


def test_what_is_old_carries_a_banner_and_is_not_hidden(house: House, clock: Clock) -> None:
    """Seed 004: freshness by age."""
    house.mother(memories.write, type="project", content="The gateway is slow.", slug="gateway")
    clock.advance(days=400)
    (hit,) = house.ripley(search.search, query="gateway").hits
    assert "13 months ago" in hit.freshness


def test_what_waits_or_was_replaced_is_not_recalled_unless_asked_for(house: House) -> None:
    """Seed 004: inbox and system artefacts are never injected by default."""
    house.ripley(
        inbox.submit, type="scope", title="Gateway", content="Gateways are out of scope.", slug="out"
    )
    house.mother(
        decisions.write, type="technical", title="Gateway", content="Use the old gateway.", slug="gw"
    )
    house.mother(
        decisions.write, type="technical", title="Gateway", content="Use the new gateway.", slug="gw"
    )
    assert [hit.snippet for hit in house.ripley(search.search, query="gateway").hits] == [
        "Use the new gateway."
    ]
    assert len(slugs(house, "gateway", status="all", proposals_too=True)) == 3


def test_every_door_gives_the_same_fields(house: House) -> None:
    """Seed 004: title, scope, age and the reasons are part of every hit."""
    house.mother(
        memories.write, type="project", title="Gateway", content="The gateway is slow.", slug="gateway"
    )
    (hit,) = house.ripley(search.search, query="gateway", explain=True).hits
    assert (hit.title, hit.scope, hit.age, hit.matched) == ("Gateway", "project", "now", ("gateway",))
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["gateway"]
