"""How well a text answers."""

from __future__ import annotations

import pytest

from minutebook.policy.ranking import likeliest, match, rarity, weigh
from minutebook.policy.terms import line_of, terms

HELD = {"redi": 3, "cach": 40, "servic": 300}


def score(title: str, body: str, asked: str = "redis cache service") -> float:
    weighed = weigh(terms(asked), HELD, 1000, 12.0)
    return match(line_of(terms(title), terms(body)), weighed).score


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("", "redis here"), ("", "service here")),
        (("", "redis and a cache"), ("", "redis and nothing")),
        (("Redis", "something else"), ("", "redis something else")),
        (("", "redis redis redis"), ("", "redis once only")),
        (("", "redis cache"), ("", "cache of many things that is no redis")),
        (("", "redis in few words"), ("", "redis in " + "many more words that say nothing of it " * 20)),
    ],
)
def test_rarer_more_nearer_and_shorter_is_better(better: tuple[str, str], worse: tuple[str, str]) -> None:
    assert score(*better) > score(*worse) > 0


def test_what_holds_nothing_gets_nothing() -> None:
    found = match(line_of([], terms("another text")), weigh(["redi"], HELD, 1000, 10.0))
    assert (found.score, found.share, found.held) == (0.0, 0.0, ())


def test_the_share_tells_how_much_of_the_query_is_held() -> None:
    weighed = weigh(["redi", "unheard"], {"redi": 3}, 1000, 10.0)
    assert match(" | redi ", weighed).share == 0.5
    assert match(" redi | unheard ", weighed).share == 1.0


def test_rarity_falls_and_never_below_nothing() -> None:
    values = [rarity(held, 1000) for held in (0, 1, 10, 100, 999, 1000, 5000)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > 0


def test_the_likeliest_hold_most_and_then_are_the_newest() -> None:
    assert likeliest({"a": [5, 3, 1], "b": [3]}, {"a": 1.0, "b": 2.0}) == [3, 5, 1]
