"""Our lines in somebody else's file: put, kept current and taken out again, and never a byte outside the marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.files import advice, blocks
from minutebook.files.block_part import BlockPart
from minutebook.files.blocks import Marks, block_in, put, take
from minutebook.files.lines import sha256_of
from minutebook.files.safe import Root
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileState, Wish
from minutebook.model.ids import Ids
from tests.files.mirroring import Office
from tests.houses import House

IDS = Ids(lambda: 1, lambda bits: 7)
WORDS = st.binary(max_size=200).filter(lambda data: b"minutebook:" not in data)


@pytest.mark.parametrize("marks", list(Marks))
@given(WORDS, st.sampled_from(["one line", "two\nlines", ""]))
def test_what_was_put_is_taken_out_again(marks: Marks, data: bytes, block: str) -> None:
    with_ours = put(data, block, marks, "x")
    assert with_ours.startswith(data)
    assert block_in(with_ours, marks, "x") == block
    assert put(with_ours, block, marks, "x") == with_ours
    rest = take(with_ours, marks, "x")
    assert rest == data or rest in (data + b"\n", data + b"\r\n")


@given(WORDS, WORDS)
def test_what_stands_around_the_block_stays(before: bytes, after: bytes) -> None:
    start = put(before, "old", Marks.HASH, "x")
    data = start + after
    renewed = put(data, "new\nlines", Marks.HASH, "x")
    assert renewed.startswith(before)
    assert renewed.endswith(after)
    assert block_in(renewed, Marks.HASH, "x") == "new\nlines"


def test_a_file_with_other_line_ends_keeps_them() -> None:
    data = put(b"one\r\ntwo\r\n", "a\nb", Marks.HASH, "x")
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert block_in(data, Marks.HASH, "x") == "a\nb"


@pytest.mark.parametrize(
    "data",
    [
        b"# minutebook:begin\n",
        b"# minutebook:end\n# minutebook:begin\n",
        b"# minutebook:begin\n# minutebook:begin\n# minutebook:end\n",
    ],
)
def test_marks_that_are_no_pair_are_an_error_and_nothing_is_guessed(data: bytes) -> None:
    with pytest.raises(MinutebookError) as raised:
        blocks.find(data, Marks.HASH, ".gitignore")
    assert (raised.value.code, raised.value.details["line"]) == ("bad_file", 1)


def test_existing_files_get_our_lines_only_with_a_word(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"*.pyc\n")
    with Root(tmp_path) as root:
        first = advice.settle(root, advice.GIT_FILES, word=False, make=True, new_id=IDS.new)
        assert {each.path: each.outcome for each in first} == {
            ".gitattributes": "created", ".gitignore": "advised",
        }  # fmt: skip
        assert (tmp_path / ".gitignore").read_bytes() == b"*.pyc\n"
        assert ".squad/decisions/inbox/" in first[1].lines
        advice.settle(root, advice.GIT_FILES, word=True, make=True, new_id=IDS.new)
        assert (tmp_path / ".gitignore").read_bytes().startswith(b"*.pyc\n\n# minutebook:begin\n")
        again = advice.settle(root, advice.GIT_FILES, word=False, make=True, new_id=IDS.new)
        assert {each.outcome for each in again} == {"current"}
        # An older block is renewed: whoever has it said so once.
        old = (tmp_path / ".gitignore").read_bytes().replace(b".squad/identity/now.md\n", b"")
        (tmp_path / ".gitignore").write_bytes(old)
        assert (
            advice.settle(root, [".gitignore"], word=False, make=True, new_id=IDS.new)[0].outcome == "renewed"
        )
        advice.remove(root, advice.GIT_FILES, new_id=IDS.new)
    assert (tmp_path / ".gitignore").read_bytes() == b"*.pyc\n"
    assert not (tmp_path / ".gitattributes").exists()


def test_a_file_whose_marks_are_no_pair_keeps_nobody_from_the_others(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"See <!-- x -->.\n<!-- minutebook:begin -->\n")
    with Root(tmp_path) as root:
        advice.settle(root, advice.GIT_FILES, word=True, make=True, new_id=IDS.new)
        assert advice.with_blocks(root, [*advice.AGENT_FILES, ".gitignore"]) == [".gitignore"]
        with pytest.raises(MinutebookError, match=r"AGENTS.md, line 2"):
            advice.remove(root, ["AGENTS.md", *advice.GIT_FILES], new_id=IDS.new)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["AGENTS.md"]


def test_a_block_of_an_older_version_is_renewed_and_an_edited_one_is_left(
    house: House, tmp_path: Path
) -> None:
    office = Office(house, tmp_path)
    root = office.make()
    place = office.place(root)
    (root / "AGENTS.md").write_bytes(
        b"Mine.\n\n<!-- minutebook:begin -->\nold words\n<!-- minutebook:end -->\n"
    )
    assert office.states() == {"AGENTS.md": FileState.EDITED}
    office.sync()
    assert b"old words" in (root / "AGENTS.md").read_bytes()
    part = BlockPart(frozenset({sha256_of(b"old words")}))
    (line,) = part.look(office.means, place)
    assert line.state is FileState.LATE
    (done,) = part.settle(office.means, place, Wish())
    assert (done.path, done.done) == ("AGENTS.md", "written")
    assert (root / "AGENTS.md").read_bytes().startswith(b"Mine.\n\n<!-- minutebook:begin -->\n## Team memory")
    assert office.states() == {"AGENTS.md": FileState.IN_STEP}
    (root / "AGENTS.md").write_bytes(b"<!-- minutebook:begin -->\n")
    assert office.states() == {"AGENTS.md": FileState.UNREADABLE}
    (root / "AGENTS.md").write_bytes(b"No block.\n")
    assert office.states() == {}
