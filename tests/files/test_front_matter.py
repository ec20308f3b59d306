"""Our own front matter: flat, strict, and the same text after a round trip."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.files.foreign_matter import read_foreign
from minutebook.files.front_matter import MOST_FIELDS, quoted, read, write
from minutebook.model.errors import MinutebookError
from minutebook.model.text import clean
from tests.files.parsing import PIECES

KEYS = st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True)
VALUES = st.one_of(
    st.text(max_size=40), st.sampled_from(PIECES), st.sampled_from(["no", "1e3", "~", "2026-01-01"])
)


@given(st.dictionaries(KEYS, VALUES, max_size=8), st.lists(st.sampled_from(PIECES) | st.text(max_size=20)))
def test_what_is_written_is_read_back(fields: dict[str, str], lines: list[str]) -> None:
    body = clean("\n".join(lines))
    written = write(fields.items(), body)
    found = read(written)
    assert dict(found.fields) == fields
    assert found.body == body
    # And with the line ends of another system.
    assert read("\ufeff" + written.replace("\n", "\r\n")).fields == found.fields


@given(st.text())
def test_any_text_is_front_matter_or_an_error_with_a_line(text: str) -> None:
    for whole in (text, f"---\n{text}", f"---\n{text}\n---\n"):
        try:
            read(whole)
        except MinutebookError as error:
            line = error.details["line"] if error.code == "bad_file" else 0
            if not 1 <= line <= whole.count("\n") + 1:
                raise


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "begin"),
        ("title: x", 1, "begin"),
        ("---\ntitle: x\n", 2, "does not end"),
        ("---\ntitle: x\ntitle: y\n---\n", 3, "twice"),
        ("---\ntitle: x\n  nested: y\n---\n", 3, "key: value"),
        ("---\n- a\n---\n", 2, "key: value"),
        ("---\n# a comment\n---\n", 2, "key: value"),
        ("---\nTitle: x\n---\n", 2, "key: value"),
        ("---\n\n---\n", 2, "key: value"),
        ("---\ntitle:x\n---\n", 2, "space"),
        ("---\ntitle: *alias\n---\n", 2, "double quotes"),
        ("---\ntitle: &anchor x\n---\n", 2, "double quotes"),
        ("---\ntitle: !!str x\n---\n", 2, "double quotes"),
        ("---\ntitle: [a, b]\n---\n", 2, "double quotes"),
        ("---\ntitle: {a: b}\n---\n", 2, "double quotes"),
        ("---\ntitle: |\n  x\n---\n", 2, "double quotes"),
        ("---\ntitle: 'x'\n---\n", 2, "double quotes"),
        ('---\ntitle: "x" y\n---\n', 2, "one text"),
        ('---\ntitle: "x\n---\n', 2, "one text"),
        (
            "---\n" + "".join(f"k{n}: v\n" for n in range(MOST_FIELDS + 1)) + "---\n",
            MOST_FIELDS + 2,
            "more than",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(MinutebookError, match=said) as raised:
        read(text)
    assert raised.value.code == "bad_file"
    assert raised.value.details["line"] == line


def test_a_key_that_is_not_known_is_an_error_where_the_keys_are_closed() -> None:
    with pytest.raises(MinutebookError, match="no key `titel`"):
        read("---\ntitel: x\n---\n", known=["title", "type"])


def test_what_people_type_by_hand_is_taken_as_text() -> None:
    found = read(
        '---\ntitle: Use Postgres: the team ledger # really\nwhen:   no \nempty:\nq: "a\\nb"\n---\n\nBody\n'
    )
    assert dict(found.fields) == {
        "title": "Use Postgres: the team ledger # really",
        "when": "no",
        "empty": "",
        "q": "a\nb",
    }
    assert (found.body, found.body_line) == ("Body", 8)


@pytest.mark.parametrize("value", ["plain words", "Ünïcode", "a:b", "#1".replace("#", "no. "), "it's"])
def test_plain_values_stay_plain(value: str) -> None:
    assert quoted(value) == value


@pytest.mark.parametrize(
    "value", ["no", "1.5", "2026-01-01", "a: b", "a #b", "", " x", "*x", "a:", "- x", "x\ny", "Yes", "0x1F"]
)
def test_what_yaml_would_read_as_something_else_is_quoted(value: str) -> None:
    assert quoted(value).startswith('"')


def test_front_matter_of_other_tools_is_read_as_far_as_it_says_something() -> None:
    text = [
        "---",
        'name: "A name"',
        "type: 'user'",
        'tags: [a, "b, c", d]',
        "deciders:",
        "  - Ripley",
        "  - Ash",
        "provenance:",
        "  created_at: 2026-02-14T10:00:00Z",
        "  source_sessions: [s1]",
        "bomb: &a [*a, *a]",
        "name: other",
        "---",
        "body",
    ]
    found = read_foreign(text)
    assert found is not None
    assert found.last == 13
    assert found.one("name") == "A name"
    assert found.one("nothing", "type") == "user"
    assert found.many("deciders") == ("Ripley", "Ash")
    assert found.one("provenance.created_at") == "2026-02-14T10:00:00Z"
    assert found.one("bomb") == "&a [*a, *a]"
    assert read_foreign(text[:5]) is None
    assert read_foreign(["# no front matter"]) is None
