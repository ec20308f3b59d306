"""Passages: a memory's words in parts that a model takes in whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minutebook.model.memories import Memory, Status, Type
from minutebook.model.scopes import Scope
from minutebook.policy.passages import MOST_PASSAGES, PASSAGE_WORDS, digest, passages

MEMORY = Memory(
    id="01",
    scope=Scope.of_project("p"),
    type=Type.LEARNING,
    slug="s",
    title="The proxy",
    content="It drops bodies.",
    status=Status.ACTIVE,
    author="ripley",
    author_role="agent",
    origin="cli",
    decided_by="ripley",
    decided_role="agent",
    created_at="",
    updated_at="",
)


def test_a_short_memory_is_one_passage_with_its_title() -> None:
    assert passages(MEMORY) == ["The proxy\nIt drops bodies."]


def test_a_title_that_the_words_begin_with_is_said_once() -> None:
    assert passages(replace(MEMORY, content="The proxy drops bodies.")) == ["The proxy\ndrops bodies."]


def test_an_episode_says_who_said_it() -> None:
    assert passages(replace(MEMORY, type=Type.EPISODE)) == ["ripley: It drops bodies."]
    spoken = replace(MEMORY, type=Type.EPISODE, content="Ripley: It drops bodies.")
    assert passages(spoken) == ["ripley: It drops bodies."]


@pytest.mark.parametrize("word", ["word ", "漢", "wörd\n"])
def test_a_long_memory_is_cut_into_passages_that_hold_all_of_it_up_to_a_bound(word: str) -> None:
    many = PASSAGE_WORDS * 3 + 5
    found = passages(replace(MEMORY, content=word * many))
    assert len(found) == 4
    assert sum(part.count(word.strip()) for part in found) == many
    assert all(part.startswith("The proxy\n") for part in found)
    assert len(passages(replace(MEMORY, content=word * many * 20))) == MOST_PASSAGES


def test_a_run_without_a_space_is_cut_off_and_not_taken_whole() -> None:
    assert len(passages(replace(MEMORY, content="x" * 60_000))[0]) < 10_000


def test_other_passages_have_another_digest() -> None:
    assert digest(["a", "b"]) != digest(["ab"])
    assert digest(["a", "b"]) == digest(["a", "b"])
