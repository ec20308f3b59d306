"""Notes that people edit, and their index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.files.note_rendering import (
    MOST_INDEX_BYTES,
    MOST_INDEX_LINES,
    IndexLine,
    Note,
    read_index,
    read_note,
    render_index,
    render_note,
)
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Importance, Type
from minutebook.model.text import clean, one_line
from tests.files.parsing import LINES, PIECES

TITLES = LINES.map(one_line).filter(bool)
TAGS = st.from_regex(r"[a-z0-9-]{1,12}", fullmatch=True)
NOTES = st.builds(
    Note,
    title=TITLES,
    type=st.sampled_from(list(Type)),
    text=st.lists(st.sampled_from(PIECES), max_size=6).map("\n".join).map(clean),
    description=st.none() | TITLES,
    tags=st.lists(TAGS, max_size=3).map(tuple),
    importance=st.sampled_from(list(Importance)),
    agent=st.none() | st.just("ripley"),
    id=st.none() | st.just("01JA0000000000000000000000"),
    revision=st.none() | st.integers(1, 999),
)


@given(NOTES)
def test_a_note_is_read_back_equal(note: Note) -> None:
    assert read_note(render_note(note)) == note


@given(st.binary(max_size=200))
def test_any_bytes_are_a_note_or_an_error_with_a_line(data: bytes) -> None:
    for whole in (data, b"---\ntitle: x\ntype: scope\n" + data):
        try:
            read_note(whole)
        except MinutebookError as error:
            if error.code != "bad_file" or error.details["line"] < 1:
                raise


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("---\ntype: scope\n---\n", 1, "no title"),
        ("---\ntitle: x\n---\n", 1, "no type"),
        ("---\ntitle: x\ntype: nonsense\n---\n", 3, "no type 'nonsense'"),
        ("---\ntitle: x\ntype: scope\nrevision: two\n---\n", 4, "not a number"),
        ("---\ntitle: x\ntype: scope\nimportance: urgent\n---\n", 4, "low, medium or high"),
        ("---\ntitle: x\ntype: scope\ncolour: red\n---\n", 4, "no key `colour`"),
    ],
)
def test_what_keeps_a_file_from_being_a_note_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(MinutebookError, match=said) as raised:
        read_note(text.encode())
    assert (raised.value.code, raised.value.details["line"]) == ("bad_file", line)


@given(st.lists(st.builds(IndexLine, TITLES, st.just("scope_a.md"), st.none() | TITLES), max_size=6))
def test_an_index_is_read_back_equal(lines: list[IndexLine]) -> None:
    index = render_index(lines)
    assert index.left_out == 0
    assert read_index(index.data) == tuple(lines)


@pytest.mark.parametrize("description", [None, "ü" * 300])
@pytest.mark.parametrize("count", [199, 200, 201, 5_000])
def test_an_index_keeps_to_its_caps_and_says_what_is_missing(count: int, description: str | None) -> None:
    lines = [IndexLine(f"Note {n}", f"scope_{n}.md", description) for n in range(count)]
    index = render_index(lines)
    text = index.data.decode()
    assert len(index.data) <= MOST_INDEX_BYTES
    assert text.count("\n") <= MOST_INDEX_LINES
    found = read_index(index.data)
    assert found == tuple(lines[: len(found)])
    assert len(found) + index.left_out == count
    assert (f"<!-- {index.left_out} more" in text) == (index.left_out > 0)
    if description is None:
        assert index.left_out == (0 if count <= 200 else count - 199)


def test_titles_cannot_break_an_index() -> None:
    index = render_index([IndexLine("a](b.md) <!-- [", "x y(1).md", "<script>"), IndexLine("b", "b.md")])
    assert index.data.decode() == "- [a\\](b.md) \\<!-- \\[](x%20y%281%29.md) - \\<script>\n- [b](b.md)\n"
    assert read_index(index.data)[0] == IndexLine("a](b.md) <!-- [", "x y(1).md", "<script>")
