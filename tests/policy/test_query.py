"""Reading what somebody typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.policy.query import MOST_TERMS, folded_of, keeps_out, parse
from minutebook.policy.terms import line_of, terms


@pytest.mark.parametrize(
    ("typed", "looked_for", "phrases", "excluded"),
    [
        ("why not redis", ["redi"], [], []),
        ('"message broker" kafka', ["messag", "broker", "kafka"], ["message broker"], []),
        ("cache -redis", ["cach"], [], ["redis"]),
        ('cache -"in memory"', ["cach"], [], ["in memory"]),
        ("well-known up-to-date", ["known", "date"], [], []),
        ("below -5 degrees", ["below", "-5", "degre"], [], []),
        ('"unbalanced quote', ["unbalanc", "quot"], [], []),
        ("-", [], [], []),
        ("-redis", [], [], ["redis"]),
        ('""', [], [], []),
    ],
)
def test_a_query_is_words_phrases_and_what_is_left_out(
    typed: str, looked_for: list[str], phrases: list[str], excluded: list[str]
) -> None:
    query = parse(typed)
    assert list(query.terms) == looked_for
    assert [phrase.said for phrase in query.phrases] == phrases
    assert [phrase.said for phrase in query.excluded] == excluded


def test_a_query_of_common_words_alone_says_so() -> None:
    assert parse("what is it").only_common
    assert not parse("!!!").only_common
    assert not parse("redis").only_common


def test_a_term_remembers_how_it_was_said() -> None:
    assert parse("Deployments, migrated!").said == {"deploy": "deployments", "migrat": "migrated"}


def test_words_beyond_the_limit_are_counted() -> None:
    query = parse(" ".join(f"word{number}" for number in range(MOST_TERMS + 5)))
    assert (len(query.terms), query.dropped) == (MOST_TERMS, 5)


@pytest.mark.parametrize(
    ("typed", "text", "out"),
    [
        ('"message broker"', "We have a message broker.", False),
        ('"message broker"', "The broker has a message.", True),
        ('"out of order"', "It came out of order", False),
        ('"out of order"', "It is out of the order", True),
        ("cache -redis", "A cache of Redis", True),
        ("cache -redis", "A cache of our own", False),
        ('cache -"in memory"', "A cache held in memory", True),
        ('cache -"in memory"', "A memory cache in files", False),
    ],
)
def test_phrases_must_be_there_word_for_word_and_exclusions_must_not(
    typed: str, text: str, out: bool
) -> None:
    line = line_of([], terms(text))
    assert bool(keeps_out(parse(typed), line, folded_of(text))) is out


def test_a_phrase_does_not_go_over_from_one_text_into_the_next() -> None:
    assert keeps_out(parse('"end start"'), "", folded_of("the end", "start again"))


@given(st.text(max_size=200))
def test_nothing_that_is_typed_is_an_error(typed: str) -> None:
    query = parse(typed)
    assert all(term.strip() == term and term for term in query.terms)
