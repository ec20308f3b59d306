"""What a text is found by."""

from __future__ import annotations

import re
import string

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.policy.terms import BAR, TERM_CHARS, day_terms, line_of, terms

FINDS = [
    # what is written, what somebody looks for
    ("The proxies were deployed.", "deploying a proxy"),
    ("Set maxBodySize in the config.", "max_body_size"),
    ("Set max_body_size in the config.", "maxBodySize"),
    ("Set maxBodySize in the config.", "body size"),
    ("class HTTPServerError", "server"),
    ("It runs on PostgreSQL.", "sql"),
    ("RÉSUMÉ of the café", "resume cafe"),
    ("Die Straße nach Zürich", "strasse zurich"),
    ("Released on 2026-11-16.", "16 November 2026"),
    ("We met on May 8, 2023.", "2023-05-08"),
    ("We met on the 8th of May 2023.", "May 8 2023"),
    ("Version 1.10 is out", "1.10"),
    ("C++ and C#", "c++"),
    ("データベースを東京に置く", "東京"),
    ("数据库迁移到上海", "迁移"),
    ("税", "税"),
    ("消費税の計算", "税"),
]


@pytest.mark.parametrize(("written", "asked"), FINDS)
def test_what_is_written_is_found_by_what_is_asked(written: str, asked: str) -> None:
    assert set(terms(asked)) & set(terms(written)), (terms(asked), terms(written))


@pytest.mark.parametrize(
    ("written", "asked"),
    [("Version 1.10", "1.1"), ("c++", "c#"), ("2023-05-08", "2023-05-09"), ("東京", "京都")],
)
def test_what_differs_is_not_one(written: str, asked: str) -> None:
    whole = {term for term in terms(asked) if len(term) > 1 and not re.fullmatch(r"2023|2023?05|0?5", term)}
    assert not whole & set(terms(written))


def test_common_words_are_no_terms_and_single_letters_are() -> None:
    assert terms("What is the use of it, and why?") == []
    assert terms("plan b") == ["plan", "b"]
    assert terms("don't") == ["don"]


def test_a_line_holds_the_title_before_the_bar() -> None:
    line = line_of(terms("Use redis"), terms("The cache is redis."))
    assert line == f" redi {BAR} cach redi "
    assert day_terms("2023-05-08T10:00:00.000000Z") == ["20230508", "202305", "0508", "2023"]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=80), st.text(string.printable + "日本éß🚀\u200d\u202e", max_size=80)))
def test_every_term_is_one_word_of_the_index(text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(
        """CREATE VIRTUAL TABLE f USING fts5 (terms, detail=none, columnsize=0,
                                              tokenize="ascii tokenchars '.+#%<>=!~^$_-'")"""
    )
    found = terms(text)
    connection.execute("INSERT INTO f (rowid, terms) VALUES (1, ?)", (line_of(found, []),))
    for term in found:
        assert term
        assert len(term) <= TERM_CHARS
        assert term.split() == [term]
        # As a phrase of two words it would be an error.
        assert connection.execute("SELECT rowid FROM f WHERE f MATCH ?", (f'"{term}"',)).get == 1
    connection.close()
