"""What a search can reach: nothing of another project or another agent, but by a link or for people who see all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.model.search import Found
from minutebook.operations import actors, memories, projects, search, searches
from minutebook.policy.query import parse
from tests.conftest import ENGINES, Clock
from tests.houses import House
from tests.operations.asking import code, recorded

CANARY = "xanthocyanopsia quagmire"


@pytest.fixture(scope="module", params=ENGINES)
def ship(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for many questions: a canary in another project, one in Bishop's own memory."""
    home: Path = tmp_path_factory.mktemp("ship")
    url, drop = f"sqlite://{home}/ledger/ledger.db", None
    if request.param == "postgres":
        cluster = request.getfixturevalue("cluster")
        name = cluster.fresh()
        url, drop = cluster.url(name), lambda: cluster.drop(name)
    house = House(url, home / "home", Clock())
    house.mother(actors.add, name="Kane", role="operator", bound_to="nostromo")
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    other(memories.write, type="project", content=f"Canary of Sulaco: {CANARY}.", slug="sulaco-canary")
    house.bishop(
        memories.write, type="learning", content=f"Canary of Bishop: {CANARY}.", slug="bishop-canary"
    )
    for number in range(30):
        house.mother(memories.write, type="project", content=_sentence(number), slug=f"plain-{number}")
    yield house
    house.close()
    if drop is not None:
        drop()


WORDS = (
    "proxy",
    "ledger",
    "redis",
    "cache",
    "importer",
    "archive",
    "tide",
    "gate",
    "moon",
    "harbour",
    "beacon",
)


def _sentence(number: int) -> str:
    return f"Note {number}: {' '.join(random.Random(number).sample(WORDS, 6))}."


def _tells(found: Found) -> str:
    return repr(found)


QUERIES = [
    CANARY,
    "xanthocyanopsia",
    "canary",
    "xanthocyanopsi",
    "sulaco canary",
    "xanthocyanopsia OR quagmire",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("who", ["Ripley", "Kane"])
def test_a_canary_elsewhere_is_in_no_hit_no_reason_and_no_count(ship: House, who: str, query: str) -> None:
    caller = ship.as_(who)
    for more in ({}, {"status": "all", "proposals_too": True, "shadowed": True}):
        found = caller(search.search, query=query, explain=True, **more)
        told = _tells(found)
        assert "Sulaco" not in told
        assert "sulaco-canary" not in told
        if who == "Ripley":
            assert (found.hits, found.dropped) == ((), ())
            # The same as for a word that nobody ever wrote.
            nothing = caller(search.search, query="ypsilanti", explain=True, **more)
            assert (found.state, found.sentence) == (nothing.state, nothing.sentence)


def test_nobody_who_is_bound_or_an_agent_searches_everywhere(ship: House) -> None:
    for who in ("Ripley", "Kane"):
        assert code(ship.as_(who), search.search, query=CANARY, everywhere=True) == "not_allowed"
    for ref in ("sulaco-canary", "bishop-canary"):
        assert code(ship.ripley, searches.explain, ref=ref, query=CANARY) == "not_found"
        unknown = code(ship.ripley, searches.explain, ref="never-written", query=CANARY)
        assert unknown == "not_found"


def test_people_who_are_bound_to_none_find_it_marked_and_only_when_it_holds_every_word(ship: House) -> None:
    strong = ship.dallas(search.search, query=f"sulaco {CANARY}")
    assert [(hit.slug, hit.project) for hit in strong.hits if hit.project] == [("sulaco-canary", "sulaco")]
    assert "project sulaco" in next(hit for hit in strong.hits if hit.project).why
    for weak in ("sulaco", "sulaco harbour quagmire"):
        assert all(hit.project is None for hit in ship.dallas(search.search, query=weak).hits)
    every = ship.dallas(search.search, query="quagmire", everywhere=True)
    assert {(hit.slug, hit.project) for hit in every.hits} == {
        ("sulaco-canary", "sulaco"),
        ("bishop-canary", None),
    }


def test_a_search_beyond_the_project_leaves_no_trace_for_who_is_bound_to_it(house: House) -> None:
    kept = recorded(house)
    house.mother(actors.add, name="Kane", role="operator", bound_to="nostromo")
    kane = house.as_("Kane")
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    other(memories.write, type="project", content=f"Canary of Sulaco: {CANARY}.", slug="sulaco-canary")
    house.mother(memories.write, type="project", content="The gate is shut.", slug="gate")
    far = [
        house.mother(search.search, query="canary", everywhere=True, status="archived").search,
        house.mother(search.search, query=f"sulaco {CANARY}").search,
    ]
    near = house.mother(search.search, query="gate").search

    for flushed in (False, True):
        if flushed:
            kept.flush(house.service.database)
        assert [line.id for line in kane(searches.list_).items] == [near]
        assert [line.id for line in house.mother(searches.list_).items] == [near, far[1], far[0]]
        for id in far:
            assert code(kane, searches.show, search=str(id)) == "not_found"
            assert code(kane, searches.explain, ref="gate", search=str(id)) == "not_found"


def test_a_trace_tells_nothing_of_what_was_left_out_and_may_not_be_seen_any_more(house: House) -> None:
    kept = recorded(house)
    done = house.mother(memories.write, type="project", content="The quagmire is deep.", slug="deep")
    trace = house.ripley(search.search, query="quagmire", status="archived").search
    kept.flush(house.service.database)
    (before,) = house.ripley(searches.show, search=str(trace)).dropped
    assert (before.slug, "mother" in before.because) == ("deep", True)
    house.mother(memories.rescope, ref="deep", scope="agent", agent="bishop")
    (after,) = house.ripley(searches.show, search=str(trace)).dropped
    assert (after.id, after.slug, "mother" in after.because) == (str(done.memory), "", False)


def test_a_past_search_is_explained_by_its_id_also_before_its_trace_is_written(house: House) -> None:
    kept = recorded(house)
    house.mother(memories.write, type="project", content="The gate is shut.", slug="gate")
    house.mother(memories.write, type="project", content="The gate was open.", slug="open")
    trace = str(house.ripley(search.search, query="gate shut", limit=1).search)
    waiting = house.ripley(searches.explain, ref=trace.lower())
    kept.flush(house.service.database)
    written = house.ripley(searches.explain, ref=trace)
    assert waiting == written
    assert (written.found, written.place) == (True, None)
    told = [(one.what, one.verdict) for one in written.reasons]
    assert told == [("hit", "gate"), ("budget", "open"), ("search", "missing")]
    assert "by its words" in written.reasons[0].detail
    assert code(house.bishop, searches.explain, ref=trace) == "not_found"


def test_a_link_lets_in_what_answers_at_least_half_and_marks_it(house: House) -> None:
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    other(memories.write, type="project", content="The airlock opens at four bar.", slug="airlock")
    other(
        memories.write,
        type="learning",
        content="The airlock hisses at me.",
        slug="own",
        scope="agent",
        agent="bishop",
    )
    assert house.ripley(search.search, query="airlock bar").state == "empty"
    house.dallas(projects.link, other="sulaco")
    (hit,) = house.ripley(search.search, query="airlock bar").hits
    assert (hit.slug, hit.project) == ("airlock", "sulaco")
    weak = house.ripley(search.search, query="airlock gate moon harbour tide", explain=True)
    assert weak.hits == ()
    assert [(one.slug, one.reason) for one in weak.dropped] == [("airlock", "threshold")]
    house.dallas(projects.unlink, other="sulaco")
    assert house.ripley(search.search, query="airlock bar").state == "empty"


def _fuzz(ship: House, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    pieces = ["proxy", "canary", "xanthocyanopsia", "-", '"', "quagmire", "日本", "é", "max_body", "NEAR(", "*", ":",
              "\x00", "🚀", "OR", "AND", "'", "\\", "%", "(", "tide", "gate", "plain", "1.10", "\u202e"]  # fmt: skip
    for _ in range(rounds):
        query = "".join(
            chance.choice(pieces) + chance.choice(["", " "]) for _ in range(chance.randrange(1, 9))
        )
        how = {
            "status": chance.choice(["active", "all"]), "proposals_too": chance.random() < 0.3,
            "shadowed": chance.random() < 0.3, "explain": chance.random() < 0.5, "limit": chance.choice([1, 5, 20]),
        }  # fmt: skip
        read = parse(query.replace("\0", ""))  # which stays at the door
        if not (read.terms or read.phrases or read.only_common):
            assert code(ship.ripley, search.search, query=query, **how) == "blank_field"
            continue
        found = ship.ripley(search.search, query=query, **how)
        assert "canary" not in " ".join(
            [*(hit.slug for hit in found.hits), *(one.slug for one in found.dropped)]
        )


def test_two_thousand_odd_queries_are_answered_and_none_of_them_finds_a_canary(ship: House) -> None:
    _fuzz(ship, 300 if ship.url.startswith("postgres") else 2_000, seed=1)


@pytest.mark.slow
def test_a_million_odd_queries_are_answered_and_none_of_them_finds_a_canary(ship: House) -> None:
    rounds = int(os.environ.get("MINUTEBOOK_QUERIES", "1000000"))
    _fuzz(ship, rounds // 20 if ship.url.startswith("postgres") else rounds, seed=2)
