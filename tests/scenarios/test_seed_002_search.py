"""Seed 002: what retrieval promises, acceptance scenarios 1, 2, 3 and 7, shown through the installed program's calls."""

from __future__ import annotations

from dataclasses import replace

from minutebook.operations import decisions, memories, projects, search, searches
from tests.houses import House
from tests.operations.test_search_answers import Meaning


def test_an_agent_finds_global_preferences_and_its_own_project_without_the_noise_of_another(
    house: House,
) -> None:
    """Seed 002, acceptance scenario 1."""
    house.mother(
        memories.write,
        type="profile",
        scope="global",
        content="Sebas prefers short commit messages.",
        slug="style",
    )
    house.mother(
        memories.write, type="project", content="Commit messages here name the ticket.", slug="tickets"
    )
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    for number in range(20):
        other(
            memories.write,
            type="project",
            content=f"Commit messages of Sulaco, rule {number}.",
            slug=f"noise-{number}",
        )
    found = house.ripley(search.search, query="how to write commit messages")
    assert {hit.slug for hit in found.hits} == {"style", "tickets"}
    assert {hit.scope for hit in found.hits} == {"global", "project"}


def test_a_decision_of_another_project_appears_only_when_it_is_linked_or_strongly_relevant(
    house: House,
) -> None:
    """Seed 002, acceptance scenario 2."""
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    other(
        decisions.write, type="architectural", title="One event bus", content="All services talk over one event bus.",
        slug="bus",
    )  # fmt: skip
    assert house.ripley(search.search, query="event bus services").state == "empty"  # an agent, and no link
    assert house.dallas(search.search, query="bus").state == "empty"  # one word is no strong relevance
    strong = house.dallas(search.search, query="services event bus")
    assert [(hit.slug, hit.project) for hit in strong.hits] == [("bus", "sulaco")]
    assert house.dallas(search.search, query="services event bus payments").state == "empty"
    house.dallas(projects.link, other="sulaco")
    (hit,) = house.ripley(search.search, query="event bus payments").hits
    assert (hit.slug, hit.project) == ("bus", "sulaco")


def test_a_preference_is_found_at_once_before_there_is_any_embedding(house: House) -> None:
    """Seed 002, acceptance scenario 3."""
    house.mother(memories.write, type="profile", scope="global", content="Sebas prefers tabs.", slug="tabs")
    found = house.ripley(search.search, query="tabs or spaces")
    assert [hit.slug for hit in found.hits] == ["tabs"]
    assert found.state == "degraded"


def test_words_and_meaning_are_combined_and_the_selection_is_explained(house: House) -> None:
    """Seed 002, acceptance scenario 7, and what a retrieval result must hold."""
    exact = house.mother(
        memories.write, type="project", content="The limit of uploads is 2 MB.", slug="limit",
        evidence=["url:https://example.com/limits"], confidence=0.9,
    )  # fmt: skip
    concept = house.mother(
        memories.write, type="project", content="Large files are refused by the proxy.", slug="refused"
    )
    meaning = Meaning({str(concept.memory): 0.93, str(exact.memory): 0.9})
    house.service.world = replace(house.service.world, meaning=meaning)
    found = house.ripley(search.search, query="upload limit", explain=True)
    assert [hit.slug for hit in found.hits] == ["limit", "refused"]
    first, second = found.hits
    assert {"text", "vector"} <= {part.part for part in first.parts}
    assert "vector" in {part.part for part in second.parts}
    assert "text" not in {part.part for part in second.parts}
    for hit in found.hits:
        assert hit.why
        assert hit.scope == "project"
        assert hit.score > 0
    assert first.evidence == "unverifiable"  # an address; no workspace is known here
    why = house.ripley(searches.explain, ref="refused", query="upload limit")
    assert (why.found, why.place) == (True, 2)
    assert "meaning" in why.sentence


def test_a_record_without_a_vector_stays_discoverable_beside_others_that_have_one(house: House) -> None:
    """Seed 002, retrieval guarantees: nothing depends on embeddings alone."""
    bare = house.mother(memories.write, type="project", content="The beacon blinks twice.", slug="beacon")
    other = house.mother(memories.write, type="project", content="Lights of the harbour.", slug="lights")
    house.service.world = replace(house.service.world, meaning=Meaning({str(other.memory): 0.9}))
    found = house.ripley(search.search, query="beacon")
    assert str(bare.memory) in {hit.id for hit in found.hits}
