"""What a search answers: states, explanations, scores by parts, what is left out and why, the past."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest

from minutebook.call import World
from minutebook.ledger.database import Tx
from minutebook.model.meaning import Near
from minutebook.operations import decisions, inbox, memories, projects, search, searches
from tests.conftest import Clock
from tests.houses import House
from tests.operations.asking import code


class Meaning:
    """Finds by meaning what it was told to; through the eyes of whoever asks, as the real one does."""

    def __init__(self, found: dict[str, float], missing: str | None = None) -> None:
        self.found, self.missing = found, missing

    def nearest(self, tx: Tx, query: str, *, reach: Sequence[str] | None, allowed: Any, limit: int) -> Near:
        let: Collection[str] = allowed(list(self.found))
        near = sorted(
            ((ref, value) for ref, value in self.found.items() if ref in let), key=lambda one: -one[1]
        )
        return Near(tuple(near[:limit]), self.missing, "test@0")


def with_world(house: House, **parts: Any) -> None:
    world: World = replace(house.service.world, **parts)
    house.service.world = world


def test_words_and_meaning_are_joined_and_each_hit_tells_its_parts(house: House) -> None:
    by_words = house.mother(
        memories.write, type="project", content="Redis lost writes in the test.", slug="lost"
    )
    by_meaning = house.mother(
        memories.write, type="project", content="The cache forgot acknowledged data.", slug="cache"
    )
    house.mother(memories.write, type="project", content="Lunch is at noon.", slug="lunch")
    with_world(house, meaning=Meaning({str(by_meaning.memory): 0.9, str(by_words.memory): 0.7}))
    found = house.ripley(search.search, query="why did redis lose data", explain=True)
    assert (found.state, found.missing) == ("hits", ())
    assert {hit.slug for hit in found.hits} == {"lost", "cache"}
    for hit in found.hits:
        assert sum(part.points for part in hit.parts) == pytest.approx(hit.score, abs=0.002)
        assert {"text", "vector"} >= {part.part for part in hit.parts if part.part in ("text", "vector")}
        assert {"scope", "recency", "confidence", "importance", "signal"} <= {part.part for part in hit.parts}
    (cache,) = [hit for hit in found.hits if hit.slug == "cache"]
    assert "data" in cache.matched
    assert "means" in cache.why


def test_what_fits_in_nothing_is_no_hit_however_new_and_important_it_is(house: House) -> None:
    near = house.mother(memories.write, type="project", content="Redis lost writes.", slug="near")
    some = house.mother(memories.write, type="project", content="The queue is slow.", slug="some")
    far = house.mother(
        memories.write, type="project", content="Lunch is at noon.", slug="far", importance="high", confidence=1.0
    )  # fmt: skip
    likeness = {str(near.memory): 0.9, str(some.memory): 0.8, str(far.memory): 0.7}
    with_world(house, meaning=Meaning(likeness))
    found = house.ripley(search.search, query="acknowledged data", explain=True)
    assert [hit.slug for hit in found.hits] == ["near", "some"]
    assert ["much the same" in hit.why for hit in found.hits] == [True, False]
    assert [(one.slug, one.reason) for one in found.dropped] == [("far", "threshold")]


def test_without_a_model_the_answer_is_degraded_and_says_what_to_do(house: House) -> None:
    house.mother(memories.write, type="project", content="Redis lost writes.", slug="lost")
    found = house.ripley(search.search, query="redis")
    assert (found.state, [hit.slug for hit in found.hits]) == ("degraded", ["lost"])
    assert "minutebook models add" in found.sentence
    assert found.missing
    with_world(house, meaning=Meaning({}, "3 of 4 memories have no vector yet."))
    partly = house.ripley(search.search, query="redis")
    assert (partly.state, partly.missing) == ("degraded", ("3 of 4 memories have no vector yet.",))


def test_a_vector_cannot_bring_in_what_the_reader_may_not_see(house: House) -> None:
    secret = house.bishop(memories.write, type="learning", content="The vault code is blue.", slug="vault")
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    far = other(memories.write, type="project", content="The vault of Sulaco is red.", slug="vault")
    with_world(house, meaning=Meaning({str(secret.memory): 1.0, str(far.memory): 0.9, "no such": 0.8}))
    found = house.ripley(search.search, query="vault code", explain=True)
    assert (found.state, found.hits, found.dropped) == ("empty", (), ())
    assert [hit.slug for hit in house.bishop(search.search, query="vault code").hits] == ["vault"]


def test_a_filter_that_leaves_everything_out_is_told_with_each_reason(house: House) -> None:
    house.mother(memories.write, type="project", content="The proxy drops bodies.", slug="proxy")
    house.mother(
        decisions.write, type="process", title="Proxy", content="Nobody touches the proxy.", slug="hands"
    )
    found = house.jones(search.search, query="proxy", type="learning", explain=True)
    assert found.state == "filtered"
    assert {(one.slug, one.reason) for one in found.dropped} == {("proxy", "filter"), ("hands", "filter")}


def test_what_was_left_out_for_lack_of_room_or_by_words_is_told(house: House) -> None:
    for number in range(4):
        house.mother(
            memories.write,
            type="project",
            content=f"The proxy number {number} of the yard.",
            slug=f"p{number}",
        )
    found = house.jones(search.search, query="proxy -3", limit=2, explain=True)
    assert len(found.hits) == 2
    reasons = sorted(str(one.reason) for one in found.dropped)
    assert reasons == ["budget", "budget"]
    by_words = house.jones(search.search, query='"number proxy"', explain=True)
    assert (by_words.state, {str(one.reason) for one in by_words.dropped}) == ("filtered", {"words"})


def test_phrases_must_be_said_and_exclusions_must_not(house: House) -> None:
    house.mother(
        memories.write, type="project", content="We have a message broker in the basement.", slug="both"
    )
    house.mother(memories.write, type="project", content="The broker lost a message of ours.", slug="apart")
    house.mother(
        memories.write, type="project", content="A message broker named Kafka runs upstairs.", slug="kafka"
    )
    asked = house.jones(search.search, query='"message broker" -kafka')
    assert [hit.slug for hit in asked.hits] == ["both"]
    assert {hit.slug for hit in house.jones(search.search, query="message broker").hits} == {
        "both",
        "apart",
        "kafka",
    }
    assert code(house.jones, search.search, query="-kafka") == "blank_field"


def test_a_question_that_quotes_what_nothing_says_is_answered_by_its_words_and_told_so(house: House) -> None:
    house.mother(memories.write, type="project", content="The broker lost a message of ours.", slug="apart")
    asked = house.jones(search.search, query='who lost the "message broker"')
    assert [hit.slug for hit in asked.hits] == ["apart"]
    assert 'none says "message broker"' in asked.sentence
    # A phrase alone was meant word for word; and what says it and is filtered is told as such.
    assert house.jones(search.search, query='"message broker"').state == "filtered"
    house.mother(memories.write, type="project", content="Our message broker is new.", slug="said")
    assert [hit.slug for hit in house.jones(search.search, query='lost "message broker"').hits] == ["said"]
    house.mother(memories.retire, ref="said", reason="done")
    assert house.jones(search.search, query='lost "message broker"').state == "filtered"


def test_a_slip_of_the_finger_finds_the_word_that_was_meant(house: House) -> None:
    house.mother(
        memories.write, type="project", content="Kubernetes restarts the importer at night.", slug="night"
    )
    house.mother(memories.write, type="project", content="Lunch is at noon.", slug="lunch")
    found = house.jones(search.search, query="kuberntes", explain=True)
    assert [hit.slug for hit in found.hits] == ["night"]
    assert "trigram" in {part.part for part in found.hits[0].parts if part.points > 0}
    assert "spelled alike" in found.sentence
    assert house.jones(search.search, query="import").hits[0].slug == "night"  # begun, and not ended
    assert house.jones(search.search, query="zzzzzz").state == "empty"


def test_common_words_alone_find_nothing_and_the_answer_says_why(house: House) -> None:
    house.mother(memories.write, type="project", content="What is it and why?", slug="x")
    found = house.jones(search.search, query="what is it")
    assert (found.state, "every text" in found.sentence) == ("empty", True)


def test_filters_by_scope_repo_author_and_time(house: House, clock: Clock) -> None:
    house.mother(projects.add_repo, name="web", remote="git@example.com:web.git")
    house.mother(memories.write, type="project", content="The proxy of all.", slug="wide")
    house.mother(
        memories.write, type="project", content="The proxy of the web.", slug="web", scope="repo", repo="web"
    )
    house.mother(
        memories.write, type="profile", content="Sebas likes the proxy.", slug="likes", scope="global"
    )
    house.ripley(memories.write, type="learning", content="My proxy is slow.", slug="mine")
    clock.advance(days=3)
    house.mother(memories.write, type="project", content="The proxy of today.", slug="today")

    def slugs(**how: Any) -> set[str]:
        return {hit.slug for hit in house.mother(search.search, query="proxy", **how).hits}

    assert slugs() == {"wide", "web", "likes", "mine", "today"}
    assert slugs(scope="global") == {"likes"}
    assert slugs(repo="web") == {"web"}
    assert slugs(author="Ripley") == {"mine"}
    assert slugs(since="1d") == {"today"}
    assert slugs(until="1d") == {"wide", "web", "likes", "mine"}
    assert code(house.mother, search.search, query="proxy", repo="nope") == "not_found"


def test_the_past_is_searched_as_it_stood(house: House) -> None:
    first = house.mother(memories.write, type="project", content="The gate opens at nine.", slug="gate")
    then = str(first.seq)
    house.mother(memories.edit, ref="gate", content="The door opens at ten.", title="Door")
    house.mother(memories.write, type="project", content="The gate was painted.", slug="paint")
    assert [hit.slug for hit in house.jones(search.search, query="gate").hits] == ["paint", "gate"]
    before = house.jones(search.search, query="gate nine", as_of=then)
    assert [(hit.slug, hit.snippet) for hit in before.hits] == [("gate", "The gate opens at nine.")]
    assert before.state == "degraded"  # by text only
    assert house.jones(search.search, query="painted", as_of=then).state == "empty"
    assert house.jones(search.search, query="gate", as_of=then, type="learning").state == "filtered"


def test_a_memory_of_the_past_is_not_seen_by_who_could_not_see_it_then(house: House) -> None:
    mine = house.ripley(memories.write, type="learning", content="The gate squeaks.", slug="gate")
    house.mother(memories.rescope, ref=str(mine.memory), scope="project")
    assert house.bishop(search.search, query="squeaks").hits
    assert house.bishop(search.search, query="squeaks", as_of=str(mine.seq)).state == "empty"


def test_an_old_memory_says_how_old_it_is_and_a_decision_does_not(house: House, clock: Clock) -> None:
    house.mother(memories.write, type="project", content="The proxy is slow.", slug="note")
    house.mother(decisions.write, type="process", title="Proxy", content="Nobody touches it.", slug="rule")
    fresh = house.jones(search.search, query="proxy").hits
    assert {hit.freshness for hit in fresh} == {""}
    clock.advance(days=45)
    old = {hit.slug: hit for hit in house.jones(search.search, query="proxy").hits}
    assert "45 days ago" in old["note"].freshness
    assert old["rule"].freshness == ""
    assert old["note"].age == "45d"


def test_superseded_decisions_and_proposals_come_on_request(house: House) -> None:
    house.mother(
        decisions.write, type="technical", title="Store", content="We use sqlite for the store.", slug="store"
    )
    house.mother(
        decisions.write,
        type="technical",
        title="Store",
        content="We use postgres for the store.",
        slug="store",
    )
    house.ripley(
        inbox.submit, type="technical", title="Store", content="Let us use files for the store.", slug="files"
    )
    assert [hit.status for hit in house.jones(search.search, query="store").hits] == ["active"]
    assert [hit.status for hit in house.jones(search.search, query="store", status="superseded").hits] == [
        "superseded"
    ]
    every = house.jones(search.search, query="store", status="all", proposals_too=True)
    assert {(hit.kind, hit.status) for hit in every.hits} == {
        ("memory", "active"), ("memory", "superseded"), ("proposal", "pending"),
    }  # fmt: skip


def test_equal_texts_come_in_the_order_of_scope_importance_and_age(house: House, clock: Clock) -> None:
    for slug, how in {
        "low": {"importance": "low"},
        "high": {"importance": "high"},
        "sure": {"importance": "low", "confidence": 1.0},
    }.items():
        house.mother(
            memories.write,
            type="project",
            title=slug,
            content=f"The {slug} tide is at five.",
            slug=slug,
            **how,
        )
    order = [hit.slug for hit in house.jones(search.search, query="tide").hits]
    assert order.index("high") < order.index("low")
    assert order.index("sure") < order.index("low")


def test_a_memory_says_why_it_is_found_and_why_it_is_not(house: House) -> None:
    house.mother(memories.write, type="project", content="The proxy drops large bodies.", slug="proxy")
    house.mother(memories.write, type="learning", content="The port is 8080, says the team.", slug="port")
    deep = house.ripley(memories.write, type="learning", content="It is 9090 here.", slug="port")
    assert deep.memory
    why = house.jones(searches.explain, ref="proxy", query="large proxy unheard")
    assert (why.found, why.place) == (True, 1)
    assert "unheard" in why.reasons[0].detail
    assert sum(part.points for part in why.parts) > 0.5
    none = house.jones(searches.explain, ref="proxy", query="moonlight")
    assert (none.found, none.place, "none of the words" in none.sentence) == (False, None, True)
    wide = next(hit for hit in house.ripley(search.search, query="says team", shadowed=True).hits)
    hidden = house.ripley(searches.explain, ref=wide.id, query="says team")
    assert (hidden.found, "deeper scope" in hidden.sentence) == (False, True)
    house.mother(memories.retire, ref="proxy", reason="gone")
    retired = house.jones(searches.explain, ref="proxy", query="proxy")
    assert not retired.found
    assert any(ground.what == "filter" for ground in retired.reasons)
    itself = house.jones(searches.explain, ref="proxy")
    assert any("--status retired" in ground.detail for ground in itself.reasons)


def test_who_may_not_see_a_memory_is_told_nothing_of_it_by_an_explanation(house: House) -> None:
    mine = house.bishop(memories.write, type="learning", content="The vault code is blue.", slug="vault")
    for ref in ("vault", str(mine.memory)):
        assert code(house.ripley, searches.explain, ref=ref, query="vault") == "not_found"


@pytest.mark.parametrize("query", ["x" * 4_000, "word " * 700, "日" * 500, '"a" ' * 200, "-b a" * 300])
def test_long_and_odd_queries_are_answered(house: House, query: str) -> None:
    house.mother(memories.write, type="project", content="A word of ours.", slug="w")
    assert house.jones(search.search, query=query).state in ("degraded", "empty", "filtered")
