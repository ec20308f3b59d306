"""The part of a text that shows why it was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.policy.snippets import WIDTH, snippet
from minutebook.policy.terms import terms


def marked(content: str, asked: str) -> list[str]:
    found = snippet(content, terms(asked))
    return [found.text[start:end] for start, end in found.marks]


@pytest.mark.parametrize(
    ("content", "asked", "words"),
    [
        ("The proxies were deployed twice.", "deploying proxy", ["proxies", "deployed"]),
        ("Raise maxBodySize first.", "max_body_size", ["maxBodySize"]),
        ("Raise max_body_size first.", "body", ["max_body_size"]),
        ("It costs 100% of C++.", "c++ 100%", ["100%", "C++"]),
        ("データベースを東京に置く", "東京", ["東京"]),
        ("消費税の計算は税務署で", "税", ["税", "税"]),
        ("Die Straße nach Zürich", "zurich", ["Zürich"]),
        ("Nothing of it.", "redis", []),
    ],
)
def test_the_words_that_matched_are_marked(content: str, asked: str, words: list[str]) -> None:
    assert marked(content, asked) == words


def test_a_long_text_is_cut_around_most_of_the_words() -> None:
    content = "filler text here. " * 60 + "The redis cache is here. " + "filler text here. " * 60
    found = snippet(content, terms("redis cache"))
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert len(found.text) <= WIDTH + 2
    assert [found.text[start:end] for start, end in found.marks] == ["redis", "cache"]


def test_without_a_match_it_is_the_beginning() -> None:
    found = snippet("word " * 200, terms("redis"))
    assert found.text.startswith("word word")
    assert found.marks == ()


@given(st.text(max_size=600), st.lists(st.text(max_size=6), max_size=4))
def test_marks_lie_inside_the_snippet_one_behind_the_other(content: str, wanted: list[str]) -> None:
    found = snippet(content, wanted)
    ends = [place for mark in found.marks for place in mark]
    assert ends == sorted(ends)
    assert not ends or (ends[0] >= 0 and ends[-1] <= len(found.text))
    assert len(found.text) <= WIDTH + 2
