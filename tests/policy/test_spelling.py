"""Words that are spelled alike."""

from __future__ import annotations

import pytest

from minutebook.policy.spelling import closest, comparable, grams, likeness

WORDS = ["postgr", "postgresql", "posture", "redi", "kubernet", "deploi", "employ", "ledger", "leger", "config",
         "configur", "datenbank", "datenbankverbindung"]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("postger", "postgr"),
        ("psotgr", "postgr"),
        ("ledgr", "ledger"),
        ("ldeger", "ledger"),
        ("kubernets", "kubernet"),
        ("confg", "config"),
        ("datenbankver", "datenbankverbindung"),
        ("postgres", "postgresql"),
    ],
)
def test_a_slip_finds_the_word_that_was_meant(typed: str, meant: str) -> None:
    assert closest(typed, WORDS, 3)[0][0] == meant


@pytest.mark.parametrize("typed", ["zebra", "quartz", "moonlight"])
def test_what_is_like_nothing_finds_nothing(typed: str) -> None:
    assert closest(typed, WORDS, 3) == []


def test_a_word_is_not_offered_for_itself() -> None:
    assert all(word != "ledger" for word, _ in closest("ledger", WORDS, 9))


def test_likeness_is_between_nothing_and_one() -> None:
    assert likeness("ledger", "ledger") == 1.0
    assert likeness("ledger", "quartz") == 0.0
    assert grams("abc") == [" ab", "abc", "bc "]


@pytest.mark.parametrize(
    ("term", "yes"),
    [
        ("word", True),
        ("abc", False),
        ("x86ab", False),
        ("größe", True),
        ("東京都庁", False),
        ("a" * 25, False),
    ],
)
def test_only_words_that_somebody_could_misspell_are_compared(term: str, yes: bool) -> None:
    assert comparable(term) is yes
