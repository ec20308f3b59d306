"""Words without their endings."""

from __future__ import annotations

import apsw
import pytest

from minutebook.policy.stemming import stem

ALIKE = [
    ("deploy", "deploys", "deployed", "deploying"),
    ("migrate", "migrates", "migrated", "migrating", "migration", "migrations"),
    ("cache", "caches", "cached", "caching"),
    ("relate", "relational", "relates"),
    ("happy", "happiness"),
    ("run", "runs", "running"),
]


@pytest.mark.parametrize("family", ALIKE, ids=lambda family: family[0])
def test_the_forms_of_a_word_are_one(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1, {word: stem(word) for word in family}


@pytest.mark.parametrize(
    ("one", "other"),
    [("police", "polite"), ("universe", "union"), ("caress", "care"), ("station", "state"), ("redis", "red")],
)
def test_other_words_stay_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["größe", "日本", "v1.10", "c++", "ab", "x86", ""])
def test_what_is_no_english_word_stays_as_it_is(word: str) -> None:
    assert stem(word) == word


WORDS = """caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized
        hopping tanned falling hissing fizzed failing filing happy sky relational conditional rational valenci
        hesitanci digitizer conformabli radicalli differentli vileli analogousli vietnamization predication operator
        feudalism decisiveness hopefulness callousness formaliti sensitiviti sensibiliti triplicate formative
        formalize electriciti electrical hopeful goodness revival allowance inference airliner gyroscopic adjustable
        defensible irritant replacement adjustment dependent adoption homologou communism activate angulariti
        homologous effective bowdlerize probate rate cease controll roll ledger minutes governing supersession
        architectural boundaries proposals yielding toy syzygy"""


def test_it_agrees_with_the_algorithm_that_sqlite_has() -> None:
    words = WORDS.split()
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (w, tokenize='porter ascii')")
    for number, word in enumerate(words, start=1):
        connection.execute("INSERT INTO t (rowid, w) VALUES (?, ?)", (number, word))
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
    theirs = {words[doc - 1]: term for term, doc in connection.execute("SELECT term, doc FROM v")}
    assert {word: stem(word) for word in words} == theirs
    connection.close()
