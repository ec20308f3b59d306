"""Searching: what is found, what is safe to ask, and what hides what."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minutebook.operations import decisions, inbox, memories, search
from minutebook.policy.query import parse
from tests.conftest import ENGINES, Clock
from tests.houses import House
from tests.operations.asking import code


def slugs(house: House, query: str, who: str = "jones", **more: Any) -> list[str]:
    return [hit.slug for hit in getattr(house, who)(search.search, query=query, **more).hits]


def test_a_write_is_found_from_its_commit_on_and_a_change_is_found_at_once(house: House) -> None:
    house.mother(memories.write, type="project", content="The proxy drops large bodies.", slug="proxy")
    assert slugs(house, "proxy") == ["proxy"]
    house.mother(memories.edit, ref="proxy", content="The gateway lets them through.", title="Gateway")
    assert slugs(house, "drops") == []
    assert slugs(house, "gateway") == ["proxy"]
    house.ripley(inbox.submit, type="scope", title="Limits", content="Quota of ten gigabytes.", slug="quota")
    assert slugs(house, "quota gigabytes") == []
    (hit,) = house.jones(search.search, query="gigabytes", proposals_too=True).hits
    assert (hit.kind, hit.slug, hit.status, hit.author) == ("proposal", "quota", "pending", "ripley")
    house.dallas(inbox.promote, ref="quota")
    assert slugs(house, "gigabytes", proposals_too=True) == ["quota"]
    house.restart()
    assert slugs(house, "gigabytes") == ["quota"]


def test_any_term_matches_and_more_and_rarer_ones_come_first(house: House) -> None:
    for slug, content in {
        "both": "The proxy in front of the importer is slow.",
        "one": "The proxy was replaced by something better.",
        "other": "An importer reads the archive every night.",
        "none": "Nothing of the kind is said here.",
    }.items():
        house.mother(memories.write, type="project", title=slug, content=content, slug=slug)
    found = slugs(house, "importer proxy unheard")
    assert found[0] == "both"
    assert sorted(found) == ["both", "one", "other"]
    assert slugs(house, "proxies importing") != []  # other forms of a word
    assert len(slugs(house, "importer proxy", limit=1)) == 1


def test_titles_rationales_summaries_and_tags_are_searched_too(house: House) -> None:
    house.mother(
        memories.write, type="project", title="Zanzibar", content="Plain.", slug="x",
        rationale="because of monsoon", summary="coastline", tag=["spices"],
    )  # fmt: skip
    for word in ("zanzibar", "ZANZIBAR", "monsoon", "coastline", "spices"):
        assert slugs(house, word) == ["x"], word


def test_empty_and_filtered_are_two_answers(house: House) -> None:
    assert house.jones(search.search, query="proxy").state == "empty"
    house.mother(memories.write, type="project", content="The proxy drops large bodies.", slug="proxy")
    house.mother(memories.retire, ref="proxy", reason="gone")
    filtered = house.jones(search.search, query="proxy")
    assert (filtered.state, filtered.hits, "--status all" in filtered.sentence) == ("filtered", (), True)
    assert slugs(house, "proxy", status="retired") == ["proxy"]
    assert house.jones(search.search, query="nothing of it").state == "empty"
    assert code(house.jones, search.search, query=" ") == "blank_field"


def test_filters_narrow_a_search(house: House) -> None:
    house.ripley(memories.write, type="learning", content="The proxy is slow.", slug="a", tag=["Infra"])
    house.bishop(memories.write, type="pattern", content="Restart the proxy first.", slug="b")
    house.mother(decisions.write, type="process", title="Proxy", content="Nobody touches it.", slug="c")
    assert slugs(house, "proxy", agent="RIPLEY") == ["a"]
    assert slugs(house, "proxy", type="pattern") == ["b"]
    assert slugs(house, "proxy", tag=["infra"]) == ["a"]
    assert sorted(slugs(house, "proxy")) == ["a", "b", "c"]


def test_an_agent_finds_what_it_may_see(house: House) -> None:
    house.ripley(memories.write, type="learning", content="The proxy is slow.", slug="mine")
    house.ripley(
        memories.write, type="learning", content="The proxy restarts.", slug="ours", tag=["cross-team"]
    )
    house.as_("Mother", project=house.new_project("Sulaco"))(
        memories.write, type="project", content="Another proxy.", slug="elsewhere"
    )
    assert sorted(slugs(house, "proxy", "ripley")) == ["mine", "ours"]
    assert slugs(house, "proxy", "bishop") == ["ours"]
    assert house.bishop(search.search, query="slow").state == "empty"


def test_a_deeper_scope_hides_its_namesake_also_where_only_the_shallow_one_matches(house: House) -> None:
    wide = house.mother(
        memories.write, type="learning", content="The port is 8080, says the team.", slug="port"
    )
    deep = house.ripley(memories.write, type="learning", content="It is 9090 here.", slug="port")
    assert slugs(house, "says team", "ripley") == []  # hidden by what the query did not find
    assert slugs(house, "9090", "ripley") == ["port"]
    (hit,) = house.ripley(search.search, query="team", shadowed=True).hits
    assert (hit.id, hit.shadowed_by) == (wide.memory, deep.memory)
    assert [hit.id for hit in house.bishop(search.search, query="port").hits] == [wide.memory]


# --- whatever is asked ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=ENGINES)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for many questions; they change nothing."""
    home: Path = tmp_path_factory.mktemp("asked")
    url, drop = f"sqlite://{home}/ledger/ledger.db", None
    if request.param == "postgres":
        cluster = request.getfixturevalue("cluster")
        name = cluster.fresh()
        url, drop = cluster.url(name), lambda: cluster.drop(name)
    house = House(url, home / "home", Clock())
    house.mother(
        memories.write,
        type="project",
        content="C++ and C# cost 100% of $5: a&b|c !d (e) 'f' \"g\".",
        slug="signs",
    )
    yield house
    house.close()
    if drop is not None:
        drop()


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(max_size=60), st.text(string.punctuation + "aAnd orNOT*\\'\"\n", max_size=40)))
@example("NEAR(a b)")
@example("a AND OR NOT")
@example("title:x")
@example('"unbalanced')
@example("'; DROP TABLE memories; --")
@example("a* ^b -c {d} [e]")
@example("\\x00 \0 \x01")
@example("%_%")
@example(":param $1 ?1 @x")
@example("🚀🚀")
@example("\u202e\u2028\ufeff")
@example("a" * 4_000)
def test_no_string_makes_a_search_fail(asked: House, query: str) -> None:
    read = parse(query)
    if not (read.terms or read.phrases or read.only_common):
        assert code(asked.jones, search.search, query=query) == "blank_field"
        return
    found = asked.jones(search.search, query=query, proposals_too=True)
    assert found.state in ("hits", "degraded", "empty", "filtered")


@pytest.mark.parametrize("query", ["c++", "C#", "100%", "$5", "a&b", "(e)", "'f'", '"g"'])
def test_signs_in_a_query_find_the_words_around_them(asked: House, query: str) -> None:
    assert slugs(asked, query) == ["signs"]
